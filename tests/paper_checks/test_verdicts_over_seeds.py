"""The comparison over seeds is one with the record, too: a verdict that is the same at all seeds can be a stray one."""

from dataclasses import replace

import pytest

from benchmarks.verdicts_over_seeds import STRAY, over_seeds
from paper_checks.ledger import Ledger


@pytest.mark.sample(1)
@pytest.mark.parametrize("on_record", [True, False])
def test_a_verdict_that_is_not_on_record_is_told_though_all_seeds_have_it(on_record, tmp_path):
    ledger = Ledger.of()
    (claim,) = ledger.select(["fedloru-v2/txt-total20"])
    given = claim if on_record else replace(claim, expect="corrected")
    found = over_seeds(ledger, (given,), 2, 1, tmp_path / "done.json")
    assert found["claims"] == 1
    assert found["verdicts"] == ({claim.id: "holds (proof)"} if on_record else {})
    assert found[STRAY] == ({} if on_record else {claim.id: {"holds (proof)": 2}})
