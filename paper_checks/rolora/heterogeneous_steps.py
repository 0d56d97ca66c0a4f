"""Appendix A.5: different clients under the population loss; the update and the steps of the proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy
import torch

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.promises import Promise, Promises, judge_promises, promises, same
from paper_checks.rolora.iteration_counts import Count, judge_equivalence, judge_order, search_counts
from paper_checks.rolora.population import SCOPE, Iteration, iterations

TWICE = Form("The statement for a single client.", {"single": True})


def _of(found: Sequence[Iteration], single: bool) -> list[Iteration]:
    return [one for one in found if not single or len(one.own_b) == 1]


def _scope(found: Sequence[Iteration], single: bool) -> str:
    dimensions = sorted({len(one.truth) for one in _of(found, single)})
    told = f"{len(_of(found, single))} iterations of one client, d = {', '.join(map(str, dimensions))}"
    return told if single else SCOPE


@promises(
    "rolora/lem-A.15",
    where="Appendix A.5, Lemma A.15, eqs. (247) and (248)",
    says=r"$b^{t+1} = \bar b = \bar b^*a^{*\top}a^t$ and $a^{t+1} = \hat a = \frac{a^t - 2\eta(a^t\bar b^\top\bar b - "
    r"a^*\bar b^{*\top}\bar b)}{\|\hat a^+\|}$, where $\bar b^* = \sum_{i=1}^Nb_i^*$ and $\hat a^+$ is the numerator.",
    measure=iterations,
    control=TWICE,
    correction=Form(
        r"With the mean, $\bar b^* = \frac1N\sum_ib_i^*$, as after eq. (246) and in Definition A.13.",
        {"mean_power": 1},
        mutants=({"mean_power": 2}, {"factor": 1.99}, {"unit": False}),
    ),
    also=("rolora/eq-247",),
    importance="detail",
    because=r"$\bar b^*$ is printed as the sum of the $b_i^*$, N times the mean that it is elsewhere.",
    expect=("corrected", "proof"),
)
def lem_A_15(
    found: list[Iteration], mean_power: int = 0, factor: float = 2.0, unit: bool = True, single: bool = False
) -> Promises:
    """One iteration of the toolkit's Algorithm 2 against the formulas."""
    for one in _of(found, single):
        mean = torch.stack(one.own_b).sum(dim=0) / float(len(one.own_b)) ** mean_power
        b = mean * (one.truth.mT @ one.a)
        yield same("b is the mean b* times the cosine", one.b_after, b, one.case)
        stepped = one.a - factor * one.eta * (one.a @ b - one.truth @ mean) @ b.mT
        stepped = stepped / torch.linalg.vector_norm(stepped) if unit else stepped
        yield same("a is the normalised step", one.a_after, stepped, one.case)
    return _scope(found, single)


@promises(
    "rolora/eq-249",
    where="Appendix A.5, proof of Lemma A.15, eqs. (249) to (253)",
    says=r"$b_i = \frac{b_i^*a^{*\top}a}{a^\top a} = b_i^*a^{*\top}a$; the server computes the average $\bar b = "
    r"\sum_ib_i = \sum_ib_i^*a^{*\top}a = \bar b^*a^{*\top}a$; $\nabla_al_i(a, \bar b) = 2(a\bar b^\top\bar b - "
    r"a^*b_i^{*\top}\bar b)$; $\hat a^+ = a - \frac\eta N\sum_i\nabla_al_i(a, \bar b) = a - 2\frac\eta "
    r"N\sum_i(a\bar b^\top\bar b - a^*b_i^{*\top}\bar b) = a - 2\eta(a\bar b^\top\bar b "
    r"- a^*\bar b^{*\top}\bar b)$, $\hat a = \frac{a - 2\eta(a\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)}{\|\hat "
    r"a^+\|}$.",
    measure=iterations,
    control=TWICE,
    correction=Form(
        r"With $\frac1N$ before both sums of (250), $\bar b = \frac1N\sum_ib_i = \frac1N\sum_ib_i^*a^{*\top}a = \bar "
        r"b^*a^{*\top}a$, which is what the text before it says, $\bar b^*$ being the mean of the $b_i^*$ as after "
        r"(246); the other lines as printed. (With the sum $\bar b^* = \sum_ib_i^*$ that Lemma A.15 prints, the last "
        r"two sides of (250) agree, but the last line of (252) lacks $\frac1N$ before its last term.)",
        {"mean_power": 1},
        mutants=({"mean_power": 2}, {"factor": 1.99}, {"own": False}),
    ),
    uses=("rolora/lem-A.15",),
    importance="detail",
    because=r"(250) prints the sum of the $b_i$ for their average: the factor $\frac1N$ is missing.",
    expect=("corrected", "proof"),
)
def eq_249(
    found: list[Iteration], mean_power: int = 0, factor: float = 2.0, own: bool = True, single: bool = False
) -> Promises:
    """The uploads of the toolkit's clients in both halves, and what the server makes of them."""
    for one in _of(found, single):
        cosine, total = one.truth.mT @ one.a, torch.stack(one.minimisers).sum(dim=0)
        for b, mine in zip(one.minimisers, one.own_b, strict=True):
            yield same("(249): the client's minimiser", b, mine * cosine)
        server = total / float(len(one.own_b)) ** mean_power
        yield same("(250): what the server gets", one.b_after, server, one.case)
        b = one.b_after
        formulas = [factor * (one.a @ b - one.truth @ (mine if own else one.mean_b)) @ b.mT for mine in one.own_b]
        for slope, formula in zip(one.slopes, formulas, strict=True):
            yield same("(251): the client's gradient", slope, formula)
        stepped = one.a - factor * one.eta * (one.a @ b - one.truth @ one.mean_b) @ b.mT
        yield same("(252): the mean of the gradients", one.a - one.eta * torch.stack(formulas).mean(dim=0), stepped)
        yield same("(253): normalised", one.a_after, stepped / torch.linalg.vector_norm(stepped))
    return _scope(found, single)


@promises(
    "rolora/eq-255",
    where=r"Appendix A.5, proof of Lemma A.16, eqs. (255) to (262); the third term of (257) lacks $2\eta$, but is 0",
    says=r"By Lemma A.15 $b^{t+1} = \bar b = \bar b^*a^{*\top}a^t$ and $a^{t+1} = \frac{a^t - 2\eta(a^t\bar "
    r"b^\top\bar b - a^*\bar b^{*\top}\bar b)}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)\|}$. "
    r"With $P = I_d - a^*(a^*)^\top$: $Pa^{t+1} = \frac{Pa^t - 2\eta Pa^t\bar b^\top\bar b + Pa^*\bar b^{*\top}\bar "
    r"b}{\|\ldots\|} = \frac{Pa^t - 2\eta Pa^t\bar b^\top\bar b}{\|\ldots\|}$ since $Pa^* = 0$; $\|Pa^{t+1}\| \le "
    r"\frac{\|Pa^t\||1 - 2\eta\bar b^\top\bar b|}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)\|}$, "
    r"$\delta_{t+1} \le \delta_t\frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar "
    r"b^{*\top}\bar b)\|} = \delta_t\frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t(1 - 2\eta\bar b^\top\bar b) + 2\eta "
    r"a^*\bar b^{*\top}\bar b\|} = \delta_tC$, $C = \frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t(1 - 2\eta\bar b^\top\bar "
    r"b) + 2\eta a^*\bar b^{*\top}\bar b\|}$.",
    measure=iterations,
    mutants=[{"factor": 1.99}, {"third": "a"}, {"power": 1}, {"tight": 0.999}],
    uses=("rolora/lem-A.15",),
    expect=("holds", "proof"),
)
def eq_255(
    found: list[Iteration], factor: float = 2.0, third: str = "truth", power: int = 2, tight: float = 1.0
) -> Promises:
    """The projected step of the toolkit, and the quotient, which is an equality."""
    for one in found:
        b, mean = one.b_after, one.mean_b
        squares, along = float((b**2).sum()) ** (power / 2), float((mean * b).sum())
        norm = torch.linalg.vector_norm(one.a * (1 - factor * one.eta * squares) + factor * one.eta * one.truth * along)
        before, after, last = (
            v - one.truth @ (one.truth.mT @ v) for v in (one.a, one.a_after, one.truth if third == "truth" else one.a)
        )
        numerator = before - factor * one.eta * squares * before + last * along
        stepped = one.a - factor * one.eta * (squares * one.a - one.truth * along)
        yield Promise("(261): the denominator", float(torch.linalg.vector_norm(stepped)), float(norm), 1e-12)
        yield same("(257): the projected step", after, numerator / norm)
        bound = tight * float(torch.linalg.vector_norm(before)) * abs(1 - factor * one.eta * squares) / float(norm)
        delta = float(torch.linalg.vector_norm(after))
        yield Promise("(260): delta_{t+1} <= delta_t C", delta, bound, 1e-12, at_most=True)
        yield Promise("it is an equality", delta, bound, 1e-12)
    return SCOPE


# a* is the first axis, a = (cos, sin cos f, sin sin f) with cos^2 = 1 - sin^2 reduced; the mean of the b_i* is free.
ETA, COS, SIN, BETA_1, BETA_2, BETA_3 = sympy.symbols("eta cos sin beta_1 beta_2 beta_3")


@dataclass(frozen=True)
class Algebra:
    """Exact points: symbols without relations, with sin and cos on the circle."""

    points: Sequence[Point]


def draw_points(context: Context) -> Algebra:
    """Points on the circle by its rational parametrisation."""
    found = []
    for number, point in enumerate(generic_points(context, (ETA, BETA_1, BETA_2, BETA_3), 4), start=2):
        t = sympy.Rational(1, number)
        found.append({**point, COS: (1 - t**2) / (1 + t**2), SIN: 2 * t / (1 + t**2)})
    return Algebra(found)


def on_circle(expression: sympy.Expr) -> sympy.Expr:
    """The expression with even powers of the sine replaced: an identity on the circle becomes one of symbols."""
    return sympy.rem(sympy.expand(expression), SIN**2 + COS**2 - 1, SIN)


@identities(
    "rolora/eq-263",
    where="Appendix A.5, proof of Lemma A.16, eqs. (263) to (269), of which (266) repeats (265)",
    says=r"For the C of (260): $C^2 = \frac{|1 - 2\eta\bar b^\top\bar b|^2}{\|a(1 - 2\eta\bar b^\top\bar b) + 2\eta "
    r"a^*\bar b^{*\top}\bar b\|^2} = \frac{|1 - 2\eta\bar b^\top\bar b|^2}{(1 - 2\eta\bar b^\top\bar b)^2a^\top a + "
    r"4\eta^2(\bar b^{*\top}\bar b)^2 + 4\eta(1 - 2\eta\bar b^\top\bar b)a^\top a^*\bar b^{*\top}\bar b} = "
    r"\frac{|1 - 2\eta\bar b^\top\bar b|^2}{(1 - 2\eta\bar b^\top\bar b)^2 + 4\eta^2(\bar b^{*\top}\bar "
    r"b)^2 + 4\eta(1 - 2\eta\bar b^\top\bar b)a^\top a^*\bar b^{*\top}\bar b}$; and, as $\bar b = \bar "
    r"b^*a^{*\top}a = \bar b^*\cos\theta(a^*, a)$, it is $\frac{|1 - 2\eta\bar b^\top\bar "
    r"b|^2}{1 + 4\eta^2\bar b^\top\bar b(\bar b^{*\top}\bar b^* - \bar b^\top\bar b)} \le (1 - 2\eta\bar b^\top\bar "
    r"b)^2 = (1 - 2\eta\|\bar b\|^2)^2$, because $\bar b^{*\top}\bar b^* - \bar b^\top\bar b = (1 - "
    r"\cos^2\theta(a^*, a))\bar b^{*\top}\bar b^* \ge 0$.",
    measure=draw_points,
    mutants=[{"four": 3.99}, {"sign": -1}, {"cross": 2.0}, {"power": 1}],
    uses=("rolora/eq-255",),
    expect=("holds", "proof"),
)
def eq_263(data: Algebra, four: float = 4.0, sign: int = 1, cross: float = 4.0, power: int = 2) -> Equations:
    """The squared norm is expanded on the circle; that what exceeds 1 is a square is (268)."""
    mean, a, truth = sympy.Matrix([BETA_1, BETA_2, BETA_3]), sympy.Matrix([COS, SIN, 0]), sympy.Matrix([1, 0, 0])
    b = mean * COS
    B, along, square = b.dot(b), mean.dot(b), mean.dot(mean)
    vector = a * (1 - 2 * ETA * B) + 2 * ETA * truth * along
    middle = (1 - 2 * ETA * B) ** 2 + rational(four) * ETA**2 * along**power
    middle += rational(cross) * ETA * (1 - 2 * ETA * B) * a.dot(truth) * along
    last = 1 + sign * rational(four) * ETA**2 * B * (square - B)
    yield from [
        Equation("(264), (265): the norm expanded", on_circle(vector.dot(vector)), on_circle(middle)),
        Equation("(267)", on_circle(middle), on_circle(last)),
        Equation(
            "(268): what exceeds 1 is a square", on_circle(last - 1), on_circle((2 * ETA * COS * square * SIN) ** 2)
        ),
    ]
    return data.points, "any mean of the b_i* in three dimensions, any angle and any step"


def search_steps(context: Context) -> Searched:
    """Angles of both iterations, lengths of the mean relative to L_max, and steps relative to their bound."""
    axes = (
        Axis("delta_0", 1e-4, 0.9999, OPEN_UNIT),
        Axis("ratio", 1e-4, 1.0, UNIT, words="angle distance over the first one, delta_t/delta_0"),
        Axis("length", 1e-3, 1.0, UNIT, words="norm of the mean target over its bound, |mean b*|/L_max"),
        Axis("eta", 1e-4, 1.0, UNIT, words="step size over its bound, 2 eta L_max^2"),
    )
    return collect_cases(
        context,
        axes,
        lambda c: c["delta_0"] < 1.0,
        lambda c: 1.0 - c["ratio"] + 0.0 * c["eta"],
        examples=context.size(150, 1500),
        restarts=1,
    )


@claim(
    "rolora/eq-270",
    where="Appendix A.5, proof of Lemma A.16, eqs. (270) to (273)",
    says=r"$2\eta\|\bar b\|^2 \le 1$ can be ensured by $\eta \le \frac1{2L_{max}^2} \le \frac1{2\|\bar b\|^2}$, and "
    r"then for $\delta_t \le \cdots \le \delta_0$: $C \le 1 - 2\eta\|\bar b\|^2 = 1 - 2\eta\cos^2\theta(a^*, a)\|\bar "
    r"b^*\|^2 = 1 - 2\eta(1 - (\delta^t)^2)\|\bar b^*\|^2 \le 1 - 2\eta(1 - (\delta^0)^2)\|\bar b^*\|^2$.",
    measure=search_steps,
    mutants=[{"factor": 2.01}, {"power": 3}, {"longest": 0.55}, {"monotone": False}],
    uses=("rolora/eq-263", "rolora/asm-A.12"),
    expect=("holds", "proof"),
)
def eq_270(
    cases: Searched, factor: float = 2.0, power: int = 2, longest: float = 0.5, monotone: bool = True
) -> Evidence:
    r"""Three inequalities in every case; L_max = 1, ``longest`` the largest $\eta L_{max}^2$."""
    delta_0, square, eta = cases["delta_0"], cases["length"] ** 2, longest * cases["eta"]
    ratio = cases["ratio"] if monotone else np.minimum(1.0 / cases["ratio"], 0.99995 / delta_0)
    B = (1.0 - (ratio * delta_0) ** 2) * square
    middle = 1.0 - 2.0 * eta * B
    C_squared = middle**2 / (1.0 + 4.0 * eta**2 * B * (square - B))
    last = 1.0 - factor * eta * (1.0 - delta_0**power) * square
    sides = {
        "2 eta ||b||^2 <= 1": (2.0 * eta * B, np.ones_like(B)),
        "(270): C <= 1 - 2 eta ||b||^2, squared": (C_squared, middle * np.abs(middle)),
        "(273)": (middle, last),
    }
    found = [
        judge_inequality(
            left,
            right,
            1e-14,
            printed=name,
            case=cases,
            scope=f"{len(B)} cases: delta_0 in (0, 1), delta_t <= delta_0, ||mean b*|| <= L_max, steps up to the bound",
            domain=cases.domain,
        )
        for name, (left, right) in sides.items()
    ]
    broken = next((evidence for evidence in found if not evidence.ok), None)
    return broken or replace(found[-1], printed="; ".join(sides))


@claim(
    "rolora/eq-274",
    where="Appendix A.5, proof of Proposition A.17, eqs. (274) to (285); (281) has the sum over the clients twice, "
    r"(282) a for $a^*$, both of length 1",
    says=r"With $b_i = \frac{b_i^*a^{*\top}a^0}{a^{0\top}a^0} = b_i^*a^{*\top}a^0$ and $b^{FFA} = \frac1N\sum_ib_i = "
    r"\bar b^*a^{*\top}a^0$: $\frac1N\sum_il_i(a^0, b^{FFA}) = \frac1N\sum_i\|a^*(b_i^*)^\top - "
    r"a^0(b^{FFA})^\top\|^2 = \frac1N\sum_i\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top + a^*(\bar b^*)^\top - "
    r"a^0(b^{FFA})^\top\|^2 = \frac1N\sum_i(\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - "
    r"a^0(b^{FFA})^\top\|^2 + 2\mathrm{Tr}((a^*(b_i^*)^\top - a^*(\bar b^*)^\top)^\top(a^*(\bar b^*)^\top - "
    r"a^0(b^{FFA})^\top))) = \frac1N\sum_i(\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - "
    r"a^0(b^{FFA})^\top\|^2 + 2\mathrm{Tr}((a^*\frac1N\sum_i(b_i^*)^\top - a^*(\bar b^*)^\top)^\top(a^*(\bar b^*)^\top "
    r"- a^0(b^{FFA})^\top))) = \frac1N\sum_i(\|a(b_i^* - \bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - "
    r"a^0a^{0\top}a^*(\bar b^*)^\top\|^2)$, since the last term is 0, $= \frac1N\sum_i\|b_i^* - \bar b^*\|^2 + "
    r"\frac1N\sum_i\|(I_d - a^0a^{0\top})a^*(\bar b^*)^\top\|^2 = \frac1N\sum_i\|b_i^* - \bar b^*\|^2 + "
    r"\frac1N\sum_i\|(I_d - a^0a^{0\top})a^*\|^2\|\bar b^*\|^2 = \gamma^2 + \|\bar b^*\|^2\delta_0^2$.",
    measure=iterations,
    mutants=[{"cross": 1}, {"split": 1.01}, {"projected": False}, {"last": 0.99}],
    uses=("rolora/def-A.13",),
    expect=("holds", "proof"),
)
def eq_274(
    found: list[Iteration], cross: int = 0, split: float = 1.0, projected: bool = True, last: float = 1.0
) -> Evidence:
    """Every line in numbers; the loss is that of the toolkit."""
    promises = []

    def line(name: str, left: float, right: float) -> None:
        promises.append(Promise(name, left, right, 1e-10 * (1.0 + abs(left) + abs(right))))

    for one in found:
        a, mean, N = one.a, one.mean_b, len(one.own_b)
        b = mean * (one.truth.mT @ a)
        line(
            "(275), (276): b is the mean of the minimisers", float((b - torch.stack(one.minimisers).mean(0)).norm()), 0
        )
        loss = one.loss(a, b)
        spread = [one.truth @ (mine - mean) for mine in one.own_b]
        off = one.truth @ mean - a @ b
        trace = sum(float((part * off).sum()) for part in spread) / N
        mean_spread = one.truth @ (torch.stack(one.own_b).mean(dim=0) - mean)
        line("(278), (279): the loss", loss, sum(float(((part + off) ** 2).sum()) for part in spread) / N)
        line("(281): the mean in the trace", trace, float((mean_spread * off).sum()))
        line(
            "(283): the first sum", sum(float(((mine - mean) ** 2).sum()) for mine in one.own_b) / N, one.gamma_squared
        )
        own, common = sum(float((part**2).sum()) for part in spread) / N, float((off**2).sum())
        line("(278) to (281): the split", loss, own + split * common + 2.0 * trace)
        line("(281): the trace is 0", trace, cross)
        with_a = sum(float(((a @ (mine - mean)) ** 2).sum()) for mine in one.own_b) / N
        line("(282), (283): any unit vector", own, with_a)
        side = one.truth - a @ (a.mT @ one.truth) if projected else one.truth - a
        line("(283), (284): the projection", common, float((side**2).sum() * (mean**2).sum()))
        bound = one.gamma_squared + last * float((mean**2).sum()) * one.sine_squared(a)
        line("(285)", loss, bound)
    return judge_promises(promises, SCOPE)


@claim(
    "rolora/eq-286",
    where="Appendix A.5, proof of Theorem A.14, eqs. (286) to (292), of which (289) is empty",
    says=r"In order to achieve $\epsilon$-recovery of $a^*$ we need $\delta^0(1 - c(1-(\delta^0)^2))^T \le \epsilon$, "
    r"which is $(1 - c(1-(\delta^0)^2))^T \le \frac\epsilon{\delta^0}$ and $T\log(1 - c(1-(\delta^0)^2)) \le "
    r"\log(\frac\epsilon{\delta^0})$; $T \ge \frac{\log(\epsilon/\delta^0)}{\log(1 - c(1-(\delta^0)^2))} > "
    r"\frac{\log(\epsilon/\delta^0)}{-c(1-(\delta^0)^2)} = \frac1{c(1-(\delta^0)^2)}\log(\frac{\delta^0}\epsilon)$, "
    r"by $\log(1 - x) < -x$ for $|x| < 1$.",
    measure=search_counts,
    control=Form(r"The statement for $\epsilon > \delta_0$, where no iteration is needed.", {"beyond": True}),
    correction=Form(
        r"For $\epsilon < \delta^0$ and $y = c(1 - (\delta^0)^2)$ the order is the other one, "
        r"$\frac{\log(\epsilon/\delta^0)}{\log(1 - y)} < \frac1y\log\frac{\delta^0}\epsilon$: both sides of $\log(1 - "
        "y) < -y$ are negative. So the number of iterations of the theorem is enough for (286). For small y their "
        r"quotient is $1 - \frac y2$ up to terms of second order, and their difference tends to "
        r"$\frac12\log\frac{\delta^0}\epsilon$. ($\log(1 - x) < -x$ needs $x \ne 0$, and y is positive.) Judged is "
        r"what follows from (286). That it is needed is not so: (286) bounds $\delta^T$ from above, and for $\delta^0 "
        r"= 0.999$, $\eta\|\bar b^*\|^2 = \frac14$, $c = \frac12$ and $\epsilon = \frac12\delta^0$ nine iterations do, "
        "where (286) asks for 694 (rolora/thm-A.14).",
        {"sense": -1},
        mutants=({"sense": 1}, {"size": 0.99}, {"root_log": 2}),
        asks="neither",
    ),
    because=r"(291) prints > for <: $\log(\epsilon/\delta^0)$ and both denominators are negative.",
    expect=("corrected", "proof"),
)
def eq_286(counts: list[Count], sense: int = 1, beyond: bool = False, size: float = 1.0, root_log: int = 1) -> Evidence:
    """The lines before the quotient say the same of T; then the order of the two quotients."""
    lines = judge_equivalence(counts, 1.0, root_log, 2.0, 1)
    return judge_order(counts, sense, beyond, 1.0, size) if lines.ok else lines


@promises(
    "rolora/eq-293",
    where="Appendix A.5, proof of Theorem A.14, eqs. (293) to (297)",
    says=r"Where $\delta^T \le \epsilon$, with $b^{T+1} = \bar b^*a^{*\top}a^T$: $\|a^T(b^{T+1})^\top - a^*\bar "
    r"b^{*\top}\| = \|a^T(a^T)^\top a^*\bar b^{*\top} - a^*\bar b^{*\top}\| = \|(a^T(a^T)^\top - I_d)a^*\bar "
    r"b^{*\top}\| = \|(I_d - a^T(a^T)^\top)a^*\| \cdot \|\bar b^*\| \le \epsilon\|\bar b^*\| = \epsilon\|a^*\bar "
    r"b^{*\top}\|$.",
    measure=iterations,
    mutants=[{"power": 2}, {"size": 0.99}, {"refitted": False}],
    uses=("rolora/lem-A.15",),
    expect=("holds", "proof"),
)
def eq_293(found: list[Iteration], power: int = 1, size: float = 1.0, refitted: bool = True) -> Promises:
    r"""The product of a with the next minimiser, at $\epsilon = \delta_T$; the mutant takes b of another a."""
    for one in found:
        a, target = one.a, one.truth @ one.mean_b
        apart = float(torch.linalg.matrix_norm(a @ (one.b_after if refitted else one.own_b[0]) - target))
        delta = one.sine_squared(a) ** (power / 2)
        middle = float(
            torch.linalg.vector_norm(one.truth - a @ (a.mT @ one.truth)) * torch.linalg.vector_norm(one.mean_b)
        )
        error = 1e-10 * (1.0 + apart)
        product = float(torch.linalg.matrix_norm(a @ (a.mT @ target) - target))
        yield from [
            Promise("(293)", apart, product, error),
            Promise("(294), (295)", apart, middle, error),
            Promise(
                "(296), (297)", middle, size * delta * float(torch.linalg.matrix_norm(target)), error, at_most=True
            ),
        ]
    return SCOPE
