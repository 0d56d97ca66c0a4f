"""Runs of the homogeneous test of Section 4.1 and Figure 4: Legendre least squares with one target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from paper_checks.context import Context
from paper_checks.fedlrt.measurements.homogeneous_setting import RANK, stream_of_one_target
from paper_checks.fedlrt.measurements.legendre_runs import (
    CLOSE,
    HOMOGENEOUS,
    Choice,
    Run,
    apart,
    follow,
    full_rank_distances,
    homogeneous_run,
    least_loss,
    long_run,
    median_ranks,
    one_target,
)
from toymodels.legendre import BASES

GRID = tuple(int(count) for count in np.unique(np.geomspace(1, 2**24, 300).astype(int)))
"""Rounds at which FedLin is looked at."""


@dataclass(frozen=True)
class Followed:
    """FeDLRT on one problem in all bases and with a cruder truncation, and FedLin.

    Attributes:
        runs: Runs by basis, or by what else is changed.
        medians: Medians of the rank over some starts, by basis, for the rounds that these are followed.
        lower: Bound from below on the loss of a matrix below the target's rank, by basis.
        away: Largest relative difference of the run from the algorithm's own rounds.
        full: FedLin's distances and excess losses at the rounds of the grid, by basis or start.
    """

    runs: Mapping[str, Run]
    medians: Mapping[str, Sequence[float]]
    lower: Mapping[str, float]
    away: float
    full: Mapping[str, tuple[tuple[float, float], ...]]

    def ranks(self, basis: str) -> list[float]:
        """Return the median rank round by round; only the first start's where the others are not followed."""
        medians = self.medians.get(basis, ())
        return [*medians, *self.runs[basis].ranks[len(medians) :]]

    def full_rank(self, basis: str, distance: float) -> float:
        """Return the rounds that FedLin needs, from below: the last of the grid that is not yet so near."""
        pairs = zip(GRID, self.full[basis], strict=True)
        return float(max((count for count, (d, _) in pairs if d > distance), default=0))


def settling_round(ranks: Sequence[float], rank: int = RANK) -> int:
    """Return the round from which on a run has a rank, given its ranks round by round."""
    return max((count for count, r in enumerate(ranks) if r != rank), default=-1) + 1


FOLLOWED = {
    "uniform": (Choice(), 10_000),
    "dx": (Choice(basis="dx"), 40_000),
    "plain": (Choice(basis="plain"), 2000),
    "uniform, size 1": (Choice(scale=1.0), 10_000),
}
"""Runs by basis and start, and the rounds within which they reach 1e-5, or for which they are followed."""


def follow_all(context: Context) -> Followed:
    """Follow long runs to 1e-5, shorter ones in other readings, and FedLin from the same start; one draw for any seed.

    The other starts are followed for twice the rounds to the first one's rank, at the full budget for a quarter of its
    run. So are the algorithm's own rounds for a while, and then to the end of the first run.
    """
    seed = stream_of_one_target(Context(context.claim_id, 0, context.budget))
    runs = {name: long_run(seed, choice, rounds, CLOSE) for name, (choice, rounds) in FOLLOWED.items()}
    medians = {}
    for name, (choice, _) in FOLLOWED.items():
        quarter = (len(runs[name].ranks) - 1) // 4
        watched = context.size(min(quarter, 200, 2 * settling_round(runs[name].ranks)), quarter)
        medians[name] = median_ranks(seed, choice, watched)
    runs["tau 0.5"] = long_run(seed, Choice(tau=0.5), 200)
    W = torch.zeros(1, 20, 20, dtype=torch.float64)
    W[0, range(RANK), range(RANK)] = torch.tensor([1.0, 1.0, 1.0, 0.1], dtype=torch.float64)
    weak = [client.with_targets(W) for client in one_target(seed, "uniform", 1)]
    runs["weak target"] = follow(weak, W, Choice(rank=RANK), HOMOGENEOUS, 2)
    away = apart(runs["uniform"], homogeneous_run(seed, Choice(), context.size(12, 10_000), CLOSE))
    full = {basis: full_rank_distances(seed, basis, Choice().scale, GRID) for basis in BASES}
    full["uniform, size 1"] = full_rank_distances(seed, "uniform", 1.0, GRID)
    lower = {basis: least_loss(seed, basis, RANK) for basis in BASES}
    return Followed(runs, medians, lower, away, full)


EARLY = (
    " The paper does not say how many “a few” rounds are; Section 4.1 and Figure 4 call them early in the training, so "
    "we allow at most a quarter of the run."
)
