"""The command line of runs: `rankproof train`. Torch is loaded when a run starts, not when the help is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

_OPTIONS: dict[str, tuple[Any, str]] = {
    "clients": (int, "number of clients; default: 4"),
    "cohort": (int, "clients of a round; default: all"),
    "rounds": (int, "default: 100"),
    "steps": (int, "local steps of a round; default: 10"),
    "learning-rate": (float, "of the local steps; default: 0.05"),
    "rank": (int, "of the factors; of the start, for FeDLRT; default: 2"),
    "tau": (int, "rounds between accumulations, for FedLoRU; default: 10"),
    "restart": (str, "of the factors after one: random, momentum or 'keep A'; default: random"),
    "scale": (float, "of the product of the factors; default: 1"),
    "truncation": (float, "relative threshold of singular values, for FeDLRT; default: 0.01"),
    "rows": (int, "of the weights; default: 10"),
    "columns": (int, "of the weights; default: 8"),
    "heterogeneity": (float, "how much clients differ; default: 0.5"),
    "samples": (int, "of each client, for regression and Legendre; default: 50"),
    "seed": (int, "of everything random; default: 0"),
    "executor": (str, "sequential or vmap; default: sequential"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `rankproof train`."""
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="such as fedlrt; see --list")
    parser.add_argument("--data", metavar="PROBLEM", default="quadratics", help="default: quadratics; see --list")
    parser.add_argument("--list", action="store_true", help="list algorithms and problems")
    for name, (kind, text) in _OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar="N" if kind is not str else "WORD", help=text)
    parser.add_argument("--out", metavar="DIR", help="folder of the run; default: results/ALGORITHM-PROBLEM")
    parser.add_argument(
        "--resume", metavar="DIR", help="go on where the run in this folder stood; --rounds may be raised"
    )


def train(options: argparse.Namespace) -> int:
    """Runs, resumes or lists.

    Raises:
        FederationError: What a user can mend.
    """
    from dataclasses import replace

    from tqdm import tqdm

    from algorithms.federation import FederationError
    from runs.catalogue import ALGORITHMS, PROBLEMS, TrainSettings
    from runs.folder import METRICS, stored_run
    from runs.folder import train as run

    if options.list:
        print(f"algorithms: {', '.join(ALGORITHMS)}\nproblems:   {', '.join(PROBLEMS)}")
        return 0
    keys = [name.replace("-", "_") for name in _OPTIONS]
    given = {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    if options.resume:
        folder = Path(options.resume)
        algorithm, problem, settings = stored_run(folder)
        if options.algorithm or set(given) - {"rounds"}:
            raise FederationError("a resumed run keeps its algorithm and settings; only --rounds may be named")
    elif options.algorithm:
        algorithm, problem, settings = options.algorithm, options.data, TrainSettings()
        folder = Path(options.out or f"results/{algorithm}-{problem}")
    else:
        raise FederationError("name an algorithm, or a folder to --resume; --list shows what there is")
    settings = replace(settings, **given)
    with tqdm(total=settings.rounds, unit="round", desc=f"{algorithm} on {problem}", disable=None, leave=False) as bar:

        def progress(metrics: dict[str, float]) -> None:
            bar.update(metrics["round"] - bar.n)
            bar.set_postfix(loss=f"{metrics['loss']:.3g}", refresh=False)

        last = run(algorithm, problem, settings, folder, progress)
    print(f"{algorithm} on {problem}: " + ", ".join(f"{name} {_shown(value)}" for name, value in last.items()))
    print(folder / METRICS)
    return 0


def _shown(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:.4g}"
