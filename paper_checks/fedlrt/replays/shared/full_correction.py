"""Proofs of what rounds lead to: FedLin's limit, Theorem 3 in words, steps of any size, bounds of Appendix G.

L = 1 where nothing else is said: a learning rate is then in units of 1/L.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from paper_checks.fedlrt.replays.shared.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.replay import require


def full_correction_descends(limit: Fraction, steps: Sequence[int]) -> None:
    r"""A round with full correction lowers the loss by a share of $|g|^2$, for $x = s\lambda L$ up to the limit.

    By `local_steps` with $\rho = 1$, $R = 1 - \frac1s$ the loss falls by at least $s\lambda(1 - \frac{1+R}2x)|g|^2$,
    and for $x \le 1$ the bracket is at least $\frac1{2s}$.
    """
    local_steps_descend(Fraction(1), limit)
    require(len(steps) > 0, "no steps")
    for s in steps:
        coefficients_of_the_power(s)
        bracket = 1 - (1 + (1 - Fraction(1, s))) / 2 * limit
        require(bracket >= Fraction(1, 2 * s), f"the bracket at {s} steps")
