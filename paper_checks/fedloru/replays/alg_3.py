"""Algorithm 3 (Appendix C.3): mFedLoRU, executed and compared with its text, and what it sends."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.factor_symbols import W, alpha, e, m, n, p, q, r
from paper_checks.fedloru.replays.shared.one_weight_listing import EITHER, ONE_WEIGHT, start
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/alg-3")
def alg_3(values: Values) -> Violation:
    """Follow the listing of mFedLoRU with a client that opts out: what it returns, and the last round's model."""
    run, tau, T, assumes = start(values)
    W_0, products, trained = run.W, Fraction(0), run.W
    for t in range(1, T + 1):
        run.step()
        trained = run.W + run.alpha * run.A * run.B
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            products += run.A * run.B
    apart = min(abs(W + products - trained) for W in (W_0, run.W))
    return Violation(apart, 0, assumes=assumes, reads=ONE_WEIGHT + EITHER)


def nested_count(down: Fraction, inner: Fraction) -> None:
    """Check the count of entries that are sent with nested matrices."""
    sent = r * (m + n) + (m * p + p * r) + (r * q + q * n)
    require(sympy.expand(sent - down * r * (m + n) - p * (m + inner * r) - q * (n + inner * r)) == 0, "the entries")


@proof("fedloru-v2/claim-mcomm")
def claim_mcomm(down: Fraction = Fraction(1), inner: Fraction = Fraction(1), square: int = 2) -> str:
    r"""Down go mr + rn entries; up go $A_d$, $A_u$, $B_d$, $B_u$ with $mr_A + r_Ar + rr_B + r_Bn$.

    Since $r_A, r_B < r$ the count is less than $2r(m+n) + 2r^2$. With $m \le n = m + e$ and $r = cm$, $c = \sqrt2 - 1$,
    $c^2 = 1 - 2c$: $mn - r(m+n) - r^2 = m^2(1 - 2c - c^2) + em(1 - c) \ge 0$. No larger share works: for $m = n$, $r =
    cm$ with a larger c and $r_A = r_B = r - 1$ the count over $2m^2$ tends to $2c + c^2 > 1$.
    """
    c = sympy.sqrt(square) - 1
    rest = sympy.Poly(sympy.expand((m * (m + e) - r * (2 * m + e) - r**2).subs(r, c * m)), m, e)
    x, size = sympy.symbols("x size", positive=True)
    largest = (r * (m + n) + p * (m + r) + q * (n + r)).subs({n: m, p: r - 1, q: r - 1}).subs({r: x * size, m: size})
    share = sympy.limit(sympy.expand(largest / (2 * size**2)), size, sympy.oo)
    nested_count(down, inner)
    require(all(sympy.simplify(one) >= 0 for one in rest.coeffs()), "less than 2mn up to this share")
    require(sympy.expand(share - 2 * x - x**2) == 0, "the count for nested ranks of r - 1")
    require(sympy.simplify((2 * x + x**2).subs(x, c) - 1) == 0, "no larger share")
    return (
        r"we count the entries of six matrices; at $r = (\sqrt2-1)m$, $mn - r(m+n) - r^2$ is a polynomial in m and n "
        "- m"
    )


@proof("fedloru-v2/claim-mcomm@low-rank")
def claim_mcomm_low_rank(
    down: Fraction = Fraction(1), inner: Fraction = Fraction(1), reach: Fraction = Fraction(3)
) -> str:
    r"""The entries sent, fewer than $2r(m+n) + 2r^2$; with $m = 3r + d$ and $n = m + e$ that is less than $2mn$."""
    d = sympy.Symbol("d", positive=True)
    short = reach * r + d
    rest = short * (short + e) - r * (2 * short + e) - r**2
    nested_count(down, inner)
    require(non_negative(rest), "less than 2mn")
    return (
        "we count the entries of six matrices; $mn - r(m+n) - r^2$ has no negative coefficient in r, m - 3r and n - m"
    )


@replay("fedloru-v2/claim-mcomm")
def claim_mcomm_as_printed(values: Values) -> Violation:
    """Compare numbers that a client receives and sends with nested matrices, with both ways of the whole matrix."""
    m, n, r, a, b = (int(values[name]) for name in ("m", "n", "r", "r_A", "r_B"))
    shapes = ((m, r), (r, n), (m, a), (a, r), (r, b), (b, n))
    assumes = (
        Hypothesis("r_A", a, ">=", 1),
        Hypothesis("r_B", b, ">=", 1),
        Hypothesis("larger of r_A and r_B, against r", max(a, b), "<", r),
        Hypothesis("r, against the smaller side", r, "<=", min(m, n)),
    )
    return Violation(
        sum(rows * columns for rows, columns in shapes),
        2 * m * n,
        assumes=assumes,
        strict=True,
        reads="we compare the number of entries of A, B, A_d, A_u, B_d and B_u with twice the number of entries of W",
    )


@proof("fedloru-v2/eq-83")
def eq_83(factor: Fraction = Fraction(1)) -> str:
    r"""The model of (82) is $W + \alpha(A + \alpha_AA_dA_u)(B + \alpha_BB_dB_u)$; these are the two factors.

    Multiplied out, in matrices that do not commute, the product of the two factors has the four terms that (82) adds
    to W, each with its scale.
    """
    A, A_d, A_u, B, B_d, B_u = sympy.symbols("A A_d A_u B B_d B_u", commutative=False)
    one, two = sympy.symbols("alpha_A alpha_B")
    trained = W + alpha * (A * B + one * A_d * A_u * B + two * A * B_d * B_u + one * two * A_d * A_u * B_d * B_u)
    new_A, new_B = A + one * A_d * A_u, B + factor * two * B_d * B_u
    require(sympy.expand(trained - W - alpha * new_A * new_B) == 0, "the product")
    return "we multiply out the model of (82) and of its two factors in noncommuting matrices"


@replay("fedloru-v2/eq-83")
def eq_83_as_printed(values: Values) -> Violation:
    """Compare the model of (82) with the model of the factors of (83): m = n = 1, r = 2, nested ranks 1."""
    A1, A2, B1, B2, p, q1, q2, u1, u2, v = fractions(values, "A1", "A2", "B1", "B2", "p", "q1", "q2", "u1", "u2", "v")
    a, b = fractions(values, "a", "b")
    left, right = (A1 + a * p * q1, A2 + a * p * q2), (u1 * v, u2 * v)
    trained = left[0] * (B1 + b * right[0]) + left[1] * (B2 + b * right[1])
    recovered = left[0] * (B1 + a * right[0]) + left[1] * (B2 + a * right[1])
    return Violation(
        abs(trained - recovered),
        0,
        given={"trained": trained, "recovered": recovered},
        reads="with A = (A1, A2), B = (B1, B2), A_d = p, A_u = (q1, q2), B_d = (u1, u2), B_u = v and the scales a and "
        "b, we compute the difference between the two models",
    )
