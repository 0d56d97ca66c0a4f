"""FedLoRU's experiments on images as data: what is printed, what the paper leaves out, and what each scale runs.

For a given seed, all methods of a setting use the same samples, clients and initial weights. Ranks are proportional to
the width of the network, as in the paper: 128, 96 and 64 for a stem of 64 channels, which give the printed shares of
parameters. FedHM's rank has the number of parameters nearest to FedLoRU's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from algorithms.adapter import factorised_names
from algorithms.kernels import CONVOLUTIONS, matrix_shape
from figures.experiments.experiment import Design, Line
from figures.fedloru.scales import ALIGNED, SIZES, WIDTH, Network, Sizes
from figures.figure import DataChoice, Settings
from workloads.data.datasets import REGISTRY, find
from workloads.image_networks.models import LAYERS, ModelSettings, model
from workloads.printed_settings import client_ranks

EVALUATIONS = 5
"""Number of last evaluations whose mean is the final accuracy, as printed for non-IID clients; here for all."""


@dataclass(frozen=True)
class Sourced:
    """A setting that the paper leaves out, or that differs between its versions.

    Attributes:
        name: Name of the setting.
        value: Value at the paper's scale.
        source: Where it is from.
    """

    name: str
    value: str
    source: str


LEFT_OUT: tuple[Sourced, ...] = (
    Sourced("rounds", "400", "the command of the authors' released code"),
    Sourced("tau", "50", "the command of the authors' released code; the printed grid is 20 to 80"),
    Sourced("restart", "A random, B zero", "Appendix D.2; the released code keeps both, so that they count twice"),
    Sourced("scale alpha", "1", "convention: v1 has 16 without saying of what, iclr and v2 have none"),
    Sourced("start", "W_0 as initialised, A normal, B zero", "Algorithm 1; the released code starts from W_0 = 0"),
    Sourced(
        "ranks",
        "128, 96, 64, at most the smaller side of a layer",
        "counted: the printed shares need them; 96 is not among the printed ranks",
    ),
    Sourced("FedHM's ranks", "nearest number of parameters", "Section 5: matched by the number of parameters"),
    Sourced("weight decay", "0.0001", "default of the released code"),
    Sourced("gradient clipping", "none", "convention; the released code clips at 0.1"),
    Sourced(
        "augmentation", "crops with 4 pixels around, mirror images", "convention; the released code has further ones"
    ),
    Sourced("E_per, E_global", "5, 5", "convention: the local epochs of the other experiments"),
    Sourced("rank of L and U", "16", "convention: the text says that it is below that of A and B"),
    Sourced("setting 2 of Table 4", "19 clients", "Table 2; its caption says 20"),
    Sourced("clients of Table 3", "20", "those of the other experiments with clients that differ"),
    Sourced(
        "final accuracy", f"mean of the last {EVALUATIONS} evaluations", "printed for clients that differ; here for all"
    ),
)
"""Settings that the paper leaves out."""


METHODS = ("FedAvg", "FedLoRA", "FedHM", "FedLoRU")
RESTARTED = (
    ("A anew", "random", 1),
    ("A kept", "keep A", 1),
    ("both kept", "momentum", 1),
    ("A anew, 2 tau", "random", 2),
    ("A anew, 4 tau", "random", 4),
)
"""Name, start of the factors after an accumulation, and rounds between accumulations in units of tau."""
PERSONAL = {"pFedLoRA(1)": "pfedlora-1", "pFedLoRA(2)": "pfedlora-2", "pFedLoRU": "pfedloru"}


def tab1_design(settings: Settings) -> Design:
    """Return the runs of Tables 1 and 5 and Figures 3 and 5: four methods, three sizes, IID and non-IID clients."""
    sizes = settings.sizes(SIZES)
    lines = []
    for data in data_of(settings, ("fashion-mnist", "cifar-10", "cifar-100")):
        for split, clients in sizes.cases:
            lines += [_line(sizes, data, split, clients, 0.5, "FedAvg", "full")]
            for size in sizes.shares:
                lines += [_line(sizes, data, split, clients, 0.5, method, size) for method in METHODS[1:]]
    return _design(sizes, lines)


def tab6_design(settings: Settings) -> Design:
    """Return the runs of Table 6 and Figure 2, with growing numbers of clients."""
    sizes = settings.sizes(SIZES)
    (data,) = data_of(settings, ("cifar-100",))
    return _design(
        sizes,
        [
            _line(sizes, data, "IID", clients, 0.5, method, "full" if method == "FedAvg" else "large")
            for clients in sizes.clients
            for method in ("FedAvg", "FedLoRA", "FedLoRU")
        ],
    )


def tab7_design(settings: Settings) -> Design:
    """Return the runs of Table 7, with a tenth of the clients in each round."""
    sizes = settings.sizes(SIZES)
    (data,) = data_of(settings, ("cifar-100",))
    return _design(
        sizes,
        [
            _line(sizes, data, "IID", clients, 0.1, method, "full" if method == "FedAvg" else "large")
            for clients in sizes.sparse
            for method in METHODS
        ],
    )


def tab3_design(settings: Settings) -> Design:
    """Return the runs of Table 3: personal models, for strong and for weak heterogeneity."""
    sizes = settings.sizes(SIZES)
    (data,) = data_of(settings, ("cifar-100",))
    personal, clients = max(1, 16 * sizes.width // WIDTH), sizes.cases[0][1]
    lines = []
    for psi in sizes.psi:
        split = {"partition": "dirichlet", "partition_psi": psi, **sizes.personal}
        for method, algorithm in (
            ("pFedLoRA(1)", "pfedlora-1"),
            ("pFedLoRA(2)", "pfedlora-2"),
            ("pFedLoRU", "pfedloru"),
        ):
            shared = {"rank": sizes.rank("large"), "tau": sizes.tau, "personal_rank": personal}
            own = shared if method == "pFedLoRU" else {"rank": personal}
            lines.append(
                Line(
                    {
                        "data": data,
                        "split": f"psi = {psi:g}",
                        "clients": clients,
                        "participation": "0.5",
                        "size": "large" if method == "pFedLoRU" else "full",
                        "method": method,
                    },
                    algorithm,
                    data,
                    {
                        **_federation(sizes, data),
                        **split,
                        **own,
                        "cap": True,
                        "clients": clients,
                        "cohort": max(1, clients // 2),
                    },
                    metric="personal_accuracy",
                    rate_of=f"{method} {psi:g}",
                    tuned=True,
                )
            )
    return _design(sizes, lines)


def tab4_design(settings: Settings) -> Design:
    """Return the runs of Table 4: clients of different ranks; the global factors of mFedLoRU have the largest."""
    sizes = settings.sizes(SIZES)
    lines = []
    for data in data_of(settings, ("cifar-10", "cifar-100")):
        network = network_of(sizes, data)
        for setting in sizes.ranks:
            own = tuple(max(1, rank * sizes.width // WIDTH) for rank in client_ranks(setting))
            matched = tuple(matched_rank(network, rank) for rank in own)
            for method, algorithm, ranks in (
                ("FedHM", "fedhm", {"rank": max(matched), "ranks": matched}),
                ("mFedLoRU", "mfedloru", {"rank": sizes.rank("large"), "client_ranks": own, "tau": sizes.tau}),
            ):
                lines.append(
                    Line(
                        {
                            "data": data,
                            "split": f"setting {setting}",
                            "clients": len(own),
                            "participation": "0.5",
                            "size": "mixed",
                            "method": method,
                        },
                        algorithm,
                        data,
                        {
                            **_federation(sizes, data),
                            **ranks,
                            "partition": "even",
                            "cap": True,
                            "clients": len(own),
                            "cohort": len(own) // 2,
                        },
                        rate_of=f"{data}, {setting}, {method}",
                        tuned=True,
                    )
                )
    return _design(sizes, lines)


def restarts_design(settings: Settings) -> Design:
    """Return runs with several restarts of the factors and accumulation periods, and runs without accumulation."""
    sizes = settings.sizes(SIZES)
    (data,) = data_of(settings, ("cifar-100",))
    split, clients = sizes.cases[0]
    plain = _line(sizes, data, split, clients, 0.5, "FedLoRA", "large")
    lines = [plain]
    for method, restart, cycles in RESTARTED:
        of_it = {"tau": min(sizes.rounds, cycles * sizes.tau), "restart": restart}
        keys, options = {**plain.keys, "method": method}, {**plain.options, **of_it}
        lines.append(replace(plain, algorithm="fedloru", keys=keys, options=options, rate_of=method))
    return _design(sizes, lines)


def fig8_designs(settings: Settings) -> tuple[Design, Design]:
    """Return the runs of Figure 8: those that choose learning rates, and the lines for `with_rates`.

    Learning rates are chosen by the runs of Tables 1 and 7 in the same settings.
    """
    sizes, (rounds, tau) = settings.sizes(SIZES), settings.sizes(ALIGNED)
    (data,) = data_of(settings, ("cifar-100",))
    chosen = [
        _line(sizes, data, "IID", clients, participation, method, "full" if method == "FedAvg" else "large")
        for clients, participation in ((sizes.cases[0][1], 0.5), (sizes.sparse[0], 0.1))
        for method in ("FedAvg", "FedLoRA", "FedLoRU")
    ]
    looked: Mapping[str, Any] = {"alignment": True, "evaluate_every": rounds}
    lines = [
        replace(
            line,
            metric="alignment",
            options={**line.options, **looked, **({"tau": tau} if "tau" in line.options else {})},
        )
        for line in chosen
    ]
    return _design(sizes, chosen), Design(tuple(lines), rounds, sizes.seeds)


def with_rates(design: Design, rates: Mapping[str, float]) -> Design:
    """Return the design with the learning rate of each group of lines in its options."""
    return replace(
        design,
        lines=tuple(
            replace(line, options={**line.options, "learning_rate": rates[line.rate_of]}) for line in design.lines
        ),
    )


def _design(sizes: Sizes, lines: Sequence[Line]) -> Design:
    # Figure 8's own runs are not made here: they are stored as computed one client after the other.
    lines = [replace(line, options={**line.options, "executor": sizes.executor}) for line in lines]
    return Design(tuple(lines), sizes.rounds, sizes.seeds, sizes.rates, sizes.tuning_rounds)


def _line(sizes: Sizes, data: str, split: str, clients: int, participation: float, method: str, size: str) -> Line:
    """Return a line of Tables 1, 5, 6 and 7, with a learning rate of its own."""
    partition = {"partition": "even"} if split == "IID" else {"partition": "dirichlet", "partition_psi": 0.5}
    options = {
        **_federation(sizes, data),
        **partition,
        "clients": clients,
        "cohort": max(1, round(participation * clients)),
    }
    if method in ("FedLoRA", "FedLoRU"):
        options |= {"rank": sizes.rank(size), "cap": True}
    if method == "FedHM":
        options |= {"rank": matched_rank(network_of(sizes, data), sizes.rank(size)), "cap": True}
    if method == "FedLoRU":
        options |= {"tau": sizes.tau}
    keys: dict[str, str | int] = {
        "data": data,
        "split": split,
        "clients": clients,
        "participation": f"{participation:g}",
        "size": size,
        "method": method,
    }
    return Line(keys, method.lower(), data, options, rate_of=", ".join(map(str, keys.values())), tuned=True)


def _federation(sizes: Sizes, data: str) -> dict[str, Any]:
    own = {} if "model" in sizes.federation else {"model": "resnet10" if data == "fashion-mnist" else "resnet18"}
    return {**sizes.federation, **own, **({"width": sizes.width} if sizes.width != WIDTH else {})}


def network_of(sizes: Sizes, data: str) -> Network:
    """Return the network that a scale trains on a data set."""
    return str(_federation(sizes, data)["model"]), sizes.width, data


@cache
def _shapes(network: Network) -> Mapping[str, Any]:
    name, width, data = network
    known = REGISTRY[data]
    channels = len(known.pixel_mean) if isinstance(known.pixel_mean, tuple) else 1
    made = model(name, ModelSettings(known.layout.classes, channels, 28, 0, width))
    return dict(made.named_parameters())


@cache
def parameters(network: Network, rank: int | None = None, convolution: str = CONVOLUTIONS[0]) -> int:
    """Count a network's trained parameters: all, or the factors of its stages and the rest.

    Args:
        network: Name, width and data set.
        rank: Rank of the factors, at most the smaller side of a layer.
        convolution: How a kernel is read as a matrix.
    """
    shapes = _shapes(network)
    names = factorised_names(shapes, LAYERS[network[0]])
    if rank is None:
        return sum(parameter.numel() for parameter in shapes.values())
    rest = sum(parameter.numel() for name, parameter in shapes.items() if name not in names)
    sides = [matrix_shape(shapes[name].shape, convolution) for name in names]
    return rest + sum(min(rank, m, n) * (m + n) for m, n in sides)


@cache
def matched_rank(network: Network, rank: int) -> int:
    """Return the rank at which FedHM's number of parameters is nearest to FedLoRU's at a given rank."""
    wanted = parameters(network, rank)
    return min(range(1, 4 * rank + 1), key=lambda r: abs(parameters(network, r, CONVOLUTIONS[1]) - wanted))


def share(network: Network, rank: int) -> float:
    """Return the fraction of the network's parameters that FedLoRU trains."""
    return parameters(network, rank) / parameters(network)


def data_of(settings: Settings, printed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the printed data sets at the paper's scale if they are on this machine, else Fashion-MNIST."""
    if settings.scale != "paper":
        return ("fashion-mnist",)
    here = tuple(name for name in printed if find(name, settings.data_root) is not None)
    return here or ("fashion-mnist",)


def choice_of(settings: Settings, printed: tuple[str, ...]) -> DataChoice:
    """Choose the data sets, with a note on those that are not on this machine."""
    names = data_of(settings, printed)
    lacking = [name for name in printed if name not in names]
    if not lacking:
        return DataChoice(names)
    why = "not run at this scale" if settings.scale != "paper" else "not on this machine"
    return DataChoice(names, f"The paper's {' and '.join(lacking)}: {why}; {' and '.join(names)} in place")
