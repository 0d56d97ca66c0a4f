r"""The stable rank as R grows, for Gaussian noise; $n = \sigma s_N$ and $m = \sigma s_M > n$.

$\|H_N\|_F^2 = \|\epsilon_N\|_F^2 + O(\|\epsilon_N\|) + O(1)$ with $\|\epsilon_N\|_F^2/R \to n^2$, by the law of large
numbers for entries of variance $n^2/R$. $\|H_N\| \to \lambda_N$ by Proposition 3.1 as corrected: the outlier of
$\theta_0$ in modulus, $|\theta_0| + n^2/|\theta_0|$, if $|\theta_0| > n$, else the edge $2n$. So
$\mathrm{srank}(H_N)/R \to n^2/\lambda_N^2$. For Wigner matrices with a fixed law of finite fourth moment both limits
hold in probability, the first by the law of large numbers again, the second by prop-3.1-dist.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.limits import more, n, outliers, semicircle, theta
from paper_checks.proof_steps import positive
from paper_checks.replay import require


def bulk_square(bulk: Fraction) -> None:
    r"""$R^2$ entries of variance $n^2/R$: the mean square of an eigenvalue of the noise is $n^2$."""
    R = sympy.Symbol("R", positive=True)
    stated = bulk * n**2
    require(sympy.simplify(R**2 * (n**2 / R) / R - stated) == 0, "the mean square of the bulk")


def norm() -> None:
    r"""Return the limit of the norm: an outlier beyond the threshold, else the edge, the smaller of the two."""
    outlier = theta + n**2 / theta
    outliers(outlier, 1)
    semicircle(2)
    require(positive((outlier - 2 * n).subs(theta, n + more)), "an outlier lies beyond the edge")


def grows_with_noise() -> None:
    r"""$n/\lambda_N$ grows with n up to 1/2, which it is from $n = |\theta_0|$ on.

    $n/\lambda = n\theta/(\theta^2 + n^2)$ has a derivative of the sign of $\theta^2 - n^2$.
    """
    ratio = n / (theta + n**2 / theta)
    require(positive(sympy.factor(sympy.diff(ratio, n)).subs(theta, n + more)), "n over the outlier grows with n")
    require(sympy.simplify(ratio.subs(theta, n)) == sympy.Rational(1, 2), "1/2 at the threshold")
    require(positive((sympy.Rational(1, 2) - ratio).subs(theta, n + more)), "less than 1/2 beyond it")
