"""What only a browser shows: a run from click to file, links and reloads, keys, hostile text, other hosts, sizes.

Without a Chromium these are skipped, unless SPECVIZ_REQUIRE_BROWSER=1 is set: then they fail.
"""

import re
import time
from pathlib import Path

import pandas as pd
import pytest

import specviz as sv
from benchmarks.browser import serving
from specviz import examples
from specviz.timeline import number
from tests.visit import PATIENCE_S, Visit

playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[1]

HOSTILE_APP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from specviz.ui import pairs, shell
from tests.test_pages import hostile_pair
pairs.load = lambda choice, watch=None: hostile_pair()
shell.navigate().run()
"""

SLOW_APP = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
import specviz as sv
from specviz.ui import shell

if not hasattr(sv.Run, "at_once"):  # this script runs anew with each input
    sv.Run.at_once = sv.Run.__next__
    sv.Run.__next__ = lambda run: (time.sleep(0.1), run.at_once())[1]
shell.navigate().run()
"""


@pytest.fixture
def visit(browser, address):
    """The Watch page, opened; at the end no error and no other host."""
    with Visit(browser) as v:
        yield v.open(f"{address}/watch")


@pytest.mark.parametrize("page", ["watch", "talk"])
def test_a_deep_link_as_the_first_request_of_a_server_opens_its_very_step(browser, page):
    with serving(ROOT / "app.py") as address, Visit(browser) as v:
        v.open(f"{address}/{page}?run=code&round=2&step=3")
        v.page.get_by_text("Page not found").wait_for(state="detached")
        assert v.where == (2, 3)
        assert v.text.startswith(examples.load("code").prompt)


def test_home_leads_to_a_run(browser, address):
    with Visit(browser) as v:
        v.open(address)
        v.page.get_by_role("heading", name="Watch speculative decoding").wait_for()
        v.page.get_by_role("link", name="Run your own").click()
        v.button("Run").wait_for()
        assert v.page.url.startswith(f"{address}/watch")
        playwright.expect(v.page.get_by_label("Draft length K")).to_have_value("4")


def test_the_tour_puts_a_ring_around_each_part(browser, address):
    with Visit(browser) as v:
        v.open(address)
        tour = v.page.get_by_role("button", name=re.compile(r"^(▸ )?\d\. "))
        playwright.expect(tour).to_have_count(6, timeout=PATIENCE_S * 1000)  # they are drawn after the stage
        for i, part in enumerate(("head", "cards", "told", "panels", "text", "controls")):
            tour.nth(i).click()
            v.page.locator(f".stage.spot-{part}").wait_for()
        assert v.page.locator(".stage .go-play").get_attribute("aria-label") == "Play"  # what is pointed at stays there
        v.button("End the tour").click()
        v.page.locator(".stage:not(.spot)").wait_for()
        tour.first.click()
        v.page.locator(".stage.spot").wait_for()
        v.press("ArrowRight")
        v.page.locator(".stage:not(.spot)").wait_for()


def test_a_run_goes_from_click_to_files_that_read_back(visit, tmp_path):
    visit.set_most(48)
    visit.run()
    for name, file in (
        ("Table (CSV)", "run.csv"),
        ("Whole record (JSON)", "run.json"),
        ("Animated page (HTML)", "run.html"),
    ):
        visit.save(name, tmp_path / file)
    trace = sv.Trace.from_json(tmp_path / "run.json")
    frame = pd.read_csv(tmp_path / "run.csv")
    assert len(trace.tokens) == 48
    assert len(frame) == sum(len(r.nodes) + (r.final is not None) for r in trace.rounds)
    assert visit.text == trace.prompt + trace.text
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == trace.to_html()
    visit.open(visit.page.url.split("?")[0])  # a new session, which replays the file without a model
    visit.button("Files").click()
    visit.page.locator("input[type=file]").set_input_files(tmp_path / "run.json")
    visit.page.get_by_text("48 of 48 tokens").wait_for()
    assert visit.text == trace.prompt + trace.text


def test_the_stage_plays_from_the_first_round_while_decoding_goes_on(browser, tmp_path):
    app = tmp_path / "slow.py"  # the bundled pair may have decoded all of it before anybody can look
    app.write_text(SLOW_APP, newline="\n")
    with serving(app) as address, Visit(browser) as visit:
        visit.open(f"{address}/watch")
        visit.set_most(400)
        visit.button("Run").click()
        visit.page.locator(".stage .go-play[aria-label=Pause]").wait_for()
        assert visit.button("Stop").is_enabled()
        assert visit.where[0] == 1
        visit.button("Stop").click()
        visit.page.get_by_text("· stopped").wait_for()
        tokens = int(visit.page.get_by_text("of 400 tokens").text_content().split()[0])
        assert 0 < tokens < 400
        text = visit.text
        time.sleep(1.5)
        assert visit.text == text
        assert visit.page.locator(".stage .go-play[aria-label=Pause]").count() == 1


def test_ten_reruns_neither_remount_nor_pause_the_stage(visit):
    visit.page.locator(".stage").evaluate("stage => (stage.mark = 1)")
    visit.press(" ")
    places = [visit.where]
    temperature = visit.page.get_by_label("Temperature")
    for i in range(10):
        temperature.fill(f"0.{i + 1}")
        temperature.press("Enter")
        visit.page.wait_for_timeout(400)
        places.append(visit.where)
    assert visit.page.locator(".stage").evaluate("stage => stage.mark") == 1
    assert visit.page.locator(".stage .go-play[aria-label=Pause]").count() == 1
    assert places == sorted(places)
    assert places[-1] > places[0]


def test_keys_work_wherever_the_focus_is_but_in_an_input(visit):
    assert visit.where == (1, 1)
    visit.press("ArrowRight", "PageDown")
    assert visit.where == (1, 3)
    visit.button("More settings").click()
    visit.press("Escape")
    visit.press("ArrowLeft")
    assert visit.where == (1, 2)
    box = visit.page.get_by_role("textbox", name="Prompt")
    box.focus()
    visit.press("ArrowRight", "End", " ", "2")
    assert visit.where == (1, 2)
    assert box.input_value().endswith(" 2")
    visit.page.locator(".stage").evaluate("stage => stage.focus()")
    visit.press("ArrowDown")
    assert visit.where == (2, 1)


@pytest.mark.parametrize("page", ["watch", "talk"])
def test_a_reload_comes_back_to_the_same_step_of_the_same_run(browser, address, page):
    with Visit(browser) as v:
        v.open(f"{address}/watch")
        v.set_most(24)
        v.run()
        text = v.text
        if page == "talk":
            v.page.get_by_role("link", name="Talk").click()
            v.page.locator(".stage.talk").wait_for()
        v.press("ArrowDown", "ArrowRight", "ArrowRight")
        place = v.where
        assert place > (1, 1)
        v.keeps(place)
        v.page.reload()
        v.page.locator(".stage .where b").wait_for()
        assert v.where == place
        assert v.text == text
        v.press("ArrowLeft")
        v.keeps(v.where)


def test_the_views_follow_the_stage(visit):
    table = visit.page.locator(".sv-table tbody")
    for round_ in examples.load("prose").rounds[:3]:
        table.get_by_text(number(round_.final.uniform), exact=True).first.wait_for()
        assert table.locator("tr").count() == len(round_.nodes) + 1
        visit.press("ArrowDown")
    visit.press("Home", " ")  # while it plays, they follow from round to round
    visit.page.get_by_label("Speed", exact=True).select_option("4")
    round_ = examples.load("prose").rounds[1]
    table.get_by_text(number(round_.final.uniform), exact=True).first.wait_for()
    assert visit.page.locator(".stage .go-play[aria-label=Pause]").count() == 1


def test_a_picture_of_the_step_is_saved_in_the_app(visit, tmp_path):
    for key, head in (("s", b"\x89PNG"), ("Shift+S", b"<svg")):
        with visit.page.expect_download() as download:
            visit.press(key)
        download.value.save_as(tmp_path / "step")
        picture = (tmp_path / "step").read_bytes()
        assert picture.startswith(head)
        assert len(picture) > 20_000
    assert b".stage .card" in picture  # with its styles


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (390, 844)])
def test_run_and_the_whole_stage_are_above_the_fold(browser, address, size, theme):
    with Visit(browser, size=size, theme=theme) as v:
        v.open(f"{address}/watch")
        for thing in (
            v.button("Run"),
            v.button("Stop"),
            v.page.locator(".stage .controls"),
            v.page.locator(".stage .told"),
        ):
            box = thing.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size[1], thing
        assert v.page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (1024, 768)])
def test_a_talk_has_the_whole_window(browser, address, size):
    with Visit(browser, size=size) as v:
        v.open(f"{address}/talk")
        box = v.page.locator(".stage").bounding_box()
        assert (box["x"], box["y"]) == (0, 0)
        assert (box["width"], box["height"]) == size  # to the last pixel, since nothing can be scrolled
        assert not v.page.get_by_role("link", name="Watch").is_visible()
        v.press("r", "c")
        assert v.page.get_by_role("dialog").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["", "watch", "talk"])
def test_no_serious_fault_for_readers_with_aids(browser, address, page, theme):
    with Visit(browser, theme=theme, motion="reduce") as v:
        v.open(f"{address}/{page}")
        if page == "watch":
            v.page.locator(".js-plotly-plot .barlayer").first.wait_for()
        found = axe.Axe().run(v.page).response["violations"]
        assert {
            f["id"]: [n["target"] for n in f["nodes"]] for f in found if f["impact"] in ("serious", "critical")
        } == {}


def test_the_theme_of_the_reader_reaches_stage_and_charts(browser, address):
    with Visit(browser, theme="dark") as v:
        v.open(f"{address}/watch")
        assert v.page.locator(".stage").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(18, 21, 27)"
        ink = "e => getComputedStyle(e).color"
        assert v.page.locator(".sv-numbers strong").first.evaluate(ink) == "rgb(233, 236, 242)"
        tick = v.page.locator(".js-plotly-plot .ytick text").first  # a chart may be drawn anew meanwhile
        playwright.expect(tick).to_have_css("fill", "rgb(233, 236, 242)", timeout=PATIENCE_S * 1000)


def test_hostile_tokens_stay_text(browser, tmp_path):
    app = tmp_path / "hostile.py"
    app.write_text(HOSTILE_APP)
    with serving(app) as address, Visit(browser) as v:
        v.open(f"{address}/watch")
        box = v.page.get_by_role("textbox", name="Prompt")
        box.fill("<img src=x onerror=alert(1)> $x$ __init__ :red[x] :smile:")
        v.set_most(64)
        v.run()
        for text in ("<img src=x onerror=alert(1)> $x$ __init__ :red[x] :smile:", "[a](https://example.com)", "שלום"):
            assert text in v.text
        for _ in range(6):
            v.press("ArrowDown")
            v.page.wait_for_timeout(300)
        made_of_tokens = v.page.locator(
            ".stMainBlockContainer :is(img, .katex, script, a[href*='example'], .js-plotly-plot a)"
        )
        assert made_of_tokens.count() == 0
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 1440
        box.fill("")
        v.button("Run").click()
        v.page.get_by_text("the prompt is empty: __type__ :\u200bsmile: $a$ <b>something</b>").wait_for()


def test_a_lost_server_is_told_in_a_sentence_and_the_stage_plays_on(browser):
    told = "e => getComputedStyle(e, '::after').content"
    with serving(ROOT / "app.py") as address:
        visit = Visit(browser)
        visit.open(f"{address}/talk?run=code&round=2&step=1")
        assert visit.page.locator(".stApp").evaluate(told) == "none"
    visit.page.locator("[data-test-connection-state]:not([data-test-connection-state=CONNECTED])").wait_for()
    visit.press("ArrowRight", "ArrowRight")
    assert visit.where == (2, 3)
    assert "The server does not answer" in visit.page.locator(".stApp").evaluate(told)
    visit.page.wait_for_timeout(3000)
    assert not visit.page.locator(".stDialog").is_visible()
    visit.context.close()


def test_what_is_opened_is_named_in_the_address_and_shuts_the_list(visit):
    visit.press("ArrowRight")
    visit.keeps((1, 2))
    for name in ("code", "hopeless"):
        visit.button("Examples").click()
        visit.page.get_by_role("menuitem", name=examples.title(name)).click()
        visit.page.wait_for_function("name => location.search.includes(`run=${name}&`)", arg=name)
        assert visit.text.startswith(examples.load(name).prompt)
        visit.page.get_by_role("menuitem").first.wait_for(state="hidden")
        visit.press("ArrowRight")
        visit.keeps((1, 2))
