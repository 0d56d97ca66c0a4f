"""Appendix A.3, proof of Lemma A.10: the gradient as a sum (eqs. (45) to (61))."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, log
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Best, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, UNIT, tried
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.rolora.measurements.expectations import mean_of_form
from paper_checks.rolora.measurements.laws import (
    BEST_C5,
    chi_square_tails,
    discrete_norm,
    gaussian_product_norm,
    orlicz_norm,
    student_tail,
)
from paper_checks.rolora.measurements.own_samples import own_samples
from paper_checks.rolora.measurements.second_iteration import least_values

Array = NDArray[np.float64]

NAMES = "x:4 y:4 a0 a1 t0 t1 b0 c0 w0 w1"


def two_clients() -> dict[str, sympy.Matrix]:
    """Return symbols of two clients with two samples of two entries, a, a*, w, and b and b* of one entry."""
    symbols = sympy.symbols(NAMES)
    names = ("X", "Y", "a", "truth", "b", "own", "w")
    sizes = (4, 4, 2, 2, 1, 1, 2)
    found, place = {}, 0
    for name, size in zip(names, sizes, strict=True):
        entries = symbols[place : place + size]
        found[name] = sympy.Matrix(2, 2, entries) if size == 4 else sympy.Matrix(entries)
        place += size
    return found


def points_of(context: Context) -> list[Point]:
    """Return values for all symbols."""
    return generic_points(context, sympy.symbols(NAMES), 3)


@identities(
    "rolora/eq-45",
    where=r"Appendix A.3, eqs. (45) to (47), with $\bar a$ instead of the a on the right in our copy of the paper",
    says=r"""$\nabla_al(a,\bar b) = \frac2{Nm}\sum_i(X_i^\top X_ia\bar b^\top\bar b - X_i^\top Y_i\bar b) =
    \frac2{Nm}\sum_i(X_i^\top X_ia\bar b^\top\bar b - X_i^\top X_ia^*b^{*\top}\bar b) = \frac2{Nm}\sum_iX_i^\top
    X_i(a\bar b^\top - a^*b^{*\top})\bar b$.""",
    measure=points_of,
    mutants=[{"factor": 1.0}, {"factor": 4.0}, {"sign": 1}],
    expect=("holds", "proof"),
    intended=Intended(
        "literal", r"“$\nabla_al(a, \bar b)$” on the left of (45); (67) and (83) have a: $\bar a$ is read as a"
    ),
)
def eq_45(points: list[Point], factor: float = 2.0, sign: int = -1) -> Equations:
    r"""Sympy's derivative of the squared norm, with $Y_i = X_ia^*b^{*\top}$, is the stated one."""
    one = two_clients()
    a, b, target = one["a"], one["b"], one["truth"] * one["own"].T
    off = [X * target - X * a * b.T for X in (one["X"], one["Y"])]
    loss = sum((residual.T * residual).trace() for residual in off) / sympy.Integer(4)
    labels = sum((X.T * X * target * b for X in (one["X"], one["Y"])), sympy.zeros(2, 1))
    first = sum((X.T * X * a * (b.T * b)[0] for X in (one["X"], one["Y"])), sympy.zeros(2, 1)) + sign * labels
    last = sum((X.T * X * (a * b.T - target) * b for X in (one["X"], one["Y"])), sympy.zeros(2, 1))
    for k in range(2):
        slope = sympy.diff(loss, a[k])
        for number, form in ((45, first), (47, last)):
            yield Equation(f"({number}), entry {k}", slope, rational(factor) / 4 * form[k])
    return points, (
        "two clients, two samples each, two inputs and one output, any entries: enough, since each side is a sum "
        "over clients, samples and outputs of terms with at most two inputs"
    )


ZERO_MINIMISER = {"m": "4", "cosine": "3/5", "sine": "4/5", "aa": "1", "au": "-3/4", "uu": "1"}
"""Samples whose minimiser is 0."""


@claim(
    "rolora/eq-50",
    where=r"Appendix A.3, eqs. (50) and (51), with $\bar a$ instead of the a in M and $x_{i,j}$ instead of the row "
    r"$x_{i,j}^\top$ before it in our copy of the paper; the summands are those of (52) and (59)",
    says=r"""For an $\epsilon_0$-net $\mathcal N$ of the unit sphere $\|\nabla_al - E[\nabla_al]\| \le
    \frac1{1-\epsilon_0}\max_{w \in \mathcal N}|w^\top\nabla_al - w^\top E[\nabla_al]| \le
    \frac1{1-\epsilon_0}\frac2{Nm}\max_{w \in \mathcal N}|\sum_{i,j}(x_{i,j}^\top w)(x_{i,j}M)\bar b - w^\top M\bar b|$,
    $M = a\bar b^\top - a^*b^{*\top}$.""",
    measure=points_of,
    readings=(
        LITERAL,
        Reading(
            "expectation of (49)",
            r"(50) and (51) in Algorithm 2 with $2(a\bar b^\top - a^*b^{*\top})\bar b$, (49), for $E[\nabla_al]$; the "
            "sum of (51) is over both terms.",
            {"of": "given b"},
            "(51) puts (49) for the expectation; it prints no bracket after the sum, and (59) does.",
            ({"inside": False}, {"factor": 1.0}),
        ),
        Reading(
            "samples independent of b",
            r"(50) and (51) for samples that $\bar b$ is independent of, given $\bar b$; the sum of (51) is over both "
            "terms.",
            {"of": "fresh"},
            "Then (48) and (49) hold as well; Lemma 5.3 counts the samples of each updating step.",
            ({"inside": False}, {"factor": 1.0}),
        ),
    ),
    uses=("rolora/eq-45", "rolora/eq-48", "rolora/lem-A.7"),
    because=r"$\bar b$ depends on the same samples: where it is 0, so is the right side, but not the mean gradient. "
    "(51) lacks a bracket of (59).",
    expect=("holds", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(83) “uses $E[\nabla_al(a, \bar b)] = 2(a\bar b^\top - a^*b^{*\top})\bar b$”: E is taken with $\bar "
        "b$ fixed; (51) subtracts it",
    ),
    print="unstated",
)
def eq_50(points: list[Point], factor: float = 2.0, inside: bool = True, of: str = "all") -> Evidence:
    """(50) is Lemma A.7; the gradient less (49) is the double sum by expansion, so (51) is even an equality.

    Args:
        points: values of the entries.
        factor: printed as 2.
        inside: whether the expectation is subtracted from every summand.
        of: whether the expectation is over all samples of Algorithm 2, the expression (49), or given b.
    """
    if of == "all":
        own = own_samples(ZERO_MINIMISER)
        left, right = own.deviation(own.mean), own.deviation(own.stated)  # the second: (51) but for 1/(1 - eps_0)
        chain = Relation("(50), (51), squares", float(left), float(right), 1e-12, at_most=True, case=ZERO_MINIMISER)
        scope = "one client of Algorithm 2 in the plane; a net of any threshold below 1; the sum over one term or both"
        return judge_relations([chain], scope)
    one = two_clients()
    moved, w = (one["a"] * one["b"].T - one["truth"] * one["own"].T) * one["b"], one["w"]
    rows = [X[j, :] for X in (one["X"], one["Y"]) for j in range(2)]
    slope = sum((X.T * X * moved for X in (one["X"], one["Y"])), sympy.zeros(2, 1)) / 2
    mean = 2 * moved
    if of == "fresh":
        # For b given, every product of two entries of X is replaced by its mean.
        entries = [entry for row in rows for entry in row]
        mean = slope.applyfunc(lambda part: mean_of_form(part, entries))
    left = (w.T * (slope - mean))[0]
    products = sum((row * w)[0] * (row * moved)[0] for row in rows)
    right = products - (len(rows) if inside else 1) * (w.T * moved)[0]
    return judge_identity(
        [Equation("(51) before the maximum", left, rational(factor) / 4 * right)],
        points,
        "two clients, two samples each, two inputs and one output, any entries: enough, as for (45)",
    )


LONGER_BY = (1.0, 1.5, 10.0)

COSINES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def centred_product_norm(correlation: float) -> float:
    r"""Return the $\psi_1$ norm of $zw - \rho$ for standard normal z, w of correlation $\rho \ge 0$.

    In polar coordinates $zw = Qk$ with k a function of the angle and Q exponential of mean 2; the mean over Q is in
    closed form on either side of $Qk = \rho$.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, 4001)[:-1]
    k = np.cos(angles) * np.cos(angles - np.arccos(np.clip(correlation, -1.0, 1.0)))
    against, along = -k[k <= 0.0], k[k > 0.0]
    turn = correlation / along

    def mean(rate: float) -> float:
        far = np.exp(rate * correlation) / (1.0 - 2.0 * rate * against)
        below = np.exp(rate * correlation) * -np.expm1(-turn * (0.5 + rate * along)) / (1.0 + 2.0 * rate * along)
        above = np.exp(-rate * correlation - turn * (0.5 - rate * along)) / (1.0 - 2.0 * rate * along)
        return float((far.sum() + below.sum() + above.sum()) / len(k))

    return orlicz_norm(mean, 1.0 / (1.0 + correlation))


@claim(
    "rolora/eq-52",
    where=r"Appendix A.3, eqs. (52) to (58), with $\bar a$ instead of the a in M and $x_{i,j}$ instead of the row "
    r"$x_{i,j}^\top$ before it in our copy of the paper",
    says=r"""With $M = a\bar b^\top - a^*b^{*\top}$ the summands of (51) have $\|(x_{i,j}^\top w)(x_{i,j}M\bar b) -
    w^\top M\bar b\|_{\psi_1} \le \|(x_{i,j}^\top w)(x_{i,j}M\bar b)\|_{\psi_1} + \|w^\top M\bar b\|_{\psi_1} \le
    \|(x_{i,j}^\top w)(x_{i,j}M\bar b)\|_{\psi_1} + \frac{|w^\top M\bar b|}{\log2} \le c_2\|w\|\|M\|_{op}\|\bar b\| +
    \frac{|w^\top M\bar b|}{\log2} \le c_2\|w\|\|M\|_{op}\|\bar b\| + \frac{\|w\|\|M\bar b\|}{\log2} \le
    c_2\|w\|\|M\|_{op}\|\bar b\| + \frac{\|w\|\|M\|_{op}\|\bar b\|}{\log2} = c_4\|M\|_{op}\|\bar b\|$, where $c_4 = c_2
    + \frac1{\log2}$ is some absolute constant greater than 1; a constant c has $\|c\|_{\psi_1} = \frac{|c|}{\log2}$
    (rolora/def-A.2).""",
    measure=lambda context: np.array([[gaussian_product_norm(c), centred_product_norm(c), c] for c in COSINES]),
    readings=(
        LITERAL,
        Reading(
            "samples independent of b",
            r"For samples that $\bar b$ is independent of, given $\bar b$, the summands of (51) have the norm that "
            r"(52) to (58) give, with $c_4 = c_2 + \frac1{\log2}$.",
            {"own": False},
            r"The right side contains $\bar b$ but no samples, and the norm is of $x_{i,j}$ only.",
            ({"c4": 3.9}, {"c2": 2.6}),
        ),
    ),
    vary=("c4",),
    uses=("rolora/def-A.2", "rolora/eq-22"),
    because=r"$\bar b$ depends on the same samples: the norm is a positive number, but the right side is 0 where $\bar "
    "b$ is.",
    expect=("holds", "proof"),
    intended=Intended(
        "samples independent of b",
        r"“m be the number of samples for each updating step” (Lemma 5.3): $\bar b$ is fixed for "
        "the samples of the gradient",
    ),
    print="unstated",
)
def eq_52(norms: Array, c2: float = 8 / 3, c4: float = 8 / 3 + 1 / log(2.0), own: bool = True) -> Evidence:
    r"""All lines for w at several angles to M b, in units of |M b|.

    Args:
        norms: of a summand and of the centred one, and the cosine of the angle.
        c2: of (55).
        c4: of (58).
        own: whether $\bar b$ is made of the same samples, as in Algorithm 2. Then the norm is at least the size of the
            mean, which for w along u is half of the distance of $\nabla_al$ from (49).
    """
    if own:
        samples = own_samples(ZERO_MINIMISER)
        cosine, sine = samples.truth
        mean = (samples.mean[1] + 2 * cosine * sine) / 2
        line = Relation("(52) to (58)", float(mean), abs(float(samples.b)), at_most=True, case=ZERO_MINIMISER)
        return judge_relations([line], "one client of Algorithm 2 in the plane; a multiple of the right side")
    whole, centred, angle = (np.tile(column, len(LONGER_BY)) for column in norms.T)
    length = np.repeat(LONGER_BY, len(norms))  # |M| |b| over |M b|
    constant = np.array([discrete_norm(np.array([c]), np.ones(1), 1) for c in angle])
    lines = [
        centred,
        whole + constant,  # (53)
        whole + angle / log(2.0),
        c2 * length + angle / log(2.0),
        c2 * length + 1.0 / log(2.0),
        (c2 + 1.0 / log(2.0)) * length,
        c4 * length,  # (58)
    ]
    left, right = np.concatenate(lines[:-1]), np.concatenate(lines[1:])
    return judge_inequality(
        left,
        right,
        1e-6,
        quotient=True,
        case=lambda index: {"line": index // len(angle), "cosine": float(angle[index % len(angle)])},
        lines=steps_of(lines),
        domain=tried(("cosine of the angle of w to M b", angle, UNIT)),
        scope=f"c_2 = 8/3, c_4 = {c4:.4g}, which is {'' if c4 > 1.0 else 'not '}greater than 1; the norm itself is at "
        f"most {centred.max():.4f} |M b|; |M| |b| from 1 to {LONGER_BY[-1]:g} times |M b|",
        printed=f"every line with c_4 = {c4:.4g}",
    )


def sum_tails(_: Context) -> tuple[Array, Array]:
    """Return exact tails of the sum over N m |M||b|: b independent of the samples, w along M b; then own samples.

    For one client of Algorithm 2 and w = a the sum is T over the root of 1 + T^2, with T as in ``laws``.
    """
    fresh, own = [], []
    for e, n in product((0.001, 0.01, 0.1, 0.5, 0.9, 0.999), (1, 2, 10, 1000, 30_000, 10**8)):
        fresh.append((float(np.logaddexp(*chi_square_tails(e, n))), e, float(n)))
        own.append((student_tail(e / (1.0 - e**2) ** 0.5, n), e, float(n)))
    return np.array(own), np.array(fresh)


def judge_every_a(c5: float, columns: float) -> Evidence:
    r"""Judge whether $\|G - I\|_{op} \ge \epsilon_3$, as the event of (59) needs, G the mean of $x_{i,j}x_{i,j}^\top$.

    The singular values of all samples are within $\sqrt d + y$ of $\sqrt n$, n = Nm, but for a probability of
    $2e^{-y^2/2}$ (Davidson and Szarek); $y^2 = 2c_5\epsilon_3^2n$.
    """
    e, d, e0 = np.array(list(product((0.001, 0.1, 0.5, 0.9, 0.999), (1, 10, 1000), (0.01, 0.5, 0.999)))).T
    n = columns * d * np.log(2.0 / e0) / e**2
    off = np.sqrt(d / n) + (2.0 * c5) ** 0.5 * e
    return judge_inequality(
        2.0 * off + off**2,
        e,
        1e-12,
        quotient=True,
        case=lambda index: {"eps_3": float(e[index]), "d": int(d[index]), "eps_0": float(e0[index])},
        domain=tried(("eps_3", e, OPEN_UNIT), ("d", d, FROM_ONE), ("eps_0", e0, OPEN_UNIT)),
        scope=f"N m = {columns:g} d log(2/eps_0)/eps_3^2, at every a, by a bound on the singular values of all samples",
        printed=f"|X'X/(Nm) - I| < eps_3 but for a probability of 2 exp(-{c5:g} eps_3^2 N m)",
    )


SECOND: dict[str, Any] = {
    "cosine": "3/5",
    "sine": "4/5",
    "s": "1/2",
    "n": 1_000_000,
    "d": 10_000_000,
    "room": "1/100",
    "eps_3": "1/4",
    "c_5": "1/1000",
}
"""One client: the angle, the step, the samples; a threshold, and a constant that is too large for it."""


@claim(
    "rolora/eq-59",
    where=r"Appendix A.3, eqs. (59) to (61) with the sentence before them, with $\bar a$ instead of the a in M and "
    r"$x_{i,j}$ instead of the row $x_{i,j}^\top$ before it in our copy of the paper",
    says=r"""The summands in (51) are mutually independent and have zero mean. For any fixed $w \in \mathcal
    N$, $\epsilon_3 \in (0, 1)$ and some absolute constant $c_5$:
    $P\{|\sum_{i,j}[(x_{i,j}^\top w)(x_{i,j}M) - w^\top M]\bar b| \ge \epsilon_3Nm\|M\|_{op}\|\bar b\|\} \le
    2\exp(-c\min(\frac{\epsilon_3^2Nm}{c_4^2}, \frac{\epsilon_3Nm}{c_4})) = 2\exp(-c_5\epsilon_3^2Nm)$, $M = a\bar
    b^\top - a^*b^{*\top}$.""",
    measure=sum_tails,
    readings=(
        LITERAL,
        Reading(
            "for a positive K",
            r"For $K = \delta^t\|b^*\| > 0$ and a independent of the samples: (59) and (61), the second as a bound.",
            {"summands": False},
            "With K = 0, Theorem A.8 is applied to a threshold t of 0, and (28), the same for one client, is 0/0.",
            ({"c5": 0.6}, {"power": 1.0}),
        ),
        Reading(
            "samples independent of b",
            r"For samples that $\bar b \ne 0$ is independent of, $M \ne 0$, any fixed $w \in \mathcal N$ and "
            r"$\epsilon_3 \in (0, 1)$ that probability is at most $2\exp(-c_5\epsilon_3^2Nm)$ with $c_5 = \frac12(1 - "
            r"\log2)$, which cannot be larger.",
            {"own": False, "summands": False, "c5": BEST_C5},
            "(52) to (58) and the independent summands of (59) need such samples; Algorithm 2 makes b of the same "
            "ones.",
            ({"c5": 0.16}, {"power": 1.9}),
        ),
        Reading(
            "same samples in all iterations",
            r"There is an absolute constant $c_5 > 0$ with (59) and (61) at every $a^t$ of Algorithm 2, all of whose "
            r"iterations use the same samples, for every N, m, d, fixed w and $\epsilon_3 \in (0, 1)$.",
            {"again": True, "summands": False},
            "So Algorithm 2 reads by its letter. In the two readings above a is independent of the samples, as in the "
            "first iteration or with fresh samples in each.",
            ({"power": 1.0},),
        ),
        Reading(
            "with the samples of Lemma A.10",
            r"Where $K = \delta^t\|b^*\| > 0$ and $\bar b \ne 0$, for $Nm \ge "
            r"145\frac{d\log(2/\epsilon_0)}{\epsilon_3^2}$, (59) and (61) hold, the second as a bound, with $c_5 = "
            r"\frac9{200}$ at every $a^t$, even if all iterations use the same samples.",
            {"enough": True, "summands": False, "c5": 0.045},
            r"(59) is a line of the proof of Lemma A.10, which has $Nm = \Omega(d\log(2/\epsilon_0)/\epsilon_3^2)$.",
            ({"c5": 0.06}, {"columns": 50.0}),
        ),
    ),
    because=r"$\bar b$ depends on the same samples, so the summands are dependent and their mean is not 0. The bound "
    "still holds unless $b^* = 0$.",
    best={
        "c5": Best(BEST_C5 / 4.0, "proved; for samples that b is independent of, (1 - log 2)/2, the largest possible"),
        "power": Best(2.0, r"proved: for small $\epsilon_3$ the tails are those of a normal law"),
    },
    vary=("c5", "power"),
    uses=("rolora/thm-A.8", "rolora/eq-52", "rolora/eq-48"),
    expect=("holds", "proof"),
    intended=Intended(
        "samples independent of b",
        r"“The summands in (51) are mutually independent and have zero mean” (before (59)): $\bar "
        "b$ is fixed; $b^* = 0$ is degenerate",
    ),
    print="unstated",
)
def eq_59(
    found: tuple[Array, Array],
    c5: float = BEST_C5 / 4.0,
    power: float = 2.0,
    own: bool = True,
    again: bool = False,
    summands: bool = True,
    enough: bool = False,
    columns: float = 145.0,
) -> Evidence:
    r"""Exact tails; c_5 is not named in the paper.

    Args:
        found: tails of one client's own samples, and of samples that $\bar b$ is independent of.
        c5: the constant.
        power: of $\epsilon_3$.
        own: whether $\bar b$ is made of the same samples, as in Algorithm 2.
        again: whether a is as well, in the second iteration.
        summands: whether the summands must have the mean 0 for this $\bar b$.
        enough: whether there are as many samples as Lemma A.10 asks for; every a at once is judged.
        columns: the constant there.
    """
    if enough:
        return judge_every_a(c5, columns)
    if summands:
        samples = own_samples(ZERO_MINIMISER)
        cosine, sine = samples.truth
        line = Relation(
            "mean of a summand", abs(float(samples.mean[1] + 2 * cosine * sine)) / 2, 0.0, case=ZERO_MINIMISER
        )
        return judge_relations([line], "one client of Algorithm 2 in the plane, w = u")
    if again:
        n, e, rate = (float(Fraction(SECOND[name])) for name in ("n", "eps_3", "c_5"))
        found_least, missed = least_values(SECOND)
        tail = log(1.0 - missed) if found_least.deviation >= e else -inf
        line = Relation(
            "log of a lower bound of the probability",
            tail,
            log(2.0) - rate * e**power * n,
            1e-12 * rate * n,
            at_most=True,
            case=SECOND,
        )
        return judge_relations(
            [line], "one client, w = a*, the second iteration on the samples of the first, d = 10 Nm"
        )
    rows = found[0 if own else 1]
    left = rows[:, 0]
    which = "of one client whose minimiser is b, w = a" if own else "samples independent of b, w along M b"
    which += ", a independent of the samples"
    return judge_inequality(
        left,
        log(2.0) - c5 * rows[:, 1] ** power * rows[:, 2],
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: {"eps_3": float(rows[index, 1]), "samples": int(rows[index, 2])},
        domain=tried(("eps_3", rows[:, 1], OPEN_UNIT), ("N m", rows[:, 2], FROM_ONE)),
        scope=f"{len(rows)} exact tails, {which}",
        printed=f"log P <= log 2 - {c5:.4g} eps^{power:g} N m",
    )
