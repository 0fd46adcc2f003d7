"""The forward pass of a small Llama on a CPU, written out: the same weights, a third of the dispatch.

A pass of a model of a few million parameters spends most of its time between the matrix products. Here q, k and v are
one product, gate and up another, and the cache is one block of memory with a length, so that a rollback is a
subtraction. Several requests share one pass: their tokens stand below each other in every product, and only the
attention, which needs no weights, goes request by request. `HFModel` takes this way only after its self-check found
the logits equal to transformers' own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody reads
from torch import Tensor
from torch.nn import Linear
from transformers import PreTrainedModel

MOST_PARAMETERS = 500_000_000  # beyond this a pass is not bound by dispatch
_FEW = 8  # tokens: up to here a product is quicker the other way round
_PACKS = "fbgemm" in torch.backends.quantized.supported_engines and all(
    hasattr(torch, f"fbgemm_{name}") for name in ("pack_gemm_matrix_fp16", "linear_fp16_weight_fp32_activation")
)

Product = Callable[[Tensor], Tensor]  # [n, columns] -> [n, rows of the weights]


class LeanCache:
    """Keys and values of one request: [layers, 2 kv heads, room, head size], of which `length` places are filled."""

    def __init__(self) -> None:
        self.length = 0
        self._block: Tensor | None = None

    def room(self, layers: int, heads: int, n: int, size: int, like: Tensor) -> Tensor:
        """The block up to n places beyond its length, grown where it must. heads: of keys and values together."""
        old, needed = self._block, self.length + n
        if old is None or old.shape[2] < needed:
            self._block = torch.empty(layers, heads, max(256, 2 * needed), size, dtype=like.dtype)
            if old is not None:
                self._block[:, :, : self.length] = old[:, :, : self.length]
        assert self._block is not None
        return self._block[:, :, :needed]

    def crop(self, n: int) -> None:
        """Take -n places off the end, in transformers' convention."""
        self.length += n


class Row(NamedTuple):
    """One request's part of a pass: tokens to append to its cache. keep: how many of the last are asked for logits."""

    tokens: Sequence[int]
    cache: LeanCache
    keep: int


class _Layer(NamedTuple):
    norm: Tensor
    qkv: Product  # [n, hidden] -> [n, (heads + 2 kv heads) * head size]
    out: Product
    mlp_norm: Tensor
    gate_up: Product  # [n, hidden] -> [n, 2 * intermediate]
    down: Product


class _Place(NamedTuple):
    """Where one row of a pass lies, and its cache by layers: the places to fill, and those to look at."""

    start: int  # in the tokens of all rows
    end: int
    mask: Tensor | None  # [n, length], 0 or -inf: each token sees those before it
    new: Sequence[Tensor]  # each [2 kv heads, n, head size]
    keys: Sequence[Tensor]  # each [1, kv heads, length, head size]
    values: Sequence[Tensor]


class LeanLlama:
    """Logits of a Llama, from the weights of a loaded transformers model. Ask `of` for one."""

    @classmethod
    def of(cls, model: PreTrainedModel) -> LeanLlama | None:
        """One for this model, or None where it does not fit, or its layers are not what they are in transformers."""
        try:
            return cls(model) if cls.fits(model) else None
        except Exception:  # wrapped projections, other kinds of weights, a torch without these products
            return None

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
        self.head = _product(model.lm_head)
        self._rotary = body.rotary_emb
        self._rotation = self._rotate_to(512)
        self.layers = [
            _Layer(
                layer.input_layernorm.weight,
                _product(attention.q_proj, attention.k_proj, attention.v_proj),
                _product(attention.o_proj),
                layer.post_attention_layernorm.weight,
                _product(layer.mlp.gate_proj, layer.mlp.up_proj),
                _product(layer.mlp.down_proj),
            )
            for layer in body.layers
            for attention in [layer.self_attn]
        ]
        self._made_of = [(weight, weight._version) for weight in model.parameters()]

    @property
    def stale(self) -> bool:
        """Whether somebody has changed the model's weights since, as training does."""
        return any(weight._version != version for weight, version in self._made_of)

    def keeping(self, kept: Sequence[int]) -> LeanLlama:
        """The same with only these of its layers, over the same tensors."""
        twin = copy(self)
        twin.layers = [self.layers[i] for i in kept]
        return twin

    def _rotate_to(self, length: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine of every position below the length, for every head: [length, heads + 2 kv heads, head size].

        x turns into x cos + (x with its halves swapped) sin, so the first half of the sines has a minus. The values are
        turned by nothing.
        """
        cos, sin = (table[0, :, None] for table in self._rotary(self.embedding, torch.arange(length)[None]))
        sin[..., : self.size // 2] *= -1
        turned, values = (-1, self.heads + self.kv_heads, -1), (length, self.kv_heads, self.size)
        return (
            torch.cat((cos.expand(turned), torch.ones(values)), dim=1),
            torch.cat((sin.expand(turned), torch.zeros(values)), dim=1),
        )

    def __call__(self, *rows: Row) -> Tensor:
        """Append each row's tokens to its cache; the logits that were asked for, row after row, [sum of keep, V]."""
        places = list(self._places(rows))
        tokens = torch.tensor([token for row in rows for token in row.tokens])
        n, half = len(tokens), self.size // 2
        cos, sin = self._rotations(rows)
        x = F.embedding(tokens, self.embedding)  # [n, hidden]
        hidden = (x.shape[1],)
        for i, layer in enumerate(self.layers):
            qkv = layer.qkv(F.rms_norm(x, hidden, layer.norm, self.eps)).view(n, -1, self.size)
            qkv = torch.addcmul(qkv * cos, qkv.roll(half, -1), sin)  # rotate q and k by position
            if len(places) == 1:
                seen = self._attend(i, places[0], qkv)
            else:
                seen = torch.cat([self._attend(i, place, qkv[place.start : place.end]) for place in places])
            x = x + layer.out(seen)
            gate, up = layer.gate_up(F.rms_norm(x, hidden, layer.mlp_norm, self.eps)).chunk(2, dim=-1)
            x = x + layer.down(F.silu(gate) * up)
        for row in rows:
            row.cache.length += len(row.tokens)
        kept = [x[place.end - row.keep : place.end] for row, place in zip(rows, places, strict=True)]
        return self.head(F.rms_norm(kept[0] if len(kept) == 1 else torch.cat(kept), hidden, self.norm, self.eps))

    def _places(self, rows: Iterable[Row]) -> Iterable[_Place]:
        at = 0
        for tokens, cache, _keep in rows:
            n, start = len(tokens), cache.length
            seen = cache.room(len(self.layers), 2 * self.kv_heads, n, self.size, self.embedding)
            keys, values = (half.unbind() for half in seen[:, None].chunk(2, dim=2))
            mask = None if n == 1 else torch.full((n, start + n), -torch.inf).triu(start + 1)
            yield _Place(at, at + n, mask, seen[:, :, start:].unbind(), keys, values)
            at += n

    def _rotations(self, rows: Sequence[Row]) -> list[Tensor]:
        """Cosine and sine of every token of all rows, each [n, heads + 2 kv heads, head size]."""
        spans = [(row.cache.length, row.cache.length + len(row.tokens)) for row in rows]
        longest = max(end for _start, end in spans)
        rotation = self._rotation  # one table for all of this pass: another thread may put a new one there
        if longest > len(rotation[0]):
            rotation = self._rotation = self._rotate_to(2 * longest)
        parts = [[table[start:end] for start, end in spans] for table in rotation]
        return [part[0] if len(rows) == 1 else torch.cat(part) for part in parts]

    def _attend(self, layer: int, place: _Place, qkv: Tensor) -> Tensor:
        """One row's attention, after its keys and values went into its cache. [n, heads * head size]"""
        place.new[layer].copy_(qkv[:, self.heads :].transpose(0, 1))
        seen = F.scaled_dot_product_attention(
            qkv[None, :, : self.heads].transpose(1, 2),  # [1, heads, n, head size]
            place.keys[layer],
            place.values[layer],
            attn_mask=place.mask,
            enable_gqa=self.kv_heads != self.heads,
        )
        return seen.transpose(1, 2).reshape(len(qkv), -1)


def _product(*parts: Linear) -> Product:
    """What multiplies with the weights of all parts at once.

    Where every weight is a float16 number, as in a model that is stored so, a copy of the weights is packed as float16:
    half the memory to read for each token, 5 tokens in a quarter more time than one, and the very same numbers, since
    sums are in float32 all the same. Elsewhere the parts become views of one matrix, so that nothing is held twice.
    """
    whole = torch.cat([part.weight for part in parts])
    if _PACKS and torch.equal(whole.half().float(), whole):
        with warnings.catch_warnings():  # that a later torch has no such products; ours is pinned, and floats remain
            warnings.simplefilter("ignore")
            product = partial(_times_packed, torch.fbgemm_pack_gemm_matrix_fp16(whole), torch.zeros(len(whole)))
            product(torch.zeros(1, whole.shape[1]))
        return product
    if len(parts) == 1:
        whole = parts[0].weight
    else:
        for part, own in zip(parts, torch.split(whole, [part.out_features for part in parts]), strict=True):
            part.weight.data = own
    return partial(_times, whole)


def _times_packed(packed: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    return torch.fbgemm_linear_fp16_weight_fp32_activation(x, packed, bias)


def _times(weight: Tensor, x: Tensor) -> Tensor:
    """A few tokens take less time as columns than as rows: a third to a half less for 2 to 5 at the bundled size."""
    return torch.mm(weight, x.t()).t().contiguous() if 1 < len(x) <= _FEW else F.linear(x, weight)
