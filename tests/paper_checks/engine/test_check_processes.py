"""No process outlives its starter, however that ends; none imports from the user's current folder."""

import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

import pytest
from ended_commands import ended

from paper_checks.engine.processes import LateError, ProcessError, fresh_interpreter, map_work, workers

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

WORKERS = """
from paper_checks.engine.processes import workers
from held import hold
def work(options):
    with workers(2) as pool:
        return list(pool.map(hold, [sys.argv[1]] * 2))
"""
REPLAY = """
from paper_checks.engine.processes import fresh_interpreter
program = (
    "from paper_checks.engine.processes import end_with_input; pipe = sys.stdin.readline().strip(); end_with_input(); "
    "from held import hold; hold(pipe)"
)
def work(options):
    fresh_interpreter(program, sys.argv[1], sys.path, (), 900, print)
"""
COMMAND = """
import argparse, types
import rankproof
options = argparse.Namespace(command=work)
rankproof._parser = lambda: types.SimpleNamespace(parse_args=lambda arguments: options)
sys.exit(rankproof.main([]))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("work", "number"), [(WORKERS, 2), (REPLAY, 1)], ids=["workers", "replay"])
@pytest.mark.parametrize(
    ("end", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_whatever_ends_the_command_ends_its_processes(tmp_path, work, number, end, status):
    program = f"import sys; sys.path[:0] = {[str(ROOT), str(HERE)]!r}\n{work}\n{COMMAND}"
    found, said = ended(["-c", program], tmp_path / "pipe", number, end, cwd=tmp_path)
    assert found == status
    assert "Traceback" not in said
    if end != signal.SIGKILL:
        assert said == "rankproof: stopped\n"


@pytest.mark.parametrize("work", ["replay", "workers"])
def test_what_lies_where_the_user_stands_is_not_imported(tmp_path, work):
    touched = tmp_path / "touched"
    here = tmp_path / "here"
    here.mkdir()
    names = ("json", "fractions", "pickle", "socket", "threading", "numpy", "sitecustomize", "usercustomize", "start")
    for name in names:
        (here / f"{name}.py").write_text(f"open({str(touched)!r}, 'a').write({name!r})\n")
    if work == "replay":
        body = "import rankproof; status = rankproof.main(['replay', 'fedloru-v2/prop-3.1'])"
    else:
        body = (
            "from paper_checks.engine.processes import workers; from held import identity; pool = workers(1); "
            "assert pool.__enter__().submit(identity, 0).result(); pool.__exit__(None, None, None); status = 0"
        )
    settings = (
        ""
        if work == "workers"
        else (
            f"os.environ.update(PYTHONPATH={str(here)!r}, PYTHONSTARTUP={str(here / 'start.py')!r}, "
            "PYTHONINSPECT='1'); "
        )
    )
    program = f"import os, sys; sys.path[:0] = {[str(ROOT), str(HERE)]!r}; {settings}{body}; os._exit(status)"
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not touched.exists()


def test_a_program_that_fails_or_takes_too_long_is_one_error():
    with pytest.raises(ProcessError, match="ZeroDivisionError: division by zero"):
        fresh_interpreter("1 / 0", "", (), (), 900, print)
    with pytest.raises(ProcessError, match="ended with status 3"):
        fresh_interpreter("import os; os._exit(3)", "", (), (), 900, print)
    with pytest.raises(ProcessError, match="more than 1 s"):
        fresh_interpreter("import threading; threading.Event().wait()", "", (), (), 1, print)


def test_the_time_for_the_start_ends_with_the_first_line():
    """The program has much time until its line, and none afterwards."""
    lines = []
    with pytest.raises(LateError, match="more than 0 s"):
        fresh_interpreter(
            "import time; print('a line', flush=True); time.sleep(5)", "", (), (), 0.0, lines.append, start=900.0
        )
    assert lines == ["a line\n"]


def test_a_question_that_is_never_read_does_no_harm():
    with pytest.raises(ProcessError, match="ended with status 4"):
        fresh_interpreter("sys.exit(4)", "x" * 10_000_000, (), (), 900, print)


def test_a_program_sees_the_standard_library_and_what_is_named():
    lines = []
    fresh_interpreter(
        "import json, numpy; print(json.loads(sys.stdin.readline()))",
        '"known"',
        (),
        ("numpy", "no_such"),
        900,
        lines.append,
    )
    assert lines == ["known\n"]
    with pytest.raises(ProcessError, match="No module named 'numpy'"):
        fresh_interpreter("import numpy", "", (), (), 900, print)


class AtOnce(Executor):
    """Does all work when it is submitted, and records it."""

    def __init__(self):
        self.submitted = []

    def submit(self, function, /, *given):
        self.submitted.extend(given)
        done = Future()
        done.set_result(function(*given))
        return done


def test_the_largest_pieces_are_begun_first_and_answers_keep_the_order():
    elsewhere = AtOnce()
    assert list(map_work(abs, [-1, -2, -3, -4], 1, elsewhere, (5, 9, 2, 7))) == [1, 2, 3, 4]
    assert elsewhere.submitted == [-2, -4, -1, -3]
    assert list(map_work(abs, [-1, -2], 1)) == [1, 2]


def test_a_killed_worker_is_one_error():
    with pytest.raises(ProcessError, match="fewer --jobs"), workers(1) as pool:
        pool.submit(os._exit, 9).result()


ONE_THREAD = """
import os, sys
import rankproof
assert rankproof.main(["show", "--again", "fedlrt/alg-6"]) == 0
assert "torch" in sys.modules
import torch
print("threads", torch.get_num_threads(), os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.stderr)
"""


def test_checks_and_replays_have_one_thread_of_linear_algebra(monkeypatch):
    """Two that wait for each other take many times as long where another process is at work."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run([sys.executable, "-c", ONE_THREAD], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == "threads 1 None"
    lines = []
    fresh_interpreter("import os; print(os.environ['OPENBLAS_NUM_THREADS'])", "", (), (), 900, lines.append)
    assert "".join(lines).strip() == "1"
