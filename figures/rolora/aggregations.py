"""All ways to aggregate LoRA on one regression: loss against communication rounds and against bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.rolora import RoLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from figures.figure import Figure, FigureError, Scale, Settings
from figures.rolora.aggregations_picture import draw_aggregations
from figures.rolora.runs import angle_of
from toymodels.problem import Problem
from toymodels.regression import best_of_rank, in_expectation, regression

ROWS, COLUMNS, CLIENTS, SAMPLES, STEPS, TAU = 20, 10, 10, 50, 5, 10
CASES: Mapping[str, tuple[float, int | None]] = {  # size of the clients' own parts, samples
    "equal, samples": (0.0, SAMPLES),
    "different, samples": (1.0, SAMPLES),
    "equal, expected": (0.0, None),
    "different, expected": (1.0, None),
}
METHODS: Mapping[str, Callable[[float, Adapter], Any]] = {
    "FedLoRA": lambda rate, adapter: FedLoRA(Descent(STEPS, rate), adapter),
    "FFA-LoRA": lambda rate, adapter: FFALoRA(Descent(STEPS, rate), adapter),
    "RoLoRA": lambda rate, adapter: RoLoRA(Descent(STEPS, rate), adapter),
    "FlexLoRA": lambda rate, adapter: FlexLoRA(Descent(STEPS, rate), adapter),
    "exact RoLoRA": lambda rate, adapter: ExactRoLoRA(rate),
    "FedLoRU": lambda rate, adapter: FedLoRU(Descent(STEPS, rate), adapter, TAU),
    "FedAvg": lambda rate, adapter: FedAvg(Descent(STEPS, rate)),
}
RATES = tuple(2.0**power for power in range(-7, 0))
FLOOR = 1e-14  # losses above their least value that are below this, of 10 at the start, are rounding


@dataclass(frozen=True)
class AggregationSizes:
    """Communication rounds, seeds, separate seeds that choose the rate, and the rates."""

    rounds: int
    seeds: int
    tuning_seeds: int
    rates: tuple[float, ...]


AGGREGATION_SIZES: dict[Scale, AggregationSizes] = {
    "quick": AggregationSizes(6, 2, 1, RATES[1:4:2]),
    "laptop": AggregationSizes(60, 7, 2, RATES),
    "paper": AggregationSizes(400, 50, 10, RATES),
}


@dataclass(frozen=True)
class Course:
    """A run after each of its iterations.

    Attributes:
        rounds: Communication rounds so far: trips down to the clients and up again.
        bytes: Travelled after the start, both directions, all clients.
        training: Global loss above its least value.
        population: Expected loss above its least value.
        angle: Between the model's first left singular vector and the truth.
    """

    rounds: tuple[int, ...]
    bytes: tuple[int, ...]
    training: tuple[float, ...]
    population: tuple[float, ...]
    angle: tuple[float, ...]


def aggregation_problem(settings: Settings, case: str, seed: str) -> Problem:
    """Return the federation of one case and seed, starting from zero weights."""
    own, samples = CASES[case]
    rng = settings.rng("aggregations", case, seed)
    given = regression(ROWS, COLUMNS, CLIENTS, rng, samples=samples, heterogeneity=own)
    return replace(given, start={"W": torch.zeros_like(given.start["W"])})


def course(
    problem: Problem, method: str, rate: float, rounds: int, seed: int, enough: float = -np.inf
) -> Course | None:
    """Run a method up to a number of communication rounds, or to a sufficient loss; None if it diverges.

    Every method with factors starts from the same A, drawn from the seed.

    Raises:
        FigureError: The global loss has no single minimiser.
    """
    adapter = Adapter(1, seed=seed)
    algorithm, w = METHODS[method](rate, adapter), Tree(problem.start)
    fed = Federation(problem.clients, shares=problem.shares, executor=Vmap())
    if method == "exact RoLoRA":  # it starts from the direction of the weights
        w = adapter.factors(w).A @ w.map(lambda W: W.new_ones(1, W.shape[1]))
    expected = in_expectation(problem)
    least, expected_least = _least(problem), _least(expected)
    state, rows, done, number = algorithm.start(fed, w), [], 0, 0
    told = fed.ledger.bytes()
    while done < rounds:
        if number:
            try:
                state = one_round(algorithm.round, fed, state)
            except FederationError:
                return None
            done += fed.ledger.trips(number)
        number += 1
        model = algorithm.weights(state)
        training, population = problem.loss(model) - least, expected.loss(model) - expected_least
        if not np.isfinite(training):
            return None
        # The box keeps b of the previous a, so the model lags; the direction is the state's.
        angle = angle_of(problem, state) if method == "exact RoLoRA" else problem.measures["angle"](model)
        rows.append((done, fed.ledger.bytes() - told, training, population, angle))
        if training <= enough:
            break
    return Course(*(tuple(column) for column in zip(*rows, strict=True)))


def aggregation_data(settings: Settings) -> pd.DataFrame:
    """Return quantiles over seeds of the losses of each method at its best rate."""
    sizes = settings.sizes(AGGREGATION_SIZES)
    rows: list[dict[str, object]] = []
    for case in CASES:
        problems = [aggregation_problem(settings, case, f"run {seed}") for seed in range(sizes.seeds)]
        tuning = [aggregation_problem(settings, case, f"rate {seed}") for seed in range(sizes.tuning_seeds)]
        limit = float(np.median([_best_of_rank_1(problem) for problem in problems]))
        for method in METHODS:
            settings.report(f"{case}, {method}")
            rate = _best_rate(tuning, method, sizes)
            runs = [course(problem, method, rate, sizes.rounds, seed) for seed, problem in enumerate(problems)]
            whole = [run for run in runs if run is not None]
            rows += _rows(case, method, rate, limit, whole, len(runs))
    return pd.DataFrame(rows)


def _least(problem: Problem) -> float:
    if problem.least is None:
        raise FigureError("the clients have fewer samples than rows in total: their loss has no single minimiser")
    return problem.least


def _best_of_rank_1(problem: Problem) -> float:
    return max(problem.loss({"W": best_of_rank(problem, 1)}) - _least(problem), 0.0)


def _best_rate(problems: list[Problem], method: str, sizes: AggregationSizes) -> float:
    """Return the rate with the smallest median final training loss, over separate seeds; divergence counts as infinite.

    Among several that end in rounding, the one that gets there first.
    """
    scores = {}
    for rate in sizes.rates:
        runs = [course(problem, method, rate, sizes.rounds, 1000 + n, FLOOR) for n, problem in enumerate(problems)]
        ends = [(np.inf, np.inf) if run is None else (max(run.training[-1], FLOOR), run.rounds[-1]) for run in runs]
        scores[rate] = tuple(np.median(ends, axis=0))
    return min(scores, key=lambda rate: scores[rate])


def _rows(
    case: str, method: str, rate: float, limit: float, runs: list[Course], started: int
) -> list[dict[str, object]]:
    rows = []
    for quantity in ("training", "population", "angle"):
        values = np.array([getattr(run, quantity) for run in runs])
        for place, (done, sent) in enumerate(zip(runs[0].rounds, runs[0].bytes, strict=True) if runs else ()):
            low, middle, high = np.quantile(values[:, place], [0.1, 0.5, 0.9])
            rows.append(
                {
                    "case": case,
                    "method": method,
                    "quantity": quantity,
                    "round": done,
                    "bytes": sent,
                    "median": middle,
                    "low": low,
                    "high": high,
                    "rate": rate,
                    "rank_1": limit,
                    "runs": len(runs),
                    "diverged": started - len(runs),
                }
            )
    return rows


def aggregation_headline(table: pd.DataFrame) -> str:
    """Return the headline: how often RoLoRA ends below FFA-LoRA and FedLoRA."""
    loss = _last(table)
    told = [f"{other}'s in {_against(loss, other)[0]}" for other in ("FFA-LoRA", "FedLoRA")]
    return f"RoLoRA's expected loss ends below {', below '.join(told)} of {len(CASES)} cases"


def _last(table: pd.DataFrame) -> pd.DataFrame:
    """Return the expected losses after the last round by case and method."""
    last = table[table["round"] == table.groupby(["case", "method"])["round"].transform("max")]
    return last[last.quantity == "population"].set_index(["case", "method"])


def aggregation_found(table: pd.DataFrame) -> str:
    """Return the finding: final losses of all methods, in their order, case by case."""
    last = table[table["round"] == table.groupby(["case", "method"])["round"].transform("max")]
    loss = _last(table)
    parts = []
    for case in CASES:
        of_case = loss.loc[case]["median"].clip(lower=FLOOR).sort_values(kind="stable")
        texts = [f"{method} {value:.1g}" for method, value in of_case[of_case > FLOOR].items()]
        exact = [str(method) for method in of_case[of_case == FLOOR].index]
        parts.append(f"{case}: " + ", ".join(([f"{', '.join(exact)} at rounding"] if exact else []) + texts))
    diverged = int(last[last.quantity == "training"].diverged.sum())
    return (
        "Stated: RoLoRA converges exponentially to the global minimiser on the linear model and outperforms FFA-LoRA "
        "(Section 5.1), and averaging A and B separately, as FedLoRA does, is inexact; found, as medians of the "
        f"expected loss minus its minimum after {int(last['round'].max())} communication rounds: {'; '.join(parts)}. "
        f"RoLoRA against FFA-LoRA: {_describe_lead(loss, 'FFA-LoRA')}; "
        f"against FedLoRA: {_describe_lead(loss, 'FedLoRA')}. "
        f"{_rates(last)} {diverged} runs diverged at the rate chosen."
    )


def _against(loss: pd.DataFrame, other: str) -> tuple[int, int, int]:
    """Count the cases in which RoLoRA's median is below another's, above it, and the central 80% are disjoint."""
    below = above = apart = 0
    for case in CASES:
        mine, theirs = (
            loss.loc[(case, method), ["low", "median", "high"]].clip(lower=FLOOR) for method in ("RoLoRA", other)
        )
        below += bool(mine["median"] < theirs["median"])
        above += bool(mine["median"] > theirs["median"])
        apart += bool(mine["high"] < theirs["low"]) or bool(theirs["high"] < mine["low"])
    return below, above, apart


def _describe_lead(loss: pd.DataFrame, other: str) -> str:
    below, above, apart = _against(loss, other)
    return f"below in {below} of {len(CASES)} cases, above in {above}, the central 80% of the seeds apart in {apart}"


def _rates(last: pd.DataFrame) -> str:
    chosen = last.drop_duplicates(["case", "method"])
    ends = (min(RATES), max(RATES))
    at_end = chosen[chosen.rate.isin(ends)]
    return f"The best rate lies at an end of the whole grid for {len(at_end)} of {len(chosen)} curves."


def aggregation_sizes(table: pd.DataFrame) -> str:
    """Describe sizes and counts."""
    return (
        f"$W$ of shape ${ROWS}\\times{COLUMNS}$, {CLIENTS} clients, {STEPS} local steps of full batches, "
        f"{int(table.runs.max())} seeds."
    )


AGGREGATIONS = Figure(
    id="rolora/aggregations",
    title="All ways to aggregate LoRA, on equal and different clients",
    caption=rf"Rank-1 regression; clients with {SAMPLES} samples each (a, b) or their expected losses (c, d); all have "
    r"one $b^*$ (a, c), or each client adds its own part, as large as the common one (b, d). Medians and central "
    r"80% over seeds "
    r"of (top) the global training loss minus its minimum by communication round (an iteration of RoLoRA takes "
    r"two), and (bottom) the expected loss minus its minimum against the bytes sent after the start. "
    rf"Rank 1 for all but FedAvg, FedLoRU with $\tau={TAU}$; FlexLoRA cuts the mean of the products. Each method at "
    rf"the rate of {len(RATES)} from $2^{{-7}}$ to $1/2$ (fewer at quick scale) with the least median training loss at "
    r"the end (the first to reach rounding, if several do), over seeds not shown. Dotted: the best matrix of rank 1.",
    data=aggregation_data,
    draw=draw_aggregations,
    headline=aggregation_headline,
    found=aggregation_found,
    sizes=aggregation_sizes,
)
