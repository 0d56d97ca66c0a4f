"""Replays of the claims in ``gradient``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclosed
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.minimiser import thresholds
from paper_checks.stored_values import Values, fractions


@replay("rolora/lem-A.10")
def lem_A_10_as_printed(values: Values) -> Violation:
    """One client, delta = 3/5: a lower bound of the probability that the printed bound fails, against 2 q^-10.

    Across a, in the plane of a and a*, the gradient is -2 delta s R |b*|^2, m R a chi-square of m - 1 degrees of
    freedom independent of s, and its expectation a number, or by (49) -2 delta s |b*|^2. Given s, they are that near
    for a range of R, whose density is bounded; and |s - 4/5| <= eps' 3/5 but for a probability of at most (1 +
    eps'^2)^(-m/2), which is at most 1 / (1 + m eps'^2 / 2).
    """
    at = thresholds(values)
    enough = assuming(Hypothesis("samples, for the mode", at.m, ">=", 5))
    (e_0, e_1, e_2), m, k = at.e, at.m, Fraction(at.m - 1, 2)
    if e_2 >= (1 - e_0) * (1 - e_1):
        raise ValueError("thresholds too large for this bound")
    tilde, level = e_2 / (1 - e_0), e_2 / ((1 - e_0) * (1 - e_1))
    room = tilde * (level**2 + level) / (Fraction(4, 5) - level * Fraction(3, 5))
    # Far from the mode the density of chi-square is at most that at it, 1/sqrt(8 pi (k - 1)) (Stirling), pi > 3.
    within = 2 * room * m / enclosed("sqrt", 24 * (k - 1))[0]
    outside = 1 / (1 + m * level**2 / 2)
    assumes = (*at.assumes, Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1), *enough)
    return Violation(
        1 - within - outside,
        2 * at.q[0] ** -10,
        assumes=assumes,
        reads="one client, eps_3 = eps_2, m = C q samples, delta = 3/5; a lower bound of the probability of failure, "
        "whether (49) or the mean over all samples is meant, which for every C tends to 1 as eps_2 to 0, and 2 q^-10",
    )


@replay("rolora/lem-A.10@constant-of-the-thresholds")
def lem_A_10_few(values: Values) -> Violation:
    """Three samples of each client, delta = 3/5: a lower bound of the probability that (44) fails.

    z, w are X a, X u of all clients, n = 3N entries; the clients' T_i = z_i'w_i/|z_i|^2 have the density 2/pi (1 +
    t^2)^-2, so that P(T_1 >= x) > 1/(19 x^3) for x >= 1. With T_1 >= T N, and the sum of the others not negative, the
    mean is at least T. Across the plane of a and a* the deviation is 2 delta s |mean z - w| |g| / n, s = c + delta
    mean, with a normal g of d - 2 entries that z and w are independent of; both expectations are 0 there. |z|^2 >= 0.49
    n by the other clients, |w|^2 <= 2 n and |g|^2 >= (d - 2)/2 but for exp(-(n - 3)/11), exp(-n/7) and exp(-(d - 2)/11)
    (Chernoff).
    """
    e_0, e_1, e_2, e_3, K, T = fractions(values, "eps_0", "eps_1", "eps_2", "eps_3", "K", "T")
    N, m, d = (int(values[name]) for name in ("N", "m", "d"))
    n, net = N * m, enclosed("ln", 2 / e_0)
    level, tilde = e_2 / ((1 - e_0) * (1 - e_1)), e_3 / (1 - e_0)
    far = (Fraction(3, 5) * T * (Fraction(7, 10) * T - Fraction(1415, 1000))) ** 2 * Fraction(d - 2, 2) / n
    assumes = assuming(
        *(Hypothesis(f"eps_{k}", eps, ">", 0) for k, eps in enumerate((e_0, e_1, e_2, e_3))),
        *(Hypothesis(f"eps_{k}", eps, "<", 1) for k, eps in enumerate((e_0, e_1, e_2, e_3))),
        Hypothesis("d", d, ">", 2),
        Hypothesis("m, for that law", m, "=", 3),
        Hypothesis("n, for 0.49 n", n, ">=", 150),
        Hypothesis("N m, against K d log(2/eps_0)/eps_3^2", n, ">=", K * d * net[1] / e_3**2),
        Hypothesis("T, for the tail and a positive distance", T, ">=", 3),
        Hypothesis("squared deviation, over that of (44)", far / (tilde * (level**2 + level)) ** 2, ">", 1),
    )
    rest = sum((enclosed("exp", -Fraction(k, f))[1] for k, f in ((n - 3, 11), (n, 7), (d - 2, 11))), Fraction(0))
    q = max(enclosed("ln", N)[0] / min(e_1, e_2) ** 2, d * net[0] / e_2**2)
    return Violation(
        1 / (38 * (T * N) ** 3) - rest,
        2 * q**-10,
        assumes=assumes,
        given={"q": q},
        reads="m samples of each client, N m >= K d log(2/eps_0)/eps_3^2, delta = 3/5; a lower bound of "
        "the probability of failure, by that of one client's minimiser so far out that their mean is T "
        "delta off, and 2 q^-10; for any K a larger T and d do the same",
    )


@replay("rolora/eq-77")
def eq_77_as_printed(values: Values) -> Violation:
    """The last inequality, of (79): d^-10 < q^-10, that is q < d."""
    at = thresholds(values)
    return Violation(
        at.q[0], int(values["d"]), assumes=at.assumes, strict=True, reads="q, from below, against d: (79) needs q < d"
    )


@replay("rolora/eq-48")
def eq_48(values: Values) -> Violation:
    """One client with the same samples in both steps, along a, in units of |b*|^2.

    b = s b* solves a' S (s a - a*) = 0, so that a' grad = 2 s a' S (s a - a*) = 0 on all samples. The right side is
    2 (s - alpha) s with s = alpha + beta z'w/|z|^2 for independent normal z, w of m entries: 2 beta^2 E[1/|z|^2] on
    average, and the mean of 1/chi-square is 1/(m - 2).
    """
    (cosine,) = fractions(values, "alpha")
    m = int(Fraction(values["m"]))
    assumes = assuming(
        Hypothesis("m, for a finite mean", m, ">=", 3), Hypothesis("cosine of the angle", abs(cosine), "<", 1)
    )
    return Violation(
        2 * (1 - cosine**2) / (m - 2),
        0,
        assumes=assumes,
        reads="one client, cosine alpha of the angle of a and a*, |b*| = 1, m samples; mean along a of "
        "the right side of (49), 2 (1 - alpha^2) / (m - 2), where the left side is 0",
    )


PLANE = "one client, aa, au, uu: entries of X'X/m in the basis of a and u, a* = cosine a + sine u, b* = 1"


def own_samples(values: Values) -> tuple[tuple[Hypothesis, ...], dict[str, Fraction]]:
    """One client in the plane by X'X/m in the basis of a and u, a* = cosine a + sine u, b* = 1.

    For the same samples in both steps the mean gradient is 0 along a, and across it -2 cosine sine (1 - 1/m): with
    z = Xa, y = Xu it is the mean of -2 (cosine + sine z'y/|z|^2) sine (|y|^2 - (z'y)^2/|z|^2) / m, whose last bracket
    is chi-square with m - 1 degrees of freedom, independent of z'y/|z|^2, which is 0 on average.
    """
    aa, au, uu, cosine, sine = fractions(values, "aa", "au", "uu", "cosine", "sine")
    m = int(Fraction(values["m"]))
    assumes = assuming(
        Hypothesis("m, for such samples in the plane", m, ">=", 2),
        Hypothesis("entry of X'X/m along a", aa, ">", 0),
        Hypothesis("Gram determinant", aa * uu - au**2, ">", 0),
        Hypothesis("cosine^2 + sine^2", cosine**2 + sine**2, "=", 1),
        Hypothesis("sine", sine, ">", 0),
    )
    b = cosine + sine * au / aa
    moved = (b - cosine) * b, -sine * b
    along, across = 2 * (aa * moved[0] + au * moved[1]), 2 * (au * moved[0] + uu * moved[1])
    found = {"b": b, "along": along, "across": across, "mean": -2 * cosine * sine * (1 - Fraction(1, m))}
    found |= {"off along": along - 2 * moved[0], "off across": across - 2 * moved[1]}
    return assumes, found


MANY_SAMPLES = (
    "with infinitely many samples (an iteration is a continuous function of the clients' mean products of samples, "
    "which tend to the identity, so that it is the same with enough samples)"
)


def learning_rate(s: Fraction) -> tuple[Hypothesis, Hypothesis]:
    """A learning rate of at most 1/|b*|^2."""
    return Hypothesis("eta |b*|^2", s, ">", 0), Hypothesis("eta |b*|^2", s, "<=", 1)


@replay("rolora/eq-50")
def eq_50(values: Values) -> Violation:
    """(51) is at most 1/(1 - eps_0) times the norm of grad - 2 M b, for any net; (50) at least that of grad - mean."""
    assumes, at = own_samples(values)
    left = at["along"] ** 2 + (at["across"] - at["mean"]) ** 2
    right = at["off along"] ** 2 + at["off across"] ** 2
    assumes += (Hypothesis("b, for which (51) is 0", at["b"], "=", 0),)
    return Violation(
        left,
        right,
        assumes=assumes,
        reads=f"{PLANE}; b = cosine + sine au/aa = 0, so that the gradient is 0, and its mean over all "
        "samples is -2 cosine sine (1 - 1/m) along u; |grad - mean grad|^2 and the square of "
        "(51)",
    )


@replay("rolora/eq-52")
def eq_52_as_printed(values: Values) -> Violation:
    """The norm of a summand for w = u is at least the size of its mean, as E exp(|x|/t) >= 1 + |E x|/t.

    The m summands are alike, so that each has the mean of w'(grad - 2 M b)/2: across a half of -2 cosine sine (1 - 1/m)
    + 2 cosine sine, since b is cosine on average.
    """
    assumes, at = own_samples(values)
    cosine, sine = fractions(values, "cosine", "sine")
    assumes += (Hypothesis("b, for which (58) is 0", at["b"], "=", 0),)
    return Violation(
        abs(at["mean"] + 2 * cosine * sine) / 2,
        0,
        assumes=assumes,
        reads=f"{PLANE}; w = u; the norm of (52) from below, by the size of the mean of a summand, cosine sine / m, "
        "and (58) for any constant, where b = cosine + sine au/aa = 0",
    )


@replay("rolora/eq-59")
def eq_59_as_printed(values: Values) -> Violation:
    """At b* = 0 the minimisers and M are 0, so that the event of (59) is 0 >= 0, and certain."""
    size, e_3, rate = fractions(values, "b", "eps_3", "c_5")
    n = int(values["samples"])
    assumes = assuming(
        Hypothesis("|b*|, for which both sides of the event are 0", size, "=", 0),
        Hypothesis("eps_3", e_3, ">", 0),
        Hypothesis("eps_3", e_3, "<", 1),
        Hypothesis("N m", n, ">=", 1),
        Hypothesis("c_5", rate, ">", 0),
    )
    return Violation(
        1,
        2 * enclosed("exp", -rate * e_3**2 * n)[1],
        assumes=assumes,
        reads="P(0 >= 0) and (61); for a smaller c_5 more samples do the same",
    )


def nearly_across(values: Values, share: Fraction) -> tuple[tuple[Hypothesis, ...], Fraction]:
    """One client in the plane, a* nearly across a: what is assumed, and a bound of the probability of a near gradient.

    With T = z / chi_m and R = chi^2_(m-1) / m, independent, s = cosine + delta T: along u the gradient misses its mean
    over all samples by 2 delta |s R - cosine (m-1)/m|, and |M||b| is delta |s| (1 + T^2)^(1/2). Let 10 cosine < |T| < 1
    and R > 1/2: then that is more than 2 share |M||b|. The density of T is at most (m/6)^(1/2); 2^(m/2) >= 1 + m/3;
    Chebyshev for R.
    """
    (cosine,) = fractions(values, "cosine")
    m = int(values["m"])
    assumes = assuming(
        Hypothesis("cosine", cosine, ">", 0),
        Hypothesis("cosine", cosine, "<", 1),
        Hypothesis("m, for Chebyshev", m, ">=", 3),
        Hypothesis("least deviation over its bound", (9 - 10 * cosine**2) * (1 - 3 * share) / 2, ">", 1),
    )
    near = 20 * cosine * enclosed("sqrt", Fraction(m, 6))[1]
    return assumes, near + Fraction(3, 3 + m) + 2 * (m - 1) / (Fraction(m, 2) - 1) ** 2


def inside(*numbers: tuple[str, Fraction]) -> tuple[Hypothesis, ...]:
    """That thresholds lie between 0 and 1."""
    return assuming(
        *(Hypothesis(name, e, ">", 0) for name, e in numbers), *(Hypothesis(name, e, "<", 1) for name, e in numbers)
    )


@replay("rolora/eq-62")
def eq_62_as_printed(values: Values) -> Violation:
    """A lower bound of the probability, against (64) for c_5 >= 1/30."""
    e_0, e_3 = fractions(values, "eps_0", "eps_3")
    thresholds = inside(("eps_0", e_0), ("eps_3", e_3))
    assumes, missed = nearly_across(values, e_3)
    right = 2 * (1 + 2 / e_0) ** 2 * enclosed("exp", -(e_3**2) * int(values["m"]) / 30)[1]
    return Violation(
        1 - missed,
        right,
        assumes=(*thresholds, *assumes),
        reads="one client, d = 2, cosine of the angle of a and a*, m samples; a lower bound of the "
        "probability, and (64) for c_5 = 1/30; a smaller cosine and more samples do the same for any "
        "c_5",
    )


@replay("rolora/eq-65")
def eq_65_as_printed(values: Values) -> Violation:
    """(66) is 2 eps_3/(1 - eps_0) |M||b|; a lower bound of the probability that the gradient is farther off."""
    e_0, e_2, e_3 = fractions(values, "eps_0", "eps_2", "eps_3")
    thresholds = inside(("eps_0", e_0), ("eps_2", e_2), ("eps_3", e_3))
    assumes, missed = nearly_across(values, e_3 / (1 - e_0))
    m, q = int(values["m"]), [2 * ln / e_2**2 for ln in enclosed("ln", 2 / e_0)]
    enough = Hypothesis("m, against q", m, ">=", q[1])
    right = 2 * (1 + 2 / e_0) ** 2 * enclosed("exp", -(e_3**2) * m / 30)[1] + q[0] ** -10
    return Violation(
        1 - missed,
        right,
        assumes=(*thresholds, *assumes, enough),
        reads="one client, d = 2, cosine of the angle of a and a*, m samples; a lower bound of the "
        "probability that the gradient is farther from its mean over all samples than (66), and what is "
        "allowed with c_5 = 1/30; a smaller cosine and more samples do the same for any c_5 and any "
        "constant in m = Omega(q)",
    )


@replay("rolora/eq-65@on-the-events")
def eq_65_events(values: Values) -> Violation:
    """(67) against (68) for a b* across a, so that a'(b - g) = 0; squares, over the length of b and the factor.

    In the plane of a and u, with a* = c a + delta u and b = (c + kappa delta) b*, the matrix of (67) is
    (kappa delta a - delta u) b*'.
    """
    sine, level, kappa = fractions(values, "sine", "level", "kappa")
    assumes = (
        Hypothesis("delta", sine, ">", 0),
        Hypothesis("delta", sine, "<", 1),
        Hypothesis("|b - g| over delta |b*|, against eps'", abs(kappa), "<=", level),
    )
    return Violation(
        (kappa**2 + 1) * sine**2,
        sine**2,
        assumes=assumes,
        reads="b* of length 1 across a, delta = sine, level = eps', b - g = kappa delta b*; squares of "
        "the operator norm of (67), delta^2 (1 + kappa^2), and of the bracket of (68), "
        "delta^2",
    )
