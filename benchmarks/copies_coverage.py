"""Coverage of stable-rank intervals when eigenvalues have copies that one starting vector cannot separate.

``python benchmarks/copies_coverage.py`` runs the adaptive estimator with fresh starting vectors and probes on rotated
matrices of known spectra with repeated, or almost repeated, eigenvalues. The basis may grow, or has `NARROW` rows, so
that only the probes can show the copies. The file has the coverage, also for the tenth of the seeds whose starting
vector has the smallest part in the largest eigenspace, the side of the misses, widths and products. A case is written
when done; an interrupted run resumes, unless the estimator has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.interval_coverage import CONFIDENCE, of_this_estimator, rotated, stored_rows, with_row
from figures.provenance import machine, package_versions
from hessian import DenseOperator, stable_rank_of
from hessian.numerics.symmetric import normal_rows
from workloads.files import write_whole
from workloads.progress import follow

P = 200
SMALL = 0.01 * np.random.default_rng(0).standard_normal(P)
ARC = np.cos(np.linspace(0.0, np.pi, P))
SIGNS = np.where(np.arange(P) % 2 == 0, 1.0, -1.0)
NARROW = 10
WIDTHS_AND_ROWS = ((0.2, 120), (0.05, 120), (0.2, NARROW))


def above(bulk: NDArray[np.float64], *outliers: float) -> NDArray[np.float64]:
    """Return outliers, and as many eigenvalues of the bulk as make P."""
    return np.r_[outliers, bulk[len(outliers) :]]


SPECTRA = {
    "10 twice, small bulk": above(SMALL, *[10.0] * 2),
    "10 three times, small bulk": above(SMALL, *[10.0] * 3),
    "10 five times, small bulk": above(SMALL, *[10.0] * 5),
    "10 twelve times, small bulk": above(SMALL, *[10.0] * 12),
    "10 and -10 twice, small bulk": above(SMALL, 10.0, 10.0, -10.0, -10.0),
    "20, 5 three times, small bulk": above(SMALL, 20.0, 5.0, 5.0, 5.0),
    "10 three times but for 1e-7, small bulk": above(SMALL, 10.0, 10.0 + 1e-6, 10.0 - 1e-6),
    "5 twice, semicircle of radius 1": above(ARC, *[5.0] * 2),
    "5 three times, semicircle of radius 1": above(ARC, *[5.0] * 3),
    "3 twice, all else 1 or -1": above(SIGNS, *[3.0] * 2),
    "3 three times, all else 1 or -1": above(SIGNS, *[3.0] * 3),
    "3 five times, all else 1 or -1": above(SIGNS, *[3.0] * 5),
    "1 to 20, ten times each": np.repeat(np.arange(1.0, 21.0), 10),
    "3 four times but for 0.3 %, semicircle of radius 0.6": above(0.6 * ARC, *(3.0 - 3e-3 * np.arange(4))),
    "3 five times but for 1.2 %, semicircle of radius 0.8": above(0.8 * ARC, *(3.0 - 9e-3 * np.arange(5))),
    "2, 1 to 0.55 in six steps, small bulk": above(6.0 * SMALL, 2.0, *(1.0 - 0.09 * np.arange(6))),
    "69 to 2 in ten steps, all else nearly 1 or -1": above(
        SIGNS * (1.0 - 0.1 * np.abs(SMALL)), 69.2, 11.5, -10.8, 7.7, 6.5, 6.4, 3.3, 3.1, -2.3, 2.1
    ),
    "5 once, semicircle of radius 1": above(ARC, 5.0),
    "1/k": np.arange(1.0, P + 1.0) ** -1.0,
}
"""Eigenvalues; the last two are simple, for comparison."""


def measure(values: NDArray[np.float64], width: float, rows: int, repetitions: int) -> dict[str, Any]:
    """Measure one spectrum, with one rotation."""
    matrix, Q = rotated(values)
    operator = DenseOperator(matrix)
    size = float(np.abs(values).max())
    truth = float((values**2).sum() / size**2)
    space = torch.from_numpy(Q[:, np.abs(values) > size * (1.0 - 1e-5)])
    found, parts = [], []
    for seed in range(repetitions):
        start = normal_rows(operator, np.random.default_rng([29, seed]), 1)[0]
        parts.append(float(torch.linalg.vector_norm(start @ space) / torch.linalg.vector_norm(start)))
        rng = np.random.default_rng([29, seed])
        found.append(stable_rank_of(operator, rng=rng, relative_width=width, confidence=CONFIDENCE, basis=rows))
    covered = [truth in one for one in found]
    worst = np.argsort(parts)[: max(repetitions // 10, 1)]
    return {
        "stable_rank": truth,
        "width_asked": width,
        "rows": rows,
        "repetitions": repetitions,
        "coverage": sum(covered) / repetitions,
        "coverage_of_the_tenth_with_the_worst_starts": float(np.mean([covered[seed] for seed in worst])),
        "too_high": sum(one.low > truth for one in found) / repetitions,
        "too_low": sum(one.high < truth for one in found) / repetitions,
        "chance_of_so_few": float(binom.cdf(sum(covered), repetitions, CONFIDENCE)),
        "reached": float(np.mean([one.reached for one in found])),
        "median_width": float(np.median([one.relative_width for one in found])),
        "median_products": float(np.median([one.products for one in found])),
        "mean_products": float(np.mean([one.products for one in found])),
    }


def main() -> int:
    """Measure all spectra; return 1 if the coverage of one is below its level beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--only", default="", help="spectra whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = stored_rows(options.out)
    done = {
        (row["spectrum"], row["width_asked"], row["rows"])
        for row in of_this_estimator(rows)
        if row["repetitions"] >= options.repetitions
    }
    cases = [(name, *setting) for setting in WIDTHS_AND_ROWS for name in SPECTRA if options.only in name]
    for name, width, most in follow([case for case in cases if case not in done], "coverage", "case"):
        row = {"spectrum": name, **measure(SPECTRA[name], width, most, options.repetitions)}
        rows = with_row(rows, row, "spectrum", "width_asked", "rows")
        environment = {**machine(), "packages": package_versions(("numpy", "scipy", "torch"))}
        answer = {"confidence": CONFIDENCE, "cases": rows, "environment": environment}
        write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})
        told = ("coverage", "coverage_of_the_tenth_with_the_worst_starts", "median_width", "mean_products")
        print(f"{name}, width {width}, {most} rows: {', '.join(f'{row[key]:.4g}' for key in told)}", flush=True)
    return 0 if all(row["chance_of_so_few"] > 1e-4 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
