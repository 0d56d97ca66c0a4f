"""Lines of FedLoRU's tables, drawn at random, trained again at the learning rate next to the chosen one.

``python benchmarks/neighbouring_rates.py [--seed N] [--lines N] [--only ID ...] [--store DIR]`` writes
`neighbouring_rates.json`: 10 lines of 5 seeds each, 30 minutes of one processor. Fashion-MNIST must be present. The
runs are kept in DIR: an interrupted call resumes there, and several may work at the same time.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from stored_experiments import design_of, table_of

from figures.experiments.effects import by_seed, paired_effect
from figures.experiments.experiment import CHOICE, RUN, finals, key_columns
from figures.fedloru.designs import EVALUATIONS
from runs.experiments import Experiment, carry_out

HOME = Path(__file__).resolve().parent
TABLES = tuple(f"fedloru/{name}" for name in ("tab-1", "tab-3", "tab-4", "tab-6", "tab-7", "restarts"))
Drawn = tuple[str, dict[str, Any]]
"""Id of an experiment, and the keys of one of its lines that chose a learning rate."""


def lines_of(id: str) -> list[Drawn]:
    """Return the lines of an experiment that tried several learning rates."""
    table = table_of(id)
    chosen = table[table.stage == CHOICE]
    lines = [dict(keys) for _, keys in chosen[key_columns(table)].drop_duplicates().iterrows()]
    return [(id, keys) for keys in lines if len(set(_of(chosen, keys).rate)) > 1]


def _of(table: pd.DataFrame, keys: dict[str, Any]) -> pd.DataFrame:
    return table[(table[list(keys)] == pd.Series(keys)).all(axis=1)]


def neighbour_of(table: pd.DataFrame, keys: dict[str, Any]) -> tuple[float, float]:
    """Return the chosen learning rate of a line, and the better one of the rates next to it, by validation."""
    (chosen,) = set(_of(table[table.stage == RUN], keys).rate)
    values = _of(table[table.stage == CHOICE], keys).groupby("rate").value.mean()
    place = list(values.index).index(chosen)
    return float(chosen), float(values.drop(chosen).iloc[max(place - 1, 0) : place + 1].idxmax())


def compare(drawn: Drawn, store: Path) -> dict[str, Any]:
    """Train a line at the neighbouring rate with the seeds of the table, and compare the final accuracies by seed."""
    id, keys = drawn
    table = table_of(id)
    chosen, other = neighbour_of(table, keys)
    stored = by_seed(finals(table, EVALUATIONS), **keys)
    design, line = design_of(id, {name: str(value) for name, value in keys.items()})
    trial = line.trial(design.rounds, tuple(stored), other)
    made = {}
    for outcome in carry_out(Experiment((trial,)), store, say=partial(print, file=sys.stderr, flush=True)):
        curve = [] if outcome.failure else [float(row[line.metric]) for row in outcome.curve(line.metric)]
        made[outcome.seed] = float(np.mean(curve[-EVALUATIONS:])) if curve else float("nan")
    effect = paired_effect(made, stored)
    return {
        "line": f"{id}: {line.label}",
        "chosen rate": chosen,
        "neighbouring rate": other,
        "neighbour minus chosen": [effect.mean, effect.low, effect.high],
        "seeds": effect.pairs,
        "failed": effect.failed,
        "neighbour is above": effect.above,
    }


def main() -> None:
    """Train the lines and write their file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--lines", type=int, default=10)
    parser.add_argument("--only", choices=TABLES, nargs="+", default=TABLES)
    parser.add_argument("--store", type=Path, default=Path("results/neighbouring-rates"))
    options = parser.parse_args()
    shared = {tuple(keys.items()): (id, keys) for id in reversed(options.only) for _, keys in lines_of(id)}
    lines = list(shared.values())  # a line of two tables counts once
    places = np.random.default_rng(options.seed).permutation(len(lines))[: options.lines]
    found = [compare(lines[place], options.store) for place in places]
    about = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "seed of the draw": options.seed,
        "experiments": list(options.only),
        "lines to draw from": len(lines),
    }
    path = HOME / "neighbouring_rates.json"
    path.write_text(json.dumps({"about": about, "lines": found}, indent=1) + "\n")
    for line in found:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
