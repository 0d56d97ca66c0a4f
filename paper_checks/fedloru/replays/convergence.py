"""Replays of the claims in ``drift``, ``descent_steps`` and ``theorem``: one weight, in fractions.

The loss is L w^2/2 up to |w| = z and linear beyond: L-smooth, with gradients of norm at most G = Lz and least value 0.
There is no noise, so that every sigma^2 > 0 will do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed, fractions

ONE_WEIGHT = (
    "one weight w = W + AB with loss L w^2/2 up to |w| = zone, linear beyond, E = steps, T = rounds, "
    "sigma^2 = share G^2; "
)


@dataclass
class Run:
    """A run of one client, with all local iterates.

    Attributes:
        L: Curvature.
        z: Zone.
        W: Frozen weight.
        rate: Step size.
        E: Local steps.
        T: Rounds.
        sigma2: Bound on the variance, positive.
        path: A and B, from the start on, after every local step.
        assumes: Assumptions of the statement, at this run.
    """

    L: Fraction
    z: Fraction
    W: Fraction
    rate: Fraction
    E: int
    T: int
    sigma2: Fraction
    path: list[tuple[Fraction, Fraction]]
    assumes: tuple[Hypothesis, ...]

    @property
    def G(self) -> Fraction:
        """Largest slope."""
        return self.L * self.z

    @property
    def C_A(self) -> Fraction:
        """Largest A."""
        return max(abs(A) for A, _ in self.path)

    @property
    def C_B(self) -> Fraction:
        """Largest B."""
        return max(abs(B) for _, B in self.path)

    @property
    def s2(self) -> Fraction:
        """sigma^2 + G^2."""
        return self.sigma2 + self.G**2

    @property
    def D(self) -> Fraction:
        """D of Lemma B.8."""
        inner = 1 + self.rate**2 * self.E**2 * self.s2
        return self.E**2 * self.s2 * (6 * self.C_A**2 * self.C_B**2 * inner + self.G**2)

    @property
    def brace(self) -> Fraction:
        """The brace of eq. (76)."""
        L, G, C_A, C_B = self.L, self.G, self.C_A, self.C_B
        return (L * C_B**2 + L**2 * C_A**2 * C_B**2 + G**2) / 2 + (1 + L * C_A**2 / 2) * C_A**2

    def slope(self, step: int) -> Fraction:
        """The gradient in W after some local steps."""
        A, B = self.path[step]
        return self.L * min(max(self.W + A * B, -self.z), self.z)

    def loss(self, step: int) -> Fraction:
        """The loss after some local steps."""
        A, B = self.path[step]
        w = abs(self.W + A * B)
        return self.L * w**2 / 2 if w <= self.z else self.L * self.z * (w - self.z / 2)

    def in_factors(self, step: int) -> Fraction:
        """The squared gradient in A and B after some local steps."""
        A, B = self.path[step]
        return self.slope(step) ** 2 * (A**2 + B**2)


def run(values: Values) -> Run:
    """Follows eq. (7)."""
    L, z, W, A, B, rate, share = fractions(values, "L", "zone", "W", "A", "B", "rate", "share")
    E, T = followed(values, "steps"), followed(values, "rounds")
    positive = {"L": L, "zone z": z, "learning rate": rate, "sigma^2, as a share of G^2": share}
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in positive.items()),
        Hypothesis("steps E", E, ">=", 1),
        Hypothesis("rounds T", T, ">=", 1),
    )
    made = Run(L, z, W, rate, E, T, share * (L * z) ** 2, [(A, B)], assumes)
    for step in range(E * T):
        slope, (A, B) = made.slope(step), made.path[step]
        made.path.append((A - rate * slope * B, B - rate * slope * A))
    return made


@replay("fedloru-v2/lem-B.7-mid")
def lem_B_7_mid_as_printed(values: Values) -> Violation:
    """The square of the mean step in A of the first round against the printed bound."""
    one = run(values)
    mean = (one.path[one.E][0] - one.path[0][0]) / (one.rate * one.E)
    return Violation(
        mean**2, 2 * one.s2 * one.C_B**2 / one.E, assumes=one.assumes, reads=ONE_WEIGHT + "square of the mean step of A"
    )


@replay("fedloru-v2/lem-B.8")
def lem_B_8_as_printed(values: Values) -> Violation:
    """The drift of the gradient in A in the first round: the smaller one of the means over 0..E-1 and over 1..E."""
    one = run(values)
    slopes = [one.slope(i) * one.path[i][1] for i in range(one.E + 1)]  # the gradient in A has B for a factor
    means = (sum(some, Fraction(0)) / one.E for some in (slopes[: one.E], slopes[1:]))
    drift = min(abs(mean - slopes[0]) for mean in means)
    bounds = [4 * one.rate**2 * C**2 * one.D for C in (one.C_A, one.C_B)]
    # The larger of the two bounds: whether the lemma or the end of its proof is meant.
    return Violation(
        drift**2,
        max(bounds),
        assumes=one.assumes,
        reads=ONE_WEIGHT + "squared drift of the gradient in A, the smaller one of the means over "
        "i = 1..E, as (60) prints, and over i = 0..E-1, against the larger of both bounds",
    )


@replay("fedloru-v2/eq-63-66")
def eq_63_66_as_printed(values: Values) -> Violation:
    """The change of the gradient in W after the first local step against the last line of (66)."""
    one = run(values)
    s2, square = one.s2, one.rate**2 * one.E**2
    bound = 12 * square * one.C_A**2 * one.C_B**2 * s2 * (1 + square * s2)
    own = 6 * square * s2 * (one.C_A**4 + one.C_B**4) + 12 * square**2 * s2**2 * one.C_A**2 * one.C_B**2
    return Violation(
        (one.slope(1) - one.slope(0)) ** 2,
        bound,
        assumes=one.assumes,
        given={
            "the end of (66) with L^2, C_A and C_B exchanged": one.L**2 * bound,
            "first member of (66) with C_A and C_B as in Lemma B.7, without L^2, at i = E": own,
        },
        reads=ONE_WEIGHT + "squared change of the gradient in W in the first step, against the end of (66)",
    )


@dataclass
class TwoSteps:
    """Two local steps of one client on a loss whose slope is linear between knots, and what (70) and (74) have of them.

    Attributes:
        path: A and B, from the start on.
        slopes: Slopes of the loss, at each.
        loss: The loss of a weight above that at the first knot.
        slope: Its derivative.
        L: Largest curvature.
        G: Largest slope.
        assumes: Assumptions of the statement, at these steps.
    """

    path: list[tuple[Fraction, Fraction]]
    slopes: list[Fraction]
    loss: Callable[[Fraction], Fraction]
    slope: Callable[[Fraction], Fraction]
    L: Fraction
    G: Fraction
    assumes: tuple[Hypothesis, ...]

    def later(self, factor: int) -> Fraction:
        """The squared drift of the mean gradient in A (0) or B (1) over i = 1, 2, from that at i = 0."""
        return (self.slopes_in(factor) / 2 - self.slopes[0] * self.path[0][1 - factor]) ** 2

    def slopes_in(self, factor: int) -> Fraction:
        """The sum of the gradients in A (0) or B (1) over i = 1, 2."""
        each = [slope * at[1 - factor] for slope, at in zip(self.slopes, self.path, strict=True)]
        return each[1] + each[2]


def two_steps(values: Values) -> TwoSteps:
    """Follows eq. (7) for E = 2."""
    places, given = ([Fraction(text) for text in values[name].split()] for name in ("knots", "slopes"))
    A, B, rate = fractions(values, "A", "B", "rate")
    assumes = assuming(
        Hypothesis("knots, against slopes", len(places), "=", len(given)),
        Hypothesis("least gap of the knots", min(b - a for a, b in pairwise(places)), ">", 0),
        Hypothesis("first slope, for a least value", given[0], "<=", 0),
        Hypothesis("last slope, for a least value", given[-1], ">=", 0),
        Hypothesis("learning rate", rate, ">", 0),
    )
    ends = list(pairwise(zip(places, given, strict=True)))

    def slope(x: Fraction) -> Fraction:
        for (a, s), (b, t) in ends:
            if a <= x <= b:
                return s + (t - s) * (x - a) / (b - a)
        return given[0] if x < places[0] else given[-1]

    def loss(x: Fraction) -> Fraction:
        stops = [places[0], *(place for place in places[1:] if place < x), x]
        return sum(((b - a) * (slope(a) + slope(b)) / 2 for a, b in pairwise(stops)), Fraction(0))

    path = [(A, B)]
    for _ in range(2):
        s, (A, B) = slope(path[-1][0] * path[-1][1]), path[-1]
        path.append((A - rate * s * B, B - rate * s * A))
    curvature = max(abs(t - s) / (b - a) for (a, s), (b, t) in ends)
    return TwoSteps(path, [slope(A * B) for A, B in path], loss, slope, curvature, max(map(abs, given)), assumes)


KNOTS = "one weight AB, slope of the loss linear between knots, one client, two local steps; "


@replay("fedloru-v2/eq-67-70")
def eq_67_70_as_printed(values: Values) -> Violation:
    """The loss after the round against the right side of (70), with the averages of (59) over i = 1, 2."""
    one, (rate,) = two_steps(values), fractions(values, "rate")
    (A, B), _, (new_A, new_B) = one.path
    C_A, C_B = (max(abs(at[k]) for at in one.path) for k in (0, 1))
    v, slope = new_B - B, one.slopes[0] * A
    smooth, change = one.loss(new_A * B) + one.L * C_A**2 / 2 * v**2, new_A * one.slope(new_A * B) - slope
    fifth = smooth - rate * slope * one.slopes_in(1) + v**2 + change**2 / 4
    right = smooth + v**2 + (one.L**2 * C_A**2 * C_B**2 + one.G**2) / 2 * (new_A - A) ** 2
    right += 2 * rate * (one.later(1) - Fraction(3, 4) * slope**2)
    members = {"second": smooth + (slope + change) * v, "fourth": smooth + slope * v + change * v, "last": fifth}
    return Violation(
        one.loss(new_A * new_B),
        right,
        assumes=one.assumes,
        given={f"(67), {name} member": value for name, value in members.items()},
        reads=KNOTS + "loss after the round, the first member of (67) and (70), against the last of (70)",
    )


@replay("fedloru-v2/eq-71-75")
def eq_71_75_as_printed(values: Values) -> Violation:
    """The equality of (71), with the averages of (59) over i = 1, 2, and the sides of (74)."""
    one, (rate,) = two_steps(values), fractions(values, "rate")
    (A, B), _, (new_A, _) = one.path
    C_B, slope = max(abs(B) for _, B in one.path), one.slopes[0] * B
    start = one.loss(A * B) + one.L * C_B**2 / 2 * (new_A - A) ** 2
    middle, last = start + slope * (new_A - A), start - rate * slope * one.slopes_in(0)
    right = start + 2 * rate * (one.later(0) - Fraction(3, 4) * slope**2)
    return Violation(
        one.loss(new_A * B),
        max(last, right),
        assumes=one.assumes,
        given={"(71), middle member": middle, "(71), last member": last, "(74), right side": right},
        reads=KNOTS + "loss at the new A and the old B, the first member of (71) and (74), which is at most the middle "
        "member of (71), against the larger one of the last members of (71) and (74): the equality of (71) fails",
    )


@replay("fedloru-v2/eq-76")
def eq_76_as_printed(values: Values) -> Violation:
    """The loss after the first round against the right side of (76)."""
    one = run(values)
    right = one.loss(0) - Fraction(3, 4) * one.rate * one.E * one.in_factors(0)
    right += 2 * one.rate**2 * one.s2 * one.E**2 * one.brace
    right += 4 * one.rate**3 * one.E * one.D * (one.C_A**2 + one.C_B**2)
    return Violation(one.loss(one.E), right, assumes=one.assumes, reads=ONE_WEIGHT + "loss after a round")


@replay("fedloru-v2/thm-4.2")
def thm_4_2_as_printed(values: Values) -> Violation:
    """Both sides of eq. (9) with the printed constants; the least value of the loss is 0, at w = 0."""
    one = run(values)
    left = sum((one.in_factors(one.E * t) for t in range(one.T)), Fraction(0)) / one.T
    K_1 = Fraction(8, 3) * one.E * one.s2 * one.brace
    K_2 = Fraction(16, 3) * one.D * (one.C_A**2 + one.C_B**2)
    right = 4 * one.loss(0) / (3 * one.rate * one.T * one.E) + K_1 * one.rate + K_2 * one.rate**2
    return Violation(left, right, assumes=one.assumes, reads=ONE_WEIGHT + "mean squared gradient in the factors")


@replay("fedloru-v2/thm-4.2@with-some-constants-as-listed")
def thm_4_2_as_listed(values: Values) -> Violation:
    """Eq. (9) from the minimum, for one client of a few equal ones a round, with its share of all as its weight.

    The loss of every client is x^2/2 up to |x| = zone, x = AB - 1, W = 0, E = 1. At the start AB = 1: nothing moves,
    and the server multiplies both factors by the share. The gradient of the second round does not depend on the step
    size, and K_1 eta + K_2 eta^2 vanishes with it, whatever K_1 and K_2 are; compared is the corrected bound.
    """
    share, A, B, zone, rate = fractions(values, "share", "A", "B", "zone", "rate")
    T = followed(values, "rounds")
    assumes = assuming(
        Hypothesis("share of a client", share, ">", 0),
        Hypothesis("clients of this share, whose sum of shares is 1", (1 / share).denominator, "=", 1),
        Hypothesis("zone", zone, ">", 0),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("A at the start", A, "=", 1),
        Hypothesis("B at the start, for the minimum", B, "=", 1),
        Hypothesis("T, for a value that is the same for every rate", T, "=", 2),
    )
    total, C_A, C_B = Fraction(0), A, B
    for _ in range(T):
        slope = max(min(A * B - 1, zone), -zone)
        total += slope**2 * (A**2 + B**2)
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, abs(A)), max(C_B, abs(B))
        A, B = share * A, share * B
    Q = zone * C_A * C_B + (C_A**2 + C_B**2) ** 2 / 2
    return Violation(
        total / T,
        Fraction(4, 3) * zone**2 * Q * rate,
        assumes=assumes,
        reads="one of the equal clients a round, loss (AB - 1)^2/2, linear beyond |AB - 1| = zone, from "
        "its minimum, one step, no accumulation yet; the server multiplies the factors by the share; mean "
        "squared gradient in the factors, the same for every rate, against K_1 eta + K_2 eta^2, here of "
        "the corrected theorem, which vanishes with the rate for any K_1 and K_2; Delta_0 = 0, L = 1, "
        "G = zone, C_A = C_B = 1",
    )


@replay("fedloru-v2/thm-4.2@with-some-constants-factors-that-go-on")
def thm_4_2_going_on(values: Values) -> Violation:
    """Eq. (9) from the minimum, for one client whose factors stay as they are after an accumulation in every round.

    The loss is w^2/2 up to |w| = zone, w = W + AB, E = 1. At the start w = 0: nothing moves, AB is added to W, and
    training goes on at W + AB + AB, whatever the step size is. K_1 eta + K_2 eta^2 vanishes with it, whatever K_1 and
    K_2 are; compared is the corrected bound.
    """
    W, A, B, zone, rate = fractions(values, "W", "A", "B", "zone", "rate")
    T = followed(values, "rounds")
    assumes = assuming(
        Hypothesis("zone", zone, ">", 0),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("W + AB at the start, for the minimum", W + A * B, "=", 0),
        Hypothesis("size of AB", abs(A * B), ">", 0),
        Hypothesis("T, for a value that is the same for every rate", T, "=", 2),
    )
    total, C_A, C_B = Fraction(0), abs(A), abs(B)
    for _ in range(T):
        slope = max(min(W + A * B, zone), -zone)
        total += slope**2 * (A**2 + B**2)
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, abs(A)), max(C_B, abs(B))
        W += A * B
    Q = zone * C_A * C_B + (C_A**2 + C_B**2) ** 2 / 2
    return Violation(
        total / T,
        Fraction(4, 3) * zone**2 * Q * rate,
        assumes=assumes,
        reads="one client, loss w^2/2 at w = W + AB, linear beyond |w| = zone, from its minimum, one step and one "
        "accumulation a round, W + AB for W, after which A and B stay; mean squared gradient in the factors, the same "
        "for every rate, against K_1 eta + K_2 eta^2, here of the corrected theorem, which vanishes with the rate for "
        "any K_1 and K_2; Delta_0 = 0, L = 1, G = zone, C_A and C_B the largest |A| and |B|",
    )


@replay("fedloru-v2/eq-77-K")
def eq_77_K_as_printed(values: Values) -> Violation:
    """K_2 at a step size and at twice that, which should be one number."""
    L, G, sigma2, C_A, C_B, E, eta = fractions(values, "L", "G", "sigma2", "C_A", "C_B", "E", "eta")
    positive = {"L": L, "G": G, "sigma^2": sigma2, "C_A": C_A, "C_B": C_B, "eta": eta, "E": E}
    assumes = [Hypothesis(name, value, ">", 0) for name, value in positive.items()]

    def K_2(step: Fraction) -> Fraction:
        D = E**2 * (sigma2 + G**2) * (6 * C_A**2 * C_B**2 * (1 + step**2 * E**2 * (sigma2 + G**2)) + G**2)
        return Fraction(16, 3) * D * (C_A**2 + C_B**2)

    return Violation(K_2(2 * eta), K_2(eta), assumes=assumes, reads="K_2 at the step size 2 eta, against K_2 at eta")


@replay("fedloru-v2/eq-78-79")
def eq_78_79_as_printed(values: Values) -> Violation:
    """A sequence that meets (77) at every t from 0 on, in units of 4/(3 eta E), against (79) with f* = 0."""
    f, g = ([Fraction(text) for text in values[name].split()] for name in ("f", "g"))
    (K,) = fractions(values, "K")
    T = len(g) - 1
    assumes = assuming(Hypothesis("T", T, ">=", 1), Hypothesis("values of f, against T + 2", len(f), "=", T + 2))
    assumes += (
        Hypothesis("least f", min(f), ">=", 0),
        Hypothesis("least g", min(g), ">=", 0),
        Hypothesis("K", K, ">=", 0),
        *(Hypothesis(f"(77) at t = {t}: g", g[t], "<=", f[t] - f[t + 1] + K) for t in range(T + 1)),
    )
    return Violation(
        sum(g[1:], Fraction(0)) / T,
        f[0] / T + K,
        assumes=assumes,
        reads="f: losses at t = 0..T+1 with f* = 0, in units of 3 eta E/4; g: squared gradients at "
        "t = 0..T; K = K_1 eta + K_2 eta^2; (77) holds at every t; mean of g over t = 1..T, against "
        "f_0/T + K",
    )
