r"""Many starts of one federation at once: the algorithms' own rounds under `torch.vmap`.

FedAvg and FedLin on quadratic losses are affine maps of the weights, which are read off by running one round on a
basis; FeDLRT runs its own round on all starts of one rank, keeping everything, and then every start is truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from algorithms.fedavg import FedAvg
from algorithms.federation import Client, Cohort, Draw, Federation, Reply, Work
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import USV, Truncation, factorise, product
from algorithms.tree import Tree
from algorithms.vmap import Vmap


class Together(Federation):
    """A federation whose values may belong to many starts: nothing is checked and nothing counted.

    Each start's values are checked by `run_fedlrt` instead.
    """

    def __init__(self, clients: Sequence[Client]) -> None:
        """All clients at once, weighted by their data."""
        super().__init__(clients)
        self._executor = Vmap()

    def gather(self, work: Work, *, to: Cohort, draw: Draw | None = None, **sent: Any) -> list[Any]:
        """Sends work to the cohort and returns each client's upload."""
        memories = [self._memory(number, None) for number in to]
        replies: list[Reply] = self._executor.run(work, [self.clients[number] for number in to], memories, sent)
        for number, reply in zip(to, replies, strict=True):
            self._kept.setdefault(number, {}).update(reply.keep)
        return [reply.upload for reply in replies]


@dataclass(frozen=True)
class KeepAll(Truncation):
    """Keeps every singular value, for the starts to be truncated one by one."""

    def rank(self, sigma: Tensor) -> int:
        """As many as there are."""
        return len(sigma)
