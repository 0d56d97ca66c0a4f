"""Processes that end with the one that started them, however that one ends: by itself, by an error, by any signal.

Each waits in a thread for the closing of a pipe whose other end only its starter holds; the system closes it even for a
starter that is killed. Pipes and threads work alike on Linux, macOS and Windows.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

SETTINGS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONSAFEPATH"), "1")
"""Of a worker: one thread for linear algebra, and no import of what lies where the user stands."""


@contextmanager
def worker_environment() -> Iterator[None]:
    """`SETTINGS` for the processes that are started meanwhile."""
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
def uninterrupted() -> Iterator[None]:
    """Keeps Ctrl-C waiting, and for good from the processes that are started meanwhile: it is for their starter."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_pipe(watched: Connection) -> None:
    """Ends this process, at once, when the other end of the pipe is closed; Ctrl-C is left to its starter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_after(lambda: watched.poll(None))


def end_after(closed: Callable[[], object]) -> None:
    """Ends this process, at once, when a call returns."""

    def wait() -> None:
        with suppress(OSError):
            closed()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
