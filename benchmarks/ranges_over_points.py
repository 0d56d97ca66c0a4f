"""Ranges that cards of FeDLRT call searched, over many draws of points and targets (``ranges_over_points.json``).

``python benchmarks/ranges_over_points.py [--only NAME ...]`` writes for each number its least and largest value, the
draws, and the environment. Draw 0 is the default seed's own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")

from torch.linalg import eigvalsh
from tqdm import tqdm

from figures.provenance import machine, package_versions, sources_digest
from paper_checks.context import Context
from paper_checks.fedlrt import heterogeneous_setting, homogeneous_setting
from paper_checks.fedlrt.different_targets import CLOSE
from paper_checks.fedlrt.homogeneous_setting import BASES, CLIENTS, STEPS
from paper_checks.fedlrt.least_squares import GRID, LEVELS, Followed
from paper_checks.fedlrt.legendre_runs import (
    Choice,
    full_rank_distances,
    heterogeneous_full_rank,
    long_heterogeneous_run,
    long_run,
    one_target,
    quotient_of_paces,
)
from workloads.files import write_whole

Numbers = dict[str, float]


def admitted_rates(seed: int) -> Numbers:
    """Largest rate that Theorem 2 admits for every number of clients, polynomials of value 1 at 1."""
    stream = homogeneous_setting.stream(Context("fedlrt/claim-hom-stepsize", seed))
    clients = (client for C in CLIENTS for client in one_target(stream, "plain", C))
    return {"largest admitted rate": 1.0 / (12.0 * STEPS * max(float(eigvalsh(client.H)[-1]) for client in clients))}


def quotients_of_rounds(seed: int) -> Numbers:
    """Largest quotient of FedLin's and FeDLRT's rounds to one of the distances, in each basis that comes to them."""
    stream = homogeneous_setting.stream(Context("fedlrt/claim-hom-10x", seed))
    choices = {
        "uniform": (Choice(), 10_000),
        "uniform, size 1": (Choice(scale=1.0), 10_000),
        "dx": (Choice(basis="dx"), 40_000),
    }
    found = {}
    for name, (choice, most) in choices.items():
        run = long_run(stream, choice, most, CLOSE)
        full = {name: full_rank_distances(stream, choice.basis, choice.scale, GRID)}
        followed = Followed({name: run}, 0.0, full)
        found[name] = max(followed.full_rank(name, level) / run.reaches(level) for level in LEVELS)
    return found


def quotients_of_rounds_with_four_targets(seed: int) -> Numbers:
    """FedLin's rounds to 1e-5 over FeDLRT's in the heterogeneous test."""
    stream = heterogeneous_setting.stream(Context("fedlrt/claim-het-converge", seed))
    run = long_heterogeneous_run(stream, heterogeneous_setting.START, 900, CLOSE)
    distances = heterogeneous_full_rank(stream, "uniform", 1.0, 900)
    theirs = next((float(count) for count, distance in enumerate(distances) if distance <= CLOSE), float("inf"))
    return {"FedLin's rounds over FeDLRT's": theirs / run.reaches(CLOSE)}


def quotients_of_paces(seed: int) -> Numbers:
    """How many times as fast FeDLRT is in the end of the heterogeneous test, by basis."""
    stream = heterogeneous_setting.stream(Context("fedlrt/claim-het-converge", seed))
    return {basis: quotient_of_paces(stream, basis) for basis in BASES}


MEASURES: dict[str, tuple[Callable[[int], Numbers], int]] = {
    "fedlrt/claim-hom-stepsize": (admitted_rates, 120),
    "fedlrt/claim-hom-10x": (quotients_of_rounds, 16),
    "fedlrt/claim-het-converge": (quotients_of_rounds_with_four_targets, 20),
    "fedlrt/claim-het-converge, paces": (quotients_of_paces, 600),
}
"""What is measured for each card, and for how many draws."""


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in options.only:
        measure, draws = MEASURES[name]
        rows = [measure(seed) for seed in tqdm(range(draws), desc=name)]
        record[name] = {
            key: {"least": min(row[key] for row in rows), "largest": max(row[key] for row in rows), "draws": draws}
            for key in rows[0]
        }
        record["environment"] = {
            **machine(),
            "packages": package_versions(("numpy", "torch")),
            "sources": sources_digest(),
        }
        write_whole({options.out: (json.dumps(record, indent=1) + "\n").encode()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
