"""Every form of a claim on data that is given: its evidence, and the margins of its mutants."""

from collections.abc import Iterator
from typing import Any

from evidence_shown import shown

from paper_checks.claim import Claim


def forms_shown(claim: Claim, data: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the evidence of the printed form, the readings, control and correction, then what their mutants come to."""
    forms = [("printed", {}, claim.mutants)]
    forms += [(reading.name, reading.constants, reading.mutants) for reading in claim.readings[1:]]
    for name in ("control", "correction"):
        if (form := getattr(claim, name)) is not None:
            forms.append((name, form.constants, form.mutants))
    for name, constants, mutants in forms:
        yield name, shown(claim.judge(data, **constants))
        for mutant in mutants:
            found = claim.judge(data, **{**constants, **mutant})
            yield str(mutant), found.ok, found.margin
