"""Section 4.2 and Appendix A: proofs, and the decrease at stored constants."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import rational
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedprox/eq-6")
def eq_6(K: Fraction = Fraction(1)) -> str:
    r"""$h_k$ is $\bar\mu$-strongly convex, so $\bar\mu\|w - w^t\|^2 \le \langle\nabla h_k(w) - \nabla h_k(w^t), w -
    w^t\rangle$.

    With $\|\nabla h_k(w)\| \le \gamma\|\nabla h_k(w^t)\|$ and $\nabla h_k(w^t) = \nabla F_k(w^t)$ the right side is
    at most $(\gamma + 1)\|\nabla F_k(w^t)\|\|w - w^t\|$, by Cauchy and Schwarz and the triangle inequality. Divide by
    the distance.
    """
    bar, distance, gamma, slope = sympy.symbols("mubar distance gamma slope", positive=True)
    most = (gamma * slope + slope) * distance
    require(sympy.expand(most / distance - (1 + gamma) * slope) == 0, "the bound after the division")
    require(sympy.expand(bar * distance**2 / distance - bar * distance) == 0, "the left side after the division")
    require(bool(rational(K) >= 1), "the factor is at least 1")
    return "strong convexity bounds the distance by the change of the gradient"


@proof("fedprox/remark-5")
def remark_5(share: Fraction = Fraction(1)) -> str:
    r"""$\mu\rho \le 1 - \gamma B - \sqrt2\frac{\mu}{\bar\mu}\frac{B(1 + \gamma)}{\sqrt K}$, as the other terms are
    negative.

    As $\mu \ge \bar\mu$ and $\gamma \ge 0$, $\rho > 0$ needs $\gamma B < 1$ and $\sqrt2B/\sqrt K < 1$.
    """
    ratio, tight, product, more = sympy.symbols("ratio tight product more", nonnegative=True)
    bound = 1 - product - sympy.sqrt(2) * (1 + ratio) * tight * (1 + more)
    rest = sympy.expand(1 - product - bound)
    require(rest.is_nonnegative is True, "gamma B is below 1 where the bound is positive")
    require(sympy.expand(1 - sympy.sqrt(2) * tight - bound).is_nonnegative is True, "the root of 2 B^2/K is below 1")
    require(bool(rational(share) ** 2 >= sympy.Rational(1, 2)), "the stated share is at least one over the root of 2")
    return "both conditions follow from the sign of an upper bound"


@replay("fedprox/remark-5@sufficient")
def remark_5_sufficient(values: Values) -> Violation:
    r"""$\sqrt2B(1 + \gamma)/\sqrt K$ against $1 - \gamma B$, by their squares: no $\mu$ makes $\rho$ positive."""
    B, gamma, K = (Fraction(values[name]) for name in ("B", "gamma", "K"))
    assumes = (
        Hypothesis("gamma B", gamma * B, "<", 1),
        Hypothesis("B^2", B**2, "<", K),
        Hypothesis("B", B, ">=", 1),
        Hypothesis("gamma", gamma, ">=", 0),
    )
    reads = "squares of what is subtracted at the largest mu and of what remains"
    return Violation(2 * (B * (1 + gamma)) ** 2 / K, (1 - gamma * B) ** 2, strict=True, assumes=assumes, reads=reads)


@replay("fedprox/cor-7")
def cor_7(values: Values) -> Violation:
    """The stated decrease, less 5 %, against the one with mu = 6 B^2, from above, for L = 1."""
    B, share = Fraction(values["B"]), Fraction(values["share"])
    root = Fraction(141421, 100000)  # below the root of 2, so that the decrease is bounded from above
    mu = 6 * B**2
    taken = root * share + B / mu + B**2 / (2 * mu) + B**2 / mu * (2 * root * share / B + 2 * share**2 / B**2)
    assumes = (Hypothesis("B", B, ">=", 100), Hypothesis("B / sqrt(K)", share, "<=", Fraction(1, 2)))
    reads = "0.95 of the stated decrease against the decrease"
    return Violation(Fraction(95, 2400), (1 - taken) / 6, assumes=assumes, reads=reads)


@proof("fedprox/cor-7")
def cor_7_corrected(most: Fraction = Fraction(47, 100), per: Fraction = Fraction(24)) -> str:
    r"""With $\mu = 6LB^2$, $x = B/\sqrt K$ and $L = 1$, $6LB^2\rho = 1 - \sqrt2x - \frac1{6B} - \frac1{12} -
    \frac{x}{6B}(2\sqrt2 + 2\frac xB)$.

    It falls in x and grows in B, so it is least at the largest x and B = 100.
    """
    x, B = sympy.symbols("x B", positive=True)
    mu, root = 6 * B**2, sympy.sqrt(2)
    K = (B / x) ** 2
    exact = 1 - mu * (root * x / mu + B / mu**2 + B**2 / (2 * mu**2) + B**2 / (mu**2 * K) * (2 * root * B / x + 2))
    short = 1 - root * x - 1 / (6 * B) - sympy.Rational(1, 12) - x / (6 * B) * (2 * root + 2 * x / B)
    require(sympy.simplify(exact - short) == 0, "the decrease")
    require((-sympy.diff(short, x)).is_positive is True, "it falls in x")
    require(sympy.expand(sympy.diff(short, B)).is_positive is True, "it grows in B")
    least = short.subs({x: rational(most), B: 100}) / 6
    require(bool(least >= sympy.Rational(95, 100) / rational(per)), "the least value")
    return "the decrease at the largest share and the least B"
