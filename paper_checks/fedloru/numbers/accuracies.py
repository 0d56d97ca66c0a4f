"""Section 5: FedLoRU among the low-rank methods of Table 1, recomputed from the printed values of iclr and v1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor

from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.fedloru.tables import TABLE_1, TABLE_6, TABLE_7, Case, by_setting, in_percent
from paper_checks.methods.printed import (
    Cell,
    Order,
    Rounded,
    judge_count,
    judge_order,
    judge_printed,
    largest,
    smallest,
)

TABLE_1_IS = "iclr Table 1 (the numbers of v2 Table 1 are missing from the text at hand; iclr says the same of its own)"

ONE, HUNDRED = Rounded.exact(1), Rounded.exact(100)
printed = Rounded.printed

Versions = Mapping[str, tuple[Case, ...]]


def best_in(case: Case, method: str, lead: float = 0.0, with_fedavg: bool = False) -> Order:
    """Return the statement that a method leads the other low-rank methods of its cell by more than ``lead`` points."""
    rivals = [printed(value) for name, value in case.accuracies.items() if name != method]
    rivals += [printed(case.fedavg)] if with_fedavg else []
    return Order(printed(case.accuracies[method]), largest(rivals) + Rounded.exact(Fraction(lead)), {**case.accuracies})


def cells_won(cases: Iterable[Case], method: str = "FedLoRU") -> str:
    """Say in how many cells a method is the best of the low-rank methods."""
    won = [best_in(case, method).holds for case in cases]
    return f"{won.count(True)} of {len(won)}"


def within_deviation(cases: Iterable[Case], rivals: Sequence[str]) -> str:
    """Say how many differences from the best of some methods are below the largest standard deviations stated in v2."""
    largest_deviation = {"IID": Fraction("0.382"), "NonIID": Fraction("0.969")}
    leads = [
        (case.split, abs(Fraction(case.accuracies["FedLoRU"]) - max(Fraction(case.accuracies[r]) for r in rivals)))
        for case in cases
    ]
    small = sum(lead < largest_deviation[split] for split, lead in leads)
    other = " and ".join(rivals) if len(rivals) == 1 else f"the better of {' and '.join(rivals)}"
    return (
        f"{small} of the {len(leads)} differences between FedLoRU and {other} are below the largest standard "
        "deviation stated in v2 for their split (0.382 IID, 0.969 non-IID)"
    )


@claim(
    "fedloru-v2/txt-20of27",
    where=f"Section 5.2 (v2), 4.2 (iclr); {TABLE_1_IS}",
    says="FedLoRU achieves the best accuracy in 20 out of 27 cases.",
    measure=lambda context: TABLE_1,
    readings=(
        Reading(
            "of all methods",
            "In 20 of the 27 cells of Table 1 FedLoRU's accuracy is above those of FedLoRA and FedHM, and above "
            "FedAvg's in the same setting (Table 5).",
            why="Section 5.1 has FedAvg among the methods compared with, as have the sentences before this one.",
        ),
        Reading(
            "of the methods of Table 1",
            "FedLoRU's accuracy is above those of FedLoRA and FedHM in 20 of the 27 cells of Table 1.",
            {"with_fedavg": False},
            "Table 1 has these three methods; Appendix F.1 says that FedAvg is left to a table of its own.",
            ({"count": 19}, {"count": 21}, {"method": "FedHM"}, {"version": "v1"}),
        ),
    ),
    vary=("lead",),
    kind="number",
    importance="result",
    because="FedAvg has the highest accuracy in most cells. Counting FedAvg, FedLoRU is the best in only 4 of 27.",
    expect=("holds", "proof"),
    intended=Intended(
        "of the methods of Table 1",
        "Table 1 compares “communication-efficient federated learning methods”; FedAvg is in Appendix F",
    ),
)
def txt_20of27(
    tables: Versions,
    count: float = 20,
    method: str = "FedLoRU",
    version: str = "iclr",
    lead: float = 0.0,
    with_fedavg: bool = True,
) -> Evidence:
    """FedLoRU is ahead in the stated number of cells, for every rounding; ``lead`` is asked for, in points."""
    orders = {case.name: best_in(case, method, lead, with_fedavg) for case in tables[version]}
    settings = {case.setting for case in tables["v1"]}
    both = [case for case in tables["iclr"] if case.setting in settings]
    scope = (
        f"{len(orders)} cells of {version} Table 1, values as printed; above FedLoRA and FedHM, in the settings that "
        f"v1 has too, in {cells_won(both)} cells by iclr's values and {cells_won(tables['v1'])} by v1's; "
        f"{within_deviation(tables['iclr'], ('FedLoRA', 'FedHM'))}"
    )
    rows = [tables[version][first : first + 3] for first in range(0, len(orders), 3)]  # the sizes of a setting
    inputs = {
        "FedAvg": [row[0].fedavg for row in rows],
        method: [" ".join(case.accuracies[method] for case in row) for row in rows],
    }
    return judge_count(orders, count, scope, inputs)


@claim(
    "fedloru-v2/txt-range",
    where=f"Section 5.2 (v2), 4.2 (iclr); {TABLE_1_IS}",
    says="FedLoRU demonstrates improvements over FedHM ranging from $-6$ % to $33.7$ %.",
    measure=lambda context: TABLE_1,
    readings=(
        Reading(
            "relative to FedHM",
            r"$(\mathrm{FedLoRU} - \mathrm{FedHM})/\mathrm{FedHM}$ over the cells of Table 1, rounded as printed: "
            "from $-6.35$ % (Fashion-MNIST, non-IID, 33 %: 85.45 to 80.02) to 33.70 % (CIFAR-100, IID, $K = 100$, "
            "41 %: 43.35 to 57.96).",
            why="An improvement over a method, in per cent, is relative to that method.",
        ),
    ),
    mutants=[{"high": 33.8}, {"low": -7.0}, {"version": "v1"}, {"over": "FedLoRU"}],
    kind="number",
    expect=("holds", "proof"),
    intended=Intended(
        "relative to FedHM",
        "“improvements over FedHM ranging from -6% to 33.7%”: a gain over a method is relative to that method; the "
        "captions define another quantity, the ratios of Table 6",
    ),
)
def txt_range(
    tables: Versions, low: float = -6.0, high: float = 33.7, over: str = "FedHM", version: str = "iclr"
) -> Evidence:
    """The relative differences over all cells have the stated extremes; -6 is in whole per cent, 33.7 to a tenth."""

    def improvement(case: Case) -> Rounded:
        ours, theirs = printed(case.accuracies["FedLoRU"]), printed(case.accuracies["FedHM"])
        return HUNDRED * (ours / theirs - ONE if over == "FedHM" else ONE - theirs / ours)

    improvements = {name: [improvement(case) for case in tables[name]] for name in ("iclr", "v1")}
    points = [float(c.accuracies["FedLoRU"]) - float(c.accuracies["FedHM"]) for c in tables["iclr"]]
    accuracies = [(Fraction(c.accuracies["FedLoRU"]), Fraction(c.accuracies["FedHM"])) for c in tables["iclr"]]
    own = [100 * (ours - theirs) / ours for ours, theirs in accuracies]
    extremes = {name: (smallest(values), largest(values)) for name, values in improvements.items()}
    cells = {
        "largest": Cell(Rounded.about(high, Fraction(1, 20)), extremes[version][1], {}),
        "smallest": Cell(Rounded.about(low, Fraction(1, 2)), extremes[version][0], {}),
    }
    scope = (
        f"per cent, {len(improvements[version])} cells of {version} Table 1; v1's values give "
        f"{extremes['v1'][0]} to {extremes['v1'][1]}; by the definition of the captions, relative to FedLoRU, iclr's "
        f"give {float(min(own)):.1f} to {float(max(own)):.1f}; in points the differences of iclr are {min(points):.2f} "
        f"to {max(points):.2f}; the numbers of v2 Table 1 are missing from the text at hand"
    )
    return judge_printed(cells, scope)


@claim(
    "fedloru-v2/txt-beats-lora",
    where=f"Section 5.2 (v2), 4.2 (iclr); Tables 6 and 7 (v2), Table 1 (v1); {TABLE_1_IS}",
    says="FedLoRU consistently outperforms FedLoRA.",
    measure=lambda context: TABLE_1,
    mutants=[{"rival": "FedHM"}, {"method": "FedHM"}, {"method": "FedLoRA", "rival": "FedLoRU"}],
    kind="number",
    expect=("holds", "proof"),
)
def txt_beats_lora(tables: Versions, method: str = "FedLoRU", rival: str = "FedLoRA", lead: float = 0.0) -> Evidence:
    """The statement is true in every cell of every table that prints both methods."""
    rows = {f"{case.table}, {case.name}": in_percent(case.accuracies) for case in (*tables["iclr"], *tables["v1"])}
    for clients in sorted({row.clients for row in TABLE_6}):
        rows[f"v2 Table 6, K={clients}"] = in_percent({r.method: r.accuracy for r in TABLE_6 if r.clients == clients})
    rows |= {f"v2 Table 7, K={clients}": in_percent(row, unit=100) for clients, row in TABLE_7.items()}
    orders = {
        name: Order(row[method], row[rival] + Rounded.exact(Fraction(lead)), {})
        for name, row in rows.items()
        if method in row and rival in row
    }
    tables_read = ", ".join(
        f"{table} ({sum(name.startswith(table) for name in orders)})"
        for table in ("iclr Table 1", "v1 Table 1", "v2 Table 6", "v2 Table 7")
    )
    scope = f"cells of {tables_read}; in iclr Table 1 {within_deviation(tables['iclr'], ('FedLoRA',))}"
    return judge_order(orders, scope)


ALL_OTHERS = ("FedLoRA", "FedHM", "FedAvg")


def best_of_sizes(cases: Sequence[Case], method: str, rivals: Iterable[str], lead: float = 0.0) -> Order:
    """Return the statement that a method's best accuracy over the sizes of a setting exceeds the best of its rivals."""
    rows = [{**case.accuracies, "FedAvg": case.fedavg} for case in cases]
    values = {name: [row[name] for row in rows if name in row] for name in (method, *rivals)}
    best = {name: largest(printed(value) for value in listed) for name, listed in values.items()}
    setting = {"dataset": cases[0].dataset, "split": cases[0].split, "clients": cases[0].clients}
    inputs = {**setting, **{name: " ".join(listed) for name, listed in values.items()}}
    return Order(best[method], largest(best[name] for name in rivals) + Rounded.exact(Fraction(lead)), inputs)


def average(values: Sequence[Rounded]) -> Rounded:
    """Return the mean of the accuracies, for every rounding."""
    return sum(values, Rounded.exact(0)) * Rounded.exact(Fraction(1, len(values)))


@claim(
    "fedloru-iclr/txt-100",
    where="Section 4.2 (iclr), Table 1; the sentence is also in Section 4.2 of v1, without Fashion-MNIST",
    says="Under IID conditions with 100 clients, FedLoRU attains the highest accuracy among the tested methods.",
    measure=lambda context: TABLE_1,
    correction=Form(
        """On CIFAR-10 and CIFAR-100, IID with 100 clients, in iclr and in v1, the best accuracy of FedLoRU over the
        parameter ratios is the highest, even above FedAvg's.""",
        {"without": ("Fashion-MNIST",), "rivals": ALL_OTHERS, "versions": ("iclr", "v1")},
        mutants=({"lead": 0.4}, {"without": ()}),
    ),
    readings=(
        Reading(
            "data set by data set",
            "On each of the three data sets of iclr, IID with 100 clients, FedLoRU's best accuracy over the "
            "parameter ratios is above those of FedLoRA and FedHM.",
            why="The paper states an accuracy for one data set. Taking each method at its best ratio, and leaving out "
            "FedAvg, favours FedLoRU.",
        ),
        Reading(
            "on average",
            "The mean of FedLoRU's best accuracies on the three data sets of iclr, IID with 100 clients, is above "
            "those of FedLoRA, FedHM and FedAvg.",
            {"mean": True, "rivals": ALL_OTHERS},
            "The introduction says that FedLoRU improves on average.",
            ({"lead": 1.0},),
        ),
    ),
    kind="number",
    because="Compared by data set, FedHM has the higher best accuracy on Fashion-MNIST.",
    expect=("corrected", "proof"),
    intended=Intended(
        "data set by data set",
        "“under IID conditions with 100 clients, where FedLoRU attains the highest accuracy among "
        "the tested methods”, no average named",
    ),
)
def txt_100(
    tables: Versions,
    without: tuple[str, ...] = (),
    rivals: tuple[str, ...] = ("FedLoRA", "FedHM"),
    versions: tuple[str, ...] = ("iclr",),
    lead: float = 0.0,
    mean: bool = False,
) -> Evidence:
    """The best values over the ratios are as stated, for each data set or in the mean over the data sets."""
    orders = {}
    for version in versions:
        kept = [
            case
            for case in tables[version]
            if (case.split, case.clients) == ("IID", 100) and case.dataset not in without
        ]
        settings = by_setting(kept)
        for name, cases in settings.items() if not mean else ():
            orders[f"{version}, {name}"] = best_of_sizes(cases, "FedLoRU", rivals, lead)
        for rival in rivals if mean else ():
            each = [best_of_sizes(cases, "FedLoRU", (rival,), lead) for cases in settings.values()]
            sides = average([order.greater for order in each]), average([order.smaller for order in each])
            orders[f"mean over {len(each)} data sets, {rival}"] = Order(*sides, {})
    won = {
        version: cells_won(c for c in tables[version] if (c.split, c.clients) == ("IID", 100))
        for version in ("iclr", "v1")
    }
    fashion = next(c for c in tables["iclr"] if (c.dataset, c.split, c.clients) == ("Fashion-MNIST", "IID", 100))
    scope = (
        f"best over the sizes of each data set, rivals {', '.join(rivals)}; cell by cell FedLoRU is the best low-rank "
        f"method in {won['iclr']} cells of iclr and {won['v1']} of v1; the sentence of v1, which has no Fashion-MNIST, "
        f"is true of its two data sets; on Fashion-MNIST FedAvg, with {fashion.fedavg}, is above FedLoRU as well"
    )
    return judge_order(orders, scope)


@claim(
    "fedloru-v1/txt-surpass",
    where="Section 4.2 (v1), Table 1",
    says="FedLoRU surpasses other communication-efficient federated learning algorithms.",
    measure=lambda context: TABLE_1["v1"],
    readings=(
        Reading(
            "setting by setting",
            "In each of the six settings of v1 Table 1 (data set, split, number of clients) FedLoRU's best "
            "accuracy over the sizes is above those of FedLoRA and FedHM.",
            why="Table 1 compares the methods in each setting; the best size of each is taken.",
        ),
        Reading(
            "on average",
            "The mean of FedLoRU's accuracies in v1 Table 1 is above FedLoRA's mean and FedHM's mean over the cells "
            "that have both methods.",
            {"mean": "cells"},
            "The sentence sums up a table and does not name a setting.",
            ({"lead": 4.5},),
        ),
        Reading(
            "on average, best sizes",
            "The mean over the six settings of FedLoRU's best accuracy over the sizes is above those of FedLoRA and of "
            "FedHM.",
            {"mean": "best"},
            "The same, with the best size of each method as setting by setting.",
            ({"lead": 6.0},),
        ),
    ),
    kind="number",
    because="Compared by setting, FedHM has the higher accuracy on CIFAR-100, non-IID.",
    expect=("holds", "proof"),
    intended=Intended(
        "on average",
        "“On average, FedLoRU improves state-of-the-art communication-efficient federated learning algorithms” "
        "(Section 1); the sentence here sums up Table 1",
    ),
)
def txt_surpass(cases: Sequence[Case], lead: float = 0.0, mean: str = "") -> Evidence:
    """In every setting the best value, or a mean of values, is as stated; ``lead`` is asked for."""
    rivals, demanded = ("FedLoRA", "FedHM"), Rounded.exact(Fraction(lead))
    settings = {name: best_of_sizes(of, "FedLoRU", rivals, lead) for name, of in by_setting(cases).items()}
    means = {}
    for rival in rivals:
        rows = [case.accuracies for case in cases if rival in case.accuracies]
        ours, theirs = (average([printed(row[name]) for row in rows]) for name in ("FedLoRU", rival))
        means[f"{len(rows)} cells of {rival}"] = Order(ours, theirs + demanded, {})
    best = {
        name: average(
            [
                max((printed(case.accuracies[name]) for case in of if name in case.accuracies), key=lambda one: one.low)
                for of in by_setting(cases).values()
            ]
        )
        for name in ("FedLoRU", *rivals)
    }
    bests = {f"best sizes of {rival}": Order(best["FedLoRU"], best[rival] + demanded, {}) for rival in rivals}
    told = ", ".join(
        f"{floor(100 * (order.lead.low + demanded.low)) / 100:.2f} points ({of})" for of, order in means.items()
    )
    ahead = [bool(order.holds) for order in settings.values()].count(True)
    return judge_order(
        {"": settings, "cells": means, "best": bests}[mean],
        f"ahead by the best sizes in {ahead} of {len(settings)} settings, "
        f"in {cells_won(cases)} cells, by means by at least {told}",
    )
