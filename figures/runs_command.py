"""The command line for existing runs: `rankproof runs list|show|compare|plot|export`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import hypot, inf, isfinite, isnan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.format import LINE, align_rows, format_bytes, printable
from workloads.arguments import add_command, at_least, read_name
from workloads.messages import shorten

if TYPE_CHECKING:
    from runs.listing import FoundRun, Group

BARS = "_.:-=+*#%@"
"""Signs from the smallest to the largest value of a curve."""
TRAININGS = {"rolora": 2, "pfedlora-1": 2, "pfedlora-2": 2, "pfedloru": 2}
"""How many times a client trains in a round, where that is not once; listed here, so that torch is not needed."""
ACTIONS = {
    "list": (),
    "show": (),
    "compare": ("metric", "round", "against"),
    "plot": ("metric", "out"),
    "export": ("out", "root", "trust", "round"),
}
"""The actions, with the options that each takes."""


def declare(commands: Any) -> None:
    """Declare `rankproof runs`."""
    runs = add_command(
        commands,
        "runs",
        _runs,
        "list, show, compare, plot and export the training runs in a folder",
        "rankproof runs compare results/runs --metric accuracy",
    )
    runs.add_argument(
        "action",
        choices=tuple(ACTIONS),
        help="list: one line per run; show: settings, curves and messages of each run; compare: means over the seeds "
        "after the last round that all runs share, and paired differences; plot: curves with bands over the seeds, as "
        "PNG, PDF and CSV; export: the adapter of one run of a language model, in PEFT's format",
    )
    runs.add_argument(
        "folder",
        nargs="?",
        type=read_name,
        default="results/runs",
        metavar="FOLDER",
        help="folder of one run or of several; default: results/runs",
    )
    runs.add_argument(
        "--metric",
        type=read_name,
        metavar="NAME",
        help="metric to compare or plot, such as loss; default: accuracy, else loss",
    )
    runs.add_argument(
        "--round",
        type=at_least(0),
        metavar="N",
        help="round after which to compare (default: the last that all runs have evaluated) or whose adapter to export "
        "(default: the last checkpoint; --keep-every 1 of train keeps all)",
    )
    runs.add_argument(
        "--against",
        type=read_name,
        metavar="LABEL",
        help="runs to subtract from the others, by the label that compare prints; default: the first",
    )
    runs.add_argument(
        "--out",
        type=read_name,
        metavar="DIR",
        help="folder for plots (default: results) or for the adapter (default: FOLDER/adapter)",
    )
    runs.add_argument(
        "--root",
        type=read_name,
        metavar="DIR",
        help="folder of the texts that the run used; default: $RANKPROOF_DATA, else data",
    )
    runs.add_argument(
        "--trust",
        action="store_const",
        const=True,
        help="allow pickled weights named in the run's settings, which may run code",
    )


def _runs(options: argparse.Namespace) -> int:
    from runs.listing import describe_edit, drop_duplicates, drop_edited, find_runs

    _refuse_unused(options)
    if options.action == "export":
        from runs.networks.peft_export import export

        out = Path(options.out or f"{options.folder}/adapter")
        number = export(Path(options.folder), out, options.root, bool(options.trust), options.round)
        print(f"the adapter after round {number}\n{out}")
        return 0
    found = find_runs(Path(options.folder))
    edited = [describe_edit(run) for run in found if run.edited]
    if options.action == "list":
        _show([*list_runs(found), *edited])
    elif options.action == "show":
        for place, run in enumerate(found):
            _show([*([""] if place else []), *describe_run(run)])
    elif options.action == "compare":
        whole = drop_duplicates(drop_edited(found))
        _show([f"{text}: left out" for text in edited])
        _show(compare_runs(whole, options.metric, options.round, options.against))
    else:
        from figures.run_curves import write_curves

        whole = drop_duplicates(drop_edited(found))
        _show([f"{text}: left out" for text in edited])
        print(
            ", ".join(
                printable(str(path)) for path in write_curves(whole, options.metric, Path(options.out or "results"))
            )
        )
    return 0


def _show(lines: Sequence[str]) -> None:
    """Print lines with names and settings of runs, which others may have written."""
    for line in lines:
        print(shorten(printable(line), LINE))


def _refuse_unused(options: argparse.Namespace) -> None:
    from runs.settings import RunError

    for name in ("metric", "round", "against", "out", "root", "trust"):
        if getattr(options, name) is not None and name not in ACTIONS[options.action]:
            takers = " and ".join(f"`runs {action}`" for action, names in ACTIONS.items() if name in names)
            raise RunError(f"--{name} is an option of {takers}, not of `runs {options.action}`")


def list_runs(runs: Sequence[FoundRun]) -> list[str]:
    """Return one line for each run: its progress, its last metrics, and the settings in which runs differ.

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
    return align_rows([{name: row[name] for name in row if any(other[name] for other in rows)} for row in rows])


def describe_run(run: FoundRun) -> list[str]:
    """Describe one run: its settings, the versions that computed it, its metrics, and its messages.

    Raises:
        RunError: Its ledger cannot be read.
    """
    from runs.listing import describe_edit, format_value

    sections = [
        [
            f"{run.folder}: {run.algorithm} on {run.problem}, round {run.done} of {run.rounds}",
            *([describe_edit(run)] if run.edited else []),
        ],
        align_rows([{"setting": name, "value": format_value(value)} for name, value in run.settings.items()]),
        [
            f"{what}: {', '.join(f'{name} {format_value(value)}' for name, value in known.items()) or 'not known'}"
            for what, known in (("conduct", run.conduct), ("versions", run.versions))
        ],
        [_in_a_line(f"silo {name}: {why}") for name, why in (*run.left_out().items(), *run.suspects().items())],
        align_rows(
            [
                {
                    "metric": name,
                    "first": _number(run.curve(name)[0][name]),
                    "last": _number(value),
                    "best": _number(best[name]),
                    "in round": str(best["round"]),
                    "curve": _curve([float(row[name]) for row in run.curve(name)]),
                }
                for name, value in run.last.items()
                if name not in ("round", "bytes_down", "bytes_up")
                for best in (_best(run, name),)
            ]
        ),
        align_rows(
            [
                {"direction": way, "what": what, "messages": str(len(sizes)), "bytes": f"{sum(sizes):,}"}
                for (way, what), sizes in _messages(run).items()
            ]
        ),
    ]
    lines = [line for section in sections if section for line in ["", *section]]
    return lines[1:]


def _best(run: FoundRun, metric: str) -> Mapping[str, Any]:
    """Return the row of the first round with the best value of a metric: losses and perplexities are to be small."""
    sign = 1.0 if metric.endswith(("loss", "perplexity")) else -1.0

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


def compare_runs(runs: Sequence[FoundRun], asked: str | None, after: int | None, against: str | None) -> list[str]:
    """Compare groups of runs over their seeds after one round; differences are paired by seed.

    Args:
        runs: The runs.
        asked: The metric; default: accuracy, else the loss.
        after: The round; default: the last at which all runs evaluated the metric.
        against: Label of the group that is subtracted; default: the first.

    Raises:
        RunError: A run lacks the metric, or lacks it after that round; or no group has that label.
    """
    from runs.listing import LEVEL, differences, group_runs, metric_of, round_of
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
    lines = [heading, *align_rows(summaries), *notes]
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
    lines += [
        f"{group.label}: each seed has its own {' and '.join(group.by_seed)}, as returned by your function"
        for group in groups
        if group.by_seed and len(group.runs) > 1
    ]
    return [*lines, "", *align_rows(rows)] if rows else lines


def local_trainings(algorithm: str, settings: Mapping[str, Any]) -> int | None:
    """Return how many times a client trains in a round, such as twice in RoLoRA's; None for an algorithm of a user."""
    if ":" in algorithm:
        return None
    return 1 if settings.get("frozen_a") else TRAININGS.get(algorithm, 1)


def _summary(group: Group, metric: str, number: int) -> dict[str, str]:
    values = list(group.values(metric, number).values())
    mean = sum(values) / len(values)
    spread = hypot(*(value - mean for value in values)) / sqrt(len(values) - 1) if len(values) > 1 else None
    done = [run.done for run in group.runs.values()]
    return {
        "runs": group.label,
        "seeds": str(len(values)),
        "rounds done": " to ".join(map(str, sorted({min(done), max(done)}))),
        metric: _number(mean),
        "deviation": _number(spread),
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
