"""Section 6.1 and Appendix B.2.1: averages, numbers of runs and levels in Tables 1 and 6."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from figures.rolora_printed import TABLE_1, TABLE_6, Row, find
from paper_checks.claim import Evidence, Form, claim
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from paper_checks.rolora.whole_counts import Trials, attainable

printed = Rounded.printed
exact = Rounded.exact

# Examples of GLUE's validation sets, and how many are in the largest class ("positive", "entailment"): from outside the
# paper, which does not print them.
VALIDATION: Mapping[str, tuple[int, int]] = {"SST-2": (872, 444), "RTE": (277, 146)}
MOST_RUNS = 50
"""More than enough: 37 runs of 277 examples have means less than a hundredth apart."""


def written(text: str, places: int) -> str:
    """A number with at least so many decimals."""
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.ljust(places, '0')}" if places else text


def mean(values: Iterable[Rounded]) -> Rounded:
    """The range of the mean of several numbers."""
    listed = list(values)
    total = listed[0]
    for value in listed[1:]:
        total = total + value
    return total * exact(Fraction(1, len(listed)))


def average_cells(rows: Iterable[Row], shift: float = 0.0) -> dict[str, Cell]:
    """Every printed average beside the mean of the accuracies of its row."""
    return {
        row.name: Cell(
            printed(row.average) + exact(Fraction(shift)),
            mean(printed(score.mean) for score in row.scores.values()),
            {
                "table": row.table,
                "rank": row.rank,
                "clients": row.clients,
                "method": row.method,
                "accuracies": " ".join(score.mean for score in row.scores.values()),
                "average": row.average,
            },
        )
        for row in rows
    }


NOT_FOLLOWING = ((4, 3, "FFA-LoRA"), (4, 20, "FFA-LoRA"), (8, 50, "LoRA"), (8, 50, "FFA-LoRA"))


@claim(
    "rolora/table-1",
    where="Table 1, column Avg. (the same in Table 6); the deviations are not judged, since the number of seeds is not "
    "printed, and a printed accuracy is within half a unit of its last digit",
    says="Table 1: the printed average of each row is the mean of its five accuracies.",
    measure=lambda context: TABLE_1,
    control=Form(
        "The other eight averages follow from their rows. The four that do not are 87.48 (rank 4, 3 clients, "
        "FFA-LoRA), where the row gives 87.54, 80.01 (rank 4, 20 clients, FFA-LoRA; 81.01), 64.03 (rank 8, 50 clients, "
        "LoRA; 72.21) and 72.46 (rank 8, 50 clients, FFA-LoRA; 74.74). The order of the methods in each setting is the "
        "same with the recomputed averages.",
        {"without": NOT_FOLLOWING},
    ),
    kind="number",
    importance="detail",
    because="Four of the twelve printed averages are not the means of their rows, by up to 8.2 points.",
    expect=("refuted", "proof"),
)
def table_1(rows: Sequence[Row], without: tuple[tuple[int, int, str], ...] = (), shift: float = 0.0) -> Evidence:
    """Averages from the printed accuracies, and the order of the methods in each setting either way."""
    kept = [row for row in rows if (row.rank, row.clients, row.method) not in without]
    settings = dict.fromkeys(row.setting for row in rows)
    kept_order = sum(ranking(rows, setting, True) == ranking(rows, setting, False) for setting in settings)
    scope = (
        f"{len(kept)} of {len(rows)} rows of Table 1; the recomputed averages put the methods in the printed order in "
        f"{kept_order} of {len(settings)} settings"
    )
    return judge_printed(average_cells(kept, shift), scope)


def ranking(rows: Iterable[Row], setting: str, as_printed: bool) -> list[str]:
    """The methods of one setting from the lowest average to the highest."""

    def average(row: Row) -> Fraction:
        return Fraction(row.average) if as_printed else sum(Fraction(s.mean) for s in row.scores.values()) / Fraction(5)

    return [row.method for row in sorted((row for row in rows if row.setting == setting), key=average)]


@claim(
    "rolora/table-1-runs",
    where="Section 6, implementation, and 6.1, data sets, for the means on SST-2 and RTE in Tables 1 and 6",
    says="The best performance on the test set is reported, averaged over multiple seeds, with the original validation "
    "sets as test sets.",
    measure=lambda context: TABLE_6,
    kind="number",
    importance="detail",
    expect=("not checkable here", None),
    expect_reason="the number of seeds is not printed, and enough of them give every mean. Each run being a whole "
    "number of right answers among the 872 examples of SST-2 and the 277 of RTE, the fewest runs with which all 32 "
    "means of Tables 1 and 6 on these two can be had are six if each is rounded to hundredths of a per cent or cut off "
    "after them, and 30 if it is not rounded; where numbers such as 94.3 are read as 94.30, six, 18 and 33. "
    "Three runs, as many as Table 2 is of, do not give all of them. The "
    "deviations are not used",
)
def table_1_runs(rows: Sequence[Row]) -> Evidence:
    """Undecided: the fewest runs, by how each enters its mean, and what three runs miss stand in the scope."""
    sizes = {name: size for name, (size, _) in VALIDATION.items()}
    means = [(row.scores[name].mean, name, row) for name in sizes for row in rows]
    ways: Mapping[Trials, str] = {"rounded": "rounded", "cut": "cut off", "whole": "not rounded"}
    fewest = {
        (entering, to): next(
            runs
            for runs in range(2, MOST_RUNS)
            if all(attainable(written(text, to), runs, sizes[name], entering) for text, name, _ in means)
        )
        for entering in ways
        for to in (0, 2)
    }
    missed = [
        f"{text} on {name} ({row.method}, {row.setting})"
        for text, name, row in means
        if not attainable(text, 3, sizes[name])
    ]
    scope = (
        f"{' and '.join(f'{name}, {size} examples' for name, size in sizes.items())}; fewest runs, two or more, that "
        f"give each of {len(means)} means: "
        f"{', '.join(f'{fewest[way, 0]} ({fewest[way, 2]}) if {told}' for way, told in ways.items())}, in brackets if "
        f"94.3 and the like are read as 94.30; of three runs, each rounded, there is no {', no '.join(missed)}"
    )
    return Evidence(None, scope, cases=len(means), reason=table_1_runs.expect_reason)


@claim(
    "rolora/table-6",
    where="Appendix B.2.1: Table 6 is Table 1 with FlexLoRA added; compared with what Table 1 prints (the averages "
    "that both print are judged for Table 1)",
    says="Table 6: Table 1 with the results of FlexLoRA added, whose averages are the means of its five accuracies.",
    measure=lambda context: (TABLE_1, TABLE_6),
    control=Form(
        "131 of the 132 common values agree and FlexLoRA's four averages follow. The standard deviation of LoRA on "
        "QNLI (rank 4, 20 clients) is 2.02 in Table 1 and 0.20 in Table 6; nothing printed tells which is meant.",
        {"without": (("LoRA", 20, "QNLI", "deviation"),)},
    ),
    kind="number",
    importance="detail",
    because="One deviation (LoRA, QNLI, 20 clients) is 2.02 in Table 1 and 0.20 in Table 6.",
    expect=("refuted", "proof"),
)
def table_6(
    tables: tuple[Sequence[Row], Sequence[Row]], without: tuple[tuple[str, int, str, str], ...] = (), shift: float = 0.0
) -> Evidence:
    """Cell by cell; a difference that rounding could explain passes."""
    first, second = tables
    cells = {}
    for row in first:
        other = find(second, row.method, row.clients, row.rank)
        pairs = {("average", ""): (row.average, other.average)}
        for name, score in row.scores.items():
            pairs |= {(name, part): (getattr(score, part), getattr(other.scores[name], part)) for part in score._fields}
        for (name, part), (one, two) in pairs.items():
            if (row.method, row.clients, name, part) not in without:
                inputs = {
                    "method": row.method,
                    "rank": row.rank,
                    "clients": row.clients,
                    "column": f"{name} {part}",
                    "Table 1": one,
                    "Table 6": two,
                }
                label = f"{row.setting}, {row.method}, {name} {part}".strip()
                cells[label] = Cell(printed(two) + exact(Fraction(shift)), printed(one), inputs)
    common = len(cells)
    cells |= average_cells((row for row in second if row.method == "FlexLoRA"), shift)
    return judge_printed(cells, f"{common} values that both tables print, 4 averages of FlexLoRA")


@claim(
    "rolora/table-6-levels",
    where="Table 6, the cells with deviation 0.00; an observation of the toolkit, of which the paper says nothing "
    "(what runs of FlexLoRA give is not checkable here)",
    says=r"The two cells of Table 6 with deviation 0.00, both of FlexLoRA with 50 clients, $50.92 \pm 0.00$ on SST-2 "
    r"(rank 8) and $52.71 \pm 0.00$ on RTE (rank 4), are what one and the same answer to every example gets on GLUE's "
    "validation sets, 444 of 872 (positive) and 146 of 277 (entailment).",
    measure=lambda context: TABLE_6,
    mutants=[{"sst2": 445}, {"rte": 145}, {"rte_size": 276}],
    vary=("sst2", "rte"),
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_6_levels(
    rows: Sequence[Row], sst2: float = 444, rte: float = 146, sst2_size: float = 872, rte_size: float = 277
) -> Evidence:
    """Both are the share of the largest class, 444 of 872 and 146 of 277 validation examples."""
    share = {"SST-2": 100 * Fraction(sst2) / Fraction(sst2_size), "RTE": 100 * Fraction(rte) / Fraction(rte_size)}
    cells = {
        f"{row.name}, {name}": Cell(printed(score.mean), exact(share[name]), {})
        for row in rows
        for name, score in row.scores.items()
        if not Fraction(score.deviation)
    }
    near = [
        f"{row.scores['RTE'].mean} ({row.method}, {row.setting})"
        for row in rows
        if Fraction(row.scores["RTE"].mean) - Fraction(row.scores["RTE"].deviation) <= share["RTE"] and row.clients > 3
    ]
    scope = (
        f"{len(cells)} cells with deviation 0.00; means on RTE with more than 3 clients at most one deviation above "
        f"the constant answer: {', '.join(near)}"
    )
    return judge_printed(cells, scope)
