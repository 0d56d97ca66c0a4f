"""The second iteration on the samples of the first, for eqs. (18) to (31) and (59), by intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, assuming
from paper_checks.rolora.replays.shared.own_samples import learning_rate
from paper_checks.stored_values import Values, fractions


@dataclass(frozen=True)
class Span:
    """The numbers between two fractions."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Span) -> Span:
        return Span(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Span) -> Span:
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def over(self, other: Span) -> Span:
        """Return the quotient by a span of positive numbers."""
        return self * Span(1 / other.high, 1 / other.low)

    def root(self) -> Span:
        """Return the root of a span of numbers that are not negative."""
        return Span(enclose("sqrt", self.low)[0], enclose("sqrt", self.high)[1])


def exactly(number: Fraction | int) -> Span:
    """Return the span of one number."""
    return Span(Fraction(number), Fraction(number))


@dataclass(frozen=True)
class Second:
    r"""The second iteration of one client, in units of $b^*$ and of the root of n.

    Attributes:
        b: the first minimiser.
        A: $\|Xa\|^2$ in the first iteration.
        B: squared length of what is left of $Xa^*$ across it.
        overlap: of the next a, before it is normalised, with $a^*$.
        stretched: its squared length.
        both: inner product of X times it with $Xa^*$.
        square: squared length of X times it.
        missed: bound of the probability that a number is not where it is held.
        assumes: what is assumed.
    """

    b: Span
    A: Span
    B: Span
    overlap: Span
    stretched: Span
    both: Span
    square: Span
    missed: Fraction
    assumes: tuple[Hypothesis, ...]


def second_iteration(values: Values) -> Second:
    """One client, in the basis a, u of the plane of a and a*, and X'r of the rest.

    x = X a, y = X u, t = x'y/|x|^2, r = y - t x. The first step is a + k X'r/n with k = 2 s (c + delta t) delta. With
    A, B, G, H and e as their squares over n, over n, over d, over n, and a normal variable, n A = |x|^2, n B = |r|^2,
    X'r has the lengths 0 and n B along a and u, and |r| g across them, |g|^2 = d G; X times that last part is r d G +
    |r||g| h with h normal across r, h'x = |x| e, |h|^2 = e^2 + n H. All are independent, t = z/|x| with z normal.
    Each of n A, n B, n H is within n room of n but for 2/(n room^2) (the mean of the squared distance is 2 n), d G
    likewise with d (chi-square of d degrees of freedom), |t| <= room but for 1/(n A room^2), |e| <= 10 but for 1/100.
    """
    c, delta, s = fractions(values, "cosine", "sine", "s")
    n, d = int(values["n"]), int(values["d"])
    (room,) = fractions(values, "room")
    assumes = assuming(
        Hypothesis("cosine", c, ">", 0),
        Hypothesis("sine", delta, ">", 0),
        Hypothesis("cosine^2 + sine^2", c**2 + delta**2, "=", 1),
        *learning_rate(s),
        Hypothesis("samples, for the bounds", n, ">=", 10**5),
        Hypothesis("dimensions beside the plane", d, ">=", 1),
        Hypothesis("room", room, ">", 0),
        Hypothesis("room", room, "<", 1),
    )
    near, t, e = Span(1 - room, 1 + room), Span(-room, room), Span(Fraction(-10), Fraction(10))
    A = B = H = near
    G = near * exactly(Fraction(d, n))
    b = exactly(c) + exactly(delta) * t
    k = exactly(2 * s * delta) * b
    # Over the root of n: the next X a is along x + across r + k sqrt(B G) h, and X a* is b x + delta r.
    along, across, rest = exactly(1) + k * t * B, k * (B + G), k * (B * G).root()
    turned = A.root() * e * exactly(enclose("sqrt", Fraction(1, n))[1])
    both = along * b * A + across * exactly(delta) * B + rest * b * turned
    spread = H + Span(Fraction(0), Fraction(100, n))
    square = along * along * A + across * across * B + rest * rest * spread + exactly(2) * along * rest * turned
    if square.low <= 0:
        raise ValueError("too few samples for these bounds")
    return Second(
        b=b,
        A=A,
        B=B,
        overlap=exactly(c) + k * exactly(delta) * B,
        stretched=exactly(1) + k * k * B * (B + G),
        both=both,
        square=square,
        missed=(Fraction(6, n) + Fraction(2, d) + 1 / (n * (1 - room))) / room**2 + Fraction(1, 100),
        assumes=assumes,
    )
