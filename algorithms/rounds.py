"""The loop over rounds: every run, figure, claim and test goes through it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from algorithms.alignment import UploadRecorder, alignment, require_models
from algorithms.exchange import is_whole, require_whole
from algorithms.federation import Clients, Cohort, Executor, Federation, FederationError, FederationState
from algorithms.ledger import Ledger
from algorithms.low_rank import USV
from algorithms.tree import Tree
from rmt.results import Result, in_words

S = TypeVar("S")
_REMEDY = "lower the learning rate"
COLUMNS = ("round", "rank", "bytes_down", "bytes_up", "alignment")
"""Names of the metrics that a run adds to those of its problem."""


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
    """Clients and where they start.

    It says how good weights are by ``evaluate(weights, fed)``, numbers by name; or by ``loss(weights)`` and `measures`,
    further functions of the weights. ``evaluate_personal(weights_of, fed)``, where it is there, says how good the
    clients' own models are. ``known``, where it is there, are tensors that clients have before they are told them.
    ``takes_values``, where it is true: `evaluate` takes an algorithm's ``values``, factors in place of their products.
    """

    @property
    def clients(self) -> Clients | Sequence[Any]:
        """The clients."""
        ...

    @property
    def shares(self) -> Sequence[float] | None:
        """Weights of the clients in averages; none: the sizes of their data."""
        ...

    @property
    def start(self) -> Mapping[str, Tensor]:
        """Initial weights."""
        ...


@dataclass(frozen=True)
class RunState:
    """Everything a run needs to go on after a round.

    Attributes:
        round: Rounds done.
        algorithm: State of the algorithm.
        federation: Values that clients keep between rounds.
    """

    round: int
    algorithm: Any
    federation: FederationState


@dataclass(frozen=True)
class Step(Result):
    """Outcome of a round.

    Attributes:
        metrics: Round, loss, the problem's measures, rank and bytes, by name.
        state: Where the run stands.
        ledger: Record of the messages and bytes that have travelled so far.
    """

    unplain = ("state", "ledger")

    metrics: dict[str, float]
    state: RunState
    ledger: Ledger

    def words(self) -> dict[str, str]:
        """Return the metrics in words."""
        return {name: in_words(value) for name, value in self.metrics.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.words().items())


def one_round(
    round: Callable[[Federation, Cohort, S], S], fed: Federation, state: S, cohort: int | Cohort | None = None
) -> S:
    """Does one round: clients forget what they kept for the last one, and the cohort is drawn.

    Args:
        round: Work of the cohort in a round, such as the `round` of an algorithm.
        fed: The federation.
        state: State before the round.
        cohort: Clients of the round, or how many of them are drawn; default: all.

    Returns:
        The state after the round.

    Raises:
        FederationError: The round failed.
    """
    number = fed._begin()
    try:
        return round(fed, fed.cohort(cohort) if cohort is None or is_whole(cohort) else _as_numbers(cohort), state)
    except torch.linalg.LinAlgError as error:  # what the clients sent was finite, sums or products of it are not
        raise FederationError(
            f"round {number}: a decomposition failed, as it does for numbers that overflow; {_REMEDY}"
        ) from error
    except NotImplementedError as error:
        raise _unsupported(error) from error


def _as_numbers(cohort: Any) -> Cohort:
    """The numbers of clients that are named; those of an array are Python's, as states hold them."""
    numbers = cohort.tolist() if isinstance(cohort, np.ndarray | Tensor) else cohort
    if not isinstance(numbers, Sequence):
        raise FederationError(f"a cohort is how many clients, or a row of their numbers, got {cohort!r}")
    return numbers


def go_on(
    round: Callable[[Federation, Cohort, S], S],
    fed: Federation,
    state: S,
    rounds: int,
    cohort: int | Cohort | None = None,
) -> Iterator[S]:
    """Yields the state after every further round; arguments as in `one_round`."""
    for _ in range(rounds):
        state = one_round(round, fed, state, cohort)
        yield state


def final(states: Iterator[S], before: S) -> S:
    """The last of some states; the one before them, where there is none."""
    for state in states:
        before = state
    return before


def rounds(
    algorithm: Algorithm,
    problem: FederatedProblem,
    *,
    rounds: int,
    cohort: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    resume: tuple[RunState, Ledger] | None = None,
    evaluate_every: int = 1,
    aligned: bool = False,
) -> Iterator[Step]:
    """Yields the state before the first round (or nothing, on resuming), then every round.

    Args:
        algorithm: Algorithm to run.
        problem: Clients, start and measures.
        rounds: The last round.
        cohort: Clients of a round; default: all. Central training has one client in every round.
        seed: Seed of cohorts and of what clients draw.
        executor: Default: one client after the other.
        resume: Where a run of the same settings stood, and its ledger.
        evaluate_every: Rounds from one evaluation to the next; the start and the last round are evaluated, too. In the
            other rounds metrics hold only what costs nothing.
        aligned: Measure in every round how far the clients' updates point where the federation's does
            (`algorithms.alignment`), under the name `alignment`; nan before the first. Takes the memory of a model for
            each client of a round.

    Raises:
        FederationError: The run cannot go on; or a number that the problem evaluates is not finite.
    """
    require_whole(0, rounds=rounds)
    require_whole(1, evaluate_every=evaluate_every, cohort=1 if cohort is None else cohort)
    if resume and resume[0].round > rounds:
        raise FederationError(
            f"the run stands at round {resume[0].round}, after the last one that is asked for, {rounds}; raise rounds"
        )
    ledger = resume[1] if resume else Ledger()
    clients, shares = problem.clients, problem.shares
    if hasattr(algorithm, "pool"):  # central training: one client in place of all
        clients, shares = algorithm.pool(clients, shares)
        cohort = None
    _require_followed(algorithm, clients)
    if aligned:
        require_models(algorithm)
    recorder = UploadRecorder(executor) if aligned else None
    fed = Federation(
        clients,
        shares=shares,
        seed=seed,
        executor=recorder or executor,
        ledger=ledger,
        state=resume[0].federation if resume else None,
        known=getattr(problem, "known", ()),
    )
    if resume:
        before, done = resume[0].algorithm, resume[0].round
    else:
        try:
            before, done = algorithm.start(fed, Tree(problem.start)), 0
        except NotImplementedError as error:
            raise _unsupported(error) from error
        metrics = _metrics(problem, algorithm, before, fed, 0, True)
        yield Step({**metrics, "alignment": nan} if aligned else metrics, RunState(0, before, fed.state), ledger)
    for number, state in enumerate(go_on(algorithm.round, fed, before, rounds - done, cohort), done + 1):
        evaluated = number % evaluate_every == 0 or number == rounds
        metrics = _metrics(problem, algorithm, state, fed, number, evaluated)
        if recorder is not None:
            metrics["alignment"] = alignment(algorithm, before, state, recorder.take(), _statistics(clients))
        before = state
        yield Step(metrics, RunState(number, state, fed.state), ledger)


def _unsupported(error: NotImplementedError) -> NotImplementedError | FederationError:
    """Decompositions are for single and double precision; what else is not implemented stays as it is."""
    if "not implemented for" not in str(error):
        return error
    return FederationError(f"torch cannot compute this with numbers of this type ({error}); use float32 or float64")


def _require_followed(algorithm: Algorithm, clients: Clients | Sequence[Any]) -> None:
    """Running statistics are among the rest of the weights: frozen with it, they would stay those of the start."""
    if getattr(getattr(algorithm, "adapter", None), "rest", "") == "frozen" and _statistics(clients):
        raise FederationError(
            "a frozen rest would freeze batch norm's running statistics, which tests use; train the rest, choose "
            "statistics 'batch', or a group norm"
        )


def _statistics(clients: Clients | Sequence[Any]) -> Collection[str]:
    """Names in the weights that are no parameters."""
    found: Collection[str] = getattr(clients[0], "statistics", ())
    return found


def _metrics(
    problem: FederatedProblem, algorithm: Algorithm, state: Any, fed: Federation, number: int, evaluated: bool
) -> dict[str, float]:
    found = _evaluate(problem, algorithm, state, fed) if evaluated else {}
    for name, value in found.items():
        if name.endswith("loss") and not isfinite(value):
            if number == 0:
                raise FederationError(
                    f"the {name} at the start is {value}; look at the network and its data, or lower heterogeneity"
                )
            raise FederationError(f"round {number}: the {name} is {value}; {_REMEDY}")
    ranks = {"rank": float(max(U.shape[1] for U in state.U.values()))} if isinstance(state, USV) else {}
    return {
        "round": number,
        **found,
        **ranks,
        "bytes_down": fed.ledger.bytes("down"),
        "bytes_up": fed.ledger.bytes("up"),
    }


def _evaluate(problem: Any, algorithm: Any, state: Any, fed: Federation) -> dict[str, float]:
    through_factors = getattr(problem, "takes_values", False) and hasattr(algorithm, "values")
    w = algorithm.values(state) if through_factors else algorithm.weights(state)
    if not isinstance(w, Mapping):
        raise FederationError(
            f"the weights of {type(algorithm).__name__} are no tensors by name but a {type(w).__name__}; its round "
            "must return the state, and weights make a tree of it"
        )
    if hasattr(problem, "evaluate"):
        found = dict(problem.evaluate(w, fed))
    else:
        found = {"loss": problem.loss(w), **{name: measure(w) for name, measure in problem.measures.items()}}
    if hasattr(algorithm, "personal_weights") and hasattr(problem, "evaluate_personal"):
        found |= problem.evaluate_personal(lambda client: algorithm.personal_weights(fed, state, client), fed)
    return found
