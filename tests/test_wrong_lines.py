"""The runner of wrong lines: they are noticed, and run without the rights of root."""

import ast
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import os
import subprocess
import sys
from pathlib import Path

import pytest
from room.code import twice

FORBIDDEN = [Path("/dev"), *([Path.cwd()] if "WAS_ROOT" in os.environ else [])]

def test_twice():
    assert twice(3) == 6

def test_nothing_is_written_elsewhere():
    assert os.geteuid() != 0
    for folder in FORBIDDEN:
        with pytest.raises(PermissionError):
            (folder / "of-a-wrong-line").touch()
    with pytest.raises(PermissionError):
        os.rename("/dev/full", "/dev/of-a-wrong-line")

def test_programs_start():
    subprocess.run([sys.executable, "-c", "import pytest"], check=True)

def test_home_and_temporary_files_are_scratch(tmp_path):
    assert Path.home().parent == Path(os.environ["TMPDIR"]).parent
    assert Path(os.environ["TMPDIR"]) in tmp_path.parents
    (Path.home() / "settings").touch()
"""


@pytest.fixture
def runner(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import mutants_worker

    return mutants_worker


@pytest.mark.skipif(not os.path.exists("/dev/full") or shutil.which("git") is None, reason="needs Linux and git")
def test_wrong_lines_are_noticed_and_write_in_scratch_alone(runner, tmp_path, monkeypatch):
    """It loads the libraries once, which takes seconds."""
    if runner.is_root():
        if shutil.which("setpriv") is None:
            pytest.skip("root cannot be somebody else here")
        monkeypatch.setenv("WAS_ROOT", "1")
    project, folder = tmp_path / "project", tmp_path / "0"
    for path, text in {"room/code.py": "def twice(x):\n    return 2 * x\n", "tests/test_code.py": TESTS}.items():
        (project / path).parent.mkdir(parents=True)
        (project / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    folder.mkdir()
    monkeypatch.setattr(runner, "ROOT", project)
    worker = runner.Worker(folder)
    report = worker.scratch / "report.json"
    try:
        assert worker.tests(files=["tests/test_code.py"], report=str(report)) == 0, report.read_text()
        assert len(json.loads(report.read_text())["seconds"]) == 4
        (worker.place / "room" / "code.py").write_text("def twice(x):\n    return 3 * x\n")
        assert worker.tests(files=["tests/test_code.py"], report=str(report)) == 1
        assert json.loads(report.read_text())["failed"] == "tests/test_code.py::test_twice"
        (worker.place / "room" / "code.py").write_text("def twice(x):\n    while True:\n        pass\n")
        ended = worker.tests(
            files=["tests/test_code.py"], report=str(report), limits={"tests/test_code.py::test_twice": 0.2}
        )
        assert ended == -signal.SIGPROF
    finally:
        worker.close()


def test_root_does_not_run_wrong_lines_where_it_cannot_be_somebody_else(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "is_root", lambda: False)
    assert runner.without_root(tmp_path) == []
    monkeypatch.setattr(runner, "is_root", lambda: True)
    monkeypatch.setattr(runner, "nobodys", lambda: (65534, 65534))
    for found, why in ((None, "setpriv is not here"), (shutil.which("false"), "status 1")):
        monkeypatch.setattr(runner.shutil, "which", lambda name, found=found: found)
        with pytest.raises(SystemExit, match=rf"must not run as root.*{why}.*--as-root") as caught:
            runner.without_root(tmp_path)
        assert "\n" not in str(caught.value)


def test_a_change_of_looks_alone_is_known_in_pictures_and_nowhere_else(runner):
    from wrong_lines import Sites

    text = 'axes.plot(x, 2 * y, lw=0.9, color=BLUE)\nstyle = {"axes.labelsize": 8.0, "zorder": 3}\n'

    seen = ("*", "2", ", color=BLUE", "3", "0.9", "lw=0.9, ", "8.0")

    def kinds(file):
        visitor = Sites(file, text)
        visitor.visit(ast.parse(text))
        return {(mutant.before, mutant.kind) for mutant in visitor.found if mutant.before in seen}

    same = {("*", "arithmetic"), ("2", "constant"), (", color=BLUE", "argument left out"), ("3", "constant")}
    assert kinds("figures/one.py") == same | {("0.9", "looks"), ("lw=0.9, ", "looks"), ("8.0", "looks")}
    assert kinds("rmt/one.py") == same | {("0.9", "constant"), ("lw=0.9, ", "argument left out"), ("8.0", "constant")}
