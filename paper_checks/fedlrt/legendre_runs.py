"""Runs of Section 4.1's Legendre least squares, by the algorithms' own rounds, in readings of what is left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from figures.legendre_readings import minimisers
from figures.seeds_at_once import affine_map, powers, run_fedlrt
from toymodels.legendre import many_targets, random_targets
from toymodels.product_features import ProductGram

HOMOGENEOUS, HETEROGENEOUS = Descent(20, 1e-3), Descent(100, 1e-3)
SAMPLES, CLOSE = 10_000, 1e-5
SINGLE = 2.0**-23
"""Relative rounding of single precision."""
WEAKEST = 0.15
"""Least singular value of a target over its norm; normal factors give less in one of 200 draws."""


@dataclass(frozen=True)
class Reading:
    """One choice of what the paper leaves open; a start has normal entries of a size over the root of n, cut to a rank.

    Attributes:
        basis: Normalisation of the Legendre polynomials.
        clients: Number of clients.
        split: Of the points.
        correction: Of FeDLRT.
        rank: Of the start.
        scale: Of the start.
        tau: Of the truncation.
    """

    basis: str = "uniform"
    clients: int = 1
    split: str = "random"
    correction: str = "simplified"
    rank: int = 8
    scale: float = 0.01
    tau: float = 0.1


@dataclass(frozen=True, eq=False)
class Run:
    """Distances to the minimiser, ranks and excess losses, from the start to the last round that was followed."""

    distances: tuple[float, ...]
    ranks: tuple[int, ...]
    losses: tuple[float, ...]

    def reaches(self, distance: float) -> float:
        """The first round within a distance; infinite if there is none."""
        return next((float(count) for count, value in enumerate(self.distances) if value <= distance), float("inf"))


@cache
def one_target(seed: int, basis: str, clients: int, split: str = "random", samples: int = SAMPLES) -> list[ProductGram]:
    """Clients of the homogeneous test, n = 20, with one target of rank 4."""
    rng = np.random.default_rng([seed, 1])
    while True:
        target = random_targets(1, (20, 20), 4, rng)
        if target_share(target) > WEAKEST:
            break
    points = np.random.default_rng([seed, 2])
    return many_targets(target.expand(clients, 1, 20, 20), points, samples=samples, basis=basis, split=split)


def target_share(W: Tensor, rank: int = 4) -> float:
    """The last singular value of a matrix of some rank over its norm."""
    sigma = torch.linalg.svdvals(W)[..., :rank]
    return float((sigma[..., -1] / torch.linalg.vector_norm(sigma, dim=-1)).min())


@cache
def own_targets(seed: int, basis: str, split: str = "all") -> list[ProductGram]:
    """The four clients of the heterogeneous test, n = 10, each with a target of rank 1."""
    targets = random_targets(4, (10, 10), 1, np.random.default_rng([seed, 3]))
    points = np.random.default_rng([seed, 4])
    return many_targets(targets[:, None], points, samples=SAMPLES, basis=basis, split=split)


def start_of(seed: int, clients: Sequence[ProductGram], scale: float) -> Tensor:
    """Normal weights ``(1, m, n)``."""
    m, n = clients[0].B.shape[-2:]
    return torch.from_numpy(scale * np.random.default_rng([seed, 5]).standard_normal((1, m, n)) / np.sqrt(max(m, n)))


def follow(clients: Sequence[ProductGram], start: Tensor, reading: Reading, local: Descent, rounds: int,
           until: float = 0.0) -> Run:  # fmt: skip
    """FeDLRT for some rounds, or until it is within a distance."""
    W_star, H = minimisers(clients)
    distances, ranks, losses = list[float](), list[int](), list[float]()

    def note(count: int, numbers: list[int], W: Tensor, rank: int) -> list[bool]:
        E = (W - W_star).flatten(-2)
        distances.append(float(torch.linalg.vector_norm(E)))
        ranks.append(rank)
        losses.append(float(0.5 * ((E @ H) * E).sum()))
        return [distances[-1] <= until]

    algorithm = FeDLRT(local, 1, correction=reading.correction)
    run_fedlrt(clients, start, algorithm, [reading.rank], [Truncation(reading.tau)], rounds, note)
    return Run(tuple(distances), tuple(ranks), tuple(losses))


@cache
def homogeneous_run(seed: int, reading: Reading, rounds: int, until: float = 0.0) -> Run:
    """FeDLRT on the homogeneous test."""
    clients = one_target(seed, reading.basis, reading.clients, reading.split)
    return follow(clients, start_of(seed, clients, reading.scale), reading, HOMOGENEOUS, rounds, until)


@cache
def full_rank_distances(
    seed: int, basis: str, scale: float, rounds: tuple[int, ...]
) -> tuple[tuple[float, float], ...]:
    """FedLin on the homogeneous test with one client: distance and excess loss after some rounds."""
    clients = one_target(seed, basis, 1)
    W_star, H = minimisers(clients)
    E = (powers(*affine_map(FedLin(HOMOGENEOUS), clients), start_of(seed, clients, scale), rounds) - W_star).flatten(-2)
    losses = 0.5 * ((E @ H) * E).sum(dim=-1)
    return tuple(zip(torch.linalg.vector_norm(E, dim=-1)[:, 0].tolist(), losses[:, 0].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Limits:
    """FedAvg and FedLin on the heterogeneous test.

    Attributes:
        apart: Largest difference of their rounds, as affine maps, over all starts of unit size.
        averaged: Distance of FedAvg's limit from the minimiser.
        corrected: The same of FedLin's.
        size: Norm of the minimiser.
    """

    apart: float
    averaged: float
    corrected: float
    size: float


@cache
def limits(seed: int, basis: str, split: str) -> Limits:
    """Rounds of both methods as maps, and where they come to rest."""
    clients = own_targets(seed, basis, split)
    W_star, _ = minimisers(clients)
    maps = [affine_map(method(HETEROGENEOUS), clients) for method in (FedAvg, FedLin)]
    unit = torch.eye(maps[0][0].shape[0], dtype=torch.float64)
    ends = [torch.linalg.solve((unit - A).T, b[0]) for A, b in maps]
    away = [float(torch.linalg.vector_norm(end - W_star.flatten())) for end in ends]
    apart = max(float((x - y).abs().max()) for x, y in zip(*maps, strict=True))
    return Limits(apart, away[0], away[1], float(torch.linalg.vector_norm(W_star)))


@cache
def heterogeneous_run(seed: int, reading: Reading, rounds: int, until: float = 0.0) -> Run:
    """FeDLRT on the heterogeneous test."""
    clients = own_targets(seed, reading.basis, reading.split)
    return follow(clients, start_of(seed, clients, reading.scale), reading, HETEROGENEOUS, rounds, until)


@cache
def heterogeneous_full_rank(seed: int, basis: str, scale: float, rounds: int) -> tuple[float, ...]:
    """FedLin's distances on the heterogeneous test, round by round."""
    clients = own_targets(seed, basis, "all")
    W_star, _ = minimisers(clients)
    W = powers(*affine_map(FedLin(HETEROGENEOUS), clients), start_of(seed, clients, scale), range(rounds + 1))
    return tuple(torch.linalg.vector_norm((W - W_star).flatten(-2), dim=-1)[:, 0].tolist())
