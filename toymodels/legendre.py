r"""Legendre least squares: FeDLRT's convex test, $\frac1{2|X_c|}\sum (p(x)^TWp(y) - f_c(x, y))^2$ on $[-1, 1]^2$.

The paper names the Legendre polynomials of degree up to n - 1 and not their normalisation, on which the curvature, and
with it the admissible step, depends; nor does it say how the targets are drawn. Both are settings. Only the Gram matrix
of the features and their products with the target enter, so clients are exact quadratics whatever their data.
"""

from __future__ import annotations

from functools import partial
from math import inf, sqrt
from typing import Any

import numpy as np
import torch
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from toymodels.on_demand import ClientsOnDemand, sampled_problem
from toymodels.problem import Problem, ProblemError, integer, matrix_shape
from toymodels.product_features import ProductGram, product_gram
from toymodels.quadratic import Quadratic, problem_of_own

Array = NDArray[np.float64]
BASES = ("plain", "dx", "uniform")
SPLITS = ("all", "random", "region")


def legendre_features(points: Array, degrees: int, basis: str = "plain") -> Array:
    """Values of the first Legendre polynomials, ``(points, degrees)``.

    Args:
        points: Points in [-1, 1], shape ``(points,)``.
        degrees: Number of polynomials.
        basis: `plain`: value 1 at 1; `dx`: orthonormal for dx; `uniform`: for the uniform law, dx/2.

    Raises:
        ProblemError: An unknown basis, or no degree.
    """
    degrees = integer("degrees", degrees)
    if basis not in BASES or degrees < 1:
        raise ProblemError(f"expected a basis of {BASES} and at least one degree, got {basis!r} and {degrees}")
    order = np.arange(degrees)
    norms = {"plain": np.ones(degrees), "dx": np.sqrt(order + 0.5), "uniform": np.sqrt(2.0 * order + 1.0)}[basis]
    return legvander(points, degrees - 1) * norms


def data_client(x: Array, y: Array, values: Array, shape: tuple[int, int], basis: str) -> Quadratic:
    r"""The loss of some data: $H = \overline{(p(x)p(y)^T) \otimes (p(x)p(y)^T)}$, the mean over the samples.

    Args:
        x: First coordinates, ``(samples,)``.
        y: Second coordinates, ``(samples,)``.
        values: Targets f, ``(samples,)``.
        shape: ``(m, n)`` of the weights.
        basis: Basis of the polynomials.

    Raises:
        ProblemError: No samples, or numbers of them that differ.
    """
    if not len(x) or not len(x) == len(y) == len(values):
        raise ProblemError(
            f"expected equally many coordinates and values, at least one: {len(x)}, {len(y)}, {len(values)}"
        )
    p, q = legendre_features(x, shape[0], basis), legendre_features(y, shape[1], basis)
    features = (p[:, :, None] * q[:, None, :]).reshape(len(x), -1)
    gram = features.T @ features / len(x)
    B = (values @ features).reshape(shape) / len(x)
    c = 0.5 * float(values @ values) / len(x)
    H = torch.from_numpy(gram).reshape(*shape, *shape)
    return Quadratic(H, torch.from_numpy(B), torch.tensor(c, dtype=torch.float64), float(len(x)))


def homogeneous(
    clients: int,
    rng: np.random.Generator,
    *,
    shape: tuple[int, int] = (20, 20),
    rank: int = 4,
    samples: int = 10_000,
    basis: str = "plain",
    split: str = "random",
    start_scale: float = 1.0,
) -> Problem:
    """One target of low rank for all clients (the paper's Figure 4).

    Args:
        clients: Number of clients.
        rng: Source of target, points and start.
        shape: ``(m, n)`` of the weights.
        rank: Rank of the target: a product of normal factors, of unit norm for each singular direction on average.
        samples: Points, uniform on the square.
        basis: Basis of the polynomials.
        split: `all`: every client has all points; `random`: they are dealt out evenly; `region`: by strips in x.
        start_scale: Size of the normal start.

    Raises:
        ProblemError: Sizes or words that do not fit.
    """
    shape = matrix_shape(shape)
    target = _low_rank(shape, rank, rng)
    x, y, parts = _points(clients, samples, split, rng)
    made = [data_client(x[rows], y[rows], _values(x[rows], y[rows], target, basis), shape, basis) for rows in parts]
    return _problem("Legendre, one target", made, shape, rng, start_scale, target=torch.from_numpy(target), basis=basis)


def homogeneous_on_demand(
    clients: int, seed: int, *, shape: tuple[int, int], rank: int, samples: int, basis: str
) -> Problem:
    """As `homogeneous`, for any number of clients, each of which draws its own points from (seed, number).

    The loss is that of the first clients, see `toymodels.on_demand`.

    Args:
        clients: Number of clients.
        seed: Seed of everything.
        shape: ``(m, n)`` of the weights.
        rank: Rank of the target.
        samples: Points of each client.
        basis: Basis of the polynomials.
    """
    shape, clients, samples = matrix_shape(shape), integer("clients", clients), integer("samples", samples)
    rng = np.random.default_rng(seed)
    target = _low_rank(shape, rank, rng)
    make = partial(_drawn, target=target, samples=samples, basis=basis)
    drawn = ClientsOnDemand(make, clients, seed, float(samples))
    start = torch.from_numpy(rng.standard_normal(shape) / sqrt(max(shape)))
    facts = {"target": torch.from_numpy(target), "basis": basis}
    return sampled_problem("Legendre, one target", drawn, start, inf, (shape[0] * shape[1]) ** 2, facts=facts)


def _drawn(rng: np.random.Generator, target: Array, samples: int, basis: str) -> Quadratic:
    """A client of `homogeneous_on_demand`."""
    x, y = rng.uniform(-1.0, 1.0, (2, samples))
    m, n = target.shape
    return data_client(x, y, _values(x, y, target, basis), (m, n), basis)


def heterogeneous(
    clients: int,
    rng: np.random.Generator,
    *,
    shape: tuple[int, int] = (10, 10),
    samples: int = 10_000,
    basis: str = "plain",
    start_scale: float = 1.0,
) -> Problem:
    """A rank-1 target for each client, all points at every client (the paper's Figure 1).

    Args:
        clients: Number of clients.
        rng: Source of targets, points and start.
        shape: ``(m, n)`` of the weights.
        samples: Points, uniform on the square.
        basis: Basis of the polynomials.
        start_scale: Size of the normal start.

    Raises:
        ProblemError: Sizes or words that do not fit.
    """
    shape = matrix_shape(shape)
    x, y, parts = _points(clients, samples, "all", rng)
    made = [data_client(x, y, _values(x, y, _low_rank(shape, 1, rng), basis), shape, basis) for _ in parts]
    return _problem("Legendre, a target each", made, shape, rng, start_scale, basis=basis)


def many_targets(
    targets: torch.Tensor,
    rng: np.random.Generator,
    *,
    samples: int = 10_000,
    basis: str = "plain",
    split: str = "random",
) -> list[ProductGram]:
    """Clients on one set of points, each with exact values of several targets: as many problems of the same points.

    Args:
        targets: ``(clients, problems, m, n)``.
        rng: Source of the points.
        samples: Points, uniform on the square.
        basis: Basis of the polynomials.
        split: As for `homogeneous`.

    Raises:
        ProblemError: Sizes or words that do not fit.
    """
    x, y, parts = _points(len(targets), samples, split, rng)
    m, n = targets.shape[-2:]
    made: list[ProductGram] = []
    for rows in parts:
        if split == "all" and made:
            made.append(made[0])
            continue
        p, q = legendre_features(x[rows], m, basis), legendre_features(y[rows], n, basis)
        made.append(product_gram(p, q, np.zeros(len(rows))))
    return [client.aimed(aims) for client, aims in zip(made, targets, strict=True)]


def random_targets(problems: int, shape: tuple[int, int], rank: int, rng: np.random.Generator) -> torch.Tensor:
    """Targets of a rank as `homogeneous` draws them, ``(problems, m, n)``.

    Raises:
        ProblemError: A rank that does not fit.
    """
    return torch.from_numpy(np.stack([_low_rank(shape, rank, rng) for _ in range(problems)]))


def admissible_rate(problem: Problem, steps: int) -> float:
    """The largest step of FeDLRT's Theorems 2 and 3, 1/(12 L s), L that of the clients and of the global loss."""
    return 1.0 / (12.0 * problem.smoothness * steps)


def _problem(
    name: str, made: list[Quadratic], shape: tuple[int, int], rng: np.random.Generator, scale: float, **facts: Any
) -> Problem:
    start = torch.from_numpy(scale * rng.standard_normal(shape) / sqrt(max(shape)))
    return problem_of_own(name, made, start, [client.samples for client in made], **facts)


def _low_rank(shape: tuple[int, int], rank: int, rng: np.random.Generator) -> Array:
    (m, n), rank = matrix_shape(shape), integer("rank", rank)
    if min(m, n) < 1 or not 1 <= rank <= min(m, n):
        raise ProblemError(f"rank {rank} does not fit weights of shape {shape}")
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) / sqrt(max(m, n))


def _points(clients: int, samples: int, split: str, rng: np.random.Generator) -> tuple[Array, Array, list[Any]]:
    clients, samples = integer("clients", clients), integer("samples", samples)
    if clients < 1 or samples < clients or split not in SPLITS:
        raise ProblemError(
            f"expected a client at least, as many samples, and a split of {SPLITS}, got {clients}, {samples}, {split!r}"
        )
    x, y = rng.uniform(-1.0, 1.0, (2, samples))
    if split == "all":
        return x, y, [np.arange(samples)] * clients
    order = np.argsort(x) if split == "region" else rng.permutation(samples)
    return x, y, np.array_split(order, clients)


def _values(x: Array, y: Array, target: Array, basis: str) -> Array:
    p, q = (legendre_features(points, size, basis) for points, size in zip((x, y), target.shape, strict=True))
    return ((p @ target) * q).sum(axis=1)
