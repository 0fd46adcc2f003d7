"""What the layout must hold: nothing clipped, nothing too small, nothing that aids cannot read."""

import pytest

import specviz as sv
from specviz import replay, timeline
from tests.stage.shows import CLIPPED, SMALLEST, Show, hostile_trace, kinds


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 840), (1280, 660)])
def test_everything_is_seen_at_once(browser, path, trace, size, theme):
    with Show(browser, path, size=size, theme=theme) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken


@pytest.mark.browser
def test_a_caption_that_is_cut_would_be_seen(browser, path):
    with Show(browser, path) as show:
        show.page.locator(".caption").evaluate("(node) => (node.style.height = '0.5em')")
        (wrong,) = show.page.evaluate(CLIPPED)
        assert "px of caption cut" in wrong


@pytest.mark.browser
@pytest.mark.parametrize("draft_length", [1, 12])
def test_short_and_long_drafts_fit_as_well(browser, pair, tmp_path, draft_length):
    trace = sv.speculate(pair, "def main(argv=None):\n    ", draft_length=draft_length, max_new_tokens=40, seed=0)
    trace.to_html(tmp_path / "run.html")
    with Show(browser, tmp_path / "run.html", size=(1280, 660)) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (1024, 768)])
def test_for_a_projector_text_is_large_and_nothing_is_clipped(browser, trace, tmp_path, size):
    replay.to_html(trace, tmp_path / "talk.html", talk=True)
    with Show(browser, tmp_path / "talk.html", size=size) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken
            if size == (1920, 1080):
                assert show.page.evaluate(SMALLEST) >= 24


@pytest.mark.browser
def test_a_narrow_page_is_no_wider_than_its_window(browser, path, trace):
    with Show(browser, path, size=(390, 844)) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate("document.documentElement.scrollWidth") <= 390
            rows = show.page.evaluate(
                "[...document.querySelectorAll('.panel:not([hidden]) .row')].map(r => r.scrollHeight - r.clientHeight)"
            )
            assert max(rows, default=0) <= 2, show.spoken  # a row's second line is not over the next row
            controls = show.page.locator(".controls").bounding_box()
            assert controls["y"] + controls["height"] <= 845


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_hostile_tokens_are_text_and_the_layout_stays(browser, tmp_path, size):
    trace = hostile_trace()
    trace.to_html(tmp_path / "hostile.html")
    with Show(browser, tmp_path / "hostile.html", size=size) as show:
        title = show.page.title()
        for i in range(len(timeline.steps(trace))):
            show.jump(i)
            if i % 5 == 0 and size[0] > 1000:
                assert show.page.evaluate(CLIPPED) == [], show.spoken
        assert show.page.title() == title
        assert show.page.locator(".stage :is(img, script, a)").count() == 0
        assert show.page.locator(".inner").text_content() == trace.prompt + trace.text
        assert show.page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("window", ["wide", "narrow", "talk"])
def test_no_serious_fault_for_readers_with_aids(browser, path, talk_path, trace, theme, window):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    size = (390, 844) if window == "narrow" else (1440, 900)
    with Show(browser, talk_path if window == "talk" else path, size=size, theme=theme, motion="reduce") as show:
        show.context.set_default_timeout(60_000)
        if window == "talk":
            show.press("n")
        faults = {}
        for i in kinds(trace):
            show.jump(i)
            for fault in axe.run(show.page).response["violations"]:
                faults[fault["id"]] = (show.spoken, [node["html"] for node in fault["nodes"]][:3])
        show.press("?")
        for fault in axe.run(show.page).response["violations"]:
            faults[fault["id"]] = ("help", [node["html"] for node in fault["nodes"]][:3])
        assert faults == {}
