r"""FedSA-LoRA (Guo et al., 2025): both factors are trained, A is averaged, and every client keeps its own B.

The model of client k is $W_0 + \alpha AB_k$. The paper's A acts at the inputs of a layer, as ours does with `a_at`
`inputs`. In the released code the classifier is also trained and also stays with its client. The server has no B, so
its own model is that of a client that has not trained yet, and only the clients' models tell how far training is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.fedlora import LoRA
from algorithms.tree import Tree


class SharedA(NamedTuple):
    """The averaged factors, and the other weights if these are also averaged."""

    A: Tree
    rest: Tree


@dataclass(frozen=True)
class FedSALoRA(LoRA):
    r"""One round is $A \leftarrow \sum_k s_kA_k$ after steps in A and the client's own $B_k$.

    Attributes:
        average_rest: Average the trained weights that are not factorised, such as a head; by default each client keeps
            its own, as in the released code.

    Raises:
        FederationError: The rest is averaged but frozen.
    """

    average_rest: bool = False
    kept_factor: ClassVar[str] = "B"

    def __post_init__(self) -> None:
        if self.average_rest and self.adapter.rest == "frozen":
            raise FederationError("a frozen rest is the same at all clients; leave average_rest or rest out")

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """Broadcast the frozen weights, give a first B to every client, and return the state before the first round."""
        state = super().start(fed, w)
        fed.set_personal(B=state.factors.B, rest=state.factors.rest)
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        A, B, rest = state.factors
        sent = SharedA(A, rest if self.average_rest else Tree())
        mean = fed.mean(
            train_with_own_B, to=cohort, draw=self.local.draw, shared=sent, local=self.local, adapter=self.adapter
        )
        return state._replace(factors=AB(mean.A, B, mean.rest if self.average_rest else rest))

    def personal_weights(self, fed: Federation, state: LoRAState, client: int) -> Tree:
        """Return the model of a client."""
        own = fed.personal(client)
        rest = state.factors.rest if self.average_rest else own["rest"]
        return self.adapter.weights(state.base, AB(state.factors.A, own["B"], rest))


def train_with_own_B(client: Client, memory: Memory, shared: SharedA, local: Descent, adapter: Adapter) -> Reply:
    """Take local steps in the server's A and the client's B at once."""
    averaged = bool(shared.rest)
    start = AB(shared.A, memory.personal["B"], shared.rest if averaged else memory.personal["rest"])
    (A, B, rest), kept = descend(
        client, start, local, memory, adapter.assembler(client, memory.shared["base"]), rates=adapter.rates(start)
    )
    own = {"B": B} if averaged else {"B": B, "rest": rest}
    return Reply(upload=SharedA(A, rest if averaged else Tree()), personal={**own, **kept})
