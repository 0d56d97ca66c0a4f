"""A tiny network with all relevant parts: non-square kernels, a norm with running statistics, biases, a head."""

from dataclasses import dataclass

import torch
from torch.nn import functional

from algorithms.tree import Tree
from algorithms.weights import with_shape

LAYERS = "conv*, hidden"


def start(seed=0, statistics=True):
    """Return weights of a convolution from 2 to 3 channels, a batch norm with statistics, and two linear layers."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return 0.5 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    w = {
        "conv.weight": normal(3, 2, 2, 3),
        "norm.weight": 1 + normal(3),
        "norm.bias": normal(3),
        "hidden.weight": normal(5, 12),
        "hidden.bias": normal(5),
        "head.weight": normal(3, 5),
        "head.bias": normal(3),
    }
    if statistics:
        w |= {"norm.running_mean": torch.zeros(3).double(), "norm.running_var": torch.ones(3).double()}
    return Tree(w)


def outputs(w, x):
    """Return the logits, and the running statistics after the batch."""
    mean = w["norm.running_mean"].clone() if "norm.running_mean" in w else torch.zeros(3).double()
    var = w["norm.running_var"].clone() if "norm.running_var" in w else torch.ones(3).double()
    x = functional.conv2d(x, with_shape(w["conv.weight"], (3, 2, 2, 3)))
    observed = x.detach().transpose(0, 1).flatten(1)
    new = {
        "norm.running_mean": 0.9 * mean + 0.1 * observed.mean(1),
        "norm.running_var": 0.9 * var + 0.1 * observed.var(1),
    }
    x = functional.batch_norm(x, None, None, w["norm.weight"], w["norm.bias"], training=True)
    x = functional.linear(torch.tanh(x).flatten(1), w["hidden.weight"], w["hidden.bias"])
    return functional.linear(torch.tanh(x), w["head.weight"], w["head.bias"]), new


@dataclass(frozen=True, eq=False)
class Small:
    """A client that accepts either factors or only tensors."""

    x: torch.Tensor
    y: torch.Tensor
    statistics: frozenset = frozenset({"norm.running_mean", "norm.running_var"})
    takes_values: bool = True

    @property
    def samples(self):
        return len(self.y)

    def loss(self, w, batch=None):
        return self.loss_and_statistics(w, batch)[0]

    def loss_and_statistics(self, w, batch=None):
        x, y = (self.x, self.y) if batch is None else (self.x[batch], self.y[batch])
        logits, new = outputs(w, x)
        return functional.cross_entropy(logits, y), new


def clients(count=3, samples=8, seed=1, **options):
    """Return clients with different images and labels."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Small(
            torch.randn(samples + k, 2, 3, 4, generator=generator, dtype=torch.float64) + k,
            torch.randint(3, (samples + k,), generator=generator),
            **options,
        )
        for k in range(count)
    ]
