"""Appendix A.4.1, proof of Proposition 5.5: the squares (eqs. (205) to (226), (241) to (243)).

Setting: `shared.moments`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.expected_loss import N, expected_loss, m
from paper_checks.rolora.replays.shared.moments import (
    MOMENTS,
    PRODUCT,
    SCALE,
    alpha,
    chi_square_means,
    g,
    h,
    mean,
    moment_is_finite_from,
    vanishes,
)
from paper_checks.stored_values import Values, fractions


@replay("rolora/eq-207")
def eq_207_as_printed(values: Values) -> Violation:
    """Two clients: the bracket has E[s_1 s_2] twice, and E[s_i] = alpha with finite squares for m of at least 3."""
    (alpha,) = fractions(values, "alpha")
    m = int(Fraction(values["m"]))
    assumes = assuming(Hypothesis("m", m, ">=", 3), Hypothesis("|alpha|", abs(alpha), "<", 1))
    square = alpha**2 + (1 - alpha**2) / (m - 2)
    return Violation(
        square + 2 * alpha**2,
        square,
        assumes=assumes,
        reads="for N = 2, m samples and the cosine alpha, we compare the bracket of (208) with N^2 E[z_2^2], which is "
        "E[s_2^2]",
    )


@proof("rolora/eq-207")
def eq_207(lower: int = 2, double: Fraction = Fraction(1)) -> str:
    r"""$(s_2 + \ldots + s_N)^2$ has the $N - 1$ squares and each product $s_is_j$ of two different ones of them.

    These are $(N - 1)(N - 2)$, of mean $\alpha^2$ each; with both indices from 1 there would be $N(N - 1)$. For $m \ge
    3$ all means are finite.
    """
    chi_square_means()
    number = N + 1 - lower
    whole = (N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * mean(SCALE) ** 2
    stated = (N - 1) * mean(SCALE**2) + double * number * (number - 1) * mean(SCALE) ** 2
    require(vanishes(whole - stated), "line 208")
    return MOMENTS


@replay("rolora/eq-205")
def eq_205_as_printed(values: Values) -> Violation:
    """E[1/chi^2_m] is at least 1/m (Jensen), and printed as 1/(m - 2)."""
    m = int(values["m"])
    assumes = assuming(Hypothesis("m", m, ">=", 1), Hypothesis("m, for the quotient", m, "!=", 2))
    return Violation(
        Fraction(1, m),
        Fraction(1, m - 2),
        assumes=assumes,
        reads="for m samples, we compare a lower bound on E[R^2] with its printed value",
    )


@proof("rolora/eq-205")
def eq_205(two: Fraction = Fraction(2), others: Fraction = Fraction(1), fewest: int = 3) -> str:
    r"""For $m \ge 3$: $R = g/h$, and $Ez_2^2 = \frac1{N^2}((N-1)Es^2 + (N-1)(N-2)(Es)^2)$; $h_1$ is independent of it.

    $h^2$ has the density $y^{m/2-1}e^{-y/2}/(2^{m/2}\Gamma(\frac m2))$, so $Eh^{-2} = \Gamma(\frac m2 -
    1)/(2\Gamma(\frac m2)) = \frac1{m-2} = ER^2$, and $ER = EgEh^{-1} = 0$. With $s = \alpha + \beta R$: $Es = \alpha$,
    $Es^2 = \alpha^2 + \frac{1-\alpha^2}{m-2}$, and $E[u_2^\top u_2] = Ez_2^2 \cdot Eh_1^2$ is $\frac m{N^2}$ times $(N
    - 1)(\alpha^2 + \frac{1-\alpha^2}{m-2}) + (N - 1)(N - 2)\alpha^2 = (N - 1)^2\alpha^2 + (N -
    1)\frac{1-\alpha^2}{m-2}$.

    Fewer samples. The law of h has a density in proportion to $h^{m-1}e^{-h^2/2}$, so $Eh^{-2}$ is one of
    $\int h^{m-3}e^{-h^2/2} \,dh$, which is infinite for m of 1 and 2. Then $Es^2 = \alpha^2 + (1 - \alpha^2)ER^2$ is
    infinite unless $\alpha^2 = 1$. With m = 2 $E|R| = E|g|\,Eh^{-1}$ is finite and $Es = \alpha$; with m = 1 R is of
    Cauchy's law.
    """
    moment_is_finite_from(fewest, 2)
    chi_square_means()
    square = mean(SCALE**2)
    require(vanishes(mean(SCALE) - alpha), "line 222")
    require(vanishes(mean((g / h) ** 2) - 1 / (m - two)), "line 216")
    require(vanishes(square - alpha**2 - (1 - alpha**2) / (m - two)), "line 218")
    whole = m / N**2 * ((N - 1) * square + (N - 1) * (N - 2) * mean(SCALE) ** 2)
    rest = N - others
    stated = m / N**2 * (rest**2 * alpha**2 + rest * (1 - alpha**2) / (m - two))
    require(vanishes(whole - stated), "line 226")
    return MOMENTS


@proof("rolora/eq-205@three-samples-or-more")
def eq_205_from_three(two: Fraction = Fraction(2), others: Fraction = Fraction(1), fewest: int = 3) -> str:
    r"""For $m \ge 3$ all means are finite.

    With $R = g/h$: $ER^2 = Eh^{-2} = \frac1{m-2}$ and $ER = 0$, so $Es = \alpha$ and $Es^2 = \alpha^2 +
    \frac{1-\alpha^2}{m-2}$. The $N - 1$ other clients are independent of each other and of the first, which gives
    $Ez_2^2 = \frac1{N^2}((N-1)Es^2 + (N-1)(N-2)(Es)^2)$ and $E[u_2^\top u_2] = m\,Ez_2^2$.
    """
    return str(eq_205.evaluate(two, others, fewest))


@replay("rolora/eq-241")
def eq_241_as_printed(values: Values) -> Violation:
    """One client: the loss is the squared sine times |y|^2 - (x'y)^2/|x|^2, over m, for x = Xa and y = Xu."""
    xx, xy, yy, sine = fractions(values, "xx", "xy", "yy", "sine")
    m = int(values["m"])
    assumes = assuming(
        Hypothesis("samples", m, ">=", 3),
        Hypothesis("|Xa|^2", xx, ">", 0),
        Hypothesis("delta_0", sine, ">", 0),
        Hypothesis("delta_0", sine, "<", 1),
        Hypothesis("(x'y)^2, against |x|^2 |y|^2", xy**2, "<=", xx * yy),
    )
    printed = 1 + Fraction(4 - m - 2, m * (m - 2))
    return Violation(
        abs(sine**2 * ((yy - xy**2 / xx) / m - printed)),
        0,
        assumes=assumes,
        reads="for one client with x = Xa, y = Xu and a* = cos a + sine u, we compute the distance of (241) from (242)",
    )


@proof("rolora/eq-241")
def eq_241(
    four: Fraction = Fraction(4), two: Fraction = Fraction(2), cross: Fraction = Fraction(2), power: int = 2
) -> str:
    r"""The six expectations, for $m \ge 3$, with $\beta^2 = 1 - \alpha^2$, add up to (242).

    $m + \frac{\alpha^2m + \beta^2}{N^2} + \frac m{N^2}[(N-1)^2\alpha^2 + (N-1)\frac{\beta^2}{m-2}] - 2\frac{\alpha^2m +
    \beta^2}N - 2\frac{m(N-1)\alpha^2}N + 2\frac{m(N-1)\alpha^2}{N^2}$. Of $\alpha^2m$ there are $\frac{(1 + N -
    1)^2}{N^2} - 2 = -1$, which makes $m(1 - \alpha^2) = m\beta^2$ with the first term. What is left is
    $\beta^2[\frac1{N^2} - \frac2N + \frac{m(N-1)}{N^2(m-2)}]$. Over m it is $\beta^2[1 + \frac{(1 - 2N)(m - 2) + m(N -
    1)}{N^2m(m-2)}]$, where the numerator is $N(4 - m) - 2$. The expectation of the whole, found without the six, is
    the same.
    """
    chi_square_means()
    one, product = mean(SCALE), mean(PRODUCT)
    others = (N - 1) / N * one
    second = ((N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * one**2) / N**2 * m
    six = (
        m
        + mean(SCALE**2 * h**2) / N**2
        + second
        - 2 * mean(SCALE * PRODUCT) / N
        - 2 * others * product
        + cross * others * product / N
    )
    stated = (1 - alpha**2) * (1 + (N * (four - m) - two) / (N**power * m * (m - 2)))
    require(vanishes(six / m - stated), "line 242")
    expected_loss(four, two)
    return MOMENTS
