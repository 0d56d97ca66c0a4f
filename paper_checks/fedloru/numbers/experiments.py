"""Sections 5, D to F: what the tables and figures of the experiments say, and runs at laptop scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from figures.experiments.effects import Effect, paired_effect
from figures.experiments.experiment import finals
from figures.fedloru.alignment import CROSSING, differences
from figures.fedloru.curves import costs_to_target, gain_changes
from figures.fedloru.designs import EVALUATIONS
from figures.fedloru.experiments import PAIRS, Contrast, changed_by_the_last, contrasts
from figures.fedloru.fig4 import gain
from paper_checks.claim import Claim, Evidence, claim
from paper_checks.context import Context
from paper_checks.fedloru.numbers.accuracies import TABLE_1, cells_won
from paper_checks.methods.experiments import UNDECIDED, Comparisons, StoredRuns, experiment, judge_runs, runs_of

WHY = (
    "it is about full runs of {networks} on {data}, {lacking}; runs at laptop scale, "
    "narrower networks on fewer samples of Fashion-MNIST, cannot settle it"
)
"""Appendix C.1 (iclr): ResNet-10 for Fashion-MNIST, ResNet-18 for CIFAR-10 and CIFAR-100."""
NOT_CARRIED = (
    "CIFAR is in no package registry that the toolkit fetches data from, and neither the number of rounds nor the "
    "learning rate that was chosen is printed"
)

CIFAR = "CIFAR-10 and CIFAR-100"
ALL_DATA = f"Fashion-MNIST, {CIFAR}"


def reason(data: str = CIFAR, networks: str = "") -> str:
    """Say why a table is undecided."""
    usual = "ResNet-10 and ResNet-18" if data == ALL_DATA else "ResNet-18"
    return WHY.format(networks=networks or usual, data=data, lacking=NOT_CARRIED)


def as_printed(number: int, pairs: Sequence[tuple[str, str]] = ()) -> Callable[[pd.DataFrame], Comparisons]:
    """Return the order of each pair of methods as a table prints it, setting by setting; default: all its pairs."""
    name = str(number)
    return lambda stored: map(_in_printed_order, contrasts(stored, name, pairs or PAIRS[name]))


def _in_printed_order(one: Contrast) -> tuple[str, Effect]:
    first, second = one.group.split(" minus ")
    order, effect = ("below", one.effect.reversed) if one.falls else ("above", one.effect)
    return f"{first} {order} {second}, {one.name}", effect


def by_the_last(number: int, pairs: Sequence[tuple[str, str]] = ()) -> Callable[[pd.DataFrame], str]:
    """Return the words on the findings that the last evaluation alone would change; none if there are none."""
    name = str(number)

    def told(stored: pd.DataFrame) -> str:
        changed = map(_in_printed_order, changed_by_the_last(stored, name, pairs or PAIRS[name]))
        each = "; ".join(f"{stated}: {effect.verdict}, {effect.text}" for stated, effect in changed)
        return f"by the last evaluation alone: {each}" if each else ""

    return told


def table(
    number: int,
    id: str,
    where: str,
    says: str,
    data: str = CIFAR,
    also: Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
    in_print: str = "",
    **rest: Any,
) -> Claim:
    """Return the claim of a table: the order of each pair of methods as printed; ``in_print`` says how it agrees."""
    compared, why = as_printed(number, pairs), "; ".join(filter(None, (reason(data), in_print)))
    last = by_the_last(number, pairs)
    return experiment(__name__, id, f"fedloru/tab-{number}", where, says, why, compared, also, remark=last, **rest)


TAB_1 = table(
    1,
    "fedloru-iclr/tab-1",
    "Table 1 (iclr; v2 has its caption)",
    "Top-1 accuracies of FedLoRA, FedHM and FedLoRU at three parameter ratios on Fashion-MNIST, CIFAR-10 and "
    "CIFAR-100, IID with 20 and 100 clients and non-IID with 20: FedLoRU is above the other two in "
    f"{cells_won(TABLE_1['iclr'])} cells.",
    ALL_DATA,
    ("fedloru-v2/tab-1",),
    [("FedLoRU", "FedLoRA"), ("FedLoRU", "FedHM")],
    counted="the order that the table prints in that cell of Fashion-MNIST",
    importance="result",
)
TAB_1_V1 = table(
    1,
    "fedloru-v1/tab-1",
    "Table 1 (v1)",
    "Top-1 accuracies of FedAvg, FedLoRA, FedHM and FedLoRU by number of parameters on CIFAR-10 and CIFAR-100, IID "
    "with 20 and 100 clients and non-IID with 20: FedLoRU surpasses the other low-rank methods in "
    f"{cells_won(TABLE_1['v1'])} cells.",
    CIFAR,
    counted="the order that iclr prints in that cell of Fashion-MNIST, of which v1 prints nothing",
    importance="result",
)


@claim(
    "fedloru-v2/tab-5",
    where="Table 5 (v2), Table A4 (iclr)",
    says="""Top-1 accuracies of FedAvg on Fashion-MNIST, CIFAR-10 and CIFAR-100: 91.81, 93.48 and 69.97 IID with 20
    clients, 90.19, 85.14 and 55.14 with 100, 80.03, 79.65 and 19.18 non-IID with 20.""",
    measure=runs_of("fedloru/tab-1"),
    kind="experiment",
    seen_in=("fedloru/tab-1",),
    expect=UNDECIDED,
    expect_reason=reason(ALL_DATA),
    also=("fedloru-iclr/tab-A4",),
)
def tab_5(runs: StoredRuns) -> Evidence:
    """Undecided: the scope lists FedAvg's accuracies in stored runs."""
    if runs.table is None:
        return judge_runs(runs, tab_5.expect_reason)
    ends = finals(runs.table, EVALUATIONS)
    means = ends[ends.method == "FedAvg"].groupby(["split", "clients"], sort=False).value.mean().reset_index()
    told = ", ".join(
        f"{one['split'].replace('NonIID', 'non-IID')} with {one['clients']} clients {100 * one['value']:.1f}"
        for one in means.to_dict("records")
    )
    return Evidence(
        None,
        f"FedAvg at laptop scale (fedloru/tab-1), on Fashion-MNIST, per cent, over {ends.seed.nunique()} seeds: {told}",
        cases=len(means),
        reason=tab_5.expect_reason,
    )


TAB_3 = table(
    3,
    "fedloru-v2/tab-3",
    "Table 3 (v2), Table 2 (iclr), Table 3 (v1)",
    r"Average accuracies of the local models on CIFAR-100: at both non-IID levels, $\psi = 0.1$ and $\psi = 0.5$, "
    "pFedLoRU shows a clear advantage in accuracy over pFedLoRA; despite less than half the number of parameters it "
    "consistently achieves higher accuracy.",
    "CIFAR-100",
    ("fedloru-iclr/tab-2", "fedloru-v1/tab-3"),
    in_print="the printed numbers agree with the sentence, with 4.63 of 11.22 million parameters too "
    "(fedloru-v2/txt-hm-tables)",
)
TAB_4 = experiment(  # not counted: printed in one order on CIFAR-100, in the other on CIFAR-10
    __name__,
    "fedloru-v2/tab-4",
    "fedloru/tab-4",
    "Table 4 (v2), Table 3 (iclr), Table 4 (v1)",
    "Clients of different ranks: FedHM outperforms mFedLoRU in both heterogeneous settings on CIFAR-10, mFedLoRU "
    "outperforms FedHM in both on CIFAR-100.",
    reason(),
    also=("fedloru-iclr/tab-3", "fedloru-v1/tab-4"),
)

TAB_6 = table(
    6,
    "fedloru-v2/tab-6",
    "Table 6 (v2), Table A5 (iclr)",
    "Accuracies on CIFAR-100, IID, half of the clients in a round, 20 to 400 clients: FedLoRU consistently outperforms "
    "FedAvg when the number of clients exceeds 100, FedLoRA outperforms it particularly when the number reaches 200 "
    "and above, and the gap continues to expand.",
    "CIFAR-100",
    ("fedloru-iclr/tab-A5",),
    [("FedLoRA", "FedAvg"), ("FedLoRU", "FedAvg")],
    counted="the order that the table prints at that number of clients",
    importance="result",
)
TAB_2_V1 = table(
    6,
    "fedloru-v1/tab-2",
    "Table 2 (v1), its accuracies (the column of ratios: fedloru-v2/txt-ratio)",
    "Accuracies of FedAvg and FedLoRU on CIFAR-100, IID, with 20 to 400 clients: FedLoRU is above from 100 clients on.",
    "CIFAR-100",
    pairs=[("FedLoRU", "FedAvg")],
    counted="the order that the table prints at that number of clients",
)


def gains_grow(table: pd.DataFrame) -> Comparisons:
    """Return whether the relative difference of the caption is larger with the most clients than with the fewest."""
    for method, more in gain_changes(table, relative_to_itself=True).items():
        yield (
            f"the relative difference of {method} to FedAvg is larger with the most clients than with the fewest",
            more,
        )


FIG_2 = experiment(
    __name__,
    "fedloru-v2/fig-2",
    "fedloru/fig-2",
    "Figure 2 (v2), Figure 3(a) (iclr)",
    r"The relative difference in test accuracy, $(X - \text{FedAvg})/X$ with X that of FedLoRU or of FedLoRA, by the "
    "number of clients: the gap continues to expand as K increases.",
    f"{reason('CIFAR-100')}; of the numbers that Table 6 prints, FedLoRU's difference grows at every step, FedLoRA's "
    "falls from 20 to 50 clients (fedloru-v2/txt-scal)",
    gains_grow,
    ("fedloru-iclr/fig-3a",),
    "a gap that is wider with the most clients",
    importance="result",
)
FIG_2B = experiment(
    __name__,
    "fedloru-iclr/fig-2b",
    "fedloru/fig-2",
    "Figure 2(b) (iclr, v1)",
    "Test accuracies of FedAvg and FedLoRU against the number of clients: FedLoRU is the better one for many clients.",
    reason("CIFAR-100"),
    as_printed(6, [("FedLoRU", "FedAvg")]),
    ("fedloru-v1/fig-2b",),
    "the order that v1 prints in Table 2, iclr in Table A5",
)
TAB_7 = table(
    7,
    "fedloru-v2/tab-7",
    "Table 7 (v2)",
    "With a tenth of the clients in a round, on CIFAR-100, IID, with 100 and with 200 clients, low-rank training "
    "methods consistently outperform full-rank training, and FedLoRU achieves the highest accuracy among them.",
    "CIFAR-100",
    pairs=[("FedHM", "FedAvg"), ("FedLoRA", "FedAvg"), *PAIRS["7"]],
    in_print="the printed numbers agree with the sentence (fedloru-v2/txt-part)",
)


def cheaper(table: pd.DataFrame) -> Comparisons:
    """Return the share of FedAvg's bytes that FedLoRU saves on the way to the target, by number of clients.

    A run that does not reach the target in its rounds may need any number of bytes, so its setting is not reached.
    """
    rounds = int(table["round"].max())
    for (data, clients), of in costs_to_target(table).groupby(["data", "clients"], sort=False):
        spent = {
            method: dict(zip(mine.seed.astype(int), mine.bytes, strict=True)) for method, mine in of.groupby("method")
        }
        saved = {seed: 1.0 - spent["FedLoRU"][seed] / spent["FedAvg"][seed] for seed in spent["FedAvg"]}
        less = replace(paired_effect(saved, dict.fromkeys(saved, 0.0)), unit="% of FedAvg's bytes")
        stated = f"{data}, K = {clients}: FedLoRU needs fewer bytes than FedAvg"
        if less.failed:
            reached = f"{less.pairs} of {less.pairs + less.failed} seeds reach the target"
            yield f"{stated} ({reached})", replace(less, failed=0, limit=f"{rounds} rounds")
        else:
            yield stated, less


FIG_3 = experiment(
    __name__,
    "fedloru-v2/fig-3",
    "fedloru/fig-3",
    "Figure 3 (v2), Figure 3(b) (iclr)",
    "Communication cost in gigabytes to reach a target test accuracy, on CIFAR-10 and CIFAR-100, for several numbers "
    "of clients: it is evident that FedLoRU consistently achieves significantly lower costs than FedAvg, FedHM and "
    "FedLoRA.",
    reason(),
    cheaper,
    also=("fedloru-iclr/fig-3b",),
    counted="it against FedAvg (FedHM and FedLoRA are not compared)",
)
FIG_5 = experiment(
    __name__,
    "fedloru-v2/fig-5",
    "fedloru/fig-5",
    "Figures 5 to 7 (v2), Figures A1 and A2 (iclr)",
    "Test accuracies by round, IID with 20 and 100 clients: the convergence speed of FedLoRU is similar to FedAvg's, "
    "which results in much lower communication overheads; the fluctuations are attributable to the cosine-annealing "
    "schedule of the learning rate.",
    reason(ALL_DATA),
    also=("fedloru-iclr/fig-A1",),
    importance="detail",
)


def aligned(table: pd.DataFrame) -> Comparisons:
    """Full rank ahead at the start, low rank ahead later."""
    for case, method, rounds, difference in differences(table):
        effect = replace(difference, unit="hundredths of the cosine")
        if rounds[0] > 1:
            other = "" if case.startswith("K = 20,") else f" (the paper names round {CROSSING} with 20 clients only)"
            yield f"{case}: {method} is better aligned than FedAvg in rounds {rounds[0]} to {rounds[-1]}{other}", effect
        else:
            yield f"{case}: FedAvg is better aligned than {method} in rounds 1 to {rounds[-1]}", effect.reversed


TXT_ALIGN = experiment(
    __name__,
    "fedloru-v2/txt-align",
    "fedloru/fig-8",
    "Appendix F.5 and Figure 8 (v2)",
    "On CIFAR-100, IID, the average cosine similarity between the global update and the local updates: with 20 clients "
    "(participation 0.5) it is initially higher for full-rank updates (FedAvg); as training progresses it decreases "
    f"for both; after approximately {CROSSING} rounds low-rank updates consistently achieve a higher one. With 100 "
    "clients (0.1) a similar trend: full-rank updates initially higher, surpassed by low-rank ones as training "
    "proceeds; the latter's slightly lower values early on likely reflect an initial adaptation.",
    reason("CIFAR-100", "a network and with a rank that F.5 does not name"),
    aligned,
    ("fedloru-v2/fig-8",),
    importance="result",
)


def fine_tuned(table: pd.DataFrame) -> Comparisons:
    """Compare FedLoRU's loss with FedLoRA's at the end."""
    lower = replace(gain(table), unit="hundredths of a nat")
    return [("FedLoRU's final loss on held-out answers is below FedLoRA's", lower)]


TXT_FT = experiment(
    __name__,
    "fedloru-v2/txt-ft",
    "fedloru/fig-4",
    "Section 5.2 and Figure 4 (v2), Section 4.2 and Figure 4 (iclr), Section 4.2 and Figure 3 (v1)",
    "Fine-tuning LLaMA2-3B on Alpaca (rank 8 in the caption of v1): by their train losses FedLoRA and FedLoRU converge "
    "at similar rates; by test loss FedLoRU consistently outperforms FedLoRA after the 25th round; with an "
    "accumulation every 15 rounds, that at round 30 shows no further improvement of the test loss.",
    "the statement is about runs of a language model with billions of parameters on Alpaca; laptop-scale runs of a "
    "model of 135 million on 999 instructions, cannot settle it",
    fine_tuned,
    ("fedloru-v2/fig-4", "fedloru-iclr/fig-4", "fedloru-v1/fig-3"),
    "the order of the test losses",
    importance="result",
)

TXT_FT_TRAIN = experiment(
    __name__,
    "fedloru-v2/txt-ft-train",
    "fedloru/fig-4",
    "Section 5.2 and Figure 4 (v2), Section 4.2 and Figure 4 (iclr), Section 4.2 and Figure 3 (v1)",
    "Fine-tuning a language model on Alpaca: by their train losses FedLoRA and FedLoRU converge at similar rates, "
    "with minimal differences.",
    "it is about the train loss in runs of a language model of billions of parameters on Alpaca, without a number "
    "for what counts as similar; runs at laptop scale, of a model of 135 million on 999 instructions, cannot settle "
    "it",
    importance="detail",
)


def measure_nothing(context: Context) -> None:
    """Return nothing: no run of the experiment is at hand."""


@claim(
    "fedloru-iclr/fig-1",
    where="Figure 1 (iclr, v1)",
    says=r"""Pictures of FedLoRU, and of pFedLoRU and mFedLoRU with all scales $\alpha$ equal to 1: who holds and sends
    which matrices. The caption: training is solely with rank-r matrices, and communication confined to them; clients
    add low-rank update matrices to their base model every $\tau$ rounds, which makes a model of higher rank.""",
    measure=measure_nothing,
    kind="algorithm",
    importance="detail",
    also=("fedloru-v1/fig-1",),
    expect=UNDECIDED,
    expect_reason="what the pictures show and the caption says about the algorithm is also in Algorithms 1 to 3, which "
    "we execute (alg-1, alg-2, alg-3), and fedloru-v2/claim-rank-growth is about the rank. The statement that only "
    "rank-r matrices are trained and sent does not agree with the parameter counts in v1 Table 1, which count stem, "
    "batch norms and head as trained (fedloru-iclr/txt-ratios)",
)
def fig_1(found: None) -> Evidence:
    """Undecided: see the reason on record."""
    return Evidence(None, "no case of its own", cases=0, reason=fig_1.expect_reason)
