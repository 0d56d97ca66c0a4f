"""Printed constants and the best ones known: which are shown, and where."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from seen import key, styled

from paper_checks.claim import Best
from paper_checks.context import Context
from paper_checks.engine.constants import COLORS, constants, draw, write
from paper_checks.ledger import PAPERS


@pytest.fixture(scope="module")
def table():
    return constants()


def test_constants_of_theorems_stand_there_as_the_ledger_has_them(table):
    by_name = table.set_index(["id", "constant"])
    eight = by_name.loc["fedlrt/thm-8", "constant"]
    assert (eight.statement, eight.printed, eight.best, eight.quotient) == ("Theorem 8", 12.0, 1.0, 12.0)
    assert (eight.proved, eight.verdict) == (True, "holds")
    assert not by_name.loc["fedlrt/thm-7", "square"].proved
    assert by_name.loc["fedloru-v1/thm-3.3", "second moment"].statement == "v1 Theorem 3.3"


@pytest.mark.parametrize("id", ["thm-1", "thm-6-proof", "thm-7", "thm-7-second-term", "thm-8", "thm-8-proof"])
def test_the_best_value_known_is_not_refuted_by_the_check_itself(id):
    claim = next(claim for paper in PAPERS for claim in paper.claims() if claim.id == f"fedlrt/{id}")
    data = claim.measure(Context(claim.id))
    form = claim.correction.constants if claim.correction else claim.meant.constants  # the established form
    assert claim.best
    for name, best in claim.best.items():
        assert claim.judge(data, **form, **{name: best.value}).ok is True


PRINTED = ("fedloru.numbers.", "rolora.number_of_clients", "rolora.language_models", "rolora.mmlu")
OF_TABLES = [
    claim
    for paper in PAPERS
    for claim in paper.claims()
    if claim.best and any(f"paper_checks.{part}" in claim.module for part in PRINTED)
]


@pytest.mark.parametrize("claim", OF_TABLES, ids=lambda claim: claim.id)
def test_the_best_value_by_printed_numbers_holds_whatever_the_rounding(claim):
    data = claim.measure(Context(claim.id))
    forms = [reading.constants for reading in claim.readings]
    forms += [claim.correction.constants] if claim.correction else []
    standing = [form for form in forms if claim.judge(data, **form).ok]
    assert standing
    for name, best in claim.best.items():
        assert any(claim.judge(data, **{**form, name: best.value}).ok is True for form in standing)


def test_what_is_no_constant_of_a_theorem_is_left_out(table):
    claims = {claim.id: claim for paper in PAPERS for claim in paper.claims()}
    left_out = {claim.id for claim in claims.values() if claim.best} - set(table.id)
    assert {"fedlrt/claim-hom-10x", "rolora/table-7", "fedlrt/thm-8-proof"} <= left_out
    assert not {"rolora/lem-A.4", "rolora/thm-A.8"} & set(table.id)  # the print gives their constants no value
    assert "drift" not in set(table[table.id == "fedlrt/thm-7"].constant)  # its best value is 0
    assert set(table.verdict) <= set(COLORS)


def test_only_positive_constants_of_numbered_statements_are_shown():
    """The printed constant of Theorem 8 is 12, compared with invented best values."""
    (eight,) = (claim for paper in PAPERS for claim in paper.claims() if claim.id == "fedlrt/thm-8")

    def shown(value, **changes):
        claim = replace(eight, best={"constant": Best(value, "searched")}, **changes)
        return constants([SimpleNamespace(called="Invented", claims=lambda: (claim,))]).to_dict("records")

    (row,) = shown(48.0)
    assert (row["paper"], row["printed"], row["best"], row["quotient"], row["proved"]) == (
        "Invented",
        12.0,
        48.0,
        0.25,
        False,
    )
    assert [shown(value) for value in (0.0, -3.0)] == [[], []]
    for printed in (0.0, -12.0):
        assert shown(48.0, judge=lambda data, constant=printed, corrected=0, leading=0: data) == []
    assert shown(48.0, kind="number") == shown(48.0, where="Section 3, eq. (4)") == []


def test_papers_stand_in_their_order_and_the_loosest_constant_first(table):
    assert list(dict.fromkeys(table.paper)) == [paper.called for paper in PAPERS]
    for _, part in table.groupby("paper"):
        assert part.quotient.is_monotonic_decreasing


def test_each_constant_has_its_row_and_its_mark(table):
    picture = styled(draw, table)
    (axes,) = picture.axes
    places = {
        (float(x), int(y), line.get_label())
        for line in axes.lines
        if line.get_transform() == axes.transData
        for x, y in zip(*line.get_data(), strict=True)
    }
    assert places == {
        (row.quotient, row.Index, f"{row.verdict}, best {'proved' if row.proved else 'searched'}")
        for row in table.itertuples()
    }
    assert set(key(picture)) == {label for *_, label in places}
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        f"{row.paper} {row.statement}: {row.constant}" for row in table.itertuples()
    ]
    assert [text.get_text() for text in axes.texts] == [
        f"{row.printed:.3g} for {row.best:.3g}" for row in table.itertuples()
    ]
    assert axes.get_xscale() == "log"
    assert axes.yaxis_inverted()


def test_it_is_written_as_a_picture(tmp_path):
    (path,) = write(tmp_path)
    assert path.name == "constants.png"
    assert path.read_bytes().startswith(b"\x89PNG")
