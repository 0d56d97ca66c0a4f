"""Are the stable ranks of an earlier version still the same, seed by seed?

``python benchmarks/same_estimates.py --before REVISION [--seeds N]`` estimates the matrices of `interval_coverage` and
`copies_coverage` with the package as it was, taken from git into a temporary folder, and as it is, each in a process
of its own. Where intervals are the same to the last digit, so is their coverage. Status 1 if one differs by more than
`TOLERANCE`. Genuine MNIST must be present.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import torch
from tqdm import tqdm

from benchmarks.copies_coverage import SPECTRA, WIDTHS_AND_ROWS
from benchmarks.interval_coverage import CONFIDENCE, KNOWN, VECTORS, hessians
from figures.provenance import machine, package_versions
from hessian import DenseOperator, stable_rank_of
from workloads.file_sets import ROOT_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-9


def rotated(values: Any) -> torch.Tensor:
    """A matrix of these eigenvalues."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(values),) * 2))[0]
    dense = torch.from_numpy(Q * values @ Q.T)
    return (dense + dense.T) / 2.0


def cases() -> dict[str, tuple[DenseOperator, dict[str, Any]]]:
    """Matrices and settings."""
    found: dict[str, tuple[DenseOperator, dict[str, Any]]] = {}
    for name, matrix in hessians().items():
        for width in (0.2, 0.05):
            found[f"{name}, width {width}"] = DenseOperator(matrix), {"relative_width": width}
    for name, values in SPECTRA.items():
        for width, rows in WIDTHS_AND_ROWS:
            settings = {"relative_width": width, "basis": rows}
            found[f"{name}, width {width}, {rows} rows"] = DenseOperator(rotated(values)), settings
    for name, values in KNOWN.items():
        for room, vectors in VECTORS.items():
            settings = {"relative_width": 0.2, "basis": 60, "memory": int(4 * len(values) * vectors)}
            found[f"{name}, {room}"] = DenseOperator(rotated(values).float()), settings
    return found


def estimates(seeds: int) -> dict[str, list[list[float]]]:
    """Lower end, value and upper end of every case and seed."""
    torch.set_num_threads(1)
    return {
        name: [
            [one.low, one.value, one.high]
            for seed in range(seeds)
            for one in [stable_rank_of(operator, rng=np.random.default_rng(seed), confidence=CONFIDENCE, **settings)]
        ]
        for name, (operator, settings) in tqdm(cases().items(), disable=None)
    }


def begun(folder: Path, seeds: int) -> subprocess.Popen[bytes]:
    """A process that estimates with the package in a folder."""
    command = [sys.executable, __file__, "--estimates", "--seeds", str(seeds)]
    data = os.path.abspath(os.environ.get(ROOT_VARIABLE) or "data")
    environment = {**os.environ, "PYTHONPATH": str(folder), ROOT_VARIABLE: data}
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE)


def main() -> int:
    """Compares two versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REVISION", help="the earlier version")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--estimates", action="store_true", help="print those of the package that is imported")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.estimates:
        print(json.dumps(estimates(options.seeds)))
        return 0
    if not options.before:
        parser.error("--before names the version to compare with")
    git = ["git", "-C", str(ROOT)]
    named = subprocess.run(
        [*git, "rev-parse", "--short=8", f"{options.before}^{{commit}}"], capture_output=True, text=True
    )
    if named.returncode:
        parser.error(f"there is no revision {options.before}")
    with tempfile.TemporaryDirectory() as folder:
        content = subprocess.run([*git, "archive", options.before], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(content)) as files:
            files.extractall(folder, filter="data")
        running = [begun(place, options.seeds) for place in (Path(folder), ROOT)]
        told = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        print("same_estimates: one of the versions ended without a result", file=sys.stderr)
        return 2
    before, now = (json.loads(text) for text in told)
    different = {
        name: float(np.abs(np.array(now[name]) / np.array(before[name]) - 1.0).max())
        for name in now
        if now[name] != before[name]
    }
    answer = {
        "before": named.stdout.strip(),
        "seeds": options.seeds,
        "cases": len(now),
        "the same to the last digit": len(now) - len(different),
        "largest relative difference of the others": different,
        "environment": {**machine(), "packages": package_versions(("numpy", "scipy", "torch"))},
    }
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps({key: value for key, value in answer.items() if key != "environment"}, indent=1))
    return 0 if all(one <= TOLERANCE for one in different.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
