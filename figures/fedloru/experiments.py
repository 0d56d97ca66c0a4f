"""FedLoRU's tables and figures on images: published and obtained values, and the evidence for each statement.

Below the paper's scale, printed and obtained values are shown together but need not agree, because data, network,
samples and rounds differ. We compare the order of methods, by differences paired over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.effects import Effect, by_seed, mean_and_half_width, paired_effect
from figures.experiments.experiment import CHOICE, RUN, Design, finals, run_design
from figures.experiments.rate_choice import describe_rates, describe_seeds
from figures.experiments.tables import Contrast, Value, count_effects, draw_table, lead_headline
from figures.fedloru.designs import (
    EVALUATIONS,
    LEFT_OUT,
    RESTARTED,
    choice_of,
    network_of,
    restarts_design,
    share,
    tab1_design,
    tab3_design,
    tab4_design,
    tab6_design,
    tab7_design,
)
from figures.fedloru.printed import TABLE_1_ICLR, TABLE_3, TABLE_4, TABLE_6, TABLE_7
from figures.fedloru.scales import RANKS, SIZES, Sizes
from figures.figure import DataChoice, Figure, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Row = Mapping[str, Any]
PRINTED_DATA = "cifar-100"
"""Data of the paper's Tables 3, 6 and 7."""
TITLES = {"fashion-mnist": "Fashion-MNIST", "cifar-10": "CIFAR-10", "cifar-100": "CIFAR-100"}
PLACES = {size: place for place, size in enumerate(RANKS)}


def data_by(design: Callable[[Settings], Design]) -> Callable[[Settings], pd.DataFrame]:
    """Return the function that computes the table of an experiment."""

    def data(settings: Settings) -> pd.DataFrame:
        made = design(settings)
        announce_cost(made, settings, left_out())
        return run_design(made, settings)

    return data


CODE, NOT_PRINTED = "the authors' released code", "not printed"
CONVENTIONS: Mapping[str, str] = {
    "rounds": CODE,
    "tau": CODE,
    "weight_decay": CODE,
    "crop": NOT_PRINTED,
    "flip": NOT_PRINTED,
    "tuning_rounds": NOT_PRINTED,
}
"""Where settings of the paper's experiments are from that are not printed."""


def only(design: Callable[[Settings], Design]) -> Callable[[Settings], list[Design]]:
    """Return the function that gives the one design of a figure in a list."""
    return lambda settings: [design(settings)]


def left_out() -> list[str]:
    """Return the settings that the paper leaves out, line by line."""
    return [f"{entry.name}: {entry.value} ({entry.source})" for entry in LEFT_OUT]


def published_accuracy(table: str, row: Row) -> float | None:
    """Return the printed accuracy of a line, in per cent; None if nothing is printed.

    Args:
        table: `1`, `3`, `4`, `6`, `7`, or `restarts`, which has no printed values.
        row: Keys of the line; below the paper's scale Fashion-MNIST replaces CIFAR-100 in Tables 3, 6 and 7, but
            neither of the two data sets of Table 4.
    """
    method, clients = row["method"], int(row["clients"])
    if table == "restarts":
        return None
    if table == "7":
        printed = TABLE_7.get(clients, {}).get(method)
        return None if printed is None else 100 * float(printed)
    if table == "6":
        rows = [r for r in TABLE_6 if r.clients == clients and method in ("FedAvg", r.method)]
        return float(rows[0].fedavg if method == "FedAvg" else rows[0].accuracy) if rows else None
    if table == "4":
        printed = TABLE_4.get((TITLES[row["data"]], str(row["split"])), {}).get(method)
        return None if printed is None else float(printed)
    if table == "3":
        printed = TABLE_3.get(str(row["split"]).removeprefix("psi = "), {}).get(method)
        return None if printed is None else float(printed)
    case = [c for c in TABLE_1_ICLR if (c.dataset, c.split, c.clients) == (TITLES[row["data"]], row["split"], clients)]
    if not case:
        return None
    if method == "FedAvg":
        return float(case[0].fedavg)
    return float(case[PLACES[row["size"]]].accuracies[method])


def values(table: pd.DataFrame, of: str) -> list[Value]:
    """Return the rows of a table, in the order of the experiment."""
    ends = finals(table, EVALUATIONS)
    keys = [name for name in ends.columns if name not in ("seed", "rate", "value", "bytes", "failed")]
    found = []
    for _, line in ends.groupby(keys, sort=False):
        row = {str(name): value for name, value in line.iloc[0].items()}
        mean, half_width = mean_and_half_width(dict(zip(line.seed, line.value, strict=True)))
        found.append(
            Value(
                group_of(of, row),
                name_of(of, row),
                published_accuracy(of, row),
                100 * mean,
                100 * half_width,
                int(line.failed.sum()),
                same_data=of in ("1", "4") or row["data"] == PRINTED_DATA,
            )
        )
    return found


def contrasts(
    table: pd.DataFrame, of: str, pairs: Sequence[tuple[str, str]], evaluations: int = EVALUATIONS
) -> list[Contrast]:
    """Return the differences between pairs of methods in every setting in which both are run.

    Args:
        table: Table of an experiment.
        of: The table of the paper.
        pairs: The methods that are compared.
        evaluations: How many evaluations at the end of a run its accuracy is the mean of.
    """
    ends = finals(table, evaluations)
    found = []
    for one, other in pairs:
        for keys, rival in _both(ends, one, other):
            ours, theirs = (
                published_accuracy(of, {**keys, "method": one}),
                published_accuracy(of, {**rival, "method": other}),
            )
            effect = paired_effect(by_seed(ends, **keys, method=one), by_seed(ends, **rival, method=other))
            printed = None if ours is None or theirs is None else ours - theirs
            names = (f"minus {other}", one) if of == "restarts" else (f"{one} minus {other}", where(of, keys))
            found.append(Contrast(*names, printed, effect))
    return found


def printed_only(table: pd.DataFrame, of: str) -> tuple[list[Value], list[Contrast]]:
    """Return Table 4's accuracies on data sets that are not run, and the differences between methods there."""
    if of != "4":
        return [], []
    nothing, run = float("nan"), {TITLES[name] for name in table.data.unique()}
    values, contrasts = [], []
    for (data, split), accuracies in TABLE_4.items():
        if data in run:
            continue
        values += [
            Value(f"{data}, {split} (not run)", method, float(accuracy), nothing, nothing)
            for method, accuracy in accuracies.items()
        ]
        for one, other in PAIRS[of]:
            ahead = float(accuracies[one]) - float(accuracies[other])
            effect = Effect(0, nothing, nothing, nothing)
            contrasts.append(Contrast(f"{one} minus {other}", f"{data}, {split}", ahead, effect))
    return values, contrasts


def _both(ends: pd.DataFrame, one: str, other: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield keys of one method's lines with the other method's in the same setting: at its size, or in full."""
    names = ["data", "split", "clients", "participation", "size"]
    rivals = {tuple(key) for key in ends[ends.method == other][names].drop_duplicates().to_numpy()}
    for key in ends[ends.method == one][names].drop_duplicates().to_numpy():
        for match in (tuple(key), (*key[:-1], "full")):
            if match in rivals:
                yield dict(zip(names, key, strict=True)), dict(zip(names, match, strict=True))
                break


def group_of(of: str, row: Row) -> str:
    """Return the setting of a row, with the data set of the printed values if it is another one."""
    setting = where(of, row) if of in ("6", "7") else row["split"]
    setting += f", K = {row['clients']}" if of in ("1", "restarts") else ""
    other = " (printed: CIFAR-100)" if of in ("3", "6", "7") and row["data"] != "cifar-100" else ""
    return f"{TITLES[row['data']]}, {setting}{other}"


def name_of(of: str, row: Row) -> str:
    """Return the method of a row, with its size if there are several."""
    return f"{row['method']} {row['size']}" if of == "1" and row["size"] != "full" else str(row["method"])


def where(of: str, keys: Row) -> str:
    """Return the setting of a comparison in a few words."""
    if of == "4":
        return f"{TITLES[keys['data']]}, {keys['split']}"
    if of == "3":
        return str(keys["split"])
    size = f", {keys['size']}" if of == "1" else ""
    return f"{keys['split']}, K = {keys['clients']}{size}" if of == "1" else f"K = {keys['clients']}"


PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "1": (("FedLoRU", "FedLoRA"), ("FedLoRU", "FedHM"), ("FedLoRU", "FedAvg")),
    "3": (("pFedLoRU", "pFedLoRA(1)"), ("pFedLoRU", "pFedLoRA(2)")),
    "4": (("mFedLoRU", "FedHM"),),
    "6": (("FedLoRA", "FedAvg"), ("FedLoRU", "FedAvg"), ("FedLoRU", "FedLoRA")),
    "7": (("FedLoRU", "FedAvg"), ("FedLoRU", "FedHM"), ("FedLoRU", "FedLoRA")),
    "restarts": (
        *((method, "FedLoRA") for method, _, _ in RESTARTED),
        *((method, RESTARTED[0][0]) for method, _, _ in RESTARTED[1:]),
    ),
}
"""Comparisons of each table."""
HEADED: Mapping[str, tuple[str, str]] = {
    "1": ("FedLoRU", "FedAvg"),
    "3": ("pFedLoRU", "pFedLoRA(1)"),
    "4": ("mFedLoRU", "FedHM"),
    "6": ("FedLoRU", "FedAvg"),
    "7": ("FedLoRU", "FedAvg"),
    "restarts": ("Accumulation", "FedLoRA"),
}
"""The comparison in the headline of each table."""
STATED: Mapping[str, str] = {
    "1": "FedLoRU is always above FedLoRA, above FedHM in most cells, and slightly below FedAvg in most settings",
    "3": "pFedLoRU is above both forms of pFedLoRA",
    "4": "mFedLoRU is below FedHM on CIFAR-10 and above it on CIFAR-100",
    "6": "FedLoRU and FedLoRA are above FedAvg once K exceeds 100 and 200, and the gap widens with K",
    "7": "with a tenth of the clients in a round FedLoRU leads FedAvg, FedHM and FedLoRA",
    "restarts": "accumulation helps; the factors restart or continue after it; the paper does not say which, or where",
}


def lead_outcome(table: pd.DataFrame, of: str) -> str:
    """Return the outcome: in how many settings the first method of each comparison leads, and by how much."""
    if of == "restarts":
        return "; ".join(
            count_effects(
                "A form that accumulates",
                other,
                [c.effect for c in contrasts(table, of, PAIRS[of]) if c.group == f"minus {other}"],
            ).replace("setting", "form")
            for other in dict.fromkeys(other for _, other in PAIRS[of])
        )
    parts = []
    for one, other in PAIRS[of]:
        found = contrasts(table, of, [(one, other)])
        parts += [count_effects(one, other, [contrast.effect for contrast in found])] if found else []
    return "; ".join(parts)


def drawing(of: str) -> Callable[[pd.DataFrame], Picture]:
    """Return the function that draws a table."""

    def draw(table: pd.DataFrame) -> Picture:
        unit = "personal, %" if of == "3" else "accuracy, %"
        rows, differences = printed_only(table, of)
        return draw_table([*values(table, of), *rows], [*contrasts(table, of, PAIRS[of]), *differences], unit)

    return draw


def headline(of: str) -> Callable[[pd.DataFrame], str]:
    """Return the function that gives the headline: the comparison of `HEADED`."""

    def told(table: pd.DataFrame) -> str:
        one, other = HEADED[of]
        pairs = [pair for pair in PAIRS[of] if (of == "restarts" and pair[1] == other) or pair == (one, other)]
        effects = [contrast.effect for contrast in contrasts(table, of, pairs)]
        return lead_headline(one, other, effects, "forms" if of == "restarts" else "settings")

    return told


JUDGED = {
    "restarts": "That the first is above the second",
    "4": "That the first is above the second, as is printed on CIFAR-100, the opposite on CIFAR-10",
}
"""Statements that the findings refer to, if no order is printed for the data that we run."""


def found_in(of: str) -> Callable[[pd.DataFrame], str]:
    """Return the function that gives the paper's statement and the finding, comparison by comparison."""

    def found(table: pd.DataFrame) -> str:
        each = ". ".join(map(_describe, contrasts(table, of, PAIRS[of])))
        told = JUDGED.get(of, "The printed order of the two")
        return f"Stated: {STATED[of]}. Found: {lead_outcome(table, of)}. {told}: {each}.{_by_the_last(table, of)}"

    return found


def changed_by_the_last(table: pd.DataFrame, of: str, pairs: Sequence[tuple[str, str]]) -> list[Contrast]:
    """Return the differences by the last evaluation alone, as far as it would change the findings.

    The paper averages the last five for clients that differ. For the others it does not say what it reports.
    """
    both = zip(contrasts(table, of, pairs), contrasts(table, of, pairs, 1), strict=True)
    return [last for mean, last in both if last.effect.above != mean.effect.above]


def _by_the_last(table: pd.DataFrame, of: str) -> str:
    """Return which findings the last evaluation alone would change, in a sentence; empty for none."""
    changed = [
        f"{one.group}, {one.name}: {one.finding}, {one.effect.text}"
        for one in changed_by_the_last(table, of, PAIRS[of])
    ]
    return f" By the last evaluation alone: {'; '.join(changed)}." if changed else ""


def _describe(contrast: Contrast) -> str:
    printed = "" if contrast.published is None else f" (published {contrast.published:+z.2f})"
    return f"{contrast.group}, {contrast.name}: {contrast.effect.text}{printed}: {contrast.finding}"


def sizes_of(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that a table was computed at."""
    sizes = _scale_of(table)
    told = describe_sizes(table, sizes, sizes.rounds, sizes.tau)
    return f"{told}; final accuracy: mean of the last {EVALUATIONS} evaluations."


def describe_sizes(table: pd.DataFrame, sizes: Sizes, rounds: int, tau: int) -> str:
    """Describe network, data, local steps, ranks, learning rates and seeds."""
    runs, choice = table[table.stage == RUN], table[table.stage == CHOICE]
    of, network = sizes.federation, network_of(sizes, str(runs.data.iloc[0]))
    shares = ", ".join(
        f"{name} {100 * share(network, sizes.rank(name)):.0f} % (rank {sizes.rank(name)})" for name in sizes.shares
    )
    rates = describe_rates(choice, sizes.rates)
    tried = (
        f"chosen from {rates} by {int(choice['round'].max())} rounds with {describe_seeds(choice)}"
        if len(choice)
        else rates
    )
    return (
        f"{network[0]} of width {sizes.width} on images of {of.get('side', 28)} x {of.get('side', 28)} pixels, "
        f"{of.get('samples', 'all')} training samples ({sizes.personal.get('samples', 'all')} for personal models), "
        f"{of['epochs']} local epochs in batches of {of['batch']}, momentum 0.9, cosine to 0.001 over {rounds} "
        f"rounds, accumulation every {tau}, parameters of the low-rank methods: {shares}; learning rates "
        f"{tried}; seeds {', '.join(map(str, sorted(set(runs.seed))))}"
    )


def _scale_of(table: pd.DataFrame) -> Sizes:
    runs = table[table.stage == RUN]
    return next(of for of in SIZES.values() if of.rounds == runs["round"].max())


def choices(*printed: str) -> Callable[[Settings], DataChoice]:
    """Return the function that chooses the data sets of an experiment by scale."""
    return lambda settings: choice_of(settings, printed)


CAPTION = (
    "Left: printed values, our values with 95 % intervals over the seeds and, if the data are the same, their "
    "difference; below the paper's scale we do not expect it to be zero. Right: differences between methods, "
    "paired over the seeds (same samples, clients and initial weights), with 95 % intervals: blue if the whole "
    "interval is above zero, orange if it is below, grey if the runs do not decide. Diamonds: printed differences."
)


def _figure(of: str, title: str, design: Callable[[Settings], Design], *printed: str) -> Figure:
    return Figure(
        f"fedloru/tab-{of}",
        title,
        CAPTION,
        data_by(design),
        drawing(of),
        headline(of),
        found_in(of),
        sizes_of,
        choose=choices(*printed),
        quick_decides=False,
        designs=only(design),
        conventions=CONVENTIONS,
        printed={"data": printed},
    )


TABLE_1_FIGURE = _figure(
    "1",
    "FedLoRU, Tables 1 and 5: four methods by share of trained parameters, IID and non-IID clients",
    tab1_design,
    "fashion-mnist",
    "cifar-10",
    "cifar-100",
)
TABLE_3_FIGURE = _figure("3", "FedLoRU, Table 3: personal models", tab3_design, "cifar-100")
TABLE_4_FIGURE = _figure("4", "FedLoRU, Table 4: clients of different ranks", tab4_design, "cifar-10", "cifar-100")
TABLE_6_FIGURE = _figure("6", "FedLoRU, Table 6: increasing numbers of clients", tab6_design, "cifar-100")
TABLE_7_FIGURE = _figure("7", "FedLoRU, Table 7: a tenth of the clients in a round", tab7_design, "cifar-100")
RESTARTS_FIGURE = Figure(
    "fedloru/restarts",
    "FedLoRU: restarts of the factors, and the period between accumulations",
    CAPTION + " FedLoRA never accumulates. A anew: both factors restart as in LoRA; A kept: only B is reset to "
    "zero; both kept: as Algorithm 1 is listed, so the product counts twice.",
    data_by(restarts_design),
    drawing("restarts"),
    headline("restarts"),
    found_in("restarts"),
    sizes_of,
    choose=choices("cifar-100"),
    quick_decides=False,
    designs=only(restarts_design),
    conventions=CONVENTIONS,
    printed={"data": ("cifar-100",)},
)
