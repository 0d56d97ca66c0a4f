r"""How probable it is that a bound of Appendix A.3 fails: one client, $\delta = 3/5$, for every constant in $\Omega$.

For one client the minimiser is $(\cos + \delta T)b^*$ with the T of ``laws``, and the gradient is 0 along a.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, log1p

from paper_checks.methods.promises import Promise
from paper_checks.rolora.laws import student_tail
from paper_checks.rolora.minimiser import Setting

SMALLEST = {1.0: 1e-2, 10.0: 1e-12, 20.0: 1e-30, 100.0: 1e-110}
"""A threshold that refutes m = C q, by C: the larger C, the smaller it must be."""
ABSOLUTE = tuple(Setting(1, 2, 0.1, 0.1, e2, C) for C, e2 in SMALLEST.items())
ABSOLUTE_SCOPE = (
    f"one client, {len(ABSOLUTE)} settings, delta = 3/5, eps_3 = eps_2, m = C q for C from 1 to 100, which are "
    "absolute constants"
)


def between(low: float, high: float, m: float) -> float:
    r"""$\log P(low < -T \le high)$ for one client's T."""
    near, far = student_tail(low, m), student_tail(high, m)
    return log(0.5) + near + log1p(-exp(far - near))


def failure_for_every_constant(
    name: str, low: Callable[[Setting], float], times: float = 1.0, power: float = 10.0
) -> Promise:
    r"""That a bound fails with probability at most $q^{-10}$, for one constant at least.

    One constant that is enough for its case would do. The witness is the case of C = 1; the others fail like it.

    Args:
        name: the line.
        low: logarithm of the probability of failure, or a lower bound of it.
        times: factor of $q^{-10}$, 2 where two events are meant.
        power: printed as 10.
    """
    right = [log(times) - power * log(one.q) for one in ABSOLUTE]
    gaps = [low(one) - limit for one, limit in zip(ABSOLUTE, right, strict=True)]
    over = gaps[0] if min(gaps) > 0.0 else min(gaps)
    return Promise(
        f"log of the probability that {name} fails",
        right[0] + over,
        right[0],
        1e-4 * (1.0 + abs(right[0])),
        at_most=True,
        case=ABSOLUTE[0].numbers(),
    )


def slope_tail(one: Setting) -> float:
    r"""Bound of the log-probability that (116) fails at some a, whatever $\tilde\epsilon$ is, as in its proof."""
    spread = one.e2 * one.m / 100.0
    return log(2.0 * one.N) - spread if one.d <= 2.0 * spread else 0.0
