"""Parameter counts, recomputed from the architectures: Appendix C of iclr and D of v2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from figures.language.sizes import MODELS_OF_FEDLORU
from paper_checks import claim as claims
from paper_checks.claim import Best, Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.fedloru.tables import TABLE_1_ICLR, TABLE_1_V1
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from workloads.architectures import ATTENTION, Transformer

HUNDRED = Rounded.exact(100)


@dataclass(frozen=True)
class Convolution:
    """Weights of one convolution: a kernel of k x k from c to c' channels; whether it is a shortcut's projection."""

    kernel: int
    inputs: int
    outputs: int
    shortcut: bool

    @property
    def weights(self) -> int:
        """Return the number of weights."""
        return self.kernel**2 * self.inputs * self.outputs


@dataclass(frozen=True)
class Network:
    """Parts of a residual network.

    Attributes:
        depth: 10 or 18.
        classes: number of logits.
        channels: channels of its images.
        convolutions: all of layer1 to layer4, which the papers factorise.
        stem: parameters of the first convolution.
        norms: parameters of all batch norms.
        head: parameters of the linear layer.
    """

    depth: int
    classes: int
    channels: int
    convolutions: tuple[Convolution, ...]
    stem: int
    norms: int
    head: int

    @property
    def rest(self) -> int:
        """Return the parameters outside the convolutions of layer1 to layer4."""
        return self.stem + self.norms + self.head

    @property
    def total(self) -> int:
        """Return the number of all parameters."""
        return self.rest + sum(layer.weights for layer in self.convolutions)

    @property
    def name(self) -> str:
        """Return depth, classes and image channels."""
        return f"ResNet-{self.depth}, {self.classes} classes, {self.channels} image channel{'s'[: self.channels - 1]}"


def count_network(depth: int, classes: int, channels: int) -> Network:
    """Count the parameters of a network as it is trained here, from its modules, without allocating it."""
    from torch import nn

    from workloads.image_networks.resnet import resnet_shapes

    model = resnet_shapes(depth, classes, channels=channels)
    convolutions, sizes = [], {"stem": 0, "norms": 0, "head": 0}
    for name, module in model.named_modules():
        size = sum(parameter.numel() for parameter in module.parameters(recurse=False))
        if isinstance(module, nn.Conv2d) and name.startswith("layer"):
            shape = module.kernel_size[0], module.in_channels, module.out_channels
            convolutions.append(Convolution(*shape, shortcut="shortcut" in name))
        elif isinstance(module, nn.Conv2d):
            sizes["stem"] += size
        else:
            sizes["norms" if isinstance(module, nn.BatchNorm2d) else "head"] += size
    return Network(depth, classes, channels, tuple(convolutions), **sizes)


# The networks of Table 1: Fashion-MNIST (grey levels), CIFAR-10 and CIFAR-100.
TRAINED = {"Fashion-MNIST": (10, 10, 1), "CIFAR-10": (18, 10, 3), "CIFAR-100": (18, 100, 3)}


@claim(
    "fedloru-iclr/txt-params",
    where="Appendix C.1 (iclr), Table A2; the counts of ResNet-18 also in v1 Table 1",
    says="""ResNet-10 with 10 classes has 4.90M parameters, ResNet-18 with 10 classes 11.17M, ResNet-18 with 100
    classes 11.22M.""",
    measure=lambda context: [count_network(*shape) for shape in ((10, 10, 3), *TRAINED.values())],
    mutants=[{"million": 2**20}, {"shortcuts": False}, {"norms": False}, {"stem_kernel": 7}],
    kind="number",
    expect=("holds", "proof"),
)
def txt_params(
    networks: Sequence[Network], million: float = 1e6, shortcuts: bool = True, norms: bool = True, stem_kernel: int = 3
) -> Evidence:
    """Table A2 gives these parameters, with a projection if the shape changes and batch norm after each convolution."""
    stated = {(10, 10): "4.90", (18, 10): "11.17", (18, 100): "11.22"}
    cells = {}
    for network in networks:
        count = network.total + network.stem * (stem_kernel**2 - 9) // 9
        added = (layer for layer in network.convolutions if layer.shortcut)
        count -= 0 if shortcuts else sum(layer.weights + 2 * layer.outputs for layer in added)
        count -= 0 if norms else network.norms
        printed = Rounded.printed(stated[network.depth, network.classes])
        cells[network.name] = Cell(printed, Rounded.exact(Fraction(count) / Fraction(million)), {})
    counts = ", ".join(f"{network.name}: {network.total:,}" for network in networks)
    scope = (
        f"modules counted, with a batch norm after every convolution, and with 1 x 1 convolutions in the shortcuts "
        f"that change the number of channels, which Table A2 does not print: {counts}"
    )
    return judge_printed(cells, scope)


Rank = int | Fraction

# Parameters of a factorised k x k convolution from c to d channels at rank r. A (k^2 c) x d matrix has the same count
# as the first; the last is the third at rank r k.
FACTORISATIONS: dict[str, Callable[[int, int, int, Rank], Rank]] = {
    "k x k, then 1 x 1": lambda k, c, d, r: r * (k * k * c + d),
    "1 x 1, then k x k": lambda k, c, d, r: r * (c + k * k * d),
    "(k c) x (k d) matrix": lambda k, c, d, r: r * k * (c + d),
    "(k c) x (k d) matrix, rank r k": lambda k, c, d, r: r * k * k * (c + d),
}
SHORTCUTS = ("factorised", "dense", "frozen")
LIMITS = ("none", "factorised only where that saves", "rank at most the channels")


@dataclass(frozen=True)
class Reading:
    """How the convolutions of layer1 to layer4 are factorised.

    Attributes:
        factorisation: one of ``FACTORISATIONS``.
        shortcuts: whether the 1 x 1 projections are factorised too, trained as they are, or not trained.
        limit: what happens in layers narrower than the rank.
    """

    factorisation: str
    shortcuts: str
    limit: str

    def trained(self, network: Network, rank: Rank) -> Rank:
        """Return the trained parameters of layer1 to layer4."""
        count: Rank = 0
        for layer in network.convolutions:
            if layer.shortcut and self.shortcuts != "factorised":
                count += layer.weights if self.shortcuts == "dense" else 0
                continue
            used = min(rank, layer.inputs, layer.outputs) if self.limit == LIMITS[2] else rank
            factors = FACTORISATIONS[self.factorisation](layer.kernel, layer.inputs, layer.outputs, used)
            count += min(factors, layer.weights) if self.limit == LIMITS[1] else factors
        return count


READINGS = [Reading(*choice) for choice in product(FACTORISATIONS, SHORTCUTS, LIMITS)]
ROUNDINGS: dict[str, tuple[Rank, Rank]] = {"nearest": (Fraction(1, 2), Fraction(1, 2)), "up": (1, 0), "any": (1, 1)}


def gap(cell: Cell) -> Fraction:
    """Return the distance between printed and recomputed; 0 where they meet."""
    return max(cell.printed.low - cell.recomputed.high, cell.recomputed.low - cell.printed.high, Fraction(0))


def ratio_cells(
    networks: Mapping[str, Network],
    reading: Reading,
    ranks: Sequence[Rank],
    counted: str,
    rounding: str,
    changed: Mapping[str, str],
    counts: bool,
) -> dict[str, Cell]:
    """Return every printed ratio with the ratio of the nearest rank; with v1's absolute counts if asked for.

    Args:
        networks: by data set.
        reading: the factorisation.
        ranks: admitted ranks.
        counted: whether stem, norms and head count as trained: ``all``, only ``factors``, or ``any`` part of them.
        rounding: how the per cents are rounded.
        changed: ratios to use instead of printed ones.
        counts: whether the numbers of parameters in v1 Table 1 are included.
    """
    cells = {}
    trained = {dataset: [reading.trained(network, rank) for rank in ranks] for dataset, network in networks.items()}
    for case in (*TABLE_1_ICLR[::9], *TABLE_1_ICLR[1::9], *TABLE_1_ICLR[2::9], *(TABLE_1_V1 if counts else ())):
        network = networks[case.dataset]
        name = f"{case.dataset}, {changed.get(case.size, case.size)}"
        text = name.split(", ")[1]
        if text.endswith("%"):
            below, above = ROUNDINGS[rounding]
            value = Fraction(text.removesuffix("%"))
            printed, unit = Rounded(value - below, value + above), Fraction(100, network.total)
        else:
            printed, unit = Rounded.printed(text.removesuffix("M")), Fraction(1, 10**6)
        options = [
            Rounded(
                (low + network.rest if counted == "all" else low) * unit,
                (low if counted == "factors" else low + network.rest) * unit,
            )
            for low in trained[case.dataset]
        ]
        nearest = min(options, key=lambda option: gap(Cell(printed, option, {})))
        inputs = {
            "blocks per stage": {10: 1, 18: 2}[network.depth],
            "classes": network.classes,
            "channels": network.channels,
            "ratio": text,
            "ranks": " ".join(map(str, ranks)),
        }
        cells[name] = Cell(printed, nearest, inputs)
    return cells


def count_misses(cells: Mapping[str, Cell]) -> tuple[int, Fraction]:
    """Return how many cells do not follow, and by how much at most."""
    gaps = [gap(cell) for cell in cells.values()]
    return sum(distance > 0 for distance in gaps), max(gaps)


def count_trained(context: Context) -> dict[str, Network]:
    """Count the parameters of the networks of Table 1, by data set."""
    return {dataset: count_network(*shape) for dataset, shape in TRAINED.items()}


@claim(
    "fedloru-iclr/txt-ratios",
    where="Table 1 and Appendix C.2 (iclr), D.2 (v2)",
    says="""The shares of trained parameters in Table 1, 44 %, 33 %, 22 % for Fashion-MNIST and 41 %, 31 %, 21 % for
    CIFAR, are those of low-rank configurations with the ranks of the factorised modules, the convolutions of layer1 to
    layer4, set to 16, 32, 64 and 128.""",
    measure=count_trained,
    readings=(
        claims.Reading(
            "one rank in all layers",
            "Each ratio is that of one rank among 16, 32, 64 and 128 in all convolutions of layer1 to layer4, for some "
            "way to factorise and count them.",
            why="Appendix C.2 speaks of r = 128 as the largest rank, Table 1 has one ratio for each model, and the "
            "numbers of parameters in v1 Table 1 are those of one rank in all layers.",
        ),
    ),
    control=Form(
        """If rank 96 is allowed, all nine ratios belong to ranks 128, 96 and 64 (a k x k convolution to r channels,
        then 1 x 1, shortcuts included), if only the factors are counted and the per cents are rounded up.""",
        {"extra": 96.0, "factorisation": "k x k, then 1 x 1", "counted": "factors", "rounding": "up"},
    ),
    correction=Form(
        """The ratios belong to ranks 128, 96 and 64 in all layers, for a k x k convolution to r channels followed
        by 1 x 1, shortcuts included, with stem, batch norms and head counted: 43 % (printed 44 %), 33 %, 22 % for
        Fashion-MNIST and 41 %, 31 %, 21 % for CIFAR. The numbers of parameters in v1 Table 1 (4.59M, 3.44M, 2.30M;
        4.63M, 3.49M, 2.35M) follow from the same count. Rank 96 is not among the ranks named.""",
        {
            "extra": 96.0,
            "factorisation": "k x k, then 1 x 1",
            "counted": "all",
            "rounding": "nearest",
            "largest_fmnist": 43,
            "counts": True,
        },
        mutants=(
            {"extra": 0.0},
            {"extra": 80.0},
            {"factorisation": "1 x 1, then k x k"},
            {"factorisation": "(k c) x (k d) matrix"},
            {"shortcuts": "dense"},
            {"limit": LIMITS[1]},
            {"counted": "factors"},
            {"largest_fmnist": 44},
        ),
    ),
    uses=("fedloru-iclr/txt-params",),
    kind="number",
    because="None of the named ranks, used in all layers, gives 31 %, however one counts the parameters.",
    expect=("corrected", "proof"),
    intended=Intended(
        "one rank in all layers",
        "C.2: “ranks … 16, 32, 64, and 128”; the caption of v2 Table 1 says of one ratio for a model “and it implies "
        "the rank”; 44/33/22 % and 41/31/21 % are ranks 128, 96 and 64 by count",
    ),
    print="inconsistent",
)
def txt_ratios(
    networks: Mapping[str, Network],
    extra: float = 0.0,
    factorisation: str = "",
    shortcuts: str = "",
    limit: str = "",
    counted: str = "any",
    rounding: str = "any",
    largest_fmnist: int = 44,
    counts: bool = False,
) -> Evidence:
    """The ranks and the layers give all ratios of Table 1; a named factorisation determines how they are counted.

    Args:
        networks: by data set.
        extra: a rank admitted in addition to the printed ones; 0 for none.
        factorisation: empty for any.
        shortcuts: empty for any, or factorised where the factorisation is named.
        limit: empty for any, or none where the factorisation is named.
        counted: which of the other parameters count as trained.
        rounding: how per cents are rounded.
        largest_fmnist: the first ratio of Fashion-MNIST.
        counts: whether v1's numbers of parameters must follow as well.
    """
    ranks: list[Rank] = [16, 32, 64, 128, *([Fraction(extra)] if extra else [])]
    named = Reading(factorisation, shortcuts or "factorised", limit or "none")
    readings = [named] if factorisation else READINGS
    changed = {"44%": f"{largest_fmnist}%"}
    found = {reading: ratio_cells(networks, reading, ranks, counted, rounding, changed, counts) for reading in readings}
    best = min(found, key=lambda reading: count_misses(found[reading]))
    which = f"{best.factorisation}; shortcuts {best.shortcuts}; limit {best.limit}"
    scope = (
        f"{len(readings)} reading{'s' if len(readings) > 1 else ''} (factorisation, shortcuts, limit in narrow "
        f"layers), other parameters counted: {counted}, rounding: {rounding}; nearest reading: {which}; one rank in "
        "all layers"
    )
    if not extra:
        scope += (
            "; not judged: ranks that differ from layer to layer, of which 128, 16, 64 and 128 in layer1 to layer4 (k "
            "x k, then 1 x 1, everything counted) give 33 %, 31 % and 31 % as well, but 3.45M and 3.50M parameters "
            "where v1 has 3.44M and 3.49M (and, factors alone and rounded up, all nine ratios of iclr with 128 or 64 "
            "in all layers for the others)"
        )
    evidence = judge_printed(found[best], scope)
    if evidence.ok:
        return evidence
    # One ratio that no reading gives makes a witness.
    missed = {name: min(gap(cells[name]) for cells in found.values()) for name in found[best]}
    worst = max(missed, key=lambda name: missed[name])
    if not missed[worst]:
        return replace(evidence, ok=None, reason="no reading gives all ratios, but each is given by some reading")
    return replace(evidence, witness={"cell": worst, **found[best][worst].inputs})


PRINTED_PERSONAL = {"pFedLoRA": "11.22", "pFedLoRU": "4.63"}
"""Millions of parameters in Table 3 of v2; both variants of pFedLoRA have the same."""
LARGEST_RANK = 128
OF_PERSONAL = "k x k, then 1 x 1"
"""The factorisation that gives the numbers of parameters of v1 Table 1."""


@claim(
    "fedloru-v2/txt-personal-params",
    where="Table 3 (v2), Table 2 (iclr), Table 3 (v1), column of parameters, on CIFAR-100",
    says="""The number of parameters of both variants of pFedLoRA is 11.22M, and that of pFedLoRU 4.63M: pFedLoRU has
    less than half of it.""",
    measure=lambda context: count_network(*TRAINED["CIFAR-100"]),
    readings=(
        claims.Reading(
            "what a client trains",
            """The numbers are those of what a client trains: W, L and U in pFedLoRA, A, B, L and U in pFedLoRU, with
            personal factors L and U of rank 1 or more.""",
            why="Algorithms 2 and 4 train L and U as well, and elsewhere the tables count trained parameters.",
        ),
        claims.Reading(
            "what is shared",
            """The numbers are those of what a client shares with the server: W in pFedLoRA, A and B of rank 128 with
            stem, batch norms and head in pFedLoRU.""",
            {"personal": 0},
            "C.2: the communication involves only A and B. Both numbers are those of FedAvg and FedLoRU in Table 1.",
            ({"personal": 1}, {"rank": 64}, {"factorisation": "1 x 1, then k x k"}, {"share": 0.4}),
        ),
    ),
    best={"share": Best(0.413, "counted: 4,633,764 of 11,220,132")},
    uses=("fedloru-iclr/txt-params",),
    kind="number",
    importance="detail",
    because="The table does not count L and U. With them the numbers are 4.67M and 11.26M even at rank 1.",
    expect=("holds", "proof"),
    intended=Intended(
        "what is shared",
        "C.2: “the communication between the server and clients involves only the low-rank matrices”; the column says "
        "“#params”, and no rank of L and U is printed",
    ),
    print="unstated",
)
def txt_personal_params(
    network: Network, personal: int = 1, rank: int = LARGEST_RANK, factorisation: str = OF_PERSONAL, share: float = 0.5
) -> Evidence:
    """The two numbers are right for personal factors of some rank, or without them, and so is their quotient."""
    layers = Reading(factorisation, "factorised", "none")
    own = Fraction(layers.trained(network, personal))
    counts = {"pFedLoRA": network.total + own, "pFedLoRU": network.rest + layers.trained(network, rank) + own}
    inputs = {
        "blocks per stage": 2,
        "classes": network.classes,
        "channels": network.channels,
        "rank": rank,
        "personal rank": personal,
    }
    cells = {
        name: Cell(
            Rounded.printed(stated), Rounded.exact(Fraction(counts[name], 10**6)), inputs if name == "pFedLoRU" else {}
        )
        for name, stated in PRINTED_PERSONAL.items()
    }
    part = Fraction(counts["pFedLoRU"]) / counts["pFedLoRA"]
    allowed = Rounded(Fraction(0), Fraction(str(share)))
    cells["share of pFedLoRU"] = Cell(allowed, Rounded.exact(part), {})
    step = Fraction(layers.trained(network, 1))
    most = (network.total - 2 * (network.rest + layers.trained(network, rank))) / step
    return judge_printed(
        cells,
        f"ResNet-18 with 100 classes, a k x k convolution to r channels followed by 1 x 1; a rank of L and U adds "
        f"{int(step):,}, so pFedLoRU trains less than half as many numbers up to rank {int(most)} of L and U, and "
        "more from there on",
    )


THREE_BILLION = ("OpenLLaMA-3B", "Llama-3.2-3B", "Sheared-LLaMA-2.7B")
OVER = ("the model with adapters", "the model without")


@claim(
    "fedloru-v2/txt-peft",
    where="Appendix D.2 (v2), C.2 (iclr)",
    says="""With adapters on q_proj, k_proj, v_proj and o_proj of LLaMA2-3B, 0.124 % of the parameters are trainable at
    rank 8 and 0.248 % at rank 16.""",
    measure=lambda context: MODELS_OF_FEDLORU,
    correction=Form(
        """Both shares fit LLaMA-2-7B (6,738,415,616 parameters), counted over the model with its adapters: 8,388,608 of
        6,746,804,224 (0.124 %) and 16,777,216 of 6,755,192,832 (0.248 %). That the second is 0.248 %, not 0.249 %,
        shows that the adapters are counted in the denominator.""",
        {"names": ("LLaMA-2-7B",), "over": OVER[:1]},
        mutants=({"names": THREE_BILLION}, {"over": OVER[1:]}, {"rank": 4.0}),
        asks="neither",
    ),
    kind="number",
    because="LLaMA-2 has no 3-billion version. Three other models of that size have larger shares; LLaMA-2-7B has the "
    "printed ones.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "D.2: “The percentage of trainable parameters is 0.124% for rank 8 and 0.248% for rank 16”, of “LLaMA2-3B”",
    ),
    print="inconsistent",
)
def txt_peft(
    models: Mapping[str, Transformer],
    names: tuple[str, ...] = THREE_BILLION,
    over: tuple[str, ...] = OVER,
    rank: float = 8.0,
) -> Evidence:
    """One of the published models of this size, with either denominator, gives the printed shares."""
    found = {}
    for name, denominator in product(names, over):
        model, cells = models[name], {}
        for stated, used in (("0.124", Fraction(rank)), ("0.248", 2 * Fraction(rank))):
            adapters = used * model.adapters(ATTENTION, rank=1)
            whole = model.parameters + (adapters if denominator == OVER[0] else 0)
            cells[f"{name}, rank {float(used):g}"] = Cell(
                Rounded.printed(stated), HUNDRED * Rounded.exact(adapters / whole), {}
            )
        found[name, denominator] = cells
    best = min(found, key=lambda option: count_misses(found[option]))
    sizes = ", ".join(f"{name} {models[name].parameters:,}" for name in names)
    scope = f"parameters: {sizes}; share over {' or '.join(over)}"
    if names == THREE_BILLION:
        scope += "; Llama 2, which the papers cite, starts at 7 billion parameters: published models of the "
        scope += "architecture with 2.5 to 3.5 billion are taken"
    evidence = judge_printed(found[best], scope)
    configurations = {name: " ".join(str(int(value)) for value in vars(models[name]).values()) for name in names}
    return replace(evidence, witness=None if evidence.ok else {"0.124": 8, "0.248": 16, **configurations})
