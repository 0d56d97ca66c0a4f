"""Sections 5.1 and 5.2, Appendix D, Tables A1 and A2: deviations, data sets, networks, cycles and versions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pandas as pd
from torch import nn

from figures.experiments.experiment import finals
from figures.fedloru.designs import EVALUATIONS
from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.numbers.accuracies import within_deviation
from paper_checks.fedloru.tables import TABLE_1_ICLR
from paper_checks.methods.experiments import UNDECIDED, StoredRuns, judge_runs, runs_of
from paper_checks.methods.printed import Order, Rounded, judge_order
from paper_checks.methods.relations import Relation, judge_relations
from workloads.data.datasets import find, load
from workloads.image_networks.resnet import resnet_shapes

DEVIATIONS: Mapping[str, str] = {"IID": "0.382", "non-IID": "0.969"}
"""Largest standard deviations that Section 5.2 states of Table 1, whose accuracies are in per cent."""
IN_SHARES = (
    "The accuracies are shares of 1, as those of Table 7 are: every standard deviation of the tables is below 0.5 "
    "percentage points."
)
IN_POINTS = "Every standard deviation of the tables is below 0.005 percentage points."


@claim(
    "fedloru-v2/txt-std-a",
    where="Section 5.1 (v2), compared with Section 5.2",
    says="""Each setting is run 3 times, and the numbers in the tables are averages with very low standard deviation
    ($< 0.005$).""",
    measure=lambda context: DEVIATIONS,
    mutants=[{"bound": 0.001}],
    readings=(
        Reading("shares of one", IN_SHARES, why="Table 7 has accuracies as shares of 1, with the same bound (F.4)."),
        Reading("percentage points", IN_POINTS, {"unit": 1}, "Tables 1 and 3 to 6 have accuracies in per cent."),
    ),
    control=Form(
        "As shares of 1 the standard deviations of the IID settings of Table 1 are below 0.005.", {"splits": ("IID",)}
    ),
    correction=Form(
        """As shares of 1 the standard deviations of the IID settings of Table 1 are below 0.005 (at most 0.00382),
        those of the non-IID settings are not (up to 0.00969).""",
        {"splits": ("IID",)},
        mutants=({"splits": ("non-IID",)}, {"splits": ("IID",), "bound": 0.0038}),
    ),
    kind="number",
    importance="detail",
    because="Section 5.2 states standard deviations of Table 1 up to 0.382 (IID) and 0.969 (non-IID) points.",
    best={"bound": Best(0.00383, "Section 5.2, for every rounding: 0.382 points at most in the IID settings")},
    expect=("corrected", "proof"),
    intended=Intended(
        "shares of one",
        "Sec. 5.1 “(< 0.005)”, F.4 gives accuracies as 0.5382; Sec. 5.2 has “a maximum of 0.969” for non-IID",
    ),
    print="inconsistent",
)
def txt_std_a(
    stated: Mapping[str, str], bound: float = 0.005, unit: int = 100, splits: tuple[str, ...] = tuple(DEVIATIONS)
) -> Evidence:
    """The bound against the largest standard deviations that the same paper states."""
    orders = {
        split: Order(
            Rounded.exact(Fraction(str(bound)) * unit),
            Rounded.printed(stated[split]),
            {"split": split, "bound": str(bound), "unit": unit, "deviation": stated[split]},
        )
        for split in splits
    }
    return judge_order(orders, "largest standard deviations stated of Table 1, in percentage points")


@claim(
    "fedloru-v2/txt-std-b",
    where="Section 5.2 (v2)",
    says="""The standard deviations of Table 1 are at most $0.382$ in the IID settings and $0.969$ in the non-IID ones,
    and do not impact the overall comparison of the algorithms.""",
    measure=runs_of("fedloru/tab-1"),
    kind="experiment",
    importance="detail",
    seen_in=("fedloru/tab-1",),
    expect=UNDECIDED,
    expect_reason="the runs behind the averages are not printed; in Table 1 of iclr "
    f"{within_deviation(TABLE_1_ICLR, ('FedLoRA', 'FedHM'))}",
)
def txt_std_b(runs: StoredRuns) -> Evidence:
    """Undecided: the scope lists the deviations of stored runs."""
    if runs.table is None:
        return judge_runs(runs, txt_std_b.expect_reason)
    ends = finals(runs.table, EVALUATIONS)
    keys = ["split", "clients", "size", "method"]
    largest = (100 * ends.groupby(keys).value.std()).groupby("split").max()
    told = ", ".join(f"{split} {value:.3f}" for split, value in largest.items())
    scope = (
        f"largest standard deviations at laptop scale (fedloru/tab-1), points over {ends.seed.nunique()} seeds: {told}"
    )
    return Evidence(None, scope, cases=len(largest), reason=txt_std_b.expect_reason)


PRINTED_SETS: Mapping[str, tuple[int, int, int, int, int]] = {
    "Fashion-MNIST": (10, 60_000, 10_000, 6000, 1000),
    "CIFAR-10": (10, 50_000, 10_000, 5000, 1000),
    "CIFAR-100": (100, 50_000, 10_000, 500, 100),
}
"""Classes, training and validation images, in all and per class, as Table A1 prints them."""


def counted_sets(context: Context) -> dict[str, tuple[int, ...]]:
    """Count the same numbers in the genuine files of those data sets that are here."""
    found = {}
    for name, title in (("fashion-mnist", "Fashion-MNIST"), ("cifar-10", "CIFAR-10"), ("cifar-100", "CIFAR-100")):
        if find(name) is None:
            continue
        splits = [load(name, split=split).labels for split in ("train", "test")]
        least = [int(pd.Series(labels).value_counts().min()) for labels in splits]
        found[title] = (len(set(splits[0].tolist())), *(len(labels) for labels in splits), *least)
    return found


@claim(
    "fedloru-iclr/tab-A1",
    where="Table A1 (iclr)",
    says="""Fashion-MNIST has 10 classes, 60,000 training and 10,000 validation images, 6,000 and 1,000 of each class;
    CIFAR-10 10 classes, 50,000 and 10,000, 5,000 and 1,000; CIFAR-100 100 classes, 50,000 and 10,000, 500 and 100;
    Alpaca 50,000 and 2,000 samples.""",
    measure=counted_sets,
    mutants=[{"classes": 20}, {"of_a_class": 2.0}, {"alpaca": 50_000}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def tab_a1(
    found: Mapping[str, tuple[int, ...]], classes: int = 0, of_a_class: float = 1.0, alpaca: int = 52_000
) -> Evidence:
    """Images of a class times classes; and all numbers of Fashion-MNIST, and of CIFAR where it is, by genuine files."""
    promises = [Relation("Alpaca, both against the text above", Fraction(50_000 + 2_000), Fraction(alpaca))]
    for title, (printed, *totals, train, validation) in PRINTED_SETS.items():
        number = classes or printed
        for name, total, each in (("training", totals[0], train), ("validation", totals[1], validation)):
            promises.append(Relation(f"{name} images", number * each * Fraction(of_a_class), Fraction(total)))
        counted = found.get(title, PRINTED_SETS[title])
        promises += [
            Relation("the genuine files", Fraction(a), Fraction(b))
            for a, b in zip(counted, PRINTED_SETS[title], strict=True)
        ]
    here = ", ".join(found) or "none of them"
    return judge_relations(
        promises,
        f"classes times images of a class; against the files of {here}; the validation images are the test set (v2, "
        "Section 5.1, prints 10,000 samples each for validation and for test, which leaves fewer for training, and for "
        "Alpaca 48,000, 2,000 and 2,000). Alpaca is not here: its two numbers add up to the 52,000 that the text above "
        "the table names, where its file has 52,002 samples",
        whole=True,
    )


HELD_OUT = 10_000
"""Images for validation, and as many for the test, by Section 5.1 of v2."""
ALPACA = {"training": 48_000, "validation": 2000, "test": 2000}
"""Samples of Alpaca by Section 5.1 of v2."""
ALPACA_IN_D_1 = {"all": 52_000, "training": 50_000, "test": 2000}
"""Samples of Alpaca by Appendix D.1 of v2 and C.1 of iclr."""


@claim(
    "fedloru-v2/txt-splits",
    where="Section 5.1 (v2), compared with Appendix D.1 (v2) and, for the images, Table A1 (iclr)",
    says="""Of the image data sets 10,000 samples each are for validation and for test. Alpaca is partitioned into
    training, validation and test sets of 48,000, 2,000 and 2,000 samples (Section 5.1); its 52,000 samples are divided
    into 50,000 for training and 2,000 for testing (Appendix D.1).""",
    measure=lambda context: ALPACA_IN_D_1,
    correction=Form(
        """Validation samples are counted among those for training in Appendix D.1 and in Table A1. So Alpaca has 50,000
        = 48,000 + 2,000. Of the 60,000 and 50,000 training images of Table A1, 50,000 (Fashion-MNIST) and 40,000
        (CIFAR) remain, and its 10,000 validation images are the test set of Section 5.1.""",
        {"counted_as_training": True, "images": (50_000, 40_000, 40_000)},
        ({"counted_as_training": False}, {"images": (60_000, 50_000, 50_000)}, {"training": 50_000}),
        asks="neither",
    ),
    kind="setting",
    importance="detail",
    because="Section 5.1 uses 48,000 samples of Alpaca for training, but Appendix D.1 uses 50,000.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "5.1: “training, validation, and test sets consisting of 48,000, 2,000, and 2,000 samples”; D.1: “50,000 "
        "instances for training”, which leaves out validation",
    ),
    print="inconsistent",
)
def txt_splits(
    later: Mapping[str, int],
    counted_as_training: bool = False,
    images: tuple[int, ...] = tuple(train for _, train, *_ in PRINTED_SETS.values()),
    training: int = 48_000,
) -> Evidence:
    """Section 5.1's sizes agree with the other places, with validation in the training samples or not.

    Args:
        later: samples of Alpaca in Appendix D.1.
        counted_as_training: whether the training samples of Appendix D.1 include those for validation.
        images: training images without those for validation and for the test; as printed those of Table A1.
        training: samples of Alpaca for training in Section 5.1.
    """
    ours = {**ALPACA, "training": training}
    case = {**{f"{name}, Section 5.1": size for name, size in ours.items()}, "training, D.1": later["training"]}
    in_training = ours["training"] + (ours["validation"] if counted_as_training else 0)
    promises = [
        Relation("Alpaca, samples in all", Fraction(sum(ours.values())), Fraction(later["all"])),
        Relation("Alpaca, samples for training", Fraction(in_training), Fraction(later["training"]), case=case),
        Relation("Alpaca, samples for the test", Fraction(ours["test"]), Fraction(later["test"])),
    ]
    for left, (title, (_, train, other, _, _)) in zip(images, PRINTED_SETS.items(), strict=True):
        promises.append(Relation(f"{title}, images in all", Fraction(left + 2 * HELD_OUT), Fraction(train + other)))
    return judge_relations(
        promises,
        "sizes of the splits as printed; iclr has no third set, and Tables 5 and 6 of v2 repeat its accuracies",
        whole=True,
    )


GRID_OF_CYCLES = (20, 30, 40, 50, 60, 70, 80)
"""Accumulation cycles of the grid search, by Appendix D.2."""


@claim(
    "fedloru-v2/txt-cycle",
    where="Section 5.2, on fine-tuning, compared with Section 5.1 and Appendix D.2 (v2); Sections 4.2 and C.2 (iclr)",
    says="""The accumulation cycle is determined through a grid search over 20, 30, 40, 50, 60, 70 and 80. In the
    fine-tuning experiment the results are accumulated every 15 rounds, with an additional accumulation at round 30.""",
    measure=lambda context: GRID_OF_CYCLES,
    correction=Form(
        """The grid is that of training on images. Fine-tuning has a cycle of 15 rounds, so the accumulation at round 30
        is the second one. With a cycle from the grid, it is not.""",
        {"for_images": True},
        ({"for_images": False}, {"cycle": 20}, {"cycle": 30}),
        asks="neither",
    ),
    kind="setting",
    importance="detail",
    because="The fine-tuning experiment accumulates every 15 rounds, but 15 is not in the grid 20, 30, ..., 80.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "D.2: “determined through a grid search over the values {20, 30, 40, 50, 60, 70, 80}”; 5.2: “In this "
        "fine-tuning experiment, we accumulate the results every 15 communication rounds”, with “an additional "
        "accumulation at round 30”, which no cycle of the grid has as a second one",
    ),
    print="inconsistent",
)
def txt_cycle(grid: tuple[int, ...], for_images: bool = False, cycle: int = 15) -> Evidence:
    """The cycle of fine-tuning is one of the grid, or gives a second accumulation at round 30."""
    if for_images:
        promises = [
            Relation("accumulations up to round 30", Fraction(30, cycle), Fraction(2)),
            Relation("cycles of the grid with two", Fraction(sum(2 * one == 30 for one in grid)), Fraction(0)),
        ]
    else:
        case = {"cycle": cycle, "grid": " ".join(map(str, grid))}
        among = Fraction(sum(one == cycle for one in grid))
        promises = [Relation("cycles of the grid that are the one used", among, Fraction(1), case=case)]
    return judge_relations(promises, "the cycles that are printed", whole=True)


@claim(
    "fedloru-v2/txt-alpha-ratio",
    where="Appendix D.2 (v2), C.2 (iclr), last sentence",
    says=r"""For client models of different ranks $\alpha_A$ and $\alpha_B$ satisfy $\alpha_A/r_A = \alpha_A/r_B =
    1/2$.""",
    measure=lambda context: tuple((r_A, r_B) for r_A in (1, 4, 8, 16) for r_B in (1, 2, 8)),
    correction=Form(
        r"$\alpha_A/r_A = \alpha_B/r_B = 1/2$.", {"second": "B"}, ({"second": "A"}, {"ratio": 0.25}), asks="neither"
    ),
    kind="setting",
    importance="detail",
    because=r"The second quotient has $\alpha_A$, not $\alpha_B$. As printed it requires $r_A = r_B$ and does not "
    r"determine $\alpha_B$.",
    expect=("holds", "proof"),
    intended=Intended("as corrected", "D.2: “we set αA and αB to satisfy”, so the second quotient is the one of αB"),
    print="misprint",
)
def txt_alpha_ratio(ranks: tuple[tuple[int, int], ...], second: str = "A", ratio: float = 0.5) -> Evidence:
    r"""Both quotients are right for the scales $\alpha_A = r_A/2$ and $\alpha_B = r_B/2$, at several ranks."""
    promises = []
    for r_A, r_B in ranks:
        scales = {"A": Fraction(r_A, 2), "B": Fraction(r_B, 2)}
        case = {"r_A": r_A, "r_B": r_B, "alpha_A": str(scales["A"])} if r_A != r_B else None
        promises.append(Relation("first quotient", scales["A"] / r_A, Fraction(ratio)))
        promises.append(Relation("second quotient", scales[second] / r_B, Fraction(ratio), case=case))
    return judge_relations(promises, "ranks 1 to 16, scales of half the rank", whole=True)


SERIES: Mapping[str, tuple[str, ...]] = {
    "PyTorch": (*(f"1.{minor}" for minor in range(14)), *(f"2.{minor}" for minor in range(10))),
    "CUDA": (*(f"11.{minor}" for minor in range(9)), *(f"12.{minor}" for minor in range(10))),
}
"""Published release series from PyTorch 1.0 to its last one before v2 of November 2025, and those of CUDA 11 and 12."""


@claim(
    "fedloru-v2/txt-pytorch",
    where="Appendix D (v2); v1 and iclr name no version",
    says="The experiments use PyTorch 11.4 version and 4 TITAN Xp GPUs.",
    measure=lambda context: SERIES,
    correction=Form(
        "PyTorch, in a version that is not printed. 11.4 is a version number of CUDA, with which PyTorch is built.",
        {"of": "CUDA"},
        ({"of": "PyTorch"}, {"stated": "11.9"}),
        asks="neither",
    ),
    kind="setting",
    importance="detail",
    because="PyTorch 11.4 does not exist. The latest version when the paper appeared was 2.9.",
    expect=("holds", "proof"),
    intended=Intended("as corrected", "App. D: “We use PyTorch 11.4 version”; iclr has “based on PyTorch” alone"),
    print="misprint",
)
def txt_pytorch(series: Mapping[str, tuple[str, ...]], of: str = "PyTorch", stated: str = "11.4") -> Evidence:
    """A release series has this number."""
    major, minor = (int(part) for part in stated.split("."))
    case = {"major": major, "minor": minor, "last major": int(series["PyTorch"][-1].split(".")[0])}
    found = Fraction(sum(one == stated for one in series[of]))
    return judge_relations(
        [Relation("release series of that number", found, Fraction(1), case=case)],
        "release series of PyTorch 1.0 to 2.9 and of CUDA 11.0 to 12.9; the GPUs are not judged",
        whole=True,
    )


STAGES = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2)}
"""Blocks of two convolutions in the stages, as Table A2 prints them."""
CHANNELS = {10: 1, 18: 3}
"""ResNet-10 is for Fashion-MNIST, in grey, ResNet-18 for CIFAR."""
LEFT_OPEN = ("strides", "pooling", "shortcuts")
"""Parts of a residual network that the table does not print."""
COUNTED = {10: 490, 18: 1117}
"""Parameters in units of 10,000 that Appendix C.1 states for 10 classes."""


def _parameters(network: nn.Module, projections: bool = True) -> int:
    """Return the number of parameters, with the 1 x 1 convolutions of the shortcuts or without."""
    kept = [part for name, part in network.named_parameters() if projections or "shortcut" not in name]
    return sum(part.numel() for part in kept)


def _determined(networks: Mapping[int, nn.Module], left_open: tuple[str, ...]) -> list[Relation]:
    """Return whether networks that fit the table agree: maps of layer4 for images of 32 x 32, and parameters."""
    promises = []
    halved = Fraction(32, 2**3)  # once in each of layer2 to layer4
    for other, choice in ((Fraction(32), "strides"), (halved / 2, "pooling")):
        if choice in left_open:
            promises.append(Relation(f"the table determines the maps of layer4 ({choice})", halved, other))
    for depth, network in networks.items() if "shortcuts" in left_open else ():
        with_them, without = (Fraction(_parameters(network, projections)) for projections in (True, False))
        case = {"depth": depth, "classes": 10, "channels": CHANNELS[depth]}
        name = "the table determines the number of parameters (shortcuts)"
        promises.append(Relation(name, with_them, without, case=case))
    return promises


@claim(
    "fedloru-iclr/tab-A2",
    where="Table A2 (iclr) alone, with the last layer from the text below it",
    says="""ResNet-10 and ResNet-18: a convolution of 3 x 3 with 64 channels, stride 1 and padding 1; four layers of 1
    or 2 blocks of two convolutions of 3 x 3 with 64, 128, 256 and 512 channels; one fully connected layer at the end
    (text).""",
    measure=lambda context: {depth: resnet_shapes(depth, 10, channels=CHANNELS[depth]) for depth in STAGES},
    readings=(
        LITERAL,
        Reading(
            "layers as in He et al.",
            """With the strides and shortcuts of He et al. the layers make networks of 10 and 18 layers with weights.
            With 1 x 1 convolutions in the shortcuts that change the number of channels, one of three kinds there, they
            have the 4.90M and 11.17M parameters that Appendix C.1 states below the table.""",
            {"left_open": (), "counted": True},
            "Section 4.1 cites He et al. for both networks. Not printed are the strides of layer2 to layer4 (He et al. "
            "have 2), the shortcuts, and whether there is pooling after conv1, which differs from theirs.",
            ({"width": 32.0}, {"named": 1}, {"more": 1}, {"left_open": ("shortcuts",)}, {"left_open": ("strides",)}),
        ),
    ),
    kind="setting",
    importance="detail",
    because="The table does not give strides, pooling and shortcuts (4.90M or 4.73M parameters). The text below it "
    "says 4.90M.",
    expect=("holds", "proof"),
    intended=Intended(
        "layers as in He et al.",
        "“ResNet-10 and ResNet-18 (He et al., 2016)” (Section 4.1): strides and shortcuts as there; the counts 4.90M "
        "and 11.17M below the table confirm it",
    ),
    print="unstated",
)
def tab_a2(
    networks: Mapping[int, nn.Module],
    width: float = 64.0,
    named: int = 0,
    more: int = 0,
    left_open: tuple[str, ...] = LEFT_OPEN,
    counted: bool = False,
) -> Evidence:
    """Networks that fit the table; layers as built here, those with weights, but for shortcuts, number 10 and 18."""
    promises = _determined(networks, left_open)
    for depth, blocks in STAGES.items():
        kernels = [
            part for part in networks[depth].modules() if isinstance(part, nn.Conv2d) and part.kernel_size == (3, 3)
        ]
        channels = [width, *(width * 2**stage for stage, count in enumerate(blocks) for _ in range(2 * count + more))]
        found = [kernel.out_channels for kernel in kernels]
        promises += [
            Relation("channels of each convolution", Fraction(a), Fraction(b))
            for a, b in zip(found, channels, strict=False)
        ]
        promises.append(Relation("number of convolutions", Fraction(len(found)), Fraction(len(channels))))
        promises.append(Relation("layers with weights", Fraction(len(found) + 1), Fraction(depth + named)))
        promises += [
            Relation("stride and padding of the first", Fraction(a), Fraction(1))
            for a in (*kernels[0].stride, *kernels[0].padding)
        ]
        if counted:
            rounded = round(Fraction(_parameters(networks[depth]), 10_000))
            promises.append(Relation("parameters of Appendix C.1", Fraction(rounded), Fraction(COUNTED[depth])))
    return judge_relations(
        promises, "both networks, layer by layer; 10 classes, maps for images of 32 x 32", whole=True
    )
