"""Folders that others made: the code they name runs only when confirmed, and what they hold reaches no terminal raw."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankproof import main
from runs.plan import make_plan, read_plan
from runs.settings import RunError
from workloads.written import RECORD

ROOT = Path(__file__).resolve().parents[2]
CODE = """
from pathlib import Path
import torch
Path(__file__).with_name("ran").touch()
class Own: pass
def go(): return torch.nn.Linear(6, 2)
def data():
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(0))
    return (x, (x[:, 0] > 0).long()), (x, (x[:, 0] > 0).long())
"""
SMALL = ["--clients", "2", "--steps", "1", "--rounds", "2"]


@pytest.fixture
def received(tmp_path, monkeypatch):
    """The folder of a run of the toolkit's own parts, with a module in it."""
    folder = tmp_path / "received"
    assert main(["train", "fedavg", *SMALL, "--out", str(folder)]) == 0
    (folder / "payload_of_this_test.py").write_text(CODE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    sys.modules.pop("payload_of_this_test", None)


def naming(folder, **changed):
    stored = json.loads((folder / "settings.json").read_text())
    stored |= {name: value for name, value in changed.items() if name in stored}
    stored["settings"] |= {name: value for name, value in changed.items() if name not in stored}
    (folder / "settings.json").write_text(json.dumps(stored))


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"algorithm": "payload_of_this_test:Own"}, "payload_of_this_test:Own"),
        ({"problem": "payload_of_this_test:data"}, "payload_of_this_test:data"),
        ({"problem": "mnist", "model": "payload_of_this_test:go"}, "payload_of_this_test:go"),
        ({"loss": "payload_of_this_test:go"}, "payload_of_this_test:go"),
        ({"problem": "mnist", "model": "hf:payload"}, "hf:payload"),
        ({"pickled": True}, "pickled weights"),
        ({"allow_pickle": True}, "pickled weights"),
    ],
)
@pytest.mark.parametrize(
    "command", [["train", "--resume", "."], ["spectrum", "--checkpoints", "."], ["runs", "export", "."]]
)
def test_code_that_a_folder_names_does_not_run(changed, name, command, received, capsys):
    naming(received, **changed)
    before = sorted(received.rglob("*"))
    capsys.readouterr()
    more = ["--out", str(received.parent / "out")] if command[0] == "spectrum" else []
    assert main([*command, *more]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"names code that would run on this machine, '{name}': inspect it, then confirm with --trust" in said
    assert sorted(received.rglob("*")) == before
    assert os.getcwd() not in sys.path


@pytest.mark.parametrize(
    "form", ["pay-load:go", "1payload:go", "pay load:go", "payload:go ", "payload:go()", "payload::x"]
)
@pytest.mark.parametrize("place", ["algorithm", "problem", "model"])
def test_a_name_of_another_form_imports_nothing(form, place, received, capsys):
    """The check that asks for --trust and the import agree on the form of a name."""
    naming(received, **({"problem": "mnist"} if place == "model" else {}), **{place: form})
    module = form.partition(":")[0]
    (received / f"{module}.py").write_text(CODE)
    sys.path.insert(0, str(received))
    capsys.readouterr()
    assert main(["train", "--resume", "."]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert module not in sys.modules
    assert not (received / "ran").exists()


def test_a_folder_whose_name_has_a_colon_is_no_code(received, capsys):
    received.rename(received.parent / "run:1")
    os.chdir(received.parent)
    assert main(["train", "--resume", "run:1"]) == 0
    assert os.getcwd() not in sys.path


def test_code_that_a_folder_names_runs_when_it_is_confirmed_or_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "payload_of_this_test.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    named = ["fedavg", "--data", "payload_of_this_test:data", "--model", "payload_of_this_test:go", "--out", "run"]
    assert main(["train", *named, *SMALL]) == 0
    assert main(["train", *named, *SMALL[:-1], "3"]) == 0
    assert main(["train", "--resume", "run", "--rounds", "4"]) == 2
    assert main(["train", "--resume", "run", "--rounds", "4", "--trust"]) == 0
    assert main(["spectrum", "--checkpoints", "run", "--out", "out"]) == 2
    assert not list((tmp_path / "out").glob("*.json"))
    with pytest.raises(RunError, match="confirm with --trust"):
        read_plan(tmp_path / "run")
    assert read_plan(tmp_path / "run", trust=True).conduct.rounds == 4
    capsys.readouterr()
    assert main(["train", "fedavg", "--trust"]) == 2
    assert "--trust is for --resume" in capsys.readouterr().err
    sys.modules.pop("payload_of_this_test", None)


def test_modules_in_a_received_folder_shadow_nothing(received):
    """The installed command looks for no module in the folder of a run that it resumes."""
    (received / "csv.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    program = "import sys; sys.path = [p for p in sys.path if p]; import rankproof; sys.exit(rankproof.main())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, "train", "--resume", ".", "--rounds", "3"], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert not (received / "ran").exists()


NASTY = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e"


@pytest.mark.parametrize("action", ["list", "show", "compare", "plot"])
def test_nothing_in_a_run_reaches_the_terminal_raw(action, tmp_path, capsys):
    for seed, word in enumerate((NASTY, NASTY[::-1])):
        folder = tmp_path / f"runs{NASTY.replace('/', '')}" / str(seed)
        assert main(["train", "fedavg", *SMALL, "--out", str(folder)]) == 0
        naming(folder, algorithm=f"fedavg{word}", note=word, **{f"name{NASTY}": word})
        (folder / RECORD).unlink()  # of what the sender's own rankproof wrote nothing shows here
        shutil.rmtree(folder / "checkpoints")
    capsys.readouterr()
    more = ["--out", str(tmp_path / "out")] if action == "plot" else []
    assert main(["runs", action, str(folder.parent), *more]) == 0
    shown = capsys.readouterr()
    assert r"\x1b]0;title\x07" in shown.out + "".join(path.read_text() for path in (tmp_path / "out").glob("*.csv"))
    tables = "".join(path.read_text() for path in (tmp_path / "out").glob("*.csv"))
    assert all(one.isprintable() for text in (shown.out, shown.err, tables) for one in text.replace("\n", ""))


def test_an_error_shows_no_control_characters(tmp_path, capsys):
    assert main(["runs", "list", str(tmp_path / NASTY)]) == 2
    assert all(one.isprintable() for one in capsys.readouterr().err.rstrip("\n"))


def test_a_stopped_run_names_the_command_that_goes_on(tmp_path, capsys, monkeypatch):
    from runs.folder import train

    def stop(metrics):
        if metrics["round"] == 2:
            raise KeyboardInterrupt

    plan = make_plan("fedavg", "quadratics", {"clients": 2, "steps": 1})
    with pytest.raises(KeyboardInterrupt) as caught:
        train(plan, tmp_path / "a run", stop)
    (note,) = caught.value.__notes__
    assert (
        note == f"{tmp_path / 'a run'} keeps round 2; continue with `rankproof train --resume '{tmp_path / 'a run'}'`"
    )
    monkeypatch.setattr("runs.command.train", lambda options: (_ for _ in ()).throw(caught.value))
    assert main(["train", "fedavg"]) == 130
    assert capsys.readouterr().err == f"rankproof: stopped; {note}\n"
