"""Definitions, tables and settings."""

from invented_paper.bounds import FIX, HALF, bound, declared
from invented_paper.bounds import half as judge_half

from paper_checks.claim import AS_CORRECTED, LITERAL, Evidence, Intended


def whole(numbers, K=1.0, power=1):
    """Judge the bound."""
    return bound(numbers, K, power)


def half(numbers, K=0.5, power=1):
    """Judge the bound with a half."""
    return judge_half(numbers, K, power)


AMBIGUOUS = declared(
    *("def-1", whole),
    expect=("ambiguous", "search"),
    readings=(LITERAL, HALF),
    ambiguous="Sections 2 and 4 differ",
    importance="result",
    where="Corollary 1",
    uses=("invented/lem-2",),
)
MISPRINT = declared(
    *("tab-1", half),
    mutants=[{"K": 0.4}],
    expect=("holds", "search"),
    print="misprint",
    kind="number",
    where="Table 1",
    because="the second row has 0.5 for 1.0",
    intended=Intended(AS_CORRECTED, "the text says 1"),
    correction=FIX,
    importance="detail",
    uses=("invented/prop-1",),
)
OPEN = declared(
    *("thm-5", lambda numbers, K=1.0: Evidence(None, "runs at the printed scale", reason="they take weeks")),
    mutants=[{"K": 0.9}],
    expect=("not checkable here", None),
    expect_reason="they take weeks",
    where="Theorem 5",
    importance="result",
)
STUB = declared("eq-9", whole, expect=("not checkable here", None), expect_reason="no check yet", where="Section 7")
SETTING = declared(
    *("alg-1", whole),
    kind="setting",
    where="Algorithm 1",
    importance="detail",
    print="unstated",
    family="$K = 1$",
    intended=Intended("literal", "Section 6 says so"),
    seen_in=("invented/fig-2",),
    also=("invented/alg-1b",),
    uses=("invented/lem-2", "invented/elsewhere"),
)
