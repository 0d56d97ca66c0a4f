"""FedLoRU's Figure 4: test loss of FedLoRU and FedLoRA in fine-tuning, with a small causal model on instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, isfinite
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.effects import Effect, by_seed, paired_effect
from figures.experiments.experiment import RUN, Design, Line, finals, run_design
from figures.figure import Figure, Scale, Settings
from figures.style import ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TEXTS = "instructions"
METHODS: Mapping[str, str] = {"FedLoRA": "fedlora", "FedLoRU": "fedloru-finetune"}
METRICS: Mapping[str, str] = {"held out": "loss", "training": "training_loss"}
"""Metric by the answers whose loss it is."""
COLOURS = {"FedLoRA": ORANGE, "FedLoRU": VERMILION}
PRINTED: Mapping[str, Any] = {
    "clients": 10,
    "cohort": 5,
    "rank": 8,
    "learning_rate": 3e-4,
    "layers": "*.q_proj, *.k_proj, *.v_proj, *.o_proj",
    "truncate": True,
}
"""As printed: v1 Section 5 and Appendix D of v2; AdamW is the default of language models."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that depend on the scale.

    Attributes:
        options: Options of every run.
        rounds: Rounds of every run.
        tau: Rounds between accumulations, 15 as printed.
        seeds: Number of seeds.
    """

    options: Mapping[str, Any]
    rounds: int
    tau: int
    seeds: int


SIZES: Mapping[Scale, Sizes] = {
    "quick": Sizes(
        {
            "model": "hf:smollm2",
            "max_length": 48,
            "batch": 1,
            "steps": 1,
            "samples": 20,
            "test_samples": 4,
            "clients": 2,
            "cohort": 1,
            "training_loss": 4,
            "evaluate_every": 2,
        },
        2,
        1,
        1,
    ),
    "laptop": Sizes(
        {
            "model": "hf:smollm2",
            "max_length": 128,
            "batch": 4,
            "steps": 2,
            "test_samples": 40,
            "evaluate_every": 3,
            "training_loss": 40,
            "eval_batch": 8,
        },
        12,
        3,
        2,
    ),
    "paper": Sizes(
        {"model": "hf:smollm2", "max_length": 512, "batch": 16, "epochs": 1, "evaluate_every": 5, "training_loss": 213},
        50,
        15,
        3,
    ),
}
STATED_FROM = 25
"""Round after which the paper states that FedLoRU's test loss is the lower one."""
LEFT_OUT = (
    "the model: no Llama 2 has 3 billion parameters (rankproof show fedloru-v2/txt-peft); SmolLM2-135M here",
    "the data: 999 instructions of Alpaca's kind, 213 of them for the test, not the 52,000 of Alpaca",
    "the number of rounds: 50 (convention)",
)
"""Settings that the paper leaves out, and differences from it."""


def design(settings: Settings) -> Design:
    """Return the runs of both methods, with the printed settings and the scale's sizes."""
    sizes = settings.sizes(SIZES)
    lines = tuple(
        Line(
            {"method": method},
            name,
            TEXTS,
            {**PRINTED, **sizes.options, **({"tau": sizes.tau} if method == "FedLoRU" else {})},
            metric="loss",
        )
        for method, name in METHODS.items()
    )
    return Design(lines, sizes.rounds, sizes.seeds)


def by_loss(runs: Design) -> list[Design]:
    """Return the same runs with lines for their losses on held-out answers and on training answers."""

    def of(answers: str, metric: str) -> tuple[Line, ...]:
        return tuple(replace(line, keys={**line.keys, "answers": answers}, metric=metric) for line in runs.lines)

    return [replace(runs, lines=of(answers, metric)) for answers, metric in METRICS.items()]


def fig4_data(settings: Settings) -> pd.DataFrame:
    """Return the losses of both methods on held-out and on training answers, one row for each evaluation."""
    made = design(settings)
    announce_cost(made, settings, LEFT_OUT)
    return pd.concat([run_design(each, settings) for each in by_loss(made)], ignore_index=True)


def gain(table: pd.DataFrame, answers: str = "held out") -> Effect:
    """Return FedLoRA's final loss minus FedLoRU's, paired over the seeds; it is positive if FedLoRU is better.

    The statement about held-out answers begins after round `STATED_FROM`, so shorter runs do not reach it.
    """
    ends, last = finals(table), int(table["round"].max())
    first, second = (by_seed(ends, answers=answers, method=method) for method in METHODS)
    short = answers == "held out" and last <= STATED_FROM
    return replace(paired_effect(first, second), limit=f"{last} rounds" if short else "")


def fig4_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: final losses on held-out answers, their perplexities, and the differences of both losses."""
    ends = finals(table)
    ends, effect = ends[ends.answers == "held out"], gain(table)
    told = ", ".join(
        f"{method} {mean:.3f} (perplexity {exp(mean):.2f})" if isfinite(mean) else f"{method} failed"
        for method, mean in ends.groupby("method", sort=False).value.mean().items()
    )
    if not effect.pairs:
        return f"Loss on held-out answers at the end: {told}"
    return (
        f"Loss on held-out answers at the end: {told}; FedLoRA minus FedLoRU "
        f"{_describe_effect(effect)}, on training answers {_describe_effect(gain(table, 'training'))}"
    )


def fig4_headline(table: pd.DataFrame) -> str:
    """Return the headline: final losses on held-out answers."""
    ends = finals(table)
    told = ", ".join(
        f"{mean:.3f} with {method}" if isfinite(mean) else f"{method} failed"
        for method, mean in ends[ends.answers == "held out"].groupby("method", sort=False).value.mean().items()
    )
    return f"After {int(table['round'].max())} rounds the held-out loss is {told}"


def _describe_effect(effect: Effect) -> str:
    width = f" +- {effect.half_width:.3f}" if isfinite(effect.half_width) else " (one seed)"
    return f"{effect.mean:+.3f}{width}"


def fig4_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding."""
    return (
        "Stated: the test loss of FedLoRU is below that of FedLoRA after the 25th round, and their train losses fall "
        f"at similar rates. Found, at this scale: {fig4_outcome(table)}. The statement about the test loss: "
        f"{gain(table).verdict}."
    )


def draw_fig4(table: pd.DataFrame) -> Picture:
    """Draw the losses by round: means over the seeds, bands from the smallest to the largest."""
    from matplotlib.figure import Figure as New

    runs = table[(table.stage == RUN) & (table.failed == 0)]
    picture = New(figsize=(WIDTH, 3.0))
    panels = picture.subplots(1, len(METRICS), squeeze=False)[0]
    for axes, answers in zip(panels, METRICS, strict=True):
        for method, mine in runs[runs.answers == answers].groupby("method", sort=False):
            by_round = mine.groupby("round").value.agg(["mean", "min", "max"])
            colour = COLOURS[str(method)]
            axes.plot(by_round.index, by_round["mean"], color=colour, marker="o", markersize=3, label=str(method))
            axes.fill_between(by_round.index, by_round["min"], by_round["max"], color=colour, alpha=0.15, lw=0)
        axes.set(xlabel="round", ylabel="loss per token", title=f"{answers.replace(' ', '-')} answers")
    panels[0].legend()
    return picture


def fig4_sizes(table: pd.DataFrame) -> str:
    """Describe model, texts and training."""
    last = int(table["round"].max())
    sizes = next(of for of in SIZES.values() if of.rounds == last)
    of = {**PRINTED, **sizes.options}
    local = f"{of['steps']} local steps" if "steps" in of else f"{of['epochs']} local epoch"
    return (
        f"{of['model'].removeprefix('hf:')} on {TEXTS} (999, not Alpaca's 52,000), at most {of['max_length']} tokens, "
        f"longer ones cut, {of.get('test_samples', 213)} held-out answers and {of['training_loss']} of training; "
        f"rank {of['rank']} on q, k, v, o; {of['cohort']} of {of['clients']} clients in a round, {local} in batches "
        f"of {of['batch']} by AdamW with learning rate {of['learning_rate']:g}; {last} rounds, accumulation every "
        f"{sizes.tau}; seeds {', '.join(map(str, sorted(set(table.seed))))}."
    )


FIG_4 = Figure(
    "fedloru/fig-4",
    "FedLoRU, Figure 4 on 999 instructions: test loss in fine-tuning",
    "Loss per token of held-out answers and of training answers by round, for FedLoRU and for FedLoRA, which "
    "never accumulates. Line: mean over the seeds; band: range. The model is smaller than the paper's, and the "
    "data are different.",
    fig4_data,
    draw_fig4,
    fig4_headline,
    fig4_found,
    fig4_sizes,
    (TEXTS,),
    quick_decides=False,
    designs=lambda settings: [design(settings)],
    conventions={"rounds": "not printed", "seeds": "not printed"},
    printed={"data": ("Alpaca, 52,000 instructions",), "model": ("Llama 2 of 3 billion parameters",)},
)
