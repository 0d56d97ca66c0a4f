"""Frozen weights in 8 bits: the model that torchao makes, factors in single precision, and runs that resume."""

import copy
import json

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("transformers")
torchao = pytest.importorskip("torchao")

from tiny_language import bert, llama, saved, texts  # noqa: E402
from torchao.quantization import Int8WeightOnlyConfig, quantize_  # noqa: E402

from algorithms.adapter import Adapter  # noqa: E402
from algorithms.descent import Descent  # noqa: E402
from algorithms.fedlora import FedLoRA  # noqa: E402
from algorithms.optimisers import AdamW  # noqa: E402
from algorithms.rounds import rounds  # noqa: E402
from runs.folder import METRICS, train  # noqa: E402
from runs.language_problem import language_problem  # noqa: E402
from runs.networks.quantised import quantise  # noqa: E402
from runs.plan import make_plan, parts_of  # noqa: E402
from runs.settings import Conduct, RunError  # noqa: E402


@pytest.mark.parametrize("tied", [True, False])
def test_all_frozen_linear_layers_are_rounded_but_those_that_are_kept_or_tied(tied):
    model, other = llama(tied=tied), llama(tied=tied)
    kept = [name for name, _ in model.named_parameters() if "q_proj" in name]
    found = quantise(model, kept)
    assert len(found) == 2 * 6 + (not tied)
    assert {type(parameter.data) for name, parameter in model.named_parameters() if name in kept} == {torch.Tensor}
    chosen = lambda layer, name: isinstance(layer, nn.Linear) and "q_proj" not in name and not (tied and "head" in name)  # noqa: E731
    quantize_(other, Int8WeightOnlyConfig(), chosen)
    samples = texts(5, True)
    given = {"input_ids": samples.input_ids, "attention_mask": samples.attention_mask}
    assert torch.allclose(model(**given).logits, other(**given).logits, rtol=1e-5, atol=1e-6)
    slopes = []
    for one in (model, other):
        embedded = one.get_input_embeddings()(samples.input_ids).detach().requires_grad_()
        loss = one(inputs_embeds=embedded, attention_mask=samples.attention_mask, labels=samples.labels).loss
        slopes.append(torch.autograd.grad(loss, embedded)[0])
    assert torch.allclose(*slopes, rtol=1e-4, atol=1e-7)
    exact = llama(tied=tied)(**given).logits
    assert 1e-4 < float((model(**given).logits - exact).norm() / exact.norm()) < 0.02


def test_no_copy_of_a_rounded_weight_is_kept_for_the_gradient():
    layers = nn.Sequential(nn.Linear(40, 50), nn.Linear(50, 40)).requires_grad_(False)
    quantise(layers, [])
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()) or tensor, lambda t: t):
        layers(torch.randn(3, 40, requires_grad=True)).sum().backward()
    assert max(kept, default=0) <= 3 * 50


def test_nothing_to_round_is_refused():
    layer = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))
    with pytest.raises(RunError, match="no frozen linear layer is left to quantise"):
        quantise(layer, ["0.weight", "1.weight"])


@pytest.mark.parametrize("kind", [bert, llama])
def test_factors_are_trained_through_rounded_layers(kind):
    layers, causal = "*.query" if kind is bert else "*.q_proj", kind is llama
    model = kind()
    quantise(model, [name for name, _ in model.named_parameters() if layers[1:] in name or "classifier" in name])
    before = copy.deepcopy(model.state_dict())
    samples = texts(8, causal)
    problem = language_problem(model, samples, [np.arange(3), np.arange(3, 8)], samples, layers=layers)
    local = Descent(steps=4, learning_rate=0.05, optimiser=AdamW())
    algorithm = FedLoRA(local, Adapter(2, layers=layers, a_at="inputs"))
    first, *_, last = rounds(algorithm, problem, rounds=4)
    assert last.metrics["loss"] < first.metrics["loss"] - 1e-3
    assert {value.dtype for value in last.state.algorithm.factors.B.values()} == {torch.float32}
    after = model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items() if type(value) is torch.Tensor)


def test_a_run_of_rounded_weights_resumes_with_the_same_bytes(tmp_path):
    saved(llama(), tmp_path / "model")
    data = tmp_path / "asked.jsonl"
    data.write_text(
        "".join(json.dumps({"prompt": f"w{n} w{n + 3}", "answer": f"w{n + 5}"}) + "\n" for n in range(3, 23))
    )
    given = {"model": f"hf:{tmp_path / 'model'}", "clients": 2, "quantise": "int8", "rank": 2}

    def run(folder, rounds, **other):
        return train(make_plan("fedlora", str(data), {**given, **other}, Conduct(rounds=rounds)), tmp_path / folder)

    whole = run("whole", 2)
    run("halves", 1)
    assert run("halves", 2) == whole
    assert (tmp_path / "halves" / METRICS).read_bytes() == (tmp_path / "whole" / METRICS).read_bytes()
    exact = run("exact", 2, quantise=None)
    assert whole["loss"] == pytest.approx(exact["loss"], rel=0.02)
    assert whole["loss"] != exact["loss"]
    assert whole["bytes_up"] == exact["bytes_up"]
    with pytest.raises(RunError, match="without layers all weights are trained; leave it out"):
        parts_of(make_plan("fedavg", str(data), {name: value for name, value in given.items() if name != "rank"}))
