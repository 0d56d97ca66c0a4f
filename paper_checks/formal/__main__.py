"""``make formal``: compile every Coq file from nothing, list the theorems, and compare with the record and the ledger.

``python -m paper_checks.formal --record`` writes the record. Read each statement that is new or has changed before.
``--papers FOLDER`` compiles a package outside of the toolkit in place of the toolkit's papers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from paper_checks.engine.selection import add_papers
from paper_checks.formal.compile import CoqError, compile_papers, coq_version, differences, write_record
from paper_checks.formal.theorems import FormalError, sources_of
from paper_checks.ledger import PAPERS, LedgerError
from paper_checks.own_papers import named_papers


def main() -> int:
    """Return 0 if everything compiles and is as recorded, 1 if something differs, 2 without Coq or the papers."""
    parser = argparse.ArgumentParser(prog="python -m paper_checks.formal", description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the records of the theorems")
    add_papers(parser, "compile a paper of your own (a folder or an importable package); may be repeated")
    settings = parser.parse_args()
    try:
        papers = named_papers(settings.papers) if settings.papers else PAPERS
        for paper in papers:
            if not sources_of(paper).files:
                raise FormalError(f"{paper.name} has no Coq files: {sources_of(paper).folder}/*.v")
            sources_of(paper).require_proved()
    except (LedgerError, FormalError, OSError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, LedgerError) else 1
    version = coq_version()
    if version is None:
        print("coqc is not installed: apt-get install coq libcoq-coquelicot", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="rankproof-formal-") as build:
            found = compile_papers(
                papers, Path(build), lambda file: print(f"coqc {file}", flush=True), recorded=not settings.record
            )
            if settings.record:
                for one in found:
                    print(f"recorded in {write_record(one, version)}")
                found = [replace(one, theorems=sources_of(one.paper).theorems()) for one in found]
            told = [text for one in found for text in differences(one, one.paper.claims())]
    except (CoqError, FormalError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for one in found:
        for theorem in one.theorems:
            print(f"{theorem.role:8}  {theorem.id:24}  {theorem.name}")
        axioms = sorted({axiom for some in one.axioms.values() for axiom in some})
        called = one.paper.called or one.paper.name
        print(f"{called}: {len(one.theorems)} theorems compiled, {one.lines} lines, {one.seconds:.0f} s")
        print(f"  axioms: {', '.join(axioms) or 'none'}")
    for text in told:
        print(f"NOT AS RECORDED: {text}", file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
