"""Arguments of the command line: one line for every mistake, options and names in any order, help with an example."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from workloads.numbers import FINEST, LARGEST, real, whole

BAD_USAGE = 2
Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser whose every complaint is one line, and that reads `verify --root DIR mnist` as `verify mnist ...`.

    Attributes:
        fill: Declares arguments that depend on the words of the command line, once these are to be read.
    """

    fill: Callable[[Sequence[str]], None] | None = None

    def error(self, message: str) -> NoReturn:
        """Says what is wrong and ends with status 2."""
        self.exit(BAD_USAGE, f"rankproof: {' '.join(message.split())}; `{self.prog} --help` explains\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # Help that could not be written is no success; argparse would say nothing.
        (file or sys.stderr).write(message or "")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reads the arguments that are known."""
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(args or ())
        return super().parse_known_args(args, namespace)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Reads the arguments; names that follow an option join the ones before it."""
        options, rest = self.parse_known_args(args, namespace)
        several = getattr(options, "several", None)
        if rest and (several is None or any(word.startswith("-") for word in rest)):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if rest and several is not None:
            try:
                setattr(options, several, [*getattr(options, several), *map(named, rest)])
            except argparse.ArgumentTypeError as error:
                self.error(f"a name {error}")
        return options


def add_command(commands: Any, name: str, run: Command, help: str, example: str, several: str | None = None) -> Parser:
    """Declares one command.

    Args:
        commands: what `add_subparsers` returned.
        name: its name.
        run: runs it and returns the exit status.
        help: what it does, in a line.
        example: one command line.
        several: the argument that takes any number of names.
    """
    parser: Parser = commands.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=f"example: {example}"
    )
    parser.set_defaults(command=run, several=several)
    return parser


def named(text: str) -> str:
    """Reads a name, an id or a path: anything but nothing.

    >>> named("results")
    'results'
    """
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"must not be empty, got {text!r}")
    return text


def at_least(least: int) -> Callable[[str], int]:
    """Reads whole numbers of at least ``least``.

    >>> at_least(1)("12")
    12
    """

    def read(text: str) -> int:
        wrong = f"must be a whole number of at least {least}, got {text[:40]!r}"
        try:
            value = whole(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{wrong}; write it in plain digits") from error
        if value < least:
            raise argparse.ArgumentTypeError(wrong)
        return value

    return read


def number(text: str) -> float:
    """Read a number.

    >>> number("0.05")
    0.05
    """
    try:
        return real(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be a number in plain digits, 0 or of size {FINEST:g} to {LARGEST:g}, got {text[:40]!r}"
        ) from error
