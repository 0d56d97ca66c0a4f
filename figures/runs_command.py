"""The command line for existing runs: `rankproof runs list|show|compare|plot|export`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import inf, isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.format import CELL, LINE, align_rows, format_bytes, printable
from workloads.arguments import add_command, add_group, at_least, read_name
from workloads.messages import shorten
from workloads.terminal import print_table

if TYPE_CHECKING:
    from runs.listing import FoundRun, Group

Part = str | Sequence[Mapping[str, str]]
"""A part of what is printed: a line of text, or the rows of a table."""
BARS = "_.:-=+*#%@"
"""Signs from the smallest to the largest value of a curve."""
SMALL, LARGE = ("loss", "perplexity", "distance"), ("accuracy", "f1", "mcc", "exact_match", "choice")
"""Ends of the names of metrics whose best value is the smallest, and of those whose best is the largest."""
TRAININGS = {"rolora": 2, "pfedlora-1": 2, "pfedlora-2": 2, "pfedloru": 2}
"""How many times a client trains in a round, where that is not once; listed here, so torch is not needed."""


def declare(commands: Any) -> None:
    """Declare `rankproof runs`."""
    actions = add_group(
        commands,
        "runs",
        "list, show, compare, plot and export the training runs in a folder",
        "rankproof runs list results/runs",
    )
    add_command(
        actions,
        "list",
        _list,
        "list runs, one per line, with their progress, last metrics and the settings in which they differ",
        "rankproof runs list results/runs",
    )
    add_command(
        actions,
        "show",
        _describe,
        "show the settings, curves and messages of each run",
        "rankproof runs show results/runs",
    )
    compare = add_command(
        actions,
        "compare",
        _compare,
        "compare means over the seeds after the last round that all runs share, and print paired differences",
        "rankproof runs compare results/runs --metric accuracy",
    )
    plot = add_command(
        actions,
        "plot",
        _plot,
        "plot curves with bands over the seeds, as PNG, PDF and CSV named after FOLDER and the metric",
        "rankproof runs plot results/runs --metric loss --out pictures",
    )
    export = add_command(
        actions,
        "export",
        _export,
        "export the adapter of one run of a language model, in PEFT's format",
        "rankproof runs export results/runs/my-run --out adapter",
    )
    for action in actions.choices.values():
        action.add_argument(
            "folder",
            nargs="?",
            type=read_name,
            default="results/runs",
            metavar="FOLDER",
            help=f"folder of one run{'' if action is export else ' or of several'}; default: results/runs",
        )
    for action, verb in ((compare, "compare"), (plot, "plot")):
        action.add_argument(
            "--metric",
            type=read_name,
            metavar="NAME",
            help=f"metric to {verb}, such as loss; default: accuracy, else loss",
        )
        action.add_argument(
            "--problem", type=read_name, metavar="NAME", help="only runs of this problem; needed if there are several"
        )
    compare.add_argument(
        "--round",
        type=at_least(0),
        metavar="N",
        help="round after which to compare; default: the last that all runs have evaluated",
    )
    compare.add_argument(
        "--against",
        type=read_name,
        metavar="LABEL",
        help="runs to subtract from the others, by the label that compare prints; default: the first",
    )
    plot.add_argument(
        "--out", type=read_name, default="results", metavar="DIR", help="folder for plots; default: results"
    )
    export.add_argument("--out", type=read_name, metavar="DIR", help="folder for the adapter; default: FOLDER/adapter")
    export.add_argument(
        "--round",
        type=at_least(0),
        metavar="N",
        help="round whose adapter to export; default: the last checkpoint (--keep-every 1 of train keeps all)",
    )
    export.add_argument(
        "--root",
        type=read_name,
        metavar="DIR",
        help="folder of the texts that the run used; default: $RANKPROOF_DATA, else data",
    )
    export.add_argument(
        "--trust", action="store_true", help="allow pickled weights named in the run's settings, which may run code"
    )


def _list(options: argparse.Namespace) -> int:
    from runs.listing import describe_edit, find_runs

    found = find_runs(Path(options.folder))
    _show([list_runs(found), *(describe_edit(run) for run in found if run.edited)])
    return 0


def _describe(options: argparse.Namespace) -> int:
    from runs.listing import find_runs

    for place, run in enumerate(find_runs(Path(options.folder))):
        _show([*([""] if place else []), *describe_run(run)])
    return 0


def _compare(options: argparse.Namespace) -> int:
    runs = _of_one_problem(_unedited_runs(options.folder), options.problem)
    _show(compare_runs(runs, options.metric, options.round, options.against))
    return 0


def _plot(options: argparse.Namespace) -> int:
    from figures.run_curves import shortened_curves, write_curves
    from runs.listing import describe_partial_means, metric_of

    runs = _of_one_problem(_unedited_runs(options.folder), options.problem)
    name = Path(options.folder).resolve().name or "runs"
    if options.problem is not None:
        name = f"{name}-{options.problem}"
    paths = write_curves(runs, options.metric, Path(options.out), name)
    print(", ".join(printable(str(path)) for path in paths))
    _show([*shortened_curves(runs, options.metric), *describe_partial_means(runs, metric_of(runs, options.metric))])
    return 0


def _export(options: argparse.Namespace) -> int:
    from torch import set_num_threads

    from runs.networks.peft_export import export

    set_num_threads(1)  # as training has: more threads only wait for each other on a busy machine
    out = Path(options.out or f"{options.folder}/adapter")
    number = export(Path(options.folder), out, options.root, options.trust, options.round)
    print(f"the adapter after round {number}\n{out}")
    return 0


def _unedited_runs(folder: str) -> list[FoundRun]:
    """Return the runs in a folder, each once; print which were edited and are left out."""
    from runs.listing import describe_edit, drop_duplicates, drop_edited, find_runs

    found = find_runs(Path(folder))
    kept = drop_duplicates(drop_edited(found))
    _show([f"{describe_edit(run)}: left out" for run in found if run.edited])
    return kept


def _show(parts: Sequence[Part]) -> None:
    """Print lines and tables with names and settings of runs, which others may have written."""
    for part in parts:
        if isinstance(part, str):
            print(shorten(printable(part), LINE))
        else:
            rows = [{name: shorten(printable(cell), CELL) for name, cell in row.items()} for row in part]
            print_table(rows, [shorten(line, LINE) for line in align_rows(part)])


def _of_one_problem(runs: Sequence[FoundRun], problem: str | None) -> list[FoundRun]:
    """Return the runs of a problem; metrics of different problems cannot be compared.

    Raises:
        RunError: No run is of that problem, or none is named and there are several.
    """
    from runs.settings import RunError

    problems = sorted({run.problem for run in runs})
    if problem is None and len(problems) > 1:
        raise RunError(f"these runs train on different problems; choose one with --problem: {', '.join(problems)}")
    if problem is not None and problem not in problems:
        raise RunError(f"no run is of the problem {problem!r}; there are {', '.join(problems)}")
    return [run for run in runs if problem in (None, run.problem)]


def list_runs(runs: Sequence[FoundRun]) -> list[dict[str, str]]:
    """Return one row for each run: its progress, its last metrics, and the settings in which runs differ.

    A cell is blank if a run lacks the setting or the metric. Columns that are blank for all runs are left out.
    """
    from runs.listing import SEED, differing, format_value

    names = differing(runs)
    rows = [
        {
            "run": str(run.folder),
            "algorithm": run.algorithm,
            "problem": run.problem,
            "rounds": f"{run.done}/{run.rounds}",
            "seed": str(run.settings[SEED]),
            "loss": _number(run.last.get("loss")),
            "accuracy": _number(run.last.get("accuracy")),
            "sent": format_bytes(run.bytes_sent),
            **{name: format_value(run.settings[name]) if name in run.settings else "" for name in names},
        }
        for run in runs
    ]
    return [{name: row[name] for name in row if any(other[name] for other in rows)} for row in rows]


def describe_run(run: FoundRun) -> list[Part]:
    """Describe one run: its settings, the versions that computed it, its metrics, and its messages.

    Raises:
        RunError: Its ledger cannot be read.
    """
    from runs.listing import describe_edit, format_value

    sections: list[list[Part]] = [
        [
            f"{run.folder}: {run.algorithm} on {run.problem}, round {run.done} of {run.rounds}",
            *([describe_edit(run)] if run.edited else []),
        ],
        [[{"setting": name, "value": format_value(value)} for name, value in run.settings.items()]],
        [
            f"{what}: {', '.join(f'{name} {format_value(value)}' for name, value in known.items()) or 'not known'}"
            for what, known in (("conduct", run.conduct), ("versions", run.versions))
        ],
        [_in_a_line(f"silo {name}: {why}") for name, why in (*run.left_out().items(), *run.suspects().items())],
        [
            [
                {
                    "metric": name,
                    "first": _number(run.curve(name)[0][name]),
                    "last": _number(value),
                    "best": "" if best is None else _number(best[name]),
                    "in round": "" if best is None else str(best["round"]),
                    "curve": _curve([float(row[name]) for row in run.curve(name)]),
                }
                for name, value in run.last.items()
                if name not in ("round", "bytes_down", "bytes_up")
                for best in (_best(run, name),)
            ]
        ],
        [
            [
                {"direction": way, "what": what, "messages": str(len(sizes)), "bytes": f"{sum(sizes):,}"}
                for (way, what), sizes in _messages(run).items()
            ]
        ],
    ]
    parts = [part for section in sections if any(section) for part in ["", *section]]
    return parts[1:]


def _best(run: FoundRun, metric: str) -> Mapping[str, Any] | None:
    """Return the row of the first round with the best value of a metric; None if no value is known to be better.

    No value of a rank or of an alignment is better than another, and nobody knows of metrics with other names.
    """
    sign = 1.0 if metric.endswith(SMALL) else -1.0 if metric.endswith(LARGE) else None
    if sign is None:
        return None

    def badness(row: Mapping[str, Any]) -> float:
        value = sign * float(row[metric])
        return inf if isnan(value) else value

    return min(run.curve(metric), key=badness)


def _in_a_line(text: str) -> str:
    """Return a text that others wrote without its control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _messages(run: FoundRun) -> dict[tuple[str, str], list[int]]:
    """Return the sizes of the messages in bytes, by direction and kind."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for entry in run.ledger():
        sizes.setdefault((str(entry["direction"]), str(entry["what"])), []).append(entry["bytes"])
    return sizes


def compare_runs(runs: Sequence[FoundRun], asked: str | None, after: int | None, against: str | None) -> list[Part]:
    """Compare groups of runs over their seeds after one round; differences are paired by seed.

    Args:
        runs: The runs.
        asked: The metric; default: accuracy, else the loss.
        after: The round; default: the last at which all runs evaluated the metric.
        against: Label of the group that is subtracted; default: the first.

    Raises:
        RunError: A run lacks the metric, or lacks it after that round; or no group has that label.
    """
    from runs.listing import LEVEL, describe_partial_means, differences, group_runs, metric_of, round_of
    from runs.settings import RunError

    groups, metric = group_runs(runs), metric_of(runs, asked)
    number = round_of(runs, metric, after)
    chosen = next((group for group in groups if against in (None, group.label)), None)
    if chosen is None:
        raise RunError(f"no runs have the label {against!r}; there are {', '.join(group.label for group in groups)}")
    heading = f"{metric} after round {number}"
    if after is None and any(run.done > number for run in runs):
        heading += ", the last round for which all runs have it; choose another with --round"
    summaries = [_summary(group, metric, number) for group in groups]
    firsts = [next(iter(group.runs.values())) for group in groups]
    trained = [local_trainings(run.algorithm, run.settings) for run in firsts]
    notes: list[str] = []
    if len(set(trained) - {None}) > 1:
        summaries = [
            {**row, "local trainings": "unknown" if count is None else str(number * count)}
            for row, count in zip(summaries, trained, strict=True)
        ]
        notes = ["equal rounds are not equal local steps here, because a method trains several times in a round"]
    notes += describe_partial_means(runs, metric, number)
    parts: list[Part] = [heading, summaries, *notes]
    rows = [
        {
            f"{metric} minus {chosen.label}": one.label,
            "seeds": str(one.seeds),
            "mean": _signed(one.mean),
            f"{LEVEL:.0%} interval": "two seeds are needed"
            if one.half_width is None or one.mean is None
            else f"{_signed(one.mean - one.half_width)} to {_signed(one.mean + one.half_width)}",
        }
        for one in differences(groups, metric, number, chosen)
    ]
    parts += [
        f"{group.label}: each seed has its own {' and '.join(group.by_seed)}, "
        f"{'as returned by your function' if _has_function(group) else 'drawn from it'}"
        for group in groups
        if group.by_seed and len(group.runs) > 1
    ]
    return [*parts, "", rows] if rows else parts


def _has_function(group: Group) -> bool:
    """Return whether a function of the user's gives the data or the network of runs."""
    run = next(iter(group.runs.values()))
    model = str(run.settings.get("model"))
    return ":" in run.problem or (":" in model and not model.startswith("hf:"))


def local_trainings(algorithm: str, settings: Mapping[str, Any]) -> int | None:
    """Return how many times a client trains in a round, such as twice in RoLoRA's; None for an algorithm of a user."""
    if ":" in algorithm:
        return None
    return 1 if settings.get("frozen_a") else TRAININGS.get(algorithm, 1)


def _summary(group: Group, metric: str, number: int) -> dict[str, str]:
    from runs.listing import deviation_of, mean_of

    values = list(group.values(metric, number).values())
    done = [run.done for run in group.runs.values()]
    return {
        "runs": group.label,
        "seeds": str(len(values)),
        "rounds done": " to ".join(map(str, sorted({min(done), max(done)}))),
        metric: _number(mean_of(values)),
        "deviation": _number(deviation_of(values)),
        "sent": format_bytes(group.bytes_sent(number)),
    }


def _curve(values: Sequence[float], width: int = 40) -> str:
    """Return a curve as a line of signs, from its smallest to its largest value; `?` for a value that is not finite."""
    count = min(width, len(values))
    picked = [values[round(place * (len(values) - 1) / max(count - 1, 1))] for place in range(count)]
    finite = [value for value in values if isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if low == high and len(finite) == len(values):
        return "constant"
    return "".join(_bar(value, low, high) for value in picked)


def _bar(value: float, low: float, high: float) -> str:
    if not isfinite(value):
        return "?"
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.0  # halves, because they cannot overflow
    return BARS[round(share * (len(BARS) - 1))]


def _number(value: float | None, sign: str = "") -> str:
    """Return a number with four digits, or all digits if it is an integer; empty for None."""
    if value is None:
        return ""
    whole = float(value).is_integer() and abs(value) < 1e15
    return f"{value:{sign},.0f}" if whole else f"{value:{sign}.4g}"


def _signed(value: float | None) -> str:
    return "no common seed" if value is None else _number(value, "+")
