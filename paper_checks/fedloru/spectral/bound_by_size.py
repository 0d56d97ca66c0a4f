"""Theorem 3.2's last sentence: the right side of (4) at two sample sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import positive, together
from paper_checks.fedloru.spectral.monotonicity import A, B, beside_border, where
from paper_checks.fedloru.spectral.stable_rank import BOUND_AXES, S_M, S_N, SIGMA, SYMBOLS, THETA_0, parameters
from paper_checks.fedloru.spectral.stable_rank_estimates import bound_4
from paper_checks.methods.domain import Cases, Searched
from paper_checks.methods.inequality import collect_cases, judge_inequality

WEIGHT, COUNT = sympy.symbols("weight count", positive=True)


def _bounds(case: Mapping[str, Any], g_power: int = 2, least: float = 1) -> tuple[Any, Any]:
    """The bound at a sample size between M and N and at M; ``least`` shifts the count to start there or to infinity."""
    at_M = parameters({**case, "shrink": case["shrink"] * case["shrink_N"]})
    weight = abs(1 / case["ratio"] - case["ratio"])
    count = case["count"] // 1 + (least - 1)
    larger = {**at_M, "s_M": case["shrink"] * at_M["s_M"]}
    return bound_4(larger, weight, count, g_power), bound_4(at_M, weight, count, g_power)


BORDER = (1.0, 0.999, 0.99, 0.9, 0.6, 0.34)


def search_bounds(context: Context) -> Searched:
    """Cases of Theorem 3.2's assumption, driven to where the bound hardly moves, and cases at and beyond its border."""

    def gap(cases: Cases) -> np.ndarray:
        between, at_M = _bounds(cases)
        return at_M / between - 1.0

    def within(cases: Cases) -> np.ndarray:
        return np.abs(cases["theta_0"]) >= cases["noise"]

    found = collect_cases(
        context, BOUND_AXES, within, gap, examples=context.size(200, 2000), restarts=context.size(1, 4)
    )
    drawn = found.holding({name: column[:1000] for name, column in found.items()})  # corners and draws lead
    border = beside_border(drawn, *BORDER)
    return found.holding({name: np.concatenate([found[name], column]) for name, column in border.items()})


@claim(
    "fedloru-v2/thm-3.2-mono",
    where="Theorem 3.2, eq. (4), last sentence, and Appendix A.4, after eq. (45)",
    says="The lower bound of Theorem 3.2, the right side of (4), decreases with $M$.",
    measure=search_bounds,
    mutants=[],
    readings=(
        Reading(
            "the count of the limits",
            r"With $B_N = |\{i : \lambda_i(H_N) \to U_N \text{ or } L_N\}|$, and $s_M > s_N$ with $\theta_0^2 \ge "
            r"\sigma^2 s_M^2$ at the smaller of two sample sizes below N, s strictly smaller at the larger of them: "
            "there the right side of (4), a number or infinite, is strictly smaller.",
            why="Theorem 3.2 defines $B_N$ so, and by eq. (29) every fixed index $i > p$ counts.",
        ),
        Reading(
            "a finite count",
            r"For a finite count $B_N \ge 1$, and $s_M > s_N$ with $\theta_0^2 \ge \sigma^2 s_M^2$ at the smaller of "
            "two sample sizes below N, s strictly smaller at the larger of them: there the right side of (4) is "
            "strictly smaller.",
            {"count": "finite"},
            "At each R the indices beside the spikes are finitely many. With $B_N = 0$ and one spike the right side "
            "is 0.",
            ({"reach": 3.0}, {"direction": -1}, {"g_power": 4}, {"least": 0}),
        ),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-43"),
    importance="result",
    because="$B_N$ as defined is infinite, and with it the right side of (4) at every M.",
    expect=("depends on the reading", "proof"),
)
def thm_3_2_mono(
    cases: Searched, count: str = "of limits", reach: float = 1.0, direction: int = 1, g_power: int = 2, least: int = 1
) -> Evidence:
    """The bound at two sample sizes below N; ``reach`` extends the range of sigma s_M, ``least`` is the least B_N.

    Where the count is that of limits the reciprocals are compared, which are 0 for infinite bounds.
    """

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        between, at_M = _bounds(case, g_power, least)
        return direction * between, direction * at_M

    kept = where(cases, reach * np.abs(cases["theta_0"]) >= cases["noise"])
    pairs = "pairs of sample sizes below N with theta_0^2 >= sigma^2 s_M^2, |theta_j| up to |theta_0|"
    if count == "of limits":
        between, at_M = _bounds(kept, g_power, np.inf)
        return judge_inequality(
            1 / at_M,
            1 / between,
            0.0,
            case=kept,
            strict=True,
            domain=cases.domain,
            scope=f"{len(at_M)} {pairs}, infinite B_N",
            printed="1/(bound at M) < 1/(bound at the larger sample size)",
        )
    left, right = sides(kept)
    evidence = judge_inequality(
        left,
        right,
        0.0,
        quotient=True,
        case=kept,
        exact=sides,
        strict=True,
        domain=cases.domain,
        scope=f"{len(left)} {pairs}, B_N from 1 to 10^6",
        printed="bound at the larger sample size < bound at M",
    )
    if not evidence.ok or reach != 1.0:
        return evidence
    slope = sympy.diff(bound_4(SYMBOLS, WEIGHT, COUNT, g_power), S_M)
    shown = positive("slope of the bound", slope, {S_M: S_N + A, THETA_0: SIGMA * (S_N + A) + B})
    return replace(evidence, facts=together(shown))
