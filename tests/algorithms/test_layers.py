"""Calls with given weights: the results of torch, strict names, and a module that does not change."""

import copy
import pickle

import pytest
import torch
from layer_cases import PLAIN, Tied, normal
from synchronisations import Synchronisations
from torch import nn
from torch.func import functional_call

from algorithms.federation import FederationError
from algorithms.layers import call, factorable, observe
from algorithms.weights import Added, Factored


class Counting(nn.Module):
    """A module that modifies one buffer and only reads another."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3, dtype=PLAIN)
        self.register_buffer("calls", torch.zeros((), dtype=PLAIN))
        self.register_buffer("shift", normal(3, seed=5))
        self.register_buffer("nothing", None)

    def forward(self, x):
        self.calls += 1.0
        return self.linear(x) + self.shift


def normed(momentum=0.3, kind=nn.BatchNorm2d):
    torch.manual_seed(0)  # of this test's own weights
    norm = (
        kind(5, momentum=momentum, dtype=PLAIN)
        if kind is nn.BatchNorm2d
        else kind(5, momentum=momentum, track_running_stats=True, affine=True, dtype=PLAIN)
    )
    return nn.Sequential(nn.Conv2d(2, 5, 3, dtype=PLAIN), norm, nn.Flatten(), nn.Linear(5 * 16, 3, dtype=PLAIN))


IMAGES = normal(4, 2, 6, 6, seed=1)
RUNNING = ("1.running_mean", "1.running_var")


def parameters(module, **others):
    found = {name: p.detach() + 0.1 * normal(*p.shape, seed=3) for name, p in module.named_parameters()}
    return found | others


def kept(module):
    """Return a function that checks that a module has not changed."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    values = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    modes = [(part.training, getattr(part, "track_running_stats", None)) for part in module.modules()]

    def same():
        now = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        assert now.keys() == tensors.keys()
        assert all(now[name] is tensors[name] and torch.equal(now[name], values[name]) for name in now)
        assert modes == [(part.training, getattr(part, "track_running_stats", None)) for part in module.modules()]

    return same


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [Counting, Tied, normed, lambda: normed(kind=nn.InstanceNorm2d)])
def test_a_call_is_that_of_torch_and_changes_nothing(make, training):
    module = make().train(training)
    x = {Counting: normal(6, 4), Tied: torch.tensor([0, 3, 8])}.get(make, IMAGES)
    weights = parameters(module)
    same = kept(module)
    given = {name: tensor.clone() for name, tensor in weights.items()}
    expected = functional_call(copy.deepcopy(module), weights, (x,))
    assert torch.equal(call(factorable(module), weights, x), expected)
    assert torch.equal(call(module, weights, x), expected)
    same()
    assert all(torch.equal(weights[name], given[name]) for name in weights)


def test_a_failing_call_changes_nothing_either():
    module = normed()
    same = kept(module)
    with pytest.raises(RuntimeError):
        call(module, parameters(module), IMAGES[:, :1])
    with pytest.raises(RuntimeError):
        observe(module, parameters(module, **{name: module.get_buffer(name) for name in RUNNING}), IMAGES[:, :1])
    same()


@pytest.mark.parametrize("kind", [nn.BatchNorm2d, nn.InstanceNorm2d])
def test_statistics_are_followed_as_torch_does(kind):
    module, reference = normed(kind=kind), normed(kind=kind)
    weights = parameters(module, **{"1.running_mean": normal(5, seed=7), "1.running_var": normal(5, seed=8) ** 2})
    same, network = kept(module), factorable(module)
    for step in range(3):
        x = IMAGES + step
        with torch.no_grad():
            for name, tensor in weights.items():
                holder = reference.get_parameter(name) if name not in RUNNING else reference.get_buffer(name)
                holder.copy_(tensor)
            expected = reference(x)
            buffers = {name: reference.get_buffer(name).clone() for name in RUNNING}
        before = {name: weights[name].clone() for name in RUNNING}
        found, statistics = observe(network, weights, x)
        assert torch.equal(found, expected)
        assert statistics.keys() == set(RUNNING)
        for name in RUNNING:
            assert torch.equal(statistics[name], buffers[name])
            assert torch.equal(weights[name], before[name])
            assert not torch.equal(statistics[name], before[name])
        weights |= statistics
    same()
    module.eval()
    reference.eval()
    with torch.no_grad():
        for name in RUNNING:
            reference.get_buffer(name).copy_(weights[name])
        assert torch.equal(call(network, weights, IMAGES), reference(IMAGES))
        _, unchanged = observe(network, weights, IMAGES)
    assert all(torch.equal(unchanged[name], weights[name]) for name in RUNNING)


def test_other_buffers_are_followed_where_they_are_given():
    module = Counting()
    weights = parameters(module, calls=torch.tensor(4.0, dtype=PLAIN))
    same = kept(module)
    _, after = observe(module, weights, normal(2, 4))
    assert {name: float(value) for name, value in after.items()} == {"calls": 5.0}
    assert float(weights["calls"]) == 4.0
    _, none = observe(module, parameters(module), normal(2, 4))
    assert none == {}
    same()


def test_gradients_reach_the_weights_and_not_the_statistics():
    module = normed()
    weights = {name: tensor.requires_grad_() for name, tensor in parameters(module).items()}
    statistics = {name: module.get_buffer(name).clone() for name in RUNNING}
    output, after = observe(module, weights | statistics, IMAGES)
    output.square().sum().backward()
    assert all(tensor.grad is not None for tensor in weights.values())
    assert not any(value.requires_grad for value in after.values())
    found = torch.func.grad(lambda w: call(module, w, IMAGES).square().sum())(
        {name: tensor.detach() for name, tensor in weights.items()}
    )
    assert all(torch.allclose(found[name], weights[name].grad, rtol=1e-12, atol=1e-12) for name in weights)


def test_many_clients_at_once_with_batch_norm():
    module = normed()
    network = factorable(module, "0, 3")
    many = {name: torch.stack([tensor, 2.0 * tensor]) for name, tensor in parameters(module).items()}
    found = torch.vmap(lambda w: call(network, w, IMAGES))(many)
    for number in range(2):
        alone = call(network, {name: tensor[number] for name, tensor in many.items()}, IMAGES)
        assert torch.allclose(found[number], alone, rtol=1e-12, atol=1e-12)
    running = {name: module.get_buffer(name) for name in RUNNING}
    before = {name: value.clone() for name, value in running.items()}
    outputs, statistics = torch.vmap(lambda w: observe(network, {**running, **w}, IMAGES))(many)
    for number in range(2):
        alone, own = observe(network, {**running, **{name: tensor[number] for name, tensor in many.items()}}, IMAGES)
        assert torch.allclose(outputs[number], alone, rtol=1e-12, atol=1e-12)
        assert all(torch.allclose(statistics[name][number], own[name], rtol=1e-12, atol=1e-12) for name in RUNNING)
    assert all(torch.equal(running[name], before[name]) for name in RUNNING)


def test_strict_names_shapes_and_values():
    module = normed()
    module[0].bias.requires_grad_(False)
    network, weights = factorable(module, "3"), parameters(module)
    W = weights["3.weight"]
    value = Added(W, 1.0, normal(3, 2), normal(2, 80))
    call(network, {**weights, "3.weight": value}, IMAGES)
    del weights["0.bias"]  # frozen, so that the module's own bias is used
    call(network, weights, IMAGES)
    for wrong, message in [
        ({"4.weight": W}, "the network has no '4.weight'; it has 0.weight, 0.bias"),
        ({"3.weight": W.T}, r"3.weight has shape \(80, 3\), but the network needs \(3, 80\)"),
        ({"3.weight": "W"}, "3.weight must be a tensor or factors, got str"),
        ({"3.weight": Added(W.T, 1.0, normal(3, 2), normal(2, 80))}, r"3.weight has shape \(80, 3\)"),
        ({"3.weight": Added(W, 1.0, normal(80, 2), normal(2, 3))}, r"3.weight: factors of a matrix \(80, 3\)"),
        ({"3.weight": Factored(normal(3, 2), normal(2, 2), normal(79, 2))}, r"factors of a matrix \(3, 79\)"),
        (
            {"0.weight": Factored(normal(5, 2), normal(2, 2), normal(18, 2))},
            "0.weight cannot be factorised; only 3.weight",
        ),
        ({"1.running_mean": normal(6)}, r"1.running_mean has shape \(6,\)"),
    ]:
        with pytest.raises(FederationError, match=message):
            call(network, {**weights, **wrong}, IMAGES)
    with pytest.raises(FederationError, match=r"the weights lack 1\.weight, 3\.bias"):
        call(network, {name: w for name, w in weights.items() if name not in ("1.weight", "3.bias")}, IMAGES)
    with pytest.raises(FederationError, match="no layer with a matrix weight matches 'conv'"):
        factorable(module, "3, conv")
    with pytest.raises(FederationError, match="no layer does"):
        call(module, {**weights, "3.weight": value}, IMAGES)
    cumulative = normed(momentum=None)
    with pytest.raises(FederationError, match="momentum None cannot be tracked"):
        observe(cumulative, parameters(cumulative, **{RUNNING[0]: normal(5)}), IMAGES)


def test_a_factored_kernel_takes_its_shape_from_the_layer():
    module = normed()
    factors = normal(5, 2), normal(2, 2), normal(18, 2)
    product = (factors[0] @ factors[1] @ factors[2].T).reshape(5, 2, 3, 3)
    weights = parameters(module)
    found = call(factorable(module, "0"), {**weights, "0.weight": Factored(*factors)}, IMAGES)
    assert torch.allclose(found, call(module, {**weights, "0.weight": product}, IMAGES), rtol=1e-12, atol=1e-12)


def test_a_prepared_module_travels():
    network = factorable(normed(), "0")
    again = pickle.loads(pickle.dumps(network))
    weights = parameters(network.module)
    assert again.layers == "0"
    assert torch.equal(call(again, weights, IMAGES), call(network, weights, IMAGES))


def test_calls_stay_on_the_device_and_wait_for_nothing():
    module = normed()
    network = factorable(module, "0, 3")
    weights = parameters(module, **{name: module.get_buffer(name) for name in RUNNING})
    expected = call(network, weights, IMAGES)
    with torch.device("meta"), Synchronisations() as counted:
        found = call(network, weights, IMAGES)
        observed, _ = observe(network, weights, IMAGES)
    assert counted.found == []
    assert torch.equal(found, expected)
    assert torch.equal(observed, expected)
