"""Appendix B.2: the proof of Theorem 4.2 (eqs. (67) to (79))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import sympy
import torch
from torch import Tensor

from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import identity
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded, Setting, Trace, follow
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    SCOPE,
    Traces,
    at_most,
    drift_rates,
    equal,
    follow_settings,
    judge_bounds,
    printed_D,
    with_all_clients,
)
from paper_checks.methods.domain import POSITIVE, Axis, Cases, Searched
from paper_checks.methods.identity import Equation, judge_identity, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.relations import Relation

GRADIENT, DRIFT, CHANGE, STEP = sympy.symbols("a d delta h", real=True)


@dataclass(frozen=True)
class Descents:
    """Numbers for the inner products of one round, and runs."""

    cases: Searched
    traces: list[Trace]


@dataclass(frozen=True, eq=False)
class Knotted(Bounded):
    """A loss of one weight whose slope is linear between knots and constant beyond them.

    Attributes:
        knots: Where, and the slope there, in increasing order.
    """

    knots: tuple[tuple[float, float], ...] = ()

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the integral of the slope from the first knot on."""
        end, places = float(w["W"]), [x for x, _ in self.knots]
        ends = np.array([places[0], *(x for x in places[1:] if x < end), end])
        slopes = self._at(ends)
        return torch.tensor(float(np.sum(np.diff(ends) * (slopes[1:] + slopes[:-1]) / 2)))

    def _slopes(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self._at(x.numpy()))

    def _at(self, x: np.ndarray) -> np.ndarray:
        return np.interp(x, [place for place, _ in self.knots], [slope for _, slope in self.knots])


KNOTS = {"knots": "-1/10 -1/20 -1/80 0", "slopes": "-1/2 5/2 1/4 1", "rate": "1/10"}
"""Two local steps from slope 1 at 0, beyond a valley and half the way back, to where the slope is 5/2."""


def run_on_knots(A: int, B: int) -> Trace:
    """Run one round of two local steps on the knots; one factor is 1, and hardly moves, the other starts at 0."""
    places, slopes = ([float(Fraction(text)) for text in KNOTS[name].split()] for name in ("knots", "slopes"))
    L = max(abs(np.diff(slopes) / np.diff(places)))
    zero, one = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    client = Knotted(zero[None], L, max(map(abs, slopes)) / L, knots=tuple(zip(places, slopes, strict=True)))
    rate = float(Fraction(KNOTS["rate"]))
    return follow(Setting("knots", (client,), zero, A * one, B * one, rate, steps=2, case={**KNOTS, "A": A, "B": B}))


def draw_descents(context: Context) -> Descents:
    """Draw gradient a, drift d, change delta of the gradient and step h = eta E, with vectors that meet equality."""
    axes = [
        Axis("a", 0.1, 10.0, POSITIVE, signed=True, words="the gradient, one coordinate"),
        Axis("d", 0.1, 10.0, POSITIVE, signed=True, words="the clients' mean drift from the gradient, one coordinate"),
        Axis("delta", 0.1, 10.0, POSITIVE, signed=True, words="the change of the gradient, one coordinate"),
        Axis("h", 0.01, 10, POSITIVE, words="learning rate times local steps, eta E"),
    ]

    def anything(cases: Cases) -> np.ndarray:
        return np.ones(len(cases["a"]), dtype=bool)

    found = collect_cases(context, axes, anything, anything, examples=context.size(200, 2000), restarts=0)
    met = {**found, "d": -found["a"] / 2.0, "delta": -found["h"] * found["a"]}
    tight = found.holding({name: np.concatenate([met[name], found[name]]) for name in found})
    return Descents(tight, [run_on_knots(0, 1), run_on_knots(1, 0), *with_all_clients(follow_settings(context))])


def _squares(square: float, change: float, kept: float, drift: float) -> sympy.Expr:
    """Return right minus left side of what eqs. (67) and (69) do with inner products, for the change -h(a + d) of B."""
    a, d, delta, h = GRADIENT, DRIFT, CHANGE, STEP
    moved = -h * (a + d)
    left = (a + delta) * moved
    return (
        rational(square) * moved**2
        + rational(change) * delta**2
        - rational(kept) * h * a**2
        + rational(drift) * h * d**2
        - left
    )


def _judge_squares(cases: Searched, difference: sympy.Expr, squares: sympy.Expr, scope: str) -> Evidence:
    """Judge an inequality between inner products: prove it by a sum of squares, or else look for a violation."""
    square = identity("right - left and a sum of squares", difference - squares)
    if square is not None:
        return Evidence(
            True, scope, "left <= right", "right - left is a sum of squares", cases=len(cases["a"]), facts=(square,)
        )
    order = (GRADIENT, DRIFT, CHANGE, STEP)
    value = sympy.lambdify(order, difference)(*(cases[name] for name in ("a", "d", "delta", "h")))
    size = (np.abs(cases["a"]) + np.abs(cases["d"]) + np.abs(cases["delta"])) ** 2 * (1.0 + cases["h"]) ** 2

    def case(index: int) -> dict[str, float]:
        return {name: float(column[index]) for name, column in cases.items()}

    return judge_inequality(-value, 0.0 * value, 1e-12 * size, scope=scope, case=case, domain=cases.domain)


BECAUSE = r"(59) averages over $i = 1, \ldots, E$, not over the steps taken: "

AVERAGED = {0: "drift_", 1: "later_"}
"""The drift of the mean gradient from the first, by the index from which the mean is taken."""

INNER = "all vectors (an inequality between inner products)"


def of_the_steps(why: str, *mutants: dict[str, float]) -> Reading:
    """Return the lines with the averages of (59) and (60) taken over the gradients of the local steps."""
    says = r"The same lines with $\Delta$ and $\tilde\Delta$ averaged over the gradients of the local steps, "
    return Reading(
        "averages of the local steps",
        says + r"$i = 0, \ldots, E-1$, with weights that sum to 1 over the clients.",
        {"begins": 0},
        f"{why} true of these averages (see eq-61-62).",
        mutants=mutants,
    )


def _split(name: str) -> list[Equation]:
    """Return the equalities of (69) and (73): a is added to and taken off the average a + d, then all is expanded."""
    a, d, h = GRADIENT, DRIFT, STEP
    left, split, expanded = -h * a * (a + d), -h * a * ((a + d) - a + a), -h * a * d - h * a**2
    return [Equation(f"{name}, first equality", left, split), Equation(f"{name}, second equality", split, expanded)]


@claim(
    "fedloru-v2/eq-67-70",
    where="Appendix B.2, eqs. (67) to (70)",
    says=r"""With $v = B_{t+1} - B_t$, $\nabla = \nabla_Bf_t(A_tB_t)$ and $\nabla' = \nabla_Bf_t(A_{t+1}B_t)$ (our
    abbreviations): by Lemma B.5 (a), $\langle a,b\rangle \le \frac14\|a\|^2 + \|b\|^2$ and (62) (b),
    $\mathbb{E}[f_t(A_{t+1}B_{t+1})] \le \mathbb{E}[f_t(A_{t+1}B_t)] + \mathbb{E}[\langle\nabla', v\rangle] +
    \frac{LC_A^2}2\mathbb{E}\|v\|^2 = \mathbb{E}[f_t(A_{t+1}B_t)] + \frac{LC_A^2}2\mathbb{E}\|v\|^2 +
    \mathbb{E}[\langle\nabla' - \nabla + \nabla, v\rangle] = \mathbb{E}[f_t(A_{t+1}B_t)] +
    \frac{LC_A^2}2\mathbb{E}\|v\|^2 + \mathbb{E}[\langle\nabla, v\rangle] + \mathbb{E}[\langle\nabla' - \nabla,
    v\rangle] \le \mathbb{E}[f_t(A_{t+1}B_t)] + \frac{LC_A^2}2\mathbb{E}\|v\|^2 - \eta E\,\mathbb{E}[\langle\nabla,
    \sum_kp^{(k)}\tilde\Delta_{B,t}^{(k)}\rangle] + \mathbb{E}\|v\|^2 + \frac14\mathbb{E}[\|\nabla' - \nabla\|^2]$ (67);
    by the full expectation over the samples $\mathbb{E}[\langle\nabla, \sum_kp^{(k)}\tilde\Delta_{B,t}^{(k)}\rangle] =
    \mathbb{E}[\langle\nabla, \sum_kp^{(k)}\Delta_{B,t}^{(k)}\rangle]$ (68); the same inequality gives $-\eta
    E\,\mathbb{E}[\langle\nabla, \sum_kp^{(k)}\Delta_{B,t}^{(k)}\rangle] = -\eta E\,\mathbb{E}[\langle\nabla,
    \sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla + \nabla\rangle] = -\eta E\,\mathbb{E}[\langle\nabla,
    \sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla\rangle] - \eta E\,\mathbb{E}\|\nabla\|^2 \le \eta
    E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla\|^2] - \frac{3\eta E}4\mathbb{E}\|\nabla\|^2$ (69); hence,
    with Lemma B.6 for the second step, $\mathbb{E}[f_t(A_{t+1}B_{t+1})] \le \mathbb{E}[f_t(A_{t+1}B_t)] + (1 +
    \frac{LC_A^2}2)\mathbb{E}\|v\|^2 - \frac{3\eta E}4\mathbb{E}\|\nabla\|^2 + \frac14\mathbb{E}[\|\nabla' - \nabla\|^2]
    + \eta E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla\|^2] \le \mathbb{E}[f_t(A_{t+1}B_t)] + (1 +
    \frac{LC_A^2}2)\mathbb{E}\|v\|^2 - \frac{3\eta E}4\mathbb{E}\|\nabla\|^2 +
    \frac12(L^2C_A^2C_B^2+G^2)\mathbb{E}\|A_{t+1} - A_t\|^2 + \eta E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} -
    \nabla\|^2]$ (70).""",
    measure=draw_descents,
    readings=(
        LITERAL,
        of_the_steps(
            "(b) uses (62), which is",
            {"kept": 0.76},
            {"square": 0.99},
            {"drift": 0.99},
            {"change": 0.24},
            {"cross": 0.49},
        ),
    ),
    vary=("kept", "square", "drift", "change"),
    uses=("fedloru-v2/lem-B.5", "fedloru-v2/lem-B.6", "fedloru-v2/eq-61-62", "fedloru-v2/eq-59-60"),
    because=BECAUSE + "the last step of (67) fails, and with it (70).",
    expect=("holds", "proof"),
    intended=Intended(
        "averages of the local steps", "(62) in step (b) needs the average over the steps of (7), “i = 0, …, E-1”"
    ),
    print="misprint",
)
def eq_67_70(
    data: Descents,
    kept: float = 0.75,
    square: float = 1.0,
    drift: float = 1.0,
    change: float = 0.25,
    cross: float = 0.5,
    begins: int = 1,
) -> Evidence:
    """The inner products as a sum of squares, 2/4 as 1/2, then every member on runs, with (68) put in."""
    a, d, delta, h = GRADIENT, DRIFT, CHANGE, STEP
    exact = (-h * (a + d) - delta / 2) ** 2 + h * (d + a / 2) ** 2
    inner = _judge_squares(data.cases, _squares(square, change, kept, drift), exact, INNER)
    if not inner.ok:
        return inner
    equalities = judge_identity(_split("(69)"), [dict.fromkeys((a, d, h), rational(2))], "all vectors")
    if not equalities.ok:
        return equalities
    if Fraction(cross) != Fraction(change) * 2:
        return replace(inner, ok=False, obtained="a quarter of Lemma B.6 has the factor 1/2", margin=-1.0, facts=())
    lines = []
    for trace in data.traces:
        L, G, C_A, C_B, h_run = trace.L, trace.G, trace.C_A, trace.C_B, trace.setting.rate * trace.setting.steps
        for one in trace.rounds:
            smooth = one["half"] + L * C_A**2 / 2 * one["dB"]
            second, fourth = smooth + one["along_half"], smooth + one["along_B"] + one["along_cross"]
            fifth = smooth - h_run * one[f"with_{AVERAGED[begins]}B"] + square * one["dB"] + change * one["cross"]
            first = (
                smooth + square * one["dB"] - kept * h_run * one["in_B"] + drift * h_run * one[AVERAGED[begins] + "B"]
            )
            right = first + cross * (L**2 * C_A**2 * C_B**2 + G**2) * one["dA"]
            lines += [
                at_most("(67), (a)", one["next"], second, trace),
                equal("(67), the equalities", second, fourth, trace),
                at_most("(67), (b) with (68)", fourth, fifth, trace),
                at_most("(70), first step", one["next"], first + change * one["cross"], trace),
                at_most("(70), (d)", first + change * one["cross"], right, trace),
                at_most("(70)", one["next"], right, trace),
            ]
    return replace(judge_bounds(lines, f"{INNER}; every member of (67) and (70); {SCOPE}"), slack=1.0)


@claim(
    "fedloru-v2/eq-71-75",
    where="Appendix B.2, eqs. (71) to (75)",
    says=r"""With $u = A_{t+1} - A_t$, $v = B_{t+1} - B_t$, $\nabla_A = \nabla_Af_t(A_tB_t)$ and $\nabla_B$ likewise
    (our abbreviations): by Lemma B.5 $\mathbb{E}[f_t(A_{t+1}B_t)] \le \mathbb{E}[f_t(A_tB_t)] +
    \mathbb{E}[\langle\nabla_A, u\rangle] + \frac{LC_B^2}2\mathbb{E}\|u\|^2 = \mathbb{E}[f_t(A_tB_t)] +
    \frac{LC_B^2}2\mathbb{E}\|u\|^2 - \eta E\,\mathbb{E}[\langle\nabla_A, \sum_kp^{(k)}\tilde\Delta_{A,t}^{(k)}\rangle]$
    (71); by the full expectation $\mathbb{E}[\langle\nabla_A, \sum_kp^{(k)}\tilde\Delta_{A,t}^{(k)}\rangle] =
    \mathbb{E}[\langle\nabla_A, \sum_kp^{(k)}\Delta_{A,t}^{(k)}\rangle]$ (72), and $-\eta E\,\mathbb{E}[\langle\nabla_A,
    \sum_kp^{(k)}\Delta_{A,t}^{(k)}\rangle] = -\eta E\,\mathbb{E}[\langle\nabla_A, \sum_kp^{(k)}\Delta_{A,t}^{(k)} -
    \nabla_A + \nabla_A\rangle] = -\eta E\,\mathbb{E}[\langle\nabla_A, \sum_kp^{(k)}\Delta_{A,t}^{(k)} -
    \nabla_A\rangle] - \eta E\,\mathbb{E}\|\nabla_A\|^2 \le \eta E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} -
    \nabla_A\|^2] - \frac{3\eta E}4\mathbb{E}\|\nabla_A\|^2$ (73); hence $\mathbb{E}[f_t(A_{t+1}B_t)] \le
    \mathbb{E}[f_t(A_tB_t)] + \frac{LC_B^2}2\mathbb{E}\|u\|^2 - \frac{3\eta E}4\mathbb{E}\|\nabla_A\|^2 + \eta
    E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_A\|^2]$ (74), and, substituted into (70),
    $\mathbb{E}[f_t(A_{t+1}B_{t+1})] \le \mathbb{E}[f_t(A_tB_t)] - \frac{3\eta E}4(\mathbb{E}\|\nabla_B\|^2 +
    \mathbb{E}\|\nabla_A\|^2) + \frac12(LC_B^2 + L^2C_A^2C_B^2 + G^2)\mathbb{E}\|u\|^2 + (1 +
    \frac{LC_A^2}2)\mathbb{E}\|v\|^2 + \eta E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{B,t}^{(k)} - \nabla_B\|^2] + \eta
    E\,\mathbb{E}[\|\sum_kp^{(k)}\Delta_{A,t}^{(k)} - \nabla_A\|^2]$ (75).""",
    measure=draw_descents,
    readings=(
        LITERAL,
        of_the_steps(
            "(71) uses (61), and (75) through (70) also (62), which are",
            {"kept": 0.76},
            {"drift": 0.99},
            {"smooth": 0.49},
            {"cross": 0.25},
        ),
    ),
    vary=("kept", "drift", "smooth"),
    uses=("fedloru-v2/lem-B.5", "fedloru-v2/eq-61-62", "fedloru-v2/eq-59-60", "fedloru-v2/eq-67-70"),
    because=BECAUSE + "the equality of (71) fails, so (74), and (75) as in eq-67-70.",
    expect=("holds", "proof"),
    intended=Intended("averages of the local steps", "(71) needs the average over the steps of (7), “i = 0, …, E-1”"),
    print="misprint",
)
def eq_71_75(
    data: Descents, kept: float = 0.75, drift: float = 1.0, smooth: float = 0.5, cross: float = 0.5, begins: int = 1
) -> Evidence:
    """The inner products as a square, the sum of the factors, then every member on runs, with (72) put in."""
    a, d, h = GRADIENT, DRIFT, STEP
    difference = h * a * (a + d) - rational(kept) * h * a**2 + rational(drift) * h * d**2
    inner = _judge_squares(data.cases, difference, h * (d + a / 2) ** 2, INNER)
    if not inner.ok:
        return inner
    L, G, C_A, C_B = sympy.symbols("L G C_A C_B")
    summed = L * C_B**2 / 2 + 2 * rational("1/4") * (L**2 * C_A**2 * C_B**2 + G**2)
    stated = rational(smooth) * L * C_B**2 + rational(cross) * (L**2 * C_A**2 * C_B**2 + G**2)
    point = {L: rational(2), G: rational(3), C_A: rational(5), C_B: rational(7), a: rational(2), d: rational(3)}
    equations = [*_split("(73)"), Equation("factor in (75)", summed, stated)]
    factors = judge_identity(equations, [{**point, h: rational(5)}], "all L, G, C_A, C_B, and all vectors")
    if not factors.ok:
        return factors
    lines = []
    for trace in data.traces:
        L_run, C_run = trace.L, trace.C_B
        extra = trace.L**2 * trace.C_A**2 * trace.C_B**2 + trace.G**2
        h_run = trace.setting.rate * trace.setting.steps
        for one in trace.rounds:
            start = one["loss"] + smooth * L_run * C_run**2 * one["dA"]
            middle, last = start + one["along_A"], start - h_run * one[f"with_{AVERAGED[begins]}A"]
            half = start - kept * h_run * one["in_A"] + drift * h_run * one[AVERAGED[begins] + "A"]
            whole = half + cross * extra * one["dA"] + (1 + L_run * trace.C_A**2 / 2) * one["dB"]
            whole += -kept * h_run * one["in_B"] + drift * h_run * one[AVERAGED[begins] + "B"]
            lines += [
                at_most("(71), its inequality", one["half"], middle, trace),
                equal("(71), its equality, with (72)", middle, last, trace),
                at_most("(74)", one["half"], half, trace),
                at_most("(75)", one["next"], whole, trace),
            ]
    return replace(judge_bounds(lines, f"{INNER}; every member of (71), (74) and (75); {SCOPE}"), slack=1.0)


@claim(
    "fedloru-v2/eq-76",
    where="Appendix B.2, eq. (76)",
    says=r"""By Lemmas B.7 and B.8: $\mathbb{E}[f_t(A_{t+1}B_{t+1})] \le \mathbb{E}[f_t(A_tB_t)] - \frac{3\eta
    E}4(\mathbb{E}\|\nabla_Bf_t(A_tB_t)\|^2 + \mathbb{E}\|\nabla_Af_t(A_tB_t)\|^2) +
    2\eta^2(\sigma^2+G^2)E^2\{\frac12(LC_B^2 + L^2C_A^2C_B^2 + G^2) + (1+\frac{LC_A^2}2)C_A^2\} +
    4\eta^3ED(C_A^2+C_B^2)$.""",
    measure=follow_settings,
    control=Form(r"The line in runs with $C_B \le 1$ and $L \le 1$.", {"comparable": True}),
    correction=Form(
        r"""$\mathbb{E}[f_t(A_{t+1}B_{t+1})] \le \mathbb{E}[f_t(A_tB_t)] - \frac{3\eta
        E}4(\mathbb{E}\|\nabla_Bf_t(A_tB_t)\|^2 + \mathbb{E}\|\nabla_Af_t(A_tB_t)\|^2) + \eta^2G^2E^2\{\frac12(LC_B^2 +
        L^2C_A^2C_B^2 + G^2)C_B^2 + (1+\frac12LC_A^2)C_A^2\} + \frac14\eta^3E(E-1)^2G^2(d_A^2 + d_B^2)$ with $d_A =
        LC_B(C_A^2+C_B^2)+GC_A$, $d_B = LC_A(C_A^2+C_B^2)+GC_B$. The first part of the brace keeps the factor $C_B^2$ of
        Lemma B.7 for A, $\eta^2G^2E^2$ is enough before the brace, and $d_A$, $d_B$ are those of the corrected Lemma
        B.8.""",
        {"form": "corrected"},
        ({"power": 0}, {"first": 0.7}, {"kept": 1.2}),
    ),
    best={
        "first": Best(1.0, "proved: samples of opposite slopes at the bottom of a parabola come as near as one likes"),
        "kept": Best(0.75, "proved; runs break 1"),
    },
    uses=("fedloru-v2/eq-71-75", "fedloru-v2/lem-B.7", "fedloru-v2/lem-B.8"),
    because=r"The factor $C_B^2$ of $\mathbb{E}\|A_{t+1} - A_t\|^2$ in Lemma B.7 is lost, and the drift lacks L.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", "“By using Lemma B.7 and Lemma B.8”: the factor C_B² of “E‖A_{t+1} - A_t‖²” is lost in the brace"
    ),
)
def eq_76(
    traces: Traces,
    form: str = "printed",
    first: float = 1.0,
    power: int = 2,
    kept: float = 0.75,
    drift: int = 1,
    comparable: bool = False,
) -> Evidence:
    """Every round of every run with all clients; ``power`` is the exponent of C_B before the brace's first part."""
    lines = []
    for trace in with_all_clients(traces):
        E, rate, C_A, C_B, L, G = trace.setting.steps, trace.setting.rate, trace.C_A, trace.C_B, trace.L, trace.G
        if comparable and (C_B > 1.0 or L > 1.0):
            continue
        changes = (L * C_B**2 + L**2 * C_A**2 * C_B**2 + G**2) / 2
        if form == "printed":
            second = 2 * rate**2 * (trace.sigma2 + G**2) * E**2 * (changes + (1 + L * C_A**2 / 2) * C_A**2) * first
            third = 4 * rate**3 * E * printed_D(trace, C_A, C_B) * (C_A**2 + C_B**2)
        else:
            brace = changes * C_B**power + (1 + L * C_A**2 / 2) * C_A**2
            second = rate**2 * G**2 * E**2 * brace * first
            d_A, d_B = drift_rates(trace)
            third = rate**3 * E * (E - 1) ** 2 * G**2 * (d_A**2 + d_B**2) / 4
        for one in trace.rounds:
            right = one["loss"] - kept * rate * E * (one["in_A"] + one["in_B"]) + second + drift * third
            lines.append(at_most("(76)", one["next"], right, trace))
    return judge_bounds(lines, SCOPE)


NAMES = ("L", "G", "sigma2", "C_A", "C_B", "E", "eta")


def draw_constants(context: Context) -> list[dict[str, Fraction]]:
    """Draw constants and step sizes in fractions, ones first."""
    rng = context.rng("constants")
    found = [dict.fromkeys(NAMES, Fraction(1))]
    for _ in range(context.size(30, 300)):
        found.append({name: Fraction(int(rng.integers(1, 40)), int(rng.integers(1, 20))) for name in NAMES})
        found[-1]["E"] = Fraction(int(rng.integers(1, 9)))
    return found


def _constants(
    case: dict[str, Fraction], first: Fraction, second: Fraction, largest: Fraction | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Return K_1, K_2 at a step size (or at the largest one), and the last two terms of (76) times 4/(3 eta E)."""
    L, G, s, C_A, C_B, E, eta = (case[name] for name in NAMES)
    s2 = s + G**2
    brace = (L * C_B**2 + L**2 * C_A**2 * C_B**2 + G**2) / 2 + (1 + L * C_A**2 / 2) * C_A**2

    def D(step: Fraction) -> Fraction:
        return E**2 * s2 * (6 * C_A**2 * C_B**2 * (1 + step**2 * E**2 * s2) + G**2)

    K_1 = first * E * s2 * brace
    K_2 = second * D(eta if largest is None else largest) * (C_A**2 + C_B**2)
    last = 2 * eta**2 * s2 * E**2 * brace + 4 * eta**3 * E * D(eta) * (C_A**2 + C_B**2)
    return K_1, K_2, last * 4 / (3 * eta * E)


@claim(
    "fedloru-v2/eq-77-K",
    where="Appendix B.2, eq. (77) with $K_1$ and $K_2$; Theorem 4.2",
    says=r"""Rearranged, (76) gives $\mathbb{E}[\|\nabla_Af(\tilde W_t)\|^2 + \|\nabla_Bf(\tilde W_t)\|^2] \le
    \frac4{3\eta E}(\mathbb{E}[f(\tilde W_t)] - \mathbb{E}[f(\tilde W_{t+1})]) + K_1\eta + K_2\eta^2$ with $K_1 =
    \frac{8E}3(\sigma^2+G^2)[\frac12(LC_B^2 + L^2C_A^2C_B^2 + G^2) + (1+\frac{LC_A^2}2)C_A^2]$ and $K_2 =
    \frac{16D}3(C_A^2+C_B^2)$, which depend only on $(C_A, C_B, G, L, E, \sigma^2)$.""",
    measure=draw_constants,
    control=Form(r"The arithmetic from (76) to (77), with a $K_2$ that depends on $\eta$ through D.", {"same": False}),
    correction=Form(
        r"""Given (76), which fails with its own constants (eq-76), (77) holds for every $\bar\eta > 0$ and all $\eta
        \le \bar\eta$ with the printed $K_1$ and $K_2 = \frac{16\bar D}3(C_A^2+C_B^2)$, where $\bar D =
        E^2(\sigma^2+G^2)\{6C_A^2C_B^2(1 + \bar\eta^2E^2(\sigma^2+G^2)) + G^2\}$ is D at $\bar\eta$; neither constant
        depends on $\eta$.""",
        {"largest": True},
        ({"first": 2.6}, {"second": 5.3}, {"largest": False}),
    ),
    uses=("fedloru-v2/eq-76", "fedloru-v2/lem-B.8"),
    because=r"$K_2$ contains D, which contains $\eta$, so $K_2$ grows with the step size.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“K_2 = (16D/3)(C_A²+C_B²)”, and D of Lemma B.8 contains “1+η²E²(σ²+G²)”; Theorem 4.2 "
        "says K_2 depends “only on” others",
    ),
)
def eq_77_K(
    cases: list[dict[str, Fraction]],
    first: float = 8 / 3,
    second: float = 16 / 3,
    same: bool = True,
    largest: bool = False,
) -> Evidence:
    """K_1 eta + K_2 eta^2 against the terms of (76), and K_2 at a step size and at twice that."""
    eight, sixteen = Fraction(first).limit_denominator(10**9), Fraction(second).limit_denominator(10**9)
    lines = []
    for number, case in enumerate(cases):
        double = {**case, "eta": 2 * case["eta"]}
        bound = double["eta"] if largest else None
        found = [_constants(one, eight, sixteen, bound) for one in (case, double)]
        shown = {name: str(value) for name, value in case.items()} if number == 0 else None
        for (K_1, K_2, terms), one in zip(found, (case, double), strict=True):
            total = K_1 * one["eta"] + K_2 * one["eta"] ** 2
            lines.append(
                Relation("the terms of (76) are at most those of (77)", float(terms / total), 1.0, 1e-12, True)
            )
        if same:
            lines.append(
                Relation("K_2 is the same for two step sizes", float(found[1][1]), float(found[0][1]), case=shown)
            )
    return judge_bounds(lines, f"{len(cases)} sets of constants in fractions, each with two step sizes")


def draw_sequences(context: Context) -> list[tuple[list[float], list[float], float]]:
    """Draw sequences f_0.. f_{T+1} and g_t with (77): g_t = f_t - f_{t+1} + K at every t; a short one by hand first."""
    rng = context.rng("sequences")
    found = [([0.0, 1.0, 0.0], [0.0, 2.0], 1.0)]
    for _ in range(context.size(200, 2000)):
        T = int(rng.integers(1, 8))
        f = rng.uniform(0.0, 1.0, T + 2)
        f[rng.integers(0, T + 2)] = 0.0
        K = float(max(0.0, np.max(np.diff(f)))) * float(rng.choice([1.0, 1.5]))
        found.append((f.tolist(), [float(f[t] - f[t + 1] + K) for t in range(T + 1)], K))
    return found


@claim(
    "fedloru-v2/eq-78-79",
    where="Appendix B.2, eqs. (78) and (79); Theorem 4.2, eq. (9)",
    says=r"""Summing (77) over $t = 1, \ldots, T$ yields $\frac1T\sum_{t=1}^T\mathbb{E}[\|\nabla_Af(\tilde W_t)\|^2 +
    \|\nabla_Bf(\tilde W_t)\|^2] \le \frac4{3\eta TE}(\mathbb{E}[f(\tilde W_0)] - \mathbb{E}[f(\tilde W_T)]) + K_1\eta +
    K_2\eta^2$ (78); since f is bounded below by $f^\star$, with $\Delta_0 = \mathbb{E}[f(\tilde W_0)] - f^\star$ at
    most $\frac{4\Delta_0}{3\eta ET} + K_1\eta + K_2\eta^2$ (79); taking the minimum over $t = 1, \ldots, T$ on the left
    gives the same upper bound for that over $t < T$.""",
    measure=draw_sequences,
    control=Form("The bound on the least gradient over $t < T$.", {"part": "least"}),
    correction=Form(
        r"""Given (77) in each round, with any constants: the sum over $t = 0..T-1$ telescopes to $f(\tilde W_0) -
        f(\tilde W_T)$. Therefore $\frac1T\sum_{t=0}^{T-1}\mathbb{E}[\|\nabla_Af(\tilde W_t)\|^2 + \|\nabla_Bf(\tilde
        W_t)\|^2] \le \frac{4\Delta_0}{3\eta ET} + K_1\eta + K_2\eta^2$, and the minimum over $t < T$ has the same
        bound. The sum over $t = 1..T$ telescopes to $f(\tilde W_1) - f(\tilde W_{T+1})$, where $\tilde W_1 = W_0 +
        A_0B_0$ is the start in the theorem's own notation; with $\mathbb{E}[f(\tilde W_1)] - f^\star$ for $\Delta_0$ it
        bounds the mean and the minimum over $t = 1..T$.""",
        {"begins": 0},
        ({"begins": 1}, {"factor": 0.99}, {"rounds_power": 2}),
    ),
    uses=("fedloru-v2/eq-77-K",),
    because=r"The sum over $t = 1, \ldots, T$ telescopes to $f(\tilde W_1) - f(\tilde W_{T+1})$, not $f(\tilde W_0) - "
    r"f(\tilde W_T)$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "“min_{0≤t<T}” right after, and f(W̃_0) - f(W̃_T): the sum runs over t = 0, …, T-1"
    ),
    print="misprint",
)
def eq_78_79(
    sequences: list[tuple[list[float], list[float], float]],
    begins: int = 1,
    factor: float = 1.0,
    rounds_power: int = 1,
    part: str = "mean",
) -> Evidence:
    """Sequences that meet (77) with equality, in units of 4/(3 eta E); f* is 0."""
    lines = []
    for number, (f, g, K) in enumerate(sequences):
        T = len(g) - 1
        bound = factor * (f[0] / T**rounds_power + K)
        case = {"f": " ".join(map(str, f)), "g": " ".join(map(str, g)), "K": K} if number == 0 else None
        left = min(g[:T]) if part == "least" else sum(g[begins : begins + T]) / T
        lines.append(Relation("(79)", left, bound, 1e-12, True, case))
        if not begins:
            later = factor * (f[1] / T**rounds_power + K)
            lines += [
                Relation("the minimum over t < T", min(g[:T]), bound, 1e-12, True),
                Relation("(79) from t = 1 on", sum(g[1:]) / T, later, 1e-12, True),
            ]
        if part == "mean":
            exact = factor * ((f[0] - f[T]) / T**rounds_power + K)
            lines.append(Relation("(78)", left, exact, 1e-12, True, case))
    return judge_bounds(lines, f"{len(sequences)} sequences of 1 to 7 rounds with equality in (77)")
