"""The text of a proof's page: what its body refers to, and no words of helpers."""

import re

import pytest

from paper_checks.evaluation import proof, require
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of
from paper_checks.replaying.arguments import argument_of

PROOFS = [
    replay for paper in PAPERS for (_, kind), replay in replays_of(paper.package).items() if kind == "certificate"
]


def unrelated() -> int:
    r"""A lemma on $x$ that no proof here refers to."""
    return 1


def sum_of_units(size: int) -> None:
    r"""Prove $1 + 1 = 2$ by counting."""
    require(helper() == size, "the sum")


def helper() -> int:
    """Return two."""
    return 2


def in_words() -> int:
    """Count both.

    A second paragraph without formulas.
    """
    return 2


@proof("invented/sum")
def sum_of_ones(size: int = 2) -> str:
    """A local name that a lemma has as well does not refer to it."""
    unrelated = sum_of_units(size)
    require(unrelated is None and in_words(), "words")
    return "a sum"


def test_lemmas_are_what_the_body_refers_to_without_the_words_of_helpers():
    assert argument_of(sum_of_ones).lemmas == (
        ("sum_of_units", ("Prove $1 + 1 = 2$ by counting.",)),
        ("in_words", ("Count both.", "A second paragraph without formulas.")),
    )


def test_a_setting_that_a_module_names_comes_before_the_lemmas(monkeypatch):
    (thm_2,) = (one for one in PROOFS if one.id == "fedlrt/thm-2")
    first, *_ = argument_of(thm_2).lemmas
    assert first[0] == "descent"
    assert argument_of(thm_2).setting == ()
    own = "Theorem 2.\n\nFrom $W_0$ on.\n\nSetting: `shared.slack`, `shared.chains`.\n"
    monkeypatch.setattr("paper_checks.fedlrt.replays.thm_2.__doc__", own)
    assert argument_of(thm_2).setting == ("Theorem 2.", "From $W_0$ on.")
    assert [name for name, _ in argument_of(thm_2).lemmas][:2] == ["slack", "chains"]


@pytest.mark.parametrize("replay", PROOFS, ids=lambda replay: replay.id)
def test_no_page_tells_what_a_helper_returns(replay):
    texts = [" ".join(text) for _, text in argument_of(replay).lemmas]
    assert not [text for text in texts if re.search(r"^(Why|Which)\b", text)]


def test_settings_of_other_modules_come_with_a_lemma_of_theirs():
    local_steps = {replay.id for replay in PROOFS if "local_steps" in dict(argument_of(replay).lemmas)}
    assert "fedloru-v2/lem-B.8" in local_steps
    assert not local_steps & {"fedloru-v2/claim-union", "fedloru-v2/eq-83", "fedloru-v2/thm-3.2"}
