r"""Exact instances of the spiked model at two sample sizes, and the index sets of Theorem 3.2 read both ways.

The paper prints two definitions of $\mathcal{P}_N$ as equal: by the condition $g_N^{-1}(\theta_i) > U_N$, which every
positive spike but $\theta_i = \sigma s_N$ satisfies, and by the limit $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$, which
needs $\theta_i \ge \sigma s_N$ (see prop-3.1). An index exactly at the threshold has its limit at the edge; it is
counted with the edge, as the condition has it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from typing import Any, Literal, TypeVar, cast

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.facts import Fact
from rmt.spiked import wigner_outlier

SetReading = Literal["condition", "limit"]

READINGS: tuple[SetReading, ...] = ("condition", "limit")

Found = TypeVar("Found")


def limiting_location(theta: Fraction, noise: Fraction) -> Fraction:
    """Return the limit of a spike's eigenvalue: the outlier beyond the threshold, else the edge (as corrected)."""
    edge = 2 * noise if theta > 0 else -2 * noise
    return wigner_outlier(theta, noise) if abs(theta) > noise else edge


@dataclass(frozen=True)
class Instance:
    r"""Spikes and noise at sample sizes $M < N$, so $s_N < s_M$, with finitely many other indices.

    Attributes:
        spikes: non-zero eigenvalues of $H_{\mathrm{true}}$, largest first.
        sigma: entry scale.
        s_m: factor of the smaller sample.
        s_n: factor of the larger sample.
        position: where between $s_N$ and $s_M$ a third factor lies, in (0, 1).
        rest: how many indices besides the spikes the sums run over; the same for M and N.
    """

    spikes: tuple[Fraction, ...]
    sigma: Fraction
    s_m: Fraction
    s_n: Fraction
    position: Fraction
    rest: int

    @cached_property
    def noise_M(self) -> Fraction:
        r"""Return $\sigma s_M$, the threshold at M."""
        return self.sigma * self.s_m

    @cached_property
    def noise_N(self) -> Fraction:
        r"""Return $\sigma s_N$, the threshold at N."""
        return self.sigma * self.s_n

    @cached_property
    def noise_between(self) -> Fraction:
        r"""Return $\sigma s$ of a sample size between M and N."""
        return self.noise_N + self.position * (self.noise_M - self.noise_N)

    @cached_property
    def theta_0(self) -> Fraction:
        """Return the spike of largest magnitude; the largest spike if two are."""
        return max(self.spikes, key=abs)

    @cached_property
    def assumed(self) -> bool:
        r"""Return whether Theorem 3.2's assumption $\theta_0^2 \ge \sigma^2 s_M^2$ holds."""
        return abs(self.theta_0) >= self.noise_M

    @cached_property
    def clear(self) -> bool:
        """Return whether no spike lies at or between the two thresholds."""
        return not any(self.noise_N <= abs(theta) <= self.noise_M for theta in self.spikes)

    @property
    def certain(self) -> bool:
        r"""Return whether Weyl's bound keeps the eigenvalue of some spike above $\sigma s_N$ from its $g_M^{-1}$."""
        return any(self.noise_N < abs(theta) < self.noise_M / 2 for theta in self.spikes)

    @property
    def as_printed(self) -> bool:
        """Return whether the spikes are distinct and of both signs, as Section 3.1 prints them with p and q in N."""
        return self.spikes[0] > 0 > self.spikes[-1] and len(set(self.spikes)) == len(self.spikes)

    @cached_property
    def _found(self) -> dict[Hashable, Any]:
        return {}

    def once(self, what: Hashable, find: Callable[[], Found]) -> Found:
        """Find a result once: judges ask for the same under every constant, and fractions take time."""
        if what not in self._found:
            self._found[what] = find()
        return cast("Found", self._found[what])

    def outside(self, noise: Fraction, reading: SetReading) -> frozenset[int]:
        r"""Return $\mathcal{P} \cup \mathcal{Q}$ at one noise scale: indices of spikes, from 0."""
        location = wigner_outlier if reading == "condition" else limiting_location
        return self.once(
            ("outside", noise, reading),
            lambda: frozenset(i for i, theta in enumerate(self.spikes) if abs(location(theta, noise)) > 2 * noise),
        )

    def share(self, theta: Fraction, noise: Fraction) -> Fraction:
        r"""Return $g^{-1}(\theta)^2 / g^{-1}(\theta_0)^2$ at one noise scale."""
        return (wigner_outlier(theta, noise) / wigner_outlier(self.theta_0, noise)) ** 2

    def edge_share(self, noise: Fraction) -> Fraction:
        r"""Return $U^2 / g^{-1}(\theta_0)^2$ at one noise scale."""
        return (2 * noise / wigner_outlier(self.theta_0, noise)) ** 2

    @cached_property
    def edges(self) -> tuple[Fraction, Fraction]:
        """Return the edge shares at M and at N."""
        return self.edge_share(self.noise_M), self.edge_share(self.noise_N)

    @cached_property
    def shares(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the shares of each spike at M and at N."""
        return tuple((self.share(theta, self.noise_M), self.share(theta, self.noise_N)) for theta in self.spikes)

    def values(self) -> dict[str, Any]:
        """Return the instance in plain strings and numbers, for storage."""
        return {
            "spikes": [str(theta) for theta in self.spikes],
            **{"sigma": str(self.sigma), "s_M": str(self.s_m), "s_N": str(self.s_n), "position": str(self.position)},
            "rest": self.rest,
        }


def _instance(spikes: list[Fraction], numbers: tuple[Fraction, Fraction, Fraction, Fraction], rest: int) -> Instance:
    return Instance(tuple(sorted(spikes, reverse=True)), *numbers, rest)


def _corners() -> list[Instance]:
    """Return up to two spikes below, at, between and above the thresholds 1/2 and 2, with a largest one; both signs."""
    numbers = (Fraction(4), Fraction(1, 2), Fraction(1, 8), Fraction(1, 3))
    sizes = [Fraction(text) for text in ("1/4", "1/2", "3/4", "3/2", "2", "3", "5")]
    signed = [sign * size for size in sizes for sign in (1, -1)]
    few = [list(some) for count in range(3) for some in combinations_with_replacement(signed, count)]
    tops = [Fraction(text) for text in ("5", "-5", "2", "3/2")]
    return [_instance([*some, top], numbers, (0, 1, 7)[i % 3]) for i, (some, top) in enumerate(product(few, tops))]


def draw_instances(context: Context) -> list[Instance]:
    """Draw every corner, then random instances; first what Weyl's bound decides, of both signs, with few spikes."""
    rng = context.rng("instances")

    def draw(low: int, high: int) -> Fraction:
        return Fraction(int(rng.integers(low, high)), int(rng.integers(low, high)))

    found = _corners()
    for _ in range(context.size(60, 1500)):
        sigma, s_M = draw(1, 30), 1 / (1 + draw(1, 30))
        numbers = (sigma, s_M, s_M / (1 + draw(1, 30)), 1 / (1 + draw(1, 30)))
        marks = [numbers[2] / s_M, Fraction(1), Fraction(1, 2)]  # both thresholds, and where Weyl's bound decides
        ratios = [marks[int(rng.integers(3))] if rng.random() < 0.2 else draw(1, 30) for _ in range(rng.integers(1, 7))]
        spikes = [ratio * sigma * s_M * int(rng.choice([-1, 1])) for ratio in ratios]
        found.append(_instance(spikes, numbers, int(rng.integers(0, 20))))
    return sorted(found, key=lambda one: (not one.certain, not one.as_printed, len(one.spikes)))


def assumed(instances: list[Instance], assumption: bool = True, clear: bool = False) -> list[Instance]:
    """Return instances that meet Theorem 3.2's assumption, and those without spikes near the thresholds, if asked."""
    return [found for found in instances if (found.assumed or not assumption) and (found.clear or not clear)]


@dataclass(frozen=True)
class Gap:
    """How a statement fares at one instance: whether it fails, how much its worst part fails by, and which it is."""

    fails: bool
    size: Fraction | int
    part: str


def judge_instances(
    instances: Iterable[Instance],
    gap: Callable[[Instance, SetReading], Gap],
    readings: tuple[SetReading, ...],
    *,
    scope: str,
    printed: str,
    proof: Callable[[], tuple[Fact, ...]],
) -> Evidence:
    """Judge a statement at exact instances: one refutes it if it fails there under every reading of the index sets.

    Args:
        instances: those that satisfy the assumptions; the first that fails is the witness.
        gap: how the statement fares at one instance under one reading.
        readings: the readings granted to the statement.
        scope: what was covered, in words; the number of instances is added.
        printed: what the form says.
        proof: what shows the statement for all instances, or nothing; asked only if none fails.
    """
    count = 0
    for instance in instances:
        count += 1
        gaps = [gap(instance, reading) for reading in readings]
        if all(found.fails for found in gaps):
            least = min(gaps, key=lambda found: found.size)
            where = ", under either reading of the sets" if len(readings) > 1 else ""
            return Evidence(
                False,
                scope,
                printed,
                f"{least.part} at the witness{where}",
                margin=-float(least.size),
                cases=count,
                witness=instance.values(),
            )
    scope = f"{count} exact instances, {scope}"
    shown = proof() if count else ()
    return Evidence(True, scope, printed, "in every instance", margin=float(count), cases=count, facts=shown)
