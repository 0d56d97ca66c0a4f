"""Runs claims: measure, judge, replay, decide; the same results for any number of jobs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_checks.claim import GRADES, VERDICTS, Claim
from paper_checks.context import Budget, Context
from paper_checks.engine.judging import Judged, judge, require_same
from paper_checks.engine.measuring import describe_error, is_raised_in, reproducible
from paper_checks.engine.processes import map_work
from paper_checks.engine.sensitivity import NoticedChange, noticed_changes
from paper_checks.engine.verdict import NO_CERTIFICATE, Decision, decide
from paper_checks.evaluation import as_in_json
from paper_checks.formal.theorems import FormalError, FormalTheorem, formal_theorems
from paper_checks.paper import Paper
from paper_checks.replay import (
    REPLAY_LIMIT,
    Kind,
    Phase,
    Replayed,
    ReplayError,
    Stored,
    of_no_claim,
    proof_data,
    replay_each,
    stored_path,
    values_to_store,
    without_file,
)
from paper_checks.replaying.places import replay_places
from paper_checks.result import Result, Run
from workloads.written import FolderRecord

if TYPE_CHECKING:
    from paper_checks.ledger import Ledger  # brings every paper, of which a worker needs some themes

Progress = Callable[[str], None]
_Answers = Generator["_Measured | Replayed", None, None]
_BY_AUTHOR = "recorded by the package's author, not run here"
"""Origin of a stored result of a package outside of the toolkit, which anybody can write."""
FEWEST_FILES = 25
"""Stored files for which a process of their own is worth its start, which takes about a second."""


@dataclass(frozen=True)
class _Measured:
    """Findings of a worker; ``decision`` is set where nothing could be judged."""

    judged: Judged | None
    changes: tuple[NoticedChange, ...]
    seconds: float
    decision: Decision | None = None


def run(
    claims: Sequence[Claim],
    ledger: Ledger,
    *,
    budget: Budget = "quick",
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
    pool: Executor | None = None,
    replay_seconds: float = REPLAY_LIMIT,
    phase: Phase | None = None,
) -> Run:
    """Run claims and decide them.

    Args:
        claims: what to run, in the order of the results.
        ledger: where they come from.
        budget: quick or full.
        seed: root seed.
        jobs: processes; results do not depend on it.
        progress: called with the id of each claim as it ends.
        pool: does the work in place of processes.
        replay_seconds: most seconds for one evaluation of a replay.
        phase: called with what is being replayed, in words.

    Raises:
        ProcessError: a worker was killed.
        ReplayError: a stored file cannot be read, or the replays cannot run.
    """
    began = time.perf_counter()
    papers = tuple(dict.fromkeys(ledger.home[claim.id] for claim in claims))
    files = {claim.id: ledger.home[claim.id].to_replay(claim.id) for claim in claims}
    try:
        formal = {id: found for paper in papers for id, found in formal_theorems(paper).items()}
    except FormalError as error:
        raise ReplayError(str(error)) from None
    pieces = groupby(claims, key=lambda claim: ledger.home[claim.id].piece(claim.module))
    themes = [_Theme(ledger.home[some[0].id], some, seed, budget) for some in (tuple(found) for _, found in pieces)]
    on_file = _on_file(claims, ledger, files, jobs, replay_seconds)
    measured: list[_Measured] = []
    replayed = defaultdict[str, tuple[Replayed, ...]](tuple)
    with closing(_answers(themes, on_file, min(jobs, len(claims)), pool, phase)) as answers:
        for answer in islice(answers, len(claims)):
            assert isinstance(answer, _Measured)
            if progress:
                progress(claims[len(measured)].id)
            measured.append(answer)
        if phase and on_file:
            phase(f"replaying {sum(len(some.files) for some in on_file)} stored witnesses and proofs")
        for file, found in zip((file for some in on_file for file in some.files), answers, strict=True):
            assert isinstance(found, Replayed)
            replayed[file.claim] += (found,)
    results = _results(claims, measured, ledger, files, replayed, formal, budget)
    strays = _of_no_claim(papers if ledger.whole else ())
    return Run(tuple(results), seed, budget, time.perf_counter() - began, strays, papers)


def decided_again(
    found: Run, ledger: Ledger, ids: Collection[str], replay_seconds: float = REPLAY_LIMIT, phase: Phase | None = None
) -> Run:
    """Return a run with some of its claims decided by the files that are stored now; nothing is measured again.

    Args:
        found: the run.
        ledger: where its claims come from.
        ids: the claims of which a file was stored since.
        replay_seconds: most seconds for one evaluation of a replay.
        phase: called with what is being replayed, in words.
    """
    results = [result for result in found.results if result.claim.id in ids and result.judged is not None]
    claims = [result.claim for result in results]
    files = {claim.id: ledger.home[claim.id].to_replay(claim.id) for claim in claims}
    replayed = defaultdict[str, tuple[Replayed, ...]](tuple)
    for some in _on_file(claims, ledger, files, 1, replay_seconds):
        for file, answer in zip(some.files, some.done(phase), strict=True):
            replayed[file.claim] += (answer,)
    measured = [_Measured(result.judged, result.changes, result.seconds) for result in results]
    formal = {result.claim.id: result.formal for result in results}
    again = {
        result.claim.id: result for result in _results(claims, measured, ledger, files, replayed, formal, found.budget)
    }
    strays = _of_no_claim(found.papers if ledger.whole else ())
    now = tuple(again.get(result.claim.id, result) for result in found.results)
    return replace(found, results=now, of_no_claim=strays)


def _results(
    claims: Sequence[Claim],
    measured: Sequence[_Measured],
    ledger: Ledger,
    files: Mapping[str, Sequence[Stored]],
    replayed: Mapping[str, tuple[Replayed, ...]],
    formal: Mapping[str, tuple[FormalTheorem, ...]],
    budget: Budget,
) -> Iterator[Result]:
    """Decide claims by what was measured and replayed."""
    lost = defaultdict[str, list[Replayed]](list)
    papers = dict.fromkeys(ledger.home[claim.id] for claim in claims)
    for id, kind in (missing for paper in papers for missing in without_file(paper.package, files)):
        missed = Stored(id, kind, {})
        if kind == "witness":
            continue  # none is an answer of its own
        lost[missed.claim].append(Replayed(kind, False, False, None, None, NO_CERTIFICATE, reading=missed.reading))
    for claim, answer in zip(claims, measured, strict=True):
        home, decision = ledger.home[claim.id], answer.decision
        if decision is None:
            assert answer.judged is not None
            answers_on_file = (*replayed[claim.id], *lost[claim.id])
            decision = decide(claim, answer.judged, answers_on_file, answer.changes, formal.get(claim.id, ()))
        yield Result(
            claim,
            decision,
            answer.judged,
            tuple(files[claim.id]),
            replayed[claim.id],
            answer.changes,
            answer.seconds,
            claim.expected_grade(budget),
            tuple(None if place is None else str(place) for place in replay_places(home.package, files[claim.id])),
            home.finding_of(claim.id),
            formal.get(claim.id, ()),
            home.option,
            _related(claim, ledger.claims),
        )


def _related(claim: Claim, claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the other parts of a result in its module: ``thm-4.2-rate`` is a part of ``thm-4.2``."""
    of_module = (one for one in claims if one.module == claim.module)
    return tuple(one for one in of_module if one.id.startswith(f"{claim.id}-") or claim.id.startswith(f"{one.id}-"))


def _answers(
    themes: Sequence[_Theme], on_file: Sequence[_OnFile], jobs: int, pool: Executor | None, phase: Phase | None
) -> _Answers:
    """Return the outcomes of the claims and the stored files, in order.

    A worker cannot say what it replays, so the files of one process are replayed from here.
    """
    if pool is None and (jobs < 2 or len(on_file) < 2):
        yield from _answers_of_workers(themes, jobs, None)
        yield from chain.from_iterable(one.done(phase) for one in on_file)
    else:
        yield from _answers_of_workers([*themes, *on_file], jobs, pool)


def _answers_of_workers(work: Sequence[_Theme | _OnFile], jobs: int, pool: Executor | None) -> _Answers:
    """Return the outcomes of pieces of work, in order; of claims alone also without workers."""
    if jobs < 2 and pool is None:
        yield from chain.from_iterable(one.done() for one in work)
        return
    named = [one.named() if isinstance(one, _Theme) else one for one in work]
    with closing(map_work(_done, named, jobs, pool, [len(getattr(one, "ids", ())) for one in named])) as answers:
        for some in answers:
            yield from some


def _done(work: _Named | _OnFile) -> tuple[_Measured | Replayed, ...]:
    """Do a worker's part."""
    return tuple(work.done())


def _of_no_claim(papers: Iterable[Paper]) -> tuple[str, ...]:
    found = []
    for paper in papers:
        ids = [id for claim in paper.claims() for id in claim.file_ids()]
        found += [f"{paper.name}/{file}" for file in of_no_claim(paper.package, paper.folder, ids)]
        formal = (one for some in formal_theorems(paper).values() for one in some)
        found += [f"{paper.name}/formal: {one.name} of {one.id}" for one in formal if one.id not in ids]
    return tuple(found)


@dataclass(frozen=True)
class _Theme:
    """Claims of one theme, or of some that share what they measure: one piece of work."""

    paper: Paper
    claims: tuple[Claim, ...]
    seed: int
    budget: Budget

    def done(self) -> Iterator[_Measured]:
        return (_measure(one, self.paper, Context(one.id, self.seed, self.budget)) for one in self.claims)

    def named(self) -> _Named:
        ids = tuple(claim.id for claim in self.claims)
        themes = dict.fromkeys(claim.module.removeprefix(f"{self.paper.package}.") for claim in self.claims)
        return _Named(self.paper, tuple(themes), ids, self.seed, self.budget)


@dataclass(frozen=True)
class _Named:
    """The same by the names of themes and the ids of the claims, for a worker to find them again."""

    paper: Paper
    themes: tuple[str, ...]
    ids: tuple[str, ...]
    seed: int
    budget: Budget

    def done(self) -> Iterator[_Measured]:
        known = {claim.id: claim for theme in self.themes for claim in self.paper.read_theme(theme)[1]}
        return _Theme(self.paper, tuple(known[id] for id in self.ids), self.seed, self.budget).done()


@dataclass(frozen=True)
class _OnFile:
    """Stored files of one paper, for one fresh process."""

    package: str
    files: tuple[Stored, ...]
    seconds: float

    def done(self, phase: Phase | None = None) -> list[Replayed]:
        return replay_each(self.package, self.files, self.seconds, phase)


def _on_file(
    claims: Iterable[Claim], ledger: Ledger, files: Mapping[str, Sequence[Stored]], jobs: int, seconds: float
) -> list[_OnFile]:
    """Replay the files of the claims, paper by paper; with several jobs, those of a paper in several processes."""
    wanted = defaultdict[Paper, list[Stored]](list)
    for claim in claims:
        wanted[ledger.home[claim.id]] += (_with_mutants(file, claim) for file in files[claim.id])
    return [
        _OnFile(paper.package, tuple(some[first : first + each]), seconds)
        for paper, some in wanted.items()
        for each in [max(FEWEST_FILES, ceil(len(some) / jobs))]
        for first in range(0, len(some), each)
    ]


def _with_mutants(file: Stored, claim: Claim) -> Stored:
    """Return a certificate with the mutants of the forms that it can be of, on which its proof is tried."""
    if file.kind == "witness":
        return file
    other = next((one.mutants for one in claim.readings[1:] if one.slug == file.reading), ())
    fix = claim.correction.mutants if claim.correction is not None and not file.reading else ()
    mutants = [as_in_json(mutant) for mutant in (*fix, *(other or claim.mutants))]
    return replace(file, mutants=[mutant for at, mutant in enumerate(mutants) if mutant not in mutants[:at]])


def _unmeasured(claim: Claim, paper: Paper, budget: Budget) -> Decision | None:
    """Return the decision on a claim that is not measured, without its extra or with too small a budget."""
    missing = [extra for extra in claim.needs if importlib.util.find_spec(extra) is None]
    if missing:
        return Decision("not checkable here", None, f"needs {', '.join(missing)}, not installed", excused=True)
    if claim.budget == "full" and budget == "quick":
        path = stored_path(paper.folder, claim.id, "full")
        if not path.exists():
            return Decision("not checkable here", None, "needs --budget full, because no full result is stored")
        full = _full_result(path)
        return replace(full, reason=f"{full.reason}; {_BY_AUTHOR}") if paper.is_outside else full
    return None


def _full_result(path: Path) -> Decision:
    try:
        full = json.loads(path.read_text(encoding="utf-8"))
        verdict, grade = VERDICTS[VERDICTS.index(full["verdict"])], full["grade"]
        reason = f"stored result of the full budget, commit {full['commit']}, seed {full['seed']}"
        return Decision(verdict, None if grade is None else GRADES[GRADES.index(grade)], reason)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReplayError(f"{path.name} is not a stored result of the full budget: {error!r}") from None


def _measure(claim: Claim, paper: Paper, context: Context) -> _Measured:
    """Measure once and judge every form; a check that raises is a defect of the check, not of the paper."""
    began = time.perf_counter()
    unmeasured = _unmeasured(claim, paper, context.budget)
    if unmeasured:
        return _Measured(None, (), 0.0, unmeasured)
    try:
        with reproducible(context):
            data = claim.measure(context)
            judged = judge(claim, data)
            stands = judged.standing(claim)
            if stands is None and claim.control is not None and judged.control is not None and judged.control.ok:
                stands = claim.control.constants, judged.control
            changes = noticed_changes(claim, data, *stands) if stands else ()
            require_same(judged.printed, claim.judge(data))
    except BaseException as error:  # somebody's check can raise anything
        if not isinstance(error, Exception | SystemExit) and not is_raised_in(error, paper.folder):
            raise
        text = describe_error(error, paper.folder)
        said = "".join(traceback.format_exception(error))
        decision = Decision("not checkable here", None, f"defect of the check: {text}", text, traceback=said)
        return _Measured(None, (), time.perf_counter() - began, decision)
    judged = judged.without_sides()
    if paper.is_outside:
        judged = judged.without_proofs_by_hand()
    return _Measured(judged, changes, time.perf_counter() - began)


def store_findings(
    run: Run, ledger: Ledger, commit: str | None, replay_seconds: float = REPLAY_LIMIT, phase: Phase | None = None
) -> list[Path]:
    """Keep the witnesses and the data of proofs that a run found, and results only the full budget can have.

    Each is a file of its own.

    Args:
        run: The run.
        ledger: Where its claims come from.
        commit: The commit of the code.
        replay_seconds: Most seconds for one evaluation of a replay.
        phase: Called with what is being replayed, in words.

    Raises:
        OSError: the package folder cannot be written.
        ReplayError: a replay does not read the witness that the check found; nothing is stored then.
    """
    found: list[tuple[Path, dict[str, Any], int | None, Path]] = []
    to_store = defaultdict[Paper, dict[str, Mapping[str, Any]]](dict)
    for result in run.results:
        home = ledger.home[result.claim.id]
        to_store[home] |= {id: values for id, kind, values in _found(result, home) if kind == "witness"}
    witnesses = {
        id: values
        for home, some in to_store.items()
        for id, values in values_to_store(home.package, some, replay_seconds, phase).items()
    }
    for result in run.results:
        home = ledger.home[result.claim.id]
        if result.claim.budget == "full" == run.budget:
            path = stored_path(home.folder, result.claim.id, "full")
            decision = result.decision
            full = {"verdict": decision.verdict, "grade": decision.grade, "commit": commit, "seed": run.seed}
            found.append((path, full, None, home.folder))
        for id, kind, values in _found(result, home):
            kept = witnesses[id] if kind == "witness" else values
            found.append((stored_path(home.folder, id, kind), {"id": id, "values": kept}, 1, home.folder))
    for path, content, indent, folder in found:
        path.parent.mkdir(exist_ok=True)
        _keep(path, content, indent, folder)
    return [path for path, *_ in found]


def _found(result: Result, home: Paper) -> Iterator[tuple[str, Kind, Mapping[str, Any]]]:
    """Yield id, kind and values of each witness that a claim's check found, and of the data of each proof."""
    if result.judged is None:
        return
    readings = result.judged.readings(result.claim)
    for reading in readings:
        id = f"{result.claim.id}@{reading.key}" if reading.key else result.claim.id
        evidence = reading.evidence
        if evidence.ok is False and evidence.witness is not None:
            yield id, "witness", evidence.witness
        if evidence.ok and evidence.certificate is not None:
            yield id, "certificate", proof_data(home.package, id, evidence.certificate)
    fix = result.judged.correction
    if fix is not None and fix.ok and fix.certificate is not None and not result.judged.printed.ok:
        yield result.claim.id, "certificate", proof_data(home.package, result.claim.id, fix.certificate)


def _keep(path: Path, content: dict[str, Any], indent: int | None, folder: Path) -> None:
    """Store a result; only an earlier one of the same claim is replaced.

    Raises:
        OSError: Another file is there, or it cannot be written.
    """
    written = FolderRecord(folder)
    if path.is_file() and not written.owns(path):
        data = path.read_bytes()
        try:
            before = json.loads(data)
            same = data == (json.dumps(before, indent=indent) + "\n").encode() and set(before) == set(content)
            same = same and before.get("id") == content.get("id")
        except (ValueError, TypeError, AttributeError, RecursionError):
            same = False
        if same:  # it came with the package
            written.note([(os.path.relpath(path, folder), len(data), hashlib.sha256(data).hexdigest())])
    written.write({path: (json.dumps(content, indent=indent) + "\n").encode()})


def do_not_replay(run: Run) -> dict[tuple[str, str], str]:
    """Return for each stored file that does not replay what to say about it, by its folder and name."""
    pairs = (pair for result in run.results for pair in zip(result.stored, result.replayed, strict=True))
    places = ((stored_path(Path(), file.id, file.kind), answer) for file, answer in pairs)
    return {
        (path.parent.name, path.stem): f", which does not replay: {answer.detail}"
        for path, answer in places
        if not answer.confirmed
    }
