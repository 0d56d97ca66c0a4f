"""The federations of the papers' experiments, as printed: clients, participation and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.partition import ByLabel, Dirichlet, Even, Partition


@dataclass(frozen=True)
class PrintedFederation:
    """One setting of a paper.

    Attributes:
        source: Where it is printed.
        data: Registry names of its data sets.
        clients: Numbers of clients.
        participation: Share of the clients in each round.
        partition: How samples are divided among the clients.
        held_out: Training samples kept for validation.
    """

    source: str
    data: tuple[str, ...]
    clients: tuple[int, ...]
    participation: float
    partition: Partition
    held_out: int = 0


_FEDLORU = ("fashion-mnist", "cifar-10", "cifar-100")
FEDERATIONS: Mapping[str, PrintedFederation] = {
    "fedloru-iid": PrintedFederation("FedLoRU v2, Table 1", _FEDLORU, (20, 100), 0.5, Even(), 10_000),
    "fedloru-noniid": PrintedFederation("FedLoRU v2, Table 1", _FEDLORU, (20,), 0.5, Dirichlet(0.5), 10_000),
    "fedloru-clients": PrintedFederation(
        "FedLoRU v2, Table 6", ("cifar-100",), (20, 50, 100, 200, 300, 400), 0.5, Even(), 10_000
    ),
    "fedloru-participation": PrintedFederation("FedLoRU v2, Table 7", ("cifar-100",), (100, 200), 0.1, Even(), 10_000),
    # The number of clients of Table 3 is not printed; 20 is that of the other heterogeneous experiments.
    "pfedloru-mild": PrintedFederation("FedLoRU v2, Table 3", ("cifar-100",), (20,), 0.5, Dirichlet(0.5), 10_000),
    "pfedloru-severe": PrintedFederation("FedLoRU v2, Table 3", ("cifar-100",), (20,), 0.5, Dirichlet(0.1), 10_000),
    "rolora-two-labels": PrintedFederation("RoLoRA, Section 5.2", ("mnist",), (5,), 1.0, ByLabel()),
    "rolora-one-label": PrintedFederation("RoLoRA, Section 5.2", ("mnist",), (10,), 1.0, ByLabel()),
    "fedlrt": PrintedFederation("FeDLRT, Section 4.2", ("cifar-10", "cifar-100"), (1, 2, 4, 8, 16, 32), 1.0, Even()),
}

CLIENTS_OF_RANK: Mapping[int, Mapping[int, int]] = {1: {128: 5, 64: 5, 32: 5, 16: 5}, 2: {64: 6, 32: 6, 16: 7}}
"""Model heterogeneity, by setting: how many clients have each rank (FedLoRU v2, Table 2; iclr, Table A3).

The caption says 20 clients for both settings; the second has 19.
"""


def client_ranks(setting: int) -> tuple[int, ...]:
    """Return the rank of each client in a setting of model heterogeneity, the largest first.

    Raises:
        ValueError: No such setting.

    >>> client_ranks(2)[4:8]
    (64, 64, 32, 32)
    """
    if setting not in CLIENTS_OF_RANK:
        raise ValueError(f"setting must be one of {', '.join(map(str, CLIENTS_OF_RANK))}, got {setting}")
    return tuple(rank for rank, clients in CLIENTS_OF_RANK[setting].items() for _ in range(clients))
