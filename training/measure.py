"""Print what the model card states. `python -m training.measure FOLDER DIR`

FOLDER holds target, draft and draft-weak; DIR the texts. Everything but the times comes from fixed seeds in float32, so
another run prints nearly the same: rounding may turn over a sampled token here and there.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from transformers.utils import logging as transformers_logging

import specviz as sv
from specviz.models.hf import HFModel
from specviz.models.vocabulary import Vocabulary
from specviz.sampling import warp
from training.corpus import CorpusError
from training.texts import Text, encode, missing, read_texts
from training.train import DRAFT, TARGET, WEAK_DRAFT

DRAFTS = (DRAFT, WEAK_DRAFT)

Floats = npt.NDArray[np.float64]

ROW, ROWS = 256, 40  # losses: at most so many rows, of so many tokens
PLACES, PROMPT, NEW = 12, 32, 96  # acceptance: texts sampled at so many places; tokens given, tokens sampled
TEMPERATURES = (1.0, 0.7, 0.0)
TIMED = 60  # passes per time


@dataclass(frozen=True, slots=True)
class Loss:
    """Nats per token of a model on a text. kl: from the target's law to the model's, on the same places."""

    text: str
    training: float
    held_out: float
    training_kl: float
    held_out_kl: float


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Mean beta along texts that the target sampled; at temperature 0, the share of equal best tokens.

    std: over positions. error: standard error of the mean, from the spread between the places.
    """

    text: str
    temperature: float
    alpha: float
    std: float
    error: float


@dataclass(frozen=True, slots=True)
class PassTime:
    """Median seconds of a cached pass over so many new tokens, 128 tokens into a text."""

    n_tokens: int
    seconds: float


def losses(model: sv.Model, target: sv.Model, texts: Sequence[Text], vocabulary: Vocabulary) -> list[Loss]:
    """One row per text, over evenly spread rows of it."""
    found = []
    for text in texts:
        sides = [
            _loss_and_kl(model, target, encode(vocabulary.tokenizer, side)) for side in (text.training, text.held_out)
        ]
        found.append(Loss(text.name, sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
    return found


def sampled_texts(pair: sv.Pair, text: Text, temperature: float) -> list[tuple[int, ...]]:
    """PLACES texts that the target sampled after prompts from the held-out part; each is prompt + new tokens."""
    assert pair.tokenizer is not None
    ids = encode(pair.tokenizer.tokenizer, text.held_out)
    starts = np.linspace(0, len(ids) - PROMPT, PLACES, dtype=int)
    traces = (
        sv.autoregress(
            pair,
            ids[start : start + PROMPT],
            max_new_tokens=NEW,
            sampling=sv.Sampling(temperature=temperature),
            seed=place,
        )
        for place, start in enumerate(starts)
    )
    return [(*trace.prompt_tokens, *trace.tokens) for trace in traces]


def acceptance(pair: sv.Pair, name: str, temperature: float, sampled: Sequence[Sequence[int]]) -> Acceptance:
    """Σ min(p, q) at every sampled position of texts that `sampled_texts` gave."""
    sampling = sv.Sampling(temperature=temperature)
    betas = []
    for tokens in sampled:
        n = len(tokens) - PROMPT
        p, q = (warp(m.open().logits(tokens[:-1], n), sampling) for m in (pair.target, pair.draft))  # [n, V]
        betas.append(np.minimum(p, q).sum(axis=-1))
    means = [float(b.mean()) for b in betas]
    every = np.concatenate(betas)
    error = statistics.stdev(means) / math.sqrt(len(means))
    return Acceptance(name, temperature, float(every.mean()), float(every.std()), error)


def pass_time(model: sv.Model, n_tokens: int) -> PassTime:
    """Time passes over n_tokens new tokens, with the logits after each, as verifying does."""
    reader = model.open()
    tokens = [1 + i % 100 for i in range(128)]
    reader.logits(tokens, 1)
    times = []
    for _ in range(TIMED):
        start = time.perf_counter()
        reader.logits([*tokens, *range(1, n_tokens + 1)], n_tokens)
        times.append(time.perf_counter() - start)
        reader.logits(tokens, 1)  # rolls back, so that every timed pass sees as long a text
    return PassTime(n_tokens, statistics.median(times))


def report(folder: Path, texts: Sequence[Text]) -> Iterator[str]:
    """The card's tables, as lines of Markdown. Raises LoadError when the folder holds no pair."""
    pairs = {draft: sv.load_pair(folder / TARGET, folder / draft, device="cpu", dtype="float32") for draft in DRAFTS}
    target = pairs[DRAFT].target
    models = {TARGET: target} | {draft: pair.draft for draft, pair in pairs.items()}
    yield from _sizes(models)
    yield ""
    yield from _losses(models, texts, pairs[DRAFT])
    yield ""
    yield from _acceptances(pairs, texts)


def _sizes(models: dict[str, sv.Model]) -> Iterator[str]:
    yield _row("", *models)
    yield _row("---", *("---" for _ in models))
    yield _row("parameters", *(f"{m.n_parameters:,}" for m in models.values() if isinstance(m, HFModel)))
    for n in (1, 5):
        times = (pass_time(model, n).seconds for model in models.values())
        yield _row(f"pass over {n} new, ms", *(f"{1000 * seconds:.1f}" for seconds in times))


def _losses(models: dict[str, sv.Model], texts: Sequence[Text], pair: sv.Pair) -> Iterator[str]:
    assert pair.tokenizer is not None
    yield _row("nats per token", *models)
    yield _row("---", *("---" for _ in models))
    by_model = [losses(model, pair.target, texts, pair.tokenizer) for model in models.values()]
    for rows in zip(*by_model, strict=True):
        name = rows[0].text
        yield _row(f"{name}, trained on: loss (KL)", *(f"{r.training:.3f} ({r.training_kl:.3f})" for r in rows))
        yield _row(f"{name}, held out: loss (KL)", *(f"{r.held_out:.3f} ({r.held_out_kl:.3f})" for r in rows))


def _acceptances(pairs: dict[str, sv.Pair], texts: Sequence[Text]) -> Iterator[str]:
    yield _row("alpha ± its error (std)", *(f"T = {t:g}" if t else "greedy" for t in TEMPERATURES))
    yield _row("---", *("---" for _ in TEMPERATURES))
    for text in texts:
        sampled = {t: sampled_texts(pairs[DRAFT], text, t) for t in TEMPERATURES}
        for draft, pair in pairs.items():
            found = (acceptance(pair, text.name, t, sampled[t]) for t in TEMPERATURES)
            yield _row(f"{text.name}, {draft}", *(f"{a.alpha:.3f} ± {a.error:.3f} ({a.std:.2f})" for a in found))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _loss_and_kl(model: sv.Model, target: sv.Model, ids: Sequence[int]) -> tuple[float, float]:
    rows = [ids[i : i + ROW] for i in range(0, len(ids) - ROW + 1, ROW)] or [ids]
    total, total_kl, n = 0.0, 0.0, 0
    for row in rows[:: -(-len(rows) // ROWS)]:
        log_q, log_p = (_log_laws(m, row[:-1]) for m in (model, target))  # [len(row) - 1, V]
        total -= log_q[np.arange(len(row) - 1), row[1:]].sum()
        total_kl += (np.exp(log_p) * (log_p - log_q)).sum()
        n += len(row) - 1
    return float(total / n), float(total_kl / n)


def _log_laws(model: sv.Model, tokens: Sequence[int]) -> Floats:
    logits = model.open().logits(tokens, len(tokens)).astype(np.float64)
    best = logits.max(axis=-1, keepdims=True)
    return logits - best - np.log(np.exp(logits - best).sum(axis=-1, keepdims=True))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure", description="Print the model card's numbers.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="holds target, draft and draft-weak")
    parser.add_argument("texts", metavar="DIR", type=Path, help="what `python -m training.corpus DIR` wrote")
    options = parser.parse_args(arguments)
    transformers_logging.disable_progress_bar()
    try:
        texts = read_texts(options.texts)
        for name in missing(texts):
            print(f"{name}.txt is missing in {options.texts}: its rows are left out.")
        for line in report(options.folder, texts):
            print(line, flush=True)
    except (CorpusError, sv.SpecvizError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
