r"""mFedLoRU (FedLoRU, Algorithm 3): each client trains low-rank changes of A and B, with its own rank.

By eq. (82), the model is $W + \alpha(A + \alpha_A A_dA_u)(B + \alpha_B B_dB_u)$. The paper's eq. (83) prints $\alpha_A$
also in the line of B. The scales are `nested_scale` times the rank; the paper has 1/2 times the rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.descent import descend, require_fresh
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.fedloru import FedLoRU, FedLoRUState
from algorithms.tree import Tree


class Nested(NamedTuple):
    """The factors of the changes of A and B: A_d ``(m, r_A)``, A_u ``(r_A, r)``, B_d ``(r, r_B)``, B_u ``(r_B, n)``.

    `rest` has the weights that are not factorised, not their changes.
    """

    A_d: Tree
    A_u: Tree
    B_d: Tree
    B_u: Tree
    rest: Tree = Tree()


@dataclass(frozen=True)
class NestedFedLoRU(FedLoRU):
    r"""FedLoRU whose clients train $A + \alpha_AA_dA_u$ and $B + \alpha_BB_dB_u$ with A and B frozen.

    Attributes:
        ranks: r_A and r_B of each client, by its number; a client with ``None`` trains A and B themselves.
        client_ranks: One rank for both changes of each client, instead of `ranks`; a client with the rank of A and B
            trains these themselves.
        nested_scale: $\alpha_A/r_A = \alpha_B/r_B$.
        send_products: Send products, as in the listing; else send the nested matrices, as in the text.

    Raises:
        FederationError: As in `FedLoRU`; or the state of the optimiser is personal.
    """

    trains_pairs: ClassVar[bool] = False

    ranks: tuple[tuple[int, int] | None, ...] = ()
    client_ranks: tuple[int, ...] = ()
    nested_scale: float = 0.5
    send_products: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fresh(self.local, "the nested factors start")

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """Do one round and return the new state.

        Raises:
            FederationError: There is not one pair of ranks for each client.
        """
        ranks = self.ranks or tuple(None if r == self.adapter.rank else (r, r) for r in self.client_ranks)
        if len(ranks) != len(fed.clients):
            raise FederationError(f"expected a rank for each of {len(fed.clients)} clients, got {len(ranks)}")
        factors = fed.mean(
            train_nested,
            to=cohort,
            draw=self.local.draw,
            each={"ranks": {number: ranks[number] for number in cohort}},
            then=partial(self.recover, state.factors),
            factors=state.factors,
            turn=state.rounds,
            algorithm=self,
        )
        return self.accumulate(fed, state, factors)

    def draw_factors(self, factors: AB, ranks: tuple[int, int], turn: int) -> Nested:
        """Draw initial nested factors: A_u with orthonormal rows, B_d with orthonormal columns, A_d and B_u zero.

        At full nested rank, the first step equals a step in A and B themselves, up to the scales.

        Raises:
            FederationError: The ranks do not fit.
        """
        r_A, r_B = ranks
        seed, cap = self.adapter.seed, self.adapter.cap
        rows = Adapter(r_A, 1.0, seed + 1, cap=cap).pair(factors.A.T, turn).A.map(_orthonormal).T
        columns = Adapter(r_B, 1.0, seed + 2, cap=cap).pair(factors.B, turn).A.map(_orthonormal)
        return Nested(
            factors.A.map(lambda A, A_u: A.new_zeros(A.shape[0], A_u.shape[0]), rows),
            rows,
            columns,
            factors.B.map(lambda B, B_d: B.new_zeros(B_d.shape[1], B.shape[1]), columns),
            factors.rest,
        )

    def apply_changes(self, factors: AB, nested: Nested) -> AB:
        """Return A and B with their changes added."""

        def scale(down: Tensor, up: Tensor) -> Tensor:
            return self.nested_scale * down.shape[-1] * (down @ up)

        A, B = nested.A_d.map(scale, nested.A_u), nested.B_d.map(scale, nested.B_u)
        return AB(factors.A + A, factors.B + B, nested.rest)

    def recover(self, factors: AB, upload: AB | Nested | Mapping[str, Tree]) -> AB:
        """Return a client's A and B from its upload."""
        if isinstance(upload, AB):
            return upload
        if isinstance(upload, Nested):
            return self.apply_changes(factors, upload)
        return AB(factors.A + upload["A"], factors.B + upload["B"], upload["rest"])


def _orthonormal(columns: Tensor) -> Tensor:
    return torch.linalg.qr(columns)[0]


def train_nested(
    client: Client, memory: Memory, factors: AB, ranks: tuple[int, int] | None, turn: int, algorithm: NestedFedLoRU
) -> Reply:
    """Take local steps in the nested factors, or in A and B themselves if the client has no ranks."""
    outer = algorithm.adapter.assembler(client, memory.shared["base"])
    if ranks is None:
        trained, personal = descend(client, factors, algorithm.local, memory, outer)
        return Reply(upload=trained, personal=personal)
    start = algorithm.draw_factors(factors, ranks, turn)
    nested, personal = descend(
        client, start, algorithm.local, memory, lambda parts: outer(algorithm.apply_changes(factors, parts))
    )
    if not algorithm.send_products:
        return Reply(upload=nested, personal=personal)
    changed = algorithm.apply_changes(factors, nested)
    products = {"A": changed.A - factors.A, "B": changed.B - factors.B, "rest": changed.rest}
    return Reply(upload=products, personal=personal)
