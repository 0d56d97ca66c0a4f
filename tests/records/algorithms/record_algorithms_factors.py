"""Records of factors: adapters, best approximations, augmented and truncated bases, and states that follow bases."""

from dataclasses import replace

import torch
from recording import refused
from small_clients import LAYERS, Client, clients, digest, numbers, signed, start

from algorithms.adapter import AB, Adapter, factorised_names, fit_rank, require_rank_for_each, require_ranks_within
from algorithms.descent import OPTIMISER
from algorithms.flexlora import best_factors
from algorithms.low_rank import (
    USV,
    Projected,
    Truncation,
    append_columns,
    augment,
    factor_gradient,
    factorise,
    pad,
    product,
    project,
    singular_triples,
    truncate,
    values,
    weights_for,
)
from algorithms.moving_bases import BASES, follow_bases, store_bases
from algorithms.optimisers import Moments, Velocity
from algorithms.tree import Tree

KERNELS = Tree(
    {"conv.weight": numbers(4, 2, 3, 2, seed=5), "line.weight": numbers(3, 5, seed=6), "bias": numbers(3, seed=7)}
)
MATRICES = Tree(W=numbers(5, 4, seed=1), V=numbers(3, 6, seed=2))
ALONG = "1 x k, k x 1"


def initial_factors_by_seed_and_turn():
    for adapter in (
        Adapter(2, layers="conv, line"),
        Adapter(2, seed=1, layers="conv, line"),
        Adapter(2, layers="line"),
        Adapter(2, layers="conv", convolution=ALONG),
        Adapter(2, layers="conv, line", a_at="inputs", rest="frozen"),
    ):
        for turn in (0, 3):
            factors = adapter.factors(KERNELS, turn)
            yield (
                {name: tuple(A.shape) for name, A in factors.A.items()},
                {name: tuple(B.shape) for name, B in factors.B.items()},
                list(factors.rest),
                signed(factors.A),
                signed(factors.B),
            )
    yield (
        Adapter(2, layers="line").of_client(3, 1),
        Adapter(2, seed=5, layers="line").of_client(0, 4).seed,
        Adapter(3).rank_of("x"),
        list(Adapter(1).pair(MATRICES).rest),
    )


def ranks_that_fit():
    for rank in (0, 1, 3, 4, 5):
        for cap in (False, True):
            yield (
                rank,
                cap,
                refused(fit_rank, "W", MATRICES["W"], rank, ALONG, cap),
                refused(fit_rank, "conv", KERNELS["conv.weight"], rank + 1, ALONG, cap),
                refused(fit_rank, "conv", KERNELS["conv.weight"], rank, "k x k, 1 x 1", cap),
            )
    yield (
        refused(Adapter(1).pair, KERNELS),
        refused(Adapter(4, layers="conv, line").pair, KERNELS),
        refused(lambda: signed(Adapter(4, layers="conv, line", cap=True).pair(KERNELS))),
    )
    yield (
        factorised_names(KERNELS, None),
        factorised_names(KERNELS, "line, conv"),
        refused(factorised_names, KERNELS, "bias"),
        refused(Adapter(5).matrices, MATRICES),
    )


def ranks_of_clients():
    for ranks in ((), (1,), (1, 2), (1, 2, 3)):
        yield refused(require_rank_for_each, ranks, 2), refused(require_ranks_within, ranks, 2)
    yield refused(require_ranks_within, (0, 5), 2), refused(require_ranks_within, (2, -1), 2)


def settings_of_adapters_that_are_refused():
    for options in (
        {"rank": 0},
        {"seed": -1},
        {"scale": 0.0},
        {"scale": float("nan")},
        {"scale": -0.5},
        {"convolution": "x"},
        {"rest": "x"},
        {"a_at": "x"},
        {"precision": "float64"},
        {"b_rate": 0.0},
        {"b_rate": float("inf")},
        {"b_rate": 1e-9},
        {"rank": 1.5},
    ):
        yield refused(lambda options=options: str(Adapter(**{"rank": 1, **options})))


def _factors(adapter, base):
    A, B, rest = adapter.factors(base)
    return AB(
        A,
        B.map(lambda entry: torch.arange(1.0, entry.numel() + 1).reshape(entry.shape).to(entry) / 8),
        rest.map(lambda entry: entry + 1.0),
    )


def models_of_factors():
    for adapter in (
        Adapter(2, 0.5, layers="conv, line"),
        Adapter(2, -2.0, layers="conv, line", a_at="inputs"),
        Adapter(2, 0.5, layers="conv", convolution=ALONG),
        Adapter(1, 3.0, layers="line", rest="frozen"),
    ):
        factors = _factors(adapter, KERNELS)
        w, v = adapter.weights(KERNELS, factors), adapter.values(KERNELS, factors)
        yield (
            list(w),
            signed(w),
            {name: type(entry).__name__ for name, entry in v.items()},
            [
                float((w[name] - (v[name].dense() if hasattr(v[name], "dense") else v[name])).abs().max()) < 1e-12
                for name in w
            ],
        )
        yield signed(adapter.matrices(KERNELS)), [tuple(entry.shape) for entry in adapter.matrices(KERNELS).values()]
        yield signed(adapter.add_products(KERNELS, factors.A @ factors.B))
    half = KERNELS.map(lambda entry: entry.half())
    for adapter in (Adapter(2, 0.5, layers="conv, line", precision="float32"), Adapter(2, 0.5, layers="conv, line")):
        factors = _factors(adapter, half)
        yield (
            str(factors.A["conv.weight"].dtype),
            str(adapter.weights(half, factors)["line.weight"].dtype),
            str(adapter.values(half, factors)["line.weight"].A.dtype),
            str(adapter.matrices(half)["line.weight"].dtype),
        )


def rates_of_factors():
    factors = Adapter(1, layers="line").factors(KERNELS)
    yield Adapter(1, b_rate=4.0).rates(factors), Adapter(1).rates(factors)
    plain, through = clients()[0], clients(takes_values=True)[0]
    adapter = Adapter(1, layers="first")
    for client in (plain, through):
        yield (
            type(adapter.weights_for(client, start(), adapter.factors(start()))["first.weight"]).__name__,
            type(adapter.assembler(client, start())(adapter.factors(start()))["second.weight"]).__name__,
        )


def best_approximations():
    for rank in (1, 2, 4, 5):
        U, sigma, V = singular_triples(MATRICES["W"], rank)
        yield U.shape, sigma, V.shape, digest((U, V)), (U * sigma @ V.mT)[1]
    low = numbers(5, 1) @ numbers(1, 4)
    U, sigma, V = singular_triples(low, 3)
    yield sigma, digest((U, V)), (U.mT @ U).diag(), float((V.mT @ V - torch.eye(3)).abs().max()) < 1e-12
    zero = singular_triples(torch.zeros(3, 2), 1)
    yield (
        zero[1],
        digest((zero[0].double(), zero[2].double())),
        [
            singular_triples(torch.diag(torch.tensor([1.0, small]).double()), 2)[1][1] > 0
            for small in (1e-14, 4e-15, 2e-15, 1e-16)
        ],
    )


def factors_of_singular_values():
    for split in ("balanced", "left", "right"):
        for ranks in (1, {"W": 2, "V": 3}):
            A, B, rest = best_factors(MATRICES, ranks, split)
            yield digest((A, B)), [tuple(entry.shape) for entry in (*A.values(), *B.values())], len(rest), signed(A @ B)


def factorised_weights():
    for options in ({"layers": "conv, line"}, {"layers": "conv, line", "convolution": ALONG}, {"layers": "line"}):
        factors = factorise(KERNELS, 2, **options)
        yield (
            {name: tuple(U.shape) for name, U in factors.U.items()},
            list(factors.S),
            digest(factors),
            list(values(factors)),
            signed(product(factors)),
        )
    yield (
        refused(factorise, KERNELS, 1),
        refused(factorise, KERNELS, 6, "line"),
        [tuple(S.shape) for S in factorise(KERNELS, 9, "conv, line", cap=True).S.values()],
        list(product(factorise(MATRICES, 2))),
    )
    yield [
        type(weights_for(client, factorise(start(), 1, LAYERS))["first.weight"]).__name__
        for client in (clients()[0], clients(takes_values=True)[0])
    ]


BASES_U = Tree(W=torch.linalg.qr(numbers(5, 2, seed=3))[0])


def bases_augmented_by_directions():
    for seed, count in ((4, 2), (5, 1), (6, 4)):
        for completion in ("orthogonal", "none"):
            found = augment(BASES_U, Tree(W=numbers(5, count, seed=seed)), completion)["W"]
            both = append_columns(BASES_U, Tree(W=found))["W"]
            yield (
                found.shape,
                digest(found),
                float((both.mT @ both - torch.eye(both.shape[1])).abs().max()) < 1e-12,
                digest(found @ found.mT),
            )


def bases_augmented_by_dependent_directions():
    u = BASES_U["W"]
    for g in (
        torch.zeros(5, 2).double(),
        u @ numbers(2, 2),
        torch.cat([numbers(5, 1), 2 * numbers(5, 1)], dim=1),
        torch.cat([u[:, :1], numbers(5, 1)], dim=1),
        u + 1e-9 * numbers(5, 2),
        u + 1e-15 * numbers(5, 2),
        u + 1e-14 * numbers(5, 2),
    ):
        found = augment(BASES_U, Tree(W=g))["W"]
        yield found.shape, digest(found @ found.mT), [augment(BASES_U, Tree(W=g), "none")["W"].shape]
    batch = torch.stack([u, u]), torch.stack([numbers(5, 2, seed=9), u])
    yield (
        digest(augment(Tree(W=batch[0]), Tree(W=batch[1]))),
        digest(torch.vmap(lambda a, b: augment(Tree(W=a), Tree(W=b))["W"])(*batch)),
    )


def padded_coefficients():
    S = Tree(W=torch.ones(2, 3), b=torch.ones(2))
    yield (
        pad(S, Tree(W=torch.zeros(6, 4)), Tree(W=torch.zeros(7, 5))),
        pad(S, Tree(W=torch.zeros(6, 2)), Tree(W=torch.zeros(7, 3)))["W"].shape,
    )


def ranks_that_are_kept():
    values = (
        torch.tensor([4.0, 2.0, 1.0, 0.5]),
        torch.tensor([3.0, 3.0]),
        torch.tensor([1.0]),
        torch.tensor([1.0, 0.0]),
        torch.tensor([5.0, 4.0, 3.0]).double(),
        torch.tensor([0.0, 0.0]),
    )
    for options in (
        {},
        {"tau": 0.0},
        {"tau": 0.3},
        {"tau": 0.3, "rule": "printed"},
        {"tau": 0.0, "rule": "printed"},
        {"tau": 0.6, "least": 2},
        {"tau": 0.0, "most": 2},
        {"tau": 1.0},
        {"tau": 1.0, "rule": "printed"},
        {"tau": 2.0, "least": 1},
        {"tau": 0.3, "least": 3, "most": 3},
        {"tau": 0.7071067811865475},
        {"tau": 0.7072},
        {"tau": 1e-17},
    ):
        yield options, [refused(Truncation(**options).rank, sigma) for sigma in values]


def truncations_that_are_refused():
    for options in (
        {"tau": -0.1},
        {"tau": float("nan")},
        {"rule": "x"},
        {"least": -1},
        {"most": 0},
        {"least": 2, "most": 1},
        {"least": 2, "most": 2},
        {"most": 1},
        {"least": 1.0},
    ):
        yield refused(lambda options=options: str(Truncation(**options)))


def truncated_factors():
    S = torch.diag(torch.tensor([1.0, 5.0, 0.2]).double())
    U, V = Tree(W=torch.linalg.qr(numbers(5, 3))[0]), Tree(W=torch.linalg.qr(numbers(4, 3))[0])
    for truncation in (Truncation(0.1), Truncation(0.3), Truncation(0.0, most=1), Truncation(0.0)):
        cut = truncate(U, Tree(W=S, b=torch.ones(2)), V, truncation)
        yield cut.S, digest(cut), signed(product(cut)), digest(truncate(U, Tree(W=S), V, truncation).S)
    yield refused(truncate, U, Tree(W=S), V, Truncation(2.0))


class _Factored(Client):
    def factored(self, U, S, V):
        return U["first.weight"].sum() * S["first.weight"].sum() + V["first.weight"].sum()

    def projected(self, U, V):
        return "its own"


def clients_in_coefficients():
    client, factors = clients()[1], factorise(start(), 2, LAYERS)
    yield (
        digest(factor_gradient(client, factors)),
        float(project(client, factors.U, factors.V).loss(factors.S)),
        float(Projected(client, factors.U, factors.V).loss(factors.S, torch.tensor([3, 1]))),
    )
    own, factors = _Factored(client.x, client.y), factorise(start(), 2, "first")
    yield (
        project(own, factors.U, factors.V),
        digest(factor_gradient(own, factors)._replace(S=Tree(), U=Tree())),
        project(client, factors.U, factors.V).samples,
    )
    seen = clients(statistics=frozenset({"seen"}))[0]
    factors = factorise(start(observed=True), 2, LAYERS)
    yield (
        project(seen, factors.U, factors.V).loss_and_statistics(factors.S, torch.tensor([1]))[1],
        sorted(project(seen, factors.U, factors.V).statistics),
    )


def states_that_follow_bases():
    old, new = (
        (Tree(W=torch.linalg.qr(numbers(5, 2, seed=s))[0]), Tree(W=torch.linalg.qr(numbers(4, 2, seed=s + 1))[0]))
        for s in (1, 3)
    )
    S, entries = Tree(W=numbers(2, 2), b=numbers(3)), [numbers(2, 2, seed=7), numbers(3, seed=8)]
    for state in (Velocity(entries), Moments(entries, [entry.abs() for entry in entries], torch.tensor(3.0))):
        found = follow_bases({OPTIMISER: state, BASES: old, "x": 1}, clients()[0], S, *new)
        yield signed(found[OPTIMISER]), list(found), type(found[OPTIMISER]).__name__
    yield (
        follow_bases({OPTIMISER: 3}, clients()[0], S, *new),
        follow_bases({BASES: old}, clients()[0], S, *new)[BASES] is old,
        follow_bases({}, clients()[0], S, *new),
    )
    yield (
        refused(follow_bases, {OPTIMISER: "x", BASES: old}, clients()[0], S, *new),
        list(store_bases({"a": 1}, *new)),
        store_bases({}, *new),
    )
    seen = replace(clients()[0], statistics=frozenset({"b"}))
    yield signed(follow_bases({OPTIMISER: Velocity(entries[:1]), BASES: old}, seen, S, *new)[OPTIMISER]), USV(1, 2, 3).V


def ranks_that_are_kept_at_rounding():
    eps = torch.finfo(torch.float64).eps
    for factor in (0.5, 1.0, 2.0, 3.9, 4.1, 10.0):
        sigma = torch.tensor([1.0, factor * eps, 0.0, 0.0]).double()
        yield (
            factor,
            Truncation(0.0).rank(sigma),
            Truncation(0.0, "printed").rank(sigma),
            Truncation(0.0, least=3).rank(sigma),
        )
        W = torch.diag(torch.tensor([2.0, factor * eps * 2.0, 0.0]).double())
        yield singular_triples(W, 2)[1][1] > 0


def factors_in_the_types_of_weights():
    A, B = numbers(3, 1, seed=1).float(), numbers(1, 4, seed=2).float()
    for adapter in (
        Adapter(1),
        Adapter(1, precision="float32"),
        Adapter(1, a_at="inputs"),
        Adapter(1, precision="weights"),
    ):
        for kind in (torch.float64, torch.bfloat16, torch.float32):
            left, right = adapter.orient(A, B, kind)
            yield str(left.dtype), str(right.dtype), tuple(left.shape), tuple(right.shape)
    half = Tree(W=torch.ones(3, 4, dtype=torch.bfloat16))
    for adapter in (Adapter(1), Adapter(1, 0.5, precision="float32")):
        factors = adapter.factors(half)
        yield str(factors.A["W"].dtype), str(adapter.weights(half, factors)["W"].dtype)
