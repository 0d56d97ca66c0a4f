"""The comparison over seeds is one with the record, too: a verdict that is the same at all seeds can be a stray one."""

from dataclasses import replace

import pytest

from benchmarks.verdicts_over_seeds import STRAY, over_seeds, replaced
from paper_checks.ledger import Ledger


@pytest.mark.sample(1)
@pytest.mark.parametrize("on_record", [True, False])
def test_a_verdict_that_is_not_on_record_is_told_though_all_seeds_have_it(on_record, tmp_path):
    ledger = Ledger.of()
    (claim,) = ledger.select(["fedloru-v2/txt-20of27"])
    given = claim if on_record else replace(claim, expect="corrected")
    found = over_seeds(ledger, (given,), 2, 1, tmp_path / "done.json")
    assert found["claims"] == 1
    assert found["verdicts"] == ({claim.id: "holds (proof)"} if on_record else {})
    assert found[STRAY] == ({} if on_record else {claim.id: {"holds (proof)": 2}})


def test_a_record_keeps_what_the_ledger_has_in_the_words_of_today(tmp_path):
    own = Ledger.of().select(["fedloru-v2/txt-20of27", "fedloru-v2/eq-5", "fedloru-v2/eq-1", "fedloru-v2/thm-3.3"])
    (again,) = (claim for claim in own if claim.id == "fedloru-v2/txt-20of27")
    found = {"seeds": 2, STRAY: {}, "verdicts": {again.id: "holds (proof)"}, "print": {}, "environment": {}}
    verdicts = {"fedloru-v2/gone": "holds (proof)", "fedloru-v2/eq-1": "depends on the reading (proof)"}
    once = {"corrected (proof)": 1, "not checkable here (None)": 1}
    stray = {"fedloru-v2/thm-3.3": once, again.id: {"holds (proof)": 2}}
    record = {"seeds": 20, "claims": 9, STRAY: stray, "verdicts": verdicts | {"fedloru-v2/eq-5": "holds (proof)"}}
    kept = replaced(record, found, (again,), own)
    assert kept["verdicts"] == {"fedloru-v2/eq-5": "holds (proof)", again.id: "holds (proof)"}
    assert kept[STRAY] == {"fedloru-v2/thm-3.3": once}
    assert (kept["claims"], kept["run_again"]["claims"]) == (3, [again.id])
    assert kept["print"] == {claim.id: claim.print for claim in own if claim.print != "as meant"}
    assert kept["print"]["fedloru-v2/eq-5"] == "inconsistent"
