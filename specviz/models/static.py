"""The forward passes on a GPU: keys and values at fixed addresses, and a CUDA graph for each pass of a few tokens.

In a pass of a few tokens a GPU waits for Python, which launches hundreds of kernels one by one. A CUDA graph is that
list of launches, written down once and replayed in one call: the same kernels on the same addresses. So nothing may
move or change its shape. The cache has a fixed size; ids and places, which differ from pass to pass, lie in a buffer
that is filled before the replay. Places beyond the text hold what earlier passes left there: a mask hides them until
they are overwritten, so a rollback is a smaller length and nothing else.

A graph belongs to the memory over which it was captured. So a request borrows both together from the model and gives
them back when it ends, and the next one need not capture anew.

CUDA has not been measured, nor has any graph been captured: this was written where there is no GPU. On a CPU the same
classes call the pass, and the tests replay it through a stand-in for the graph. `HFModel` takes this way only where
its self-check found logits, rollback and replay equal to what the model says alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import StaticLayer

FEW = 16  # tokens: the longest pass that is captured; a longer one, such as the prompt, keeps a GPU busy by itself
LEAST_ROOM = 256  # places of the smallest cache
MOST_KEPT = 4096  # places of the largest that waits for the next request; 2 GiB for a Llama of 7 billion
WARM_UPS = 3  # passes before a capture, as in the example of PyTorch's notes
MASKS = {"sdpa", "eager"}  # the kinds of attention that are given a mask over the whole cache
# Held while work is launched, not while it runs: PyTorch allows one capture at a time in a process, and a replay that
# another thread launches beside a warm-up would share its scratch memory.
_LAUNCH = Lock()


class StaticPasses:
    """The passes of one model, and the memories that no request has at the moment. Ask `fits` first."""

    @staticmethod
    def fits(model: PreTrainedModel) -> bool:
        """Whether all of it is on one GPU, and its pass can be captured: transformers says so, and a trial shows it."""
        return (
            model.device.type == "cuda"
            and {p.device for p in model.parameters()} == {model.device}
            and not model.config.is_encoder_decoder
            and model._can_compile_fullgraph
            and getattr(getattr(model, "hf_quantizer", None), "is_compileable", True)
            and model.config.get_text_config(decoder=True)._attn_implementation in MASKS
            and StaticPasses(model).never_look()
        )

    def __init__(self, model: PreTrainedModel) -> None:
        accepted = inspect.signature(model.forward).parameters
        self._model, self._device = model, model.device
        self._takes_positions = "position_ids" in accepted
        self._takes_logits_to_keep = "logits_to_keep" in accepted
        self._n_layers: int = model.config.get_text_config(decoder=True).num_hidden_layers
        self._captures = self._device.type == "cuda"
        self._side: Any = None  # the stream of all captures
        self._free: dict[int, _Memory] = {}  # by size, one of each

    def open(self) -> StaticCache:
        """One request's empty cache."""
        return StaticCache(self)

    def __call__(self, tokens: Sequence[int], cache: StaticCache, keep: int) -> Tensor:
        """Append the tokens to the cache; the logits after each of the last `keep`, [keep, rows].

        They may lie in a graph's memory: take a copy before the cache's next pass.
        """
        start, n = cache.length, len(tokens)
        told = torch.tensor([tokens, range(start, start + n)])  # ids and places, [2, n]
        with _LAUNCH:
            memory = cache.room(n)
            if start and n <= FEW:
                if n not in memory.short:
                    memory.short[n] = _Short(n, self._device)
                logits = self._short(memory, memory.short[n], told)
            else:  # an empty cache is read without a mask, by other kernels than those that a graph would need
                logits = self._bare(memory, told.to(self._device), keep)
        cache.length += n
        return logits[-keep:]

    @torch.inference_mode()
    def never_look(self) -> bool:
        """Whether no pass asks the device for a number, tried on tensors that have none.

        Asking fails inside a capture, and a capture that fails leaves PyTorch's allocator torn.
        """
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):
                inputs = torch.zeros(2, 2, dtype=torch.long, device=self._device)
                self._bare(_Memory(LEAST_ROOM, self._n_layers), inputs, 2)
        except Exception:  # a cache that this family does not understand fails in many ways
            return False
        return True

    def borrow(self, size: int) -> _Memory:
        """An empty memory of this size, for one request alone."""
        memory = self._free.pop(size, None)  # one step, so two threads never get the same
        if memory is None:
            return _Memory(size, self._n_layers)
        memory.reset()
        return memory

    def give_back(self, memory: _Memory) -> None:
        if memory.size <= MOST_KEPT:
            self._free[memory.size] = memory

    def _bare(self, memory: _Memory, inputs: Tensor, keep: int) -> Tensor:
        """One pass, on the device from end to end. inputs: ids and places, [2, n]. [at least keep, rows]"""
        memory.now.places = inputs[1]
        options: dict[str, Any] = {"position_ids": inputs[1:]} if self._takes_positions else {}
        if self._takes_logits_to_keep:
            options["logits_to_keep"] = keep
        return self._model(input_ids=inputs[:1], cache=memory, use_cache=True, **options).logits[0]

    def _short(self, memory: _Memory, short: _Short, told: Tensor) -> Tensor:
        """Fill the inputs and replay: a graph on a GPU, captured the first time, and a plain call elsewhere."""
        short.host.copy_(told)  # no copy from there is under way: the logits of the pass before have come back
        short.inputs.copy_(short.host, non_blocking=True)
        if short.replay is None:
            bare = partial(self._bare, memory, short.inputs, told.shape[1])
            short.replay = self._captured(bare, memory) if self._captures else bare
        return short.replay()

    def _captured(self, bare: Callable[[], Tensor], memory: _Memory) -> Callable[[], Tensor]:
        """Source: "CUDA Graphs" in PyTorch's notes on CUDA semantics: warm up on a side stream, then capture there.

        A capture runs nothing, and a warm-up writes what the replay writes again. The graphs over one memory share the
        rest of theirs, as the notes allow where no two run at a time and results are read before the next replay.
        """
        with torch.cuda.device(self._device):
            self._side = self._side or torch.cuda.Stream()  # type: ignore[no-untyped-call]
            memory.pool = memory.pool or torch.cuda.graph_pool_handle()
            own, graph = torch.cuda.current_stream(), torch.cuda.CUDAGraph()
            self._side.wait_stream(own)
            with torch.cuda.stream(self._side):  # around the capture too, which leaves its stream behind if it fails
                for _ in range(WARM_UPS):
                    bare()
                # "thread_local": what other threads do meanwhile, such as waiting for their logits, is no error.
                with torch.cuda.graph(graph, pool=memory.pool, stream=self._side, capture_error_mode="thread_local"):
                    logits = bare()
            own.wait_stream(self._side)

        def replay() -> Tensor:
            graph.replay()
            return logits

        return replay


class StaticCache:
    """One request's keys and values, of which `length` places are filled. Their memory is borrowed until it is gone."""

    def __init__(self, of: StaticPasses) -> None:
        self.length = 0
        self.memory: _Memory | None = None
        self._of = of

    def room(self, n: int) -> _Memory:
        """A memory with n places beyond the length: the one at hand, or a copy of it in one of twice the size."""
        needed = self.length + n
        old = self.memory
        if old is None or old.size < needed:
            new = self._of.borrow(max(LEAST_ROOM, 1 << (needed - 1).bit_length()))
            if old is not None:
                new.take(old, self.length)
                self._of.give_back(old)
            self.memory = new
        assert self.memory is not None
        return self.memory

    def crop(self, n: int) -> None:
        """Take -n places off the end, in transformers' convention."""
        self.length += n

    def __del__(self) -> None:
        if self.memory is not None:
            self._of.give_back(self.memory)


class _Short:
    """A pass of n tokens whose inputs stay where they are: filled on the host, copied to the device, replayed there."""

    def __init__(self, n: int, device: torch.device) -> None:
        self.host = torch.zeros(2, n, dtype=torch.long, pin_memory=device.type == "cuda")
        self.inputs = self.host.to(device)  # on a CPU the very same
        self.replay: Callable[[], Tensor] | None = None


class _Now:
    """Where the pass under way writes: its places, [n] on the device. One for all layers of a memory."""

    places: Tensor


class _Memory(Cache):  # type: ignore[misc]
    """A cache of `size` places, and its short passes by their number of tokens.

    Built without the config: plain layers, which roll back exactly also for models with sliding windows.
    """

    def __init__(self, size: int, n_layers: int) -> None:
        self.size, self.now = size, _Now()
        self.short: dict[int, _Short] = {}
        self.pool: Any = None  # of the graphs
        super().__init__(layers=[_Layer(size, self.now) for _ in range(n_layers)])

    def take(self, other: _Memory, length: int) -> None:
        """Copy the first `length` places of another."""
        self.now.places = torch.arange(length, device=other.now.places.device)
        for mine, its in zip(self.layers, other.layers, strict=True):
            if its.is_initialized:
                mine.update(its.keys[:, :, :length], its.values[:, :, :length])


class _Layer(StaticLayer):  # type: ignore[misc]
    """transformers' layer of a fixed size, but told where to write. Its own counter on the device takes a kernel for
    each layer at each rollback."""

    def __init__(self, size: int, now: _Now) -> None:
        super().__init__(max_cache_len=size)
        self._now = now

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Zeros, as `reset` makes them again for the next request: a mask takes a place times 0, and NaN would stay."""
        self.keys, self.values = (
            states.new_zeros(*states.shape[:2], self.max_cache_len, states.shape[-1])
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_args: Any, **_kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys.index_copy_(2, self._now.places, key_states)
        self.values.index_copy_(2, self._now.places, value_states)
        return self.keys, self.values

    def get_seq_length(self) -> Tensor:
        """A tensor, as of transformers' layer: the place of the pass's first token, from which its mask is made."""
        return self._now.places[0]
