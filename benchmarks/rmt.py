"""Five top eigenvalues of a spiked Gaussian model: dense against banded, all rows against as many as needed.

Writes one JSON file with the numbers, their ratios and the environment:
``python benchmarks/rmt.py [--out FILE]``. All contenders run in one process, alternating, one thread.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from rmt import Semicircle, SpikedModel, draw_banded, draw_dense

MODEL = SpikedModel((1.5,))
TOP = 5


def seconds(work: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return median and range of the wall time of ``work`` after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return {"median_s": statistics.median(times), "min_s": min(times), "max_s": max(times), "repeats": repeats}


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the peak memory that numpy and Python allocate during ``work``."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def banded(R: int, rng: np.random.Generator, rows: int | None = None, model: SpikedModel = MODEL) -> np.ndarray:
    """Draw the matrix and return its top eigenvalues."""
    return draw_banded(model, R, rng, top=TOP, rows=rows).top(TOP)


def small_R() -> dict[str, object]:
    """Measure R = 2,000: draw plus five eigenvalues, dense by LAPACK and ARPACK, banded with all and with few rows."""
    R, rng = 2000, np.random.default_rng(0)

    def lapack() -> object:
        matrix = draw_dense(MODEL, R, rng).matrix
        return eigh(matrix, eigvals_only=True, subset_by_index=(R - TOP, R - 1), check_finite=False)

    def arpack() -> object:
        return eigsh(draw_dense(MODEL, R, rng).matrix, k=TOP, which="LA", return_eigenvectors=False)

    found: dict[str, object] = {
        "dense, draw only": seconds(lambda: draw_dense(MODEL, R, rng), 5),
        "dense, LAPACK": seconds(lapack, 5),
        "dense, ARPACK": seconds(arpack, 5),
        "banded, all rows": seconds(lambda: banded(R, rng, R), 30),
        "banded, rows needed": seconds(lambda: banded(R, rng), 100),
    }
    base = found["banded, rows needed"]["median_s"]  # type: ignore[index]
    found["ratio to banded, rows needed"] = {
        name: entry["median_s"] / base  # type: ignore[index]
        for name, entry in found.items()
    }
    return found


def large_R() -> dict[str, object]:
    """Measure R = 10^6 on all rows against truncated, up to 10^15 truncated, memory, and the largest difference."""
    rng, R = np.random.default_rng(1), 10**6
    full = draw_banded(MODEL, R, rng, top=TOP, rows=R)
    rows = draw_banded(MODEL, R, rng, top=TOP).rows
    short = type(full)(MODEL, R, full.band[:, :rows], 0.0, TOP, 0)
    found: dict[str, object] = {
        "R = 10^6, all rows": seconds(lambda: banded(R, rng, R), 3),
        "R = 10^6, rows needed": seconds(lambda: banded(R, rng), 50),
        "R = 10^6, largest difference": float(np.abs(full.top(TOP) - short.top(TOP)).max()),
        "R = 10^6, rows": rows,
    }
    found["R = 10^6, ratio"] = found["R = 10^6, all rows"]["median_s"] / found["R = 10^6, rows needed"]["median_s"]  # type: ignore[index]
    for exponent, repeats in ((9, 20), (12, 5), (15, 1)):
        size = 10**exponent
        draw = draw_banded(MODEL, size, rng, top=TOP)
        found[f"R = 10^{exponent}"] = {
            **seconds(lambda size=size: banded(size, rng), repeats),
            "rows": draw.rows,
            "bytes_of_band": draw.band.nbytes,
            "peak_bytes": peak_bytes(lambda size=size: banded(size, rng)),
        }
    several = SpikedModel((2.0, 1.5, -1.5))
    for exponent in (6, 9, 12):
        found[f"R = 10^{exponent}, three spikes"] = seconds(lambda e=exponent: banded(10**e, rng, None, several), 3)
    outlier = seconds(lambda: draw_banded(MODEL, 10**15, rng).top(1), 100)
    found["R = 10^15, the outlier alone"] = outlier
    return found


def global_density() -> dict[str, object]:
    """Measure Sturm counts on 200 points at R = 10^6, and their distance from the semicircle."""
    R, rng = 10**6, np.random.default_rng(2)
    draw = draw_banded(SpikedModel(), R, rng, rows=R)
    grid = np.linspace(-2.1, 2.1, 200)
    began = time.perf_counter()
    counts = draw.counts_below(grid)
    elapsed = time.perf_counter() - began
    return {
        "R": R,
        "points": len(grid),
        "seconds": elapsed,
        "largest distance from the semicircle": float(np.abs(counts / R - Semicircle().cdf(grid)).max()),
    }


def main() -> None:
    """Run everything, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("rmt.json"))
    options = parser.parse_args()
    answer = {
        "environment": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "threads": 1,
        },
        "R = 2000": small_R(),
        "large R": large_R(),
        "global density": global_density(),
    }
    answer["environment"]["peak_resident_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
