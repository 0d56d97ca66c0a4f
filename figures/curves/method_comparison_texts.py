"""Comparison of the methods that train an adapter of a language model: MiniLM on rated sentences.

The panels are those of `training/methods`. At the scale `paper` the model is RoBERTa-Large, and
`figures.experiments.limited_time` makes the runs of any scale with several processes on one accelerator.
"""

from __future__ import annotations

import pandas as pd

from figures.curves.method_comparison import compare_methods, describe_methods, draw
from figures.curves.method_comparison_runs import LABELS, Comparison, MethodSizes, design_of
from figures.experiments.disclosures import NAMES
from figures.experiments.effects import Effect, by_seed, paired_effect
from figures.experiments.experiment import CHOICE, RUN, finals
from figures.experiments.rate_choice import describe_rates, describe_seeds
from figures.figure import Figure, Scale, Settings
from figures.language.designs import SIZES, TEXTS

ADAPTED = (
    *("fedlora", "ffa-lora", "rolora", "hetlora", "rbla", "lora-fair", "fedsa-lora", "fed-sb", "flexlora", "flora"),
    *("fedex-lora", "fedloru", "fedloru-finetune", "mfedloru", "frlora", "pfedloru"),
)
"""Methods whose clients train an adapter of frozen weights, in the order of the catalogue."""
WHOLE_WEIGHTS = ("pfedlora-1", "pfedlora-2")
"""Methods with an adapter, for personal models, that also train and send all weights."""
DIVIDED = {"rolora": ("steps",), "pfedloru": ("steps", "personal_steps")}
"""Options of local steps of the methods with two kinds of them in a round."""


def _sizes(
    scale: Scale,
    steps: int,
    clients: int,
    methods: tuple[str, ...],
    *,
    held_out: int,
    rounds: int,
    every: int,
    seeds: int,
    rates: tuple[float, ...],
    measured: int,
    **further: int,
) -> MethodSizes:
    """Return the sizes of a scale; model and texts are those of RoLoRA's experiments at that scale."""
    common = {
        **SIZES[scale].common,
        "steps": steps,
        "clients": clients,
        "partition": "by-source",
        "own_share": 0.2,
        "held_out": held_out,
        "layers": SIZES[scale].layers("P2"),
        **further,
    }
    return MethodSizes(
        methods,
        common,
        rank=4,
        tau=max(1, rounds // 4),
        rounds=rounds,
        every=every,
        seeds=seeds,
        rates=rates,
        measured=measured,
    )


SENTENCES = Comparison(
    TEXTS,
    {
        "quick": _sizes(
            "quick",
            2,
            4,
            ("fedlora", "rolora", "fed-sb", "flora", "pfedloru"),
            held_out=16,
            rounds=2,
            every=1,
            seeds=1,
            rates=(0.005, 0.02),
            measured=1,
        ),
        "laptop": _sizes(
            "laptop",
            4,
            8,
            ADAPTED,
            held_out=256,
            rounds=12,
            every=2,
            seeds=3,
            rates=(0.005, 0.01, 0.02, 0.05),
            measured=3,
            samples=5120,
            test_samples=1024,
        ),
        "paper": _sizes(
            "paper",
            20,
            20,
            ADAPTED,
            held_out=1000,
            rounds=80,
            every=8,
            seeds=3,
            rates=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
            measured=17,
        ),
    },
    DIVIDED,
)


def sentences_data(settings: Settings) -> pd.DataFrame:
    """Compute the table on rated sentences."""
    return compare_methods(SENTENCES, settings)


def effects_of(table: pd.DataFrame) -> dict[str, Effect]:
    """Return the final accuracy of each method with a global model minus FedLoRA's, paired by seed."""
    ends, reference = finals(table), LABELS["fedlora"]
    methods = [str(method) for method in ends.method.unique() if method != reference and not method.endswith("(p)")]
    theirs = by_seed(ends, method=reference)
    return {method: paired_effect(by_seed(ends, method=method), theirs) for method in methods}


def same_as_reference(table: pd.DataFrame) -> list[str]:
    """Return the methods that end exactly as FedLoRA does with every seed, so that there is nothing to compare."""
    return [method for method, effect in effects_of(table).items() if effect.mean == effect.half_width == 0.0]


def sentences_headline(table: pd.DataFrame) -> str:
    """Return the headline: how many methods that differ from FedLoRA end above or below it."""
    same = same_as_reference(table)
    found = [effect.above for method, effect in effects_of(table).items() if method not in same]
    above, below, undecided = (found.count(kind) for kind in ("supports", "contradicts", "undecided"))
    ends = f"{above} {'ends' if above == 1 else 'end'}" if above else "none ends"
    return (
        f"Of {len(found)} other methods {ends} above FedLoRA, {below} {'ends' if below == 1 else 'end'} below, "
        f"{undecided} {'is' if undecided == 1 else 'are'} undecided"
    )


def sentences_found(table: pd.DataFrame) -> str:
    """Return the finding on rated sentences."""
    same = same_as_reference(table)
    effects = "; ".join(f"{method} {effect.text}" for method, effect in effects_of(table).items() if method not in same)
    alike = f" {' and '.join(same)} {'ends' if len(same) == 1 else 'end'} as FedLoRA with every seed." if same else ""
    return (
        f"No paper states this. Found: {sentences_headline(table)}, by 95 % intervals of the difference paired over "
        f"the seeds (global models): {effects}.{alike} {describe_methods(table)}"
    )


def sentences_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that the table was computed at, and the devices."""
    runs, choice = table[table.stage == RUN], table[table.stage == CHOICE]
    last = int(runs["round"].max())
    sizes = next(of for of in SENTENCES.sizes.values() if of.rounds == last)
    of = sizes.federation
    trained = runs.device.drop_duplicates()
    measured = table[table.stage == "seconds"].device.drop_duplicates()
    samples = f"{of['samples']:,}" if "samples" in of else "all"
    test = f"{of['test_samples']:,}" if "test_samples" in of else "all"
    return (
        f"{NAMES.get(of['model'], of['model'].removeprefix('hf:'))} on {TEXTS}, {samples} training sentences, {test} "
        f"test sentences, at most {of['max_length']} tokens, longer ones cut; adapters of rank {sizes.rank} on query "
        f"and value of the last {of['layers'].count('query')} blocks; {of['clients']} clients of one source each, "
        f"{100 * of['own_share']:.0f} % of each client's sentences as its own test set; {of['steps']} local steps in "
        f"batches of {of['batch']} by AdamW, accumulation every {sizes.tau} rounds, {sizes.rounds} rounds, seeds "
        f"{', '.join(map(str, sorted(set(runs.seed))))}, learning rates from "
        f"{describe_rates(choice, sizes.rates)}, by runs as long as the others with {describe_seeds(choice)} "
        f"on {of['held_out']} training sentences held out. Device of the runs: "
        f"{' and '.join(trained)}; of the measured rounds: {' and '.join(measured)}."
    )


SENTENCES_COMPARED = Figure(
    id="training/methods-texts",
    title="Methods with an adapter on rated sentences: accuracy, bytes, error of the aggregation, time",
    caption=r"The panels of training/methods for a pretrained language model. Left, above: test accuracy by bytes in "
    r"both directions, all clients together, from the first round on; the number at the end of a line is in the list "
    r"on the right, with the final accuracy. Solid: the global model on the test set; dashed: personal models (p), "
    r"each on its client's own test set. Mean over the seeds. Below: error of the aggregation, the distance of the "
    r"model after a round from the mean of the models that the clients reach without the others, relative to the "
    r"distance of this mean from the model before; of methods whose clients do the same in a round without the "
    r"others. Dotted: limit below which we call it rounding. Right: processor time of the fastest measured round, "
    r"relative to FedLoRA's (on an accelerator: wall time). Every client takes the same number of local steps in a "
    r"round; RoLoRA divides them between its two halves, and pFedLoRU between the common and the personal "
    r"factors. Every method has the same "
    r"sentences, clients and initial weights for a seed, and a learning rate of its own, chosen by the accuracy on "
    r"samples held out for validation (personal models: on the clients' own held-out samples) with another seed and "
    r"without test sentences. All other options are the defaults, and all clients have the same rank, so RBLA does "
    r"the same as FedLoRA. The head of the classifier is also trained and averaged. Methods that train all weights "
    r"are left out.",
    data=sentences_data,
    draw=draw,
    headline=sentences_headline,
    found=sentences_found,
    sizes=sentences_sizes,
    datasets=(TEXTS,),
    quick_decides=False,
    designs=lambda settings: [design_of(settings, SENTENCES)],
    in_paper=False,
)
