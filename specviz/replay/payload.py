"""A trace as plain JSON for the stage: every word and number ready, short enough to send often.

The words and numbers come from `timeline`, so that the stage, the tables and an export cannot disagree. Texts may hold
whatever a token holds: show them as text.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from specviz import timeline
from specviz.i18n import _
from specviz.records import Candidate, Round, Trace
from specviz.replay.words import words
from specviz.timeline import Law, Step, label, number

SHOWN = 5  # rows of a law that the stage shows, of which a record holds so many; the tail holds the rest
_LEAST = 0.001  # less than this is not told apart in rows and on cards
_SENTENCES = ("t", "c", "f", "why")  # a step's title, caption and formula, and the sum of a replacement
_VARIABLE = re.compile("(“[^”]*”|[0-9][0-9.×⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)")  # what differs from step to step: tokens and numbers
_GAP = "\0"  # no caption holds one: labels make it visible
_CARDS = {"absent": ".", "drafted": "d", "accepted": "a", "rejected": "r", "unjudged": "u"}


def payload(trace: Trace) -> dict[str, Any]:
    """All that the stage needs, as plain JSON: the run, its words, and its rounds.

    Works on a trace under way. Rounds that were sent once do not change, so that a reader can append what comes.
    """
    settings = (trace.target, trace.draft, trace.sampling, trace.seed, trace.draft_length)
    run = (*settings, trace.prompt, trace.prompt_tokens, trace.rounds[:1])
    rounds = []
    texts: dict[str, int] = {}
    for told, tallies in _with_tallies(trace):
        steps = [_packed(step, texts) | {"y": tally} for step, tally in zip(told["steps"], tallies, strict=True)]
        rounds.append(told | {"steps": steps, "spans": []})
    for span in timeline.spans(trace):
        rounds[span.round]["spans"].append([span.text, span.step, span.outcome])
    return {
        "run": f"{zlib.crc32(repr(run).encode('utf-8', 'backslashreplace')):08x}",
        "prompt": trace.prompt,
        "words": words(),
        "texts": list(texts),
        "rounds": rounds,
    }


def _packed(step: dict[str, Any], texts: dict[str, int]) -> dict[str, Any]:
    """The step with its sentences as [which text, what stands in its gaps ...]: each text is sent once.

    The wire's compression looks back 4 KB, less than a round is long, and would send the same words with every round.
    """
    packed = {}
    for name in _SENTENCES:
        if name in step:
            parts = _VARIABLE.split(step[name])
            packed[name] = [texts.setdefault(_GAP.join(parts[::2]), len(texts)), *parts[1::2]]
    return step | packed


def _with_tallies(trace: Trace) -> Iterable[tuple[dict[str, Any], list[list[str]]]]:
    """Each round as it is told, and the sums over the run that stand at each of its steps."""
    passes = tokens = judged = accepted = 0
    beta = 0.0
    for round_ in trace.rounds:
        told, sums = _round(round_)
        yield (
            told,
            [
                _tally(passes + s.rounds, tokens + s.tokens, judged + s.judged, accepted + s.accepted, beta + s.beta)
                for s in sums
            ],
        )
        last = sums[-1]
        passes, tokens, judged = passes + last.rounds, tokens + last.tokens, judged + last.judged
        accepted, beta = accepted + last.accepted, beta + last.beta


def _tally(passes: int, tokens: int, judged: int, accepted: int, beta: float) -> list[str]:
    return [
        str(passes),
        str(tokens),
        f"{tokens / passes:.2f}" if passes else "–",
        f"{beta / judged:.2f}" if judged else "–",
        _("{accepted} of {judged}").format(accepted=accepted, judged=judged),
    ]


@lru_cache(maxsize=1024)
def _round(round_: Round) -> tuple[dict[str, Any], tuple[timeline.Tally, ...]]:
    """One round, told once."""
    steps, final = timeline.steps(round_), round_.final
    told = {
        "i": round_.index,
        "nodes": [
            [label(n.token, n.text), _short(n.draft_prob), _short(n.candidate.target_prob)] for n in round_.nodes
        ],
        "final": final and [label(final.token, final.text), final.source, number(final.prob)],
        "steps": [_step(round_, step) for step in steps],
    }
    return told, tuple(step.tally for step in steps)


def _step(round_: Round, step: Step) -> dict[str, Any]:
    told: dict[str, Any] = {
        "k": step.kind,
        "t": step.title,
        "c": step.caption,
        "f": step.formula.text,
        "s": "".join(_CARDS[card] for card in step.cards),
    }
    if step.node is not None:
        told["n"] = step.node
    more = {"verify": _verify, "judge": _judge, "emit": _emit}.get(step.kind, _draw)
    return told | more(round_, step)


def _draw(round_: Round, step: Step) -> dict[str, Any]:
    """A token drawn from a law: the law's rows and tail, and where the uniform fell."""
    law = step.law
    assert law is not None
    prob = {"draft": _draft_prob, "residual": _residual_prob, "bonus": _target_prob}[law.kind]
    columns: list[Callable[[Any], float]] = (
        [_target_prob, _draft_prob, _residual_prob] if law.kind == "residual" else [prob]
    )
    rows = _rows(law, prob)
    greedy = (round_.final if step.node is None else round_.nodes[step.node]).target_gap is not None  # type: ignore[union-attr]
    why = timeline.balance(round_) if law.kind == "residual" else None
    told = {} if why is None else {"why": why, "rej": number(1 - (law.beta or 0.0))}
    return told | {
        "u": None if greedy else number(law.uniform),
        "rows": _table(rows, columns),
        "tail": _rest(law, rows, columns),
        "b": round(_mass_before(law, rows, prob), 4),
        "d": [c.token for c in rows].index(law.token),
        "g": int(greedy),
    }


def _judge(round_: Round, step: Step) -> dict[str, Any]:
    law, trial = step.law, next(t for t in round_.trials if t.node == step.node)
    assert law is not None
    q = round_.nodes[trial.node].draft_prob
    r, accept = timeline.apart(trial.r, trial.accept_prob)
    rows = _rows(law, lambda c: max(c.target_prob, c.draft_prob), SHOWN - 1)
    columns: list[Callable[[Any], float]] = [_target_prob, _draft_prob]
    return {
        "ok": int(trial.accepted),
        "p": number(trial.target_prob),
        "q": number(q),
        "x": number(trial.target_prob / q),
        "a": accept,
        "r": r,
        "beta": number(law.beta or 0.0),
        "rows": _table(rows, columns),
        "tail": _rest(law, rows, columns),
        "d": [c.token for c in rows].index(law.token),
        "g": int(round_.nodes[trial.node].target_gap is not None),
    }


def _verify(round_: Round, _step: Step) -> dict[str, Any]:
    """What the pass cost, and what each cache did: tokens kept from before, fed in this round, dropped before that."""
    k, caches = len(round_.nodes), []
    for held, work in ((round_.start + k - 1, round_.draft_cache), (round_.start + k, round_.target_cache)):
        caches.append([max(0, held - work.fed), work.fed, work.dropped])
    times = [number(s * 1000) for s in (round_.draft_s, round_.verify_s)]
    return {"ms": times, "cache": caches if k else caches[1:]}


def _emit(round_: Round, _step: Step) -> dict[str, Any]:
    """How far the text grew, and what the target's cache now holds: for the text, and for drafts that fell."""
    fallen = len(round_.nodes) - len(round_.accepted)
    return {"e": len(round_.emitted), "cache": [round_.start + len(round_.accepted), 0, fallen]}


def _rows(law: Law, weight: Callable[[Candidate], float], shown: int = SHOWN) -> list[Candidate]:
    """The heaviest rows, and the ones that must be seen: the drawn token's and the rejected one's."""
    ranked = sorted(law.rows, key=lambda c: (-weight(c), c.token))
    must = [c for c in ranked if c.token in (law.token, law.rejected)]
    others = [c for c in ranked if c not in must and weight(c) > 0]
    kept = must + others[: max(0, shown - len(must))]
    return sorted(kept, key=lambda c: (-weight(c), c.token))


def _table(rows: Sequence[Candidate], columns: Sequence[Callable[[Any], float]]) -> list[list[Any]]:
    """[id, label, numbers ...] a row; the strip of the cumulative law runs in the order of ids."""
    return [[c.token, label(c.token, c.text), *(_short(of(c)) for of in columns)] for c in rows]


def _rest(law: Law, rows: Sequence[Candidate], columns: Sequence[Callable[[Any], float]]) -> list[str] | None:
    """The numbers of all tokens that have no row; None when nothing is left."""
    hidden = [c for c in law.rows if c not in rows]
    rest = [of(law.tail) + sum(of(c) for c in hidden) for of in columns]
    return [_short(mass) for mass in rest] if any(rest) else None


def _mass_before(law: Law, rows: Sequence[Candidate], prob: Callable[[Any], float]) -> float:
    """How much of what has no row lies before the drawn token in the cumulative law."""
    return max(0.0, law.below - sum(prob(c) for c in rows if c.token < law.token))


def _short(value: float) -> str:
    """A probability for a narrow column: the smallest ones only as such."""
    return f"<{_LEAST}" if 0 < value < _LEAST else number(value)


def _target_prob(row: Any) -> float:
    return float(row.target_prob)


def _draft_prob(row: Any) -> float:
    return float(row.draft_prob)


def _residual_prob(row: Any) -> float:
    return float(row.residual_prob)
