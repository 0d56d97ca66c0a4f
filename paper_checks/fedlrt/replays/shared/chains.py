r"""Sums over clients and steps for the lines between the numbered equations of Appendices F and G; L = 1.

Symbols replace products of vectors and squares of norms: for vectors x and y of norms $|x|$ and $|y|$ the product
$\langle x, y\rangle$ is $|x||y| - f$ with some $f \ge 0$ (Cauchy and Schwarz). Sums over clients and steps are written
out at some numbers of both; each is linear, term by term, so these represent all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import require

a, d, h, s = sympy.symbols("a d h s", positive=True)


def total(terms: Iterable[Any]) -> Any:
    """Return the sum of terms, 0 if there are none."""
    return sum(terms, sympy.Integer(0))


def square_of_sum(count: int, factor: Any = 1) -> None:
    r"""$|\sum_ix_i|^2 \le count\sum_i|x_i|^2$ times a factor.

    The difference of the sides is the sum over pairs of $|x_i - x_j|^2$, entry by entry.
    """
    xs = sympy.symbols(f"x_0:{count}")
    pairs = total((x - y) ** 2 for x, y in combinations(xs, 2))
    gap = sympy.expand(factor * count * sum(x**2 for x in xs) - sum(xs) ** 2 - pairs)  # only squares, if any
    require(non_negative(gap), f"the square of a sum of {count}")
