"""Ranges on FeDLRT's cards from searches, over many draws of points and targets (``ranges_over_points.json``).

``python benchmarks/ranges_over_points.py [--only NAME ...]`` writes for each number its least, mean and largest value,
the draws, and the environment. Draw 0 is the default seed's own. An infinite number of rounds is written as null.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from torch.linalg import eigvalsh

from figures.fedlrt.legendre_readings import minimisers
from figures.provenance import machine, package_versions, sources_digest
from paper_checks.context import Context
from paper_checks.fedlrt.assumption_1 import measure_met
from paper_checks.fedlrt.fig_1 import (
    ALONG_TWO,
    SINGLE,
    TWO_AXES,
    axes_full_rank_reaches,
    axes_run,
    heterogeneous_full_rank,
    limits,
    long_heterogeneous_run,
)
from paper_checks.fedlrt.measurements.heterogeneous_setting import START, stream_of_own_targets
from paper_checks.fedlrt.measurements.homogeneous_setting import RANK, RATE, STEPS, stream_of_one_target
from paper_checks.fedlrt.measurements.least_squares import FOLLOWED, GRID, Followed, settling_round
from paper_checks.fedlrt.measurements.legendre_runs import (
    CLOSE,
    STARTS,
    WEAKEST,
    Choice,
    full_rank_distances,
    long_run,
    median_ranks,
    one_target,
    own_targets,
    target_share,
)
from paper_checks.fedlrt.measurements.simplified_traces import SMALL
from paper_checks.fedlrt.sec_4_1 import CLIENTS, LEVELS, count_rounds
from toymodels.legendre import BASES, random_targets
from workloads.files import write_whole
from workloads.progress import follow

Numbers = dict[str, float]


def admitted_rates(seed: int) -> Numbers:
    """Return the largest rate that Theorem 2 admits for every number of clients, with polynomials of value 1 at 1."""
    stream = stream_of_one_target(Context("fedlrt/claim-hom-stepsize", seed))
    clients = (client for C in CLIENTS for client in one_target(stream, "plain", C))
    return {"largest admitted rate": 1.0 / (12.0 * STEPS * max(float(eigvalsh(client.H)[-1]) for client in clients))}


def admitted_rates_by_basis(seed: int) -> Numbers:
    """Return the largest rate that Theorem 2 admits, and whether the test's is admitted, by basis and clients."""
    stream, found = stream_of_one_target(Context("fedlrt/claim-hom-stepsize", seed)), Numbers()
    for basis in BASES:
        for C in CLIENTS:
            steepest = max(float(eigvalsh(client.H)[-1]) for client in one_target(stream, basis, C))
            found[f"{basis}, C = {C}"] = 1.0 / (12.0 * STEPS * steepest)
            found[f"{basis}, C = {C}, admitted"] = float(found[f"{basis}, C = {C}"] >= RATE)
    return found


def weak_targets(seed: int) -> Numbers:
    """Return the fraction of 1,000 rank-4 normal targets whose last singular value is too small for the test."""
    rng = np.random.default_rng([stream_of_one_target(Context("fedlrt/exp-homogeneous", seed)), 1])
    weak = sum(target_share(random_targets(1, (20, 20), 4, rng)) <= WEAKEST for _ in range(1000))
    return {"share of targets drawn again": weak / 1000}


def _medians(seed: int, scale: float, rounds: int) -> Numbers:
    """Return the median rank over 20 starts of some size, with polynomials of value 1 at 1."""
    stream = stream_of_one_target(Context("fedlrt/claim-hom-rank", seed))
    ranks = median_ranks(stream, Choice(basis="plain", scale=scale), rounds)
    found, never_below = ranks[-1] == RANK, min(ranks) >= RANK
    return {
        "least median rank": min(ranks),
        "never below 4": float(never_below),
        "at rank 4 in the end, never below": float(found and never_below),
        "rank 4 from this round on": float(settling_round(ranks)) if found else float("inf"),
    }


def median_ranks_from_small_starts(seed: int) -> Numbers:
    """Return the median rank from starts of size 0.01."""
    return _medians(seed, 0.01, 200)


def median_ranks_from_larger_starts(seed: int) -> Numbers:
    """Return the median rank from starts of size 0.1."""
    return _medians(seed, 0.1, 1500)


def run_from_a_start_of_size_1(seed: int) -> Numbers:
    """Run from a start of size 1, with polynomials of value 1 at 1, for 160,000 rounds."""
    stream = stream_of_one_target(Context("fedlrt/claim-hom-rank", seed))
    run = long_run(stream, Choice(basis="plain", scale=1.0), 160_000, CLOSE)
    return {
        "least rank": float(min(run.ranks)),
        "rank 4 from this round on": float(settling_round(run.ranks)),
        "share of the rounds followed": settling_round(run.ranks) / (len(run.ranks) - 1),
        "distance in the end": run.distances[-1],
    }


def shares_of_the_run(seed: int) -> Numbers:
    """Return the round from which the rank is 4, relative to the rounds to 1e-5, in each basis that reaches both."""
    stream, found = stream_of_one_target(Context("fedlrt/claim-hom-rank", seed)), {}
    for name, (choice, most) in FOLLOWED.items():
        if choice.basis != "plain":
            run = long_run(stream, choice, most, CLOSE)
            found[f"{name}, share"] = settling_round(run.ranks) / run.reaches(CLOSE)
            found[f"{name}, round"] = float(settling_round(run.ranks))
            found[f"{name}, least rank"] = float(min(run.ranks))
    return found


def rounds_from_other_starts(number: int) -> Numbers:
    """Return the rounds to 1e-5 from one of 20 starts, on the draw of the checks."""
    stream, found = stream_of_one_target(Context("fedlrt/claim-hom-error", 0)), {}
    for name, (choice, most) in FOLLOWED.items():
        if choice.basis != "plain":
            run = long_run(stream, choice, most, CLOSE, number)
            found[f"{name}, rounds"] = run.reaches(CLOSE)
            found[f"{name}, least rank"] = float(min(run.ranks))
    return found


def deltas_of_assumption_1(seed: int) -> Numbers:
    """Return the least delta of Assumption 1 in the homogeneous test: once the rank is 4, and near the minimiser."""
    found = measure_met(Context("fedlrt/claim-assumption-when", seed), seed)
    return {
        "when the rank is found, global loss": found.test.of_mean[found.found],
        "when the rank is found, clients": found.test.of_clients[found.found],
        "when the rank is found, clients, at most 0.1": float(found.test.of_clients[found.found] <= SMALL),
        "near the minimiser, global loss": found.test.of_mean[-1],
        "near the minimiser, clients": found.test.of_clients[-1],
    }


def run_to_the_end(seed: int) -> Numbers:
    """Run the same until 1e-5, for hundreds of thousands of rounds, and FedLin from the same start."""
    stream = stream_of_one_target(Context("fedlrt/claim-hom-jointly", seed))
    run = long_run(stream, Choice(basis="plain", scale=0.1), 1_500_000, CLOSE)
    distances = full_rank_distances(stream, "plain", 0.1, GRID)
    return {
        "least rank": float(min(run.ranks)),
        "rank 4 from this round on": float(settling_round(run.ranks)),
        "rounds to 1e-5": run.reaches(CLOSE),
        "FedLin's distance after 16,777,216 rounds": distances[-1][0],
        **admitted_rates(seed),
    }


def rounds_with_more_clients(seed: int) -> Numbers:
    """Return the ratio of rounds with 32 clients and with one, by comparison; with the full correction the rounds."""
    found = {}
    for one in count_rounds(Context("fedlrt/claim-hom-clients", seed, "full")):
        name = f"{one.basis}, to {one.distance:g}"
        found[f"simplified, {name}"] = one.many["simplified"] / one.one - 1.0
        found[f"full, rounds apart, {name}"] = abs(one.many["full"] - one.one)
    return found


def quotients_of_rounds(seed: int) -> Numbers:
    """Return the largest ratio of FedLin's and FeDLRT's rounds to a distance, in each basis that reaches it."""
    stream = stream_of_one_target(Context("fedlrt/claim-hom-10x", seed))
    found = {}
    for name, (choice, most) in FOLLOWED.items():
        if choice.basis != "plain":
            run = long_run(stream, choice, most, CLOSE)
            full = {name: full_rank_distances(stream, choice.basis, choice.scale, GRID)}
            followed = Followed({name: run}, {}, {}, 0.0, full)
            found[name] = max(followed.full_rank(name, level) / run.reaches(level) for level in LEVELS)
    return found


def ends_with_four_targets(seed: int) -> Numbers:
    """Return both methods' distances after the 900 rounds of the heterogeneous test, FeDLRT's to single precision."""
    stream = stream_of_own_targets(Context("fedlrt/fig-1", seed))
    size = limits(stream, "uniform", "all").size
    return {
        "FeDLRT": long_heterogeneous_run(stream, START, 900, SINGLE * size).distances[-1],
        "FedLin": min(heterogeneous_full_rank(stream, "uniform", 1.0, 900)),
    }


def quotients_of_rounds_with_four_targets(seed: int) -> Numbers:
    """Return FedLin's rounds to 1e-5 divided by FeDLRT's in the heterogeneous test."""
    stream = stream_of_own_targets(Context("fedlrt/claim-het-converge", seed))
    run = long_heterogeneous_run(stream, START, 3000, CLOSE)
    distances = heterogeneous_full_rank(stream, "uniform", 1.0, 3000)
    theirs = next((float(count) for count, distance in enumerate(distances) if distance <= CLOSE), float("inf"))
    return {"FedLin's rounds over FeDLRT's": theirs / run.reaches(CLOSE)}


def quotients_of_rounds_along_two_axes(seed: int) -> Numbers:
    """Return the same with targets along two axes, in the card's reading."""
    stream = stream_of_own_targets(Context("fedlrt/claim-het-converge", seed))
    ours = axes_run(stream, TWO_AXES, ALONG_TWO, 10_000).reaches(CLOSE)
    theirs = axes_full_rank_reaches(stream, TWO_AXES, ALONG_TWO, CLOSE)
    return {"FedLin's rounds over FeDLRT's": theirs / ours}


def quotient_of_paces(seed: int, basis: str) -> float:
    """Return the heterogeneous test's least curvature along the minimiser's rank, divided by the least of all."""
    W, H = (part.numpy() for part in minimisers(own_targets(seed, basis)))
    U, sigma, Vt = np.linalg.svd(W.reshape(10, 10))
    rank = int((sigma > 1e-9 * sigma[0]).sum())
    outside = np.kron(U[:, rank:], Vt[rank:].T)  # what is left of the columns outside the tangent space
    along = np.linalg.svd(outside)[0][:, outside.shape[1] :]
    whole = H.reshape(100, 100)
    return float(np.linalg.eigvalsh(along.T @ whole @ along)[0] / np.linalg.eigvalsh(whole)[0])


def quotients_of_paces(seed: int) -> Numbers:
    """Return how many times as fast FeDLRT is at the end of the heterogeneous test, by basis."""
    stream = stream_of_own_targets(Context("fedlrt/claim-het-converge", seed))
    return {basis: quotient_of_paces(stream, basis) for basis in BASES}


MEASURES: dict[str, tuple[Callable[[int], Numbers], Sequence[int]]] = {
    "fedlrt/exp-homogeneous, targets": (weak_targets, range(20)),
    "fedlrt/claim-assumption-when": (deltas_of_assumption_1, range(24)),
    "fedlrt/claim-hom-stepsize": (admitted_rates, range(120)),
    "fedlrt/claim-hom-stepsize, by basis": (admitted_rates_by_basis, range(24)),
    "fedlrt/claim-hom-rank, size 0.01": (median_ranks_from_small_starts, range(24)),
    "fedlrt/claim-hom-rank, size 0.1": (median_ranks_from_larger_starts, range(8)),
    "fedlrt/claim-hom-rank, size 1": (run_from_a_start_of_size_1, range(4)),
    "fedlrt/claim-hom-rank, shares": (shares_of_the_run, range(16)),
    "fedlrt/claim-hom-error, starts": (rounds_from_other_starts, range(STARTS)),
    "fedlrt/claim-hom-jointly, to the end": (run_to_the_end, (7,)),
    "fedlrt/claim-hom-clients": (rounds_with_more_clients, range(8)),
    "fedlrt/claim-hom-10x": (quotients_of_rounds, range(16)),
    "fedlrt/fig-1": (ends_with_four_targets, range(20)),
    "fedlrt/claim-het-converge": (quotients_of_rounds_with_four_targets, range(120)),
    "fedlrt/claim-het-converge, two axes": (quotients_of_rounds_along_two_axes, range(20)),
    "fedlrt/claim-het-converge, paces": (quotients_of_paces, range(600)),
}
"""Measurement for each card, and its draws; to the end one run with an early rank 4 is followed."""


def summary(values: list[float]) -> dict[str, float | None]:
    """Return least, mean and largest of the draws."""
    told = {"least": min(values), "mean": sum(values) / len(values), "largest": max(values)}
    return {**{key: value if isfinite(value) else None for key, value in told.items()}, "draws": len(values)}


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in options.only:
        measure, draws = MEASURES[name]
        rows = [measure(seed) for seed in follow(draws, name, "draw")]
        record[name] = {key: summary([row[key] for row in rows]) for key in rows[0]}
        record["environment"] = {
            **machine(),
            "packages": package_versions(("numpy", "torch")),
            "sources": sources_digest(),
        }
        write_whole({options.out: (json.dumps(record, indent=1) + "\n").encode()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
