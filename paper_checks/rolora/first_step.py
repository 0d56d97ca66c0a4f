"""Appendix A.4: equal clients; the constant of the rate and the first step (proof of Theorem 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, identity, together
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Cases, Searched, drawn_in_words
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.rolora.contraction import events
from paper_checks.rolora.failures import near_one


def quotient_squared(square: Any, s: Any) -> Any:
    r"""$(\delta_{t+1}/\delta_t)^2$ with unlimited samples, from $\delta_t^2$ and $s = \eta\|b^*\|^2$."""
    return (1 - 2 * s * (1 - square)) ** 2 / (1 + 4 * s**2 * square * (1 - square))


def _plain(cases: Cases, index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in cases.items()}


@dataclass(frozen=True)
class Rates:
    """Cases of the opening statement of Appendix A.4.

    Attributes:
        unlimited: All angles and all c, unlimited samples.
        events: Steps, angles, thresholds and lengths of b on the events of Lemmas A.9 and A.10.
    """

    unlimited: Searched
    events: Cases


def search_rates(context: Context) -> Rates:
    """A search over all angles and all c; draws on the events, with corners."""
    axes = (
        Axis("delta_0", 1e-4, 0.9999, OPEN_UNIT, words="first angle distance, delta^0"),
        Axis("ratio", 1e-4, 1.0, UNIT, words="angle distance over the first one, delta^t/delta^0"),
        Axis("c", 1e-4, 0.9999, OPEN_UNIT),
    )

    def gap(c: Cases) -> NDArray[np.float64]:
        square = (c["ratio"] * c["delta_0"]) ** 2
        return 1 - c["c"] * (1 - c["delta_0"] ** 2) - quotient_squared(square, np.minimum(c["c"], 0.5))

    unlimited = collect_cases(
        context, axes, lambda c: c["c"] < 1.0, gap, examples=context.size(150, 1500), restarts=context.size(1, 4)
    )
    rng, n = context.rng("events"), context.size(2000, 20000)
    drawn = {name: rng.uniform(1e-6, 0.999999, n) for name in ("share", "D", "level", "tilde", "place")}
    for column in drawn.values():
        corner = rng.uniform(size=n) < 0.5
        column[corner] = rng.choice([1e-6, 0.999999], corner.sum())
    return Rates(unlimited, drawn)


@claim(
    "rolora/a4-c",
    where="Appendix A.4, opening of the proof",
    says=r"With probability at least $1 - 2q^{-10}$ for $q = \max\{\log N, d\}$, $\delta^{t+1} \le \delta^tC$ for $c "
    r"\in (0, 1)$, $C = \sqrt{1 - c(1 - (\delta^0)^2)}$, with proper choice of step size $\eta$.",
    measure=search_rates,
    best={"rate": Best(1.98, "searched, for the largest step and thresholds")},
    uses=("rolora/lem-A.9", "rolora/lem-A.10"),
    because="For c near 1 and a small first angle the bound is below what the noise of the samples leaves, whatever "
    "the step is.",
    readings=(
        Reading(
            "every c",
            r"For every $c \in (0, 1)$ there is a step size $\eta$ with which, for m of the order of the q of Lemma "
            r"5.3 and thresholds as there, $\delta^{t+1} \le \delta^t\sqrt{1 - c(1 - (\delta^0)^2)}$ with probability "
            r"at least $1 - 2\max\{\log N, d\}^{-10}$.",
            why="It is so by its letter: c is any number in (0, 1), and only the step is left to choose.",
        ),
        Reading(
            "c of the step",
            r"For steps up to $\frac1{2L_{max}^2}$, $c = \eta\|b^*\|^2$, thresholds as in Lemma 5.3, and samples of "
            r"which there are at least K times the q of Lemma 5.3 (K = 100 is enough), fresh ones in each iteration "
            r"or the same in all: with probability at least $1 - 2q^{-10}$, $q = \max\{\log N, d\}$, $\delta^{t+1} \le "
            r"\delta^t\sqrt{1 - c(1 - (\delta^0)^2)}$. (With unlimited samples it is so for every c, by the step "
            r"$\min(c, \frac12)/\|b^*\|^2$.)",
            {"each": False},
            "It is said to have been shown in Lemma 5.3, whose factor has this c.",
            ({"cap": 1.0}, {"cap": 0.4}, {"strength": 1.1}, {"rate": 2.0}),
        ),
    ),
    hypotheses=(Dropped(r"steps up to $\frac1{2L_{max}^2}$", {"cap": 1.0}),),
    expect=("depends on the reading", "proof"),
)
def a4_c(cases: Rates, each: bool = True, cap: float = 0.5, strength: float = 1.0, rate: float = 1.0) -> Evidence:
    r"""The exact map at the step min(c, cap) against C, for every $\delta_t \le \delta_0$; then c = s on the events.

    Args:
        cases: with unlimited samples, and on the events.
        each: whether every c is to have a step; judged at one near 1, for one client and the best step.
        cap: the longest step.
        strength: of the bound, times c.
        rate: of the bound on the events, times s.
    """
    free = cases.unlimited
    if each and not (near := near_one()).ok:
        return near

    def exact(case: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
        step = min(case["c"], Fraction(cap))
        square = (case["ratio"] * case["delta_0"]) ** 2
        return quotient_squared(square, step), 1 - Fraction(strength) * case["c"] * (1 - case["delta_0"] ** 2)

    square = (free["ratio"] * free["delta_0"]) ** 2
    left = quotient_squared(square, np.minimum(free["c"], cap))
    right = 1 - strength * free["c"] * (1 - free["delta_0"] ** 2)
    unlimited = f"{len(left)} cases with unlimited samples: delta_0 and c in (0, 1), delta_t <= delta_0"
    first = judge_inequality(
        left,
        right,
        0.0,
        exact=exact,
        case=free,
        scope=unlimited,
        printed="(delta_{t+1}/delta_t)^2 <= C^2",
        domain=free.domain,
    )
    if not first.ok:
        return first
    left, right = events(cases.events, 0.5 * cases.events["share"], rate)
    return judge_inequality(
        left,
        right,
        1e-12,
        case=cases.events,
        scope=f"{len(left)} cases on the events: steps up to 1/2, thresholds up to their bounds, every angle up to the "
        "first one, five lengths of b, the gradient off in the worst direction",
        printed=f"(delta_(t+1)/delta_t)^2 <= 1 - {rate:g} s (1 - delta_0^2) on the events",
        domain=f"{drawn_in_words(len(left))}; before these {first.scope}",
    )


def met_by(x: Any, s: Any) -> Any:
    """Quantity that must be at most 3 for the first step to keep eq. (166), x = 1 - delta_0^2."""
    return 4 * s**2 * x * (1 - x) + 4 * s * (2 * x - 1)


def search_first_steps(context: Context) -> Searched:
    """Angles and steps; the first case is the simplest that has both large."""
    axes = (
        Axis("square", 1e-6, 0.9999, OPEN_UNIT, words="square of the first angle distance, (delta^0)^2"),
        Axis("step", 1e-4, 1.0, UNIT, words="step size times squared norm of the target, eta |b*|^2"),
    )
    cases = collect_cases(
        context,
        axes,
        lambda c: c["step"] <= 1.0,
        lambda c: np.abs(3 - met_by(1 - c["square"], c["step"])),
        examples=context.size(150, 1500),
        restarts=context.size(1, 4),
    )
    simplest = {"square": 0.125, "step": 1.0}
    return cases.holding({name: np.concatenate([[value], cases[name]]) for name, value in simplest.items()})


@cache
def _bound_is_proved() -> tuple[Fact, ...]:
    """Times a positive denominator, bound minus square quotient is sx times what the bound has to spare."""
    s, x = sympy.symbols("s x")
    spare = s * x * (3 - met_by(x, s)) / (1 + 4 * s**2 * x * (1 - x))
    return together(identity("bound minus square quotient", 1 - s * x - quotient_squared(1 - x, s) - spare))


@claim(
    "rolora/a4-first-step",
    where="Appendix A.4, the first iteration, eq. (166)",
    says=r"For $\epsilon', \tilde\epsilon < \frac{1-(\delta^0)^2}{16}$ and $\eta \le \frac1{L_{max}^2} \le "
    r"\frac1{\|b^*\|^2}$, with probability at least $1 - 2q^{-10}$, $q = \max\{\log N, d\}$: $\delta^1 \le "
    r"\delta^0\sqrt{1 - \eta(1 - (\delta^0)^2)\|b^*\|^2}$.",
    measure=search_first_steps,
    control=Form(r"With unlimited samples, for $\eta \le 1/(2L_{max}^2)$.", {"longest": 0.5}),
    correction=Form(
        r"For $\eta \le 1/(2L_{max}^2)$ and $m \ge 100\max(\frac{\log N}{[\min(\epsilon_1,\epsilon_2)]^2}, "
        r"\frac{d\log(2/\epsilon_0)}{\epsilon_2^2})$, a hundred times the q of Theorem 5.4, it holds with probability "
        r"at least $1 - 2\max\{\log N, d\}^{-10}$ (rolora/a4-c). As $\epsilon_2 \le \epsilon'$, that m grows at least "
        r"as $(1 - (\delta^0)^2)^{-2}$; of a number of samples that does not grow with $\delta^0$ nothing is said. "
        r"With unlimited samples, $s = \eta\|b^*\|^2$ and $x = 1 - \delta_0^2$, it holds if and only if $4s^2x(1 - x) "
        r"+ 4s(2x - 1) \le 3$; in particular for every $s \le 3/4$, and for no larger s at all $\delta_0$.",
        {"exactly": True},
        mutants=({"bound": 3.05}, {"bound": 2.95}, {"longest": 0.8, "exactly": False}),
    ),
    vary=("bound",),
    because=r"For small $\delta^0$ a step near $1/\|b^*\|^2$ passes $a^*$: already with unlimited samples the next "
    "angle is too large.",
    expect=("corrected", "proof"),
)
def a4_first_step(cases: Searched, exactly: bool = False, bound: float = 3.0, longest: float = 1.0) -> Evidence:
    """The exact first step; ``exactly`` asks for it where the bound is met and for its failure elsewhere."""
    kept = cases["step"] <= longest
    chosen = {name: column[kept] for name, column in cases.items()}

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        return quotient_squared(case["square"], case["step"]), 1 - case["step"] * (1 - case["square"])

    def exact(case: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
        left, right = sides(case)
        if not exactly:
            return left, right
        met = met_by(1 - case["square"], case["step"]) <= Fraction(bound)
        return Fraction(0), Fraction(1) if met == (left <= right) else Fraction(-1)

    left, right = sides(chosen)
    simplest = np.flatnonzero(left > right * (1 + 1e-9))
    if exactly:
        met = met_by(1 - chosen["square"], chosen["step"]) <= bound
        left, right = np.zeros(len(met)), np.where(met == (left <= right), 1.0, -1.0)
    evidence = judge_inequality(
        left,
        right,
        0.0,
        exact=exact,
        case=chosen,
        scope=f"{len(left)} cases: delta_0 in (0, 1), eta ||b*||^2 in (0, {longest:g}], unlimited samples",
        domain=cases.domain,
        printed="(delta_1/delta_0)^2 <= 1 - s x" if not exactly else "the inequality exactly where the bound is met",
    )
    if evidence.ok and exactly and bound == 3.0:
        return replace(evidence, facts=_bound_is_proved())
    if evidence.ok or exactly or not len(simplest):
        return evidence
    index = int(simplest[0])
    return replace(
        evidence,
        obtained=f"left {left[index]:.6g}, right {right[index]:.6g} at the witness; worst "
        f"{evidence.margin:.3g} in {len(simplest)} cases",
        witness=_plain(chosen, index),
    )
