"""A wider Llama that says just what a narrow one says: what was learned is kept, and there is room for more.

What new units write is 0 at first and what they read is random, so nothing changes, and the gradient reaches both.
Source: Chen et al. 2015 (arXiv 1511.05641), function-preserving growth.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from training.loop import make_llama
from training.recipe import Recipe, Shape

READS = {"q_proj": 0.02, "k_proj": 0.02, "v_proj": 0.02, "gate_proj": 0.05, "up_proj": 0.05}  # spread of new weights


@torch.no_grad()
def widen(model: LlamaForCausalLM, shape: Shape, recipe: Recipe) -> LlamaForCausalLM:
    """The same function with more hidden units, heads and units of the feed-forward layer. shape: as many layers.

    Raises ValueError where it has another number of layers or is narrower somewhere, or its heads are of another size.
    """
    wide, old = make_llama(shape, recipe), model.config
    new = wide.config
    sizes = [(getattr(new, name), getattr(old, name)) for name in ("hidden_size", "num_attention_heads")]
    sizes.append((new.intermediate_size, old.intermediate_size))
    fixed = [(new.head_dim, old.head_dim), (new.num_hidden_layers, old.num_hidden_layers)]
    if any(after < before for after, before in sizes) or any(after != before for after, before in fixed):
        raise ValueError(f"a draft of {old.hidden_size} units cannot be widened to {shape}")
    # A norm divides by the root mean square, and the mean is over more units now, the new ones 0.
    shrink = (old.hidden_size / new.hidden_size) ** 0.5
    narrow = dict(model.named_parameters())
    generator = torch.Generator().manual_seed(0)
    for name, weight in wide.named_parameters():
        kind = name.split(".")[-2]
        if kind in READS:
            weight.normal_(0.0, READS[kind], generator=generator)
        else:
            weight.fill_(0.5 if "norm" in kind else 0.0)
        _corner(weight, narrow[name]).copy_(narrow[name] * (shrink if "norm" in kind else 1.0))
    return wide


def _corner(weight: Tensor, like: Tensor) -> Tensor:
    """The part of the weight that has the other's shape."""
    return weight[tuple(slice(n) for n in like.shape)]
