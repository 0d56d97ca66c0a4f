"""Table 1: its averages, its runs, and what the text says of the number of clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from figures.rolora.printed import GLUE, METHODS, TABLE_1, TABLE_6, Row, find
from paper_checks.claim import Best, Evidence, Form, Intended, Reading, claim
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from paper_checks.rolora.measurements.whole_counts import Trials, attainable

printed = Rounded.printed

exact = Rounded.exact


def mean(values: Iterable[Rounded]) -> Rounded:
    """Return the range of the mean of several numbers."""
    listed = list(values)
    total = listed[0]
    for value in listed[1:]:
        total = total + value
    return total * exact(Fraction(1, len(listed)))


def average_cells(rows: Iterable[Row], shift: float = 0.0) -> dict[str, Cell]:
    """Return every printed average with the mean of the accuracies of its row."""
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


NOT_FOLLOWING: Mapping[tuple[int, int, str], str] = {
    (4, 3, "FFA-LoRA"): "87.54",
    (4, 20, "FFA-LoRA"): "81.01",
    (8, 50, "LoRA"): "72.21",
    (8, 50, "FFA-LoRA"): "74.74",
}
"""Right values of the four averages that do not follow from their rows, by rank, clients and method."""

NOTHING: Mapping[tuple[int, int, str], str] = {}


def ranking(rows: Iterable[Row], setting: str, as_printed: bool) -> list[str]:
    """Return the methods of one setting from the lowest average to the highest."""

    def average(row: Row) -> Fraction:
        return Fraction(row.average) if as_printed else sum(Fraction(s.mean) for s in row.scores.values()) / Fraction(5)

    return [row.method for row in sorted((row for row in rows if row.setting == setting), key=average)]


@claim(
    "rolora/table-1",
    where="Table 1, column Avg. (the same in Table 6); the deviations are not judged, since the number of seeds is not "
    "printed, and a printed accuracy is within half a unit of its last digit",
    says="Table 1: the printed average of each row is the mean of its five accuracies.",
    measure=lambda context: TABLE_1,
    correction=Form(
        """The means of the four rows are 87.54 (FFA-LoRA, rank 4, 3 clients, printed 87.48), 81.01 (FFA-LoRA, rank 4,
        20 clients, printed 80.01), 72.21 (LoRA, rank 8, 50 clients, printed 64.03) and 74.74 (FFA-LoRA, rank 8, 50
        clients, printed 72.46). The other eight averages and the order of the methods in each setting are right.""",
        {"instead": NOT_FOLLOWING},
        mutants=({"instead": {}}, {"instead": {**NOT_FOLLOWING, (8, 50, "LoRA"): "72.23"}}, {"shift": 0.02}),
        asks="neither",
    ),
    kind="number",
    importance="detail",
    because="Four of the twelve printed averages are not the means of their rows, by up to 8.2 points.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“Avg.” is the last column of five accuracies in Table 1; four entries are not the mean "
        "of their rows, and the margins depend on them",
    ),
    print="inconsistent",
)
def table_1(rows: Sequence[Row], instead: Mapping[tuple[int, int, str], str] = NOTHING, shift: float = 0.0) -> Evidence:
    """The printed accuracies give these averages, and either set of averages orders the methods alike.

    Args:
        rows: rows of Table 1.
        instead: averages instead of the printed ones.
        shift: added to every average.
    """
    kept = [replace(row, average=instead.get((row.rank, row.clients, row.method), row.average)) for row in rows]
    settings = dict.fromkeys(row.setting for row in rows)
    kept_order = sum(ranking(rows, setting, True) == ranking(rows, setting, False) for setting in settings)
    scope = (
        f"{len(kept)} rows of Table 1; the recomputed averages put the methods in the printed order in "
        f"{kept_order} of {len(settings)} settings"
    )
    return judge_printed(average_cells(kept, shift), scope)


# Examples of GLUE's validation sets, and how many are in the largest class ("positive", "entailment"): from outside the
# paper, which does not print them.
VALIDATION: Mapping[str, tuple[int, int]] = {"SST-2": (872, 444), "RTE": (277, 146)}

MOST_RUNS = 50
"""More than enough: 37 runs of 277 examples have means less than a hundredth apart."""


def with_decimals(text: str, places: int) -> str:
    """Write a number with at least so many decimals."""
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.ljust(places, '0')}" if places else text


CLIENTS = (3, 20, 50)


def describe_accuracies(rows: Sequence[Row], method: str) -> str:
    """Write the accuracies of a method along 3, 20 and 50 clients."""
    lines = [f"{name} {', '.join(find(rows, method, n).scores[name].mean for n in CLIENTS)}" for name in GLUE]
    return f"{method} with 3, 20, 50 clients: {'; '.join(lines)}"


@claim(
    "rolora/table-1-runs",
    where="Section 6, implementation, and 6.1, data sets, for the means on SST-2 and RTE in Tables 1 and 6",
    says="""The best performance on the test set is reported, averaged over multiple seeds, with the original
    validation sets as test sets.""",
    measure=lambda context: TABLE_6,
    kind="number",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended("literal", "“the average over multiple seeds” (6): their number is not printed"),
    print="unstated",
    expect_reason="the number of seeds is not printed, and enough of them give every mean. Each run being a whole "
    "number of right answers among the 872 examples of SST-2 and the 277 of RTE, the fewest runs with which all 32 "
    "means of Tables 1 and 6 on these two can be had are six if each is rounded to hundredths of a per cent or cut off "
    "after them, and 30 if it is not rounded; where numbers such as 94.3 are read as 94.30, six, 18 and 33. "
    "Three runs, as many as Table 2 is of, do not give all of them. The "
    "deviations are not used",
)
def table_1_runs(rows: Sequence[Row]) -> Evidence:
    """Undecided: the fewest runs, by how each enters its mean, and what three runs miss are in the scope."""
    sizes = {name: size for name, (size, _) in VALIDATION.items()}
    means = [(row.scores[name].mean, name, row) for name in sizes for row in rows]
    ways: Mapping[Trials, str] = {"rounded": "rounded", "cut": "cut off", "whole": "not rounded"}
    fewest = {
        (entering, to): next(
            runs
            for runs in range(2, MOST_RUNS)
            if all(attainable(with_decimals(text, to), runs, sizes[name], entering) for text, name, _ in means)
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


def falls(rows: Sequence[Row], method: str, steps: Iterable[tuple[int, int]]) -> Iterator[tuple[str, Row, Row, str]]:
    """Return name, rows before and after, and data set of every step to more clients, at rank 4."""
    for few, many in steps:
        for name in GLUE:
            yield f"{name}, {few} to {many} clients", find(rows, method, few), find(rows, method, many), name


def fall(before: Row, after: Row, name: str) -> Rounded:
    """Return by how much an accuracy falls."""
    return printed(before.scores[name].mean) - printed(after.scores[name].mean)


def spread(before: Row, after: Row, name: str) -> Rounded:
    """Return the sum of the two standard deviations."""
    return printed(before.scores[name].deviation) + printed(after.scores[name].deviation)


@claim(
    "rolora/txt-table1-lora",
    where="Section 6.1, effect of the number of clients, Table 1",
    says="""In Table 1 (RoBERTa-Large, rank 4), as the number of clients increases (3, 20, 50), with the same number of
    samples, LoRA's performance significantly deteriorates for most data sets.""",
    measure=lambda context: TABLE_1,
    mutants=[{"share": 0.8}, {"method": "RoLoRA"}, {"deviations": 4.0}],
    best={
        "share": Best(0.79, "counted: four data sets of five"),
        "deviations": Best(1.19, "computed from the printed numbers"),
    },
    readings=(
        Reading(
            "beyond the deviations",
            "On at least three of the five data sets LoRA's accuracy falls from 3 to 20 and from 20 to 50 clients, "
            "each time by more than the sum of the two printed deviations.",
            why="No measure of significance is given; most are more than half of the data sets.",
        ),
    ),
    importance="result",
    expect=("holds", "proof"),
    intended=Intended(
        "beyond the deviations", "“significantly deteriorates for most datasets” (6.1), read by the printed deviations"
    ),
)
def txt_table1_lora(rows: Sequence[Row], method: str = "LoRA", share: float = 0.5, deviations: float = 1.0) -> Evidence:
    """It falls by more than the sum of both printed deviations, at both steps, on all data sets except RTE."""
    sure = possible = 0
    kept = []
    for name in GLUE:
        leads = [
            fall(before, after, name) - exact(Fraction(deviations)) * spread(before, after, name)
            for _, before, after, at in falls(rows, method, pairwise(CLIENTS))
            if at == name
        ]
        sure += all(lead.low > 0 for lead in leads)
        possible += all(lead.high > 0 for lead in leads)
        if not all(lead.low > 0 for lead in leads):
            kept.append(name)
    count = Order(Rounded(Fraction(sure), Fraction(possible)), exact(Fraction(share) * len(GLUE)), {})
    scope = (
        "significantly: by more than the two printed deviations added, at both steps; most: more than half of the "
        f"data sets; {describe_accuracies(rows, method)}; not at both steps: {', '.join(kept) or 'none'}; "
        "on RTE 51.87 and 52.23 are at the "
        "level of a constant answer, 52.71, below which there is little to lose; the deviations are those of Table 1 "
        "(for QNLI with 20 clients 2.02, where Table 6 has 0.20)"
    )
    return judge_order({"data sets that fall beyond the deviations at both steps": count}, scope)


@claim(
    "rolora/txt-table1-rolora",
    where="Section 6.1, effect of the number of clients, Table 1",
    says="""In Table 1 (RoBERTa-Large, rank 4), as the number of clients increases (3, 20, 50), RoLoRA, in contrast to
    LoRA, keeps up its accuracy levels.""",
    measure=lambda context: TABLE_1,
    best={"lead": Best(0.64, "the printed numbers, for every rounding: 0.71 ± 0.07 points (LoRA, SST-2)")},
    uses=("rolora/txt-table1-lora",),
    importance="result",
    because="Its accuracy falls on all five data sets, on four by more than the deviations, and on RTE from 82.43 to "
    "75.57.",
    readings=(
        Reading(
            "in itself",
            "On no data set is RoLoRA's accuracy with 20 or with 50 clients below its accuracy with 3 by more than the "
            "sum of the two printed deviations.",
            why="What keeps up does not fall; a fall within the deviations is let pass, and without that allowance it "
            "does not hold on any of the five data sets.",
        ),
        Reading(
            "by comparison, at both steps",
            "As the number of clients increases from 3 to 20 and from 20 to 50, RoLoRA's accuracy falls on every data "
            "set by less than LoRA's and FFA-LoRA's.",
            {"alone": False, "steps": ((3, 20), (20, 50))},
            "The paper states it in contrast to LoRA, and increases the clients from 3 to 20, and then to 50.",
            ({"lead": 1.0}, {"method": "FFA-LoRA"}),
        ),
    ),
    correction=Form(
        """From 3 to 20 and from 3 to 50 clients RoLoRA's accuracy falls on every data set by less than LoRA's and
        FFA-LoRA's.""",
        {"alone": False},
        mutants=({"lead": 1.0}, {"method": "FFA-LoRA"}),
        asks="neither",
    ),
    expect=("corrected", "proof"),
    intended=Intended(
        "in itself",
        "“In contrast, RoLoRA maintains its accuracy levels. The performance of FFA-LoRA also "
        "declines” (6.1): its own level is meant",
    ),
)
def txt_table1_rolora(
    rows: Sequence[Row],
    method: str = "RoLoRA",
    steps: tuple[tuple[int, int], ...] = ((3, 20), (3, 50)),
    alone: bool = True,
    lead: float = 0.0,
) -> Evidence:
    """From 3 clients on it falls by less than both others on every data set.

    Args:
        rows: rows of Table 1.
        method: which is said to keep its accuracy.
        steps: from how many clients to how many.
        alone: whether its falls are held against its own deviations instead.
        lead: points by which it must fall less.
    """
    orders, beyond = {}, []
    for label, before, after, name in falls(rows, method, steps):
        lost, own = fall(before, after, name), spread(before, after, name)
        if alone:
            case = {
                part: getattr(row.scores[name], of)
                for part, row, of in (
                    ("before", before, "mean"),
                    ("after", after, "mean"),
                    ("spread before", before, "deviation"),
                    ("spread after", after, "deviation"),
                )
            }
            orders[label] = Order(own, lost + exact(Fraction(lead)), case)
        if lost.low > own.high:
            beyond.append(f"{label} {lost} against {own}")
        for rival in () if alone else (other for other in METHODS if other != method):
            first, last = (find(rows, rival, row.clients) for row in (before, after))
            case = {"before": before.scores[name].mean, "after": after.scores[name].mean}
            case |= {"other before": first.scores[name].mean, "other after": last.scores[name].mean}
            orders[f"{label}, fall of {rival}"] = Order(fall(first, last, name), lost + exact(Fraction(lead)), case)
    scope = f"{describe_accuracies(rows, method)}; falls beyond the two deviations added: {'; '.join(beyond) or 'none'}"
    return judge_order(orders, scope)


def mean_of(rows: Sequence[Row], method: str, clients: int, rank: int = 4) -> Fraction:
    """Return the mean of the printed accuracies of a row."""
    scores = find(rows, method, clients, rank).scores.values()
    return sum((Fraction(score.mean) for score in scores), Fraction(0)) / len(scores)


@claim(
    "rolora/txt-table1-ffa",
    where="Section 6.1, effect of the number of clients, Table 1; what it is attributed to is not judged",
    says="""In Table 1 (RoBERTa-Large, rank 4), as the number of clients increases (3, 20, 50), the performance of
    FFA-LoRA also declines.""",
    measure=lambda context: TABLE_1,
    mutants=[{"deviations": 1.0}, {"method": "LoRA"}, {"rises": True}],
    best={
        "lead": Best(0.63, "the printed numbers, for every rounding: 0.65 ± 0.01 points (SST-2)"),
        "deviations": Best(0.41, "the printed numbers, for every rounding: RTE, 20 to 50 clients"),
    },
    expect=("holds", "proof"),
)
def txt_table1_ffa(
    rows: Sequence[Row], method: str = "FFA-LoRA", lead: float = 0.0, deviations: float = 0.0, rises: bool = False
) -> Evidence:
    """It falls on every data set at either step, and so does LoRA, except on RTE at the second."""
    orders = {}
    for label, before, after, name in falls(rows, method, pairwise(CLIENTS)):
        lost = fall(after, before, name) if rises else fall(before, after, name)
        demanded = exact(Fraction(lead)) + exact(Fraction(deviations)) * spread(before, after, name)
        orders[label] = Order(lost, demanded, {})
    means = [
        f"{one} {', '.join(f'{float(mean_of(rows, one, clients)):.2f}' for clients in CLIENTS)}" for one in METHODS
    ]
    return judge_order(
        orders, f"{describe_accuracies(rows, method)}; means over the data sets, recomputed: {'; '.join(means)}"
    )
