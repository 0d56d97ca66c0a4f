"""Wrong lines that people wrote: the fraction that `make test` notices, kind by kind.

``python benchmarks/written_lines.py FILE [--sample NAME] [--jobs 2]``. FILE is a JSON list; each entry has

    file     path of a module of the project
    before   text that occurs once in it, one or several lines
    after    what replaces it
    kind     what sort of mistake it is, in a few words
    shown    Python that prints a number or a text which the mistake changes

`shown` runs in a copy of the project, without the change and with it. If it prints the same twice, the line changes
nothing that a user sees and does not count. The tests that reach the line then run on it, without the slow ones.
`written_lines.json` keeps every sample with its score, Wilson's 95 % interval and the entries; an interrupted run
resumes. A sample is scored once, before any of its lines is closed. `--again` runs the lines that no test noticed once
more, and keeps the first score.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mutants import PAPERS, judge, room_of, score_of
from mutants_worker import AS_ROOT, ROOT, Worker
from reached_lines import Reach, reach
from wrong_lines import Mutant, mutated

RESULTS = Path(__file__).with_suffix(".json")
FIELDS = ("file", "before", "after", "kind", "shown")
KEPT_FIELDS = ("result", "test", "tests", "seconds")
SHOWN_SECONDS = 120.0
"""Seconds after which a `shown` that still runs counts as changed by the mistake, if it ended without it."""


def written(entry: dict[str, Any]) -> Mutant:
    """Return a wrong line from its entry.

    Raises:
        SystemExit: A field is missing, or the text does not occur exactly once, or the result does not compile.
    """
    missing = [name for name in FIELDS if not isinstance(entry.get(name), str)]
    if missing:
        raise SystemExit(f"written_lines: an entry needs {', '.join(FIELDS)} as texts; {missing[0]!r} is missing")
    path = ROOT / entry["file"]
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(entry["before"]) != 1:
        raise SystemExit(
            f"written_lines: {entry['before']!r} occurs {text.count(entry['before'])} times in {entry['file']}; "
            "name a text that occurs once"
        )
    at = text.index(entry["before"])
    start = len(text[:at].encode())
    line = text.count("\n", 0, at) + 1
    inside = any(
        node.body[0].lineno <= line <= (node.end_lineno or line)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    )
    mutant = Mutant(
        file=entry["file"],
        line=line,
        start=start,
        end=start + len(entry["before"].encode()),
        before=entry["before"],
        after=entry["after"],
        kind=entry["kind"],
        code=text.split("\n")[line - 1].strip(),
        column=at - text.rfind("\n", 0, at) - 1,
        repeat=0,
        on_import=not inside,
    )
    try:
        compile(mutated(text, mutant), entry["file"], "exec")
    except SyntaxError as error:
        raise SystemExit(f"written_lines: {entry['after']!r} in {entry['file']} does not compile: {error}") from error
    return mutant


def room_name(file: str) -> str:
    """Return the room whose tests are about a file."""
    top, *below = file.split("/")
    if top != "paper_checks":
        return top
    return "papers" if below[0] in PAPERS else "engine"


def changes_what_is_shown(worker: Worker, mutant: Mutant, shown: str) -> bool:
    """Return whether a script prints something else with the change.

    Raises:
        SystemExit: The script fails on the code as it is, or prints nothing.
    """
    before = _printed(worker, shown)
    if before is None or not before.strip():
        raise SystemExit(f"written_lines: 'shown' of {mutant.file}:{mutant.line} fails or prints nothing as it is")
    with worker.changed(mutant):
        return _printed(worker, shown) != before


def _printed(worker: Worker, shown: str) -> str | None:
    """Return what a script prints in the worker's copy; None if it fails or takes too long."""
    try:
        done = subprocess.run(
            [*worker.given_up, sys.executable, "-c", shown],
            cwd=worker.place,
            env=worker.environment,
            capture_output=True,
            text=True,
            timeout=SHOWN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def summary(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the score of a sample with its interval, in all and by kind."""
    run = [entry for entry in entries if "result" in entry]
    counted = [entry for entry in run if entry["result"] != "changes nothing shown"]
    first = score_of(counted, [entry.get("at first", entry["result"]) == "noticed" for entry in counted])
    return {
        "written": len(entries),
        "run": len(run),
        "change what is shown": len(counted),
        "noticed at first": first["noticed"],
        "score": round(first["noticed"] / max(1, len(counted)), 4),
        "interval": first["interval"],
        "noticed now": sum(entry["result"] == "noticed" for entry in counted),
        "kinds": first["kinds"],
    }


def keep(name: str, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Write a sample's results, all or none, and return its summary."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results[name] = {**summary(entries), "lines": list(entries)}
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    os.replace(part, RESULTS)
    return results[name]


def run_lines(name: str, entries: list[dict[str, Any]], left: Sequence[int], jobs: int, as_root: bool) -> None:
    """Judge entries by their numbers in the list; results are saved as they come."""
    from workloads.progress import report_progress

    mutants = {number: written(entries[number]) for number in left}
    with tempfile.TemporaryDirectory(prefix="written-") as folder:
        os.chmod(folder, 0o755)  # another user's tests run in it
        places = [Path(folder) / str(number) for number in range(min(jobs, len(left)))]
        for place in places:
            place.mkdir()
        free = [Worker(place, as_root) for place in places]
        by_room: dict[str, list[int]] = defaultdict(list)
        for number, mutant in mutants.items():
            by_room[room_name(mutant.file)].append(number)
        with report_progress(name, len(left), "line") as bar:
            for room, numbers in sorted(by_room.items()):
                known = reach(free, room_of(room))

                def one(number: int, known: Reach = known) -> tuple[int, dict[str, Any]]:
                    worker, mutant = free.pop(), mutants[number]
                    try:
                        if not changes_what_is_shown(worker, mutant, entries[number]["shown"]):
                            return number, {"result": "changes nothing shown"}
                        found = judge(worker, mutant, known, float("inf"))
                        return number, {key: found[key] for key in KEPT_FIELDS if key in found}
                    finally:
                        free.append(worker)

                with ThreadPoolExecutor(len(places)) as pool:
                    for number, found in pool.map(one, numbers):
                        if "result" in entries[number]:
                            found["at first"] = entries[number].get("at first", entries[number]["result"])
                        entries[number] |= found
                        keep(name, entries)
                        bar.advance()
        for worker in free:
            worker.close()


def main() -> int:
    """Score a sample, or run what is left of it again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="JSON list of wrong lines")
    parser.add_argument("--sample", help="name of the sample in written_lines.json; default: the file's name")
    parser.add_argument("--jobs", type=int, default=2, help="copies at work; default: 2")
    parser.add_argument("--again", action="store_true", help="run the lines that nobody noticed once more")
    parser.add_argument(AS_ROOT, action="store_true", help="let wrong lines run as root, and write anywhere")
    options = parser.parse_args()

    name = options.sample or options.file.stem
    entries = json.loads(options.file.read_text(encoding="utf-8"))
    earlier = json.loads(RESULTS.read_text(encoding="utf-8")).get(name) if RESULTS.exists() else None
    if earlier is not None:
        entries = earlier["lines"]
        if all("result" in entry for entry in entries) and not options.again:
            print(f"written_lines: sample {name!r} has its score already; --again runs its open lines", file=sys.stderr)
            return 2
    to_run = (None, "survived", "not reached") if options.again else (None,)
    left = [number for number, entry in enumerate(entries) if entry.get("result") in to_run]
    if left:
        run_lines(name, entries, left, options.jobs, options.as_root)
    found = keep(name, entries)
    low, high = found["interval"]
    print(
        f"{name}: {found['noticed at first']} of {found['change what is shown']} noticed at first "
        f"({100 * found['score']:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %), "
        f"{found['noticed now']} now; {found['run'] - found['change what is shown']} change nothing shown"
    )
    for kind, counts in found["kinds"].items():
        print(f"  {kind}: {counts}")
    for entry in entries:
        if entry.get("result") in ("survived", "not reached"):
            print(f"  {entry['file']} {entry['result']}: {entry['before']!r} -> {entry['after']!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
