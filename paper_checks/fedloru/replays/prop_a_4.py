"""Proposition A.4 (Appendix A.2): which spikes are richer than others, and how likely that is.

Setting: `shared.dimension_counts`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.local_steps import positive_sizes
from paper_checks.replay import proof, require


@proof("fedloru-v2/def-omega")
def def_omega(offset: Fraction = Fraction(0), sign: int = 1) -> str:
    r"""For every k, R and spectrum, and every loss with a non-zero mean slope m at some constant prediction c.

    At $\omega = 0$ the model $c + \frac1{2m}\sum_{i \le k}\theta_i\omega_i^2$ of $R \ge k$ weights has no slope, so its
    true Hessian is m times the Hessian of the model, $\mathrm{diag}(\theta_1, \ldots, \theta_k, 0, \ldots, 0)$. With
    less than k weights there are less than k eigenvalues. So $\bar R = k = p + q$. Under a loss that ignores the
    prediction every set is empty, and $\bar R$ does not exist.
    """
    w, v, t, u, m, a = sympy.symbols("w v t u m a")
    step = (t * w**2 + u * v**2) / (2 * m)
    risk = m * step + a * step**2 / 2  # the mean loss to second order at c; two weights represent any number
    hessian = sympy.hessian(risk, (w, v)).subs({w: 0, v: 0})
    k = sympy.Symbol("k", positive=True)
    require(sympy.simplify(hessian - sign * sympy.diag(t, u)) == sympy.zeros(2), "the true Hessian of the model")
    require(sympy.simplify(k - (k + offset)) == 0, "the least number of weights")
    return "there is one model for every spectrum and dimension, and an R x R matrix has R eigenvalues"


@proof("fedloru-v2/claim-union")
def claim_union(least: int = 1, short: int = 0, sizes: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""A true Hessian is real symmetric, so it has R real eigenvalues with multiplicity (spectral theorem).

    The number k of non-zero eigenvalues is one of 1, ..., R for a Hessian that is not zero, and the pair lies in
    $\Omega^R(\theta_1, \ldots, \theta_k)$ for them. Each k occurs: under the loss $h - y$ the model $\frac12\sum_{i \le
    k}\omega_i^2$ of R weights has the Hessian $\mathrm{diag}(1, \ldots, 1, 0, \ldots, 0)$.
    """
    for R in positive_sizes(sizes):
        weights = sympy.symbols(f"w1:{R + 1}")
        ranks = [
            sympy.hessian(sum((w**2 for w in weights[:k]), sympy.Integer(0)) / 2, weights).rank()
            for k in range(1, R + 1)
        ]
        require(set(ranks) == set(range(least, R - short + 1)), f"the numbers of eigenvalues at R = {R}")
    return "we use the spectral theorem, and for each k a model that is a sum of k squares, whose Hessian is diagonal"
