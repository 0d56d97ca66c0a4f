"""Quotients, transforms and cumulant series in symbols, for all dimensions, orders and laws.

Exponents and indices are symbols here, so one identity covers all orders.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.replay import require

n, k, d = sympy.symbols("n k d", integer=True, positive=True)


def zero(expression: Any) -> bool:
    """Return whether an expression with symbolic exponents is identically 0."""
    return bool(sympy.simplify(sympy.powsimp(sympy.expand(sympy.expand_power_exp(expression)))) == 0)


def scaling(outer: int, inner: int, power_shift: int) -> None:
    r"""$g_{\mu_N}(z) = g_\mu(z/s)/s$, so $R_{\mu_N}(w) = sR_\mu(sw)$ and $C_n^{(\mu_N)} = s^nC_n^{(\mu)}$.

    $w = g_{\mu_N}(z)$ gives $R_{\mu_N}(w) = z - 1/w = s(R_\mu(sw) + 1/(sw)) - 1/w = sR_\mu(sw)$; then by coefficients.
    """
    s, w, R = sympy.symbols("s w R", positive=True)
    scaled = s * (R + 1 / (s * w)) - 1 / w
    require(sympy.expand(scaled - s**outer * R) == 0, "the R-transform of scaled noise")
    require(zero(s**outer * (s**inner * w) ** (n - 1) - s ** (n + power_shift) * w ** (n - 1)), "its cumulants")
