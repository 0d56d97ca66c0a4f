"""Proposition A.17 and its proof (eqs. (274) to (285)).

Setting: `shared.clients_and_minimisers`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import proof, require
from paper_checks.rolora.replays.shared.clients_and_minimisers import (
    CLIENT,
    MINIMISER,
    SINE_SQUARED,
    loss,
    minimiser_of_a_client,
    square,
)
from paper_checks.rolora.replays.shared.rank_one import (
    COSINE,
    GAMMA_SQUARED,
    MEAN,
    MEAN_SQUARED,
    OWN,
    TRUTH,
    A,
    frobenius,
    inner,
    minus,
    over_clients,
    plus,
    same,
)


@proof("rolora/prop-A.17")
def prop_A_17(share: Fraction = Fraction(1), spread: Fraction = Fraction(1)) -> str:
    r"""The loss at $b = x\bar b^*$, the mean of the clients' minimisers $xb_i^*$ at $a^0$; $\delta_0^2 = 1 - x^2$."""
    minimiser_of_a_client()
    stated = spread * GAMMA_SQUARED + share * MEAN_SQUARED * SINE_SQUARED
    require(same(loss(A, plus((COSINE, MEAN))), stated), "the loss")
    return "completing the square gives the clients' minimisers, and we evaluate the loss at their mean"


@proof("rolora/eq-274")
def eq_274(cross: Fraction = Fraction(0), split: Fraction = Fraction(1), last: Fraction = Fraction(1)) -> str:
    r"""(280) is the square of the sum of $a^*(b_i^* - \bar b^*)^\top$ and $a^*\bar b^{*\top} - a^0(b^{FFA})^\top$.

    The second does not depend on i and the first is 0 on average over the clients, so the mean of the traces is 0:
    (281). With $b^{FFA} = \bar b^*a^{*\top}a^0$ of (275) and (276) the second is $(I_d - a^0a^{0\top})a^*\bar
    b^{*\top}$. Norms of rank one give $\|u(b_i^* - \bar b^*)^\top\| = \|b_i^* - \bar b^*\|$ for every unit vector u, a
    or $a^*$, (282) and (283), and $\|(I_d - a^0a^{0\top})a^*\|\|\bar b^*\|$, (284), whose first factor is $\delta_0$.
    (285) is Definition A.13.
    """
    minimiser_of_a_client()
    own, off = minus(CLIENT, MINIMISER), minus(MINIMISER, [(A, plus((COSINE, MEAN)))])
    spread = plus((1, OWN), (-1, MEAN))
    whole = over_clients(square(minus(CLIENT, [(A, plus((COSINE, MEAN)))])))
    opened = over_clients(square(own)) + split * square(off) + 2 * over_clients(frobenius(own, off))
    require(same(whole, opened), "(280)")
    require(same(over_clients(frobenius(own, off)), cross), "(281)")
    require(same(over_clients(square(own)), over_clients(inner(A, A) * inner(spread, spread))), "(282)")
    side = plus((1, TRUTH), (-COSINE, A))
    require(same(square(off), inner(side, side) * MEAN_SQUARED), "(284)")
    require(same(whole, GAMMA_SQUARED + last * MEAN_SQUARED * SINE_SQUARED), "(285)")
    return "every line is an identity in inner products"
