"""Settings of a run apart from its algorithm and problem; without torch, so the command line starts quickly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from workloads.processes.cluster import require_graphics


@dataclass(frozen=True)
class Remedy:
    """A remedy of an error, worded for each way to start a run.

    Attributes:
        command: Words for `rankproof train`.
        app: Words for an app that `flwr run` starts; none: it has nothing of the kind.
        resumed: Words for `rankproof train --resume`, where they are others.
    """

    command: str
    app: str | None = None
    resumed: str | None = None


ELSEWHERE = Remedy(
    "name another folder with --out",
    "name another `folder` in the app's config",
    "leave --resume out and name another folder with --out",
)
ANEW = Remedy("start over with --force")
NAME_A_RUN = Remedy(
    "name the folder of one; `rankproof runs list FOLDER` lists those in a folder",
    resumed="leave --resume out and name it with --out to start one there",
)


class RunError(ValueError):
    """Error about a run that cannot start or resume; the message names cause and remedy.

    Attributes:
        cause: Cause, or the whole message where no remedies are given by themselves.
        remedies: Remedies, of which one is enough; a text is the same for each way to start a run.
    """

    def __init__(self, cause: str, *remedies: Remedy | str) -> None:
        """Make the message.

        Args:
            cause: Cause, or the whole message.
            remedies: Remedies that end the message.
        """
        self.cause, self.remedies = cause, remedies
        super().__init__(_message(cause, [one if isinstance(one, str) else one.command for one in remedies]))

    def of_resumed(self) -> str:
        """Return the message for `rankproof train --resume`."""
        words = [one if isinstance(one, str) else one.resumed or one.command for one in self.remedies]
        return _message(self.cause, words)

    def of_app(self) -> str:
        """Return the message for an app that `flwr run` starts."""
        words = [one if isinstance(one, str) else one.app for one in self.remedies]
        return _message(self.cause, [text for text in words if text is not None])


def _message(cause: str, remedies: list[str]) -> str:
    *most, last = remedies or [""]
    listed = f"{', '.join(most)}, or {last}" if most else last
    return f"{cause}; {listed}" if listed else cause


EARLIER_NAMES: Mapping[str, str] = {
    "max_length": "length",
    "client_weights": "weighed",
    "micro_batch": "at_once",
    "gradient_checkpointing": "checkpointing",
    "eval_batch": "rows",
    "allow_pickle": "pickled",
}
"""Names that options of networks had when the first runs were stored; see `runs.options.Option.earlier`."""


@dataclass(frozen=True)
class RunSettings:
    """Settings that decide the numbers of a run of any algorithm and problem.

    Attributes:
        cohort: Number of clients in each round; default: all.
        seed: Seed of all random draws.
        alignment: Measure the cosine similarity of the clients' updates and the server's update in every round.

    Raises:
        RunError: A value out of its range.
    """

    cohort: int | None = None
    seed: int = 0
    alignment: bool = False

    def __post_init__(self) -> None:
        at_least(1, cohort=self.cohort)
        at_least(0, seed=self.seed)


MEASURED = ("alignment", "training_loss")
"""Settings that measure more and change nothing else: a part of what a run is only where they are asked for."""
UNASKED = (
    *(f"{owner}{name}" for owner in ("", "personal_") for name in ("a_at", "precision", "b_rate", "schedule_warmup")),
    *("template", "metrics", "autocast"),
)
"""Options that came later, of value None where nobody asks for them; they are a part of what a run is only then."""
PLACE = ("executor", "device")
"""Where a run is computed: another place changes the last digits."""
COMPUTED = "computation in the network"
"""Name of the numbers that a problem's network makes of the same weights and samples."""
PRETRAINED, CONFIGURATION, ADAPTER = "pretrained model", "configuration of the model", "adapter"
"""Names of what a language model's run starts from, besides a new head."""
START, SIZES, CONTENT = "start", "sizes of silos", "content of silo "
"""Names of the start of a run of silos, of their sizes, and of a silo's data, which the name of the silo follows."""
ANSWERED = "silos"
"""Metric with the number of silos whose losses the loss averages."""
STAYING = (*PLACE, "evaluate_every", "keep_every", "spectrum", "spectrum_quantities")
"""Settings of a run's conduct that its folder keeps; the first versions had these among what decides the numbers."""


@dataclass(frozen=True)
class Conduct:
    """Conduct of a run: it does not enter the run's identity, so a resumed run may change it.

    Attributes:
        rounds: Number of rounds; may be raised when a run is resumed.
        executor: How to run the clients' work. `ray` gives the same digits as `sequential`, but with `vmap` the
            last digits may differ.
        device: Torch device for networks; the last digits of results may depend on it.
        evaluate_every: Rounds between evaluations; the start and the last round are always evaluated.
        workers: Number of processes (each with one thread) or Ray actors that share the clients of a round.
        address: Address of the Ray cluster, as `ray start` prints it, or `auto`; default: local, which starts a cluster
            for this run only.
        gpus_per_worker: GPUs per Ray actor, needed if the device is a GPU; with 0.25, four actors share one.
        save_every: Minimum time in seconds between checkpoints; it increases if writing them takes more than a
            twentieth of the run.
        save_in_round: Minimum time in seconds between checkpoints within a round. From them a run resumes in the
            middle of a round, even between a client's local steps. Only the executor `sequential` with one worker
            writes them. The time increases as for `save_every`.
        keep_every: Keep a checkpoint every N rounds, for `rankproof spectrum --checkpoints`; default: keep only
            the last two.
        spectrum: Measure the Hessian at the server's weights every N rounds, on the samples of all clients, and write
            `spectrum.csv`; default: never.
        spectrum_quantities: Quantities to measure, separated by commas, as for `rankproof spectrum --quantities`;
            default: sharpness.
        tensorboard: Also write the metrics for TensorBoard.
        root: Folder of the data sets; default: $RANKPROOF_DATA, else data.

    Raises:
        RunError: A value out of its range.
    """

    rounds: int = 100
    executor: Literal["sequential", "vmap", "ray"] = "sequential"
    device: str = "cpu"
    evaluate_every: int = 1
    workers: int = 1
    address: str | None = None
    gpus_per_worker: float | None = None
    save_every: float = 10.0
    save_in_round: float = 60.0
    keep_every: int | None = None
    spectrum: int | None = None
    spectrum_quantities: str | None = None
    tensorboard: bool = False
    root: str | None = None

    def __post_init__(self) -> None:
        at_least(1, rounds=self.rounds, evaluate_every=self.evaluate_every, workers=self.workers)
        at_least(1, keep_every=self.keep_every, spectrum=self.spectrum)
        for name, value in (("save_every", self.save_every), ("save_in_round", self.save_in_round)):
            if not (isfinite(value) and value >= 0.0):
                raise RunError(f"{name} must be a number of seconds of at least 0, got {value}")
        self._require_cluster()

    def kept(self, name: str) -> Any:
        """Return a value as a folder keeps it: Ray's actors give the same bits as one process."""
        value = getattr(self, name)
        return "sequential" if (name, value) == ("executor", "ray") else value

    def _require_cluster(self) -> None:
        parts = self.gpus_per_worker
        if self.executor != "ray":
            if self.address is not None or parts is not None:
                raise RunError("address and gpus_per_worker require executor ray: choose it, or leave them out")
        elif self.address == "":
            raise RunError("address must name a Ray cluster, such as auto; or leave it out")
        elif (parts is None) != self.device.startswith(("cpu", "meta")):
            raise RunError(
                f"gpus_per_worker is required for GPU devices and for these only, got {parts} for {self.device}"
            )
        elif parts is not None:
            require_graphics(parts, RunError)


def at_least(least: int, **values: int | None) -> None:
    """Refuse numbers below a least one.

    Raises:
        RunError: One is smaller; the message names it.
    """
    for name, value in values.items():
        if value is not None and value < least:
            raise RunError(f"{name} must be a whole number of at least {least}, got {value}")
