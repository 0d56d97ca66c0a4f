"""Section 3.2: the lower bound of FedAvg, on two strongly convex clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, inf, log1p

import numpy as np

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import Stated, tried
from paper_checks.methods.inequality import judge_inequality

ROUNDS = (1, 3, 10, 100, 1000, 10_000)
LOCAL = (2, 3, 10, 30, 300)
STEPS = tuple(
    Fraction(1, 3 * n) for n in (1, 2, 3, 5, 8, 10, 20, 30, 50, 80, 100, 200, 300, 500, 1000, 3000, 10**4, 10**6)
)
LEAST = 0.05
r"""Hidden constant that is tried for these clients; the least value found is 0.0556, or 1/18, in one round."""


@dataclass(frozen=True)
class Ending:
    r"""FedAvg on $f_1 = \frac{3\mu}{2}x^2 + gx$ and $f_2 = \frac{\mu}{2}x^2 - gx$, from $x^0 = g/\mu$.

    They are strongly convex and 3mu-smooth, the minimiser of their mean is 0, and (A1) holds with $G^2 = 2g^2$ and
    $B^2 = 3/2$, because the mean square of their gradients is $g^2 + 5\mu^2x^2 + 2\mu gx \le 2g^2 + 6\mu^2x^2$.

    Attributes:
        R: rounds.
        K: local steps of a round.
        size: local step times mu, at most 1/3.
        pull: mean share of the way to their minimisers that the clients go in a round.
        fixed: fixed point of a round, in units of $g/\mu$.
    """

    R: int
    K: int
    size: Fraction
    pull: float
    fixed: float

    def error(self, free: bool) -> float:
        r"""Loss above its minimum after the rounds, in units of $G^2/\mu$.

        With a free global step, one that ends a round at its fixed point.
        """
        left = 0.0 if free or self.pull == 1.0 else exp(self.R * log1p(-self.pull))
        return (self.fixed + left * (1.0 - self.fixed)) ** 2 / 2


def measure_endings(context: Context) -> list[Ending]:
    """All triples of rounds, local steps and step; the fixed points in fractions, as their digits cancel."""
    found = []
    for K, size in product(LOCAL, STEPS):
        first, second = 1 - (1 - 3 * size) ** K, 1 - (1 - size) ** K
        pull, fixed = float((first + second) / 2), float((second - first / 3) / (first + second))
        found += [Ending(R, K, size, pull, fixed) for R in ROUNDS]
    return found


@claim(
    "scaffold/thm-2",
    where="Section 3.2, Theorem II",
    says=r"""For any $G, \mu > 0$ there are $\mu$-strongly convex functions with (A1) for which FedAvg with $K \ge 2$,
    $\sigma = 0$ and $N = S$ has an error $f(x^R) - f(x^\star) \ge \Omega(\frac{G^2}{\mu R^2})$.""",
    measure=measure_endings,
    mutants=[{"power": 1}],
    readings=(
        Reading(
            "global step of 1",
            r"There are two quadratic clients and $\kappa > 0$ such that FedAvg with $\eta_g = 1$ has "
            r"$f(x^R) - f(x^\star) \ge \kappa\frac{G^2}{\mu R^2}$ for all $R \ge 1$, $K \ge 2$ and "
            r"$\eta_l \le 1/\beta$ (judged with $\kappa = 0.05$, curvatures $3\mu$ and $\mu$).",
            why="The simulations that are based on the bound use this global step.",
        ),
        Reading(
            "any global step",
            r"The same for every $\eta_g > 0$ (no $\kappa$ is small enough, as the error tends to 0 with $\eta_l$).",
            {"free": True},
            why="FedAvg of Section 3 has a global step of its own, and Theorem I chooses it.",
        ),
    ),
    because=r"With a free global step FedAvg approaches gradient descent as $\eta_l \to 0$. We did not read the proof "
    "in the appendix.",
    importance="result",
    expect=("holds", "search"),
    intended=Intended(
        "global step of 1", "“We always use global step-size” 1 (Section 7.1), on data “based on our lower-bounds”"
    ),
)
def thm_2(endings: Sequence[Ending], power: int = 2, free: bool = False) -> Evidence:
    """The error against a twentieth of the bound."""
    left = np.array([LEAST / one.R**power for one in endings])
    right = np.array([one.error(free) for one in endings])
    return judge_inequality(
        left,
        right,
        1e-14 * np.maximum(left, right),
        scope=f"clients with curvatures 3 mu and mu; hidden constant {LEAST:g}",
        case=[{"R": one.R, "K": one.K, "size": str(one.size)} for one in endings],
        printed=f"{LEAST:g} G^2 / (mu R^{power}) <= f(x^R) - f(x*)",
        quotient=True,
        domain=tried(
            ("R", (one.R for one in endings), Stated(1.0, inf, "[)")),
            ("K", (one.K for one in endings), Stated(2.0, inf, "[)")),
            ("eta_l mu", (float(one.size) for one in endings), Stated(0.0, float(Fraction(1, 3)), "(]")),
        ),
    )
