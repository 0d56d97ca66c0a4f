"""RoLoRA, Figure 2: LoRA, FFA-LoRA and RoLoRA on the two-layer network, MNIST by label at 5 and 10 clients."""

from __future__ import annotations

import re
from math import isnan
from typing import TYPE_CHECKING

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.effects import Effect, by_seed, mean_and_half_width, paired_effect
from figures.experiments.experiment import RUN, choose_rates, finals, run_design
from figures.figure import Figure, Settings
from figures.rolora.fig2_picture import draw_curves
from figures.rolora.fig2_runs import (
    FIG2_SIZES,
    IN_A_ROUND,
    LEARNING,
    METHODS,
    PRINTED,
    designs,
    tuning_designs,
    whole_designs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PLATEAU = (0.50, 0.60)
"""Range that we read "around 55 %" as."""
LORA, FFA, ROLORA = METHODS
LAST = 4
"""Communication rounds at the end of a run that count, where there are twice as many."""
LEFT_OUT = (
    "the loss: cross-entropy; the optimiser: plain gradient steps (convention)",
    "learning rates: the best of a grid for each method and number of clients, as the figure says of its curves",
    "the laws of A and of the fixed layer: normal (convention); starts that learn: 1 as ReLU's derivative at 0, or a "
    "random frozen weight",
    "numbers of rounds and of seeds: 100 communication rounds, 10 seeds (convention)",
)
"""Settings that the paper leaves out."""


def fig2_data(settings: Settings) -> pd.DataFrame:
    """Choose the learning rates, then make the runs; one row for each evaluation, in communication rounds."""
    sizes = settings.sizes(FIG2_SIZES)
    announce_cost(list(whole_designs(sizes)), settings, LEFT_OUT)
    parts: list[pd.DataFrame] = []
    for start in sizes.rounds:
        rates: dict[str, float] = {}
        for design in tuning_designs(sizes, start):
            rows, chosen = choose_rates(design, settings)
            rates |= chosen
            parts += [pd.DataFrame(rows)] if rows else []
        parts += [run_design(design, settings) for design in designs(sizes, start, rates)]
    table = pd.concat(parts, ignore_index=True)
    table["round"] *= table.method.map(trips)
    return table


def trips(method: str) -> int:
    """Return the communication rounds in one round of a method."""
    return next(per_round for methods, per_round in IN_A_ROUND if method in methods)


def draw_fig2(table: pd.DataFrame) -> Picture:
    """Draw a column for each number of clients, as in the paper, and a row for each start."""
    return draw_curves(table[table.stage == RUN])


def last_rounds(table: pd.DataFrame) -> pd.DataFrame:
    """Return each run's mean accuracy over the last communication rounds, because accuracies may oscillate.

    These are the even ones of the last `LAST` rounds, or of half of the rounds if there are fewer than twice as many,
    because RoLoRA has an evaluation in every second round only.

    Returns:
        As `finals`.
    """
    return finals(_late(table), LAST)


def _late(table: pd.DataFrame) -> pd.DataFrame:
    runs = table[table.stage == RUN]
    rounds = runs.groupby("start")["round"].transform("max")
    return runs[(runs["round"] > rounds - (rounds // 2).clip(upper=LAST)) & (runs["round"] % 2 == 0)]


def describe_late(table: pd.DataFrame) -> str:
    """Return which communication rounds of the starts that learn count, such as "rounds 8 and 10"."""
    runs = _late(table)
    rounds = sorted({int(number) for number in runs[runs.start.isin(LEARNING)]["round"]})
    return f"round{'s' * (len(rounds) > 1)} {' and '.join(map(str, rounds))}"


def statements(table: pd.DataFrame, start: str) -> dict[str, Effect]:
    """Return the differences of accuracies that the text mentions, for one start, over the last rounds, paired by seed.

    Returns:
        By what is stated: LoRA's fall from 5 to 10 clients, how much more it falls than RoLoRA, and RoLoRA's lead.
    """
    ends = last_rounds(table)

    def of(method: str, clients: int) -> dict[int, float]:
        return by_seed(ends, start=start, clients=clients, method=method)

    def fall(method: str) -> dict[int, float]:
        few, many = of(method, 5), of(method, 10)
        return {seed: few[seed] - many[seed] for seed in few}

    found = {"LoRA falls from 5 to 10 clients": paired_effect(of(LORA, 5), of(LORA, 10))}
    found["LoRA falls by more than RoLoRA"] = paired_effect(fall(LORA), fall(ROLORA))
    for clients in (5, 10):
        for other in (LORA, FFA):
            name = f"RoLoRA is above {other} with {clients} clients"
            found[name] = paired_effect(of(ROLORA, clients), of(other, clients))
    return found


def fig2_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the first start that learns, in one sentence."""
    ends = last_rounds(table)
    start = next(name for name in LEARNING if name in set(ends.start))
    return f"The printed start does not learn; with 1 as ReLU's derivative at 0, {means_by_method(table, start, 0)}."


def fig2_headline(table: pd.DataFrame) -> str:
    """Return the headline: the methods with the most clients, from the first start that learns."""
    ends = last_rounds(table)
    start = next(name for name in LEARNING if name in set(ends.start))
    return f"{start.capitalize()}, {means_by_method(table, start, 0).split('; ')[-1]}"


def means_by_method(table: pd.DataFrame, start: str, digits: int) -> str:
    """Describe the mean accuracies of all methods over the last rounds from a start, by number of clients."""
    ends, parts = last_rounds(table), []
    for clients in sorted(set(ends[ends.start == start].clients)):
        means = ends[(ends.start == start) & (ends.clients == clients)].groupby("method").value.mean()
        parts.append(f"{clients} clients: " + ", ".join(f"{name} {100 * means[name]:.{digits}f} %" for name in METHODS))
    return "; ".join(parts)


def ends_of_ffa(table: pd.DataFrame, start: str) -> str:
    """Describe where FFA-LoRA ends from a start, and whether that supports a plateau around 55 %."""
    ends = last_rounds(table)
    told = []
    for clients in sorted(set(ends[ends.start == start].clients)):
        mean, half = mean_and_half_width(by_seed(ends, start=start, clients=clients, method=FFA))
        width = "" if isnan(half) else f" +- {100 * half:.1f}"
        told.append(f"{100 * mean:.1f}{width} % with {clients} clients ({plateau(mean, half)})")
    return ", ".join(told)


def fig2_found(table: pd.DataFrame) -> str:
    """Return the text's statement about the figure, and what each start shows."""
    ends = last_rounds(table)
    parts = []
    still = ends[ends.start == PRINTED]
    if len(still):
        low, high = (f"{100 * value:.1f}" for value in (still.value.min(), still.value.max()))
        spread = low if low == high else f"{low} to {high}"
        parts.append(
            f"As printed, with 0 as ReLU's derivative at 0, every run stays at {spread} %, that of a constant answer"
        )
    for start in (name for name in LEARNING if name in set(ends.start)):
        effects = [f"{name}: {one.verdict}, {one.text}" for name, one in statements(table, start).items()]
        ends_told = f"{means_by_method(table, start, 1)}; FFA-LoRA ends at {ends_of_ffa(table, start)}"
        parts.append(f"{start.capitalize()}: {ends_told}; {'; '.join(effects)}")
    return (
        "Stated: FFA-LoRA plateaus around 55 % with 5 and with 10 clients (50 to 60 % here), LoRA falls from 5 to 10, "
        f"and RoLoRA is more robust. Found, on average over communication {describe_late(table)}: "
        f"{'. '.join(parts)}.{_by_the_last(table)}"
    )


def _by_the_last(table: pd.DataFrame) -> str:
    """Return which findings the last round alone would change, in a sentence; empty for none."""
    last = table[table["round"] == table.groupby(["start", "stage"])["round"].transform("max")]
    changed = []
    for start in (name for name in LEARNING if name in set(table[table.stage == RUN].start)):
        others = statements(last, start)
        for name, one in statements(table, start).items():
            other = others[name]
            if other.verdict != one.verdict:
                changed.append(f"{name} ({start}) {other.verdict}, {other.text}")
        if _verdicts(ends_of_ffa(table, start)) != _verdicts(other_ends := ends_of_ffa(last, start)):
            changed.append(f"FFA-LoRA ends at {other_ends} ({start})")
    return f" By the last round alone: {'; '.join(changed)}." if changed else ""


def _verdicts(ends: str) -> list[str]:
    return re.findall(r"\(([a-z ]+)\)", ends)


def plateau(mean: float, half_width: float) -> str:
    """Return the finding of an interval on a plateau around 55 %."""
    low, high = PLATEAU
    if isnan(half_width):
        return "one seed"
    if low <= mean - half_width and mean + half_width <= high:
        return "supports"
    return "contradicts" if mean + half_width < low or mean - half_width > high else "undecided"


def fig2_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that the table was computed at."""
    runs = table[table.stage == RUN]
    choice = table[table.stage != RUN]
    told = "; ".join(
        f"{start}: {of['round'].max()} communication rounds, {of.seed.nunique()} seeds"
        for start, of in runs.groupby("start", sort=False)
    )
    tried = (
        f"Each method has the learning rate, of {', '.join(f'{rate:g}' for rate in sorted(set(choice.rate)))}, that "
        "does best on 5,000 training images held out in a run of its own with the same start and clients"
        if len(choice)
        else "One learning rate for all"
    )
    return (
        "784 inputs, rank 16, 784 hidden units, 10 labels, local epochs in batches of 64 by plain gradient steps on "
        "the cross-entropy; labels dealt at random to 5 clients (two each) or to 10 (one each); averages weight "
        f"clients by their numbers of samples. {told}. {tried}. Accuracies in the texts are means over communication "
        f"{describe_late(table)}. Not printed: the loss, the optimiser, learning "
        "rates, the laws of A "
        "and of the fixed layer, numbers of rounds and of seeds."
    )


FIG_2 = Figure(
    "rolora/fig-2",
    "The two-layer network on MNIST, by label",
    r"Test accuracy by communication round of LoRA, FFA-LoRA and RoLoRA on "
    r"$\mathrm{ReLU}(x(W_0 + AB))W_\mathrm{out}$: line: mean over the seeds; band: range. Left: 5 clients with "
    r"two labels each; right: 10 with one. The rows differ in the start: $W_0 = 0$ and $B = 0$ as printed, with 0 or 1 "
    "as ReLU's derivative at 0; or a random frozen $W_0$.",
    fig2_data,
    draw_fig2,
    fig2_headline,
    fig2_found,
    fig2_sizes,
    ("mnist",),
    quick_decides=False,
    designs=lambda settings: list(whole_designs(settings.sizes(FIG2_SIZES))),
    conventions=dict.fromkeys(("rounds", "seeds", "rates tried", "tuning_rounds"), "not printed"),
    beyond={
        "accuracy that is compared": (
            "the best over several learning rates",
            "that of a rate chosen on validation samples, as a mean over communication rounds 8 and 10",
        )
    },
)
