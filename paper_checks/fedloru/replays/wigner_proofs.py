r"""Proofs for Wigner matrices that are not Gaussian, whose entries may be exchanged for Gaussian ones."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.limit_proofs import determinant, n, outliers, past_the_outliers, theta
from paper_checks.replay import proof, require


def exchange_of_entries(moment: int) -> None:
    r"""$x^T(z - \epsilon_N)^{-1}y$ has the limit in probability that it has for Gaussian entries, for unit x and y.

    Entries are cut off at $\delta$ first, $\delta \to 0$ slowly: by the fourth moment of their law none is larger, with
    a probability that tends to 1, and the means that this leaves are taken off with a matrix whose norm tends to 0. Let
    $\epsilon'$ have Gaussian entries of the same variances, cut off likewise, $X_t = \sqrt{1-t}\,\epsilon +
    \sqrt t\,\epsilon'$, $G = (z - X_t)^{-1}$ with z not real, and F a bounded function of $x^TGy$ with bounded
    derivatives. $\frac{d}{dt}E\,F$ is half of the sum over the entries of $E[(\epsilon'_{ij}t^{-1/2} -
    \epsilon_{ij}(1-t)^{-1/2})\,\partial_{ij}F]$. Expanded in the entry, its terms with variances cancel, and what is
    left is at most a multiple of $E(|\epsilon_{ij}|^3 + |\epsilon'_{ij}|^3)\sup|\partial_{ij}^3F|$, with the supremum
    over the values of this entry. By $\partial_{ij}G = G\,\partial_{ij}X_t\,G$ the third derivative is at most a
    multiple of $|(Gx)_i|^2 + |(Gx)_j|^2 + |(Gy)_i|^2 + |(Gy)_j|^2$, for another value of the bounded entry too, which
    changes $(Gx)_i$ by at most a multiple of $|(Gx)_i| + |(Gx)_j|$. These squares have the sum $2R(|Gx|^2 + |Gy|^2) \le
    4R/|\mathrm{Im}\,z|^2$ over all entries, and the third moments are of the order $R^{-3/2}$: the change of $E\,F$ is
    of the order $R^{-1/2}$.
    """
    R = sympy.Symbol("R", positive=True)
    entries = sympy.Matrix(2, 2, lambda i, j: sympy.Symbol(f"x{min(i, j)}{max(i, j)}"))
    unit = sympy.Matrix([[0, 1], [1, 0]])
    resolvent = (sympy.Symbol("z") * sympy.eye(2) - entries).inv()
    change = resolvent.diff(entries[0, 1]) - resolvent * unit * resolvent
    order = R * R ** -sympy.Rational(moment, 2)
    require(sympy.simplify(change) == sympy.zeros(2), "the derivative of G")
    require(sympy.limit(order, R, sympy.oo) == 0, "the sum of the third moments")


@proof("fedloru-v2/prop-3.1-dist@wigner-matrix")
def wigner_matrix(
    coefficient: Fraction = Fraction(1),
    edge: Fraction = Fraction(2),
    threshold: Fraction = Fraction(1),
    moment: int = 3,
) -> str:
    r"""Proposition 3.1 as corrected, with an exchange of the entries in the place of theorem (I).

    By the exchange $V^T(z - \epsilon_N)^{-1}V \to g(z)I$ in probability for every z that is not real, as for Gaussian
    entries. By (B), which holds in probability, these functions are analytic and bounded on compact sets off $[L, U]$
    for large R, so that they converge there as well. The determinant, the outliers and the eigenvalues at the edges are
    then those of Gaussian noise, in probability.
    """
    z = theta + coefficient * n**2 / theta
    exchange_of_entries(moment)
    determinant()
    outliers(z, threshold)
    past_the_outliers(edge, 1)
    return "an exchange of the entries, a small determinant, the transform of the semicircle, and Weyl's inequalities"
