"""The examples are short, run as they stand, and learn."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rankproof import main

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.mark.parametrize(("name", "least"), [("own_network", 0.8), ("own_data", 0.9)])
def test_accuracy_is_far_above_chance(name, least, capsys):
    """Chance is the share of the largest class: at most 0.4 of five, and a quarter of four."""
    assert float(printed(name, capsys)[-1][1]) > least


def test_an_own_algorithm_descends(capsys):
    losses = [float(loss) for _, loss in printed("own_algorithm", capsys)]
    assert losses[-1] < 0.02 * losses[0]


def test_own_images_are_learnt_through_low_rank_factors(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES.parent)
    command = "train fedloru --data examples.own_images:images --model perceptron --width 16 --clients 4 --rounds 8"
    assert main([*command.split(), "--learning-rate", "0.3", "--out", str(tmp_path / "run")]) == 0
    assert float(re.search(r"accuracy ([\d.]+)", capsys.readouterr().out)[1]) > 0.9


def test_every_example_is_short_and_tested():
    files = sorted(EXAMPLES.glob("*.py"))
    assert [file.stem for file in files] == ["own_algorithm", "own_data", "own_images", "own_network"]
    for file in files:
        assert len([line for line in file.read_text().splitlines() if line.strip()]) < 30


PROJECTS = {
    "fedavg_quadratics": 6,
    "papers/federated_lora": 12,
    "papers/fedex_lora": 10,
    "papers/fedpara": 14,
    "papers/fedprox": 11,
    "papers/low_rank_perturbations": 24,
    "papers/rslora": 5,
    "papers/scaffold": 18,
}
"""Papers of the literature, and their numbers of tests."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", PROJECTS)
def test_a_paper_of_the_literature_passes_its_own_tests(place):
    project = EXAMPLES / place
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(project), "tests"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{PROJECTS[place]} passed" in done.stdout


def test_every_paper_of_the_literature_is_tested():
    found = {path.parent.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("pyproject.toml")}
    assert found == set(PROJECTS)


def printed(name, capsys):
    with torch.random.fork_rng():
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return [line.split() for line in capsys.readouterr().out.splitlines()]
