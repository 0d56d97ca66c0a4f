"""Assumption A.5: the slopes along the bulk.

Setting: `shared.eigenvectors`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.shared.eigenvectors import across_the_spikes, away_from_spikes
from paper_checks.replay import proof


@proof("fedloru-v2/assump-A.5")
def assump_A_5(
    beta: Fraction = Fraction(0), by_index: Fraction = Fraction(0), by_client: Fraction = Fraction(0)
) -> str:
    r"""The model with a common gradient $\gamma$ of bounded norm and independent errors of mean 0 meets it, with 0.

    $E\partial_wf = \langle\gamma, Ew\rangle$ for a sign that does not look at the gradient. Across the spikes
    $|Ew| \le (R - p - q)^{-1/2}$, along them $E|V^Tw| \to 0$, for every index and client. Eigenvectors are orthonormal.

    With the sign of each w turned so that its slope is not negative the common value is $\sqrt{2b/\pi}$ instead, b the
    mean square of the clients' own errors along any one direction: the value is a matter of signs, and cosines are not.
    """
    away_from_spikes()
    for mean in (beta, by_index, by_client):
        across_the_spikes(mean)
    return (
        "we use rotations that fix the spikes and the bulk eigenvectors along them. The common value is 0; with each "
        r"w oriented by the gradient it is $\sqrt{2b/\pi}$, b the mean square of the clients' own errors in any one "
        "direction"
    )
