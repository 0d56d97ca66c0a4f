r"""One client of Algorithm 2 in the plane, by its Gram matrix: its gradient, and the mean over all samples.

a and u are the axes, $a^* = \alpha a + \beta u$ and $b^* = 1$. The same samples make $\bar b$ and the gradient, so
the mean gradient is 0 along a and $-2\alpha\beta(1 - 1/m)$ across it (see the claim on eqs. (48) and (49)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class OwnSamples:
    r"""One client, in units of $b^*$; pairs are along a and across it.

    Attributes:
        b: its minimiser.
        gradient: on its samples.
        mean: of the gradient, over all samples.
        stated: the right side of (49).
        truth: cosine and sine of the angle.
    """

    b: Fraction
    gradient: Pair
    mean: Pair
    stated: Pair
    truth: Pair

    def deviation(self, of: Pair) -> Fraction:
        """Return the square of the distance of the gradient from what replaces its expectation."""
        return (self.gradient[0] - of[0]) ** 2 + (self.gradient[1] - of[1]) ** 2


def own_samples(case: Mapping[str, str]) -> OwnSamples:
    """Return own samples from m, cosine, sine, and the entries aa, au and uu of X'X/m."""
    m, cosine, sine, aa, au, uu = (Fraction(case[name]) for name in ("m", "cosine", "sine", "aa", "au", "uu"))
    b = cosine + sine * au / aa
    moved = (b - cosine) * b, -sine * b
    gradient = 2 * (aa * moved[0] + au * moved[1]), 2 * (au * moved[0] + uu * moved[1])
    mean = Fraction(0), -2 * cosine * sine * (1 - 1 / m)
    return OwnSamples(b, gradient, mean, (2 * moved[0], 2 * moved[1]), (cosine, sine))
