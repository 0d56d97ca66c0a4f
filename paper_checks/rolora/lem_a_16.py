"""Lemma A.16 and its proof (eqs. (254) to (273))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy
import torch

from paper_checks.claim import Dropped, Evidence, Intended, claim
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations, same
from paper_checks.rolora.measurements.heterogeneous_contraction import Slopes, judge_contraction, search_contraction
from paper_checks.rolora.measurements.population import SCOPE, Iteration, iterations


@claim(
    "rolora/lem-A.16",
    where="Appendix A.5, Lemma A.16, eq. (254)",
    says=r"""Let $\delta_t = |\sin\theta(a^*, a^t)|$. If $\|\bar b^*\| \le L_{max}$, $\delta_t \le \delta_{t-1} \le
    \cdots \le \delta_0$ and $\eta \le \frac1{2L_{max}^2}$, then $|\sin\theta(a^{t+1}, a^*)| = \delta_{t+1} \le \delta_t
    \cdot (1 - 2\eta(1 - (\delta^0)^2)\|\bar b^*\|^2)$.""",
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
            r"for this step $0 \le 1 - 2\eta(1 - \delta_t^2)\|\bar b^*\|^2 \le 1$ for every $\delta_t$, and therefore "
            r"$\delta_{t+1} \le \delta_t$ in every iteration",
        ),
        Dropped(r"$\delta_t \le \delta_0$ for any unit vector $a^t$", {"monotone": False}),
    ),
    expect=("holds", "kernel"),
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


@relations(
    "rolora/eq-255",
    where=r"Appendix A.5, proof of Lemma A.16, eqs. (255) to (262); the third term of (257) lacks $2\eta$, but is 0",
    says=r"""By Lemma A.15 $b^{t+1} = \bar b = \bar b^*a^{*\top}a^t$ and $a^{t+1} = \frac{a^t - 2\eta(a^t\bar b^\top\bar
    b - a^*\bar b^{*\top}\bar b)}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)\|}$. With $P = I_d -
    a^*(a^*)^\top$: $Pa^{t+1} = \frac{Pa^t - 2\eta Pa^t\bar b^\top\bar b + Pa^*\bar b^{*\top}\bar b}{\|\ldots\|} =
    \frac{Pa^t - 2\eta Pa^t\bar b^\top\bar b}{\|\ldots\|}$ since $Pa^* = 0$; $\|Pa^{t+1}\| \le \frac{\|Pa^t\||1 -
    2\eta\bar b^\top\bar b|}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)\|}$, $\delta_{t+1} \le
    \delta_t\frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t - 2\eta(a^t\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)\|} =
    \delta_t\frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t(1 - 2\eta\bar b^\top\bar b) + 2\eta a^*\bar b^{*\top}\bar b\|} =
    \delta_tC$, $C = \frac{|1 - 2\eta\bar b^\top\bar b|}{\|a^t(1 - 2\eta\bar b^\top\bar b) + 2\eta a^*\bar b^{*\top}\bar
    b\|}$.""",
    measure=iterations,
    mutants=[{"factor": 1.99}, {"third": "a"}, {"power": 1}, {"tight": 0.999}],
    uses=("rolora/lem-A.15",),
    expect=("holds", "proof"),
    intended=Intended(
        "literal", r"“The third term of the numerator is canceled” after (257), with its factor $2\eta$ or without"
    ),
)
def eq_255(
    found: list[Iteration], factor: float = 2.0, third: str = "truth", power: int = 2, tight: float = 1.0
) -> Relations:
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
        yield Relation("(261): the denominator", float(torch.linalg.vector_norm(stepped)), float(norm), 1e-12)
        yield same("(257): the projected step", after, numerator / norm)
        bound = tight * float(torch.linalg.vector_norm(before)) * abs(1 - factor * one.eta * squares) / float(norm)
        delta = float(torch.linalg.vector_norm(after))
        yield Relation("(260): delta_{t+1} <= delta_t C", delta, bound, 1e-12, at_most=True)
        yield Relation("it is an equality", delta, bound, 1e-12)
    return SCOPE


# a* is the first axis, a = (cos, sin cos f, sin sin f) with cos^2 = 1 - sin^2 reduced; the mean of the b_i* is free.
ETA, COS, SIN, BETA_1, BETA_2, BETA_3 = sympy.symbols("eta cos sin beta_1 beta_2 beta_3")


@dataclass(frozen=True)
class Algebra:
    """Exact points: symbols without relations, with sin and cos on the circle."""

    points: Sequence[Point]


def draw_points(context: Context) -> Algebra:
    """Draw points on the circle by its rational parametrisation."""
    found = []
    for number, point in enumerate(generic_points(context, (ETA, BETA_1, BETA_2, BETA_3), 4), start=2):
        t = sympy.Rational(1, number)
        found.append({**point, COS: (1 - t**2) / (1 + t**2), SIN: 2 * t / (1 + t**2)})
    return Algebra(found)


def on_circle(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with even powers of the sine replaced: an identity on the circle becomes one of symbols."""
    return sympy.rem(sympy.expand(expression), SIN**2 + COS**2 - 1, SIN)


@identities(
    "rolora/eq-263",
    where="Appendix A.5, proof of Lemma A.16, eqs. (263) to (269), where (266) repeats (265)",
    says=r"""For the C of (260): $C^2 = \frac{|1 - 2\eta\bar b^\top\bar b|^2}{\|a(1 - 2\eta\bar b^\top\bar b) + 2\eta
    a^*\bar b^{*\top}\bar b\|^2} = \frac{|1 - 2\eta\bar b^\top\bar b|^2}{(1 - 2\eta\bar b^\top\bar b)^2a^\top a +
    4\eta^2(\bar b^{*\top}\bar b)^2 + 4\eta(1 - 2\eta\bar b^\top\bar b)a^\top a^*\bar b^{*\top}\bar b} = \frac{|1 -
    2\eta\bar b^\top\bar b|^2}{(1 - 2\eta\bar b^\top\bar b)^2 + 4\eta^2(\bar b^{*\top}\bar b)^2 + 4\eta(1 - 2\eta\bar
    b^\top\bar b)a^\top a^*\bar b^{*\top}\bar b}$; and, as $\bar b = \bar b^*a^{*\top}a = \bar b^*\cos\theta(a^*, a)$,
    it is $\frac{|1 - 2\eta\bar b^\top\bar b|^2}{1 + 4\eta^2\bar b^\top\bar b(\bar b^{*\top}\bar b^* - \bar b^\top\bar
    b)} \le (1 - 2\eta\bar b^\top\bar b)^2 = (1 - 2\eta\|\bar b\|^2)^2$, because $\bar b^{*\top}\bar b^* - \bar
    b^\top\bar b = (1 - \cos^2\theta(a^*, a))\bar b^{*\top}\bar b^* \ge 0$.""",
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
    """Search angles of both iterations, lengths of the mean relative to L_max, and steps relative to their bound."""
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
    says=r"""$2\eta\|\bar b\|^2 \le 1$ can be ensured by $\eta \le \frac1{2L_{max}^2} \le \frac1{2\|\bar b\|^2}$, and
    then for $\delta_t \le \cdots \le \delta_0$: $C \le 1 - 2\eta\|\bar b\|^2 = 1 - 2\eta\cos^2\theta(a^*, a)\|\bar
    b^*\|^2 = 1 - 2\eta(1 - (\delta^t)^2)\|\bar b^*\|^2 \le 1 - 2\eta(1 - (\delta^0)^2)\|\bar b^*\|^2$.""",
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
