"""Records as lines of a terminal: a run's header, its rounds, its text, and what was measured.

Colours are fills behind marks that read without them (✓ accepted, ✕ rejected, ↻ resampled, ★ bonus, – never judged).
A model's text is hostile here: no character of it reaches the terminal that could move the cursor or start a colour.
"""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields

import specviz as sv
from specviz import timeline
from specviz.figures import style
from specviz.i18n import _
from specviz.models.machine import size
from specviz.models.progress import Progress
from specviz.records import Round, Trace
from specviz.timeline import number

Paint = Callable[[str, str], str]  # (text, outcome) -> the text on the outcome's colour, or as it is

_LINE = 78  # characters of a line that is written over and over, so that it does not wrap
LABEL = 18  # cells that a token takes; longer ones are cut


def safe(text: str) -> str:
    """The text with all that a terminal would obey, newlines apart, spelt as a code."""
    return "".join(c if c.isprintable() or c in "\n\u200c\u200d" else c.encode("unicode_escape").decode() for c in text)


def painter(color: str) -> Paint:
    """How to paint on standard output: in 24 bits, in the nearest of 256 colours, or not at all.

    color: "always", "never", or "auto": on a terminal, unless NO_COLOR is set or the terminal is a dumb one.
    """
    if color == "auto":
        terminal = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        color = "always" if terminal and not os.environ.get("NO_COLOR") else "never"
    if color == "never":
        return lambda text, _outcome: text
    palette = style.PALETTES["dark"]  # light fills: black reads on them, whatever the terminal's background
    fills = {
        "accepted": palette.accepted,
        "rejected": palette.rejected,
        "resampled": palette.resampled,
        "bonus": palette.target,
    }
    true_color = os.environ.get("COLORTERM") in ("truecolor", "24bit")

    def paint(text: str, outcome: str) -> str:
        if not text or outcome not in fills:
            return text
        red, green, blue = bytes.fromhex(fills[outcome].removeprefix("#"))
        if true_color:
            return f"\x1b[38;2;0;0;0;48;2;{red};{green};{blue}m{text}\x1b[0m"
        nearest = 16 + 36 * round(red / 51) + 6 * round(green / 51) + round(blue / 51)
        return f"\x1b[38;5;16;48;5;{nearest}m{text}\x1b[0m"

    return paint


def header(trace: Trace) -> str:
    """Models, settings and prompt."""
    models = (
        _("target {target}, alone").format(target=trace.target)
        if trace.draft is None
        else _("target {target}, draft {draft}, K = {k}").format(
            target=trace.target, draft=trace.draft, k=trace.draft_length
        )
    )
    asked = {field.name: getattr(trace.sampling, field.name) for field in fields(trace.sampling)}
    words = asked.pop("bad_words")
    told = [f"{name} {value}" for name, value in (asked | {"seed": trace.seed}).items() if value is not None]
    told += [safe(f"bad_word {word!r}") for word in words]
    return f"{safe(models)}\n{', '.join(told)}\n{_indented(safe(trace.prompt))}"


def round_lines(round_: Round, paint: Paint) -> str:
    """A line for the round and one for each drafted token and the final draw."""
    told = _("round {n}: tokens {tokens}, {all} (draft {draft}, verify {verify})")
    lines = [
        told.format(
            n=round_.index + 1,
            tokens=len(round_.emitted),
            all=_milliseconds(round_.round_s),
            draft=_milliseconds(round_.draft_s),
            verify=_milliseconds(round_.verify_s),
        )
    ]
    for row in timeline.rows(round_):
        label = safe(timeline.label(row.token, row.text))
        chip = f" {style.MARKS[row.outcome]} {_filled(label, LABEL)} "
        judged = ""
        if row.r is not None and row.accept_prob is not None:
            r, accept = timeline.apart(row.r, row.accept_prob)
            judged = f"r {r} < {accept}" if row.outcome == "accepted" else f"r {r} ≥ {accept}"
        q = "" if row.draft_prob is None else f"q {number(row.draft_prob)}"
        ratio = "" if row.ratio is None else f"p/q {number(row.ratio)}"
        numbers = f"p {number(row.target_prob):<11} {q:<13} {ratio:<15} {judged:<17}"
        outcome = timeline.outcome_name(row.outcome, alone=not round_.nodes)
        lines.append(f"{row.position:>3} {paint(chip, row.outcome)} {numbers} {outcome}")
    return "\n".join(lines)


def text_lines(trace: Trace, paint: Paint) -> str:
    """The text, each token on the colour of how it came, and why it ends."""
    spans = timeline.spans(trace)
    text = "".join("\n".join(paint(safe(line), s.outcome) for line in s.text.split("\n")) for s in spans)
    return f"{_indented(text)}\n{_('ended by: {reason}').format(reason=trace.stop_reason)}"


@contextlib.contextmanager
def progress_line() -> Iterator[Callable[[Progress], None] | None]:
    """What `load_pair` tells, on one line of stderr that is wiped at the end; None where no terminal shows it."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return

    def told(progress: Progress) -> None:
        done = f"{size(progress.done)} / {size(progress.total)}" if progress.file else _("waiting for another load")
        line = f"{safe(progress.model)} {safe(progress.file)} {done}".replace("\n", " ")[-_LINE:]
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    rows = list(rows)
    width = max((_cells(name) for name, _value in rows), default=0)
    return "\n".join(f"  {_filled(name, width)}  {value}" for name, value in rows)


def measured(traces: Sequence[Trace], plain: Sequence[Trace] = ()) -> Iterator[tuple[str, str]]:
    """What traces of one draft length show, by name, beside the theory; and against plain runs of the same target."""
    of, k = sv.measure, traces[0].draft_length
    if any(t.n_judged for t in traces):
        alpha = of.alpha(traces)
        expected = number(sv.theory.expected_tokens(alpha.estimate, k))
        yield _("accepted of judged"), _rate(of.acceptance(traces))
        yield _("accepted of drafted"), _rate(of.accepted_of_drafted(traces))
        for place in of.acceptance_by_position(traces):
            told = _("{conditional} of judged, {unconditional} of drafted")
            rates = {"conditional": _rate(place.conditional), "unconditional": number(place.unconditional.estimate)}
            yield _("  position {n}").format(n=place.depth), told.format(**rates)
        yield _("α̂, mean of Σ min(p, q)"), _mean(alpha)
        yield _("tokens per target pass"), _mean(of.tokens_per_round(traces))
        yield _("  E[N] at α̂ and K = {k}").format(k=k), expected
    if any(t.rounds for t in traces):
        yield _("time"), _times(traces)
    if not plain:
        return
    yield _("time of plain decoding"), _times(plain)
    if any(t.n_judged for t in traces):
        compared = of.compare(traces, plain)
        told = _("{speedup}× measured, {predicted}× predicted at α̂ and c = {c}; K* = {best}")
        numbers = {"speedup": compared.speedup, "predicted": compared.predicted, "c": compared.cost_ratio}
        shown = {name: number(value) for name, value in numbers.items()}
        yield _("speed-up over plain decoding"), told.format(**shown, best=compared.best_draft_length)
    if len(traces) == len(plain) == 1 and traces[0].sampling.greedy:
        yield _("greedy"), _sameness(traces[0], plain[0])


def _sameness(trace: Trace, plain: Trace) -> str:
    parted = sv.measure.first_difference(trace, plain)
    if parted is None:
        return _("the same tokens as plain decoding")
    told = _("other tokens than plain decoding from token {n} on; the target's best two logits are {gap} apart there")
    return told.format(n=parted.position + 1, gap="?" if parted.target_gap is None else number(parted.target_gap))


def _rate(rate: sv.measure.Rate) -> str:
    low, high = map(number, rate.interval)
    told = _("{rate} ({successes} of {trials}; 95% interval {low} to {high})")
    shown = number(rate.estimate)
    return told.format(rate=shown, successes=rate.successes, trials=rate.trials, low=low, high=high)


def _mean(mean: sv.measure.Mean) -> str:
    low, high = map(number, mean.interval)
    return _("{mean} (n = {n}; 95% interval {low} to {high})").format(
        mean=number(mean.estimate), n=mean.n, low=low, high=high
    )


def _times(traces: Sequence[Trace]) -> str:
    times = sv.measure.times(traces)
    told = (
        _("draft pass {draft}, target pass {verify}, round {round}, {speed} tokens/s")
        if traces[0].draft_length
        else _("target pass {verify}, round {round}, {speed} tokens/s")
    )
    return told.format(
        draft=_milliseconds(times.draft_pass_s),
        verify=_milliseconds(times.verify_s),
        round=_milliseconds(times.round_s),
        speed=number(times.tokens_per_s),
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _indented(text: str) -> str:
    """Every line two cells in, so that no text looks like a line of ours."""
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in text)


def _filled(text: str, width: int) -> str:
    """The text in so many cells, cut or filled up."""
    if _cells(text) > width:
        while _cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - _cells(text))
