"""Which tests `make test` leaves to `make test-all`: ``python benchmarks/left_to_test_all.py`` writes their list.

A test is left if it takes longer than `LONG`, if every line that it runs is run by another test that stays, if no wrong
line on record (`mutants.json`, `written_lines.json`) names it as the test that noticed, and if it compares nothing with
a record: such tests notice wrong numbers that running a line does not show. Tests that run no line stay, as they start
processes, and so do those on top of ``tests/``, which are about several packages. The slowest are left first.

Which test runs which line is measured where tests or code have changed (an hour of one processor for all), and kept in
``results/mutants``. ``tests/conftest.py`` marks the tests of the list as slow; an id that no test has any more does
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mutants import ENGINE, RESULTS, room_of
from mutants_worker import AS_ROOT, ROOT, Worker
from reached_lines import Reach, reach
from written_lines import RESULTS as WRITTEN

ROOMS = ("algorithms", ENGINE, "figures", "hessian", "papers", "rmt", "runs", "toymodels", "workloads")
LIST = ROOT / "tests" / "left_to_test_all.txt"
LONG = 0.25
"""Processor seconds of a test that may be left, measured with its lines, which takes about a third longer."""
PINNED = re.compile(r"on_record|is_current|current_page")
"""Names of tests that compare with a record, with stored numbers or with the pages in docs/."""
ON_TOP = re.compile(r"tests/\w+\.py::")
"""Tests of several packages, whose lines are measured in one of them only."""

Line = tuple[str, int]


def joined(reaches: Iterable[Reach]) -> tuple[dict[str, float], dict[str, set[Line]]]:
    """Return the seconds of every test, and the lines that it runs in any room."""
    seconds: dict[str, float] = {}
    lines: dict[str, set[Line]] = {}
    for one in reaches:
        for test, used in one.seconds.items():
            seconds[test] = min(used, seconds.get(test, used))
            lines.setdefault(test, set())
        for line, tests in one.lines.items():
            for test in tests:
                lines[test].add(line)
    return seconds, lines


def left(seconds: Mapping[str, float], lines: Mapping[str, set[Line]], noticed: set[str], long: float) -> list[str]:
    """Return the tests that are left, sorted.

    Args:
        seconds: Processor seconds of every test.
        lines: The lines that each test runs.
        noticed: Tests that stay.
        long: Seconds that no test which is left falls below.
    """
    runs = Counter(line for of_test in lines.values() for line in of_test)
    found = []
    for test in sorted(seconds, key=lambda test: (-seconds[test], test)):
        stays = seconds[test] < long or test in noticed or PINNED.search(test.split("::")[-1].split("[")[0])
        measured = bool(lines[test]) and not ON_TOP.match(test)
        if measured and not stays and all(runs[line] > 1 for line in lines[test]):
            runs.subtract(lines[test])
            found.append(test)
    return sorted(found)


def noticing(record: Any) -> Iterator[str]:
    """Yield the tests that noticed a wrong line of a record."""
    if isinstance(record, dict):
        if record.get("result") == "noticed" and isinstance(record.get("test"), str):
            yield record["test"]
        yield from record.get("noticed at once", {}).values()
        for part in record.values():
            yield from noticing(part)
    elif isinstance(record, list):
        for part in record:
            yield from noticing(part)


def main() -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="copies at work; default: 2")
    parser.add_argument("--long", type=float, default=LONG, help=f"seconds of a test that may be left; default: {LONG}")
    parser.add_argument(AS_ROOT, action="store_true", help="let the tests run as root")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="left-") as scratch:
        os.chmod(scratch, 0o755)  # another user's tests run in it
        folders = [Path(scratch) / str(number) for number in range(options.jobs)]
        for folder in folders:
            folder.mkdir()
        workers = [Worker(folder, options.as_root) for folder in folders]
        for worker in workers:  # which measure the tests of the present list as well
            (worker.place / LIST.relative_to(ROOT)).unlink(missing_ok=True)
        rooms = (replace(room_of(name), name=f"{name}-whole") for name in ROOMS)
        seconds, lines = joined(reach(workers, room) for room in rooms)
    records = [json.loads(file.read_text(encoding="utf-8")) for file in (RESULTS, WRITTEN) if file.exists()]
    found = left(seconds, lines, set(noticing(records)), options.long)
    LIST.write_text("".join(f"{test}\n" for test in found), encoding="utf-8")
    used, whole = sum(seconds[test] for test in found), sum(seconds.values())
    print(
        f"left to make test-all: {len(found):,} of {len(seconds):,} tests, {used:.0f} of {whole:.0f} processor seconds"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
