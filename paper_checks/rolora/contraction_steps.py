r"""Appendix A.3, eqs. (81) to (116): the steps of the proof of Lemma A.11, on iterations of Algorithm 2.

Units: $\|b^*\| = 1$ and $s = \eta\|b^*\|^2$. On any samples the events of the lemmas
occur for the least $\epsilon'$ and $\tilde\epsilon$ that the samples allow: those are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy
import torch

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Best, Dropped, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, UNIT, tried_in_words
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.promises import Promise, judge_promises
from paper_checks.rolora.gradient_steps import chain_grid
from toymodels.regression import Regressor


@dataclass(frozen=True)
class Step:
    r"""One iteration, in units of $\|b^*\|$.

    Attributes:
        s: $\eta\|b^*\|^2$.
        sine: $\delta^t$.
        after: $\delta^{t+1}$.
        b: $\bar b$ in units of $b^*$.
        level: least $\epsilon'$ of (13).
        tilde: least $\tilde\epsilon$ of (66).
        deviation: $\|\nabla - E\nabla\|$.
        along: $a^\top(\nabla - E\nabla)$.
        slope: $a^\top E\nabla$.
        gradient: $\|\nabla\|^2$.
        square: $\|\hat a^+\|^2$.
        case: the Gram matrices, if short.
    """

    s: float
    sine: float
    after: float
    b: float
    level: float
    tilde: float
    deviation: float
    along: float
    slope: float
    gradient: float
    square: float
    case: dict[str, Any] | None = None


def measure_step(grams: list[np.ndarray], a: np.ndarray, truth: np.ndarray, s: float, case: Any = None) -> Step:
    """Runs the toolkit's iteration; gradient and expectation follow from the Gram matrices."""
    d = len(a)
    own = np.zeros((1, d))
    own[0, 0] = 1.0
    target = torch.from_numpy(np.outer(truth, own))
    fed = Federation(tuple(Regressor(torch.from_numpy(G), target) for G in grams))
    algorithm = ExactRoLoRA(s)
    state = algorithm.start(fed, Tree(W=torch.from_numpy(np.outer(a, own))))
    state = one_round(algorithm.round, fed, state)
    next_a, b = state.A["W"].numpy()[:, 0], float(state.B["W"][0, 0])
    cosine = float(a @ truth)
    sine = float(np.linalg.norm(truth - cosine * a))
    moved = (b * a - truth) * b
    gradient = 2.0 * np.mean(grams, axis=0) @ moved
    off = gradient - 2.0 * moved
    level = abs(b - cosine) / sine
    tilde = float(np.linalg.norm(off)) / (2.0 * float(np.linalg.norm(moved)))
    return Step(
        s, sine, float(np.linalg.norm(next_a - truth * (truth @ next_a))), b, level, tilde, float(np.linalg.norm(off)),
        float(a @ off), float(a @ (2.0 * moved)), float(gradient @ gradient),
        float(((a - s * gradient) ** 2).sum()), case,
    )  # fmt: skip


BALANCED = {
    "aa": ["11/10", "9/10"],
    "au": ["-11/100", "9/100"],
    "uu": ["1", "1"],
    "sine": "3/5",
    "s": "1",
    "eps": "1/1000",
}
"""Two clients whose mean b is g exactly, although the mean Gram matrix is not the identity."""


def run_steps(context: Context) -> list[Step]:
    """The balanced case first; then samples of every size and steps of every length."""
    values = {key: [float(sympy.Rational(v)) for v in column] for key, column in BALANCED.items() if len(key) == 2}
    grams = [np.array([[p, r], [r, q]]) for p, r, q in zip(values["aa"], values["au"], values["uu"], strict=True)]
    found = [measure_step(grams, np.array([1.0, 0.0]), np.array([0.8, 0.6]), 1.0, BALANCED)]
    rng = context.rng("samples")
    for (N, d), m, (s, sine) in product(((1, 2), (4, 8), (3, 20)), (5, 200), ((0.3, 0.05), (1.0, 0.6), (1e-3, 0.95))):
        basis = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        truth = np.sqrt(1.0 - sine**2) * basis[0] + sine * basis[1]
        Xs = rng.standard_normal((N, m, d))
        found.append(measure_step([X.T @ X / m for X in Xs], basis[0], truth, s))
    return found


def scope(steps: list[Step]) -> str:
    """What was covered."""
    return f"{len(steps)} iterations of Algorithm 2: 1 to 4 clients, d up to 20, m from 5 to 200, s from 0.001 to 1"


@claim(
    "rolora/eq-81",
    where="Appendix A.3, eqs. (81) to (85)",
    says=r"$P\hat a^+ = Pa - \eta PE[\nabla_al] + \eta P(E[\nabla_al] - \nabla_al) = Pa - 2\eta P(a\bar b^\top - "
    r"a^*b^{*\top})\bar b + \eta P(\ldots) = Pa(1 - 2\eta\bar b^\top\bar b) + \eta P(E[\nabla_al] - \nabla_al)$ with "
    r"$P = I_d - a^*(a^*)^\top$, by $E[\nabla_al] = 2(a\bar b^\top - a^*b^{*\top})\bar b$ and $Pa^* = 0$.",
    measure=lambda context: generic_points(context, sympy.symbols("u a0 a1 b0 b1 o0 o1 n0 n1 eta"), 3),
    mutants=[{"factor": 1.0}, {"sign": -1}],
    vary=("factor",),
    uses=("rolora/eq-48",),
    expect="holds",
    grade="proof",
)
def eq_81(points: list[Point], factor: float = 2.0, sign: int = 1) -> Evidence:
    """Any gradient in the place of the sampled one, any a, b and b*, and a unit a*."""
    u, a0, a1, b0, b1, o0, o1, n0, n1, eta = sympy.symbols("u a0 a1 b0 b1 o0 o1 n0 n1 eta")
    truth = sympy.Matrix([2 * u, 1 - u**2]) / (1 + u**2)
    a, b, own, nabla = (sympy.Matrix(pair) for pair in ((a0, a1), (b0, b1), (o0, o1), (n0, n1)))
    P = sympy.eye(2) - truth * truth.T
    mean = 2 * (a * b.T - truth * own.T) * b
    left = P * (a - eta * nabla)
    right = P * a * (1 - rational(factor) * eta * (b.T * b)[0]) + sign * eta * P * (mean - nabla)
    lines = [Equation(f"entry {k}", left[k], right[k]) for k in range(2)]
    return judge_identity(lines, points, "two dimensions, any vectors but a unit a*")


@claim(
    "rolora/eq-86",
    where="Appendix A.3, eqs. (86) to (89)",
    says=r"$\delta^{t+1} \le (E_1 + E_2)/\|\hat a^+\|$ with $E_1 = \delta^t|1 - 2\eta\bar b^\top\bar b|$ and $E_2 = "
    r"\eta\|E[\nabla_al] - \nabla_al\|$.",
    measure=run_steps,
    mutants=[{"second": 0.5}, {"factor": 1.9}],
    vary=("second",),
    uses=("rolora/eq-81", "rolora/def-5.2"),
    expect="holds",
    grade="proof",
)
def eq_86(steps: list[Step], second: float = 1.0, factor: float = 2.0) -> Evidence:
    """The angle after the iteration as the algorithm finds it."""
    promises = []
    for one in steps:
        right = one.sine * abs(1.0 - factor * one.s * one.b**2) + second * one.s * one.deviation
        promises.append(Promise("(88)", one.after * one.square**0.5, right, 1e-12, at_most=True))
    return judge_promises(promises, scope(steps))


@claim(
    "rolora/eq-90",
    where="Appendix A.3, eqs. (90) and (91), on the events of (42) and (62); their probability is that of Lemma A.10",
    says=r"By Lemma A.10, $E_2 = \eta\|E[\nabla_al] - \nabla_al\| \le "
    r"2\eta\tilde\epsilon(\epsilon'+1)^2\delta^t\|b^*\|^2$.",
    measure=run_steps,
    mutants=[{"one": 0.9}, {"form": "lemma"}],
    vary=("one",),
    uses=("rolora/eq-65",),
    expect="holds",
    grade="proof",
)
def eq_90(steps: list[Step], one: float = 1.0, form: str = "proof") -> Evidence:
    """With the bound (76) of the proof; the one printed in Lemma A.10 would not do."""
    promises = []
    for step in steps:
        factor = (step.level + one) ** 2 if form == "proof" else step.level**2 + step.level
        right = 2.0 * step.s * step.tilde * factor * step.sine
        promises.append(Promise("(91)", step.s * step.deviation, right, 1e-12 * step.s, at_most=True))
    return judge_promises(promises, f"{scope(steps)}; the probability is that of (79) and (43)")


@claim(
    "rolora/eq-92",
    where="Appendix A.3, eqs. (92) to (95); their probability is that of Lemma A.9",
    says=r"$\|\bar b\| = \|g - (g - \bar b)\| \ge \|g\| - \|g - \bar b\| = \sqrt{1 - (\delta^t)^2}\|b^*\| - \|g - \bar "
    r"b\| \ge \sqrt{1 - (\delta^t)^2}\|b^*\| - \epsilon'\delta^t\|b^*\|$.",
    measure=run_steps,
    mutants=[{"share": 0.9}, {"power": 1.0}],
    vary=("share",),
    uses=("rolora/lem-A.9",),
    expect="holds",
    grade="proof",
)
def eq_92(steps: list[Step], share: float = 1.0, power: float = 2.0) -> Evidence:
    """Equality whenever b is shorter than g."""
    promises = [Promise("(95)", (1.0 - one.sine**power) ** 0.5 - share * one.level * one.sine, abs(one.b), 1e-12,
                        at_most=True) for one in steps]  # fmt: skip
    # The power of the angle is that of |g|, which must be exact.
    promises += [Promise("|g|", (1.0 - one.sine**power) ** 0.5, (1.0 - one.sine**2) ** 0.5, 1e-12) for one in steps]
    return judge_promises(promises, scope(steps))


def angle_grid(_: Context) -> np.ndarray:
    """First angle, later angle as a share of it, eps' as a share of D/16."""
    return np.array(list(product((1e-3, 0.3, 0.7071, 0.9, 0.9999), (1e-3, 0.5, 0.8, 1.0), (1e-6, 0.5, 0.999))))


@claim(
    "rolora/eq-96",
    where="Appendix A.3, eqs. (96) to (99); their probability is that of Lemma A.9",
    says=r"$\epsilon' < \frac{1-(\delta^0)^2}{16}$ makes $\sqrt{1-(\delta^t)^2}\|b^*\| - \epsilon'\delta^t\|b^*\| \ge "
    r"0$; hence $\|\bar b\|^2 \ge (\sqrt{1-(\delta^t)^2}\|b^*\| - \epsilon'\delta^t\|b^*\|)^2 \ge "
    r"(1-(\delta^t)^2)\|b^*\|^2 + (\epsilon')^2(\delta^t)^2\|b^*\|^2 - \epsilon'\|b^*\|^2 \ge "
    r"(1-(\delta^0)^2)\|b^*\|^2 - \epsilon'\|b^*\|^2$, for $\delta^t \le \cdots \le \delta^0$.",
    measure=angle_grid,
    mutants=[{"less": 0.9}, {"bound": 400.0}],
    vary=("less",),
    uses=("rolora/eq-92",),
    hypotheses=(Dropped(r"$\epsilon' < (1 - (\delta^0)^2)/16$", {"bound": 400.0}),),
    expect="holds",
    grade="proof",
)
def eq_96(grid: np.ndarray, less: float = 1.0, bound: float = 1.0) -> Evidence:
    r"""The root under the square is not negative, and both estimates; ``bound`` scales the largest $\epsilon'$."""
    first = grid[:, 0]
    sine = first * grid[:, 1]
    level = bound * grid[:, 2] * (1.0 - first**2) / 16.0
    cosine = np.sqrt(1.0 - sine**2)
    middle = 1.0 - sine**2 + (level * sine) ** 2 - less * level
    left = np.concatenate([level * sine, middle, 1.0 - first**2 - level])
    right = np.concatenate([cosine, (cosine - level * sine) ** 2, 1.0 - sine**2 + (level * sine) ** 2 - level])
    return judge_inequality(
        left, right, 1e-12, case=lambda index: {"case": index % len(grid)}, compare=False,
        lines=np.repeat(["the root", "(97) to (98)", "(98) to (99)"], len(grid)).tolist(),
        domain=tried_in_words(
            ("delta_0", first, UNIT), ("delta_t/delta_0", grid[:, 1], UNIT), ("eps' over its bound", grid[:, 2], UNIT)
        ),
        scope=f"{len(grid)} angles and thresholds; the root is not negative, (97) to (98), (98) to (99)",
        printed="all three lines",
    )  # fmt: skip


@claim(
    "rolora/eq-102",
    where="Appendix A.3, eqs. (102) to (106)",
    says=r"$\|\hat a^+\|^2 = a^\top a + \eta^2\|\nabla_al\|^2 - 2\eta a^\top\nabla_al \ge 1 - 2\eta a^\top\nabla_al = "
    r"1 - 2\eta a^\top(\nabla_al - E[\nabla_al]) - 2\eta a^\top E[\nabla_al]$.",
    measure=run_steps,
    mutants=[{"factor": 1.9}, {"quadratic": 1.1}],
    vary=("factor", "quadratic"),
    expect="holds",
    grade="proof",
)
def eq_102(steps: list[Step], factor: float = 2.0, quadratic: float = 1.0) -> Evidence:
    """The square in full, (103), and without the term of second order, (106)."""
    promises = []
    for one in steps:
        linear = 1.0 - factor * one.s * (one.along + one.slope)
        promises.append(Promise("(103)", linear + quadratic * one.s**2 * one.gradient, one.square, 1e-12))
        promises.append(Promise("(106)", linear, one.square, 1e-12, at_most=True))
    return judge_promises(promises, scope(steps))


@claim(
    "rolora/eq-107",
    where="Appendix A.3, eqs. (107) to (109), on the events of (42) and (62)",
    says=r"$2\eta a^\top(\nabla_al - E[\nabla_al]) \le 2\eta\|a\| \cdot \|\nabla_al - E[\nabla_al]\| = "
    r"2\eta\|\nabla_al - E[\nabla_al]\| \le 4\eta\epsilon'(\epsilon'+1)^2\|b^*\|^2$.",
    measure=run_steps,
    vary=("factor",),
    best={
        "factor": Best(
            2.0,
            r"proved: $\|M\|\|\bar b\| \le \frac12(1 + \epsilon')^2\|b^*\|^2$, since $2\delta^t\sqrt{1 - (\delta^t)^2}"
            r" \le 1$",
        )
    },
    uses=("rolora/eq-65",),
    importance="detail",
    because=r"(109) prints $\epsilon'$ where (116) and (152) have $\tilde\epsilon$, and Lemma A.10 bounds the "
    r"deviation by $\tilde\epsilon$.",
    control=Form(r"With $2\tilde\epsilon$ as the first factor of (109).", {"form": "tilde", "factor": 2.0}),
    correction=Form(
        r"With $\tilde\epsilon$ as the first factor of (109), as in (116) and (152).",
        {"form": "tilde"},
        mutants=({"form": "prime"}, {"factor": 0.1}),
        asks="neither",
    ),
    expect="corrected",
    grade="proof",
)
def eq_107(steps: list[Step], form: str = "prime", factor: float = 4.0) -> Evidence:
    """On samples, with the least thresholds; and where b is g although the samples deviate.

    Args:
        steps: iterations.
        form: which threshold stands first in (109).
        factor: printed as 4.
    """
    promises = []
    for one in steps:
        # Where b = g every positive threshold will do; this one is as small as rounding lets it be.
        level = max(one.level, float(Fraction(one.case["eps"])) if one.case else 0.0)
        size = 2.0 * one.s * one.deviation
        promises.append(Promise("(107), (108)", 2.0 * one.s * one.along, size, 1e-12, at_most=True))
        right = factor * one.s * (level if form == "prime" else one.tilde) * (1.0 + level) ** 2
        promises.append(Promise("(108) to (109)", size, right, 1e-12, at_most=True, case=one.case))
    return judge_promises(promises, scope(steps))


@claim(
    "rolora/eq-110",
    where="Appendix A.3, eqs. (110) to (115); their probability is that of Lemma A.9",
    says=r"$2\eta a^\top E[\nabla_al] = 4\eta(\bar b - g)^\top g + 4\eta(g - \bar b)^2 \le 4\eta\|g - \bar b\|\|b^*\| "
    r"+ 4\eta\|g - \bar b\|^2 \le 4\eta\epsilon'\delta^t\|b^*\|^2 + 4\eta(\epsilon')^2(\delta^t)^2\|b^*\|^2 \le "
    r"4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2$.",
    measure=lambda context: (chain_grid(context),
                             generic_points(context, sympy.symbols("p t0 t1 b0 o0"), 3)),
    mutants=[{"sign": -1}, {"linear": 0.9}],
    vary=("linear",),
    uses=("rolora/eq-48", "rolora/lem-A.9"),
    expect="holds",
    grade="proof",
)  # fmt: skip
def eq_110(data: tuple[np.ndarray, list[Point]], sign: int = 1, linear: float = 1.0) -> Evidence:
    """(112) with symbols, for any b; then (113) to (115) for the lengths that the event allows."""
    p, t0, t1, b0, o0 = sympy.symbols("p t0 t1 b0 o0")
    a = sympy.Matrix([2 * p, 1 - p**2]) / (1 + p**2)
    truth, b, own = sympy.Matrix([t0, t1]), sympy.Matrix([b0]), sympy.Matrix([o0])
    g = (a.T * truth)[0] * own
    left = 4 * (a.T * (a * b.T - truth * own.T) * b)[0]
    right = 4 * ((b - g).T * g)[0] + sign * 4 * ((g - b).T * (g - b))[0]
    identity = judge_identity(
        [Equation("(112), over eta", left, right)], data[1], "any vectors but a unit a, b of one entry"
    )
    if not identity.ok:
        return identity
    sine, level, place, side = data[0].T
    gap, cosine = place * level * sine, side * np.sqrt(1.0 - sine**2)
    value = gap * cosine + gap**2
    lines = [value, np.abs(gap) + gap**2, level * sine + (level * sine) ** 2, level**2 + linear * level]
    return judge_inequality(
        np.concatenate(lines[:-1]), np.concatenate(lines[1:]), 1e-12, compare=False,
        case=lambda index: {"line": index // len(sine)}, lines=steps_of(lines),
        domain=tried_in_words(
            ("delta", sine, UNIT), ("eps'", level, POSITIVE), ("place of the mean", place, (-1.0, 1.0))
        ),
        scope=f"(112) for any vectors; (113) to (115) at {len(sine)} angles and levels, any sign of a . a*",
        printed="every line",
    )  # fmt: skip
