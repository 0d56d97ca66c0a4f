"""RoLoRA's mechanism on adapters of a language model: the error of averaging A and B separately, and A's direction.

We measure each communication round of small federations of MiniLM on rated sentences from the clients' uploads, with
the algorithms of the other figures. The linear theory states that methods which train one factor at a time make no
error, that A has to turn towards one subspace, and how the error depends on the number of clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import nan, sqrt
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

from algorithms.adapter import AB
from algorithms.fedavg import FedAvg
from algorithms.optimisers import Sgd
from algorithms.rounds import rounds
from algorithms.tree import Tree
from figures.aggregation_error import (
    AveragedExchange,
    ExchangeRecorder,
    aggregation_error,
    angle_between,
    errors_of_few,
    product_of,
)
from figures.experiments.experiment import Line
from figures.figure import Figure, Scale, Settings
from figures.language.designs import ALGORITHMS, SPLITS, TEXTS, TRIPS
from figures.language.designs import SIZES as LANGUAGE_SIZES
from figures.pieces import piece
from figures.rolora.language import LOOKS
from figures.style import WIDTH, plain_log_ticks
from figures.threads import few_threads
from runs.plan import Parts, Plan, parts_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

METHODS = ("LoRA", "FFA-LoRA", "FlexLoRA", "RoLoRA")
ROUNDING = 1e-5
"""Upper limit of errors in single precision, relative to the mean of the products."""
REFERENCE_RATE = 0.1
"""Learning rate of gradient descent in all of the layers' weights; A is compared with its update's best subspace."""
DRAWS = 20
"""Cohorts of the fewest clients among the clients of a round."""


@dataclass(frozen=True)
class MechanismSizes:
    """Sizes that depend on the scale.

    Attributes:
        options: Options of every run.
        clients: Numbers of clients, increasing, by how texts are divided among them, in the words of `SPLITS`.
        rounds: Communication rounds, an even number.
        rate: Learning rate of the factors, the same for all methods.
        rank: Rank of the adapters.
        budget: Layers that have them.
        seeds: Number of seeds.
    """

    options: Mapping[str, Any]
    clients: Mapping[str, tuple[int, ...]]
    rounds: int
    rate: float
    rank: int
    budget: str
    seeds: int

    @property
    def few(self) -> int:
        """The fewest clients."""
        return min(min(counts) for counts in self.clients.values())

    @property
    def most(self) -> int:
        """The most clients."""
        return max(max(counts) for counts in self.clients.values())


MECHANISM_SIZES: Mapping[Scale, MechanismSizes] = {
    "quick": MechanismSizes(
        {"max_length": 12, "batch": 2, "steps": 1, "samples": 64, "test_samples": 4},
        {"IID": (2, 4)},
        2,
        5e-3,
        4,
        "P1",
        1,
    ),
    "laptop": MechanismSizes(
        {"max_length": 32, "batch": 4, "steps": 2, "test_samples": 64},
        {"IID": (3, 20, 50), "by class": (20,)},
        4,
        5e-3,
        4,
        "P2",
        1,
    ),
    "paper": MechanismSizes(
        {"max_length": 128, "batch": 64, "steps": 20}, dict.fromkeys(SPLITS, (3, 20, 50)), 80, 5e-3, 4, "P2", 3
    ),
}


def mechanism(settings: Settings) -> pd.DataFrame:
    """Train the federations and measure every averaged exchange.

    Returns:
        One row for each averaged exchange, which is a communication round: split, clients, seed, method, round, norm,
        change, error, least, angle (as in `AggregationError`), few (number of clients of small cohorts), few_error
        (their error; nan where one factor is common, or products are averaged), full_angle (between A and the best
        subspace of the update by gradient descent in all weights of the layers) and full_share (of that update's
        square that lies in its best rank).
    """
    sizes, rows = settings.sizes(MECHANISM_SIZES), []
    with few_threads():
        for seed in range(100 * settings.seed, 100 * settings.seed + sizes.seeds):
            for split, clients in ((split, one) for split, counts in sizes.clients.items() for one in counts):
                name = f"{clients} clients, {split}, seed {seed}"
                found = piece(settings, name, partial(_measure, sizes, split, clients, seed, settings))
                rows += [{"split": split, "clients": clients, "seed": seed, **row} for row in found]
    return pd.DataFrame(rows)


def plan_of(sizes: MechanismSizes, method: str, split: str, clients: int, seed: int, settings: Settings) -> Plan:
    """Return the run of a method in a setting."""
    language = settings.sizes(LANGUAGE_SIZES)
    options = {
        "model": language.common["model"],
        "truncate": True,
        "dropout": 0.0,
        **sizes.options,
        **SPLITS[split],
        "clients": clients,
        "rank": sizes.rank,
        "layers": language.layers(sizes.budget),
    }
    line = Line({"method": method}, ALGORITHMS[method], TEXTS, options)
    trial = line.trial(sizes.rounds // TRIPS.get(method, 1), (seed,), sizes.rate)
    return trial.plan(seed, settings.place, settings.device)


def _measure(sizes: MechanismSizes, split: str, clients: int, seed: int, settings: Settings) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    best: Mapping[str, torch.Tensor] = {}
    share = nan
    for method in METHODS:
        plan = plan_of(sizes, method, split, clients, seed, settings)
        parts = parts_of(plan)
        settings.report(f"{method}, {clients} clients, {split}, seed {seed}")
        if not best:
            best, share = best_subspace(full_update(parts, sizes.rounds, seed), sizes.rank)
        for number, row in enumerate(follow(parts, plan.conduct.rounds, seed, best, sizes.few, settings), 1):
            rows.append({"method": method, "round": number, **row, "full_share": share})
    return rows


def full_update(parts: Parts, count: int, seed: int) -> Tree:
    """Return the update of FedAvg with gradient descent in all of the layers' weights, transposed: inputs are rows."""
    local = replace(parts.algorithm.local, optimiser=Sgd(), learning_rate=REFERENCE_RATE)  # type: ignore[attr-defined]
    names = parts.algorithm.adapter.factors(parts.problem.start).A  # type: ignore[attr-defined]
    *_, last = rounds(FedAvg(local), parts.problem, rounds=count, seed=seed, evaluate_every=count)
    return Tree({name: (last.state.algorithm[name] - parts.problem.start[name]).mT for name in names})


def best_subspace(update: Tree, rank: int) -> tuple[Tree, float]:
    """Return the leading left singular vectors of every layer's update, and the fraction of its squared norm."""
    U, inside = {}, 0.0
    for name, W in update.items():
        left, sigma, _ = torch.linalg.svd(W.double(), full_matrices=False)
        U[name], inside = left[:, :rank], inside + float((sigma[:rank] ** 2).sum())
    return Tree(U), inside / float(update.map(torch.Tensor.double).square())


def follow(
    parts: Parts, count: int, seed: int, best: Mapping[str, torch.Tensor], few: int, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one federation, one for each exchange."""
    executor, before = ExchangeRecorder(), None
    for step in rounds(
        parts.algorithm, parts.problem, rounds=count, seed=seed, executor=executor, evaluate_every=max(1, count)
    ):
        factors: AB = step.state.algorithm.factors
        for exchange in executor.exchanges():
            assert before is not None
            server = exchange.averaged or factors
            found = aggregation_error(exchange, server, before)
            row = {**asdict(found), "few": few, "few_error": nan, "full_angle": angle_between(server.A, best)}
            if _both_travel(exchange) and len(exchange.sent) > few:
                rng = settings.rng("mechanism", seed, len(exchange.sent), step.state.round)
                row["few_error"] = errors_of_few(exchange, few, DRAWS, rng)
            yield row
            before = product_of(server)
        before = product_of(factors)


def _both_travel(exchange: AveragedExchange) -> bool:
    return isinstance(exchange.sent[0], AB)


def relative(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with errors divided by the norm of the mean product: error, least, few_error; and of_change.

    `of_change` is the error relative to what the round changed.
    """
    shares = {name: table[name] / table.norm for name in ("error", "least", "few_error")}
    return table.assign(of_change=table.error / table.change, **shares)


def growth(table: pd.DataFrame) -> list[tuple[str, int, int, float, float, float]]:
    """Return the growth of LoRA's error from few to many clients at the same weights, and the value of linear theory.

    Deviations of clients that are alike are drawn from one law: of n clients the mean of the products of deviations is
    that of the law times (n - 1)/n, with a scatter that falls like sqrt(n - 1)/n. The measured ratio lies between.

    Returns:
        Split, few, clients, measured ratio (median over rounds and seeds), and the two ratios of the theory: for
        deviations whose products scatter about zero, and for products that are all the same.
    """
    found = []
    for key, of in relative(table[table.few_error.notna()]).groupby(["split", "few", "clients"], sort=False):
        split, few, clients = str(key[0]), *map(int, map(str, key[1:]))
        ratio = float((of.error / of.few_error).median())
        scatter, same = (sqrt(clients - 1) / clients) / (sqrt(few - 1) / few), (1 - 1 / clients) / (1 - 1 / few)
        found.append((split, few, clients, ratio, scatter, same))
    return found


def exact_methods(table: pd.DataFrame) -> dict[str, float]:
    """Return the largest relative error of each method that averages one factor."""
    of = relative(table)
    return {method: float(of[of.method == method].error.max()) for method in ("FFA-LoRA", "RoLoRA")}


def mechanism_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the error of averaging separately, and its dependence on the number of clients."""
    of = relative(table)
    lora = of[of.method == "LoRA"]
    many = ", ".join(
        f"{median:.2g} with {clients} clients" for clients, median in lora.groupby("clients").error.median().items()
    )
    exact = max(exact_methods(table).values())
    words = "only rounding" if exact < ROUNDING else f"up to {exact:.1g}"
    return f"Error of averaging A and B separately, relative to the mean update: {many}; FFA-LoRA and RoLoRA: {words}"


def mechanism_headline(table: pd.DataFrame) -> str:
    """Return the headline: the size of the error of averaging separately."""
    of = relative(table)
    medians = of[of.method == "LoRA"].groupby("clients").error.median()
    span = " to ".join(dict.fromkeys(f"{value:.2g}" for value in (medians.min(), medians.max())))
    return f"Averaging A and B separately errs by {span} of the mean update"


def draw_mechanism(table: pd.DataFrame) -> Picture:
    """Draw a row for each split: the error by round, and A's angles to two subspaces, coloured by method."""
    from matplotlib.figure import Figure as New
    from matplotlib.lines import Line2D

    of, splits = relative(table), list(dict.fromkeys(table.split))
    numbers = sorted(set(table.clients))
    lines = dict(zip(numbers, (":", "--", "-", "-."), strict=False))
    picture = New(figsize=(WIDTH, 0.9 + 2.4 * len(splits)))
    grid = picture.subplots(len(splits), 3, squeeze=False, sharex=True)
    columns = (
        ("error", "error / mean update"),
        ("angle", "A to the clients' best"),
        ("full_angle", "A to gradient descent's"),
    )
    for row, split in zip(grid, splits, strict=True):
        for axes, (name, title) in zip(row, columns, strict=True):
            for (method, clients), mine in of[of.split == split].groupby(["method", "clients"], sort=False):
                if name == "error" and method in ("FFA-LoRA", "RoLoRA"):
                    continue
                colour, marker = LOOKS[str(method)]
                by_round = mine.groupby("round")[name].mean()
                axes.plot(by_round.index, by_round, color=colour, marker=marker, markersize=3, linestyle=lines[clients])
            axes.set_title(f"{title}, {split}", fontsize=7.5)
            axes.set_xlabel("communication round", fontsize=8)
            axes.set_ylabel("ratio" if name == "error" else "rms sine of the angles", fontsize=8)
            if name == "error":
                axes.set_yscale("log")
                plain_log_ticks(axes.yaxis, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    methods = [
        Line2D([], [], color=colour, marker=marker, markersize=3, linestyle="none", label=method)
        for method, (colour, marker) in ((method, LOOKS[method]) for method in dict.fromkeys(of.method))
    ]
    clients_of = [Line2D([], [], color="0.3", linestyle=lines[n], label=f"{n} clients") for n in numbers]
    picture.legend(handles=[*methods, *clients_of], loc="outside lower center", ncols=7, fontsize=7)
    return picture


def mechanism_found(table: pd.DataFrame) -> str:
    """Return the statement of the theory and the finding."""
    of = relative(table)
    last = of[of["round"] == of["round"].max()]
    errors = "; ".join(
        f"{split}, {clients} clients: LoRA {_course(mine, 'LoRA')}, FlexLoRA {_course(mine, 'FlexLoRA')}"
        for (split, clients), mine in of.groupby(["split", "clients"], sort=False)
    )
    more = "; ".join(
        f"{split}: {clients} clients have {ratio:.2f} times the error of {few} of them (theory: {low:.2f} to "
        f"{high:.2f})"
        for split, few, clients, ratio, low, high in growth(table)
    )
    angles = "; ".join(
        f"{method} {mine.angle.mean():.2f} and {mine.full_angle.mean():.3f}"
        for method, mine in last.groupby("method", sort=False)
    )
    exact = ", ".join(f"{method} {error:.0e}" for method, error in exact_methods(table).items())
    return (
        "Stated: averaging A and B separately is inexact, more so with more clients, and training one factor at a "
        f"time is exact. Found: {mechanism_outcome(table)} (largest: {exact}). "
        f"First and last round, relative to the mean update (least "
        f"possible of the rank; relative to the round's change): {errors}. At the same weights: {more}. A's angle "
        "after the last round to the best subspace of the clients' mean product, and of gradient descent in all "
        f"weights: {angles}."
    )


def _course(of: pd.DataFrame, method: str) -> str:
    mine = of[of.method == method].groupby("round")[["error", "least", "of_change"]].mean()
    ends = [mine.iloc[place] for place in (0, -1)]
    return " to ".join(f"{end.error:.2g} ({end.least:.2g}; {end.of_change:.2g})" for end in ends)


def mechanism_sizes(table: pd.DataFrame) -> str:
    """Describe model, texts, clients and steps."""
    ends = int(table.clients.max()), int(table["round"].max())
    scale = next(name for name, of in MECHANISM_SIZES.items() if (of.most, of.rounds) == ends)
    of, language = MECHANISM_SIZES[scale], LANGUAGE_SIZES[scale]
    cases = "; ".join(f"{split} {', '.join(map(str, counts))}" for split, counts in of.clients.items())
    return (
        f"{language.common['model'].removeprefix('hf:')} on {TEXTS}, at most {of.options['max_length']} tokens, longer "
        f"texts cut; rank {of.rank} on query and value of the last {language.blocks[of.budget]} blocks; clients: "
        f"{cases}; {of.options['steps']} local steps in batches of {of.options['batch']} by AdamW, rate {of.rate:g} "
        f"for all methods, {of.rounds} communication rounds (an iteration of RoLoRA takes two); gradient descent in "
        f"all weights of the layers: rate {REFERENCE_RATE:g}, {100 * table.full_share.mean():.0f} % of its update's "
        f"square in its best rank {of.rank}; seeds {', '.join(map(str, sorted(set(table.seed))))}."
    )


MECHANISM = Figure(
    "rolora/mechanism",
    "RoLoRA: error of averaging A and B separately, and the direction of A, in a language model",
    "Left: distance of the server's update from the mean of the clients' updates, relative to this mean, by "
    "communication round; FFA-LoRA and RoLoRA average one factor at a time, so their error is rounding. Middle: "
    "root mean square sine of the angles between A and the best subspace of its rank for the clients' mean "
    "update; right: the same for the update by gradient descent in all weights of these layers. FFA-LoRA never "
    "changes its A.",
    mechanism,
    draw_mechanism,
    mechanism_headline,
    mechanism_found,
    mechanism_sizes,
    (TEXTS,),
    quick_decides=False,
)
