r"""Steps of Lemma A.11 that hold as printed, and (109) as corrected, in any number of dimensions.

Units: $\eta$ times $\|b^*\|^2$ is s; $c = a^\top a^*$, $c^2 + (\delta^t)^2 = 1$, $g = cb^*$. On the event of Lemma A.9
$\|\bar b - g\| \le \epsilon'\delta^t\|b^*\|$, and on the events of (42) and (62) the gradient deviates from its
expectation by at most (76).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import require
from paper_checks.rolora.replays.shared.gradient_tails import deviation

level, tilde, h, s = sympy.symbols("level tilde h s", nonnegative=True)
"""The two thresholds, what a squared quantity lacks of its bound, and a step."""


def zero(expression: Any) -> bool:
    """Return whether a polynomial is identically 0."""
    return bool(sympy.expand(expression) == 0)


def slope_on_the_event(linear: Fraction | int, sign: int = 1) -> None:
    r"""(110) to (115) hold on the event, with $(\epsilon')^2 + k\epsilon'$ in (115).

    In inner products: $a^\top(a\bar b^\top - a^*b^{*\top})\bar b = \bar b^\top\bar b - g^\top\bar b$ as $c b^* = g$.
    """
    bb, gb, gg = sympy.symbols("bb gb gg")  # of b and g
    first, second = gb - gg, (gb - gg) - (bb - gb)  # (b - g)'g and (b - g)'(g - b)
    require(zero((bb - gb) - (first - second)) and zero(second + bb - 2 * gb + gg), "line 111")
    require(zero((bb - gb) - ((gb - gg) + sign * (gg - 2 * gb + bb))), "line 112")
    sine = 1 / (1 + h)
    gap = level * sine
    room = level**2 + linear * level - gap - gap**2
    require(non_negative(sympy.cancel(room * (1 + h) ** 2)), "line 115")


def first_order_is_at_most(factor: Fraction, one: Fraction | int) -> None:
    """Show that factor s eps~ (eps' + one)^2 is enough for 2 s a'(grad - E grad), bounded by (76)."""
    deviation()
    sine = 1 / (1 + h)
    room = factor * tilde * (level + one) ** 2 - 2 * 2 * tilde * (level + 1) ** 2 * sine
    require(non_negative(sympy.cancel(room * (1 + h))), "the factor of (76)")
