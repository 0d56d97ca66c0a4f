"""One run of each stored experiment on images, drawn at random, repeated from scratch and compared with its numbers.

``python benchmarks/runs_again.py [--seed N] [--only ID ...]`` adds to `runs_again.json`: 15 minutes of one processor.
MNIST and Fashion-MNIST must be present.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import tempfile
import time
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from stored_experiments import EXPERIMENTS, design_of, table_of

from figures.experiments.experiment import CHOICE, RUN, key_columns
from runs.experiments import Experiment, carry_out

HOME = Path(__file__).resolve().parent


def rate_of(table: pd.DataFrame, keys: list[str], run: pd.Series) -> float | None:
    """Return the learning rate of a stored run: its own, or the best of the tuning runs; None if it is an option."""
    if not isnan(run.rate):
        return float(run.rate)
    choices = table[(table.stage == CHOICE) & (table[keys] == run[keys]).all(axis=1) & (table.failed == 0)]
    return float(choices.loc[choices.value.idxmax()].rate) if len(choices) else None


def again(id: str, rng: np.random.Generator) -> dict[str, Any]:
    """Repeat one run of an experiment, drawn at random, and return it with the stored numbers."""
    table = table_of(id)
    keys = key_columns(table)
    runs = table[table.stage == RUN].drop_duplicates([*keys, "seed"])
    run = runs.iloc[rng.integers(len(runs))]
    design, line = design_of(id, {key: str(run[key]) for key in keys})
    trial = line.trial(design.rounds, (int(run.seed),), rate_of(table, keys, run))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as store:
        (outcome,) = carry_out(Experiment((trial,)), Path(store))
    made = {int(row["round"]): float(row[line.metric]) for row in outcome.curve(line.metric)}
    sent = {int(row["round"]): int(row.get("bytes_down", 0) + row.get("bytes_up", 0)) for row in outcome.run.rows}
    stored = table[(table.stage == RUN) & (table[[*keys, "seed"]] == run[[*keys, "seed"]]).all(axis=1)]
    differences = [abs(made[row.round] - row.value) for row in stored.itertuples()]
    return {
        "run": f"{trial.label}, seed {run.seed}",
        "runs": len(runs),
        "evaluations": len(stored),
        "largest difference": max(differences),
        "difference at the end": differences[-1],
        "bytes alike": all(sent[row.round] == row.bytes for row in stored.itertuples()),
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    """Repeat the runs and write their file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", choices=EXPERIMENTS, nargs="+", default=tuple(EXPERIMENTS))
    options = parser.parse_args()
    path = HOME / "runs_again.json"
    answer = json.loads(path.read_text())["experiments"] if path.exists() else {}
    about = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "seed of the draw": options.seed,
    }
    for number, id in enumerate(EXPERIMENTS):
        if id in options.only:
            answer[id] = again(id, np.random.default_rng((options.seed, number)))
            print(id, json.dumps(answer[id]), file=sys.stderr, flush=True)
            path.write_text(json.dumps({"about": about, "experiments": answer}, indent=1) + "\n")


if __name__ == "__main__":
    main()
