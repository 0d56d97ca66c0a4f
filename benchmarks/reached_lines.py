"""The tests that run each line of a room, measured once and kept while neither changes (used by `mutants.py`)."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from mutants_worker import ROOT, Worker
from wrong_lines import Mutant

KEPT = ROOT / "results" / "mutants"
BESIDE_SECONDS = 10.0
"""Seconds for tests in addition to those that run a line."""
QUICK_SECONDS = 0.5
"""Seconds of a test that runs before slower ones of every module."""
REPLAYS, REPLAYING = "/replays/", "test_what_each_replay_shows_is_on_record"
"""Part of the path of replays, and the test that runs them in a process of their own, where no line is measured."""
NO_TESTS = 5
"""Status of pytest for a file in which it finds none."""


@dataclass(frozen=True)
class Room:
    """Code with its tests, including the examples in its docstrings."""

    name: str
    sources: tuple[Path, ...]
    tests: tuple[Path, ...]
    """Folders and files."""
    without: tuple[str, ...] = ()
    """Modules of tests that do not run."""

    def test_files(self) -> list[Path]:
        """Return the files that hold tests: modules of tests, and sources with examples."""
        found = [
            path for place in self.tests for path in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
        ]
        found += [path for path in self.sources if ">>>" in path.read_text(encoding="utf-8")]
        return [path for path in found if path.stem not in self.without]

    def support(self) -> list[Path]:
        """Return the files that every test may depend on: the sources, and helper modules among the tests."""
        folders = {place if place.is_dir() else place.parent for place in self.tests}
        beside = {path for folder in folders for path in folder.rglob("*.py")}
        return [*self.sources, *sorted(path for path in beside if not path.name.startswith(("test_", "record_")))]


@dataclass(frozen=True)
class Reach:
    """The tests that run each line, and the time of each test."""

    lines: dict[tuple[str, int], set[str]]
    files: dict[str, set[str]]
    seconds: dict[str, float]
    texts: dict[str, str]
    """Texts of the modules of tests."""

    def tests(self, mutant: Mutant, most: float = math.inf) -> list[str]:
        """Return the tests of a mutant: those that run the line, then others of the same modules, quick ones first.

        The others count because a line that a module's fixture or cache runs is measured in its first test alone. Of
        a line that runs on import, all that run its file or are in a module that names it. Quick tests first, then slow
        ones; among these module by module, as fixtures belong to modules, first the one named after the file.

        Args:
            mutant: The wrong line.
            most: Seconds after which no further test is taken.
        """
        everything = self.files.get(mutant.file, set())
        found: set[str] = set()
        for line in range(mutant.line, mutant.line + mutant.before.count("\n") + 1):
            found |= self.lines.get((mutant.file, line), set())
        if REPLAYS in mutant.file:
            paper = Path(mutant.file).parts[1]
            found |= {test for test in self.seconds if REPLAYING in test and f"[{paper}]" in test}
        if mutant.on_import or not found:
            named = mutant.file.removesuffix(".py").replace("/", ".")
            found = everything | {test for test in self.seconds if named in self.texts[_module(test)]}
        modules = {_module(test) for test in found}
        beside = sorted((test for test in everything - found if _module(test) in modules), key=self.seconds.__getitem__)
        first = f"test_{Path(mutant.file).stem}.py"
        ordered = self._quick_first(found, first)
        ordered += self._quick_first(set(self._within(beside, BESIDE_SECONDS)), first)
        return self._within(ordered, most) or ordered[:1]

    def _within(self, tests: Sequence[str], most: float) -> list[str]:
        """Return as many of the tests as fit into some seconds."""
        sums = accumulate(self.seconds[test] for test in tests)
        return [test for test, total in zip(tests, sums, strict=True) if total <= most]

    def _quick_first(self, tests: set[str], first: str) -> list[str]:
        def slow(test: str) -> bool:
            return self.seconds[test] > QUICK_SECONDS

        together: dict[tuple[bool, str], float] = defaultdict(float)
        for test in tests:
            together[slow(test), _module(test)] += self.seconds[test]

        def rank(test: str) -> tuple[bool, bool, float, str, float]:
            module = _module(test)
            own = Path(module).name == first
            return slow(test), not own, together[slow(test), module], module, self.seconds[test]

        return sorted(tests, key=rank)


def _module(test: str) -> str:
    return test.split("::")[0]


def reach(workers: Sequence[Worker], room: Room) -> Reach:
    """Run the tests that changed since the last time, on the unchanged code, in several copies at a time.

    Raises:
        SystemExit: They fail already.
    """
    common = _digest(room.support())
    digests = {str(path.relative_to(ROOT)): common + _digest([path, *_records(path)]) for path in room.test_files()}
    kept_in = KEPT / f"{room.name}.json"
    kept = json.loads(kept_in.read_text(encoding="utf-8")) if kept_in.exists() else {}
    known = {file: kept[file] for file, digest in digests.items() if kept.get(file, {}).get("digest") == digest}
    KEPT.mkdir(parents=True, exist_ok=True)
    free = list(workers)

    def one(file: str) -> tuple[str, dict[str, Any]]:
        worker = free.pop()
        try:
            return file, {"digest": digests[file], "tests": _measured(worker, room, file)}
        finally:
            free.append(worker)

    with ThreadPoolExecutor(len(workers)) as pool:
        for file, measured in pool.map(one, [file for file in digests if file not in known]):
            known[file] = measured
            kept_in.write_text(json.dumps(kept | known), encoding="utf-8")
    lines: dict[tuple[str, int], set[str]] = defaultdict(set)
    files: dict[str, set[str]] = defaultdict(set)
    seconds = {}
    for module in known.values():
        for test, measured in module["tests"].items():
            seconds[test] = measured["seconds"]
            for file, numbers in measured["lines"].items():
                files[file].add(test)
                for number in numbers:
                    lines[file, number].add(test)
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in known}
    return Reach(dict(lines), dict(files), seconds, texts)


def _measured(worker: Worker, room: Room, test_file: str) -> dict[str, dict[str, Any]]:
    """Measure seconds and lines of each test of a file."""
    import coverage

    file, report = worker.scratch / "reach.coverage", worker.scratch / "reach.json"
    sources = [str(worker.place / path.relative_to(ROOT)) for path in room.sources]
    for left_over in (file, report):
        left_over.unlink(missing_ok=True)
    status = worker.tests(files=[test_file], cover=str(file), sources=sources, report=str(report))
    if status not in (0, NO_TESTS):
        found = json.loads(report.read_text()) if report.exists() else {"failed": None, "why": ""}
        print(found["why"], file=sys.stderr)
        raise SystemExit(f"mutants: {found['failed'] or test_file} fails on the code as it is (status {status})")
    seconds = json.loads(report.read_text())["seconds"]
    reached = {test: {"seconds": round(used, 4), "lines": defaultdict(list)} for test, used in seconds.items()}
    data = coverage.CoverageData(str(file))
    data.read()
    for path in data.measured_files():
        name = os.path.relpath(path, worker.place)
        for line, contexts in data.contexts_by_lineno(path).items():
            for test in contexts:
                if test:
                    reached[test]["lines"][name].append(line)
    return reached


def _records(test_file: Path) -> list[Path]:
    """Return the records that a module of tests compares: those below its folder."""
    return sorted(test_file.parent.rglob("record_*.*")) if test_file.name == "test_records.py" else []


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]
