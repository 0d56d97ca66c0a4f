r"""Proofs of what the local steps do (Lemmas B.5 to B.8, eqs. 63 to 66): all losses, shapes, clients and step sizes.

$\|\cdot\|$ of a random matrix is the root of its mean square, for which the triangle inequality holds. (A.2) and (A.5)
give $\|\nabla f^{(k)}(W)\| \le G$ at every W, and a fresh sample has $\|g\| \le G$ whatever came before it; (A.3) holds
without exception. (Labels are those of Section 4.2; Appendix B exchanges (A.4) and (A.5), so that unbiasedness is its
(A.4).) The weights $p^{(k)}$ are at least 0 and of sum 1, so that f and averages are means. Norms are
submultiplicative. Hence a step moves A by at most $\eta GC_B$ and B by at most
$\eta GC_A$, i steps by i times that, and with $A_iB_i - AB = (A_i - A)B_i + A(B_i - B)$ what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

L, G, a, b, eta, i, more, h = sympy.symbols("L G C_A C_B eta i e h", positive=True)
E = 1 + more
"""Local steps: at least one."""
moved_a, moved_b = i * eta * G * b, i * eta * G * a
moved_ab = moved_a * b + a * moved_b
drift_a, drift_b = b * L * moved_ab + G * moved_b, a * L * moved_ab + G * moved_a
rate_a, rate_b = L * b * (a**2 + b**2) + G * a, L * a * (a**2 + b**2) + G * b
"""Bounds on what i local steps move, and on the changes of the gradients in the factors."""


def positive_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Return the sizes at which a step is repeated: there are some, and each is at least 1."""
    require(sizes and min(sizes) >= 1, "sizes of at least 1")
    return sizes


def mean_drift() -> sympy.Expr:
    """The drift of the gradient in A, averaged over i = 0..E-1."""
    k = sympy.Symbol("k", positive=True)
    return sympy.expand(sympy.summation(drift_a.subs(i, k), (k, 0, more)) / E)


def one_weight(steps: int, slope: Any) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """A and B of one weight from C_A and C_B on, after every step along ``slope(A, B)``."""
    path = [(a, b)]
    for _ in range(steps):
        A, B = path[-1]
        s = slope(A, B)
        path.append((sympy.expand(A - eta * s * B), sympy.expand(B - eta * s * A)))
    return path


def first_order(expression: Any) -> sympy.Expr:
    """A polynomial in the step size up to its first power."""
    expanded = sympy.expand(expression)
    return expanded.coeff(eta, 0) + eta * expanded.coeff(eta, 1)


def from_the_edge(steps: int) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """The same on a parabola, to first order in the step size, which is all that a derivative at 0 can see."""
    path = [(a, b)]
    for _ in range(steps):
        A, B = path[-1]
        s = first_order(at_the_edge(A, B))
        path.append((first_order(A - eta * s * B), first_order(B - eta * s * A)))
    return path


def at_the_edge(A: sympy.Expr, B: sympy.Expr) -> sympy.Expr:
    r"""The slope of $\frac12Lw^2$ at w = AB, whose largest is G at the start: G = L C_A C_B."""
    return L * A * B


@proof("fedloru-v2/lem-B.5")
def lem_B_5(constant: Fraction = Fraction(1), power: int = 2) -> str:
    r"""$\|(\nabla(A'B) - \nabla(AB))B^T\| \le L\|(A'-A)B\|\|B\| \le LC_B^2\|A'-A\|$, for f as for each client.

    One weight with loss $\frac12Lw^2$ attains it; both factors at once have the Hessian $L(1, 2; 2, 1)$ at A = B = 1.
    """
    joint = sympy.hessian(L * (a * b) ** 2 / 2, (a, b)).subs({a: 1, b: 1})
    require(non_negative(constant * L * b**power - L * b * b), "the product of the bounds")
    require(sympy.diff(L * a * b * b, a) == L * b**2, "one weight attains it")
    require(max(joint.eigenvals(), key=lambda v: v / L) == 3 * L, "no such constant for both factors at once")
    return r"Lipschitz gradient times $\|B\|$ on either side; attained by one weight"


@proof("fedloru-v2/lem-B.6")
def lem_B_6(constant: Fraction = Fraction(2)) -> str:
    r"""The difference is a sum of two products, and $(x+y)^2 \le 2(x^2+y^2)$.

    With $\Delta = A_{t+1} - A_t$: $A_{t+1}^T(\nabla(A_{t+1}B) - \nabla(A_tB))$ and $\Delta^T\nabla(A_tB)$ have norms
    of at most $LC_AC_B\|\Delta\|$ and $G\|\Delta\|$, as the weights of $f_t$ sum to at most 1.

    Two lines of the printed proof are false and not used: the mean square of a product is in general not at most the
    product of the mean squares (here one factor is bounded in every run), and the square of the norm of
    $\Delta^T\nabla(A_tB)$ is at most, and not equal to, the product of the squares.
    """
    form = sympy.Matrix([[constant - 1, -1], [-1, constant - 1]])  # constant (x^2 + y^2) - (x + y)^2
    require(form.is_positive_semidefinite is True, "the square of the sum of both parts")
    return (
        r"the difference as two products, of norms $LC_AC_B\|\Delta A\|$ and $G\|\Delta A\|$ at most, and "
        r"$2(x^2+y^2) - (x+y)^2$ as a square"
    )


@proof("fedloru-v2/lem-B.6-mid")
def lem_B_6_mid(constant: Fraction = Fraction(2)) -> str:
    r"""$\|XY\| \le \|X\|\|Y\|$ and $\|A_{t+1}\| \le C_A$ in every run, a mean of factors that are at most $C_A$.

    Lipschitz gradients: $\|D\| \le L\|A_{t+1}B_t - A_tB_t\| \le LC_B\|u\|$; an exact gradient has at most the norm G.
    """
    form = sympy.Matrix([[constant - 1, -1], [-1, constant - 1]])  # constant (x^2 + y^2) - (x + y)^2
    p, q, r, s = sympy.symbols("p q r s", real=True)
    X, Y = sympy.Matrix([[p, q]]), sympy.Matrix([r, s])
    lost = (X * X.T)[0] * (Y.T * Y)[0] - (X * Y)[0] ** 2
    require(form.is_positive_semidefinite is True, "the square of the sum of both parts")
    require(sympy.expand(lost - (p * s - q * r) ** 2) == 0, "a row times a column, whose norm is at most the product")
    return r"submultiplicative norms, bounded factors in every run, and $2(x^2+y^2) - (x+y)^2$ as a square"


@proof("fedloru-v2/lem-B.7")
def lem_B_7(constant: Fraction = Fraction(2), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""Steps of at most $\eta GC_B$, i of them; the server's move is a mean of its clients'.

    With $\sigma^2 \ge 0$ the printed factor is larger than $G^2$, which one weight with a constant gradient attains as
    $\eta \to 0$.
    """
    variance = h
    require(non_negative(constant * (variance + G**2) * eta**2 * i**2 * b**2 - moved_a**2), "the square of the move")
    for number in positive_sizes(steps):
        A, _ = one_weight(number, lambda A, B: G)[-1]
        attained = sympy.cancel((A - a) / (eta * number * G)).subs(eta, 0)
        require(sympy.expand(attained**2 - b**2) == 0, f"one weight attains G^2 at {number} steps")
    return r"steps of at most $\eta GC_B$, added up; $G^2C_B^2$ attained by a constant gradient"


@proof("fedloru-v2/lem-B.7-mid")
def lem_B_7_mid(constant: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The square of a mean is at most the mean of the squares, each of which is at most $G^2C_B^2$.

    The first because s times the sum of s squares less the square of the sum is the sum of the squares of all
    differences: by induction, since v beside s numbers of sum S, whose squares sum to Q, adds $Q - 2vS + sv^2$ to both.
    The second because a sample's gradient has at most the norm G and B at most $C_B$.
    """
    require(non_negative(constant * G**2 * b**2 - (moved_a / (i * eta)) ** 2), "the mean of the squares")
    x, s, Q, S = sympy.symbols("x s Q S")
    one_more = ((s + 1) * (Q + x**2) - (S + x) ** 2) - (s * Q - S**2) - (Q - 2 * x * S + s * x**2)
    require(sympy.expand(one_more) == 0, "the spread of one number more")
    for number in positive_sizes(steps):
        v = sympy.symbols(f"v1:{number + 1}")
        spread = number * sum(x**2 for x in v) - sum(v) ** 2
        squares = sum((x - y) ** 2 for x, y in combinations(v, 2))
        require(sympy.expand(spread - squares) == 0, f"the mean of {number} squares")
    return (
        "the mean of the squares less the square of the mean is a sum of squares, by induction "
        "for any E; each step has "
        r"$\|g\|\|B\| \le GC_B$"
    )


@proof("fedloru-v2/lem-B.8")
def lem_B_8(quarter: Fraction = Fraction(1, 4), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The drift is $(\nabla_i - \nabla_0)B_i^T + \nabla_0(B_i - B)^T$, of norm at most $i\eta Gd_A$.

    The mean over i = 0..E-1 and over the clients has at most $\frac12(E-1)\eta Gd_A$. For B with A and B exchanged.

    One weight at the edge of a parabola, where the slope G is largest, attains it as $\eta \to 0$: to first order i
    steps move i times what one does.
    """
    stated = quarter * eta**2 * (E - 1) ** 2 * G**2 * rate_a**2
    swapped = drift_a.subs({a: b, b: a}, simultaneous=True)
    require(sympy.expand(drift_a - i * eta * G * rate_a) == 0, "d_A")
    require(sympy.expand(swapped - drift_b) == 0, "d_B is d_A with A and B exchanged")
    require(non_negative(stated - mean_drift() ** 2), "the square of the mean drift")
    for number in positive_sizes(steps):
        path = from_the_edge(number)[:number]
        drift = sum(at_the_edge(A, B) * B for A, B in path) / number - at_the_edge(a, b) * b
        limit = sympy.diff(sympy.expand(drift), eta).subs(eta, 0)
        told = -sympy.Rational(number - 1, 2) * G * rate_a
        require(sympy.expand(limit - told.subs(G, L * a * b)) == 0, f"one weight attains it at {number} steps")
    return (
        r"$d_A$ from two products, the mean over $0..E-1$ as $\frac12(E-1)$, for every E; attained by one weight, "
        r"shown by the derivative at $\eta = 0$ for the numbers of steps named"
    )


@proof("fedloru-v2/eq-63-66")
def eq_63_66(constant: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""L times the move of AB, which is at most $i\eta G(C_A^2 + C_B^2)$; attained as in Lemma B.8."""
    stated = constant * eta**2 * i**2 * G**2 * L**2 * (a**2 + b**2) ** 2
    require(non_negative(stated - (L * moved_ab) ** 2), "the square of L times the move of AB")
    for number in positive_sizes(steps):
        A, B = from_the_edge(number)[-1]
        limit = sympy.diff(sympy.expand(at_the_edge(A, B)), eta).subs(eta, 0)
        told = -number * G * L * (a**2 + b**2)
        require(sympy.expand(limit - told.subs(G, L * a * b)) == 0, f"one weight attains it at {number} steps")
    return (
        r"$\|A_iB_i - AB\| \le i\eta G(C_A^2+C_B^2)$ from two products, for every E; attained by one weight, shown by "
        r"the derivative at $\eta = 0$ for the numbers of steps named"
    )


@proof("fedloru-v2/claim-B3-just")
def claim_B3_just(factor: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""A step adds at most $\eta G\|B\|$ to $\|A\|$ and $\eta G\|A\|$ to $\|B\|$.

    Norms here are plain Frobenius norms, along every run, and (A.3), which is to be justified, is not assumed. An
    average does not add to the sum of the norms. One weight with slope -G attains it in every step, from any A and B.
    A Gaussian has no largest value, so that no bound holds for all cycles that start from one.
    """
    step = (a + eta * G * b) + (b + eta * G * a)
    require(non_negative(factor * (1 + eta * G) * (a + b) - step), "one step")
    for number in positive_sizes(steps):
        A, B = one_weight(number, lambda A, B: -G)[-1]
        attained = sympy.expand(A + B - (1 + eta * G) ** number * (a + b)) == 0
        require(attained, f"one weight attains it at {number} steps")
    return (
        r"$\|A\|+\|B\|$ grows by a factor of at most $1+\eta G$ in a step, one after the other, however many; "
        r"one weight with slope $-G$ attains it in each"
    )


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
    $\|A\| + \|B\| \le c$, where each cycle starts anew, a step with $\alpha = 1$ makes the sum at most $1 + \eta G$
    times as large (claim-B3-just): $C_A = C_B = (1 + \eta G)^{\tau E}c$ serve for (A.3).

    Nothing smaller serves for all of these: the second derivative is L at r = 0; the slope tends to G far away, and the
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
    return "a loss of bounded slope and curvature, and factors that grow by at most $1+\\eta G$ in a step"
