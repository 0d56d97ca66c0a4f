"""`rankproof train` through its front door."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from algorithms.fedloru import RESTARTS
from rankproof import main
from runs.catalogue import EXECUTORS
from runs.settings import OPTIONS, default

SMALL = ["--rounds", "3", "--rows", "5", "--columns", "4"]
METRICS, SETTINGS = "metrics.csv", "settings.json"


def refused(capsys, *arguments):
    """The one line that a command ends in."""
    assert main(["train", *map(str, arguments)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.startswith("rankproof: ")
    assert len(answer.err.splitlines()) == 1
    return answer.err


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_train_then_lengthen(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert main(["train", "fedlrt", *SMALL, "--out", folder]) == 0
    assert "fedlrt on quadratics: round 3, loss" in capsys.readouterr().out
    assert main(["train", "--resume", folder, "--rounds", "5"]) == 0
    assert "round 5" in capsys.readouterr().out
    assert len((tmp_path / "run" / METRICS).read_text().splitlines()) == 7


def test_list_names_algorithms_and_problems(capsys):
    assert main(["train", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "fedloru" in listed
    assert "quadratics" in listed


def test_every_option_reaches_the_settings(tmp_path):
    given = {
        "clients": 5, "cohort": 3, "rounds": 2, "steps": 3, "learning_rate": 0.01, "rank": 1, "tau": 2,
        "restart": "keep A", "scale": 0.5, "truncation": 0.2, "rows": 4, "columns": 3, "heterogeneity": 0.25,
        "samples": 7, "seed": 9, "executor": "vmap",
    }  # fmt: skip
    assert set(given) == set(OPTIONS)
    assert all(value != default(name) for name, value in given.items())
    arguments = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    assert main(["train", "fedloru", "--data", "ridges", *arguments, "--out", str(tmp_path)]) == 0
    stored = json.loads((tmp_path / SETTINGS).read_text())
    assert stored == {"algorithm": "fedloru", "problem": "ridges", **given}


def test_the_help_tells_every_option_with_its_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["train", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for name, option in OPTIONS.items():
        word = "WORD" if option.kind is str else "N"
        ending = "" if option.optional else f"; default: {default(name)}"
        assert f"--{name.replace('_', '-')} {word} {option.text}; {option.takes}{ending} --" in told
    assert "--data PROBLEM default: quadratics; see --list --" in told
    assert "--out DIR folder of the run; default: results/ALGORITHM-PROBLEM --" in told
    assert "--resume DIR go on where the run in this folder stood" in told


def test_words_are_those_of_the_algorithms():
    assert OPTIONS["restart"].takes == f"one of {', '.join(map(repr, RESTARTS))}"
    assert OPTIONS["executor"].takes == f"one of {', '.join(map(repr, EXECUTORS))}"


def test_the_help_is_read_without_torch():
    program = "import sys, rankproof; rankproof._parser(); print('torch' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an algorithm"),
        (["fedprox"], "unknown algorithm 'fedprox'; known: fedavg"),
        (["fedavg", "--data", "cifar"], "unknown problem"),
        (["fedlora", "--rank", "99"], "rank 99 does not fit W"),
        (["rolora-exact"], "needs a regression"),
        (["fedlrt-naive", "--executor", "vmap"], "use the sequential executor"),
        (["fedavg", "--cohort", "5"], "cohort must be at most the number of clients, 4, got 5"),
        (["fedavg", "--heterogeneity", "1e300"], "the loss at the start is nan; lower heterogeneity"),
        (["fedavg", "--rows", "100000"], "quadratics of this size takes"),
        (["fedavg", "--learning-rate", "1e30"], "lower the learning rate"),
        (["fedavg", "--out", ""], "a folder needs a name"),
        (["--resume", ""], "a folder needs a name"),
        (["--resume", "nowhere"], "nowhere holds no run"),
        *(([f"--{name.replace('_', '-')}={value}"], f"{name} must be") for name, values in {
            **dict.fromkeys(
                ("clients", "cohort", "rounds", "steps", "rank", "tau", "rows", "columns", "samples"),
                ("0", "-5", str(10**30)),
            ),
            "seed": ("-1", str(2**70)),
            **dict.fromkeys(("learning_rate", "scale"), ("nan", "inf", "-inf", "0")),
            **dict.fromkeys(("truncation", "heterogeneity"), ("nan", "inf", "-1")),
            "learning_rate": ("nan", "inf", "0", "-0.1", "1e400"),
            "restart": ("zero", ""),
            "executor": ("ray", ""),
        }.items() for value in values),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_one_line_and_status_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = ["fedavg"] if arguments and arguments[0].startswith("--") and arguments[0] != "--resume" else []
    assert message in refused(capsys, *named, *arguments)
    for folder in Path("results").glob("*"):  # a start that failed blocks no folder
        assert main(["train", "fedlin", *SMALL, "--out", str(folder)]) == 0


@pytest.mark.parametrize(
    "more", [["fedavg"], ["--data", "legendre"], ["--out", "x"], ["--force"], ["--steps", "3"], ["--seed", "1"]]
)
def test_a_resumed_run_keeps_what_it_is(more, tmp_path, capsys):
    assert main(["train", "fedavg", *SMALL, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    before = content(tmp_path)
    assert "only --rounds may be named" in refused(capsys, "--resume", tmp_path, *more)
    assert content(tmp_path) == before


def test_force_names_what_it_removes_and_removes_what_a_run_writes(tmp_path, capsys):
    assert main(["train", "fedavg", *SMALL, "--out", str(tmp_path)]) == 0
    (tmp_path / "notes.txt").write_text("mine")
    capsys.readouterr()
    before = content(tmp_path)
    for start in ("fedlin", "fedprox"), ("fedlin", "--rank", "-1"):  # what fails at the door removes nothing
        assert main(["train", *start[1:], *SMALL, "--out", str(tmp_path), "--force"]) == 2
    capsys.readouterr()
    assert content(tmp_path) == before
    assert "holds a run with other algorithm" in refused(capsys, "fedlin", *SMALL, "--out", tmp_path)
    assert content(tmp_path) == before
    assert main(["train", "fedlin", *SMALL, "--out", str(tmp_path), "--force"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    names = ("state.pt", METRICS, "ledger.csv", SETTINGS)
    assert first == f"removed {', '.join(str(tmp_path / name) for name in names)}"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert main(["train", "fedlin", *SMALL, "--out", str(tmp_path / "new"), "--force"]) == 0
    assert "removed" not in capsys.readouterr().out
