"""An algorithm on a problem, round by round: losses, known truths, and what travelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import torch
from torch import Tensor

from algorithms.federation import Cohort, Executor, Federation, FederationError, FederationState
from algorithms.ledger import Ledger
from algorithms.tree import Tree

_REMEDY = "lower the learning rate"


class Algorithm(Protocol):
    """A round of a federation and the model that its state stands for."""

    def start(self, fed: Federation, w: Tree) -> Any:
        """The state before the first round."""
        ...

    def round(self, fed: Federation, cohort: Cohort, state: Any) -> Any:
        """One round."""
        ...

    def weights(self, state: Any) -> Tree:
        """The model."""
        ...


class FederatedProblem(Protocol):
    """Clients, where they start, and functions of the weights worth following."""

    @property
    def clients(self) -> Sequence[Any]:
        """The clients."""
        ...

    @property
    def weights(self) -> Sequence[float]:
        """Of the clients in averages."""
        ...

    @property
    def start(self) -> Mapping[str, Tensor]:
        """Initial weights."""
        ...

    @property
    def measures(self) -> Mapping[str, Callable[[Mapping[str, Tensor]], float]]:
        """Functions of the weights worth following, by name."""
        ...

    def loss(self, w: Mapping[str, Tensor]) -> float:
        """The global loss."""
        ...


@dataclass(frozen=True)
class RunState:
    """Everything a run needs to go on after a round.

    Attributes:
        round: Rounds done.
        algorithm: State of the algorithm.
        federation: What clients hold between rounds.
    """

    round: int
    algorithm: Any
    federation: FederationState


@dataclass(frozen=True)
class Step:
    """What a round led to.

    Attributes:
        metrics: Round, loss, the problem's measures, rank and bytes, by name.
        state: Where the run stands.
        ledger: What has travelled so far.
    """

    metrics: dict[str, float]
    state: RunState
    ledger: Ledger


def steps(
    problem: FederatedProblem,
    algorithm: Algorithm,
    *,
    rounds: int,
    cohort: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    resume: tuple[RunState, Ledger] | None = None,
) -> Iterator[Step]:
    """Yields the state before the first round (or nothing, on resuming), then every round.

    Args:
        problem: Clients, start and measures.
        algorithm: What to run.
        rounds: The last round.
        cohort: Clients of a round; default: all.
        seed: Of cohorts and of what clients draw.
        executor: Default: one client after the other.
        resume: Where a run of the same settings stood, and its ledger.

    Raises:
        FederationError: The run cannot go on; or the loss is not finite.
    """
    ledger = resume[1] if resume else Ledger()
    fed = Federation(
        problem.clients,
        weights=problem.weights,
        seed=seed,
        executor=executor,
        ledger=ledger,
        state=resume[0].federation if resume else None,
    )
    if resume:
        state, first = resume[0].algorithm, resume[0].round + 1
    else:
        state, first = algorithm.start(fed, Tree(problem.start)), 1
        yield Step(_metrics(problem, algorithm, state, ledger, 0), RunState(0, state, fed.state), ledger)
    for number in range(first, rounds + 1):
        fed.begin()
        try:
            state = algorithm.round(fed, fed.cohort(cohort), state)
        except torch.linalg.LinAlgError as error:  # what the clients sent was finite, sums or products of it are not
            raise FederationError(
                f"round {number}: a decomposition failed, as it does for numbers that overflow; {_REMEDY}"
            ) from error
        yield Step(_metrics(problem, algorithm, state, ledger, number), RunState(number, state, fed.state), ledger)


def _metrics(
    problem: FederatedProblem, algorithm: Algorithm, state: Any, ledger: Ledger, number: int
) -> dict[str, float]:
    w = algorithm.weights(state)
    loss = problem.loss(w)
    if not isfinite(loss):
        if number == 0:
            raise FederationError(f"the loss at the start is {loss}; lower heterogeneity")
        raise FederationError(f"round {number}: the loss is {loss}; {_REMEDY}")
    factors = getattr(state, "S", None)
    ranks = {"rank": float(max(S.shape[0] for S in factors.values()))} if factors is not None else {}
    return {
        "round": number,
        "loss": loss,
        **{name: measure(w) for name, measure in problem.measures.items()},
        **ranks,
        "bytes_down": ledger.bytes("down"),
        "bytes_up": ledger.bytes("up"),
    }
