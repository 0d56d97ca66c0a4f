"""Replays of the claims in ``free_convolution`` and ``general_map``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import rational_root
from paper_checks.fedloru.replays.edges import noise
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/lem-A.2")
def v1_lem_A_2_as_printed(values: Values) -> Violation:
    r"""D = diag(x), half of the x are 1 and half -1; Gaussian X with entries of variance $(1 + \rho x_ax_b)/N$.

    D is deterministic. X is a generalised Wigner matrix, since the variances of a row add up to 1 and lie between fixed
    multiples of 1/N: its eigenvectors have QUE (Bourgade and Yau), and its limit is the semicircle whatever $\rho$.

    The distance of spectral measures concentrates: $W_1(\hat\mu_X, \hat\mu_Y) \le N^{-1/2}\|X - Y\|_F$ (Hoffman and
    Wielandt), each entry off the diagonal counts twice in the norm, and entries have standard deviations of at most
    $\sqrt{(1 + |\rho|)/N}$, so that $W_1(\hat\mu_X, \mu_X)$ has the Lipschitz constant $\sqrt{2(1 + |\rho|)}/N$ in
    standard Gaussian numbers and exceeds its mean by t with a probability of at most $e^{-t^2N^2/(4(1 + |\rho|))}$.
    The mean tends to 0: where it is below $\delta/2$, that is for large N, $P(W_1 > \delta) \le
    e^{-N^2\delta^2/(16(1 + |\rho|))}$, so $\tau = 2$.

    Integration by parts in the first factor gives the limits of the rows, $m_n(x) = x\,m_{n-1}(x) +
    \sum_k\eta(m_k)(x)\,m_{n-2-k}(x)$ for $m_n(x_a) = \lim E[((X + D)^n)_{aa}]$ and $\eta(m)(x) = E_y[(1 +
    \rho xy)m(y)]$; with $\rho = 0$ X is invariant under rotations, and the moments are those of the free convolution.
    """
    (rho,) = fractions(values, "rho")
    power = int(values["power"])
    assumes = assuming(
        Hypothesis("rho, for variances between fixed multiples of 1/N", abs(rho), "<", 1),
        Hypothesis("power", power, ">", 0),
        Hypothesis("power", power, "<=", 12),
    )
    actual, free = (_moment_with_profile(strength, power) for strength in (rho, Fraction(0)))
    return Violation(
        abs(actual - free),
        0,
        assumes=assumes,
        reads="D = diag(x), half of the x are 1 and half -1; X Gaussian with independent entries of "
        "variance (1 + rho x_i x_j)/R, a generalised Wigner matrix (QUE by Bourgade and Yau, limit the "
        "semicircle; W_1 has the Lipschitz constant sqrt(2(1 + |rho|))/R in Gaussian numbers and a mean "
        "that tends to 0, so P(W_1 > delta) <= exp(-R^2 delta^2/(16(1 + |rho|))) for large R); "
        f"|moment {power} of X + D - that of the free convolution|",
    )


def _moment_with_profile(rho: Fraction, power: int) -> Fraction:
    """The limit of the normalised trace of a power of X + D, over the rows with x = 1 and x = -1."""
    rows = [(Fraction(1), Fraction(1))]
    for n in range(1, power + 1):
        averages = [((a + b) / 2, rho * (a - b) / 2) for a, b in rows]  # of m(y), and rho times that of y m(y)
        after = [
            sum(((averages[k][0] + x * averages[k][1]) * rows[n - 2 - k][side] for k in range(n - 1)), Fraction(0))
            for side, x in enumerate((1, -1))
        ]
        rows.append((rows[-1][0] + after[0], -rows[-1][1] + after[1]))
    return sum(rows[-1], Fraction(0)) / 2


@replay("fedloru-v2/eq-30-31")
def eq_30_31_as_printed(values: Values) -> Violation:
    r"""The only $\lambda$ outside of the support at which $k(\lambda) = \theta$ is possible, and k there.

    $k + \sigma^2s^2/k = \lambda$ for the subordination function, so $k(\lambda) = \theta$ leaves one candidate; of the
    two roots of this equation k is the one that grows like $\lambda$, the larger one in absolute value.
    """
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    candidate = theta + sigma**2 * s**2 / theta
    root = rational_root(candidate**2 - 4 * sigma**2 * s**2)
    k = (candidate + (root if candidate > 0 else -root)) / 2
    assumes = [*noise(sigma, s), Hypothesis("|lambda|, off the support", abs(candidate), ">", 2 * sigma * s)]
    return Violation(
        abs(k - theta), 0, assumes=assumes, reads="|k(lambda) - theta| at the only lambda that could belong to theta"
    )


@replay("fedloru-v1/eq-29-32")
def eq_29_32(values: Values) -> Violation:
    r"""Marchenko-Pastur noise of ratio c with entries of variance 1: $k(k^{-1}(\theta))$ from the quadratic for g.

    $\mathcal{R}_\mu(w) = 1/(1 - cw)$; with v = s the transform of the scaled law solves
    $c\,v\,z\,g^2 - (z - v(1-c))g + 1 = 0$ and is, off the support, the root that tends to 0 at infinity.
    """
    theta, s, ratio = fractions(values, "theta", "s", "ratio")
    z = s / (1 - ratio * s / theta) + theta
    line = z - s * (1 - ratio)
    square = line**2 - 4 * ratio * s * z  # (z - a)(z - b) with the edges a, b = s (1 -+ root of c)^2
    root = rational_root(square)
    beyond = z - s * (1 + ratio)  # positive right of the support, negative left of it
    g = (line - root if beyond > 0 else line + root) / (2 * ratio * s * z)
    assumes = (
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("ratio", ratio, ">", 0),
        Hypothesis("ratio", ratio, "<", 1),
        Hypothesis("(z - a)(z - b) at z = k^-1(theta), off the support", square, ">", 0),
    )
    return Violation(
        abs(1 / g - theta),
        0,
        assumes=assumes,
        reads="Marchenko-Pastur noise, R(w) = 1/(1 - ratio w): |k(k^-1(theta)) - theta|",
    )
