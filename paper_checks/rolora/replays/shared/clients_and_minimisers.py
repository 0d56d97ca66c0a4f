r"""Different clients under the population loss: what an iteration does, and what the losses are.

All identities are between inner products (`shared.rank_one`), so they hold for any number of clients, any
dimensions and any $b_i^*$. x is the cosine between a and $a^*$, $G = \|\bar b^*\|^2$.
"""

from __future__ import annotations

from typing import Any

from paper_checks.replay import require
from paper_checks.rolora.replays.shared.rank_one import (
    COSINE,
    MEAN,
    OWN,
    OWN_SQUARED,
    TRUTH,
    A,
    B,
    Model,
    Vector,
    frobenius,
    inner,
    minus,
    over_clients,
    plus,
    same,
)

CLIENT: Model = [(TRUTH, OWN)]

MINIMISER: Model = [(TRUTH, MEAN)]


def square(model: Model) -> Any:
    """Return the squared Frobenius norm."""
    return frobenius(model, model)


def loss(a: Vector, b: Vector) -> Any:
    """Return the global population loss, a mean over the clients."""
    return over_clients(square(minus(CLIENT, [(a, b)])))


def across(vector: Vector) -> Vector:
    """Return the part of a vector that is orthogonal to a*."""
    return plus((1, vector), (-inner(vector, TRUTH), TRUTH))


SINE_SQUARED = 1 - COSINE**2


def minimiser_of_a_client() -> None:
    r"""At a unit a the client's loss is $\|b_i^*\|^2(1 - x^2) + \|b - xb_i^*\|^2$: the minimiser is $xb_i^*$."""
    own = square(minus(CLIENT, [(A, B)]))
    off = plus((1, B), (-COSINE, OWN))
    completed = OWN_SQUARED * SINE_SQUARED + inner(off, off)
    require(same(own, completed), "the client's loss is not a completed square")
    require(same(inner(across(A), across(A)), SINE_SQUARED), "the squared sine is not 1 - x^2")
