"""Replays of the claims in ``freezing`` and ``freezing_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
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
        reads="N = 2, m samples, cosine alpha; bracket of (208), and N^2 E[z_2^2] = E[s_2^2]",
    )


@replay("rolora/eq-205")
def eq_205_as_printed(values: Values) -> Violation:
    """E[1/chi^2_m] is at least 1/m (Jensen), and printed as 1/(m - 2)."""
    m = int(values["m"])
    assumes = assuming(Hypothesis("m", m, ">=", 1), Hypothesis("m, for the quotient", m, "!=", 2))
    return Violation(
        Fraction(1, m),
        Fraction(1, m - 2),
        assumes=assumes,
        reads="m samples; E[R^2], from below, and its printed value",
    )


def _mean_size(values: Values) -> tuple[Fraction, Fraction, int, tuple[Hypothesis, ...]]:
    """A lower bound of E|v'u_2| for one sample, the constant, N, and what is assumed.

    s_i = alpha + beta R_i, R_i = x_(i,2)/x_(i,1) of Cauchy's law. The sum of N - 1 of them has the law of (N - 1) s_2,
    and is independent of the first client, whose (X_1 a)'(X_1 a*) has the mean alpha. P(|R| > r) = (2/pi) arctan(1/r)
    is at least 1/(2r) for r >= 1, as arctan is concave; so E min(|R|, 2^k) is at least k/4, k = halvings. And beta is
    at least 1 - |alpha|.
    """
    alpha, constant = fractions(values, "alpha", "constant")
    N, m, k = (int(values[name]) for name in ("N", "m", "halvings"))
    assumes = (
        Hypothesis("N", N, ">=", 2),
        Hypothesis("m", m, "=", 1),
        Hypothesis("halvings", k, ">=", 1),
        Hypothesis("|alpha|", abs(alpha), "<", 1),
        Hypothesis("constant", constant, ">", 0),
    )
    size = (1 - abs(alpha)) * Fraction(k, 4) - abs(alpha)
    return Fraction(N - 1, N) * abs(alpha) * size, constant, N, assumes


@replay("rolora/eq-230")
def eq_230_as_printed(values: Values) -> Violation:
    """The mean of |v'u_2|, with what is larger than 2^k cut off, passes any bound as k grows."""
    least, constant, _, assumes = _mean_size(values)
    return Violation(
        least,
        constant,
        assumes=assumes,
        reads="one sample, cosine alpha; E|v'u_2| from below, and a constant; more halvings pass any "
        "constant, so that v'u_2 has no mean",
    )


@replay("rolora/eq-237")
def eq_237_as_printed(values: Values) -> Violation:
    """As for (230): with one sample u_1'u_2 is v'u_2 / N, as s_1 |X_1 a|^2 = (X_1 a)'(X_1 a*)."""
    least, constant, N, assumes = _mean_size(values)
    return Violation(
        least / N,
        constant,
        assumes=assumes,
        reads="one sample, cosine alpha; E|u_1'u_2| from below, and a constant; more halvings pass any "
        "constant, so that u_1'u_2 has no mean",
    )


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
        reads="one client, x = Xa, y = Xu, a* = cos a + sine u; distance of (241) from (242)",
    )


@replay("rolora/prop-5.5@every-n-and-m")
def prop_5_5_every(values: Values) -> Violation:
    """Two clients or more with two samples: the mean with 1/chi^2_2 set to 0 where chi^2_2 < 2^-k, k = halvings.

    E[1/chi^2_2] is then at least the integral of exp(-1/2) / (2 y) over [2^-k, 1], k log(2) exp(-1/2) / 2 > k/5. The
    rest is as in the proof of the proposition.
    """
    N, m, k = (int(values[name]) for name in ("N", "m", "halvings"))
    (constant,) = fractions(values, "constant")
    assumes = assuming(
        Hypothesis("N", N, ">=", 2),
        Hypothesis("m", m, "=", 2),
        Hypothesis("halvings", k, ">=", 1),
        Hypothesis("constant", constant, ">", 0),
    )
    least = (m - 1 + (1 - Fraction(1, N)) ** 2 + Fraction((N - 1) * m * k, 5 * N**2)) / m
    return Violation(
        least,
        1 + constant / (N * m),
        assumes=assumes,
        reads="constant = K; expected loss over |b*|^2 delta_0^2, from below, with 1/chi^2_2 cut off "
        "where chi^2_2 < 2^-halvings, and 1 + K/(Nm); more halvings pass any K",
    )


@replay("rolora/s5-saturate")
def s5_saturate_as_printed(values: Values) -> Violation:
    """The objective at the best multiple of b*, entry by entry; the statement has it positive."""
    X, target, a, b_star = (
        [[Fraction(x) for x in row] for row in values["X"]],
        *([Fraction(x) for x in values[name]] for name in ("target", "a", "b")),
    )
    ours, theirs = ([sum(x * y for x, y in zip(row, v, strict=True)) for row in X] for v in (a, target))
    below = sum(u * u for u in ours)
    s = sum(u * v for u, v in zip(ours, theirs, strict=True)) / below if below else Fraction(0)
    value = sum((v * b - u * s * b) ** 2 for u, v in zip(ours, theirs, strict=True) for b in b_star)
    across = sum((a[i] * target[j] - a[j] * target[i]) ** 2 for i in range(len(a)) for j in range(i))
    assumes = (
        Hypothesis("|a|^2", sum(x * x for x in a), "=", 1),
        Hypothesis("|a*|^2", sum(x * x for x in target), "=", 1),
        Hypothesis("squared sine between a and a*", across, ">", 0),
        Hypothesis("|b*|^2", sum(b * b for b in b_star), ">", 0),
    )
    return Violation(
        0,
        value,
        assumes=assumes,
        strict=True,
        given={"X": X, "s": s},
        reads=f"X one sample, a = a^0, target = a*, b = b*; 0, against the objective at {s} b*, printed as larger",
    )
