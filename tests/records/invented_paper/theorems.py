"""Section 2 and Appendix A: squares of small numbers (Theorem 3), and what follows."""

from invented_paper.bounds import CONTROL, FIX, bound, declared
from invented_paper.bounds import half as judge_half

from paper_checks.claim import Best, Dropped


def whole(numbers, K=1.0, power=1):
    """Judge the bound.

    Args:
        numbers: what is measured.
        K: the printed factor,
            in units of x.
        power: its exponent.
    """
    return bound(numbers, K, power)


def half(numbers, K=0.5, power=1):
    """Judge the bound with a half."""
    return judge_half(numbers, K, power)


def loose(numbers, K=4.0, most=1.0):
    return bound([most * x for x in numbers], K)


HOLDS = declared("thm-3", whole, importance="result", best={"K": Best(1.0, "proved: at x = 1")})
LOOSE = declared(
    *("loose", loose),
    mutants=[{"K": 0.5}],
    vary=("K",),
    where="eq. (4)",
    uses=("invented/thm-3",),
    hypotheses=(
        Dropped("$x \\le 1$", {"most": 8.0}),
        Dropped("$x \\ge 0.1$"),
        Dropped("$x \\ge 0$", {}, "$x^2 \\ge 0$"),
    ),
)
CORRECTED = declared(
    *("prop-1", half),
    mutants=[],
    expect=("corrected", "search"),
    control=CONTROL,
    correction=FIX,
    where="Section 3.1, Proposition 1",
    importance="result",
    because="At $x = 1$ a half is too small.",
    uses=("invented/thm-3", "invented/loose"),
)
REFUTED = declared(
    *("lem-2", half),
    mutants=[],
    expect=("refuted", "proof"),
    control=CONTROL,
    where="Lemma 2",
    uses=("invented/prop-1",),
    importance="result",
)
