"""Numbers of claims that draw much, with a tenth or a hundredth of the draws, on record.

``python tests/paper_checks/few_draws.py`` writes the record again and prints what changed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paper_checks.claim import Claim, Constants
from paper_checks.context import Context
from paper_checks.engine.evidence_record import agree, form_of, judged_numbers
from paper_checks.engine.judging import judge
from paper_checks.ledger import Ledger

RECORD = Path(__file__).with_suffix(".json")
MANY_DRAWS = {
    "fedloru-v2/prop-3.1",
    "fedloru-v2/prop-3.1-bulk",
    "fedloru-v2/prop-3.1-dist",
    "fedloru-v2/claim-ill",
    "fedloru-v2/claim-overlap-mono",
    "fedloru-v2/assump-bulk",
    "fedloru-v2/eq-26-27",
    "fedloru-v2/eq-29",
    "fedloru-v2/eq-30-31",
    "fedloru-v2/eq-36",
    "fedloru-v2/eq-36-conv",
    "fedloru-v2/eq-37",
    "fedloru-v1/Fj1",
    "fedloru-v1/prop-3.2",
    "fedloru-iclr/prop-3.1",
    "rolora/prop-5.5",
}
"""Claims that take less with a tenth of the draws, which decide nothing; `few_draws.json` has what they come to."""

FEWEST_DRAWS = {
    "fedloru-v1/Fj2",
    "fedloru-v1/eq-29-32",
    "fedloru-v1/tab-1",
    "fedloru-v2/claim-comm",
    "fedloru-v2/claim-rank-growth",
    "fedloru-v2/claim-srank-robust",
    "fedloru-v2/def-approx",
    "fedloru-v2/def-risk",
    "fedloru-v2/def-srank",
    "fedloru-v2/eq-51-54",
    "fedloru-v2/eq-52-53",
    "fedloru-v2/eq-56",
    "fedloru-v2/eq-57-58",
    "fedloru-v2/eq-76",
    "fedloru-v2/eq-77-K",
    "fedloru-v2/eq-78-79",
    "fedloru-v2/thm-3.2",
    "fedloru-v2/thm-4.2-rate",
    "fedlrt/alg-2",
    "fedlrt/claim-drift",
    "fedlrt/claim-fedlin",
    "fedlrt/eq-17",
    "fedlrt/eq-39",
    "fedlrt/eq-39b",
    "fedlrt/eq-40",
    "fedlrt/eq-42",
    "fedlrt/eq-43-44",
    "fedlrt/eq-45",
    "fedlrt/eq-46",
    "fedlrt/eq-8",
    "fedlrt/eq-9",
    "fedlrt/exp-heterogeneous",
    "fedlrt/exp-homogeneous",
    "fedlrt/thm-11-combine",
    "fedlrt/thm-11-hat-first",
    "fedlrt/thm-11-hat-lines",
    "fedlrt/thm-11-hat-second",
    "fedlrt/thm-3",
    "fedlrt/thm-4",
    "rolora/s5-rolora-loss",
}
"""The same with a hundredth of the draws."""

THEMES = {
    "fedloru.convergence.alg_1",
    "fedloru.convergence.lem_b_5",
    "fedloru.convergence.lem_b_6",
    "fedloru.convergence.lem_b_7",
    "fedloru.convergence.lem_b_8",
    "fedloru.numbers.tables_2_to_7",
    "fedloru.spectral.assump_a_5",
    "fedloru.spectral.eq_1",
    "fedloru.spectral.lem_a_2",
    "fedloru.spectral.lem_a_6",
    "fedloru.spectral.noise_scale",
    "fedloru.spectral.sec_a_6",
    "fedloru.spectral.thm_3_2_sets",
    "fedloru.spectral.thm_3_2_signs",
    "fedloru.spectral.v1_lem_a_2",
    "fedloru.spectral.v1_thm_3_3",
    "fedlrt.thm_1",
    "fedlrt.thm_7",
    "rolora.lem_a_10_gradient",
    "rolora.lem_a_11_combined",
    "rolora.lem_a_11_numerator",
    "rolora.lem_a_16",
    "rolora.prop_5_5_algebra",
    "rolora.table_1",
    "rolora.table_6",
    "rolora.thm_5_4_first_iteration",
    "rolora.thm_5_4_iterations",
}
"""Themes that take half as long, or less, with a tenth of the draws and without the smallest noticed changes."""


class FewDraws(Context):
    """A measurement with a tenth of the draws, and of lists of sizes the first two."""

    fraction, sizes = 10, 2

    def size(self, quick: Any, full: Any) -> Any:
        """Return less than the quick budget has."""
        if isinstance(quick, int):
            return max(2, quick // self.fraction)
        return quick[: self.sizes] if isinstance(quick, tuple | list) else quick


class FewestDraws(FewDraws):
    """A measurement with a hundredth of the draws, and of lists of sizes the first."""

    fraction, sizes = 100, 1


def fewer(id: str) -> type[Context]:
    """Return how a claim is measured for the forms on record: with fewer draws if it is listed here."""
    return FewDraws if id in MANY_DRAWS else FewestDraws if id in FEWEST_DRAWS else Context


def forms_of(claim: Claim) -> Iterator[tuple[str, Constants]]:
    """Yield the names of the forms of a claim, as in records of evidence, and their constants."""
    yield "printed", {}
    yield from ((reading.name, reading.constants) for reading in claim.readings[1:])
    yield from ((name, form.constants) for name in ("control", "correction") if (form := getattr(claim, name)))


def has_few_draws(claim: Claim) -> bool:
    """Return whether the theme of a claim is one of `THEMES`."""
    return claim.module.removeprefix("paper_checks.") in THEMES


def judged(claim: Claim) -> dict[str, Any]:
    """Return the numbers of every form of a claim that its verdict needs, mutants and neighbours among them."""
    return judged_numbers(claim, judge(claim, claim.measure(FewDraws(claim.id))))


def numbers(claim: Claim) -> dict[str, Any]:
    """Return the numbers of every form of a claim."""
    data = claim.measure(fewer(claim.id)(claim.id))
    return {
        key: value
        for name, constants in forms_of(claim)
        for key, value in form_of(name, claim.judge(data, **constants)).items()
    }


if __name__ == "__main__":
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    claims = Ledger.of().claims
    now = {claim.id: numbers(claim) for claim in claims if claim.id in MANY_DRAWS | FEWEST_DRAWS}
    now |= {claim.id: judged(claim) for claim in claims if has_few_draws(claim)}
    for id, found in now.items():
        for name, value in found.items():
            if not agree(before.get(id, {}).get(name), value):
                print(f"{id}: {name} was {before.get(id, {}).get(name)} and is {value}")
    RECORD.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
