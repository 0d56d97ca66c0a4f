"""Appendix A.4, proof of Theorem 5.4: the first iteration (eqs. (124) to (166)).

Setting: `shared.contraction`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.rolora.replays.shared.contraction import D, on_events, positive
from paper_checks.rolora.replays.shared.iterations import inside
from paper_checks.rolora.replays.shared.own_samples import MANY_SAMPLES, learning_rate
from paper_checks.stored_values import Values, fractions

T, y, c, delta = sympy.symbols("T y c delta", positive=True)


@proof("rolora/a4-first-step")
def a4_first_step(bound: Fraction = Fraction(3)) -> str:
    r"""In the plane, $a = (\sqrt x, \delta_0)$ and $a^* = (1, 0)$, in units in which $\|b^*\| = 1$: $\eta$ is s.

    With unlimited samples $\bar b = \sqrt xb^*$. The step $a - 2s(ax - a^*\sqrt x)$ has the components $\sqrt x(1 +
    2s(1 - x))$ along $a^*$ and $\delta_0(1 - 2sx)$ across it, and the square length $1 + 4s^2x(1 - x)$. So $(\delta_1 /
    \delta_0)^2 = \frac{(1 - 2sx)^2}{1 + 4s^2x(1 - x)}$, and $(1 - sx)(1 + 4s^2x(1 - x)) - (1 - 2sx)^2 = sx(3 - f)$ with
    $f = 4s^2x(1 - x) + 4s(2x - 1)$: (166) holds if and only if $f \le 3$. For $0 < s \le 1$ f grows with x in (0, 1),
    as its slope is $4s^2(1 - 2x) + 8s > 0$, towards 4s at x = 1: so $f \le 3$ for all $\delta_0$ if and only if $s \le
    \frac34$. With samples of each client the first sentence is the case t = 0 of [the constant of the
    rate](rolora--a4-c--c-of-the-step.md).
    """
    s, x = sympy.symbols("s x", positive=True)
    f = 4 * s**2 * x * (1 - x) + 4 * s * (2 * x - 1)
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, (1 - 2 * s * x) ** 2  # squares, the second over delta_0^2
    length = along + (1 - x) * across
    require(sympy.expand(length - 1 - 4 * s**2 * x * (1 - x)) == 0, "the length of the step")
    room = (1 - s * x) * length - across - s * x * (bound - f)
    require(sympy.expand(room) == 0, "the bound")
    # The slope is at least 8 s - 4 s^2: s = 1/(1 + c), x = 1/(1 + y).
    slope = (f.diff(x)).subs({s: 1 / (1 + c), x: 1 / (1 + y)})
    require(non_negative(sympy.cancel(slope * (1 + c) ** 2 * (1 + y))) and f.subs(x, 1) == 4 * s, "f grows")
    return "we write the step in coordinates and its bound as an identity"


@replay("rolora/a4-first-step", square="delta_0^2", step="eta |b*|^2")
def a4_first_step_as_printed(values: Values) -> Violation:
    """Take one step with unlimited samples, by squares of coordinates: a = (c, d), a* = (1, 0), b* = 1."""
    square, s = fractions(values, "square", "step")
    x = 1 - square
    # a+ = a(1 - 2 s c^2) + 2 s c a*: coordinates c(1 - 2 s x) + 2 s c and d(1 - 2 s x); both squared.
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, square * (1 - 2 * s * x) ** 2
    assumes = (*inside("delta_0^2", square), *learning_rate(s))
    return Violation(
        across / (along + across),
        square * (1 - s * x),
        assumes=assumes,
        reads=f"with {MANY_SAMPLES}, we compare delta_1^2 with its value in the bound",
    )


@proof("rolora/eq-124")
def eq_124(limit: Fraction = Fraction(1, 2), threshold: Fraction = Fraction(107, 1000)) -> str:
    r"""The lines of the first step, $\delta^t = \delta^0$, in the order of the text.

    (129) to (132): the triangle inequality. (134): the hypothesis times $\eta$. (138) to (142): $\|\bar b\| \ge c -
    \epsilon'\delta$, and $2c\delta \le 1$. (144): as for (101), up to half the step. Before (155): $(g - \bar
    b)^\top(\bar b - g) = -\|g - \bar b\|^2$. (153) to (158): $2sa^\top E\nabla = 4s((\bar b - g)^\top g + \|\bar b -
    g\|^2)$ with $\|\bar b - g\| \le \epsilon'\delta$. (145) to (159): the square without its term of second order.
    (160): (144), (134) and (159). (162) to (166): as on the events.
    """
    level = threshold * D
    require(positive(sympy.expand(1 - limit * (1 + level**2 + D - level)), (D,), strict=False), "the bars")
    on_events(limit, threshold)
    return r"we use elementary steps and the signs of polynomials in $1 - \delta_0^2$"


@replay("rolora/eq-124@with-the-misprints-put-right", delta="delta_t", step="eta |b*|^2", eps="eps'")
def eq_124_put_right(values: Values) -> Violation:
    """Evaluate the same; (144) does not have a misprint."""
    return line_144(values)


@replay("rolora/eq-124", delta="delta_t", step="eta |b*|^2", eps="eps'")
def eq_124_as_printed(values: Values) -> Violation:
    """Evaluate eq. (144) with a mean of minimisers that is exact, divided by delta."""
    return line_144(values)


def line_144(values: Values) -> Violation:
    """Return both sides of eq. (144) over delta, where b is g."""
    delta, s, eps = fractions(values, "delta", "step", "eps")
    x = 1 - delta**2
    assumes = (*inside("delta", delta), *learning_rate(s), *inside("eps', against (1 - delta^2)/16", eps, x / 16))
    return Violation(
        abs(1 - 2 * s * x),
        abs(1 - 2 * s * (x - eps)),
        assumes=assumes,
        reads="with b = g, we compare the two sides of (144), divided by delta",
    )
