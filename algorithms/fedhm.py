r"""FedHM (Yao et al., 2021): clients train factors of the server's weights, each client with its own rank.

The server truncates every named layer of its weights to a client's rank, $W \approx AB$ with the square root of the
singular values in each factor. The client trains A and B instead of W. The server multiplies the returned factors and
averages the products. With one rank for all clients, this is the homogeneous form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from algorithms.adapter import AB, factorised_names, fit_rank, require_rank_for_each
from algorithms.descent import Descent, descend, require_fresh, takes_values
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.flexlora import best_factors
from algorithms.kernels import CONVOLUTIONS, Convolution, as_matrix, from_matrix
from algorithms.tree import Tree
from algorithms.weights import Factored


@dataclass(frozen=True)
class FedHM:
    r"""One round is $W \leftarrow \sum_k s_kA_kB_k$, where client k trains factors of its rank of $W$, the state.

    Attributes:
        local: Local steps in both factors and the weights that are not factorised.
        rank: Rank of every client's factors.
        ranks: Rank of each client's factors, in the order of the clients, instead of one rank for all.
        layers: Patterns for the names of the layers that are factorised; default: all weights, which then must be
            matrices.
        convolution: How to reshape a convolution kernel into a matrix; see `algorithms.kernels`.
        cap: Lower a rank that exceeds the smaller side of a layer; without it, such a rank is an error.

    Raises:
        FederationError: The state of the optimiser is personal.
    """

    local: Descent
    rank: int
    ranks: tuple[int, ...] = ()
    layers: str | None = None
    convolution: Convolution = CONVOLUTIONS[1]
    cap: bool = False

    def __post_init__(self) -> None:
        require_fresh(self.local, "FedHM cuts its factors out of the weights")

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Return the state before the first round.

        Raises:
            FederationError: A rank does not fit a layer, or there is not one rank for each client.
        """
        require_rank_for_each(self.ranks, len(fed.clients))
        for name in factorised_names(w, self.layers):
            for rank in sorted({*(self.ranks or (self.rank,))}):
                fit_rank(name, w[name], rank, self.convolution, self.cap)
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Do one round and return the new state."""
        ranks = {number: self.ranks[number] if self.ranks else self.rank for number in cohort}
        cut = {rank: self.cut(w, rank) for rank in sorted({*ranks.values()})}
        shapes = {name: tuple(W.shape) for name, W in w.items()}
        return fed.mean(
            train_in_place,
            to=cohort,
            draw=self.local.draw,
            each={"factors": {number: cut[rank] for number, rank in ranks.items()}},
            then=partial(multiply, shapes),
            local=self.local,
            shapes=shapes,
        )

    def weights(self, w: Tree) -> Tree:
        """Return the weights of the model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return sent

    def cut(self, w: Tree, rank: int) -> AB:
        """Return the best factors of given rank of the named layers, and the other weights."""
        names = factorised_names(w, self.layers)
        matrices = Tree({name: as_matrix(w[name], self.convolution) for name in names})
        return best_factors(matrices, rank, "balanced")._replace(rest=w.but(names))


def train_in_place(
    client: Client, memory: Memory, factors: AB, local: Descent, shapes: Mapping[str, tuple[int, ...]]
) -> Reply:
    """Take local steps in A, B and the rest."""
    assemble = as_values if takes_values(client) else multiply
    trained, personal = descend(client, factors, local, memory, partial(assemble, shapes))
    return Reply(upload=trained, personal=personal)


def multiply(shapes: Mapping[str, tuple[int, ...]], factors: AB) -> Tree:
    """Return the products AB and the other weights as tensors, in the order of `shapes`."""
    A, B, rest = factors
    return Tree(
        {name: from_matrix(A[name] @ B[name], shape) if name in A else rest[name] for name, shape in shapes.items()}
    )


def as_values(shapes: Mapping[str, tuple[int, ...]], factors: AB) -> Tree:
    """Return the weights as factors through which layers compute."""
    A, B, rest = factors
    values: dict[str, Any] = {
        name: Factored(A[name], None, B[name].mT, shape) if name in A else rest[name] for name, shape in shapes.items()
    }
    return Tree(values)
