"""Rounds of smooth clients in few numbers, for the worst cases of Theorems 1 and 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from paper_checks.methods.worst_case.certificate import Certificate, find_flaw

SMALL = ((1, 1), (2, 1), (2, 2), (2, 3), (3, 3), (4, 4), (7, 5))
"""Clients and steps whose worst case is proved by a certificate in this run."""


@dataclass(frozen=True)
class Round:
    """The exact worst case of one round, L = 1, mean gradient of norm 1.

    Attributes:
        clients: how many; 0 means any number. steps: of each. step: learning rate. drift: largest distance of a client
        from the start before its last step. change: largest change of the mean loss. corrected: whether the clients'
        gradients are corrected; if not, the numbers belong to one instance, because no largest value exists.
    """

    clients: int
    steps: int
    step: Fraction
    drift: Fraction
    change: Fraction
    corrected: bool = True

    @cached_property
    def whole(self) -> float:
        """Return the product s λ L."""
        return float(self.steps * self.step)

    @cached_property
    def ratio(self) -> float:
        """Return the drift over s λ |g|."""
        return float(self.drift / (self.steps * self.step))

    @cached_property
    def needed(self) -> float:
        r"""Return $\kappa$ for which the change is $-s\lambda(1 - \kappa s\lambda L)|g|^2$, rounded once at the end."""
        whole = self.steps * self.step
        return float((1 + self.change / whole) / whole)


def run_round(curvatures: Sequence[int], slopes: Sequence[int], steps: int, step: Fraction, corrected: bool) -> Round:
    r"""Run one exact round of clients $\frac{h_c}{2}w^2 + b_cw$ from 0, in units of their mean slope."""
    count = len(curvatures)
    mean = Fraction(sum(slopes), count)
    ends, drift = [], Fraction(0)
    for h, b in zip(curvatures, slopes, strict=True):
        e = Fraction(0)
        for _ in range(steps):
            drift = max(drift, abs(e))
            e -= step * (h * e + (mean if corrected else b))
        ends.append(e)
    end = sum(ends, Fraction(0)) / count
    change = mean * end + Fraction(sum(curvatures), 2 * count) * end**2
    return Round(count, steps, step, drift / abs(mean), change / mean**2, corrected)


def require_proved(certificate: Certificate) -> None:
    """Stop a check whose worst case has no valid certificate."""
    reason = find_flaw(certificate)
    if reason:
        raise ValueError(f"the certificate of {certificate.setting} proves nothing: {reason}")
