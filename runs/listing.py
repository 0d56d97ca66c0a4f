"""Runs in a folder: their settings, their progress, and comparisons over seeds.

Settings and tables are only read; nothing is recomputed, and torch is not needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import hypot, isfinite, nan, sqrt
from pathlib import Path
from typing import Any

from rmt.results import Result
from runs.format import printable
from runs.index import SETTINGS, digest_of, is_edited, known_digest, last_index, require_file
from runs.settings import (
    ADAPTER,
    ANSWERED,
    CONFIGURATION,
    CONTENT,
    EARLIER_NAMES,
    PRETRAINED,
    SIZES,
    START,
    STAYING,
    RunError,
)
from runs.tables import Mark, rows_of
from workloads.written import FolderRecord

METRICS, LEDGER = "metrics.csv", "ledger.csv"
SUMS = ("bytes_down", "bytes_up")
"""Columns of the metrics that add up over rounds."""
SEED = "seed"
EVERY = "-every-"
"""In a folder's name, before the number of rounds between evaluations: a second run of the same settings."""
OF_SETTINGS, OF_MODEL = ("partition", "network", ADAPTER), (PRETRAINED, CONFIGURATION)
"""Kinds of inputs that other settings change, so they distinguish only runs of the same settings, or of a model."""
MODEL = ("model", "dtype")
"""Settings that name a language model and the type to which its weights are rounded."""
OF_TEXTS = ("model", "samples", "test_samples", "held_out", "length", "truncate", "template")
"""Settings that decide which tokens a language model gets from its data."""
GIVEN = ("data", *OF_SETTINGS, *OF_MODEL)
"""Kinds of inputs from the user's files and functions; their digests distinguish runs."""
DIGITS = 12
"""Number of digits of a digest in a label."""
LEVEL = 0.95
"""Confidence level of the intervals of paired differences."""
LARGE = 1e300
"""Size of values from which their sums and differences may be beyond the largest number."""
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FoundRun(Result):
    """A run in its folder.

    Attributes:
        folder: Folder of the run.
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        settings: Settings that decide its numbers, by name.
        conduct: Stored part of its conduct.
        rounds: Number of rounds asked for.
        rows: Metrics of the rounds so far; a row lacks those that were not evaluated in its round.
        versions: Versions of the software that computed it.
        edited: Whether its settings were changed, so its numbers may belong to other settings.
        given: Digests of the inputs from the user's files and functions, by kind.
    """

    folder: Path
    algorithm: str
    problem: str
    settings: Mapping[str, Any]
    conduct: Mapping[str, Any]
    rounds: int
    rows: Sequence[Row]
    versions: Mapping[str, Any]
    edited: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Number of finished rounds."""
        return int(self.rows[-1]["round"]) if self.rows else 0

    @property
    def last(self) -> dict[str, Any]:
        """Last value of every metric."""
        found: dict[str, Any] = {}
        for row in self.rows:
            found.update(row)
        return found

    @property
    def bytes_sent(self) -> int:
        """Bytes sent so far, in both directions."""
        return _bytes_in(self.rows[-1]) if self.rows else 0

    def at(self, number: int) -> Row:
        """Return the metrics of a finished round; empty for other rounds."""
        return next((row for row in self.rows if row["round"] == number), {})

    def curve(self, metric: str) -> list[Row]:
        """Return the rows in which a metric was evaluated."""
        return [row for row in self.rows if metric in row]

    def left_out(self) -> dict[str, str]:
        """Return why silos were left out, by their names, from the last checkpoint."""
        return self._of_silos("left_out")

    def suspects(self) -> dict[str, str]:
        """Return uploads that may have spoilt the model, by the names of their silos, from the last checkpoint."""
        return self._of_silos("suspects")

    def _of_silos(self, part: str) -> dict[str, str]:
        content = last_index(self.folder)
        found = content.get(part, {}) if str(content.get("run")) in _digests(self.folder) else {}
        return {str(name): str(why) for name, why in found.items()} if isinstance(found, dict) else {}

    def ledger(self) -> list[dict[str, Any]]:
        """Return the messages of the run, one by one; none before the first round.

        Raises:
            RunError: The table cannot be read, or lacks messages that the metrics count.
        """
        path = self.folder / LEDGER
        rows = _table(path, texts=("direction", "what"), counts=("round", "bytes"))
        _require_order(path, [row["round"] for row in rows], consecutive=False)
        _require_counted(path, rows, self.rows)
        return rows


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that differ only in their seeds.

    Attributes:
        label: Difference from the other groups, in words.
        runs: Runs by seed.
        by_seed: Kinds of inputs from the user's functions that differ between seeds: `data`, `network`, or both.
    """

    label: str
    runs: Mapping[int, FoundRun]
    by_seed: Sequence[str] = ()

    def values(self, metric: str, number: int) -> dict[int, float]:
        """Return a metric after a round, by seed, for the runs that evaluated it there."""
        rows = {seed: run.at(number) for seed, run in self.runs.items()}
        return {seed: float(row[metric]) for seed, row in rows.items() if metric in row}

    def bytes_sent(self, number: int) -> float:
        """Return the bytes sent until the end of a round, in both directions, as a mean over the runs."""
        return sum(_bytes_in(run.at(number)) for run in self.runs.values()) / len(self.runs)


@dataclass(frozen=True)
class Difference(Result):
    """Paired difference of two groups in a metric, over common seeds.

    Attributes:
        label: Label of the group.
        against: Label of the group that is subtracted.
        seeds: Number of seeds that both have.
        mean: Mean of the differences; none without a common seed.
        half_width: Half the width of the interval of Student's t around it; none for fewer than two seeds.
    """

    label: str
    against: str
    seeds: int
    mean: float | None
    half_width: float | None


def find_runs(folder: Path) -> list[FoundRun]:
    """Read all runs in a folder and below, sorted by the names of their folders.

    Raises:
        RunError: The folder does not exist, holds no run, or holds one that cannot be read.
    """
    if not folder.is_dir():
        reason = "is not a folder" if folder.exists() else "is not there"
        raise RunError(f"{folder} {reason}; name a folder with runs, such as `rankproof train` makes")
    places = sorted(path.parent for path in folder.rglob(SETTINGS))
    if not places:
        raise RunError(f"{folder} holds no run: no {SETTINGS} in it or below")
    return [_read_run(place) for place in places]


def _read_run(folder: Path) -> FoundRun:
    path = folder / SETTINGS
    require_file(path)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        names, settings, rounds = (stored["algorithm"], stored["problem"]), stored["settings"], stored["rounds"]
        versions, conduct = stored.get("versions", {}), stored.get("conduct", {})
        right = all(isinstance(name, str) for name in names) and type(rounds) is type(settings[SEED]) is int
        if not (right and all(isinstance(part, dict) for part in (settings, versions, conduct))):
            raise ValueError("not a file that a run wrote")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{path} is not a file that a run wrote; fix it, or name a folder without it") from error
    if not 0 <= rounds < 2**63:
        raise RunError(f"{path} asks for {str(rounds)[:40]} rounds; fix it, or name a folder without it")
    rows = _table(folder / METRICS, counts=("round", *SUMS))
    _require_order(folder / METRICS, [row["round"] for row in rows])
    for before, after in pairwise([dict.fromkeys(SUMS, 0), *rows]):
        fallen = [name for name in SUMS if after[name] < before[name]]
        if fallen:
            raise _table_error(
                folder / METRICS, f"{fallen[0]} decrease in round {after['round']}, but totals can only increase"
            )
    if rows and rows[-1]["round"] > rounds:
        raise _table_error(folder / METRICS, f"it has round {rows[-1]['round']}, and {SETTINGS} asks for {rounds}")
    settings = _as_stored(stored, last_index(folder).get("run"))
    conduct = {name: value for name, value in {**settings, **conduct}.items() if name in STAYING}
    settings = {name: value for name, value in settings.items() if name not in STAYING}
    given = part if isinstance(part := stored.get("given"), dict) else {}
    return FoundRun(folder, *names, settings, conduct, rounds, rows, versions, _is_edited(folder), given)


def _is_edited(folder: Path) -> bool:
    """Return whether the settings were changed, by the checkpoints or, without any, by the folder's record."""
    run = last_index(folder).get("run")
    return is_edited(folder) if run is None else str(run) not in _digests(folder)


def drop_edited(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """Return the runs with unchanged settings; the settings behind the numbers of the others are unknown.

    Raises:
        RunError: All runs were changed.
    """
    kept = [run for run in runs if not run.edited]
    if not kept:
        raise RunError(
            f"{describe_edit(runs[0])}; restore it from a copy, or name a folder with runs as they were written"
        )
    return kept


def read_run_of(folder: Path, digest: str) -> FoundRun:
    """Read the run in a folder, which must be the one with a digest of its settings (`runs.plan.Plan.digest`).

    Raises:
        RunError: It is a run of other settings, its settings were edited, or it cannot be read.
    """
    run = find_runs(folder)[0]
    if run.edited:
        raise RunError(
            f"{describe_edit(run)}; restore it from a copy, or move the folder away and the run is made again"
        )
    if digest not in _digests(run.folder):
        raise RunError(
            f"{run.folder} has a run whose settings are not those of its name; move it away, and the run is made again"
        )
    return run


def describe_edit(run: FoundRun) -> str:
    """Return the line about a run whose settings were edited."""
    return f"{run.folder}: {SETTINGS} has been edited since the run wrote it"


def _table(path: Path, counts: Sequence[str], texts: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the complete lines of a table, because a running process may not have finished the last line.

    Args:
        path: Path of the table.
        counts: Columns with a whole number in every row.
        texts: Columns with a text in every row; all others hold numbers, or nothing.
    """
    if path.is_symlink():
        raise RunError(f"{path} is a link, but runs write plain files; put the file there, or name a folder without it")
    require_file(path)
    mark = _mark_of(path)  # before the table, which a run lengthens first
    data = path.read_bytes() if path.exists() else b""
    if mark is not None and (len(data) < mark.length or hashlib.sha256(data[: mark.length]).hexdigest() != mark.sha256):
        raise RunError(f"{path} is not what the run wrote; restore it from a copy, or name a folder without it")
    try:
        rows = rows_of(data[: data.rfind(b"\n") + 1])
        for line, row in enumerate(rows, start=2):
            if None in row:
                raise ValueError(f"line {line}: more cells than columns")
            lacking = [name for name in (*counts, *texts) if name not in row]
            wrong = [name for name in counts if type(row.get(name, 0)) is not int or row.get(name, 0) < 0]
            wrong += [name for name, value in row.items() if name not in texts and not _is_number(value)]
            if lacking or wrong:
                raise ValueError(f"line {line}: {f'no {lacking[0]}' if lacking else f'{wrong[0]} is not a number'}")
    except ValueError as error:
        raise _table_error(path, str(error)) from error
    return rows


def _table_error(path: Path, why: str) -> RunError:
    return RunError(f"{path} is not a table of a run ({why}); fix it, or name a folder without it")


def _require_order(path: Path, rounds: Sequence[int], consecutive: bool = True) -> None:
    """Check that rounds follow each other as a run writes them, from 0 on where each has one row.

    Raises:
        RunError: One is missing, twice there, or in another place.
    """
    if consecutive:
        odd = next(((line, number) for line, number in enumerate(rounds) if number != line), None)
        if odd is not None:
            raise _table_error(path, f"line {odd[0] + 2}: round {odd[1]}, where round {odd[0]} belongs")
        return
    for line, (before, after) in enumerate(pairwise(rounds), start=3):
        if after < before:
            raise _table_error(path, f"line {line}: round {after} after round {before}")


def _require_counted(path: Path, messages: Sequence[Row], rows: Sequence[Row]) -> None:
    """Check that the bytes of messages add up to those that the metrics count.

    A run that is writing, or was killed, may lack messages of its last round, or have some of the next.

    Raises:
        RunError: Messages are missing, or too many.
    """
    last = messages[-1]["round"] if messages else -1
    for way, name in (("down", "bytes_down"), ("up", "bytes_up")):
        sent = dict.fromkeys(range(len(rows)), 0)
        for message in messages:
            if message["direction"] == way and message["round"] in sent:
                sent[message["round"]] += message["bytes"]
        totals = list(accumulate(sent.values()))
        for row, total in zip(rows, totals, strict=True):
            number = row["round"]
            complete = number < max(last, len(rows) - 1)
            if total > row[name] or (complete and total != row[name]):
                raise _table_error(path, f"{total} bytes {way} until round {number}, where {METRICS} has {row[name]}")


def _mark_of(table: Path) -> Mark | None:
    """Return the mark of a table at the last checkpoint, or without any in the folder's record; None if unknown."""
    index = last_index(table.parent)
    if not index:
        return _recorded_mark(table)
    marks = index.get("marks")
    with suppress(ValueError):
        return Mark.of(marks.get(table.name)) if isinstance(marks, dict) else None
    return None


def _recorded_mark(table: Path) -> Mark | None:
    """Return the last mark of a table in the folder's record; None if the run began the table again after it."""
    found = None
    with suppress(OSError):
        for name, length, digest in FolderRecord(table.parent).lines() if table.exists() else ():
            if name == table.name:
                found = None if length is None else Mark(length, digest)
    return found


def _digests(folder: Path) -> set[str]:
    """Return the digests under which checkpoints may know the run in a folder; see `runs.plan.Plan.digest`."""
    stored = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    digest = _digest(stored, stored["settings"])
    return {digest, _digest(stored, _with_earlier_names(stored["settings"])), known_digest(folder, stored, digest)}


def _digest(stored: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return digest_of({"algorithm": stored["algorithm"], "problem": stored["problem"], **settings})


def _as_stored(stored: Mapping[str, Any], run: object) -> Mapping[str, Any]:
    """Return settings under the names that a run writes, if they have present ones: `train --resume` reads both."""
    settings: Mapping[str, Any] = stored["settings"]
    earlier = _with_earlier_names(settings)
    return earlier if _digest(stored, earlier) == run else settings


def _with_earlier_names(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with earlier names of renamed options, or as they are where one is there under both."""
    earlier = {EARLIER_NAMES.get(name, name): value for name, value in settings.items()}
    return earlier if len(earlier) == len(settings) else settings


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def drop_duplicates(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """Return runs without the duplicates that exist only because they were evaluated in other rounds.

    The numbers are the same. The longest run stays, and of equally long runs the one evaluated most often. A run on
    other inputs from the user's files and functions has other numbers, so it stays; one whose inputs are not all known
    is a duplicate if they fit those of exactly one of the others.
    """
    alike: dict[str, list[FoundRun]] = {}
    for run in runs:
        name, _, every = run.folder.name.rpartition(EVERY)
        known = json.dumps([run.algorithm, run.problem, run.settings], sort_keys=True)
        key = known + str(run.folder.with_name(name) if name and every.isdecimal() else run.folder)
        alike.setdefault(key, []).append(run)
    kept = [
        max(group, key=lambda one: (one.done, sum(map(len, one.rows))))
        for several in alike.values()
        for group in _by_inputs(several)
    ]
    return [run for run in runs if run in kept]


def _by_inputs(runs: Sequence[FoundRun]) -> list[list[FoundRun]]:
    """Return runs of equal settings in groups of equal inputs, by the digests that are known."""
    groups: list[list[FoundRun]] = []
    for run in sorted(runs, key=lambda run: -len(run.given)):
        equal = [group for group in groups if group[0].given == run.given]
        fitting = equal or [group for group in groups if run.given.items() <= group[0].given.items()]
        if len(fitting) == 1:
            fitting[0].append(run)
        else:
            groups.append([run])
    return groups


def group_runs(runs: Sequence[FoundRun]) -> list[Group]:
    """Group runs that differ only in their seeds; labels say what distinguishes the groups.

    Runs on other data are other groups, and so are runs of silos that differ in their start, their sizes or their data.
    The inputs that a user's function returns may be drawn from the seed, and do not part runs where each seed has its
    own. An app for silos does not get the seed in its functions.

    Raises:
        RunError: Two runs are of the same settings and seed.
    """
    alike: dict[str, list[FoundRun]] = {}
    for run in runs:
        rest = {name: value for name, value in run.settings.items() if name != SEED}
        alike.setdefault(json.dumps([run.algorithm, run.problem, rest], sort_keys=True), []).append(run)
    labels = _labels([same[0] for same in alike.values()])
    return [
        Group(" ".join([label, *words]), _by_seed(part), by_seed)
        for label, same in zip(labels, alike.values(), strict=True)
        for part, words, by_seed in _by_given(same, [run for run in runs if _source(run) == _source(same[0])])
    ]


def _source(run: FoundRun) -> tuple[Any, ...]:
    """Return the name of the data of a run, and the settings by which it resizes images or reads texts."""
    return run.problem, *(run.settings.get(name) for name in ("side", *(OF_TEXTS if _has_texts(run) else ())))


def _has_texts(run: FoundRun) -> bool:
    return str(run.settings.get("model")).startswith("hf:")


def _draws_texts(name: str, run: FoundRun) -> bool:
    """Return whether the seed decides which texts a run trains on, and so the digests of its data and its clients."""
    return name in ("data", "partition") and _has_texts(run) and any(map(run.settings.get, ("samples", "held_out")))


def _by_seed(runs: Sequence[FoundRun]) -> dict[int, FoundRun]:
    found: dict[int, FoundRun] = {}
    for run in runs:
        seed = run.settings[SEED]
        if seed in found:
            raise RunError(
                f"{found[seed].folder} and {run.folder} are the same run twice; name a folder with one of them"
            )
        found[seed] = run
    return dict(sorted(found.items()))


def _by_given(
    runs: Sequence[FoundRun], of_data: Sequence[FoundRun]
) -> list[tuple[list[FoundRun], list[str], list[str]]]:
    """Split runs of the same settings by the inputs from the user's files and functions.

    Args:
        runs: The runs.
        of_data: All runs that read these data, of any settings.

    Returns:
        For each part its runs, words for what parts it from the others, and what differs from seed to seed.
    """
    parting: list[str] = []
    by_seed: list[str] = []
    silos = dict.fromkeys(name for run in runs for name in run.given if name.startswith(CONTENT))
    for name in (*GIVEN, START, SIZES, *sorted(silos)):
        among = runs if name in OF_SETTINGS else of_data
        if name in OF_MODEL:
            settings = runs[0].settings
            among = [run for run in of_data if all(run.settings.get(of) == settings.get(of) for of in MODEL)]
        if name == SIZES:  # whose order is that of the silos
            among = [run for run in of_data if run.settings.get("silos") == runs[0].settings.get("silos")]
        known = {(str(run.given[name]), run.settings[SEED]) for run in among if name in run.given}
        values, seeds = ({pair[place] for pair in known} for place in (0, 1))
        drawn = name == "network" or (name == "data" and ":" in runs[0].problem) or _draws_texts(name, runs[0])
        if len(values) > 1:
            own = drawn and len(values) == len(seeds) == len(known)
            (by_seed if own else parting).append(name)
    parts: dict[tuple[str, ...], list[FoundRun]] = {}
    for run in runs:
        parts.setdefault(tuple(str(run.given.get(name, "unknown")) for name in parting), []).append(run)
    return [(part, [_word(name, part[0]) for name in parting], by_seed) for part in parts.values()]


def _word(name: str, run: FoundRun) -> str:
    """Return a word for an input of a run; 12 digits of a digest tell it from others."""
    value = run.given.get(name, "unknown")
    return f"{printable(name)}={format_value(value)[: None if isinstance(value, list) else DIGITS]}"


def _labels(runs: Sequence[FoundRun]) -> list[str]:
    labels = [_label(run, runs) for run in runs]
    if len(set(labels)) < len(runs):  # some lack a setting of the others, as runs of an older version do
        labels = [_label(run, runs, lacked=True) for run in runs]
    if len(set(labels)) < len(runs):  # a text reads as a number, or as none
        labels = [_label(run, runs, lacked=True, shown=json.dumps) for run in runs]
    return labels


def _label(
    run: FoundRun, all_runs: Sequence[FoundRun], lacked: bool = False, shown: Callable[[Any], str] | None = None
) -> str:
    words = [printable(run.algorithm)]
    if len({other.problem for other in all_runs}) > 1:
        words.append(f"on {printable(run.problem)}")
    alike = [other for other in all_runs if (other.algorithm, other.problem) == (run.algorithm, run.problem)]
    names = [name for name in differing(alike, lacked) if name in run.settings]
    shown = shown or format_value
    return " ".join([*words, *(f"{printable(name)}={shown(run.settings[name])}" for name in names)])


def differing(runs: Sequence[FoundRun], lacked: bool = False) -> list[str]:
    """Return the names of the settings in which runs differ, except the seed.

    Args:
        runs: Runs to compare.
        lacked: Also those that some runs have and others lack.
    """
    names = dict.fromkeys(name for run in runs for name in run.settings if name != SEED)
    return [name for name in names if _differ(name, runs, lacked)]


def _differ(name: str, runs: Sequence[FoundRun], lacked: bool) -> bool:
    have = [json.dumps(run.settings[name], sort_keys=True) for run in runs if name in run.settings]
    return len(set(have)) > 1 or (lacked and len(have) < len(runs))


def metric_of(runs: Sequence[FoundRun], asked: str | None) -> str:
    """Return the metric to compare: the requested one, or accuracy, or the loss.

    Raises:
        RunError: A run never evaluated it, or has no round yet.
    """
    have = [set(run.last) - {"round"} for run in runs]
    unborn = next((run.folder for run, names in zip(runs, have, strict=True) if not names), None)
    if unborn is not None:
        raise RunError(f"{unborn} has no round yet; continue with `rankproof train --resume {unborn}`, or move it away")
    common = set.intersection(*have)
    for name in (asked,) if asked else ("accuracy", "loss"):
        if name in common:
            return name
    wanted = asked or "loss"
    lacking = next(run for run, names in zip(runs, have, strict=True) if wanted not in names)
    raise RunError(f"{lacking.folder} has no metric {wanted!r}; all runs have {', '.join(sorted(common))}")


def round_of(runs: Sequence[FoundRun], metric: str, asked: int | None) -> int:
    """Return the round to compare: the requested one, or the last in which all runs evaluated the metric.

    Raises:
        RunError: Some run did not evaluate it there, or it does not exist.
    """
    evaluated = [{int(row["round"]) for row in run.curve(metric)} for run in runs]
    common = set.intersection(*evaluated)
    if asked is None:
        if common:
            return max(common)
        raise RunError(f"no round is known for which all runs have {metric!r}; compare fewer of them")
    lacking = next((run for run, rounds in zip(runs, evaluated, strict=True) if asked not in rounds), None)
    if lacking is not None:
        known = f"the last round for which all runs have it is {max(common)}" if common else "no round is common"
        raise RunError(f"{lacking.folder} has no {metric!r} after round {asked}; {known}")
    return asked


def describe_partial_means(runs: Sequence[FoundRun], metric: str, after: int | None = None) -> list[str]:
    """Return a line for each run of silos whose loss is not over all of them, because some did not answer.

    Args:
        runs: The runs.
        metric: The metric that is shown.
        after: The round that is shown; default: all.
    """
    lines = []
    for run in runs if metric == "loss" else ():
        shown = [row for row in run.curve(metric) if ANSWERED in row and after in (None, row["round"])]
        every = run.settings.get("clients", 0)
        fewer = [row for row in shown if row[ANSWERED] < every]
        if fewer:
            when = ", ".join(str(row["round"]) for row in fewer[:3]) + f" and {len(fewer) - 3} more" * (len(fewer) > 3)
            counts = sorted({row[ANSWERED] for row in fewer})
            lines.append(
                f"{run.folder}: the loss after round{'s' * (len(fewer) > 1)} {when} is a mean over "
                f"{'at least ' * (len(counts) > 1)}{counts[0]} of {every} silos, because the others did not answer or "
                "are left out"
            )
    return lines


def differences(groups: Sequence[Group], metric: str, number: int, against: Group) -> list[Difference]:
    """Return the differences of a metric after a round from its values in one group, paired by common seeds."""
    return [_difference(group, metric, number, against) for group in groups if group is not against]


def _difference(group: Group, metric: str, number: int, against: Group) -> Difference:
    ours, theirs = group.values(metric, number), against.values(metric, number)
    pairs = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    mean, half_width = paired_difference(pairs) if pairs else (None, None)
    return Difference(group.label, against.label, len(pairs), mean, half_width)


def paired_difference(pairs: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of the differences and the half-width of Student's interval; None for a single difference."""
    mean, spread = mean_of(pairs), deviation_of(pairs)
    if spread is None:
        return mean, None
    from scipy.stats import t

    return mean, float(t.ppf((1 + LEVEL) / 2, len(pairs) - 1)) * spread / sqrt(len(pairs))


def mean_of(values: Sequence[float]) -> float:
    """Return the mean, also of finite values whose sum is beyond the largest number."""
    mean = sum(values) / len(values)
    return mean if isfinite(mean) or not all(map(isfinite, values)) else sum(value / len(values) for value in values)


def deviation_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation: None for a single value, nan if a value is not finite, 0 for equal values."""
    if len(values) < 2:
        return None
    if not all(map(isfinite, values)):
        return nan
    unit = 4.0 * len(values) if max(map(abs, values)) > LARGE else 1.0
    apart = [value / unit - values[0] / unit for value in values]  # from the mean, rounding would part equal values
    mean = sum(apart) / len(apart)
    return unit * (hypot(*(one - mean for one in apart)) / sqrt(len(apart) - 1))  # squares may overflow


def _bytes_in(row: Row) -> int:
    return int(row["bytes_down"] + row["bytes_up"])


def format_value(value: Any) -> str:
    """Format a setting as the command line takes it.

    >>> format_value([0.9, 0.999])
    '0.9,0.999'
    """
    if isinstance(value, list):
        return ",".join(map(format_value, value))
    return "none" if value is None else printable(str(value))
