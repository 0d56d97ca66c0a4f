"""Figure 1 and Appendix D.3: estimated stable ranks of networks (eq. (87))."""

from __future__ import annotations

from fractions import Fraction
from math import asin, exp, pi, sqrt

import sympy

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values


def semicircle_quantile(share: float) -> float:
    """Return the quantile of the semicircle of radius 1, by bisection of its distribution function."""
    low, high = -1.0, 1.0
    for _ in range(60):
        x = 0.5 * (low + high)
        below = 0.5 + (x * sqrt(1.0 - x * x) + asin(x)) / pi
        low, high = (x, high) if below < share else (low, x)
    return 0.5 * (low + high)


@replay("fedloru-v2/eq-87")
def eq_87(values: Values) -> Violation:
    """Sum over grid points and eigenvalues, one by one; the kernel's mass beyond six widths is below 1e-8."""
    R, (top, width, spacing) = int(values["R"]), (float(values[name]) for name in ("top", "width", "spacing"))
    assumes = assuming(
        Hypothesis("R", R, ">", 1),
        Hypothesis("the top, beyond the bulk by six widths of the kernel", Fraction(top), ">", 1 + 6 * Fraction(width)),
        Hypothesis("spacing of the grid", Fraction(spacing), ">", 0),
        Hypothesis("spacing of the grid, against the width of the kernel", Fraction(spacing), "<=", Fraction(width)),
    )
    if width > 100 * spacing or R > 10_000:
        raise ValueError("too many points to add up one by one")
    eigenvalues = [semicircle_quantile((k + 0.5) / (R - 1)) for k in range(R - 1)] + [top]
    numerator = 0.0
    for eigenvalue in eigenvalues:
        reach = int(6.0 * width / spacing) + 2
        nearest = round((eigenvalue - top) / spacing)
        for step in range(nearest - reach, nearest + reach + 1):
            point = top + step * spacing
            numerator += exp(-0.5 * ((point - eigenvalue) / width) ** 2) * point**2
    estimate = numerator / top**2  # the kernel is 1 at the top; its factor cancels
    stable_rank = sum(eigenvalue**2 for eigenvalue in eigenvalues) / top**2
    smoothing = R * width**2 / sum(eigenvalue**2 for eigenvalue in eigenvalues)
    return Violation(
        abs(estimate / stable_rank - 1.0),
        smoothing,
        1e-3,
        assumes=assumes,
        reads="R - 1 eigenvalues are at the quantiles of the semicircle on [-1, 1], and the largest is at top. "
        "Densities are estimated with Gaussian kernels of this width on a grid of this spacing. We compare "
        "|estimate/stable rank - 1| with the error of the smoothing",
    )


def smoothed_squares(power: int) -> None:
    r"""The smoothed density has $\sum_ix^2p(x)\Delta = \|H\|_F^2/R + h^2$, up to $10^{-30}$ of it for $\Delta \le h/2$.

    A kernel, the normal density of standard deviation h, turns the square $\lambda^2$ of an eigenvalue into
    $\lambda^2 + h^2$. A sum over a grid instead of the integral adds, by Poisson's formula, terms with the factors
    $e^{-2\pi^2j^2h^2/\Delta^2}$, $j = 1, 2, \ldots$, times $2(\lambda^2 + h^2 + 4\pi j|\lambda|h^2/\Delta +
    4\pi^2j^2h^4/\Delta^2)$, the last bracket at most $(1 + 2\pi jh/\Delta)^2(\lambda^2 + h^2)$.
    """
    require(power == int(power), "a whole power")
    x, h, z = sympy.symbols("lambda h z")
    moments = {0: 1, 1: 0, 2: 1, 3: 0, 4: 3}
    polynomial = sympy.Poly(sympy.expand((x + h * z) ** power), z)
    mean = sum(c * moments[degree] for (degree,), c in polynomial.terms())
    tails = sum(2 * exp(-2 * pi**2 * j**2 * 4) * (1 + 4 * pi * j) ** 2 for j in range(1, 20))
    require(sympy.expand(mean - x**2 - h**2) == 0, "the square under a kernel")
    require(tails < 1e-30, "the grid")


@proof("fedloru-v2/eq-87@masses")
def masses(power: int = 2, factor: Fraction = Fraction(1)) -> str:
    r"""Over the mass 1/R of $\sigma_1$ times its square, the smoothed squares are the stable rank and a little more.

    $(\|H\|_F^2/R + h^2)/(\sigma_1^2/R) = \mathrm{srank}(H) + Rh^2/\sigma_1^2$, which is $1 + Rh^2/\|H\|_F^2$ times the
    stable rank. With the masses of the eigenvalues themselves h = 0.
    """
    total, R, h, top = sympy.symbols("F R h sigma", positive=True)
    estimate = factor * (total / R + h**2) / (top**2 / R)
    error = estimate - total / top**2 * (1 + R * h**2 / total)
    smoothed_squares(power)
    require(sympy.simplify(error) == 0, "the estimate")
    return "we compute the square under a kernel, a sum instead of an integral, and the quotient"


@proof("fedloru-v2/eq-87")
def eq_87_corrected(power: int = 2, factor: Fraction = Fraction(1)) -> str:
    r"""As for masses; with densities $p(\sigma_1)$ is the height $1/(Rh\sqrt{2\pi})$ of one kernel.

    At a separate $\sigma_1$, many widths away from the other eigenvalues, and a grid through it. The sum without
    $\Delta$ is $(\|H\|_F^2/R + h^2)/\Delta$, so the quotient is $\sqrt{2\pi}\,h/\Delta$ times the quotient of
    masses. A weight that pyHessian returns for $\sigma_1$ is $\langle e, v\rangle^2$ with its eigenvector e and the
    start v, a vector of random signs over $\sqrt R$: the mean is $|e|^2/R$, and by the central limit theorem $\sqrt
    R\langle e, v\rangle$ is nearly normal where no entry of e is large.
    """
    total, R, h, top, spacing = sympy.symbols("F R h sigma Delta", positive=True)
    squares = total / R + h**2
    by_densities = squares / spacing / (top**2 / (R * h * sympy.sqrt(2 * sympy.pi)))
    by_masses = factor * squares / (top**2 / R)
    smoothed_squares(power)
    require(sympy.simplify(by_masses - total / top**2 * (1 + R * h**2 / total)) == 0, "the estimate with masses")
    require(
        sympy.simplify(by_densities / by_masses - sympy.sqrt(2 * sympy.pi) * h / spacing) == 0,
        "the estimate with densities",
    )
    return "we compute the square under a kernel, a sum instead of an integral, and both quotients"
