"""Options that choose claims on the command line, and the claims that they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workloads.arguments import at_least, read_name

if TYPE_CHECKING:
    from paper_checks.claim import Claim
    from paper_checks.ledger import Ledger

CLAIM = "id of a claim, a name such as 'Theorem 2 of FeDLRT', or a prefix such as fedloru-v2/"
"""Help of ids."""
_VERDICTS = ("refuted", "corrected", "ambiguous", "not checkable here", "holds")
_PRINTS = ("misprint", "unstated", "inconsistent", "as meant")
_FORMS = ("as-meant", "as-printed")
"""Those of paper_checks.claim, which brings numpy."""


def add_choice(parser: argparse.ArgumentParser, help: str) -> None:
    """Add ids of claims and the options that choose among them."""
    parser.add_argument("ids", nargs="*", type=read_name, metavar="ID", help=help)
    add_filters(parser)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose by paper, verdict and print."""
    add_paper(parser)
    add_papers(parser)
    for flag, choices, help in (
        ("--verdict", _VERDICTS, "only claims with this recorded verdict"),
        ("--print", _PRINTS, "only claims whose printed form relates to the intended one in this way"),
    ):
        parser.add_argument(
            flag, choices=choices, action="append", default=[], help=f"{help}; may be repeated; default: all"
        )
    parser.add_argument(
        "--fails",
        choices=_FORMS,
        help="as-meant: only claims that fail in the sense that their author intended (corrected or refuted); "
        "as-printed: also those with a misprint, something unstated, an inconsistency or two meanings; default: all",
    )


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses a paper of the ledger."""
    parser.add_argument(
        "--paper",
        type=read_name,
        action="append",
        default=[],
        metavar="P",
        help="only claims of this paper or version; may be repeated; default: all",
    )


def add_papers(
    parser: argparse.ArgumentParser,
    help: str = "add a paper of your own (a folder or an importable package); may be repeated",
) -> None:
    """Add the option that names papers of one's own, which most commands add to the ledger."""
    parser.add_argument("--papers", type=read_name, action="append", default=[], metavar="NAME", help=help)


def add_replay_seconds(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the time of a replay."""
    parser.add_argument(
        "--replay-seconds",
        type=at_least(1),
        default=60,
        metavar="N",
        help="time limit in seconds for one evaluation of a replay or a proof; default: 60",
    )


def ledger_of(options: argparse.Namespace, ids: Sequence[str] = ()) -> Ledger:
    """Return the ledger of the toolkit and of own papers; where ids are given, of the themes that declare them."""
    from paper_checks.ledger import PAPERS, Ledger
    from paper_checks.own_papers import own_papers

    papers = (*PAPERS, *own_papers(options.papers))
    return Ledger.around(ids, papers) if ids else Ledger.of(papers)


def chosen_claims(ledger: Ledger, options: argparse.Namespace) -> tuple[Claim, ...]:
    """Return the claims that the options choose.

    Raises:
        LedgerError: an id or paper that matches nothing.
    """
    return ledger.select(
        getattr(options, "ids", ()),
        getattr(options, "paper", ()),
        getattr(options, "verdict", ()),
        getattr(options, "print", ()),
        getattr(options, "fails", None),
    )
