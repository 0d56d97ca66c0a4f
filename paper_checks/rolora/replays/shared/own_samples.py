"""One client in the plane that uses the same samples for its minimiser and its gradient."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, assuming
from paper_checks.stored_values import Values, fractions


def own_samples(values: Values) -> tuple[tuple[Hypothesis, ...], dict[str, Fraction]]:
    """One client in the plane by X'X/m in the basis of a and u, a* = cosine a + sine u, b* = 1.

    For the same samples in both steps the mean gradient is 0 along a, and across it -2 cosine sine (1 - 1/m): with
    z = Xa, y = Xu it is the mean of -2 (cosine + sine z'y/|z|^2) sine (|y|^2 - (z'y)^2/|z|^2) / m, whose last bracket
    is chi-square with m - 1 degrees of freedom, independent of z'y/|z|^2, which is 0 on average.
    """
    aa, au, uu, cosine, sine = fractions(values, "aa", "au", "uu", "cosine", "sine")
    m = int(Fraction(values["m"]))
    assumes = assuming(
        Hypothesis("m, for such samples in the plane", m, ">=", 2),
        Hypothesis("entry of X'X/m along a", aa, ">", 0),
        Hypothesis("Gram determinant", aa * uu - au**2, ">", 0),
        Hypothesis("cosine^2 + sine^2", cosine**2 + sine**2, "=", 1),
        Hypothesis("sine", sine, ">", 0),
    )
    b = cosine + sine * au / aa
    moved = (b - cosine) * b, -sine * b
    along, across = 2 * (aa * moved[0] + au * moved[1]), 2 * (au * moved[0] + uu * moved[1])
    found = {"b": b, "along": along, "across": across, "mean": -2 * cosine * sine * (1 - Fraction(1, m))}
    found |= {"off along": along - 2 * moved[0], "off across": across - 2 * moved[1]}
    return assumes, found


MANY_SAMPLES = (
    "infinitely many samples (an iteration depends continuously on the clients' mean products of samples, which tend "
    "to the identity, so enough samples give almost the same)"
)


def learning_rate(s: Fraction) -> tuple[Hypothesis, Hypothesis]:
    """Return the hypotheses of a learning rate of at most 1/|b*|^2."""
    return Hypothesis("eta |b*|^2", s, ">", 0), Hypothesis("eta |b*|^2", s, "<=", 1)
