"""The command line of runs: `rankproof train`. Torch is loaded when a run starts, not when the help is read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runs.settings import OPTIONS, RunError, TrainSettings, default

_PROBLEM = "quadratics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `rankproof train`."""
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="such as fedlrt; see --list")
    parser.add_argument("--data", metavar="PROBLEM", help=f"default: {_PROBLEM}; see --list")
    parser.add_argument("--list", action="store_true", help="list algorithms and problems")
    for name, option in OPTIONS.items():
        given = "" if option.optional else f"; default: {default(name)}"
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=option.kind, metavar="WORD" if option.kind is str else "N",
            help=f"{option.text}; {option.takes}{given}",
        )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="folder of the run; default: results/ALGORITHM-PROBLEM")
    parser.add_argument("--force", action="store_true", help="remove the run that stands in the folder, and start anew")
    parser.add_argument(
        "--resume", metavar="DIR", help="go on where the run in this folder stood; --rounds may be raised"
    )


def train(options: argparse.Namespace) -> int:
    """Runs, resumes or lists.

    Raises:
        RunError: What a user can mend.
        FederationError: A run that cannot go on.
    """
    from tqdm import tqdm

    from runs.catalogue import ALGORITHMS, PROBLEMS
    from runs.folder import METRICS
    from runs.folder import train as run

    if options.list:
        print(f"algorithms: {', '.join(ALGORITHMS)}\nproblems:   {', '.join(PROBLEMS)}")
        return 0
    algorithm, problem, settings, folder = _asked(options)
    with tqdm(total=settings.rounds, unit="round", desc=f"{algorithm} on {problem}", disable=None, leave=False) as bar:

        def progress(metrics: dict[str, float]) -> None:
            bar.update(metrics["round"] - bar.n)
            bar.set_postfix(loss=f"{metrics['loss']:.3g}", refresh=False)

        last = run(algorithm, problem, settings, folder, progress, _tell_removed if options.force else None)
    print(f"{algorithm} on {problem}: " + ", ".join(f"{name} {_shown(value)}" for name, value in last.items()))
    print(folder / METRICS)
    return 0


def _asked(options: argparse.Namespace) -> tuple[str, str, TrainSettings, Path]:
    from runs.folder import stored_run

    given = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    if "" in (options.out, options.resume):
        raise RunError("a folder needs a name; . is the current one")
    if options.resume is not None:
        if options.algorithm or options.data or options.out or options.force or set(given) - {"rounds"}:
            raise RunError("a resumed run keeps its algorithm, settings and folder; only --rounds may be named")
        folder = Path(options.resume)
        algorithm, problem, settings = stored_run(folder)
        return algorithm, problem, replace(settings, **given), folder
    if not options.algorithm:
        raise RunError("name an algorithm, or a folder to --resume; --list shows what there is")
    algorithm, problem = options.algorithm, options.data or _PROBLEM
    return algorithm, problem, TrainSettings(**given), Path(options.out or f"results/{algorithm}-{problem}")


def _tell_removed(files: Sequence[Path]) -> None:
    if files:
        print(f"removed {', '.join(map(str, files))}")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:.4g}"
