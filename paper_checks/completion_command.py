"""The command `rankproof completion`: scripts for a shell that complete commands, options, and names of the toolkit."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workloads.arguments import Parser, add_command

SHELLS = ("bash", "zsh")
_NAMED: Mapping[tuple[str, str], str] = {
    ("check", "ids"): "claims",
    ("claims", "ids"): "claims",
    ("show", "ids"): "claims",
    ("replay", "ids"): "claims",
    ("report", "ids"): "claims",
    ("findings", "papers_asked"): "papers",
    ("figure", "ids"): "figures",
    ("train", "algorithm"): "algorithms",
    ("train", "data"): "problems",
    ("fetch", "names"): "data sets",
    ("list", "names"): "data sets",
    ("verify", "names"): "data sets",
    ("help", "topic"): "pages",
}
"""Kind of the names that an argument takes, by its command and its name."""
_ANYWHERE = {"paper": "papers"}
_PATHS = {"DIR": "directory", "FOLDER": "directory", "FILE": "file"}


def declare(commands: Any, root: Parser) -> None:
    """Declare `rankproof completion`.

    Args:
        commands: what `add_subparsers` of the root returned.
        root: parser of all commands.
    """
    parser = add_command(
        commands,
        "completion",
        _completion,
        "print a shell script that completes commands, options, claims, figures and algorithms",
        "rankproof completion bash",
    )
    parser.add_argument("shell", choices=SHELLS, help="shell to write for")
    parser.set_defaults(root=root)


def _completion(options: argparse.Namespace) -> int:
    import shtab

    print(script_of(options.shell, options.root, shtab))
    return 0


def script_of(shell: str, root: Parser, shtab: Any) -> str:
    """Return the script that completes the command line of a parser, with the names that the toolkit has now.

    Args:
        shell: Bash or zsh, in lower case.
        root: Parser of all commands. It gets the completions, and `train` the options of every algorithm.
        shtab: The package.
    """
    from runs.command import add_every_option

    lists = {what: _words(what, names) for what, names in _known_names().items()}
    for name, parser in _parsers(root):
        if name == "train":
            parser.fill = None
            add_every_option(parser)
        for action in parser._actions:
            what = _NAMED.get((name, action.dest)) or _ANYWHERE.get(action.dest)
            if what is not None:
                action.complete = lists[what]  # type: ignore[attr-defined]
            elif action.metavar in _PATHS:
                action.complete = shtab.CHOICE_FUNCTIONS[_PATHS[str(action.metavar)]]  # type: ignore[attr-defined]
    return str(shtab.complete(root, shell))


def _parsers(parser: Parser) -> Iterator[tuple[str, Parser]]:
    """Yield every command and action with its name."""
    yield parser.prog.rpartition(" ")[2], parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for other in action.choices.values():
                yield from _parsers(other)


def _known_names() -> dict[str, Iterable[str]]:
    """Return the names that the toolkit has, by what they name."""
    from figures.ledger import all_figures
    from paper_checks.ledger import Ledger
    from paper_checks.pages.manual import pages
    from runs.catalogue import ALGORITHMS, PROBLEMS
    from workloads import texts
    from workloads.data import datasets

    ledger = Ledger.of()
    return {
        "claims": [claim.id for claim in ledger.claims],
        "papers": dict.fromkeys([*(paper.name for paper in ledger.papers), *(claim.paper for claim in ledger.claims)]),
        "figures": [figure.id for figure in all_figures()],
        "algorithms": ALGORITHMS,
        "problems": PROBLEMS,
        "data sets": [*datasets.REGISTRY, *texts.TEXTS],
        "pages": pages(),
    }


def _words(what: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the completion of an argument by a list of words, which the script has once.

    Args:
        what: Kind of the words.
        names: The words, without spaces.
    """
    function, words = f"_rankproof_{what.replace(' ', '_')}", " ".join(names)
    return {
        "bash": function,
        "zsh": function,
        "preamble": {
            "bash": f'{function}() {{\n  compgen -W "{words}" -- "$1"\n}}\n',
            "zsh": f"{function}() {{\n  compadd -- {words}\n}}\n",
        },
    }
