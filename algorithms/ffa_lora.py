"""FFA-LoRA (Sun et al., 2024): A stays as it was drawn; B is trained and averaged, which is exact."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.adapter import AB, LoRAState
from algorithms.federation import Cohort, Federation
from algorithms.fedlora import LoRA
from algorithms.rolora import Half, train_B
from algorithms.tree import Tree


@dataclass(frozen=True)
class FFALoRA(LoRA):
    """The algorithm."""

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """The state before the first round; every client is told the frozen weights and A."""
        state = super().start(fed, w)
        fed.broadcast(A=state.factors.A)
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        A, B, rest = state.factors
        B, rest = fed.mean(
            train_B, to=cohort, draw=self.local.draw, start=Half(B, rest), local=self.local, adapter=self.adapter
        )
        return state._replace(factors=AB(A, B, rest))
