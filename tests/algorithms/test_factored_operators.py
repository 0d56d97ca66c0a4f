"""A factored weight in a user's module: operators, slices and lengths agree with the dense matrix."""

import operator

import pytest
import torch
from torch import nn
from torch.nn import functional

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import FederationError
from algorithms.fedlora import FedLoRA
from algorithms.layers import call, factorable
from algorithms.products import Product
from algorithms.rounds import rounds
from algorithms.weights import Added, Factored
from runs.network_problem import network_problem
from workloads.partition import Even


def weights():
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return Added(draw(4, 6), 0.5, draw(4, 2), draw(2, 6)), Factored(draw(4, 2), draw(2, 2), draw(6, 2))


OPERATIONS = {
    "times": lambda W: W * 0.5,
    "times, from the left": lambda W: 0.5 * W,
    "by a tensor": lambda W: W * torch.ones(6),
    "divided": lambda W: W / 2,
    "divides": lambda W: 1 / W,
    "normed": lambda W: W / W.norm(dim=1, keepdim=True),
    "minus": lambda W: W - W.mean(),
    "minus, from the left": lambda W: 1 - W,
    "negative": lambda W: -W,
    "plus": lambda W: W + 1,
    "power": lambda W: W**2,
    "of a power": lambda W: 2**W,
    "absolute": abs,
    "rest": lambda W: W % 2,
    "rows": lambda W: W[:3],
    "an entry": lambda W: W[1, 2],
    "length": lambda W: torch.tensor(len(W)),
    "in turn": lambda W: torch.stack(list(W)),
    "where zero": lambda W: W == 0.0,
    "other than zero": lambda W: W != 0,
    "above": lambda W: W > 0.1,
    "with itself": lambda W: W * W,
    "a matrix product": lambda W: W @ torch.eye(6, 3, dtype=torch.float64),
    "a product from the left": lambda W: torch.ones(2, 4, dtype=torch.float64) @ W,
    "a sum to a number": lambda W: torch.tensor(float(W.sum())),
    "a mask": lambda W: W[W > 0],
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", [0, 1])
def test_operators_are_those_of_the_dense_matrix(name, kind):
    weight = weights()[kind]
    torch.testing.assert_close(OPERATIONS[name](weight), OPERATIONS[name](weight.dense()))


def test_no_operator_of_a_tensor_is_missing():
    plain = {name for name in vars(torch.Tensor) if name.startswith("__") and callable(vars(operator).get(name))}
    in_place = {name for name in plain if name.startswith("__i") and name not in ("__index__", "__invert__")}
    bits = {"__and__", "__or__", "__xor__", "__invert__", "__lshift__", "__rshift__", "__setitem__"}
    assert plain - in_place - bits <= set(vars(Product))


@pytest.mark.parametrize(
    "change",
    [
        lambda W: W.clamp_(0.0, 1.0),
        lambda W: functional.relu(W, inplace=True),
        lambda W: nn.init.zeros_(W),
        lambda W: operator.setitem(W, 0, 1.0),
        lambda W: torch.relu_(W),
        lambda W: torch.add(torch.ones(4, 6).double(), 1.0, out=W),
    ],
)
@pytest.mark.parametrize("kind", [0, 1])
def test_what_would_be_lost_is_refused(change, kind):
    with pytest.raises(FederationError, match="would change a factorised weight in place"):
        change(weights()[kind])


@pytest.mark.parametrize(
    "use",
    [
        lambda layer, x: torch.func.functional_call(layer, dict(layer.named_parameters()), (x,)),
        lambda layer, x: nn.Parameter(layer.weight),
    ],
)
@pytest.mark.parametrize("kind", [0, 1])
def test_what_takes_only_tensors_is_named(use, kind):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 4, bias=False)

        def forward(self, x):
            return use(self.inner, x)

    network = factorable(Outer(), "inner.weight")
    with pytest.raises(FederationError, match=r"a factorised weight, such as inner\.weight, .*call the layer itself"):
        call(network, {"inner.weight": weights()[kind]}, torch.ones(2, 6).double())


class Scaled(nn.Module):
    """Computes with its weight before it multiplies by it."""

    def __init__(self, change):
        super().__init__()
        self.weight, self.head, self.change = nn.Parameter(torch.randn(4, 6)), nn.Linear(4, 2), change

    def forward(self, x):
        return self.head(functional.linear(x, self.change(self.weight)).relu())


class Attended(nn.Module):
    """Attention with separate key and value weights, which are also named as layers."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True, add_bias_kv=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = torch.stack([x, x + 1], dim=1)
        return self.head(self.attention(x, x, x)[0].mean(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scaled(lambda W: 0.5 * W / W.norm(dim=1, keepdim=True)),
        lambda: Scaled(lambda W: (-W)[:4] ** 3),
        Attended,
    ],
)
def test_factors_train_the_dense_product(make):
    torch.manual_seed(0)
    module, x = make().double(), torch.randn(40, 6, dtype=torch.float64)
    y = (x[:, 0] > 0).long()
    problem = network_problem(module, (x, y), Even().parts(y.numpy(), 1, 0), (x, y))
    adapter, client = Adapter(1, layers="*"), problem.clients[0]
    factors = adapter.factors(problem.start)
    factors = factors._replace(B=factors.B.map(torch.ones_like))
    assert client.loss(adapter.values(problem.start, factors)).item() == pytest.approx(
        client.loss(adapter.weights(problem.start, factors)).item(), rel=1e-12
    )
    step = list(rounds(FedLoRA(Descent(1, 0.1), adapter), problem, rounds=1))
    assert step[-1].metrics["loss"] < step[0].metrics["loss"]
