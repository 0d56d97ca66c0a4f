"""Child processes that end with their parent, however it ends: normally, by an error, or by a signal.

Each waits in a thread for the closing of a pipe whose other end only its starter holds; the system closes it even for a
starter that is killed. Pipes and threads work alike on Linux, macOS and Windows.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SETTINGS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONSAFEPATH"), "1")
"""Environment of a worker: one thread for linear algebra, and no import from the user's current folder."""


@contextmanager
def worker_environment() -> Iterator[None]:
    """Apply `SETTINGS`, while open, to processes started and libraries imported.

    Threads of linear algebra wait for each other actively: with a process of higher priority at work on one of two
    processors, eigenvalues of a 400 x 400 matrix took seventy times as long by two threads as by one.
    """
    before = {name: os.environ.get(name) for name in SETTINGS}
    os.environ.update(SETTINGS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C while open, and keep it from the processes started meanwhile, because their parent handles it.

    Another thread of this process may take the signal, and Python then interrupts the main one all the same; what comes
    so is kept, and raised at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append(number)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def end_with_pipe(watched: Connection) -> None:
    """End this process at once when the other end of the pipe is closed; Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_after(lambda: watched.poll(None))


def end_after(closed: Callable[[], object]) -> None:
    """End this process at once when a call returns."""

    def wait() -> None:
        with suppress(OSError):
            closed()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_program(command: Sequence[str], folder: Path, timeout: float) -> tuple[int, str]:
    """Run a program without a shell, input or output; the processes that it starts end with it.

    A second interpreter waits for the closing of the pipe, in a session of its own that a terminal does not reach.

    Args:
        command: The program and its arguments.
        folder: Where it runs.
        timeout: Seconds.

    Returns:
        Its status, and what it wrote to standard error.

    Raises:
        subprocess.TimeoutExpired: It took longer; it and what it started are ended.
    """
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), *command]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            keeper, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        assert process.stdin is not None
        try:
            status = process.wait(timeout)
        finally:
            process.stdin.close()
            process.wait()
        said.seek(0)
        return status, said.read().decode(errors="replace")


def _keep(command: Sequence[str]) -> int:
    """Run a program and return its status, unless standard input is closed first; the body of a guardian process."""
    try:
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"error: {error.strerror or error}", file=sys.stderr)
        return 126

    def end() -> None:
        os.read(0, 1)
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)  # this process, the program, and what that started
        program.kill()

    end_after(end)
    status = program.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(_keep(sys.argv[1:]))
