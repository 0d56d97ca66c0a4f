"""Events and thresholds of Lemma A.11, and the search over its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Cases, Searched
from paper_checks.methods.inequality import collect_cases


def thresholds(case: Mapping[str, Any]) -> tuple[Any, Any]:
    r"""Return $\epsilon'$ and $\tilde\epsilon$, shares of the largest that the lemma allows, D/16."""
    return case["level"] * case["D"] / 16, case["tilde"] * case["D"] / 16


def lengths(case: Mapping[str, Any]) -> tuple[Any, Any]:
    r"""Bound $\beta$ on the event of Lemma A.9: (99), and $(c + \epsilon'\delta)^2 \le 1 + \epsilon'^2$."""
    level, _ = thresholds(case)
    return case["D"] - level, 1 + level**2


def events(case: Mapping[str, Any], s: Any, rate: Any) -> tuple[Any, Any]:
    r"""Return the squares of the largest quotient of the angle distances that (13) and (76) allow, and of the rate.

    Before the gradient is off the step is $(1 - 2sb^2)a + 2sba^*$ at $\bar b = bb^*$, c the cosine and $b = c +
    \kappa\epsilon'\delta$; $\kappa$ is tried from -1 to 1 in halves. A deviation of length $\delta r$ that turns it
    away from $a^*$ as far as it can adds the angle $\arcsin(s\delta r/L)$, L the length of the step.
    """
    level, tilde = thresholds(case)
    square = (1 - case["D"]) * (1 - case["place"])  # delta^2, at any angle up to the first one
    sine, cosine = np.sqrt(square), np.sqrt(1 - square)
    r = 2 * s * tilde * (1 + level) ** 2
    worst = np.zeros_like(sine)
    for place in (-1.0, -0.5, 0.0, 0.5, 1.0):
        b = cosine + place * level * sine
        across, along = abs(1 - 2 * s * b**2), cosine * (1 - 2 * s * b**2) + 2 * s * b
        length = along**2 + square * across**2
        turned = (across * np.sqrt(np.maximum(length - square * r**2, 0.0)) + along * r) / length
        worst = np.maximum(worst, np.where(sine * r < along, turned, 1 / np.maximum(sine, 1e-300)))
    return worst**2, 1 - rate * s * case["D"]


AXES = (
    Axis("share", 1e-6, 1.0, UNIT, words="step size over the largest one judged"),
    Axis("D", 1e-6, 1.0, UNIT, words="squared cosine of the first angle, 1 - (delta^0)^2"),
    Axis("level", 1e-9, 0.999, OPEN_UNIT, words="threshold eps' over its bound, (1 - (delta^0)^2)/16"),
    Axis("tilde", 1e-9, 0.999, OPEN_UNIT, words="threshold eps~ over its bound, (1 - (delta^0)^2)/16"),
    Axis(
        "place",
        1e-9,
        1.0,
        UNIT,
        words="place of the squared cosine between that of the first angle and 1, or of |b|^2 between its bounds",
    ),
)


def search_steps(context: Context) -> Searched:
    """Search steps, angles and thresholds, towards equality on the events."""

    def gap(cases: Cases) -> np.ndarray:
        left, right = events(cases, 0.5 * cases["share"], 1.0)
        return (right - left) / right

    found = collect_cases(
        context,
        AXES,
        lambda cases: cases["D"] < 1.0,
        gap,
        examples=context.size(300, 2000),
        restarts=context.size(1, 3),
    )
    # Short decimals can be read, and replayed exactly.
    short = {name: np.array([float(f"{value:.3g}") for value in column]) for name, column in found.items()}
    kept = short["D"] < 1.0
    return found.holding({name: column[kept] for name, column in short.items()})
