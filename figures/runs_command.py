"""The command line of runs that were made: `rankproof runs list|show|compare|plot`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.arguments import add_command, named

if TYPE_CHECKING:
    from runs.listing import FoundRun, Group

BARS = " .:-=+*#%@"


def declare(commands: Any) -> None:
    """Declares `rankproof runs`."""
    runs = add_command(
        commands, "runs", _runs, "list, show, compare and plot the training runs in a folder",
        "rankproof runs compare results/runs --metric accuracy",
    )  # fmt: skip
    runs.add_argument("action", choices=("list", "show", "compare", "plot"))
    runs.add_argument(
        "folder", nargs="?", type=named, default="results/runs", metavar="FOLDER",
        help="of one run, or of many; default: results/runs",
    )  # fmt: skip
    runs.add_argument("--metric", type=named, metavar="NAME", help="such as accuracy; default: accuracy, else loss")
    runs.add_argument("--against", type=named, metavar="LABEL", help="compare with these runs; default: the first")
    runs.add_argument("--out", type=named, default="results", metavar="DIR", help="of plots; default: results")


def _runs(options: argparse.Namespace) -> int:
    from runs.listing import found_runs

    found = found_runs(Path(options.folder))
    if options.action == "list":
        print("\n".join(listed(found)))
    elif options.action == "show":
        print("\n".join(line for run in found for line in described(run)))
    elif options.action == "compare":
        print("\n".join(compared(found, options.metric, options.against)))
    else:
        from figures.run_curves import write_curves

        print(", ".join(map(str, write_curves(found, options.metric, Path(options.out)))))
    return 0


def listed(runs: Sequence[FoundRun]) -> list[str]:
    """One line for each run: where it stands, what distinguishes it, and its last metrics."""
    from runs.listing import differing

    words = [(run, [f"{name}={run.settings[name]}" for name in _own(run, differing(runs))]) for run in runs]
    rows = [
        {
            "run": run.folder.name, "algorithm": run.algorithm, "problem": run.problem,
            "rounds": f"{run.done}/{run.rounds}", "seed": str(run.settings.get("seed", "")),
            "loss": _number(run.last.get("loss")), "accuracy": _number(run.last.get("accuracy")),
            "sent": _sent(run.last), "settings": " ".join(own),
        }
        for run, own in words
    ]  # fmt: skip
    return aligned([{name: row[name] for name in row if any(other[name] for other in rows)} for row in rows])


def described(run: FoundRun) -> list[str]:
    """One run: its settings, its last metrics, its curve, and what travelled."""
    lines = [f"{run.folder}: {run.algorithm} on {run.problem}, round {run.done} of {run.rounds}", ""]
    lines += aligned([{"setting": name, "value": str(value)} for name, value in run.settings.items()])
    lines += ["", "versions  " + ", ".join(f"{name} {version}" for name, version in run.versions.items()), ""]
    lines += aligned(
        [
            {
                "metric": name,
                "first": _number(run.curve(name)[0][name]),
                "last": _number(value),
                "curve": _curve(run, name),
            }
            for name, value in run.last.items()
            if name not in ("round", "bytes_down", "bytes_up")
        ]
    )
    totals: dict[tuple[str, str], list[int]] = {}
    for entry in run.ledger():
        total = totals.setdefault((entry["direction"], entry["what"]), [0, 0])
        total[0] += 1
        total[1] += entry["bytes"]
    lines += ["", *aligned([
        {"direction": way, "what": what, "messages": str(count), "bytes": f"{size:,}"}
        for (way, what), (count, size) in totals.items()
    ]), ""]  # fmt: skip
    return lines


def compared(runs: Sequence[FoundRun], asked: str | None, against: str | None) -> list[str]:
    """Groups of runs over their seeds, and their differences, paired by the seeds.

    Raises:
        RunError: A metric that some run lacks, or no group of that label.
    """
    from runs.listing import LEVEL, differences, grouped, metric_of
    from runs.settings import RunError

    groups, metric = grouped(runs), metric_of(runs, asked)
    chosen = next((group for group in groups if against in (None, group.label)), None)
    if chosen is None:
        raise RunError(f"no runs are called {against!r}; there are {', '.join(group.label for group in groups)}")
    lines = aligned([_summary(group, metric) for group in groups])
    rows = [
        {
            f"{metric} minus that of {chosen.label}": one.label, "seeds": str(one.seeds), "mean": _signed(one.mean),
            f"{LEVEL:.0%} interval": "two seeds are needed" if one.half_width is None or one.mean is None
            else f"{_signed(one.mean - one.half_width)} to {_signed(one.mean + one.half_width)}",
        }
        for one in differences(groups, metric, chosen)
    ]  # fmt: skip
    return [*lines, "", *aligned(rows)] if rows else lines


def aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Rows as lines of text with a heading, columns below each other."""
    if not rows:
        return []
    names = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    return [
        "  ".join(row[name].ljust(widths[name]) for name in names).rstrip()
        for row in ({name: name for name in names}, *rows)
    ]


def _summary(group: Group, metric: str) -> dict[str, str]:
    finals = list(group.finals(metric).values())
    mean = sum(finals) / len(finals)
    spread = (sum((value - mean) ** 2 for value in finals) / (len(finals) - 1)) ** 0.5 if len(finals) > 1 else None
    done = [run.done for run in group.runs.values()]
    return {
        "runs": group.label,
        "seeds": str(len(finals)),
        "rounds": " to ".join(map(str, sorted({min(done), max(done)}))),
        metric: _number(mean),
        "deviation": _number(spread),
        "sent": _sent(next(iter(group.runs.values())).last),
    }


def _own(run: FoundRun, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in run.settings]


def _curve(run: FoundRun, metric: str, width: int = 40) -> str:
    """A curve as a line of signs, from low to high."""
    values = [float(row[metric]) for row in run.curve(metric)]
    picked = [values[round(place * (len(values) - 1) / (width - 1))] for place in range(width)]
    low, high = min(values), max(values)
    share = [(value - low) / (high - low) if high > low else 0.0 for value in picked]
    return "".join(BARS[round(part * (len(BARS) - 1))] for part in share)


def _sent(metrics: Mapping[str, Any]) -> str:
    from runs.words import bytes_in_words

    return bytes_in_words(metrics.get("bytes_down", 0) + metrics.get("bytes_up", 0))


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _signed(value: float | None) -> str:
    return "no common seed" if value is None else f"{value:+.4g}"
