"""Appendix A.3, proof of Lemma A.10: the gradient as a sum (eqs. (45) to (61)).

Setting: `shared.gradient_tails`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import LOG_2, interval, surely
from paper_checks.rolora.replays.shared.gradient_tails import (
    SUM_IN_ALGORITHM_2,
    SUM_OF_FRESH_SAMPLES,
    e,
    own_samples_stay_in_the_plane,
    same,
    t,
    tail_of_sum,
)
from paper_checks.rolora.replays.shared.nets_and_norms import norm_of_a_product, norm_of_rank_one
from paper_checks.rolora.replays.shared.own_samples import own_samples
from paper_checks.rolora.replays.shared.second_iteration import exactly, second_iteration
from paper_checks.stored_values import Values, fractions

PLANE = (
    "for one client, aa, au and uu are the entries of X'X/m in the basis of a and u, a* = cosine a + sine u and b* = 1"
)


@replay("rolora/eq-50")
def eq_50(values: Values) -> Violation:
    """(51) is at most 1/(1 - eps_0) times the norm of grad - 2 M b, for any net; (50) at least |grad - mean|."""
    assumes, at = own_samples(values)
    left = at["along"] ** 2 + (at["across"] - at["mean"]) ** 2
    right = at["off along"] ** 2 + at["off across"] ** 2
    assumes += (Hypothesis("b, for which (51) is 0", at["b"], "=", 0),)
    return Violation(
        left,
        right,
        assumes=assumes,
        reads=f"{PLANE}. As b = cosine + sine au/aa = 0, the gradient is 0, and its mean over all samples is -2 "
        "cosine sine (1 - 1/m) along u. We compare |grad - mean grad|^2 with the square of (51)",
    )


@replay("rolora/eq-52")
def eq_52_as_printed(values: Values) -> Violation:
    """The norm of a summand for w = u is at least the size of its mean, as E exp(|x|/t) >= 1 + |E x|/t.

    The m summands are alike, so each has the mean of w'(grad - 2 M b)/2: across a half of -2 cosine sine (1 - 1/m)
    + 2 cosine sine, since b is cosine on average.
    """
    assumes, at = own_samples(values)
    cosine, sine = fractions(values, "cosine", "sine")
    assumes += (Hypothesis("b, for which (58) is 0", at["b"], "=", 0),)
    return Violation(
        abs(at["mean"] + 2 * cosine * sine) / 2,
        0,
        assumes=assumes,
        reads=f"{PLANE}. For w = u, the norm in (52) is at least the size of the mean of a summand, cosine sine / m. "
        "We compare this lower bound with (58), which is 0 for any constant because b = cosine + sine au/aa = 0",
    )


@proof("rolora/eq-52@samples-independent-of-b")
def eq_52(c2: Fraction = Fraction(8, 3), c4: str = "4.1093617075557") -> str:
    r"""(53) is the triangle inequality, by convexity; (54) the norm of a constant; (55) as (22) to (24).

    $e^{(x+y)/(s+t)} \le \frac s{s+t}e^{x/s} + \frac t{s+t}e^{y/t}$, whose mean is at most 2 for norms s and t;
    $e^{|c|/t} = 2$ at $t = |c|/\log2$. $x^\top w$ and $x^\top M\bar b$ may be correlated in (55). (56) is the
    inequality of Cauchy and Schwarz, (57) the operator norm, (58) the definition of $c_4$ for $\|w\| = 1$.
    """
    s, x, y = sympy.symbols("s x y", positive=True)
    require(same((x + y) / (s + t), s / (s + t) * (x / s) + t / (s + t) * (y / t)), "the triangle inequality")
    require(same(sympy.exp(x / (x / sympy.log(2))), 2), "the norm of a constant")
    norm_of_a_product(c2)
    norm_of_rank_one()
    require(surely(interval(c4) - interval(c2) - 1 / LOG_2), "the constant c_4")
    return "we use convexity, the norms of (22) to (25), and the operator norm"


@replay("rolora/eq-59")
def eq_59_as_printed(values: Values) -> Violation:
    """The mean of a summand for w = u, as in (52): half of the mean of w'(grad - 2 M b), the m being alike."""
    assumes, at = own_samples(values)
    cosine, sine = fractions(values, "cosine", "sine")
    return Violation(
        abs(at["mean"] + 2 * cosine * sine) / 2,
        0,
        assumes=assumes,
        reads=f"{PLANE}. For w = u, we compare the mean of a summand of (51) over all samples, which is cosine sine / "
        "m, with 0",
    )


@proof("rolora/eq-59@for-a-positive-k")
def eq_59(c5: str = SUM_IN_ALGORITHM_2) -> str:
    r"""$M\bar b$ stays in the plane of a and u for all samples: $c_5 = \frac18(1 - \log2)$.

    For $\delta^t > 0$ and $b^* \ne 0$ almost surely $\bar b \ne 0$, and $M \ne 0$ always. (60) is (61) for $c =
    c_4^2c_5$, since $\epsilon_3 < 1 < c_4$.
    """
    tail_of_sum(c5, 4)
    own_samples_stay_in_the_plane()
    return "we use Chernoff's bound for two fixed vectors, and compare a probability with its root"


@proof("rolora/eq-59@samples-independent-of-b")
def eq_59_independent(c5: str = SUM_OF_FRESH_SAMPLES) -> str:
    r"""Chernoff's bound for the fixed vector $M\bar b$, $\bar b \ne 0$ and $M \ne 0$: $c_5 = \frac12(1 - \log2)$.

    No larger constant will do: for w along $M\bar b$ the sum is $\chi^2_n - n$ in units of $\|M\bar b\|$, whose upper
    tail beyond $\epsilon_3n$ has by Cramer's theorem just this rate, $\frac12(\epsilon_3 - \log(1 + \epsilon_3))$; it
    tends to $\frac12(1 - \log2)$ as $\epsilon_3 \to 1$.
    """
    tail_of_sum(c5, 1)
    best = same((e - sympy.log(1 + e)).subs(e, 1) / 2, (1 - sympy.log(2)) / 2)
    require(best, "the largest constant")
    return "we use Chernoff's bound for a fixed vector at any angle to w"


@proof("rolora/eq-59@with-the-samples-of-lemma-a-10")
def eq_59_enough(c5: Fraction = Fraction(9, 200), columns: Fraction = Fraction(145)) -> str:
    r"""The event needs $\|G - I\|_{op} \ge \epsilon_3$ for the mean G of all $x_{i,j}x_{i,j}^\top$, for every a.

    It says $|w^\top(G - I)M\bar b| \ge \epsilon_3\|M\|_{op}\|\bar b\|$, positive where K > 0 and $\bar b \ne 0$. The
    singular values of the n = Nm samples are within $\sqrt d + y$ of $\sqrt n$ but for a probability of $2e^{-y^2/2}$
    (Davidson and Szarek), so $\|G - I\|_{op} \le 2z + z^2$ with $z = \sqrt{d/n} + y/\sqrt n$. For $y^2 =
    2c_5\epsilon_3^2n$ and $d/n \le \epsilon_3^2/(C\log2)$, z is $\epsilon_3$ times a constant k, and $2k + k^2 < 1$.
    """
    size = 1 / (interval(columns) * LOG_2)
    k = iv.sqrt(size) + iv.sqrt(2 * interval(c5))
    require(surely(1 - 2 * k - k**2), "the number of samples")
    return "we use the singular values of all samples"


@replay("rolora/eq-59@same-samples-in-all-iterations")
def eq_59_as_read(values: Values) -> Violation:
    """Follow one client, w = a*, in the second iteration."""
    found = second_iteration(values)
    delta, e_3, c_5 = fractions(values, "sine", "eps_3", "c_5")
    n, b, both = int(values["n"]), found.b, found.both
    fitted = both.over(found.square)
    off = exactly(1) - fitted * found.overlap - (b * b * found.A + exactly(delta**2) * found.B - both * fitted)
    length = fitted * fitted * found.stretched - exactly(2) * fitted * found.overlap + exactly(1)
    assumes = (
        *found.assumes,
        *assuming(Hypothesis("eps_3", e_3, ">", 0), Hypothesis("eps_3", e_3, "<", 1), Hypothesis("c_5", c_5, ">", 0)),
        Hypothesis("least deviation", off.low, ">", 0),
        Hypothesis("its square, over that of the bound", off.low**2 / (length.high * e_3**2), ">=", 1),
    )
    return Violation(
        1 - found.missed,
        2 * enclose("exp", -c_5 * e_3**2 * n)[1],
        assumes=assumes,
        reads="one client has n samples with d dimensions in addition to the plane of a and a*, and its second "
        "iteration uses the samples of the first. More samples violate the bound for any other c_5. We compare a "
        "lower bound on the probability with the bound for this c_5",
    )
