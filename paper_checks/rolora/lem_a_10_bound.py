"""Appendix A.3, proof of Lemma A.10: the bound (eqs. (62) to (76))."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import exp, log, log1p, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import chi2

from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import EITHER_SIDE, FROM_ONE, OPEN_UNIT, POSITIVE, tried
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.rolora.measurements.failures import ABSOLUTE_SCOPE, failure_for_every_constant
from paper_checks.rolora.measurements.laws import BEST_C5, NODE_WEIGHTS, NODES, student_tail

Array = NDArray[np.float64]

NEARLY_ACROSS = {"cosine": "1/100000", "m": "100000", "eps_0": "1/2", "eps_3": "1/4"}
"""One client in the plane, a* nearly across a: its minimiser is small, and what it is off by is not."""


def most_that_keep(case: Mapping[str, str]) -> float:
    r"""Bound the probability from above that the gradient of `NEARLY_ACROSS` is near its mean over all samples.

    Along u it misses its mean by $2\delta|sR - \cos\frac{m-1}m|$, and $\|M\|_{op}\|\bar b\| = \delta|s|\sqrt{1 +
    T^2}$. Where $10\cos < |T| < 1$ and $R > \frac12$, the first is more than $2e$ times the second for $e \le \frac14$.
    """
    c, m = float(Fraction(case["cosine"])), int(case["m"])
    return float(np.exp(student_tail(1.0, m)) - np.expm1(student_tail(10.0 * c, m)) + chi2.cdf(0.5 * m, m - 1))


def column_tail(room: float, n: int, d: int) -> float:
    r"""Return $P(\|(S - I)v\| \ge room)$ for a unit vector v and S of n samples in d dimensions, room at most 1.

    Along v it is $\chi^2_n/n - 1$, across it $\sqrt{\chi^2_n\chi^2_{d-1}}/n$ with independent variables. With
    $room\sin\varphi$ along v the rest is smooth in $\varphi$.
    """
    angle = 0.5 * pi * NODES
    y = n * (1.0 + room * np.sin(angle))
    rest = (room * n * np.cos(angle)) ** 2 / y
    density = chi2.pdf(y, n) * n * room * np.cos(angle) * 0.5 * pi
    along = chi2.cdf(n * (1.0 - room), n) + chi2.sf(n * (1.0 + room), n)
    return float(along + (NODE_WEIGHTS * density) @ chi2.sf(rest, d - 1))


def _schur_beyond(apart: Array, t: Array, m: int) -> Array:
    """Return the probability that R is that far from 1, times the density of T at that size."""
    missing = chi2.sf(m * (1.0 + apart), m - 1) + chi2.cdf(m * (1.0 - apart), m - 1)
    return np.asarray(np.exp(log(2.0) - betaln(0.5, 0.5 * m) - 0.5 * (m + 1.0) * np.log1p(t**2)) * missing)


def plane_tail(room: float, m: int) -> float:
    r"""Return $\log P(\|(S - I)v\| \ge room)$ for v along $Ta - u$ in the plane, one client's own samples, room < 1.

    Along a it is -T and along u it is 1 - R, with $mR \sim \chi^2_{m-1}$, over the root of $1 + T^2$.
    """
    most = room / sqrt(1.0 - room**2)
    angle = 0.25 * pi * (1.0 + NODES)
    t = most * np.sin(angle)
    within = _schur_beyond(room * np.cos(angle), t, m) * most * np.cos(angle) * 0.25 * pi
    return float(np.log(np.exp(student_tail(most, m)) + NODE_WEIGHTS @ within))


def across_tail(room: float, m: int) -> float:
    r"""Return the log-probability for $u^\top(S - I)v$, from below: without T beyond 50."""
    most = min(50.0, 20.0 / sqrt(m))
    edge = min(most, sqrt(1.0 / room**2 - 1.0))  # beyond, R is never small enough; up to it, smooth in the angle
    angle = 0.25 * pi * (1.0 + NODES)
    parts = (
        (edge * np.sin(angle), edge * np.cos(angle) * 0.25 * pi),
        (edge + 0.5 * (most - edge) * (1.0 + NODES), 0.5 * (most - edge) * np.ones_like(angle)),
    )
    return float(
        np.log(sum((NODE_WEIGHTS * slope) @ _schur_beyond(room * np.sqrt(1.0 + t**2), t, m) for t, slope in parts))
    )


def column_tails(_: Context) -> dict[str, Array]:
    r"""Return log-probabilities that the deviation reaches eps_3 in some direction and in one; d, eps_0, eps_3, N m.

    From the mean over all samples, from (49) with b of the same samples, and samples that b is independent of. The
    one direction is u for one client's own samples, else M b.
    """
    fresh, own = [], []
    levels = (0.05, 0.3, 0.5, 0.9)
    for d, e, n in product((2, 5, 20, 200), levels, (2, 20, 400, 1500)):
        tail = log(max(column_tail(e, n, d), 1e-300))
        along = float(np.logaddexp(chi2.logsf((1.0 + e) * n, n), chi2.logcdf((1.0 - e) * n, n)))
        fresh += [(tail, along, d, e0, e, n) for e0 in (0.1, 0.5, 0.9)]
    for e, n in product(levels, (2, 20, 100, 1000)):
        own += [(plane_tail(e, n), across_tail(e, n), 2, e0, e, n) for e0 in (0.1, 0.5, 0.9)]
    e0, e = (float(Fraction(NEARLY_ACROSS[name])) for name in ("eps_0", "eps_3"))
    return {
        "all": np.array([(np.log1p(-most_that_keep(NEARLY_ACROSS)), -np.inf, 2, e0, e, int(NEARLY_ACROSS["m"]))]),
        "given b": np.array(own),
        "fresh": np.array(fresh),
    }


MEANT = {
    "all": "the mean over all samples, b of the same ones",
    "given b": "(49), b of the same samples",
    "fresh": "(49), samples that b is independent of",
}
"""Meanings of the expectation in (62)."""


@claim(
    "rolora/eq-62",
    where=r"Appendix A.3, eqs. (62) to (64), with $\bar a$ instead of the a in M in our copy of the paper",
    says=r"""$P\{\max_{w \in \mathcal N}|w^\top\nabla_al - w^\top E[\nabla_al]| \ge 2\epsilon_3\|M\|_{op}\|\bar b\|\}
    \le \sum_{w \in \mathcal N}P\{|w^\top\nabla_al - w^\top E[\nabla_al]| \ge 2\epsilon_3\|M\|_{op}\|\bar b\|\} \le
    2\exp(d\log(1 + \frac2{\epsilon_0}) - c_5\epsilon_3^2Nm)$, $M = a\bar b^\top - a^*b^{*\top}$.""",
    measure=column_tails,
    mutants=[{"c5": 0.06}],
    vary=("c5",),
    uses=("rolora/eq-59", "rolora/eq-32"),
    readings=(
        LITERAL,
        Reading(
            "expectation of (49)",
            r"(62) to (64) in Algorithm 2, a independent of the samples and $\delta^t\|b^*\| > 0$, with $2(a\bar "
            r"b^\top - a^*b^{*\top})\bar b$, (49), for $E[\nabla_al]$.",
            {"of": "given b"},
            "(51) puts (49) for the expectation, and (62) bounds (51).",
            ({"c5": 0.25}, {"net": -0.5}),
        ),
        Reading(
            "samples independent of b",
            r"(62) to (64) for samples that $\bar b \ne 0$ is independent of, $M \ne 0$.",
            {"of": "fresh", "c5": BEST_C5},
            "Then (48) and (49) hold as well, and the summands of (59) are independent.",
            ({"c5": 1.5}, {"net": 0.0, "c5": 0.6}),
        ),
    ),
    best={"c5": Best(BEST_C5 / 4.0, "proved; for samples that b is independent of, (1 - log 2)/2")},
    because=r"$\bar b$ depends on the same samples: where it is small, the gradient misses its mean by more than "
    r"$\|M\|\|\bar b\|$.",
    expect=("holds", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(83) “uses $E[\nabla_al(a, \bar b)] = 2(a\bar b^\top - a^*b^{*\top})\bar b$”: E is taken with $\bar "
        "b$ fixed; (62) sums (59), where (49) is subtracted",
    ),
    print="unstated",
)
def eq_62(found: dict[str, Array], of: str = "all", c5: float = BEST_C5 / 4.0, net: float = 1.0) -> Evidence:
    r"""The maximum over any net is at most the norm of the deviation, whose law is exact.

    Args:
        found: settings with the logarithm of that probability; of the mean over all samples, a lower bound.
        of: which expectation and which samples.
        c5: the constant of (61).
        net: factor of the dimension in (64).
    """
    rows = found[of]
    tail, at_point, d, e0, e, n = rows.T
    size = d * np.log1p(2.0 / e0)
    lines = [tail] if of == "all" else [tail, size + at_point]
    right = [log(2.0) + net * size - c5 * e**2 * n] * len(lines)
    left = np.concatenate(lines)
    names = ["(62) to (64)", "(63) to (64)"]
    return judge_inequality(
        left,
        np.concatenate(right),
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: NEARLY_ACROSS,
        lines=np.repeat(names[: len(lines)], len(rows)).tolist(),
        scope=f"{MEANT[of]}; d up to {d.max():g}; of {len(rows)} settings the bound says something in "
        f"{int((right[0] < 0).sum())}",
        domain=tried(
            ("eps_0", e0, OPEN_UNIT),
            ("eps_3", e, OPEN_UNIT),
            ("N m", n, FROM_ONE),
            ("d", d, FROM_ONE),
            settled={"N m": "for one sample the bound is above 1", "d": "a client in the plane"}
            if of == "given b"
            else {"N m": "for one sample the bound is above 1", "d": "for d = 1 there is one direction"},
        ),
        printed=f"log of {'a lower bound of ' if of == 'all' else ''}the probability",
    )


def chain_grid(_: Context) -> Array:
    """Return the sine of the angle, eps', and where in [-eps', eps'] the mean of the minimisers is."""
    grid = product((1e-6, 0.1, 0.6, 0.9, 0.999), (1e-6, 0.01, 0.05, 0.5, 3.0), (-1.0, -0.3, 0.0, 0.7, 1.0), (1.0, -1.0))
    return np.array(list(grid))


BEYOND = {"cosine": "1/100000", "m": "100000", "eps_0": "1/2", "eps_2": "1/10", "eps_3": "1/8"}
"""The client of `NEARLY_ACROSS`: its gradient is farther from its mean than (66), and m = 360 q."""

NEAR_MEAN = {"sine": "3/5", "level": "1/100", "kappa": "1/100"}
"""On the grid: (67) is larger than (68) however near b is to g."""


@claim(
    "rolora/eq-65",
    where=r"Appendix A.3, eqs. (65) to (76); our copy of the paper has $\bar a$ instead of a in (66), as in (48) "
    "to (64)",
    says=r"""Combining (42), (50) and (62), with probability at least $1 - 2\exp(d\log(1 + \frac2{\epsilon_0}) -
    c_5\epsilon_3^2Nm) - q^{-10}$, $\|\nabla_al - E[\nabla_al]\| \le \frac1{1-\epsilon_0}\max_{w \in \mathcal
    N}|w^\top\nabla_al - w^\top E[\nabla_al]| \le \frac{2\epsilon_3}{1-\epsilon_0}\|a\bar b^\top -
    a^*b^{*\top}\|_{op}\|\bar b\| = \frac{2\epsilon_3}{1-\epsilon_0}\|a(\bar b - g)^\top - (I_d -
    aa^\top)a^*b^{*\top}\|_{op}\|\bar b\| \le \frac{2\epsilon_3}{1-\epsilon_0}(\|a^\top(\bar b - g)\| + \|(I_d -
    aa^\top)a^*b^{*\top}\|_{op})\|\bar b\| \le \frac{2\epsilon_3}{1-\epsilon_0}(\|\bar b - g\| + \|(I_d -
    aa^\top)a^*\|\|b^*\|)\|\bar b\| = \frac{2\epsilon_3}{1-\epsilon_0}(\|\bar b - g\| + \delta^t\|b^*\|)\|\bar b - g +
    g\| \le \frac{2\epsilon_3}{1-\epsilon_0}(\|\bar b - g\| + \delta^t\|b^*\|)(\|\bar b - g\| + \|g\|) \le
    \frac{2\epsilon_3}{1-\epsilon_0}(\|\bar b - g\| + \delta^t\|b^*\|)(\|\bar b - g\| + \|b^*\|) =
    \frac{2\epsilon_3}{1-\epsilon_0}(\|\bar b - g\|^2 + \delta^t\|\bar b - g\|\|b^*\| + \|\bar b - g\|\|b^*\| +
    \delta^t\|b^*\|^2) \le \frac{2\epsilon_3}{1-\epsilon_0}((\epsilon')^2(\delta^t)^2 + \epsilon'(\delta^t)^2 +
    \epsilon'\delta^t + \delta^t)\|b^*\|^2 \le \frac{2\epsilon_3}{1-\epsilon_0}(\epsilon' + 1)^2\delta^t\|b^*\|^2 =
    2\tilde\epsilon(\epsilon' + 1)^2\delta^t\|b^*\|^2$.""",
    measure=chain_grid,
    readings=(
        LITERAL,
        Reading(
            "on the events",
            r"(65) to (76) on the events of (42) and (62); the same vector is meant by $E[\nabla_al]$ in (62) "
            "and (65).",
            {"of": "events"},
            "The lines combine both events, whose probabilities are in (62) and in Lemma A.9.",
            ({"one": 0.95},),
        ),
        Reading(
            "expectation of (49)",
            r"(65) to (76) with the printed probability, with $2(a\bar b^\top - a^*b^{*\top})\bar b$, (49), for "
            r"$E[\nabla_al]$, for a independent of the samples and $m = \Omega(q)$, as Lemma A.9 has it.",
            {"of": "given b"},
            "(62), which it combines, subtracts (49); the probability of (42) is that of Lemma A.9.",
            ({"one": 0.95},),
        ),
    ),
    uses=("rolora/eq-38", "rolora/eq-50", "rolora/eq-62", "rolora/lem-A.9"),
    importance="detail",
    because=r"$q^{-10}$ is the probability of Lemma A.9, which $m = Cq$ does not give. (68) prints $a^\top$ for the a "
    "of (67).",
    control=Form(
        r"On the events, with 2 for 1 in (76), and $a(\bar b - g)^\top$ in (68).",
        {"of": "events", "matrix": True, "one": 2.0},
    ),
    correction=Form(
        r"""With $a(\bar b - g)^\top$ in (68), as in (67), every line holds on the events of (42) and (62), up to (76),
        regardless of which vector $E[\nabla_al]$ means in (62) and in (65). The probability is that of both events:
        with (49) for $E[\nabla_al]$ and a independent of the samples at least $1 - 2\exp(d\log(1 + \frac2{\epsilon_0})
        - c_5\epsilon_3^2Nm) - p$, $c_5$ small enough for (62) (1/27 is), p that of failure in Lemma A.9, which for $m =
        Cq$ with an absolute C is above $q^{-10}$ for small $\epsilon_2$.""",
        {"of": "events", "matrix": True},
        mutants=({"matrix": False}, {"one": 0.95}, {"form": "lemma"}, {"power": 2.0}),
        asks="weaker",
    ),
    expect=("corrected", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(51) subtracts (49), and “at least $1 - 2\exp(\ldots) - q^{-10}$” (before (65)) uses Lemma A.9; (67) has "
        r"$a(\bar b - g)^\top$",
    ),
    print="misprint",
)
def eq_65(
    grid: Array, of: str = "all", matrix: bool = False, one: float = 1.0, form: str = "proof", power: float = 1.0
) -> Evidence:
    r"""Lines over $2\tilde\epsilon\|b^*\|^2$, with $\bar b = (a^\top a^* + \kappa\delta)b^*$.

    Args:
        grid: angles and levels.
        of: whether the printed probability is judged, with the mean over all samples or with (49), or the lines on the
            events.
        matrix: whether (68) has a matrix, as (67); the number is 0 for a b* across a, which is the case judged.
        one: printed as 1 in $(\epsilon' + 1)^2$.
        form: the factor of (76), or the factor of Lemma A.10.
        power: of $\delta$ in (76).
    """
    if of == "all":
        e0, e2, e3, m = (float(Fraction(BEYOND[name])) for name in ("eps_0", "eps_2", "eps_3", "m"))
        missed = 2.0 * exp(2.0 * log1p(2.0 / e0) - e3**2 * m / 30.0) + (2.0 * log(2.0 / e0) / e2**2) ** -10.0
        line = Relation(
            "a lower bound of the probability that (66) fails",
            1.0 - most_that_keep(BEYOND),
            missed,
            1e-12,
            at_most=True,
            case=BEYOND,
        )
        return judge_relations([line], "one client, d = 2, m = 360 q, c_5 = 1/30")
    if of == "given b":
        # (74) holds exactly where b is as near to g as Lemma A.9 says; eps_3 = 1/2, so that (62) never matters.
        failed = failure_for_every_constant(
            "(74)",
            lambda at: student_tail(at.level, at.m),
            more=lambda at: log(2.0) + at.d * log1p(2.0 / at.e0) - 0.25 * at.m / 30.0,
        )
        return judge_relations([failed], f"{ABSOLUTE_SCOPE}, but eps_3 = 1/2, and c_5 = 1/30")
    sine, level, place, side = grid.T
    kappa, cosine = np.abs(place) * level, side * np.sqrt(1.0 - sine**2)
    length = np.abs(cosine + place * level * sine)  # of b, in units of b*
    last = (level + one) ** 2 if form == "proof" else level**2 + level
    lines = [
        sine * np.sqrt(1.0 + kappa**2) * length,  # (66), (67): M = (kappa delta a - delta u) b*^T
        ((kappa if matrix else 0.0) * sine + sine) * length,  # (68)
        (kappa * sine + sine) * length,  # (69), (70)
        (kappa * sine + sine) * (kappa * sine + np.abs(cosine)),  # (71)
        (kappa * sine + sine) * (kappa * sine + 1.0),  # (72), (73)
        (level**2 * sine + level * sine + level + 1.0) * sine,  # (74)
        last * sine**power,  # (75), (76)
    ]
    left, right = np.concatenate(lines[:-1]), np.concatenate(lines[1:])
    return judge_inequality(
        left,
        right,
        1e-12 * (1e-12 + np.abs(right)),
        quotient=True,
        case=lambda index: (
            {
                "line": index // len(grid),
                "sine": float(sine[index % len(grid)]),
                "level": float(level[index % len(grid)]),
                "kappa": float(kappa[index % len(grid)]),
            }
            if index >= 2 * len(grid)
            else NEAR_MEAN
        ),
        lines=steps_of(lines),
        domain=tried(("delta", sine, OPEN_UNIT), ("eps'", level, POSITIVE), ("place of the mean", place, EITHER_SIDE)),
        scope=f"{len(grid)} angles and levels, any sign of a . a*",
        printed="every line",
    )
