r"""Legendre least squares: FeDLRT's convex test, $\frac1{2|X_c|}\sum (p(x)^TWp(y) - f_c(x, y))^2$ on $[-1, 1]^2$.

The paper uses the Legendre polynomials of degree up to n - 1, but does not give their normalisation, on which the
curvature and therefore the admissible step depend, nor how it draws the targets. Both are settings here. The loss only
involves the Gram matrix of the features and their products with the target, so clients are exact quadratics for
any data.
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
from toymodels.problem import Problem, ProblemError, finite, integer, matrix_shape, seed_number, unmasked
from toymodels.product_features import ProductGram, product_gram
from toymodels.quadratic import Quadratic, problem_of_own

Array = NDArray[np.float64]
BASES = ("plain", "dx", "uniform")
SPLITS = ("all", "random", "region")


def legendre_features(points: Array, degrees: int, basis: str = "plain") -> Array:
    """Return the values of the first Legendre polynomials, ``(points, degrees)``.

    Args:
        points: Points in [-1, 1], shape ``(points,)``.
        degrees: Number of polynomials.
        basis: Normalisation: `plain`, value 1 at 1; `dx`, orthonormal with respect to dx; `uniform`, orthonormal with
            respect to the uniform law, dx/2.

    Raises:
        ProblemError: The basis is unknown, or has no polynomials.
    """
    degrees = integer("degrees", degrees)
    if basis not in BASES or degrees < 1:
        raise ProblemError(f"basis must be one of {BASES}, with at least one degree, got {basis!r} and {degrees}")
    order = np.arange(degrees)
    norms = {"plain": np.ones(degrees), "dx": np.sqrt(order + 0.5), "uniform": np.sqrt(2.0 * order + 1.0)}[basis]
    return legvander(unmasked("points", points), degrees - 1) * norms


def data_client(x: Array, y: Array, values: Array, shape: tuple[int, int], basis: str) -> Quadratic:
    r"""Return the client of some data, with $H = \overline{(p(x)p(y)^T) \otimes (p(x)p(y)^T)}$, the mean over samples.

    Args:
        x: First coordinates, ``(samples,)``.
        y: Second coordinates, ``(samples,)``.
        values: Targets f, ``(samples,)``.
        shape: ``(m, n)`` of the weights.
        basis: Basis of the polynomials.

    Raises:
        ProblemError: A sample is missing, or the lengths differ.
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
    """Draw a problem with one target of low rank for all clients (the paper's Figure 4).

    Args:
        clients: Number of clients.
        rng: Source of target, points and initial weights.
        shape: ``(m, n)`` of the weights.
        rank: Rank of the target, a product of normal factors whose entries have the variances 1 and 1/max(m, n): the
            mean squared Frobenius norm is ``rank * min(m, n)``.
        samples: Number of points, uniform on the square.
        basis: Basis of the polynomials.
        split: `all`: every client has all points; `random`: points are divided evenly at random; `region`: by strips in
            x.
        start_scale: Size of the normal initial weights.

    Raises:
        ProblemError: A size is out of its range, the start is not finite, or the basis or the split is unknown.
    """
    shape, start_scale = matrix_shape(shape), finite("start_scale", start_scale)
    target = _low_rank(shape, rank, rng)
    x, y, parts = _points(clients, samples, split, rng)
    built = [data_client(x[rows], y[rows], _values(x[rows], y[rows], target, basis), shape, basis) for rows in parts]
    return _problem(
        "Legendre, one target", built, shape, rng, start_scale, target=torch.from_numpy(target), basis=basis
    )


def homogeneous_on_demand(
    clients: int, seed: int, *, shape: tuple[int, int], rank: int, samples: int, basis: str
) -> Problem:
    """Draw a problem as `homogeneous` for any number of clients, each with its own points from (seed, number).

    The loss is averaged over the first clients, see `toymodels.on_demand`.

    Args:
        clients: Number of clients.
        seed: Seed of target, points and initial weights.
        shape: ``(m, n)`` of the weights.
        rank: Rank of the target.
        samples: Number of points of each client.
        basis: Basis of the polynomials.

    Raises:
        ProblemError: A size is out of its range, or the basis is unknown.
    """
    shape, clients, samples = matrix_shape(shape), integer("clients", clients), integer("samples", samples)
    seed = seed_number(seed)
    rng = np.random.default_rng(seed)
    target = _low_rank(shape, rank, rng)
    make = partial(_draw_client, target=target, samples=samples, basis=basis)
    drawn = ClientsOnDemand(make, clients, seed, float(samples))
    start = torch.from_numpy(rng.standard_normal(shape) / sqrt(max(shape)))
    facts = {"target": torch.from_numpy(target), "basis": basis}
    return sampled_problem("Legendre, one target", drawn, start, inf, (shape[0] * shape[1]) ** 2, facts=facts)


def _draw_client(rng: np.random.Generator, target: Array, samples: int, basis: str) -> Quadratic:
    """Draw a client of `homogeneous_on_demand`."""
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
    """Draw a problem with a rank-1 target for each client and all points at every client (the paper's Figure 1).

    Args:
        clients: Number of clients.
        rng: Source of targets, points and initial weights.
        shape: ``(m, n)`` of the weights.
        samples: Number of points, uniform on the square.
        basis: Basis of the polynomials.
        start_scale: Size of the normal initial weights.

    Raises:
        ProblemError: A size is out of its range, the start is not finite, or the basis is unknown.
    """
    shape, start_scale = matrix_shape(shape), finite("start_scale", start_scale)
    x, y, parts = _points(clients, samples, "all", rng)
    built = [data_client(x, y, _values(x, y, _low_rank(shape, 1, rng), basis), shape, basis) for _ in parts]
    return _problem("Legendre, a target each", built, shape, rng, start_scale, basis=basis)


def many_targets(
    targets: torch.Tensor,
    rng: np.random.Generator,
    *,
    samples: int = 10_000,
    basis: str = "plain",
    split: str = "random",
) -> list[ProductGram]:
    """Return clients for several problems on the same points, which differ in the targets.

    Args:
        targets: Targets of every client and problem, ``(clients, problems, m, n)``.
        rng: Source of the points.
        samples: Number of points, uniform on the square.
        basis: Basis of the polynomials.
        split: Division of the points, as in `homogeneous`.

    Raises:
        ProblemError: A size is out of its range, or the basis or the split is unknown.
    """
    x, y, parts = _points(len(targets), samples, split, rng)
    m, n = targets.shape[-2:]
    built: list[ProductGram] = []
    for rows in parts:
        if split == "all" and built:
            built.append(built[0])
            continue
        p, q = legendre_features(x[rows], m, basis), legendre_features(y[rows], n, basis)
        built.append(product_gram(p, q, np.zeros(len(rows))))
    return [client.with_targets(aims) for client, aims in zip(built, targets, strict=True)]


def random_targets(problems: int, shape: tuple[int, int], rank: int, rng: np.random.Generator) -> torch.Tensor:
    """Draw targets of given rank with the law of `homogeneous`, ``(problems, m, n)``.

    Raises:
        ProblemError: The rank does not fit the shape, or there is no problem.
    """
    problems = integer("problems", problems)
    if problems < 1:
        raise ProblemError(f"expected at least one problem, got {problems}")
    return torch.from_numpy(np.stack([_low_rank(shape, rank, rng) for _ in range(problems)]))


def admissible_rate(problem: Problem, steps: int) -> float:
    """Return the largest step of FeDLRT's Theorems 2 and 3, 1/(12 L s), with L for the clients and the global loss.

    Raises:
        ProblemError: There is no local step, or L is not known, as for clients on demand, or 0.
    """
    steps = integer("steps", steps)
    if steps < 1:
        raise ProblemError(f"expected at least one local step, got {steps}")
    if not 0.0 < problem.smoothness < inf:
        raise ProblemError(
            f"the smoothness L of the problem must be positive and finite, got {problem.smoothness:g}; of clients on "
            "demand it is not known, so use a problem that holds its clients"
        )
    return 1.0 / (12.0 * problem.smoothness * steps)


def _problem(
    name: str, built: list[Quadratic], shape: tuple[int, int], rng: np.random.Generator, scale: float, **facts: Any
) -> Problem:
    start = torch.from_numpy(scale * rng.standard_normal(shape) / sqrt(max(shape)))
    return problem_of_own(name, built, start, [client.samples for client in built], **facts)


def _low_rank(shape: tuple[int, int], rank: int, rng: np.random.Generator) -> Array:
    (m, n), rank = matrix_shape(shape), integer("rank", rank)
    if min(m, n) < 1 or not 1 <= rank <= min(m, n):
        raise ProblemError(f"rank {rank} does not fit weights of shape {shape}")
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) / sqrt(max(m, n))


def _points(clients: int, samples: int, split: str, rng: np.random.Generator) -> tuple[Array, Array, list[Any]]:
    clients, samples = integer("clients", clients), integer("samples", samples)
    if clients < 1 or samples < clients or split not in SPLITS:
        raise ProblemError(
            f"expected at least one client, at least as many samples as clients, and a split from {SPLITS}, got "
            f"{clients}, "
            f"{samples}, {split!r}"
        )
    x, y = rng.uniform(-1.0, 1.0, (2, samples))
    if split == "all":
        return x, y, [np.arange(samples)] * clients
    order = np.argsort(x) if split == "region" else rng.permutation(samples)
    return x, y, np.array_split(order, clients)


def _values(x: Array, y: Array, target: Array, basis: str) -> Array:
    p, q = (legendre_features(points, size, basis) for points, size in zip((x, y), target.shape, strict=True))
    return ((p @ target) * q).sum(axis=1)
