"""Every public function with arguments that it takes: what is to be made wrong, one or a few at a time."""

import io
import sys
from functools import cache

import numpy as np

import specviz as sv
from specviz import byhand, exercise, export, numerals, race, replay
from specviz.exact import lessons
from specviz.models.toy import TableModel
from specviz.simulation import fit, lengths
from specviz.simulation import laws as rounds
from tests.test_decoding import random_law

P, Q = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)


@cache
def toys():
    """Two models over three tokens that know twelve of a text, so that every run ends soon."""
    law = [random_law(seed, 3, 1.0) for seed in (1, 2)]
    return sv.Pair(*(TableModel(one, 3, 2, name=name, context_length=12) for one, name in zip(law, "pq", strict=True)))


@cache
def run(draft_length=2):
    pair = toys()
    options = {"max_new_tokens": 6, "seed": 4}
    if draft_length == 0:
        return sv.autoregress(pair, [0], **options)
    return sv.speculate(pair, [0], draft_length=draft_length, **options)


def rates():
    return sv.theory.two_rates(0.7, 0.5, 0.4, 0.3)


def played(*, drafter=None, **options):
    """Decoding with all that a request takes, on a pair whose draft may be a drafter."""
    pair = options.pop("pair")
    return sv.speculate(pair if drafter is None else sv.Pair(pair.target, drafter()), **options)


def _drafted(make):
    """A drafter, and a run with it: what its constructor takes must also run."""

    def drafted(**options):
        return sv.speculate(sv.Pair(toys().target, make(**options)), [0, 1, 0], max_new_tokens=4, seed=1)

    return drafted


def _streamed(**options):
    with sv.stream(**options) as run:
        return [round_ for round_, _ in zip(run, range(3), strict=False)], run.trace


def _sampled(**options):
    return sv.speculate(toys(), [0], max_new_tokens=4, seed=1, sampling=sv.Sampling(**options))


def _table(**options):
    model = TableModel(**options)
    return sv.autoregress(sv.Pair(model, sv.UniformDraft()), [0], max_new_tokens=3, seed=0)


def _tallies(**options):
    return list(rounds.tallies(**options))


def _given(**options):
    return byhand.work(byhand.Given(**options)).trace


def _written(**options):
    given, _notes = exercise.Written(**options).read()
    return byhand.work(given).trace


def _typed(text):
    """What comes out of a box of a page: a text, whatever it is of."""
    return text if isinstance(text, str) else ascii(type(text))


def _rng():
    return np.random.default_rng(0)


LAWS = {"target_probs": P, "draft_probs": Q}
REQUEST = {"prompt": [0], "max_new_tokens": 6, "sampling": sv.Sampling(0.8), "seed": 1, "stop": ()}
MANY = {
    "prompts": [[0], [1, 0]],
    "seeds": [1, 2],
    **{name: REQUEST[name] for name in ("max_new_tokens", "sampling", "stop")},
}
SAMPLING = {
    **{"temperature": 0.8, "top_k": 2, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.1},
    **{"presence_penalty": 0.1, "frequency_penalty": 0.1, "min_new_tokens": 1, "bad_words": ()},
}
GIVEN = {
    **{"names": ("A", "B", "C"), "target_probs": P, "draft_probs": Q, "draft": (0, 1), "r": (0.1, 0.9), "u": 0.5},
    "cost_ratio": 8.0,
}

ENTRIES = {
    # decoding
    "speculate": (sv.speculate, {"pair": toys(), "draft_length": 2, **REQUEST}),
    "autoregress": (sv.autoregress, {"pair": toys(), **REQUEST}),
    "speculate_many": (sv.speculate_many, {"pair": toys(), "draft_length": 2, **MANY}),
    "stream": (_streamed, {"pair": toys(), "draft_length": 2, **REQUEST}),
    "Run": (lambda **o: sv.Run(**o).finish(), {"pair": toys(), "draft_length": 2, **REQUEST}),
    "verify": (sv.verify, {"target_probs": [P, P], "draft_probs": [Q], "draft_tokens": [0], "r": [0.5], "u": 0.5}),
    "Sampling": (_sampled, SAMPLING),
    "Chat": (lambda **o: sv.speculate(toys(), sv.Chat(**o)), {"user": "a", "system": "b"}),
    "Pair": (
        lambda **o: sv.speculate(sv.Pair(**o), [0], max_new_tokens=3, seed=0),
        {"target": toys().target, "draft": toys().draft, "tokenizer": None},
    ),
    "Pair.from_transformers": (sv.Pair.from_transformers, {"target": None, "draft": None, "tokenizer": None}),
    "Vocabulary": (sv.Vocabulary, {"tokenizer": None}),
    "PromptLookup": (_drafted(sv.PromptLookup), {"longest": 3, "shortest": 1}),
    "SkippedLayers": (_drafted(sv.SkippedLayers), {"layers": 0.5}),
    "EarlyStop": (_drafted(sv.EarlyStop), {"draft": toys().draft, "least": 0.4}),
    "AdaptiveLength": (_drafted(sv.AdaptiveLength), {"draft": toys().draft, "first": 2}),
    "models.toy.TableModel": (
        _table,
        {"law": lambda _: P, "vocab_size": 3, "eos": 2, "name": "table", "context_length": 5},
    ),
    # theory
    "theory.alpha": (sv.theory.alpha, LAWS),
    "theory.residual": (sv.theory.residual, LAWS),
    "theory.total_variation": (sv.theory.total_variation, LAWS),
    "theory.kl_divergence": (sv.theory.kl_divergence, LAWS),
    "theory.check_laws": (sv.theory.check_laws, LAWS),
    "theory.normalised": (sv.theory.normalised, {"weights": [1, 2, 0]}),
    "theory.warped": (sv.theory.warped, {"probs": P, "settings": sv.Sampling(0.5, top_k=2)}),
    "theory.expected_tokens": (sv.theory.expected_tokens, {"alpha": 0.8, "draft_length": 4}),
    "theory.tokens_law": (sv.theory.tokens_law, {"alpha": 0.8, "draft_length": 4}),
    "theory.two_rates": (
        sv.theory.two_rates,
        {"alpha": 0.7, "share": 0.5, "spread": 0.4, "persistence": 0.3},
    ),
    "theory.TwoRates": (
        lambda **o: sv.theory.reached(sv.theory.TwoRates(**o), 3),
        {"easy": 0.9, "hard": 0.5, "share": 0.5, "persistence": 0.3},
    ),
    "theory.reached": (sv.theory.reached, {"rates": rates(), "draft_length": 4, "start": 0.5}),
    "theory.rate_by_place": (sv.theory.rate_by_place, {"reached": [1.0, 0.8, 0.6]}),
    "theory.judged_alpha": (sv.theory.judged_alpha, {"reached": [1.0, 0.8, 0.6]}),
    "theory.start_in_text": (sv.theory.start_in_text, {"rates": rates(), "draft_length": 4}),
    "theory.tokens_in_text": (sv.theory.tokens_in_text, {"rates": rates(), "longest": 4}),
    "theory.round_time": (sv.theory.round_time, {"target_s": 1.0, "draft_s": 0.1, "draft_length": 4}),
    "theory.speedup": (sv.theory.speedup, {"alpha": 0.8, "cost_ratio": 10.0, "draft_length": 4}),
    "theory.with_surcharge": (sv.theory.with_surcharge, {"cost_ratio": 10.0, "surcharge": 0.1}),
    "theory.marginal_gain": (sv.theory.marginal_gain, {"alpha": 0.8, "cost_ratio": 10.0, "draft_length": 4}),
    "theory.guaranteed_speedup": (sv.theory.guaranteed_speedup, {"alpha": 0.8, "cost_ratio": 10.0}),
    "theory.break_even_alpha": (sv.theory.break_even_alpha, {"cost_ratio": 10.0}),
    "theory.operations": (sv.theory.operations, {"alpha": 0.8, "draft_length": 4, "operation_ratio": 0.1}),
    "theory.best_draft_length": (sv.theory.best_draft_length, {"alpha": 0.8, "cost_ratio": 10.0, "limit": 64}),
    "theory.best_draft_length_continuous": (
        sv.theory.best_draft_length_continuous,
        {"alpha": 0.8, "cost_ratio": 10.0},
    ),
    "theory.peak": (sv.theory.peak, {"alpha": 0.8, "cost_ratio": 10.0}),
    "theory.plateau": (sv.theory.plateau, {"alpha": 0.8, "cost_ratio": 10.0, "within": 0.05, "limit": 64}),
    "theory.length_laws": (
        sv.theory.length_laws,
        {"alphas": [0.5, 0.8, 0.9], "cost_ratios": [5.0, 10.0], "limit": 64},
    ),
    "theory.stationary_residual": (
        sv.theory.stationary_residual,
        {"alpha": 0.8, "cost_ratio": 10.0, "draft_length": 4},
    ),
    "theory.crude_draft_length": (sv.theory.crude_draft_length, {"alpha": 0.8, "cost_ratio": 10.0}),
    "theory.best_speedup": (sv.theory.best_speedup, {"alpha": 0.8, "cost_ratio": 10.0, "limit": 64}),
    "theory.cost_ratio_for_speedup": (
        sv.theory.cost_ratio_for_speedup,
        {"speedup": 2.0, "alpha": 0.8, "limit": 64},
    ),
    "theory.alpha_for_speedup": (sv.theory.alpha_for_speedup, {"speedup": 2.0, "cost_ratio": 10.0, "limit": 64}),
    "theory.rank_drafts": (
        sv.theory.rank_drafts,
        {"alpha": [0.8, 0.6], "cost_ratio": [10.0, 20.0], "limit": 64},
    ),
    # exact laws
    "exact.emitted_law": (sv.exact.emitted_law, {**LAWS, "rule": "exact", "draft_temperature": 0.5}),
    "exact.emitted_parts": (sv.exact.emitted_parts, LAWS),
    "exact.judged_law": (sv.exact.judged_law, {"drafted_probs": P, **LAWS}),
    "exact.rounded": (sv.exact.rounded, {"values": P, "form": "bfloat16"}),
    "exact.rounded_law": (sv.exact.rounded_law, {**LAWS, "form": "bfloat16"}),
    "exact.round_counts": (
        sv.exact.round_counts,
        {**LAWS, "draft_length": 3, "rule": "exact", "draft_temperature": 0.5},
    ),
    "exact.text_law": (
        sv.exact.text_law,
        {**LAWS, "draft_length": 3, "rule": "exact", "draft_temperature": 0.5},
    ),
    "exact.sequence_law": (
        sv.exact.sequence_law,
        {
            **{"pair": toys(), "prompt": [0], "length": 2, "draft_length": 2, "sampling": sv.Sampling(0.8)},
            **{"rule": "exact", "draft_temperature": 0.5},
        },
    ),
    "exact.target_sequence_law": (
        sv.exact.target_sequence_law,
        {"pair": toys(), "prompt": [0], "length": 2, "sampling": sv.Sampling(0.8)},
    ),
    "exact.sequence_total_variation": (
        sv.exact.sequence_total_variation,
        {"law": {(0,): 1.0}, "other": {(1,): 1.0}},
    ),
    "exact.random_laws": (lessons.random_laws, {"seed": 1, "size": 3, "concentration": 1.0}),
    "exact.random_pair": (lessons.random_pair, {"seed": 1, "vocab_size": 3, "likeness": 0.5}),
    "exact.worse_draft": (lessons.worse_draft, {**LAWS, "share": 0.5, "worst": "uniform"}),
    # what traces show
    "measure.acceptance": (sv.measure.acceptance, {"traces": run()}),
    "measure.accepted_of_drafted": (sv.measure.accepted_of_drafted, {"traces": run()}),
    "measure.acceptance_by_position": (sv.measure.acceptance_by_position, {"traces": run()}),
    "measure.alpha": (sv.measure.alpha, {"traces": [run(), run()]}),
    "measure.alpha_by_round": (sv.measure.alpha_by_round, {"trace": run()}),
    "measure.tokens_per_round": (sv.measure.tokens_per_round, {"traces": run()}),
    "measure.round_lengths": (sv.measure.round_lengths, {"traces": run()}),
    "measure.times": (sv.measure.times, {"traces": run()}),
    "measure.compare": (sv.measure.compare, {"speculative": run(), "plain": run(0)}),
    "measure.first_difference": (sv.measure.first_difference, {"one": run(), "other": run(0)}),
    "measure.student_t": (sv.measure.student_t, {"freedom": 3}),
    "race.race": (race.race, {"speculative": run(), "plain": run(0)}),
    # rounds in bulk
    "simulation.play": (
        rounds.play,
        {**LAWS, "uniforms": [[0.1, 0.2, 0.3]], "rule": "exact", "draft_temperature": 0.5},
    ),
    "simulation.tallies": (
        _tallies,
        {**LAWS, "draft_length": 2, "n_rounds": 20, "seed": 1, "rule": "exact", "draft_temperature": 0.5},
    ),
    "simulation.draw_lengths": (
        lengths.draw_lengths,
        {"alpha": 0.8, "draft_length": 3, "n_rounds": 20, "rng": _rng()},
    ),
    "simulation.draw_two_rates": (
        lengths.draw_two_rates,
        {"rates": rates(), "draft_length": 3, "n_rounds": 20, "rng": _rng(), "start": 0.5},
    ),
    "simulation.chi_square": (fit.chi_square, {"counts": [50, 30, 20], "probs": P}),
    "simulation.power": (fit.power, {"law": P, "probs": Q, "n": 100, "level": 0.01}),
    "simulation.samples_needed": (fit.samples_needed, {"law": P, "probs": Q, "level": 0.01, "wanted": 0.99}),
    "simulation.noncentrality": (fit.noncentrality, {"n_cells": 3, "level": 0.01, "wanted": 0.99}),
    "simulation.expected_divergence": (fit.expected_divergence, {"size": 3, "n": 100}),
    "simulation.divergence": (fit.divergence, {"counts": [50, 30, 20], "probs": P}),
    # a round by hand
    "byhand.Given": (_given, GIVEN),
    "exercise.Written": (_written, exercise.NOTES._asdict()),
    "exercise.random_round": (exercise.random_round, {"seed": 1}),
    "exercise.check": (
        lambda text: exercise.Sheet(byhand.Given(**GIVEN)).answer(_typed(text)),
        {"text": "0.5"},
    ),
    "numerals.read": (lambda text: numerals.read(_typed(text)), {"text": "0.5"}),
    "numerals.split": (lambda text: numerals.split(_typed(text)), {"text": "0.5 0.2"}),
    # files
    "export.to_frame": (export.to_frame, {"trace": run()}),
    "export.to_csv": (export.to_csv, {"trace": run()}),
    "export.to_json": (export.to_json, {"trace": run()}),
    "export.from_json": (export.from_json, {"path_or_buffer": io.StringIO("")}),
    "replay.to_html": (replay.to_html, {"trace": run()}),
    "replay.frame": (replay.frame, {"trace": run()}),
}

WITHOUT_A_DOOR = {
    # protocols to write classes for, records that a function of ours fills in, and errors
    *("CacheWork", "Candidate", "Draft", "Drafter", "FinalDraw", "Model", "Node", "Progress", "Proposal", "Reader"),
    *("Round", "Trace", "Trial", "Verdict", "UniformDraft"),
    *(name for name in sv.__all__ if name.endswith("Error")),
    *("exact", "measure", "models", "theory"),  # what is in them has entries of its own
    "load_pair",  # tests/fuzz/test_loading.py
    *("theory.LengthLaws", "theory.Normalised", "theory.Standing"),
    *("exact.Parts", "exact.SequenceLaw", "exact.Worst", "exact.Format", "exact.UNIFORM_BITS"),
    "exact.RULES",
    *("measure.Rate", "measure.Mean", "measure.PositionRate", "measure.Times", "measure.Comparison"),
    "measure.Difference",
}


def public():
    """All names that users are told of, by the room they are in."""
    names = set(sv.__all__)
    for room in ("theory", "exact"):
        names |= {f"{room}.{name}" for name in getattr(sv, room).__all__}
    measure = sys.modules[sv.measure.__name__]
    names |= {
        f"measure.{name}"
        for name, value in vars(measure).items()
        if getattr(value, "__module__", "") == measure.__name__ and not name.startswith("_")
    }
    return names
