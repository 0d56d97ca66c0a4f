"""Lemma A.6 (Appendix A.5): the angle between eigenvectors of two clients.

Setting: `shared.eigenvectors`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.eigenvectors import across_the_spikes, away_from_spikes, cone, inner_products
from paper_checks.fedloru.replays.shared.limits import noise
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@proof("fedloru-v2/def-phi")
def def_phi(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""The root of the limit in (5), which is $\phi_i^2$: the overlap tends to $\phi_i$, with noise as there."""
    phi = sympy.Symbol("phi", positive=True)
    stated = phi**power
    cone(coefficient, 2)
    require(sympy.simplify(sympy.sqrt(phi**2) - stated) == 0, "the root")
    return "we use the residue of the resolvent along the spikes"


@replay("fedloru-v2/def-phi")
def def_phi_as_printed(values: Values) -> Violation:
    r"""Eq. (5) of the paper: the square tends to $1 - n^2/\theta^2$; the printed limit, squared, is something else."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    assumes = [*noise(sigma, s), Hypothesis("|theta|, an outlier's", abs(theta), ">", sigma * s)]
    return Violation(
        abs(square - square**2),
        0,
        assumes=assumes,
        reads="we compute the distance between the limit of the squared overlap by eq. (5) and the square of the "
        "printed limit",
    )


@proof("fedloru-v2/lem-A.6@its-cosine-with-gaussian-noise")
def lem_A_6(power: Fraction = Fraction(2), cross: Fraction = Fraction(0)) -> str:
    """By independence the expectation of a product is the product of the two limits; parts across the spikes vanish.

    For a w that is uniform in the complement of the outliers of its client, as the printed proof takes it, the
    expectations with w are 0 exactly, for any noise: its law is symmetric given these and given the other
    client. The model's own bulk eigenvectors, treated below, are not uniform and need the noise that is invariant.
    """
    inner_products(power, cross)
    return "we use (5) along the spikes, and orthogonal to them rotations that fix the spikes, for Gaussian noise"


@replay("fedloru-v2/lem-A.6")
def lem_A_6_as_printed(values: Values) -> Violation:
    r"""The cosine of an angle that tends to $\phi$ tends to one between $1 - \phi^2/2$ and $1 - \phi^2/2 + \phi^4/24$.

    By eq. (5) the square of the cosine tends to $\phi^2$.
    """
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    assumes = [*noise(sigma, s), Hypothesis("|theta|, an outlier's", abs(theta), ">", sigma * s)]
    low, high = 1 - square / 2, 1 - square / 2 + square**2 / 24
    return Violation(
        max(square - high**2, low**2 - square),
        0,
        assumes=assumes,
        reads="by eq. (5) the squared overlap tends to phi^2. For an angle that tends to phi it would tend to "
        "cos(phi)^2. We compute a lower bound on |phi^2 - cos(phi)^2|",
    )


@proof("fedloru-v2/eq-49-50")
def eq_49_50(bulk: Fraction = Fraction(0), mixed: Fraction = Fraction(0)) -> str:
    r"""Rotations that fix the spikes, and bulk eigenvectors that leave their span.

    $E\langle x, w\rangle = \langle Ex, Ew\rangle$ for eigenvectors of two clients. Across the spikes it is at most
    $1/(R - p - q)$; along them $|V^Tx| \le 1$ and $E|V^Tw| \to 0$.

    The printed premise, a w uniform in the complement of its client's outliers, gives it a law that is symmetric given
    these and given the other client, so every expectation is 0 exactly, for any noise. Assumption A.5 by itself,
    random orthonormal vectors, does not. The model's own bulk eigenvectors, treated above, are not uniform and need the
    noise that is invariant, with twice the variance on the diagonal.
    """
    away_from_spikes()
    across_the_spikes(bulk)
    across_the_spikes(mixed)
    return "we use rotations that fix the spikes and the bulk eigenvectors along them, for Gaussian noise"
