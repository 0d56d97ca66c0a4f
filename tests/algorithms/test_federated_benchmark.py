"""The training benchmark runs at a small size, without the libraries of the comparison; its numbers are not tested."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workloads.data.datasets import DataError, load

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_the_benchmark_of_training_works(tmp_path):
    try:
        load("fashion-mnist")
    except DataError as error:
        pytest.skip(str(error))
    out = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "federated.py", "--tiny", "--only", "tiny", "--out", out],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    rounds, factors = found["rounds, tiny"], found["factors, tiny"]
    assert rounds["largest difference of weights after a round"]["ours"] <= 1e-6
    assert rounds["bare loop"]["cpu"]["ratio"]["median"] == 1.0
    assert found["plain descent, tiny"]["largest difference of weights after a round"]["ours"] <= 1e-6
    assert found["environment"]["peers"] == {"pfl": "absent: left out", "flwr": "absent: left out"}
    low_rank = factors["W0 + AB, rank 4"]
    assert low_rank["bytes up in a round, each client"] == 4 * low_rank["trained numbers"] == 4 * (4 * 216 + 230)
    assert low_rank["operations of a gradient"] < factors["dense"]["operations of a gradient"]
