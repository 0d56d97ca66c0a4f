"""Sides of a statement are checked before they are compared: a value that is not a number decides nothing."""

from __future__ import annotations

from collections.abc import Sized
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.evaluation import decimal_as_fraction
from paper_checks.facts import as_fraction

Array = NDArray[Any]

ROUNDING = 1e-6
"""Largest error bound, relative to the size of what is compared, on which a passing form may rest."""


class UndefinedError(ValueError):
    """A method was given something that cannot be judged: no number, an undeclared infinity, a tolerance, no domain."""


def checked_sides(
    left: Any, right: Any, error: Any, *, infinite: bool, decided: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Return both sides, their difference and its error bound as floats, each checked at the door.

    Exact sides are subtracted exactly. Integers of numpy are refused, since they overflow without a word. An exact side
    and a float are compared if the rounding of the float does not decide.

    Args:
        left: left sides, floats or an array of exact numbers.
        right: right sides.
        error: bound on the error of the difference.
        infinite: whether a side may be infinite.
        decided: whether the cases that matter are evaluated again exactly, so that no rounding decides.

    Raises:
        UndefinedError: a side that is not a number, infinite without leave or of another type; a wrong error bound; an
            exact side and a float that are nearer to each other than rounding.
    """
    sides = []
    for name, side in (("left", left), ("right", right)):
        if np.ma.is_masked(side):
            raise UndefinedError(f"some {name} sides are masked: leave these cases out")
        values = np.asarray(side)
        if values.dtype.kind in "iu" and all(type(value) is int for value in side):
            values = np.asarray(side, dtype=object)
        if values.dtype == object:
            for at, value in np.ndenumerate(values):
                as_fraction(value)
                if isinstance(value, Decimal):
                    values = values if values is not side else values.copy()
                    values[at] = decimal_as_fraction(value)
        elif values.dtype.kind != "f":
            raise UndefinedError(
                f"{name} sides must be floats or exact numbers, got {values.dtype}, which can overflow; "
                "write them with dtype=object, or .astype(float)"
            )
        floats = values.astype(float)
        if np.isnan(floats).any():
            raise UndefinedError(f"{np.isnan(floats).sum()} of {floats.size} {name} sides are not numbers")
        if np.isinf(floats).any() and not infinite:
            raise UndefinedError(
                f"{np.isinf(floats).sum()} of {floats.size} {name} sides are infinite, which is not declared"
            )
        sides.append((values, floats))
    (exact_left, left), (exact_right, right) = sides
    if left.shape != right.shape or left.ndim != 1:
        raise UndefinedError(f"expected two sides of shape (cases,), got {left.shape} and {right.shape}")
    bound = np.broadcast_to(np.asarray(error, dtype=float), left.shape)
    if not ((bound >= 0) & np.isfinite(bound)).all():
        raise UndefinedError("an error bound must be a finite number of at least 0")
    both = exact_left.dtype == object and exact_right.dtype == object
    wide = "O" not in (exact_left.dtype.char, exact_right.dtype.char)
    wide = wide and max(exact_left.dtype.itemsize, exact_right.dtype.itemsize) > left.dtype.itemsize
    with np.errstate(invalid="ignore", over="ignore"):
        difference = (exact_left - exact_right).astype(float) if both or wide else left - right
    if not decided and (exact_left.dtype == object) != (exact_right.dtype == object):
        _require_decided(exact_left, exact_right, difference, bound)
    if np.isnan(difference).any():
        raise UndefinedError(f"both sides of {np.isnan(difference).sum()} cases are the same infinity")
    return left, right, difference, bound


def _require_decided(left: Array, right: Array, difference: Array, bound: Array) -> None:
    """Check that exact numbers compare with floats as their rounded values do.

    Raises:
        UndefinedError: They do not.
    """
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(left.astype(float)), np.abs(right.astype(float)))
        near = np.abs(np.abs(difference) - bound) <= 4.0 * np.finfo(float).eps * np.maximum(size, bound)
    for at in np.flatnonzero(near & np.isfinite(difference)):
        require_decided(left[at], right[at], float(difference[at]), float(bound[at]), "a case")


def require_decided(left: Any, right: Any, rounded: float, error: Any, what: str) -> None:
    """Check that the rounding of a float side does not decide how it compares with an exact one.

    Args:
        left: Left side.
        right: Right side, a float if the left one is exact.
        rounded: Their difference as floats.
        error: Bound on the error of the difference.
        what: Whose sides they are, for the error.

    Raises:
        UndefinedError: It does.
    """
    apart, error = exactly(left) - exactly(right), exactly(error)
    for sign in (1, -1):
        exact, near = sign * apart - error, sign * exactly(rounded) - error
        if (exact > 0, exact < 0) != (near > 0, near < 0):
            raise UndefinedError(
                f"{what}: the sides {left} and {right} are one exact number and one float, nearer to each other than "
                "rounding: state a bound on the rounding as error, or write both as exact numbers"
            )


def exactly(value: Any) -> Fraction:
    """Return a finite number as a fraction, a float by its binary value."""
    is_float = isinstance(value, float | np.floating)
    return Fraction(*map(int, value.as_integer_ratio())) if is_float else as_fraction(value)


def checked_draws(draws: Any, what: str) -> NDArray[np.float64]:
    """Return draws of one real quantity in double precision, shape (draws,).

    Raises:
        UndefinedError: they are complex, masked, in another shape or no numbers.
    """
    found = np.asanyarray(draws)
    if np.ma.is_masked(found) or found.ndim != 1 or found.dtype.kind not in "fiub":
        kind = "masked draws" if np.ma.is_masked(found) else f"{found.dtype} of shape {found.shape}"
        raise UndefinedError(f"{what}: draws must be real numbers in one row, got {kind}")
    return np.asarray(found, dtype=np.float64)


def require_some(parts: Sized, what: str) -> None:
    """Check that there is something to judge.

    Raises:
        UndefinedError: there is nothing.
    """
    if not len(parts):
        raise UndefinedError(f"there are no {what}, so nothing is judged")


def number(value: Any, what: str) -> float:
    """Return one finite number as a float.

    Raises:
        UndefinedError: it is not a number, or infinite, or of another type.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | Fraction | Decimal | sympy.Rational | np.floating
    ):
        raise UndefinedError(f"{what} must be a number, got {type(value).__name__} {value!r}")
    if (isinstance(value, Decimal) and not value.is_finite()) or not np.isfinite(float(value)):
        raise UndefinedError(f"{what} must be a finite number, got {value}")
    return float(value)
