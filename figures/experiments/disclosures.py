"""Facts that every experiment states besides its result: scale, failed runs, and rates at an end of the grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from figures.experiments.experiment import CHOICE, RUN, finals, key_columns
from figures.experiments.rate_choice import CLOSE, Tries, best_rate, close_to_best

if TYPE_CHECKING:
    from pandas import DataFrame

    from figures.figure import Figure, Settings

NAMES: Mapping[str, str] = {
    "resnet10": "ResNet-10",
    "resnet18": "ResNet-18",
    "alexnet": "AlexNet",
    "vgg16": "VGG16",
    "vit": "transformer",
    "hf:minilm": "MiniLM",
    "hf:smollm2": "SmolLM2-135M",
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "cifar-10": "CIFAR-10",
    "cifar-100": "CIFAR-100",
    "rated-sentences": "rated sentences",
}
"""Names of data sets and models in texts; others are written as on the command line."""


def under_headline(figure: Figure, table: DataFrame, settings: Settings) -> str:
    """Return the text under the headline: the scale, runs that failed, and whether learning rates may decide."""
    close = "Learning rates chosen by little may decide small differences" if close_rates(table) else ""
    scale = scale_line(figure, settings) if figure.under is None else figure.under(table)
    return ". ".join(filter(None, (scale, failed_runs(table), close)))


def finding(figure: Figure, table: DataFrame) -> str:
    """Return the statement of the paper and the finding, with the runs that failed and the rates that were close."""
    failed = failed_runs(table)
    return " ".join(filter(None, (figure.found(table), f"{failed}." if failed else "", close_rates(table))))


def scale_line(figure: Figure, settings: Settings) -> str:
    """Return data, network, rounds and seeds of an experiment, from its design; empty without a design.

    Rounds are those of the methods that take the most: one round of a method with two exchanges counts twice elsewhere.
    """
    if figure.designs is None:
        return ""
    from figures.experiments.differences import values_of  # brings torch along

    by_algorithm = list(values_of(figure.designs(settings)).values())
    values: dict[str, list[Any]] = {}
    for of in by_algorithm:
        for name, some in of.items():
            values.setdefault(name, []).extend(one for one in some if one not in values.get(name, ()))
    rounds = max((of.get("rounds", ()) for of in by_algorithm), key=lambda some: max(some, default=0))
    sides = [side for side in values.get("side", []) if side is not None]
    data = " and ".join(NAMES.get(name, name) for name in values["data"])
    widths = [width for width in values.get("width", []) if width is not None]
    models = dict.fromkeys(_model(str(name)) for name in values.get("model", []))
    network = " and ".join(models) + (f" of width {_span(widths)}" if widths else "")
    samples = [some for some in values.get("samples", []) if some is not None]
    parts = [
        data + (f" {sides[0]}x{sides[0]}" if sides else ""),
        f"{_span(samples)} samples" if samples else "all samples" * ("samples" in values),
        network,
        _counted(rounds, "round"),
        _counted(values.get("seeds", []), "seed"),
    ]
    return ", ".join(filter(None, parts))


def _model(name: str) -> str:
    return "two-layer network" if name.startswith("two-layer") else NAMES.get(name, name)


def _span(numbers: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers))))


def _counted(numbers: Sequence[int], what: str) -> str:
    return f"{_span(numbers)} {what}{'s' * (max(numbers) > 1)}" if numbers else ""


def failed_runs(table: DataFrame) -> str:
    """Return which lines have runs that failed, and how many; empty if none has, or if the table is of no experiment.

    A run fails if it ends before its last round, as one that diverges does. Means and differences leave it out.
    """
    if not {"stage", "seed", "failed", "rate", "value", "bytes"} <= set(table.columns):
        return ""
    ends = finals(table)
    keys = _telling(ends, [name for name in key_columns(table) if name in ends])
    told = []
    for _, line in ends.groupby(key_columns(table), sort=False):
        count = int((line.failed > 0).sum())
        if count:
            told.append(f"{_by_setting([_label(line.iloc[0], keys)])} in {count} of {len(line)} runs")
    return f"Failed runs, left out: {'; '.join(told)}" if told else ""


def rates_at_an_end(table: DataFrame) -> str:
    """Return the learning rates that were chosen at an end of the grid, from the rows that chose; empty if none was.

    A larger or smaller rate, which was not tried, might be better there.
    """
    found: dict[str, list[str]] = {}
    for line, tries in _tries_by_line(table):
        tried, best = sorted({rate for rate, _ in tries}), best_rate(tries)
        if len(tried) > 1 and best in (tried[0], tried[-1]):
            end = f"{best:g}, the {'smallest' if best == tried[0] else 'largest'}"
            found.setdefault(end, []).append(line)
    if not found:
        return ""
    told = "; ".join(f"{end}: {_by_setting(lines)}" for end, lines in found.items())
    return f"Learning rates chosen at an end of those tried, so that rates beyond might be better: {told}."


def close_rates(table: DataFrame) -> str:
    """Return the learning rates that were chosen by little, from the rows that chose; empty if none was.

    Another draw of the validation samples might choose the other rate, so differences of the lines may be due to it.
    The means count for rates that were tried with two seeds.
    """
    found: dict[str, list[str]] = {}
    for line, tries in _tries_by_line(table):
        best = best_rate(tries)
        for rate in close_to_best(tries):
            found.setdefault(f"{best:g} over {rate:g}", []).append(line)
    if not found:
        return ""
    told = "; ".join(f"{pair}: {_by_setting(lines)}" for pair, lines in found.items())
    return f"Learning rates chosen by at most {100 * CLOSE:g} points on the validation samples: {told}."


def _tries_by_line(table: DataFrame) -> Iterator[tuple[str, Tries]]:
    """Yield each line that chose a rate as text, and what it tried, in that order; failed runs have 0."""
    if not {"stage", "rate", "value", "failed"} <= set(table.columns) or not (table.stage == CHOICE).any():
        return
    choice = table[table.stage == CHOICE]
    columns = [name for name in key_columns(table) if name in choice]
    keys = _telling(choice, columns)
    first = choice.seed.max()
    for _, line in choice.groupby(columns, sort=False):
        values = line.value.where(line.failed == 0, 0.0)
        tried = zip(map(float, line.rate), map(int, line.seed < first), strict=True)
        yield _label(line.iloc[0], keys), dict(zip(tried, map(float, values), strict=True))


def borrowed_rates(table: DataFrame) -> str:
    """Return how many lines have a learning rate that was chosen on another line; empty if none has."""
    if not {"stage", "rate"} <= set(table.columns) or not (table.stage == CHOICE).any():
        return ""
    known = table[table.rate.notna()]  # a rate that nobody chose is among the options
    keys = key_columns(table)
    chose, ran = (set(known[known.stage == stage][keys].itertuples(index=False)) for stage in (CHOICE, RUN))
    borrowed = len(ran - chose)
    return f"Of {len(ran)} lines, {borrowed} have a learning rate that was chosen on another line." if borrowed else ""


def _telling(lines: DataFrame, columns: Sequence[str]) -> list[str]:
    """Return as few columns as tell the lines apart, the method among them."""
    known = [name for name in columns if name == "method" or lines[name].nunique() > 1]
    count = len(lines[known].drop_duplicates())
    for name in reversed(known):
        fewer = [other for other in known if other != name]
        if name != "method" and len(lines[fewer].drop_duplicates()) == count:
            known = fewer
    return known


def _label(row: Any, keys: Sequence[str]) -> str:
    """Return a line as text, the method last."""
    told = [
        f"{row[name]} client{'' if row[name] == 1 else 's'}" if name == "clients" else str(row[name])
        for name in keys
        if name != "method"
    ]
    return ", ".join([*told, str(row["method"])] if "method" in keys else told)


def _by_setting(lines: Sequence[str]) -> str:
    """Return lines as text, with the methods of a setting together.

    >>> _by_setting(["IID, FedAvg", "IID, FedHM", "FedLin"])
    'FedAvg and FedHM (IID), FedLin'
    """
    found: dict[str, list[str]] = {}
    for line in lines:
        setting, _, method = line.rpartition(", ")
        found.setdefault(setting, []).append(method)
    told = []
    for setting, methods in found.items():
        *most, last = methods
        told.append((f"{', '.join(most)} and {last}" if most else last) + (f" ({setting})" if setting else ""))
    return ", ".join(told)
