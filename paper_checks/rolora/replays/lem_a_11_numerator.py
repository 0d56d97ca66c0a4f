"""Appendix A.3, proof of Lemma A.11: the numerator (eqs. (81) to (101)).

Setting: `shared.contraction`.

Setting: `shared.gradient_tails`.

Setting: `shared.contraction_steps`.

Setting: `shared.concentration`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import (
    GRADIENT_WORDS,
    enough_for_gradient,
    enough_for_minimisers,
    normal_quotient,
)
from paper_checks.rolora.replays.shared.contraction import D, positive, s
from paper_checks.rolora.replays.shared.contraction_steps import h, level, zero
from paper_checks.rolora.replays.shared.gradient_tails import deviation
from paper_checks.rolora.replays.shared.one_step import (
    ONE_STEP,
    READS,
    beyond,
    failing_client,
    gradient_too_far,
    one_step,
    setting,
    threshold,
)
from paper_checks.stored_values import Values, fractions


@replay("rolora/eq-81")
def eq_81_as_printed(values: Values) -> Violation:
    """Evaluate both sides along the unit vector v across a*: P a = -sine v and P u = cosine v; a'grad is 0."""
    assumes, at, s = one_step(values)
    cosine, sine = fractions(values, "cosine", "sine")
    left = -sine - s * cosine * at["across"]
    right = -sine * (1 - 2 * s * at["b"] ** 2) + s * cosine * (at["mean"] - at["across"])
    return Violation(
        abs(left - right),
        0,
        assumes=assumes,
        given={"P a+": left, "(85)": right},
        reads=f"{ONE_STEP}. We compute the distance between the two sides of (85), along the unit vector orthogonal "
        "to a*",
    )


@proof("rolora/eq-81@expectation-of-49")
def eq_81(factor: Fraction = Fraction(2), sign: int = 1) -> str:
    r"""For any vector G instead of the gradient and $E = 2(a\bar b^\top - a^*b^{*\top})\bar b$, (49).

    (81) adds and subtracts $\eta E$, (82) applies P, which is linear, and (83) is (49). $E = 2(\bar b^\top\bar b)a -
    2(b^{*\top}\bar b)a^*$, and $Pa^* = a^* - a^*(a^{*\top}a^*) = 0$, so $PE = 2(\bar b^\top\bar b)Pa$: (84). (85)
    collects the terms with Pa.
    """
    eta, bb, own, pa, pg, length = sympy.symbols("eta bb own pa pg length")  # b'b, b*'b, P a, P G, |a*|^2
    mean = 2 * (bb * pa - own * (1 - length))  # the second term in units of a*
    right = pa * (1 - factor * eta * bb) + sign * eta * (mean - pg)
    require(zero((pa - eta * pg - right).subs(length, 1)), "line 85")
    return "the step is a combination of Pa and the projected gradient, and $Pa^* = 0$"


@replay("rolora/eq-86")
def eq_86_as_printed(values: Values) -> Violation:
    """Evaluate the step along P a, before it is normalised, in the plane; |grad - mean grad| is 0."""
    assumes, at, s = one_step(values)
    cosine, sine = fractions(values, "cosine", "sine")
    off = abs(at["across"] - at["mean"])  # along a both are 0
    # P a = -sine v and P u = cosine v for the unit vector v across a*.
    return Violation(
        abs(-sine - s * cosine * at["across"]),
        sine * abs(1 - 2 * s * at["b"] ** 2) + s * off,
        assumes=assumes,
        reads=f"{ONE_STEP}. We compare the two sides of (88), multiplied by the length of the step",
    )


@proof("rolora/eq-86@expectation-of-49")
def eq_86(second: Fraction = Fraction(1), factor: Fraction = Fraction(2)) -> str:
    r"""(86): (85) with (49), $\|Pa\| = \delta^t$, the triangle inequality, and a projection that lengthens nothing.

    (87) divides by $\|\hat a^+\| > 0$. $\|v\|^2 - \|Pv\|^2 = (v^\top a^*)^2 \ge 0$ for $P = I_d - a^*a^{*\top}$, and
    $\|Pv\|^2 = v^\top Pv$ because P is a projection. $\delta^{t+1}$ and $\delta^t$ are the norms of $P\hat a^+/\|\hat
    a^+\|$ and Pa. There is equality for equal gradients, and for a deviation along Pa if $\bar b = 0$.
    """
    vv, along, b2, s1, pa = sympy.symbols("vv along b2 s1 pa")  # |v|^2, v'a*, |b|^2, the step, P a
    require(zero(vv - (vv - 2 * along**2 + along**2) - along**2), "the projection")
    # P (a - s (E + dev)) with P E = 2 b'b P a: coefficients of P a and of P dev.
    step = pa * (1 - s1 * 2 * b2)
    require(zero(step - pa * (1 - s1 * factor * b2)), "the factor of Pa")
    require(second >= 1, "the deviation")
    return "we use the triangle inequality and a projection"


@replay("rolora/eq-90")
def eq_90_as_printed(values: Values) -> Violation:
    """(91) fails where the gradient misses its expectation by more than 2 eps~ (1 + eps')^2 delta; eps_3 = eps_2."""
    return gradient_too_far(values, "91")


@proof("rolora/eq-90", GRADIENT_WORDS)
def eq_90(
    one: Fraction = Fraction(1),
    minimisers: Fraction = Fraction(20),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""(91) is $\eta$ times (76), which holds on the events of (42) and (62): see "Deviation" below.

    For the lines up to (76) one by one see [eqs. (65) to (76)](rolora--eq-65.md). Any vector may replace the
    expectation, as long as it is the same in (62) and (90). The probability is that of [Lemma A.10 as
    corrected](rolora--lem-A.10.md).
    """
    deviation(one)
    normal_quotient()
    enough_for_minimisers(minimisers)
    enough_for_gradient(samples, alpha, beta)
    return r"we multiply (76) by $\eta$; the corrected Lemma A.10 gives the probability"


FAR = Fraction(1, 2**500)
"""P(T > 1) is at most 2^(-m/2), the mean of exp(-chi^2_m / 2), which is no larger for m >= 1000."""


@replay("rolora/eq-92")
def eq_92_as_printed(values: Values) -> Violation:
    """|b| = |cosine + delta T| |b*|, and (95) fails for eps' < -T < 2 cosine/delta - eps', which is more than 1."""
    assumes, level, q, root = failing_client(values)
    return Violation(
        beyond(level, root) - FAR,
        q**-10,
        assumes=assumes,
        reads=f"{READS}(95) fails for eps' < -T <= 1, so with probability at least p(eps') - 2^-500. We compare this "
        "probability with q^-10",
    )


@proof("rolora/eq-92")
def eq_92(share: Fraction = Fraction(1), power: Fraction = Fraction(2), minimisers: Fraction = Fraction(20)) -> str:
    r"""The triangle inequality twice, $\|g\| = |c|\|b^*\|$, and the event.

    $\|(I_d - aa^\top)a^*\|^2 = 1 - 2c^2 + c^2$, so $|c| = \sqrt{1 - (\delta^t)^2}$. The event has the probability in
    the corrected [Lemma A.9](rolora--lem-A.9.md).
    """
    c, gap = sympy.symbols("c gap", nonnegative=True)
    delta = sympy.Symbol("delta", positive=True)
    squared_cosine = (1 - delta**power).subs(delta, sympy.sqrt(1 - c**2))
    require(sympy.simplify(squared_cosine - c**2) == 0, "the cosine")
    require(non_negative(share * (gap + h) - gap), "the event")  # gap + h = eps' delta
    normal_quotient()
    enough_for_minimisers(minimisers)
    return "we use the triangle inequality and the length of g; the corrected Lemma A.9 gives the probability"


@replay("rolora/eq-96")
def eq_96_as_printed(values: Values) -> Violation:
    """At delta_t = delta_0: with y = -T, |b|^2 lacks 2 delta cosine y - delta^2 y^2 of cosine^2, in units of |b*|^2.

    That is 24/25 y - 9/25 y^2, which rises up to y = 4/3, and at y = 5/4 eps' it is 6/5 eps' - 9/16 eps'^2 > eps'. So
    (99) fails for 5/4 eps' <= y <= 1.
    """
    assumes, level, q, root = failing_client(values)
    return Violation(
        beyond(Fraction(5, 4) * level, root) - FAR,
        q**-10,
        assumes=assumes,
        reads=f"{READS}At delta_t = delta_0, (99) fails for 5/4 eps' < -T <= 1, so with probability at least p(5/4 "
        "eps') - 2^-500. We compare this probability with q^-10",
    )


@proof("rolora/eq-96")
def eq_96(less: Fraction = Fraction(1), bound: Fraction = Fraction(1), minimisers: Fraction = Fraction(20)) -> str:
    r"""With $x = (\delta^t)^2$: $1 - x \ge D = 1 - (\delta^0)^2$, and $\epsilon' < kD/16$, where k = 1 is printed.

    The root: $(\epsilon')^2x \le 1 - x$, as $D^2x \le (1 - x)^2x \le \frac14(1 - x)$ and $k \le 32$. (97) to (98):
    $2\delta^t\sqrt{1 - (\delta^t)^2} \le 1$. (98) to (99): $x \le (\delta^0)^2$ and a square. Squares keep the order of
    (95) because its right side is not negative. The event has the probability in the corrected [Lemma
    A.9](rolora--lem-A.9.md).
    """
    x, y, D, more = sympy.symbols("x y D more", nonnegative=True)
    quarter = sympy.Rational(1, 4) - x * (1 - x) - (x - sympy.Rational(1, 2)) ** 2
    require(zero(quarter) and non_negative((D + more) ** 2 - D**2) and (bound / 16) ** 2 <= 4, "the root")
    # x^2 + y^2 = 1: 1 - 2 x y = (x - y)^2.
    require(zero(x**2 + y**2 - 2 * x * y - (x - y) ** 2) and less >= 1, "line 98")
    require(non_negative((D + more) + (level * x) ** 2 - level - (D - level)), "line 99")
    normal_quotient()
    enough_for_minimisers(minimisers)
    return "we compare squares and use the order of the angles; the corrected Lemma A.9 gives the probability"


@replay("rolora/eq-100", step="eta |b*|^2", D="1 - delta_0^2", eps="eps'", delta="delta_t")
def eq_100_as_printed(values: Values) -> Violation:
    """Evaluate E_1 over delta at b = g."""
    s, D, eps, delta = fractions(values, "step", "D", "eps", "delta")
    square = 1 - delta**2  # |b|^2 / |b*|^2, the squared cosine
    assumes = [
        *setting(s, D),
        *threshold("eps'", eps, D),
        Hypothesis("delta_t", delta, ">", 0),
        Hypothesis("delta_t^2, against delta_0^2", delta**2, "<=", 1 - D),
    ]
    return Violation(
        abs(1 - 2 * s * square),
        abs(1 - 2 * s * (D - eps)),
        assumes=assumes,
        reads="with b = g we have |b|^2 / |b*|^2 = 1 - delta^2. We compare E_1 over delta, which is |1 - 2 step (1 - "
        "delta^2)|, with (101), which is |1 - 2 step (D - eps)|",
    )


@proof("rolora/eq-100")
def eq_100(threshold: Fraction = Fraction(1, 16)) -> str:
    r"""$|1 - 2s\beta|$ is convex in $\beta$, so the ends of its range decide.

    $1 - 2s\beta \le 1 - 2s\ell$ for the least $\beta$, and $2s\beta - 1 \le 1 - 2s\ell$ where $s(\beta + \ell) \le 1$,
    $\ell = D - \epsilon'$; the ends are $\ell$ and $1 + \epsilon'^2$, whose sum is at most 2 for thresholds up to
    ``threshold`` times D, so $\eta \le 1/(2L_{max}^2)$ is enough.
    """
    beta, low = sympy.symbols("beta low")
    identity = (1 - 2 * s * low) + (1 - 2 * s * beta) - 2 * (1 - s * (beta + low))
    require(sympy.expand(identity) == 0, "the identity")
    level = threshold * D
    require(positive(sympy.expand(2 - (1 + level**2) - (D - level)), (D,), strict=False), "half the step")
    return r"without the bars, the sum of both sides is $2 - 2s(\beta + \ell)$"
