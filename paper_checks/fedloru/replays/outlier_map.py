"""Replays of the claims in ``outlier_map``."""

from __future__ import annotations

from paper_checks.enclosures import rational_root
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-32", noise="sigma s_N")
def eq_32(values: Values) -> Violation:
    r"""K = 1/g at $z = \theta + n^2/\theta$: the root of $z^2 - 4n^2 = (\theta - n^2/\theta)^2$ is taken by hand."""
    theta, noise = fractions(values, "theta", "noise")
    z = theta + noise**2 / theta
    root = rational_root(z**2 - 4 * noise**2)
    g = (z - (root if z > 0 else -root)) / (2 * noise**2)
    assumes = (Hypothesis("sigma s", noise, ">", 0), Hypothesis("|z|, outside of the support", abs(z), ">", 2 * noise))
    return Violation(abs(1 / g - theta), 0, assumes=assumes, reads="|k(k^{-1}(theta)) - theta|")
