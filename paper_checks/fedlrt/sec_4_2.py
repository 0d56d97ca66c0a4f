"""Section 4.2 and Appendix B: the settings of the experiments on images.

240/C local iterations are a whole number for 1, 2, 4, 8 and 16 clients, not for 32, nor for every number up to 16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
import torch
from torch import nn

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations, same
from workloads.data.augmentation import Preparation
from workloads.image_networks.alexnet import alexnet_shapes
from workloads.image_networks.resnet import resnet_shapes
from workloads.image_networks.vgg import vgg16_shapes
from workloads.image_networks.vit import vit_shapes

BUDGET, ROUNDS = 240, 200

CLIENTS = (1, 2, 4, 8, 16, 32)


def split_batches(clients: Sequence[int], budget: int, within: float) -> list[Relation]:
    """Return whether each number of clients shares the batches of a round, up to a share of them."""
    return [
        Relation(
            "batches of a round, all clients",
            abs(floor(Fraction(budget, C)) * C - budget),
            within * budget,
            at_most=True,
        )
        for C in clients
    ]


@dataclass(frozen=True)
class Heads:
    """Parameters of the networks, and of their matrices; sides of the transformer's inner ones.

    Attributes:
        parameters: All of a network.
        factorised: Parameters of the matrices of a network's head, or of the transformer's layers.
        matrices: Parameters of all weights of a layer, convolutions as matrices.
        sides: Sides of the transformer's matrices.
    """

    parameters: Mapping[str, int]
    factorised: Mapping[str, int]
    matrices: Mapping[str, int]
    sides: frozenset[int]


def count_networks(context: Context) -> Heads:
    """Count the parameters of the networks themselves."""
    networks: dict[str, tuple[nn.Module, tuple[str, ...]]] = {
        "ResNet18": (resnet_shapes(18, 10), ("head",)),
        "AlexNet": (alexnet_shapes(10), ("head.0", "head.2")),
        "VGG16": (vgg16_shapes(10), ("head.0", "head.2")),
        "ViT": (vit_shapes(100), ("layers.",)),
    }
    matrices = {
        name: [p for n, p in network.named_parameters() if p.ndim == 2 and n.startswith(of)]
        for name, (network, of) in networks.items()
    }
    return Heads(
        {name: sum(p.numel() for p in network.parameters()) for name, (network, _) in networks.items()},
        {name: sum(p.numel() for p in of) for name, of in matrices.items()},
        {name: sum(p.numel() for p in network.parameters() if p.ndim > 1) for name, (network, _) in networks.items()},
        frozenset(side for p in matrices["ViT"] for side in p.shape),
    )


@claim(
    "fedlrt/exp-resnet18",
    where="Section 4.2 and Table 2, with Figure 5",
    says=r"""ResNet18 on CIFAR10, FeDLRT on its fully connected head, $\vartheta = \tau\|\tilde S^*\|$ with $\tau =
    0.01$; the data are partitioned equally; a local iteration is one mini-batch update and $s_*$ the maximum number of
    local iterations; $s_* = 240/C$ for C = 1, ..., 16 or 32, so in each training run the global network iterates
    through the same amount of data; 10 random initialisations, each warm-started with 5 iterations with one client; 200
    aggregation rounds, batch size 128, SGD with learning rate 1e-3 to 5e-4 by cosine annealing, momentum 0.9, weight
    decay 1e-3.""",
    measure=count_networks,
    mutants=[{"budget": 250}, {"within": 0.06}],
    readings=(
        Reading(
            "240/C rounded down",
            "With 1, 2, 4, 8, 16 and 32 clients and 240/C local iterations, rounded down, every run processes 240 "
            "batches a round, with a deviation of at most 7 %: 240/32 is 7.5, so a maximum of 7.5 iterations means 7, "
            "and 32 clients then process 224 batches. All other quotients are whole numbers.",
            why="A local iteration is a mini-batch, and $s_*$ the maximum of their number; Section 4.1 has these "
            "numbers of clients, Figure 5 has 1, ..., 16 or 32. The paper leaves open the starting rank, what happens "
            "to the statistics of batch norm and to the momentum when clients are averaged, whether the rate is "
            "annealed by rounds or iterations, and the validation set.",
        ),
    ),
    kind="setting",
    importance="detail",
    because="The starting rank, the averaging of batch norm and momentum, the annealing (rounds or steps) and the "
    "validation set are not given.",
    expect=("holds", "search"),
    intended=Intended(
        "240/C rounded down",
        "“$s_*$ is the maximum number of local iterations” and “We set $s_* = 240/C$”: a whole "
        "number, rounded down at C = 32.",
    ),
    print="unstated",
)
def exp_resnet18(found: Heads, budget: int = BUDGET, within: float = 0.07) -> Evidence:
    """Local iterations that share the batches; the scope gives the head's share of the network."""
    head, whole = found.factorised["ResNet18"], found.parameters["ResNet18"]
    saved = [1 - Fraction(3 * 522 * r + 5 * r * r + 8 * r * r, 4 * head) for r in (1, 2)]
    return judge_relations(
        split_batches(CLIENTS, budget, within),
        f"numbers of clients one by one; the head is {head:,} of {whole:,} parameters, 512 x 10, so the "
        f"communication of the compressed layer is {100 * float(saved[0]):.1f} % below FedLin's at rank 1 with full "
        f"correction, and {100 * float(saved[1]):.1f} % at rank 2: the stated saving of up to 90 % asks for rank 1",
    )


@claim(
    "fedlrt/exp-other-vision",
    where="Appendix B.3 and Table 2, with Figures 6 to 8",
    says=r"""AlexNet on CIFAR10, its fully connected head low-rank, 100 local iterations, $CTs_*$ random batches seen in
    all; VGG16 on CIFAR10; a vision transformer on CIFAR100: 6 attention layers with 2 heads each followed by a ResNet
    block and a drop-out layer, all with weight matrices of dimension 512 x 512, patches of size 8, embedding dimension
    512; 240/C local iterations for VGG16 and the transformer; 200 aggregation rounds; batch sizes 128, 128, 256;
    learning rates by cosine annealing from 1e-2, 1e-2, 3e-4 to 1e-5, 5e-4, 1e-5, momenta 0.0, 0.1, n.a., weight decays
    1e-4, 1e-4, 1e-2; truncation $\tau = 0.01$; stochastic gradients for AlexNet and VGG16, Adam with PyTorch's standard
    parameters for the transformer. FeDLRT is compared with FedLin for AlexNet, with variance correction (simplified, in
    Figure 6), with FedAvg without and with FedLin with the simplified correction for VGG16, and, variance corrected,
    with FedLin for the transformer.""",
    measure=count_networks,
    mutants=[{"clients": CLIENTS}, {"budget": 250}, {"dimension": 256}],
    readings=(
        Reading(
            "what is named fits together",
            "The transformer has matrices of 512 x 512, and $s_* = 240/C$ is a whole number for 1, 2, 4, 8 and 16 "
            "clients (7.5 if 32 are among them, as in Section 4.2).",
            why="A setting is judged by whether what it defines exists. The paper leaves open VGG16's low-rank layers "
            "and its head, the numbers of clients, the ranks at the start, the transformer's correction, which may be "
            "either (AlexNet's is the simplified one by Figure 6 alone), its ResNet block and its rate of drop-out, "
            "the split of the data, the validation sets, the numbers of runs, and whether the rates are annealed by "
            "rounds or iterations.",
        ),
    ),
    kind="setting",
    importance="detail",
    because="The paper does not give VGG16's low-rank layers and head, the starting ranks or, in the text, the numbers "
    "of clients.",
    expect=("holds", "search"),
    intended=Intended(
        "what is named fits together",
        "“the fully connected head of the network is replaced by a low-rank counterpart” for "
        "AlexNet; VGG16's layers and ranks are not named.",
    ),
    print="unstated",
)
def exp_other_vision(
    found: Heads, clients: tuple[int, ...] = CLIENTS[:5], budget: int = BUDGET, dimension: float = 512.0
) -> Evidence:
    """The transformer's sides and local iterations; the scope gives how much of each network may be factorised."""
    promises = [Relation("side of the transformer's matrices", float(side), dimension) for side in found.sides]
    shares = ", ".join(
        f"{name} {100 * found.factorised[name] / found.parameters[name]:.1f} %" for name in ("AlexNet", "VGG16", "ViT")
    )
    return judge_relations(
        [*promises, *split_batches(clients, budget, 0.0)],
        "the toolkit's networks for images of 32 x 32; share of the parameters in the two hidden layers of the heads, "
        f"or in the transformer's layers: {shares}; if all its layers are low-rank, "
        f"{100 * found.matrices['VGG16'] / found.parameters['VGG16']:.1f} % of VGG16",
    )


@dataclass(frozen=True)
class Prepared:
    """Images as they are and as prepared, of three channels."""

    images: torch.Tensor
    trained: Mapping[tuple[int, bool], torch.Tensor]
    mirrored: torch.Tensor
    tested: torch.Tensor


MEANS = {
    "CIFAR10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "CIFAR100": ((0.5071, 0.4867, 0.4408), (0.2673, 0.2564, 0.2762)),
}


def prepare_images(context: Context) -> dict[str, Prepared]:
    """Draw forty images and prepare them by the toolkit with the printed numbers."""
    rng = context.rng("images")
    images = torch.from_numpy(rng.random((40, 3, 32, 32)))
    found = {}
    for name, (mean, deviation) in MEANS.items():
        made = {}
        for padding, flip in ((0, True), (4, True), (0, False)):
            preparation = Preparation(padding, flip, mean, deviation)
            offsets = preparation.draw(np.random.default_rng(context.integer_seed("flips")), 40)
            made[padding, flip] = preparation(images, offsets)
            if (padding, flip) == (0, True):
                mirrored, tested = offsets.flip, preparation(images)
        found[name] = Prepared(images, made, mirrored, tested)
    return found


@relations(
    "fedlrt/exp-data",
    where="Appendix B.2",
    says="""CIFAR10: training images are flipped horizontally at random, then normalised with mean [0.4914, 0.4822,
    0.4465] and standard deviation [0.2470, 0.2435, 0.2616]; test images are only normalised. CIFAR100: the same with
    mean [0.5071, 0.4867, 0.4408] and standard deviation [0.2673, 0.2564, 0.2762].""",
    measure=prepare_images,
    mutants=[{"shift": 1e-3}, {"padding": 4}, {"flip": False}],
    kind="setting",
    importance="detail",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“We use standard data augmentation techniques” (Appendix B.2): a random flip has probability 1/2, as usual.",
    ),
)
def exp_data(found: Mapping[str, Prepared], shift: float = 0.0, padding: int = 0, flip: bool = True) -> Relations:
    """The toolkit's images agree with the formula, channel by channel."""
    for name, one in found.items():
        mean, deviation = (torch.tensor(of, dtype=torch.float64)[:, None, None] for of in MEANS[name])
        turned = torch.where(one.mirrored[:, None, None, None], one.images.flip(-1), one.images)
        yield from [
            same(
                "the toolkit's training images are flipped and normalised so",
                one.trained[padding, flip],
                (turned - mean - shift) / deviation,
            ),
            same("its test images are normalised so", one.tested, (one.images - mean - shift) / deviation),
        ]
    return (
        "40 drawn images with colours from 0 to 1, each flipped with probability 1/2, the usual one, as none is "
        "printed; CIFAR100's means of the second and third channel, as usually given from the images, are 0.4865 and "
        "0.4409"
    )


@claim(
    "fedlrt/exp-compute",
    where="Appendix B.1",
    says="""The convex tests were computed on one GTX 1080 Ti, the vision benchmarks on V100 (16 GB) and P100 (16 GB),
    prototypes on an RTX 4090.""",
    measure=lambda context: None,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    expect_reason="it says which machines were used; nothing that can be computed follows from it",
)
def exp_compute(found: None) -> Evidence:
    """Undecided."""
    return Evidence(None, "none", cases=1, reason=exp_compute.expect_reason)
