"""Experiments of the papers as data: lines of runs, the choice of their learning rates, and the resulting table.

An experiment is a `Design` of lines. Each line is a method in a setting, and all lines are run with the same seeds, so
for a given seed they share samples, clients and initial weights. `run_design` runs what the store lacks and
returns one table. A figure whose `data` returns it is stored, resumed, recomputed and drawn like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from figures.experiments.rate_choice import best_rate, next_tries
from figures.experiments.sweep import outcomes_of
from figures.figure import FigureError, Settings
from runs.experiments import Experiment, Outcome, Trial
from runs.listing import Row

CHOICE, RUN = "choice", "run"
"""Stages of the table: runs that chose the learning rates, and the experiment's own."""


@dataclass(frozen=True)
class Line:
    """A line of an experiment: a method in a setting.

    Attributes:
        keys: Names of the line, by column of the table; all lines of a design have the same columns.
        algorithm: Name of the algorithm on the command line.
        problem: Name of the data set.
        options: Options of the run, without the seed and without a learning rate that is chosen.
        metric: Name of the compared metric, a fraction of 1.
        rate_of: Lines with the same word share a learning rate, which is chosen on the one that is `tuned`.
        tuned: Whether the learning rate is chosen on this line.
    """

    keys: Mapping[str, str | int]
    algorithm: str
    problem: str
    options: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "accuracy"
    rate_of: str = ""
    tuned: bool = False

    @property
    def label(self) -> str:
        """The keys as text."""
        return ", ".join(map(str, self.keys.values()))

    @property
    def choice_metric(self) -> str:
        """Name of the metric by which a learning rate is chosen."""
        return self.metric if self.metric.startswith("personal") else f"validation_{self.metric}"

    def trial(self, rounds: int, seeds: Sequence[int], rate: float | None = None) -> Trial:
        """Return its runs; a cosine without a period gets the number of rounds, and its minimum is at most the rate."""
        options = dict(self.options)
        if rate is not None:
            options["learning_rate"] = rate
        if options.get("schedule") == "cosine":
            options.setdefault("schedule_period", rounds)
            options["schedule_minimum"] = min(options.get("schedule_minimum", 0.0), options["learning_rate"])
        return Trial(self.label, self.algorithm, self.problem, rounds, options, tuple(seeds))


@dataclass(frozen=True)
class Design:
    """How the lines of an experiment are run.

    Attributes:
        lines: The experiment.
        rounds: Rounds of every run.
        seeds: Number of seeds, the same for all lines; 0: learning rates are chosen, and nothing else is run.
        rates: Learning rates among which each group of lines chooses, by samples held out for validation and with
            seeds of their own; `next_tries` continues them. Empty: the options have one.
        tuning_rounds: Rounds of the runs that choose.

    Raises:
        FigureError: No line, other columns in some lines, a group without a line to choose on, or no options to choose.
    """

    lines: tuple[Line, ...]
    rounds: int
    seeds: int
    rates: tuple[float, ...] = ()
    tuning_rounds: int = 1

    def __post_init__(self) -> None:
        if not self.lines or len({tuple(line.keys) for line in self.lines}) > 1:
            raise FigureError("an experiment needs lines, all with the same columns")
        if self.rates:
            chosen = {line.rate_of for line in self.lines if line.tuned}
            lacking = [line.label for line in self.lines if line.rate_of not in chosen]
            if lacking:
                raise FigureError(f"no line of the experiment chooses the learning rate of {lacking[0]}")

    @property
    def runs(self) -> int:
        """Number of runs, including those that choose learning rates among `rates` with the first seed."""
        choosing = sum(line.tuned for line in self.lines) * len(self.rates) if len(self.rates) > 1 else 0
        return len(self.lines) * self.seeds + choosing

    def own_seeds(self, settings: Settings) -> tuple[int, ...]:
        """Return the seeds of the runs, which exclude the seed of the runs that choose learning rates."""
        return tuple(range(100 * settings.seed, 100 * settings.seed + self.seeds))


def run_design(design: Design, settings: Settings) -> pd.DataFrame:
    """Run what the store lacks: first the choice of the learning rates, then the experiment.

    Returns:
        One row for each evaluation: stage (`choice` or `run`), the keys of the line, seed, rate (the learning rate; nan
        where the options have it), round, value (of the line's metric), bytes (travelled so far, both directions) and
        failed (1 in the one row of a run that ended before its last round, as one that diverges does; its value is
        nan).

    Raises:
        RunError, FederationError, DataError, OSError: As `runs.experiments.carry_out`.
    """
    rows, rates = choose_rates(design, settings)
    trials = [line.trial(design.rounds, design.own_seeds(settings), rates.get(line.rate_of)) for line in design.lines]
    for line, outcomes in zip(design.lines, _by_trial(trials, settings), strict=True):
        for outcome in outcomes:
            rows += _rows(RUN, line, outcome, line.metric, rates.get(line.rate_of))
    return pd.DataFrame(rows)


def choose_rates(design: Design, settings: Settings) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return the rows of the runs that choose learning rates, and the rate of each group of lines.

    The rate with the largest accuracy on the samples held out for validation is taken (personal models: on the clients'
    own held-out samples); a run that failed counts as 0. `next_tries` says which rates a group tries, and when a second
    seed decides between two.
    """
    if len(design.rates) < 2:
        return [], {line.rate_of: rate for line in design.lines for rate in design.rates}
    seeds = choice_seeds(settings)
    tuned = [line for line in design.lines if line.tuned]
    rows: list[dict[str, Any]] = []
    values: dict[str, dict[tuple[float, int], float]] = {line.rate_of: {} for line in tuned}
    while True:
        tries = {group: next_tries(known, design.rates, settings.scale) for group, known in values.items()}
        pairs = [(line, rate, number) for line in tuned for rate, number in tries[line.rate_of]]
        if not pairs:
            return rows, {group: best_rate(known) for group, known in values.items()}
        trials = [line.trial(design.tuning_rounds, (seeds[number],), rate) for line, rate, number in pairs]
        for (line, rate, number), (outcome,) in zip(pairs, _by_trial(trials, settings, "rates: "), strict=True):
            last = _rows(CHOICE, line, outcome, line.choice_metric, rate)[-1]
            rows.append(last)
            known = values[line.rate_of]
            known[rate, number] = max(known.get((rate, number), 0.0), 0.0 if last["failed"] else last["value"])


def choice_seeds(settings: Settings) -> tuple[int, int]:
    """Return the first and the second seed of the runs that choose learning rates."""
    return 100 * settings.seed + 99, 100 * settings.seed + 98


def _by_trial(trials: Sequence[Trial], settings: Settings, before: str = "") -> list[list[Outcome]]:
    outcomes = iter(outcomes_of(Experiment(_number_alike(trials)), settings, before))
    return [[next(outcomes) for _ in trial.seeds] for trial in trials]


def _number_alike(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials, with the learning rate added to labels that would otherwise be equal."""
    labels = [trial.label for trial in trials]
    return tuple(
        replace(trial, label=f"{trial.label}, rate {trial.settings.get('learning_rate')}")
        if labels.count(trial.label) > 1
        else trial
        for trial in trials
    )


def _rows(stage: str, line: Line, outcome: Outcome, metric: str, rate: float | None) -> list[dict[str, Any]]:
    def row(of: Row, value: float, failed: int) -> dict[str, Any]:
        sent = int(of.get("bytes_down", 0) + of.get("bytes_up", 0))
        chosen = float("nan") if rate is None else rate
        return {
            "stage": stage,
            **line.keys,
            "seed": outcome.seed,
            "rate": chosen,
            "round": int(of["round"]),
            "value": value,
            "bytes": sent,
            "failed": failed,
        }

    if outcome.failure:
        return [row({"round": outcome.trial.rounds}, float("nan"), 1)]
    return [row(of, float(of[metric]), 0) for of in outcome.curve(metric)]


def finals(table: pd.DataFrame, last: int = 1) -> pd.DataFrame:
    """Return the final value of each run, in the order of the experiment: the mean over its last evaluations.

    Args:
        table: Table of `run_design`.
        last: Number of evaluations.

    Returns:
        The keys, seed, rate, value, bytes (of the whole run) and failed, one row for each run.
    """
    runs = table[table.stage == RUN].reset_index(drop=True)
    keys = [*key_columns(table), "seed"]
    ends = runs.sort_values("round", kind="stable").groupby(keys, sort=False).tail(last).sort_index()
    return (
        ends.groupby(keys, sort=False)
        .agg(rate=("rate", "last"), value=("value", "mean"), bytes=("bytes", "last"), failed=("failed", "max"))
        .reset_index()
    )


def key_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that name a line."""
    names = list(table.columns)
    return names[names.index("stage") + 1 : names.index("seed")]
