r"""RoLoRA, Algorithm 1: train B with A frozen, then A with B frozen, so both averages are exact.

One iteration is two communication rounds and twice the local steps of FedLoRA's round.

In the paper all clients take part, so every mean goes to all, and each half starts from what the other half
broadcast. If only some take part, a client may have missed rounds. The cohort then receives A and B with the first
half, and the new B with the second, and nobody else receives anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.fedlora import LoRA
from algorithms.tree import Tree


class Half(NamedTuple):
    """The parameters trained while a factor is frozen: the other factor, and the weights that are not factorised."""

    factor: Tree
    rest: Tree


@dataclass(frozen=True)
class RoLoRA(LoRA):
    r"""One iteration is $B \leftarrow \sum_k s_kB_k$ with A frozen, then $A \leftarrow \sum_k s_kA_k$ with B frozen.

    Attributes:
        frozen_a: Omit the half-rounds that train A, which gives FFA-LoRA.
    """

    trains_pairs: ClassVar[bool] = False

    frozen_a: bool = False

    @property
    def descents(self) -> tuple[Descent, ...]:
        """The local trainings of a client in a round, in order."""
        return (self.local,) if self.frozen_a else (self.local, self.local)

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """Broadcast the frozen weights and both factors, and return the state before the first round."""
        state = super().start(fed, w)
        fed.broadcast(A=state.factors.A, B=state.factors.B)
        fed.set_shared(rest=state.factors.rest)  # has been sent with the weights
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one iteration, which is two communication rounds, and return the new state."""
        A, B, rest = state.factors
        everyone = len(cohort) == len(fed.clients)
        lacking: dict[str, Any] = {}
        if not _same(fed.state.shared, A=A, B=B, rest=rest):  # the last cohort alone has the factors
            lacking = {"start": Half(B, rest), **({} if self.frozen_a else {"A": A})}
        B, rest = fed.mean(train_B, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter, **lacking)
        if everyone:
            if "A" in lacking:
                fed.set_shared(A=A)  # has been sent to all with the first half
            fed.broadcast(B=B, rest=rest)
        if not self.frozen_a:
            new: dict[str, Any] = {} if everyone else {"B": B, "rest": rest}
            A, rest = fed.mean(train_A, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter, **new)
            if everyone:
                fed.broadcast(A=A, rest=rest)
        return state._replace(factors=AB(A, B, rest))


def _same(shared: Mapping[str, Any], **values: Tree) -> bool:
    """Return whether all clients know these values."""
    return all(
        name in shared
        and shared[name].keys() == value.keys()
        and all(shared[name][key] is entry or torch.equal(shared[name][key], entry) for key, entry in value.items())
        for name, value in values.items()
    )


def train_B(
    client: Client, memory: Memory, local: Descent, adapter: Adapter, start: Half | None = None, A: Tree | None = None
) -> Reply:
    """Take local steps in B and the rest, with A frozen; keep an A that not all clients know."""
    frozen, base = memory.shared["A"] if A is None else A, memory.shared["base"]
    start = start or Half(memory.shared["B"], memory.shared["rest"])
    trained, personal = descend(
        client,
        start,
        local,
        memory,
        lambda at: adapter.weights_for(client, base, AB(frozen, at.factor, at.rest)),
        slot="B",
    )
    return Reply(upload=trained, keep={} if A is None else {"A": A}, personal=personal)


def train_A(
    client: Client, memory: Memory, local: Descent, adapter: Adapter, B: Tree | None = None, rest: Tree | None = None
) -> Reply:
    """Take local steps in A and the rest, with B frozen."""
    B, base = memory.shared["B"] if B is None else B, memory.shared["base"]
    A = memory.kept.get("A", memory.shared["A"])
    start = Half(A, memory.shared["rest"] if rest is None else rest)
    trained, personal = descend(
        client, start, local, memory, lambda at: adapter.weights_for(client, base, AB(at.factor, B, at.rest)), slot="A"
    )
    return Reply(upload=trained, personal=personal)
