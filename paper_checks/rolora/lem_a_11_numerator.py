"""Appendix A.3, proof of Lemma A.11: the numerator (eqs. (81) to (101))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log, log1p
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UP_TO_ONE, Searched, tried
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations
from paper_checks.rolora.measurements.contraction_events import lengths, search_steps, thresholds
from paper_checks.rolora.measurements.contraction_steps import Step, gradient_tail, run_steps, scope
from paper_checks.rolora.measurements.failures import (
    ABSOLUTE_SCOPE,
    ENOUGH_SCOPE,
    failure_for_every_constant,
    gradient_is_near,
    minimisers_are_near,
)
from paper_checks.rolora.measurements.laws import COSINE, SINE, student_tail
from paper_checks.rolora.measurements.own_samples import own_samples

MEAN_GRADIENT = {"m": "4", "cosine": "3/5", "sine": "4/5", "aa": "1", "au": "0", "uu": "3/4", "s": "1/2"}
"""Samples whose gradient is its mean over all samples."""


@claim(
    "rolora/eq-81",
    where="Appendix A.3, eqs. (81) to (85)",
    says=r"""$\hat a^+ = a - \eta E[\nabla_al] + \eta(E[\nabla_al] - \nabla_al)$ and $P\hat a^+ = Pa - \eta
    PE[\nabla_al] + \eta P(E[\nabla_al] - \nabla_al) = Pa - 2\eta P(a\bar b^\top - a^*b^{*\top})\bar b + \eta
    P(E[\nabla_al] - \nabla_al) = Pa - 2\eta Pa\bar b^\top\bar b + \eta P(E[\nabla_al] - \nabla_al) = Pa(1 - 2\eta\bar
    b^\top\bar b) + \eta P(E[\nabla_al] - \nabla_al)$ with $P = I_d - a^*(a^*)^\top$, by $E[\nabla_al] = 2(a\bar b^\top
    - a^*b^{*\top})\bar b$ and $Pa^* = 0$.""",
    measure=lambda context: generic_points(context, sympy.symbols("u a0 a1 b0 b1 o0 o1 n0 n1 eta"), 3),
    readings=(
        LITERAL,
        Reading(
            "expectation of (49)",
            r"(81) to (85) with $2(a\bar b^\top - a^*b^{*\top})\bar b$, (49), for $E[\nabla_al]$ throughout; given "
            r"$\bar b$, it is the expectation for samples that $\bar b$ is independent of.",
            {"of": "given b"},
            "(83) puts (49) for the expectation; Lemma 5.3 counts samples by the updating step: they may be fresh.",
            ({"factor": 1.0}, {"sign": -1}),
        ),
    ),
    uses=("rolora/eq-48",),
    because=r"$\bar b$ depends on the same samples, so (49), which (83) uses as the mean gradient, is a different "
    "vector.",
    expect=("holds", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(83) “uses $E[\nabla_al(a, \bar b)] = 2(a\bar b^\top - a^*b^{*\top})\bar b$”: E is taken with $\bar "
        "b$ fixed throughout (81) to (85)",
    ),
    print="unstated",
)
def eq_81(points: list[Point], factor: float = 2.0, sign: int = 1, of: str = "all") -> Evidence:
    """By expansion and $Pa^* = 0$, for any vector instead of the gradient, any a, b and b*.

    Args:
        points: values of the entries.
        factor: printed as 2.
        sign: of the last term.
        of: whether the expectation is over all samples of Algorithm 2, or the expression (49).
    """
    if of == "all":
        own, s = own_samples(MEAN_GRADIENT), Fraction(MEAN_GRADIENT["s"])
        (cosine, sine), (_, across) = own.truth, own.gradient  # along a it is 0; P a has -sine, P u the cosine
        left = -sine - s * cosine * across
        right = -sine * (1 - 2 * s * own.b**2) + s * cosine * (own.mean[1] - across)
        return judge_relations(
            [Relation("(83) to (85)", float(left), float(right), 1e-12, case=MEAN_GRADIENT)],
            "one client of Algorithm 2 in the plane; (81) and (82) hold for any vector in the place of the expectation",
        )
    u, a0, a1, b0, b1, o0, o1, n0, n1, eta = sympy.symbols("u a0 a1 b0 b1 o0 o1 n0 n1 eta")
    truth = sympy.Matrix([2 * u, 1 - u**2]) / (1 + u**2)
    a, b, own, nabla = (sympy.Matrix(pair) for pair in ((a0, a1), (b0, b1), (o0, o1), (n0, n1)))
    P = sympy.eye(2) - truth * truth.T
    mean = 2 * (a * b.T - truth * own.T) * b
    left = P * (a - eta * nabla)
    right = P * a * (1 - rational(factor) * eta * (b.T * b)[0]) + sign * eta * P * (mean - nabla)
    lines = [Equation(f"entry {k}", left[k], right[k]) for k in range(2)]
    return judge_identity(lines, points, "two dimensions, any vectors but a unit a*")


@relations(
    "rolora/eq-86",
    where="Appendix A.3, eqs. (86) to (89)",
    says=r"""$\|P\hat a^+\| \le \|Pa\||1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] - \nabla_al\|$, hence
    $\frac{\|P\hat a^+\|}{\|\hat a^+\|} \le \frac{\|Pa\||1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] -
    \nabla_al\|}{\|\hat a^+\|}$ and, by $\delta^{t+1} = \frac{\|P\hat a^+\|}{\|\hat a^+\|}$ and $\delta^t = \|Pa\|$,
    $\delta^{t+1} \le \frac{\delta^t|1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] - \nabla_al\|}{\|\hat a^+\|} =
    \frac{E_1 + E_2}{\|\hat a^+\|}$ with $E_1 = \delta^t|1 - 2\eta\bar b^\top\bar b|$ and $E_2 = \eta\|E[\nabla_al] -
    \nabla_al\|$.""",
    measure=run_steps,
    readings=(
        LITERAL,
        Reading(
            "expectation of (49)",
            r"(86) to (89) with $2(a\bar b^\top - a^*b^{*\top})\bar b$, (49), for $E[\nabla_al]$; given $\bar b$, it "
            r"is the expectation for samples that $\bar b$ is independent of.",
            {"of": "given b"},
            "(86) follows from (85), which puts (49) for the expectation.",
            ({"second": 0.5}, {"factor": 1.9}),
        ),
    ),
    vary=("second",),
    uses=("rolora/eq-81", "rolora/def-5.2"),
    because=r"$\bar b$ depends on the same samples: a gradient can equal its mean over all samples and differ from "
    "(49).",
    expect=("holds", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(83) “uses $E[\nabla_al(a, \bar b)] = 2(a\bar b^\top - a^*b^{*\top})\bar b$”: E is taken with $\bar "
        "b$ fixed; (86) follows from (85)",
    ),
    print="unstated",
)
def eq_86(steps: list[Step], second: float = 1.0, factor: float = 2.0, of: str = "all") -> Relations:
    """The angle after the iteration as the algorithm finds it.

    Args:
        steps: iterations.
        second: factor of the deviation.
        factor: printed as 2.
        of: whether the expectation is over all samples of Algorithm 2, or the expression (49).
    """
    if of == "all":
        own, s = own_samples(MEAN_GRADIENT), Fraction(MEAN_GRADIENT["s"])
        (cosine, sine), (along, across) = own.truth, own.gradient
        after = abs(-sine * (1 - s * along) - s * cosine * across)  # P a has -sine, P u the cosine
        right = float(sine * abs(1 - 2 * s * own.b**2)) + float(s) * float(own.deviation(own.mean)) ** 0.5
        yield Relation("(88)", float(after), right, 1e-12, at_most=True, case=MEAN_GRADIENT)
        return "one client of Algorithm 2 in the plane"
    for one in steps:
        right = one.sine * abs(1.0 - factor * one.s * one.b**2) + second * one.s * one.deviation
        yield Relation("(88)", one.after * one.square**0.5, right, 1e-12, at_most=True)
    return scope(steps)


@relations(
    "rolora/eq-90",
    where="Appendix A.3, eqs. (90) and (91)",
    says=r"""By Lemma A.10, with probability at least $1 - 2q^{-10}$, $E_2 = \eta\|E[\nabla_al] - \nabla_al\| \le
    2\eta\tilde\epsilon(\epsilon'+1)^2\delta^t\|b^*\|^2$.""",
    measure=run_steps,
    correction=Form(
        r"""On the events of (42) and (62) both lines hold by (76), regardless of which vector $E[\nabla_al]$ means in
        (62) and in (90). For a independent of the samples, (49) for $E[\nabla_al]$, $m \ge 20q$ and $Nm \ge
        100d\log(2/\epsilon_0)/\epsilon_3^2$ they hold with probability at least $1 - 2d^{-10}$.""",
        {"of": "events"},
        mutants=({"one": 0.9}, {"form": "lemma"}, {"exponent": 1000}),
        asks="neither",
    ),
    uses=("rolora/eq-65", "rolora/lem-A.9", "rolora/lem-A.10"),
    because=r"As in Lemma A.9, $m = Cq$ does not give $q^{-10}$. The factor is that of (76), not that of Lemma A.10.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“$E_2$ is upper bounded based on Lemma A.10. With probability at least $1 - 2q^{-10}$” "
        r"(90); the factor is that of (76); A.4 has $q = \max\{\log N, d\}$",
    ),
    print="inconsistent",
)
def eq_90(
    steps: list[Step], one: float = 1.0, form: str = "proof", of: str = "absolute", exponent: int = 10
) -> Relations:
    """With the bound (76) of the proof; the one printed in Lemma A.10 would not do.

    Args:
        steps: iterations. (49) replaces the expectation; on the event of (62) any vector could (``eq-65``).
        one: printed as 1.
        form: the factor of (76), or the factor of Lemma A.10.
        of: whether the printed probability is judged, or the bound on the events and how probable they are.
        exponent: printed as 10.
    """
    if of == "absolute":
        yield failure_for_every_constant(
            "(91)", lambda at: gradient_tail(at.tilde * (one + at.level) ** 2, at.m), 2.0, exponent, exact=False
        )
        return ABSOLUTE_SCOPE
    for step in steps:
        factor = (step.level + one) ** 2 if form == "proof" else step.level**2 + step.level
        right = 2.0 * step.s * step.tilde * factor * step.sine
        yield Relation("(91)", step.s * step.deviation, right, 1e-12 * step.s, at_most=True)
    yield from gradient_is_near(exponent)
    return f"{scope(steps)}; the probability for one client, m = 100 q, d from 2 to 1000"


ON_ITS_EVENT = (
    r"On the event of Lemma A.9, (13), the lines hold as printed. For a independent of the samples, $d \ge 2$ and $m "
    r"\ge 20q$ its probability is at least $1 - \max\{\log N, d\}^{-10}$."
)

NOT_Q = r"As in Lemma A.9: with $m = Cq$ failure keeps its probability as $\epsilon_2 \to 0$, and $q^{-10}$ goes to 0."


def student_between(low: float, high: float, m: float) -> float:
    r"""Return $\log P(low < -T \le high)$ for one client's T."""
    near, far = student_tail(low, m), student_tail(high, m)
    return log(0.5) + near + log1p(-exp(far - near))


@relations(
    "rolora/eq-92",
    where="Appendix A.3, eqs. (92) to (95)",
    says=r"""With probability at least $1 - q^{-10}$, by Lemma A.9, $\|\bar b\| = \|g - (g - \bar b)\| \ge \|g\| - \|g -
    \bar b\| = \sqrt{1 - (\delta^t)^2}\|b^*\| - \|g - \bar b\| \ge \sqrt{1 - (\delta^t)^2}\|b^*\| -
    \epsilon'\delta^t\|b^*\|$.""",
    measure=run_steps,
    correction=Form(
        ON_ITS_EVENT, {"of": "event"}, mutants=({"share": 0.9}, {"power": 1}, {"exponent": 1000}), asks="neither"
    ),
    uses=("rolora/lem-A.9",),
    because=NOT_Q,
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“with probability at least $1 - q^{-10}$ ... (95) follows by Lemma A.9”: the probability is that of the "
        r"lemma; A.4 has $q = \max\{\log N, d\}$",
    ),
    print="inconsistent",
)
def eq_92(steps: list[Step], share: float = 1.0, power: int = 2, of: str = "absolute", exponent: int = 10) -> Relations:
    """Equality whenever b is shorter than g.

    Args:
        steps: iterations.
        share: of the distance that Lemma A.9 allows.
        power: of the angle in the length of g.
        of: whether the printed probability is judged, or the bound on the event and how probable that is.
        exponent: printed as 10.
    """
    if of == "absolute":
        # (95) fails for -(2 cos/delta - eps') < T < -eps'.
        yield failure_for_every_constant(
            "(95)",
            lambda at: student_between(share * at.level, 2.0 * COSINE / SINE - share * at.level, at.m),
            1.0,
            exponent,
        )
        return ABSOLUTE_SCOPE
    yield from [
        Relation("(95)", (1.0 - one.sine**power) ** 0.5 - share * one.level * one.sine, abs(one.b), 1e-12, at_most=True)
        for one in steps
    ]
    # |g| has this power of the angle, which must be exact.
    yield from [Relation("|g|", (1.0 - one.sine**power) ** 0.5, (1.0 - one.sine**2) ** 0.5, 1e-12) for one in steps]
    yield from minimisers_are_near(exponent)
    return f"{scope(steps)}; {ENOUGH_SCOPE}"


def angle_grid(_: Context) -> np.ndarray:
    """Return the first angle, the later angle as a share of it, eps' as a share of D/16."""
    return np.array(list(product((1e-3, 0.3, 0.7071, 0.9, 0.9999), (1e-3, 0.5, 0.8, 1.0), (1e-6, 0.5, 0.999))))


def shortfall_tail(level: float, m: float) -> float:
    r"""Return $\log P$ that (99) fails at $\delta^t = \delta^0$: $(\cos + \delta T)^2 < \cos^2 - level$."""
    root = (COSINE**2 - level) ** 0.5
    return student_between(level / (COSINE + root) / SINE, (COSINE + root) / SINE, m)


@claim(
    "rolora/eq-96",
    where="Appendix A.3, eqs. (96) to (99)",
    says=r"""$\epsilon' < \frac{1-(\delta^0)^2}{16}$ makes $\sqrt{1-(\delta^t)^2}\|b^*\| - \epsilon'\delta^t\|b^*\| \ge
    0$; hence $\|\bar b\|^2 \ge (\sqrt{1-(\delta^t)^2}\|b^*\| - \epsilon'\delta^t\|b^*\|)^2 = (1-(\delta^t)^2)\|b^*\|^2
    + (\epsilon')^2(\delta^t)^2\|b^*\|^2 - 2\epsilon'\delta^t\sqrt{1-(\delta^t)^2}\|b^*\|^2 \ge
    (1-(\delta^t)^2)\|b^*\|^2 + (\epsilon')^2(\delta^t)^2\|b^*\|^2 - \epsilon'\|b^*\|^2 \ge (1-(\delta^0)^2)\|b^*\|^2 -
    \epsilon'\|b^*\|^2$, for $\delta^t \le \cdots \le \delta^0$, with probability at least $1 - q^{-10}$.""",
    measure=angle_grid,
    correction=Form(
        ON_ITS_EVENT, {"of": "event"}, mutants=({"less": 0.9}, {"bound": 400}, {"exponent": 1000}), asks="neither"
    ),
    uses=("rolora/eq-92",),
    because=NOT_Q,
    hypotheses=(Dropped(r"$\epsilon' < (1 - (\delta^0)^2)/16$", {"bound": 400}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“with probability at least $1 - q^{-10}$” after (99), taken over from (95) and Lemma A.9; A.4 has $q = "
        r"\max\{\log N, d\}$",
    ),
    print="inconsistent",
)
def eq_96(grid: np.ndarray, less: float = 1.0, bound: int = 1, of: str = "absolute", exponent: int = 10) -> Evidence:
    r"""The root under the square is not negative, and both estimates.

    Args:
        grid: angles and thresholds.
        less: factor of $\epsilon'$ in (98) and (99).
        bound: scales the largest $\epsilon'$.
        of: whether the printed probability of (99) is judged, or the lines on the event and how probable that is.
        exponent: printed as 10.
    """
    if of == "absolute":
        failed = failure_for_every_constant("(99)", lambda at: shortfall_tail(less * at.level, at.m), 1.0, exponent)
        return judge_relations([failed], ABSOLUTE_SCOPE)
    first = grid[:, 0]
    sine = first * grid[:, 1]
    level = bound * grid[:, 2] * (1.0 - first**2) / 16.0
    cosine = np.sqrt(1.0 - sine**2)
    middle = 1.0 - sine**2 + (level * sine) ** 2 - less * level
    left = np.concatenate([level * sine, middle, 1.0 - first**2 - level])
    right = np.concatenate([cosine, (cosine - level * sine) ** 2, 1.0 - sine**2 + (level * sine) ** 2 - level])
    on_the_event = judge_inequality(
        left,
        right,
        1e-12,
        case=lambda index: {"case": index % len(grid)},
        lines=np.repeat(["the root", "(97) to (98)", "(98) to (99)"], len(grid)).tolist(),
        domain=tried(
            ("delta_0", first, OPEN_UNIT),
            ("delta_t/delta_0", grid[:, 1], UP_TO_ONE),
            ("eps' over its bound", grid[:, 2], OPEN_UNIT),
        ),
        scope=f"{len(grid)} angles and thresholds; the root is not negative, (97) to (98), (98) to (99); "
        f"{ENOUGH_SCOPE}",
        printed="all three lines",
    )
    return judge_parts([on_the_event, judge_relations(list(minimisers_are_near(exponent)), on_the_event.scope)])


NEAR = {"step": "1", "D": "1/4", "eps": "1/100", "delta": "1/10"}
r"""The largest step, $(\delta^0)^2 = 3/4$, $\bar b = g$ and a small angle: the modulus is near 1."""


@claim(
    "rolora/eq-100",
    where="Appendix A.3, eqs. (100) and (101)",
    says=r"""$E_1 = \delta^t|1 - 2\eta\bar b^\top\bar b| \le \delta^t|1 - 2\eta((1-(\delta^0)^2) - \epsilon')\|b^*\|^2|$
    with probability at least $1 - q^{-10}$.""",
    measure=search_steps,
    control=Form(r"For $\eta \le 1/(2L_{max}^2)$, on the event of Lemma A.9.", {"limit": 0.5}),
    correction=Form(
        r"""(101) holds on the event of Lemma A.9 for $\eta\|b^*\|^2(2 - (\delta^0)^2 - \epsilon' + \epsilon'^2) \le 1$,
        so for $\eta \le 1/(2L_{max}^2)$. For every $\eta$ it is $E_1 \le \delta^t\max(1 - 2\eta((1-(\delta^0)^2) -
        \epsilon')\|b^*\|^2,\ 2\eta(1 + \epsilon'^2)\|b^*\|^2 - 1)$ on that event, whose probability is that of Lemma
        A.9: for $m = Cq$ not $1 - q^{-10}$.""",
        {"limit": 1.0, "sum_of_lengths": 1.0},
        mutants=({"sum_of_lengths": 1.05}, {"less": 0.5}),
    ),
    vary=("sum_of_lengths",),
    uses=("rolora/eq-96",),
    because=r"The modulus is bounded only if $1 - 2\eta\|\bar b\|^2$ is not too negative, and $m = Cq$ does not give "
    "$1 - q^{-10}$.",
    hypotheses=(Dropped(r"a step up to that", {"sum_of_lengths": 1.05}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"(101) keeps the bars, “$\delta^t|1 - 2\eta((1-(\delta^0)^2) - \epsilon')\|b^*\|^2|$”, "
        r"from a lower bound on $\|\bar b\|^2$ alone, “with probability at least $1 - q^{-10}$”; A.4 has $q = "
        r"\max\{\log N, d\}$",
    ),
    print="inconsistent",
)
def eq_100(cases: Searched, limit: float = 1.0, sum_of_lengths: float = 0.0, less: float = 1.0) -> Evidence:
    r"""Both sides over $\delta^t$, for every length of $\bar b$ that Lemma A.9 allows.

    Args:
        cases: shares of the largest step, D, thresholds, places.
        limit: the largest step.
        sum_of_lengths: if not 0, the largest step is this over the sum of the least and largest squared length.
        less: factor of $\epsilon'$ in the bound.
    """

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        level, _ = thresholds(case)
        low, high = lengths(case)
        s = case["share"] * (sum_of_lengths / (low + high) if sum_of_lengths else limit)
        left = abs(1 - 2 * s * (low + (high - low) * case["place"]))
        return left, abs(1 - 2 * s * (case["D"] - less * level))

    # The least length is where the bound is tight: place 0 means it.
    corner = {key: np.concatenate([column, column]) for key, column in cases.items()}
    corner["place"][len(cases["place"]) :] = 0.0
    left, right = sides(corner)
    evidence = judge_inequality(
        left,
        right,
        1e-12,
        quotient=True,
        case=corner,
        domain=cases.domain,
        scope=f"{len(left)} cases: steps from 1e-6 of the largest on, thresholds up to D/16, every length of b "
        f"on the event",
        printed="E_1 over delta",
    )
    s, D, level, delta = (Fraction(value) for value in NEAR.values())
    slope, stated = abs(1 - 2 * s * (1 - delta**2)), abs(1 - 2 * s * (D - level))
    if evidence.ok or s > limit or sum_of_lengths or less != 1.0:
        return evidence
    told = f"{float(slope):g}, stated at most {float(stated):g}, at the witness"
    return replace(evidence, obtained=told, witness=NEAR)
