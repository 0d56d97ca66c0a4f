"""FeDLRT's Legendre least squares in several readings of what the paper leaves open: runs and summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import Rule, Truncation
from figures.batched_starts import affine_map, iterate, recorded_rounds, run_fedlrt
from figures.figure import FigureError, Settings
from figures.pieces import piece
from toymodels.legendre import many_targets
from toymodels.product_features import ProductGram

CLOSE = 1e-5
"""Level that the paper says its methods reach."""
STOP = 1e-9
"""Distance to the minimiser below which a start is not continued."""
LOW_RANK: dict[Correction, str] = {"none": "FeDLRT", "simplified": "FeDLRT, simplified", "full": "FeDLRT, full"}


@dataclass(frozen=True)
class Reading:
    """One choice for everything that the paper leaves open.

    Attributes:
        name: How it differs from the first reading.
        basis: Basis of the polynomials.
        split: Split of the points among the clients.
        rank: Rank of the start.
        scale: Scale of the start: normal entries of this size over the root of n.
        tau: Tolerance of the truncation.
        rule: Rule of the truncation: `after`, or with the tail as `printed`.
        corrections: Corrections of FeDLRT.
    """

    name: str
    basis: str = "uniform"
    split: str = "random"
    rank: int = 8
    scale: float = 1.0
    tau: float = 0.1
    rule: Rule = "after"
    corrections: tuple[str, ...] = ("simplified",)


@dataclass(frozen=True)
class Plan:
    """Sizes of the runs in some readings.

    Attributes:
        local: Local steps.
        clients: Numbers of clients.
        starts: Starts, each with targets of its own.
        samples: Points in all.
        rounds: Rounds of FeDLRT, by basis.
        far: Rounds of the full-rank methods.
        target_rank: Rank of the minimiser.
        full_rank: The full-rank methods, by name.
        draws: Draws of the points, each for an equal share of the starts.

    Raises:
        FigureError: More draws than starts, or none.
    """

    local: Descent
    clients: tuple[int, ...]
    starts: int
    samples: int
    rounds: dict[str, int]
    far: int
    target_rank: int
    full_rank: tuple[str, ...] = ("FedLin",)
    draws: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.draws <= self.starts:
            raise FigureError(f"{self.starts} starts cannot share {self.draws} draws of the points")


@dataclass(frozen=True)
class Progress:
    """Distances, losses and ranks, and whether a rank was ever below the target's, each ``(rounds, starts)``."""

    rounds: list[int]
    target_rank: int
    distance: np.ndarray
    loss: np.ndarray
    rank: np.ndarray
    below: np.ndarray

    @classmethod
    def empty(cls, rounds: list[int], target_rank: int, starts: int) -> Progress:
        """Return the progress of starts of which nothing is known."""
        shape = len(rounds), starts
        distance, loss, rank = (np.full(shape, np.nan) for _ in range(3))
        return cls(rounds, target_rank, distance, loss, rank, np.zeros(shape, dtype=bool))

    def fill(self, starts: Sequence[int], part: Progress) -> None:
        """Enter the progress of some starts, by their numbers here."""
        for name in ("distance", "loss", "rank", "below"):
            getattr(self, name)[:, starts] = getattr(part, name)

    def rows(self, starts: slice) -> list[dict[str, float]]:
        """Return a summary of some starts for each round: medians, quartiles, and the smallest and largest rank."""
        rows: list[dict[str, float]] = []
        for place, count in enumerate(self.rounds):
            row: dict[str, float] = {"round": count}
            for name, values in (("distance", self.distance), ("loss", self.loss)):
                low, middle, high = np.quantile(values[place, starts], (0.25, 0.5, 0.75))
                row |= {name: float(middle), f"{name}_low": float(low), f"{name}_high": float(high)}
            ranks = self.rank[place, starts]
            row |= {"rank": float(np.median(ranks)), "rank_low": float(ranks.min()), "rank_high": float(ranks.max())}
            row["right"] = int((ranks == self.target_rank).sum())
            row["below"] = int(self.below[place, starts].sum())
            rows.append(row)
        return rows


class Trace:
    """The progress of all starts on one draw of the points, recorded round after round."""

    def __init__(self, minimisers: Tensor, mean_gram: Tensor, rounds: list[int], target_rank: int) -> None:
        """Begin with no round.

        Args:
            minimisers: Minimiser of each start, ``(starts, m, n)``.
            mean_gram: Hessian of the mean loss, ``(mn, mn)``.
            rounds: Rounds to record.
            target_rank: Rank of the minimisers.
        """
        self.minimisers, self.mean_gram = minimisers, mean_gram
        self.progress = Progress.empty(rounds, target_rank, len(minimisers))
        self._ever = np.zeros(len(minimisers), dtype=bool)
        self._place = {count: place for place, count in enumerate(rounds)}

    def follow(self, count: int, numbers: list[int], W: Tensor, rank: int) -> list[bool]:
        """Record the starts of one rank, and return which are as good as the minimiser."""
        E = W - self.minimisers[numbers]
        distance = torch.linalg.vector_norm(E, dim=(-2, -1))
        done = (distance < STOP).tolist()
        self._ever[numbers] |= rank < self.progress.target_rank
        place = self._place.get(count)
        if place is None and any(done):
            place = next(place for number, place in self._place.items() if number > count)
        if place is not None:
            self._note(place, numbers, E, distance, rank)
        return done

    def record_all(self, W: Tensor) -> None:
        """Record the weights ``(rounds, starts, m, n)`` of a full-rank method."""
        E = W - self.minimisers
        self.progress.distance[:] = torch.linalg.vector_norm(E, dim=(-2, -1)).numpy()
        self.progress.loss[:] = self._excess(E).numpy()

    def _note(self, place: int, numbers: list[int], E: Tensor, distance: Tensor, rank: int) -> None:
        # A start that is not continued keeps its state.
        to = self.progress
        later = np.ix_(range(place, len(to.rounds)), numbers)
        to.distance[later], to.loss[later], to.rank[later] = distance.numpy(), self._excess(E).numpy(), rank
        to.below[later] = self._ever[numbers]

    def _excess(self, E: Tensor) -> Tensor:
        flat = E.flatten(-2)
        return 0.5 * ((flat @ self.mean_gram) * flat).sum(dim=-1)


def minimisers(clients: Sequence[ProductGram]) -> tuple[Tensor, Tensor]:
    """Return the minimiser of each problem's mean loss, ``(problems, m, n)``, and the mean Gram matrix."""
    total = sum(client.samples for client in clients)
    H = torch.stack([client.samples / total * client.H for client in clients]).sum(dim=0)
    B = torch.stack([client.samples / total * client.B for client in clients]).sum(dim=0)
    return torch.linalg.solve(H, B.flatten(1).T).T.reshape(B.shape), H


def readings_table(
    purpose: str, readings: Sequence[Reading], plan: Plan, targets: Tensor, settings: Settings
) -> pd.DataFrame:
    """Run every method in every reading; readings of the same data are run together.

    Args:
        purpose: Name of the random streams.
        readings: Readings to run.
        plan: Sizes of the runs.
        targets: Target of each start, ``(starts, m, n)``, for all clients; or of each, ``(clients, starts, m, n)``.
        settings: Seed and progress.

    Returns:
        One row for each reading, method, number of clients and recorded round.
    """
    rows: list[dict[str, Any]] = []
    together: dict[tuple[str, str], list[Reading]] = {}
    for reading in readings:
        together.setdefault((reading.basis, reading.split), []).append(reading)
    for (basis, split), same in together.items():
        for C in plan.clients:
            settings.report(f"{basis}, {split}, {C} clients")
            part = f"{', '.join(reading.name for reading in same)}; {C} clients"
            rows += piece(settings, part, partial(_runs, purpose, same, C, plan, targets, settings))
    table = pd.DataFrame(rows)
    order = {reading.name: place for place, reading in enumerate(readings)}
    return table.sort_values("reading", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def _runs(
    purpose: str, same: Sequence[Reading], C: int, plan: Plan, targets: Tensor, settings: Settings
) -> list[dict[str, Any]]:
    """Return the rows of all readings of the same data."""
    m, n = targets.shape[-2:]
    normal = settings.rng(purpose, "starts").standard_normal((plan.starts, m, n)) / np.sqrt(max(m, n))
    starts = torch.from_numpy(np.concatenate([reading.scale * normal for reading in same]))
    aims = targets.expand(C, *targets.shape[-3:]).repeat(1, len(same), 1, 1)
    progress: dict[str, Progress] = {}
    sizes, smoothness, curvature = [], [], []
    for draw in range(plan.draws):
        own = [
            place * plan.starts + start
            for place in range(len(same))
            for start in range(plan.starts)[draw :: plan.draws]
        ]
        # the same points in every reading and for every number of clients
        points = settings.rng(purpose, "points", *([draw] if draw else []))
        clients = many_targets(aims[:, own], points, samples=plan.samples, basis=same[0].basis, split=same[0].split)
        W, H = minimisers(clients)
        sizes += torch.linalg.vector_norm(W, dim=(-2, -1)).tolist()
        smoothness += [
            float(torch.linalg.eigvalsh(H)[-1]) for H in {id(client.H): client.H for client in clients}.values()
        ]
        curvature.append(float(torch.linalg.eigvalsh(H)[0]))
        for method, numbers, found in _methods(same, own, clients, starts[own], W, H, plan):
            whole = progress.setdefault(method, Progress.empty(found.rounds, plan.target_rank, len(starts)))
            whole.fill([own[number] for number in numbers], found)
    known = {
        "clients": C,
        "starts": plan.starts,
        "samples": plan.samples,
        "n": n,
        "target_rank": plan.target_rank,
        "size": float(np.median(sizes)),
        "smoothness": max(smoothness),
        "draws": plan.draws,
        "curvature": float(np.median(curvature)),
        "curvature_low": min(curvature),
        "curvature_high": max(curvature),
        "steps": plan.local.steps,
        "learning_rate": plan.local.learning_rate,
    }
    rows: list[dict[str, Any]] = []
    for method, found in progress.items():
        for place, reading in enumerate(same):
            if method in plan.full_rank or any(
                method == name for of, name in LOW_RANK.items() if of in reading.corrections
            ):
                part = slice(place * plan.starts, (place + 1) * plan.starts)
                rows.extend(_of(reading) | {"method": method} | known | row for row in found.rows(part))
    return rows


def _methods(
    same: Sequence[Reading],
    own: Sequence[int],
    clients: Sequence[ProductGram],
    starts: Tensor,
    W: Tensor,
    H: Tensor,
    plan: Plan,
) -> Iterator[tuple[str, list[int], Progress]]:
    """Yield the name of each method, the places of its starts among those of a draw, and their progress."""
    m, n = W.shape[-2:]
    readings = [same[number // plan.starts] for number in own]
    for name in plan.full_rank:
        trace = Trace(W, H, recorded_rounds(plan.far), plan.target_rank)
        algorithm = {"FedAvg": FedAvg, "FedLin": FedLin}[name](plan.local)
        trace.record_all(iterate(*affine_map(algorithm, clients), starts, trace.progress.rounds))
        yield name, list(range(len(own))), trace.progress
    for correction, method in LOW_RANK.items():
        numbers = [number for number, reading in enumerate(readings) if correction in reading.corrections]
        if not numbers:
            continue
        chosen = [readings[number] for number in numbers]
        trace = Trace(W[numbers], H, recorded_rounds(plan.rounds[chosen[0].basis]), plan.target_rank)
        run_fedlrt(
            [client.select(numbers) for client in clients],
            starts[numbers],
            FeDLRT(plan.local, 1, correction=correction),
            [min(reading.rank, m, n) for reading in chosen],
            [Truncation(reading.tau, reading.rule) for reading in chosen],
            trace.progress.rounds[-1],
            trace.follow,
        )
        yield method, numbers, trace.progress


def _of(reading: Reading) -> dict[str, Any]:
    return {
        "reading": reading.name,
        "basis": reading.basis,
        "split": reading.split,
        "start_rank": reading.rank,
        "scale": reading.scale,
        "tau": reading.tau,
        "rule": reading.rule,
    }


def first_round(part: pd.DataFrame, level: float, column: str = "distance") -> float:
    """Return the first recorded round from which the median is at most a level; nan if there is none."""
    later = part[part["round"] > last_above(part, level, column)]["round"]
    return float(later.min()) if len(later) else float("nan")


def last_above(part: pd.DataFrame, level: float, column: str = "distance") -> float:
    """Return the last recorded round in which the median is above a level; -1 if there is none.

    Methods with different numbers of rounds are recorded in different rounds. One certainly comes to a level in fewer
    rounds than another only if it does so by the last recorded round in which the other is above it.
    """
    above = part[part[column] > level]["round"]
    return float(above.max()) if len(above) else -1.0
