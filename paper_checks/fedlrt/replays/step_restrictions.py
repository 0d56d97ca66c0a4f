"""Appendix D, after Theorem 5: step sizes of the low-rank representation, and the memory that K and L take.

Setting: `shared.full_correction`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import proof, require


def euler_goes_astray(step: sympy.Rational) -> None:
    """Require that a step of (5) by Euler from a small S ends far from the full-rank step, and raises the loss."""
    s, e = step**2 / 4, sympy.Matrix([1, 0])
    start = s * e * e.T
    slope = -sympy.Matrix([[0, 1], [1, 0]])  # W - T
    across = sympy.eye(2) - e * e.T
    U, V = (e - step * across * G * e / s for G in (slope, slope.T))
    end = U * (s - step * (e.T * slope * e)[0]) * V.T
    astray, loss = end - (start - step * slope), (end - start + slope).norm() ** 2 / 2
    require(astray.norm() ** 2 > step**2 * slope.norm() ** 2, "a step by Euler ends near that of full rank")
    require(loss > slope.norm() ** 2 / 2, "a step by Euler does not raise the loss")


@proof("fedlrt/claim-robust")
def claim_robust(share: Fraction = Fraction(1), largest: Fraction = Fraction(30)) -> str:
    r"""A step of FeDLRT from any S, small or singular; one client, one step of $\lambda$, no truncation.

    With $P(\cdot) = P_{\tilde U}(\cdot)P_{\tilde V}$ and $P(W) = W$ (Lemma 1) it leads to $P(W - \lambda G) = W -
    \lambda P(G)$, which is $\lambda\|G - P(G)\|$ from the full-rank step $W - \lambda G$. Complete $\tilde U$ and
    $\tilde V$ to orthonormal bases of the whole space, and write G in them as a matrix: $P(G)$ keeps the entries that
    belong to $\tilde U$ and $\tilde V$ and sets the others to zero. So $\|G - P(G)\| \le \|G\|$, with equality where
    $\tilde U^\top G\tilde V = 0$. By smoothness the loss changes by at most $-\lambda(1 - \frac12\lambda L)\|P(G)\|^2$,
    which is not positive for $\lambda L \le 2$, as for descent at full rank. Neither bound contains S. Further steps in
    the same bases are steps on a loss of $\tilde S$ with the same L (Lemma 3), and S limits none of them. Theorem 5 is
    not used: it is about exact integration. As a contrast, L = 1 and $\lambda$ 1 and $\frac1{10}$: descent in U, S and
    V in turn from $usv^\top$ with u, v = 1 and s = 30 raises the loss $\frac12(usv)^2$; and (5) by Euler from $W =
    se_1e_1^\top$ with $s = \frac{\lambda^2}4$ leads, for the loss $\frac12\|W - T\|^2$ with $T = se_1e_1^\top +
    e_1e_2^\top + e_2e_1^\top$, to $s(e_1 + \frac\lambda se_2)(e_1 + \frac\lambda se_2)^\top$. This is
    $\frac{\lambda^2}s = 4$ from the full-rank step, more than $\lambda\|\nabla\mathcal{L}\| = \lambda\sqrt2$, and
    raises the loss from 1 to at least 8.
    """
    rate, dropped, kept = sympy.symbols("lambda dropped kept", positive=True)  # squares of the two parts of G
    whole = dropped + kept
    room = share**2 * rate**2 * whole - rate**2 * dropped
    require(non_negative(room), "the error is longer than the step")
    require(sympy.expand(room.subs(kept, 0)) == 0, "not the least bound")
    spare = sympy.Symbol("h", positive=True)  # lambda = 2/(1 + h), of all up to 2
    fall = sympy.fraction(sympy.together((rate - rate**2 / 2).subs(rate, 2 / (1 + spare)) * kept))
    require(all(map(non_negative, fall)), "the loss may rise")
    for step in (Fraction(1), Fraction(1, 10)):
        u, s, v = Fraction(1), largest, Fraction(1)
        u -= step * (u * s * v) * v * s
        s -= step * (u * s * v) * u * v
        v -= step * (u * s * v) * u * s
        require(abs(u * s * v) > largest, "descent in turn does not rise")
        euler_goes_astray(rational(step))
    return (
        r"the step is $W - \lambda P(G)$ for every S; descent in the factors by turns from s = 30, and Euler steps of "
        "(5) from a small s, raise the loss"
    )
