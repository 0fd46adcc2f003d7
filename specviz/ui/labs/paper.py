"""A round as one writes it on paper: the laws, the places, and what it comes to, each number with its formula.

In an exercise only what was found is written, and the rest is a question mark. Token names are escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from html import escape

import pandas as pd

from specviz.byhand import Worked
from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.numerals import shown
from specviz.timeline import label, outcome_name
from specviz.ui.tables import Html, table_html

Known = Callable[[str], bool]  # whether the number of an exercise's question may be shown
_UNKNOWN = "?"


def everything(_key: str) -> bool:
    return True


def laws_html(worked: Worked, known: Known = everything) -> str:
    """A row for each token: p, q, min(p, q), max(0, p - q) and the residual; their sums are 1, 1, α, 1 - α and 1."""
    given, mass = worked.given, sum(worked.left)
    heads = [_("Token"), "p", "q", "min(p, q)", "max(0, p − q)", _("residual: that ÷ (1 − α)")]
    rows = []
    for i, name in enumerate(given.names):
        p, q, left = given.target_probs[i], given.draft_probs[i], worked.left[i]
        scaled = f"{shown(left)} / {shown(mass)} = {shown(worked.residual[i])}" if mass else "–"
        rows.append(
            [
                _chip(name),
                shown(p),
                shown(q),
                shown(min(p, q)) if known("alpha") else _UNKNOWN,
                shown(left) if known("residual") else _UNKNOWN,
                scaled if known("residual") else _UNKNOWN,
            ]
        )
    alpha, rejected = f"α = {shown(worked.alpha)}", f"1 − α = {shown(mass)}"
    rows.append(
        [
            escape(_("Sum")),
            _total(given.target_probs),
            _total(given.draft_probs),
            f"<b>{alpha if known('alpha') else _UNKNOWN}</b>",
            f"<b>{rejected if known('alpha') else _UNKNOWN}</b>",
            (_total(worked.residual) if mass else "–") if known("residual") else _UNKNOWN,
        ]
    )
    return _table(_("The laws"), heads, rows, final=True)


def round_html(worked: Worked, known: Known = everything) -> str:
    """A row for each place, and one for the last draw."""
    given, trials = worked.given, worked.round.trials
    heads = [_("Place"), _("Token"), "p/q", "min(1, p/q)", "r", _("Verdict")]
    ended = known(f"verdict_{len(trials)}")
    rows = []
    for i, token in enumerate(given.draft):
        p, q, place = given.target_probs[token], given.draft_probs[token], i + 1
        judged = i < len(trials)
        found = known(f"accept_prob_{place}") if judged else ended
        ratio = f"{shown(p)} / {shown(q)} = {shown(p / q)}"
        numbers = [ratio, shown(trials[i].accept_prob)] if judged else ["–", "–"]
        verdict = _verdict(worked, i) if (known(f"verdict_{place}") if judged else ended) else _UNKNOWN
        r = shown(given.r[i]) if judged or not ended else "–"
        rows.append([str(place), _chip(given.names[token]), *(numbers if found else [_UNKNOWN] * 2), r, verdict])
    rows.append(_last_row(worked, known))
    return _table(_("The round"), heads, rows, final=True, words=2)


def sums_html(worked: Worked, known: Known = everything) -> str:
    """What the round gave beside what the formulas say of such rounds."""
    given, n = worked.given, len(worked.round.emitted)
    alpha, c, k, mean = shown(worked.alpha), shown(given.cost_ratio), given.draft_length, shown(worked.expected_tokens)
    expected = f"(1 − {alpha}<sup>{k + 1}</sup>) / (1 − {alpha})" if worked.alpha < 1 else f"{k} + 1"
    rows = [
        ("n_tokens", "N", _("this round"), f"{n - 1} + 1", str(n)),
        ("expected_tokens", "E[N]", _("on average"), expected, mean),
        ("speedup", "E[N] c / (c + K)", _("speed-up"), f"{mean} × {c} / ({c} + {k})", shown(worked.speedup)),
    ]
    body = [
        [
            f"{escape(name)} <span class='sv-muted'>{escape(told)}</span>",
            how if known(key) else _UNKNOWN,
            f"<b>{value if known(key) else _UNKNOWN}</b>",
        ]
        for key, name, told, how, value in rows
    ]
    return _table(_("What it comes to"), ["", _("Formula"), _("Result")], body)


def frame(worked: Worked, known: Known = everything) -> pd.DataFrame:
    """Every number that is known: what, at which place, of which token (as a JSON string), its formula, its value."""
    given, final, n = worked.given, worked.round.final, len(worked.round.emitted)
    assert final is not None
    rows: list[tuple[str, str, int | None, str, str, float]] = []  # the first is the question whose answer it is
    for i, name in enumerate(given.names):
        p, q, token = given.target_probs[i], given.draft_probs[i], json.dumps(name)
        rows += [
            ("", "target_prob", None, token, "p", p),
            ("", "draft_prob", None, token, "q", q),
            ("alpha", "overlap", None, token, "min(p, q)", min(p, q)),
            ("residual", "residual", None, token, "max(0, p - q) / (1 - alpha)", worked.residual[i]),
        ]
    rows += [
        ("alpha", "alpha", None, "", "sum of min(p, q)", worked.alpha),
        ("alpha", "one_minus_alpha", None, "", "sum of max(0, p - q)", sum(worked.left)),
    ]
    for trial in worked.round.trials:
        node = worked.round.nodes[trial.node]
        place, token, found = node.depth, json.dumps(node.text), f"accept_prob_{node.depth}"
        rows += [
            (found, "ratio", place, token, "p / q", trial.target_prob / node.draft_prob),
            (found, "accept_prob", place, token, "min(1, p / q)", trial.accept_prob),
            (found, "r", place, token, "", trial.r),
            (f"verdict_{place}", "accepted", place, token, "r < min(1, p / q)", float(trial.accepted)),
        ]
    rows += [
        ("token", "u", n, json.dumps(final.text), final.source, final.uniform),
        ("n_tokens", "n_tokens", None, "", "accepted + 1", float(n)),
        ("expected_tokens", "expected_tokens", None, "", "(1 - alpha^(K + 1)) / (1 - alpha)", worked.expected_tokens),
        ("speedup", "speedup", None, "", "E[N] c / (c + K)", worked.speedup),
    ]
    shown_rows = [row[1:] for row in rows if not row[0] or known(row[0])]
    return pd.DataFrame(shown_rows, columns=["quantity", "place", "token", "formula", "value"]).astype(
        {"place": "Int64"}
    )


def _total(law: Iterable[float]) -> str:
    """The sum of a law, which is 1 but for the rounding of doubles."""
    return shown(round(sum(law), 9))


def _last_row(worked: Worked, known: Known) -> list[str]:
    final, given = worked.round.final, worked.given
    assert final is not None
    u = f"u = {shown(given.u)}"
    if not known("token"):
        return [_UNKNOWN, _UNKNOWN, escape(_("the last draw")), "", u, _UNKNOWN]
    outcome = "resampled" if worked.rejected else "bonus"
    law = _("from the residual") if worked.rejected else _("from p")
    where = f"{shown(final.below)} ≤ u &lt; {shown(final.below + final.prob)}"
    told = f"{MARKS[outcome]} {escape(outcome_name(outcome))}"
    return [str(len(worked.round.emitted)), _chip(final.text, outcome), escape(law), where, u, told]


def _verdict(worked: Worked, i: int) -> str:
    trials = worked.round.trials
    if i >= len(trials):
        return f"{MARKS['unjudged']} {escape(outcome_name('unjudged'))}"
    outcome, sign = ("accepted", "&lt;") if trials[i].accepted else ("rejected", "≥")
    compared = f"{shown(trials[i].r)} {sign} {shown(trials[i].accept_prob)}"
    return f"{compared}: <b>{MARKS[outcome]} {escape(outcome_name(outcome))}</b>"


def _chip(name: str, outcome: str = "") -> str:
    return f'<span class="sv-chip sv-is-{outcome}">{escape(label(0, name))}</span>'


def _table(name: str, heads: Iterable[str], rows: Iterable[list[str]], *, final: bool = False, words: int = 1) -> str:
    """A table of cells that are HTML already."""
    cells = [[Html(cell) for cell in row] for row in rows]
    return table_html(name, list(heads), cells, words=words, final=final, caption=True)
