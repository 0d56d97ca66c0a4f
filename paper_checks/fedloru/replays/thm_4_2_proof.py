"""Appendix B.2: the proof of Theorem 4.2 (eqs. (67) to (79)).

Setting: `shared.bounded_gradients`.

Setting: `shared.sums`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import sympy

from paper_checks.fedloru.replays.shared.bounded_gradients import absorbs, u, v
from paper_checks.fedloru.replays.shared.local_steps import (
    E,
    G,
    L,
    a,
    b,
    eta,
    h,
    mean_drift,
    positive_sizes,
    rate_a,
    rate_b,
)
from paper_checks.fedloru.replays.shared.one_weight_runs import ONE_WEIGHT, run
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


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
        """Return the squared drift of the mean gradient in A (0) or B (1) over i = 1, 2, from that at i = 0."""
        return (self.slopes_in(factor) / 2 - self.slopes[0] * self.path[0][1 - factor]) ** 2

    def slopes_in(self, factor: int) -> Fraction:
        """Return the sum of the gradients in A (0) or B (1) over i = 1, 2."""
        each = [slope * at[1 - factor] for slope, at in zip(self.slopes, self.path, strict=True)]
        return each[1] + each[2]


def two_steps(values: Values) -> TwoSteps:
    """Follow eq. (7) for E = 2."""
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
        for (left, s), (right, t) in ends:
            if left <= x <= right:
                return s + (t - s) * (x - left) / (right - left)
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


KNOTS = (
    "the model is one weight AB, the slope of the loss is linear between knots, and one client takes two local steps. "
)


@replay("fedloru-v2/eq-67-70")
def eq_67_70_as_printed(values: Values) -> Violation:
    """Compare the loss after the round with the right side of (70), with the averages of (59) over i = 1, 2."""
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
        reads=KNOTS + "We compare the loss after the round, which is the first member of (67) and (70), with the last "
        "member of (70)",
    )


def _changes(cross: Fraction | int) -> sympy.Expr:
    """Lemma B.6 with the factor 2, times a quarter."""
    return cross * (L**2 * a**2 * b**2 + G**2)


@proof("fedloru-v2/eq-67-70@averages-of-the-local-steps")
def eq_67_70(
    kept: Fraction = Fraction(3, 4),
    square: Fraction = Fraction(1),
    change: Fraction = Fraction(1, 4),
    cross: Fraction = Fraction(1, 2),
    drift: Fraction = Fraction(1),
) -> str:
    r"""Smoothness in B at $A_+$: $f(A_+B_+) \le f(A_+B) + \langle\nabla_B + \delta, v\rangle + \frac12LC_A^2\|v\|^2$.

    Here $\delta$ is the gradient in B at $A_+B$ less that at AB, $\nabla_B$. $\langle\delta, v\rangle \le
    \frac14\|\delta\|^2 + \|v\|^2$, and $\|\delta\|^2 \le 2(L^2C_A^2C_B^2+G^2)\|u\|^2$ by Lemma B.6. Given the past, the
    mean of v is $-\eta E$ times $x + y$ with $x = \nabla_B$ and the drift y, and $-\langle x, x+y\rangle \le
    -\frac34|x|^2 + |y|^2$.
    """
    half = sympy.Rational(1, 2)
    product = sympy.Matrix([[change, -half], [-half, square]])
    require(product.is_positive_semidefinite is True, "the product with the change of the gradient")
    require(absorbs(kept, drift), "the product with the gradient")
    require(non_negative(_changes(cross) - change * 2 * _changes(1)), "Lemma B.6, a quarter of it")
    return "we use smoothness in B, Lemma B.6, and quadratic forms that are never negative for both inner products"


@replay("fedloru-v2/eq-71-75")
def eq_71_75_as_printed(values: Values) -> Violation:
    """Evaluate the equality of (71), with the averages of (59) over i = 1, 2, and the sides of (74)."""
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
        reads=KNOTS + "The first member of (71) and (74) is the loss at the new A and the old B, and it is at most "
        "the middle member of (71). We compare it with the larger of the last members of (71) and (74), so the "
        "equality in (71) fails",
    )


@proof("fedloru-v2/eq-71-75@averages-of-the-local-steps")
def eq_71_75(
    kept: Fraction = Fraction(3, 4),
    smooth: Fraction = Fraction(1, 2),
    change: Fraction = Fraction(1, 4),
    cross: Fraction = Fraction(1, 2),
    drift: Fraction = Fraction(1),
) -> str:
    r"""Smoothness in A at B, the mean of u as in (70), and the sum with (70).

    $f(A_+B) \le f(AB) + \langle\nabla_A, u\rangle + \frac12LC_B^2\|u\|^2$; the mean of u, given the past, is $-\eta E$
    times $x + y$ with $x = \nabla_A$ and the drift y, and $-\langle x, x+y\rangle \le -\frac34|x|^2 + |y|^2$: this is
    (74). (70) adds $\frac12(L^2C_A^2C_B^2+G^2)\|u\|^2$ to $\frac12LC_B^2\|u\|^2$.
    """
    derived = L * b**2 / 2 + change * 2 * _changes(1)
    stated = smooth * L * b**2 + _changes(cross)
    require(absorbs(kept, drift), "the product with the gradient")
    require(change == Fraction(1, 4), "(70) takes a quarter")
    require(non_negative(stated - derived), "the factor of the move of A")
    return "we use smoothness in A and a quadratic form that is never negative for the inner product, and add (70)"


@replay("fedloru-v2/eq-76")
def eq_76_as_printed(values: Values) -> Violation:
    """Compare the loss after the first round with the right side of (76)."""
    one = run(values)
    right = one.loss(0) - Fraction(3, 4) * one.rate * one.E * one.in_factors(0)
    right += 2 * one.rate**2 * one.s2 * one.E**2 * one.brace
    right += 4 * one.rate**3 * one.E * one.D * (one.C_A**2 + one.C_B**2)
    return Violation(
        one.loss(one.E),
        right,
        assumes=one.assumes,
        reads=ONE_WEIGHT + "We compare the loss after a round with the printed bound",
    )


@proof("fedloru-v2/eq-76")
def eq_76(kept: Fraction = Fraction(3, 4), first: Fraction = Fraction(1), quarter: Fraction = Fraction(1, 4)) -> str:
    r"""(75) with $\|u\| \le \eta EGC_B$, $\|v\| \le \eta EGC_A$ and the drifts of the corrected Lemma B.8.

    No smaller factor than 1 before $\eta^2G^2E^2$: take one weight, one step, and samples $h(w) \pm gw$ with h a
    parabola of curvature L about w = AB up to a slope that is small compared with g, so $G \approx g$. The
    gradient is 0, and the loss grows by $\frac12L\eta^2g^2(A^2+B^2)^2$ but for higher orders of $\eta$. With $L =
    1/B^2$, $A = sB$ and $g = s^2$ its quotient by $\eta^2G^2$ times the brace tends to 1 as $s \to 0$.
    """
    changes = (L * b**2 + L**2 * a**2 * b**2 + G**2) / 2
    second = first * eta**2 * G**2 * E**2 * (changes * b**2 + (1 + L * a**2 / 2) * a**2)
    third = quarter * eta**3 * E * (E - 1) ** 2 * G**2 * (rate_a**2 + rate_b**2)
    other = mean_drift().subs({a: b, b: a}, simultaneous=True)
    s = sympy.Symbol("s", positive=True)
    noise = L * (a**2 + b**2) ** 2 / 2 / (second / (eta**2 * G**2 * E**2))
    quotient = noise.subs(L, 1 / b**2).subs({a: s * b, G: s**2}, simultaneous=True)
    require(absorbs(kept, 1), "the gradients that are kept")
    require(sympy.limit(sympy.cancel(quotient), s, 0) == 1, "noise that attains the moves")
    require(non_negative(second - changes * u**2 - (1 + L * a**2 / 2) * v**2), "the moves")
    require(non_negative(third - eta * E * (mean_drift() ** 2 + other**2)), "the drifts")
    return (
        "we insert the moves of the round and the mean drifts into (75); all terms are polynomials without negative "
        "coefficients"
    )


@replay("fedloru-v2/eq-77-K")
def eq_77_K_as_printed(values: Values) -> Violation:
    """Evaluate K_2 at a step size and at twice that, which should be one number."""
    L, G, sigma2, C_A, C_B, E, eta = fractions(values, "L", "G", "sigma2", "C_A", "C_B", "E", "eta")
    positive = {"L": L, "G": G, "sigma^2": sigma2, "C_A": C_A, "C_B": C_B, "eta": eta, "E": E}
    assumes = [Hypothesis(name, value, ">", 0) for name, value in positive.items()]

    def K_2(step: Fraction) -> Fraction:
        D = E**2 * (sigma2 + G**2) * (6 * C_A**2 * C_B**2 * (1 + step**2 * E**2 * (sigma2 + G**2)) + G**2)
        return Fraction(16, 3) * D * (C_A**2 + C_B**2)

    return Violation(
        K_2(2 * eta), K_2(eta), assumes=assumes, reads="we compare K_2 at the step size 2 eta with K_2 at eta"
    )


@proof("fedloru-v2/eq-77-K")
def eq_77_K(first: Fraction = Fraction(8, 3), second: Fraction = Fraction(16, 3)) -> str:
    r"""The last terms of (76) times $4/(3\eta E)$, with the largest step size $\bar\eta = \eta + h$ in D.

    (76) moved to the other side and multiplied by $4/(3\eta E)$ is (77): $2\eta^2(\sigma^2+G^2)E^2$ times the brace
    becomes $K_1\eta$ and $4\eta^3ED(C_A^2+C_B^2)$ becomes $\frac{16}3D(C_A^2+C_B^2)\eta^2$. D grows with the step size,
    so D at $\bar\eta \ge \eta$ is valid for all step sizes up to $\bar\eta$.
    """
    s2 = sympy.Symbol("s2", positive=True)  # sigma^2 + G^2
    brace = (L * b**2 + L**2 * a**2 * b**2 + G**2) / 2 + (1 + L * a**2 / 2) * a**2

    def D(step: sympy.Expr) -> sympy.Expr:
        return E**2 * s2 * (6 * a**2 * b**2 * (1 + step**2 * E**2 * s2) + G**2)

    terms = (2 * eta**2 * s2 * E**2 * brace + 4 * eta**3 * E * D(eta) * (a**2 + b**2)) * 4 / (3 * eta * E)
    K_1, K_2 = first * E * s2 * brace, second * D(eta + h) * (a**2 + b**2)
    require(non_negative(K_1 * eta + K_2 * eta**2 - sympy.cancel(terms)), "the terms of (76)")
    require(eta not in K_1.free_symbols, "no step size in K_1")
    return r"$K_1\eta + K_2\eta^2$ with the largest step size in D, less the terms of (76), has no negative coefficient"


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
        reads="f lists the losses at t = 0..T+1 with f* = 0, in units of 3 eta E/4, g lists the squared gradients at "
        "t = 0..T, and K = K_1 eta + K_2 eta^2. (77) holds at every t. We compare the mean of g over t = 1..T with "
        "f_0/T + K",
    )


@proof("fedloru-v2/eq-78-79")
def eq_78_79(begins: int = 0, rounds: tuple[int, ...] = (1, 2, 7)) -> str:
    r"""By induction over T: $(f_s - f_{s+T}) + (f_{s+T} - f_{s+T+1}) = f_s - f_{s+T+1}$, for s = 0 and for s = 1.

    Then (77) in each round, $f \ge f^\star$, and the least of T numbers, which is at most their mean.
    """
    for number in positive_sizes(rounds):
        f = sympy.symbols(f"f0:{number + 2}")
        sums = [sum(f[t] - f[t + 1] for t in range(s, s + number)) for s in (begins, 1)]
        require(sympy.expand(sums[0] - (f[0] - f[number])) == 0, f"the sum from 0 over {number} rounds")
        require(sympy.expand(sums[1] - (f[1] - f[number + 1])) == 0, f"the sum from 1 over {number} rounds")
    return "both sums by induction over the rounds; $f \\ge f^\\star$"
