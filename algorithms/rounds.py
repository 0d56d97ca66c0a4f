"""The loop over rounds, which every run, figure, check and test uses."""

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
from rmt.results import Result, format_value

S = TypeVar("S")
_REMEDY = "lower the learning rate"
COLUMNS = ("round", "rank", "bytes_down", "bytes_up", "alignment")
"""Names of the metrics that a run adds to the metrics of its problem."""


class Algorithm(Protocol):
    """A federated algorithm: its initial state, its round, and the model of a state."""

    def start(self, fed: Federation, w: Tree) -> Any:
        """Return the state before the first round."""
        ...

    def round(self, fed: Federation, cohort: Cohort, state: Any) -> Any:
        """Do one round and return the new state."""
        ...

    def weights(self, state: Any) -> Tree:
        """Return the weights of the model."""
        ...


class FederatedProblem(Protocol):
    """Clients, initial weights and an evaluation.

    The evaluation is either ``evaluate(weights, fed)``, which returns numbers by name, or ``loss(weights)`` and
    `measures`, further functions of the weights. Three members are optional: ``evaluate_personal(weights_of, fed)``
    evaluates the clients' own models; ``known`` lists tensors that clients have from the start; and if
    ``takes_values`` is true, `evaluate` accepts an algorithm's ``values``, factors instead of their products.
    """

    @property
    def clients(self) -> Clients | Sequence[Any]:
        """The clients."""
        ...

    @property
    def shares(self) -> Sequence[float] | None:
        """Weights of the clients in averages; None: the sizes of their data."""
        ...

    @property
    def start(self) -> Mapping[str, Tensor]:
        """Initial weights."""
        ...


@dataclass(frozen=True)
class RunState:
    """The state of a run after a round, from which it can be resumed.

    Attributes:
        round: Number of completed rounds.
        algorithm: State of the algorithm.
        federation: Values that clients keep between rounds.
    """

    round: int
    algorithm: Any
    federation: FederationState


@dataclass(frozen=True)
class Step(Result):
    """The outcome of a round.

    Attributes:
        metrics: Round, loss, the problem's measures, rank and bytes, by name.
        state: State of the run after the round.
        ledger: Record of all messages so far.
    """

    unplain = ("state", "ledger")

    metrics: dict[str, float]
    state: RunState
    ledger: Ledger

    def words(self) -> dict[str, str]:
        """Return the metrics as formatted text."""
        return {name: format_value(value) for name, value in self.metrics.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.words().items())


def one_round(
    round: Callable[[Federation, Cohort, S], S], fed: Federation, state: S, cohort: int | Cohort | None = None
) -> S:
    """Do one round, after discarding what clients kept for the last one and drawing the cohort.

    Args:
        round: Work of the cohort in a round, such as the `round` of an algorithm.
        fed: The federation.
        state: State before the round.
        cohort: Clients of the round, or the number of clients to draw; default: all.

    Returns:
        The state after the round.

    Raises:
        FederationError: The round failed.
    """
    number = fed._begin()
    try:
        return round(fed, fed.cohort(cohort) if cohort is None or is_whole(cohort) else _as_numbers(cohort), state)
    except torch.linalg.LinAlgError as error:  # the uploads were finite, but sums or products of them are not
        raise FederationError(
            f"round {number}: a decomposition failed, probably because numbers overflowed; {_REMEDY}"
        ) from error
    except NotImplementedError as error:
        raise _unsupported(error) from error


def _as_numbers(cohort: Any) -> Cohort:
    """Return the numbers of named clients; arrays are converted to Python integers, because states store these."""
    numbers = cohort.tolist() if isinstance(cohort, np.ndarray | Tensor) else cohort
    if not isinstance(numbers, Sequence):
        raise FederationError(f"a cohort must be a number of clients, or a list of client numbers, got {cohort!r}")
    return numbers


def go_on(
    round: Callable[[Federation, Cohort, S], S],
    fed: Federation,
    state: S,
    rounds: int,
    cohort: int | Cohort | None = None,
) -> Iterator[S]:
    """Yield the state after each of the next `rounds` rounds; other arguments as in `one_round`."""
    for _ in range(rounds):
        state = one_round(round, fed, state, cohort)
        yield state


def final(states: Iterator[S], before: S) -> S:
    """Return the last of the states, or `before` if there are none."""
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
    """Run an algorithm; yield the step before the first round, unless the run is resumed, and then after every round.

    Args:
        algorithm: Algorithm to run.
        problem: Clients, initial weights and evaluation.
        rounds: The last round.
        cohort: Number of clients in a round; default: all. Central training has one client in every round.
        seed: Seed of the cohorts and of the clients' random numbers.
        executor: Default: one client after the other.
        resume: State and ledger of an earlier run of the same settings.
        evaluate_every: Number of rounds between evaluations; the start and the last round are always evaluated. The
            metrics of other rounds contain only what costs nothing.
        aligned: Measure in every round the cosine similarity of the clients' updates and the server's
            (`algorithms.alignment`), as the metric `alignment`; nan before the first round. Needs memory for one model
            for each client of a round.

    Raises:
        FederationError: The run cannot continue, or a loss is not finite.
    """
    require_whole(0, rounds=rounds)
    require_whole(1, evaluate_every=evaluate_every, cohort=1 if cohort is None else cohort)
    if resume and resume[0].round > rounds:
        raise FederationError(
            f"the run is at round {resume[0].round}, past the requested last round, {rounds}; raise rounds"
        )
    ledger = resume[1] if resume else Ledger()
    clients, shares = problem.clients, problem.shares
    if hasattr(algorithm, "pool"):  # central training: one client instead of all
        clients, shares = algorithm.pool(clients, shares)
        cohort = None
    _require_trained_statistics(algorithm, clients)
    _require_pairs(algorithm)
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
    """Explain errors of decompositions, which need single or double precision; return other errors unchanged."""
    if "not implemented for" not in str(error):
        return error
    return FederationError(f"torch cannot compute this with numbers of this type ({error}); use float32 or float64")


def _require_trained_statistics(algorithm: Algorithm, clients: Clients | Sequence[Any]) -> None:
    """Check that the rest of the weights is trained if it contains running statistics.

    If the rest were frozen, the running statistics would keep their initial values.
    """
    if getattr(getattr(algorithm, "adapter", None), "rest", "") == "frozen" and _statistics(clients):
        raise FederationError(
            "freezing the other weights would freeze batch norm's running statistics, which evaluation uses; "
            "train them, choose "
            "statistics 'batch', or a group norm"
        )


def _require_pairs(algorithm: Algorithm) -> None:
    """Check that clients train A and B in the same steps if B has a learning rate of its own."""
    adapters = (getattr(algorithm, name, None) for name in ("adapter", "personal_adapter"))
    own = any(getattr(adapter, "b_rate", None) is not None for adapter in adapters)
    if own and not getattr(algorithm, "trains_pairs", False):
        raise FederationError(
            f"b_rate is for clients that train A and B in the same steps, which those of {type(algorithm).__name__} do "
            "not; leave it out"
        )


def _statistics(clients: Clients | Sequence[Any]) -> Collection[str]:
    """Return the names of weights that are observed and not trained."""
    names: Collection[str] = getattr(clients[0], "statistics", ())
    return names


def _metrics(
    problem: FederatedProblem, algorithm: Algorithm, state: Any, fed: Federation, number: int, evaluated: bool
) -> dict[str, float]:
    metrics = _evaluate(problem, algorithm, state, fed) if evaluated else {}
    for name, value in metrics.items():
        if name.endswith("loss") and not isfinite(value):
            if number == 0:
                raise FederationError(
                    f"the {name} at the start is {value}; check the network and its data, or lower heterogeneity"
                )
            raise FederationError(f"round {number}: the {name} is {value}; {_REMEDY}")
    ranks = {"rank": float(max(U.shape[1] for U in state.U.values()))} if isinstance(state, USV) else {}
    return {
        "round": number,
        **metrics,
        **ranks,
        "bytes_down": fed.ledger.bytes("down"),
        "bytes_up": fed.ledger.bytes("up"),
    }


def _evaluate(problem: Any, algorithm: Any, state: Any, fed: Federation) -> dict[str, float]:
    through_factors = getattr(problem, "takes_values", False) and hasattr(algorithm, "values")
    w = algorithm.values(state) if through_factors else algorithm.weights(state)
    if not isinstance(w, Mapping):
        raise FederationError(
            f"the weights of {type(algorithm).__name__} must be tensors by name, not a {type(w).__name__}; round "
            f"must return the state, and weights must turn it into a tree"
        )
    if hasattr(problem, "evaluate"):
        metrics = dict(problem.evaluate(w, fed))
    else:
        metrics = {"loss": problem.loss(w), **{name: measure(w) for name, measure in problem.measures.items()}}
    if hasattr(algorithm, "personal_weights") and hasattr(problem, "evaluate_personal"):
        metrics |= problem.evaluate_personal(lambda client: algorithm.personal_weights(fed, state, client), fed)
    return metrics
