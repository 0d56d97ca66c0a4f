"""Sizes of FedLoRU's experiments on images at each scale: clients, rounds, ranks, learning rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from figures.figure import Scale

WIDTH = 64
"""Channels of the paper's stem."""
RANKS: Mapping[str, int] = {"large": 128, "medium": 96, "small": 64}
"""By size: the ranks that give 44, 33 and 22 % of ResNet-10's parameters, and 41, 31 and 21 % of ResNet-18's."""
Network = tuple[str, int, str]
"""Name, width and data set, by which parameters are counted."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that depend on the scale.

    Attributes:
        federation: Options of every run: network, images, local steps.
        width: Channels of the stem.
        clients: Numbers of clients of Table 6.
        sparse: Numbers of clients of Table 7.
        cases: Split and number of clients in Table 1; personal models use the first number as well.
        shares: Sizes in Table 1, of `RANKS`.
        rounds: Rounds of every run.
        tau: Rounds between accumulations.
        seeds: Number of seeds.
        rates: Learning rates tried.
        tuning_rounds: Rounds of the runs that choose among them.
        personal: Further options of the personal models.
        psi: Concentrations of the labels in Table 3.
        ranks: Settings of Table 4.
        executor: Executor of the runs; one that computes all clients at once is faster for small networks.
    """

    federation: Mapping[str, Any]
    width: int
    clients: tuple[int, ...]
    sparse: tuple[int, ...]
    cases: tuple[tuple[str, int], ...]
    shares: tuple[str, ...]
    rounds: int
    tau: int
    seeds: int
    rates: tuple[float, ...]
    tuning_rounds: int
    personal: Mapping[str, Any]
    psi: tuple[float, ...]
    ranks: tuple[int, ...] = (1, 2)
    executor: str = "sequential"

    def rank(self, size: str) -> int:
        """Return the rank of the factors for the width of the network."""
        return max(1, RANKS[size] * self.width // WIDTH)


_SGD: Mapping[str, Any] = {"optimiser": "sgd", "momentum": 0.9, "schedule": "cosine", "schedule_minimum": 0.001}
SIZES: Mapping[Scale, Sizes] = {
    "quick": Sizes(
        {
            **_SGD,
            "model": "perceptron",
            "width": 16,
            "side": 7,
            "samples": 160,
            "held_out": 40,
            "test_samples": 200,
            "epochs": 1,
            "batch": 16,
        },
        16,
        (4, 8),
        (8,),
        (("IID", 4),),
        ("large",),
        rounds=2,
        tau=1,
        seeds=2,
        rates=(0.1,),
        tuning_rounds=1,
        personal={"own_share": 0.2, "samples": 240},
        psi=(0.5,),
        ranks=(2,),
    ),
    "laptop": Sizes(
        {
            **_SGD,
            "model": "resnet10",
            "width": 8,
            "side": 14,
            "samples": 2000,
            "held_out": 1000,
            "epochs": 5,
            "batch": 32,
        },
        8,
        (20, 50, 100, 200),
        (100, 200),
        (("IID", 20), ("IID", 100), ("NonIID", 20)),
        tuple(RANKS),
        rounds=16,
        tau=2,
        seeds=5,
        rates=(0.3, 0.1, 0.03),
        tuning_rounds=16,
        personal={"own_share": 0.2, "samples": 4000},
        psi=(0.1, 0.5),
        executor="vmap",
    ),
    "paper": Sizes(
        {**_SGD, "epochs": 5, "batch": 32, "held_out": 10_000, "weight_decay": 1e-4, "crop": 4, "flip": True},
        64,
        (20, 50, 100, 200, 300, 400),
        (100, 200),
        (("IID", 20), ("IID", 100), ("NonIID", 20)),
        tuple(RANKS),
        rounds=400,
        tau=50,
        seeds=3,
        rates=(0.3, 0.2, 0.1, 0.05, 0.01),
        tuning_rounds=400,
        personal={"own_share": 0.2},
        psi=(0.1, 0.5),
    ),
}
ALIGNED: Mapping[Scale, tuple[int, int]] = {"quick": (4, 2), "laptop": (40, 5), "paper": (400, 50)}
"""Rounds, and rounds between accumulations, of Figure 8, whose text is about the time after about 20 rounds."""
