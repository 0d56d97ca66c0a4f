"""Runs of Section 4.1's Legendre least squares by the algorithms' own rounds; readings of what is left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlin import FedLin
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import Truncation
from figures.batched_starts import affine_map, iterate, run_fedlrt
from figures.fedlrt.legendre_readings import minimisers
from paper_checks.fedlrt.measurements.fast_rounds import Rounds, low_rank_rounds
from paper_checks.fedlrt.measurements.legendre_grid import Grid, on_grid
from toymodels.legendre import many_targets, random_targets
from toymodels.product_features import ProductGram

KINDS: tuple[Correction, ...] = ("none", "simplified", "full")
"""The corrections of FeDLRT."""

HOMOGENEOUS, HETEROGENEOUS = Descent(20, 1e-3), Descent(100, 1e-3)

SAMPLES, CLOSE = 10_000, 1e-5


@dataclass(frozen=True)
class Choice:
    """One choice of what the paper leaves open; a start has normal entries of a size over the root of n, cut to a rank.

    Attributes:
        basis: Normalisation of the Legendre polynomials.
        clients: Number of clients.
        split: Split of the points.
        correction: Correction of FeDLRT.
        rank: Rank of the start.
        scale: Size of the start.
        tau: Tolerance of the truncation.
    """

    basis: str = "uniform"
    clients: int = 1
    split: str = "random"
    correction: Correction = "simplified"
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
        """Return the first round within a distance; infinite if there is none."""
        return next((float(count) for count, value in enumerate(self.distances) if value <= distance), float("inf"))


def target_share(W: Tensor, rank: int = 4) -> float:
    """Return the last singular value of a matrix of some rank over its norm."""
    sigma = torch.linalg.svdvals(W)[..., :rank]
    return float((sigma[..., -1] / torch.linalg.vector_norm(sigma, dim=-1)).min())


WEAKEST = 0.15
"""Least singular value of a target over its norm; normal factors give less in one of 200 draws."""


@cache
def target_of(seed: int) -> Tensor:
    """Return the target of rank 4 of the homogeneous test, n = 20: ``(1, 20, 20)``."""
    rng = np.random.default_rng([seed, 1])
    while True:
        target = random_targets(1, (20, 20), 4, rng)
        if target_share(target) > WEAKEST:
            return target


@cache
def one_target(seed: int, basis: str, clients: int, split: str = "random", samples: int = SAMPLES) -> list[ProductGram]:
    """Return the clients of the homogeneous test with one target."""
    points = np.random.default_rng([seed, 2])
    targets = target_of(seed).expand(clients, 1, 20, 20)
    return many_targets(targets, points, samples=samples, basis=basis, split=split)


def normal_start(seed: int, n: int, scale: float, number: int = 0) -> Tensor:
    """Return normal weights ``(1, n, n)``, the first start or another one."""
    rng = np.random.default_rng([seed, 5, number] if number else [seed, 5])
    return torch.from_numpy(scale * rng.standard_normal((1, n, n)) / np.sqrt(n))


def follow(
    clients: Sequence[ProductGram], start: Tensor, reading: Choice, local: Descent, rounds: int, until: float = 0.0
) -> Run:
    """Follow FeDLRT for some rounds, or until it is within a distance."""
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
def homogeneous_run(seed: int, reading: Choice, rounds: int, until: float = 0.0) -> Run:
    """Run FeDLRT on the homogeneous test."""
    clients = one_target(seed, reading.basis, reading.clients, reading.split)
    return follow(
        clients, normal_start(seed, clients[0].B.shape[-1], reading.scale), reading, HOMOGENEOUS, rounds, until
    )


def on_grid_run(grid: Grid, start: Tensor, reading: Choice, local: Descent, rounds: int, until: float) -> Run:
    """Run FeDLRT by `legendre_grid`, for long runs."""
    settings = Rounds(reading.rank, reading.correction, local.rate(), local.steps, reading.tau, rounds, until)
    distances, ranks, losses = low_rank_rounds(grid, start[0].numpy(), settings)
    return Run(tuple(distances), tuple(ranks), tuple(losses))


@cache
def one_target_on_grid(seed: int, basis: str, clients: int) -> Grid:
    """Return the same clients on a grid, with points dealt at random."""
    rng = np.random.default_rng([seed, 2])
    x, y = rng.uniform(-1.0, 1.0, (2, SAMPLES))
    parts = np.array_split(rng.permutation(SAMPLES), clients)
    return on_grid([(x[rows], y[rows]) for rows in parts], target_of(seed)[0].numpy(), basis)


@cache
def long_run(seed: int, reading: Choice, rounds: int, until: float = 0.0, number: int = 0) -> Run:
    """Run FeDLRT like `homogeneous_run`, but on a grid, from the first start or another one; points dealt at random."""
    grid = one_target_on_grid(seed, reading.basis, reading.clients)
    return on_grid_run(grid, normal_start(seed, 20, reading.scale, number), reading, HOMOGENEOUS, rounds, until)


STARTS = 20
"""Starts of a median."""


def median_ranks(seed: int, reading: Choice, rounds: int) -> tuple[float, ...]:
    """Return medians of the rank over ``STARTS`` starts on one target, round by round."""
    ranks = [long_run(seed, reading, rounds, number=number).ranks for number in range(STARTS)]
    return tuple(np.median(ranks, axis=0).tolist())


def least_loss(seed: int, basis: str, rank: int) -> float:
    """Return a bound from below on the loss of any matrix below some rank, with one client.

    It is half the least curvature times the square of the target's singular value of that place.
    """
    sigma = torch.linalg.svdvals(target_of(seed)[0])
    _, H = minimisers(one_target(seed, basis, 1))
    return 0.5 * float(torch.linalg.eigvalsh(H.reshape(sigma.numel() ** 2, -1))[0]) * float(sigma[rank - 1]) ** 2


def apart(one: Run, other: Run) -> float:
    """Return the largest relative difference of the distances, in the rounds of both; infinite if a rank differs."""
    shared = range(min(len(one.ranks), len(other.ranks)))
    if any(one.ranks[count] != other.ranks[count] for count in shared):
        return float("inf")
    return max(abs(one.distances[count] / other.distances[count] - 1.0) for count in shared)


@cache
def full_rank_distances(
    seed: int, basis: str, scale: float, rounds: tuple[int, ...]
) -> tuple[tuple[float, float], ...]:
    """Run FedLin on the homogeneous test with one client: return distance and excess loss after some rounds."""
    clients = one_target(seed, basis, 1)
    W_star, H = minimisers(clients)
    E = (
        iterate(*affine_map(FedLin(HOMOGENEOUS), clients), normal_start(seed, clients[0].B.shape[-1], scale), rounds)
        - W_star
    ).flatten(-2)
    losses = 0.5 * ((E @ H) * E).sum(dim=-1)
    return tuple(zip(torch.linalg.vector_norm(E, dim=-1)[:, 0].tolist(), losses[:, 0].tolist(), strict=True))


@cache
def own_targets(seed: int, basis: str, split: str = "all") -> list[ProductGram]:
    """Return the four clients of the heterogeneous test, n = 10, each with a target of rank 1."""
    targets = random_targets(4, (10, 10), 1, np.random.default_rng([seed, 3]))
    points = np.random.default_rng([seed, 4])
    return many_targets(targets[:, None], points, samples=SAMPLES, basis=basis, split=split)


@cache
def heterogeneous_run(seed: int, reading: Choice, rounds: int, until: float = 0.0) -> Run:
    """Run FeDLRT on the heterogeneous test."""
    clients = own_targets(seed, reading.basis, reading.split)
    return follow(
        clients, normal_start(seed, clients[0].B.shape[-1], reading.scale), reading, HETEROGENEOUS, rounds, until
    )
