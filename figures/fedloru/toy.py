"""FedLoRU on quadratic losses: the effect of accumulation and of each restart of the factors on loss and rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU, Restart
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from figures.figure import Figure, Scale, Settings
from figures.style import MARKERS, SERIES, WIDTH
from toymodels.problem import Problem
from toymodels.quadratic import random_quadratics

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHAPE, RANK, CLIENTS, STEPS, RATE = (16, 12), 2, 4, 5, 0.2
CASES: Mapping[str, float] = {"equal clients": 0.0, "different clients": 0.5}
METHODS = ("FedAvg", "FedLoRA", "random", "keep A", "momentum")
NAMES = {
    "FedAvg": "FedAvg",
    "FedLoRA": "FedLoRA (no accumulation)",
    "random": "FedLoRU, A drawn again, B = 0",
    "keep A": "FedLoRU, A kept, B = 0",
    "momentum": "FedLoRU, both kept (listing)",
}
ROUNDING = 1e-13
"""Loss above the minimum, relative to the start, that rounding can cause by itself."""
LEAST_SHARE = 1e-3
"""Smallest singular value, relative to the largest, that counts for the update's rank."""


@dataclass(frozen=True)
class ToySizes:
    """Rounds, accumulation cycles, seeds."""

    rounds: int
    cycles: tuple[int, ...]
    seeds: int


TOY_SIZES: dict[Scale, ToySizes] = {
    "quick": ToySizes(40, (10,), 1),
    "laptop": ToySizes(200, (5, 20, 50), 5),
    "paper": ToySizes(1000, (5, 20, 50), 30),
}


def algorithm_of(method: str, tau: int, seed: int) -> Any:
    """Return the algorithm of a curve; every method with factors starts from the same A."""
    local, adapter = Descent(STEPS, RATE), Adapter(RANK, seed=seed)
    if method == "FedAvg":
        return FedAvg(local)
    return FedLoRA(local, adapter) if method == "FedLoRA" else FedLoRU(local, adapter, tau, cast(Restart, method))


def toy_problem(settings: Settings, case: str, seed: int) -> Problem:
    """Return convex quadratics with curvatures from 0.1 to 1 and full-rank targets, starting from zero weights."""
    rng = settings.rng("fedloru toy", case, seed)
    made = random_quadratics(SHAPE, CLIENTS, rng, heterogeneity=CASES[case])
    start = {"W": torch.zeros(SHAPE, dtype=torch.float64)}
    return Problem(made.name, made.clients, start, made.shares, made.smoothness, made.minimiser, made.least)


def course(problem: Problem, method: str, tau: int, rounds: int, seed: int) -> list[tuple[int, float, int, float]]:
    """Return round, loss above its minimum (start: 1), rank of the update, megabytes, until the end or divergence."""
    algorithm = algorithm_of(method, tau, seed)
    fed = Federation(problem.clients, shares=problem.shares, executor=Vmap())
    state = algorithm.start(fed, Tree(problem.start))
    assert problem.least is not None
    whole = problem.loss(problem.start) - problem.least
    rows = []
    for number in range(rounds + 1):
        if number:
            try:
                state = one_round(algorithm.round, fed, state)
            except FederationError:
                break
        model = algorithm.weights(state)
        excess = (problem.loss(model) - problem.least) / whole
        if not np.isfinite(excess):
            break
        sigma = torch.linalg.svdvals(model["W"])
        rank = int((sigma > LEAST_SHARE * sigma[0]).sum()) if float(sigma[0]) > 0.0 else 0
        rows.append((number, excess, rank, fed.ledger.bytes() / 1e6))
    return rows


def toy_data(settings: Settings) -> pd.DataFrame:
    """Return medians and central 80% over seeds of loss and rank, round by round."""
    sizes = settings.sizes(TOY_SIZES)
    rows: list[dict[str, object]] = []
    for case in CASES:
        problems = [toy_problem(settings, case, seed) for seed in range(sizes.seeds)]
        for method in METHODS:
            for tau in sizes.cycles if method in ("random", "keep A", "momentum") else (0,):
                settings.report(f"{case}, {NAMES[method]}, tau = {tau}")
                runs = [course(problem, method, tau, sizes.rounds, seed) for seed, problem in enumerate(problems)]
                rows += _rows(case, method, tau, sizes.rounds, runs)
    return pd.DataFrame(rows)


def _rows(case: str, method: str, tau: int, rounds: int, runs: list[Any]) -> list[dict[str, object]]:
    excess, rank = np.full((len(runs), rounds + 1), np.inf), np.full((len(runs), rounds + 1), np.nan)
    for row, run in enumerate(runs):
        for number, loss, found, _ in run:
            excess[row, number], rank[row, number] = loss, found
    longest = max(runs, key=len)
    low, middle, high = np.quantile(excess, [0.1, 0.5, 0.9], axis=0, method="nearest")
    return [
        {
            "case": case,
            "method": method,
            "tau": tau,
            "round": number,
            "excess": middle[number],
            "low": low[number],
            "high": high[number],
            "rank": float(np.nanmedian(rank[:, number])),
            "megabytes": megabytes,
            "seeds": len(runs),
            "diverged": sum(len(run) <= rounds for run in runs),
        }
        for number, _, _, megabytes in longest
    ]


def draw_toy(table: pd.DataFrame) -> Picture:
    """Draw the loss above and the rank below, a column for each kind of clients, for the middle cycle."""
    from matplotlib import pyplot

    cycles = sorted(set(table.tau) - {0})
    tau = cycles[len(cycles) // 2]
    picture, axes = pyplot.subplots(2, len(CASES), figsize=(WIDTH, 5.2), sharex=True, sharey="row", squeeze=False)
    for column, case in enumerate(CASES):
        top, bottom = axes[:, column]
        for number, method in enumerate(METHODS):
            mine = table[(table.case == case) & (table.method == method) & table.tau.isin((0, tau))]
            label = NAMES[method]
            style = {"color": SERIES[number], "marker": MARKERS[number], "markevery": 0.15, "linewidth": 1.1}
            top.plot(mine["round"], mine.excess, label=label, **style)
            top.fill_between(mine["round"], mine.low, mine.high, color=SERIES[number], alpha=0.15, linewidth=0)
            bottom.plot(mine["round"], mine["rank"], **style)
        top.set_yscale("log")
        top.set_title(f"({'ab'[column]}) {case}, $\\tau = {tau}$")
        bottom.set_title(f"({'cd'[column]}) rank of $W - W_0$")
        bottom.axhline(RANK, color="0.5", linestyle=":", linewidth=1.0)
        bottom.set_xlabel("round")
    axes[0, 0].set_ylabel("loss above its least value\n(start = 1)")
    axes[1, 0].set_ylabel("rank")
    picture.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return picture


def toy_headline(table: pd.DataFrame) -> str:
    """Return the headline: ranks of the update with and without accumulation."""
    last = table[table["round"] == table["round"].max()]
    still, cycles = last[last.method == "FedLoRA"], last[last.tau > 0]
    ranks = f"{cycles['rank'].min():.0f} to {cycles['rank'].max():.0f}"
    return f"The update's rank is {ranks} with accumulation, {still['rank'].max():.0f} without"


def toy_found(table: pd.DataFrame) -> str:
    """Return the finding: final losses and ranks of all methods and cycles."""
    parts = []
    for case in CASES:
        texts = []
        for _, mine in table[table.case == case].groupby(["method", "tau"], sort=False):
            method, tau = str(mine.method.iloc[0]), int(mine.tau.iloc[0])
            last = mine.iloc[-1]
            cycle = f", tau = {tau}" if tau else ""
            away = f", {int(last.diverged)} of {int(last.seeds)} diverged" if last.diverged else ""
            loss = "diverged" if not np.isfinite(last.excess) else f"{last.excess:.2g}"
            loss = "0 to rounding" if abs(last.excess) < ROUNDING else loss
            texts.append(f"{NAMES[method]}{cycle}: {loss} at rank {last['rank']:.0f}{away}")
        parts.append(f"{case}: {'; '.join(texts)}")
    return (
        "Stated: accumulation gives a model of higher rank than one pair of factors, and enables new learning phases. "
        f"Found after {int(table['round'].max())} rounds, as medians of the loss minus its minimum (relative to "
        f"the start) and of the rank of the update: {'. '.join(parts)}."
    )


def toy_sizes(table: pd.DataFrame) -> str:
    """Describe sizes and counts."""
    m, n = SHAPE
    return (
        f"$W$ of shape ${m}\\times{n}$, factors of rank {RANK}, {CLIENTS} clients, {STEPS} local steps of size "
        f"{RATE:g} (curvatures from 0.1 to 1), {int(table.seeds.max())} seeds, $\\tau$ of "
        f"{', '.join(str(tau) for tau in sorted(set(table.tau) - {0}))}."
    )


FEDLORU_TOY = Figure(
    id="fedloru/toy",
    title="FedLoRU on quadratic losses: accumulation and restarts",
    caption=r"Convex quadratic losses whose targets have full rank; all clients share one curvature and target "
    r"(a, c), or each adds its own, half as large (b, d). Medians and central 80% over seeds of the "
    r"global loss minus its minimum (top) and medians of the number of singular values of $W - W_0$ above "
    r"a thousandth of the largest (bottom; dotted: the rank of the factors). Algorithm 1 as listed keeps "
    r"both factors after an accumulation, so their product then counts twice; the other two restarts do "
    r"not change the model. All methods take the same local steps; FedLoRA is FedLoRU without accumulation.",
    data=toy_data,
    draw=draw_toy,
    headline=toy_headline,
    found=toy_found,
    sizes=toy_sizes,
    quick_decides=False,
)
