"""FedAvg and FedLoRU at the paper's scale: the first rounds of a setting of Table 1, a few minutes on a GPU.

Network, clients, local steps and schedule are the same as for 400 rounds. The learning rate is not tuned, because every
trial would cost as much as a run. The stored numbers were made on an NVIDIA H200, with five processes for each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.experiment import RUN, Design, run_design
from figures.fedloru.curves import COLOURS, LARGE
from figures.fedloru.designs import tab1_design
from figures.fedloru.experiments import CONVENTIONS, left_out
from figures.fedloru.scales import SIZES
from figures.figure import DataChoice, Figure, Scale, Settings
from figures.style import WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

METHODS = ("FedAvg", "FedLoRU")
ROUNDS: Mapping[Scale, int] = {"quick": 2, "laptop": 16, "paper": 22}
TAU: Mapping[Scale, int] = {"quick": 1, "laptop": 10, "paper": 20}
"""The smallest value of the printed grid, so one accumulation is in these rounds; the other tables have 50."""
RATE = 0.1
"""The middle of the grid of learning rates, for both methods."""


def design(settings: Settings) -> Design:
    """Return two lines of Table 1: IID, the largest number of clients, FedLoRU at its largest size."""
    whole, scale = tab1_design(settings), settings.scale
    clients = max(int(line.keys["clients"]) for line in whole.lines)
    wanted = {"data": "fashion-mnist", "split": "IID", "clients": clients}
    lines = []
    for line in whole.lines:
        if wanted.items() <= line.keys.items() and line.keys["method"] in METHODS and line.keys["size"] in LARGE:
            accumulation = {"tau": TAU[scale]} if "tau" in line.options else {}
            options = {**line.options, **accumulation, "schedule_period": SIZES[scale].rounds}
            lines.append(replace(line, options=options, rate_of="", tuned=True))
    return Design(tuple(lines), ROUNDS[scale], 1, (RATE,))


def printed_design(settings: Settings) -> list[Design]:
    """Return the same lines of Table 1 with all rounds, seeds and learning rates."""
    whole, mine = tab1_design(settings), [line.keys for line in design(settings).lines]
    return [replace(whole, lines=tuple(line for line in whole.lines if line.keys in mine))]


def data(settings: Settings) -> pd.DataFrame:
    """Return the table of both runs, as `figures.experiments.experiment.run_design` gives it."""
    made = design(settings)
    notes = [note for note in left_out() if not note.startswith("tau")]
    announce_cost(made, settings, [*notes, f"tau: {TAU[settings.scale]} (the printed grid is 20 to 80)"])
    return run_design(made, settings)


def ends(table: pd.DataFrame) -> dict[str, tuple[int, float]]:
    """Return round and accuracy at the end of each method, and FedAvg's at its last round within as many bytes."""
    runs = table[table.stage == RUN].sort_values("round")
    by_method = {str(method): run for method, run in runs.groupby("method", sort=False)}
    spent = float(by_method["FedLoRU"].bytes.iloc[-1])
    equal = by_method["FedAvg"][by_method["FedAvg"].bytes <= spent]
    lasts = {**by_method, "as many bytes": equal}
    return {name: (int(run["round"].iloc[-1]), float(run.value.iloc[-1])) for name, run in lasts.items()}


def draw(table: pd.DataFrame) -> Picture:
    """Draw test accuracy by round and by bytes sent."""
    from matplotlib.figure import Figure as New

    runs = table[table.stage == RUN]
    picture = New(figsize=(WIDTH, 2.8))
    by_round, by_bytes = picture.subplots(1, 2, sharey=True)
    for method, run in runs.groupby("method", sort=False):
        colour = COLOURS[str(method)]
        by_round.plot(run["round"], 100 * run.value, color=colour, marker=".", label=method)
        by_bytes.plot(run.bytes / 1e9, 100 * run.value, color=colour, marker=".", label=method)
    accumulated = {rounds: TAU[scale] for scale, rounds in ROUNDS.items()}.get(int(runs["round"].max()))
    if accumulated is not None:
        by_round.axvline(accumulated, color="0.5", linestyle=":", linewidth=1)
        by_round.annotate(
            "FedLoRU accumulates",
            (accumulated, by_round.get_ylim()[0]),
            (-3, 6),
            textcoords="offset points",
            ha="right",
            fontsize=7.5,
            color="0.35",
        )
    by_round.set(xlabel="round", ylabel="test accuracy, %")
    by_bytes.set(xlabel="sent in both directions, GB")
    by_bytes.legend(loc="lower right")
    return picture


def paper_scale_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: rounds and accuracies at the end."""
    last = ends(table)
    rounds, fedavg = last["FedAvg"]
    fewer, equal = last["as many bytes"]
    return (
        f"After {rounds} rounds FedAvg has {100 * fedavg:.1f} %, FedLoRU {100 * last['FedLoRU'][1]:.1f} %; with "
        f"as many bytes as FedLoRU, FedAvg runs {fewer} rounds and reaches {100 * equal:.1f} %"
    )


def paper_scale_headline(table: pd.DataFrame) -> str:
    """Return the headline: the accuracies at the end."""
    last = ends(table)
    rounds, fedavg = last["FedAvg"]
    return f"After {rounds} rounds FedAvg has {100 * fedavg:.1f} %, FedLoRU {100 * last['FedLoRU'][1]:.1f} %"


def paper_scale_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding."""
    return (
        "Stated: FedLoRU is about as accurate as FedAvg after the same number of rounds, at a lower cost. Found "
        "in the first "
        f"rounds, one seed, one learning rate for both: {paper_scale_outcome(table)}."
    )


def paper_scale_sizes(table: pd.DataFrame) -> str:
    """Describe rounds, clients and seed of the runs."""
    runs = table[table.stage == RUN]
    return (
        f"{runs['round'].max()} rounds, {runs.clients.max()} clients, seed {runs.seed.max()}, learning rate {RATE:g}."
    )


PAPER_SCALE = Figure(
    "fedloru/paper-scale",
    "FedLoRU, Table 1 at the paper's scale: the first rounds",
    "Test accuracy of FedAvg and FedLoRU on Fashion-MNIST (IID, 100 clients, half of them in each round; "
    "ResNet-10 with 64 channels, rank 128, accumulation after 20 rounds). The runs cover the first 22 of 400 "
    "scheduled rounds, with one seed and an untuned learning rate of 0.1 for both, so they do not show the result "
    "of 400 rounds. Bytes include the weights that every client receives at the start. The stored runs were made "
    "on an NVIDIA H200 in 550 s; smaller scales have "
    "narrower networks, fewer clients and rounds.",
    data,
    draw,
    paper_scale_headline,
    paper_scale_found,
    paper_scale_sizes,
    choose=lambda settings: DataChoice(("fashion-mnist",)),
    quick_decides=False,
    conventions=CONVENTIONS,
    designs=lambda settings: [design(settings)],
    printed_designs=printed_design,
)
