"""Dependence of verdicts on the seed: every claim over many seeds, at the quick budget, compared with the record.

``python benchmarks/verdicts_over_seeds.py [--seeds 20] [--jobs 2] [--paper fedlrt] [--claims ID ...]`` writes for every
paper (or the one named) each verdict with its grade, which are of the statement as meant; how it is printed, where that
differs; the claims that are not as on record at every seed, if any; and the environment. It ends with status 1 if there
are some. With ``--claims`` only these are run again, and the record says so; what it has of claims that the ledger no
longer has, or with verdicts that are no longer given, goes. Completed seeds are kept in
``verdicts_over_seeds.done.json`` until all are done, so that the same code with the same claims resumes there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

from figures.provenance import sources_digest
from paper_checks.claim import VERDICTS, Claim
from paper_checks.ledger import Ledger
from paper_checks.pages.manifest import SOURCES, run_manifest
from paper_checks.run import run
from workloads.files import write_whole
from workloads.progress import follow

STRAY = "claims_not_as_on_record_at_every_seed"


def main() -> int:
    """Run all seeds and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--paper", default="", help="one of the ledger's papers; default: all")
    parser.add_argument("--claims", nargs="*", default=[], help="ids or prefixes; the rest of the record stays")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    ledger = Ledger.of()
    record = json.loads(options.out.read_text()) if options.out.exists() else {}
    differing, kept = 0, options.out.with_suffix(".done.json")
    for paper in (paper for paper in ledger.papers if options.paper in ("", paper.name)):
        chosen = ledger.select(options.claims) if options.claims else ledger.claims
        claims = tuple(claim for claim in chosen if ledger.home[claim.id] == paper)
        if not claims:
            continue
        if options.claims and paper.name not in record:
            parser.error(f"--claims replaces a part of a record, and {options.out} has none of {paper.name}")
        found = over_seeds(ledger, claims, options.seeds, options.jobs, kept)
        own = tuple(claim for claim in ledger.claims if ledger.home[claim.id] == paper)
        record[paper.name] = replaced(record[paper.name], found, claims, own) if options.claims else found
        write_whole({options.out: (json.dumps(record, indent=1) + "\n").encode()})
        stray = len(record[paper.name][STRAY])
        differing += stray
        print(f"{paper.name}: {len(claims)} claims over {options.seeds} seeds: {stray} not as on record at every seed")
    kept.unlink(missing_ok=True)
    return 1 if differing else 0


def replaced(
    record: dict[str, Any], found: dict[str, Any], claims: tuple[Claim, ...], own: tuple[Claim, ...]
) -> dict[str, Any]:
    """Return a record with some of its claims replaced, which it states.

    Args:
        record: Record of a paper.
        found: The same of the claims that were run again.
        claims: These claims.
        own: All claims of the paper: others, and those on record with a verdict that is no longer given, are left out.
    """
    again = [claim.id for claim in claims]
    kept = {**record, "print": prints(own)}
    for part in (STRAY, "verdicts"):
        both = {id: value for id, value in record[part].items() if id not in again and is_present(value)} | found[part]
        kept[part] = {claim.id: both[claim.id] for claim in own if claim.id in both}
    kept["claims"] = len(kept["verdicts"]) + len(kept[STRAY])
    return kept | {"run_again": {"claims": again, "seeds": found["seeds"], "environment": found["environment"]}}


def is_present(value: str | dict[str, int]) -> bool:
    """Return whether a verdict with its grade, or each of several, is one that is given today."""
    return all(one.rpartition(" (")[0] in VERDICTS for one in ([value] if isinstance(value, str) else value))


def prints(claims: tuple[Claim, ...]) -> dict[str, str]:
    """Return how statements are printed, by claim, where it is not as meant."""
    return {claim.id: claim.print for claim in claims if claim.print != "as meant"}


def over_seeds(ledger: Ledger, claims: tuple[Claim, ...], seeds: int, jobs: int, kept: Path) -> dict[str, Any]:
    """Return verdicts and grades of claims that agree with the record at all seeds, and of claims that do not.

    Args:
        ledger: Ledger of the claims.
        claims: Claims of one paper.
        seeds: Number of seeds.
        jobs: Number of processes.
        kept: File of the seeds that are done, by what makes them: code, claims and seed.
    """
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    stray: set[str] = set()
    done = json.loads(kept.read_text()) if kept.exists() else {}
    for seed in follow(range(seeds), "verdicts", "seed"):
        of = " ".join([sources_digest(SOURCES), str(seed), *(claim.id for claim in claims)])
        if of not in done:
            last = run(claims, ledger, seed=seed, jobs=jobs)
            found = {one.claim.id: f"{one.decision.verdict} ({one.decision.grade})" for one in last.results}
            differing = [one.claim.id for one in last.results if not one.as_expected]
            done[of] = {"verdicts": found, "stray": differing, "manifest": run_manifest(last)}
            write_whole({kept: json.dumps(done).encode()})
        for id, verdict in done[of]["verdicts"].items():
            verdicts[id][verdict] += 1
        stray.update(done[of]["stray"])
        manifest = done[of]["manifest"]
    return {
        "seeds": seeds,
        "claims": len(verdicts),
        STRAY: {id: dict(found) for id, found in verdicts.items() if id in stray},
        "verdicts": {id: next(iter(found)) for id, found in verdicts.items() if id not in stray},
        "print": prints(claims),
        "environment": {key: manifest[key] for key in ("commit", "python", "platform", "processors", "packages")},
    }


if __name__ == "__main__":
    sys.exit(main())
