r"""Worst cases in closed form, with their multipliers.

Descent, corrected steps, any number of clients: with $q = 1 - \lambda L$, the change of the mean loss is at most
$-(1 - q^{2s})/(2L)$ per squared mean gradient, and $f_c = \frac L2\|w\|^2$ for all clients attains it. Proof: let
$z_c = L e_c + g$ and $r = L e - D$, the gradient of $\frac L2\|e\|^2 - \varphi_c$, convex and 2L-smooth, so
$\|r\|^2 \le 2L\langle e, r\rangle$. The mean loss changes by at most $(\|\bar z\|^2 - \|g\|^2)/(2L)$, and
$z_{k+1} = q z_k + \lambda L r_k$. Summed up, $\|z_s\|^2 - q^{2s}\|g\|^2$ is at most minus a quadratic form of the
$q^{-k}r_k$ with the matrix of `coupling`. That is diagonally dominant as soon as $q^s \ge \lambda L (s - 1)$, which
follows from $\lambda L s \le 1/2$, since $q^s \ge 1 - \lambda L s$. For larger rates the program finds the same value
up to $\lambda L s$ of about 2. With many steps a round can ascend from about 2.6 on, for convex clients from about
$4 + 2\sqrt2$ on: some clients then are bowls and the others go the farthest they can.

Drift of corrected steps: at most $((1+\lambda L)^s - 1)/L$ times the mean gradient, attained by $-\frac L2\|w\|^2$. For
convex functions it is $s\lambda$, attained by linear ones, since steps of at most 2/L do not grow.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.methods.worst_case.certificate import Certificate
from paper_checks.methods.worst_case.gram import Matrix
from paper_checks.methods.worst_case.problem import END, FEDLIN, Setting


def worst_descent(steps: int, step: Fraction) -> Fraction:
    """Return the largest change of the mean loss in units of 1/L: proved for steps * step <= 1/2, seen to 2."""
    return -(1 - (1 - step) ** (2 * steps)) / 2


def worst_drift(steps: int, step: Fraction) -> Fraction:
    """Return the largest distance of a client from the start in units of 1/L, for smooth functions."""
    return (1 + step) ** steps - 1


def best_constant(steps: int) -> Fraction:
    r"""Return the least $\kappa$ with descent $\le -s\lambda(1 - \kappa s\lambda L)$ for all small learning rates.

    $(1-x)^{2s} \le 1 - 2sx + s(2s-1)x^2$ on [0, 1], with equality in the limit of small x.
    """
    return 1 - Fraction(1, 2 * steps)


def needed_constant(steps: int, step: Fraction) -> Fraction:
    r"""Return the $\kappa$ for which the worst descent equals $-s\lambda(1 - \kappa s\lambda L)$."""
    whole = steps * step
    return (1 + worst_descent(steps, step) / whole) / whole


def descent_certificate(clients: int, steps: int, step: Fraction) -> Certificate:
    """Return the certificate of the worst descent; it verifies up to steps * step of about 0.83."""
    q = 1 - step
    multipliers = {f"0,{END}": Fraction(1)}
    for k in range(1, steps):
        weight = step * q ** (2 * steps - 1 - k) / (1 - q**k)
        multipliers |= {f"0,{k}": weight, f"{k},0": weight}
    return Certificate(Setting(FEDLIN, clients, steps, step), worst_descent(steps, step), multipliers)


def drift_certificate(clients: int, steps: int, step: Fraction) -> Certificate:
    """Return the certificate of the worst drift after some steps; the bound is its square."""
    rho = [worst_drift(k, step) for k in range(steps + 1)]
    multipliers: dict[str, Fraction] = {}
    for k in range(1, steps):
        weight = step * rho[steps] * (1 + step) ** (steps - 1 - k) / rho[k]
        multipliers |= {f"0,{k}": 2 * weight, f"{k},0": 2 * weight}
    setting = Setting(FEDLIN, clients, steps, step, goal="drift")
    return Certificate(setting, rho[steps] ** 2, multipliers)


def coupling(steps: int, step: Fraction) -> Matrix:
    """Return the matrix, rows 1 to s - 1, that is positive semidefinite if the closed form is the worst descent."""
    q = 1 - step
    power = [q**k for k in range(steps + 1)]
    size = steps - 1
    return [
        [power[k + 1] / (1 - power[k]) - step if k == j else -step / (1 - power[max(j, k)]) for j in range(1, size + 1)]
        for k in range(1, size + 1)
    ]


def coupling_dominates(steps: int, step: Fraction) -> bool:
    r"""Return whether that matrix is diagonally dominant, by a bound on each row that is cheap in exact fractions.

    Row k asks $q^{k+1} - \lambda L(1-q^k) \ge \lambda L\,[k - 1 + \sum_{j>k} (1-q^k)/(1-q^j)]$, and no quotient is
    above 1. The left side falls with k, so the last row decides.
    """
    q = 1 - step
    return all(q ** (k + 1) - step * (1 - q**k) >= step * (steps - 2) for k in {1, steps - 1} if k >= 1)
