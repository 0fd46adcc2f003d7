"""The forward pass of a small Llama on a CPU, written out: the same weights, a quarter of the time.

A pass of a model of a few million parameters spends most of its time between the matrix products, and an operation of
NumPy begins several times sooner than one of torch. So torch has the products with weights, the softmax, SiLU and the
attention of many tokens, and NumPy the rest. q, k and v are one product, gate and up another, and the cache is a block
of memory with a length, so that a rollback is a subtraction. Several requests share one pass: their tokens stand below
each other in every product, and only the attention, which needs no weights, goes request by request. `HFModel` takes
this way only after its self-check found the logits equal to transformers' own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody reads
from torch import Tensor
from torch.nn import Linear
from transformers import PreTrainedModel

MOST_PARAMETERS = 500_000_000  # beyond this a pass is not bound by dispatch
_MOST_TOKENS = 256  # in a row of one pass: more go in parts, so that the scores of all its tokens stay small
_FEW = 8  # tokens: up to here a product is quicker the other way round
_FEW_QUERIES = 12  # tokens of one row: up to here two products and a softmax take less time than torch's attention
_PACKS = "fbgemm" in torch.backends.quantized.supported_engines and all(
    hasattr(torch, f"fbgemm_{name}") for name in ("pack_gemm_matrix_fp16", "linear_fp16_weight_fp32_activation")
)

Floats = npt.NDArray[np.float32]
Product = Callable[[Floats], Floats]  # [n, columns] -> [n, rows of the weights]

_LATER = np.triu(np.full((_MOST_TOKENS, _MOST_TOKENS), -np.inf, dtype=np.float32), 1)  # what a token of a pass hides


class LeanCache:
    """Keys and values of one request: [layers, 2 kv heads, room, head size], of which `length` places are filled."""

    def __init__(self) -> None:
        self.length = 0
        self._block: Floats | None = None

    def room(self, layers: int, heads: int, n: int, size: int) -> Floats:
        """The block up to n places beyond its length, grown where it must. heads: of keys and values together."""
        old, needed = self._block, self.length + n
        if old is None or old.shape[2] < needed:
            self._block = np.empty((layers, heads, max(256, 2 * needed), size), dtype=np.float32)
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

    @property
    def parts(self) -> Iterator[Row]:
        """The same in rows short enough for one pass."""
        n = len(self.tokens)
        for start in range(0, n, _MOST_TOKENS):
            end = min(n, start + _MOST_TOKENS)
            yield Row(self.tokens[start:end], self.cache, max(0, end - max(start, n - self.keep)))


class _Layer(NamedTuple):
    norm: Floats
    qkv: Product  # [n, hidden] -> [n, (heads + 2 kv heads) * head size]
    out: Product
    mlp_norm: Floats
    gate_up: Product  # [n, hidden] -> [n, 2 * intermediate]
    down: Product


class _Place(NamedTuple):
    """Where one row of a pass lies, and the places of its cache, those to fill the last."""

    rows: slice  # in the tokens of all rows
    seen: Floats  # [layers, 2 kv heads, length, head size]
    mask: Tensor | None  # of many tokens, [n, length], 0 or -inf: each sees those before it


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
        self.eps: float = config.rms_norm_eps * config.hidden_size  # of a sum, not of a mean
        self.embedding: Floats = body.embed_tokens.weight.numpy(force=True)
        self.norm: Floats = _scale(body.norm.weight)
        self.head = _product(model.lm_head)
        self._rotary = body.rotary_emb
        halves = np.arange((self.heads + 2 * self.kv_heads) * self.size).reshape(-1, 2, self.size // 2)
        self._swapped = halves[:, ::-1].ravel()  # where the other half of each head lies
        self._rotation = self._rotate_to(512)
        self.layers = [
            _Layer(
                _scale(layer.input_layernorm.weight),
                _product(attention.q_proj, attention.k_proj, attention.v_proj),
                _product(attention.o_proj),
                _scale(layer.post_attention_layernorm.weight),
                _product(layer.mlp.gate_proj, layer.mlp.up_proj),
                _product(layer.mlp.down_proj),
            )
            for layer in body.layers
            for attention in [layer.self_attn]
        ]
        self._made_of = [(weight, _state(weight)) for weight in model.parameters()]

    @property
    def stale(self) -> bool:
        """Whether somebody has changed the model's weights since, as training does; edits in `.data` are not seen."""
        return any(_state(weight) != state for weight, state in self._made_of)

    def keeping(self, kept: Sequence[int]) -> LeanLlama:
        """The same with only these of its layers, over the same tensors."""
        twin = copy(self)
        twin.layers = [self.layers[i] for i in kept]
        return twin

    @torch.no_grad()
    def _rotate_to(self, length: int) -> tuple[Floats, Floats]:
        """Cosine and sine of every position below the length, as qkv lies: [length, (heads + 2 kv heads) * head size].

        x turns into x cos + (x with its halves swapped) sin, so the first half of the sines has a minus. The queries
        are scaled for the attention at once; the values are turned by nothing.
        """
        cos, sin = (table[0, :, None].numpy() for table in self._rotary(torch.zeros(1), torch.arange(length)[None]))
        sin[..., : self.size // 2] *= -1
        scale = np.repeat([self.size**-0.5, 1], [self.heads, self.kv_heads])[:, None]
        still = length, self.kv_heads, self.size
        whole = [
            np.concatenate((turned * scale, np.full(still, rest)), axis=1, dtype=np.float32, casting="same_kind")
            for turned, rest in ((cos, 1.0), (sin, 0.0))
        ]
        return whole[0].reshape(length, -1), whole[1].reshape(length, -1)

    def __call__(self, *rows: Row) -> Floats:
        """Append each row's tokens to its cache; the logits that were asked for, row after row, [sum of keep, V]."""
        if torch.is_autocast_enabled("cpu"):  # somebody's around this call: a pass is in float32 all the same
            with torch.autocast("cpu", enabled=False):
                return self(*rows)
        if max(len(row.tokens) for row in rows) <= _MOST_TOKENS:
            return self._pass(rows)
        parts = [list(row.parts) for row in rows]
        before = [[self._pass([part]) for part in early] for *early, _last in parts]
        last = [row_parts[-1] for row_parts in parts]  # these share a pass
        ends = np.split(self._pass(last), np.cumsum([part.keep for part in last])[:-1])
        return np.concatenate([part for early, end in zip(before, ends, strict=True) for part in (*early, end)])

    def _pass(self, rows: Sequence[Row]) -> Floats:
        places = list(self._places(rows))
        cos, sin = self._rotations(rows)
        x = self.embedding[[token for row in rows for token in row.tokens]]  # [n, hidden]
        for i, layer in enumerate(self.layers):
            qkv = layer.qkv(self._normed(x, layer.norm))
            turned = qkv.take(self._swapped, axis=1)  # rotate q and k by position
            turned *= sin
            turned += qkv * cos
            seen = [self._attend(place.seen[i], place.mask, turned[place.rows]) for place in places]
            x = x + layer.out(seen[0] if len(seen) == 1 else np.concatenate(seen))
            both = layer.gate_up(self._normed(x, layer.mlp_norm))
            gate, up = both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]
            gated = F.silu(torch.from_numpy(gate)).numpy()
            gated *= up
            x = x + layer.down(gated)
        for row in rows:
            row.cache.length += len(row.tokens)
        kept = [x[place.rows.stop - row.keep : place.rows.stop] for row, place in zip(rows, places, strict=True)]
        return self.head(self._normed(kept[0] if len(kept) == 1 else np.concatenate(kept), self.norm))

    def _normed(self, x: Floats, weight: Floats) -> Floats:
        """RMSNorm: each row over its root mean square, times the weights. weight: from `_scale`."""
        root = np.vecdot(x, x)
        root += self.eps
        np.sqrt(root, out=root)
        normed = x * weight
        normed /= root[:, None]
        return normed

    def _places(self, rows: Sequence[Row]) -> Iterator[_Place]:
        at = 0
        for row in rows:
            n, before = len(row.tokens), row.cache.length
            mask = torch.from_numpy(np.pad(_LATER[:n, :n], ((0, 0), (before, 0)))) if n > _FEW_QUERIES else None
            yield _Place(slice(at, at + n), row.cache.room(len(self.layers), 2 * self.kv_heads, n, self.size), mask)
            at += n

    def _rotations(self, rows: Sequence[Row]) -> list[Floats]:
        """Cosine and sine of every token of all rows, as qkv lies."""
        spans = [slice(row.cache.length, row.cache.length + len(row.tokens)) for row in rows]
        longest = max(span.stop for span in spans)
        rotation = self._rotation  # one table for all of this pass: another thread may put a new one there
        if longest > len(rotation[0]):
            rotation = self._rotation = self._rotate_to(2 * longest)
        parts = [[table[span] for span in spans] for table in rotation]
        return [part[0] if len(rows) == 1 else np.concatenate(part) for part in parts]

    def _attend(self, seen: Floats, mask: Tensor | None, qkv: Floats) -> Floats:
        """One row's attention in a layer, after its keys and values went into its cache. [n, heads * head size]"""
        n, kv, size, split = len(qkv), self.kv_heads, self.size, self.heads * self.size
        seen[:, -n:] = qkv[:, split:].reshape(n, 2 * kv, size).transpose(1, 0, 2)
        queries = qkv[:, :split].reshape(n, kv, -1, size).transpose(1, 2, 0, 3)  # [kv heads, heads of each, n, size]
        if mask is None:
            scores = queries.reshape(kv, -1, size) @ seen[:kv].transpose(0, 2, 1)  # [kv heads, of each * n, length]
            if n > 1:
                scores.reshape(kv, -1, n, scores.shape[2])[..., -n:] += _LATER[:n, :n]
            shares = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
            mixed = (shares @ seen[kv:]).reshape(kv, -1, n, size)
        else:
            q, keys, values = (torch.from_numpy(part) for part in (queries, seen[:kv, None], seen[kv:, None]))
            mixed = F.scaled_dot_product_attention(q, keys, values, mask, scale=1.0).numpy()
        return mixed.transpose(2, 0, 1, 3).reshape(n, -1)


def _state(weight: Tensor) -> tuple[int, int]:
    """What differs after a change in place, and where other data was put there."""
    return weight._version, weight.data_ptr()


def _scale(weight: Tensor) -> Floats:
    """Weights of a norm, times the root of their number: what `_normed` multiplies with."""
    return weight.numpy(force=True) * np.float32(len(weight) ** 0.5)


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
            product(np.zeros((1, whole.shape[1]), dtype=np.float32))
        return product
    if len(parts) == 1:
        whole = parts[0].weight.detach()
    else:
        for part, own in zip(parts, torch.split(whole, [part.out_features for part in parts]), strict=True):
            part.weight.data = own
    return partial(_times, whole)


def _times_packed(packed: Tensor, bias: Tensor, x: Floats) -> Floats:
    return torch.fbgemm_linear_fp16_weight_fp32_activation(torch.from_numpy(x), packed, bias).numpy()


def _times(weight: Tensor, x: Floats) -> Floats:
    """A few tokens take less time as columns than as rows: a third to a half less for 2 to 5 at the bundled size."""
    rows = torch.from_numpy(x)
    few = 1 < len(x) <= _FEW
    return (torch.mm(weight, rows.t()).t().contiguous() if few else F.linear(rows, weight)).numpy()
