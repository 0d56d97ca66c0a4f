"""A pool of worker processes, each with its own connection, that end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import traceback
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from workloads.processes.child_processes import delay_interrupts, end_with_pipe, worker_environment
from workloads.processes.shadows import require_own_modules

OUT_OF_MEMORY = "most likely because memory ran out; use fewer workers, or free memory"
"""Likely cause of the sudden end of a worker, with the remedy."""
_UNGUARDED = 79
"""Status of a worker whose script would start workers when it is imported."""


@dataclass(frozen=True)
class Failure:
    """A worker's answer if its work failed: the error, without its traceback, and the traceback as text."""

    error: Exception
    trace: str

    @staticmethod
    def of(error: Exception, failed: Callable[[str], Exception]) -> Failure:
        """Wrap an error; `failed` makes one of its text where another process cannot load it."""
        trace = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = failed(f"{type(error).__name__}: {error}")
        return Failure(error.with_traceback(None), trace)


class WorkerPool:
    """Worker processes with one thread for linear algebra, which leave Ctrl-C to their parent.

    A script that starts them needs the line ``if __name__ == "__main__":``, since every one of them imports it.

    Attributes:
        processes: Processes that were started.
        connections: Connections to the processes; at the other end is the first argument of what each does.
    """

    def __init__(
        self, count: int, serve: Callable[..., None], *settings: Any, failed: Callable[[str], Exception] = RuntimeError
    ) -> None:
        """Start the processes.

        Args:
            count: Number of processes.
            serve: Work of each process, a function of a module: called with its connection and the settings.
            settings: Settings that all processes get.
            failed: The error to raise where they cannot start, of why.

        Raises:
            Exception: As `failed` makes it: the current folder has modules that hide those of this package.
        """
        if getattr(
            multiprocessing.current_process(), "_inheriting", False
        ):  # as multiprocessing finds it out, too late
            raise SystemExit(_UNGUARDED)
        require_own_modules(failed)
        context = multiprocessing.get_context("spawn")
        watched, held = context.Pipe(duplex=False)
        self.processes: list[BaseProcess] = []
        self.connections: list[Connection] = []
        self._end = weakref.finalize(self, _end, held, self.processes, self.connections)
        with worker_environment(), delay_interrupts():
            for _ in range(count):
                here, there = context.Pipe()
                process = context.Process(target=_live, args=(watched, serve, there, *settings), daemon=True)
                process.start()
                there.close()
                self.processes.append(process)
                self.connections.append(here)
        watched.close()

    @property
    def ended(self) -> bool:
        """Whether the processes were ended."""
        return not self._end.alive

    def close(self) -> None:
        """End the processes, in the middle of their work if needed."""
        self._end()

    @contextmanager
    def closing_on_error(self, failed: Callable[[str], Exception], close: Callable[[], None]) -> Iterator[None]:
        """End the processes if an error occurs while open.

        Args:
            failed: The error to raise where one of them ended, of how it ended and what to do.
            close: Ends them, and puts right what its owner knows of them.
        """
        try:
            yield
        except (EOFError, OSError) as error:
            message = self._describe_end()
            close()
            if message is None:
                raise
            raise failed(message) from error
        except BaseException:
            close()  # in the middle of their work
            raise

    def _describe_end(self) -> str | None:
        """Describe how a process ended, with the remedy, if one did."""
        gone = wait([process.sentinel for process in self.processes], timeout=5.0)
        code = None
        for process in (process for process in self.processes if process.sentinel in gone):
            process.join(timeout=5.0)  # its end of the pipe closes before it can be asked how it ended
            code = code or process.exitcode
        if not gone:
            return None
        if code == _UNGUARDED:
            return (
                "a worker imports the script, which would start workers again; put its code under "
                'if __name__ == "__main__":'
            )
        if code is None or code >= 0:  # by an error, or by what it was given to do; for want of memory it is killed
            return (
                f"a worker ended (status {code}), and its error, if it printed one, is above: fix it, or leave "
                f"the workers out"
            )
        return f"a worker was killed by {signal.Signals(-code).name}, {OUT_OF_MEMORY}"


def receive(awaited: Collection[Connection]) -> Iterator[tuple[Connection, Any]]:
    """Wait until one of some workers has answered or ended, and yield each connection that is ready with its answer."""
    for ready in wait(list(awaited)):
        assert isinstance(ready, Connection)
        yield ready, ready.recv()


def answer_messages(connection: Connection, answer: Callable[[Any], Any]) -> None:
    """Answer the messages of a connection until it closes, then end the process."""
    with suppress(EOFError, OSError):  # the parent is gone, or wants no answer any more
        while True:
            connection.send(answer(connection.recv()))
    os._exit(0)


def _live(watched: Connection, serve: Callable[..., None], connection: Connection, *settings: Any) -> None:
    end_with_pipe(watched)
    serve(connection, *settings)


def _end(held: Connection, processes: Sequence[BaseProcess], connections: Sequence[Connection]) -> None:
    """End the processes by closing the pipe that they watch."""
    held.close()
    for connection in connections:
        connection.close()
    for process in processes:
        process.join(timeout=5.0)
        if process.is_alive():
            process.kill()
            process.join()
