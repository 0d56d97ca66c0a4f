"""Appendix A.3, proof of Lemma A.11: the denominator (eqs. (102) to (115))."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import sympy

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.methods.domain import EITHER_SIDE, OPEN_UNIT, POSITIVE, tried
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations
from paper_checks.rolora.lem_a_10_bound import chain_grid
from paper_checks.rolora.measurements.contraction_steps import Step, gradient_tail, run_steps, scope
from paper_checks.rolora.measurements.failures import (
    ABSOLUTE_SCOPE,
    ENOUGH_SCOPE,
    failure_for_every_constant,
    gradient_is_near,
    minimisers_are_near,
)
from paper_checks.rolora.measurements.laws import SINE, student_tail
from paper_checks.rolora.measurements.own_samples import own_samples


@relations(
    "rolora/eq-102",
    where="Appendix A.3, eqs. (102) to (106)",
    says=r"""$\|\hat a^+\|^2 = \|a - \eta\nabla_al\|^2 = a^\top a + \eta^2\|\nabla_al\|^2 - 2\eta a^\top\nabla_al \ge
    a^\top a - 2\eta a^\top\nabla_al = 1 - 2\eta a^\top\nabla_al = 1 - 2\eta a^\top(\nabla_al - E[\nabla_al]) - 2\eta
    a^\top E[\nabla_al]$.""",
    measure=run_steps,
    mutants=[{"factor": 1.9}, {"quadratic": 1.1}],
    expect=("holds", "proof"),
)
def eq_102(steps: list[Step], factor: float = 2.0, quadratic: float = 1.0) -> Relations:
    """The square in full, (103), and without the term of second order, (106).

    In (106) any vector may replace the expectation: it is subtracted and added.
    """
    for one in steps:
        linear = 1.0 - factor * one.s * (one.along + one.slope)
        yield Relation("(103)", linear + quadratic * one.s**2 * one.gradient, one.square, 1e-12)
        yield Relation("(106)", linear, one.square, 1e-12, at_most=True)
    return scope(steps)


@claim(
    "rolora/eq-107",
    where="Appendix A.3, eqs. (107) to (109); the text says that (109) uses Lemma A.9, but the bound is that of Lemma "
    "A.10",
    says=r"""For $m = \Omega(q)$, $2\eta a^\top(\nabla_al - E[\nabla_al]) \le 2\eta\|a\| \cdot \|\nabla_al -
    E[\nabla_al]\| = 2\eta\|\nabla_al - E[\nabla_al]\| \le 4\eta\epsilon'(\epsilon'+1)^2\|b^*\|^2$ with probability at
    least $1 - 2q^{-10}$.""",
    measure=run_steps,
    vary=(),
    readings=(
        LITERAL,
        Reading(
            "on the events",
            r"(107) to (109) on the events of (42) and (62), for every $\epsilon_3$.",
            {"of": "events"},
            "The probability is for both events, because the proof uses Lemma A.9 and Lemma A.10.",
            ({"factor": 3.0},),
        ),
        Reading(
            "with the misprint put right",
            r"For $m = \Omega(q)$, (107) and (108) as printed and, in (109), $\le 4\eta\tilde\epsilon(\epsilon'+1)^2"
            r"\|b^*\|^2$, with probability at least $1 - 2q^{-10}$.",
            {"form": "tilde"},
            r"(76), which (109) uses, (116) and (152) have $\tilde\epsilon$ there.",
            ({"factor": 3.0},),
        ),
    ),
    uses=("rolora/eq-65", "rolora/lem-A.9", "rolora/lem-A.10"),
    importance="detail",
    because=r"$m = Cq$ does not give $1 - 2q^{-10}$. (109) prints $\epsilon'$ for $\tilde\epsilon$, larger for "
    r"$(1-\epsilon_1)\epsilon_3 > \epsilon_2$.",
    correction=Form(
        r"""With $\tilde\epsilon$ as the first factor of (109), as in (116) and (152), (107) to (109) hold on the events
        of (42) and (62), with (49) for $E[\nabla_al]$: for a independent of the samples, $m \ge 20q$ and $Nm \ge
        100d\log(2/\epsilon_0)/\epsilon_3^2$ with probability at least $1 - 2d^{-10}$. Where $\epsilon_3 \le
        \frac{\epsilon_2}{1-\epsilon_1}$, so for $\epsilon_3 = \epsilon_2$, the printed one follows, since then
        $\tilde\epsilon \le \epsilon'$.""",
        {"of": "events", "form": "tilde"},
        mutants=({"form": "prime"}, {"factor": 0.1}, {"power": 1000}),
        asks="neither",
    ),
    expect=("corrected", "proof"),
    intended=Intended(
        "with the misprint put right",
        r"“with probability at least $1 - 2q^{-10}$” (109); $\epsilon'$ in (109) is "
        r"a misprint of the $\tilde\epsilon$ of (116) and (152)",
    ),
    print="misprint",
)
def eq_107(
    steps: list[Step], of: str = "absolute", form: str = "prime", factor: float = 4.0, power: int = 10
) -> Evidence:
    """The law of one client; and on samples, with the least thresholds, and where b is g although they deviate.

    Args:
        steps: iterations.
        of: whether the printed probability is judged, or the lines on the events.
        form: which threshold comes first in (109); on the events, with the right one, how probable they are as well.
        factor: printed as 4.
        power: of the probability, printed as 10.
    """
    if of == "absolute":
        failed = failure_for_every_constant(
            "(109)",
            lambda one: gradient_tail(
                (one.level if form == "prime" else one.tilde) * factor / 4.0 * (1.0 + one.level) ** 2 / SINE, one.m
            ),
            2.0,
            power,
            exact=False,
        )
        return judge_relations([failed], ABSOLUTE_SCOPE)
    promises = []
    for one in steps:
        # Where b = g every positive threshold will do; this one is as small as rounding lets it be.
        level = max(one.level, float(Fraction(one.case["eps"])) if one.case else 0.0)
        deviation = 2.0 * one.s * one.deviation
        promises.append(Relation("(107), (108)", 2.0 * one.s * one.along, deviation, 1e-12, at_most=True))
        right = factor * one.s * (level if form == "prime" else one.tilde) * (1.0 + level) ** 2
        promises.append(Relation("(108) to (109)", deviation, right, 1e-12, at_most=True, case=one.case))
    if form == "prime":
        return judge_relations(promises, scope(steps))
    told = f"{scope(steps)}; the probability for one client, m = 100 q, d from 2 to 1000"
    return judge_relations([*promises, *gradient_is_near(power)], told)


VARYING = {"m": "4", "cosine": "3/5", "sine": "4/5", "aa": "1", "au": "1/4", "uu": "1", "s": "1"}
"""Samples whose minimiser is not g."""


@claim(
    "rolora/eq-110",
    where="Appendix A.3, eqs. (110) to (115), (158) being printed for (114) below them",
    says=r"""With $M = a\bar b^\top - a^*b^{*\top}$: $2\eta a^\top E[\nabla_al] = 4\eta a^\top M\bar b = 4\eta a^\top Mg
    - 4\eta a^\top M(g - \bar b)$, where $a^\top Mg = -a^\top((I_d - aa^\top)a^*b^{*\top} + a(g - \bar b)^\top)g = (\bar
    b - g)^\top g$ and $a^\top M(g - \bar b) = a^\top((I_d - aa^\top)a^*b^{*\top} + a(g - \bar b)^\top)(\bar b - g) =
    -(g - \bar b)^2$, $= 4\eta(\bar b - g)^\top g + 4\eta(g - \bar b)^2 \le 4\eta\|g - \bar b\|\|b^*\| + 4\eta\|g - \bar
    b\|^2 \le 4\eta\epsilon'\delta^t\|b^*\|^2 + 4\eta(\epsilon')^2(\delta^t)^2\|b^*\|^2 \le 4\eta((\epsilon')^2 +
    \epsilon')\|b^*\|^2$ with probability at least $1 - q^{-10}$, by Lemma A.9.""",
    measure=lambda context: (chain_grid(context), generic_points(context, sympy.symbols("p t0 t1 b0 o0"), 3)),
    readings=(
        LITERAL,
        Reading(
            "expectation of (49)",
            r"(110) to (115) with $2(a\bar b^\top - a^*b^{*\top})\bar b$, (49), for $E[\nabla_al]$ and the printed "
            r"probability, for a independent of the samples and $m = \Omega(q)$; given $\bar b$, (49) is the "
            r"expectation for samples that $\bar b$ is independent of.",
            {"of": "given b"},
            "(110) puts (49) for the expectation.",
            ({"sign": -1}, {"linear": 0.9}),
        ),
    ),
    correction=Form(
        r"""With (49) for $E[\nabla_al]$, (110) to (112) hold always. On the event of Lemma A.9, (13), (113) to (115)
        hold as printed. For a independent of the samples, $d \ge 2$ and $m \ge 20q$ its probability is at least $1 -
        \max\{\log N, d\}^{-10}$.""",
        {"of": "event"},
        mutants=({"sign": -1}, {"linear": 0.9}, {"power": 1000}),
        asks="neither",
    ),
    uses=("rolora/eq-48", "rolora/lem-A.9"),
    because=r"As in Lemma A.9, $m = Cq$ does not give $q^{-10}$. For the mean over all samples (110) fails as well.",
    expect=("corrected", "proof"),
    intended=Intended(
        "expectation of (49)",
        r"(83) says that it “uses $E[\nabla_al(a, \bar b)] = 2(a\bar b^\top - a^*b^{*\top})\bar b$”; with "
        r"that, only “probability at least $1 - q^{-10}$” of Lemma A.9 fails; A.4 has $q = \max\{\log N, d\}$",
    ),
    print="inconsistent",
)
def eq_110(
    data: tuple[np.ndarray, list[Point]], sign: int = 1, linear: float = 1.0, of: str = "all", power: int = 10
) -> Evidence:
    """(112) with symbols, for any b; then (113) to (115) for the lengths that the event allows.

    Args:
        data: angles and levels, and points.
        sign: of the square in (112).
        linear: factor of the linear term in (115).
        of: whether the expectation is over all samples of Algorithm 2, or the expression (49), with the printed
            probability or on the event.
        power: of the probability, printed as 10.
    """
    if of == "given b":
        # From (112) to (115): with T > 25/12 eps', delta T (4/5 + delta T) > eps' + eps'^2.
        failed = failure_for_every_constant(
            "(115)", lambda at: log(0.5) + student_tail(linear * 25.0 / 12.0 * at.level, at.m), 1.0, power, exact=False
        )
        return judge_relations([failed], ABSOLUTE_SCOPE)
    if of == "all":
        own, s = own_samples(VARYING), Fraction(VARYING["s"])
        printed = 2 * s * own.stated[0]  # (110); as (112) it is 4 s (b - cosine) b
        return judge_relations(
            [Relation("(110)", float(2 * s * own.mean[0]), float(printed), 1e-12, case=VARYING)],
            "one client of Algorithm 2 in the plane",
        )
    p, t0, t1, b0, o0 = sympy.symbols("p t0 t1 b0 o0")
    a = sympy.Matrix([2 * p, 1 - p**2]) / (1 + p**2)
    truth, b, own = sympy.Matrix([t0, t1]), sympy.Matrix([b0]), sympy.Matrix([o0])
    g = (a.T * truth)[0] * own
    row = a.T * (a * b.T - truth * own.T)
    parts, square = ((row * g)[0], (row * (g - b))[0]), ((g - b).T * (g - b))[0]
    right = 4 * ((b - g).T * g)[0] + sign * 4 * square
    between = a.T * ((sympy.eye(2) - a * a.T) * truth * own.T + a * (g - b).T)
    equations = [
        Equation("(111), over eta", 4 * (row * b)[0], 4 * parts[0] - 4 * parts[1]),
        Equation("first term of (111), as expanded", parts[0], -(between * g)[0]),
        Equation("second term of (111), as expanded", parts[1], (between * (b - g))[0]),
        Equation("first term of (111)", parts[0], ((b - g).T * g)[0]),
        Equation("second term of (111)", parts[1], -square),
        Equation("(112), over eta", 4 * (row * b)[0], right),
    ]
    identity = judge_identity(equations, data[1], "any vectors but a unit a, b of one entry")
    if not identity.ok:
        return identity
    sine, level, place, side = data[0].T
    gap, cosine = place * level * sine, side * np.sqrt(1.0 - sine**2)
    value = gap * cosine + gap**2
    lines = [value, np.abs(gap) + gap**2, level * sine + (level * sine) ** 2, level**2 + linear * level]
    on_the_event = judge_inequality(
        np.concatenate(lines[:-1]),
        np.concatenate(lines[1:]),
        1e-12,
        case=lambda index: {"line": index // len(sine)},
        lines=steps_of(lines),
        domain=tried(("delta", sine, OPEN_UNIT), ("eps'", level, POSITIVE), ("place of the mean", place, EITHER_SIDE)),
        scope=f"(112) for any vectors; (113) to (115) at {len(sine)} angles and levels, any sign of a . a*; "
        f"{ENOUGH_SCOPE}",
        printed="every line",
    )
    probability = judge_relations(list(minimisers_are_near(power)), on_the_event.scope)
    return judge_parts([identity, on_the_event, probability])
