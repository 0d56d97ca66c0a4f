"""pFedLoRU whose personal factors are in other layers than the shared ones, against a loop written by hand."""

import pytest
import torch
from torch.nn import functional

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.weights import Product, dense

RATE, OWN_RATE, ALPHA, OWN_ALPHA = 0.3, 0.2, 0.7, 1.5
COHORTS = ((0, 1), (1, 2), (0, 2))


def network(w, x):
    return functional.linear(torch.tanh(functional.linear(x, w["in"])), w["out"], w["bias"])


class Samples:
    def __init__(self, number, count, takes_values):
        generator = torch.Generator().manual_seed(number)
        self.x = torch.randn(count, 6, generator=generator).double() + number
        self.y = torch.randint(3, (count,), generator=generator)
        self.samples, self.takes_values = float(count), takes_values

    def loss(self, w, batch=None):
        assert self.takes_values or not any(isinstance(entry, Product) for entry in w.values())
        return functional.cross_entropy(network(w, self.x), self.y)


def start():
    generator = torch.Generator().manual_seed(9)
    shapes = {"in": (7, 6), "out": (3, 7), "bias": (3,)}
    return Tree({name: 0.4 * torch.randn(*shape, generator=generator).double() for name, shape in shapes.items()})


def assembled(base, shared, own):
    """Return W + alpha A B or the trained weight, plus alpha_p L U, layer by layer."""
    w = {name: shared.get(("rest", name), W) for name, W in base.items()}
    for kind, values, alpha in (("A", shared, ALPHA), ("L", own, OWN_ALPHA)):
        for of, name in values:
            if of == kind:
                w[name] = w[name] + alpha * values[kind, name] @ values["B" if kind == "A" else "U", name]
    return w


def steps(values, loss, rate, count):
    for _ in range(count):
        leaves = {key: entry.clone().requires_grad_() for key, entry in values.items()}
        grads = torch.autograd.grad(loss(leaves), list(leaves.values()))
        values = {key: values[key] - rate * grad for key, grad in zip(values, grads, strict=True)}
    return values


def by_hand(clients, shared_adapter, own_adapter, tau):
    base, trained = dict(start()), shared_adapter.rest == "trained"
    named = lambda pair, kinds: {  # noqa: E731
        (kind, name): entry for kind, part in zip(kinds, pair, strict=False) for name, entry in part.items()
    }
    shared = named(shared_adapter.pair(base), "AB")
    layers = [name for kind, name in shared if kind == "A"]
    if trained:
        shared |= {("rest", name): W for name, W in base.items() if name not in layers}
    own = [named(own_adapter.pair(base), "LU") for _ in clients]
    for done, cohort in enumerate(COHORTS, 1):
        total, uploads = sum(clients[k].samples for k in cohort), []
        for k in cohort:
            x, y, mine = clients[k].x, clients[k].y, own[k]
            fit = lambda w, x=x, y=y: functional.cross_entropy(network(w, x), y)  # noqa: E731
            mine = own[k] = steps(mine, lambda at: fit(assembled(base, shared, at)), OWN_RATE, 2)  # noqa: B023
            uploads.append(steps(shared, lambda at: fit(assembled(base, at, mine)), RATE, 3))  # noqa: B023
        shared = {
            key: sum(clients[k].samples / total * upload[key] for k, upload in zip(cohort, uploads, strict=True))
            for key in shared
        }
        if done % tau == 0:
            base |= {name: base[name] + ALPHA * shared["A", name] @ shared["B", name] for name in layers}
            shared |= named(shared_adapter.pair(base, turn=done), "AB")
    return assembled(base, shared, {}), [assembled(base, shared, mine) for mine in own]


@pytest.mark.parametrize("takes_values", [True, False])
@pytest.mark.parametrize("rest", ["trained", "frozen"])
@pytest.mark.parametrize(
    ("layers", "own_layers"), [("in", "in"), ("in", "out"), ("out", "in"), ("in", "in, out"), ("in, out", "out")]
)
def test_personal_products_are_part_of_the_model_in_every_layer(layers, own_layers, rest, takes_values):
    clients = [Samples(number, count, takes_values) for number, count in enumerate((5, 11, 8))]
    shared = Adapter(2, ALPHA, layers=layers, rest=rest)
    own = Adapter(1, OWN_ALPHA, seed=4, layers=own_layers)
    algorithm = PersonalFedLoRU(Descent(3, RATE), shared, 2, personal=Descent(2, OWN_RATE), personal_adapter=own)
    fed = Federation(clients)
    state = algorithm.start(fed, start())
    for cohort in COHORTS:
        state = one_round(algorithm.round, fed, state, cohort)
    expected, personal = by_hand(clients, shared, own, 2)
    for found, model in (
        (algorithm.weights(state), expected),
        (algorithm.values(state), expected),
        *((algorithm.personal_weights(fed, state, k), model) for k, model in enumerate(personal)),
    ):
        for name, W in model.items():
            torch.testing.assert_close(dense(found[name]), W, rtol=1e-11, atol=1e-13)
