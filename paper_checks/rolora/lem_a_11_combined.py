"""Appendix A.3, proof of Lemma A.11: both parts together (eqs. (116) to (122))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.methods.domain import EITHER_SIDE, OPEN_UNIT, UP_TO_ONE, Searched, tried
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.parts import judge_parts
from paper_checks.rolora.measurements.contraction_events import lengths, search_steps, thresholds
from paper_checks.rolora.measurements.settings import THRESHOLDS, Setting, tried_settings


def worst_losses(_: Context) -> np.ndarray:
    r"""Return angle, step, shares of $\epsilon'$ and $\tilde\epsilon$ in D/16, and the place of the mean minimiser."""
    angles = (1e-3, 0.1, 0.3, 0.7071, 0.9, 0.99, 0.9999)
    shares = (1e-9, 1e-3, 0.3, 0.999)
    return np.array(list(product(angles, (1e-6, 0.01, 0.3, 1.0), shares, shares, (-1.0, -0.4, 0.0, 0.7, 1.0))))


def slope_tail(one: Setting) -> float:
    r"""Bound the log-probability that (116) fails at some a, for every $\tilde\epsilon$, as in its proof."""
    spread = one.e2 * one.m / 100.0
    return log(2.0 * one.N) - spread if one.d <= 2.0 * spread else 0.0


@claim(
    "rolora/eq-116",
    where="Appendix A.3, eq. (116)",
    says=r"""Combining (109) and (115), $\|\hat a^+\|^2 \ge 1 - 4\eta\tilde\epsilon(\epsilon'+1)^2\|b^*\|^2 -
    4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2$ with probability at least $1 - 2q^{-10}$.""",
    measure=worst_losses,
    mutants=[{"first": 3.9}, {"second": 1.9}, {"one": 0.9}],
    best={
        "second": Best(
            2.004,
            r"proved: $\delta\sqrt{1 - \delta^2} + \epsilon'\delta^2 \le "
            r"(\epsilon' + \sqrt{1 + \epsilon'^2})/2$ and $\epsilon' < 1/16$",
        )
    },
    uses=("rolora/eq-102", "rolora/eq-107", "rolora/eq-110"),
    expect=("holds", "proof"),
)
def eq_116(grid: np.ndarray, first: float = 4.0, second: float = 4.0, one: float = 1.0, samples: int = 730) -> Evidence:
    r"""The fall of $\|\hat a^+\|^2$ below 1, over the step, for the worst deviation of the gradient.

    With $\bar b = bb^*$, c the cosine and $\rho$ the length of the deviation, $\hat a^+$ is at least
    $|a - 2sb((b - c)a - \delta u)| - s\rho$ long.

    Args:
        grid: angles, steps, thresholds, places.
        first: printed as 4, before $\tilde\epsilon$.
        second: printed as 4, before $\epsilon'$.
        one: printed as 1 in $(\epsilon' + 1)^2$.
        samples: constant of $\Omega$ with which the probability is as printed, without (109).
    """
    sine, s, share, tilde_share, place = grid.T
    room, cosine = (1.0 - sine**2) / 16.0, np.sqrt(1.0 - sine**2)
    level, tilde = share * room, tilde_share * room
    gap = place * level * sine
    b, rho = cosine + gap, 2.0 * tilde * (1.0 + level) ** 2 * sine
    over = -4.0 * b * gap + 4.0 * s * b**2 * (gap**2 + sine**2)  # (|a - s E grad|^2 - 1) / s
    lost = -over + 2.0 * np.sqrt(1.0 + s * over) * rho - s * rho**2
    bound = first * tilde * (level + one) ** 2 + second * (level**2 + level)
    on_events = judge_inequality(
        lost,
        bound,
        1e-14 * (np.abs(lost) + bound),
        size=4.0 * np.abs(b * gap) + 4.0 * s * b**2,
        quotient=True,
        case=dict(zip(("sine", "s", "share", "tilde_share", "place"), grid.T, strict=True)),
        domain=tried(
            ("delta", sine, OPEN_UNIT),
            ("s", s, UP_TO_ONE),
            ("eps' over its bound", share, OPEN_UNIT),
            ("eps~ over its bound", tilde_share, OPEN_UNIT),
            ("place of the mean", place, EITHER_SIDE),
        ),
        scope=f"on the events of (43) and (76): {len(grid)} angles, steps and thresholds up to D/16, the deviation "
        f"that shortens the most; and by itself, with that probability, for m >= {samples} q, at every a, of the "
        "same samples too",
        printed=f"1 - |a+|^2 <= s ({first:g} eps~ (eps' + 1)^2 + {second:g} (eps'^2 + eps'))",
        lines=["on the events"] * len(grid),
    )
    settings = [Setting(N, d, *e, float(samples)) for e in THRESHOLDS[:6] for N in (1, 2, 1000) for d in (2, 1000)]
    tails = np.array([slope_tail(at) for at in settings])
    right = np.array([log(2.0) - 10.0 * log(at.q) for at in settings])
    by_itself = judge_inequality(
        tails,
        right,
        1e-9 * np.abs(right),
        domain=tried_settings(settings),
        scope=on_events.scope,
        printed="log of an upper bound of the probability of failure",
        lines=["the probability"] * len(settings),
    )
    if not by_itself.ok:
        by_itself = replace(by_itself, ok=None, witness=None, reason="the bound of the probability leaves it open")
    return judge_parts((on_events, by_itself))


LONGEST = {"step": "1", "delta": "1/10", "eps": "1/100", "tilde": "1/100"}
r"""The largest step and a small angle, $\delta^t = \delta^0$, $\bar b = g$: C is negative."""


def numerator(s: Any, D: Any, level: Any, tilde: Any) -> Any:
    """Return the numerator of the C of (117)."""
    return 1 - 2 * s * (D - level) + 2 * s * tilde * (1 + level) ** 2


@claim(
    "rolora/eq-117",
    where=r"Appendix A.3, eqs. (117) to (122), with $\eta \le \frac1{L_{max}^2}$ from Lemma A.11",
    says=r"""Combining (101), (91) and (116), $\delta^{t+1} \le \frac{E_1 + E_2}{\|\hat a^+\|} \le \delta^tC$ with $C =
    \frac{1 - 2\eta((1-(\delta^0)^2) - \epsilon')\|b^*\|^2 + 2\eta\tilde\epsilon(\epsilon'+1)^2\|b^*\|^2}{\sqrt{1 -
    4\eta\tilde\epsilon(\epsilon'+1)^2\|b^*\|^2 - 4\eta((\epsilon')^2 + \epsilon')\|b^*\|^2}}$. One can choose
    $\epsilon', \tilde\epsilon < \frac{1-(\delta^0)^2}{16}$ such that $1 - (\delta^0)^2 >
    \max(4(\tilde\epsilon(\epsilon'+1)^2 + (\epsilon')^2 + \epsilon'), 2\epsilon' + 2\tilde\epsilon(\epsilon'+1)^2)$;
    then $C = \frac{1 - 2\eta(1-(\delta^0)^2)\|b^*\|^2 + 2\eta\epsilon'\|b^*\|^2 +
    2\eta\tilde\epsilon(\epsilon'+1)^2\|b^*\|^2}{\sqrt{1 - 4\eta(\tilde\epsilon(\epsilon'+1)^2 + (\epsilon')^2 +
    \epsilon')\|b^*\|^2}} \le \frac{1 - 2\eta(1-(\delta^0)^2)\|b^*\|^2 + \eta(2\epsilon' +
    2\tilde\epsilon(\epsilon'+1)^2)\|b^*\|^2}{\sqrt{1 - 4\eta(\tilde\epsilon(\epsilon'+1)^2 + (\epsilon')^2 +
    \epsilon')\|b^*\|^2}} \le \frac{1 - \eta(1-(\delta^0)^2)\|b^*\|^2}{\sqrt{1 - \eta(1-(\delta^0)^2)\|b^*\|^2}} =
    \sqrt{1 - \eta(1-(\delta^0)^2)\|b^*\|^2}$.""",
    measure=search_steps,
    control=Form("The lines after (117).", {"first": False}),
    correction=Form(
        r"""(117) holds for $\eta \le 1/(2L_{max}^2)$, $\delta^t \le \delta^0$ and thresholds as stated, wherever
        $\|\bar b - g\| \le \epsilon'\delta^t\|b^*\|$ and (76), with (49) for the expectation; (118) to (122) hold for
        all thresholds below $(1 - (\delta^0)^2)/16$, each of which satisfies the condition.""",
        {"limit": 0.5},
        mutants=({"limit": 0.6}, {"room": 16.0}, {"factor": 4}),
    ),
    best={"room": Best(7.3, r"proved: 4096/561, for thresholds of $(1 - (\delta^0)^2)/16$ and $\delta^0 = 0$")},
    uses=("rolora/eq-90", "rolora/eq-100", "rolora/eq-116"),
    because=r"(117) drops the bars of (101), so C is negative for the largest step and a small $\delta^0$.",
    hypotheses=(Dropped(r"$\eta \le 1/(2L_{max}^2)$", {"limit": 0.6}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“Combining (101), (91) and (116)”: the bars of (101) are gone in (117), and $\eta \le "
        "1/L_{max}^2$ stays",
    ),
)
def eq_117(cases: Searched, limit: float = 1.0, first: bool = True, room: float = 4.0, factor: int = 1) -> Evidence:
    r"""Numerators of (117) over $\delta^t$, the condition on the thresholds and (121).

    Args:
        cases: shares of the largest step, D, thresholds, places.
        limit: the largest step.
        first: whether (117) is judged.
        room: printed as 4 in the condition.
        factor: of the step in (121).
    """

    def sides(line: str) -> Any:
        def both(case: Mapping[str, Any]) -> tuple[Any, Any]:
            s, D = case["share"] * limit, case["D"]
            level, tilde = thresholds(case)
            shift = tilde * (1 + level) ** 2
            low, high = lengths(case)
            top = numerator(s, D, level, tilde)
            if line == "(117)":
                return abs(1 - 2 * s * (low + (high - low) * case["place"])) + 2 * s * shift, top
            if line == "condition, first":
                return room * (shift + level**2 + level), D
            if line == "condition, second":
                return 2 * level + 2 * shift, D
            if line == "(120) to (121), numerators":
                return top, 1 - factor * s * D
            return 1 - s * D, 1 - 4 * s * (shift + level**2 + level)

        return both

    lines = ["condition, first", "condition, second", "(120) to (121), numerators", "(120) to (121), denominators"]
    found = []
    for line in (["(117)"] if first else []) + lines:
        left, right = sides(line)(cases)
        found.append(
            judge_inequality(
                left,
                right,
                1e-12,
                case=cases,
                domain=cases.domain,
                printed=line,
                scope=f"{len(left)} cases: steps from 1e-6 of the largest on, thresholds up to D/16, every length of b "
                "on the event; every line",
            )
        )
    broken = next((one for one in found if not one.ok), None)
    if broken is None:
        return replace(found[0], printed=f"{found[0].printed} to {found[-1].printed}, {len(found)} lines")
    s, delta, level, tilde = (Fraction(value) for value in LONGEST.values())
    least = float(numerator(s, 1 - delta**2, level, tilde))
    if broken.printed != "(117)" or broken.ok or s > limit or least >= 0.0:
        return broken
    told = f"numerator {least:.6g} at the witness, of a bound of what is not negative"
    return replace(broken, obtained=told, witness=LONGEST)
