"""Factors in a layer compute the same as PEFT's adapters, if PEFT is installed (an extra). Our A is PEFT's B.

PEFT's adapter of a convolution in groups mixes the groups and corresponds to no change of the kernel; that of a dilated
convolution is not dilated, and fails. Neither can be compared. The adapter of attention's output is added twice (0.21),
so only that of its inputs is compared.
"""

import copy

import pytest
import torch
from layer_cases import normal
from torch import nn

from algorithms.kernels import as_matrix
from algorithms.layers import call, factorable
from algorithms.weights import Added

peft = pytest.importorskip("peft")
PLAIN = torch.float64
LAYERS = {
    "linear": (nn.Linear(5, 7), normal(3, 5)),
    "linear without bias": (nn.Linear(7, 5, bias=False), normal(2, 3, 7)),
    "embedding": (nn.Embedding(9, 4), torch.tensor([[0, 3, 8], [1, 1, 2]])),
    "conv1d": (nn.Conv1d(4, 5, 3, 2), normal(3, 4, 9)),
    "conv": (nn.Conv2d(4, 5, (3, 2), (2, 1), (1, 2)), normal(3, 4, 8, 9)),
    "conv without bias": (nn.Conv2d(4, 5, 1, bias=False), normal(3, 4, 8, 9)),
    "attention": (nn.MultiheadAttention(6, 2), normal(4, 3, 6)),
}


class Named(nn.Module):
    """A module with one named layer; attention is within one sequence."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.attends = layer.to(PLAIN), isinstance(layer, nn.MultiheadAttention)

    def forward(self, x):
        return self.layer(x, x, x)[0] if self.attends else self.layer(x)


def adapted(module, rank=3, alpha=6.0):
    """Return PEFT's module with nonzero adapters."""
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=["layer"])
    found = peft.get_peft_model(module, config)
    with torch.no_grad():
        for number, (name, parameter) in enumerate(found.named_parameters()):
            if "lora_" in name and "out_proj" not in name:
                parameter.copy_(normal(*parameter.shape, seed=number))
    return found.to(PLAIN)


def pairs(model, module):
    """Return PEFT's adapters as factors, by the original names of the weights."""
    names = {name: p.detach().clone() for name, p in module.named_parameters()}
    layer = model.base_model.model.layer
    found = dict(names)

    def put(name, part):
        A, B = part.lora_A["default"].weight.detach(), part.lora_B["default"].weight.detach()
        found[name] = Added(names[name], part.scaling["default"], as_matrix(B), as_matrix(A))

    if isinstance(module.layer, nn.Embedding):
        A, B = layer.lora_embedding_A["default"].detach(), layer.lora_embedding_B["default"].detach()
        found["layer.weight"] = Added(names["layer.weight"], layer.scaling["default"], A.T, B.T)
    elif isinstance(module.layer, nn.MultiheadAttention):
        put("layer.in_proj_weight", layer)
        put("layer.out_proj.weight", layer.base_layer.out_proj)
    else:
        put("layer.weight", layer)
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_a_pair_is_peft_s_adapter(name):
    layer, x = LAYERS[name]
    module = Named(layer)
    before = {n: p.detach().clone() for n, p in module.named_parameters()}
    network, plain = factorable(Named(layer), "layer*"), module(x).detach()
    reference = adapted(Named(copy.deepcopy(layer)))
    weights = pairs(reference, module)
    found, expected = call(network, weights, x), reference(x)
    assert float((expected - plain).abs().max()) > 0.1
    assert torch.allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert all(torch.equal(p, before[n]) for n, p in module.named_parameters())
