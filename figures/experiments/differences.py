"""Settings of the runs that differ from those of the paper: both experiments compared, option by option.

An experiment exists at every scale. At scale `paper` it has the printed settings, and a convention where nothing is
printed. `differences` resolves every option of every run at both scales, defaults included: a value that only one of
the two experiments has cannot be missing.

``python -m figures.experiments.differences docs/figures`` writes the page with the table of every stored experiment.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from figures.experiments.experiment import Design
from figures.figure import Figure, Settings
from workloads.arguments import write_documents
from workloads.files import write_whole

PAGE = "settings.md"
UNCOUNTED = ("seed", "eval_batch", "training_loss", "schedule_period", "personal_schedule_period")
"""Options that decide no number of the comparison, or that follow from the rounds."""
CHOSEN = "chosen on validation samples"
ABSENT: Mapping[str, str] = {
    "samples": "all",
    "test_samples": "all",
    "cohort": "all clients",
    "dropout": "the model's own",
    "side": "whole images",
    "width": "the network's own",
}
"""Meaning of an option that is not given, where the word `none` does not say it."""
WORDS: Mapping[str, str] = {
    "adapt": "images fitted by",
    "cap": "ranks capped by the layer",
    "cohort": "clients in a round",
    "epochs": "local epochs",
    "first: draws": "draws of the points (first reading)",
    "first: rounds": "rounds (first reading)",
    "flip": "mirror images",
    "held_out": "samples held out",
    "learning_rate": "learning rate",
    "others: clients": "clients (other readings)",
    "others: draws": "draws of the points (other readings)",
    "others: rounds": "rounds (other readings)",
    "others: starts": "random starts (other readings)",
    "partition_psi": "concentration of the labels",
    "plan: far": "rounds of the full-rank methods",
    "plan: rounds": "rounds of the low-rank methods",
    "plan: starts": "random starts",
    "schedule": "schedule of the rate",
    "schedule_minimum": "least rate of the schedule",
    "seeds": "number of seeds",
    "side": "side of the images",
    "steps": "local steps",
    "tau": "rounds between accumulations",
    "test_samples": "test samples",
    "tuning_rounds": "rounds that choose the rate",
    "weight_decay": "weight decay",
}
"""Names of options in tables, where they differ from the option's own."""


@dataclass(frozen=True)
class Difference:
    """A setting that differs between the paper's experiment and the one that was run.

    Attributes:
        option: Name of the option, which `Figure.conventions` has too, or of a setting that no option has.
        setting: Name of the setting, with the algorithms in parentheses if it does not differ alike in all.
        printed: Values at the paper's scale.
        run: Values of the runs.
        source: Where the value at the paper's scale is from; empty if it is printed.
    """

    option: str
    setting: str
    printed: str
    run: str
    source: str = ""

    @property
    def paper(self) -> str:
        """Value at the paper's scale, with its source in parentheses."""
        return f"{self.printed} ({self.source})" if self.source else self.printed


def differences(figure: Figure, settings: Settings) -> tuple[Difference, ...]:
    """Return the settings in which a figure's runs differ from the paper's, in the order of the options.

    A setting that only one of the two experiments has, such as the momentum of another optimiser, follows from a
    setting that differs and is left out.

    Args:
        figure: The figure; there is nothing to compare if no paper has it, or without `designs` or `by_scale`.
        settings: The settings of the runs.
    """
    if figure.designs is not None and figure.in_paper:
        printed = values_of((figure.printed_designs or figure.designs)(replace(settings, scale="paper")))
        run = values_of(figure.designs(settings))
    elif figure.by_scale is not None:
        printed, run = ({"": sizes_of(figure.by_scale[scale])} for scale in ("paper", settings.scale))
    else:
        return ()
    found = dict[tuple[str, str, str], list[str]]()
    for algorithm in [name for name in printed if name in run]:
        theirs, ours = printed[algorithm], run[algorithm]
        theirs |= {name: values for name, values in figure.printed.items() if name in theirs}
        for name in [name for name in theirs if name in ours]:
            if set(theirs[name]) != set(ours[name]):
                found.setdefault((name, _listed(name, theirs[name]), _listed(name, ours[name])), []).append(algorithm)
    both = [name for name in printed if name in run]
    rows = []
    for (name, theirs_told, ours_told), algorithms in found.items():
        where = "" if len(algorithms) == len(both) else f" ({', '.join(algorithms)})"
        rows.append(Difference(name, WORDS.get(name, name.replace("_", " ")) + where, theirs_told, ours_told))
    lacking = [name for name in printed if name not in run]
    methods = [Difference("methods", "methods", ", ".join(printed), ", ".join(both))] if lacking else []
    return with_beyond(figure, (*rows, *methods))


def with_beyond(figure: Figure, rows: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return rows with their sources, and with those of the settings that no option of a run has.

    Sources and these settings describe the paper, so rows of stored numbers get the current ones.
    """
    sources = figure.conventions
    options = [
        replace(row, source=sources.get(row.option.split(": ")[-1], ""))
        for row in rows
        if row.option not in figure.beyond
    ]
    return (*options, *(Difference(name, name, printed, run) for name, (printed, run) in figure.beyond.items()))


def values_of(designs: Sequence[Design]) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return the values of every setting, by algorithm and name, each value once and in the order of the lines.

    Designs without seeds only choose learning rates: of these, the rates tried count, and the rounds.
    """
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for design in designs:
        for line in design.lines:
            chosen = "learning_rate" not in line.options
            plan = line.trial(design.rounds, (0,), max(design.rates, default=1.0) if chosen else None).plan(0)
            values = {"data": plan.problem, "rounds": design.rounds, "seeds": design.seeds, **plan.settings}
            if values.get("epochs") is not None:
                values["steps"] = None  # epochs replace steps
            if chosen and len(design.rates) != 1:
                values["learning_rate"] = CHOSEN
            if not design.seeds:
                values = {}
            if len(design.rates) > 1 and line.tuned:
                values |= {"rates tried": design.rates, "tuning_rounds": design.tuning_rounds}
            mine = found.setdefault(line.algorithm, {})
            for name, value in values.items():
                if name not in UNCOUNTED and value not in mine.get(name, ()):
                    mine[name] = (*mine.get(name, ()), value)
    return found


def sizes_of(sizes: Any, before: str = "") -> dict[str, tuple[Any, ...]]:
    """Return the values of a dataclass by name, those of its dataclasses too; a mapping counts as one value.

    >>> sizes_of(Difference("batch", "size of a batch", "128", "32"), "of a ")["of a setting"]
    ('size of a batch',)
    """
    found: dict[str, tuple[Any, ...]] = {}
    for field in fields(sizes):
        value = getattr(sizes, field.name)
        if is_dataclass(value):
            found |= sizes_of(value, f"{before}{field.name}: ")
        else:
            found[f"{before}{field.name}"] = (tuple(value.items()) if isinstance(value, Mapping) else value,)
    return found


def describe(rows: Sequence[Difference]) -> str:
    """Return one sentence for a caption; empty where nothing differs.

    >>> describe([Difference("batch", "batch", "128", "32"), Difference("crop", "crop", "4", "0", "not printed")])
    'Settings that differ from the paper (its own in parentheses): batch 32 (128); crop 0 (4 (not printed)).'
    """
    if not rows:
        return ""
    each = "; ".join(f"{row.setting} {row.run} ({row.paper})" for row in rows)
    return f"Settings that differ from the paper (its own in parentheses): {each}."


def _listed(name: str, values: Sequence[Any]) -> str:
    """Return the values of a setting as text, numbers in ascending order."""
    ordered = sorted(values) if all(isinstance(value, int | float) for value in values) else values
    return (" or " if any(isinstance(value, tuple) for value in values) else ", ").join(
        _word(name, value) for value in ordered
    )


def _word(name: str, value: Any) -> str:
    if value is None:
        return ABSENT.get(name, "none")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple) and value and all(isinstance(one, tuple) for one in value):
        return ", ".join(f"{_word(name, number)} ({of})" for of, number in value)
    if isinstance(value, tuple):
        return ", ".join(_counted(_word(name, one), len(list(same))) for one, same in groupby(value))
    if name == "layers":
        return _blocks(str(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counted(word: str, times: int) -> str:
    return f"{times} x {word}" if times > 1 else word


def _blocks(patterns: str) -> str:
    """Return the blocks that patterns of layers name, or the patterns if they name none.

    >>> _blocks("*.layer.4.*.query, *.layer.4.*.value, *.layer.5.*.query")
    'blocks 4 to 5'
    """
    blocks = sorted({int(number) for number in re.findall(r"layer\.(\d+)\.", patterns)})
    if not blocks:
        return patterns
    return f"blocks {blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else f"block {blocks[0]}"


def page(figures: Iterable[tuple[str, tuple[Difference, ...]]]) -> str:
    """Return the page with the differences of experiments, one table for all that share it, in Markdown.

    Args:
        figures: The id of each figure, and the settings that differ.
    """
    tables: dict[tuple[Difference, ...], list[str]] = {}
    for id, rows in figures:
        tables.setdefault(rows, []).append(id)
    parts = [HEAD]
    for rows, ids in tables.items():
        names = ", ".join(f"[{id}]({id.replace('/', '-')}.png)" for id in ids)
        each = "\n".join(f"| {row.setting} | {_cell(row.paper)} | {_cell(row.run)} |" for row in rows)
        parts.append(f"## {', '.join(ids)}\n\n{names}\n\n| setting | paper | run |\n|---|---|---|\n{each}\n")
    return "\n".join(parts)


def stored_differences() -> Iterator[tuple[str, tuple[Difference, ...]]]:
    """Yield the id of each stored experiment that a paper has, and the settings that its stored numbers had."""
    from figures.ledger import all_figures
    from figures.stored_numbers import stored_numbers, stored_settings

    for figure in all_figures():
        compared = (figure.designs is not None and figure.in_paper) or figure.by_scale is not None
        settings = stored_settings(figure) if compared else None
        entry = None if settings is None else stored_numbers(figure, settings)
        if entry is not None:
            yield figure.id, with_beyond(figure, [Difference(**row) for row in entry["differences"]])


def _cell(text: str) -> str:
    return f"`{text}`" if "*" in text else text


HEAD = """# Settings that differ from the paper

The stored experiments run on a laptop, so data, width, samples and rounds are smaller than the paper's.
`python -m figures.experiments.differences docs/figures` writes these tables. It compares every option of the paper's
runs with every option of ours, defaults included. A source in parentheses names where the value in the column *paper*
is from if the paper does not print it. Other settings have the same values in both, or belong to one that is listed,
such as the betas of another optimiser. Below the paper's scale, a line whose best learning rate is at an end of the
rates tried may try further ones, which are in the caption of the figure.
"""


def write(folder: Path) -> list[Path]:
    """Write the page of the stored experiments into a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    return write_whole({folder / PAGE: page(stored_differences()).encode()})


if __name__ == "__main__":
    module = "figures.experiments.differences"
    sys.exit(write_documents(module, "settings that differ from the papers'", "docs/figures", write))
