"""Section 3.2: averages of factors against averages of products (eqs. (1) and (2))."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.methods.identity import Point, judge_identity, rational
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.rolora.measurements.symbolic_factors import SHAPES, entrywise, factors, mean, points_of

ONE_B = {"A": ["1", "2"], "B": ["1", "1"]}
"""Two clients whose adapters are numbers, the same B at both."""


@claim(
    "rolora/eq-1",
    where="Section 3.2, eqs. (1) and (2)",
    says=r"""$\frac1N\sum_{i=1}^N\Delta W_i = \frac1N(A_1B_1 + \cdots + A_NB_N) \ne \frac1N(A_1 + \cdots +
    A_N)\frac1N(B_1 + \cdots + B_N)$: aggregating the two factors apart is inaccurate.""",
    measure=points_of,
    readings=(
        Reading(
            "for all factors",
            "The two sides of (2) differ for every N and all factors.",
            why="It is printed with $\\ne$ and without a condition on the factors.",
        ),
        Reading(
            "in general position",
            r"The difference of the two sides is $\frac1N\sum_i(A_i - \bar A)(B_i - \bar B)$, which for two or more "
            "clients is not zero except for special factors.",
            {"of": "general"},
            "The sentence is about the general case of averaging; with one client both sides are the same.",
            ({"of": "general", "cross": 0.0}, {"of": "general", "cross": -1.0}),
        ),
    ),
    also=("rolora/eq-2",),
    importance="result",
    because="The sides are equal for one client, and whenever the clients agree in one of the two factors.",
    expect=("holds", "proof"),
    intended=Intended(
        "in general position",
        "“leads to inaccurate model aggregation” (3.2): a statement about factors in general, not about equal ones",
    ),
)
def eq_1(points: list[Point], cross: float = 1.0, of: str = "all") -> Evidence:
    r"""By expansion the difference is $\frac1N\sum(A_i - \bar A)(B_i - \bar B)$, which is not identically 0 for N > 1.

    Args:
        points: entries.
        cross: share of the covariance in the difference; 0 says that the two sides of (2) are equal.
        of: factors in general position, or all.
    """
    if of == "all":
        As, Bs = ([Fraction(number) for number in ONE_B[name]] for name in ("A", "B"))
        apart = sum(A * B for A, B in zip(As, Bs, strict=True)) / 2 - sum(As) / 2 * sum(Bs) / 2
        line = Relation("sides that differ", Fraction(1), Fraction(apart != 0), case=ONE_B)
        return judge_relations([line], "two clients whose A and B are numbers")
    lines = []
    for clients in (1, 2, 3):
        As, Bs = factors(clients)
        products = mean([A * B for A, B in zip(As, Bs, strict=True)])
        covariance = mean([(A - mean(As)) * (B - mean(Bs)) for A, B in zip(As, Bs, strict=True)])
        lines += entrywise(f"N = {clients}", products, mean(As) * mean(Bs) + rational(cross) * covariance)
    return judge_identity(
        lines,
        points,
        f"{SHAPES}; the difference of (1) and (2) is the covariance of A_i and B_i, which is zero for one client and "
        "whenever all A_i or all B_i agree, and not zero for generic factors of two and three clients (nor of "
        "more: further ones with the mean factors add nothing to the sum)",
    )
