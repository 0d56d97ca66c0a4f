"""Families of runs that decide between the readings of the rate in Theorem 4.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from paper_checks.fedloru.convergence.measurements.bounded_runs import Setting, Trace, follow, scalar_setting
from paper_checks.fedloru.convergence.measurements.bounded_settings import printed_D


@dataclass(frozen=True)
class Family:
    """Runs of several lengths T at the step size eta_0 / sqrt(T), within one set of constants.

    Attributes:
        name: Name of the runs.
        least: The least gradient in the factors, by T.
        weights: The least gradient in W, by T.
        bound: Bound on the least gradient times sqrt(T).
        kind: Name of the family of runs: averages and restarts, the printed weights of a cohort, which do not sum to
            1 over it, or factors that go on after an accumulation.
        case: Case in plain numbers, if it can be replayed.
    """

    name: str
    least: Mapping[int, float]
    weights: Mapping[int, float]
    bound: float
    kind: Literal["averages", "printed weights", "going on"] = "averages"
    case: Mapping[str, Any] | None = None


ONE_OF_TWO = {"shares": "3/4 1/4", "targets": "0 1", "W": "1/10", "A": 1, "eta_0": "1/10", "rounds": 144}
"""One of two clients a round, losses (w - target)^2 / 2 up to |w - target| = 1, one local step, restart at A and B = 0
after each round."""


@dataclass(frozen=True)
class Constants:
    """The constants of Assumption 4.1, with E."""

    L: float
    G: float
    sigma2: float
    C_A: float
    C_B: float
    E: int

    @classmethod
    def of(cls, trace: Trace) -> Constants:
        """Return the constants of a run."""
        return cls(trace.L, trace.G, trace.sigma2, trace.C_A, trace.C_B, trace.setting.steps)

    def corrected(self, curvature: float = 1.0, gradient: float = 1.0, drift: float = 1.0) -> tuple[float, float]:
        """Return K_1 and K_2 of the corrected theorem; the arguments weigh their parts."""
        L, G, C_A, C_B, E = self.L, self.G, self.C_A, self.C_B, self.E
        both = C_A**2 + C_B**2
        K_1 = 4 * E * G**2 / 3 * (gradient * G * C_A * C_B + curvature * L * both**2 / 2)
        rates = (L * C_B * both + G * C_A) ** 2 + (L * C_A * both + G * C_B) ** 2
        return K_1, drift * (E - 1) ** 2 * G**2 / 3 * rates

    def printed(self, trace: Trace) -> tuple[float, float]:
        """Return K_1 and K_2 of Appendix B, the latter with the step size of the run."""
        L, G, C_A, C_B = self.L, self.G, self.C_A, self.C_B
        brace = (L * C_B**2 + L**2 * C_A**2 * C_B**2 + G**2) / 2 + (1 + L * C_A**2 / 2) * C_A**2
        K_1 = 8 * self.E / 3 * (self.sigma2 + G**2) * brace
        return K_1, 16 * printed_D(trace, C_A, C_B) / 3 * (C_A**2 + C_B**2)


def printed_weights(T: int) -> Family:
    r"""Return mean and second moment of w by round; client k moves w by $-\eta(p^{(k)})^2$ times its gradient."""
    (p, q), rate, eta_0 = (0.75, 0.25), 0.1 / T**0.5, 0.1
    mean, square, least = 0.1, 0.01, float("inf")
    for _ in range(T):
        least = min(least, square - 2 * q * mean + q**2)  # E (w - 1/4)^2, the squared gradient in B
        stays, moved = (1 - rate * p**2, 1 - rate * q**2), rate * q**2
        mean, square = (
            (stays[0] * mean + stays[1] * mean + moved) / 2,
            ((stays[0] ** 2 + stays[1] ** 2) * square + 2 * stays[1] * moved * mean + moved**2) / 2,
        )
    K_1, K_2 = Constants(1.0, 1.0, 0.0, 1.0, rate, 1).corrected()
    bound = 4 * 0.15**2 / 2 / (3 * eta_0) + K_1 * eta_0 + K_2 * eta_0**2
    return Family("printed weights of a cohort", {T: least}, {T: least}, bound, "printed weights", ONE_OF_TWO)


def family_of(name: str, settings: list[Setting], eta_0: float) -> Family:
    """Follow settings of growing size, and collect what Theorem 4.2 says of them."""
    traces = [follow(setting) for setting in settings]
    each = [Constants.of(trace) for trace in traces]
    shared = Constants(*(max(getattr(c, field) for c in each) for field in ("L", "G", "sigma2", "C_A", "C_B", "E")))
    K_1, K_2 = shared.corrected()
    above = max(trace.above for trace in traces)
    bound = 4 * above / (3 * eta_0 * shared.E) + K_1 * eta_0 + K_2 * eta_0**2
    least = {t.setting.rounds: min(one["in_A"] + one["in_B"] for one in t.rounds) for t in traces}
    weights = {t.setting.rounds: min(one["in_W"] for one in t.rounds) for t in traces}
    return Family(name, least, weights, bound)


def not_levelled(lengths: Sequence[int]) -> Family:
    """Return slopes that the constants allow and T rounds do not level."""
    eta_0 = above = 0.05
    slow = []
    for T in lengths:
        rate = eta_0 / T**0.5
        slope = (above / (2 * T * rate)) ** 0.5  # descends by half of what there is
        W = (above + slope**2 / 40.0) / slope
        case = {
            "L": 20,
            "zone": slope / 20,
            "W": W,
            "A": 0,
            "B": 1,
            "rate": rate,
            "steps": 1,
            "rounds": T,
            "share": "0.01",
        }
        slow.append(scalar_setting("slow", case))
    return family_of("slopes that T rounds do not level", slow, eta_0)
