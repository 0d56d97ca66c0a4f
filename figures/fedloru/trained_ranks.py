"""Stable ranks of server and clients of a trained federation, by round, compared with FedLoRU's theory.

At the server's weights after some rounds we compare the Hessian over all samples of the federation with the Hessians of
clients over their own samples. Theorem 3.2 of FedLoRU v2 states that a client's stable rank is the larger one. Its
model also implies that noise of Frobenius norm F raises the largest eigenvalue of the mean, lambda, by only
F^2/(P lambda).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from torch import Tensor

from algorithms.rounds import rounds
from figures.experiments.cost import announce_cost
from figures.experiments.experiment import Design, Line, choose_rates
from figures.fedloru.curves import COLOURS
from figures.fedloru.designs import tab1_design
from figures.fedloru.experiments import TITLES, choices
from figures.fedloru.scales import SIZES
from figures.figure import Figure, Scale, Settings
from figures.pieces import piece
from figures.style import MARKERS, WIDTH
from figures.threads import few_threads
from hessian import stable_rank_of
from hessian.through_training import rank_columns
from runs.network_problem import NetworkProblem
from runs.networks.curvatures import SERVER, curvatures
from runs.plan import parts_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


@dataclass(frozen=True)
class RankSizes:
    """Sizes that depend on the scale: rounds of the runs, measured rounds, seeds, measured clients, and accuracy.

    Attributes:
        relative_width: Width asked of the intervals, relative to the value.
    """

    rounds: int
    measured: tuple[int, ...]
    seeds: int
    clients: int
    relative_width: float = 0.1


RANK_SIZES: Mapping[Scale, RankSizes] = {
    "quick": RankSizes(2, (0, 2), 1, 2),
    "laptop": RankSizes(16, (0, 4, 16), 3, 3),
    "paper": RankSizes(400, (0, 50, 100, 200, 400), 3, 3),
}


def federations(settings: Settings) -> Design:
    """Return the runs of FedAvg and FedLoRU in the first setting of Table 1."""
    design = tab1_design(settings)
    first = design.lines[0].keys
    lines = tuple(
        line
        for line in design.lines
        if line.keys["method"] in ("FedAvg", "FedLoRU")
        and line.tuned
        and all(line.keys[name] == first[name] for name in ("data", "split", "clients"))
    )
    return replace(design, lines=lines)


def trained_ranks(settings: Settings) -> pd.DataFrame:
    """Train both federations and measure their stable ranks.

    Returns:
        One row for each Hessian: method, seed, round, client (-1: the server), samples, value, low, high (the stable
        rank with its interval), largest (the spectral norm), frobenius, parameters, data. The common start
        is measured once and listed under both names.
    """
    sizes, design = settings.sizes(RANK_SIZES), federations(settings)
    announce_cost(replace(design, rounds=sizes.rounds, seeds=sizes.seeds), settings)
    _, rates = choose_rates(design, settings)
    rows: list[dict[str, Any]] = []
    with few_threads():
        for seed in range(100 * settings.seed, 100 * settings.seed + sizes.seeds):
            start: list[dict[str, Any]] = []
            for line in design.lines:
                of_line = partial(follow, line, rates[line.rate_of], seed, start, sizes, settings)
                found = piece(settings, f"{line.label}, seed {seed}", of_line)
                start = start or [row for row in found if row["round"] == 0]
                rows += found
    return pd.DataFrame(rows)


def follow(
    line: Line, rate: float, seed: int, start: Sequence[Mapping[str, Any]], sizes: RankSizes, settings: Settings
) -> list[dict[str, Any]]:
    """Return the rows of one federation; the rows of the start are given, or measured."""
    named = {"method": line.keys["method"], "data": line.keys["data"]}
    rows: list[dict[str, Any]] = []
    for number, problem, weights in states(line, rate, seed, sizes, settings):
        if number == 0 and start:
            rows += [{**row, **named} for row in start]
            continue
        settings.report(f"{line.label}, seed {seed}, round {number}")
        rows += [{**named, **row} for row in measure_ranks(problem, weights, seed, number, sizes, settings)]
    return rows


def states(
    line: Line, rate: float, seed: int, sizes: RankSizes, settings: Settings
) -> Iterator[tuple[int, NetworkProblem, Mapping[str, Tensor]]]:
    """Yield the server's weights after each measured round."""
    plan = line.trial(sizes.rounds, (seed,), rate).plan(seed, settings.place, settings.device)
    parts = parts_of(plan)
    problem: Any = parts.problem
    steps = rounds(
        parts.algorithm,
        problem,
        rounds=sizes.rounds,
        cohort=plan.settings["cohort"],
        seed=seed,
        evaluate_every=sizes.rounds,
    )
    for step in steps:
        if step.state.round in sizes.measured:
            yield step.state.round, problem, parts.algorithm.weights(step.state.algorithm)


def measure_ranks(
    problem: NetworkProblem, weights: Mapping[str, Tensor], seed: int, number: int, sizes: RankSizes, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Yield the stable ranks at some weights, on the server's samples and on the first clients'."""
    # Double precision: trained networks have kinks within the steps by which derivatives are tested in single.
    every = curvatures(problem, weights, (SERVER, *range(sizes.clients)), double=True, keep_graph=True)
    for client, operator in every:
        rng = settings.rng("trained-ranks", seed, number, client)
        found = stable_rank_of(operator, rng=rng, relative_width=sizes.relative_width)
        yield {
            "seed": seed,
            "round": number,
            "client": client,
            "samples": operator.samples,
            **rank_columns(found),
            "parameters": operator.P,
        }


def compare_with_server(table: pd.DataFrame) -> pd.DataFrame:
    """Return each client with its server, and the prediction of the spiked model with the client's noise.

    The noise has the Frobenius norm by which the client's exceeds the server's, and no direction; the server's own is
    left out.

    Returns:
        method, seed, round, client, server, measured (the client's stable rank), predicted, above and below (whether
        the intervals are apart), larger (the client's largest eigenvalue over the server's).
    """
    keys = ["method", "seed", "round"]
    server = table[table.client == SERVER].set_index(keys)
    rows = []
    for one in table[table.client != SERVER].to_dict("records"):
        of = server.loc[tuple(one[key] for key in keys)]
        noise = max(one["frobenius"] ** 2 - of.frobenius**2, 0.0) / one["parameters"]
        largest = of.largest + noise / of.largest
        rows.append(
            {
                **{key: one[key] for key in keys},
                "client": one["client"],
                "server": of.value,
                "measured": one["value"],
                "predicted": one["frobenius"] ** 2 / largest**2,
                "above": one["low"] > of.high,
                "below": one["high"] < of.low,
                "larger": one["largest"] / of.largest,
            }
        )
    return pd.DataFrame(rows)


def draw_ranks(table: pd.DataFrame) -> Picture:
    """Draw a panel for each method: server, clients, and the model's prediction for the clients."""
    from matplotlib.figure import Figure as New
    from matplotlib.ticker import LogLocator, NullFormatter

    pairs, methods = compare_with_server(table), list(dict.fromkeys(table.method))
    picture = New(figsize=(WIDTH, 3.0))
    grid = picture.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, method in zip(grid, methods, strict=True):
        mine, own = pairs[pairs.method == method], table[table.method == method]
        for (server, seed), of in own.groupby([own.client == SERVER, "seed"]):
            axes.errorbar(
                of["round"] + (0.0 if server else 0.15),
                of.value,
                [of.value - of.low, of.high - of.value],
                fmt=MARKERS[int(seed) % len(MARKERS)],
                color="black" if server else COLOURS["FedLoRU"],
                markersize=3,
                linewidth=0.8,
                alpha=0.6,
            )
        by_round = mine.groupby("round")[["server", "measured", "predicted"]].mean()
        axes.plot(by_round.index, by_round.server, color="black", label="server")
        axes.plot(by_round.index, by_round.measured, color=COLOURS["FedLoRU"], label="clients")
        axes.plot(
            by_round.index,
            by_round.predicted,
            color=COLOURS["FedLoRU"],
            linestyle=":",
            label="clients, predicted by the spiked model",
        )
        axes.set_title(f"{method}, {TITLES[str(own.data.iloc[0])]}", fontsize=8.5)
        axes.set(xlabel="round", yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    grid[0].set_ylabel("stable rank of the Hessian")
    grid[-1].legend(loc="best")
    return picture


def ranks_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: how often a client's stable rank exceeds the server's, by method."""
    pairs = compare_with_server(table)
    start, later = pairs[pairs["round"] == 0], pairs[pairs["round"] > 0]
    parts = [] if start.empty else [f"before training in {_above(start[start.method == start.method.iloc[0]])}"]
    parts += [f"later with {method} in {_above(of)}" for method, of in later.groupby("method", sort=False)]
    return f"A client's stable rank is above the server's {', '.join(parts)}."


def ranks_headline(table: pd.DataFrame) -> str:
    """Return the headline: how often a client's stable rank exceeds the server's, in all distinct measurements."""
    pairs = compare_with_server(table)
    distinct = pairs[(pairs["round"] > 0) | (pairs.method == pairs.method.iloc[0])]
    count = int((distinct.measured > distinct.server).sum())
    return f"A client's stable rank is above the server's in {count} of {len(distinct)} measurements"


def _above(pairs: pd.DataFrame) -> str:
    apart = f"intervals apart: {int(pairs.above.sum())} above, {int(pairs.below.sum())} below"
    return f"{int((pairs.measured > pairs.server).sum())} of {len(pairs)} ({apart})"


def ranks_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding, with the errors of the model."""
    pairs = compare_with_server(table)
    by_round = "; ".join(
        f"{method}, round {number}: server {of.server.mean():.2f}, clients {of.measured.mean():.2f}, by the spiked "
        f"model {of.predicted.mean():.2f}, largest eigenvalue {of.larger.mean():.2f} times the server's"
        for (method, number), of in pairs.groupby(["method", "round"], sort=False)
    )
    return (
        "Stated: in the spiked model a client's Hessian has the larger stable rank as the number of weights grows "
        f"(Theorem 3.2), and at any weights (introduction). Found: {ranks_outcome(table)} Means: {by_round}."
    )


def ranks_sizes(table: pd.DataFrame) -> str:
    """Describe network, samples, rounds and seeds."""
    server, clients = table[table.client == SERVER], table[table.client != SERVER]
    numbers = ", ".join(map(str, sorted(set(table["round"]))))
    last, least, most = int(table["round"].max()), int(clients.samples.min()), int(clients.samples.max())
    scale = next(name for name, of in RANK_SIZES.items() if of.rounds == last)
    return (
        f"$P={table.parameters.iloc[0]}$, {int(server.samples.iloc[0])} samples of the server, "
        f"{least if least == most else f'{least} to {most}'} of a client, {clients.client.nunique()} of "
        f"{SIZES[scale].cases[0][1]} clients, after rounds {numbers}, seeds "
        f"{', '.join(map(str, sorted(set(table.seed))))}; runs as in Table 1 at its largest size."
    )


TRAINED_RANKS = Figure(
    "fedloru/trained-ranks",
    "FedLoRU: stable ranks of server and clients during training",
    r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$ of the full Hessian at the server's model, over all samples and over "
    r"the samples of single clients, with batch norm's running statistics. Marks: seeds; bars: 95 % intervals; "
    r"lines: means over seeds and clients. Before training all methods have the same weights. Dotted: prediction "
    r"of the spiked model of Section 3 for a client, from the server's largest eigenvalue and the excess of the "
    r"client's Frobenius norm.",
    trained_ranks,
    draw_ranks,
    ranks_headline,
    ranks_found,
    ranks_sizes,
    choose=choices("fashion-mnist"),
    quick_decides=False,
)
