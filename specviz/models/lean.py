"""The forward pass of a small Llama on a CPU, written out: the same weights, a third of the dispatch.

A pass of a model of a few million parameters spends most of its time between the matrix products. Here q, k and v are
one product, gate and up another, and the cache is one block of memory with a length, so that a rollback is a
subtraction. `HFModel` takes this way only after its self-check found the logits equal to transformers' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody reads
from torch import Tensor
from torch.nn import Linear
from transformers import PreTrainedModel

MOST_PARAMETERS = 500_000_000  # beyond this a pass is not bound by dispatch


class LeanCache:
    """Keys and values of one request: [layers, 2, kv heads, room, head size], of which `length` places are filled."""

    def __init__(self) -> None:
        self.length = 0
        self._block: Tensor | None = None

    def room(self, shape: tuple[int, int, int, int], n: int, like: Tensor) -> Tensor:
        """The block, grown so that n more places fit. shape: that of an empty block, without its room."""
        layers, both, heads, size = shape
        old, needed = self._block, self.length + n
        if old is None or old.shape[3] < needed:
            self._block = torch.empty(layers, both, heads, max(256, 2 * needed), size, dtype=like.dtype)
            if old is not None:
                self._block[..., : self.length, :] = old[..., : self.length, :]
        assert self._block is not None
        return self._block

    def crop(self, n: int) -> None:
        """Take -n places off the end, in transformers' convention."""
        self.length += n


class _Layer(NamedTuple):
    norm: Tensor
    qkv: Tensor  # [(heads + 2 kv heads) * head size, hidden]
    out: Tensor
    mlp_norm: Tensor
    gate_up: Tensor  # [2 * intermediate, hidden]
    down: Tensor


class LeanLlama:
    """Logits of a Llama, from the weights of a loaded transformers model. Ask `fits` first."""

    @staticmethod
    def fits(model: PreTrainedModel) -> bool:
        """Whether this is the plain architecture, in float32 on a CPU, and small enough to gain from it."""
        config = model.config
        return (
            config.model_type == "llama"
            and all(p.device.type == "cpu" and p.dtype == torch.float32 for p in model.parameters())
            and not (config.attention_bias or config.mlp_bias)
            and config.hidden_act == "silu"
            and (getattr(config, "rope_parameters", None) or {}).get("rope_type") == "default"
            and sum(p.numel() for p in model.parameters()) <= MOST_PARAMETERS
        )

    @torch.no_grad()
    def __init__(self, model: PreTrainedModel) -> None:
        config, body = model.config, model.model
        self.heads, self.kv_heads, self.size = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        self.eps: float = config.rms_norm_eps
        self.embedding: Tensor = body.embed_tokens.weight
        self.norm: Tensor = body.norm.weight
        self.head: Tensor = model.lm_head.weight
        self._rotary = body.rotary_emb
        self._rotation = self._rotate_to(config.max_position_embeddings)
        self.layers = [
            _Layer(
                layer.input_layernorm.weight,
                _joined(attention.q_proj, attention.k_proj, attention.v_proj),
                attention.o_proj.weight,
                layer.post_attention_layernorm.weight,
                _joined(layer.mlp.gate_proj, layer.mlp.up_proj),
                layer.mlp.down_proj.weight,
            )
            for layer in body.layers
            for attention in [layer.self_attn]
        ]

    def keeping(self, kept: Sequence[int]) -> LeanLlama:
        """The same with only these of its layers, over the same tensors."""
        twin = copy(self)
        twin.layers = [self.layers[i] for i in kept]
        return twin

    def _rotate_to(self, length: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine of every position below the length, each [length, 1, head size]."""
        cos, sin = self._rotary(self.embedding, torch.arange(length)[None])  # [1, length, head size]
        return cos[0, :, None], sin[0, :, None]

    def __call__(self, tokens: list[int], cache: LeanCache, keep: int) -> Tensor:
        """Append the tokens to the cache; the logits after each of the last `keep`, [keep, V]."""
        n, start = len(tokens), cache.length
        end = start + n
        block = cache.room((len(self.layers), 2, self.kv_heads, self.size), n, self.embedding)
        if end > len(self._rotation[0]):  # beyond the declared context, as transformers goes too
            self._rotation = self._rotate_to(2 * end)
        cos, sin = (table[start:end] for table in self._rotation)
        half = self.size // 2
        mask = None if n == 1 else torch.ones(n, end, dtype=torch.bool).tril(start)  # [n, end]: each sees those before
        x = F.embedding(torch.tensor(tokens), self.embedding)  # [n, hidden]
        hidden = (x.shape[1],)
        for layer, (keys, values) in zip(self.layers, block, strict=True):
            qkv = F.linear(F.rms_norm(x, hidden, layer.norm, self.eps), layer.qkv).view(n, -1, self.size)
            qk, v = qkv[:, : -self.kv_heads], qkv[:, -self.kv_heads :]
            qk = qk * cos + torch.cat((-qk[..., half:], qk[..., :half]), dim=-1) * sin  # rotate by position
            keys[:, start:end] = qk[:, self.heads :].transpose(0, 1)
            values[:, start:end] = v.transpose(0, 1)
            seen = F.scaled_dot_product_attention(
                qk[:, : self.heads].transpose(0, 1)[None],  # [1, heads, n, head size]
                keys[None, :, :end],
                values[None, :, :end],
                attn_mask=mask,
                enable_gqa=self.kv_heads != self.heads,
            )
            x = x + F.linear(seen[0].transpose(0, 1).reshape(n, -1), layer.out)
            gate, up = F.linear(F.rms_norm(x, hidden, layer.mlp_norm, self.eps), layer.gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, layer.down)
        cache.length = end
        return F.linear(F.rms_norm(x[-keep:], hidden, self.norm, self.eps), self.head)


def _joined(*parts: Linear) -> Tensor:
    """Their weights as one matrix, of which they become views, so that nothing is held twice. [sum of rows, columns]"""
    whole = torch.cat([part.weight for part in parts])
    for part, own in zip(parts, torch.split(whole, [part.out_features for part in parts]), strict=True):
        part.weight.data = own
    return whole
