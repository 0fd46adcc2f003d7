"""The way for a GPU, on a CPU: the fixed cache as it is, and CUDA graphs as a stand-in that replays operations."""

from contextlib import contextmanager, nullcontext
from threading import Thread

import numpy as np
import pytest
import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

import specviz as sv
from benchmarks import gpu
from specviz.models.hf import HFModel
from specviz.models.static import FEW, LEAST_ROOM, StaticCache, StaticPasses
from tests.families.table import FAMILIES, SIZE, built, vocabulary
from tests.families.test_families import GREEDY, PROMPT, PROMPTS, TOLERANCE, alone, distance, in_turn

# Of the families that transformers says can be captured. The rest are below, each with a reason.
STATIC = [
    *("Llama", "Llama with biases", "Mistral", "Qwen2, Qwen2.5", "Qwen2 with windows", "Qwen3", "Gemma", "Gemma 2"),
    *("Gemma 3", "Gemma 3 with eyes", "Gemma 3n", "Gemma 4", "Phi", "Phi-3", "Phi-3 with longrope", "StableLM"),
    *("SmolLM3", "OLMo 2", "OLMo 3", "Cohere", "Cohere 2", "Llama 4", "Granite", "GLM-4", "EXAONE 4", "Nemotron"),
    *("GPT-2", "GPT-J", "Pythia (GPT-NeoX)", "StarCoder (GPT-BigCode)", "StarCoder 2", "BLOOM", "Falcon"),
]
EXPERTS = ["Mixtral", "Qwen2-MoE", "Qwen3-MoE", "gpt-oss", "DeepSeek-V2", "DeepSeek-V3"]  # the trial wants bfloat16
LOOKS = ["OPT", "Falcon with ALiBi"]  # read the length of the cache as a number


def statically(name: str) -> HFModel:
    """The family's model by way of the static cache, checked as at every loading."""
    model = built(name).model
    return HFModel(model, vocabulary(), name, static=StaticPasses(model))


def tensors(tree) -> list[torch.Tensor]:
    return [leaf for leaf in _pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def storages(tree) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors(tree)}


class Graph(TorchDispatchMode):
    """A stand-in for a CUDA graph: operations on fixed tensors, whose results go where they went at the capture.

    What Python worked out meanwhile stays as it was, as in a real one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: list = []
        self.replays = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        done = func(*args, **(kwargs or {}))
        self.steps.append((func, args, kwargs or {}, done))
        return done

    def replay(self) -> None:
        self.replays += 1
        for func, args, kwargs, before in self.steps:
            for old, new in zip(tensors(before), tensors(func(*args, **kwargs)), strict=True):
                if old.data_ptr() != new.data_ptr():  # no view, and not in place
                    old.copy_(new)


class Device:
    """A stand-in for what of torch.cuda a capture needs; keeps the graphs, and what happened in which order."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.told: list[str] = []
        self.Stream = type("Stream", (), {"wait_stream": lambda _self, _other: self.told.append("wait")})

    @contextmanager
    def stream(self, _stream):
        self.told.append("side")
        yield
        self.told.append("own")

    @contextmanager
    def graph(self, graph, *, pool, stream, capture_error_mode):
        assert (pool, type(stream), capture_error_mode) == ((0, 1), self.Stream, "thread_local")
        self.told.append("capture")
        with graph:
            yield
        for _func, args, kwargs, done in graph.steps:  # a capture runs nothing: what it seemed to work out is gone
            given = storages((args, kwargs))
            for tensor in tensors(done):
                if tensor.is_floating_point() and not storages(tensor) & given:
                    tensor.fill_(torch.nan)
        self.graphs.append(graph)
        self.told.append("captured")


@pytest.fixture
def device(monkeypatch) -> Device:
    """Short passes are captured by the stand-in, on a CPU."""
    device = Device()
    for name in ("Stream", "stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, getattr(device, name))
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_stream", device.Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    begin = StaticPasses.__init__

    def capturing(self, model):
        begin(self, model)
        self._captures = True

    monkeypatch.setattr(StaticPasses, "__init__", capturing)
    return device


@pytest.mark.parametrize("name", ["Llama", "Gemma 3", "GPT-2", "gpt-oss"])
def test_trap11_trap17_a_fixed_cache_gives_what_the_model_gives_alone_after_every_rollback(name):
    model = statically(name)
    assert model.static
    assert in_turn([model.open(prompt) for prompt in PROMPTS], PROMPTS) < TOLERANCE


@pytest.mark.parametrize("name", [*STATIC, *EXPERTS])
def test_replayed_passes_give_what_the_model_gives_alone_after_every_rollback(name, device):
    """Nothing that Python works out in a pass may differ from one pass to the next: a graph would not see it."""
    model = statically(name)
    assert model.static
    assert in_turn([model.open(prompt) for prompt in PROMPTS], PROMPTS) < TOLERANCE
    assert sum(graph.replays for graph in device.graphs) > len(device.graphs) > 2


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if not family.refused])
def test_only_a_pass_that_never_looks_at_the_device_is_to_be_captured(name):
    """Stated for each family, since a capture that fails would be met only on a GPU."""
    model = built(name).model
    if model.config.is_encoder_decoder or name in EXPERTS:
        return
    assert (model._can_compile_fullgraph and StaticPasses(model).never_look()) == (name in STATIC)
    assert not (name in LOOKS and StaticPasses(model).never_look())


def test_on_a_cpu_it_is_not_tried():
    assert built("Qwen3").static is None
    assert not StaticPasses.fits(built("Qwen3").model)
    assert statically("Qwen3").without([1]).static is None


def random_text(n: int) -> list[int]:
    return np.random.default_rng(0).integers(3, SIZE, n).tolist()


def test_a_text_that_outgrows_its_cache_moves_to_one_of_twice_the_size(device):
    model, text = statically("Qwen3"), random_text(2 * LEAST_ROOM + 3)
    reader = model.open()
    sizes = []
    for end, n in ((5, 5), (LEAST_ROOM - 2, 200), (LEAST_ROOM, 2), (LEAST_ROOM + 3, 3), (2 * LEAST_ROOM + 3, 240)):
        got = reader.logits(text[:end], n)
        assert distance(got, alone(model, text[:end], 1)[-n:]) < TOLERANCE
        sizes.append(reader._cache.memory.size)
    assert sizes == [LEAST_ROOM, LEAST_ROOM, LEAST_ROOM, 2 * LEAST_ROOM, 4 * LEAST_ROOM]
    assert len(device.graphs) > 2


@torch.inference_mode()
def test_what_a_rollback_leaves_in_the_cache_is_hidden_and_then_overwritten():
    model, text = statically("Llama"), random_text(40)
    reader = model.open()
    reader.logits(text, 1)
    fell = [*text[:9], 50, 51]
    want = alone(model, fell, 1)[-2:]
    assert distance(reader.logits(fell, 2), want) < TOLERANCE
    layer, length = reader._cache.memory.layers[0], reader._cache.length
    assert length == 11
    left = layer.values[:, :, length : len(text)]
    assert left.abs().amin() > 0  # all of it is still there
    left.fill_(1e4)
    again = [*fell[:10], 52]
    assert distance(reader.logits(again, 1), alone(model, again, 1)[-1:]) < TOLERANCE
    longer = [*again, *random_text(60)]
    assert distance(reader.logits(longer, 60), alone(model, longer, 1)[-60:]) < TOLERANCE
    layer.values[:, :, 3] = 1e4  # the negative control: a place of the text shows
    assert distance(reader.logits([*longer, 5], 1), alone(model, [*longer, 5], 1)[-1:]) > 50 * TOLERANCE


@pytest.mark.parametrize("off_by", [-1, 1])
def test_trap20_a_fixed_cache_cropped_one_too_many_or_too_few_is_not_taken(monkeypatch, off_by):
    crop = StaticCache.crop
    monkeypatch.setattr(StaticCache, "crop", lambda self, n: crop(self, n + off_by))
    model = statically("Qwen3")
    assert (model.static, model.can_drop) == (None, True)


def test_where_its_memory_does_not_fit_another_way_is_taken(monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(StaticPasses, "borrow", full)
    model = statically("Qwen3")
    assert (model.static, model.can_drop) == (None, True)


def test_a_graph_that_does_not_see_its_new_inputs_is_not_taken(monkeypatch, device):
    short = StaticPasses._short

    def forgetful(self, memory, fixed, told):
        return fixed.replay() if fixed.replay else short(self, memory, fixed, told)

    assert statically("Qwen3").static
    monkeypatch.setattr(StaticPasses, "_short", forgetful)
    n_before = len(device.graphs)
    assert statically("Qwen3").static is None
    assert len(device.graphs) > n_before


def test_a_pass_of_a_few_tokens_is_captured_once_after_a_warm_up_on_a_stream_of_its_own(device):
    model, text = statically("Llama"), random_text(4 * FEW)
    device.graphs.clear()
    device.told.clear()
    reader, end, captured = model.open(), 0, []
    for n in (2, 1, FEW, 1, FEW, FEW + 1):  # the first is the text's beginning, the last is too long
        end += n
        assert distance(reader.logits(text[:end], n), alone(model, text[:end], 1)[-n:]) < TOLERANCE
        captured.append(len(device.graphs))
    assert captured == [0, 1, 2, 2, 2, 2]
    assert [graph.replays for graph in device.graphs] == [2, 2]
    assert device.told == ["wait", "side", "capture", "captured", "own", "wait"] * 2


def test_the_next_request_finds_the_memory_and_the_graphs_of_the_one_before(device):
    model, text = statically("Llama"), random_text(12)

    def request() -> None:
        reader = model.open()
        for end, n in ((6, 1), (7, 1), (8, 1), (12, 4)):
            assert distance(reader.logits(text[:end], n), alone(model, text[:end], 1)[-n:]) < TOLERANCE

    request()
    n_graphs, (memory,) = len(device.graphs), model.static._free.values()
    request()
    assert len(device.graphs) == n_graphs
    assert list(model.static._free.values()) == [memory]


def test_the_memory_of_a_very_long_text_is_not_kept(monkeypatch):
    monkeypatch.setattr("specviz.models.static.MOST_KEPT", LEAST_ROOM)
    model = statically("Llama")
    reader = model.open()
    reader.logits(random_text(20), 1)
    reader.logits(random_text(LEAST_ROOM + 20), 1)
    del reader
    assert list(model.static._free) == [LEAST_ROOM]


def test_trap13_two_requests_at_a_time_have_two_memories_and_one_of_them_is_kept():
    model = statically("Llama")
    readers = [model.open(prompt) for prompt in PROMPTS]
    in_turn(readers, PROMPTS)
    first, second = (reader._cache.memory for reader in readers)
    assert first is not second
    assert not model.static._free
    del readers
    assert model.static._free[LEAST_ROOM] in (first, second)


def test_two_requests_over_one_memory_are_caught():
    """The negative control of all that compares two readers."""
    readers = [statically("Llama").open(prompt) for prompt in PROMPTS]
    readers[1]._cache = readers[0]._cache
    assert in_turn(readers, PROMPTS) > 50 * TOLERANCE


@torch.inference_mode()
def test_not_a_number_left_behind_does_not_reach_the_next_request():
    model = statically("Llama")
    reader = model.open()
    reader.logits(random_text(9), 1)
    memory = reader._cache.memory
    memory.layers[1].values.fill_(torch.nan)
    assert np.isnan(reader.logits([*random_text(9), 5], 1)).all()
    del reader
    after = model.open()
    for end in (4, 6):  # the first pass of a text sees no other places, the next ones do, through a mask
        text = random_text(end)
        assert distance(after.logits(text, 1), alone(model, text, 1)[-1:]) < TOLERANCE
    assert after._cache.memory is memory


@pytest.mark.parametrize("name", ["Llama", "Qwen3", "GPT-2"])
def test_trap5_greedy_speculation_over_graphs_is_plain_greedy_token_for_token(name, device):
    target = statically(name)
    near = HFModel(built(name, 0.2).model, vocabulary(), static=StaticPasses(built(name, 0.2).model))
    asked = {"max_new_tokens": 40, "sampling": GREEDY, "seed": 0}
    plain = sv.autoregress(sv.Pair(built(name), built(name), vocabulary()), PROMPT, **asked)
    trace = sv.speculate(sv.Pair(target, near, vocabulary()), PROMPT, draft_length=4, **asked)
    assert trace.tokens == plain.tokens
    assert sum(len(r.accepted) for r in trace.rounds) < sum(len(r.nodes) for r in trace.rounds)  # it rolled back
    assert sum(graph.replays for graph in device.graphs) > 2 * len(trace.rounds)


def test_trap13_requests_in_several_threads_do_not_disturb_each_other():
    model = statically("Llama")
    pair, traces = sv.Pair(model, built("Llama", 0.2), vocabulary()), {}

    def request(seed: int) -> None:
        traces[seed] = sv.speculate(pair, PROMPT, max_new_tokens=24, seed=seed).tokens

    alone_ = {seed: sv.speculate(pair, PROMPT, max_new_tokens=24, seed=seed).tokens for seed in range(4)}
    threads = [Thread(target=request, args=(seed,)) for seed in alone_]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert traces == alone_


def test_the_benchmark_measures_a_round_beside_its_bare_passes_and_says_that_a_cpu_is_no_gpu(capsys):
    gpu.main(["--small", "--draft-length", "2", "--tokens", "16", "--repeats", "1", "--vocabulary", "64"])
    machine, warning, pair, _head, *lines = capsys.readouterr().out.splitlines()
    assert (machine.split(",")[0], pair.split("; ")[1]) == ("CPU", "K = 2, 1 repetitions")
    assert "CUDA has not been measured" in warning
    told = [line.rsplit(maxsplit=3) for line in lines]
    names, ms = [name.strip() for name, *_ in told], [float(median) for _, median, *_ in told]
    assert names[1:] == [
        "draft: 2 passes, ids in and logits out",
        "verify: one pass, ids in and logits out",
        "host: warps, draws, judgement, record",
        "bare draft passes, 2",
        "bare target pass, one of 2 + 1 tokens",
        "efficiency: bare / round",
    ]
    round_, draft, verify, host, bare_draft, bare_target, efficiency = ms
    assert min(ms) > 0
    assert round_ == pytest.approx(draft + verify + host, abs=2e-3)  # as printed
    assert efficiency == pytest.approx((bare_draft + bare_target) / round_, abs=2e-3)
