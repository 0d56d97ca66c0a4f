"""`rankproof train` through its front door."""

import json
import re
import subprocess
import sys
from dataclasses import MISSING
from pathlib import Path

import pytest

from rankproof import main
from runs.catalogue import GROUPS, options_of

SMALL = ["--rounds", "3", "--rows", "5", "--columns", "4"]
METRICS, SETTINGS = "metrics.csv", "settings.json"


def refused(capsys, *arguments):
    """The one line that a command ends in, after those of its progress, which a busy machine shows from ten seconds."""
    assert main(["train", *map(str, arguments)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    *progress, line = answer.err.splitlines(keepends=True)
    assert all(re.search(r": round \d+ of \d+, ", one) for one in progress)
    assert line.startswith("rankproof: ")
    return line


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
    lines = listed.splitlines()
    for kind, names in GROUPS.items():
        assert lines[lines.index(f"{kind}:") + 1].strip().split(", ") == list(names)


def test_every_option_reaches_the_settings(tmp_path):
    given = {
        "clients": 5,
        "cohort": 3,
        "steps": 3,
        "learning_rate": 0.01,
        "rank": 1,
        "tau": 2,
        "restart": "keep A",
        "scale": 0.5,
        "rows": 4,
        "columns": 3,
        "heterogeneity": 0.25,
        "samples": 7,
        "seed": 9,
        "batch": 4,
        "alignment": True,
        "schedule": "cosine",
        "schedule_period": 5,
        "schedule_minimum": 0.001,
        "schedule_warmup": 1,
        "b_rate": 0.02,
        "optimiser": "sgd",
        "momentum": 0.5,
        "nesterov": True,
        "a_at": "inputs",
        "precision": "float32",
    }
    flags = [
        part
        for name, value in given.items()
        for flag in [f"--{name.replace('_', '-')}"]
        for part in ([flag] if value is True else [flag, str(value)])
    ]
    conduct = {"executor": "vmap", "device": "cpu", "evaluate_every": 2}
    flags += [part for name, value in conduct.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    arguments = ["fedloru", "--data", "ridges", *flags, "--rounds", "2", "--save-every", "0.5", "--out", str(tmp_path)]
    assert main(["train", *arguments]) == 0
    stored = json.loads((tmp_path / SETTINGS).read_text())
    assert (stored["algorithm"], stored["problem"], stored["rounds"]) == ("fedloru", "ridges", 2)
    known = options_of("fedloru", "ridges", given)
    assert all(given[name] != known[name].default for name in set(given) - {"schedule_period"})
    assert {name: stored["settings"][name] for name in given} == given
    assert set(stored["settings"]) == set(known)
    assert stored["conduct"] == conduct


def test_the_folder_is_named_by_the_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for more in (
        [],
        ["--steps", "10"],
        ["--rounds", "4"],
        ["--steps", "11"],
        ["--evaluate-every", "2", "--rounds", "5"],
    ):
        assert main(["train", "fedavg", *SMALL, *more]) == 0
    folders = sorted(Path("results/runs").iterdir())
    assert len(folders) == 2
    assert all(folder.name.startswith("fedavg-quadratics-") for folder in folders)


def test_the_help_is_read_without_torch_and_runs_load_no_scipy():
    program = (
        "import sys, rankproof, runs.command; rankproof._parser(); print('torch' in sys.modules); "
        "import runs.folder; print('scipy' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an algorithm"),
        (["fedfoo"], "unknown algorithm 'fedfoo'; known: fedavg"),
        (["fedavgg"], "unknown algorithm 'fedavgg'; did you mean fedavg?"),
        (["fedavg", "--data", "cifar"], "unknown problem"),
        (
            ["fedavg", "mnist"],
            "one algorithm, fedavg, and not mnist as well; name what it trains on as in --data mnist",
        ),
        (["--model", "resnet10", "mnist"], "one algorithm, fedavg, and not mnist as well; name what"),
        (["fedavg", "fedlora"], "train takes one algorithm, fedavg, and not fedlora as well"),
        (["fedavg", "--clientz", "3"], "fedavg on quadratics takes no --clientz; did you mean --clients?"),
        (
            ["fedavg", "--tau=3"],
            "fedavg on quadratics takes no --tau; fedloru, fedloru-finetune, mfedloru, pfedloru take --tau",
        ),
        (
            ["fedlora", "--ranks", "1,2"],
            "fedlora on quadratics takes no --ranks; fedhm, hetlora, rbla, flexlora, flora take --ranks, mfedloru "
            "takes --client-ranks",
        ),
        (["fedavg", "--convolution", "x"], "takes no --convolution; fedlrt, fedlrt-full, fedlrt-plain, fedlrt-naive,"),
        (["fedavg", "--schedule", "cosine"], "needs --schedule-period"),
        (["fedavg", "--momentum", "0.9"], "takes no --momentum; it goes with --optimiser sgd"),
        (["fedavg", "--eps", "0.9"], "takes no --eps; it goes with --optimiser adam or adamw"),
        (["fedavg", "--schedule-period", "3"], "takes no --schedule-period; it goes with --schedule cosine"),
        (["fedavg", "--optimiser", "lion"], "optimiser must be one of sgd, adam, adamw, got 'lion'"),
        (["nowhere:Algorithm"], "there is no module 'nowhere' for --algorithm"),
        (["runs.settings:Conduct"], "must be a dataclass with start, round and weights"),
        (["fedlora", "--rank", "99"], "rank 99 does not fit W"),
        (["rolora-exact"], "needs a regression"),
        (["fedlrt-naive", "--executor", "vmap"], "use the sequential executor"),
        (["fedavg", "--cohort", "5"], "cohort must be at most the number of clients, 4, got 5"),
        (["fedavg", "--heterogeneity", "1e300"], "those of client 0 are not: lower heterogeneity"),
        (["fedavg", "--rows", "100000"], "a problem of this size takes"),
        (["fedavg", "--learning-rate", "1e30"], "lower the learning rate"),
        (["fedavg", "--out", ""], "a folder needs a name"),
        (["--resume", ""], "a folder needs a name"),
        (["--resume", "nowhere"], "nowhere contains no run"),
        *(
            ([f"--{name.replace('_', '-')}={value}"], f"{name} must be")
            for name, values in {
                **dict.fromkeys(
                    ("clients", "cohort", "rounds", "evaluate_every", "rows", "columns"),
                    ("0", "-5", str(10**30), "1.5"),
                ),
                "seed": ("-1", str(2**70)),
                "learning_rate": ("nan", "inf", "1e400", "x"),
                "heterogeneity": ("nan", "inf", "-1"),
                "save_every": ("nan", "-1"),
                "save_in_round": ("nan", "-1"),
                "executor": ("rays", ""),
            }.items()
            for value in values
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_one_line_and_status_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = ["fedavg"] if arguments and arguments[0].startswith("--") and arguments[0] != "--resume" else []
    assert message in refused(capsys, *named, *arguments)
    for folder in Path("results").glob("*"):  # a start that failed blocks no folder
        assert main(["train", "fedlin", *SMALL, "--out", str(folder)]) == 0


OWN = """
from dataclasses import dataclass
from typing import NamedTuple

from algorithms.descent import descend
from algorithms.federation import Reply


class Mine(NamedTuple):
    w: object
    rounds: int


@dataclass(frozen=True)
class Stepping:
    \"\"\"One step.

    Attributes:
        rate: Learning rate of the step.
    \"\"\"

    rate: float = 0.1

    def start(self, fed, w):
        return Mine(w, 0)

    def round(self, fed, cohort, state):
        return Mine(state.w - self.rate * fed.mean(slope, to=cohort, w=state.w), state.rounds + 1)

    def weights(self, state):
        return state.w


def slope(client, memory, w):
    return Reply(upload=client.gradient(w))
"""


def test_a_users_own_algorithm(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_algorithm.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    given = ["own_algorithm:Stepping", "--rate", "0.5", "--out", "run"]
    assert main(["train", *given, "--rounds", "2"]) == 0
    assert main(["train", "--resume", "run", "--rounds", "4", "--trust"]) == 0
    assert main(["train", *given[:3], "--rounds", "4", "--out", "whole"]) == 0
    assert Path("run", METRICS).read_bytes() == Path("whole", METRICS).read_bytes()
    index = json.loads(Path("run/checkpoints/round-000004.json").read_text())["content"]
    assert index["algorithm"]["named"] == "own_algorithm.Mine"
    capsys.readouterr()
    assert main(["train", "own_algorithm:Stepping", "--help"]) == 0
    assert "--rate X" in capsys.readouterr().out


def test_a_field_of_a_users_algorithm_that_a_run_has_too_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_field.py").write_text(OWN.replace("rate:", "workers:").replace("self.rate", "self.workers"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for more in ([], ["--workers", "2"]):
        said = refused(capsys, "own_field:Stepping", *more)
        assert "--workers is an option of every run; rename the field of own_field:Stepping" in said


def test_the_help_lists_what_an_algorithm_and_a_problem_take(capsys):
    for algorithm, there, lacking in (("fedloru", "--tau N", "--truncation"), ("fedlrt", "--truncation X", "--tau")):
        assert main(["train", algorithm, "--data", "ridges", "--help"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert there in text
        assert lacking not in text
        assert "--samples N Number of samples of each client; default: 50" in text
        assert "--momentum X" in text  # of every choice of the optimiser
    assert main(["train", "fedavg", "--data", "mnist", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(
        flag in text for flag in ("--partition-psi X", "--partition-together WORD")
    )  # of every division, not chosen yet
    assert main(["train", "--help"]) == 0
    assert "--samples" not in capsys.readouterr().out


def test_only_what_is_always_needed_is_needed_without_a_condition(capsys):
    assert main(["train", "fedlrt", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Rounds or steps between changes; needed with --schedule step" in text
    assert "Rounds or steps T of the decrease; needed with --schedule cosine or linear" in text
    assert main(["train", "fedavg", "--data", "fashion-mnist", "--help"]) == 0
    assert "Folder with one file of sample indices per client; needed with --partition files" in " ".join(
        capsys.readouterr().out.split()
    )
    for algorithm, problem in (("fedavg", "quadratics"), ("rolora", "rated-sentences"), ("pfedloru", "mnist")):
        always = {option.flag for option in options_of(algorithm, problem, {}).values() if option.default is MISSING}
        assert main(["train", algorithm, "--data", problem, "--help"]) == 0
        text = capsys.readouterr().out
        for entry in re.split(r"\n  (?=--)", text):
            assert not re.search(r";\s+needed\s*$", entry) or entry.split()[0] in always


def test_options_of_an_algorithm_that_is_not_named(capsys):
    said = refused(capsys, "--rank", "3")
    assert "--rank" in said
    assert "name the algorithm" in said


def test_a_folder_that_is_not_to_be_written(tmp_path, capsys):
    place = tmp_path / "file"
    place.write_text("mine")
    assert "cannot use" in refused(capsys, "fedavg", *SMALL, "--out", place / "run")
    assert place.read_text() == "mine"


@pytest.mark.parametrize(
    "more", [["fedavg"], ["--data", "legendre"], ["--out", "x"], ["--force"], ["--steps", "3"], ["--seed", "1"]]
)
def test_a_resumed_run_keeps_what_it_is(more, tmp_path, capsys):
    assert main(["train", "fedavg", *SMALL, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    before = content(tmp_path)
    flags = (
        "--rounds, --executor, --device, --evaluate-every, --workers, --address, --gpus-per-worker, --save-every, "
        "--save-in-round, --keep-every, --spectrum, --spectrum-quantities, --tensorboard, --root"
    )
    assert f"only {flags} may be named" in refused(capsys, "--resume", tmp_path, *more)
    assert content(tmp_path) == before


def test_force_names_what_it_removes_and_removes_what_a_run_writes(tmp_path, capsys):
    assert main(["train", "fedavg", *SMALL, "--out", str(tmp_path)]) == 0
    (tmp_path / "notes.txt").write_text("mine")
    capsys.readouterr()
    before = content(tmp_path)
    for start in ("fedfoo",), ("fedlin", "--steps", "-1"):  # what fails at the door removes nothing
        assert main(["train", *start, *SMALL, "--out", str(tmp_path), "--force"]) == 2
    capsys.readouterr()
    assert content(tmp_path) == before
    assert "holds a run with other algorithm" in refused(capsys, "fedlin", *SMALL, "--out", tmp_path)
    assert content(tmp_path) == before
    assert main(["train", "fedlin", *SMALL, "--out", str(tmp_path), "--force"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    names = ("checkpoints", METRICS, "ledger.csv", SETTINGS)
    assert first == f"removed {', '.join(str(tmp_path / name) for name in names)}"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert main(["train", "fedlin", *SMALL, "--out", str(tmp_path / "new"), "--force"]) == 0
    assert "removed" not in capsys.readouterr().out
