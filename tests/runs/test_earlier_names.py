"""Options that were renamed: the old ones are accepted, and folders of earlier versions are read and resumed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from rankproof import main
from runs.catalogue import ALGORITHMS, PROBLEMS, earlier_names, options_of
from runs.folder import METRICS
from runs.listing import drop_edited, find_runs, group_runs
from runs.network_problem import network_problem
from runs.networks.language_federation import LanguageFederation
from runs.plan import make_plan, read_plan
from runs.settings import RunError

EARLIER = {"length": 48, "weighed": "tokens", "at_once": 2, "checkpointing": True, "rows": 5, "pickled": True}
"""Values under the earlier names of the options."""
SETTINGS = {
    "cohort": None,
    "seed": 0,
    "model": "own_small:network",
    "clients": 2,
    "partition": "even",
    "side": None,
    "width": None,
    "norm": "batch",
    "adapt": "none",
    "statistics": "averaged",
    "samples": None,
    "test_samples": None,
    "held_out": 0,
    "own_share": 0.0,
    "crop": 0,
    "flip": False,
    "rows": 7,
    "steps": 2,
    "learning_rate": 0.1,
    "schedule": "constant",
    "schedule_per": "round",
    "batch": 4,
    "epochs": None,
    "optimiser": None,
    "clip": None,
    "optimiser_state": "fresh",
}
"""Settings of a run of FedAvg as the first versions stored them."""
MODULE = """
import numpy as np
import torch
from torch import nn

def data():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((20, 3)).astype("float32"), np.arange(20) % 2
    return (x, y), (x[:9], y[:9])

def network():
    return nn.Linear(3, 2)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_small.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return ["train", "fedavg", "--data", "own_small:data", "--model", "own_small:network", "--clients", "2"]


def test_digests_of_runs_of_earlier_versions_stay():
    common = {"model": "hf:minilm", "truncate": True, "rank": 2, "tau": 1}
    old = make_plan("fedloru", "rated-sentences", {**common, **EARLIER})
    assert old.digest == "5b4f9e2969b9"
    assert {name: old.stored_settings[name] for name in EARLIER} == EARLIER
    present = {name: EARLIER[earlier] for name, earlier in LanguageFederation.earlier_names.items()}
    assert make_plan("fedloru", "rated-sentences", {**common, **present}) == old
    assert {name: old.settings[name] for name in present} == present
    assert make_plan("fedavg", "fashion-mnist", {"eval_batch": 50}).digest == "dbdf86f709ea"
    assert make_plan("fedavg", "quadratics", {"rows": 4}).digest == "59ef407f623f"


def test_a_stored_run_of_an_earlier_version_is_read_and_resumed(own, capsys):
    more = ["--steps", "2", "--batch", "4", "--rounds"]
    assert main([*own, "--rows", "7", *more, "2", "--out", "old"]) == 0
    assert main([*own, "--eval-batch", "7", *more, "4", "--out", "new"]) == 0
    assert json.loads(Path("old/settings.json").read_text())["settings"] == SETTINGS
    plan = read_plan(Path("old"), trust=True)
    assert plan.settings["eval_batch"] == 7
    assert main(["train", "--resume", "old", "--rounds", "4", "--trust"]) == 0
    assert Path("old", METRICS).read_bytes() == Path("new", METRICS).read_bytes()
    assert json.loads(Path("old/settings.json").read_text())["settings"] == SETTINGS
    assert main([*own, "--rows", "7", *more, "4", "--out", "new"]) == 0  # the same run, already finished
    assert main([*own, "--rows", "6", *more, "4", "--out", "new"]) == 2
    assert "eval_batch" in capsys.readouterr().err


def test_settings_may_have_the_present_names(own):
    assert main([*own, "--eval-batch", "7", "--rounds", "1", "--out", "run"]) == 0
    path = Path("run", "settings.json")
    path.write_text(path.read_text().replace('"rows": 7', '"eval_batch": 7'))
    assert read_plan(path.parent, trust=True).settings["eval_batch"] == 7
    path.write_text(path.read_text().replace('"rounds": 1', '"rounds": 2'))
    assert main(["train", "--resume", "run", "--rounds", "2", "--trust"]) == 0
    path.write_text(path.read_text().replace('"eval_batch": 7', '"eval_batch": 7, "rows": 7'))
    with pytest.raises(RunError, match="rows is the earlier name of eval_batch; give one of the two"):
        read_plan(path.parent, trust=True)


@pytest.mark.parametrize("order", [1, -1])
def test_an_option_is_not_given_under_both_names(own, capsys, order):
    both = [("--rows", "10"), ("--eval-batch", "7")][::order]
    assert main([*own, *both[0], *both[1], "--rounds", "1", "--out", "run"]) == 2
    assert "--rows is the earlier name of --eval-batch; give one of the two" in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_run_whose_settings_have_the_present_names_is_compared(own, capsys):
    for name, seed in (("a", "0"), ("b", "1")):
        assert main([*own, "--eval-batch", "7", "--rounds", "1", "--seed", seed, "--out", f"runs/{name}"]) == 0
    path = Path("runs/a/settings.json")
    path.write_text(path.read_text().replace('"rows": 7', '"eval_batch": 7'))
    (group,) = group_runs(drop_edited(find_runs(Path("runs"))))
    assert sorted(group.runs) == [0, 1]
    path.write_text(path.read_text().replace('"eval_batch": 7', '"eval_batch": 8'))
    assert [run.folder.name for run in drop_edited(find_runs(Path("runs")))] == ["b"]
    path.write_text(path.read_text().replace('"eval_batch": 8', '"eval_batch": 7, "rows": 7'))
    assert [run.folder.name for run in drop_edited(find_runs(Path("runs")))] == ["b"]


def test_what_a_resumed_run_is_advised_is_what_it_takes(own, capsys):
    assert main([*own, "--rounds", "1", "--out", "run"]) == 0
    Path("own_small.py").write_text(MODULE.replace("default_rng(0)", "default_rng(1)"))
    del sys.modules["own_small"]
    capsys.readouterr()
    assert main(["train", "--resume", "run", "--rounds", "2", "--trust"]) == 2
    told = capsys.readouterr().err
    assert (
        "has changed since then; leave --resume out and name another folder with --out, or start over with --force"
        in told
    )
    assert main([*own, "--rounds", "2", "--out", "run"]) == 2
    assert (
        "has changed since then; name another folder with --out, or start over with --force" in capsys.readouterr().err
    )
    assert main([*own, "--rounds", "1", "--out", "run", "--force"]) == 0


def test_the_help_shows_the_present_names_only(capsys):
    for problem, algorithm in (("rated-sentences", "rolora"), ("mnist", "fedavg")):
        assert main(["train", algorithm, "--data", problem, "--help"]) == 0
        text = capsys.readouterr().out
        for name, earlier in earlier_names(problem).items():
            assert f"--{name.replace('_', '-')} " in text.replace(",", " ")
            assert f"--{earlier.replace('_', '-')} " not in text.replace(",", " ")
    assert main(["train", "fedavg", "--data", "quadratics", "--help"]) == 0
    assert "--rows N" in capsys.readouterr().out  # of the weights, which is another option


def test_no_earlier_name_is_another_option():
    for algorithm in ALGORITHMS:
        for problem in PROBLEMS:
            assert not earlier_names(problem).values() & options_of(algorithm, problem, {}, every=True).keys()


def test_a_field_of_a_users_algorithm_with_an_earlier_name_is_refused(own, capsys):
    Path("own_rows.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\nclass Mine:\n    rows: int = 2\n"
        "    def start(self): ...\n    def round(self): ...\n    def weights(self): ...\n"
    )
    assert main(["train", "own_rows:Mine", *own[2:], "--rows", "3"]) == 2
    assert "both have an option --rows; rename a field" in capsys.readouterr().err


def test_keywords_of_earlier_versions_are_taken():
    x, y = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 3))).float(), torch.arange(6) % 2
    made = network_problem(nn.Linear(3, 2), (x, y), [range(3), range(3, 6)], (x, y), rows=2)
    assert made.rows == 2
