"""Compiles the Coq files, asks the kernel for the axioms of each theorem, and compares with record and ledger."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paper_checks.claim import GRADES, Claim
from paper_checks.formal.bridge import flaws
from paper_checks.formal.theorems import AXIOMS as AXIOMS
from paper_checks.formal.theorems import RECORD, THEORY, THEORY_NAME, FormalTheorem, beyond_the_reals, sources_of
from paper_checks.paper import Paper
from workloads.files import write_whole

LONGEST = 600.0
"""Seconds that one file may take."""
_HEADINGS = ("Closed under the global context", "Axioms:")
_AXIOM = re.compile(r"^(?!Axioms:)([\w.']+)\s*:", re.MULTILINE)


class CoqError(RuntimeError):
    """Coq is missing, or a file does not compile."""


@dataclass(frozen=True)
class Compiled:
    """Answers of the kernel on a paper's theorems.

    Attributes:
        paper: the paper.
        theorems: its theorems about claims.
        axioms: what each assumes, by its name.
        lines: lines of its files, those of the shared theory not counted.
        seconds: time to compile.
    """

    paper: Paper
    theorems: tuple[FormalTheorem, ...]
    axioms: Mapping[str, tuple[str, ...]]
    lines: int
    seconds: float


def coq_version() -> str | None:
    """Return the version of Coq; None where it is not installed."""
    if shutil.which("coqc") is None:
        return None
    told = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True)
    return told.stdout.split()[0]


def compile_papers(
    papers: Sequence[Paper],
    build: Path,
    progress: Callable[[str], object] = lambda file: None,
    *,
    recorded: bool = True,
) -> list[Compiled]:
    """Compile the files of each paper, with the theory that they import, and return what each theorem assumes.

    Args:
        papers: papers, of which those without Coq files are skipped.
        build: an empty folder; sources are copied there, and Coq writes there.
        progress: called with the name of each file before it is compiled.
        recorded: whether the theorems are compared with the record.

    Raises:
        CoqError: Coq is missing, or a file does not compile.
        FormalError: a file or a record cannot be read, or a file assumes what nobody proved.
    """
    if coq_version() is None:
        raise CoqError("coqc is not installed: apt-get install coq libcoq-coquelicot")
    rooms = [(paper, sources_of(paper)) for paper in papers if sources_of(paper).files]
    stated = [room.theorems(recorded=recorded) for _, room in rooms]
    done: set[Path] = set()
    found = []
    for number, ((paper, room), theorems) in enumerate(zip(rooms, stated, strict=True)):
        began = time.perf_counter()
        # Each paper has a folder of its own, because two can have one name, and none may import another's files.
        places = {THEORY_NAME: (THEORY_NAME, THEORY), room.logical: (f"{number}/{room.logical}", room.folder)}
        for place, folder in places.values():
            (build / place).mkdir(parents=True, exist_ok=True)
            for file in folder.glob("*.v"):
                shutil.copy(file, build / place)
        options = [part for name, (place, _) in places.items() for part in ("-R", place, name)]
        for file in room.in_order():
            if file not in done:
                done.add(file)
                logical = THEORY_NAME if file.parent == THEORY else room.logical
                progress(f"{logical}/{file.name}")
                _coqc(build, options, f"{places[logical][0]}/{file.name}", f"{logical}/{file.name}")
        axioms = _axioms(build, options, [one.name for one in theorems])
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in room.files)
        found.append(Compiled(paper, theorems, axioms, lines, time.perf_counter() - began))
    return found


def _coqc(build: Path, options: Sequence[str], file: str, called: str) -> str:
    command = ["coqc", "-q", "-w", "-ambiguous-paths", *options, file]
    try:
        told = subprocess.run(command, cwd=build, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        raise CoqError(f"{called} takes more than {LONGEST:g} s to compile") from None
    if told.returncode:
        raise CoqError(f"{called} does not compile: {' '.join(told.stderr.split())[:600]}")
    return told.stdout


def _axioms(build: Path, options: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what theorems assume, by Coq's ``Print Assumptions``."""
    modules = dict.fromkeys(name.rpartition(".")[0] for name in names)
    lines = [f"Require {module}." for module in modules]
    for name in names:
        lines += [f"Eval compute in tt. (* {name} *)", f"Print Assumptions {name}."]
    (build / "assumptions.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers = _coqc(build, options, "assumptions.v", "the question for axioms").split("     = tt\n     : unit\n")[1:]
    if len(answers) != len(names):
        raise CoqError(f"Coq answers {len(answers)} of {len(names)} questions for axioms")
    return {name: _assumed(name, answer) for name, answer in zip(names, answers, strict=True)}


def _assumed(name: str, answer: str) -> tuple[str, ...]:
    """Return the axioms in an answer of Coq, which has no other line that begins at the margin.

    Raises:
        CoqError: It has one, such as that a definition is assumed to be guarded.
    """
    found = _AXIOM.findall(answer)
    for line in answer.splitlines():
        of_axiom = any(line == axiom or re.match(rf"{re.escape(axiom)}\s*:", line) for axiom in found)
        if line.strip() and not line[0].isspace() and not of_axiom and line not in _HEADINGS:
            raise CoqError(f"{name} rests on more than axioms: {line}")
    return tuple(sorted(found))


def differences(compiled: Compiled, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield what differs between the compiled theorems, their record, and the ledger's claims of the paper."""
    by_id = {claim.id: claim for claim in claims}
    recorded = sources_of(compiled.paper).record()["theorems"]
    for one in compiled.theorems:
        if one.claim not in by_id:
            yield f"{one.name} is of {one.claim}, which is not a claim of the ledger"
        for axiom in beyond_the_reals(compiled.axioms[one.name]):
            yield f"{one.name} assumes {axiom}, which is not an axiom of Coq's real numbers"
        if not one.checked:
            yield f"{one.name} is not the recorded theorem: read the new statement, then record it"
        elif tuple(one.axioms) != compiled.axioms[one.name]:
            yield f"{one.name} has other axioms on record: {', '.join(one.axioms) or 'none'}"
    for name in sorted(set(recorded) - {one.name for one in compiled.theorems}):
        yield f"{name} is on record, and there is no such theorem"
    of_claim = {claim.id: [one for one in compiled.theorems if one.claim == claim.id] for claim in claims}
    for claim in claims:
        yield from flaws(claim, of_claim[claim.id])
        if claim.grade == GRADES[0] and not any(one.role == "proves" for one in of_claim[claim.id]):
            yield f"{claim.id} has the grade {GRADES[0]}, and no theorem proves it"


def write_record(compiled: Compiled, version: str) -> Path:
    """Write the record of a paper's theorems, and return its path.

    Raises:
        CoqError: A theorem assumes more than the axioms of Coq's real numbers.
        FormalError: Something else than a record is in its place.
    """
    for name, axioms in compiled.axioms.items():
        beyond = beyond_the_reals(axioms)
        if beyond:
            raise CoqError(f"{name} assumes {', '.join(beyond)}: nothing is recorded")
    sources = sources_of(compiled.paper)
    sources.record_on_file()
    path = sources.folder / RECORD
    content = {
        "coq": version,
        "theorems": {
            one.name: {
                "id": one.id,
                "role": one.role,
                "constants": dict(one.constants),
                "axioms": list(compiled.axioms[one.name]),
                "digest": one.digest,
            }
            for one in compiled.theorems
        },
    }
    write_whole({path: (json.dumps(content, indent=1) + "\n").encode()})
    return path
