"""Guards around a measurement: generators that nobody seeded, ends of the process, and the place of an error."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from paper_checks.context import Context
from paper_checks.engine.generators import generators_seeded
from paper_checks.engine.process_settings import settings_restored


@contextmanager
def reproducible(context: Context) -> Iterator[None]:
    """Seed what a check draws without a seed from the stream of its claim; the global generators go on afterwards.

    A check draws from `context.rng`. If it draws from the generator of `random`, of numpy or of torch, or from one that
    is made without a seed, then its numbers come from its claim and the seed of the run all the same. Settings of the
    process that it changes are restored, so no claim depends on the claims before it.

    Args:
        context: Context of the measurement.
    """
    with generators_seeded(context.integer_seed("unseeded")), settings_restored(), _not_ended():
        yield


@contextmanager
def _not_ended() -> Iterator[None]:
    """Turn `os._exit` of the main thread into SystemExit, because a process that ends says nothing of other claims."""
    ends: Any = os._exit

    def end(status: int) -> NoReturn:
        if threading.current_thread() is not threading.main_thread():
            ends(status)
        raise SystemExit(status)

    os._exit = end
    try:
        yield
    finally:
        os._exit = ends


def describe_error(error: BaseException, folder: Path) -> str:
    """Return an error as text, after the innermost line of a paper's own files that led to it.

    Args:
        error: The error.
        folder: The folder of the paper's package.
    """
    place = innermost(error, folder)
    return f"{place}{': ' if place else ''}{type(error).__name__}: {error}"


def is_raised_in(error: BaseException, folder: Path) -> bool:
    """Return whether a paper's own file raises an error; Ctrl-C and a request to end come from elsewhere."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = Path(last.filename).resolve().is_relative_to(folder.resolve())
    return raised and not isinstance(error, KeyboardInterrupt)


def innermost(error: BaseException, folder: Path) -> str:
    """Return the innermost line of a paper's files in a traceback, as ``package/file.py, line 3``; empty if none is."""
    home = folder.resolve()
    frames = [(Path(one.filename).resolve(), one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    own = [(file, line) for file, line in frames if file.is_relative_to(home)]
    return f"{own[-1][0].relative_to(home.parent).as_posix()}, line {own[-1][1]}" if own else ""
