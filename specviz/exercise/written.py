"""A round as a reader writes it into fields, and what it says: one sentence where it cannot be played."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from specviz import numerals
from specviz.byhand import MOST_DRAFTS, MOST_TOKENS, Given, final_law, middle
from specviz.errors import ConfigError, brief
from specviz.i18n import _
from specviz.numerals import shown
from specviz.records import is_whole

ANY_R = 0.5  # the r that is taken where none is written
_LONGEST, _NAME = 300, 12  # characters of a field that are read, and of a token's name
_MISSING = {"-", "–", "—", "−", "?", "_", "*", "any"}
_IS_ONE = 1e-9  # a law that sums to 1 this closely is left as it is


class Written(NamedTuple):
    """The fields. draft: token names. r: numbers, – for one that is not given. u: a number, or the token drawn."""

    names: str
    target_probs: str
    draft_probs: str
    draft_length: int
    draft: str
    r: str
    u: str
    cost_ratio: float

    def read(self) -> tuple[Given, tuple[str, ...]]:
        """The round, and what was changed or filled in, a sentence each. Raises ConfigError with one sentence."""
        names = _names(self.names)
        p, scaled_p = _law("p", self.target_probs, len(names))
        q, scaled_q = _law("q", self.draft_probs, len(names))
        draft, filled = _draft(self.draft, self.draft_length, names, q)
        given = Given(names, p, q, draft, (0.0,) * len(draft), 0.0, self.cost_ratio)
        r, unseen = _r(self.r, given)
        given = replace(given, r=r)
        u, taken = _u(self.u, given)
        return replace(given, u=u), (*scaled_p, *scaled_q, *filled, *unseen, *taken)


NOTES = Written(
    "A B C D E", "0.30 0.35 0.20 0.10 0.05", "0.50 0.20 0.15 0.10 0.05", 3, "A B A", "0.35 – 0.80", "B", 10.0
)
EXERCISE_2 = Written("A B C", "0.4 0.5 0.1", "0.6 0.3 0.1", 3, "A B A", "0.3 – 0.8", "B", 8.0)


def _names(text: str) -> tuple[str, ...]:
    names = _words(text)
    if not 1 <= len(names) <= MOST_TOKENS:
        raise ConfigError(
            _("There must be 1 to {most} tokens, and {n} are named.").format(most=MOST_TOKENS, n=len(names))
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(_("The token {token} is named twice. Give each its own name.").format(token=twice[:_NAME]))
    long = next((name for name in names if len(name) > _NAME), None)
    if long is not None:
        told = _("The name {token}… is too long. A token's name has at most {most} characters.")
        raise ConfigError(told.format(token=long[:_NAME], most=_NAME))
    return tuple(names)


def _law(letter: str, text: str, n: int) -> tuple[tuple[float, ...], list[str]]:
    """The law, scaled to sum to 1, and the sentence that says so."""
    values = [_number(letter, piece) for piece in _pieces(text)]
    if len(values) != n:
        told = _("{letter} holds {got} numbers, and there are {n} tokens. Give one number for each.")
        raise ConfigError(told.format(letter=letter, got=len(values), n=n))
    total = sum(values)
    if total <= 0:
        raise ConfigError(_("{letter} gives every token 0. At least one needs more.").format(letter=letter))
    if abs(total - 1) <= _IS_ONE:
        return tuple(values), []
    told = _("{letter} summed to {total}, so each of its numbers was divided by that.")
    return tuple(value / total for value in values), [told.format(letter=letter, total=shown(total))]


def _draft(text: str, k: int, names: tuple[str, ...], q: tuple[float, ...]) -> tuple[tuple[int, ...], list[str]]:
    """The first K drafted tokens; where fewer are written, the draft's most probable one follows."""
    tokens = [_token(piece, names) for piece in _words(text)]
    if not is_whole(k):
        raise ConfigError(_("K must be a whole number, got {text}.").format(text=brief(k)))
    k = max(1, min(k, MOST_DRAFTS))
    never = next((token for token in tokens[:k] if q[token] == 0), None)
    if never is not None:
        raise ConfigError(_("{token} cannot be drafted: q gives it 0.").format(token=names[never]))
    told = []
    if len(tokens) > k:
        told = [_("Only the first K = {k} of the {n} drafted tokens are used.").format(k=k, n=len(tokens))]
    elif len(tokens) < k:
        best = int(np.argmax(q))
        fill = _("K = {k} needs more drafted tokens than the {n} given: {token}, the best by q, is taken for the rest.")
        told = [fill.format(k=k, n=len(tokens), token=names[best])]
        tokens += [best] * (k - len(tokens))
    return tuple(tokens[:k]), told


def _r(text: str, given: Given) -> tuple[tuple[float, ...], list[str]]:
    """The r's, and what was taken where none is written: any will do where p >= q."""
    pieces = _pieces(text)
    values, told, missing = [], [], []
    for i, token in enumerate(given.draft):
        piece = pieces[i] if i < len(pieces) else "–"
        if piece.casefold() not in _MISSING:
            values.append(_uniform("r", piece))
            continue
        values.append(ANY_R)
        if given.target_probs[token] >= given.draft_probs[token]:
            sentence = _("Place {i}: any r will do, since p ≥ q for {token}. {r} is taken.")
            told.append(sentence.format(i=i + 1, token=given.names[token], r=shown(ANY_R)))
        else:
            missing.append(str(i + 1))
    if missing:
        sentence = _("No r is given at place {places}: {r} is taken there.")
        told.append(sentence.format(places=", ".join(missing), r=shown(ANY_R)))
    return tuple(values), told


def _u(text: str, given: Given) -> tuple[float, list[str]]:
    """The final draw's uniform: as written, or the middle of the stretch of the token that is named."""
    pieces = _words(text)
    if len(pieces) != 1 or pieces[0] in _MISSING:
        raise ConfigError(_("u needs one number from 0 up to 1, or the token that is drawn."))
    if pieces[0] not in given.names:
        return _uniform("u", pieces[0]), []
    law, token = final_law(given), given.names.index(pieces[0])
    if law[token] == 0:
        raise ConfigError(_("{token} cannot come last: the law of the last draw gives it 0.").format(token=pieces[0]))
    u = middle(law, token)
    told = _("The last draw gave {token}: u = {u} is taken, the middle of its stretch.")
    return u, [told.format(token=pieces[0], u=shown(u))]


def _pieces(text: str) -> list[str]:
    """The numbers of a field."""
    return numerals.split(_short(text))


def _words(text: str) -> list[str]:
    """The names of a field: between blanks or commas."""
    return [word for word in re.split(r"[\s,，、]+", _short(text)) if word]


def _short(text: str) -> str:
    if not isinstance(text, str):
        raise ConfigError(_("A field holds {text}, which is no text.").format(text=brief(text)))
    if len(text) > _LONGEST:
        raise ConfigError(_("A field holds more than {most} characters. Shorten it.").format(most=_LONGEST))
    return text


def _number(letter: str, piece: str) -> float:
    found = numerals.read(piece)
    if found is None or found.value < 0:
        told = _("{text} in {letter} is no probability. Write 0.3, .3, 3/10 or 30%.")
        raise ConfigError(told.format(text=piece[:_NAME], letter=letter))
    return found.value


def _uniform(letter: str, piece: str) -> float:
    found = numerals.read(piece)
    if found is None or not 0 <= found.value < 1:
        told = _("{text} is no {letter}: it must be a number from 0 up to, but not including, 1.")
        raise ConfigError(told.format(text=piece[:_NAME], letter=letter))
    return found.value


def _token(piece: str, names: tuple[str, ...]) -> int:
    if piece not in names:
        told = _("{text} is not among the tokens {names}.")
        raise ConfigError(told.format(text=piece[:_NAME], names=", ".join(names)))
    return names.index(piece)
