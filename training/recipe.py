"""Every setting of the recipe. `FULL` is the bundled pair's; `QUICK` plays the same steps in half a minute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama's size: hidden units, layers, attention heads, units of the feed-forward layer."""

    hidden: int
    layers: int
    heads: int
    intermediate: int


@dataclass(frozen=True, slots=True)
class Run:
    """One training run over random windows of the text.

    tokens: how many to see. batch: windows per step. length: tokens per window.
    muon_lr: for the weight matrices. adam_lr: for embeddings and norms.
    warmup_steps: to the full rates. decay: the share at the end over which the rates fall, linearly, to 2%.
    seed: of the windows.
    """

    tokens: int
    batch: int
    length: int
    muon_lr: float
    adam_lr: float
    warmup_steps: int = 40
    decay: float = 0.4
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Recipe:
    """A pair and its weak draft: one tokenizer, their shapes, their runs.

    The target and the weak draft learn from the text, the draft from the target's laws in one run after another. Then
    it is widened and learns on, half from the text and half from what the target writes.
    own_texts: how many of those. context: positions that the configurations declare. text_limit: characters taken of
    each text, None for all.
    """

    vocab_size: int
    context: int
    target: Shape
    target_run: Run
    draft: Shape
    draft_runs: tuple[Run, ...]
    wide_draft: Shape
    wide_draft_run: Run
    own_texts: int
    weak_draft: Shape
    weak_draft_run: Run
    text_limit: int | None = None


FULL = Recipe(
    vocab_size=2048,
    context=1024,
    target=Shape(hidden=256, layers=8, heads=4, intermediate=704),
    target_run=Run(tokens=11_300_000, batch=4, length=384, muon_lr=0.015, adam_lr=3e-3),
    draft=Shape(hidden=128, layers=2, heads=2, intermediate=352),
    draft_runs=(
        Run(tokens=4_000_000, batch=8, length=256, muon_lr=0.02, adam_lr=6e-3),
        Run(tokens=8_000_000, batch=8, length=256, muon_lr=0.015, adam_lr=4e-3, seed=2),
    ),
    wide_draft=Shape(hidden=192, layers=2, heads=3, intermediate=528),
    wide_draft_run=Run(tokens=10_300_000, batch=8, length=384, muon_lr=0.015, adam_lr=4e-3, decay=0.7, seed=3),
    own_texts=1536,
    weak_draft=Shape(hidden=128, layers=1, heads=2, intermediate=352),
    weak_draft_run=Run(tokens=1_500_000, batch=16, length=128, muon_lr=0.02, adam_lr=6e-3),
)

QUICK = Recipe(
    vocab_size=512,
    context=256,
    target=Shape(hidden=64, layers=2, heads=2, intermediate=176),
    target_run=Run(tokens=80_000, batch=8, length=96, muon_lr=0.02, adam_lr=6e-3, warmup_steps=10),
    draft=Shape(hidden=32, layers=1, heads=1, intermediate=88),
    draft_runs=(
        Run(tokens=40_000, batch=8, length=96, muon_lr=0.02, adam_lr=6e-3, warmup_steps=10),
        Run(tokens=40_000, batch=8, length=96, muon_lr=0.015, adam_lr=4e-3, warmup_steps=10, seed=2),
    ),
    wide_draft=Shape(hidden=64, layers=1, heads=2, intermediate=96),
    wide_draft_run=Run(tokens=20_000, batch=8, length=96, muon_lr=0.015, adam_lr=4e-3, warmup_steps=10, seed=3),
    own_texts=128,
    weak_draft=Shape(hidden=32, layers=1, heads=1, intermediate=88),
    weak_draft_run=Run(tokens=20_000, batch=8, length=96, muon_lr=0.02, adam_lr=6e-3, warmup_steps=10),
    text_limit=400_000,
)
