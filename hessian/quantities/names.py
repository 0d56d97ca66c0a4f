"""Names of the quantities that can be measured, some with a threshold: ``trace``, ``count-above=0.1``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from hessian.numerics.symmetric import CurvatureError

QUANTITIES = {
    "trace": "sum of the eigenvalues",
    "sharpness": "largest eigenvalue",
    "smallest": "smallest eigenvalue",
    "frobenius-squared": "sum of the squared eigenvalues",
    "stable-rank": "squared Frobenius norm over squared spectral norm",
    "count-above": "number of eigenvalues above T",
    "count-below": "number of eigenvalues below -T",
    "effective-dimension": "sum of l/(l + T) over the eigenvalues l of a positive semidefinite matrix",
    "log-det": "log det(H + T) of a positive semidefinite matrix",
    "diagonal": "every diagonal entry, with its standard error",
    "density": "fraction of eigenvalues up to x, for all x together",
}
"""Name and meaning; T is a threshold, written after an equals sign."""
ALIASES = {"largest": "sharpness", "logdet": "log-det"}
COUNTS = ("count-above", "count-below")
SMOOTH = ("effective-dimension", "log-det")
CURVES = ("diagonal", "density")
"""Quantities that are not single numbers."""
LABELS = {
    "frobenius-squared": "squared norm",
    "stable-rank": "stable rank",
    "count-above": "above",
    "count-below": "below",
    "effective-dimension": "eff. dim.",
    "log-det": "log det",
}


@dataclass(frozen=True)
class Quantity:
    """A quantity to measure.

    Attributes:
        name: One of `QUANTITIES`.
        threshold: T of a count, an effective dimension or a log-determinant; None for the others.
    """

    name: str
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.name not in QUANTITIES:
            raise CurvatureError(
                f"{self.name!r} is not a quantity: choose among {', '.join(QUANTITIES)}", keywords=("quantities",)
            )
        needed, given = self.name in COUNTS + SMOOTH, self.threshold
        if needed and given is None:
            raise CurvatureError(f"{self.name} needs a threshold, such as {self.name}=0.1", keywords=("quantities",))
        if not needed and given is not None:
            raise CurvatureError(f"{self.name} takes no threshold: leave out ={given:g}", keywords=("quantities",))
        if given is not None and not (0.0 <= given < inf and (given > 0.0 or self.name in COUNTS)):
            least = "at least 0" if self.name in COUNTS else "positive"
            raise CurvatureError(
                f"the threshold of {self.name} must be finite and {least}, got {given:g}", keywords=("quantities",)
            )
        if given is not None:
            object.__setattr__(self, "threshold", float(given) + 0.0)  # neither a number of NumPy nor a negative zero

    @property
    def label(self) -> str:
        """Short name for a table."""
        name = LABELS.get(self.name, self.name)
        if self.threshold is None:
            return name
        return f"{name} {0.0 - self.threshold if self.name == 'count-below' else self.threshold:g}"

    def __str__(self) -> str:
        return self.name if self.threshold is None else f"{self.name}={self.threshold!r}".removesuffix(".0")

    @staticmethod
    def of(text: Quantity | str) -> Quantity:
        """Read a quantity from its name, with a threshold after an equals sign.

        Raises:
            CurvatureError: The name is unknown, or the threshold is missing, superfluous or out of range.

        >>> Quantity.of("count-above=1e-1"), str(Quantity.of("largest"))
        (Quantity(name='count-above', threshold=0.1), 'sharpness')
        """
        if isinstance(text, Quantity):
            return text
        name, equals, given = str(text).strip().partition("=")
        name = ALIASES.get(name.strip(), name.strip())
        if not equals:
            return Quantity(name)
        try:
            threshold = float(given)
        except ValueError:
            raise CurvatureError(
                f"the threshold of {name} must be a number, got {given!r}", keywords=("quantities",)
            ) from None
        return Quantity(name, threshold)


def read_quantities(given: Any) -> tuple[Quantity, ...]:
    """Read quantities from a comma-separated text or a sequence of names; each is kept once.

    Raises:
        CurvatureError: No quantity is given, or one cannot be read.

    >>> [str(one) for one in read_quantities("trace, log-det=0.5, trace")]
    ['trace', 'log-det=0.5']
    """
    if isinstance(given, str):
        items: Sequence[Any] = [part for part in given.split(",") if part.strip()]
    elif isinstance(given, Quantity):
        items = [given]
    else:
        items = list(given)
    found = tuple(dict.fromkeys(map(Quantity.of, items)))
    if not found:
        raise CurvatureError(f"name at least one quantity among {', '.join(QUANTITIES)}", keywords=("quantities",))
    return found
