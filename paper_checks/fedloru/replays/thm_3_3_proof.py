"""Appendix A.5, proof of Theorem 3.3: eqs. (51) to (58).

Setting: `shared.eigenvectors`.

Setting: `shared.series`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.eigenvectors import cosine, inner_products
from paper_checks.fedloru.replays.shared.two_clients import (
    TWO_CLIENTS,
    cosine_and_limit,
    outliers,
    rank_of,
    small_first_slope,
)
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-51-54", **TWO_CLIENTS)
def eq_51_54_as_printed(values: Values) -> Violation:
    """Compare the cosine up to the last outlier with the printed limit."""
    return cosine_and_limit(values, Hypothesis("r, against the outliers", rank_of(values), "<=", outliers(values)))


@proof("fedloru-v2/eq-51-54")
def eq_51_54(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ for r up to the last outlier, and of the norms, $(E|m + \sqrt bz|)^2$ by independence.

    $A_r < 1$ if and only if b > 0; it is 1 whenever the direction of the slopes does not vary.
    """
    cosine(noise)
    return "we use inner products of eigenvectors and the mean direction of the slopes"


@replay("fedloru-v2/eq-52-53", theta="theta_1", noise="sigma s_N")
def eq_52_53_as_printed(values: Values) -> Violation:
    r"""One spike, Gaussian noise, and at both clients the gradient $Re$, e a unit vector orthogonal to $v_1$.

    $u = sv_1 + w$ with $w \perp v_1$ in a direction that no rotation about $v_1$ prefers: $E\langle e, u\rangle = 0$,
    so that $\alpha_1 = 0$, as are the mean slopes along eigenvectors of the bulk, and $E[\langle e, u\rangle u] =
    \frac{1 - Es^2}{R - 1}e$. Clients are independent: $E[\langle e, u\rangle\langle e, u'\rangle\langle u, u'\rangle]$
    is the squared norm of that. Times $R^2$ it tends to $(1 - \phi_1^2)^2 = (\sigma s_N/\theta_1)^4$, by (5).
    """
    theta, noise = fractions(values, "theta", "noise")
    return Violation(
        (noise / theta) ** 4,
        0,
        assumes=assuming(
            Hypothesis("scale of the noise, sigma s_N", noise, ">", 0),
            Hypothesis("theta_1, against sigma s_N", theta, ">", noise),
        ),
        reads="for r = 1 and one spike, both gradients are R e, where the unit vector e is orthogonal to v_1. We "
        "compare the limit of the left side of (53), which is (1 - phi_1^2)^2, with 0",
    )


@proof("fedloru-v2/eq-52-53@slopes-of-bounded-mean-square")
def eq_52_53(power: Fraction = Fraction(2), cross: Fraction = Fraction(0)) -> str:
    r"""Any slopes $a_i$, $a_j'$ of bounded mean square, however they depend on their own client.

    The numerator is $\sum_{i,j}a_ia_j'\langle u_i, u_j'\rangle$, which (52) sorts. Clients are independent, so
    $a_ia_j'$ has a bounded mean square, and $E[a_ia_j'] = \alpha_i\alpha_j$. The inner product is at most 1 and tends
    to $\phi_i^21\{i = j\}$ in probability, and so in the mean square; by the inequality of Cauchy and Schwarz
    $E[a_ia_j'\langle u_i, u_j'\rangle] - \alpha_i\alpha_j\phi_i^21\{i = j\} \to 0$.
    """
    inner_products(power, cross)
    return (
        "for Gaussian noise, the inner products of the eigenvectors of two clients converge in mean square, and we "
        "multiply them by slopes of bounded mean square"
    )


@replay("fedloru-v2/eq-55", **TWO_CLIENTS)
def eq_55_as_printed(values: Values) -> Violation:
    """Compare g(1) with the limit of the difference of the cosines, for a small first slope as in Theorem 3.3."""
    return small_first_slope(values)


@proof("fedloru-v2/eq-55")
def eq_55(power: int = 2, factor: Fraction = Fraction(1), noise: Fraction = Fraction(1)) -> str:
    r"""The limits of the cosines are those of (54) as corrected, for b = 0 with $A_r = 1$.

    Given (54) as printed: for every r, with $A = \sum_{i \le r}\alpha_i^2$ and $P = \sum_{i \le r}\alpha_i^2\phi_i^2$.

    $\frac PA - \frac{P + ap}{A + a} = \frac{a(P - Ap)}{A(A + a)}$ for $a = \alpha_{r+1}^2$, $p = \phi_{r+1}^2$, and
    $P - Ap = \sum_{i \le r}\alpha_i^2(\phi_i^2 - \phi_{r+1}^2)$: a sum of terms that are not negative, since $\phi_i$
    falls with $|\theta_i|$. For $\alpha_i \ne 0$ the sum is 0 if and only if every term is, the first one included,
    whose $\phi_1$ is the largest: if and only if $|\theta_1| = \cdots = |\theta_{r+1}|$, and no more than two
    distinct $\theta_i$ share a magnitude. At $\theta_1 = -\theta_2$ the proof of Theorem 3.3 gives the limits of
    $E[C_{N,1}]$ and $E[C_{N,2}]$, for either way to label the eigenvectors. Where clients order their own eigenvalues
    and $\theta_1$'s is first with probability p, two independent ones keep the same eigenvector with probability
    $p^2 + (1 - p)^2$, so $E[C_{N,1} - C_{N,2}] \to (p^2 + (1 - p)^2 - 1)\phi_1^2 = -2p(1 - p)\phi_1^2$.
    """
    P, A, a, p = sympy.symbols("P A a p", positive=True)
    alpha = sympy.Symbol("alpha", positive=True)
    last = (alpha**power).subs(alpha, sympy.sqrt(a))
    drop = factor * last * (P - A * p) / (A * (A + a))
    weights, gaps = sympy.symbols("a1:4", positive=True), sympy.symbols("d1:4", positive=True)
    spread = sum(w * (p + gap) for w, gap in zip(weights, gaps, strict=True)) - p * sum(weights)
    theta, n, more = sympy.symbols("theta n more", positive=True)
    falls = sympy.numer(sympy.together((n / theta) ** 2 - (n / (theta + more)) ** 2))
    first = sympy.Symbol("p_1", positive=True)  # probability that a client has the eigenvalue of theta_1 first
    cosine(noise)
    kept, half = first**2 + (1 - first) ** 2 - 1, sympy.Rational(1, 2)
    require(sympy.expand(kept + 2 * first * (1 - first)) == 0, "clients that order their own eigenvalues")
    require(kept.subs(first, half) == -half, "either eigenvalue first equally often")
    require(sympy.simplify(P / A - (P + a * p) / (A + a) - drop) == 0, "the difference of the quotients")
    require(sympy.expand(spread - sum(w * g for w, g in zip(weights, gaps, strict=True))) == 0, "the sum of terms")
    require(non_negative(falls), "the overlap grows with the spike")
    return "we use the mean direction of the slopes, and the quotients with their sums as symbols, for every r"


@replay("fedloru-v2/eq-56")
def eq_56(values: Values) -> Violation:
    """Evaluate both readings of client 2's vector, coordinate by coordinate."""
    u, w, ut, wt = (fractions(values, f"{name}_1", f"{name}_2") for name in ("u", "w", "ut", "wt"))
    a, b, at, bt = fractions(values, "a", "b", "at", "bt")
    first = [a * x + b * y for x, y in zip(u, w, strict=True)]
    vector = [at * x + bt * y for x, y in zip(ut, wt, strict=True)]
    printed = [at * x + bt for x in ut]
    given = {"client 2": vector, "printed": printed}
    apart = sum((f * (s - t) for f, s, t in zip(first, vector, printed, strict=True)), Fraction(0))
    vectors = {"u": u, "w": w, "u of client 2": ut, "w of client 2": wt}
    assumes = [Hypothesis(f"|{name}|^2", sum(x * x for x in vector), "=", 1) for name, vector in vectors.items()]
    return Violation(
        abs(apart),
        0,
        assumes=assumes,
        given=given,
        reads="we compute the distance of the inner product from its printed value",
    )


@replay("fedloru-v2/eq-57-58", **TWO_CLIENTS)
def eq_57_58_as_printed(values: Values) -> Violation:
    """Compare the cosine from the last outlier on with the printed limit with beta = 0."""
    return cosine_and_limit(values, Hypothesis("r, against the outliers", rank_of(values), ">=", outliers(values)))


@proof("fedloru-v2/eq-57-58")
def eq_57_58(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ past the last outlier, where S and A stay and $A_r$ falls; constant for b = 0.

    A slope along w has the mean square b, and the mean 0 if its sign does not look at the gradient; if w is oriented by
    the gradient the mean is $E|\sqrt bz|$, of the square $2b/\pi$. Slopes without spread, $\alpha_i$ and $\beta$, give
    every gradient the squared norm $A + (r - \tilde r)\beta^2$, and the inner product still tends to S: (57) and (58).
    """
    x, b = sympy.symbols("x b", positive=True)
    density = sympy.exp(-(x**2) / (2 * b)) / sympy.sqrt(2 * sympy.pi * b)
    oriented = 2 * sympy.integrate(x * density, (x, 0, sympy.oo))
    cosine(noise)
    require(sympy.simplify(oriented**2 - 2 * b / sympy.pi) == 0, "oriented bulk eigenvectors")
    return "we use inner products of eigenvectors and the mean direction of the slopes"
