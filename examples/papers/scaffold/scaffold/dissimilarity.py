"""Section 2, assumption (A2), as Section 6 uses it: how different Hessians can be."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import Axis, Cases, Searched, Stated
from paper_checks.methods.inequality import collect_cases, judge_inequality

MANY = 1e4
AXES = (
    Axis("a", 1e-3, 1.0, of=Stated(0.0, 1.0, "[]"), signed=True, words="curvature of the client over β"),
    Axis("b", 1e-3, 1.0, of=Stated(0.0, 1.0, "[]"), signed=True, words="mean curvature of the others over β"),
    Axis("N", 2.0, MANY, of=Stated(2.0, float("inf"), "[)")),
)


def distance(cases: Cases) -> np.ndarray:
    """Return the distance of the client's curvature from the mean of all."""
    return (1.0 - 1.0 / cases["N"]) * np.abs(cases["a"] - cases["b"])


def measure_curvatures(context: Context) -> Searched:
    """Return curvatures along a direction, of a client and of the others in the mean, searched towards 2."""
    return collect_cases(
        context,
        AXES,
        lambda cases: np.isfinite(cases["a"]),
        lambda cases: 2.0 - distance(cases),
        examples=context.size(100, 1000),
        restarts=1,
    )


@claim(
    "scaffold/sec-6-extreme",
    where="Section 2, (A2), and Section 6, on arbitrarily different functions",
    says=r"For arbitrarily different $\beta$-smooth functions the bound $\delta$ of "
    r"$\|\nabla^2f_i(x) - \nabla^2f(x)\| \le \delta$ may be $2\beta$.",
    measure=measure_curvatures,
    mutants=[{"factor": 1.9}],
    because=r"With N clients the largest distance is $2\beta(1 - 1/N)$, so no smaller multiple of $\beta$ is enough "
    "for all N.",
    expect=("holds", "proof"),
)
def sec_6_extreme(cases: Searched, factor: float = 2.0) -> Evidence:
    """The distance along the direction where it is the norm."""
    left = distance(cases)
    return judge_inequality(
        left,
        np.full_like(left, factor),
        4e-16 * factor,
        scope="curvatures of one client and of the others in the mean, along any direction",
        case=cases,
        printed="|h_i - h| <= 2 beta",
        quotient=True,
        domain=cases.domain,
    )
