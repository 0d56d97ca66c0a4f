r"""Proofs of Theorem 4.2 in its corrected form, of its rate, and of the lines of Appendix B.2 that lead to (9).

$\|\cdot\|$ of a random matrix is the root of its mean square, for which the triangle inequality holds; norms are
submultiplicative. A fresh sample's gradient has $\|g\| \le G$ whatever came before it, by (A.2), and so has every exact
gradient, by (A.5) (unbiasedness, which Appendix B labels (A.4)). Hence, by (A.3), a local step moves A by at most
$\eta GC_B$ and B by at most $\eta GC_A$, i steps move AB by at most $i\eta G(C_A^2+C_B^2)$, and by (A.1) the gradients
in A and in B at most by $i\eta Gd_A$ and $i\eta Gd_B$, with $d_A = LC_B(C_A^2+C_B^2)+GC_A$ and $d_B =
LC_A(C_A^2+C_B^2)+GC_B$ (Lemma B.8 as corrected).

One round from W, A, B: $S = \nabla f(W + AB)$, $\nabla_A = SB^T$, $\nabla_B = A^TS$; $A_+ = A + u$ and $B_+ = B + v$
are means over the cohort with weights $\ge 0$ of sum 1, so that $\|u\| \le \eta EGC_B$, $\|v\| \le \eta EGC_A$ and
$\|B_+\| \le C_B$. The cohort does not depend on the samples and its weights have mean $p^{(k)}$, given the past, so
that $-\mathbb{E}[u]/(\eta E)$ is $\nabla_A$ plus the mean drift over all clients and i = 0..E-1, of norm at most
$\frac12(E-1)\eta Gd_A$; likewise for B. A restart with $AB = 0$ changes the factors and not the model, so that the
rounds telescope.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.accumulation_proofs import claim_reinit, eq_WT
from paper_checks.fedloru.replays.step_proofs import (
    E,
    G,
    L,
    a,
    b,
    eta,
    h,
    i,
    mean_drift,
    moved_a,
    moved_b,
    rate_a,
    rate_b,
)
from paper_checks.fedloru.replays.sum_proofs import eq_agg as mean_of_products
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

u, v = (sympy.expand(move.subs(i, E)) for move in (moved_a, moved_b))
"""Root mean squares of the round's moves of A and B, at most."""
Q = G * a * b + L * (a**2 + b**2) ** 2 / 2


def absorbs(kept: Fraction, weight: Fraction | int) -> bool:
    """Whether -<x, x + y> <= -kept |x|^2 + weight |y|^2: the difference is a form that is never negative."""
    half = sympy.Rational(1, 2)
    return sympy.Matrix([[1 - kept, half], [half, weight]]).is_positive_semidefinite is True


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

    w = W + AB is 0 at first, so that nothing moves, and AB = 1 after the accumulation, for every step size.
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
    $\|\nabla_A\| \le GC_B$ and $\|\nabla_B\| \le GC_A$ times the drift, and $C_Bd_A + C_Ad_B = 2Q$, so that its mean is
    at most $-\eta E(\|\nabla_A\|^2 + \|\nabla_B\|^2) + \eta^2E(E-1)G^2Q$; in all $E + E - 1 = 2E-1$. Second bound:
    $-\langle x, x+y\rangle \le -\frac34|x|^2 + |y|^2$ instead. Then the sum over the rounds, $f \ge f^\star$, and
    division by $\eta ET$. For $E \ge 2$ the second has the smaller factor before $\eta$, $\frac43E < 2E-1$, and the
    larger one before $\Delta_0$.

    No smaller factor than 2E-1: E steps of gradient descent in the pair (A, B), with gradient g and Hessian H of $f(W +
    AB)$ in it, have $f_+ = f - \eta E|g|^2 + \frac12\eta^2E(2E-1)g^THg + O(\eta^3)$, so that at T = 1 the factor c in
    $|g|^2 \le (f - f_+)/(\eta E) + cG^2Q\eta$ must have $cG^2Q \ge \frac12(2E-1)g^THg$ as $\eta \to 0$. One weight on
    $\frac12Lw^2$ up to the start $w = AB$, and linear beyond, has $g^THg = 2G^2Q$ there, with $G = LC_AC_B$.

    No smaller factor than 4/3 before $G^2Q\eta$ for E = 1 beside $\frac43\Delta_0$: take one weight at the bottom of
    $\frac12Lx^2$ and samples with the slopes g more and g less, so that G is nearly g. The gradient is 0 and the loss
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
    require(factors_that_go_on() == 1, "factors that go on, from the minimum")
    return (
        r"smoothness along $A_+B_+ - AB$ in three parts, the drift of the local steps, all constants as polynomials "
        r"without negative coefficients; $2E-1$ and the first constant are attained by one weight; weights that "
        "are not normalised, in fractions"
    )


@proof("fedloru-v2/thm-4.2@with-some-constants")
def some_constants(
    start: Fraction = Fraction(4, 3), first_factor: Fraction = Fraction(4, 3), second_factor: Fraction = Fraction(1, 3)
) -> str:
    """The second bound of the theorem as corrected, with the constants that stand there, or with any larger ones.

    For E = 1 its second constant is 0, and any positive one serves.
    """
    thm_4_2.evaluate(start=start, first_factor=first_factor, second_factor=second_factor)
    return "the second bound of the corrected theorem, whose constants depend on nothing else"


@proof("fedloru-v2/thm-4.2-rate@as-analysed-in-appendix-b")
def thm_4_2_rate(start: Fraction = Fraction(1), power: Fraction = Fraction(1, 2)) -> str:
    r"""The least of T numbers is at most their mean.

    With $\eta = \eta_0T^{-1/2}$ the first bound of the corrected theorem (proved as fedloru-v2/thm-4.2),
    $\Delta_0/(\eta TE) + (2E-1)G^2Q\eta$, is $(\Delta_0/(\eta_0E) + (2E-1)G^2Q\eta_0)T^{-1/2}$. The gradient in W need
    not fall: at $A = B = 0$ that in the factors is 0 and nothing moves.

    No larger power for all losses with the same constants: take one weight, E = 1 and a restart at A = 1, B = 0 after
    each round, and a loss that falls with slope s over a length $d = \eta sT$ and then levels with curvature L. A round
    moves the weight by $\eta s$, so that the gradient in B is s in all T rounds. With $s^2 = \delta/(\eta T)$ the loss
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
    return r"the corrected theorem at $\eta = \eta_0T^{-1/2}$, in which both terms fall like $T^{-1/2}$"


@proof("fedloru-v2/sec-4-jointly@with-both")
def sec_4_jointly(
    scale: Fraction = Fraction(1),
    accumulated: Fraction = Fraction(1),
    power: Fraction = Fraction(1, 2),
    sizes: tuple[int, ...] = (1, 2, 5),
) -> str:
    r"""The four statements, each proved under hypotheses that hold together.

    Restarts at $AB = 0$ leave the model (claim-reinit), sums over all clients have weights of sum 1 (eq-agg), W is the
    start and all products (eq-WT with $\alpha = 1$), beside which nothing is left where $\tau$ divides T, and the
    corrected theorem, whose hypotheses these are, gives the rate.
    """
    claim_reinit.evaluate(accumulated=accumulated)
    mean_of_products.evaluate(scale=scale, clients=sizes)
    eq_WT.evaluate(scale=scale, cycles=sizes, rounds=sizes)
    thm_4_2_rate.evaluate(power=power)
    return "restart, averages, final model and rate, each by its own proof"


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
    return r"the chain rule for $X \mapsto f(W + \alpha X)$, and the corrected theorem for that function"


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
    return r"smoothness in B, both inner products by forms that are never negative, and Lemma B.6"


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
    return "smoothness in A, the inner product by a form that is never negative, and the sum with (70)"


@proof("fedloru-v2/eq-76")
def eq_76(kept: Fraction = Fraction(3, 4), first: Fraction = Fraction(1), quarter: Fraction = Fraction(1, 4)) -> str:
    r"""(75) with $\|u\| \le \eta EGC_B$, $\|v\| \le \eta EGC_A$ and the drifts of the corrected Lemma B.8.

    No smaller factor than 1 before $\eta^2G^2E^2$: take one weight, one step, and samples $h(w) \pm gw$ with h a
    parabola of curvature L about w = AB up to a slope that is small beside g, so that $G \approx g$. The gradient is 0,
    and the loss grows by $\frac12L\eta^2g^2(A^2+B^2)^2$ but for higher orders of $\eta$. With $L = 1/B^2$, $A = sB$ and
    $g = s^2$ its quotient by $\eta^2G^2$ times the brace tends to 1 as $s \to 0$.
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
    return "(75), with the moves of the round and the mean drifts, as polynomials without negative coefficients"


@proof("fedloru-v2/eq-77-K")
def eq_77_K(first: Fraction = Fraction(8, 3), second: Fraction = Fraction(16, 3)) -> str:
    r"""The last terms of (76) times $4/(3\eta E)$, with the largest step size $\bar\eta = \eta + h$ in D.

    (76) moved to the other side and multiplied by $4/(3\eta E)$ is (77): $2\eta^2(\sigma^2+G^2)E^2$ times the brace
    becomes $K_1\eta$ and $4\eta^3ED(C_A^2+C_B^2)$ becomes $\frac{16}3D(C_A^2+C_B^2)\eta^2$. D grows with the step, so
    that D at $\bar\eta \ge \eta$ serves for all steps up to $\bar\eta$.
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
