"""Learning curves of 19 algorithms on MNIST and Fashion-MNIST, compared with the best constant answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from figures.curves.learning_curves_picture import NAMES, draw_panels
from figures.curves.learning_curves_runs import (
    CURVE_SIZES,
    FAMILIES,
    METHODS,
    CurveSizes,
    cases_of,
    constant_answers,
    curves_choice,
    experiment_of,
    first_rates,
    rate_experiment,
    row_of,
    tune,
)
from figures.experiments.rate_choice import describe_rates, describe_seeds
from figures.experiments.sweep import outcomes_of, require_run
from figures.figure import Figure, Settings
from runs.experiments import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LEVEL = 0.99
"""Level of the lower bounds of accuracies, each by itself."""
MARGIN = 0.2
"""Margin by which every final accuracy exceeds the accuracy of the best constant answer."""


def curves_data(settings: Settings) -> pd.DataFrame:
    """Choose the learning rates on validation samples, then run every listed algorithm; one row for each evaluation."""
    sizes, cases = settings.sizes(CURVE_SIZES), cases_of(settings)
    first = 100 * settings.seed
    seeds = tuple(range(first, first + sizes.seeds))
    whole = experiment_of(sizes, cases, dict.fromkeys(sizes.methods, sizes.rates[0]), seeds)
    every = [*(rate_experiment(settings, sizes, cases, rates) for rates in first_rates(sizes)), whole]
    require_run([trial for part in every for trial in part.trials], settings)
    rows, rates = tune(settings, sizes, cases)
    experiment = experiment_of(sizes, cases, rates, seeds)
    outcomes = outcomes_of(experiment, settings)
    chosen = [(method, case) for method in METHODS if method.label in rates for case in cases]
    constants = {
        (case.data, case.split, seed): constant_answers(case, sizes, seed, settings) for case in cases for seed in seeds
    }
    for (method, case), of_seeds in zip(chosen, _in_parts(outcomes, sizes.seeds), strict=True):
        for outcome in of_seeds:
            constant, samples = constants[case.data, case.split, outcome.seed][method.personal]
            rows += [
                row_of("curve", method, case, outcome.seed, rates[method.label], row, method.metric)
                | {"constant": round(constant, 6), "samples": samples}
                for row in outcome.curve(method.metric)
            ]
    return pd.DataFrame(rows)


def lower_bound(accuracy: float, samples: int) -> float:
    """Return the exact binomial bound (Clopper and Pearson) that is below the true accuracy with probability `LEVEL`.

    The mean over clients of equal size is a share of all their samples; clients that differ only make it less variable.
    """
    from scipy.stats import beta

    right = round(accuracy * samples)
    return float(beta.ppf(1 - LEVEL, right, samples - right + 1)) if right else 0.0


def margins(table: pd.DataFrame) -> pd.DataFrame:
    """Return every run's final accuracy, its lower bound, and its margin over the best constant answer."""
    curves = table[table.stage == "curve"]
    finals = curves[curves["round"] == curves["round"].max()].copy()
    finals["bound"] = [lower_bound(row.accuracy, int(row.samples)) for row in finals.itertuples()]
    finals["margin"] = finals.bound - finals.constant
    return finals


def draw_learning(table: pd.DataFrame) -> Picture:
    """Draw a panel for each algorithm, a row for each family."""
    rows = {name: tuple(method.label for method in family) for name, family in FAMILIES.items()}
    return draw_panels(table[table.stage == "curve"], rows)


def learning_headline(table: pd.DataFrame) -> str:
    """Return the headline: the smallest margin, in one sentence."""
    finals = margins(table)
    low = int((finals.margin < MARGIN).sum())
    if low:
        return f"{low} of {len(finals)} runs end less than {100 * MARGIN:.0f} points above the best constant answer"
    least = int(100 * finals.margin.min())
    algorithms = {method.algorithm for method in METHODS if method.label in set(finals.method)}
    return f"All {len(algorithms)} algorithms end at least {least} points above the best constant answer"


def learning_found(table: pd.DataFrame) -> str:
    """Return the finding: the final accuracies of all algorithms and cases, and the smallest margin."""
    finals = margins(table)
    parts = []
    for (data, split), of_case in finals.groupby(["data", "split"], sort=False):
        means = 100 * of_case.groupby("method", sort=False).accuracy.mean()
        texts = ", ".join(f"{label} {value:.1f}" for label, value in means.items())
        parts.append(f"{NAMES[str(data)]}, {split}: {texts}")
    least = finals.sort_values("margin").iloc[0].to_dict()
    where = f"{least['method']} on {NAMES[least['data']]}, {least['split']}, seed {least['seed']}"
    return (
        f"No paper states this. Found: {learning_headline(table)}. "
        f"The smallest margin is {100 * least['margin']:.1f} points, for {where}: "
        f"accuracy {100 * least['accuracy']:.1f} %, {100 * LEVEL:.0f} % lower bound {100 * least['bound']:.1f} %, "
        f"best constant answer {100 * least['constant']:.1f} %. Final test accuracies in per cent (means over the "
        f"seeds; (p): personal models). {'. '.join(parts)}."
    )


def learning_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that the table was computed at."""
    curves, choice = table[table.stage == "curve"], table[table.stage == "choice"]
    sizes = next(of for of in CURVE_SIZES.values() if _is_of(curves, of))
    federation = sizes.federation
    rates = describe_rates(choice, sizes.rates)
    tried = (
        f"learning rates from {rates} by {sizes.tuning_rounds} rounds with {describe_seeds(choice)}"
        if len(choice)
        else f"learning rate {rates}"
    )
    side = federation.get("side", 28)
    width = f" of width {federation['width']}" if "width" in federation else ""
    samples = f"{federation['samples']:,}" if "samples" in federation else "all"
    return (
        f"{federation['model']}{width} on images of {side} x {side} pixels, {samples} training samples, "
        f"{federation['clients']} clients, {100 * federation['own_share']:.0f} % of each client's samples as its "
        f"own test set, one local epoch in batches of {federation['batch']}, factors of rank {sizes.rank}, "
        f"accumulation every "
        f"{sizes.tau} rounds, {sizes.rounds} rounds, seeds {', '.join(map(str, sorted(set(curves.seed))))}, {tried}."
    )


def _is_of(curves: pd.DataFrame, sizes: CurveSizes) -> bool:
    alike = curves["round"].max() == sizes.rounds and set(curves.method) == set(sizes.methods)
    return bool(alike and curves.seed.nunique() == sizes.seeds)


def _in_parts(outcomes: Sequence[Outcome], size: int) -> list[Sequence[Outcome]]:
    return [outcomes[start : start + size] for start in range(0, len(outcomes), size)]


LEARNING_CURVES = Figure(
    id="training/learning-curves",
    title="Learning curves of 19 algorithms on MNIST and Fashion-MNIST",
    caption=r"Test accuracy by round on real images, with one panel per algorithm and one row per family: "
    r"training of full weights, one pair of factors, dynamical low rank, accumulated factors, personal "
    r"models, and clients of different ranks. Line: mean over the seeds; band: range. Each of them has "
    r"the same "
    r"samples, clients and initial weights for a seed. (p): personal models, each on its client's own test set, the "
    r"mean over the clients; all others: the global model on the test set. Dotted: accuracy of the best constant "
    r"answer (for personal models, of each client's own); the title gives the distance from this accuracy to the "
    r"lower 99 % bound of a run's. $\eta$: learning rate, one for all cases of an algorithm, chosen by the "
    r"accuracy on samples held "
    r"out for validation (personal models: on the clients' own held-out samples) with another seed and without "
    r"test images. A round has one local epoch for each kind of local step: two for RoLoRA, pFedLoRU and "
    r"pFedLoRA. Weights that are not factorised are also trained and averaged.",
    data=curves_data,
    draw=draw_learning,
    headline=learning_headline,
    found=learning_found,
    sizes=learning_sizes,
    choose=curves_choice,
    quick_decides=False,
)
