"""The text of a proof's page: what its body refers to, and no words of helpers."""

import re

import pytest

from paper_checks.arguments import argument_of
from paper_checks.evaluation import Proof, proof
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of

PROOFS = [
    replay for paper in PAPERS for (_, kind), replay in replays_of(paper.package).items() if kind == "certificate"
]


def unrelated() -> int:
    r"""A lemma on $x$ that no proof here refers to."""
    return 1


def flaw_of_sum(size: int) -> str:
    r"""Why $1 + 1$ is not 2; empty if it is. $1 + 1 = 2$ by counting."""
    return "" if helper() == size else "the sum"


def helper() -> int:
    """Two."""
    return 2


def words_only() -> str:
    """Why nothing is wrong; empty if it is.

    A second paragraph without mathematics.
    """
    return ""


@proof("invented/sum")
def sum_of_ones(values):
    """A local name that a lemma has as well is no reference to it."""
    unrelated = [flaw_of_sum(size) or words_only() for size in (2,)]
    return Proof(not any(unrelated), "a sum")


def test_lemmas_are_what_the_body_refers_to_without_the_words_of_helpers():
    assert argument_of(sum_of_ones).lemmas == (("sum", ("$1 + 1 = 2$ by counting.",)),)


@pytest.mark.parametrize("replay", PROOFS, ids=lambda replay: replay.id)
def test_no_page_tells_what_a_helper_returns(replay):
    texts = [" ".join(text) for _, text in argument_of(replay).lemmas]
    assert not [text for text in texts if re.search(r"^(Why|Which)\b", text)]


def test_settings_of_other_modules_come_with_a_lemma_of_theirs():
    local_steps = {replay.id for replay in PROOFS if "step_proofs" in dict(argument_of(replay).lemmas)}
    assert not local_steps & {"fedloru-v2/claim-union", "fedloru-v2/eq-83", "fedloru-v2/thm-3.2"}
