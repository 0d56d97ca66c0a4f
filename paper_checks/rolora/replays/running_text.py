"""Sections 1 and 5.1: convergence is exponential.

Setting: `shared.tangent_map`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import positive
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.logarithms import w
from paper_checks.rolora.replays.shared.own_samples import learning_rate
from paper_checks.rolora.replays.shared.tangent_map import at_least, h, map_of_the_tangent, ratio, s, u
from paper_checks.stored_values import Values


@proof("rolora/txt-exponential")
def txt_exponential(factor: Fraction = Fraction(2), reach: Fraction = Fraction(1)) -> str:
    r"""The factor $1 - Y$ of the tangent lies between $1 - 2\kappa$ (u = 0) and its value at $u_0 \ge u$.

    Both are below 1 in size for $0 < \kappa < 1$, so by induction $u \le u_0$ at every iteration. The loss at
    $(a^t, b^t)$, $b^t = c_{t-1}b^*$, is $\|b^*\|^2(1 - 2c_tc_{t-1} + c_{t-1}^2)$, which is below
    $\|b^*\|^2(1 - c_0^2)$ for cosines of one sign that grow in size, which they do. At $\kappa = 1$ the inverse square
    of the tangent grows by 8 in the limit.
    """
    at_least(1, reach=reach)
    map_of_the_tangent()
    start, grown, more, t = sympy.symbols("start grown more t", positive=True)
    shorter = reach / (1 + w)
    share = factor * s
    least, largest = 1 - share, 1 - share / (1 + share * (u + h))
    require(positive(ratio(s, u) - least), "the factor is below its value at u = 0")
    require(positive(largest - ratio(s, u)), "the factor is above its value at u_0")
    require(positive((least + 1).subs(s, shorter)), "a factor is not above -1")
    require(positive(1 - largest), "a factor is not below 1")
    loss = 1 - 2 * (start + grown + more) * (start + grown) + (start + grown) ** 2
    require(positive(1 - start**2 - loss), "the loss is not below FFA-LoRA's")
    tangent = t * ratio(1, t**2 / (1 + t**2))
    require(sympy.limit(1 / tangent**2 - 1 / t**2, t, 0) == 8, "the limit at 1")
    return (
        r"we use the exact factor of the tangent, $1 - \frac{2\kappa}{1 + 2\kappa u}$, between its ends, the losses, "
        "and the limit at the largest step"
    )


@proof("rolora/txt-exponential@for-a-suitable-step")
def at_some_step(factor: Fraction = Fraction(2), reach: Fraction = Fraction(1)) -> str:
    r"""The bounds on the factor of the tangent, for one step with $0 < \kappa < 1$."""
    return str(txt_exponential.evaluate(factor, reach))


@replay("rolora/txt-exponential")
def txt_exponential_as_printed(values: Values) -> Violation:
    """Evaluate the rate at the minimiser, by the exact recursion of the squared tangent of the angle.

    One iteration on the expected loss maps T to T ((1 + T - 2k) / (1 + T + 2kT))^2, so T'/T tends to (1 - 2k)^2
    as T tends to 0; exponential convergence to 0 needs a limit below 1.
    """
    step = Fraction(values["step"])

    def iterate(a_along: Fraction, a_across: Fraction) -> tuple[Fraction, Fraction]:
        # a = along a* + across; a <- a - 2k c^2 a + 2k c a*, with c the cosine, up to normalisation.
        cosine_squared = a_along**2 / (a_along**2 + a_across**2)
        # 2k c a* in units in which a has length |a|: c |a| = along.
        factor = 1 - 2 * step * cosine_squared
        return a_along * factor + 2 * step * a_along, a_across * factor

    along, across = iterate(Fraction(1), Fraction(1, 10**9))
    slope = abs(across / along) * 10**9
    assumes = (
        *learning_rate(step),
        Hypothesis(
            "one iteration at T = 1e-18, against the limit", abs(slope - abs(1 - 2 * step)), "<=", Fraction(1, 10**15)
        ),
    )
    return Violation(
        (1 - 2 * step) ** 2,
        Fraction(1),
        assumes=assumes,
        strict=True,
        reads="with unlimited samples and kappa = step = eta ||b*||^2, an iteration multiplies the squared tangent T "
        "by T'/T = ((1 + T - 2 kappa)/(1 + T + 2 kappa T))^2. We compare 1 with the limit of this factor as T tends "
        "to 0, which should be below 1 for exponential convergence",
    )
