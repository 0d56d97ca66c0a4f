"""Lemma B.8 and its proof (eqs. (63) to (66)).

Setting: `shared.local_steps`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedloru.replays.shared.local_steps import (
    E,
    G,
    L,
    a,
    b,
    drift_a,
    drift_b,
    eta,
    i,
    mean_drift,
    moved_ab,
    positive_sizes,
    rate_a,
)
from paper_checks.fedloru.replays.shared.one_weight_runs import ONE_WEIGHT, run
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


def _against_both_bounds(values: Values) -> Violation:
    """The drift of the gradient in A in the first round: the smaller one of the means over 0..E-1 and over 1..E."""
    one = run(values)
    slopes = [one.slope(i) * one.path[i][1] for i in range(one.E + 1)]  # the gradient in A has B for a factor
    means = (sum(some, Fraction(0)) / one.E for some in (slopes[: one.E], slopes[1:]))
    drift = min(abs(mean - slopes[0]) for mean in means)
    bounds = [4 * one.rate**2 * C**2 * one.D for C in (one.C_A, one.C_B)]
    # The larger of the two bounds: whether the lemma or the end of its proof is meant.
    return Violation(
        drift**2,
        max(bounds),
        assumes=one.assumes,
        reads=ONE_WEIGHT + "The squared drift of the gradient in A can be a mean over i = 1..E, as printed in (60), "
        "or over i = 0..E-1. We compare the smaller of the two means with the larger of the two bounds",
    )


@replay("fedloru-v2/lem-B.8")
def lem_B_8_as_printed(values: Values) -> Violation:
    """With $C_A^2$ for A; the bound with $C_B^2$ is exceeded as well."""
    return _against_both_bounds(values)


@replay("fedloru-v2/lem-B.8@as-its-proof-ends")
def lem_B_8_as_meant(values: Values) -> Violation:
    """With $C_B^2$ for A; the bound with $C_A^2$ is exceeded as well."""
    return _against_both_bounds(values)


def first_order(expression: Any) -> sympy.Expr:
    """Return a polynomial in the step size up to its first power."""
    expanded = sympy.expand(expression)
    return expanded.coeff(eta, 0) + eta * expanded.coeff(eta, 1)


def at_the_edge(A: sympy.Expr, B: sympy.Expr) -> sympy.Expr:
    r"""Return the slope of $\frac12Lw^2$ at w = AB, whose largest is G at the start: G = L C_A C_B."""
    return L * A * B


def from_the_edge(steps: int) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """Return the same on a parabola, to first order in the step size, which is all that a derivative at 0 can see."""
    path = [(a, b)]
    for _ in range(steps):
        A, B = path[-1]
        s = first_order(at_the_edge(A, B))
        path.append((first_order(A - eta * s * B), first_order(B - eta * s * A)))
    return path


@proof("fedloru-v2/lem-B.8")
def lem_B_8(quarter: Fraction = Fraction(1, 4), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The drift is $(\nabla_i - \nabla_0)B_i^T + \nabla_0(B_i - B)^T$, of norm at most $i\eta Gd_A$.

    The mean over i = 0..E-1 and over the clients has at most $\frac12(E-1)\eta Gd_A$. For B with A and B exchanged.

    One weight at the edge of a parabola, where the slope G is largest, attains it as $\eta \to 0$: to first order i
    steps move i times what one does.
    """
    stated = quarter * eta**2 * (E - 1) ** 2 * G**2 * rate_a**2
    swapped = drift_a.subs({a: b, b: a}, simultaneous=True)
    require(sympy.expand(drift_a - i * eta * G * rate_a) == 0, "d_A")
    require(sympy.expand(swapped - drift_b) == 0, "d_B is d_A with A and B exchanged")
    require(non_negative(stated - mean_drift() ** 2), "the square of the mean drift")
    for number in positive_sizes(steps):
        path = from_the_edge(number)[:number]
        drift = sum(at_the_edge(A, B) * B for A, B in path) / number - at_the_edge(a, b) * b
        limit = sympy.diff(sympy.expand(drift), eta).subs(eta, 0)
        told = -sympy.Rational(number - 1, 2) * G * rate_a
        require(sympy.expand(limit - told.subs(G, L * a * b)) == 0, f"one weight attains it at {number} steps")
    return (
        r"we bound $d_A$ by two products and use the mean $\frac12(E-1)$ over $0..E-1$, for every E; one weight "
        r"attains the bound, as the derivative at $\eta = 0$ shows for the numbers of steps named"
    )


@replay("fedloru-v2/eq-63-66")
def eq_63_66_as_printed(values: Values) -> Violation:
    """Compare the change of the gradient in W after the first local step with the last line of (66)."""
    one = run(values)
    s2, square = one.s2, one.rate**2 * one.E**2
    bound = 12 * square * one.C_A**2 * one.C_B**2 * s2 * (1 + square * s2)
    own = 6 * square * s2 * (one.C_A**4 + one.C_B**4) + 12 * square**2 * s2**2 * one.C_A**2 * one.C_B**2
    return Violation(
        (one.slope(1) - one.slope(0)) ** 2,
        bound,
        assumes=one.assumes,
        given={
            "the end of (66) with L^2, C_A and C_B exchanged": one.L**2 * bound,
            "first member of (66) with C_A and C_B as in Lemma B.7, without L^2, at i = E": own,
        },
        reads=ONE_WEIGHT + "We compare the squared change of the gradient in W in the first step with the end of (66)",
    )


@proof("fedloru-v2/eq-63-66")
def eq_63_66(constant: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""L times the move of AB, which is at most $i\eta G(C_A^2 + C_B^2)$; attained as in Lemma B.8."""
    stated = constant * eta**2 * i**2 * G**2 * L**2 * (a**2 + b**2) ** 2
    require(non_negative(stated - (L * moved_ab) ** 2), "the square of L times the move of AB")
    for number in positive_sizes(steps):
        A, B = from_the_edge(number)[-1]
        limit = sympy.diff(sympy.expand(at_the_edge(A, B)), eta).subs(eta, 0)
        told = -number * G * L * (a**2 + b**2)
        require(sympy.expand(limit - told.subs(G, L * a * b)) == 0, f"one weight attains it at {number} steps")
    return (
        r"$\|A_iB_i - AB\| \le i\eta G(C_A^2+C_B^2)$ follows from two products, for every E; one weight attains the "
        r"bound, as the derivative at $\eta = 0$ shows for the numbers of steps named"
    )
