"""Comparison of all methods on Fashion-MNIST: accuracy by bytes, error of the aggregation by round, time of a round.

At the scale `paper` the network is a ResNet-10, and `rankproof figure training/methods --scale paper --device cuda`
makes the runs on an accelerator.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from figures.curves.method_comparison_picture import draw_methods
from figures.curves.method_comparison_runs import (
    FAMILY,
    FASHION,
    Comparison,
    MethodSizes,
    design_of,
    device_of,
    measure_rounds,
)
from figures.experiments.cost import announce_cost
from figures.experiments.experiment import CHOICE, RUN, finals, run_design
from figures.experiments.rate_choice import describe_rates, describe_seeds
from figures.figure import Figure, Settings
from figures.pieces import Rows, piece

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NEAR = 0.02
"""Distance from the best accuracy within which the bytes are compared."""
EXACT = 1e-4
"""Largest relative error of an aggregation that is exact up to rounding in single precision."""


def compare_methods(of: Comparison, settings: Settings) -> pd.DataFrame:
    """Choose the learning rates on validation samples, run every method, and measure the rounds of its first seed.

    Returns:
        The table of `run_design` with the kind of device of every row, and rows of the stages `seconds` and `error`.
    """
    design, sizes = design_of(settings, of), settings.sizes(of.sizes)
    announce_cost(design, settings)
    table = run_design(design, settings)
    lines = {str(line.keys["method"]): line for line in design.lines}
    runs = table[["method", "seed", "rate"]].drop_duplicates().itertuples(index=False, name=None)
    devices = {run: device_of(lines[run[0]], design.rounds, run[1], run[2], settings) for run in runs}
    table["device"] = [devices[run] for run in zip(table.method, table.seed, table.rate, strict=True)]
    runs_of = table[table.stage == RUN].groupby("method", sort=False)
    seed, here = int(table[table.stage == RUN].seed.min()), settings.device.partition(":")[0]
    rows: Rows = []
    for label, rate in runs_of.rate.first().items():
        settings.report(f"rounds of {label}")
        measure = partial(measure_rounds, lines[str(label)], float(rate), seed, sizes, settings)
        common = {"method": label, "seed": seed, "rate": float(rate), "bytes": 0, "failed": 0, "device": here}
        rows += [{**common, **row} for row in piece(settings, f"{label}, rate {rate}", measure)]
    return pd.concat([table, pd.DataFrame(rows)[list(table.columns)]], ignore_index=True)


def methods_data(settings: Settings) -> pd.DataFrame:
    """Compute the table on Fashion-MNIST."""
    return compare_methods(FASHION, settings)


def round_times(table: pd.DataFrame) -> dict[str, float]:
    """Return the time of each method's fastest round, in seconds: other work on the machine only adds to a time."""
    seconds = table[table.stage == "seconds"]
    return {str(method): float(value) for method, value in seconds.groupby("method", sort=False).value.min().items()}


def largest_errors(table: pd.DataFrame) -> dict[str, float]:
    """Return the largest error of each method's aggregations, relative to the change of the mean of the models."""
    errors = table[table.stage == "error"]
    return {str(method): float(value) for method, value in errors.groupby("method", sort=False).value.max().items()}


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean accuracy, mean bytes and failed runs of each method; a failed run counts as accuracy 0."""
    ends = finals(table)
    ends["value"] = ends.value.where(ends.failed == 0, 0.0)
    return ends.groupby("method", sort=False).agg(
        value=("value", "mean"), bytes=("bytes", "mean"), failed=("failed", "sum"), rate=("rate", "first")
    )


def methods_headline(table: pd.DataFrame) -> str:
    """Return the headline: the best mean accuracy of a global model, and the fewest bytes near it."""
    means = summary(table)
    common = means[[not str(method).endswith("(p)") for method in means.index]]
    best = str(common.value.idxmax())
    near = common[common.value >= common.value.max() - NEAR]
    fewest, top = str(near.bytes.idxmin()), 100 * common.value.max()
    if near.bytes[fewest] == common.bytes[best]:
        return f"{best} ends best, at {top:.1f} %; no method within {100 * NEAR:.0f} points sends less"
    value, share = 100 * common.value[fewest], near.bytes[fewest] / common.bytes[best]
    return f"{best} ends best ({top:.1f} %); {fewest} reaches {value:.1f} % with {share:.2g} times the bytes"


def methods_found(table: pd.DataFrame) -> str:
    """Return the finding on Fashion-MNIST."""
    return f"No paper states this. Found: {methods_headline(table)}. {describe_methods(table)}"


def describe_methods(table: pd.DataFrame) -> str:
    """Return accuracies and bytes of all methods, errors of the aggregation, and times."""
    means, errors, times = summary(table), largest_errors(table), round_times(table)
    ends = "; ".join(
        f"{method} {100 * row.value:.1f} % with {row.bytes / 1e6:.2f} MB" for method, row in means.iterrows()
    )
    exact = [method for method, error in errors.items() if error <= EXACT]
    others = ", ".join(f"{method} {error:.2g}" for method, error in errors.items() if error > EXACT)
    first = str(means.index[0])
    unit = times.get(first, float("nan"))
    groups = finals(table).groupby("method", sort=False).value
    spread = 100 * float((groups.max() - groups.min()).max())
    slowest = max(times, key=lambda method: times[method])
    return (
        f"Test accuracies and bytes in both directions (means over the {finals(table).seed.nunique()} seeds; (p): "
        f"personal models, on the clients' own test sets): {ends}. The seeds of a method differ "
        f"by up to {spread:.1f} points, and so few seeds decide no small difference between methods. The aggregation "
        f"is exact up to rounding with {', '.join(exact)}. The largest error relative to the mean change of the "
        f"clients' models is: {others}. {ends_of_grid(table)}A round takes at most {times[slowest] / unit:.1f} times "
        f"as long as {first}'s, with {slowest}."
    )


def methods_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that the table was computed at."""
    runs, choice = table[table.stage == RUN], table[table.stage == CHOICE]
    sizes = next(of for of in FASHION.sizes.values() if _is_of(runs, of))
    federation = sizes.federation
    rates = describe_rates(choice, sizes.rates)
    tried = (
        f"learning rates from {rates}, by runs as long as the others with {describe_seeds(choice)}"
        if len(choice)
        else f"learning rate {rates}"
    )
    width = f" of width {federation['width']}" if "width" in federation else ""
    samples = f"{federation['samples']:,}" if "samples" in federation else "all"
    side = federation.get("side", 28)
    return (
        f"{federation['model']}{width} on images of {side} x {side} pixels, {samples} training samples, "
        f"{federation['clients']} clients (Dirichlet {federation['partition_psi']:g}), "
        f"{100 * federation['own_share']:.0f} % of each client's samples as its own test set, one local epoch in "
        f"batches of {federation['batch']}, rank {sizes.rank}, accumulation every {sizes.tau} rounds, {sizes.rounds} "
        f"rounds, seeds {', '.join(map(str, sorted(set(runs.seed))))}, {tried}."
    )


def ends_of_grid(table: pd.DataFrame) -> str:
    """Name the methods whose learning rate is the smallest or the largest tried, in a sentence; empty for none."""
    tried = sorted(set(table[table.stage == CHOICE].rate))
    if len(tried) < 3:
        return ""
    chosen = summary(table).rate
    ends = {
        word: [str(m) for m in chosen.index[chosen == rate]]
        for word, rate in (("least", tried[0]), ("largest", tried[-1]))
    }
    told = [f"the {word} rate of the grid is best for {', '.join(names)}" for word, names in ends.items() if names]
    text = ", and ".join(told)
    return f"{text[0].upper()}{text[1:]}, so that a rate beyond it could be better. " if text else ""


def _is_of(runs: pd.DataFrame, sizes: MethodSizes) -> bool:
    return bool(runs["round"].max() == sizes.rounds and runs.method.nunique() == len(sizes.methods))


def draw(table: pd.DataFrame) -> Picture:
    """Draw the three panels."""
    accuracies = {str(method): float(value) for method, value in summary(table).value.items()}
    return draw_methods(table, accuracies, {method: FAMILY[method] for method in accuracies}, round_times(table), EXACT)


METHODS_COMPARED = Figure(
    id="training/methods",
    title="All methods on Fashion-MNIST: accuracy, bytes, error of the aggregation, time",
    caption=r"Left, above: test accuracy by bytes in both directions, all clients together, from the first "
    r"round on; the number at the end of a line is in the list on the right, with the final accuracy; ends that "
    r"are too crowded have no numbers. Solid: the global model on the test set; dashed: personal models (p), each on "
    r"its client's own test set. Mean over the seeds. Below: error of the aggregation, the distance of the "
    r"model after a round from the mean of the models that the clients reach without the others, relative to the "
    r"distance of this mean from the model before; of methods whose clients do the same in a round without the "
    r"others. Dotted: limit below which we call it rounding. Right: processor time "
    r"of the fastest round, relative to FedAvg's (on an accelerator: wall time). A round has one local epoch for "
    r"each kind of local step: two for RoLoRA, pFedLoRU and pFedLoRA. Every method has the same samples, clients "
    r"and initial weights for a seed, and a learning rate of its own, chosen by the accuracy on samples held out "
    r"for validation (personal models: on the clients' own held-out samples) with another seed and without test "
    r"images. All networks train from random weights, which is not what adapters were made for. All other options "
    r"are the defaults, and all clients have the same rank. Weights that are not factorised are also trained and "
    r"averaged.",
    data=methods_data,
    draw=draw,
    headline=methods_headline,
    found=methods_found,
    sizes=methods_sizes,
    datasets=(FASHION.data,),
    quick_decides=False,
    designs=lambda settings: [design_of(settings)],
    in_paper=False,
)
