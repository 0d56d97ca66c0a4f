"""Appendix A.4, proof of Theorem 5.4: the first iteration (eqs. (124) to (166))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, combine, identity
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Cases, Searched, describe_draws
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.rolora.measurements.rates import quotient_squared


def _plain(cases: Cases, index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in cases.items()}


def bounded_quantity(x: Any, s: Any) -> Any:
    """Return the quantity that must be at most 3 for the first step to keep eq. (166), x = 1 - delta_0^2."""
    return 4 * s**2 * x * (1 - x) + 4 * s * (2 * x - 1)


def search_first_steps(context: Context) -> Searched:
    """Search angles and steps; the first case is the simplest that has both large."""
    axes = (
        Axis("square", 1e-6, 0.9999, OPEN_UNIT, words="square of the first angle distance, (delta^0)^2"),
        Axis("step", 1e-4, 1.0, UNIT, words="step size times squared norm of the target, eta |b*|^2"),
    )
    cases = collect_cases(
        context,
        axes,
        lambda c: c["step"] <= 1.0,
        lambda c: np.abs(3 - bounded_quantity(1 - c["square"], c["step"])),
        examples=context.size(150, 1500),
        restarts=context.size(1, 4),
    )
    simplest = {"square": 0.125, "step": 1.0}
    return cases.holding({name: np.concatenate([[value], cases[name]]) for name, value in simplest.items()})


@cache
def _bound_is_proved() -> tuple[Fact, ...]:
    """Prove that bound minus square quotient, times a positive denominator, is sx times what the bound can spare."""
    s, x = sympy.symbols("s x")
    spare = s * x * (3 - bounded_quantity(x, s)) / (1 + 4 * s**2 * x * (1 - x))
    return combine(identity("bound minus square quotient", 1 - s * x - quotient_squared(1 - x, s) - spare))


@claim(
    "rolora/a4-first-step",
    where="Appendix A.4, the first iteration, eq. (166)",
    says=r"""For $\epsilon', \tilde\epsilon < \frac{1-(\delta^0)^2}{16}$ and $\eta \le \frac1{L_{max}^2} \le
    \frac1{\|b^*\|^2}$, with probability at least $1 - 2q^{-10}$, $q = \max\{\log N, d\}$: $\delta^1 \le \delta^0\sqrt{1
    - \eta(1 - (\delta^0)^2)\|b^*\|^2}$.""",
    measure=search_first_steps,
    control=Form(r"With unlimited samples, for $\eta \le 1/(2L_{max}^2)$.", {"longest": 0.5}),
    correction=Form(
        r"""For $\eta \le 1/(2L_{max}^2)$ and $m \ge 100\max(\frac{\log N}{[\min(\epsilon_1,\epsilon_2)]^2},
        \frac{d\log(2/\epsilon_0)}{\epsilon_2^2})$, a hundred times the q of Theorem 5.4, it holds with probability at
        least $1 - 2\max\{\log N, d\}^{-10}$ (rolora/a4-c). As $\epsilon_2 \le \epsilon'$, that m grows at least as $(1
        - (\delta^0)^2)^{-2}$; we say nothing about a number of samples that does not grow with $\delta^0$. With
        unlimited samples, $s = \eta\|b^*\|^2$ and $x = 1 - \delta_0^2$, it holds if and only if $4s^2x(1 - x) + 4s(2x -
        1) \le 3$; in particular for every $s \le 3/4$. No larger s works for all $\delta_0$.""",
        {"exactly": True},
        mutants=({"bound": 3.05}, {"bound": 2.95}, {"longest": 0.8, "exactly": False}),
    ),
    vary=("bound",),
    because=r"For small $\delta^0$ a step near $1/\|b^*\|^2$ overshoots $a^*$. Even with unlimited samples the next "
    "angle is too large.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", r"“Assuming $\eta \le 1/L_{max}^2 \le 1/\|b^*\|^2$ ... strictly positive” before (166)"
    ),
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
        met = bounded_quantity(1 - case["square"], case["step"]) <= Fraction(bound)
        return Fraction(0), Fraction(1) if met == (left <= right) else Fraction(-1)

    left, right = sides(chosen)
    simplest = np.flatnonzero(left > right * (1 + 1e-9))
    if exactly:
        met = bounded_quantity(1 - chosen["square"], chosen["step"]) <= bound
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


@dataclass(frozen=True)
class Steps:
    """First steps with a mean of minimisers that is off by e and a gradient that is off by D, as the lemmas allow.

    ``||b*|| = 1``; every column is one number per case, ``share`` the size of eps' and eps~ relative to (1 - delta^2),
    ``e`` and ``D`` vectors relative to the largest the lemmas allow, ``(n, 2)`` and ``(n, 3)``.
    """

    delta: NDArray[np.float64]
    step: NDArray[np.float64]
    share: NDArray[np.float64]
    e: NDArray[np.float64]
    D: NDArray[np.float64]


def draw_steps(context: Context) -> Steps:
    """Draw a simple case, then corners and draws."""
    rng = context.rng("steps")
    n = context.size(3000, 40000)
    delta = np.where(rng.uniform(size=n) < 0.3, rng.choice([1e-3, 0.1, 0.5, 0.9, 0.999], n), rng.uniform(size=n))
    step = np.where(rng.uniform(size=n) < 0.3, rng.choice([1e-3, 0.25, 0.5, 0.75, 1.0], n), rng.uniform(size=n))
    share = np.where(rng.uniform(size=n) < 0.5, 1.0, rng.uniform(size=n))
    e, D = rng.standard_normal((n, 2)), rng.standard_normal((n, 3))
    aligned = rng.uniform(size=n) < 0.4
    e[aligned, 1], D[aligned, 1:] = 0.0, 0.0
    size = np.where(rng.uniform(size=(n, 2)) < 0.5, 1.0, rng.choice([0.0, 0.3], (n, 2)))
    e *= (size[:, 0] / np.linalg.norm(e, axis=1))[:, None]
    D *= (size[:, 1] / np.linalg.norm(D, axis=1))[:, None]
    delta[0], step[0], share[0], e[0], D[0] = 0.6, 1.0, 0.25, 0.0, 0.0
    return Steps(np.clip(delta, 1e-6, 1 - 1e-6), np.maximum(step, 1e-6), share, e, D)


def lines_of(data: Steps, widest: float, minus: bool) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return both sides of every line."""
    d, s = data.delta, data.step
    x, c, widest = 1 - d**2, np.sqrt(1 - d**2), max(widest, 0.0)
    eps = data.share * x * widest * (1 - 1e-9)
    spread = eps * (eps + 1) ** 2
    b = np.stack([c, 0 * d], axis=1) + (eps * d)[:, None] * data.e
    B, along = (b**2).sum(axis=1), b[:, 0]
    a = np.stack([c, d, 0 * d], axis=1)
    truth = np.array([1.0, 0.0, 0.0])
    off = (2 * spread * d)[:, None] * data.D
    stepped = a - s[:, None] * 2 * (a * B[:, None] - truth * along[:, None]) + s[:, None] * off
    projected, norm = np.linalg.norm(stepped[:, 1:], axis=1), np.linalg.norm(stepped, axis=1)
    E_1, E_2 = d * np.abs(1 - 2 * s * B), s * np.linalg.norm(off, axis=1)
    numerator = 1 - 2 * s * (x - eps) + 2 * s * spread
    under = 1 - 4 * s * spread - 4 * s * (eps**2 + eps)
    root = np.sqrt(np.maximum(under, 1e-300))
    last = np.sqrt(np.maximum(1 - s * x, 0.0))
    gradient = 2 * s * (2 * ((a * B[:, None] - truth * along[:, None]) * a).sum(axis=1))
    square = ((b - np.stack([c, 0 * d], axis=1)) ** 2).sum(axis=1)  # of the distance of b from g
    return {
        "(129) to (132)": (projected / norm, (E_1 + E_2) / norm),
        "(134)": (E_2, 2 * s * spread * d),
        "(138)": (c - eps * d, np.sqrt(B)),
        "(139)": ((c - eps * d) ** 2, B),
        "(141)": (x + (eps * d) ** 2 - eps, (c - eps * d) ** 2),
        "(142)": (x - eps, x + (eps * d) ** 2 - eps),
        "(144)": (E_1, d * np.abs(1 - 2 * s * (x - eps))),
        "before (155)": (square if minus else -square, -square),  # an equality, of which one half is judged
        "(150)": (-2 * s * (a * off).sum(axis=1), 2 * E_2),
        "(152)": (2 * E_2, 4 * s * spread),
        "(153) to (156)": (gradient, 4 * s * (np.sqrt(square) + square)),
        "(157)": (4 * s * (np.sqrt(square) + square), 4 * s * (eps * d + (eps * d) ** 2)),
        "(158)": (4 * s * (eps * d + (eps * d) ** 2), 4 * s * (eps**2 + eps)),
        "(145) to (159)": (under, norm**2),
        "what is under the root of (160)": (0 * d, under),
        "(160)": (projected / norm, d * numerator / root),
        "the condition before (161)": (np.maximum(4 * (spread + eps**2 + eps), 2 * eps + 2 * spread), x),
        "(162) to (165)": (numerator / root, last),
        "(166)": (projected / norm, d * last),
    }


@claim(
    "rolora/eq-124",
    where="Appendix A.4, the first iteration, eqs. (124) to (166), the same lines as (81) to (123), whose equalities "
    "are judged with symbols in rolora/eq-81 to rolora/eq-117; the text before them quotes the factor of Lemma A.10, "
    r"(134) has that of (76); (157) has one $\delta^t$ instead of $\delta^0$; (152) is said to use Lemma A.9, but the "
    "bound is that of Lemma A.10; the lines are judged on the events of the two premises, whose probabilities are "
    "printed at (134), (138), (142), (144), (158) and (159) and are not judged here, that of (166) in "
    "rolora/a4-first-step",
    says=r"""From $\|\bar b - g\| \le \epsilon'\delta^0\|b^*\|$, $\|\nabla_al - E[\nabla_al]\| \le
    2\tilde\epsilon((\epsilon')^2 + \epsilon')\delta^0\|b^*\|^2$, $\epsilon', \tilde\epsilon <
    \frac{1-(\delta^0)^2}{16}$ and $\eta \le \frac1{L_{max}^2}$, with $P = I_d - a^*(a^*)^\top$: $\hat a^+ = a - \eta
    E[\nabla_al] + \eta(E[\nabla_al] - \nabla_al)$, $P\hat a^+ = Pa - \eta PE[\nabla_al] + \eta P(E[\nabla_al] -
    \nabla_al) = Pa - 2\eta P(a\bar b^\top - a^*b^{*\top})\bar b + \eta P(E[\nabla_al] - \nabla_al) = Pa - 2\eta Pa\bar
    b^\top\bar b + \eta P(E[\nabla_al] - \nabla_al) = Pa(1 - 2\eta\bar b^\top\bar b) + \eta P(E[\nabla_al] -
    \nabla_al)$; $\|P\hat a^+\| \le \|Pa\||1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] - \nabla_al\|$,
    $\frac{\|P\hat a^+\|}{\|\hat a^+\|} \le \frac{\|Pa\||1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] -
    \nabla_al\|}{\|\hat a^+\|}$, $\delta^1 \le \frac{\delta^0|1 - 2\eta\bar b^\top\bar b| + \eta\|E[\nabla_al] -
    \nabla_al\|}{\|\hat a^+\|} = \frac{E_1 + E_2}{\|\hat a^+\|}$; $E_2 = \eta\|E[\nabla_al] - \nabla_al\| \le
    2\eta\tilde\epsilon(\epsilon' + 1)^2\delta^0\|b^*\|^2$; $\|\bar b\| = \|g - (g - \bar b)\| \ge \|g\| - \|g - \bar
    b\| = \sqrt{1 - (\delta^0)^2}\|b^*\| - \|g - \bar b\| \ge \sqrt{1 - (\delta^0)^2}\|b^*\| - \epsilon'\delta^0\|b^*\|
    \ge 0$; $\|\bar b\|^2 \ge (\sqrt{1 - (\delta^0)^2}\|b^*\| - \epsilon'\delta^0\|b^*\|)^2 = (1 -
    (\delta^0)^2)\|b^*\|^2 + (\epsilon')^2(\delta^0)^2\|b^*\|^2 - 2\epsilon'\delta^0\sqrt{1 - (\delta^0)^2}\|b^*\|^2 \ge
    (1 - (\delta^0)^2)\|b^*\|^2 + (\epsilon')^2(\delta^0)^2\|b^*\|^2 - \epsilon'\|b^*\|^2 \ge (1 -
    (\delta^0)^2)\|b^*\|^2 - \epsilon'\|b^*\|^2$; $E_1 = \delta^0|1 - 2\eta\bar b^\top\bar b| \le \delta^0|1 -
    2\eta((1-(\delta^0)^2) - \epsilon')\|b^*\|^2|$; $\|\hat a^+\|^2 = \|a - \eta\nabla_al\|^2 = a^\top a +
    \eta^2\|\nabla_al\|^2 - 2\eta a^\top\nabla_al \ge a^\top a - 2\eta a^\top\nabla_al = 1 - 2\eta a^\top\nabla_al = 1 -
    2\eta a^\top(\nabla_al - E[\nabla_al]) - 2\eta a^\top E[\nabla_al]$; $2\eta a^\top(\nabla_al - E[\nabla_al]) \le
    2\eta\|a\| \cdot \|\nabla_al - E[\nabla_al]\| = 2\eta\|\nabla_al - E[\nabla_al]\| \le 4\eta\tilde\epsilon(\epsilon'
    + 1)^2\|b^*\|^2$; $2\eta a^\top E[\nabla_al] = 4\eta a^\top(a\bar b^\top - a^*b^{*\top})\bar b = 4\eta a^\top(a\bar
    b^\top - a^*b^{*\top})g - 4\eta a^\top(a\bar b^\top - a^*b^{*\top})(g - \bar b)$, where $a^\top(a\bar b^\top -
    a^*b^{*\top})g = -a^\top((I_d - aa^\top)a^*b^{*\top} + a(g - \bar b)^\top)g = (\bar b - g)^\top g$ and $a^\top(a\bar
    b^\top - a^*b^{*\top})(g - \bar b) = a^\top((I_d - aa^\top)a^*b^{*\top} + a(g - \bar b)^\top)(\bar b - g) = -(g -
    \bar b)^\top(\bar b - g) = -(g - \bar b)^2$, so $2\eta a^\top E[\nabla_al] = 4\eta(\bar b - g)^\top g + 4\eta(g
    - \bar b)^2 \le 4\eta\|g - \bar b\|\|b^*\| + 4\eta\|g - \bar b\|^2 \le 4\eta\epsilon'\delta^0\|b^*\|^2 +
    4\eta(\epsilon')^2(\delta^t)^2\|b^*\|^2 \le 4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2$; $\|\hat a^+\|^2 \ge 1 -
    4\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2 - 4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2$; $\delta^1 \le \frac{E_1
    + E_2}{\|\hat a^+\|} \le \frac{\delta^0(1 - 2\eta((1 - (\delta^0)^2) - \epsilon')\|b^*\|^2 +
    2\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2)}{\sqrt{1 - 4\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2 -
    4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2}} = \delta^0C$; thresholds can be chosen with $1 - (\delta^0)^2 >
    \max(4(\tilde\epsilon(\epsilon' + 1)^2 + (\epsilon')^2 + \epsilon'), 2\epsilon' + 2\tilde\epsilon(\epsilon' +
    1)^2)$, and then $C = \frac{1 - 2\eta(1 - (\delta^0)^2)\|b^*\|^2 + 2\eta\epsilon'\|b^*\|^2 +
    2\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2}{\sqrt{1 - 4\eta(\tilde\epsilon(\epsilon' + 1)^2 + (\epsilon')^2 +
    \epsilon')\|b^*\|^2}} \le \frac{1 - 2\eta(1 - (\delta^0)^2)\|b^*\|^2 + \eta(2\epsilon' + 2\tilde\epsilon(\epsilon' +
    1)^2)\|b^*\|^2}{\sqrt{1 - 4\eta(\tilde\epsilon(\epsilon' + 1)^2 + (\epsilon')^2 + \epsilon')\|b^*\|^2}} \le \frac{1
    - \eta(1 - (\delta^0)^2)\|b^*\|^2}{\sqrt{1 - \eta(1 - (\delta^0)^2)\|b^*\|^2}} = \sqrt{1 - \eta(1 -
    (\delta^0)^2)\|b^*\|^2}$, so $\delta^1 \le \delta^0\sqrt{1 - \eta(1-(\delta^0)^2)\|b^*\|^2}$.""",
    measure=draw_steps,
    readings=(
        LITERAL,
        Reading(
            "with the misprints put right",
            r"""(124) to (166) for $\eta \le 1/L_{max}^2$, with (49) for $E[\nabla_al]$, the factor $(\epsilon' + 1)^2$
            of (76) in the second premise, $(g - \bar b)^\top(\bar b - g)$ for its negative before (155) and $\delta^0$
            for $\delta^t$ in (157).""",
            {"minus": False},
            r"The line before (155) has $(g - \bar b)^\top(\bar b - g)$ left of it, (134) and (152) have the factor of "
            "(76), and (126) replaces the expectation by (49).",
            ({"minus": True}, {"minus": False, "widest": 0.108}),
        ),
    ),
    control=Form(
        r"""The statement for $\eta \le 1/(4L_{max}^2)$, without $-(g - \bar b)^\top(\bar b - g)$ before (155), with
        (49) for $E[\nabla_al]$ and the factor of (76) in the second premise.""",
        {"longest": 0.25, "minus": False},
    ),
    correction=Form(
        r"""For $\eta \le 1/(2L_{max}^2)$ instead of $1/L_{max}^2$, with the factor $(\epsilon' + 1)^2$ of (76) in the
        second premise, and with $(g - \bar b)^\top(\bar b - g)$ for its negative before (155), every line holds as
        printed. Here $E[\nabla_al]$ is (49) throughout, as in (126). There $1 - 2\eta\|\bar b\|^2 \ge -\epsilon'^2$;
        for longer steps it can be much below 0: then a lower bound on $\|\bar b\|$ does not bound its modulus, as (144)
        has it, and (160) omits the bars.""",
        {"longest": 0.5, "minus": False},
        mutants=({"longest": 0.55}, {"widest": 0.108}, {"minus": True}),
    ),
    best={
        "widest": Best(
            0.107,
            "proved; 0.1072 is too much: beyond the root of $4(w(1+w)^2 + w^2 + w) = 1$ the condition before (161) "
            "fails at small angles",
        )
    },
    stands_in={  # what a longer step or threshold breaks
        "longest": ("(144)", "(160)"),
        "widest": ("(162) to (165)", "the condition before (161)"),
    },
    because=r"Long steps break (144), and (160) drops bars. Slips: Lemma A.10's factor for (76)'s, a minus before "
    r"(155), $\delta^t$ in (157).",
    expect=("corrected", "proof"),
    intended=Intended(
        "with the misprints put right",
        r"“By Lemma A.10, we get” the factor $(\epsilon')^2 + \epsilon'$, but (134), (152) have $(\epsilon' + 1)^2$ of "
        r"(76); “(126) uses” (49); (155) has $+4\eta(g - \bar b)^2$, as without the minus before it",
    ),
    print="inconsistent",
)
def eq_124(data: Steps, longest: float = 1.0, widest: float = 0.0625, minus: bool = True) -> Evidence:
    r"""Every line in every case; ``longest`` is $\eta L_{max}^2$ and $\|b^*\| = L_{max} = 1$."""
    kept = data.step <= longest
    chosen = Steps(*(getattr(data, name)[kept] for name in ("delta", "step", "share", "e", "D")))
    lines = lines_of(chosen, widest, minus)
    found = [
        judge_inequality(
            left,
            right,
            1e-14,
            size=1.0,
            printed=name,
            case=lambda index, name=name: {  # type: ignore[misc]
                "line": name,
                "delta": f"{chosen.delta[index]:.12g}",
                "step": f"{chosen.step[index]:.12g}",
                "eps": f"{chosen.share[index] * (1 - chosen.delta[index] ** 2) * widest:.12g}",
            },
            scope=f"{len(left)} first steps: delta_0 in (0, 1), eta ||b*||^2 up to {longest:g}, eps' = eps~ up to "
            "their bound, errors of every direction up to theirs",
            domain=describe_draws(len(left)),
            lines=[name] * len(left),
        )
        for name, (left, right) in lines.items()
    ]
    every = {name: line for one in found for name, line in one.lines.items()}
    broken = [evidence for evidence in found if not evidence.ok]
    if not broken:
        return replace(found[-1], printed=f"{len(lines)} lines", lines=every)
    first = broken[0]
    simple = np.flatnonzero(lines[first.printed][0] > lines[first.printed][1] + 1e-9)[0]
    d, s = float(chosen.delta[simple]), float(chosen.step[simple])
    witness = {
        "line": first.printed,
        "delta": f"{d:.12g}",
        "step": f"{s:.12g}",
        "eps": f"{float(chosen.share[simple]) * (1 - d**2) * widest:.12g}",
    }
    sides = " and right ".join(f"{side[simple]:.6g}" for side in lines[first.printed])
    told = f"left {sides} at the witness; broken: {', '.join(one.printed for one in broken)}"
    return replace(first, obtained=told, witness=witness, lines=every)
