"""Muon, as `torch.optim.Muon` does it, with a choice of the precision it works in.

torch's own always works in bfloat16, which a processor without bfloat16 arithmetic emulates far more slowly than it
would compute in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

# Coefficients and number of Newton-Schulz steps. Source: Jordan et al. 2024, "Muon", kellerjordan.github.io/posts/muon
COEFFICIENTS, STEPS = (3.4445, -4.7750, 2.0315), 5


def fast_dtype() -> torch.dtype:
    """bfloat16 where this processor has arithmetic for it, float32 elsewhere."""
    capabilities = torch.cpu.get_capabilities()
    return torch.bfloat16 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else torch.float32


def orthogonalised(matrix: Tensor, dtype: torch.dtype) -> Tensor:
    """The matrix with all its singular values near 1 (0.5 to 1.5). [m, n] -> [m, n]."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).to(dtype)
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(STEPS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum (Nesterov), made orthogonal, with decoupled weight decay. For matrices only."""

    def __init__(
        self, matrices: Iterable[Tensor], *, lr: float, weight_decay: float, momentum: float, dtype: torch.dtype
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "dtype": dtype})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.grad))
                mean.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalised(p.grad.lerp(mean, group["momentum"]), group["dtype"])
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * math.sqrt(max(1.0, p.shape[0] / p.shape[1])))
