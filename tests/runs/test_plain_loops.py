"""Federated methods on language models against loops of transformers, PEFT and torch.optim, loss by loss."""

import copy

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from tiny_language import bert, llama, losses_of, texts  # noqa: E402

from algorithms.adapter import Adapter  # noqa: E402
from algorithms.descent import Descent  # noqa: E402
from algorithms.fedlora import FedLoRA  # noqa: E402
from algorithms.fedloru import FedLoRU  # noqa: E402
from algorithms.flexlora import FlexLoRA  # noqa: E402
from algorithms.optimisers import AdamW  # noqa: E402
from algorithms.rounds import rounds  # noqa: E402
from runs.language_problem import language_problem  # noqa: E402

RANK, SCALE, RATE, ROUNDS = 2, 0.75, 0.02, 3
LAYERS = {"bert": "*.query, *.intermediate.dense", "llama": "*.q_proj, *.v_proj, *.down_proj"}
MODELS = {"bert": bert, "llama": llama}
PARTS = (np.arange(5), np.arange(5, 13))


def keep_factors(pairs, bases):
    """FedLoRA: the averaged factors are the next ones."""
    return pairs


def accumulate(pairs, bases):
    """FedLoRU with tau 1 that keeps A: the update joins the weight, and B restarts at 0."""
    for layer, (A, B) in pairs.items():
        bases[layer] += SCALE * B @ A
    return {layer: (A, torch.zeros_like(B)) for layer, (A, B) in pairs.items()}


METHODS = {
    "fedlora": (FedLoRA, "factors", keep_factors),
    "fedloru": (lambda *given: FedLoRU(*given, tau=1, restart="keep A"), "factors", accumulate),
    "flexlora": (FlexLoRA, "products", keep_factors),
}


def local_loss_watcher(problem):
    """The losses of the batches that the problem's clients train on, as they come."""
    found, network = [], problem.clients.network
    inner = network.loss_and_statistics

    def watched(w, data, batch):
        value, other = inner(w, data, batch)
        if torch.is_grad_enabled():
            found.append(value.item())
        return value, other

    object.__setattr__(network, "loss_and_statistics", watched)
    return found


def best_factors(product):
    """PEFT's A and B of the best approximation of a matrix (out, in), with the singular values shared equally."""
    U, sigma, Vh = np.linalg.svd(product.double().numpy())
    root = np.sqrt(sigma[:RANK])
    A, B = root[:, None] * Vh[:RANK], U[:, :RANK] * root
    return torch.from_numpy(A).float(), torch.from_numpy(B).float()


def plain_losses(kind, what, after, start, samples, batches, b_rate=1.0):
    """Losses of a loop that knows nothing of the toolkit but the first factors and the batches."""
    config = peft.LoraConfig(
        r=RANK,
        lora_alpha=RANK * SCALE,
        target_modules=[part.split(".", 1)[1] for part in LAYERS[kind].split(", ")],
        modules_to_save=["classifier"] if kind == "bert" else None,
    )
    model = peft.get_peft_model(MODELS[kind](), config)
    named = dict(model.named_parameters())
    layers = [name.removesuffix(".lora_A.default.weight") for name in named if ".lora_A." in name]
    bases = {layer: named[f"{layer}.base_layer.weight"].data for layer in layers}

    def pairs_in(values):
        return {layer: tuple(values[f"{layer}.lora_{side}.default.weight"] for side in "AB") for layer in layers}

    def put(values, pairs):
        for layer, sides in pairs.items():
            for side, value in zip("AB", sides, strict=True):
                values[f"{layer}.lora_{side}.default.weight"] = value

    trained = {name: value for name, value in named.items() if value.requires_grad}
    state = {name: value.detach().clone() for name, value in trained.items()}
    own = {layer: f"{layer.removeprefix('base_model.model.')}.weight" for layer in layers}
    put(state, {layer: (start.A[own[layer]].mT.clone(), start.B[own[layer]].mT.clone()) for layer in layers})
    shares, found = [len(part) / 13 for part in PARTS], []
    for drawn in batches:
        sent = []
        for part, indices in zip(PARTS, drawn, strict=True):
            with torch.no_grad():
                for name, value in trained.items():
                    value.copy_(state[name])
            found += losses_of(model, samples, [torch.from_numpy(part)[one] for one in indices], RATE, b_rate=b_rate)
            sent.append({name: value.detach().clone() for name, value in trained.items()})
        mean = {name: sum(s * one[name] for s, one in zip(shares, sent, strict=True)) for name in state}
        if what == "products":
            for layer in layers:
                each = [pairs_in(one)[layer] for one in sent]
                product = sum(s * B @ A for s, (A, B) in zip(shares, each, strict=True))
                put(mean, {layer: best_factors(product)})
        put(mean, after(pairs_in(mean), bases))
        state = mean
    return found


def both(name, kind, **named):
    make, what, after = METHODS[name]
    samples = texts(13, causal=kind == "llama")
    problem = language_problem(MODELS[kind](), samples, list(PARTS), texts(4, kind == "llama", 1), layers=LAYERS[kind])
    local = Descent(epochs=1, batch=3, learning_rate=RATE, optimiser=AdamW())
    algorithm = make(local, Adapter(RANK, SCALE, layers=LAYERS[kind], a_at="inputs", **named))
    batches = [
        [
            [one.samples for one in local.draw(problem.clients[k], np.random.default_rng([0, number, 1, k]))]
            for k in range(2)
        ]
        for number in range(1, ROUNDS + 1)
    ]
    start = copy.deepcopy(algorithm.adapter.factors(problem.start))
    found = local_loss_watcher(problem)
    list(rounds(algorithm, problem, rounds=ROUNDS, evaluate_every=ROUNDS))
    return found, plain_losses(kind, what, after, start, samples, batches, named.get("b_rate", 1.0))


@pytest.mark.parametrize("kind", ["llama", pytest.param("bert", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", METHODS)
def test_losses_are_those_of_a_plain_loop(name, kind):
    found, expected = both(name, kind)
    assert len(expected) == ROUNDS * 5
    assert abs(expected[0] - expected[-1]) > 1e-3
    # Adam divides by the size of gradients, so that the rounding of those near 0 is seen.
    assert found == pytest.approx(expected, rel=2e-4)
    assert found[:5] == pytest.approx(expected[:5], rel=2e-6)


def test_a_rate_of_b_is_that_of_a_parameter_group_of_torch():
    found, expected = both("fedlora", "llama", b_rate=4.0)
    assert found == pytest.approx(expected, rel=2e-4)
    assert found[:5] == pytest.approx(expected[:5], rel=2e-6)
    assert abs(found[4] - both("fedlora", "llama")[0][4]) > 1e-4
