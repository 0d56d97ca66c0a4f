"""Assumption 4.1 (Assumptions B.1 to B.4): smoothness and bounded gradients.

Setting: `shared.local_steps`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.local_steps import G, L, a, b, eta, one_weight, positive_sizes
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, followed, fractions


@proof("fedloru-v2/assump-4.1")
def assump_4_1(
    curvature: Fraction = Fraction(1),
    second: Fraction = Fraction(1),
    variance: Fraction = Fraction(1),
    factors: Fraction = Fraction(1),
) -> str:
    r"""Clients whose samples have losses of bounded gradient meet all five at once, with constants in closed form.

    A sample has the loss $Lz^2(\sqrt{1 + r^2/z^2} - 1)$, r its distance $\|W - C_\xi\|_F$ from a matrix of its own; a
    client's loss is the mean over its samples, of which a step draws one uniformly: (A.5). The slope in r is
    $\frac{Lr}{\sqrt{1+r^2/z^2}} < Lz = G$: (A.2). The Hessian has the eigenvalues slope over r and second derivative,
    $L(1+r^2/z^2)^{-3/2}$, both at most L: (A.1). A variance is at most the mean square, $\sigma^2 = G^2$: (A.4). From
    $\|A\| + \|B\| \le c$, where each cycle starts, a step with $\alpha = 1$ makes the sum at most $1 + \eta G$ times as
    large (claim-B3-just): $C_A = C_B = (1 + \eta G)^{\tau E}c$ satisfy (A.3).

    Nothing smaller works for all of these: the second derivative is L at r = 0; the slope tends to G far away, and the
    variance of two samples far away on either side to $G^2$; and a cycle may start from $\|A\| = c$, B = 0 with a small
    $\eta$.
    """
    r, z = sympy.symbols("r z", positive=True)
    loss = L * z**2 * (sympy.sqrt(1 + r**2 / z**2) - 1)
    slope = sympy.diff(loss, r)
    bend = sympy.diff(slope, r)
    root = sympy.Symbol("q", positive=True)  # sqrt(1 + r^2/z^2) - 1
    far = sympy.limit(slope, r, sympy.oo)
    require(sympy.simplify(bend - L / (1 + r**2 / z**2) ** sympy.Rational(3, 2)) == 0, "the second derivative")
    require(sympy.simplify(slope / r - L / sympy.sqrt(1 + r**2 / z**2)) == 0, "the slope over r")
    require(non_negative((1 + root) ** 3 - 1), "both fall with r")
    require(sympy.limit(bend, r, 0) == L and curvature >= 1, "the largest curvature, at r = 0")
    require(sympy.simplify(far - L * z) == 0 and second >= 1, "the largest slope, far away")
    require(sympy.simplify((far**2 + (-far) ** 2) / 2 - (L * z) ** 2) == 0 and variance >= 1, "the largest variance")
    require(non_negative((1 + eta * G) * (a + b) - (a + eta * G * b) - (b + eta * G * a)), "a step of the factors")
    require(factors >= 1, "the factors at the start of a cycle")
    return (
        "a loss of bounded slope and curvature meets the assumptions, and its factors grow by at most $1+\\eta G$ in "
        "a step"
    )


def _after_a_cycle(values: Values) -> Violation:
    """Compare the factors after a cycle in which every step draws the first sample, with (1 + eta G)^(tau E).

    The loss of a sample is its slope times the weight; G is the root of the slopes' mean square, as (A.2) has it.
    """
    slopes = [Fraction(text) for text in values["slopes"].split()]
    A, B, rate = fractions(values, "A", "B", "rate")
    E, tau = followed(values, "steps"), followed(values, "tau")
    square = sum((s**2 for s in slopes), Fraction(0)) / len(slopes)
    assumes = (
        Hypothesis("second moment of the slopes, which is G^2", square, "=", 1),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("steps E", E, ">=", 1),
        Hypothesis("tau", tau, ">=", 1),
    )
    start = abs(A) + abs(B)
    for _ in range(tau * E):
        A, B = A - rate * slopes[0] * B, B - rate * slopes[0] * A
    bound = start * (1 + rate) ** (tau * E)
    return Violation(
        abs(A) + abs(B),
        bound,
        assumes=assumes,
        reads="the model is one weight w = W + A B (alpha = 1), and the loss of a sample is its slope times w, so G = "
        "1. Every step draws the first sample, which has a positive probability. We compare |A| + |B| after a cycle "
        "with (1 + rate G)^(tau E) times its value at the start",
    )


@replay("fedloru-v2/claim-B3-just")
def claim_B3_just_as_printed(values: Values) -> Violation:
    """Under the bound (A.2), to which the paper refers."""
    return _after_a_cycle(values)


@replay("fedloru-v2/claim-B3-just@assumption-b-2")
def claim_B3_just_as_meant(values: Values) -> Violation:
    """Under Assumption B.2, whose bound is (A.2)."""
    return _after_a_cycle(values)


@proof("fedloru-v2/claim-B3-just")
def claim_B3_just(factor: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""A step adds at most $\eta G\|B\|$ to $\|A\|$ and $\eta G\|A\|$ to $\|B\|$.

    Norms here are plain Frobenius norms, along every run, and we do not assume (A.3), which is to be justified. An
    average does not add to the sum of the norms. One weight with slope -G attains it in every step, from any A and B. A
    Gaussian is unbounded, so no bound holds for all cycles that start from one.
    """
    step = (a + eta * G * b) + (b + eta * G * a)
    require(non_negative(factor * (1 + eta * G) * (a + b) - step), "one step")
    for number in positive_sizes(steps):
        A, B = one_weight(number, lambda A, B: -G)[-1]
        attained = sympy.expand(A + B - (1 + eta * G) ** number * (a + b)) == 0
        require(attained, f"one weight attains it at {number} steps")
    return (
        r"$\|A\|+\|B\|$ grows by a factor of at most $1+\eta G$ in a step, for any number of steps; one weight with "
        "slope $-G$ attains it in each step"
    )
