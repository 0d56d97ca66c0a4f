"""Whether verdicts depend on the seed: every claim over many seeds, at the quick budget.

``python benchmarks/verdicts_over_seeds.py [--seeds 20] [--jobs 2] [--paper fedlrt] [--claims ID ...]`` writes for every
paper (or the one named) the verdicts that differ, if any, beside the environment, and ends with status 1 if there are
some. With ``--claims`` only these are run anew, and the record says so.
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

from tqdm import tqdm

from paper_checks.claim import Claim
from paper_checks.ledger import Ledger
from paper_checks.manifest import run_manifest
from paper_checks.run import run


def main() -> int:
    """Runs all seeds and compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--paper", default="", help="one of the ledger's papers; default: all")
    parser.add_argument("--claims", nargs="*", default=[], help="ids or prefixes; the rest of the record stays")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    ledger = Ledger.of()
    record = json.loads(options.out.read_text()) if options.out.exists() else {}
    depend = 0
    for paper in (paper for paper in ledger.papers if options.paper in ("", paper.name)):
        chosen = ledger.select(options.claims) if options.claims else ledger.claims
        claims = tuple(claim for claim in chosen if ledger.home[claim.id] == paper)
        found = over_seeds(ledger, claims, options.seeds, options.jobs)
        record[paper.name] = anew(record[paper.name], found, claims) if options.claims else found
        options.out.write_text(json.dumps(record, indent=1) + "\n")
        differing = len(record[paper.name]["claims_whose_verdict_depends_on_the_seed"])
        depend += differing
        print(f"{paper.name}: {len(claims)} claims over {options.seeds} seeds: {differing} verdicts depend on the seed")
    return 1 if depend else 0


def anew(record: dict[str, Any], found: dict[str, Any], claims: tuple[Claim, ...]) -> dict[str, Any]:
    """A record with some of its claims replaced, which it tells."""
    again = [claim.id for claim in claims]
    kept = {**record}
    for part in ("claims_whose_verdict_depends_on_the_seed", "verdicts"):
        kept[part] = {id: value for id, value in record[part].items() if id not in again} | found[part]
    kept["claims"] = len(kept["verdicts"]) + len(kept["claims_whose_verdict_depends_on_the_seed"])
    return kept | {"run_again": {"claims": again, "seeds": found["seeds"], "environment": found["environment"]}}


def over_seeds(ledger: Ledger, claims: tuple[Claim, ...], seeds: int, jobs: int) -> dict[str, Any]:
    """Verdicts and grades that are the same for all seeds, and those that are not."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in tqdm(range(seeds), unit="seed", disable=None):
        last = run(claims, ledger, seed=seed, jobs=jobs)
        for result in last.results:
            verdicts[result.claim.id][f"{result.decision.verdict} ({result.decision.grade})"] += 1
    manifest = run_manifest(last)
    return {
        "seeds": seeds,
        "claims": len(verdicts),
        "claims_whose_verdict_depends_on_the_seed": {id: dict(f) for id, f in verdicts.items() if len(f) > 1},
        "verdicts": {id: next(iter(found)) for id, found in verdicts.items() if len(found) == 1},
        "environment": {key: manifest[key] for key in ("commit", "python", "platform", "processors", "packages")},
    }


if __name__ == "__main__":
    sys.exit(main())
