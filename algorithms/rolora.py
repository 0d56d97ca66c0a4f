"""RoLoRA, Algorithm 1: train B with A frozen, then A with B frozen, so that both averages are exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
        A = state.factors.A
        # Each half starts from the factors broadcast at the end of the other half.
        B, rest = fed.mean(train_B, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
        fed.broadcast(B=B, rest=rest)
        if not self.frozen_a:
            A, rest = fed.mean(train_A, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
            fed.broadcast(A=A, rest=rest)
        return state._replace(factors=AB(A, B, rest))


def train_B(client: Client, memory: Memory, local: Descent, adapter: Adapter, start: Half | None = None) -> Reply:
    """Take local steps in B and the rest, with A frozen."""
    A, base = memory.shared["A"], memory.shared["base"]
    start = start or Half(memory.shared["B"], memory.shared["rest"])
    trained, personal = descend(
        client, start, local, memory, lambda at: adapter.weights_for(client, base, AB(A, at.factor, at.rest)), slot="B"
    )
    return Reply(upload=trained, personal=personal)


def train_A(client: Client, memory: Memory, local: Descent, adapter: Adapter) -> Reply:
    """Take local steps in A and the rest, with B frozen."""
    B, base = memory.shared["B"], memory.shared["base"]
    start = Half(memory.shared["A"], memory.shared["rest"])
    trained, personal = descend(
        client, start, local, memory, lambda at: adapter.weights_for(client, base, AB(at.factor, B, at.rest)), slot="A"
    )
    return Reply(upload=trained, personal=personal)
