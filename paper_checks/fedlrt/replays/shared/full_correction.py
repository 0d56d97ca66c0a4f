"""The descent of a round with full correction, on which the limits of FedLin and FeDLRT rest.

Unless stated otherwise L = 1, so learning rates are in units of 1/L.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from paper_checks.fedlrt.replays.shared.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.replay import require


def full_correction_descends(limit: Fraction, steps: Sequence[int]) -> None:
    r"""A round with full correction lowers the loss by a share of $|g|^2$, for $x = s\lambda L$ up to the limit.

    By `shared.local_steps` with $\rho = 1$, $R = 1 - \frac1s$ the loss falls by at least $s\lambda(1 -
    \frac{1+R}2x)|g|^2$, and for $x \le 1$ the bracket is at least $\frac1{2s}$.
    """
    local_steps_descend(Fraction(1), limit)
    require(len(steps) > 0, "no steps")
    for s in steps:
        coefficients_of_the_power(s)
        bracket = 1 - (1 + (1 - Fraction(1, s))) / 2 * limit
        require(bracket >= Fraction(1, 2 * s), f"the bracket at {s} steps")
