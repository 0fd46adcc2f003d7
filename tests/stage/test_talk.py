"""The stage in a talk: its keys, and notes for who speaks."""

import pytest

from specviz.replay.words import words
from tests.stage.shows import CLIPPED, SMALLEST, Mounted, Show, kinds


@pytest.mark.browser
def test_the_keys_of_a_talk_are_listed_and_heard_in_a_talk_only(browser, path, talk_path):
    for where, there in ((path, False), (talk_path, True)):
        with Show(browser, where) as show:
            show.press("b")
            assert show.page.locator(".blank").is_visible() == there
            if there:
                show.press("b")
            show.press("n")
            assert show.page.locator(".notes").is_visible()  # plain words are for everybody
            show.press("?")
            listed = show.page.get_by_role("dialog").locator("kbd:visible").all_inner_texts()
            assert set("FBD") <= set(listed) if there else not set("FBD") & set(listed)
            assert {"S", "N"} <= set(listed)


@pytest.mark.browser
def test_f_asks_for_the_full_screen_and_leaves_it(browser, talk_path):
    with Show(browser, talk_path) as show:
        show.page.evaluate("""() => {
          window.calls = [];
          const asked = Element.prototype.requestFullscreen;
          Element.prototype.requestFullscreen = function () { calls.push(this.tagName); return asked.call(this); };
        }""")
        show.press("f")
        show.page.wait_for_function("document.fullscreenElement !== null")
        assert show.page.evaluate("calls") == ["HTML"]
        show.press("f")
        show.page.wait_for_function("document.fullscreenElement === null")
        assert show.page.evaluate("calls") == ["HTML"]


@pytest.mark.browser
def test_b_blanks_the_screen_until_a_key_or_a_click(browser, talk_path):
    top = "document.elementFromPoint(innerWidth / 2, innerHeight / 2).className"
    with Show(browser, talk_path) as show:
        for end in ("ArrowRight", "b", "Escape", None):
            show.press("b")
            sheet = show.page.locator(".blank")
            assert show.page.evaluate(top) == "blank"
            assert sheet.bounding_box() == {"x": 0, "y": 0, "width": 1440, "height": 900}
            assert sheet.evaluate("(node) => getComputedStyle(node).backgroundColor") == "rgb(0, 0, 0)"
            if end:
                show.press(end)
            else:
                show.page.mouse.click(700, 400)
            assert show.page.evaluate(top) != "blank"
            assert show.where == (1, 1)
        show.press(" ", "b")
        assert show.label == "Play"


@pytest.mark.browser
def test_d_turns_light_and_dark_on_a_page_and_in_a_component(browser, trace, talk_path):
    ink = "getComputedStyle(document.querySelector('.stage')).backgroundColor"
    with Show(browser, talk_path) as show:
        show.press("d")
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"
        assert show.page.evaluate("document.documentElement.dataset.theme") == "dark"
        show.press("d")
        assert show.page.evaluate(ink) == "rgb(255, 255, 255)"
    with Mounted(browser) as show:
        show.mount(trace, talk=True)
        ink = ink.replace("document", "root")
        show.press("d")
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"
        assert show.page.evaluate("getComputedStyle(home).backgroundColor") == "rgb(18, 21, 27)"
        assert show.page.evaluate("document.documentElement.dataset.theme") is None
        show.mount(trace, talk=True, start=[1, 0])  # what the viewer turned stays turned
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (1024, 768)])
def test_n_shows_what_to_say_at_each_step_and_clips_nothing(browser, trace, talk_path, size):
    with Show(browser, talk_path, size=size) as show:
        show.press("n")
        notes = set()
        for i in kinds(trace):
            show.jump(i)
            notes.add(show.page.locator(".notes").inner_text())
            assert show.page.evaluate(CLIPPED) == [], show.spoken
            assert show.page.evaluate("(({ scrollHeight: all, clientHeight: seen }) => all - seen)"
                                      "(document.querySelector('.notes'))") <= 1  # fmt: skip
            if size == (1920, 1080):
                assert show.page.evaluate(SMALLEST) >= 24
        assert notes == {text for name, text in words().items() if name.startswith("note_")}
        show.press("n")
        assert not show.page.locator(".notes").is_visible()
