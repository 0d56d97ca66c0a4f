"""Workers and interpreters that end with the process that started them, by `workloads.processes.child_processes`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from workloads.processes.child_processes import delay_interrupts, end_after, end_with_pipe, worker_environment

Work = TypeVar("Work")
Answer = TypeVar("Answer")


class ProcessError(RuntimeError):
    """A process ended before its work was done, or took too long."""


class LateError(ProcessError):
    """A process took too long."""


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes with one linear-algebra thread each: more threads than processors slow small matrices down.

    Work that is handed in within `uninterrupted` starts processes that leave Ctrl-C to this one.

    Raises:
        ProcessError: One of them was killed.
    """
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    try:
        with worker_environment():
            pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_pipe, initargs=(watched,))
            try:
                yield pool
            except BaseException:
                held.close()  # in the middle of their work rather than after it
                raise
            finally:
                pool.shutdown(cancel_futures=True)
    except BrokenProcessPool as error:
        raise ProcessError(
            "a worker was killed, most likely because memory ran out; use fewer --jobs, or free memory"
        ) from error
    finally:
        held.close()
        watched.close()


def map_work(
    function: Callable[[Work], Answer],
    work: Sequence[Work],
    jobs: int,
    elsewhere: Executor | None = None,
    sizes: Sequence[int] = (),
) -> Generator[Answer, None, None]:
    """Yield what a module's function returns for each piece of work, in order; in this process, or in several.

    Args:
        function: The function.
        work: The pieces.
        jobs: Number of processes.
        elsewhere: Does the work in place of processes, the largest pieces first.
        sizes: Sizes of the pieces.

    Raises:
        ProcessError: A worker was killed.
    """
    if elsewhere is not None:
        order = sorted(range(len(work)), key=lambda place: -sizes[place])
        answers_of = {place: elsewhere.submit(function, work[place]) for place in order}
        yield from (answers_of[place].result() for place in range(len(work)))
        return
    if jobs < 2:
        yield from map(function, work)
        return
    with workers(jobs) as pool:
        with delay_interrupts():
            answers = pool.map(function, work)
        yield from answers


def fresh_interpreter(
    program: str,
    question: str,
    search_path: Iterable[str],
    packages: Iterable[str],
    timeout: float,
    each: Callable[[str], None],
    start: float = 0.0,
) -> None:
    """Run a program in an interpreter of its own and hands on the lines it writes, as they come.

    It sees the standard library, the folders named and those of the packages; neither the user's current folder,
    nor Python's settings in the environment, nor what interpreters run there at their start.

    Args:
        program: Text of the program. A line on its standard input is the question; it calls `end_with_input` then.
        question: One line.
        search_path: Folders it imports from.
        packages: Installed packages whose folders it imports from as well.
        timeout: Seconds until the first line, and between one and the next.
        each: Called with every line.
        start: Seconds more until the first line.

    Raises:
        LateError: It timed out.
        ProcessError: It failed.
    """
    folders = list(dict.fromkeys([*search_path, *_folders_of(packages)]))
    silent = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, "-I", "-S", *silent, "-c", f"import sys; sys.path += {folders!r}; {program}"]
    with tempfile.TemporaryFile() as said:
        with delay_interrupts(), worker_environment():
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, encoding="utf-8"
            )
        late = _killing(child, timeout + start)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            with suppress(BrokenPipeError):  # it ended, and said why
                child.stdin.write(f"{question}\n")
                child.stdin.flush()
            for line in child.stdout:
                late.cancel()
                each(line)
                late = _killing(child, timeout)
            status = child.wait()
        finally:
            timed_out = late.finished.is_set()
            late.cancel()
            child.kill()
            with suppress(BrokenPipeError):
                child.stdin.close()
            child.stdout.close()
            child.wait()
        if timed_out:
            raise LateError(f"it took more than {timeout:g} s")
        if status:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or [f"it ended with status {status}"]
            raise ProcessError(lines[-1])


def _killing(child: subprocess.Popen[str], timeout: float) -> threading.Timer:
    """Return a timer that runs, and kills a process at its end."""
    late = threading.Timer(timeout, child.kill)
    late.daemon = True
    late.start()
    return late


def end_with_input() -> None:
    """End this process, at once, when its standard input is closed."""
    # Not through sys.stdin, whose lock a waiting thread would still hold when the interpreter ends.
    end_after(lambda: os.read(0, 1))


def _folders_of(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield str(Path(spec.submodule_search_locations[0]).resolve().parent)
        elif spec is not None and spec.origin:
            yield str(Path(spec.origin).resolve().parent)
