"""The command line of inventories: `rankproof inventory`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.format import printable
from workloads.arguments import add_command, read_name
from workloads.files import is_standard_output, require_target
from workloads.written import require_own, write_own

if TYPE_CHECKING:
    from paper_checks.inventory.stubs import Plan

_MOST_PAIRS = 8
"""Equations that are named with their statement."""


def declare(commands: Any) -> None:
    """Declare the command."""
    inventory = add_command(
        commands,
        "inventory",
        _inventory,
        "list what a paper states and where it contradicts itself, from its LaTeX, Markdown or text",
        "rankproof inventory paper.tex --json inventory.json --into my-paper",
    )
    inventory.add_argument(
        "source",
        type=read_name,
        metavar="SOURCE",
        help="a file (LaTeX with its inputs, Markdown, text), a folder or an archive",
    )
    inventory.add_argument(
        "--json", type=read_name, metavar="FILE", help="write the inventory to FILE as JSON; - means standard output"
    )
    inventory.add_argument(
        "--into",
        type=read_name,
        metavar="PACKAGE",
        help=(
            "write a claim without a check for each item, into a new "
            "folder or a package of a paper, which keeps its files"
        ),
    )
    inventory.add_argument(
        "--sentences",
        action="store_true",
        help="with --into: also write a claim for each sentence that states or compares something",
    )


def _inventory(options: argparse.Namespace) -> int:
    from paper_checks.inventory.listing import as_json, listing
    from paper_checks.inventory.reading import read_document
    from paper_checks.inventory.stubs import plan_stubs, require_place
    from paper_checks.ledger import LedgerError

    if options.sentences and options.into is None:
        raise LedgerError("--sentences writes claims into a package; name it with --into PACKAGE")
    alone = options.json is not None and is_standard_output(options.json)
    if options.json is not None and not alone:
        require_target(Path(options.json))
        require_own([Path(options.json)], Path(options.json).parent)
    if options.into is not None:
        require_place(Path(options.into), *([] if options.json is None or alone else [Path(options.json)]))
    document = read_document(options.source)
    plan = None if options.into is None else plan_stubs(document, Path(options.into), options.sentences)
    shown_on = sys.stderr if alone else sys.stdout
    if options.json is not None:
        text = json.dumps(as_json(document), indent=1) + "\n"
        if alone:
            sys.stdout.write(text)
        else:
            write_own({Path(options.json): text.encode()}, Path(options.json).parent)
    if not alone:
        print(listing(document, shutil.get_terminal_size().columns, _mark()))
    if plan is not None:
        plan.write()
        for sentence in plan.differing:
            print(printable(sentence), file=shown_on)
        print(_written(plan, options.into), file=shown_on)
    return 0


def _written(plan: Plan, folder: str) -> str:
    """Return what a plan has written, in a line."""
    if not plan.texts:
        return f"wrote nothing into {folder}" if plan.differing else f"{folder} already has a claim for every item"
    claims = "1 claim without a check" if plan.count == 1 else f"{plan.count} claims without checks"
    pairs = [f"{one.partition('/')[2]} in {other.partition('/')[2]}" for one, other in plan.joined]
    shown = ", ".join(pairs[:_MOST_PAIRS]) + (
        f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
    )
    counted = f", {len(pairs)} of them the only equation of a statement ({shown})," if pairs else ""
    return (
        f"wrote {claims}{counted} into {len(plan.texts)} files of {folder}; see them "
        f"with `rankproof check --papers {folder} {plan.name}/`"
    )


def _mark() -> str:
    """Return the sign for what is left out, if the terminal has it."""
    try:
        "…".encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "..."
    return "…"
