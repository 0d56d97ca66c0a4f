"""Theorem 4.2: convergence and its rate.

Setting: `shared.bounded_gradients`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import rational_root
from paper_checks.fedloru.replays.shared.bounded_gradients import absorbs, u, v
from paper_checks.fedloru.replays.shared.local_steps import E, G, L, a, b, eta, mean_drift, rate_a, rate_b
from paper_checks.fedloru.replays.shared.one_weight_runs import ONE_WEIGHT, run
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, followed, fractions


@replay("fedloru-v2/thm-4.2")
def thm_4_2_as_printed(values: Values) -> Violation:
    """Evaluate both sides of eq. (9) with the printed constants; the least value of the loss is 0, at w = 0."""
    one = run(values)
    left = sum((one.in_factors(one.E * t) for t in range(one.T)), Fraction(0)) / one.T
    K_1 = Fraction(8, 3) * one.E * one.s2 * one.brace
    K_2 = Fraction(16, 3) * one.D * (one.C_A**2 + one.C_B**2)
    right = 4 * one.loss(0) / (3 * one.rate * one.T * one.E) + K_1 * one.rate + K_2 * one.rate**2
    return Violation(
        left,
        right,
        assumes=one.assumes,
        reads=ONE_WEIGHT + "We compare the mean squared gradient in the factors with the printed bound",
    )


Q = G * a * b + L * (a**2 + b**2) ** 2 / 2


def raw_weights(z: Fraction, eta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """One of two equal clients a round, of weight 1/2: two rounds from the minimum, and both bounds for E = 1.

    The loss is x^2/2 up to |x| = z, x = AB - 1, from A = B = 1; the server multiplies both factors by 1/2.
    """
    A = B = Fraction(1)
    total = Fraction(0)
    for _ in range(2):
        slope = max(min(A * B - 1, z), -z)
        total += slope**2 * (A**2 + B**2)
        A, B = (A - eta * slope * B) / 2, (B - eta * slope * A) / 2
    first = z**2 * (z + 2) * eta  # G = z, L = C_A = C_B = 1
    return total / 2, first, first * Fraction(4, 3)


def factors_that_go_on() -> Fraction:
    """One client from the minimum of w^2/2, an accumulation every round after which A = B = 1 stay: two rounds.

    w = W + AB is 0 at first, so nothing moves, and AB = 1 after the accumulation, for every step size.
    """
    W, A, B, total = Fraction(-1), Fraction(1), Fraction(1), Fraction(0)
    for _ in range(2):
        total += (W + A * B) ** 2 * (A**2 + B**2)
        W += A * B
    return total / 2


@proof("fedloru-v2/thm-4.2")
def thm_4_2(
    steps_factor: Fraction = Fraction(2),
    start: Fraction = Fraction(4, 3),
    first_factor: Fraction = Fraction(4, 3),
    second_factor: Fraction = Fraction(1, 3),
    z: Fraction = Fraction(2),
    step_size: Fraction = Fraction(1, 1000),
) -> str:
    r"""Smoothness along $A_+B_+ - AB = uB + Av + uv = uB_+ + Av$, and two ways with the drift.

    $f_+ \le f + \langle S, uB + Av\rangle + \langle S, uv\rangle + \frac L2\|uB_+ + Av\|^2$. The last two have means of
    at most $\eta^2E^2G^3C_AC_B$, by Cauchy and Schwarz, and, by the triangle inequality,
    $\frac L2\eta^2E^2G^2(C_A^2+C_B^2)^2$: together $\eta^2E^2G^2Q$ with $Q = GC_AC_B + \frac12L(C_A^2+C_B^2)^2$. The
    linear part is $\langle\nabla_A, u\rangle + \langle\nabla_B, v\rangle$. First bound:
    $\|\nabla_A\| \le GC_B$ and $\|\nabla_B\| \le GC_A$ times the drift, and $C_Bd_A + C_Ad_B = 2Q$, so its mean is
    at most $-\eta E(\|\nabla_A\|^2 + \|\nabla_B\|^2) + \eta^2E(E-1)G^2Q$; in all $E + E - 1 = 2E-1$. Second bound:
    $-\langle x, x+y\rangle \le -\frac34|x|^2 + |y|^2$ instead. Then the sum over the rounds, $f \ge f^\star$, and
    division by $\eta ET$. For $E \ge 2$ the second has the smaller factor before $\eta$, $\frac43E < 2E-1$, and the
    larger one before $\Delta_0$.

    No smaller factor than 2E-1: E steps of gradient descent in the pair (A, B), with gradient g and Hessian H of $f(W +
    AB)$ in it, have $f_+ = f - \eta E|g|^2 + \frac12\eta^2E(2E-1)g^THg + O(\eta^3)$, so at T = 1 the factor c in
    $|g|^2 \le (f - f_+)/(\eta E) + cG^2Q\eta$ must have $cG^2Q \ge \frac12(2E-1)g^THg$ as $\eta \to 0$. One weight on
    $\frac12Lw^2$ up to the start $w = AB$, and linear beyond, has $g^THg = 2G^2Q$ there, with $G = LC_AC_B$.

    No smaller factor than 4/3 before $G^2Q\eta$ for E = 1 next to $\frac43\Delta_0$: take one weight at the bottom of
    $\frac12Lx^2$ and samples with the slopes g more and g less, so G is nearly g. The gradient is 0 and the loss
    grows by $\frac12L\eta^2g^2(C_A^2+C_B^2)^2$ but for higher orders, which the factor c has to make up for: $c\,G^2Q
    \ge \frac43\cdot\frac12Lg^2(C_A^2+C_B^2)^2$, and $Q \to \frac12L(C_A^2+C_B^2)^2$ for small g.
    """
    A, B, U, V = sympy.symbols("A B U V", commutative=False)
    k = sympy.Symbol("k", positive=True)
    products = sympy.expand((A + U) * (B + V) - A * B)
    rest = G * u * v + L * (u * b + a * v) ** 2 / 2
    drifts = [sympy.expand(eta * (E - 1) * G * rate / 2) for rate in (rate_a, rate_b)]
    linear = eta * E * (G * b * drifts[0] + G * a * drifts[1])
    one = (steps_factor * E - 1) * G**2 * Q * eta
    K_1 = first_factor * E * G**2 * Q
    K_2 = second_factor * (E - 1) ** 2 * G**2 * (rate_a**2 + rate_b**2)
    squared = eta * E * (drifts[0] ** 2 + drifts[1] ** 2)
    kept = 1 / start
    gradient = sympy.Matrix([L * a * b * b, L * a * b * a])
    curvature = (gradient.T * sympy.hessian(L * (a * b) ** 2 / 2, (a, b)) * gradient)[0]
    sharp = sympy.summation(k, (k, 0, E - 1)) + E**2 / 2
    needed = start * L * (a**2 + b**2) ** 2 / 2  # over g^2
    left, *bounds = raw_weights(z, step_size)
    require(sympy.expand(products - U * B - A * V - U * V) == 0, "the change of the product, in three parts")
    require(sympy.expand(products - U * (B + V) - A * V) == 0, "the change of the product, in two parts")
    require(sympy.expand(mean_drift() - drifts[0]) == 0, "the mean drift")
    require(non_negative(eta**2 * E**2 * G**2 * Q - rest), "the parts of second order")
    require(sympy.expand(b * rate_a + a * rate_b - 2 * Q) == 0, "C_B d_A + C_A d_B = 2Q")
    require(non_negative(eta * E * one - rest - linear), "the first bound")
    require(absorbs(kept, 1), "three quarters of the square are kept")
    require(non_negative(eta * E * kept * (K_1 * eta + K_2 * eta**2) - rest - squared), "the second bound")
    require(sympy.expand(sharp - E * (2 * E - 1) / 2) == 0, "the second order of E steps of descent")
    require(sympy.expand(curvature - 2 * (G**2 * Q).subs(G, L * a * b)) == 0, "the weight that attains it")
    require(sympy.expand(one - (2 * E - 1) * G**2 * Q * eta) == 0, "2E - 1")
    require(sympy.expand(needed - (first_factor * Q).subs(G, 0)) == 0, "the first constant for small slopes")
    require(z > 0 and step_size > 0, "a loss and a step size")
    require(left > max(bounds), "raw weights break both bounds")
    require(factors_that_go_on() == 1, "factors that are kept, from the minimum")
    return (
        "we split $A_+B_+ - AB$ into three parts, apply smoothness and bound the drift of the local steps; all "
        "constants are polynomials without negative coefficients; one weight attains $2E-1$ and the first constant; "
        "weights that are not normalised are evaluated in fractions"
    )


@proof("fedloru-v2/thm-4.2-rate@as-analysed-in-appendix-b")
def thm_4_2_rate(start: Fraction = Fraction(1), power: Fraction = Fraction(1, 2)) -> str:
    r"""The least of T numbers is at most their mean.

    With $\eta = \eta_0T^{-1/2}$ the first bound of the corrected theorem (proved as fedloru-v2/thm-4.2),
    $\Delta_0/(\eta TE) + (2E-1)G^2Q\eta$, is $(\Delta_0/(\eta_0E) + (2E-1)G^2Q\eta_0)T^{-1/2}$. The gradient in W need
    not fall: at $A = B = 0$ that in the factors is 0 and nothing moves.

    No larger power for all losses with the same constants: take one weight, E = 1 and a restart at A = 1, B = 0 after
    each round, and a loss that falls with slope s over a length $d = \eta sT$ and then levels with curvature L. A round
    moves the weight by $\eta s$, so the gradient in B is s in all T rounds. With $s^2 = \delta/(\eta T)$ the loss
    falls by $sd = \delta$ and $s^2/(2L)$, and the least is $s^2 = (\delta/\eta_0)T^{-1/2}$.
    """
    above, eta_0, T = sympy.symbols("Delta_0 eta_0 T", positive=True)
    fallen = sympy.Symbol("delta", positive=True)
    rate = eta_0 * T**-power
    bound = start * above / (rate * T * E) + (2 * E - 1) * G**2 * Q * rate
    told = (above / (eta_0 * E) + (2 * E - 1) * G**2 * Q * eta_0) / sympy.sqrt(T)
    slope = sympy.sqrt(fallen / (rate * T))
    require(sympy.simplify(bound - told) == 0, "the bound at this step size")
    require(sympy.simplify(slope * rate * slope * T - fallen) == 0, "what the loss falls by in T rounds")
    require(T not in sympy.simplify(slope**2 * T**power).free_symbols, "a weight that attains the power")
    return r"in the corrected theorem at $\eta = \eta_0T^{-1/2}$ both terms fall like $T^{-1/2}$"


@replay("fedloru-v2/thm-4.2-rate")
def thm_4_2_rate_as_printed(values: Values) -> Violation:
    """Evaluate the square of the mean gradient, least over all rounds, against the corrected bound at eta_0 / sqrt(T).

    One client a round, uniformly; it moves A by 0 and B by -eta A (w - target), the printed weight multiplies both, and
    their product is added to w. The start has sum p^2 (w - target) = 0, so the mean of w stays where it is for
    every T and eta, which no bound of order T^(-1/2) allows.
    """
    shares, targets = ([Fraction(text) for text in values[name].split()] for name in ("shares", "targets"))
    W, A, eta_0 = fractions(values, "W", "A", "eta_0")
    T = followed(values, "rounds", 144)
    root = rational_root(Fraction(T))
    assumes = assuming(
        Hypothesis("number of targets, against that of shares", len(targets), "=", len(shares)),
        Hypothesis("sum of the shares", sum(shares), "=", 1),
        Hypothesis("least share", min(shares), ">", 0),
        Hypothesis("start, against the least target", W, ">=", min(targets)),
        Hypothesis("start, against the largest target", W, "<=", max(targets)),
        Hypothesis("A", A, ">", 0),
        Hypothesis("eta_0", eta_0, ">", 0),
    )
    rate = eta_0 / root
    pull = sum(p**2 * (W - c) for p, c in zip(shares, targets, strict=True))
    assumes += assuming(
        Hypothesis("rate times A^2", rate * A**2, "<=", 1),
        Hypothesis("sum of p^2 (w - target) at the start, for a value that is the same for every T", pull, "=", 0),
    )
    least_at = sum(p * c for p, c in zip(shares, targets, strict=True))
    w, gaps = W, list[Fraction]()
    for _ in range(T):
        gaps.append((w - least_at) ** 2 * A**2)
        w -= rate * A**2 * sum(p**2 * (w - c) for p, c in zip(shares, targets, strict=True)) / len(shares)
    G = max(targets) - min(targets)
    C_B = rate * A * G
    Q = G * A * C_B + (A**2 + C_B**2) ** 2 / 2
    Delta_0, K_1 = (W - least_at) ** 2 / 2, Fraction(4, 3) * G**2 * Q
    return Violation(
        min(gaps),
        (Fraction(4, 3) * Delta_0 / eta_0 + K_1 * eta_0) / root,
        assumes=assumes,
        given={"Delta_0": Delta_0, "K_1 = 4/3 G^2 (G C_A C_B + L/2 (C_A^2 + C_B^2)^2)": K_1},
        reads=f"the losses are (w - target)^2/2, continued linearly for |w - target| > {G}. Each round draws one "
        "client uniformly, takes one step and then restarts at A and B = 0. We compare the square of the mean "
        "gradient in B, which is the same for every T, with the bound 4 Delta_0/(3 eta T) + K_1 eta of the corrected "
        f"theorem for this T, where E = L = 1, G = {G}, C_A = {A} and C_B = eta A G",
    )


@replay("fedloru-v2/thm-4.2-rate@factors-that-go-on")
def factors_that_go_on_as_read(values: Values) -> Violation:
    r"""The loss is chosen for T: its slope is 1 and -1 by turns at the starts of the rounds, and linear in between.

    A round multiplies both factors by $1 - \eta s$, where s is the slope, and moves the model from
    $W + A^2$ to $W + 2A_+^2$, so the starts are $2A_+^2 - A^2$ apart. Two rounds multiply $A^2$ by
    $(1 - \eta^2)^2$, and $(1 - \eta^2)^T \ge 1 - \eta_0^2$. So for this and every larger T $A^2$ lies between
    $(1 - \eta)^2(1 - \eta_0^2)$ and 1, starts are at least $(1 - \eta_0^2)(2(1 - \eta)^2 - 1)$ and at most 2 apart.
    Beyond them the slope goes to 0 over a length of 1, so the least value is below that at the start by a triangle
    of height 1 over half of a gap, or over an end, at most.
    """
    eta_0, T = Fraction(values["eta_0"]), followed(values, "rounds", 144)
    assumes = assuming(Hypothesis("rounds", T, ">=", 1))
    root = rational_root(Fraction(T))
    rate = eta_0 / root
    apart = (1 - eta_0**2) * (2 * (1 - rate) ** 2 - 1)
    assumes += (
        Hypothesis("eta_0", eta_0, ">", 0),
        Hypothesis("eta_0", eta_0, "<", 1),
        Hypothesis("distance of two starts, at least", apart, ">", 0),
    )
    A, found = Fraction(1), list[Fraction]()
    for t in range(T):
        found.append(2 * A**2)
        A *= 1 - rate * (-1) ** t
    L = max(2 / apart, Fraction(1)) if apart > 0 else Fraction(1)
    K_1, Delta_0 = Fraction(4, 3) * (1 + 2 * L), Fraction(1, 2)
    return Violation(
        min(found),
        (Fraction(4, 3) * Delta_0 / eta_0 + K_1 * eta_0) / root if eta_0 > 0 else min(found),
        assumes=assumes,
        given={
            "L, for this and every larger T": L,
            "Delta_0, at most": Delta_0,
            "K_1 = 4/3 (1 + 2L)": K_1,
            "least squared gradient, at least, for this and every larger T": 2 * (1 - rate) ** 2 * (1 - eta_0**2),
        },
        reads="one client has one weight and takes one local step and one accumulation a round, from A = B = 1 and W "
        "= 0. At the starts of the rounds the slope of the loss alternates between 1 and -1. We compare the least "
        "squared gradient in the factors with the bound 4 Delta_0/(3 eta T) + K_1 eta of the corrected theorem for "
        "this T, where E = G = C_A = C_B = 1",
    )


@proof("fedloru-v2/claim-alpha-ext@of-the-corrected-bounds")
def claim_alpha_ext(curvature_power: int = 2, gradient_power: int = 1) -> str:
    r"""The chain rule, for f as for each client and sample.

    $h(X) = f(W + \alpha X)$ has the gradient $\alpha\nabla f$, of norm at most $|\alpha|G$ and Lipschitz with
    $\alpha^2L$; the proof of Theorem 4.2 uses no more of f.
    """
    alpha, W, X = sympy.symbols("alpha W X", positive=True)
    f = sympy.Function("f")
    once, twice = sympy.diff(f(W + alpha * X), X), sympy.diff(f(W + alpha * X), X, 2)
    w = W + alpha * X
    slopes = [sympy.diff(f(W), W, order).subs(W, w) for order in (1, 2)]
    require(sympy.simplify((once - alpha**gradient_power * slopes[0]).doit()) == 0, "the gradient")
    require(sympy.simplify((twice - alpha**curvature_power * slopes[1]).doit()) == 0, "the curvature")
    return r"we use the chain rule for $X \mapsto f(W + \alpha X)$ and apply the corrected theorem to this function"


@replay("fedloru-v2/claim-alpha-ext")
def claim_alpha_ext_as_printed(values: Values) -> Violation:
    """Evaluate both sides of (9) with the printed constants, with L, G and sigma of the loss as a function of AB.

    The loss is L w^2/2 up to |w| = zone and linear beyond, w = W + alpha AB; its least value is 0. The gradients are
    exact.
    """
    L, zone, W, A, B, rate, share, alpha = fractions(values, "L", "zone", "W", "A", "B", "rate", "share", "alpha")
    E, T = followed(values, "steps"), followed(values, "rounds")
    positive = {"L": L, "zone z": zone, "learning rate": rate, "sigma^2, as a share of G^2": share}
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in positive.items()),
        Hypothesis("alpha", alpha, "!=", 0),
        Hypothesis("steps E", E, "=", 1),
        Hypothesis("rounds T", T, ">=", 1),
    )
    w = abs(W + alpha * A * B)
    above = L * w**2 / 2 if w <= zone else L * zone * (w - zone / 2)
    total, C_A, C_B = Fraction(0), abs(A), abs(B)
    for _ in range(T):
        slope = alpha * L * max(min(W + alpha * A * B, zone), -zone)
        total += slope**2 * (A**2 + B**2)
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, abs(A)), max(C_B, abs(B))
    curvature, G2 = alpha**2 * L, (alpha * L * zone) ** 2
    s2 = (1 + share) * G2
    brace = (curvature * C_B**2 + curvature**2 * C_A**2 * C_B**2 + G2) / 2 + (1 + curvature * C_A**2 / 2) * C_A**2
    D = s2 * (6 * C_A**2 * C_B**2 * (1 + rate**2 * s2) + G2)
    bound = 4 * above / (3 * rate * T) + Fraction(8, 3) * s2 * brace * rate
    return Violation(
        total / T,
        bound + Fraction(16, 3) * D * (C_A**2 + C_B**2) * rate**2,
        assumes=assumes,
        reads="the model is one weight w = W + alpha AB with the loss L w^2/2, continued linearly for |w| > zone; E = "
        "steps = 1, T = rounds and sigma^2 = share G^2. We compare the mean squared gradient in the factors with the "
        "bound (9) for alpha^2 L, |alpha| G and alpha sigma instead of L, G and sigma",
    )
