"""Tables 2 and 10: language models by the budget of parameters, and what the text says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor

import numpy as np
from scipy.stats import ttest_ind_from_stats

from figures.rolora.printed import COMMONSENSE, METHODS, TABLE_1, TABLE_2, TABLE_10, TESTS, Row, Score
from paper_checks.claim import Best, Evidence, Intended, Reading, claim
from paper_checks.facts import combine, compare
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from paper_checks.rolora.measurements.whole_counts import Trials, attainable, sums_of_counts
from paper_checks.rolora.table_1 import mean

exact = Rounded.exact

printed = Rounded.printed

Tables = tuple[Sequence[Row], Sequence[Row]]

ROUNDED = (
    "Every mean and every deviation, its summed squares divided by 2, are those of three trials, each a whole number "
    "of right answers in per cent, {}; a printed number is within half a unit of its last digit."
)

ENTERING = (
    Reading(
        "each trial rounded",
        ROUNDED.format("rounded to hundredths"),
        why="Most accuracies are printed to two decimals.",
    ),
    Reading(
        "each trial cut off",
        ROUNDED.format("cut off after two decimals"),
        {"entering": "cut"},
        "The paper does not say how it rounds to two decimals.",
    ),
    Reading(
        "trials as they are",
        ROUNDED.format("not rounded before the mean"),
        {"entering": "whole"},
        "The paper does not mention any rounding of the trials.",
    ),
    Reading(
        "one way in a table",
        ROUNDED.format("brought to two decimals by rounding or by cutting off, in one way throughout the table"),
        {"either": True},
        "The paper does not say how a trial gets two decimals; one program wrote the table.",
    ),
)
"""How a trial enters mean and deviation, which is not printed."""

PUBLISHED = "the sizes of the test sets as published, which the paper does not print"


def half_unit(text: str, places: int = 0) -> Fraction:
    """Return half a unit of the last printed digit, or of a further one where so many decimals are meant."""
    return Fraction(1, 2 * 10 ** max(places, len(text.partition(".")[2])))


@cache
def with_deviation(
    score: Score, size: Fraction | int, entering: Trials = "rounded", divisor: int = 2, places: int = 0
) -> bool:
    """Return whether whole numbers of right answers in three runs can give this mean and standard deviation.

    Args:
        score: both in per cent.
        size: examples of each run.
        entering: how each run enters.
        divisor: of the summed squares, 2 or 3.
        places: decimals that are meant, where fewer are printed.
    """
    unit = Fraction(100) / size if entering == "whole" else Fraction(1, 100)
    values = (
        np.arange(floor(size) + 1)
        if entering == "whole"
        else np.flatnonzero(sums_of_counts(Fraction(size), 1, entering))
    )
    there = np.zeros(values[-1] + 1, dtype=bool)
    there[values] = True
    mean, room = Fraction(score.mean), half_unit(score.mean, places)
    deviation, spread = Fraction(score.deviation), half_unit(score.deviation, places)
    least, most = (3 * divisor * (max(d, Fraction(0)) / unit) ** 2 for d in (deviation - spread, deviation + spread))
    reach = float((deviation + spread) / unit) * divisor**0.5 + 1.0  # no run is farther from the mean
    for total in range(ceil(3 * (mean - room) / unit), floor(3 * (mean + room) / unit) + 1):
        near = values[np.abs(values - total / 3) <= reach].astype(np.int64)
        third = total - near[:, None] - near
        known = (third >= 0) & (third <= values[-1])
        known &= there[np.where(known, third, 0)]
        squares = 3 * (near[:, None] ** 2 + near**2 + third**2) - total**2
        if (known & (squares >= ceil(least)) & (squares <= floor(most))).any():
            return True
    return False


def missed_cells(
    rows: Iterable[Row], sizes: Mapping[str, Fraction | int], entering: Trials, divisor: int = 2, places: int = 0
) -> list[str]:
    """Return the cells of which no three runs give mean and deviation."""
    return [
        f"{row.name}, {name}"
        for row in rows
        for name, size in sizes.items()
        if not with_deviation(row.scores[name], size, entering, divisor, places)
    ]


def judge_runs(
    rows: Sequence[Row],
    sizes: Mapping[str, Fraction | int],
    runs: int,
    entering: Trials,
    scope: str,
    divisor: int = 2,
    places: int = 0,
) -> Evidence:
    """Judge that so many runs on test sets of these sizes can give mean and deviation of every cell.

    Args:
        rows: rows of a table.
        sizes: examples of each test set.
        runs: number of runs; the deviations are judged for three.
        entering: how each run enters its mean.
        scope: which tables.
        divisor: of the summed squares in a deviation.
        places: decimals that are meant, where fewer are printed.
    """
    means = {f"{row.name}, {name}": (row.scores[name].mean, size) for row in rows for name, size in sizes.items()}
    missed = [name for name, (text, size) in means.items() if not attainable(text, runs, size, entering)]
    apart = (
        [one for one in missed_cells(rows, sizes, entering, divisor, places) if one not in missed] if runs == 3 else []
    )
    other = [n for n in range(1, 11) if all(attainable(text, n, size, entering) for text, size in means.values())]
    scope = f"{scope}; of 1 to 10 runs, {', '.join(map(str, other)) or 'none'} give all {len(means)} means"
    stated = f"{runs} runs give each of {len(means)} means" + " with its deviation" * (runs == 3)
    if missed:
        text, size = means[missed[0]]
        return Evidence(
            False,
            scope,
            stated,
            f"{len(missed)} are no such mean: {'; '.join(missed)}"
            + f"; of {len(apart)} more no such runs have the deviation too: {'; '.join(apart)}" * bool(apart),
            margin=-float(len(missed)),
            cases=len(means),
            witness={"mean": text, "runs": runs, "size": str(size), "trials": entering, "cell": missed[0]},
        )
    if apart:
        row, name = next((row, name) for row in rows for name in sizes if f"{row.name}, {name}" == apart[0])
        return Evidence(
            False,
            scope,
            stated,
            f"each mean is that of such runs, but of {len(apart)} none have the deviation too: {'; '.join(apart)}",
            margin=-float(len(apart)),
            cases=len(means),
            witness={
                **row.scores[name]._asdict(),
                "divisor": divisor,
                "places": max(places, len(row.scores[name].mean.partition(".")[2])),
                "size": str(sizes[name]),
                "trials": entering,
                "cell": apart[0],
            },
        )
    shown = compare("means that are none", len(missed), "=", 0)
    return Evidence(
        True,
        scope,
        stated,
        "each is a mean of whole counts" + ", with its deviation" * (runs == 3),
        margin=1.0,
        cases=len(means),
        facts=combine(shown),
        whole=True,
    )


def judge_trials(
    tables: Tables,
    rows: Sequence[Row],
    trials: int,
    entering: Trials,
    obqa: float,
    divisor: int,
    places: int,
    either: bool,
) -> Evidence:
    """Judge that so many trials on the predefined test sets can give every mean with its deviation.

    Args:
        tables: Table 2 and Table 10, whose setup is the same.
        rows: the rows of one of them.
        trials: number of trials.
        entering: how each trial enters its mean.
        obqa: examples of that test set.
        divisor: of the summed squares in a deviation.
        places: decimals that are meant, where fewer are printed.
        either: whether trials that are cut off do as well.
    """
    sizes: dict[str, Fraction | int] = {**TESTS, "OBQA": Fraction(obqa)}
    ways: Mapping[Trials, str] = {"rounded": "rounded", "cut": "cut off", "whole": "as they are"}
    counts = {
        (f"{name}{', over 3' * (of == 3)}", to): [len(missed_cells(table, TESTS, way, of, to)) for table in tables]
        for of in (2, 3)
        for way, name in ways.items()
        for to in (0, 2)
    }
    told = [
        f"{way}: {' + '.join(map(str, found))} ({' + '.join(map(str, counts[way, 2]))})"
        for (way, to), found in counts.items()
        if not to
    ]
    both = sum(not any(found) for found in counts.values())
    scope = (
        f"24 means and deviations of Table {rows[0].table}, {PUBLISHED}; cells of Tables 2 + 10 of which no three "
        "trials give both, with the summed squares over 2 or 3 (where 47.2 and the like are read as 47.20): "
        f"{'; '.join(told)}; {both or 'none'} of these {len(counts)} ways {'give' if both > 1 else 'gives'} both tables"
    )
    evidence = judge_runs(rows, sizes, trials, entering, scope, divisor, places)
    return judge_runs(rows, sizes, trials, "cut", scope, divisor, places) if either and not evidence.ok else evidence


@claim(
    "rolora/table-2",
    where=f"Table 2 (rank 8) and Section 6.2, three trials; judged with {PUBLISHED} (3270, 1838, 1954, 10042, 1267, "
    "2376, 1172 and 500 examples)",
    says="""Table 2: every accuracy is the mean of three trials on the test set of its task, and what stands after it
    is their standard deviation.""",
    measure=lambda context: (TABLE_2, TABLE_10),
    mutants=[{"trials": 1}, {"trials": 2}, {"trials": 4}, {"trials": 7}],
    readings=(
        *ENTERING,
        Reading(
            "each trial rounded, squares over three",
            "Three trials give every mean and every deviation, with the summed squares divided by 3. Each trial is a "
            "whole number of right answers in per cent, rounded to hundredths.",
            {"divisor": 3},
            "The paper does not say which of the two common standard deviations it means.",
        ),
    ),
    kind="number",
    importance="detail",
    because="If trials are not rounded, no three of them give 1.61, FFA-LoRA's mean on 1,267 examples.",
    expect=("holds", "proof"),
    intended=Intended(
        "one way in a table",
        "“mean accuracy with standard deviations across 3 trials” (6.2): how a trial gets two decimals is not said",
    ),
    print="unstated",
)
def table_2(
    tables: Tables,
    trials: int = 3,
    entering: Trials = "rounded",
    obqa: float = 500.0,
    divisor: int = 2,
    places: int = 0,
    either: bool = False,
) -> Evidence:
    """Three trials can give each mean with its deviation; that there were three does not follow."""
    return judge_trials(tables, tables[0], trials, entering, obqa, divisor, places, either)


def by_method(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows of a table of one setting."""
    return {row.method: row for row in rows}


def leads(rows: Iterable[Row], method: str, lead: float = 0.0) -> dict[str, Order]:
    """Return the statements that a method is above every other on every task, by more than ``lead`` points."""
    table = by_method(rows)
    return {
        f"Table {row.table}, {name}, {method} above {rival}": Order(
            printed(table[method].scores[name].mean), printed(row.scores[name].mean) + exact(Fraction(lead)), {}
        )
        for rival, row in table.items()
        if rival != method
        for name in COMMONSENSE
    }


def welch(one: Score, two: Score, trials: int = 3, divisor: int = 2) -> float:
    """Return Welch's two-sided probability from printed means and deviations, whose squares are divided by this."""
    up = (divisor / (trials - 1)) ** 0.5
    first, second = (up * float(score.deviation) for score in (one, two))
    found = ttest_ind_from_stats(float(one.mean), first, trials, float(two.mean), second, trials, equal_var=False)
    return float(found.pvalue)


def least_certain(one: Score, two: Score, divisor: int) -> float:
    """Return the largest of Welch's probabilities at the ends of what is rounded to printed means and deviations."""
    ends = [
        [
            Score(str(float(Fraction(score.mean) + way * half_unit(score.mean))), str(float(end)))
            for end in (Fraction(score.deviation) + side * half_unit(score.deviation) for side in (-1, 1))
        ]
        for score, way in ((one, -1), (two, 1))
    ]
    return max(welch(first, second, divisor=divisor) for first, second in product(*ends))


def significant_leads(rows: Iterable[Row], method: str, rival: str, level: float, divisor: int = 2) -> str:
    """Return on how many tasks a lead over a rival is significant, and on how many if a rounding is the other way."""
    ours, theirs = (by_method(rows)[name].scores for name in (method, rival))
    found = [name for name in COMMONSENSE if welch(ours[name], theirs[name], divisor=divisor) < level]
    lost = [name for name in found if least_certain(ours[name], theirs[name], divisor) >= level]
    return f"{len(found)}" + (
        f" ({len(found) - len(lost)} if {' and '.join(lost)} is rounded the other way)" if lost else ""
    )


def insignificant_leads(rows: Iterable[Row], method: str, level: float, divisor: int = 2) -> list[str]:
    """Return the leads over a rival with a probability of at least ``level`` by Welch's test."""
    table = by_method(rows)
    return [
        f"{name} against {rival} ({chance:.2g})"
        for rival in table
        if rival != method
        for name in COMMONSENSE
        if (chance := welch(table[method].scores[name], table[rival].scores[name], divisor=divisor)) >= level
    ]


@claim(
    "rolora/txt-table2-best",
    where="Section 6.2, Table 2; the highest means also in Table 10",
    says="""With Llama-2-7B, 50 clients and rank 8 RoLoRA consistently has the highest accuracy across all tasks, with
    significant improvements over both LoRA and FFA-LoRA.""",
    measure=lambda context: (TABLE_2, TABLE_10),
    mutants=[{"method": "LoRA"}, {"method": "FFA-LoRA"}, {"level": 0.001}, {"lead": 0.5}],
    vary=("lead", "share"),
    best={
        "lead": Best(0.39, "the printed numbers, for every rounding: 0.41 ± 0.01 points (BoolQ, LoRA)"),
        "share": Best(0.81, "counted: 13 comparisons of 16"),
    },
    importance="result",
    because="On BoolQ the lead over LoRA, 0.41 points, is not significant at 5 % (Welch's test, p = 0.13).",
    readings=(
        Reading(
            "significant in most comparisons",
            "RoLoRA has the highest mean on each of the eight tasks, and in more than half of the 16 comparisons with "
            "LoRA and FFA-LoRA the difference is significant at the 5 % level by Welch's test: in 13 if the printed "
            "deviations are sample deviations, and in 10 or 11, depending on the rounding of PIQA against FFA-LoRA, if "
            "their squares are divided by 3 instead of 2.",
            why="The improvements over both methods are called significant as a whole, without a test. (Where it "
            "means considerable, no size is named; the leads are in the scope.)",
        ),
        Reading(
            "significant in every comparison",
            "RoLoRA has the highest mean on each of the eight tasks, and in each of the 16 comparisons with LoRA and "
            "FFA-LoRA the difference is significant at the 5 % level by Welch's test.",
            {"share": 0.99},
            "The statement is about all tasks and both methods.",
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "significant in most comparisons",
        "“consistently achieves the highest accuracy across all tasks, demonstrating significant "
        "improvements” (6.2): no test is named",
    ),
)
def txt_table2_best(
    tables: Tables, method: str = "RoLoRA", share: float = 0.5, level: float = 0.05, lead: float = 0.0
) -> Evidence:
    """The highest means of both tables are RoLoRA's, and 13 of the 16 differences of Table 2 are significant.

    Args:
        tables: Table 2 and Table 10.
        method: which is said to be the best.
        share: which share of the comparisons must be significant.
        level: of significance.
        lead: points by which it must be ahead.
    """
    orders = leads(tables[0], method, lead) | leads(tables[1], method)
    missed = insignificant_leads(tables[0], method, level)
    comparisons = (len(METHODS) - 1) * len(COMMONSENSE)
    reached = exact(comparisons - len(missed))
    scores = [by_method(tables[0])[one].scores["BoolQ"] for one in ("RoLoRA", "LoRA")]
    case = {
        "mean": scores[0].mean,
        "deviation": scores[0].deviation,
        "other mean": scores[1].mean,
        "other deviation": scores[1].deviation,
    }
    orders[f"comparisons of Table 2 below {level:g}"] = Order(reached, exact(Fraction(share) * comparisons), case)
    on_piqa = by_method(tables[0])["RoLoRA"].scores["PIQA"], by_method(tables[0])["FFA-LoRA"].scores["PIQA"]
    second, divided = (
        insignificant_leads(tables[1], method, level),
        insignificant_leads(tables[0], method, level, divisor=3),
    )
    counts = {
        divisor: " and ".join(
            f"{significant_leads(tables[0], method, rival, level, divisor)} against {rival}"
            for rival in METHODS
            if rival != method
        )
        for divisor in (2, 3)
    }
    sizes = [float(order.lead.low + order.lead.high) / 2 + lead for order in leads(tables[0], "RoLoRA", lead).values()]
    scope = (
        f"Tables 2 and 10, highest means; leads of RoLoRA in Table 2 {min(sizes):.2f} to {max(sizes):.2f} points; "
        "Welch's test from mean, deviation, n = 3: above the level in Table 2 "
        f"{len(missed)} of {comparisons}: {', '.join(missed) or 'none'}; in Table 10 {len(second)} of {comparisons}; "
        f"with squared deviations that are divided by 3, not by 2, {len(divided)} in Table 2, PIQA against FFA-LoRA at "
        f"{welch(*on_piqa, divisor=3):.3g}; below it, of {len(COMMONSENSE)} tasks, {counts[2]}; with squares over "
        f"three: {counts[3]}"
    )
    return judge_order(orders, scope)


def _deviates_most(scores: Mapping[str, Mapping[str, Score]], name: str) -> bool:
    """Return whether FFA-LoRA has the largest deviation on a task."""
    return max(scores, key=lambda method: Fraction(scores[method][name].deviation)) == "FFA-LoRA"


@claim(
    "rolora/txt-table2-ffa-var",
    where="Section 6.2, Table 2; the supposed cause is not judged",
    says="""With Llama-2-7B, 50 clients and rank 8 FFA-LoRA has large variances over the trials, such as a standard
    deviation of 9.55 for PIQA and 8.44 for SIQA.""",
    measure=lambda context: (TABLE_2, TABLE_10),
    mutants=[{"piqa": 9.8}, {"siqa": 4.53}, {"times": 1.3}],
    best={"times": Best(1.23, "the printed numbers, for every rounding")},
    because="For PIQA, the first example, LoRA's deviation is larger, 9.8; FFA-LoRA's is the largest on 4 of 8 tasks.",
    readings=(
        Reading(
            "over all tasks",
            "Both deviations are as quoted, and over the eight tasks FFA-LoRA has the largest root mean square of the "
            "deviations of the three methods.",
            why="The paper calls variances large in a comparison of three methods; the two tasks are examples.",
        ),
        Reading(
            "on both tasks named",
            "Both deviations are as quoted, and for PIQA and for SIQA FFA-LoRA's is the largest of the three methods.",
            {"of": "named"},
            "The two are named to show that they are large.",
            ({"piqa": 9.8}, {"siqa": 4.53}),
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "over all tasks",
        "“large performance variances across trials, such as ... 9.55 for PIQA and 8.44 for SIQA” "
        "(6.2): examples, not a ranking",
    ),
)
def txt_table2_ffa_var(
    tables: Tables, piqa: float = 9.55, siqa: float = 8.44, times: float = 1.0, of: str = "all"
) -> Evidence:
    """Both deviations are as in Table 2, and FFA-LoRA has the largest root mean square deviation over its tasks.

    Args:
        tables: Table 2 and Table 10.
        piqa: the first quoted deviation.
        siqa: the second.
        times: how many times a rival's the root mean square must be.
        of: whether all tasks together are compared, or each of the two that are named.
    """
    scores = {method: row.scores for method, row in by_method(tables[0]).items()}
    quoted = {"PIQA": piqa, "SIQA": siqa}
    cells = {
        name: Cell(Rounded.about(value, Fraction(1, 200)), exact(Fraction(scores["FFA-LoRA"][name].deviation)), {})
        for name, value in quoted.items()
    }
    quotes = judge_printed(cells, "quoted deviations against Table 2")
    if not quotes.ok:
        return quotes
    squares = {
        method: mean(printed(row[name].deviation) * printed(row[name].deviation) for name in COMMONSENSE)
        for method, row in scores.items()
    }
    ours, orders = scores["FFA-LoRA"], {}
    for rival in ("LoRA", "RoLoRA"):
        if of == "all":
            orders[f"mean square, FFA-LoRA above {rival}"] = Order(
                squares["FFA-LoRA"], exact(Fraction(times) ** 2) * squares[rival], {}
            )
        for name in quoted if of == "named" else ():
            own, other = ours[name].deviation, scores[rival][name].deviation
            case = {"deviation": own, "other deviation": other}
            orders[f"{name}, FFA-LoRA above {rival}"] = Order(printed(own), printed(other), case)
    largest_of = [name for name in COMMONSENSE if _deviates_most(scores, name)]
    roots = ", ".join(f"{method} {float(one.low + one.high) ** 0.5 / 2**0.5:.1f}" for method, one in squares.items())
    wider = [
        name
        for name in COMMONSENSE
        if Fraction(by_method(tables[1])["LoRA"].scores[name].deviation)
        > Fraction(by_method(tables[1])["FFA-LoRA"].scores[name].deviation)
    ]
    scope = (
        f"both deviations as quoted; root mean squares of the deviations in Table 2: {roots}; FFA-LoRA's is the "
        f"largest on {', '.join(largest_of)}. The text blames FFA-LoRA's random A; LoRA, which trains A, has a larger "
        f"deviation on PIQA, WinoGrande, ARC-e and ARC-c, and in Table 10 on {', '.join(wider)}"
    )
    return judge_order(orders, scope)


@claim(
    "rolora/table-10",
    where=f"Table 10 (rank 2), Appendix B.2.4: the setup of Table 2, three trials; judged with {PUBLISHED}",
    says="""Table 10: every accuracy is the mean of three trials on the test set of its task, and what stands after it
    is their standard deviation.""",
    measure=lambda context: (TABLE_2, TABLE_10),
    mutants=[{"trials": 1}, {"trials": 2}, {"trials": 4}, {"trials": 7}],
    readings=(
        *ENTERING,
        Reading(
            "each trial cut off, 47.2 as 47.20",
            "Three trials give every mean and every deviation, with the summed squares divided by 2. Each trial is a "
            "whole number of right answers in per cent, truncated after two decimals. Every printed number is exact to "
            "hundredths, and 47.2 means 47.20.",
            {"entering": "cut", "places": 2},
            "All numbers but a few have two decimals, and 15.0 in Table 2 is how a program writes 15.00.",
        ),
    ),
    kind="number",
    importance="detail",
    because="If rounded, as Table 2 needs, no three trials on 1,838 examples give 51.46 (51.453 is nearest). If "
    "truncated, some do.",
    uses=("rolora/table-2",),
    expect=("holds", "proof"),
    intended=Intended(
        "one way in a table",
        "“mean accuracy with standard deviations across 3 trials” (6.2), “the same setup” (B.2.4): how a trial gets "
        "two decimals is not said",
    ),
    print="inconsistent",
)
def table_10(
    tables: Tables,
    trials: int = 3,
    entering: Trials = "rounded",
    obqa: float = 500.0,
    divisor: int = 2,
    places: int = 0,
    either: bool = False,
) -> Evidence:
    """Three trials can give each mean with its deviation, but not in the way of Table 2."""
    return judge_trials(tables, tables[1], trials, entering, obqa, divisor, places, either)


@claim(
    "rolora/txt-fewer-params",
    where="Section 1; it rests on the layer budgets of Figures 4 and 6 to 8",
    says="""With fewer fine-tuning parameters FFA-LoRA is less robust than FedAVG of LoRA, primarily because frozen
    down-projections reduce its expressiveness.""",
    measure=lambda context: (TABLE_1, TABLE_10, TABLE_2),
    importance="result",
    expect=("not checkable here", None),
    intended=Intended(
        "literal",
        "“with fewer finetuning parameters, FFA-LoRA is less robust than FedAVG of LoRA, primarily due to” (1)",
    ),
    expect_reason="the numbers of Figures 6 to 8 and of two of the three budgets of Figure 4 are not printed. Its "
    "middle one has the setting of Table 1 with 3 clients, where LoRA is ahead. The tables, to which the statement "
    "does not refer, have two sizes in one setting, with 50 clients. At rank 8 LoRA has the higher mean in Table 2, "
    "and at rank 2 FFA-LoRA has the higher mean in Table 10. In Table 1 FFA-LoRA is ahead at ranks 4 and 8, and, by "
    "the means of its rows, further ahead at 4",
)
def txt_fewer_params(tables: Sequence[Sequence[Row]]) -> Evidence:
    """Undecided: the scope gives the means of the printed tables."""
    told = []
    for rows in tables:
        for setting in dict.fromkeys((row.clients, row.rank) for row in rows):
            of = by_method([row for row in rows if (row.clients, row.rank) == setting])
            ffa, lora = (of[method].scores for method in ("FFA-LoRA", "LoRA"))
            means = [float(sum(Fraction(score.mean) for score in each.values()) / len(each)) for each in (ffa, lora)]
            ahead = sum(Fraction(ffa[name].mean) > Fraction(lora[name].mean) for name in ffa)
            told.append(
                f"Table {rows[0].table}, {of['LoRA'].setting}: FFA-LoRA {means[0]:.2f}, LoRA {means[1]:.2f}, FFA-LoRA "
                f"ahead on {ahead} of {len(ffa)} tasks"
            )
    scope = f"means of the rows over their tasks; {'; '.join(told)}"
    return Evidence(None, scope, cases=len(told), reason=txt_fewer_params.expect_reason)
