"""Models whose weights are elsewhere (accelerate has put them on disk here, as on several devices) or quantised."""

import functools
import itertools

import accelerate
import numpy as np
import pytest
import torch

import specviz as sv
from specviz.models.hf import HFModel, model_class
from tests.families.table import FAMILIES, built, random_model, vocabulary
from tests.families.test_families import GREEDY, PROMPT


@pytest.fixture(params=["Llama", "Qwen3", "GPT-2", "T5"])
def offloaded(request, tmp_path) -> HFModel:
    model = random_model(FAMILIES[request.param].config())
    accelerate.disk_offload(model, tmp_path, execution_device=torch.device("cpu"), offload_buffers=True)
    assert model.device.type == "meta"
    return model_class(model.config)(model, vocabulary(), request.param)


def test_a_model_whose_weights_come_from_disk_decodes_as_one_in_memory(offloaded):
    whole = built(offloaded.name)
    assert (offloaded.device, offloaded.lean) == (torch.device("cpu"), None)
    assert offloaded.can_drop
    a, b = (
        sv.speculate(sv.Pair(model, sv.SkippedLayers([1]), vocabulary()), PROMPT, max_new_tokens=6, sampling=GREEDY)
        for model in (offloaded, whole)
    )
    assert a.tokens == b.tokens
    assert [len(r.accepted) for r in a.rounds] == [len(r.accepted) for r in b.rounds]


def test_only_a_quantised_model_may_answer_a_little_differently_from_one_pass_to_the_next():
    model = random_model(FAMILIES["Qwen3"].config())
    exact, errors = model.forward, itertools.cycle((0, 1e-3))

    @functools.wraps(exact)
    def forward(*args, **options):
        answer = exact(*args, **options)
        answer.logits += next(errors) * answer.logits.abs().max()
        return answer

    model.forward = forward
    with pytest.raises(sv.LoadError):
        HFModel(model, vocabulary())
    model.is_quantized = True
    assert HFModel(model, vocabulary()).can_drop


def test_its_layers_are_skipped_too(offloaded):
    whole = built(offloaded.name)
    models = (offloaded.without([1]), whole.without([1]), whole)
    got, want, all_layers = (model.open(PROMPT).logits(PROMPT, 1) for model in models)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())
    assert np.abs(got - all_layers).max() > 0.1
