"""Comparison of stable ranks with an earlier version, seed by seed.

``python benchmarks/same_estimates.py --before REVISION [--seeds N]`` estimates the matrices of `interval_coverage` and
`copies_coverage` with the package as it was, taken from git into a temporary folder, and as it is, each in a process
of its own. If intervals are identical to the last digit, so is their coverage. The JSON file has the results by
revision. The status is 1 if one differs by more than `TOLERANCE`. MNIST must be present.
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
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch

from benchmarks.copies_coverage import SPECTRA, WIDTHS_AND_ROWS
from benchmarks.interval_coverage import CONFIDENCE, KNOWN, REPETITIONS, VECTORS, hessians, rotated
from figures.provenance import machine, package_versions
from workloads.progress import follow

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-9
ESTIMATES = """
import json, sys
import numpy as np, torch, hessian
from hessian import DenseOperator, stable_rank_of

assert hessian.__file__.startswith(sys.argv[3]), hessian.__file__
torch.set_num_threads(1)
print(json.dumps({
    name: [
        [found.low, found.value, found.high]
        for seed in range(int(sys.argv[2]))
        for found in [stable_rank_of(DenseOperator(matrix), rng=np.random.default_rng(seed), **settings)]
    ]
    for name, (matrix, settings) in torch.load(sys.argv[1]).items()
}))
"""
"""Program that uses nothing but the package of the version that it finds: matrices are those of this one."""
Estimates = dict[str, list[list[float]]]
"""Lower end, value and upper end by case and seed."""


def cases() -> dict[str, tuple[torch.Tensor, dict[str, Any]]]:
    """Return matrices and settings."""
    found: dict[str, tuple[torch.Tensor, dict[str, Any]]] = {}
    for name, matrix in hessians().items():
        for width in REPETITIONS:
            found[f"{name}, width {width}"] = matrix, {"relative_width": width}
    for name, values in SPECTRA.items():
        for width, rows in WIDTHS_AND_ROWS:
            found[f"{name}, width {width}, {rows} rows"] = rotated(values)[0], {"relative_width": width, "basis": rows}
    for name, values in KNOWN.items():
        for room, vectors in VECTORS.items():
            settings = {"relative_width": 0.2, "basis": 60, "memory": int(4 * len(values) * vectors)}
            found[f"{name}, {room}"] = rotated(values)[0].float(), settings
    return {name: (matrix, {"confidence": CONFIDENCE, **settings}) for name, (matrix, settings) in found.items()}


def differences(before: Estimates, now: Estimates) -> dict[str, float]:
    """Return the largest relative difference of every case that is not identical to the last digit."""
    return {
        name: float(np.abs(np.array(now[name]) / np.array(before[name]) - 1.0).max())
        for name in now
        if now[name] != before[name]
    }


def main() -> int:
    """Compare two versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REVISION", required=True, help="the earlier version")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("there is nothing to compare without seeds: --seeds must be at least 1")
    git = ["git", "-C", str(ROOT)]
    named = subprocess.run(
        [*git, "rev-parse", "--short=8", f"{options.before}^{{commit}}"], capture_output=True, text=True
    )
    if named.returncode:
        parser.error(f"the revision {options.before} does not exist")
    revision = named.stdout.strip()
    told = []
    with tempfile.TemporaryDirectory() as folder:
        content = subprocess.run([*git, "archive", revision], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(content)) as files:
            files.extractall(Path(folder, "before"), filter="data")
        torch.save(cases(), given := Path(folder, "cases.pt"))
        for place in follow([Path(folder, "before"), ROOT], "estimates", "version"):
            environment = {**os.environ, "PYTHONPATH": str(place)}
            command = [sys.executable, "-c", ESTIMATES, str(given), str(options.seeds), str(place)]
            done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE)
            if done.returncode:
                print(f"same_estimates: the version in {place} ended without a result", file=sys.stderr)
                return 2
            told.append(json.loads(done.stdout))
    different = differences(*told)
    answer = {
        "seeds": options.seeds,
        "cases": len(told[1]),
        "the same to the last digit": len(told[1]) - len(different),
        "largest relative difference of the others": different,
        "environment": {**machine(), "packages": package_versions(("numpy", "scipy", "torch"))},
    }
    stored = json.loads(options.out.read_text()) if options.out.exists() else {}
    options.out.write_text(json.dumps(stored | {revision: answer}, indent=1) + "\n")
    print(json.dumps({key: value for key, value in answer.items() if key != "environment"}, indent=1))
    return 0 if all(one <= TOLERANCE for one in different.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
