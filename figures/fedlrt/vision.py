"""FeDLRT, Figures 5 to 8: accuracy and communication by number of clients, compared with training all weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.effects import Effect, by_seed, paired_effect
from figures.experiments.experiment import CHOICE, finals, run_design
from figures.experiments.rate_choice import describe_rates
from figures.fedlrt.vision_picture import draw_rows
from figures.fedlrt.vision_runs import BUDGET, TRIPS, VARIANTS, VISION, Vision, method_name
from figures.figure import DataChoice, Figure, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


BEYOND: Mapping[str, tuple[str, str]] = {"warm start": ("5 iterations of one client", "none")}
"""Settings that no option of a run has: the paper's, and ours."""
LEFT_OUT = (
    "the rank of the start: 64, of the transformer 128 (convention)",
    "warm start with 5 iterations of one client: left out",
    "drop-out of the transformer: none, because its rate is not printed",
    "32 clients: 7 local iterations, 240/32 rounded down",
    "which layers of VGG16 are factorised, and its head: two hidden layers of 512 (usual for CIFAR-10)",
)
"""Settings that the paper leaves out, and differences from it."""


PRINTED_ROUNDS = VISION["fig-5"]["paper"].rounds
"""Rounds of the paper's runs, the same in all figures, at whose end the paper states its results."""
DECIDING = PRINTED_ROUNDS // 5
"""Rounds from which our runs are compared with what the paper states for the end of its own."""
PEAK = 4
"""Clients with which the accuracy is stated to be largest, where each client takes the same number of steps."""


def vision_of(name: str, settings: Settings) -> Vision:
    """Return the figure at a scale."""
    return VISION[name][settings.scale]


def vision_data(name: str, settings: Settings) -> pd.DataFrame:
    """Make the runs; one row for each evaluation, with the elements of the factorised layers and the local steps."""
    vision = vision_of(name, settings)
    announce_cost(vision.design, settings, LEFT_OUT)
    table = run_design(vision.design, settings)
    return table.assign(factorised=vision.factorised, steps=table.clients.map(vision.local_steps))


def savings(table: pd.DataFrame) -> pd.DataFrame:
    """Return the communication that each completed run of FeDLRT saves against its counterpart.

    Returns:
        method, clients, seed, saved (share of all that travels), of_layers (share of what travels of the factorised
        layers; what is not factorised travels alike in both).
    """
    ends = finals(table)
    rounds, entries = int(table[table.stage != CHOICE]["round"].max()), int(table.factorised.iloc[0])
    rows: list[dict[str, object]] = []
    done = ends[ends.failed == 0].to_dict("records")
    sent = {(one["method"], one["clients"]): one["bytes"] for one in done}  # full matrices: the same for every seed
    for one in done:
        counterpart = VARIANTS[one["method"]][1] if one["method"] in VARIANTS else ""
        if (counterpart, one["clients"]) not in sent:
            continue
        full = sent[counterpart, one["clients"]]
        travels = 4 * TRIPS[counterpart] * entries * one["clients"] * rounds
        rows.append(
            {
                "method": one["method"],
                "clients": one["clients"],
                "seed": one["seed"],
                "saved": (full - one["bytes"]) / full,
                "of_layers": (full - one["bytes"]) / travels,
            }
        )
    return pd.DataFrame(rows)


def contrasts(table: pd.DataFrame) -> Mapping[str, Effect]:
    """Return the differences of final accuracies that the text mentions, paired over seeds, by statement.

    Those of runs with fewer than `DECIDING` rounds do not reach what the paper states for the end of its runs.
    """
    ends, rounds = finals(table), int(table["round"].max())
    limit = f"{rounds} of {PRINTED_ROUNDS} rounds" if rounds < DECIDING else ""
    most, least = int(ends.clients.max()), int(ends.clients.min())

    def of(method: str, clients: int) -> dict[int, float]:
        return by_seed(ends, method=method, clients=clients)

    found = {}
    rows = [row for row in VARIANTS if row in set(ends.method)]
    for row in rows:
        for clients in sorted(set(ends.clients)):
            other = VARIANTS[row][1]
            name = f"FeDLRT {method_name(row)} against {other}, {counted(clients)}"
            found[name] = paired_effect(of(row, clients), of(other, clients))
        found[f"FeDLRT {method_name(row)}: {counted(least)} against {most}"] = paired_effect(
            of(row, least), of(row, most)
        )
        if table.steps.nunique() == 1 and PEAK in set(ends.clients):
            for label, method in ((f"FeDLRT {method_name(row)}", row), (VARIANTS[row][1],) * 2):
                for clients in sorted({*ends.clients} - {PEAK}):
                    name = f"{label}: {PEAK} clients against {clients}"
                    found[name] = paired_effect(of(method, PEAK), of(method, clients))
    if "without correction" in rows:
        for row in rows[1:]:
            found[f"{row} against none, {most} clients"] = paired_effect(of(row, most), of("without correction", most))
    return {name: replace(effect, limit=limit) for name, effect in found.items()}


def counted(clients: int) -> str:
    """Return a number of clients as words."""
    return f"{clients} client{'s' * (clients > 1)}"


def draw_vision(table: pd.DataFrame) -> Picture:
    """Draw a row for each correction: savings on the left, accuracies on the right."""
    return draw_rows(finals(table), savings(table))


def vision_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the differences and the savings, in one sentence."""
    ends, saved = finals(table), savings(table)
    apart: list[float] = []
    for row, (_, other, _) in VARIANTS.items():
        if row in set(ends.method):
            ours, theirs = (ends[ends.method == name].groupby("clients").value.mean() for name in (row, other))
            apart += [float(value) for value in 100 * (ours - theirs)]
    means = 100 * saved.groupby(["method", "clients"]).of_layers.mean()
    sent = ", ".join(
        f"{_describe_saving(float(means[row].min()), float(means[row].max()), other)} {method_name(row)}"
        for row, (_, other, _) in VARIANTS.items()
        if row in means.index
    )
    return (
        f"FeDLRT's mean accuracy is {_between(min(apart), max(apart))} its counterpart's; for the factorised layers it "
        f"sends {sent}."
    )


def vision_headline(table: pd.DataFrame) -> str:
    """Return the headline: the differences of mean accuracies."""
    return vision_outcome(table).split(";")[0]


def _between(least: float, most: float) -> str:
    """Describe a range of points below and above a value."""
    if least < 0.0 < most:
        return f"{-least:.1f} points below to {most:.1f} above"
    near, far = sorted((abs(least), abs(most)))
    return f"{near:.1f} to {far:.1f} points {'above' if most > 0.0 else 'below'}"


def _describe_saving(least: float, most: float, other: str) -> str:
    """Describe the percentage of the factorised layers' communication that FeDLRT saves, or sends in excess."""
    if least < 0.0 < most:
        return f"{-least:.0f} % more to {most:.0f} % less than {other}"
    near, far = sorted((abs(least), abs(most)))
    spread = f"{near:.0f} to {far:.0f}" if round(near) < round(far) else f"{far:.0f}"
    return f"{spread} % {'less' if least >= 0.0 else 'more'} than {other}"


def vision_found(stated: str, table: pd.DataFrame) -> str:
    """Return the text's statement about a figure, and each difference with its interval."""
    effects = "; ".join(f"{name}: {effect.text}" for name, effect in contrasts(table).items())
    saved = savings(table).groupby(["method", "clients"], sort=False)[["saved", "of_layers"]].mean().reset_index()
    told = "; ".join(
        f"{method_name(one['method'])}, {counted(one['clients'])}: {100 * one['of_layers']:.1f} % "
        f"({100 * one['saved']:.1f} % of all)"
        for one in saved.to_dict("records")
    )
    rounds = int(table["round"].max())
    after = f" and after {rounds} of {PRINTED_ROUNDS} rounds" if rounds < PRINTED_ROUNDS else ""
    return (
        f"Stated: {stated}. Found, at this scale{after}: {vision_outcome(table)} Differences of accuracies: {effects}. "
        f"Communication saved of the factorised layers: {told}."
    )


def vision_sizes(name: str, table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that the table was computed at."""
    runs = table[table.stage != CHOICE]
    choice = table[table.stage == CHOICE]
    steps = {int(one["clients"]): int(one["steps"]) for one in runs.to_dict("records")}
    local = ", ".join(f"{number} with {counted(clients)}" for clients, number in steps.items())
    undivided = [clients for clients, number in steps.items() if number * clients != BUDGET]
    shared = ""
    if len(set(steps.values())) > 1:
        down = f", rounded down with {undivided[-1]}" if undivided else ""
        shared = f" ({BUDGET}/C{down}, so every run uses about the same number of batches)"
    of = next(one for one in VISION[name].values() if one.rounds == int(runs["round"].max()))
    width = f" of width {of.options['width']}" if of.options.get("width") else ""
    whose = "every method and number of clients" if of.own_rates else "all runs"
    rounds = choice["round"].max()
    tried = (
        f", learning rate of {whose} chosen from {describe_rates(choice, of.rates)} after {rounds} rounds"
        if len(choice)
        else ""
    )
    return (
        f"{of.network}{width}, FeDLRT's start of rank {of.rank}, {of.rounds} rounds, local steps {local}{shared}, "
        "seeds "
        f"{', '.join(map(str, sorted(set(runs.seed))))}{tried}. The printed warm start of five steps of one client is "
        "left out, and the rank of the start is not printed."
    )


def chosen_data(name: str, settings: Settings) -> DataChoice:
    """Choose the data set of the scale."""
    return DataChoice((vision_of(name, settings).data,))


def _figure(name: str, title: str, stated: str, beyond: Mapping[str, tuple[str, str]] = BEYOND) -> Figure:
    return Figure(
        f"fedlrt/{name}",
        title,
        f"{title}: results by number of clients. Left: communication that FeDLRT saves compared with its "
        f"counterpart, for the factorised layers (filled) and for all weights (open). Right: final test accuracy "
        f"of both. Means over the seeds with 95 % intervals.",
        partial(vision_data, name),
        draw_vision,
        vision_headline,
        partial(vision_found, stated),
        partial(vision_sizes, name),
        choose=partial(chosen_data, name),
        quick_decides=False,
        designs=lambda settings: [vision_of(name, settings).design],
        conventions={"rank": "not printed"},
        beyond=beyond,
    )


FIG_5 = _figure(
    "fig-5",
    "ResNet18, FeDLRT on the head",
    "FeDLRT matches FedAvg and FedLin, correction raises accuracy by up to 12 % for many clients, accuracy "
    "without correction falls with the number of clients, and the compressed layers' communication falls by up to "
    "90 % with 8 clients",
)
FIG_6 = _figure(
    "fig-6",
    "AlexNet, FeDLRT on the head",
    "96 to 97 % of the fully connected layers' communication is saved, and the accuracy is largest with 4 clients",
)
FIG_7 = _figure(
    "fig-7",
    "VGG16, FeDLRT on the head",
    "without correction the accuracy falls with the number of clients; the simplified correction mitigates this "
    "and gives about the accuracy of FedLin, close to the baseline without federation",
)
FIG_8 = _figure(
    "fig-8",
    "A vision transformer, FeDLRT on its inner matrices",
    "FeDLRT behaves like FedLin and saves over 55 % of communication on average",
    {**BEYOND, "drop-out": ("a layer after each residual block, rate not printed", "none")},
)
