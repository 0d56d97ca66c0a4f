"""The smallest change of a constant that a check notices, measured by bisection on the judge itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paper_checks.claim import Claim, Constants, Evidence
from paper_checks.methods.sides import UndefinedError

_DECADES = 10
_BISECTIONS = 12


@dataclass(frozen=True)
class NoticedChange:
    """The nearest value of a constant, on either side, that the check refutes.

    Attributes:
        constant: name of the constant.
        value: its value in the form that passes.
        refuted: the nearest refuted value found; None if none within a factor of ten (or a shift of ten) is refuted.
    """

    constant: str
    value: float
    refuted: float | None

    def __str__(self) -> str:
        if self.refuted is None:
            return f"{self.constant} = {self.value:g}: no change up to tenfold is noticed"
        change = self.refuted - self.value
        if self.value:
            return f"{self.constant} = {self.value:g}: a relative change of {change / self.value:+.2g} is noticed"
        return f"{self.constant} = 0: a change of {change:+.2g} is noticed"


def noticed_changes(claim: Claim, data: object, constants: Constants) -> tuple[NoticedChange, ...]:
    """For each constant that varies, the smallest noticed change of a passing form.

    Args:
        claim: the claim.
        data: its measurement.
        constants: the constants of the passing form.
    """
    defaults = {**claim.printed_constants(), **constants}
    found = []
    for name in claim.vary:
        value = float(defaults[name])

        def refuted(candidate: float, name: str = name) -> bool:
            try:
                evidence: Evidence = claim.judge(data, **{**constants, name: candidate})
            except (
                UndefinedError
            ):  # a square root of a negative constant, say: this candidate is no form of the statement
                return False
            return evidence.ok is False and not evidence.infinite

        scale = abs(value) or 1.0
        sides = [_nearest(refuted, value, sign * scale) for sign in (1.0, -1.0)]
        refutations = [side for side in sides if side is not None]
        nearest = min(refutations, key=lambda candidate: abs(candidate - value), default=None)
        found.append(NoticedChange(name, value, nearest))
    return tuple(found)


def _nearest(refuted: Callable[[float], bool], value: float, step: float) -> float | None:
    """First refuted value on one side: by decades outwards, then by bisection in the logarithm of the change."""
    low = None
    for decade in range(-_DECADES + 1, 2):
        high = 10.0**decade
        if refuted(value + step * high):
            break
        low = high
    else:
        return None
    if low is None:
        return value + step * high
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if refuted(value + step * middle) else (middle, high)
    return value + step * high
