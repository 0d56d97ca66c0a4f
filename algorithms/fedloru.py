r"""FedLoRU, its fine-tuning version, pFedLoRU and mFedLoRU: low-rank updates that accumulate (Algorithms 1 to 3).

The model is $W + \alpha AB$; every $\tau$ rounds each client adds the averaged $\alpha AB$ to its W, and the factors
start anew. The listing of Algorithm 1 prints no restart, by which the same product counts twice; the paper's Appendix B
restarts with AB = 0, its Appendix D.2 offers the start of LoRA (`random`, the default here) and going on from the
current factors (`momentum`, the listing). `keep A` is a third that leaves the function as it was: B starts at zero, A
goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.lora import AB, Adapter, train_factors
from algorithms.pfedlora import pair
from algorithms.tree import Tree

RESTARTS = ("random", "momentum", "keep A")


class FedLoRUState(NamedTuple):
    """Weights that every client has, factors, and rounds done."""

    base: Tree
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FedLoRU:
    """Algorithm 1.

    Attributes:
        local: Local steps in both factors.
        adapter: Rank, scale and start of the factors.
        tau: Rounds between accumulations.
        restart: What the factors start from after one.

    Raises:
        FederationError: tau below 1, or an unknown restart.
    """

    local: Descent
    adapter: Adapter
    tau: int
    restart: str = "random"

    def __post_init__(self) -> None:
        if self.tau < 1 or self.restart not in RESTARTS:
            raise FederationError(
                f"tau must be at least 1 and restart one of {RESTARTS}, got {self.tau}, {self.restart!r}"
            )

    def start(self, fed: Federation, w: Tree) -> FedLoRUState:
        """The state before the first round; every client is told the weights."""
        fed.tell(base=w)
        return FedLoRUState(w, self.adapter.factors(w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """One round."""
        factors = fed.mean(
            train_factors,
            to=cohort,
            draw=self.local.draw,
            factors=state.factors,
            local=self.local,
            adapter=self.adapter,
        )
        return self._accumulated(fed, state, factors)

    def weights(self, state: FedLoRUState) -> Tree:
        """The model."""
        return self.adapter.weights(state.base, state.factors)

    def _accumulated(self, fed: Federation, state: FedLoRUState, factors: AB) -> FedLoRUState:
        rounds = state.rounds + 1
        if rounds % self.tau:
            return FedLoRUState(state.base, factors, rounds)
        fed.tell(accumulated=factors)
        base = self.adapter.weights(state.base, factors)
        fed.agree(base=base)
        return FedLoRUState(base, self._restarted(base, factors, rounds), rounds)

    def _restarted(self, base: Mapping[str, Tensor], factors: AB, rounds: int) -> AB:
        if self.restart == "momentum":
            return factors
        if self.restart == "keep A":
            return AB(factors.A, factors.B.map(torch.zeros_like))
        return self.adapter.factors(base, turn=rounds)


class PairsState(NamedTuple):
    """Weights that never change, the pairs of factors accumulated beside them, factors, and rounds done."""

    base: Tree
    pairs: tuple[AB, ...]
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FineTuneFedLoRU(FedLoRU):
    r"""FedLoRU for fine-tuning (Appendix C.1): pairs are kept beside $W_0$, which stays as it is.

    The model is $W_0 + \alpha\sum_iA_iB_i + \alpha AB$, over the stored pairs and the current one.
    """

    def start(self, fed: Federation, w: Tree) -> PairsState:  # type: ignore[override]
        """The state before the first round; every client is told the weights."""
        fed.tell(base=w)
        fed.agree(pairs=())
        return PairsState(w, (), self.adapter.factors(w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: PairsState) -> PairsState:  # type: ignore[override]
        """One round."""
        factors = fed.mean(
            train_beside_pairs, to=cohort, draw=self.local.draw, factors=state.factors, algorithm=self
        )  # fmt: skip
        rounds = state.rounds + 1
        if rounds % self.tau:
            return state._replace(factors=factors, rounds=rounds)
        fed.tell(accumulated=factors)
        pairs = (*state.pairs, factors)
        fed.agree(pairs=pairs)
        return PairsState(state.base, pairs, self._restarted(state.base, factors, rounds), rounds)

    def weights(self, state: PairsState) -> Tree:  # type: ignore[override]
        """The model."""
        return self.adapter.weights(self.beside(state.base, state.pairs), state.factors)

    def beside(self, base: Tree, pairs: tuple[AB, ...]) -> Tree:
        """The weights with the stored pairs."""
        for kept in pairs:
            base = self.adapter.weights(base, kept)
        return base


def train_beside_pairs(client: Client, memory: Memory, factors: AB, algorithm: FineTuneFedLoRU) -> Reply:
    """Local steps in the current factors, the stored pairs frozen."""
    base = algorithm.beside(memory.shared["base"], memory.shared["pairs"])
    return Reply(upload=descend(client, factors, algorithm.local, memory, algorithm.adapter.over(base)))


@dataclass(frozen=True)
class PersonalFedLoRU(FedLoRU):
    r"""pFedLoRU, Algorithm 2: personal factors L, U beside the global ones, trained first and never sent.

    The model of client k is $W + \alpha AB + \alpha_p L_kU_k$. (The box returns W plus the unscaled products; its
    inference formula has $\alpha_p$, as in training.)

    Attributes:
        personal: Local steps in L and U.
        personal_adapter: Their rank, scale and start.
    """

    personal: Descent = field(default_factory=Descent)
    personal_adapter: Adapter = field(default_factory=lambda: Adapter(1))

    def start(self, fed: Federation, w: Tree) -> FedLoRUState:
        """The state before the first round."""
        fed.equip(LU=self.personal_adapter.factors(w))
        return super().start(fed, w)

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """One round."""
        factors = fed.mean(
            train_personal_then_shared, to=cohort, draw=self._draws, factors=state.factors, algorithm=self
        )
        return self._accumulated(fed, state, factors)

    def personal_weights(self, fed: Federation, state: FedLoRUState, client: int) -> Tree:
        """The model of one client."""
        mine = fed.personal(client)["LU"]
        return self.personal_adapter.weights(self.weights(state), mine)

    def _draws(self, client: Client, rng: np.random.Generator) -> tuple[Tensor, Tensor] | None:
        return pair(self.personal.draw(client, rng), self.local.draw(client, rng))


def train_personal_then_shared(client: Client, memory: Memory, factors: AB, algorithm: PersonalFedLoRU) -> Reply:
    """Eq. (80), then eq. (81) of the paper."""
    shared, own, base = algorithm.adapter, algorithm.personal_adapter, memory.shared["base"]
    first, second = (None, None) if memory.drawn is None else memory.drawn
    start = memory.personal["LU"]
    LU = descend(
        client, start, algorithm.personal, replace(memory, drawn=first), own.over(shared.weights(base, factors))
    )
    with_own = own.weights(base, LU)
    trained = descend(client, factors, algorithm.local, replace(memory, drawn=second), shared.over(with_own))
    return Reply(upload=trained, personal={"LU": LU})


class Nested(NamedTuple):
    """Factors of the changes of A and B: A_d ``(m, r_A)``, A_u ``(r_A, r)``, B_d ``(r, r_B)``, B_u ``(r_B, n)``."""

    A_d: Tree
    A_u: Tree
    B_d: Tree
    B_u: Tree


@dataclass(frozen=True)
class NestedFedLoRU(FedLoRU):
    r"""mFedLoRU, Algorithm 3: each client trains low-rank changes of A and B of its own rank.

    Eq. (82): the loss at $W + \alpha(A + \alpha_A A_dA_u)(B + \alpha_B B_dB_u)$. The paper's eq. (83) prints $\alpha_A$
    in the line of B as well; the scales are `nested_scale` over the rank, 1/2 times the rank as printed.

    Attributes:
        ranks: r_A and r_B of each client, by its number; ``None`` for a client trains A and B themselves.
        nested_scale: $\alpha_A/r_A = \alpha_B/r_B$.
        send_products: The listing's reading: products travel; else the nested matrices do, as the text says.
    """

    ranks: tuple[tuple[int, int] | None, ...] = ()
    nested_scale: float = 0.5
    send_products: bool = False

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """One round.

        Raises:
            FederationError: Not one pair of ranks for each client.
        """
        if len(self.ranks) != len(fed.clients):
            raise FederationError(f"expected ranks of {len(fed.clients)} clients, got {len(self.ranks)}")
        factors = fed.mean(
            train_nested,
            to=cohort,
            draw=self.local.draw,
            each={"ranks": {number: self.ranks[number] for number in cohort}},
            then=partial(self.recovered, state.factors),
            factors=state.factors,
            turn=state.rounds,
            algorithm=self,
        )
        return self._accumulated(fed, state, factors)

    def fresh(self, factors: AB, ranks: tuple[int, int], turn: int) -> Nested:
        """Nested factors whose products are zero: A_u with orthonormal rows, B_d with orthonormal columns, zeros.

        At full nested rank the first step then is that of A and B themselves, but for the scales.

        Raises:
            FederationError: Ranks that do not fit.
        """
        r_A, r_B = ranks
        rows = Adapter(r_A, 1.0, self.adapter.seed + 1).factors(factors.A.T, turn).A.map(_orthonormal).T
        columns = Adapter(r_B, 1.0, self.adapter.seed + 2).factors(factors.B, turn).A.map(_orthonormal)
        return Nested(
            factors.A.map(lambda A: A.new_zeros(A.shape[0], r_A)), rows,
            columns, factors.B.map(lambda B: B.new_zeros(r_B, B.shape[1])),
        )  # fmt: skip

    def changed(self, factors: AB, nested: Nested, ranks: tuple[int, int]) -> AB:
        """A and B with their changes."""
        a, b = (self.nested_scale * rank for rank in ranks)
        return AB(factors.A + a * (nested.A_d @ nested.A_u), factors.B + b * (nested.B_d @ nested.B_u))

    def recovered(self, factors: AB, upload: AB | Nested | Mapping[str, Tree]) -> AB:
        """A and B as a client that sent its changes has them."""
        if isinstance(upload, AB):
            return upload
        if isinstance(upload, Nested):
            name = next(iter(upload.A_u))
            return self.changed(factors, upload, (upload.A_u[name].shape[0], upload.B_u[name].shape[0]))
        return AB(factors.A + upload["A"], factors.B + upload["B"])


def _orthonormal(columns: Tensor) -> Tensor:
    return torch.linalg.qr(columns)[0]


def train_nested(
    client: Client, memory: Memory, factors: AB, ranks: tuple[int, int] | None, turn: int, algorithm: NestedFedLoRU
) -> Reply:
    """Local steps in the nested factors; or in A and B, for a client that opts out."""
    base = memory.shared["base"]
    outer = algorithm.adapter.over(base)
    if ranks is None:
        return Reply(upload=descend(client, factors, algorithm.local, memory, outer))
    start = algorithm.fresh(factors, ranks, turn)
    nested = descend(
        client, start, algorithm.local, memory, lambda parts: outer(algorithm.changed(factors, parts, ranks))
    )
    if not algorithm.send_products:
        return Reply(upload=nested)
    changed = algorithm.changed(factors, nested, ranks)
    return Reply(upload={"A": changed.A - factors.A, "B": changed.B - factors.B})
