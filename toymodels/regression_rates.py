r"""Rates that RoLoRA states for the rank-1 regressor: contraction of the angle, iterations, and FFA-LoRA's loss.

Throughout, $\delta = |\sin\angle(a, a^*)|$ is the angle distance, and `step` is $s = \eta\|\bar b^*\|^2$.
"""

from __future__ import annotations

import math

from toymodels.problem import ProblemError, finite, integer

LARGE = 1e150
"""Steps above this have squares beyond double precision."""


def population_map(delta: float, step: float) -> float:
    r"""Return the next angle distance under the population loss, exactly (the quotient of eqs. 262 and 267).

    It is $\delta\,|1 - 2sc^2| / \sqrt{1 + 4s^2c^2\delta^2}$ with $c^2 = 1 - \delta^2$. In expectation, it is the same
    for equal and for different clients.

    Raises:
        ProblemError: A number is out of its range.
    """
    delta, step = _check(delta, step)
    square = 1.0 - delta**2
    if step > LARGE:  # divided by 2 s
        return delta * abs(0.5 / step - square) / math.hypot(0.5 / step, math.sqrt(square) * delta)
    return delta * abs(1.0 - 2.0 * step * square) / math.sqrt(1.0 + 4.0 * step**2 * square * delta**2)


def homogeneous_factor(delta_0: float, step: float) -> float:
    r"""Return the factor of eq. (80), $\sqrt{1 - s(1 - \delta_0^2)}$, stated for s up to 1.

    The equation is for equal clients with many samples.

    Raises:
        ProblemError: A number is out of its range.
    """
    delta_0, step = _check(delta_0, step)
    if step > 1.0:
        raise ProblemError(f"eq. (80) is stated for steps up to 1, got {step}")
    return math.sqrt(1.0 - step * (1.0 - delta_0**2))


def largest_step_of_homogeneous_factor(delta_0: float) -> float:
    r"""Return the largest step for which the population map satisfies eq. (80) near $a^*$, $(3 + \delta_0^2)/4$.

    It is smaller than the stated 1. As $\delta \to 0$, the map contracts by |1 - 2s|, and up to this s we have
    $(1 - 2s)^2 \le 1 - s(1 - \delta_0^2)$.

    Raises:
        ProblemError: A number is out of its range.
    """
    delta_0, _ = _check(delta_0, 0.0)
    return (3.0 + delta_0**2) / 4.0


def heterogeneous_factor(delta_0: float, step: float) -> float:
    r"""Return the factor of eq. (254), $1 - 2s(1 - \delta_0^2)$, stated for s up to 1/2 (population loss).

    Raises:
        ProblemError: A number is out of its range.
    """
    delta_0, step = _check(delta_0, step)
    if step > 0.5:
        raise ProblemError(f"eq. (254) is stated for steps up to 1/2, got {step}")
    return 1.0 - 2.0 * step * (1.0 - delta_0**2)


def ffa_correction(clients: int, samples: int) -> float:
    r"""Return $\tilde c$ of eq. (242): FFA-LoRA's expected loss is $(1 + \tilde c)\|b^*\|^2\delta_0^2$ for any d.

    Raises:
        ProblemError: A number is not whole, no clients are given, or fewer than 3 samples, for which the expectation is
            infinite.
    """
    N, m = _sizes(clients, samples)
    return (N * (4 - m) - 2) / (N**2 * m * (m - 2))


def ffa_population_correction(clients: int, samples: int) -> float:
    r"""Return the correction for the population loss of the model trained on samples, 1/(N(m - 2)).

    The mean of the clients' $a^TX_i^TX_ia^*/\|X_ia\|^2$ has variance $\delta_0^2/(N(m-2))$ about $a^Ta^*$, and the
    square of its error adds to $\delta_0^2$.

    Raises:
        ProblemError: As in `ffa_correction`.
    """
    N, m = _sizes(clients, samples)
    return 1 / (N * (m - 2))


def _sizes(clients: int, samples: int) -> tuple[int, int]:
    """Return the numbers of clients and of each one's samples as ints.

    Raises:
        ProblemError: One is not whole or too small.
    """
    clients, samples = integer("clients", clients), integer("samples", samples)
    if clients < 1 or samples < 3:
        raise ProblemError(f"expected at least one client and 3 samples of each, got {clients} and {samples}")
    return clients, samples


def _check(delta: float, step: float) -> tuple[float, float]:
    """Return an angle distance and a step as floats.

    Raises:
        ProblemError: One is out of its range.
    """
    delta, step = finite("the angle distance", delta), finite("the step", step)
    if not 0.0 <= delta <= 1.0 or step < 0.0:
        raise ProblemError(
            f"expected an angle distance from 0 to 1 and a finite step of at least 0, got {delta}, {step}"
        )
    return delta, step
