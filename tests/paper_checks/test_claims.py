"""Every claim ends with the verdict and the numbers on record. A refuted theorem is a green test."""

import json
from dataclasses import replace
from itertools import groupby

import pytest
from few_draws import RECORD, fewer, forms_of, has_few_draws, judged
from few_draws import THEMES as OF_FEW_DRAWS

from paper_checks.claim import FAILING
from paper_checks.context import SUITE_LEVEL, Context
from paper_checks.engine.evidence_record import Difference, agree, answer_of, changed, differences, form_of, read_record
from paper_checks.ledger import Ledger
from paper_checks.replay import Stored, replay_in_fresh_process
from paper_checks.run import run

LEDGER = Ledger.of()
ONE_THEME = replace(LEDGER, whole=False)
"""The ledger of a run that leaves files of no claim to others, which look through the whole paper once."""
RECORDS = {paper: read_record(paper.folder) for paper in LEDGER.papers}
FEW_DRAWS = json.loads(RECORD.read_text(encoding="utf-8"))
THEMES = {theme: tuple(claims) for theme, claims in groupby(LEDGER.claims, key=lambda claim: claim.module)}
LONG = {
    "fedloru.convergence.sec_4_1",
    "fedloru.convergence.sec_4_1_advantages",
    "fedloru.convergence.thm_4_2",
    "fedloru.convergence.thm_4_2_proof",
    "fedloru.numbers.accuracies",
    "fedloru.numbers.experiments",
    "fedloru.spectral.prop_3_1",
    "fedloru.spectral.prop_3_1_edges",
    "fedloru.spectral.prop_3_1_outliers",
    "fedloru.spectral.prop_a_4",
    "fedloru.spectral.sec_3",
    "fedloru.spectral.sec_3_2",
    "fedloru.spectral.thm_3_2",
    "fedloru.spectral.thm_3_2_limits",
    "fedloru.spectral.thm_3_2_monotone",
    "fedloru.spectral.thm_3_3",
    "fedloru.spectral.thm_3_3_proof",
    "fedloru.spectral.v1_prop_3_1",
    "fedloru.spectral.v1_prop_3_2",
    "fedloru.spectral.v1_thm_3_3_series",
    "fedlrt.alg_1",
    "fedlrt.client_drift",
    "fedlrt.fig_1",
    "fedlrt.fig_4",
    "fedlrt.full_rank_distance",
    "fedlrt.lemma_2",
    "fedlrt.sec_2",
    "fedlrt.sec_3_1",
    "fedlrt.sec_4_1",
    "fedlrt.thm_3",
    "fedlrt.thm_4",
    "fedlrt.thm_4_equations",
    "fedlrt.thm_5",
    "rolora.lem_5_3",
    "rolora.prop_5_5",
    "rolora.sec_3_2",
    "rolora.sec_5_2",
    "rolora.table_2",
    "rolora.thm_5_4",
}
"""Themes that take more than a second each: `make verify` compares them with the record, and `make test-all` again."""


TOO_LONG = {
    "fedloru-iclr/tab-1",
    "fedloru-v1/eq-18-19",
    "fedloru-v1/prop-3.1",
    "fedloru-v2/claim-alpha-ext",
    "fedloru-v2/claim-noextra",
    "fedloru-v2/eq-55",
    "fedloru-v2/eq-67-70",
    "fedloru-v2/eq-71-75",
    "fedloru-v2/thm-3.3",
    "fedloru-v2/thm-4.2",
    "fedlrt/alg-1",
    "fedlrt/claim-close-to-full",
    "fedlrt/claim-het-converge",
    "fedlrt/claim-het-plateau",
    "fedlrt/claim-hom-10x",
    "fedlrt/claim-hom-clients",
    "fedlrt/claim-hom-error",
    "fedlrt/claim-hom-rank",
    "fedlrt/claim-hom-stepsize",
    "fedlrt/claim-thm3-figure",
    "fedlrt/claim-thm3-text",
    "fedlrt/eq-7",
    "fedlrt/fig-1",
    "fedlrt/fig-4",
    "rolora/exp-5.2",
    "rolora/lem-5.3",
    "rolora/table-10",
    "rolora/table-2",
    "rolora/thm-5.4",
}
"""Claims whose forms take more than 0.7 seconds."""


def _marked(theme):
    slow = theme.removeprefix("paper_checks.") in LONG | OF_FEW_DRAWS
    return pytest.param(theme, marks=pytest.mark.slow) if slow else theme


@pytest.mark.parametrize("theme", [_marked(theme) for theme in THEMES])
def test_verdicts_and_numbers_of_a_theme_are_those_on_record(theme, monkeypatch, stored_answers):
    monkeypatch.setattr("paper_checks.run.replay_each", stored_answers)
    differ: list[Difference] = []
    for result in run(THEMES[theme], ONE_THEME).results:
        differ += differences(result, RECORDS[LEDGER.home[result.claim.id]])
        found = f"{result.decision.verdict} ({result.decision.grade}), {result.decision.reason}"
        assert result.as_expected, f"{result.claim.id}: {found}; on record {result.claim.expect}"
    assert not differ, "\n".join(map(str, differ))


@pytest.mark.parametrize(
    "claim",
    [claim for claim in LEDGER.claims if f"{claim.module}".removeprefix("paper_checks.") in LONG],
    ids=lambda claim: claim.id,
)
def test_numbers_of_each_form_are_those_on_record(claim):
    """Also of themes that take too long for all that a verdict needs: mutants, neighbours and noticed changes."""
    if claim.id in TOO_LONG:
        pytest.skip("its theme runs in `make test-all`")
    context = fewer(claim.id)
    record = RECORDS[LEDGER.home[claim.id]][claim.id] if context is Context else FEW_DRAWS[claim.id]
    data = claim.measure(context(claim.id))
    for name, constants in forms_of(claim):
        before = {key: value for key, value in record.items() if key.rpartition(" ")[0] == name}
        assert before, f"no number of {name} is on record"
        found = form_of(name, claim.judge(data, **constants))
        assert not [(key, before.get(key), value) for key, value in found.items() if not agree(before.get(key), value)]
        assert before.keys() - {f"{name} refuted"} <= found.keys()


@pytest.mark.parametrize("claim", [*filter(has_few_draws, LEDGER.claims)], ids=lambda claim: claim.id)
def test_numbers_of_few_draws_are_those_on_record(claim):
    """Mutants and neighbours too, in themes that `make verify` compares with the record and `make test-all` again."""
    differ = list(changed(claim.id, FEW_DRAWS[claim.id], judged(claim)))
    assert not differ, "\n".join(map(str, differ))


@pytest.mark.parametrize("paper", LEDGER.papers, ids=lambda paper: paper.name)
def test_what_each_replay_shows_is_on_record(paper, stored_answers):
    differ = []
    for claim in paper.claims():
        before = RECORDS[paper].get(claim.id, {})
        for answer in stored_answers(paper.package, paper.to_replay(claim.id)):
            found = answer_of(answer).items()
            differ += [
                Difference(claim.id, name, before.get(name), value)
                for name, value in found
                if not agree(before.get(name), value)
            ]
    assert not differ, "\n".join(map(str, differ))


def test_every_claim_that_is_measured_is_on_record():
    on_record = [id for record in RECORDS.values() for id in record]
    assert sorted(on_record) == sorted(claim.id for claim in LEDGER.claims)
    assert {f"paper_checks.{theme}" for theme in LONG | OF_FEW_DRAWS} <= THEMES.keys()


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_claim_is_declared_completely(claim):
    constants = [value for value in claim.printed_constants().values() if isinstance(value, float)]
    assert claim.vary or not constants or len(claim.readings) > 1 or claim.expect != "holds"
    assert claim.because or claim.expect not in FAILING
    if claim.expect == "refuted":
        assert claim.control is not None
    if claim.expect == "corrected":
        assert claim.correction is not None or len(claim.readings) > 1
    if claim.correction is not None:
        assert claim.correction.mutants
    texts = [claim.because, *(text for reading in claim.readings for text in (reading.says, reading.why))]
    for text in (claim.says, claim.correction.says if claim.correction else "", *texts):
        assert text.count("$") % 2 == 0


@pytest.mark.parametrize("paper", LEDGER.papers, ids=lambda paper: paper.name)
def test_no_replay_confirms_an_empty_witness(paper):
    claims = [claim for claim in LEDGER.claims if LEDGER.home[claim.id] == paper]
    files = [file for claim in claims for file in paper.to_replay(claim.id)]
    emptied = [Stored(file.id, file.kind, {}) for file in files if file.values]  # a proof may need none
    assert emptied or all(claim.expect in ("holds", "not checkable here") for claim in claims)
    for file, answer in zip(emptied, replay_in_fresh_process(paper.package, emptied), strict=True):
        assert not answer.confirmed, file.id


def test_the_suite_stays_within_its_error_budget():
    assert len(LEDGER.claims) * 1e-6 <= SUITE_LEVEL
