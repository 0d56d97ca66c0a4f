"""Command-line arguments: one-line errors, options and names in any order, help with an example."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from workloads.numbers import FINEST, LARGEST, read_real, read_whole
from workloads.terminal import ERROR, print_text

BAD_USAGE = 2
Command = Callable[[argparse.Namespace], int]
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "adapter": ("start-from",),
    "aggregations": ("rounds",),
    "alpha": ("scale", "heterogeneity"),
    "bf16": ("dtype",),
    "bn": ("batch-norm",),
    "chat-template": ("template",),
    "checkpoint": ("resume", "checkpoints"),
    "client-column": ("client",),
    "client-fraction": ("cohort",),
    "clients-per-round": ("cohort",),
    "communication-rounds": ("rounds",),
    "completion": ("answer",),
    "continue": ("resume",),
    "cores": ("jobs", "workers"),
    "criterion": ("loss",),
    "cuda": ("device",),
    "cutoff-len": ("max-length",),
    "dataset": ("data",),
    "dataset-name": ("data",),
    "dataset-path": ("data",),
    "dir": ("out", "root"),
    "dirichlet-alpha": ("partition-psi", "partition"),
    "eigenvalues": ("outliers",),
    "eval-data": ("test-data",),
    "eval-steps": ("evaluate-every",),
    "float64": ("double",),
    "fp16": ("dtype",),
    "fp64": ("double",),
    "fraction": ("cohort",),
    "gpu": ("device",),
    "grad-clip": ("clip",),
    "gradient-accumulation-steps": ("micro-batch",),
    "iterations": ("rounds", "steps"),
    "label-column": ("label",),
    "lanczos-steps": ("steps",),
    "local-epochs": ("epochs",),
    "local-steps": ("steps",),
    "logging-steps": ("evaluate-every",),
    "lora-alpha": ("scale",),
    "lora-r": ("rank",),
    "lora-weights": ("start-from",),
    "loraplus-lr-ratio": ("b-rate",),
    "lr": ("learning-rate",),
    "lr-scheduler": ("schedule",),
    "lr-scheduler-type": ("schedule",),
    "max-eval-samples": ("test-samples",),
    "max-grad-norm": ("clip",),
    "max-samples": ("samples",),
    "max-seq-len": ("max-length",),
    "max-train-samples": ("samples",),
    "modules-to-save": ("head",),
    "network": ("model",),
    "non-iid": ("partition",),
    "num-clients": ("clients",),
    "optim": ("optimiser",),
    "output": ("out",),
    "output-dir": ("out",),
    "overwrite": ("force",),
    "participation": ("cohort",),
    "per-device-eval-batch-size": ("eval-batch",),
    "per-device-train-batch-size": ("batch",),
    "processes": ("jobs", "workers"),
    "prompt-column": ("prompt",),
    "prompt-template": ("template",),
    "r": ("rank",),
    "ram": ("memory",),
    "random-state": ("seed",),
    "report-to": ("tensorboard",),
    "response": ("answer",),
    "restart": ("resume", "force"),
    "samples-per-step": ("batch",),
    "save-steps": ("keep-every",),
    "target-modules": ("layers",),
    "tau": ("truncation",),
    "test-file": ("test-data",),
    "text-column": ("text",),
    "threads": ("jobs", "workers"),
    "threshold": ("truncation",),
    "tolerance": ("width", "truncation"),
    "top": ("outliers",),
    "top-k": ("outliers",),
    "torch-dtype": ("dtype",),
    "train-batch-size": ("batch",),
    "train-data": ("data",),
    "train-file": ("data",),
    "use-cpu": ("device",),
    "use-rslora": ("scale",),
    "validation-file": ("test-data",),
    "warmup-steps": ("schedule-warmup",),
    "wd": ("weight-decay",),
}
"""Names that other software has for options, without hyphens in front, and the options here that mean the same."""
ALIKE = 0.7
"""Similarity from which on a known option is suggested for an unknown one."""


class Parser(argparse.ArgumentParser):
    """A parser with one-line errors that reads `verify --root DIR mnist` as `verify mnist ...`.

    Attributes:
        fill: Declares arguments that depend on the words of the command line, once these are to be read.
        actions: Actions of a group of commands, by name, for the group and for each of them.
    """

    fill: Callable[[Sequence[str]], None] | None = None
    actions: Mapping[str, Parser] = {}

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with status 2."""
        print_text(f"rankproof: {' '.join(message.split())}; see `{self.prog} --help`", ERROR, sys.stderr)
        self.exit(BAD_USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        # Help that could not be written is not a success; argparse would say nothing.
        (file or sys.stderr).write(message or "")

    @property
    def flags(self) -> list[str]:
        """Declared options, without those of one letter."""
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the known arguments."""
        words = sys.argv[1:] if args is None else list(args)
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(words)
        own = words
        if self._subparsers is not None:
            # The action of a group may follow its options, as in `data --root DIR list`.
            named = next((place for place, word in enumerate(words) if word in self.actions), 0)
            words = own = [*words[named:][:1], *words[:named], *words[named + 1 :]]
            # What follows the command is the command's.
            own = words[: next((place for place, word in enumerate(words) if not word.startswith("-")), None)]
        for flag in unknown_flags(own, self.flags):
            self.error(self._elsewhere(flag) or f"unrecognized arguments: {flag}{suggestion(flag, self.flags)}")
        return super().parse_known_args(words, namespace)

    def _elsewhere(self, flag: str) -> str:
        """Return a message if other actions of the group take an option, else nothing."""
        takers = [f"`{other.prog}`" for other in self.actions.values() if not unknown_flags([flag], other.flags)]
        return f"{flag} is an option of {' and '.join(takers)}, not of `{self.prog}`" if takers else ""

    def in_options(self, text: str, keywords: Iterable[str]) -> str:
        """Replace the Python keywords in a message by the options of the command.

        Args:
            text: The message; `name='value'` and `name=` are a keyword, and in messages without either `name` is.
            keywords: The keywords that it names; those for which the command has no option stay as they are.

        >>> parser = Parser()
        >>> _ = parser.add_argument("--batch-norm")
        >>> parser.in_options("name batch_norm='running', or leave batch_norm= out", ["batch_norm"])
        'name --batch-norm running, or leave --batch-norm out'
        """
        shown = [action for action in self._actions if action.help != argparse.SUPPRESS]
        actions = {action.dest: action for action in shown if action.option_strings}
        for name in keywords:
            if name not in actions:
                continue
            flag, shape = actions[name].option_strings[-1], str(actions[name].metavar).lower()
            shape = shape if ":" in shape else ""  # a function has to be named in a certain way
            value = r"(?:'(?P<word>[^']*)'|(?P<number>\d[\w.]*))?"
            pattern = rf"(?<![\w.-]){name}{'=' if f'{name}=' in text else ''}{value}(?![\w-])"
            text = re.sub(pattern, partial(_with_value, flag, shape), text)
        return text

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Read the arguments; names that follow an option join the ones before it."""
        options, rest = self.parse_known_args(args, namespace)
        several = getattr(options, "several", None)
        if rest and (several is None or any(word.startswith("-") for word in rest)):
            short = next((word for word in rest if word.startswith("-")), "")
            self.error(f"unrecognized arguments: {' '.join(rest)}{suggestion(short, self.flags)}")
        if rest and several is not None:
            try:
                setattr(options, several, [*getattr(options, several), *map(read_name, rest)])
            except argparse.ArgumentTypeError as error:
                self.error(f"a name {error}")
        return options


def add_command(commands: Any, name: str, run: Command, help: str, example: str, several: str | None = None) -> Parser:
    """Declare one command.

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
    parser.set_defaults(command=run, several=several, parser=parser)
    if parser.prog.count(" ") > 1:
        parser.actions = commands.choices
    return parser


def add_group(commands: Any, name: str, help: str, example: str) -> Any:
    """Declare a command that consists of actions, each with options of its own, and return what takes these.

    Args:
        commands: what `add_subparsers` returned; `add_command` takes the result instead.
        name: the name of the command.
        help: what its actions do, in a line.
        example: one command line.
    """
    group: Parser = commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}. `rankproof {name} ACTION --help` prints the options of an action.",
        epilog=f"example: {example}",
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    group.actions = actions.choices
    return actions


def write_documents(module: str, what: str, default: str, write: Callable[[Path], Iterable[Path]]) -> int:
    """Write documents into the folder that the command line names, print their paths, and return the exit status.

    Args:
        module: Name of the module that is run.
        what: The documents, in a few words.
        default: Folder of the documents if none is named.
        write: Writes them into a folder and returns their paths.
    """
    parser = Parser(prog=f"python -m {module}", description=f"Write {what} into a folder.")
    parser.add_argument(
        "folder", nargs="?", default=default, type=read_name, help=f"an existing folder; default: {default}"
    )
    folder = Path(parser.parse_args().folder)
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder; name an existing one")
    try:
        print(*write(folder), sep="\n")
    except OSError as error:
        parser.error(f"cannot write to {error.filename or folder}: {error.strerror or error}")
    return 0


def unknown_flags(words: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the words that look like options and begin no known one; values after an equals sign are cut off.

    >>> unknown_flags(["fedavg", "--lr", "0.1", "--rank=3", "--see"], ["--rank", "--seed"])
    ['--lr']
    """
    known, found = list(known), []
    for word in words:
        flag = word.partition("=")[0]
        if word == "--":
            break
        if flag.startswith("--") and not any(name.startswith(flag) for name in known):
            found.append(flag)
    return found


def nearest_flag(flag: str, known: Iterable[str]) -> str | None:
    """Return the known option nearest to an unknown one, by `SYNONYMS` and by similarity; None if none is near.

    >>> nearest_flag("--lora-alpha", ["--scale", "--layers"]), nearest_flag("--rnak", ["--rank"])
    ('--scale', '--rank')
    """
    names = {name.lstrip("-"): name for name in known}
    asked = flag.lstrip("-").replace("_", "-").lower()
    for name in (asked, *SYNONYMS.get(asked, ())):
        if name in names:
            return names[name]
    ends = [name for name in names if min(len(name), len(asked)) > 2 and (asked.endswith(name) or name.endswith(asked))]
    begun = [name for name in names if len(name) > 2 and asked.startswith(f"{name}-")]
    close = get_close_matches(asked, names, 1, ALIKE) or begun or ends
    return names[close[0]] if close else None


def suggestion(flag: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown option: the nearest known one, or nothing."""
    near = nearest_flag(flag, known) if flag else None
    return f"; did you mean {near}?" if near else ""


def _with_value(flag: str, shape: str, found: re.Match[str]) -> str:
    value = found["word"] or found["number"] or shape
    return f"{flag} {value}" if value else flag


def read_name(text: str) -> str:
    """Read a name, an id or a path, which must not be empty.

    >>> read_name("results")
    'results'
    """
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"must not be empty, got {text!r}")
    return text


def at_least(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least ``least``.

    >>> at_least(1)("12")
    12
    """

    def read(text: str) -> int:
        wrong = f"must be a whole number of at least {least}, got {text[:40]!r}"
        try:
            value = read_whole(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{wrong}; write it in plain digits") from error
        if value < least:
            raise argparse.ArgumentTypeError(wrong)
        return value

    return read


def read_number(text: str) -> float:
    """Read a number.

    >>> read_number("0.05")
    0.05
    """
    try:
        return read_real(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be a number in plain digits, 0 or of size {FINEST:g} to {LARGEST:g}, got {text[:40]!r}"
        ) from error
