"""What only a browser shows: a run from click to file, a deep link, hostile text, other hosts, the three widths.

Without a Chromium these are skipped, unless SPECVIZ_REQUIRE_BROWSER=1 is set: then they fail.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest

import specviz as sv

playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[1]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_S = 120  # models load, and two cores may be shared
EXPECTED = "/_stcore/"  # Streamlit looks for its own server under a deep link's path first, and gets a 404

HOSTILE_APP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from specviz.ui import pairs, shell
from tests.test_pages import hostile_pair
pairs.load = lambda draft: hostile_pair()
shell.navigate().run()
"""


def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("SPECVIZ_REQUIRE_BROWSER") == "1":
            pytest.fail("SPECVIZ_REQUIRE_BROWSER=1 is set and there is no chromium on the PATH")
        pytest.skip("there is no chromium on the PATH")
    return found


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def serving(script):
    """A server of our own on a free port; gives its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(PATIENCE_S * 5):
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.2)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def address():
    chromium()
    with serving(ROOT / "app.py") as address:
        yield address


class Visit:
    """A page in a window of its own, and everything that went wrong in it."""

    def __init__(self, browser, *, size=(1440, 900), theme="light"):
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.page = self.context.new_page()
        self.errors, self.hosts = [], set()
        self.page.on("console", self._log)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _log(self, message):
        if message.type == "error" and EXPECTED not in message.location["url"]:
            self.errors.append(message.text)

    def run(self):
        """Press Run and wait for the end."""
        self.button("Run").click()
        self.page.get_by_text("reached the limit").wait_for()
        self.page.locator(".js-plotly-plot .barlayer").first.wait_for()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def set_most(self, n):
        """How many tokens to decode at most."""
        self.button("More settings").click()
        box = self.page.get_by_label("New tokens at most")
        box.fill(str(n))
        box.press("Enter")
        self.page.keyboard.press("Escape")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@pytest.fixture
def visit(browser, address):
    """The Watch page, opened; at the end no error and no other host."""
    with Visit(browser) as v:
        v.page.goto(f"{address}/watch")
        v.page.get_by_text("Press Run").wait_for()
        yield v
        assert v.errors == []
        assert v.hosts <= {"localhost", None, ""}


def test_a_deep_link_as_the_first_request_of_a_server_opens_its_page(browser):
    with serving(ROOT / "app.py") as address, Visit(browser) as v:
        v.page.goto(f"{address}/watch")
        v.page.get_by_text("Press Run").wait_for()
        assert v.page.get_by_role("textbox", name="Prompt").input_value() == "It is a truth universally acknowledged"
        assert v.page.get_by_role("link", name="Home").count() == 1
        assert v.page.get_by_text("Page not found").count() == 0
        assert v.errors == []
        v.page.get_by_role("link", name="Home").click()
        v.page.get_by_role("heading", name="Watch speculative decoding").wait_for()
        v.page.get_by_role("link", name="Watch a run").click()
        v.button("Run").wait_for()
        assert v.page.url == f"{address}/watch"
        assert v.page.get_by_label("Draft length K").input_value() == "4"


def test_a_run_goes_from_click_to_files_that_read_back(visit, tmp_path):
    visit.set_most(48)
    visit.run()
    for name, file in (("Download CSV", "run.csv"), ("Download JSON", "run.json")):
        with visit.page.expect_download() as download:
            visit.button(name).click()
        download.value.save_as(tmp_path / file)
    trace = sv.Trace.from_json(tmp_path / "run.json")
    frame = pd.read_csv(tmp_path / "run.csv")
    assert len(trace.tokens) == 48
    assert len(frame) == sum(len(r.nodes) + (r.final is not None) for r in trace.rounds)
    assert visit.page.locator(".sv-text").text_content() == trace.prompt + trace.text
    assert visit.page.locator(".sv-table tbody tr").count() == len(trace.rounds[0].nodes) + 1


def test_rounds_are_turned_and_places_chosen(visit):
    visit.set_most(32)
    visit.run()
    first = visit.page.locator(".sv-table tbody").text_content()
    visit.button("Next").click()
    visit.page.wait_for_function("t => document.querySelector('.sv-table tbody').textContent !== t", arg=first)
    visit.page.get_by_role("radio", name="1").first.click()
    visit.page.get_by_text("is accepted").or_(visit.page.get_by_text("is rejected")).first.wait_for()


def test_stop_stops_within_a_round_and_what_was_decoded_stays(visit):
    visit.set_most(512)
    visit.button("Run").click()
    visit.page.get_by_text("decoding").wait_for()
    visit.page.locator(".sv-table").wait_for()
    visit.button("Stop").click()
    visit.page.get_by_text("· stopped").wait_for()
    tokens = int(visit.page.get_by_text("of 512 tokens").text_content().split()[0])
    assert 0 < tokens < 512
    text = visit.page.locator(".sv-text").text_content()
    time.sleep(1.5)
    assert visit.page.locator(".sv-text").text_content() == text


def test_other_widgets_do_not_disturb_a_run(visit):
    visit.set_most(160)
    visit.button("Run").click()
    visit.page.locator(".sv-table").wait_for()
    for _ in range(3):
        visit.button("Next").click()
        visit.page.get_by_role("radio", name="Code").click()
        visit.page.get_by_role("radio", name="Prose").click()
    visit.page.get_by_text("160 of 160 tokens").wait_for()
    visit.page.get_by_text("reached the limit").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (390, 844)])
def test_controls_and_text_are_above_the_fold_and_nothing_is_wider_than_the_page(browser, address, size, theme):
    with Visit(browser, size=size, theme=theme) as v:
        v.page.goto(f"{address}/watch")
        v.page.get_by_text("Press Run").wait_for()
        for thing in (v.button("Run"), v.button("Stop"), v.page.get_by_label("Draft length K")):
            assert thing.bounding_box()["y"] + thing.bounding_box()["height"] < size[1]
        assert v.page.locator(".sv-text").bounding_box()["y"] + 100 < size[1]
        assert v.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert v.errors == []


def test_the_theme_of_the_reader_reaches_text_and_chart(browser, address):
    with Visit(browser, theme="dark") as v:
        v.page.goto(f"{address}/watch")
        v.page.get_by_text("Press Run").wait_for()
        v.set_most(16)
        v.run()
        ink = "e => getComputedStyle(e).color"
        assert v.page.locator(".sv-numbers strong").first.evaluate(ink) == "rgb(233, 236, 242)"
        fill = v.page.locator(".js-plotly-plot .ytick text").first.evaluate("e => getComputedStyle(e).fill")
        assert fill == "rgb(233, 236, 242)"


def test_hostile_tokens_stay_text(browser, tmp_path):
    app = tmp_path / "hostile.py"
    app.write_text(HOSTILE_APP)
    with serving(app) as address, Visit(browser) as v:
        v.page.goto(f"{address}/watch")
        v.page.get_by_text("Press Run").wait_for()
        box = v.page.get_by_role("textbox", name="Prompt")
        box.fill("<img src=x onerror=alert(1)> $x$ __init__ :red[x] :smile:")
        v.set_most(64)
        v.run()
        shown = v.page.locator(".sv-text").text_content()
        for text in ("<img src=x onerror=alert(1)> $x$ __init__ :red[x] :smile:", "[a](https://example.com)", "שלום"):
            assert text in shown
        for _ in range(6):
            v.button("Next").click()
            v.page.wait_for_timeout(300)
        made_of_tokens = v.page.locator(
            ".stMainBlockContainer :is(img, .katex, script, a[href*='example'], .js-plotly-plot a)"
        )
        assert made_of_tokens.count() == 0
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 1440
        v.page.get_by_role("textbox", name="Prompt").fill("")
        v.button("Run").click()
        v.page.get_by_text("the prompt is empty: __type__ :\u200bsmile: $a$ <b>something</b>").wait_for()
        assert v.errors == []
        assert v.hosts <= {"localhost", None, ""}
