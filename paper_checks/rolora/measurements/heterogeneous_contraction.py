"""Contraction of the angle with different clients, searched over its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Searched, Stated
from paper_checks.methods.inequality import collect_cases, judge_inequality


@dataclass(frozen=True)
class Slopes:
    """Cases of the contraction: delta_0, delta_t / delta_0 and eta L_max^2, with the mean no longer than L_max."""

    cases: Searched


def contraction(values: Mapping[str, Any], factor: Any, power: int) -> tuple[Any, Any]:
    r"""Return the squares of $\delta_{t+1}/\delta_t$ and of the factor of (254), which itself must not be negative."""
    u0 = values["delta_0"] ** 2
    u, s = (values["ratio"] * values["delta_0"]) ** 2, values["step"]
    left = (1 - 2 * s * (1 - u)) ** 2 / (1 + 4 * s**2 * u * (1 - u))
    right = 1 - factor * s * (1 - (u0 if power == 2 else values["delta_0"] ** power))
    return left, right * abs(right)


def search_contraction(context: Context) -> Slopes:
    """Search every angle, steps up to far beyond the bound; the judge keeps those it speaks of."""
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


def iterate_angles(cases: Mapping[str, Any]) -> Any:
    """Return the angle distances over the first one after 1 to 20 iterations of Algorithm 2, in turn, of any size."""
    ratio = np.ones_like(cases["step"])
    for done in range(20):
        moved = ratio * np.sqrt(contraction({**cases, "ratio": ratio}, 2.0, 2)[0])
        ratio = np.where(np.arange(len(ratio)) % 20 < done, ratio, moved)
    return ratio


def judge_contraction(
    data: Slopes, factor: float, power: int, longest: float, monotone: bool, iterates: bool = False
) -> Evidence:
    """Judge all cases with a step up to ``longest``, in fractions where it is close."""
    kept = data.cases["step"] <= longest
    chosen = {name: column[kept] for name, column in data.cases.items()}
    if iterates:
        chosen["ratio"] = iterate_angles(chosen)
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
