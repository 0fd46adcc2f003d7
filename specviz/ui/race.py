"""The race: plain decoding and speculation on one wall clock, as HTML that a style sheet animates when it is asked to.

No script: every token, segment and number has its delay, and what is animated is only how it appears. So what stands
before and after, and for those who prefer no motion, is the final picture. All text of models is escaped.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from html import escape
from itertools import groupby

from specviz.figures.panel import whole_steps
from specviz.i18n import _
from specviz.race import Lane, Moment, Race, Segment, Share
from specviz.timeline import number

PLAY_S = 8.0  # the clock of both lanes is stretched or squeezed to this
NARROW = 0.001  # of a track: what is narrower joins its neighbours
SHOWN = 512  # tokens of a lane's text, the last ones
LONGEST = 400  # characters of a token, or of the prompt's end
STEPS = 128  # numbers that a counter goes through
TICKS = 8

# The rules of every race, to stand on a page once: the final picture. What plays has its delay or its length here or in
# its own style, and no name; a race with a key gives the names.
SHEET = """
.sv-race { color: var(--sv-text); font-variant-numeric: tabular-nums; }
.sv-race p { margin: 0; }
.sv-race-slow, .sv-race-note { color: var(--sv-muted); font-size: 0.875rem; }
.sv-race-head { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; margin-top: 0.5rem; }
.sv-race-count { animation: PLAYs step-end; }
.sv-race-count::after { counter-reset: sv-tokens var(--sv-tokens); content: counter(sv-tokens); }
.sv-race-track { position: relative; height: 1.75rem; overflow: hidden; border-radius: 4px;
  background: var(--sv-surface); }
.sv-race-track i { position: absolute; top: 0; bottom: 0; box-sizing: border-box; }
.sv-race .sv-race-draft { top: 22%; bottom: 22%; border: dashed var(--sv-draft); border-width: 2px 0;
  background: color-mix(in srgb, var(--sv-draft) 40%, transparent); }
.sv-race .sv-race-verify { background:
  linear-gradient(90deg, var(--sv-target) calc(100% - min(1px, 15%)), transparent calc(100% - min(1px, 15%))); }
.sv-race .sv-race-rest { top: calc(50% - 1px); bottom: calc(50% - 1px); background: var(--sv-muted); }
.sv-race-cover { position: absolute; inset: 0; background: var(--sv-surface); border-left: 2px solid var(--sv-text);
  animation: var(--sv-race-run, none) linear backwards; }
.sv-race-end { display: flex; height: 1.375rem; font-size: 0.875rem; color: var(--sv-muted);
  animation: var(--sv-race-show, none) 0.2s backwards; }
.sv-race-end span { white-space: nowrap; text-align: right; min-width: max-content; }
.sv-race-first span { color: var(--sv-text); font-weight: 600; }
.sv-race-axis { position: relative; height: 1.5rem; margin-top: 0.25rem; border-top: 1px solid var(--sv-muted);
  font-size: 0.8125rem; color: var(--sv-muted); }
.sv-race-axis span { position: absolute; top: 0; padding: 0.2rem 0 0 0.25rem; border-left: 1px solid var(--sv-muted);
  line-height: 1; white-space: nowrap; }
.sv-race-key { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; font-size: 0.875rem; }
.sv-race-key i { position: relative; display: inline-block; width: 1.5rem; height: 0.875rem; margin-right: 0.4rem;
  vertical-align: -0.1rem; box-sizing: border-box; }
.sv-race .sv-race-key i { top: 0; bottom: 0; }
.sv-race .sv-race-key .sv-race-rest { height: 2px; vertical-align: 0.25rem; }
.sv-race-result { margin-top: 0.75rem; }
.sv-race-result strong { display: block; font-size: 2.25rem; line-height: 1.2; font-weight: 700;
  animation: var(--sv-race-show, none) 0.4s backwards; }
.sv-race-texts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 0.5rem 1.5rem; margin-top: 0.75rem; }
.sv-race-text { display: flex; flex-direction: column-reverse; height: 9.5rem; overflow-y: auto; margin-top: 0.25rem;
  border: 1px solid var(--sv-line); border-radius: 6px; background: var(--sv-surface); }
.sv-race-text > div { margin-bottom: auto; padding: 0.375rem 0.75rem; line-height: 1.75; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.sv-race-text .sv-race-prompt { color: var(--sv-muted); }
.sv-race-break::before { content: "⏎"; color: var(--sv-muted); font-size: 0.75em; }
.sv-race-text > div > span[style] { animation: var(--sv-race-appear, none) 1ms step-end backwards; }
@media (prefers-reduced-motion: reduce) { .sv-race * { animation: none !important; } }
""".replace("PLAY", str(PLAY_S))
_KEYFRAMES = """
@keyframes KEY-run { from { transform: none; } }
@keyframes KEY-show { from { opacity: 0; } }
@keyframes KEY-appear { from { font-size: 0; white-space: nowrap; } }
"""


def race_html(race: Race, *, key: str | None = None) -> str:
    """Two lanes to one scale, the texts that grow in them, and the speed-up beside the formula's. SHEET dresses it.

    key: plays it once, and another key once more; the same one, in a page drawn anew, does not. None: it stands still.
    """
    if not (race.speculative.moments and race.plain.moments and race.measured.speedup > 0):
        waiting = escape(_("The race begins when both runs have tokens."))
        return f'<p style="margin:0;color:var(--sv-muted)">{waiting}</p>'
    name = None if key is None else f"sv-race-{zlib.crc32(key.encode('utf-8', 'replace')):08x}"
    lanes = ((_speculation(race), race.speculative), (_("Plain decoding"), race.plain))
    first = None if _even(race) else race.speculative if race.measured.speedup > 1 else race.plain
    board = "".join(
        _lane_html(title, lane, race.total_s, name and f"{name}-{i}", first=lane is first)
        for i, (title, lane) in enumerate(lanes)
    )
    texts = "".join(_text_html(title, lane, race) for title, lane in lanes)
    frames, names = "", ""
    if name is not None:
        counts = "".join(_count_frames(f"{name}-{i}", lane, race.total_s) for i, (_title, lane) in enumerate(lanes))
        frames = f"<style>{_KEYFRAMES.replace('KEY', name)}{counts}</style>"
        names = f' style="{"".join(f"--sv-race-{what}:{name}-{what};" for what in ("run", "show", "appear"))}"'
    return (
        f'{frames}<div class="sv-race"{names} role="region" aria-label="{escape(told(race))}">'
        f'<p class="sv-race-slow">{escape(_pace(race.total_s, played=name is not None))}</p>'
        f'<div aria-hidden="true">{board}{_axis_html(race.total_s)}{_key_html()}</div>'
        f"{_result_html(race)}"
        f'<div class="sv-race-texts">{texts}</div></div>'
    )


def told(race: Race) -> str:
    """The result in a sentence, for those who do not see the lanes."""
    return _(
        "Speculation ran at {speedup} times the speed of plain decoding: {n} tokens in {s}, against {m} tokens in {t}."
    ).format(
        speedup=_times(race.measured.speedup),
        n=len(race.speculative.moments),
        s=_clock(race.speculative.total_s),
        m=len(race.plain.moments),
        t=_clock(race.plain.total_s),
    )


def _prediction(race: Race) -> str:
    measured = race.measured
    if math.isnan(measured.predicted):
        return _("No draft was judged, so the formula predicts nothing.")
    return _("The formula predicted {predicted}× from α̂ = {alpha}, c = {c}, K = {k}.").format(
        predicted=_times(measured.predicted),
        alpha=number(measured.alpha),
        c=number(measured.cost_ratio),
        k=measured.draft_length,
    )


def _even(race: Race) -> bool:
    """No difference that two decimals show."""
    return round(race.measured.speedup, 2) == 1


def _speculation(race: Race) -> str:
    return _("Speculation, K = {k}").format(k=race.speculative.draft_length)


def _lane_html(title: str, lane: Lane, total_s: float, count: str | None, *, first: bool) -> str:
    """Its name and counter, its track, and the time at its end; the faster lane's end carries the flag."""
    width, played = 100 * lane.total_s / total_s, _played(lane.total_s, total_s)
    segments = "".join(
        f'<i class="sv-race-{s.share}" style="left:{100 * s.start_s / total_s:.3f}%;'
        f'width:{100 * (s.end_s - s.start_s) / total_s:.3f}%"></i>'
        for s in merged(lane.segments, NARROW * total_s)
    )
    n = len(lane.moments)
    plays = f";animation-name:{count}" if count else ""
    counter = f'<span class="sv-race-count" style="--sv-tokens:{n}{plays}"></span>'
    end = _("⚑ faster: {time}") if first else "{time}"
    return (
        f'<div class="sv-race-head"><b>{escape(title)}</b>'
        f"<span>{escape(_('tokens: {n}')).format(n=counter)}</span></div>"
        f'<div class="sv-race-track">{segments}<div class="sv-race-cover" '
        f'style="transform:translateX({width:.3f}%);animation-duration:{played}"></div></div>'
        f'<div class="sv-race-end{" sv-race-first" if first else ""}" '
        f'style="animation-delay:{played}">'
        f'<span style="width:{width:.3f}%">{escape(end.format(time=_clock(lane.total_s)))}</span></div>'
    )


def merged(segments: Sequence[Segment], least_s: float) -> list[Segment]:
    """Segments of at least this many seconds (but for the last one): a shorter one joins those after it.

    What is joined is drawn as the share that took most of it.
    """
    wide: list[Segment] = []
    start = 0
    for i, segment in enumerate(segments):
        if segment.end_s - segments[start].start_s >= least_s or i == len(segments) - 1:
            joined = segments[start : i + 1]
            spent: dict[Share, float] = {}
            for part in joined:
                spent[part.share] = spent.get(part.share, 0.0) + part.end_s - part.start_s
            wide.append(Segment(max(spent, key=lambda share: spent[share]), joined[0].start_s, segment.end_s))
            start = i + 1
    return wide


def _count_frames(name: str, lane: Lane, total_s: float) -> str:
    """Steps of the counter: how many tokens stood from when on."""
    stood: dict[float, int] = {}
    for n, moment in enumerate(lane.moments, 1):
        stood[moment.at_s] = n
    frames = list(stood.items())
    kept = frames[:: math.ceil(len(frames) / STEPS)]
    kept += frames[-1:] if kept[-1] != frames[-1] else []
    steps = "".join(f"{100 * at / total_s:.3f}% {{ --sv-tokens: {n}; }}" for at, n in kept)
    return f"@keyframes {name} {{ 0% {{ --sv-tokens: 0; }}{steps}100% {{ --sv-tokens: {len(lane.moments)}; }} }}"


def _axis_html(total_s: float) -> str:
    scale, unit = (1.0, _("{n} s")) if total_s >= 10 else (1000.0, _("{n} ms"))
    most = total_s * scale
    step = whole_steps(math.ceil(most), TICKS)
    ticks = [n for n in range(0, math.floor(most) + 1, step) if n == 0 or n < 0.9 * most]  # labels stand to the right
    spans = "".join(
        f'<span style="left:{100 * n / most:.3f}%">{escape(str(n) if n else unit.format(n=n))}</span>' for n in ticks
    )
    return f'<div class="sv-race-axis">{spans}</div>'


def _key_html() -> str:
    names = (("draft", _("draft passes")), ("verify", _("target pass")), ("rest", _("judging and drawing")))
    items = "".join(f'<span><i class="sv-race-{share}"></i>{escape(name)}</span>' for share, name in names)
    return f'<div class="sv-race-key">{items}</div>'


def _result_html(race: Race) -> str:
    """The measured number, the formula's, and what to know before believing either."""
    verdict = _("Equally fast") if _even(race) else _("{speedup}× as fast as plain decoding")
    notes = [_("One run of each, measured one after the other on the machine that decoded them.")]
    if not math.isnan(race.measured.predicted):
        notes.append(
            _(
                "The formula assumes that a target pass over K + 1 places takes no longer than one over a single "
                "place; here it took {ratio} times as long."
            ).format(ratio=_times(race.measured.pass_ratio))
        )
    if not race.same_length:
        notes.append(_("The runs ended at different lengths, so tokens per second are compared."))
    if not race.differ:
        notes.append(_("Both wrote the same tokens."))
    elif race.greedy:
        notes.append(_("The tokens differ: in greedy runs only rounding at a near tie does that."))
    else:
        notes.append(_("The texts differ by chance: both are drawn from the target's law."))
    lines = "".join(f'<p class="sv-race-note">{escape(note)}</p>' for note in notes)
    return (
        f'<div class="sv-race-result"><p><strong style="animation-delay:{PLAY_S}s">'
        f"{escape(verdict.format(speedup=_times(race.measured.speedup)))}</strong> "
        f"{escape(_unbroken(_prediction(race)))}</p>{lines}</div>"
    )


def _text_html(title: str, lane: Lane, race: Race) -> str:
    """The lane's text, at most its last SHOWN tokens; each round's tokens appear together when the round was over."""
    kept = lane.moments[-SHOWN:]
    prompt = race.prompt if len(race.prompt) <= LONGEST else "…" + race.prompt[1 - LONGEST :]
    before = _cut(prompt) if len(kept) == len(lane.moments) else "… "
    rounds = "".join(
        f'<span style="animation-delay:{_played(at_s, race.total_s)}">'
        f"{''.join(_token_html(m, alone=not lane.draft_length) for m in moments if m.text)}</span>"
        for (_round, at_s), moments in groupby(kept, key=lambda m: (m.round, m.at_s))
    )
    name = escape(_("The text of this run: {run}").format(run=title))
    return (
        f'<div><b aria-hidden="true">{escape(title)}</b>'
        f'<div class="sv-race-text" role="region" aria-label="{name}" tabindex="0"><div dir="auto">'
        f'<span class="sv-race-prompt">{before}</span>{rounds}</div></div></div>'
    )


def _token_html(moment: Moment, *, alone: bool) -> str:
    """A token, underlined by its outcome. One that the target wrote alone has none: it was no bonus."""
    return f'<span class="{"sv-plain" if alone else f"sv-{moment.outcome}"}">{_cut(moment.text)}</span>'


def _unbroken(formulas: str) -> str:
    """No line break around an equals sign."""
    return formulas.replace(" = ", "\u00a0=\u00a0")


def _cut(text: str) -> str:
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return escape(short).replace("\n", '<span class="sv-race-break"></span>\n')


def _played(at_s: float, total_s: float) -> str:
    """A moment of the race in the time of the page."""
    return f"{PLAY_S * at_s / total_s:.3f}s"


def _times(ratio: float) -> str:
    return number(ratio) if ratio >= 1 else number(ratio, 2)


def _clock(seconds: float) -> str:
    return _("{s} s").format(s=number(seconds)) if seconds >= 10 else _("{ms} ms").format(ms=number(1000 * seconds))


def _pace(total_s: float, *, played: bool) -> str:
    slower = PLAY_S / total_s
    if not played:
        return _("Both runs from one start, to one scale.")
    if slower >= 1:
        return _("Both runs from one start, shown at 1/{n} of their speed.").format(n=number(slower, 2))
    return _("Both runs from one start, shown at {n} times their speed.").format(n=number(1 / slower, 2))
