"""Vectors by their coordinates in unknown ones, and quadratic forms of them as linear forms in inner products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Key = TypeVar("Key")

Block = tuple[str, str]
"""A group of vectors orthogonal to all others: ``mean`` or ``spread`` of the clients, ``inside`` or ``outside``."""

Entry = tuple[Block, str, str]
"""One inner product of two named vectors of a block; the names are in order."""

Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Vector:
    """A combination of the unknown vectors; its parts in different blocks are orthogonal.

    Attributes:
        parts: coefficient of each named vector, by block and name.
    """

    parts: Mapping[tuple[Block, str], Fraction]

    def __add__(self, other: Vector) -> Vector:
        return Vector(_sum([(Fraction(1), self.parts), (Fraction(1), other.parts)]))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(_sum([(Fraction(1), self.parts), (Fraction(-1), other.parts)]))

    def __mul__(self, factor: Fraction | int) -> Vector:
        return Vector({key: factor * value for key, value in self.parts.items()})

    def restrict(self, blocks: Iterable[Block]) -> Vector:
        """Return the part in some blocks."""
        kept = set(blocks)
        return Vector({key: value for key, value in self.parts.items() if key[0] in kept})


@dataclass(frozen=True)
class Form:
    """A linear form in the inner products.

    Attributes:
        terms: coefficient of each inner product.
    """

    terms: Mapping[Entry, Fraction]

    def __add__(self, other: Form) -> Form:
        return Form(_sum([(Fraction(1), self.terms), (Fraction(1), other.terms)]))

    def __sub__(self, other: Form) -> Form:
        return Form(_sum([(Fraction(1), self.terms), (Fraction(-1), other.terms)]))

    def __mul__(self, factor: Fraction | int) -> Form:
        return Form({key: factor * value for key, value in self.terms.items()})

    def matrix(self, block: Block, names: tuple[str, ...]) -> Matrix:
        """Return the symmetric matrix of the quadratic form in the vectors of one block."""
        place = {name: i for i, name in enumerate(names)}
        M = [[Fraction(0)] * len(names) for _ in names]
        for (at, one, other), value in self.terms.items():
            if at == block:
                i, j = place[one], place[other]
                M[i][j] += value / 2
                M[j][i] += value / 2
        return M


def combination(terms: Iterable[tuple[Fraction, Form]]) -> Form:
    """Return a sum of multiples of forms."""
    return Form(_sum((factor, form.terms) for factor, form in terms))


def inner(one: Vector, other: Vector) -> Form:
    """Return the inner product of two vectors."""
    terms: dict[Entry, Fraction] = {}
    for (block, first), a in one.parts.items():
        for (at, second), b in other.parts.items():
            if at == block:
                key = (block, *sorted((first, second)))
                terms[key] = terms.get(key, Fraction(0)) + a * b  # type: ignore[index,arg-type]
    return Form(terms)


def square(one: Vector) -> Form:
    """Return the squared norm of a vector."""
    return inner(one, one)


def _sum(parts: Iterable[tuple[Fraction, Mapping[Key, Fraction]]]) -> dict[Key, Fraction]:
    total: dict[Key, Fraction] = {}
    for factor, terms in parts:
        for key, value in terms.items():
            total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}
