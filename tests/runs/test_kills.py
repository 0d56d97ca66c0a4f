"""Runs that are killed, run out of room or lose their data: one line, a good checkpoint, the same bits in the end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def python(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=600
    )


def test_runs_that_are_killed_at_random_moments_end_with_the_same_bits():
    done = python(
        ROOT / "benchmarks" / "kills.py", "--kills", 3, "--of", "pfedloru", "fedlrt"
    )  # 50 and workers: by itself
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    for algorithm in ("pfedloru", "fedlrt"):
        assert found[algorithm]["kills"] >= 3
        assert found[algorithm]["runs compared"] >= 1
        assert found[algorithm]["differing"] == []


LIMITED = """
import os, resource, sys
import rankproof
from runs import folder
folder.SHARE_OF_TIME = float("inf")
limit, user, arguments = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
if user:  # who may not read this program's folder either: everything is loaded by a run before
    assert rankproof.main(["train", *arguments[:-1], arguments[-1] + "-before"]) == 0
    os.setuid(user)
sys.exit(rankproof.main(["train", *arguments]))
"""
SMALL = ["fedavg", "--rows", 8, "--columns", 8, "--save-every", 0]


def refused(done):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("rankproof: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_a_full_disk_ends_in_one_line_and_the_run_goes_on_later(tmp_path):
    # A file may not grow beyond 4 kB, which ledger.csv does after some rounds.
    said = refused(python("-c", LIMITED, 4096, 0, *SMALL, "--rounds", 120, "--out", tmp_path / "full"))
    assert "ledger.csv: File too large" in said
    kept = int(said.split(" keeps round ")[1].split(";")[0])
    assert kept > 10
    assert f"continue with `rankproof train --resume {tmp_path / 'full'}" in said
    assert python("-c", LIMITED, 0, 0, "--resume", tmp_path / "full").returncode == 0
    assert python("-c", LIMITED, 0, 0, *SMALL, "--rounds", 120, "--out", tmp_path / "whole").returncode == 0
    for name in ("metrics.csv", "ledger.csv", "checkpoints/round-000120.safetensors"):
        assert (tmp_path / "full" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody without rights")
def test_a_folder_that_is_not_to_be_written_ends_in_one_line(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    said = refused(python("-c", LIMITED, 0, 65534, *SMALL, "--rounds", 2, "--out", tmp_path / "run"))
    assert "Permission denied" in said
    assert [path.name for path in tmp_path.iterdir()] == ["run-before"]


DATA = """
import numpy as np, torch
def digits():
    x = torch.from_numpy(np.load("numbers.npy"))
    y = (x.sum((1, 2)) > 0).long()
    return (x[:60], y[:60]), (x[60:], y[60:])
"""


def test_data_that_vanish_are_named_and_the_run_goes_on_when_they_are_back(tmp_path):
    import numpy as np

    (tmp_path / "own_data.py").write_text(DATA)
    np.save(tmp_path / "numbers.npy", np.random.default_rng(0).normal(size=(80, 8, 8)).astype(np.float32))
    given = ["fedavg", "--data", "own_data:digits", "--model", "perceptron", "--clients", 3, "--batch", 8, "--steps", 2]
    train = ["-m", "rankproof", "train"]
    done = python(*train, *given, "--rounds", 2, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "numbers.npy").rename(tmp_path / "away.npy")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    said = refused(python(*train, "--resume", "run", "--trust", "--rounds", 4, cwd=tmp_path))
    assert "numbers.npy" in said
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    (tmp_path / "away.npy").rename(tmp_path / "numbers.npy")
    assert python(*train, "--resume", "run", "--trust", "--rounds", 4, cwd=tmp_path).returncode == 0
    done = python(*train, *given, "--rounds", 4, "--out", "whole", cwd=tmp_path)
    assert done.returncode == 0
    for name in ("metrics.csv", "checkpoints/round-000004.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
