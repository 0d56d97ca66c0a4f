"""The page on runs: its commands, its file and its programs do what it says."""

import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import matplotlib as mpl
import pytest

import runs
from rankproof import main
from runs.plan import read_plan

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")
FILES, TRACKED = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.S)
FRAME, TRACKER = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_the_commands_on_files_train_runs(folder, capsys):
    dry, *others = FILES.splitlines()
    assert main(shlex.split(dry.partition(" > ")[0])[1:]) == 0
    (folder / "run.toml").write_text(capsys.readouterr().out)
    for command in others:
        assert main(shlex.split(command)[1:]) == 0
    plans = [read_plan(path) for path in (folder / "results" / "runs").iterdir()]
    assert {(plan.settings["rank"], plan.settings["seed"]) for plan in plans} == {(3, 0), (2, 1)}


def test_the_file_on_the_page_is_a_configuration(folder):
    text = re.search(r"```toml\n(.*?)```", PAGE, flags=re.S)[1]
    (folder / "page.toml").write_text(text)
    assert main(["train", "--config", "page.toml", "--out", "run"]) == 0
    content = tomllib.loads(text)
    plan = read_plan(folder / "run")
    assert (plan.algorithm, plan.problem, plan.conduct.rounds) == tuple(
        content.pop(n) for n in ("algorithm", "data", "rounds")
    )
    assert {name: plan.settings[name] for name in content} == content


def test_the_frame_has_what_the_page_says(folder):
    mpl.use("Agg")
    assert main([*shlex.split(re.search(r"trained with: rankproof (.*)", FRAME)[1])]) == 0
    names = {}
    exec(FRAME, names)
    assert names["frame"].attrs["settings"]["learning_rate"] == 0.05
    listed = re.search(r"`frame\.attrs` contains (.*?)\. Several", PAGE, flags=re.S)[1]
    assert set(re.findall(r"`(\w+)`", listed)) == set(runs.load("results/mine").attrs)


def test_ten_lines_log_to_weights_and_biases(folder, monkeypatch):
    """With a module that has the two functions of W&B that the page calls."""
    logged, begun = [], []
    wandb = ModuleType("wandb")
    wandb.run = None

    def init(**options):
        begun.append(options)
        wandb.run = SimpleNamespace(**options)

    wandb.init, wandb.log = init, lambda metrics, step: logged.append((step, metrics["loss"]))
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    assert len(TRACKER.splitlines()) <= 10
    (folder / "my_tracker.py").write_text(TRACKER)
    try:
        assert main(shlex.split(TRACKED)[1:]) == 0
    finally:
        sys.modules.pop("my_tracker", None)
    (run,) = (folder / "results" / "runs").iterdir()
    frame = runs.load(run)
    assert logged == list(frame["loss"].items())
    (options,) = begun
    assert options["id"] == run.name
    assert options["config"]["learning_rate"] == frame.attrs["settings"]["learning_rate"]
