"""The bridge between formal statements and the ledger: both name the same constants with the same values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paper_checks.claim import AS_CORRECTED, Claim
from paper_checks.engine.proved_constants import is_same_constant
from paper_checks.evaluation import plain
from paper_checks.formal.theorems import FormalTheorem


def constants_meant(claim: Claim, theorem: FormalTheorem) -> Mapping[str, Any]:
    """Return the constants of the form of a claim that a theorem is of.

    A theorem refutes a reading as printed, and it proves or refines what is established: the correction of the first
    reading where that fails, else the reading itself.
    """
    best = {name: one.value for name, one in claim.best.items()} if theorem.role == "best" else {}
    slug = theorem.reading
    reading = next((one for one in claim.readings[1:] if one.slug == slug), None) if slug else claim.readings[0]
    if reading is None:
        return {}
    printed = {**claim.printed_constants(), **reading.constants}
    fails = claim.expect in ("corrected", "refuted") or claim.intended.reading == AS_CORRECTED
    if theorem.role == "refutes" or slug or not fails or claim.correction is None:
        return {**printed, **best}
    return {**printed, **claim.correction.constants, **best}


def flaws(claim: Claim, theorems: Sequence[FormalTheorem]) -> Iterator[str]:
    """Yield why theorems are not of the claim's statement: another reading, or constants of other values or names."""
    for theorem in theorems:
        if theorem.id not in claim.file_ids():
            yield f"{theorem.name} is of a reading {theorem.reading!r} that {claim.id} does not have"
            continue
        meant = constants_meant(claim, theorem)
        for name, stated in theorem.constants.items():
            if name not in meant:
                yield f"{theorem.name} sets {name} = {stated}, and the check of {claim.id} has no such constant"
            elif is_same_constant(stated, meant[name]) is False:
                yield (
                    f"{theorem.name} is of another statement, with {name} = {stated}, and the check has "
                    f"{plain(meant[name])}"
                )
