"""The runs of FeDLRT's Figures 5 to 8: a network, numbers of clients, and FeDLRT against training all weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from algorithms.kernels import layer_names
from figures.experiments.experiment import Design, Line
from figures.figure import Scale
from workloads.data.datasets import REGISTRY
from workloads.image_networks.models import LAYERS, ModelSettings, model

BUDGET = 240
"""Batches of a round, of all clients."""
VARIANTS: Mapping[str, tuple[str, str, str]] = {
    "without correction": ("fedlrt-plain", "FedAvg", "fedavg"),
    "full correction": ("fedlrt-full", "FedLin", "fedlin"),
    "simplified correction": ("fedlrt", "FedLin", "fedlin"),
}
"""Rows of the figures: FeDLRT's algorithm, its counterpart and that one's algorithm."""


def method_name(row: str) -> str:
    """Return the words for a row that follow "FeDLRT".

    >>> method_name("full correction"), method_name("without correction")
    ('with full correction', 'without correction')
    """
    return row if row.startswith("without") else f"with {row}"


TRIPS: Mapping[str, int] = {"FedAvg": 2, "FedLin": 4}
"""Number of full matrices sent per round, to or from a client."""


@dataclass(frozen=True)
class Vision:
    """A figure at a scale.

    Attributes:
        network: Name of the network.
        data: Name of the data set.
        layers: Patterns of the factorised layers.
        rows: Rows of the figure, names of `VARIANTS`.
        clients: Numbers of clients.
        options: Options of every run.
        rounds: Rounds of every run.
        seeds: Number of seeds.
        steps: Local iterations; `share`: 240 over the number of clients, rounded down.
        rank: Rank of the start, lowered to the smaller side of a layer; it is not printed.
        rates: Candidate learning rates; empty: the options have one.
        tuning_rounds: Rounds of the runs that choose.
        own_rates: Choose a rate for every line; else one for all, by training all weights with four clients.
        classes: Number of classes of the data set.
    """

    network: str
    data: str
    layers: str
    rows: tuple[str, ...]
    clients: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 200
    seeds: int = 10
    steps: int | Literal["share"] = "share"
    rank: int = 64
    rates: tuple[float, ...] = ()
    tuning_rounds: int = 1
    own_rates: bool = False
    classes: int = 10

    def local_steps(self, clients: int) -> int:
        """Return the local iterations of a client, at least one even if the budget is below the number of clients."""
        return max(1, BUDGET // clients) if self.steps == "share" else self.steps

    @property
    def design(self) -> Design:
        """Return the experiment: FeDLRT by rows, and each counterpart once."""
        lines = []
        for clients in self.clients:
            common = {
                **self.options,
                "model": self.network,
                "clients": clients,
                "partition": "even",
                "steps": self.local_steps(clients),
                "epochs": None,
            }
            low = {"layers": self.layers, "rank": self.rank, "cap": True, "truncation": 0.01}
            for row in self.rows:
                lines.append(self._line(row, VARIANTS[row][0], {**common, **low}))
            for name, algorithm in dict(VARIANTS[row][1:] for row in self.rows).items():
                lines.append(self._line(name, algorithm, common))
        return Design(tuple(lines), self.rounds, self.seeds, self.rates, self.tuning_rounds)

    def _line(self, method: str, algorithm: str, options: Mapping[str, Any]) -> Line:
        clients = options["clients"]
        chooses = method == VARIANTS[self.rows[0]][1] and clients == min(4, max(self.clients))
        return Line(
            {"method": method, "clients": clients},
            algorithm,
            self.data,
            options,
            rate_of=f"{method}, {clients}" if self.own_rates else "",
            tuned=bool(self.rates) and (self.own_rates or chooses),
        )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the network's parameters, from the network itself."""
        coloured = not isinstance(REGISTRY[self.data].pixel_mean, float)
        side = self.options.get("side") or (32 if coloured else 28)
        settings = ModelSettings(
            self.classes,
            3 if coloured else 1,
            side,
            width=self.options.get("width"),
            adapt=self.options.get("adapt", "none"),
        )
        return {name: tuple(p.shape) for name, p in model(self.network, settings).named_parameters()}

    @property
    def factorised(self) -> int:
        """Entries of the factorised layers' full weights."""
        shapes = self.shapes
        return sum(prod(shapes[name]) for name in layer_names(shapes.items(), self.layers))


def _schedule_to(end: float) -> dict[str, Any]:
    return {"schedule": "cosine", "schedule_per": "round", "schedule_minimum": end}


def _schedule(start: float, end: float) -> dict[str, Any]:
    return {"learning_rate": start, **_schedule_to(end)}


_SGD: dict[str, Any] = {"optimiser": "sgd"}
_ALL, _SIMPLE = tuple(VARIANTS), ("simplified correction",)
_TWO = ("without correction", *_SIMPLE)
_HEADS = "head.weight"
_SMALL: dict[str, Any] = {"samples": 4000, "test_samples": 5000, "held_out": 2000, "batch": 32, "optimiser": "sgd"}
_TRAINED: dict[str, Any] = {"samples": 8192, "held_out": 2000, "flip": True, "evaluate_every": 10}
"""With 16 clients each has 512 samples, so batches have 128 samples as printed."""
_TO_32 = (1, 2, 4, 8, 16, 32)
VISION: Mapping[str, Mapping[Scale, Vision]] = {
    "fig-5": {
        "quick": Vision(
            "resnet18",
            "fashion-mnist",
            _HEADS,
            _ALL,
            (1, 4),
            _SMALL
            | {"width": 2, "side": 14, "samples": 400, "test_samples": 400, "held_out": 0, "learning_rate": 0.05},
            rounds=1,
            seeds=1,
            steps=5,
            rank=8,
        ),
        "laptop": Vision(
            "resnet18",
            "fashion-mnist",
            _HEADS,
            _ALL,
            _TO_32,
            _SMALL | {"width": 8, "side": 14, "momentum": 0.9, "weight_decay": 1e-3, "evaluate_every": 5},
            rounds=5,
            seeds=5,
            rank=8,
            rates=(0.003, 0.01, 0.03, 0.1),
            tuning_rounds=5,
        ),
        "paper": Vision(
            "resnet18",
            "cifar-10",
            _HEADS,
            _ALL,
            _TO_32,
            _SGD
            | _schedule(1e-3, 5e-4)
            | {"batch": 128, "momentum": 0.9, "weight_decay": 1e-3, "flip": True, "evaluate_every": 10},
        ),
    },
    "fig-6": {
        "quick": Vision(
            "alexnet",
            "fashion-mnist",
            LAYERS["alexnet"],
            _SIMPLE,
            (1, 4),
            _SMALL
            | {"width": 64, "adapt": "pad", "samples": 400, "test_samples": 400, "held_out": 0, "learning_rate": 0.05},
            rounds=1,
            seeds=1,
            steps=5,
            rank=8,
        ),
        "laptop": Vision(
            "alexnet",
            "fashion-mnist",
            LAYERS["alexnet"],
            _SIMPLE,
            (1, 4, 16),
            _SGD
            | _schedule_to(1e-5)
            | _TRAINED
            | {"width": 256, "adapt": "pad", "batch": 128, "momentum": 0.0, "weight_decay": 1e-4},
            rounds=40,
            seeds=5,
            steps=100,
            rank=32,
            rates=(0.01, 0.03, 0.1, 0.3),
            tuning_rounds=40,
            own_rates=True,
        ),
        "paper": Vision(
            "alexnet",
            "cifar-10",
            LAYERS["alexnet"],
            _SIMPLE,
            _TO_32,
            _SGD
            | _schedule(1e-2, 1e-5)
            | {"batch": 128, "momentum": 0.0, "weight_decay": 1e-4, "flip": True, "evaluate_every": 10},
            steps=100,
        ),
    },
    "fig-7": {
        "quick": Vision(
            "vgg16",
            "fashion-mnist",
            LAYERS["vgg16"],
            _TWO,
            (1, 4),
            _SMALL
            | {"width": 8, "adapt": "pad", "samples": 400, "test_samples": 400, "held_out": 0, "learning_rate": 0.05},
            rounds=1,
            seeds=1,
            steps=5,
            rank=4,
        ),
        "laptop": Vision(
            "vgg16",
            "fashion-mnist",
            LAYERS["vgg16"],
            _TWO,
            _TO_32,
            _SMALL | {"width": 64, "adapt": "pad", "momentum": 0.1, "weight_decay": 1e-4, "evaluate_every": 5},
            rounds=5,
            seeds=5,
            rank=16,
            rates=(0.01, 0.03, 0.1, 0.3),
            tuning_rounds=5,
        ),
        "paper": Vision(
            "vgg16",
            "cifar-10",
            LAYERS["vgg16"],
            _TWO,
            _TO_32,
            _SGD
            | _schedule(1e-2, 5e-4)
            | {"batch": 128, "momentum": 0.1, "weight_decay": 1e-4, "flip": True, "evaluate_every": 10},
        ),
    },
    "fig-8": {
        "quick": Vision(
            "vit",
            "fashion-mnist",
            LAYERS["vit"],
            _SIMPLE,
            (1, 4),
            _SMALL
            | {"width": 8, "adapt": "pad", "samples": 400, "test_samples": 400, "held_out": 0, "learning_rate": 0.1},
            rounds=1,
            seeds=1,
            steps=5,
            rank=2,
        ),
        "laptop": Vision(
            "vit",
            "fashion-mnist",
            LAYERS["vit"],
            _SIMPLE,
            _TO_32,
            _SMALL | {"width": 32, "adapt": "pad", "momentum": 0.9, "evaluate_every": 5},
            rounds=5,
            seeds=5,
            rank=16,
            rates=(0.01, 0.03, 0.1, 0.3),
            tuning_rounds=5,
        ),
        "paper": Vision(
            "vit",
            "cifar-100",
            LAYERS["vit"],
            _SIMPLE,
            _TO_32,
            _schedule(3e-4, 1e-5)
            | {"batch": 256, "optimiser": "adam", "weight_decay": 1e-2, "flip": True, "evaluate_every": 10},
            rank=128,
            classes=100,
        ),
    },
}
"""By figure and scale; below the paper's all networks are narrower throughout."""
