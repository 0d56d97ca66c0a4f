"""Where FedAvg ends with a constant step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import UP_TO_ONE, Stated, tried
from paper_checks.methods.identity import Equation, Equations, generic_points, identities
from paper_checks.methods.inequality import judge_inequality

STEPS = (2, 3, 10, 30, 100, 300)
SIZES = tuple(Fraction(1, 10**k) for k in (0, 1, 2, 4, 6, 8, 10))
UNEQUAL, EQUAL = (1, 3), (1, 1)
MINIMISERS = (0, 1)
LEAST = 0.1
"""Hidden constant that is tried for the problem with curvatures 1 and 3; the limit for small steps is 1/4."""


def fixed_point(curvatures: Sequence[Any], minimisers: Sequence[Any], step: Any, E: int) -> Any:
    """Return the fixed point of one round of FedAvg, by numbers or symbols."""
    pulls = [1 - (1 - step * a) ** E for a in curvatures]
    return sum(p * c for p, c in zip(pulls, minimisers, strict=True)) / sum(pulls)


@dataclass(frozen=True)
class Ending:
    """Where FedAvg ends on one problem.

    Attributes:
        curvatures: of the two clients.
        E: local steps of a round.
        size: step times the largest curvature, times E if ``scaled``.
        scaled: whether the step is small for E, or for the problem alone.
    """

    curvatures: tuple[int, int]
    E: int
    size: Fraction
    scaled: bool

    @property
    def step(self) -> Fraction:
        """Size of a local step."""
        return self.size / max(self.curvatures) / (self.E if self.scaled else 1)

    @property
    def minimiser(self) -> Fraction:
        """Minimiser of the mean of the losses."""
        return Fraction(sum(a * c for a, c in zip(self.curvatures, MINIMISERS, strict=True)), sum(self.curvatures))

    @property
    def distance(self) -> Fraction:
        """Distance of the fixed point from the minimiser."""
        return abs(fixed_point(self.curvatures, MINIMISERS, self.step, self.E) - self.minimiser)


def measure_endings(context: Context) -> list[Ending]:
    """Two problems, steps of either kind, all pairs of E and size."""
    return [
        Ending(*one) for one in product((UNEQUAL, EQUAL), STEPS, SIZES, (True, False)) if one[-1] or one[1] * one[2] > 1
    ]


def judge_distance(endings: Sequence[Ending], order: float, local: bool) -> Evidence:
    """Judge the distance against ``LEAST ((E - 1) step)^order |w*|``, without E - 1 unless ``local``."""
    left = [LEAST * ((one.E - 1 if local else 1) * float(one.step)) ** order * float(one.minimiser) for one in endings]
    right = np.array([float(one.distance) for one in endings])
    scaled = all(one.scaled for one in endings)
    return judge_inequality(
        np.array(left),
        right,
        1e-14 * np.maximum(left, right),
        scope=f"two clients with curvatures {' or '.join(sorted({str(one.curvatures) for one in endings}))} and "
        f"minimisers {MINIMISERS}; hidden constant {LEAST:g}",
        case=[{"a": one.curvatures[0], "b": one.curvatures[1], "E": one.E, "step": str(one.step)} for one in endings],
        printed=f"{LEAST:g} ({'(E - 1) ' if local else ''}eta)^{order:g} |w*| <= |w - w*|",
        quotient=True,
        domain=tried(
            ("E", (one.E for one in endings), Stated(2.0, inf, "[)")),
            ("eta E L" if scaled else "eta L", (float(one.size) for one in endings), UP_TO_ONE),
        ),
    )


@identities(
    "fedavg-quadratics/fixed-point",
    where="Pathak and Wainwright, fixed points of FedGD for least squares, in one dimension",
    says=r"$\tilde w = \sum_k s_kc_k/\sum_k s_k$ with $s_k = 1 - (1 - \eta a_k)^E$ is the fixed point of FedAvg with "
    r"$E$ full gradient steps of size $0 < \eta < 2/\max_k a_k$ on $f_k(w) = a_k(w - c_k)^2/2$, two clients.",
    measure=lambda context: generic_points(context, SYMBOLS, 3),
    mutants=[{"late": 1}],
    expect=("holds", "proof"),
)
def fixed_points(points: list[Any], late: int = 0) -> Equations:
    """One round from the fixed point ends there; ``late`` adds a step that the formula does not know.

    It is the only one for these steps, as a round contracts: $|1 - \\eta a_k| < 1$. At $\\eta a_k = 2$ and an even E
    a round leaves every point where it is.
    """
    a, b, c, d, step, p, q, w = SYMBOLS
    yield Equation("one step", w - step * a * (w - c), c + (1 - step * a) * (w - c))
    middle = ((1 - p) * c + (1 - q) * d) / (2 - p - q)  # p and q: what E steps leave of the distances
    yield Equation("any E", (c + p * (middle - c) + d + q * (middle - d)) / 2, middle)
    for E in (1, 2, 3):
        start = fixed_point((a, b), (c, d), step, E)
        ends = [start, start]
        for _ in range(E + late):
            ends = [w - step * slope * (w - centre) for w, slope, centre in zip(ends, (a, b), (c, d), strict=True)]
        yield Equation(f"E = {E}", sympy.together(sum(ends) / 2), start)
    return points, "two clients with any curvatures and minimisers: one step, from it any E, and E = 1 to 3 at length"


SYMBOLS = sympy.symbols("a b c d eta p q w", real=True)


@claim(
    "fedavg-quadratics/thm-4",
    where="Theorem 4",
    says=r"There is a strongly convex and smooth problem for which FedAvg with full batches, $E > 1$ and a constant "
    r"step $\eta$ that is small enough ends at $\tilde w$ with $\|\tilde w - w^*\| = \Omega((E - 1)\eta)\,\|w^*\|$.",
    measure=measure_endings,
    mutants=[{"order": 0.9}],
    readings=(
        Reading(
            "small enough for E",
            r"There are a problem and $\kappa > 0$ such that $\|\tilde w - w^*\| \ge \kappa(E - 1)\eta\|w^*\|$ for all "
            r"$E > 1$ and all $\eta \le \eta_0(E)$ (judged with $\kappa = 0.1$ and $\eta_0 = 1/(EL)$).",
            why="The number of steps is given, and the step is then made small.",
        ),
        Reading(
            "small enough for the problem",
            r"There are a problem, $\eta_0$ and $\kappa > 0$ such that $\|\tilde w - w^*\| \ge \kappa(E - "
            r"1)\eta\|w^*\|$ for all $E > 1$ and all $\eta \le \eta_0$ (judged with $\kappa = 0.1$ and $\eta_0 = 1/L$; "
            "the end lies between the clients' minimisers, so every other constant fails at a larger E).",
            {"small": "for the problem"},
            why="The hidden constants are said to be those of the problem, and E is none of it.",
        ),
    ),
    uses=("fedavg-quadratics/fixed-point",),
    because="With a step fixed for the problem the distance is bounded, while (E - 1) times the step is not.",
    importance="result",
    expect=("holds", "search"),
    intended=Intended("small enough for E", "the statement gives E first and then a step that is small enough"),
)
def thm_4(endings: list[Ending], order: float = 1.0, small: str = "for E") -> Evidence:
    """The distance on the problem with curvatures 1 and 3 against a tenth of $(E - 1)\\eta\\|w^*\\|$."""
    wanted = [one for one in endings if one.curvatures == UNEQUAL and one.scaled == (small == "for E")]
    return judge_distance(wanted, order, local=True)


@claim(
    "fedavg-quadratics/abstract",
    where="Abstract",
    says=r"On data that are not identically distributed the step $\eta$ must decay even if full gradients are used; "
    r"otherwise the solution is $\Omega(\eta)$ away from the optimum.",
    measure=measure_endings,
    mutants=[{"order": 0.9}],
    readings=(
        Reading(
            "on some data",
            r"There is a problem with different clients for which FedAvg with $E > 1$ and a constant step ends "
            r"$\Omega(\eta)$ away from the minimiser (judged with a hidden constant of 0.1 and $\eta \le 1/(EL)$).",
            why="The theorem behind it constructs a problem.",
        ),
        Reading(
            "on all such data",
            r"For every problem whose clients are different FedAvg with $E > 1$ and a constant step ends "
            r"$\Omega(\eta)$ away from the minimiser.",
            {"data": "all"},
            why="It is called a necessary condition for convergence, without naming the problem.",
        ),
    ),
    uses=("fedavg-quadratics/fixed-point",),
    because="Clients of one curvature and different minimisers end at the minimiser, for every E and every step.",
    importance="result",
    expect=("holds", "search"),
    intended=Intended("on some data", "the theorem behind it constructs one problem"),
)
def abstract(endings: list[Ending], order: float = 1.0, data: str = "some") -> Evidence:
    """The distance for E > 1 local steps against a tenth of $\\eta\\|w^*\\|$, on one problem or on both."""
    return judge_distance(
        [one for one in endings if one.scaled and (data == "all" or one.curvatures == UNEQUAL)], order, False
    )
