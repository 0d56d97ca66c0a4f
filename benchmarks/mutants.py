"""Mutation tests: the fraction of deliberately wrong lines that the tests notice.

``python benchmarks/mutants.py ROOM [--count 150] [--seed S] [--jobs 2]``. A random sample of small changes to a room's
code (an operator, a comparison, a constant, a condition, an argument left out, a statement deleted), each made alone
in a copy of the project; the room's tests that reach the changed line run on it, its docstrings' examples among them.
A mutant that no test notices is a survivor. Either it changes nothing that can be seen, and is then judged:
``python benchmarks/mutants.py ROOM --equivalent KEY 'the reason'``. Or a test is missing; once it is written,
``--again`` runs the survivors once more and writes down which test notices them.

Every call draws a new sample, by the next seed, and reports its score before anything is closed; `mutants.json` keeps a
table of seeds, scores with Wilson's 95 % interval, and kinds. Results are saved as they come: if a run is interrupted,
the next call resumes its sample. The sample keeps its unchanged lines when others change.
Tests run in forks of a process with the libraries loaded, but not the project, so a mutant costs little more than its
tests.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from mutants_worker import AS_ROOT, ROOT, Worker
from reached_lines import Reach, Room, reach
from wrong_lines import ALONE, Mutant, Sites, mutated

RESULTS = Path(__file__).with_suffix(".json")
ENGINE = "engine"
PAPERS = ("fedloru", "fedlrt", "rolora")
STORED = ("test_claims", "test_hypotheses", "test_scripts")
COMMANDS = {"figures": ("runs/test_listing.py",), ENGINE: ("test_command_line.py",)}
"""Modules of tests elsewhere that are about commands of a room."""
RECORDS = "records/test_records.py"
"""The module of tests that is about every room."""
SHOWN = ("file", "line", "code", "before", "after", "kind")


def room_of(name: str) -> Room:
    """Return a room by its folder, or a part of `paper_checks`: `papers`, or `engine`, which is the rest of it."""
    tests = [ROOT / "tests" / name]
    files = sorted((ROOT / name).rglob("*.py"))
    if name == ENGINE:
        folder = ROOT / "paper_checks"
        files = sorted(path for path in folder.rglob("*.py") if path.relative_to(folder).parts[0] not in PAPERS)
        tests = sorted(path for path in (ROOT / "tests" / "paper_checks").rglob("test_*.py") if _of_engine(path))
    if name == "papers":
        files = sorted(path for paper in PAPERS for path in (ROOT / "paper_checks" / paper).rglob("*.py"))
        tests = [ROOT / "tests" / "paper_checks"]
    tests += [ROOT / "tests" / module for module in (*COMMANDS.get(name, ()), RECORDS)]
    return Room(name, tuple(files), tuple(tests))


def _of_engine(path: Path) -> bool:
    """Return whether a module of tests is about the machinery, not about a paper or its stored files."""
    return path.stem not in STORED and path.parent.name not in PAPERS


def sample(room: Room, count: int, seed: int) -> list[Mutant]:
    """Return a fixed random sample of the room's wrong lines, at most one for each line of code."""
    found: dict[str, list[Mutant]] = defaultdict(list)
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in room.sources}
    for name, text in texts.items():
        visitor = Sites(name, text)
        visitor.visit(ast.parse(text))
        for mutant in visitor.found:
            found[mutant.place].append(mutant)

    def drawn(name: str) -> bytes:
        return hashlib.sha256(f"{seed}:{name}".encode()).digest()

    chosen = (
        next(
            (
                mutant
                for mutant in sorted(found[place], key=lambda mutant: drawn(mutant.key))
                if _compiles(mutated(texts[mutant.file], mutant))
            ),
            None,
        )
        for place in sorted(found, key=drawn)
    )
    return list(islice((mutant for mutant in chosen if mutant is not None), count))


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def judge(worker: Worker, mutant: Mutant, known: Reach, most: float) -> dict[str, Any]:
    """Make the change in the worker's copy, run its tests for at most some seconds, and revert the change."""
    tests = known.tests(mutant, most)
    entry = {name: getattr(mutant, name) for name in SHOWN}
    if not tests:
        return {**entry, "result": "not reached", "tests": 0, "seconds": 0.0}
    report = worker.scratch / "report.json"
    report.unlink(missing_ok=True)
    limits = {test: 5.0 + 5.0 * known.seconds[test] for test in tests}
    began = time.monotonic()
    with worker.changed(mutant):
        status = worker.tests(
            120.0 + 20.0 * sum(known.seconds[test] for test in tests),
            tests=tests,
            limits=limits,
            report=str(report),
            files=sorted({test.split("::")[0] for test in tests}),
        )
    entry |= {"result": "survived", "tests": len(tests), "seconds": round(time.monotonic() - began, 2)}
    if status != 0:
        failed = json.loads(report.read_text())["failed"] if report.exists() else "the time limit"
        entry |= {"result": "noticed", "test": failed or "the import"}
    elif mutant.kind == ALONE:
        entry |= {"equivalent": "looks alone: the size, width, distance or transparency of something drawn"}
    return entry


def stored(room: str) -> dict[str, dict[str, Any]]:
    """Return the results of earlier runs for a room, one entry for each mutant, by its key."""
    found = _all_stored().get(room, {})
    noticed = {key: {"result": "noticed", "test": test} for key, test in found.get("noticed at once", {}).items()}
    return noticed | {entry["key"]: entry for part in ("judged", "open") for entry in found.get(part, ())}


def next_seed(room: str, closing: bool) -> int:
    """Return the seed of the sample to run: the last one, if it is closed or was interrupted, else a new one."""
    samples = _all_stored().get(room, {}).get("samples", ())
    if not samples:
        return 0 if closing else 1  # seed 0 was drawn before samples were listed
    last = samples[-1]
    return last["seed"] if closing or last["run"] < last["of"] else last["seed"] + 1


def _all_stored() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def score_of(entries: Sequence[dict[str, Any]], noticed: Sequence[bool]) -> dict[str, Any]:
    """Return how many wrong lines were noticed, with Wilson's 95 % interval, in all and by kind."""
    from scipy.stats import binomtest

    interval = binomtest(sum(noticed), max(1, len(entries))).proportion_ci(method="wilson")
    kinds = Counter(entry["kind"] for entry in entries)
    hits = Counter(entry["kind"] for entry, one in zip(entries, noticed, strict=True) if one)
    return {
        "noticed": sum(noticed),
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "kinds": {kind: f"{hits[kind]} of {kinds[kind]}" for kind in sorted(kinds)},
    }


def keep(room: str, entries: dict[str, dict[str, Any]], drawn: Sequence[Mutant], seed: int) -> dict[str, Any]:
    """Write the room's results, all or none, and return them."""
    listed = [{"kind": one.kind, **entries[one.key], "key": one.key} for one in drawn if one.key in entries]
    at_once = [entry for entry in listed if entry["result"] == "noticed" and "survived" not in entry]
    judged = [entry for entry in listed if "equivalent" in entry or "survived" in entry]
    unjudged = [entry for entry in listed if entry["result"] != "noticed" and "equivalent" not in entry]
    real = max(1, len(listed) - sum("equivalent" in entry for entry in judged))
    noticed = sum(entry["result"] == "noticed" for entry in listed)
    results = _all_stored()
    counted = [entry for entry in listed if "equivalent" not in entry]
    first = score_of(counted, [entry in at_once for entry in counted])
    earlier = [row for row in results.get(room, {}).get("samples", ()) if row["seed"] != seed]
    results[room] = {
        "samples": [*earlier, {"seed": seed, "of": len(drawn), "run": len(listed), "counted": len(counted), **first}],
        "mutants": len(listed),
        "equivalent": sum("equivalent" in entry for entry in judged),
        "noticed": noticed,
        "score": round(noticed / real, 4),
        "score before": round(len(at_once) / real, 4),
        "open": unjudged,
        "judged": judged,
        "noticed at once": {entry["key"]: entry["test"] for entry in at_once},
    }
    beside = RESULTS.with_suffix(".part")
    beside.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(beside, RESULTS)
    return results[room]


def run_mutants(
    room: Room,
    mutants: Sequence[Mutant],
    entries: dict[str, dict[str, Any]],
    drawn: Sequence[Mutant],
    jobs: int,
    most: float,
    seed: int,
    as_root: bool = False,
) -> None:
    """Judge mutants by the tests; entries are saved as they come.

    Raises:
        SystemExit: Tests fail already; or this is root and cannot run them as somebody else.
    """
    from workloads.progress import report_progress

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        places = [Path(folder) / str(number) for number in range(min(jobs, len(mutants)))]
        os.chmod(folder, 0o755)  # another user's tests run in it
        for place in places:
            place.mkdir()
        free = [Worker(place, as_root) for place in places]
        known = reach(free, room)

        def one(mutant: Mutant) -> tuple[str, dict[str, Any]]:
            worker = free.pop()
            try:
                return mutant.key, judge(worker, mutant, known, most)
            finally:
                free.append(worker)

        with ThreadPoolExecutor(len(places)) as pool, report_progress(room.name, len(mutants), "mutant") as bar:
            for key, entry in pool.map(one, mutants):
                if key in entries and entry["result"] == "noticed":
                    entry["survived"] = "at first"
                entries[key] = entry
                keep(room.name, entries, drawn, seed)
                bar.advance()
        for worker in free:
            worker.close()


def main() -> int:
    """Run the sample of one room, or store a judgement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help=f"a folder such as rmt, or {ENGINE} (paper_checks without the papers)")
    parser.add_argument("--count", type=int, default=150, help="wrong lines; default: 150")
    parser.add_argument("--seed", type=int, help="of the sample; default: a new one, or that of an interrupted run")
    parser.add_argument("--jobs", type=int, default=2, help="copies at work; default: 2")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="most seconds of tests; default: all that reach"
    )
    parser.add_argument("--without", nargs="*", default=(), metavar="TESTS", help="modules of tests left out, as slow")
    parser.add_argument("--again", action="store_true", help="run survivors that are not judged once more")
    parser.add_argument(
        "--equivalent", nargs=2, metavar=("KEY", "REASON"), help="judge a survivor: no test could see it"
    )
    parser.add_argument(AS_ROOT, action="store_true", help="let wrong lines run as root, and write anywhere")
    options = parser.parse_args()

    room = replace(room_of(options.room), without=tuple(options.without))
    if not room.sources:
        print(
            f"mutants: no room is called {options.room!r}; name a folder of the project, or {ENGINE}", file=sys.stderr
        )
        return 2
    closing = options.again or options.equivalent is not None
    seed = next_seed(room.name, closing) if options.seed is None else options.seed
    drawn = sample(room, options.count, seed)
    entries = stored(room.name)
    if options.equivalent:
        key, reason = options.equivalent
        if entries.get(key, {}).get("result") not in ("survived", "not reached"):
            print(f"mutants: {key!r} is not a survivor of {room.name}", file=sys.stderr)
            return 2
        entries[key]["equivalent"] = reason
    left = [] if options.equivalent else [mutant for mutant in drawn if _to_run(entries.get(mutant.key), options.again)]
    if left:
        run_mutants(room, left, entries, drawn, options.jobs, options.seconds, seed, options.as_root)
    found = keep(room.name, entries, drawn, seed)
    print(
        f"{room.name}, seed {seed}: {found['noticed']} of {found['mutants']} noticed, {found['equivalent']} judged "
        f"equivalent, score {100 * found['score']:.1f} %, at first {100 * found['score before']:.1f} %"
    )
    for entry in found["open"]:
        change = f"{entry['before']!r} -> {entry['after']!r}"
        print(f"  {entry['key']} {entry['file']}:{entry['line']} {entry['result']}: {change} in {entry['code']}")
    return 0


def _to_run(entry: dict[str, Any] | None, again: bool) -> bool:
    return entry is None or (again and entry["result"] != "noticed" and "equivalent" not in entry)


if __name__ == "__main__":
    sys.exit(main())
