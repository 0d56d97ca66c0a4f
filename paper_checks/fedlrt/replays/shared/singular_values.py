"""Proofs of what holds of bases and of whole rounds: Lemmas 1 to 3, truncation, Theorem 5, distance from FedLin."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from paper_checks.replay import require


def symbols_of(name: str, rows: int, columns: int) -> sympy.Matrix:
    """Return a matrix of symbols."""
    return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}_{j}"))


def tail_is_what_the_best_rank_misses(after: int, sizes: Sequence[int]) -> None:
    r"""The squares from $\sigma_{r+1}$ on add up to what the best matrix of rank r misses, squared.

    With the tail from $\sigma_{r + after}$ on this is so for after = 1. The sum is $\sigma_r^2$ less than at r - 1.
    """
    require(len(sizes) > 0, "no sizes")
    for size in sizes:
        s = sympy.symbols(f"s_1:{size + 1}", nonnegative=True)

        def tail(first: int, s: tuple[sympy.Symbol, ...] = s) -> sympy.Expr:
            return sum((x**2 for x in s[first - 1 :]), sympy.Integer(0))

        for rank in range(1, size + 1):
            missed = tail(rank + 1)
            require(sympy.expand(tail(rank + after) - missed) == 0, "not what the best matrix misses")
            require(sympy.expand(tail(rank) - missed - s[rank - 1] ** 2) == 0, "not a positive value")
        require(tail(size + 1) == 0 and tail(size) == s[-1] ** 2, "the last ranks")
