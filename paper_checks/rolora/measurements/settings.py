"""Settings of the linear model that the lemmas of Appendix A.3 are tried at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, log

from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, Stated, Tried, tried


@dataclass(frozen=True)
class Setting:
    """Numbers of clients, dimensions and samples, and the thresholds."""

    N: int
    d: int
    e0: float
    e1: float
    e2: float
    C: float

    @property
    def level(self) -> float:
        r"""Return $\epsilon'$."""
        return self.e2 / ((1.0 - self.e0) * (1.0 - self.e1))

    @property
    def tilde(self) -> float:
        r"""Return $\tilde\epsilon$ for $\epsilon_3 = \epsilon_2$."""
        return self.e2 / (1.0 - self.e0)

    @property
    def q(self) -> float:
        """Return the q of Lemma A.9."""
        return max(log(self.N) / min(self.e1, self.e2) ** 2, self.d * log(2.0 / self.e0) / self.e2**2)

    @property
    def m(self) -> int:
        """Return the fewest samples that are at least C q."""
        return max(1, ceil(self.C * self.q))

    @property
    def least(self) -> float:
        r"""Return $\max\{\log N, d\}$, the q of Appendix A.4."""
        return max(log(self.N), float(self.d))

    def numbers(self) -> dict[str, float]:
        """Return the numbers for a witness."""
        return {"N": self.N, "d": self.d, "eps_0": self.e0, "eps_1": self.e1, "eps_2": self.e2, "C": self.C}


PLANE = Stated(2.0, inf, "[)")
"""Dimensions in which a and a* can differ."""

SAMPLES = Stated(1.0, inf)
"""More than one: at least q times a constant."""


def tried_settings(settings: Iterable[Setting], samples: Sequence[float] = (), named: str = "m") -> Tried:
    """Return which numbers and thresholds are tried, with the numbers of samples if they are not the settings'.

    They are ``named`` m, each client's, or N m, all clients'.
    """
    chosen = list(settings)
    alone = {"N": "the law of several clients is not in closed form"} if {one.N for one in chosen} == {1} else {}
    counts = [
        (name, [getattr(one, name) for one in chosen], stated) for name, stated in (("N", FROM_ONE), ("d", PLANE))
    ]
    thresholds = [(f"eps_{i}", [getattr(one, f"e{i}") for one in chosen], OPEN_UNIT) for i in range(3)]
    return tried(*counts, *thresholds, (named, samples or [one.m for one in chosen], SAMPLES), settled=alone)


# Thresholds from large to tiny: the constant in m = Omega(q) is absolute, so it must serve all of them.
THRESHOLDS = (
    (0.95, 0.95, 0.95),
    (0.5, 0.5, 0.5),
    (0.1, 0.1, 0.1),
    (0.9, 0.5, 0.05),
    (0.1, 0.1, 0.01),
    (0.1, 0.1, 1e-4),
    (0.1, 0.1, 1e-12),
    (0.1, 0.1, 1e-110),
    (0.1, 1e-3, 0.5),
)

FACTORS = (1.0, 10.0, 20.0, 100.0, 1000.0)
