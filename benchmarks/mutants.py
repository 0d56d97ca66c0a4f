"""Wrong lines on purpose: how many of them do the tests notice?

``python benchmarks/mutants.py ROOM [--count 150] [--jobs 2]``. A fixed random sample of small changes to a room's code
(an operator, a comparison, a constant, a condition, an argument left out, a statement deleted), each made alone in a
copy of the project; the room's tests that reach the changed line run on it.
What no test notices is a survivor: either it changes nothing that can be seen (it is then judged `equivalent` in the
JSON file, by hand, with the reason), or a test is missing.

Results are kept as they come: a run that was cut off goes on where it stood, and where the code has changed since, its
mutants are made anew. Tests run in forks of a process that holds the libraries, not the project, so that a mutant costs
its tests and little else.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wrong_lines import Mutant, Sites, mutated

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_suffix(".json")
FORKING = Path(__file__).with_name("forked_tests.py")
ENGINE = "engine"
PAPERS = ("fedloru", "fedlrt", "rolora")
LEAST_SECONDS = 30.0
"""Of a mutant, beside ten times what its tests take: one that loops for ever is stopped."""


@dataclass(frozen=True)
class Room:
    """Code and the tests that stand for it."""

    sources: tuple[Path, ...]
    tests: tuple[str, ...]


def room_of(name: str) -> Room:
    """A room by its folder, or `engine`: what `paper_checks` holds apart from the papers."""
    if name == ENGINE:
        folder = ROOT / "paper_checks"
        files = sorted(path for path in folder.rglob("*.py") if path.relative_to(folder).parts[0] not in PAPERS)
        return Room(tuple(files), ("tests/paper_checks", "tests/test_command_line.py"))
    extra = {"runs": ("tests/algorithms",)}.get(name, ())
    return Room(tuple(sorted((ROOT / name).rglob("*.py"))), (f"tests/{name}", *extra))


def sample(room: Room, count: int, seed: int) -> list[Mutant]:
    """A fixed random sample of the room's wrong lines, at most one for each line of code."""
    found: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for path in room.sources:
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        visitor = Sites(name, text)
        visitor.visit(ast.parse(text))
        for mutant in visitor.found:
            try:
                compile(mutated(text, mutant), name, "exec")
            except SyntaxError:
                continue
            found[mutant.file, mutant.line].append(mutant)
    chosen = random.Random(seed)
    lines = sorted(found)
    chosen.shuffle(lines)
    return [chosen.choice(found[place]) for place in lines[:count]]


class Worker:
    """A copy of the project, and a process that forks a fresh Python for every order."""

    def __init__(self, place: Path) -> None:
        self.place = place
        listing = ["git", "ls-files", "-co", "--exclude-standard"]
        for name in subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n"):
            if name and (ROOT / name).is_file():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, place / name)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        data = os.environ.get("RANKPROOF_DATA", str(ROOT / "data"))
        self.process = subprocess.Popen(
            [sys.executable, str(FORKING)], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **threads, "PYTHONPATH": str(place), "RANKPROOF_DATA": data},
        )  # fmt: skip

    def tests(self, limit: float = 3600.0, **order: Any) -> int | None:
        """Exit status of pytest; None if it took too long."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        began = time.monotonic()
        with ThreadPoolExecutor(1) as waiting:
            answer = waiting.submit(self.process.stdout.readline)
            late = False
            while not answer.done():
                time.sleep(0.02)
                if time.monotonic() - began > limit and not late:
                    late = True
                    os.killpg(child, signal.SIGKILL)
            status = int(answer.result())
        return None if late else status

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Reach:
    """Which tests reach which line, and how long each takes."""

    lines: dict[tuple[str, int], set[str]]
    files: dict[str, set[str]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant, last_line: int) -> list[str]:
        """Tests that run the line, quick ones first; of a line that runs on import only, all that run its file."""
        found: set[str] = set()
        for line in range(mutant.line, last_line + 1):
            found |= self.lines.get((mutant.file, line), set())
        return sorted(found or self.files.get(mutant.file, set()), key=lambda id: self.seconds.get(id, 0.0))


def reach(worker: Worker, room: Room) -> Reach:
    """Runs the room's tests once, on code as it is.

    Raises:
        SystemExit: They fail already.
    """
    import coverage

    file, report = worker.place / "reach.coverage", worker.place / "reach.json"
    status = worker.tests(tests=list(room.tests), cover=str(file), report=str(report))
    if status != 0:
        raise SystemExit(f"mutants: the tests of {', '.join(room.tests)} fail on the code as it is (status {status})")
    data = coverage.CoverageData(str(file))
    data.read()
    lines: dict[tuple[str, int], set[str]] = defaultdict(set)
    files: dict[str, set[str]] = defaultdict(set)
    for path in data.measured_files():
        name = os.path.relpath(path, worker.place)
        for line, contexts in data.contexts_by_lineno(path).items():
            ids = {context for context in contexts if context}
            lines[name, line] |= ids
            files[name] |= ids
    return Reach(dict(lines), dict(files), json.loads(report.read_text()))


def judge(worker: Worker, mutant: Mutant, known: Reach) -> dict[str, Any]:
    """Makes the change in the worker's copy, runs the tests, and takes it back."""
    path = worker.place / mutant.file
    text = path.read_text(encoding="utf-8")
    tests = known.tests(mutant, mutant.line + mutant.before.count("\n"))
    wrong = text.splitlines()[mutant.line - 1].strip()
    began = time.monotonic()
    if tests:
        limit = LEAST_SECONDS + 10.0 * sum(known.seconds.get(id, 0.0) for id in tests)
        try:
            path.write_text(mutated(text, mutant), encoding="utf-8")
            status = worker.tests(limit, tests=tests)
        finally:
            path.write_text(text, encoding="utf-8")
    else:
        status = 0
    result = "noticed" if status != 0 else "survived" if tests else "not reached"
    return {**asdict(mutant), "code": wrong, "result": result, "tests": len(tests), "timeout": status is None,
            "seconds": round(time.monotonic() - began, 2)}  # fmt: skip


def stored() -> dict[str, Any]:
    """What earlier runs found."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def keep(room: str, entries: dict[str, dict[str, Any]], order: Sequence[str]) -> None:
    """Writes the room's results, whole or not at all."""
    results = stored()
    listed = [entries[key] for key in order if key in entries]
    noticed = sum(entry["result"] == "noticed" for entry in listed)
    equivalent = sum(entry["result"] != "noticed" and bool(entry.get("judged")) for entry in listed)
    survivors = [entry for entry in listed if entry["result"] != "noticed"]
    results[room] = {
        "mutants": len(listed), "noticed": noticed, "equivalent": equivalent,
        "score": round(noticed / max(1, len(listed) - equivalent), 4), "survivors": survivors,
        "all": {key: entries[key]["result"] for key in order if key in entries},
    }  # fmt: skip
    beside = RESULTS.with_suffix(".part")
    beside.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(beside, RESULTS)


def known_results(room: str, mutants: Sequence[Mutant], again: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results of these mutants by an earlier run; with `again`, only the noticed ones and the judgements."""
    before = stored().get(room, {})
    details = {Mutant(**{k: e[k] for k in Mutant.__dataclass_fields__}).key: e for e in before.get("survivors", ())}
    for mutant in mutants:
        result = before.get("all", {}).get(mutant.key)
        if result == "noticed":
            yield mutant.key, {**asdict(mutant), "result": result}
        elif result is not None and (not again or details[mutant.key].get("judged")):
            yield mutant.key, details[mutant.key]


def main() -> int:
    """Runs the sample of one room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help="a folder such as rmt, or engine (paper_checks without the papers)")
    parser.add_argument("--count", type=int, default=150, help="wrong lines; default: 150")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; default: 0")
    parser.add_argument("--jobs", type=int, default=2, help="copies at work; default: 2")
    parser.add_argument("--again", action="store_true", help="run survivors that are not judged once more")
    options = parser.parse_args()
    from tqdm import tqdm

    room = room_of(options.room)
    if not room.sources:
        print(f"mutants: there is no room {options.room!r}; name a folder of the project, or {ENGINE}", file=sys.stderr)
        return 2
    mutants = sample(room, options.count, options.seed)
    order = [mutant.key for mutant in mutants]
    entries = dict(known_results(options.room, mutants, options.again))
    left = [mutant for mutant in mutants if mutant.key not in entries]
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        workers = []
        for number in range(min(options.jobs, max(1, len(left)))):
            (Path(place) / str(number)).mkdir()
            workers.append(Worker(Path(place) / str(number)))
        if left:
            known = reach(workers[0], room)
            free = list(workers)
            with ThreadPoolExecutor(len(workers)) as pool, tqdm(total=len(left), unit="mutant", disable=None) as bar:

                def one(mutant: Mutant) -> tuple[str, dict[str, Any]]:
                    worker = free.pop()
                    try:
                        return mutant.key, judge(worker, mutant, known)
                    finally:
                        free.append(worker)

                for key, entry in pool.map(one, left):
                    entries[key] = entry
                    keep(options.room, entries, order)
                    bar.update()
        for worker in workers:
            worker.close()
    keep(options.room, entries, order)
    found = stored()[options.room]
    print(f"{options.room}: {found['noticed']} of {found['mutants']} noticed, {found['equivalent']} judged equivalent, "
          f"score {100 * found['score']:.1f} %")  # fmt: skip
    for entry in found["survivors"]:
        if not entry.get("judged"):
            print(f"  {entry['file']}:{entry['line']} {entry['result']}: {entry['before']!r} -> {entry['after']!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
