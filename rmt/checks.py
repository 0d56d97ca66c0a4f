"""Checks of arguments and results of laws, each with one line that names the value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

SHOWN = 80
"""Characters of a value that a message shows."""


def require(condition: bool, message: str) -> None:
    """Raise ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def require_number(name: str, value: Any) -> float:
    """Return a number, finite or not, as a float."""
    try:
        math.isfinite(value)  # refuses texts, which float reads
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {abbreviate(value)}") from None


def require_flag(name: str, value: Any) -> bool:
    """Return a truth value as a bool: texts and numbers are refused, because every text that is not empty is true."""
    require(isinstance(value, bool | np.bool_), f"{name} must be True or False, got {abbreviate(value)}")
    return bool(value)


def require_unmasked(name: str, values: ArrayLike) -> None:
    """Check that an array has no masked entries, which NumPy would read as valid numbers."""
    require(
        not np.ma.is_masked(values),
        f"{name} must have no masked entries, because these would be read as valid numbers: remove them, for "
        f"example by values.compressed()",
    )


def freeze(name: str, values: ArrayLike) -> np.ndarray:
    """Return a copy of real numbers as an array that cannot be written to, nor changed through the original."""
    require_unmasked(name, values)
    try:
        found = np.asarray(values)
        require(found.dtype.kind in "biufO", "not numbers")
        array = np.array(found, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of real numbers, got {abbreviate(values)}") from None
    array.setflags(write=False)
    return array


def require_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return a sequence of numbers, finite or not, as a tuple of floats."""
    try:
        array = freeze(name, values if isinstance(values, np.ndarray) else list(values))
    except TypeError:
        array = np.zeros(())
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be a sequence of numbers, got {abbreviate(values)}; write (2.0,) for a single one"
        )
    return tuple(array.tolist())


def require_row(name: str, values: ArrayLike) -> np.ndarray:
    """Return a copy of real numbers, finite or not, that come in one row."""
    array = freeze(name, values)
    require(array.ndim == 1, f"{name} must be a one-dimensional array, (R,), got shape {array.shape}")
    return array


def abbreviate(value: Any) -> str:
    """Return a value for a message, in one line of moderate length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def require_order(name: str, n: float) -> int:
    """Return an order as an int, if it is a whole number >= 0."""
    require(
        math.isfinite(require_number(name, n)) and n == int(n) and n >= 0, f"{name} must be an integer >= 0, got {n}"
    )
    return int(n)


def require_representable(value: float, n: int) -> float:
    """Return the moment itself, or one line if it is beyond double precision."""
    require(math.isfinite(value), f"a moment of order {n} exceeds double precision; rescale the law")
    return value


def power(base: float, n: int) -> float:
    """Return a power, or one line instead of an overflow."""
    try:
        return float(base) ** n
    except OverflowError:
        return require_representable(math.inf, n)


def require_finite(name: str, value: float) -> float:
    """Return the value as a float, if it is finite: numbers of fewer digits would spread theirs."""
    found = require_number(name, value)
    require(math.isfinite(found), f"{name} must be finite, got {abbreviate(value)}")
    return found


def require_positive(name: str, value: float) -> float:
    """Return the value as a float, if it is positive and finite."""
    found = require_number(name, value)
    require(math.isfinite(found) and found > 0, f"{name} must be positive and finite, got {abbreviate(value)}")
    return found


def require_fourth_moment(value: float) -> float:
    """Return the fourth moment of a law of variance 1 as a float, if there is such a law; it may be infinite."""
    found = require_number("fourth_moment", value)
    require(
        found >= 1.0,
        f"fourth_moment must be at least 1, as for every law of variance 1, got {abbreviate(value)}; "
        "if it is an excess kurtosis, add 3",
    )
    return found


def require_not_negative(name: str, value: float) -> float:
    """Return the value as a float, if it is finite and at least 0."""
    found = require_number(name, value)
    require(math.isfinite(found) and found >= 0, f"{name} must be finite and at least 0, got {abbreviate(value)}")
    return found


def require_points(name: str, values: ArrayLike) -> np.ndarray:
    """Return an array of real or complex numbers, none of them masked."""
    require_unmasked(name, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fciub":  # whole numbers beyond 64 bits come as objects
            require(array.dtype.kind == "O", "not numbers")
            array = array.astype(complex if any(map(np.iscomplexobj, array.ravel())) else float)
        return array
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number or an array of numbers, got {abbreviate(values)}") from None


def require_reals(name: str, values: ArrayLike) -> np.ndarray:
    """Return an array of floats, none of them complex, masked or nan."""
    array = require_points(name, values)
    if np.iscomplexobj(array):  # a line about an array takes longer to write than most laws to evaluate
        raise ValueError(f"{name} must be real, got {array.ravel()[:1]}")
    array = array.astype(float)
    require(not np.any(np.isnan(array)), f"{name} must be a number, got nan")
    return array


def require_points_in_row(name: str, values: ArrayLike) -> np.ndarray:
    """Return a finite real number or a row of them as an array, (n,)."""
    array = np.atleast_1d(require_reals(name, values))
    require(array.ndim == 1, f"{name} must be a number or a row of numbers, got shape {array.shape}")
    bad = array[~np.isfinite(array)]
    require(bad.size == 0, f"{name} must be finite, got {bad[:1]}")
    return array


def require_levels(p: ArrayLike) -> np.ndarray:
    """Return an array of probabilities, none outside [0, 1]."""
    levels = require_reals("p", p)
    bad = levels[(levels < 0) | (levels > 1)]
    if bad.size:
        raise ValueError(f"p must lie in [0, 1], got {bad[:1]}")
    return levels


def unwrap(values: np.ndarray) -> Any:
    """Return a plain number for a scalar argument, the array otherwise."""
    return values if values.ndim else values.item()
