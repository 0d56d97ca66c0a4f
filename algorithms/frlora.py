r"""FRLoRA (Yan et al., 2025): every round adds the averaged change of the factors to the weights of all clients.

The factors start every round at $A_0, B_0$, the principal singular triplets of the pretrained weights with the square
root of the singular values in each factor, so $\alpha A_0B_0$ is the best approximation of $W_0$ of their rank.
The model before the round is $\bar W + \alpha A_0B_0$ with $\bar W = W_0 - \alpha A_0B_0$ at first. After the round,
everybody adds $\alpha(AB - A_0B_0)$ with the averaged A and B. Accumulated changes have a higher rank than the factors.
The released code gives all clients the same weight. Where a weight has a lower rank than the factors, their remaining
columns and rows are zero and never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent, descend, require_fresh
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.fedlora import LoRA
from algorithms.low_rank import singular_triples
from algorithms.tree import Tree


class FRLoRAState(NamedTuple):
    """The weights without the factors, which every client has, the first factors, and the completed rounds."""

    base: Tree
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FRLoRA(LoRA):
    r"""One round is $W \leftarrow W + \alpha(\bar A\bar B - A_0B_0)$ with the averages of the clients' $A_k$ and $B_k$.

    Raises:
        FederationError: The state of the optimiser is personal.
    """

    makes_factors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_fresh(self.local, "FRLoRA starts its factors")

    def start(self, fed: Federation, w: Tree) -> FRLoRAState:  # type: ignore[override]
        """Broadcast the weights, from which every client computes the first factors, and return the first state.

        Raises:
            FederationError: The rank does not fit a layer, or a layer has only zeros.
        """
        A, B = self.principal_factors(w)
        fed.broadcast(base=w)
        base = self.adapter.weights(w, AB(-A, B, Tree()))
        fed.set_shared(base=base, A=A, B=B)
        rest = Tree() if self.adapter.rest == "frozen" else w.but(A)
        return FRLoRAState(base, AB(A, B, rest), 0)

    def round(self, fed: Federation, cohort: Cohort, state: FRLoRAState) -> FRLoRAState:
        """Do one round and return the new state."""
        A, B, rest = state.factors
        mean = fed.mean(
            train_from_first_factors, to=cohort, draw=self.local.draw, rest=rest, local=self.local, adapter=self.adapter
        )
        pair = mean._replace(rest=Tree())  # the rest is sent in every round
        fed.broadcast(averaged=pair)
        base = self.adapter.weights(self.adapter.weights(state.base, pair), AB(-A, B, Tree()))
        fed.set_shared(base=base)
        return FRLoRAState(base, AB(A, B, mean.rest), state.rounds + 1)

    def client_model(self, state: FRLoRAState, sent: AB) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return self.adapter.weights(state.base, sent)

    def merged_rank(self, state: FRLoRAState, name: str) -> int:
        """Return the largest rank of what has been added to a weight."""
        return (state.rounds + 1) * self.adapter.rank_of(name)

    def principal_factors(self, w: Tree) -> tuple[Tree, Tree]:
        """Return the factors of the best approximation of the weights, divided by the scale."""
        scale, A, B = self.adapter.scale, {}, {}
        for name, matrix in self.adapter.matrices(w).items():
            U, sigma, V = singular_triples(matrix, self.adapter.rank_of(name))
            if not sigma.any():
                raise FederationError(f"{name} has only zeros, so FRLoRA finds no factors in it; leave out this layer")
            root, like = (sigma / abs(scale)).sqrt(), self.adapter.like(w[name])
            A[name] = (U * root if scale > 0.0 else -U * root).to(like)
            B[name] = (root[:, None] * V.mT).to(like)
        return Tree(A), Tree(B)


def train_from_first_factors(client: Client, memory: Memory, rest: Tree, local: Descent, adapter: Adapter) -> Reply:
    """Take local steps in both factors from the first ones."""
    start = AB(memory.shared["A"], memory.shared["B"], rest)
    trained, personal = descend(
        client, start, local, memory, adapter.assembler(client, memory.shared["base"]), rates=adapter.rates(start)
    )
    return Reply(upload=trained, personal=personal)
