"""Lemma A.2: independent Wigner matrices become free.

Setting: `shared.limits`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.limits import n
from paper_checks.replay import proof, require


@proof("fedloru-v2/lem-A.2")
def lem_A_2(variance: Fraction = Fraction(1)) -> str:
    r"""Pastur's equation $g(z) = g_D(z - n^2g(z))$, and what it says in terms of R-transforms.

    Gaussian entries, $G = (z - X - D)^{-1}$, $v = \mathrm{Im}\,z$. $\partial G = G\,\partial X\,G$ and Gaussian
    integration by parts give $E[XG] = n^2E[\hat g\,G] + \frac{n^2}RE[G^2]$ with $\hat g = \frac1R\mathrm{tr}\,G$, and
    $\hat g$, a Lipschitz function of the entries, has a variance of order $R^{-2}$ (Poincare). With $(z - D)G = I + XG$
    this is $(z - D - n^2E\hat g)EG = I + o(1)$ in the normalised trace, so every limit g of $\hat g$ satisfies Pastur's
    equation. It has one solution with values in the lower half plane: two differ by $n^2(g - g')\int\frac{
    d\mu_D(x)}{(z - n^2g - x)(z - n^2g' - x)}$, and by the imaginary part of the equation and the inequality of Cauchy
    and Schwarz the factor of $g - g'$ is less than 1. Other entries: replacing them one by one by Gaussian ones, cut
    off at $\delta$ (which removes a vanishing fraction of the variance if they have a fixed law), changes $E\hat g$ by
    at most a multiple of $\delta v^{-4}$, since third derivatives of $\hat g$ are of order $v^{-4}/R$ and the $R^2$
    third moments at most $\delta n^2/R$. Changing one row and column changes $\hat g$ by at most $C/(Rv)$, so $\hat g$
    concentrates about its mean (martingale differences), almost surely.

    At $w = g(z)$ the equation is $z = R_D(w) + 1/w + n^2w$: the R-transforms of D and of the semicircle add up, which
    defines the free convolution.
    """
    w, R_D, z, g = sympy.symbols("w R_D z g")
    strength = variance * n**2
    inverse = R_D + 1 / w + strength * w  # of z - n^2 g = R_D + 1/w at w = g
    of_semicircle = sympy.solve(n**2 * g**2 - z * g + 1, z)[0].subs(g, w) - 1 / w
    # Entries a, b of E[X_ab G_ba]: covariance n^2/R (delta delta + delta delta) against dG_ba/dX = G E G.
    size = 2
    entries = sympy.Matrix(size, size, lambda i, j: sympy.Symbol(f"x{min(i, j)}{max(i, j)}"))
    resolvent = (z * sympy.eye(size) - entries).inv()
    change = resolvent.diff(entries[0, 1])
    unit = sympy.Matrix([[0, 1], [1, 0]])
    require(sympy.simplify(change - resolvent * unit * resolvent) == sympy.zeros(size), "the derivative of G")
    require(sympy.expand(inverse - 1 / w - R_D - of_semicircle) == 0, "the R-transforms add up")
    return (
        "integration by parts gives Pastur's equation for Gaussian entries, and an exchange of entries extends it to "
        r"others; the R-transforms follow; the proof does not use that $\|D\|$ is bounded"
    )
