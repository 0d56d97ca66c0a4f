r"""The second iteration of Algorithm 2 on the samples of the first: one client, by the law of six numbers.

Let $b^* = 1$, $a^* = ca + \delta u$, $x = Xa$, $y = Xu$, $t = x^\top y/\|x\|^2$ and $r = y - tx$. The first gradient is
$-\frac{2b\delta}nX^\top r$ with $b = c + \delta t$. The part of $X^\top r$ across a and u is normal, G its squared
length over the squared length of r; X times it is normal across r but for its part along r. So all that is asked of the
next iteration follows from the independent variables $A = \|x\|^2 \sim \chi^2_n$, $B = \|r\|^2 \sim \chi^2_{n-1}$, $G
\sim \chi^2_d$ in d dimensions besides a and u, $\sqrt At \sim N(0, 1)$, and of the components of that normal vector:
$\eta \sim N(0, 1)$ along x and $H \sim \chi^2_{n-2}$ across x and r.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

TURN = 10.0
"""Largest eta."""


class Next(NamedTuple):
    r"""Numbers of the second iteration, S being X'X over the samples.

    Attributes:
        deviation: $|w^\top(S - I)M\bar b|/(\|M\|\|\bar b\|)$ for $w = a^*$.
        square: $\|Xa\|^2$ over the samples.
        summand: $|a^\top S(I - aa^\top)a^*|$, the size of the mean of the m summands of (21) for w along $b^*$.
    """

    deviation: float
    square: float
    summand: float


def follow_second(c: float, delta: float, s: float, n: float, at: tuple[float, ...]) -> Next:
    r"""Follow the second iteration.

    Args:
        c: cosine of the first angle.
        delta: its sine.
        s: the step.
        n: samples.
        at: A, B, G, H, t and eta.
    """
    A, B, G, H, t, eta = at
    b = c + delta * t
    step = 2.0 * s * b * delta / n  # the next a is along a + step X'r
    # X times it is along * x + across * r + step sqrt(BG) h, and X a* = b x + delta r.
    along, across, rest = 1.0 + step * t * B, step * (B + G), step * sqrt(B * G)
    both = along * b * A + across * delta * B + rest * b * sqrt(A) * eta
    square = along**2 * A + across**2 * B + rest**2 * (eta**2 + H) + 2.0 * along * rest * sqrt(A) * eta
    fitted, overlap = both / square, c + step * delta * B
    own = b**2 * A + delta**2 * B
    stretched = 1.0 + step**2 * B * (B + G)  # squared length of a before it is normalised
    length = fitted**2 * stretched - 2.0 * fitted * overlap + 1.0
    return Next(
        abs(1.0 - fitted * overlap - (own - both * fitted) / n) / sqrt(length),
        square / stretched / n,
        abs(both - overlap * square / stretched) / sqrt(stretched) / n,
    )


def least_values(case: Mapping[str, Any]) -> tuple[Next, float]:
    """Return the least of each while the six numbers are within their bounds, and how probable it is that one is not.

    The squares are within a share of their size, the room of the case, and t within the room; the probability is a
    bound, by Chebyshev's inequality for each.
    """
    c, delta, s, n, d = (float(Fraction(case[name])) for name in ("cosine", "sine", "s", "n", "d"))
    room = float(Fraction(case["room"]))
    sizes = [[size * (1.0 - room), size * (1.0 + room)] for size in (n, n, d, n)]
    ends = product(*sizes, (-room, room), (-TURN, TURN))
    missed = (6.0 / n + 2.0 / d + 1.0 / (n * (1.0 - room))) / room**2 + 1.0 / TURN**2
    found = [follow_second(c, delta, s, n, at) for at in ends]
    return Next(*(min(column) for column in zip(*found, strict=True))), missed
