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
from paper_checks.formal.theorems import RECORD, THEORY, THEORY_NAME, FormalTheorem, sources_of
from paper_checks.paper import Paper
from workloads.files import write_whole

AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""Axioms of Coq's own library of the real numbers; a theorem assumes no others."""
LONGEST = 600.0
"""Seconds that one file may take."""
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
    papers: Sequence[Paper], build: Path, progress: Callable[[str], object] = lambda file: None
) -> list[Compiled]:
    """Compile the files of each paper, with the theory that they import, and return what each theorem assumes.

    Args:
        papers: papers, of which those without Coq files are skipped.
        build: an empty folder; sources are copied there, and Coq writes there.
        progress: called with the name of each file before it is compiled.

    Raises:
        CoqError: Coq is missing, or a file does not compile.
    """
    if coq_version() is None:
        raise CoqError("coqc is not installed: apt-get install coq libcoq-coquelicot")
    rooms = {paper: sources_of(paper) for paper in papers if sources_of(paper).files}
    named = {THEORY_NAME: THEORY, **{room.logical: room.folder for room in rooms.values()}}
    options = [part for name in named for part in ("-R", name, name)]
    for name, folder in named.items():
        (build / name).mkdir(parents=True)
        for file in folder.glob("*.v"):
            shutil.copy(file, build / name)
    done: set[Path] = set()
    found = []
    for paper, room in rooms.items():
        began = time.perf_counter()
        for file in room.in_order():
            if file not in done:
                done.add(file)
                logical = THEORY_NAME if file.parent == THEORY else room.logical
                progress(f"{logical}/{file.name}")
                _coqc(build, options, f"{logical}/{file.name}")
        theorems = room.theorems()
        axioms = _axioms(build, options, [one.name for one in theorems])
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in room.files)
        found.append(Compiled(paper, theorems, axioms, lines, time.perf_counter() - began))
    return found


def _coqc(build: Path, options: Sequence[str], file: str) -> str:
    command = ["coqc", "-q", "-w", "-ambiguous-paths", *options, file]
    try:
        told = subprocess.run(command, cwd=build, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        raise CoqError(f"{file} takes more than {LONGEST:g} s to compile") from None
    if told.returncode:
        raise CoqError(f"{file} does not compile: {' '.join(told.stderr.split())[:600]}")
    return told.stdout


def _axioms(build: Path, options: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what theorems assume, by Coq's ``Print Assumptions``."""
    modules = dict.fromkeys(name.rpartition(".")[0] for name in names)
    lines = [f"Require {module}." for module in modules]
    for name in names:
        lines += [f"Eval compute in tt. (* {name} *)", f"Print Assumptions {name}."]
    (build / "assumptions.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers = _coqc(build, options, "assumptions.v").split("     = tt\n     : unit\n")[1:]
    if len(answers) != len(names):
        raise CoqError(f"Coq answers {len(answers)} of {len(names)} questions for axioms")
    return {name: tuple(sorted(_AXIOM.findall(answer))) for name, answer in zip(names, answers, strict=True)}


def differences(compiled: Compiled, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield what differs between the compiled theorems, their record, and the ledger's claims of the paper."""
    by_id = {claim.id: claim for claim in claims}
    recorded = sources_of(compiled.paper).record()["theorems"]
    for one in compiled.theorems:
        if one.claim not in by_id:
            yield f"{one.name} is of {one.claim}, which is not a claim of the ledger"
        for axiom in sorted(set(compiled.axioms[one.name]) - set(AXIOMS)):
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
    """
    for name, axioms in compiled.axioms.items():
        beyond = set(axioms) - set(AXIOMS)
        if beyond:
            raise CoqError(f"{name} assumes {', '.join(sorted(beyond))}: nothing is recorded")
    path = sources_of(compiled.paper).folder / RECORD
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
