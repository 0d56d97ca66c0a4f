"""Replays of the claims in ``measured_spectra``."""

from __future__ import annotations

from fractions import Fraction
from math import asin, exp, pi, sqrt

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def semicircle_quantile(share: float) -> float:
    """Quantile of the semicircle of radius 1, by bisection of its distribution function."""
    low, high = -1.0, 1.0
    for _ in range(60):
        x = 0.5 * (low + high)
        below = 0.5 + (x * sqrt(1.0 - x * x) + asin(x)) / pi
        low, high = (x, high) if below < share else (low, x)
    return 0.5 * (low + high)


@replay("fedloru-v2/eq-87")
def eq_87(values: Values) -> Violation:
    """Sums over grid points and eigenvalues, one by one; the kernel's mass beyond six widths is below 1e-8."""
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
        reads="R - 1 eigenvalues at the quantiles of the semicircle on [-1, 1], the largest at top; "
        "densities by Gaussian kernels of this width on a grid of this spacing: |estimate/stable rank - "
        "1| against the error of the smoothing",
    )
