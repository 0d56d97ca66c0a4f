"""Experiments: frozen tables of runs in one store. A run that several experiments share is made once.

The store is a folder of runs as `rankproof train` makes them, each named by the hash of its settings. Finished runs are
reused, interrupted runs resume, and missing runs are made.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from algorithms.federation import FederationError
from runs.catalogue import problem_settings_of
from runs.folder import BusyError, Progress, train
from runs.folder_files import require_removable, require_startable
from runs.index import SETTINGS
from runs.listing import EVERY, FoundRun, find_runs, read_run_of
from runs.plan import (
    Given,
    Plan,
    build_problem,
    changed_code,
    given_of,
    make_plan,
    read_run,
    reads_own,
    require_same_given,
)
from runs.settings import Conduct, RunError, at_least
from workloads.data.idx import DataError

Say = Callable[[str], None]
COSTLESS = {"round", "rank", "bytes_down", "bytes_up", "alignment"}
"""Metrics of every round, evaluated or not."""
SECONDS_BETWEEN_LOOKS = 1.0
"""Where nothing is left to do but to wait for another process."""


@dataclass(frozen=True)
class Trial:
    """A line of an experiment: runs that differ only in their seeds.

    Attributes:
        label: Name in tables and figures.
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        rounds: Number of rounds; longer runs in the store are also used.
        settings: Options by name, the seed left out.
        seeds: One run for each.

    Raises:
        RunError: No round, no seed, a seed twice or among the settings, or a last round that longer runs do not
            evaluate.
    """

    label: str
    algorithm: str
    problem: str
    rounds: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        at_least(1, rounds=self.rounds)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or "seed" in self.settings:
            raise RunError(f"{self.label} needs seeds, each once and not among its settings, got {self.seeds}")
        if self.rounds % self.every:
            raise RunError(
                f"{self.label}: rounds must be a multiple of evaluate_every, {self.every}, got {self.rounds}"
            )

    @property
    def every(self) -> int:
        """Rounds between evaluations."""
        return int(self.settings.get("evaluate_every", 1))

    def plan(self, seed: int, root: str | None = None, device: str = "cpu") -> Plan:
        """Return the plan of the run with a seed, with the data sets in a folder, on a device.

        Raises:
            RunError: The settings are not valid.
        """
        conduct = Conduct(rounds=self.rounds, root=root, device=device)
        return make_plan(self.algorithm, self.problem, {**self.settings, "seed": seed}, conduct)


@dataclass(frozen=True)
class Experiment:
    """A table of runs.

    Attributes:
        trials: Lines of the experiment.

    Raises:
        RunError: Two lines have the same label.
    """

    trials: tuple[Trial, ...]

    def __post_init__(self) -> None:
        labels = [trial.label for trial in self.trials]
        twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
        if twice:
            raise RunError(f"two lines of an experiment have the same name, {twice[0]!r}")

    @property
    def runs(self) -> Iterator[tuple[Trial, int]]:
        """Every line with each of its seeds."""
        return ((trial, seed) for trial in self.trials for seed in trial.seeds)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a run, or the reason why it failed.

    Attributes:
        trial: The line of its experiment.
        seed: Seed of the run.
        run: The run, its rows up to the rounds of the trial.
        failure: Why it ended before its last round, in one line; empty if it did not.
    """

    trial: Trial
    seed: int
    run: FoundRun
    failure: str = ""

    def curve(self, metric: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows that the trial asks for and in which a metric was evaluated.

        Raises:
            RunError: The run failed, or it has no such metric.
        """
        every = 1 if metric in COSTLESS else self.trial.every
        rows = [row for row in self.run.curve(metric) if row["round"] % every == 0]
        if self.failure or not rows:
            raise RunError(f"{self.trial.label}, seed {self.seed}: {self.failure or f'no metric {metric!r}'}")
        return rows


def missing_runs(experiment: Experiment, store: Path) -> list[tuple[Trial, int]]:
    """Return the runs of an experiment that a store lacks, or that were interrupted.

    Raises:
        RunError: The settings are not valid, or a run cannot be read.
    """
    return [
        (trial, seed) for trial, seed in experiment.runs if not _is_complete(_folder(trial, seed, store), trial, seed)
    ]


@dataclass(frozen=True, eq=False)
class Sweep:
    """A pool of workers that makes several runs at a time.

    Attributes:
        pool: Does the work.
        cost: Cost of a run of a trial, in any positive unit: the longest runs start first.
    """

    pool: Executor
    cost: Callable[[Trial], float] = lambda trial: float(trial.rounds)


def carry_out(
    experiment: Experiment,
    store: Path,
    root: str | None = None,
    say: Say = lambda text: None,
    sweep: Sweep | None = None,
    device: str = "cpu",
) -> list[Outcome]:
    """Make the missing runs of an experiment, on one thread, and return the outcomes of all runs in their order.

    An interruption does not lose finished rounds; the next call resumes there. A run that fails in a round, such as a
    diverging one, is an outcome, and the next call tries it again. Several processes may carry out experiments in one
    store: each leaves the runs of other processes to them, and waits for them at the end.

    Args:
        experiment: The table of runs.
        store: Folder of the runs' folders; made if need be.
        root: Where the data sets lie.
        say: Called with a line on the progress.
        sweep: Makes several runs at a time; default: one after the other, in this process.
        device: Torch device of new runs; runs in the store are reused from any device.

    Raises:
        RunError: A run that cannot start, or cannot be read, or a run in the store of other data or other code of the
            user's.
        FederationError: An algorithm that does not fit its problem.
        DataError: A data set that is missing or damaged.
        OSError: The store cannot be written.
    """
    lacking = missing_runs(experiment, store)
    for trial, seed in lacking:
        require_startable(_folder(trial, seed, store))
    given = cache(lambda settings, *where: given_of(build_problem(settings, *where)))
    for trial, seed in experiment.runs:
        _require_own_unchanged(trial, seed, store, root, device, given)
    failures: dict[tuple[str, int], str] = {}
    if sweep is not None:
        failures = _spread(lacking, store, root, device, sweep, say)
    watch = _ProgressReport(sum(trial.rounds for trial, _ in lacking), len(lacking), say)
    waiting = [] if sweep is not None else list(enumerate(lacking, start=1))
    with one_thread():
        while waiting:
            busy = []
            for number, (trial, seed) in waiting:
                failure = _run_trial(trial, seed, store, root, device, watch.reporter(number, trial, seed))
                if failure is None:
                    busy.append((number, (trial, seed)))
                else:
                    failures[trial.label, seed] = failure
                    watch.add_run(trial.rounds)
            if len(busy) == len(waiting):
                say(f"{len(busy)} of {len(lacking)} runs are in progress in another process; waiting for it")
                time.sleep(SECONDS_BETWEEN_LOOKS)
            waiting = busy
    return [_outcome(trial, seed, store, failures) for trial, seed in experiment.runs]


def require_replaceable(experiment: Experiment, store: Path) -> None:
    """Check that a store lets runs of an experiment that are made elsewhere replace its own.

    Longer runs in the store are not checked, because they stay if they begin alike.

    Raises:
        RunError: The folder of a run that would be replaced has a file that no run wrote.
    """
    folders = [(store / trial.plan(seed).folder, trial) for trial, seed in experiment.runs]
    for folder, trial in folders:
        shared = len({other.every for its, other in folders if its == folder}) > 1
        for place in (folder, *([_own(folder, trial)] if shared else ())):
            if not (place / SETTINGS).exists() or find_runs(place)[0].done <= trial.rounds:
                require_removable(place)


def _require_own_unchanged(
    trial: Trial, seed: int, store: Path, root: str | None, device: str, given: Callable[..., Given]
) -> None:
    """Check that a run in the store is of the present functions and files of the user, which its settings only name.

    Raises:
        RunError: It is of others, or they fail now, so that it cannot be compared with them.
    """
    plan = trial.plan(seed, root, device)
    if not reads_own(plan) or not ((folder := _folder(trial, seed, store)) / SETTINGS).exists():
        return
    run = read_run(folder, trust=True)  # the same names as in the trial
    for name in changed_code(plan, run):
        raise RunError(f"{folder} has a run of other {name}; move it away, and it is made again")
    if not run.given or not _is_complete(folder, trial, seed):  # `train` compares what it resumes
        return
    settings = problem_settings_of(plan.problem, plan.settings)
    try:
        now = given(settings, seed, plan.conduct.device, plan.conduct.root)
    except (DataError, FederationError, RunError, ValueError, OSError) as error:
        raise RunError(f"the run in {folder} cannot be compared with your functions and files: {error}") from error
    try:
        require_same_given(folder, run, now)
    except RunError as error:
        raise RunError(f"{error.cause}; move it away, and it is made again") from error


def _run_trial(
    trial: Trial, seed: int, store: Path, root: str | None, device: str, progress: Progress | None = None
) -> str | None:
    """Make a run unless it is complete. Return why it failed, an empty text, or None if another process makes it."""
    folder = _folder(trial, seed, store)
    try:
        while not _is_complete(folder, trial, seed):  # as it does after a line of the same settings
            train(_with_longer_rounds(trial.plan(seed, root, device), folder), folder, progress)
            folder = _folder(trial, seed, store)  # another process may have been there in between
    except BusyError:
        return None
    except FederationError as error:
        if not (folder / SETTINGS).exists():
            raise  # it failed at the start
        return str(error)
    return ""


def _run_trial_remotely(trial: Trial, seed: int, store: Path, root: str | None, device: str) -> str | None:
    """Make a run as `_run_trial` does, perhaps on another machine."""
    if not store.is_dir():
        raise RunError(
            f"{store} is not on {platform.node()}: choose an --out that all machines of the cluster see as one folder"
        )
    return _run_trial(trial, seed, store, root, device)


def _spread(
    lacking: Sequence[tuple[Trial, int]], store: Path, root: str | None, device: str, sweep: Sweep, say: Say
) -> dict[tuple[str, int], str]:
    """Make runs in a pool, the longest first, and return why some failed."""
    store.mkdir(parents=True, exist_ok=True)
    root = None if root is None else str(Path(root).resolve())
    costs = {trial.label: sweep.cost(trial) for trial in {trial.label: trial for trial, _ in lacking}.values()}
    left = sorted(lacking, key=lambda run: -costs[run[0].label])
    under_way: dict[Future[Any], tuple[Trial, int]] = {}
    failures: dict[tuple[str, int], str] = {}
    total, over, began = sum(costs[trial.label] for trial, _ in lacking), 0.0, time.monotonic()
    while left or under_way:
        under_way |= {sweep.pool.submit(_run_trial_remotely, *run, store.resolve(), root, device): run for run in left}
        left = []
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            (trial, seed), failure = under_way.pop(future), future.result()
            if failure is None:  # another process is at it
                left.append((trial, seed))
                time.sleep(SECONDS_BETWEEN_LOOKS)
                continue
            failures[trial.label, seed], over = failure, over + costs[trial.label]
            time_left = format_minutes((time.monotonic() - began) * (total - over) / over)
            say(f"{len(failures)} of {len(lacking)} runs are done, {time_left} left; last {trial.label}, seed {seed}")
    return failures


def _folder(trial: Trial, seed: int, store: Path) -> Path:
    """Return the folder of a run: runs of the same settings share one if it serves all, and else have their own.

    A run serves a trial if it was evaluated in every round that the trial asks for. An interrupted, failed or current
    run is left to trials with the same evaluations, which find it as they left it.
    """
    plan = trial.plan(seed)
    shared = store / plan.folder
    own = _own(shared, trial)
    run = read_run_of(shared, plan.digest) if (shared / SETTINGS).exists() else None
    serves = run is None or not _unevaluated(run, trial)
    if run is not None and serves and run.done >= trial.rounds:
        return shared
    if (own / SETTINGS).exists():
        return own
    free = run is None or run.done >= run.rounds or run.conduct.get("evaluate_every", 1) == trial.every
    return shared if serves and free else own


def _own(shared: Path, trial: Trial) -> Path:
    """Return the folder of a trial's own run, next to one of the same settings with other evaluations."""
    return shared.with_name(f"{shared.name}{EVERY}{trial.every}")


def _unevaluated(run: FoundRun, trial: Trial) -> list[int]:
    """Return the finished rounds in which a trial asks for an evaluation that a run lacks."""
    evaluated = {row["round"] for row in run.rows if set(row) - COSTLESS}
    asked = range(trial.every, min(trial.rounds, run.done) + 1, trial.every)
    return [number for number in asked if number not in evaluated]


def _is_complete(folder: Path, trial: Trial, seed: int) -> bool:
    return (folder / SETTINGS).exists() and read_run_of(folder, trial.plan(seed).digest).done >= trial.rounds


def _with_longer_rounds(plan: Plan, folder: Path) -> Plan:
    """Return the plan, with at least as many rounds as the interrupted run in a folder."""
    if not (folder / SETTINGS).exists():
        return plan
    return replace(
        plan, conduct=replace(plan.conduct, rounds=max(plan.conduct.rounds, read_run_of(folder, plan.digest).rounds))
    )


def _outcome(trial: Trial, seed: int, store: Path, failures: Mapping[tuple[str, int], str]) -> Outcome:
    run = read_run_of(_folder(trial, seed, store), trial.plan(seed).digest)
    failure = failures.get((trial.label, seed), "")
    lacking = [] if failure else _unevaluated(run, trial)
    if lacking:
        raise RunError(f"{run.folder} was not evaluated after round {lacking[0]}; move it away, and it is run again")
    rows = [row for row in run.rows if row["round"] <= trial.rounds]
    return Outcome(trial, seed, replace(run, rows=rows, rounds=trial.rounds), failure)


class _ProgressReport:
    """Reports the progress of runs and the time left, from the finished rounds."""

    def __init__(self, rounds: int, runs: int, say: Say) -> None:
        self._rounds, self._runs, self._say = rounds, runs, say
        self._done, self._started = 0, time.monotonic()

    def reporter(self, number: int, trial: Trial, seed: int) -> Callable[[Mapping[str, Any]], None]:
        """Return the function that takes the metrics of each round of a run."""

        def tell(metrics: Mapping[str, Any]) -> None:
            done = metrics["round"]
            total = self._done + done
            passed = time.monotonic() - self._started
            left = f", {format_minutes(passed * (self._rounds - total) / total)} left" if total else ""
            self._say(f"run {number} of {self._runs}: {trial.label}, seed {seed}, round {done} of {trial.rounds}{left}")

        return tell

    def add_run(self, rounds: int) -> None:
        """Count the rounds of a run that has ended."""
        self._done += rounds


def format_minutes(seconds: float) -> str:
    """Format a time in minutes or hours.

    >>> format_minutes(75), format_minutes(4000)
    ('1 min 15 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread, as `rankproof train` does, because a run's bits depend on the number of threads.

    For small networks two threads on busy processors take ten times as long.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


carried_out = carry_out
"""Earlier name of `carry_out`."""
