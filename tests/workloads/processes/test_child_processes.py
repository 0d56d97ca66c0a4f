"""Programs and workers end with the process that started them, and Ctrl-C is for that one."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from workloads.processes.child_processes import SETTINGS, delay_interrupts, run_program, worker_environment

ROOT = Path(__file__).resolve().parents[3]
LONG = 60.0
"""Seconds that no test takes: only a failure waits for them."""


def python(program):
    return [sys.executable, "-c", program]


def started(program):
    """A process that imports from here, with a pipe as standard input."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}"
    return subprocess.Popen(python(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("import sys; print('out'); print('why', file=sys.stderr); sys.exit(3)", 3, "why\n"),
        ("pass", 0, ""),
        ("import sys; sys.exit(40 + len(sys.stdin.read()))", 40, ""),  # nothing to read, and no waiting for it
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ],
)
def test_the_status_and_the_errors_of_a_program(tmp_path, program, status, said, capfd):
    assert run_program(python(program), tmp_path, LONG) == (status, said)
    assert capfd.readouterr() == ("", "")


def test_a_program_runs_in_its_folder(tmp_path):
    assert run_program(python("open('made', 'w').close()"), tmp_path, LONG) == (0, "")
    assert (tmp_path / "made").exists()


def test_a_program_that_is_not_there_is_one_line(tmp_path):
    assert run_program([str(tmp_path / "nobody")], tmp_path, LONG) == (126, "error: No such file or directory\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_program_that_takes_too_long_ends_with_what_it_started(tmp_path, monkeypatch):
    """The pipe is at its end only when both have closed it, in other words when both have ended."""
    pipe, begun, rest = tmp_path / "pipe", threading.Event(), []
    os.mkfifo(pipe)
    program = (
        "import subprocess, sys, time\n"
        "with open('pipe', 'w') as pipe:\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], pass_fds=[pipe.fileno()])\n"
        "    pipe.write('begun')\n"
        "    pipe.flush()\n"
        "    time.sleep(60)\n"
    )

    def read():
        with pipe.open() as stream:
            assert stream.read(5) == "begun"
            begun.set()
            rest.append(stream.read())

    own_wait = subprocess.Popen.wait

    def wait(process, timeout=None):
        """Time is up as soon as both run."""
        if timeout is None:
            return own_wait(process)
        assert begun.wait(LONG)
        raise subprocess.TimeoutExpired(process.args, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(python(program), tmp_path, LONG)
    reader.join(20.0)
    assert rest == [""]


@pytest.mark.parametrize("ending", ["sys.stdin.read()", "(sys.stdin.read(), os.stat('/nowhere/at/all'))"])
def test_a_worker_ends_when_its_call_returns_or_fails(ending):
    process = started(
        f"import os, time\nfrom workloads.processes.child_processes import end_after\nend_after(lambda: {ending})\n"
        "print('waiting', flush=True)\ntime.sleep(60)"
    )
    assert process.stdout.readline() == "waiting\n"
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(20.0) == 1
    process.stdout.close()


def test_a_worker_ends_with_the_pipe_and_leaves_an_interrupt_to_its_starter():
    process = started(
        "import multiprocessing, os, signal, time\nfrom workloads.processes.child_processes import end_with_pipe\n"
        "watched, held = multiprocessing.Pipe()\nend_with_pipe(watched)\nos.kill(os.getpid(), signal.SIGINT)\n"
        "print('alive', flush=True)\nsys.stdin.read()\nheld.close()\ntime.sleep(60)"
    )
    assert process.stdout.readline() == "alive\n"
    process.stdin.close()
    assert process.wait(20.0) == 1
    process.stdout.close()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held back here")
@pytest.mark.parametrize("threads", [0, 3])  # any of which may take the signal
def test_an_interrupt_waits_and_is_kept_from_what_is_started(threads):
    before, reached = signal.signal(signal.SIGINT, signal.default_int_handler), []
    over = threading.Event()
    for _ in range(threads):
        threading.Thread(target=over.wait, daemon=True).start()

    def interrupted():
        with delay_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            told = subprocess.run(
                python("import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"),
                capture_output=True,
                text=True,
                check=True,
            )
            reached.append(told.stdout)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
    assert reached == ["True\n"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_the_environment_of_workers_is_put_back(monkeypatch):
    set_before, absent = "OMP_NUM_THREADS", "PYTHONSAFEPATH"
    monkeypatch.setenv(set_before, "7")
    monkeypatch.delenv(absent, raising=False)
    before = dict(os.environ)
    with worker_environment():
        assert {name: os.environ[name] for name in SETTINGS} == dict.fromkeys(SETTINGS, "1")
        assert {set_before, absent, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} == set(SETTINGS)
    assert dict(os.environ) == before
