"""A round as an exercise: what is asked about it, number by number, and what an answer is told.

questions   what is asked, with hints, formulas and the slips that people make
sheet       where a reader is: answers given, score, the last word on one
random      rounds of laws with one decimal, by a seed
written     a round as a reader writes it into fields
"""

from specviz.exercise.questions import Question, Slip, questions
from specviz.exercise.random import MOST_SEED, random_round
from specviz.exercise.sheet import Sheet, check
from specviz.exercise.written import EXERCISE_2, NOTES, Written

__all__ = [
    "EXERCISE_2",
    "MOST_SEED",
    "NOTES",
    "Question",
    "Sheet",
    "Slip",
    "Written",
    "check",
    "questions",
    "random_round",
]
