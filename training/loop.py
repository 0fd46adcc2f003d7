"""The training loop: a model, token ids, a loss. `text_loss` learns the text, the others another model's laws."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from training.muon import Muon, fast_dtype
from training.recipe import Recipe, Run, Shape
from training.texts import END_ID

SAY_EVERY_S = 60

Loss = Callable[[PreTrainedModel, Tensor], Tensor]  # model, [batch, length + 1] ids -> nats per token


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run ended with. loss: nats per token, the running mean of about the last 33 steps."""

    tokens: int
    steps: int
    loss: float
    seconds: float


def make_llama(shape: Shape, recipe: Recipe) -> LlamaForCausalLM:
    """A Llama with tied embeddings and fixed random weights."""
    config = LlamaConfig(
        vocab_size=recipe.vocab_size,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        bos_token_id=END_ID,
        eos_token_id=END_ID,
        pad_token_id=END_ID,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LlamaForCausalLM(config)


def text_loss(model: PreTrainedModel, window: Tensor) -> Tensor:
    """Cross-entropy of the next token."""
    with _fast():
        logits = model(window[:, :-1]).logits  # [batch, length, V]
    return functional.cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())


def law_loss(teacher: PreTrainedModel) -> Loss:
    """KL(p || q) of the teacher's law p and the model's law q at every place: distillation.

    The total variation between the two laws, 1 - beta, is at most sqrt(KL / 2) (Pinsker): a small KL keeps beta high.
    Source: Zhou et al. 2023 (arXiv 2310.08461), forward KL.
    """

    return lambda model, window: _kl(*_laws(teacher, model, window))


def overlap_loss(teacher: PreTrainedModel) -> Loss:
    """KL(p || q) / 2 plus the total variation of the two laws, which is 1 - beta: what the accept rule counts."""

    def loss(model: PreTrainedModel, window: Tensor) -> Tensor:
        log_p, log_q = _laws(teacher, model, window)
        return _kl(log_p, log_q) / 2 + (log_p.exp() - log_q.exp()).abs().sum(-1).mean() / 2

    return loss


def _laws(teacher: PreTrainedModel, model: PreTrainedModel, window: Tensor) -> tuple[Tensor, Tensor]:
    """log p and log q at every place, each [batch * length, V]. The teacher learns nothing."""
    with torch.no_grad(), _fast():
        goal = teacher(window[:, :-1]).logits
    logits = model(window[:, :-1]).logits  # [batch, length, V]
    log_p, log_q = (law.float().flatten(0, 1).log_softmax(-1) for law in (goal, logits))
    return log_p, log_q


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    return functional.kl_div(log_q, log_p, log_target=True, reduction="batchmean")


def train(
    name: str, model: PreTrainedModel, pools: Sequence[Tensor], run: Run, loss_of: Loss, say: Callable[[str], None]
) -> Outcome:
    """Train the model in place on random windows of ids. pools: of ids, taken in turns, [more than run.length] each."""
    generator = torch.Generator().manual_seed(run.seed)
    optimizers = _optimizers(model, run)
    full_rates = [o.param_groups[0]["lr"] for o in optimizers]
    start = shown = time.perf_counter()
    seen, steps, mean = 0, 0, None
    model.train()
    while seen < run.tokens:
        for optimizer, rate in zip(optimizers, full_rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate * rate_factor(run, steps, seen / run.tokens)
        ids = pools[steps % len(pools)]
        at = torch.randint(0, len(ids) - run.length, (run.batch,), generator=generator)
        window = torch.stack([ids[i : i + run.length + 1] for i in at])  # [batch, length + 1]
        loss = loss_of(model, window)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen, steps = seen + run.batch * run.length, steps + 1
        mean = loss.item() if mean is None else 0.97 * mean + 0.03 * loss.item()
        if time.perf_counter() - shown > SAY_EVERY_S:
            shown = time.perf_counter()
            say(f"{name}: {seen / run.tokens:.0%} after {shown - start:.0f} s, loss {mean:.3f}")
    model.eval()
    return Outcome(seen, steps, float("nan") if mean is None else mean, time.perf_counter() - start)


def rate_factor(run: Run, step: int, done: float) -> float:
    """The share of the full learning rates at a step. done: share of the run's tokens seen, in [0, 1)."""
    return min(1.0, (step + 1) / run.warmup_steps) * min(1.0, (1 - done) / run.decay + 0.02)


def _fast() -> torch.autocast:
    """Products in bfloat16 where that is faster than float32."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=fast_dtype() == torch.bfloat16)


def _optimizers(model: PreTrainedModel, run: Run) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embeddings (the output layer is tied to them) and norms."""
    matrices: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        inside = parameter.ndim == 2 and "embed" not in name and "lm_head" not in name
        (matrices if inside else rest).append(parameter)
    return [
        Muon(matrices, lr=run.muon_lr, weight_decay=0.01, momentum=0.95, dtype=fast_dtype()),
        torch.optim.AdamW(rest, lr=run.adam_lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]
