"""Section 6 and Appendix B: the settings of the experiments on language models, and whether they can be met."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np

from figures.rolora.printed import GLUE, TABLE_4, TABLE_5, TABLE_7, TABLE_9, TABLE_11, TESTS, LayerSet
from paper_checks.claim import Evidence, Intended, claim
from paper_checks.context import Context
from paper_checks.rolora.table_1 import CLIENTS
from workloads.architectures import LLAMA_2_7B, ROBERTA_LARGE
from workloads.partition import Even

SUB_TASKS: Mapping[str, int] = {
    "BoolQ": 9427,
    "PIQA": 16_113,
    "SIQA": 33_410,
    "HellaSwag": 39_905,
    "WinoGrande": 63_238,
    "ARC-e": 2251,
    "ARC-c": 1119,
    "OBQA": 4957,
}
"""Training samples of the sub-tasks in the merged set of 170,420 that is published for them."""
RATES = ("5e-4", "1e-3", "2e-3", "5e-3", "1e-2", "2e-2", "5e-2", "1e-1")
NOT_PRINTED = "the optimiser, the scale alpha, drop-out, the law of A"


@claim(
    "rolora/exp-6",
    where="Section 6, its second sentence (all clients), implementation and configurations",
    says="""All methods are implemented on FederatedScope-LLM; NVIDIA GeForce RTX 4090 or A40 are used. All clients
    take part in each round. The learning rate is chosen from 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2 and 1e-1; for
    each data set the best performance on the test set is taken, and the average over multiple seeds; other
    hyper-parameters are in Table 4; in all tasks the three methods are compared under the same number of communication
    rounds.""",
    measure=lambda context: RATES,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended(
        "literal", "“we obtain the best performance on test set” (6): optimiser, scale and chosen rates are not printed"
    ),
    print="unstated",
    expect_reason=f"the experiment cannot be repeated from the paper, which leaves open {NOT_PRINTED} (the framework "
    f"is named, its version and configuration are not), how heads are trained, the rate that was chosen for each "
    "method, and for GLUE the number of seeds",
)
def exp_6(rates: tuple[str, ...]) -> Evidence:
    """Undecided: the scope gives what the text fixes."""
    values = [Fraction(rate) for rate in rates]
    steps = sorted({float(after / before) for before, after in pairwise(values)})
    rounds = {schedule.rounds for schedule in TABLE_4.values()} | {TABLE_9.rounds, TABLE_11.rounds}
    odd = [count for count in rounds if count % 2]
    fewer = {count: [Fraction(3 * one.rounds, count) for one in TABLE_4.values()] for count in CLIENTS[1:]}
    told = "; ".join(
        f"{count}: {', '.join(f'{float(one):g}' for one in dict.fromkeys(of))}" for count, of in fewer.items()
    )
    scope = (
        f"{len(values)} rates, each {' or '.join(f'{step:g}' for step in steps)} times the one before; printed rounds "
        f"{', '.join(map(str, sorted(rounds)))}, {'some odd' if odd else 'all even'}, of which RoLoRA spends half on A "
        "and half on B; those of Table 4 are for 3 clients and fewer with more, if epochs are batches in proportion "
        "(clients: "
        f"rounds, {told}; rolora/table-4); the best performance is taken on the test set, which favours methods whose "
        f"accuracy scatters "
        "more, and what the validation set of Section 6.1 decides is not said"
    )
    return Evidence(None, scope, cases=len(values), reason=exp_6.expect_reason)


TRAINING: Mapping[str, int] = {"SST-2": 67_349, "QNLI": 104_743, "MNLI": 392_702, "QQP": 363_846, "RTE": 2490}
"""Training samples of the data sets as published."""


@claim(
    "rolora/exp-glue",
    where="Section 6.1 and Appendix B.1, Tables 4 and 5",
    says="""RoBERTa-Large (355M) on SST-2, QNLI, MNLI, QQP and RTE, the original validation set as test set and a part
    of the training set as validation set; 3, 20 or 50 clients, with no overlap of the training samples each client can
    access; 500 rounds (RTE 200) with 3 clients, 20 local epochs, batches of 64 (SST-2) or 32; LoRA on the layers of
    Tables 5 and 7.""",
    measure=lambda context: TRAINING,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended(
        "literal",
        "“split a part of the training set as the validation set” (6.1): its size and the optimiser are not printed",
    ),
    print="unstated",
    expect_reason=f"the experiment cannot be repeated from the paper, which leaves open {NOT_PRINTED}, how the head "
    "is trained, the size of the validation set",
)
def exp_glue(training: Mapping[str, int]) -> Evidence:
    """Undecided; what the text fixes is consistent, or not, in the scope."""
    told, short = [], []
    for name in GLUE:
        most = max(CLIENTS)
        told.append(f"{name} {training[name] // most:,}")
        # A batch for each of the clients; the rest may become the validation set.
        short.append(f"{name} {floor(1000 * (1 - Fraction(TABLE_4[name].batch * most, training[name]))) / 10:.1f} %")
    sets: list[LayerSet] = [where for name in GLUE for where in (TABLE_5[name], *(of[name] for of in TABLE_7.values()))]
    last = max(where.last for where in sets)
    scope = (
        f"{ROBERTA_LARGE.parameters:,} parameters, {ROBERTA_LARGE.depth} layers, of which the last with LoRA is number "
        f"{last}, counted from 0; of the training sets as published each of 50 clients has {', '.join(told)} samples; "
        f"each has a full batch if the validation set takes at most {', '.join(short)}"
    )
    return Evidence(None, scope, cases=len(GLUE), reason=exp_glue.expect_reason)


def merged_parts(context: Context) -> tuple[int, tuple[int, int]]:
    """Return samples of the merged training set, and the largest and smallest part of 50 clients as divided here."""
    merged = sum(SUB_TASKS.values())
    sizes = Even().parts(np.zeros(merged, dtype=np.int64), 50, 0).sizes
    return merged, (int(sizes.max()), int(sizes.min()))


@claim(
    "rolora/exp-commonsense",
    where="Section 6.2 and Appendix B.2.4, Table 9",
    says="""Llama-2-7B; following the setting in (Hu et al., 2021), the training sets of 8 sub-tasks are merged and
    distributed evenly among 50 clients; each sub-task has its own test set; 10 rounds of 30 local epochs with batches
    of one; LoRA of rank 8 (Table 2) or 2 (Table 10) on W_k, W_v, W_q, W_o of layers 26 to 31.""",
    measure=merged_parts,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended(
        "literal", "“Following the setting in (Hu et al., 2021)” (6.2): that paper has none of these tasks"
    ),
    print="unstated",
    expect_reason=f"the experiment cannot be repeated from the paper, which leaves open {NOT_PRINTED}, the training "
    "sets (Hu et al., 2021, is the paper on LoRA, which has none of these tasks), the prompts, how answers are read, "
    "and the rate that was chosen",
)
def exp_commonsense(found: tuple[int, tuple[int, int]]) -> Evidence:
    """Undecided; the scope gives what the text fixes."""
    merged, (largest, smallest) = found
    steps = TABLE_9.rounds * TABLE_9.epochs
    scope = (
        f"{len(TESTS)} test sets; for {len(SUB_TASKS)} sub-tasks with these names a merged set of {merged:,} samples "
        f"is published, which the paper does not name: {smallest:,} or {largest:,} a client; in batches of one, 30 "
        f"local epochs in each of 10 rounds are {steps * smallest:,} steps or more of a client, 30 local batches are "
        f"{steps}, "
        f"{100 * steps / smallest:.1f} % of its samples; {LLAMA_2_7B.depth} layers, of which the last with LoRA is "
        f"number {TABLE_9.layers.last}, counted from 0"
    )
    return Evidence(None, scope, cases=1, reason=exp_commonsense.expect_reason)


@claim(
    "rolora/exp-generation",
    where="Appendix B.2.5, Table 11",
    says="""Llama-2-7B; CodeAlpaca evaluated on HumanEval and Alpaca evaluated on MMLU; 50 clients; five seeds;
    settings of Table 11.""",
    measure=lambda context: TABLE_11,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended("literal", "“We show the setup in Table 11” (B.2.5): rank and optimiser are not in it"),
    print="unstated",
    expect_reason="the experiment cannot be repeated from the paper, which leaves open the rank of LoRA, "
    f"{NOT_PRINTED}, the prompts, and how completions of HumanEval are drawn",
)
def exp_generation(setup: object) -> Evidence:
    """Undecided: the scope gives what the text fixes."""
    each = LLAMA_2_7B.adapters(TABLE_11.layers.matrices, 1, TABLE_11.layers.layers)
    steps = TABLE_11.rounds * TABLE_11.epochs
    scope = (
        f"{each:,} LoRA parameters for each rank; if epochs are batches, {steps:,} samples a client, "
        f"{50 * steps:,} of 50 clients, where Alpaca has 52,002"
    )
    return Evidence(None, scope, cases=1, reason=exp_generation.expect_reason)
