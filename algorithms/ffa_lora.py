"""FFA-LoRA (Sun et al., 2024): A is frozen at its initial value; B is trained, so its average is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from algorithms.adapter import AB, LoRAState
from algorithms.federation import Cohort, Federation
from algorithms.fedlora import LoRA
from algorithms.rolora import Half, train_B
from algorithms.tree import Tree


@dataclass(frozen=True)
class FFALoRA(LoRA):
    r"""One round is $B \leftarrow \sum_k s_kB_k$ in the model $W_0 + \alpha AB$ with $W_0$ and A frozen."""

    trains_pairs: ClassVar[bool] = False

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """Broadcast the frozen weights and A, and return the state before the first round."""
        state = super().start(fed, w)
        fed.broadcast(A=state.factors.A)
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        A, B, rest = state.factors
        B, rest = fed.mean(
            train_B, to=cohort, draw=self.local.draw, start=Half(B, rest), local=self.local, adapter=self.adapter
        )
        return state._replace(factors=AB(A, B, rest))
