"""The server's model of a stored run after some rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from torch import Tensor

from algorithms.rounds import rounds
from algorithms.weights import dense_tree
from runs.folder import CHECKPOINTS, checkpoints_of, require_state
from runs.network_problem import NetworkProblem
from runs.networks.language_network import LanguageProblem
from runs.plan import Parts, Plan, earlier_digest, given_of, parts_of, read_run, require_same_given
from runs.settings import RunError


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
            RunError: A checkpoint is not whole, or the first is one of other settings, which is refused before the
                start is yielded.
        """
        algorithm, settings = self.parts.algorithm, self.plan.settings
        begun = rounds(algorithm, self.problem, rounds=1, cohort=settings["cohort"], seed=settings["seed"])
        kept = checkpoints_of(self.plan, self.parts, self.folder, earlier_digest(self.folder)).load_each()
        oldest = next(kept, None)  # before the start is measured, which may take long
        stored = kept if oldest is None else chain([oldest], kept)
        for state in chain([next(begun).state], (one.state for one in stored if one.state.round)):
            require_state(self.parts, state.algorithm, self.folder / CHECKPOINTS)
            yield state.round, dense_tree(algorithm.weights(state.algorithm), self.problem.start)
