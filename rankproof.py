"""The command line of rankproof: reads arguments, calls one function, prints."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from figures import command as figures
from figures import runs_command as runs
from paper_checks import command as claims
from paper_checks import completion_command as completion
from paper_checks import own_papers_command as own_papers
from paper_checks.inventory import command as inventory
from paper_checks.pages import manual
from runs.command import add_arguments as add_train_arguments
from runs.format import LINE, printable
from runs.silos import command as silos
from workloads import command as data
from workloads.arguments import BAD_USAGE, Parser, add_command
from workloads.messages import shorten
from workloads.terminal import ERROR, print_text

AS_EXPECTED = 0
_FOR_USERS = {
    "algorithms.federation": "FederationError",
    "figures.figure": "FigureError",
    "hessian.numerics.symmetric": "CurvatureError",
    "paper_checks.ledger": "LedgerError",
    "paper_checks.engine.processes": "ProcessError",
    "paper_checks.inventory.source": "SourceError",
    "paper_checks.pages.manual": "ManualError",
    "paper_checks.replay": "ReplayError",
    "runs.settings": "RunError",
    "toymodels.problem": "ProblemError",
    "workloads.data.idx": "DataError",
}
"""Errors with a remedy that a user can apply, by module; all others are bugs and keep their traceback."""


class _Terminated(BaseException):
    """The system asks this process to end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every error a user can make ends in one line and exit status 2."""
    _prepare_output()
    try:
        with _terminable():
            return _command(arguments)
    except KeyboardInterrupt as error:
        _say(_stopped(error))
        return 128 + signal.SIGINT
    except _Terminated as error:
        _say(_stopped(error))
        return 128 + signal.SIGTERM
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _close_output()  # it may be standard output that failed, and would fail again at exit
        if isinstance(error, BrokenPipeError) and error.filename is None:
            return 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else BAD_USAGE  # whoever reads has enough
        if not _is_for_users(error):
            raise
        _say(_one_line(error))
        return BAD_USAGE


def _command(arguments: Sequence[str] | None) -> int:
    """Return the status of one command, after all of its output has been written."""
    try:
        options = _parser().parse_args(arguments)
        status: int = _carried_out(options)
    except SystemExit as stop:  # help, version, bad usage
        status = stop.code if isinstance(stop.code, int) else AS_EXPECTED
    sys.stdout.flush()
    return status


def _carried_out(options: argparse.Namespace) -> int:
    """Return the status of a command; errors that name keywords of Python functions name the command's options."""
    try:
        status: int = options.command(options)
    except Exception as error:
        keywords: Sequence[str] = getattr(error, "keywords", ())
        if not keywords:
            raise
        raise type(error)(options.parser.in_options(str(error), keywords)) from error
    return status


@contextmanager
def _terminable() -> Iterator[None]:
    """Make a request to end unwind like Ctrl-C: processes are ended and half-written files removed."""

    def end(*_: object) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_for_users(error: Exception) -> bool:
    # An error of a module that was never imported cannot have been raised; some would bring torch with them.
    kinds = tuple(getattr(sys.modules[name], kind) for name, kind in _FOR_USERS.items() if name in sys.modules)
    return isinstance(error, (OSError, *kinds))


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if error.filename is None:
            return f"cannot read or write: {reason}"
        return " ".join(f"cannot use {error.filename}: {reason}; name another path".split())
    return " ".join(str(error).split())


def _stopped(error: BaseException) -> str:
    """Return the message of a command that was stopped; a run adds how it goes on."""
    return "; ".join(["stopped", *getattr(error, "__notes__", [])])


def _say(text: str) -> None:
    with suppress(OSError):
        print_text(f"rankproof: {shorten(printable(text), LINE)}", ERROR, sys.stderr)


def _prepare_output() -> None:
    # A command may be started without either; a file that is opened later must not take its place.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a letter that the terminal lacks, or a name that is not a text


def _close_output() -> None:
    """Leave nothing that the interpreter could fail to write when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _train(options: argparse.Namespace) -> int:
    from runs.command import train

    return train(options)


def _parser() -> Parser:
    parser = Parser(
        prog="rankproof",
        description="Check the theory of federated low-rank training and reproduce its experiments.",
        epilog="example: rankproof show fedloru-v2/prop-3.1",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    claims.declare(commands)
    own_papers.declare(commands)
    inventory.declare(commands)
    figures.declare(commands)
    data.declare(commands)
    train = add_command(
        commands,
        "train",
        _train,
        "train a federation with one of the algorithms; a stopped run can be resumed",
        "rankproof train fedlrt --rounds 50 --evaluate-every 10",
    )
    train.epilog = f"{train.epilog}\n(takes some seconds and sends 0.9 MB)"
    add_train_arguments(train)
    runs.declare(commands)
    silos.declare(commands)
    manual.declare(commands)
    completion.declare(commands, parser)
    return parser


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> NoReturn:
        from figures.provenance import package_versions

        print(
            f"rankproof {package_versions(['rankproof'])['rankproof'] or '(not installed; run from a source folder)'}"
        )
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
