"""Curvature of a federation: the server's model after some rounds, on all samples and on single clients' samples."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor

from algorithms.rounds import rounds
from algorithms.weights import Weight, dense_tree
from hessian import Curvature
from runs.folder import CHECKPOINTS, checkpoints_of, require_state
from runs.network_problem import NetworkProblem
from runs.networks.language_network import LanguageProblem
from runs.networks.network_function import Batch
from runs.plan import Parts, Plan, earlier_digest, given_of, parts_of, read_run, require_same_given
from runs.settings import RunError

SERVER = -1
"""Number of the server among the numbers of clients."""
ROWS = 500
"""Samples at a time in a product."""


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run of a network in its folder.

    Attributes:
        folder: Folder of the run.
        plan: Plan of the run.
        parts: Parts of the run.
        problem: Network and clients.
    """

    folder: Path
    plan: Plan
    parts: Parts
    problem: NetworkProblem

    @staticmethod
    def of(folder: Path, device: str, trust: bool = False) -> TrainedRun:
        """Build the network and read the data of a run.

        Args:
            folder: Folder of the run.
            device: Device of the measurement.
            trust: Whether code that the run names may run.

        Raises:
            RunError, FederationError, DataError: The folder, the network or the data are not valid, or have changed.
        """
        run = read_run(folder, trust)
        plan = replace(run.plan, conduct=replace(run.plan.conduct, device=device, workers=1))
        parts = parts_of(plan)
        if not isinstance(parts.problem, NetworkProblem) or isinstance(parts.problem, LanguageProblem):
            raise RunError(
                f"{folder} is a run on {plan.problem}, not on images: spectra through training are those of runs "
                "on images, such as rankproof train fedavg --data mnist"
            )
        require_same_given(folder, run, given_of(parts.problem))
        return TrainedRun(folder, plan, parts, parts.problem)

    def states(self) -> Iterator[tuple[int, Mapping[str, Tensor]]]:
        """Yield the server's weights at the start and after every round with a checkpoint in the folder.

        Raises:
            RunError: A checkpoint is not whole.
        """
        algorithm, settings = self.parts.algorithm, self.plan.settings
        begun = rounds(algorithm, self.problem, rounds=1, cohort=settings["cohort"], seed=settings["seed"])
        kept = checkpoints_of(self.plan, self.parts, self.folder, earlier_digest(self.folder)).load_each()
        for state in chain([next(begun).state], (one.state for one in kept if one.state.round)):
            require_state(self.parts, state.algorithm, self.folder / CHECKPOINTS)
            yield state.round, dense_tree(algorithm.weights(state.algorithm), self.problem.start)


def curvatures(
    problem: NetworkProblem, weights: Mapping[str, Weight], clients: Iterable[int], double: bool = False, **options: Any
) -> Iterator[tuple[int, Curvature]]:
    """Yield the matrix at the server's weights, for the samples of all clients and of single clients.

    Samples are prepared as for tests: neither cropped nor flipped, with batch norm's running statistics. Where every
    batch is normalised by itself, it is here as well.

    Args:
        problem: Network and clients.
        weights: Weights of the server.
        clients: Numbers of the clients; `SERVER` for all samples.
        double: Whether to measure in double precision.
        options: Options of `Curvature`.

    Raises:
        CurvatureError: A network, a loss or data whose curvature cannot be taken.
    """
    network, data = problem.clients.network, problem.clients.data
    module = copy.deepcopy(network.testing.module)
    module = module.double() if double else module  # before the weights, which would be rounded to its type
    module.load_state_dict(dict(weights), strict=False)
    norms = "batch" if network.joint_in_tests else "running"
    for client in clients:
        x, y = network.prepare_samples(data, Batch(samples_of(problem, client)))
        count = -(-len(x) // ROWS)
        batches = list(zip(x.tensor_split(count), y.tensor_split(count), strict=True))
        yield client, Curvature(module, network.loss, batches, batch_norm=norms, **options)


def samples_of(problem: NetworkProblem, client: int) -> Tensor:
    """Return the samples of a client, or of all clients."""
    clients = problem.clients
    return (clients.pooled() if client == SERVER else clients[client]).indices
