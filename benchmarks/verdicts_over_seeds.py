"""Whether verdicts depend on the seed: every claim over many seeds, at the quick budget.

``python benchmarks/verdicts_over_seeds.py [--seeds 20] [--jobs 2]`` writes the verdicts that differ, if any, beside the
environment, and ends with status 1 if there are some.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

from tqdm import tqdm

from paper_checks.ledger import Ledger
from paper_checks.manifest import run_manifest
from paper_checks.run import run


def main() -> int:
    """Runs all seeds and compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    ledger = Ledger.of()
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in tqdm(range(options.seeds), unit="seed", disable=None):
        last = run(ledger.claims, ledger, seed=seed, jobs=options.jobs)
        for result in last.results:
            verdicts[result.claim.id][f"{result.decision.verdict} ({result.decision.grade})"] += 1
    differing = {id: dict(found) for id, found in verdicts.items() if len(found) > 1}
    manifest = run_manifest(last)
    answer = {
        "seeds": options.seeds,
        "claims": len(verdicts),
        "claims_whose_verdict_depends_on_the_seed": differing,
        "verdicts": {id: next(iter(found)) for id, found in verdicts.items() if len(found) == 1},
        "environment": {key: manifest[key] for key in ("commit", "python", "platform", "processors", "packages")},
    }
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    print(f"{len(verdicts)} claims over {options.seeds} seeds: {len(differing)} verdicts depend on the seed")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
