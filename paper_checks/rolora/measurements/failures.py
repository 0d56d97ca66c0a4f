r"""How probable it is that a bound of Appendix A.3 fails: one client, $\delta = 3/5$, for every constant in $\Omega$.

For one client the minimiser is $(\cos + \delta T)b^*$ with the T of ``measurements.laws``, and the gradient is 0 along
a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import inf, log

import numpy as np

from paper_checks.claim import Evidence
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation
from paper_checks.rolora.measurements.laws import deviation_tails, student_tail
from paper_checks.rolora.measurements.settings import Setting

SMALLEST = {1.0: 1e-2, 10.0: 1e-12, 20.0: 1e-30, 100.0: 1e-110}
"""A threshold that refutes m = C q, by C: the larger C, the smaller it must be."""

ABSOLUTE = tuple(Setting(1, 2, 0.1, 0.1, e2, C) for C, e2 in SMALLEST.items())

ABSOLUTE_SCOPE = (
    f"one client, delta = 3/5, eps_3 = eps_2; {len(ABSOLUTE)} absolute constants C in m = C q, "
    f"{', '.join(f'{C:g}' for C in SMALLEST)}, each with a threshold eps_2 of its own, judged as one: a C that keeps "
    "the probability would do, and C = 1 is told; q of Lemma 5.3"
)


def failure_for_every_constant(
    name: str,
    low: Callable[[Setting], float],
    times: float = 1.0,
    power: float = 10.0,
    exact: bool = True,
    more: Callable[[Setting], float] = lambda _: -inf,
) -> Relation:
    r"""Judge that a bound fails with probability at most $q^{-10}$, for one constant at least.

    One constant that is enough for its case would do. The witness is the case of C = 1; the others fail like it.

    Args:
        name: the line.
        low: logarithm of the probability of failure, or of a lower bound of it.
        times: factor of $q^{-10}$, 2 where two events are meant.
        power: printed as 10.
        exact: whether it is that probability, or a lower bound.
        more: logarithm of what else the probability of failure may be.
    """
    right = [float(np.logaddexp(log(times) - power * log(one.q), more(one))) for one in ABSOLUTE]
    gaps = [low(one) - limit for one, limit in zip(ABSOLUTE, right, strict=True)]
    over = gaps[0] if min(gaps) > 0.0 else min(gaps)
    return Relation(
        f"log of {'' if exact else 'a lower bound of '}the probability that {name} fails",
        right[0] + over,
        right[0],
        1e-4 * (1.0 + abs(right[0])),
        at_most=True,
        case=ABSOLUTE[0].numbers(),
    )


LEVELS = ((0.95, 0.95, 0.95), (0.5, 0.5, 0.5), (0.1, 0.1, 0.1), (0.9, 0.5, 0.05), (0.1, 0.1, 1e-4))

ENOUGH_SCOPE = (
    "m = 20 q for (13) with 1 to 1000 clients, by a union over them; d from 2 to 1000, thresholds down to 1e-4"
)


def minimisers_are_near(power: float = 10.0) -> Iterator[Relation]:
    r"""Relation that (13) fails with probability at most $\max\{\log N, d\}^{-10}$ for m = 20 q."""
    for N, d, levels in product((1, 10, 1000), (2, 20, 1000), LEVELS):
        one = Setting(N, d, *levels, 20.0)
        yield Relation(
            "log of an upper bound of the probability that (13) fails",
            log(N) + student_tail(one.level, one.m),
            -power * log(one.least),
            at_most=True,
        )


def gradient_is_near(power: float = 10.0) -> Iterator[Relation]:
    r"""Relation that (13) or (76) fails with probability at most $2d^{-10}$, for one client and m = 100 q."""
    for d, levels in product((2, 20, 1000), LEVELS):
        one = Setting(1, d, *levels, 100.0)
        yield Relation(
            "log of an upper bound of the probability that (76) fails",
            deviation_tails(one, (1.0 + one.level) ** 2)[1],
            log(2.0) - power * log(d),
            at_most=True,
        )


THRESHOLDS = Setting(1, 2, 0.1, 0.1, 0.03, 10.0)

NEAR_ONE = 1.0 - 1e-10, 1e-6
"""A constant c, and the first angle distance."""


def most_successes(c: float, delta_0: float) -> float:
    r"""Bound the probability that the first step keeps its bound, for one client in the plane and any step.

    The step turns a by $\varphi$, $\tan\varphi = 2ss_1\delta_0R$, with $mR \sim \chi^2_{m-1}$ independent of $s_1$, and
    must end within $\psi = \arcsin(C\delta_0)$ of $a^*$: R in an interval whose ends have one quotient, for all s and
    $s_1$. The density of $\log R$ is at most $\sqrt{(m-1)/(4\pi)}$.
    """
    first, room = np.arcsin(delta_0), np.arcsin(np.sqrt(1.0 - c * (1.0 - delta_0**2)) * delta_0)
    quotient = np.tan(first + room) / np.tan(first - room)
    return float(np.sqrt((THRESHOLDS.m - 1) / (4.0 * np.pi)) * np.log(quotient))


def judge_near_one() -> Evidence:
    """Judge one iteration for a c near 1, one client and the best step: how often it misses the factor at least."""
    return judge_inequality(
        np.array([1.0 - most_successes(*NEAR_ONE)]),
        np.array([2.0 * 2.0**-10]),
        1e-9,
        case=lambda _: {**THRESHOLDS.numbers(), "c": f"{NEAR_ONE[0]:.12g}", "delta_0": f"{NEAR_ONE[1]:.12g}"},
        scope=f"one client, d = 2, m = {THRESHOLDS.m:.0f}, ten times the q of Lemma 5.3 for eps_0 = eps_1 = 0.1 and "
        "eps_2 = 0.03, c = 1 - 1e-10, delta_0 = 1e-6, every step",
        printed="a lower bound of the probability of failure at most 2 max{log N, d}^-10",
        domain="this case alone, which decides where it fails",
    )
