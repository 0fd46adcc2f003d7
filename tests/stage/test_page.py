"""The exported page in a browser: keys, clicks, playing, pictures, themes."""

import itertools
from xml.etree import ElementTree

import pytest

import specviz as sv
from specviz import timeline
from tests.stage.shows import CLIPPED, Mounted, Show, half_trace, starts, toy_trace


@pytest.mark.browser
def test_keys_step_through_the_run(browser, path, trace):
    with Show(browser, path) as show:
        assert show.where == (1, 1)
        show.press("ArrowRight", "PageDown", "ArrowLeft")
        assert show.where == (1, 2)
        show.press("ArrowDown")
        assert show.where == (2, 1)
        show.press("ArrowUp")
        assert show.where == (1, 1)
        show.press("End")
        assert show.where == (len(trace.rounds), len(timeline.steps(trace.rounds[-1])))
        show.press("Home", "x")
        rejected = next(s for s in timeline.steps(trace) if s.kind == "judge" and "rejected" in s.cards)
        assert show.where == (rejected.round + 1, rejected.index + 1)
        assert show.spoken == f"{rejected.title}. {rejected.caption}"
        show.press("1", "2")
        assert show.where == (12, 1)
        show.page.locator(".go-next").click()
        show.press(" ")
        assert (show.where, show.label) == ((12, 2), "Pause")
        show.press(" ")
        assert show.label == "Play"


@pytest.mark.browser
def test_keys_are_left_alone_in_inputs_and_with_modifiers(browser, path):
    with Show(browser, path) as show:
        show.page.evaluate("document.body.prepend(document.createElement('textarea'))")
        show.page.locator("textarea").focus()
        show.press("ArrowRight", " ", "3", "?")
        assert show.where == (1, 1)
        assert show.page.locator("textarea").input_value() == " 3?"
        show.page.locator("textarea").blur()
        show.press("Control+ArrowRight", "Alt+ArrowRight")
        assert show.where == (1, 1)
        show.page.locator(".scrub input").focus()
        show.press("PageDown")
        assert show.where == (1, 2)


@pytest.mark.browser
def test_help_opens_and_closes_and_the_focus_comes_back(browser, path):
    with Show(browser, path) as show:
        show.page.locator(".go-next").focus()
        show.press("?")
        assert show.page.get_by_role("dialog").is_visible()
        assert show.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Close"
        show.press("Escape")
        assert not show.page.get_by_role("dialog").is_visible()
        assert show.page.evaluate("document.activeElement.classList.contains('go-next')")


@pytest.mark.browser
def test_every_step_is_spoken_and_shown(browser, path, trace):
    with Show(browser, path, motion="reduce") as show:
        for i, step in enumerate(timeline.steps(trace)):
            if i:
                show.press("ArrowRight")
            assert show.spoken == f"{step.title}. {step.caption}"
            assert show.page.locator(".formula").text_content() == step.formula.text
            assert show.page.locator(".panels > :not([hidden])").count() == 1


@pytest.mark.browser
def test_the_text_grows_with_the_emitted_tokens_and_a_click_finds_their_step(browser, path, trace):
    with Show(browser, path) as show:
        for n in (0, 1, 3, len(trace.rounds)):
            last = (n - 1, len(timeline.steps(trace.rounds[n - 1])) - 1) if n else (0, 0)
            show.jump(starts(trace)[last])
            shown = show.page.locator(".inner").inner_text()
            assert shown == trace.prompt + "".join(p for r in trace.rounds[:n] for p in r.pieces)
        span = timeline.spans(trace)[2]
        show.page.locator(".inner .token").nth(2).click()
        assert show.where == (span.round + 1, span.step + 1)
        show.page.locator(".card").first.click()
        assert show.page.locator(".told h2").text_content().startswith("Judge 1 of")


@pytest.mark.browser
def test_a_text_from_right_to_left_reads_from_right_to_left(browser, tmp_path):
    trace = toy_trace(("שלום ", "עולם ", "טוב ", "מאוד "))
    trace.to_html(tmp_path / "hebrew.html")
    with Show(browser, tmp_path / "hebrew.html") as show:
        show.press("End")
        edges = show.page.evaluate(
            "[...document.querySelectorAll('.inner .token')].map((t) => t.getBoundingClientRect())"
        )
        pairs = [(one["right"], other["right"]) for one, other in itertools.pairwise(edges) if one["y"] == other["y"]]
        assert len(pairs) > 20
        assert all(right > next_right for right, next_right in pairs)


@pytest.mark.browser
@pytest.mark.parametrize("where", ["exported", "mounted"])
def test_half_a_character_shows_its_bytes_and_waits_in_the_text(browser, pair, tmp_path, where):
    trace = half_trace(pair)
    assert trace.text == "😀" * 6
    assert {piece for r in trace.rounds for piece in r.pieces} == {"", "😀"}
    trace.to_html(tmp_path / "half.html")
    with Show(browser, tmp_path / "half.html") if where == "exported" else Mounted(browser) as show:
        if where == "mounted":
            show.mount(trace)
        text, first = trace.prompt, starts(trace)
        for round_ in trace.rounds:
            show.jump(first[round_.index, len(round_.nodes)])
            assert show.page.locator(".inner").inner_text().rstrip("\n") == text.rstrip("\n")
            cards = " ".join(show.page.locator(".card").all_inner_texts())
            for node in round_.nodes:
                assert node.text.startswith("⟨")
                assert node.text in cards
            last = len(timeline.steps(round_)) - 1
            show.jump(first[round_.index, last])
            text += "".join(round_.pieces)
            assert show.page.locator(".inner").inner_text() == text
            assert "\ufffd" not in show.page.locator(".stage").inner_text()
            if where == "exported":
                assert show.page.evaluate(CLIPPED) == [], show.spoken
        assert text == trace.prompt + "😀" * 6


@pytest.mark.browser
def test_playing_moves_on_by_itself_and_stops_at_the_end(browser, path, trace):
    with Show(browser, path) as show:
        show.jump(len(timeline.steps(trace)) - 2)
        show.page.get_by_label("Speed").select_option("4")
        show.press(" ")
        show.page.locator(".go-play[aria-label=Play]").wait_for()
        assert show.where == (len(trace.rounds), len(timeline.steps(trace.rounds[-1])))
        show.press(" ")
        assert (show.where, show.label) == ((1, 1), "Pause")


@pytest.mark.browser
@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_reduced_motion_turns_movement_into_cuts(browser, path, trace, motion, moves):
    with Show(browser, path, motion=motion) as show:
        show.jump(starts(trace)[(1, 0)] - 2)
        show.press("ArrowRight")  # the emitted tokens fly, from the next frame on
        show.page.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
        assert bool(show.page.evaluate("document.getAnimations().length")) == moves
        assert bool(show.page.locator(".ghost").count()) == moves


@pytest.mark.browser
def test_a_swipe_turns_steps(browser, path):
    with Show(browser, path, size=(390, 844), touch=True) as show:
        swipe = """([from, to]) => { const at = (x) => [new Touch({ identifier: 1, target, clientX: x, clientY: 300 })];
            const target = document.querySelector('.told');
            for (const [name, x] of [['touchstart', from], ['touchend', to]]) target.dispatchEvent(new TouchEvent(name,
            { touches: name === 'touchstart' ? at(x) : [], changedTouches: at(x), bubbles: true })); }"""
        show.page.evaluate(swipe, [300, 100])
        assert show.where == (1, 2)
        show.page.evaluate(swipe, [100, 300])
        assert show.where == (1, 1)


@pytest.mark.browser
@pytest.mark.parametrize("by", ["key", "button"])
def test_a_picture_of_the_step_is_saved(browser, path, tmp_path, by):
    with Show(browser, path) as show:
        show.press("ArrowRight")
        with show.page.expect_download() as download:
            show.press("s") if by == "key" else show.page.locator(".go-picture").click()
        assert download.value.suggested_filename == "specviz-1-2.png"
        download.value.save_as(tmp_path / "step.png")
        head = (tmp_path / "step.png").read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(head[16:20], "big") == 2 * (1440 + 2 * 16)


@pytest.mark.browser
@pytest.mark.parametrize("by", ["key", "button"])
def test_with_shift_the_picture_is_a_drawing(browser, path, tmp_path, by):
    with Show(browser, path) as show:
        show.press("ArrowRight")
        with show.page.expect_download() as download:
            show.press("Shift+S") if by == "key" else show.page.locator(".go-picture").click(modifiers=["Shift"])
        assert download.value.suggested_filename == "specviz-1-2.svg"
        download.value.save_as(tmp_path / "step.svg")
        drawing = ElementTree.parse(tmp_path / "step.svg").getroot()
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert show.page.locator("h2").first.inner_text() in "".join(drawing.itertext())
        page = show.context.new_page()
        page.goto((tmp_path / "step.svg").as_uri())
        assert page.locator(".told").bounding_box()["width"] > 1300  # it brings its own styles


@pytest.mark.browser
def test_the_theme_follows_the_reader_and_can_be_turned(browser, path):
    ink = "getComputedStyle(document.querySelector('.stage')).backgroundColor"
    with Show(browser, path, theme="dark") as show:
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"
        show.page.locator(".go-theme").click()
        assert show.page.evaluate(ink) == "rgb(255, 255, 255)"
        show.page.locator(".go-theme").click()
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"


@pytest.mark.browser
def test_a_run_that_ends_inside_the_accepted_drafts_is_shown_to_its_end(browser, pair, tmp_path):
    trace = sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=60, seed=1, stop=("e",))
    seed = 1
    while trace.rounds[-1].final is not None:  # a stop string that a final draw completes is another case
        seed += 1
        trace = sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=60, seed=seed, stop=("e",))
    trace.to_html(tmp_path / "run.html")
    with Show(browser, tmp_path / "run.html") as show:
        show.press("End")
        assert show.page.locator(".inner").inner_text() == trace.prompt + trace.text
        assert show.page.locator(".card.is-resampled, .card.is-bonus").count() == 0


@pytest.mark.browser
def test_the_title_of_each_token_in_the_text_names_it(browser, path, trace):
    with Show(browser, path) as show:
        show.press("End")
        titles = show.page.locator(".inner .token").evaluate_all("nodes => nodes.map((n) => n.title)")
        labels = [timeline.label(token, text) for token, text in spans_with_labels(trace)]
        assert [title.split(": ")[0] for title in titles] == labels


def spans_with_labels(trace):
    for round_ in trace.rounds:
        accepted = [round_.nodes[t.node] for t in round_.trials if t.accepted]
        for drawn in (*accepted, *([round_.final] if round_.final else [])):
            yield drawn.token, drawn.text


@pytest.mark.browser
def test_the_picked_token_stays_inside_the_panel_while_it_pops_up(browser, trace, tmp_path):
    late = max(
        ((node.uniform, r.index, i) for r in trace.rounds for i, node in enumerate(r.nodes)),
        key=lambda found: found[0],
    )
    early = next((n.uniform, r.index, i) for r in trace.rounds for i, n in enumerate(r.nodes) if 0.4 < n.uniform < 0.6)
    trace.to_html(tmp_path / "run.html")
    with Show(browser, tmp_path / "run.html", size=(1280, 720)) as show:
        show.jump(starts(trace)[late[1], late[2]] - 1)
        show.press("ArrowRight")  # moves
        chip = show.page.locator(".panel:not([hidden]) .chip")
        assert chip.evaluate("e => e.getAnimations().length") == 1
        right = chip.evaluate(
            "e => e.getBoundingClientRect().right - e.closest('.panels').getBoundingClientRect().right"
        )
        assert late[0] > 0.9
        assert right < 0
        middle = "e => { const b = e.getBoundingClientRect(); return b.left + b.width / 2; }"
        show.jump(starts(trace)[early[1], early[2]])
        panel = show.page.locator(".panel:not([hidden])")
        line, flag = (panel.locator(which).evaluate(middle) for which in (".marker > i", ".flag"))
        assert abs(line - flag) < 2  # u stands over its line
        assert abs(line - panel.locator(".chip").evaluate(middle)) < 2  # and what it picks under it


@pytest.mark.browser
def test_a_picture_holds_the_card_that_is_looked_at(browser, pair, tmp_path):
    trace = sv.speculate(pair, "It is a truth", draft_length=16, max_new_tokens=40, seed=1)
    trace.to_html(tmp_path / "run.html")
    with Show(browser, tmp_path / "run.html", size=(1280, 720)) as show:
        show.press(*["ArrowRight"] * 14)
        aside = show.page.locator(".cards").evaluate("e => e.scrollLeft")
        assert aside > 0
        with show.page.expect_download() as download:
            show.press("Shift+S")
        download.value.save_as(tmp_path / "step.svg")
        assert f"translateX(-{aside}px)" in (tmp_path / "step.svg").read_text()
