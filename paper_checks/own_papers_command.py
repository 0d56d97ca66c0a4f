"""The command line of your own papers: `rankproof pages` and `rankproof new-paper`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from paper_checks.engine.selection import add_papers, add_replay_seconds
from workloads.arguments import add_command, read_name
from workloads.files import require_writable

AS_EXPECTED = 0
EXAMPLES = ("identity", "inequality", "limit", "probability", "table", "box")
"""Those of `paper_checks.new_paper`, which brings the ledger."""


def declare(commands: Any) -> None:
    """Declare the commands that write pages and packages of your own papers."""
    pages = add_command(
        commands,
        "pages",
        _pages,
        "write the pages of findings and proofs for your own papers",
        "rankproof pages --papers my-paper --out my-paper/docs",
        several=None,
    )
    add_papers(pages)
    add_replay_seconds(pages)
    pages.add_argument("--out", type=read_name, default="docs", metavar="DIR", help="folder to write to; default: docs")

    new = add_command(
        commands,
        "new-paper",
        _new_paper,
        "write a package for a paper of your own, with example claims, replays and tests",
        "rankproof new-paper my-paper --out papers/my-paper",
        several=None,
    )
    new.add_argument(
        "name",
        type=read_name,
        metavar="NAME",
        help="name of the package, in lower-case letters, digits and single hyphens",
    )
    new.add_argument("--out", type=read_name, metavar="FOLDER", help="new or empty folder to write to; default: NAME")
    new.add_argument(
        "--example",
        choices=EXAMPLES,
        action="append",
        default=[],
        help="write the worked claims of this kind alone; may be repeated; default: a claim of each method",
    )


def _pages(options: argparse.Namespace) -> int:
    from paper_checks.ledger import LedgerError
    from paper_checks.own_papers import own_papers, pages_of

    papers = own_papers(options.papers)
    if not papers:
        raise LedgerError("name a paper of your own with --papers; the pages of the toolkit's papers are in its docs")
    folder = Path(options.out)
    is_new = not folder.exists()
    require_writable(folder)
    paths = pages_of(papers, folder, options.replay_seconds)
    for path in paths:
        print(path)
    if not paths:
        if is_new:
            folder.rmdir()
        names = " and ".join(paper.name for paper in papers)
        print(f"wrote nothing, because no pages of findings are declared and no proofs are on file in {names}")
    without = [paper for paper in papers if not paper.pages]
    for paper in without:
        theme = paper.themes[0]
        print(
            f"{paper.name} declares no page of findings: add pages=(Page({paper.name + '-findings'!r}, "
            f'title="...", about="...", themes=({theme!r},)),) to the Paper in its paper.py'
        )
    return AS_EXPECTED


def _new_paper(options: argparse.Namespace) -> int:
    from paper_checks.new_paper import write_paper

    folder = options.out or options.name
    for path in write_paper(options.name, Path(folder), options.example):
        print(path)
    print(f"check it with `rankproof check --papers {folder} {options.name}/`")
    return AS_EXPECTED
