"""The text of a run, each token over a bar as long as its place's β, and shaded where the two laws part."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.timeline import Place, number, outcome_name
from specviz.timeline.labels import quoted

SHEET = """
.sv-heat { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 2.1; font-size: 1.0625rem; margin: 0;
  color: var(--sv-text); max-height: 22rem; overflow-y: auto; }
.sv-heat span { unicode-bidi: isolate; padding: 0.1rem 0 0.28rem; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; }
.sv-heat .sv-judged { margin-right: 2px; background: linear-gradient(var(--sv-text), var(--sv-text)) 0 100% /
  var(--beta) 3px no-repeat, color-mix(in srgb, var(--sv-rejected) var(--shade), transparent); }
.sv-legend { line-height: 1.9; margin-top: 0.4rem; } .sv-legend .sv-judged { color: var(--sv-text); }
.sv-heat .sv-unjudged { color: var(--sv-muted); }
"""
_SHADE = 55  # percent of the colour at β = 0: text on it stays readable


def heat_html(prompt: str, places: Sequence[Place]) -> str:
    """The prompt, muted, and each token with its β. Every text is escaped."""
    start = f'<span class="sv-unjudged">{escape(prompt)}</span>'
    body = start + "".join(_token_html(place) for place in places if place.text)
    name = escape(_("The text: a longer bar under a token is a higher β at its place"))
    return f'<p class="sv-heat" role="region" aria-label="{name}" tabindex="0">{body}</p>'


def legend_html() -> str:
    """Three samples, and what has no bar."""
    samples = "".join(
        f"{_judged_html(escape(_('β = {beta}').format(beta=number(beta))), beta, '')} " for beta in (0.0, 0.5, 1.0)
    )
    told = escape(
        _(
            "The bar under a token is its place's β, the chance that a draft is accepted there; the lower, the more "
            "shaded. Muted, without a bar: the prompt, and tokens where no draft was judged."
        )
    )
    return f'<p class="sv-told sv-heat sv-legend">{samples}<span>{told}</span></p>'


def _token_html(place: Place) -> str:
    shown = escape(place.text.replace("\n", "⏎\n"))
    told = _("round {round}: {mark} {outcome} {token}").format(
        round=place.round + 1,
        mark=MARKS[place.outcome],
        outcome=outcome_name(place.outcome),
        token=quoted(place.token, place.text),
    )
    if place.beta is None:
        return f'<span class="sv-unjudged" title="{escape(told)}">{shown}</span>'
    return _judged_html(shown, place.beta, f"{told}, β = {number(place.beta)}")


def _judged_html(shown: str, beta: float, told: str) -> str:
    style = f"--beta:{100 * beta:.0f}%;--shade:{_SHADE * (1 - beta):.0f}%"
    return f'<span class="sv-judged" style="{style}" title="{escape(told)}">{shown}</span>'
