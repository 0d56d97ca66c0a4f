r"""Appendix A.5 in inner products: a model is a sum of products $uv^\top$, so every question is a polynomial.

The vectors are a, $a^*$ and a direction h on one side, one client's minimiser $b_i^*$, the mean $\bar b^*$ and a factor
b on the other; the numbers of clients and dimensions do not appear. $a^*$ is a unit vector. A mean over the clients is
linear, so it applies to every expression that is linear in the products with $b_i^*$.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

Vector = Mapping[str, Any]

Model = Sequence[tuple[Vector, Vector]]

SQUARE_A, COSINE, ALONG_H, TRUTH_H, SQUARE_H = sympy.symbols("aa x ah th hh", real=True)

GAMMA_SQUARED, MEAN_SQUARED = sympy.symbols("gamma2 G", nonnegative=True)

OWN_SQUARED, OWN_MEAN, OWN_B, MEAN_B, SQUARE_B = sympy.symbols("P Q R r bb", real=True)

A, TRUTH, H, OWN, MEAN, B = ({name: sympy.Integer(1)} for name in ("a", "a*", "h", "b_i*", "mean", "b"))


def plus(*terms: tuple[Any, Vector]) -> Vector:
    """Return a combination of vectors."""
    found: dict[str, Any] = {}
    for factor, vector in terms:
        for name, share in vector.items():
            found[name] = sympy.expand(found.get(name, 0) + factor * share)
    return {name: share for name, share in found.items() if share != 0}


_PRODUCTS = {
    ("a", "a"): SQUARE_A,
    ("a", "a*"): COSINE,
    ("a*", "a*"): sympy.Integer(1),
    ("a", "h"): ALONG_H,
    ("a*", "h"): TRUTH_H,
    ("h", "h"): SQUARE_H,
    ("b_i*", "b_i*"): OWN_SQUARED,
    ("b_i*", "mean"): OWN_MEAN,
    ("b", "b_i*"): OWN_B,
    ("mean", "mean"): MEAN_SQUARED,
    ("b", "mean"): MEAN_B,
    ("b", "b"): SQUARE_B,
}


def inner(one: Vector, other: Vector) -> Any:
    """Return the inner product of two vectors of one side."""
    total = sympy.Integer(0)
    for left, first in one.items():
        for right, second in other.items():
            total += first * second * _PRODUCTS[min(left, right), max(left, right)]
    return sympy.expand(total)


def frobenius(one: Model, other: Model) -> Any:
    """Return the inner product of two sums of products."""
    return sympy.expand(sum(inner(u, w) * inner(v, z) for u, v in one for w, z in other))


def minus(one: Model, other: Model) -> Model:
    """Return the difference of two models."""
    return [*one, *((plus((-1, u)), v) for u, v in other)]


def over_clients(expression: Any) -> Any:
    r"""The mean over the clients, with $\gamma^2$ of Definition A.13.

    Raises:
        ValueError: the expression is not linear in the products with one client's minimiser.
    """
    own = (OWN_SQUARED, OWN_MEAN, OWN_B)
    expanded = sympy.expand(expression)
    if sympy.Poly(expanded, *own).total_degree() > 1:
        raise ValueError("a mean over the clients of something that is not linear")
    return sympy.expand(
        expanded.subs({OWN_SQUARED: GAMMA_SQUARED + MEAN_SQUARED, OWN_MEAN: MEAN_SQUARED, OWN_B: MEAN_B})
    )


def same(one: Any, other: Any) -> bool:
    """Return whether two expressions are identical for a unit vector a."""
    return bool(sympy.expand((one - other).subs(SQUARE_A, 1)) == 0)
