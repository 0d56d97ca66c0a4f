"""Section 3.2: the overlap of an outlier's eigenvector (eq. (5)), and the eigenvectors of the bulk.

Setting: `shared.eigenvectors`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.prop_3_1 import exchange_of_entries
from paper_checks.fedloru.replays.shared.eigenvectors import away_from_spikes, cone, gap
from paper_checks.fedloru.replays.shared.limits import more, n, noise, theta
from paper_checks.proof_steps import positive
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-5")
def eq_5_as_printed(values: Values) -> Violation:
    """A squared inner product cannot have a negative limit; the printed set contains this spike."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    edge, g = 2 * sigma * s, abs(theta) + sigma**2 * s**2 / abs(theta)
    return Violation(
        0,
        1 - sigma**2 * s**2 / theta**2,
        assumes=[*noise(sigma, s), Hypothesis("|g^{-1}(theta)|, against the edge", g, ">", edge)],
        reads="we compare 0 with the printed limit of a square",
    )


def overlap(coefficient: Fraction, power: Fraction) -> str:
    """Check the residue of the resolvent, and eigenvectors at the edge."""
    cone(coefficient, power)
    away_from_spikes()
    exchange_of_entries(3)
    return (
        "we use the residue of the resolvent along the spikes and the bulk eigenvectors along them, and "
        "exchange the entries"
    )


@proof("fedloru-v2/eq-5@sets-by-limit")
def sets_by_limit(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(2)) -> str:
    r"""The sets by limit hold the spikes with $|\theta_i| > n$, and those at n, for which the limit and (5) are 0.

    For Wigner matrices that are not Gaussian the exchange of entries gives (I) in probability, and with (B) the rest.
    """
    return overlap(coefficient, power)


@proof("fedloru-v2/eq-5")
def eq_5(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(2)) -> str:
    r"""Both limits for $|\theta_i| > n$; below, the extreme eigenvector is one at the edge, with overlap 0.

    For Wigner matrices that are not Gaussian the exchange of entries gives (I) in probability, and with (B) the rest.
    """
    return overlap(coefficient, power)


@proof("fedloru-v2/claim-overlap-mono")
def claim_overlap_mono(coefficient: Fraction = Fraction(1), lost: Fraction = Fraction(0)) -> str:
    r"""$\phi^2 = 1 - n^2/\theta^2$ falls with the noise; a client that has lost the outlier has the limit 0.

    For an outlier at N, $|\theta| > n$: if $|\theta| > m$ too the limits differ by $(m^2 - n^2)/\theta^2 > 0$ in their
    squares, else by $\phi^2 > 0$. For Wigner matrices as for (5).
    """
    square = 1 - coefficient * (n / theta) ** 2
    falls = (square - square.subs(n, n + gap)).subs(theta, n + gap + more)
    cone(coefficient, 2)
    away_from_spikes(lost)
    require(positive(falls), "the overlap falls with the noise")
    require(positive(square.subs(theta, n + more)), "the overlap of an outlier")
    return "we compare the limits of (5) at two sizes of noise"


@replay("fedloru-v2/claim-overlap-mono@sets-by-condition")
def claim_overlap_mono_as_read(values: Values) -> Violation:
    r"""Evaluate a spike below both thresholds: it meets $g_N^{-1}(\theta) > U_N$, and no eigenvector leans towards it.

    For $|\theta| \le \sigma s$ the overlap of the extreme eigenvector tends to 0, by the stored proof of eq. (5).
    """
    theta, sigma, s_M, s_N = fractions(values, "theta", "sigma", "s_M", "s_N")
    known = assuming(*noise(sigma, s_N), Hypothesis("theta", theta, ">", 0))
    assumes = [
        *known,
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("theta, against sigma s_N", theta, "<", sigma * s_N),
        Hypothesis("g_N^{-1}(theta), against U_N", theta + (sigma * s_N) ** 2 / theta, ">", 2 * sigma * s_N),
    ]
    at_M, at_N = (max(1 - (sigma * s / theta) ** 2, Fraction(0)) for s in (s_M, s_N))
    return Violation(
        at_M,
        at_N,
        strict=True,
        assumes=assumes,
        reads="we compare the limit of the squared overlap at M with the limit at N, which should be greater",
    )


@proof("fedloru-v2/assump-bulk")
def assump_bulk(lean: Fraction = Fraction(1)) -> str:
    r"""The spectral measure of v in H: $v^T(z - H)^{-1}v \to 1/(k(z) - \theta)$, with k on the upper side of the bulk.

    At $\lambda = 2n\cos t$, $k = ne^{it}$ solves $k + n^2/k = \lambda$, and the density of that measure is
    $\frac1\pi\mathrm{Im}\,k/|k - \theta|^2$ with $|k - \theta|^2 = n^2 + \theta^2 - \theta\lambda$, against $\mathrm{
    Im}\,k/(\pi n^2)$ of the semicircle. Mean and mean square are $\langle v, Hv\rangle$ and $|Hv|^2$ less the part of
    the outlier. Across the spikes: a rotation that fixes them does not change the law of the noise.
    """
    t = sympy.symbols("t", positive=True)
    k = n * (sympy.cos(t) + sympy.I * sympy.sin(t))
    point = 2 * n * sympy.cos(t)
    distance = (n * sympy.cos(t) - theta) ** 2 + (n * sympy.sin(t)) ** 2
    weight, place = 1 - n**2 / theta**2, theta + n**2 / theta
    mean, square = (
        (moment - weight * place**power) / (1 - weight) for power, moment in ((1, theta), (2, theta**2 + n**2))
    )
    stated = lean * n**2 / theta, (1 - lean) * n**2 + lean * n**2 * (1 + n**2 / theta**2)
    cone(1, 2)
    require(sympy.simplify(k + n**2 / k - point) == 0, "k on the bulk")
    require(sympy.simplify(distance - (n**2 + theta**2 - theta * point)) == 0, "the density")
    require(sympy.simplify(mean - stated[0]) == 0, "the weighted mean")
    require(sympy.simplify(square - stated[1]) == 0, "the weighted mean square")
    return "we use the spectral measure of the spike's direction and its first two moments"


@replay("fedloru-v2/assump-bulk")
def assump_bulk_as_printed(values: Values) -> Violation:
    r"""Weighted moments of the bulk, unit noise: the moments in the spike's direction v less the part of its outlier.

    $\langle v, Hv\rangle \to \theta$ and $|Hv|^2 \to \theta^2 + 1$ by the law of large numbers; the outlier has the
    weight of eq. (5). Uniform weights have the moments of the semicircle, 0 and 1.
    """
    theta, power = Fraction(values["theta"]), int(values["power"])
    assumes = assuming(
        Hypothesis("theta, an outlier's at unit noise", theta, ">", 1),
        Hypothesis("power", power, ">=", 1),
        Hypothesis("power", power, "<=", 2),
    )
    moment, weight = (theta, theta**2 + 1)[power - 1], 1 - 1 / theta**2
    weighted = (moment - weight * (theta + 1 / theta) ** power) / (1 - weight)
    return Violation(
        abs(weighted - (power - 1)),
        0,
        assumes=assumes,
        reads="with one spike theta and sigma s_N = 1, we take this power of the bulk eigenvalues. We compute the "
        "distance between its mean weighted by the squared overlaps with v and its unweighted mean",
    )
