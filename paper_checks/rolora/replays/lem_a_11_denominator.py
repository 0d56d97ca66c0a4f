"""Appendix A.3, proof of Lemma A.11: the denominator (eqs. (102) to (115)).

Setting: `shared.contraction_steps`.

Setting: `shared.concentration`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import rational_root
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import (
    GRADIENT_WORDS,
    enough_for_gradient,
    enough_for_minimisers,
    normal_quotient,
)
from paper_checks.rolora.replays.shared.contraction_steps import first_order_is_at_most, h, s, slope_on_the_event, zero
from paper_checks.rolora.replays.shared.one_step import (
    ONE_STEP,
    READS,
    beyond,
    failing_client,
    missing_probability,
    one_step,
)
from paper_checks.stored_values import Values, fractions


@proof("rolora/eq-102")
def eq_102(factor: Fraction = Fraction(2), quadratic: Fraction = Fraction(1)) -> str:
    r"""The square of a difference, $a^\top a = 1$, and a square that is not negative."""
    along, size = sympy.symbols("along size")  # a'grad and |grad|^2
    eta = sympy.Symbol("eta")
    square = 1 - 2 * eta * along + eta**2 * size
    require(zero(square - (1 - factor * eta * along + quadratic * eta**2 * size)), "line 103")
    require(non_negative(quadratic * s**2 * h), "line 104")
    return "we write the square in inner products"


@replay("rolora/eq-107")
def eq_107_as_printed(values: Values) -> Violation:
    """(109) fails where the gradient misses its expectation by more than 2 eps' (1 + eps')^2."""
    assumes, level, q, root = failing_client(values)
    left, x = missing_probability(level * (1 + level) ** 2 * Fraction(5, 3), root)
    return Violation(
        left,
        2 * q**-10,
        assumes=assumes,
        given={"x": x},
        reads=f"{READS}(109) fails with probability at least p(x)/2, where x = 250/81 eps' (1 + eps')^2, for (49) as "
        "well as for the mean over all samples. We compare this probability with 2 q^-10",
    )


@replay("rolora/eq-107@with-the-misprint-put-right")
def eq_107_put_right(values: Values) -> Violation:
    """(109) fails where the gradient misses its expectation by more than 2 tilde eps (1 + eps')^2, eps_3 = eps_2."""
    assumes, level, q, root = failing_client(values)
    e_0, e_2 = fractions(values, "eps_0", "eps_2")
    left, x = missing_probability(e_2 / (1 - e_0) * (1 + level) ** 2 * Fraction(5, 3), root)
    return Violation(
        left,
        2 * q**-10,
        assumes=assumes,
        given={"x": x},
        reads=f"{READS}With eps_3 = eps_2, tilde eps = eps_2/(1 - eps_0), and (109) fails with probability at least "
        "p(x)/2, where x = 250/81 tilde eps (1 + eps')^2, for (49) as well as for the mean over all samples. We "
        "compare this probability with 2 q^-10",
    )


@replay("rolora/eq-107@on-the-events")
def eq_107_events(values: Values) -> Violation:
    """One client in the plane of a and u, X'X/m = diag(1, uu) and b* = 1: b = g = cosine b*, so M b = -sine u g.

    The deviation is 2 (X'X/m - I) M b, which is 2 (1 - uu) sine cosine along u; for eps_3 >= |uu - 1| the event of (62)
    occurs for every net.
    """
    uu, sine, s, eps, eps_3 = fractions(values, "uu", "sine", "s", "eps", "eps_3")
    cosine = rational_root(1 - sine**2)
    assumes = (
        Hypothesis("X'X/m along u", uu, ">", 0),
        Hypothesis("|uu - 1|, against eps_3", abs(uu - 1), "<=", eps_3),
        Hypothesis("eps_3", eps_3, "<", 1),
        Hypothesis("eps', which bounds |b - g| = 0", eps, ">", 0),
        Hypothesis("eps', against (1 - delta_0^2)/16", eps, "<", (1 - sine * sine) / 16),
        Hypothesis("eta |b*|^2", s, "<=", 1),
    )
    return Violation(
        4 * s * abs(uu - 1) * sine * cosine,
        4 * s * eps * (eps + 1) ** 2,
        assumes=assumes,
        reads="for one client, X'X/m = diag(1, uu) in the basis of a and u, and a* = cos a + sine u. We compare (108) "
        "with the bound in (109)",
    )


@proof("rolora/eq-107", GRADIENT_WORDS)
def eq_107(
    factor: Fraction = Fraction(4),
    minimisers: Fraction = Fraction(20),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""(107) is the inequality of Cauchy and Schwarz, (108) $\|a\| = 1$, (109) with $\tilde\epsilon$ is (76).

    $2\eta \cdot 2\tilde\epsilon(\epsilon' + 1)^2\delta^t\|b^*\|^2 \le 4\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2$,
    as $\delta^t \le 1$. The probability is that of [Lemma A.10 as corrected](rolora--lem-A.10.md).
    """
    first_order_is_at_most(factor, 1)
    normal_quotient()
    enough_for_minimisers(minimisers)
    enough_for_gradient(samples, alpha, beta)
    return r"we use (76) and $\delta^t \le 1$; the corrected Lemma A.10 gives the probability"


@replay("rolora/eq-110")
def eq_110_as_printed(values: Values) -> Violation:
    """The mean along a is 0, since a'grad is 0 on all samples; (112) by b and g."""
    assumes, at, s = one_step(values)
    (cosine,) = fractions(values, "cosine")
    gap = at["b"] - cosine
    return Violation(
        abs(4 * s * (gap * cosine + gap**2)),
        0,
        assumes=assumes,
        reads=f"{ONE_STEP}. We compute the size of (112); the left side of (110) is 0",
    )


@replay("rolora/eq-110@expectation-of-49")
def eq_110_with_49(values: Values) -> Violation:
    """At T = 25/12 eps', delta T (cosine + delta T) is eps' + 25/16 eps'^2: (112) exceeds (115) for all larger T."""
    assumes, level, q, root = failing_client(values)
    return Violation(
        beyond(Fraction(25, 12) * level, root),
        q**-10,
        assumes=assumes,
        reads=f"{READS}(112) exceeds (115) for T > 25/12 eps', so with probability at least p(25/12 eps'). We compare "
        "this probability with q^-10",
    )


@proof("rolora/eq-110")
def eq_110(linear: Fraction = Fraction(1), sign: int = 1, minimisers: Fraction = Fraction(20)) -> str:
    r"""$a^\top(a\bar b^\top - a^*b^{*\top})\bar b = (\bar b - g)^\top\bar b = (\bar b - g)^\top g + \|\bar b - g\|^2$.

    (111) splits $\bar b$ into g and $\bar b - g$. (113) is the inequality of Cauchy and Schwarz with $\|g\| \le
    \|b^*\|$, (114) the event, (115) $\delta^t \le 1$. The event has the probability in the corrected [Lemma
    A.9](rolora--lem-A.9.md).
    """
    slope_on_the_event(linear, sign)
    normal_quotient()
    enough_for_minimisers(minimisers)
    return (
        "we use an identity in inner products and the signs of coefficients; the corrected Lemma A.9 gives the "
        "probability"
    )
