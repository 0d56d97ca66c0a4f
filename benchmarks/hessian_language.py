"""The stable rank of language models' whole Hessians, compared with PyHessian, curvlinops and hessian-eigenthings.

``python benchmarks/hessian_language.py [--only minilm|smollm2] [--out FILE]``, a quarter of an hour and half an hour.
MiniLM (22.7 million parameters) after 60 steps on rated sentences, and SmolLM2-135M as it is, on instructions. One
process, one thread, CPU seconds. Time of a product; ours at a width of 5 or 20 %; how long plain probes would take to
the same standard error, from the time of one and from its variance, which a basis gives; and 32 probes with the largest
eigenvalue, once each.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.hessian import by_budget, plain, products, say, usable
from benchmarks.language_hessians import minilm, smollm2, trained
from benchmarks.stable_rank_calibration import clock
from benchmarks.stable_rank_problems import large_problem
from benchmarks.stable_rank_routes import PEERS, Problem, ours, version_of
from figures.provenance import machine, package_versions

WIDTHS = {"minilm": 0.05, "smollm2": 0.2}
"""Relative widths asked of ours."""
TRUTH = {"minilm": (0.03, 31, 31), "smollm2": (0.2, 15, 15)}
"""Relative widths of the intervals that errors are measured against, rows of the basis, and steps."""


def problem_of(name: str) -> Problem:
    """Return the model, its texts and its stable rank."""
    model, loss, inputs, targets = trained(minilm(16, 32), 60) if name == "minilm" else smollm2(4, 48)
    return large_problem(model, loss, inputs, targets, *TRUTH[name])


def measure(name: str) -> dict[str, Any]:
    """Measure one model."""
    problem = problem_of(name)
    say(f"{name}: stable rank {problem.truth:.4g}")
    openers = {peer: opener for peer, (package, _, opener) in PEERS.items() if version_of(package)}
    openers, failing = usable(problem, openers)
    each = products(problem, openers, 3)
    say(f"{name}: products timed")
    seconds, found = clock(lambda: ours(problem, WIDTHS[name], 0))
    error = found.relative_width / 3.92  # of 95 %: twice 1.96 standard errors
    probes = int(np.ceil(problem.variance / error**2))
    entry: dict[str, Any] = {
        "P": problem.P,
        "stable rank": problem.truth,
        **problem.facts,
        "relative sd of one probe": problem.variance**0.5,
        **({"no product": failing} if failing else {}),
        "one product": each,
        "ours": {"s": seconds, "products": found.products, "interval": [found.low, found.value, found.high]},
        "plain probes to the same standard error": {
            "standard error": error,
            "probes": probes,
            "over ours, predicted": {peer: probes * each[peer]["s"] / seconds for peer in openers},
        },
        "equal budget": {},
    }
    for contender in ("ours", *openers):
        seconds, value = clock(lambda contender=contender: by_budget(problem, contender, 1))
        entry["equal budget"][contender] = {"s": seconds, "error": value / problem.truth - 1.0}
        say(f"{name}: equal budget, {contender}: {seconds:.0f} s")
    return entry


def main() -> None:
    """Add the measurements to the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(TRUTH))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in (options.only,) if options.only else TRUTH:
        entry = measure(name)
        stored = json.loads(options.out.read_text()) if options.out.exists() else {}
        packages = ("torch", "transformers", *(package for package, _, _ in PEERS.values()))
        stored[name] = plain(entry) | {
            "environment": {**machine(), "packages": package_versions(packages), "load": os.getloadavg()[0]}
        }
        options.out.write_text(json.dumps(stored, indent=1) + "\n")
        print(json.dumps(stored[name], indent=1))


if __name__ == "__main__":
    main()
