"""The race puts both runs on one clock, says honestly which was faster, and shows tokens as text."""

import dataclasses
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

import specviz as sv
from specviz.race import Segment, race
from specviz.timeline import number
from specviz.ui.race import LONGEST, NARROW, PLAY_S, SHEET, SHOWN, merged, race_html, told
from tests.test_decoding import GREEDY, always, toy_pair
from tests.test_measure import with_times

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    "</div></div>",
    "$x$",
    "**bold** :red[x] :smile:",
    "a\nb\n\nc",
    "שלום ‮evil",
    "&amp;\"'",
    "{n} %s %{y}",
    "x" * 2000,
)
COUNTED = "(e) => getComputedStyle(e).getPropertyValue('--sv-tokens').trim()"
SHOWN_TAGS = {"style", "div", "p", "b", "i", "span", "strong"}


class Reader(HTMLParser):
    """What a browser would make of it: the elements, their attributes, the text, the style sheet."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.sheet, self._open = [], "", "", []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            self.sheet += data
        else:
            self.text += data

    def styles(self, name):
        """The inline styles of the elements of a class, each as a dict."""
        return [
            dict(part.split(":", 1) for part in attrs.get("style", "").split(";") if part)
            for _tag, attrs in self.elements
            if name in attrs.get("class", "").split()
        ]


def runs(draft_pass_s=0.1, verify_s=1.0, tokens=40, k=3, sampling=None, pair=None):
    """A speculative and a plain run with given times."""
    pair = pair or toy_pair()
    fast = sv.speculate(pair, [0], draft_length=k, max_new_tokens=tokens, sampling=sampling, seed=1)
    plain = sv.autoregress(pair, [0], max_new_tokens=tokens, sampling=sampling, seed=1)
    return with_times(fast, draft_pass_s, verify_s), with_times(plain, 0.0, 1.0)


def saying(trace, texts):
    """The same run, its tokens adding these texts in turn."""
    n, rounds = 0, []
    for r in trace.rounds:
        rounds.append(dataclasses.replace(r, pieces=tuple(texts[(n + i) % len(texts)] for i in range(len(r.pieces)))))
        n += len(r.pieces)
    return dataclasses.replace(trace, rounds=tuple(rounds), text="".join(p for r in rounds for p in r.pieces))


def percent(style, name):
    return float(re.search(r"([\d.]+)%", style[name])[1])


def seconds(style, name):
    return float(style[name].removesuffix("s"))


class TestRecord:
    def test_each_token_stands_when_its_round_is_over(self):
        speculative, plain = runs()
        result = race(speculative, plain)
        for lane, trace in ((result.speculative, speculative), (result.plain, plain)):
            now, want = 0.0, []
            for r in trace.rounds:
                now += r.round_s
                want += [pytest.approx(now)] * len(r.emitted)
            assert [m.at_s for m in lane.moments] == want
            assert all(a.at_s <= b.at_s for a, b in pairwise(lane.moments))
            assert lane.moments[-1].at_s == pytest.approx(lane.total_s)
        assert all(a.at_s < b.at_s for a, b in pairwise(result.plain.moments))  # one token a pass

    def test_tokens_carry_their_text_and_their_outcome(self, pair):
        fast = sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=24, seed=1)
        plain = sv.autoregress(pair, "It is a truth", max_new_tokens=24, seed=1)
        result = race(fast, plain)
        assert "".join(m.text for m in result.speculative.moments) == fast.text
        assert "".join(m.text for m in result.plain.moments) == plain.text
        for moments, r in (
            (tuple(m for m in result.speculative.moments if m.round == r.index), r) for r in fast.rounds
        ):
            ends = {"residual": ["resampled"], "bonus": ["bonus"]}[r.final.source]
            assert [m.outcome for m in moments] == ["accepted"] * len(r.accepted) + ends

    def test_segments_cover_the_clock_in_order_and_hold_the_measured_times(self, pair):
        fast = sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=24, seed=1)
        plain = sv.autoregress(pair, "It is a truth", max_new_tokens=24, seed=1)
        result = race(fast, plain)
        for lane, trace in ((result.speculative, fast), (result.plain, plain)):
            assert lane.segments[0].start_s < 1e-3
            assert all(a.end_s <= b.start_s + 1e-12 for a, b in pairwise(lane.segments))
            assert lane.segments[-1].end_s <= lane.total_s
            for share, name in (("draft", "draft_s"), ("verify", "verify_s")):
                spent = sum(s.end_s - s.start_s for s in lane.segments if s.share == share)
                assert spent == pytest.approx(
                    sum(getattr(r, name) for r in trace.rounds if r.nodes or share == "verify")
                )
        assert {s.share for s in result.plain.segments} <= {"verify", "rest"}

    def test_the_speedup_is_of_tokens_per_second_and_the_prediction_is_measures(self):
        speculative, plain = runs()
        result = race(speculative, plain)
        assert result.measured == sv.measure.compare(speculative, plain)
        assert result.same_length
        assert result.measured.speedup == pytest.approx(plain.total_s / speculative.total_s)
        longer, _ = runs(tokens=60)
        unequal = race(longer, plain)
        assert not unequal.same_length
        assert unequal.measured.speedup == pytest.approx((60 / longer.total_s) / (40 / plain.total_s))

    def test_greedy_runs_do_not_differ_and_sampled_ones_may(self):
        assert not race(*runs(sampling=GREEDY)).differ
        assert race(*runs()).differ

    def test_runs_under_way_and_empty_ones_race_so_far(self):
        speculative, plain = runs()
        begun = dataclasses.replace(speculative, rounds=speculative.rounds[:2], total_s=2.6)
        assert len(race(begun, plain).speculative.moments) == len(begun.tokens)
        nothing = dataclasses.replace(speculative, rounds=(), total_s=0.0)
        assert race(nothing, plain).speculative.moments == ()

    def test_two_plain_runs_get_one_sentence(self):
        _, plain = runs()
        with pytest.raises(sv.ConfigError, match="compare needs speculative runs"):
            race(plain, plain)


class TestTracks:
    def test_both_lanes_share_one_scale(self):
        result = race(*runs(verify_s=1.3))
        page = Reader(race_html(result, key="a"))
        drawn = [percent(style, "width") / 100 * result.total_s for style in page.styles("sv-race-verify")[:-1]]
        measured = [s.end_s - s.start_s for lane in (result.speculative, result.plain) for s in lane.segments]
        passes = [length for length in measured if length >= 1]
        assert drawn == pytest.approx(passes, abs=1e-3)
        assert {round(length, 3) for length in passes} == {1.3, 1.0}  # of either lane
        for style, lane in zip(page.styles("sv-race-cover"), (result.speculative, result.plain), strict=True):
            assert percent(style, "transform") == pytest.approx(100 * lane.total_s / result.total_s, abs=1e-3)
            speed = percent(style, "transform") / seconds(style, "animation-duration")
            assert speed == pytest.approx(100 / PLAY_S, rel=1e-3)  # one clock

    def test_tokens_appear_at_their_moment_of_the_stretched_clock(self):
        result = race(*runs())
        text = race_html(result, key="a").split('class="sv-race-texts"')[1]
        delays = [float(d) for d in re.findall(r'<span style="animation-delay:([\d.]+)s">', text)]
        moments = [sorted({m.at_s for m in lane.moments}) for lane in (result.speculative, result.plain)]
        want = [PLAY_S * at / result.total_s for lane in moments for at in lane]
        assert delays == pytest.approx(want, abs=1e-3)
        assert max(delays) == pytest.approx(PLAY_S, abs=1e-3)

    def test_counters_end_at_the_number_of_tokens(self):
        page = Reader(race_html(race(*runs()), key="a"))
        assert [style["--sv-tokens"] for style in page.styles("sv-race-count")] == ["40", "40"]
        for frames in re.findall(r"@keyframes sv-race-\w+-[01] \{(.*?)\} \}", page.sheet):
            counts = [int(n) for n in re.findall(r"--sv-tokens: (\d+);", frames)]
            assert counts[0] == 0
            assert counts == sorted(counts)
            assert counts[-1] == 40

    def test_narrow_segments_join_and_keep_the_ends(self):
        parts = [Segment("verify" if i % 4 else "draft", i / 100, (i + 1) / 100) for i in range(100)]
        joined = merged(parts, 0.1)
        assert len(joined) == 10
        assert all(a.end_s == b.start_s for a, b in pairwise(joined))
        assert (joined[0].start_s, joined[-1].end_s) == (0.0, 1.0)
        assert {s.share for s in joined} == {"verify"}  # what took most of it
        assert merged(parts, 0.0) == parts
        assert merged([], 0.1) == []

    def test_a_long_run_stays_bounded(self):
        result = race(*runs(tokens=3000, pair=sv.Pair(always(1), always(1))))
        page = Reader(race_html(result, key="a"))
        segments = sum(len(page.styles(f"sv-race-{share}")) for share in ("draft", "verify", "rest"))
        assert segments <= 2 * (1 / NARROW + 1) + 3  # and the key
        tokens = [attrs for tag, attrs in page.elements if tag == "span"]
        assert len(tokens) <= 2 * (2 * SHOWN + 20)
        assert len(race_html(result, key="a")) < 500_000


class TestVerdict:
    def test_a_faster_run_says_how_much_and_what_was_predicted(self):
        result = race(*runs(pair=sv.Pair(always(1), always(1))))
        page = Reader(race_html(result, key="a"))
        assert f"{number(result.measured.speedup)}× as fast as plain decoding" in page.text
        c = number(result.measured.cost_ratio)
        assert f"predicted 3.08× from α̂\u00a0=\u00a01, c\u00a0=\u00a0{c}, K\u00a0=\u00a03." in page.text
        assert page.text.count("⚑") == 1
        assert "slower" not in page.text

    def test_a_slower_run_says_so(self):
        speculative, plain = runs(draft_pass_s=2.0)
        result = race(speculative, plain)
        page = Reader(race_html(result, key="a"))
        assert result.measured.speedup < 1
        assert f"{result.measured.speedup:.2f}× as fast as plain decoding" in page.text
        assert "faster" not in page.text.replace("⚑ faster", "")
        flag = page.text.index("⚑")
        assert page.text.index("Plain decoding") < flag  # the other lane has it

    def test_equal_runs_have_no_winner(self):
        speculative, plain = runs()
        for ratio, even in ((1, True), (1.004, True), (0.996, True), (1.006, False), (0.994, False)):
            result = race(dataclasses.replace(speculative, total_s=plain.total_s / ratio), plain)
            assert result.measured.speedup == pytest.approx(ratio)
            page = Reader(race_html(result))
            assert ("Equally fast" in page.text) == even
            assert ("× as fast as plain decoding" in page.text) != even
            assert page.text.count("⚑") == (not even)

    def test_the_notes_say_how_it_was_measured(self):
        assert "One run of each, measured one after the other on the machine" in Reader(race_html(race(*runs()))).text

    def test_the_whole_is_named_by_its_result_and_the_picture_is_hidden(self):
        result = race(*runs())
        page = Reader(race_html(result, key="a"))
        (name,) = [a["aria-label"] for _, a in page.elements if "sv-race" in a.get("class", "").split()]
        assert name == told(result)
        assert name.startswith(f"Speculation ran at {number(result.measured.speedup)} times the speed")
        assert "40 tokens in" in name
        assert next(a["aria-hidden"] for _, a in page.elements if "aria-hidden" in a) == "true"

    def test_the_true_pace_is_named(self):
        speculative, plain = runs(tokens=12)
        slow = [dataclasses.replace(t, total_s=t.total_s * 100) for t in (speculative, plain)]
        quick = [
            dataclasses.replace(
                t,
                total_s=t.total_s / 20,
                rounds=tuple(
                    dataclasses.replace(r, draft_s=r.draft_s / 20, verify_s=r.verify_s / 20, round_s=r.round_s / 20)
                    for r in t.rounds
                ),
            )
            for t in (speculative, plain)
        ]
        assert "shown at 1/13 of their speed" in race_html(race(*quick), key="a")  # 12 s / 20 becomes 8 s
        assert "shown at 150 times their speed" in race_html(race(*slow), key="a").replace("1.5×10²", "150")

    def test_different_lengths_and_texts_are_told(self):
        speculative, plain = runs()
        assert "differ by chance" in race_html(race(speculative, plain), key="a")
        assert "Both wrote the same tokens." in race_html(race(*runs(sampling=GREEDY)), key="a")
        longer, _ = runs(tokens=60)
        assert "ended at different lengths" in race_html(race(longer, plain), key="a")
        assert "ended at different lengths" not in race_html(race(speculative, plain), key="a")

    def test_a_run_that_judged_nothing_predicts_nothing(self):
        html = race_html(race(*runs(tokens=1)), key="a")
        assert "the formula predicts nothing" in html
        assert "–×" not in html

    def test_the_race_begins_when_both_have_tokens(self):
        speculative, plain = runs()
        nothing = dataclasses.replace(speculative, rounds=(), text="", total_s=0.0)
        html = race_html(race(nothing, plain), key="a")
        assert "The race begins when both runs have tokens." in html
        assert "<style" not in html


class TestSafety:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_tokens_are_text(self, text):
        speculative, plain = (saying(t, [text, "ok "]) for t in runs(tokens=12))
        hostile = dataclasses.replace(speculative, prompt=text)
        page = Reader(race_html(race(hostile, plain), key="a"))
        harmless = Reader(race_html(race(*(saying(t, ["b", "ok "]) for t in runs(tokens=12))), key="a"))
        assert {tag for tag, _ in page.elements} == SHOWN_TAGS
        attributes = [[a for t, a in p.elements if a.get("class") != "sv-race-break"] for p in (page, harmless)]
        assert attributes[0] == attributes[1]  # nothing of a token but text
        assert page.sheet == harmless.sheet
        shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        assert page.text.count(shown) >= 12  # six in each lane

    def test_what_is_cut_off_by_a_stop_string_is_not_shown(self):
        speculative, plain = (saying(t, ["one ", "two "]) for t in runs(tokens=12))
        cut = dataclasses.replace(speculative, text=speculative.text[:10])
        assert "".join(m.text for m in race(cut, plain).speculative.moments) == "one two on"

    def test_another_key_restarts_the_animation_and_the_same_does_not(self):
        result = race(*runs())
        one, same, other = (race_html(result, key=k) for k in ("run 1", "run 1", "run 2"))
        assert one == same
        names = [set(re.findall(r"@keyframes ([\w-]+)", html)) for html in (one, other)]
        assert len(names[0]) == 5  # three ways to appear and two counters
        assert not names[0] & names[1]
        for html, defined in zip((one, other), names, strict=True):
            used = set(re.findall(r"(?:animation-name|--sv-race-\w+):([\w-]+)", html))
            assert used == defined
        assert one.replace(key_of(one), key_of(other)) == other  # nothing else differs

    def test_without_a_key_nothing_plays(self):
        """WCAG 2.2.2: what moves by itself for more than five seconds needs a way to stop it; this does not begin."""
        still, plays = (race_html(race(*runs()), key=k) for k in (None, "a"))
        for word in ("<style", "@keyframes", "animation-name", "--sv-race-"):
            assert word not in still
            assert word in plays
        assert "of their speed" not in still
        for name in ("sv-race-verify", "sv-race-draft", "sv-race-cover", "sv-race-end"):
            assert Reader(still).styles(name) == Reader(plays).styles(name)  # the same picture

    def test_the_sheet_alone_moves_nothing_and_holds_no_key(self):
        assert "@keyframes" not in SHEET
        assert "KEY" not in SHEET
        for rule in re.findall(r"animation: ([^;]+);", SHEET):
            assert rule.startswith("var(--sv-race-") or rule in (f"{PLAY_S}s step-end", "none !important"), rule
        names = set(re.findall(r"var\((--sv-race-\w+), none\)", SHEET))
        assert names == set(re.findall(r"(--sv-race-\w+):", race_html(race(*runs()), key="a")))

    @pytest.mark.parametrize("key", ["</style><script>", "a b}{", "ключ", "\ud800", ""])
    def test_any_key_is_a_harmless_name(self, key):
        html = race_html(race(*runs(tokens=4)), key=key)
        assert re.search(r'class="sv-race" style="--sv-race-run:sv-race-[0-9a-f]{8}-run;', html)
        assert "<script" not in html

    def test_no_script_no_address_and_motion_can_be_declined(self):
        html = f"<style>{SHEET}</style>{race_html(race(*runs()), key='a')}"
        assert "prefers-reduced-motion: reduce" in html
        for word in ("<script", "http", "url(", "@import"):
            assert word not in html
        assert not any(name.startswith("on") for _, attrs in Reader(html).elements for name in attrs)

    def test_a_picture_at_rest_is_the_final_one(self):
        """What is animated starts hidden only in keyframes: without them all is there."""
        frames = Reader(race_html(race(*runs()), key="a")).sheet
        for hidden in ("opacity: 0", "font-size: 0;"):
            assert hidden not in SHEET
            assert hidden in frames


@pytest.mark.browser
@pytest.mark.parametrize(
    ("key", "motion", "plays"), [(None, "no-preference", False), ("a", "no-preference", True), ("a", "reduce", False)]
)
def test_only_a_race_with_a_key_moves_in_a_browser(browser, key, motion, plays):
    html = race_html(race(*runs()), key=key)
    page = browser.new_page(reduced_motion=motion)
    page.set_content(f"<style>{SHEET}</style>{html}")
    names = page.evaluate("document.getAnimations().map((a) => a.animationName)")
    assert set(names) == (set(re.findall(r"@keyframes ([\w-]+)", html)) if plays else set())
    page.evaluate("document.getAnimations().forEach((a) => a.finish())")
    counts = [page.locator(".sv-race-count").nth(i).evaluate(COUNTED) for i in range(2)]
    assert counts == ["40", "40"]
    assert page.locator(".sv-race-result strong").evaluate("(e) => getComputedStyle(e).opacity") == "1"
    page.close()


def key_of(html):
    return re.search(r"--sv-race-run:(sv-race-[0-9a-f]{8})-run", html)[1]
