"""Where a reader of an exercise is: an answer goes in, and a new sheet comes out that says right or wrong, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from specviz import numerals
from specviz.byhand import Given, Worked, work
from specviz.exercise.questions import Question, n_at_most, questions
from specviz.i18n import _

Mark = Literal["first", "later", "shown"]
_LONGEST = 200  # characters of an answer that are read
_YES, _NO = {"accepted", "accept", "a", "yes", "y", "✓"}, {"rejected", "reject", "r", "no", "n", "✕", "x"}


@dataclass(frozen=True, slots=True)
class Said:
    """The last word on an answer. right: None where it was neither right nor wrong (unreadable, or too short)."""

    right: bool | None
    sentence: str
    formula: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """marks: how each question so far was done: at the first try without a hint, later, or shown.

    tried, hinted: what happened with the question that is open. said: of the last answer.
    """

    given: Given
    marks: tuple[Mark, ...] = ()
    tried: bool = False
    hinted: bool = False
    said: Said | None = None

    @property
    def worked(self) -> Worked:
        return work(self.given)

    @property
    def questions(self) -> tuple[Question, ...]:
        return questions(self.worked)

    @property
    def open(self) -> Question | None:
        """The question that is asked now; None when all are done."""
        return dict(enumerate(self.questions)).get(len(self.marks))

    @property
    def known(self) -> frozenset[str]:
        """Keys of the questions that are done: only their numbers are shown."""
        return frozenset(question.key for question in self.questions[: len(self.marks)])

    @property
    def n_questions(self) -> int:
        """How many there are, as far as the answers so far tell: a round may end at any place."""
        return len(self.questions) if "token" in self.known or self._ended else n_at_most(self.worked)

    @property
    def _ended(self) -> bool:
        last = self.worked.round.trials[-1]
        return not last.accepted and f"verdict_{last.node + 1}" in self.known

    @property
    def n_right(self) -> int:
        """Answered at the first try, without a hint."""
        return self.marks.count("first")

    def answer(self, text: str) -> Sheet:
        """The sheet after this answer."""
        question = self.open
        if question is None:
            return self
        said = check(question, text)
        if said.right:
            return self._next("later" if self.tried or self.hinted else "first", said)
        return replace(self, tried=self.tried or said.right is False, said=said)

    def hint(self) -> Sheet:
        return replace(self, hinted=True)

    def show(self) -> Sheet:
        """The answer is shown, and the next question is open."""
        question = self.open
        if question is None:
            return self
        return self._next(
            "shown", Said(None, _("The answer: {answer}.").format(answer=question.result), _full(question))
        )

    def _next(self, mark: Mark, said: Said) -> Sheet:
        return Sheet(self.given, (*self.marks, mark), said=said)


def check(question: Question, text: str) -> Said:
    """Right, wrong, or neither, and why. Numbers are right to the digits given, of which two must count."""
    text = text[:_LONGEST].strip()
    if not text:
        return Said(None, _("There is no answer yet."), "")
    return {"verdict": _check_verdict, "token": _check_token}.get(question.kind, _check_numbers)(question, text)


def _check_numbers(question: Question, text: str) -> Said:
    pieces = numerals.split(text) if question.kind == "numbers" else [text]
    found = [numerals.read(piece) for piece in pieces]
    if any(one is None for one in found):
        wrong = pieces[found.index(None)]
        return Said(None, _("{text} is not a number. Write 0.6, .6, 3/5 or 60%.").format(text=wrong), "")
    if len(found) != len(question.values):
        told = _("That is {n} numbers, and {needed} are asked for: one for each token.")
        return Said(None, told.format(n=len(found), needed=len(question.values)), "")
    numbers = [one for one in found if one is not None]
    if _say(numbers, question.values):
        return Said(True, _("Right."), _full(question))
    slip = next((slip.told for slip in question.slips if _say(numbers, slip.values)), None)
    if slip is None and all(one.is_about(value) for one, value in zip(numbers, question.values, strict=True)):
        return Said(None, _("That is right as far as it goes. Give at least two digits that count."), "")
    return Said(False, slip or _("Not right."), question.formula)


def _say(numbers: list[numerals.Numeral], values: tuple[float, ...]) -> bool:
    return all(one.says(value) for one, value in zip(numbers, values, strict=True))


def _check_verdict(question: Question, text: str) -> Said:
    word = text.casefold()
    known = {_("accepted").casefold(): "accepted", _("rejected").casefold(): "rejected"}
    answer = known.get(word, "accepted" if word in _YES else "rejected" if word in _NO else None)
    if answer is None:
        return Said(None, _("Write accepted or rejected."), "")
    if answer == question.word:
        return Said(True, _("Right."), _full(question))
    return Said(False, _("Not right: look on which side of the probability r falls."), question.formula)


def _check_token(question: Question, text: str) -> Said:
    name = (
        text if text in question.names else next((n for n in question.names if n.casefold() == text.casefold()), None)
    )
    if name is None:
        return Said(
            None, _("{text} is no token here. They are {names}.").format(text=text, names=", ".join(question.names)), ""
        )
    if name == question.word:
        return Said(True, _("Right."), _full(question))
    return Said(False, _("Not right: u does not fall on the stretch of {token}.").format(token=name), question.hint)


def _full(question: Question) -> str:
    """The formula and what it comes to."""
    if question.kind == "token":
        return question.formula
    if question.kind == "verdict":
        return _("{formula}: {result}").format(formula=question.formula, result=question.result)
    return _("{formula} = {result}").format(formula=question.formula, result=question.result)
