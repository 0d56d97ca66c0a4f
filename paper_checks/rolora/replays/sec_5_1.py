"""Section 5.1: the linear model (eqs. (5) to (7)), Assumption 5.1, Definition 5.2 and the notation of Table 3.

Setting: `shared.tangent_map`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import proof, require
from paper_checks.rolora.replays.shared.tangent_map import h, not_negative, u


@proof("rolora/asm-5.1")
def asm_5_1(power: Fraction = Fraction(2), limit: Fraction = Fraction(1)) -> str:
    r"""Any bound does: $\eta\|b^*\|^2 \le \eta L_{max}^2 \le 1$ if $\eta \le 1/L_{max}^2$ and $\|b^*\| \le L_{max}$."""
    bound = u + h  # for |b*| = u
    require(power.denominator == 1 and not_negative(limit - u**2 / bound**power), "the step over the bound")
    return r"$\eta\|b^*\|^2 \le 1$ from $\eta \le 1/L_{max}^2$, as the signs of the coefficients show"
