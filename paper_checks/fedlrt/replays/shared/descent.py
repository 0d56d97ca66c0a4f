"""Proofs of the corrected descent and convergence statements, L = 1, for all clients, steps and learning rates.

The effect of the local steps is proved in `local_steps`; here are truncation, the sum of the parts and the constants
that follow. A polynomial is shown to be non-negative by writing every quantity that is known to be non-negative as a
symbol: then no coefficient may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.proof_steps import non_negative
from paper_checks.replay import require

x, G, h, f, d = sympy.symbols("x G h f d", positive=True)


SQUARE_OF_ROOT = Fraction(2)
"""1 + delta^2 at most, for delta <= 1."""


def descent_for_all_steps(largest: Fraction, limit: Fraction, steps: Sequence[int], square: Fraction) -> None:
    """Require the descent of the local steps, with the clients' gradients at most the root of `square` times the mean.

    Args:
        largest: The largest R.
        limit: The largest s lambda L.
        steps: Numbers of steps at which the machine compares the coefficients.
        square: The square of the largest rho.
    """
    local_steps_descend(largest, limit)
    require(largest**2 >= square, "the largest R is below what the assumption allows")
    require(len(steps) > 0, "no steps")
    for s in steps:
        coefficients_of_the_power(s)


def cost_of_truncation(share: Fraction) -> None:
    r"""The cost of a truncation of norm $d \le \vartheta$: at most $\vartheta a + s\vartheta^2$, a the gradient's norm.

    Let D be what is cut, of norm d. Smoothness gives a change of at most $\langle\nabla\mathcal{L}, D\rangle +
    \frac12d^2$, and the product is $ad(1 - f)$ for some $f \ge 0$ by Cauchy and Schwarz. With $\vartheta = d + h$, $h
    \ge 0$, the bound minus that is a polynomial in a, d, f and h without a negative coefficient.
    """
    a, theta = sympy.Symbol("a", positive=True), d + h
    left = a * d * (1 - f) + d**2 / 2
    require(non_negative(theta * a + share * theta**2 - left), "the cost of the truncation")
