"""RoLoRA's Tables 1, 2, 6 and 12: printed values, values that follow from other printed numbers, and differences.

This needs no training: averages follow from their rows, the accuracy on MMLU from the accuracies of its groups, and a
mean of three trials from a whole number of right answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.experiments.text_tables import Cell, draw_text_table
from figures.figure import Figure, Settings
from figures.rolora.printed import (
    COMMONSENSE,
    METHODS,
    MMLU,
    MMLU_GROUPS,
    TABLE_1,
    TABLE_2,
    TABLE_6,
    TABLE_12,
    TESTS,
    Row,
    find,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TRIALS = 3
ROUNDING = 0.0105
"""Points that rounding can explain: a hundredth between the mean of rounded numbers and a rounded number."""
AVERAGE = "Avg."


def mean_of_row(row: Row) -> Fraction:
    """Return the mean accuracy of a row."""
    return sum((Fraction(score.mean) for score in row.scores.values()), Fraction(0)) / len(row.scores)


def nearest_count(mean: str, size: int, trials: int = TRIALS) -> Fraction:
    """Return the mean over trials, in per cent, of whole numbers of right answers that is nearest to a printed one.

    >>> float(nearest_count("50.0", 2, 1))
    50.0
    """
    return Fraction(100 * round(Fraction(mean) * size * trials / 100), size * trials)


def mmlu(method: str) -> Fraction:
    """Return the accuracy on MMLU from its groups, weighted by their numbers of questions."""
    counts = MMLU["anatomy in stem"]
    weighted = (Fraction(TABLE_12[group][method].mean) * counts[group] for group in MMLU_GROUPS)
    return sum(weighted, Fraction(0)) / sum(counts.values())


def _cell(
    setting: str, method: str, column: str, mean: str, deviation: str = "", recomputed: Fraction | None = None
) -> dict[str, Any]:
    found = float("nan") if recomputed is None else float(recomputed)
    return {
        "setting": setting,
        "method": method,
        "column": column,
        "published": float(mean),
        "deviation": float(deviation or "nan"),
        "recomputed": found,
        "difference": float("nan") if recomputed is None else float(recomputed - Fraction(mean)),
    }


def _glue(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for name, score in row.scores.items():
            yield _cell(row.setting, row.method, name, *score)
        yield _cell(row.setting, row.method, AVERAGE, row.average, recomputed=mean_of_row(row))


def table_1_data(settings: Settings) -> pd.DataFrame:
    """Return every cell of Table 1, with the averages recomputed from their rows."""
    return pd.DataFrame(_glue(TABLE_1))


def table_6_data(settings: Settings) -> pd.DataFrame:
    """Return every cell of Table 6, with the averages recomputed from their rows."""
    return pd.DataFrame(_glue(TABLE_6))


def table_2_data(settings: Settings) -> pd.DataFrame:
    """Return every cell of Table 2 with the nearest mean of three trials."""
    return pd.DataFrame(
        _cell("", row.method, task, *row.scores[task], recomputed=nearest_count(row.scores[task].mean, TESTS[task]))
        for task in COMMONSENSE
        for row in TABLE_2
    )


def table_12_data(settings: Settings) -> pd.DataFrame:
    """Return every cell of Table 12, with MMLU recomputed from its groups."""
    return pd.DataFrame(
        _cell("", method, metric, *scores[method], recomputed=mmlu(method) if metric == "MMLU" else None)
        for metric, scores in TABLE_12.items()
        for method in METHODS
    )


def draw_glue(table: pd.DataFrame) -> Picture:
    """Draw a row for each method, grouped by setting, with the average as published, recomputed, and difference."""
    names = [name for name in dict.fromkeys(table.column) if name != AVERAGE]
    rows: list[list[Cell]] = []
    for setting, of_setting in table.groupby("setting", sort=False):
        rows.append([Cell(str(setting), bold=True)])
        for method, mine in of_setting.groupby("method", sort=False):
            by_name = mine.set_index("column")
            plain = [Cell(_printed(by_name.loc[name])) for name in names]
            rows.append([Cell(f"  {method}"), *plain, *_three(by_name.loc[AVERAGE])])
    heads = ["", *names, "Avg.", "recomp.", "difference"]
    return draw_text_table(heads, rows, (1.35, *(1.4 for _ in names), 0.9, 1.2, 1.1))


def draw_by_method(table: pd.DataFrame) -> Picture:
    """Draw a row for each task or metric, and published, recomputed and difference for each method."""
    rows = []
    for name, mine in table.groupby("column", sort=False):
        by_method = mine.set_index("method")
        rows.append([Cell(str(name)), *(cell for method in METHODS for cell in _three(by_method.loc[method]))])
    heads = ["", *(head for method in METHODS for head in (method, "recomp.", "diff."))]
    return draw_text_table(heads, rows, (1.4, *(1.6, 1.05, 0.8) * len(METHODS)))


def _printed(row: Any) -> str:
    return f"{row.published:.2f}" + (f" ± {row.deviation:.2f}" if row.deviation == row.deviation else "")


def _three(row: Any) -> tuple[Cell, Cell, Cell]:
    if row.recomputed != row.recomputed:
        return Cell(_printed(row)), Cell(""), Cell("")
    tint = 0.0 if abs(row.difference) <= ROUNDING else row.difference
    return (
        Cell(_printed(row)),
        Cell(f"{row.recomputed:.2f}"),
        Cell(f"{row.difference:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00"), tint),
    )


def averages_found(table: pd.DataFrame) -> str:
    """Return the finding: how many averages do not follow from their rows."""
    means = table[table.column == AVERAGE]
    off = means[means.difference.abs() > ROUNDING]
    low, high = (f"{value:.2f}" for value in (off.difference.abs().min(), off.difference.abs().max()))
    return f"{len(off)} of {len(means)} printed averages are {low} to {high} points off their rows' means."


def trials_found(table: pd.DataFrame) -> str:
    """Return the finding: the distance of the means from whole numbers of right answers."""
    worst = table.difference.abs().max()
    can = "Every accuracy" if worst <= ROUNDING else "Not every accuracy"
    return f"{can} can be a mean of three trials, the nearest within {worst:.3f} points."


def mmlu_found(table: pd.DataFrame) -> str:
    """Return the finding: whether MMLU follows from its groups."""
    worst = table.difference.abs().max()
    says = "follows" if worst <= ROUNDING else "does not follow"
    return f"The accuracy on MMLU {says} from its four groups, weighted by questions, within {worst:.3f} points."


def table_1_found(table: pd.DataFrame) -> str:
    """Return the finding: the averages that do not follow, one by one."""
    means = table[table.column == AVERAGE]
    off = means[means.difference.abs() > ROUNDING]
    told = "; ".join(
        f"{row.setting}, {row.method}: {row.published:.2f} printed, {row.recomputed:.2f} from the row"
        for row in off.itertuples()
    )
    return f"{averages_found(table)} {told}."


def table_6_found(table: pd.DataFrame) -> str:
    """Return the finding: the averages that do not follow, and differences from Table 1."""
    other = [
        f"{row.setting}, {row.method}, {name}: {before.scores[name].deviation} in Table 1, {score.deviation} here"
        for row in TABLE_6
        if row.method in METHODS
        for before in (find(TABLE_1, row.method, row.clients, row.rank),)
        for name, score in row.scores.items()
        if score != before.scores[name]
    ]
    return f"{table_1_found(table)} Different from Table 1: {'; '.join(other) or 'nothing'}."


def table_sizes(table: pd.DataFrame) -> str:
    """Describe the numbers of cells."""
    return f"{len(table)} printed numbers, {int(table.recomputed.notna().sum())} of them recomputed. No training."


TABLE_1_FIGURE = Figure(
    "rolora/table-1",
    "Table 1: printed accuracies and averages",
    "RoBERTa-Large, printed accuracy in per cent with its standard deviation; the printed average, the mean of "
    "the row, and their difference, tinted if rounding does not explain it.",
    table_1_data,
    draw_glue,
    averages_found,
    table_1_found,
    table_sizes,
)
TABLE_2_FIGURE = Figure(
    "rolora/table-2",
    "Table 2: printed accuracies as means of three trials",
    "Llama-2-7B, printed accuracy in per cent with its standard deviation; the nearest mean of three whole "
    "numbers of right answers, and the difference.",
    table_2_data,
    draw_by_method,
    trials_found,
    trials_found,
    table_sizes,
)
TABLE_6_FIGURE = Figure(
    "rolora/table-6",
    "Table 6: printed accuracies and averages",
    "RoBERTa-Large with FlexLoRA, printed accuracy in per cent with its standard deviation; the printed average, "
    "the mean of the row, and their difference, tinted if rounding does not explain it.",
    table_6_data,
    draw_glue,
    averages_found,
    table_6_found,
    table_sizes,
)
TABLE_12_FIGURE = Figure(
    "rolora/table-12",
    "Table 12: MMLU from its groups",
    "Llama-2-7B, printed accuracy in per cent with its standard deviation; MMLU as the mean of its groups "
    "weighted by their numbers of questions, and the difference. HumanEval and the groups cannot be derived from "
    "other printed numbers.",
    table_12_data,
    draw_by_method,
    mmlu_found,
    mmlu_found,
    table_sizes,
)
