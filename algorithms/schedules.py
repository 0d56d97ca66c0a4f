r"""Learning-rate schedules: maps from the number of a round, or of a step, to a rate.

They are the closed forms of `StepLR`, `CosineAnnealingLR` and `CosineAnnealingWarmRestarts` of `torch.optim`, and of
the schedules with warm-up of transformers. A warm-up of W rounds or steps has the rates $\eta(t + 1)/(W + 1)$, and the
schedule follows it. The rates of transformers begin one step earlier, with 0, at which a round would be lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from algorithms.federation import FederationError, require_whole

PER = ("round", "step")


class Schedule(Protocol):
    """A learning rate for every round, or for every local step.

    Attributes:
        per: Unit of the index, `round` or `step`.
    """

    @property
    def per(self) -> str:
        """Unit of the index, `round` or `step`."""
        ...

    def __call__(self, index: int) -> float:
        """Return the rate of a round or step, counted from 0."""
        ...


@dataclass(frozen=True)
class Constant:
    """A constant rate.

    Attributes:
        rate: Positive.
        per: Unit of the index, `round` or `step`; does not matter for a constant rate.

    Raises:
        FederationError: A value is out of its range.
    """

    rate: float
    per: str = "round"

    def __post_init__(self) -> None:
        _check(self.rate, self.per)

    def __call__(self, index: int) -> float:
        """Return the rate."""
        return self.rate


@dataclass(frozen=True)
class Step:
    r"""A rate that is multiplied by a factor at regular intervals, $\eta f^{\lfloor t/\mathrm{every}\rfloor}$.

    Attributes:
        rate: The first rate, $\eta$.
        every: Rounds or steps between changes.
        factor: Factor $f$ by which each change multiplies the rate; positive.
        per: Unit of the index, `round` or `step`.

    Raises:
        FederationError: A value is out of its range.

    >>> [Step(1.0, every=2, factor=0.5)(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    rate: float
    every: int
    factor: float = 0.1
    per: str = "round"

    def __post_init__(self) -> None:
        _check(self.rate, self.per)
        require_whole(1, every=self.every)
        if not 0.0 < self.factor < math.inf:
            raise FederationError(f"the factor must be positive and finite, got {self.factor}")

    def __call__(self, index: int) -> float:
        """Return the rate of a round or step, counted from 0."""
        try:
            return self.rate * self.factor ** (index // self.every)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class _Decay:
    r"""A rate that decreases to a minimum after a warm-up.

    Attributes:
        rate: The first rate after the warm-up, $\eta$.
        period: Rounds or steps T of the decrease.
        minimum: The last rate m; at most the first one.
        per: Unit of the index, `round` or `step`.
        warmup: Rounds or steps in which the rate first rises to $\eta$; default: none.

    Raises:
        FederationError: A value is out of its range.
    """

    rate: float
    period: int
    minimum: float = 0.0
    per: str = "round"
    warmup: int | None = None

    def __post_init__(self) -> None:
        _check(self.rate, self.per)
        require_whole(1, period=self.period, warmup=1 if self.warmup is None else self.warmup)
        if not 0.0 <= self.minimum <= self.rate:
            raise FederationError(f"the minimum must be between 0 and the rate, {self.rate}, got {self.minimum}")

    def __call__(self, index: int) -> float:
        """Return the rate of a round or step, counted from 0."""
        if self.warmup is not None and index < self.warmup:
            return WarmUp(self.rate, self.warmup)(index)
        return self.minimum + (self.rate - self.minimum) * self._share(index - (self.warmup or 0))

    def _share(self, passed: int) -> float:
        """Return the part of the way above the minimum that is left after some rounds or steps."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cosine(_Decay):
    r"""A rate that decreases to a minimum along half a cosine, $m + (\eta - m)(1 + \cos(\pi t/T))/2$.

    Attributes:
        restart: Restart after each period; otherwise the rate rises again along the cosine.

    Raises:
        FederationError: A value is out of its range.

    >>> [round(Cosine(1.0, period=2)(t), 3) for t in range(5)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    >>> [round(Cosine(1.0, period=2, restart=False)(t), 3) for t in range(5)]
    [1.0, 0.5, 0.0, 0.5, 1.0]
    """

    restart: bool = True

    def _share(self, passed: int) -> float:
        passed = passed % self.period if self.restart else passed
        return (1.0 + math.cos(math.pi * passed / self.period)) / 2.0


@dataclass(frozen=True)
class Linear(_Decay):
    r"""A rate that decreases linearly to a minimum, $m + (\eta - m)\max(0, 1 - t/T)$, and stays there.

    >>> [round(Linear(1.0, period=2, warmup=1)(t), 3) for t in range(5)]
    [0.5, 1.0, 0.5, 0.0, 0.0]
    """

    def _share(self, passed: int) -> float:
        return max(0.0, 1.0 - passed / self.period)


@dataclass(frozen=True)
class WarmUp:
    r"""A rate that rises linearly, $\eta\min(1, (t + 1)/(W + 1))$, and is then constant.

    Attributes:
        rate: The last rate, $\eta$.
        warmup: Rounds or steps W below that rate.
        per: Unit of the index, `round` or `step`.

    Raises:
        FederationError: A value is out of its range.

    >>> [round(WarmUp(1.0, warmup=3)(t), 3) for t in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    rate: float
    warmup: int
    per: str = "round"

    def __post_init__(self) -> None:
        _check(self.rate, self.per)
        require_whole(1, warmup=self.warmup)

    def __call__(self, index: int) -> float:
        """Return the rate of a round or step, counted from 0."""
        return self.rate * min(1.0, (index + 1) / (self.warmup + 1))


def _check(rate: float, per: str) -> None:
    if not 0.0 < rate < math.inf or per not in PER:
        raise FederationError(f"expected a positive learning rate per one of {PER}, got {rate} per {per!r}")
