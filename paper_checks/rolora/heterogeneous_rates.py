"""Appendix A.5: different clients under the population loss; contraction of the angle and number of iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, UP_TO_ONE, Axis, Searched, Stated, tried
from paper_checks.methods.inequality import collect_cases, judge_inequality
from toymodels.regression_rates import population_map


@dataclass(frozen=True)
class Slopes:
    """Cases of the contraction: delta_0, delta_t / delta_0 and eta L_max^2, with the mean no longer than L_max."""

    cases: Searched


def contraction(values: Mapping[str, Any], factor: Any, power: int) -> tuple[Any, Any]:
    r"""Squares of $\delta_{t+1}/\delta_t$ and of the factor of eq. (254), which must not be negative itself."""
    u0 = values["delta_0"] ** 2
    u, s = (values["ratio"] * values["delta_0"]) ** 2, values["step"]
    left = (1 - 2 * s * (1 - u)) ** 2 / (1 + 4 * s**2 * u * (1 - u))
    right = 1 - factor * s * (1 - (u0 if power == 2 else values["delta_0"] ** power))
    return left, right * abs(right)


def search_contraction(context: Context) -> Slopes:
    """Every angle, steps up to far beyond the bound; the judge keeps those it speaks of."""
    axes = (
        Axis("delta_0", 1e-4, 0.9999, OPEN_UNIT, words="first angle distance, delta_0"),
        Axis("ratio", 1e-4, 1.0, UNIT, words="angle distance over the first one, delta_t/delta_0"),
        Axis(
            "step",
            1e-4,
            0.5,
            Stated(0.0, 0.5, "(]"),
            words="step size times squared norm of the mean target, eta |mean b*|^2",
        ),
    )
    cases = collect_cases(
        context,
        axes,
        lambda c: (c["step"] <= 0.5) & (c["delta_0"] < 1.0),
        lambda c: contraction(c, 2.0, 2)[1] - contraction(c, 2.0, 2)[0],
        examples=context.size(150, 1500),
        restarts=context.size(1, 4),
    )
    beyond = {name: column[:400].copy() for name, column in cases.items()}
    beyond["step"] = 0.5 + beyond["step"]  # for forms that allow longer steps
    return Slopes(cases.holding({name: np.concatenate([cases[name], beyond[name]]) for name in cases}))


def iterated(cases: Mapping[str, Any]) -> Any:
    """Angle distances over the first one after 1 to 20 iterations of Algorithm 2, in turn, whatever they come to."""
    ratio = np.ones_like(cases["step"])
    for done in range(20):
        moved = ratio * np.sqrt(contraction({**cases, "ratio": ratio}, 2.0, 2)[0])
        ratio = np.where(np.arange(len(ratio)) % 20 < done, ratio, moved)
    return ratio


def judge_contraction(
    data: Slopes, factor: float, power: int, longest: float, monotone: bool, iterates: bool = False
) -> Evidence:
    """All cases with a step up to ``longest``, in fractions where it is close."""
    kept = data.cases["step"] <= longest
    chosen = {name: column[kept] for name, column in data.cases.items()}
    if iterates:
        chosen["ratio"] = iterated(chosen)
    elif not monotone:
        chosen["ratio"] = 1.0 / (chosen["ratio"] + (1.0 - chosen["ratio"]) * chosen["delta_0"])

    def exact(case: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
        return contraction(case, Fraction(factor), power)

    left, right = contraction(chosen, factor, power)
    return judge_inequality(
        left,
        right,
        0.0,
        exact=exact,
        case=chosen,
        scope=f"{len(left)} cases: delta_0 in (0, 1), delta_t up to {'delta_0' if monotone else '1'}, "
        f"eta ||mean b*||^2 from 0 up to {longest:g} (a step size of gradient descent is not negative)",
        printed="eq. (254), squared, each side with its sign",
        domain=data.cases.domain,
    )


@claim(
    "rolora/asm-A.12",
    where="Appendix A.5, Assumption A.12; that it can be met is plain, and the grade is of what it is for, the "
    "contraction of Lemma A.16",
    says=r"There is $L_{max} < \infty$, known beforehand, with $\|\bar b^*\| \le L_{max}$.",
    measure=search_contraction,
    mutants=[{"reach": 1.1}, {"reach": 1.02}],
    kind="assumption",
    expect=("holds", "proof"),
)
def asm_A_12(data: Slopes, reach: float = 1.0) -> Evidence:
    r"""The contraction for all means with $\|\bar b^*\| \le$ ``reach`` times $L_{max}$; beyond 1 it is lost."""
    return judge_contraction(data, 2.0, 2, 0.5 * reach**2, True)


@claim(
    "rolora/lem-A.16",
    where="Appendix A.5, Lemma A.16, eq. (254)",
    says=r"Let $\delta_t = |\sin\theta(a^*, a^t)|$. If $\|\bar b^*\| \le L_{max}$, $\delta_t \le \delta_{t-1} \le "
    r"\cdots \le \delta_0$ and $\eta \le \frac1{2L_{max}^2}$, then $|\sin\theta(a^{t+1}, a^*)| = \delta_{t+1} \le "
    r"\delta_t \cdot (1 - 2\eta(1 - (\delta^0)^2)\|\bar b^*\|^2)$.",
    measure=search_contraction,
    mutants=[{"factor": 2.01}, {"power": 3}, {"longest": 0.55}, {"monotone": False}],
    uses=("rolora/asm-A.12", "rolora/lem-A.15"),
    also=("rolora/eq-254",),
    importance="result",
    hypotheses=(
        Dropped(r"$\eta \le \frac1{2L_{max}^2}$, $\|\bar b^*\| \le L_{max}$", {"longest": 0.55}),
        Dropped(
            r"$\delta_t \le \cdots \le \delta_0$ for $a^t$ of Algorithm 2, started at $a^0$",
            {"iterates": True},
            r"for this step $0 \le 1 - 2\eta(1 - \delta_t^2)\|\bar b^*\|^2 \le 1$, whatever $\delta_t$, so that "
            r"$\delta_{t+1} \le \delta_t$ in every iteration",
        ),
        Dropped(r"$\delta_t \le \delta_0$ for any unit vector $a^t$", {"monotone": False}),
    ),
    expect=("holds", "proof"),
)
def lem_A_16(
    data: Slopes,
    factor: float = 2.0,
    power: int = 2,
    longest: float = 0.5,
    monotone: bool = True,
    iterates: bool = False,
) -> Evidence:
    r"""The map of the population loss, exactly; ``longest`` is $\eta L_{max}^2$."""
    return judge_contraction(data, factor, power, longest, monotone, iterates)


LONGEST = 20_000
TINY = 1e-12
"""An angle distance at which a run ends; it falls in every iteration (Lemma A.16)."""


@dataclass(frozen=True)
class Course:
    """Angle distances of one run, for a step s and its start."""

    delta_0: str
    step: str
    deltas: tuple[float, ...]


def run_courses(context: Context) -> list[Course]:
    """Runs at short and long steps from every angle; the first can be followed by hand."""
    found = []
    starts = ("0.6", "0.01", "0.3", "0.8", "0.95", "0.999")
    longer = (("0.01", "0.63"), ("0.01", "0.64"), ("0.3", "0.63"), ("0.3", "0.9"))  # than the theorem allows
    for delta_0, step in (*product(starts, ("0.01", "0.002", "0.1", "0.25", "0.4", "0.5")), *longer):
        deltas = [float(delta_0)]
        while len(deltas) <= LONGEST and deltas[-1] > TINY:
            deltas.append(population_map(deltas[-1], float(step)))
        found.append(Course(delta_0, step, tuple(deltas)))
    return found


@claim(
    "rolora/thm-A.14",
    where="Appendix A.5, Theorem A.14",
    says=r"In the setting of Section A.5, with Algorithm 2, a random $a^0$ and $\delta_0 \in (0, 1)$: with $\eta \le "
    r"\frac1{2L_{max}^2}$ and $T \ge \frac1{c(1 - \delta_0^2)}\log(\frac{\delta_0}\epsilon)$ for $c \in (0, 1)$, "
    r"$\sin\theta(a^T, a^*) \le \epsilon$ and $\|a^T(b^{T+1})^\top - a^*(\bar b^*)^\top\| \le \epsilon\|a^*(\bar "
    r"b^*)^\top\|$, which is called $\epsilon$-accurate recovery of the global minimiser.",
    measure=run_courses,
    control=Form(r"The statement at the longest step, $\eta\|\bar b^*\|^2 = 1/2$.", {"shortest": 0.5}),
    correction=Form(
        r"For $0 < \eta \le \frac1{2L_{max}^2}$, $\bar b^* \ne 0$ and $0 < \epsilon \le \delta_0$, with c tied to the "
        r"step: $c = 2\eta\|\bar b^*\|^2$, as Lemma A.16 gives, or any smaller positive c; that 2 is the best for "
        r"short steps and $\epsilon$ near $\delta_0$. It is also enough, with $s = \eta\|\bar b^*\|^2$ and acute "
        r"angles of $\sin\theta_0 = \delta_0$ and $\sin\theta_\epsilon = \epsilon$, that $T \ge \frac{1 - s + "
        r"2s\delta_0^2}{2s}\log\frac{\tan\theta_0}{\tan\theta_\epsilon}$: there is no $1/(1 - \delta_0^2)$, so that, "
        r"at fixed s and $\epsilon$, a random start in d dimensions, $1 - \delta_0^2$ about 1/d, costs a number of "
        r"iterations of the order of log d, not of d. The tangent is multiplied by exactly $1 - \frac{2s}{1 + "
        r"2s\delta_t^2}$ in every iteration. Some longer steps do as well with this c: see the best value known of the "
        "longest step.",
        {"tied": True, "tangents": True},
        mutants=({"tie": 2.1}, {"power": 3}, {"slack": 0.5}, {"lead": 2.05}, {"pull": 1.5}, {"cross": 1.0}),
        asks="neither",
    ),
    vary=("tie", "longest"),
    best={
        "longest": Best(
            0.639,
            r"proved for $\eta\|\bar b^*\|^2$ with $c = 2\eta\|\bar b^*\|^2$: half the root of $w - 1 = e^{-w}$, as "
            r"$|1 - w| \le e^{-w}$ up to it; for small $\delta_0$ not beyond",
        )
    },
    uses=("rolora/lem-A.16", "rolora/eq-286", "rolora/eq-293"),
    importance="result",
    because=r"c is tied to nothing: for short steps, a number of iterations that ignores $\eta$ is too small.",
    readings=(
        LITERAL,
        Reading(
            "c of Lemma A.16",
            r"With $\eta \le \frac1{2L_{max}^2}$, $c = 2\eta\|\bar b^*\|^2$ or less, in $(0, 1)$, and $T \ge "
            r"\frac1{c(1 - \delta_0^2)}\log(\frac{\delta_0}\epsilon)$: $\sin\theta(a^T, a^*) \le \epsilon$ and "
            r"$\|a^T(b^{T+1})^\top - a^*(\bar b^*)^\top\| \le \epsilon\|a^*(\bar b^*)^\top\|$.",
            {"tied": True},
            "The theorem follows from Lemma A.16, whose factor is that of (286) with this c.",
            ({"tie": 2.1}, {"power": 3}, {"slack": 0.5}),
        ),
    ),
    hypotheses=(
        Dropped(r"$\eta \le \frac1{2L_{max}^2}$ (but $\eta \le \frac1{L_{max}^2}$)", {"longest": 1.0}),
        Dropped(r"$c \le 2\eta\|\bar b^*\|^2$", {"tied": False}),
        Dropped("T iterations (but half of them)", {"slack": 0.5}),
    ),
    expect=("depends on the reading", "proof"),
)
def thm_A_14(
    courses: list[Course],
    tied: bool = False,
    tie: float = 2.0,
    power: int = 2,
    shortest: float = 0.0,
    slack: float = 1.0,
    tangents: bool = False,
    lead: float = 2.0,
    pull: float = 1.0,
    cross: float = 2.0,
    longest: float = 0.5,
) -> Evidence:
    r"""Angle after the least whole T; by eq. (293) the second statement is the first times $\|\bar b^*\|$.

    With $w = 2s(1 - \delta_t^2)$ the angle distance is multiplied by at most |1 - w|, and $|1 - w| \le e^{-w}$ for w up
    to 1.2784, so that $c = 2s$ is enough for s up to half of that. Where the angle is small an iteration multiplies it
    by 2s - 1, which exceeds $e^{-2s}$ beyond: at s = 0.64, whose $e^{-2s}$ is just below the quotient 0.2781.

    Args:
        courses: Runs.
        tied: Whether c is tied to the step.
        tie: c over s.
        power: Power of $\delta_0$ in the number of iterations.
        shortest: The shortest step that is judged.
        slack: Share of the number of iterations.
        tangents: Whether the number of iterations by tangents is judged as well.
        lead: The 2 in the denominator by tangents.
        pull: Number that is subtracted there, times s.
        cross: The 2 in front of $s\delta_0^2$.
        longest: The longest step that is judged.
    """
    left, right, longer = [], [], 0
    cases: list[dict[str, Any]] = []
    for course, quotient in product(courses, ("0.5", "0.98", "0.9", "0.1", "0.001", "1", "0.2781")):
        delta, s = float(course.delta_0), float(course.step)
        epsilon = float(quotient) * delta
        if not shortest <= s <= longest:
            continue
        counts = {}
        for c in [f"{tie * s!r}", f"{tie * s / 2!r}"] if tied else ["0.5", "0.1", "0.99"]:
            if s > 0.5 and float(c) >= 1.0 and not tangents:  # readings ask for a c below 1
                continue
            rate = float(c) * (1.0 - delta**power)
            counts[c] = slack * math.log(delta / epsilon) / rate if rate > 0.0 else math.inf
        if tangents and s <= 0.5:
            logarithm = math.log(delta / epsilon) + 0.5 * math.log((1.0 - epsilon**2) / (1.0 - delta**2))
            share = 1.0 - pull * s + cross * s * delta**2
            counts["by tangents"] = share / (lead * s) * logarithm if lead > 0.0 else math.inf
        for c, count in counts.items():
            T = math.ceil(min(max(count, 0.0), LONGEST + 1))
            over = len(course.deltas) <= T
            if over and course.deltas[-1] > TINY:
                longer += 1
                continue
            left.append(course.deltas[-1 if over else T])
            right.append(epsilon)
            cases.append({"delta_0": course.delta_0, "step": course.step, "c": c, "quotient": quotient, "T": T})
    lefts, rights = np.array(left), np.array(right)
    order = np.flatnonzero(lefts > rights * (1.0 + 1e-9))
    first = int(order[0]) if len(order) else None
    scope = (
        f"{len(lefts)} cases: delta_0 from 0.01 to 0.999, eta ||mean b*||^2 from 0.002 to 0.5, epsilon/delta_0 from "
        f"0.001 to 1; {longer} that take more than {LONGEST} iterations left out, and {TINY:g} stands for what falls "
        "below"
    )
    if first is None:
        return judge_inequality(
            lefts,
            rights,
            1e-9 * rights,
            scope=scope,
            quotient=True,
            case=cases,
            printed="delta_T <= epsilon",
            domain=tried(
                ("delta_0", [float(case["delta_0"]) for case in cases], OPEN_UNIT),
                ("s", [float(case["step"]) for case in cases], Stated(shortest, longest, "[]" if shortest else "(]")),
                ("epsilon/delta_0", [float(case["quotient"]) for case in cases], UP_TO_ONE),
            ),
        )
    return Evidence(
        False,
        scope,
        f"delta_T <= {rights[first]:.6g} after T = {cases[first]['T']}",
        f"{lefts[first]:.6g}",
        margin=1.0 - float((lefts / rights).max()),
        cases=len(lefts),
        witness=cases[first],
    )
