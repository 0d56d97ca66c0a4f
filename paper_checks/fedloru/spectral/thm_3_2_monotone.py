"""Appendix A.4, proof of Theorem 3.2: what grows with the number of samples (eq. (41))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, combine, positive
from paper_checks.fedloru.spectral.measurements.spike_sets import (
    READINGS,
    Gap,
    Instance,
    assumed,
    draw_instances,
    judge_instances,
)
from paper_checks.fedloru.spectral.measurements.spike_sets import SetReading as Sets
from paper_checks.fedloru.spectral.measurements.stable_rank_symbols import (
    NOISE,
    S_M,
    S_N,
    SHRINK,
    SIGMA,
    SPIKE,
    SYMBOLS,
    THETA_0,
    THETA_J,
    F_j,
    as_symbols,
    draw_points,
    outliers,
    parameters,
    search_signs,
)
from paper_checks.methods.domain import UP_TO_ONE, Axis, Cases, Searched
from paper_checks.methods.identity import Equation, judge_identity, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from rmt.spiked import wigner_outlier


@dataclass(frozen=True)
class PointsAndCases:
    """Exact points for identities, cases for inequalities."""

    points: list[dict[str, Fraction]]
    cases: Searched


def search_slopes(context: Context) -> PointsAndCases:
    """Search points and cases of all signs and magnitudes."""
    return PointsAndCases(draw_points(context), search_signs(context))


def where(cases: Cases, kept: Any) -> Cases:
    """Return the cases that are kept."""
    return {name: column[kept] for name, column in cases.items()}


# Positive increments: they spell out orderings such as s_N < s_M in proofs of positivity.
A, B, C = sympy.symbols("a b c", positive=True)


@cache
def _slope_is_positive() -> tuple[Fact, ...]:
    r"""Prove that $\partial F_j/\partial s_M > 0$ for $|\theta_j| < |\theta_0|$ (squares: signs drop out)."""
    return combine(positive("slope of F_j", sympy.diff(F_j(SYMBOLS), S_M), {THETA_0: THETA_J + A}))


@claim(
    "fedloru-v2/eq-41",
    where="Appendix A.4, eq. (41)",
    says=r"""$\frac{\partial F_j}{\partial M} = \frac{\partial F_j}{\partial s_M}\frac{\partial s_M}{\partial M} =
    \frac{4\sigma^2
    s_M(\theta_0^2-\theta_j^2)}{\theta_0\theta_j}\frac{g_M^{-1}(\theta_j)}{g_M^{-1}(\theta_0)^3}\frac{\partial
    s_M}{\partial M} < 0$ for every $j \in \mathcal{P}_N \cup \mathcal{Q}_N$, since $\frac{\partial s_M}{\partial M} <
    0$ and the factor before it is positive.""",
    measure=search_slopes,
    mutants=[{"factor": 4.01}, {"g_power": 2}, {"sign": -1}, {"swapped": True}, {"below_largest": False}],
    uses=("fedloru-v2/eq-39",),
    importance="detail",
    expect=("holds", "proof"),
)
def eq_41(
    data: PointsAndCases,
    factor: float = 4.0,
    g_power: int = 3,
    sign: int = 1,
    below_largest: bool = True,
    swapped: bool = False,
) -> Evidence:
    """Expansion gives the derivative, and its sign is the sign of theta_j^2 - theta_0^2.

    ``swapped`` drops that theta_0 is the largest.
    """

    def slope(values: Mapping[str, Any], four: Any) -> Any:
        """Return the factor of the derivative of s_M."""
        g_Mj, _, _, g_M0 = outliers(values)
        t0, tj = values["theta_0"], values["theta_j"]
        return sign * four * values["sigma"] ** 2 * values["s_M"] * (t0**2 - tj**2) / (t0 * tj) * g_Mj / g_M0**g_power

    derivative = Equation("eq. (41)", sympy.diff(F_j(SYMBOLS), S_M), slope(SYMBOLS, rational(factor)))
    identity = judge_identity([derivative], as_symbols(data.points), "all non-zero theta_0, theta_j, sigma, s_M")
    if not identity.ok:
        return identity

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        values = parameters(case)
        if swapped:
            values = {**values, "theta_0": values["theta_j"], "theta_j": values["theta_0"]}
        exact = isinstance(values["theta_0"], Fraction)
        return -slope(values, Fraction(factor) if exact else factor), 0 * values["theta_0"]

    cases = where(data.cases, np.abs(data.cases["ratio"]) < 1.0) if below_largest else data.cases
    left, right = sides(cases)
    judged = judge_inequality(
        left,
        right,
        0.0,
        quotient=True,
        case=cases,
        exact=sides,
        strict=True,
        domain=data.cases.domain,
        scope=f"{identity.scope}; the sign in {len(left)} cases, |theta_j|/|theta_0| < 1, both signs, beyond the "
        "threshold or not; the terms with |theta_j| = |theta_0|, such as that of theta_0 itself, do not change with M "
        "and are left out as degenerate",
        printed="the equation, and a negative right side",
    )
    # The equation gives 0 at |theta_j| = |theta_0|, and the proof its sign everywhere else.
    return replace(judged, facts=_slope_is_positive()) if judged.ok else judged


@claim(
    "fedloru-v2/claim-Fj-mono",
    where="Appendix A.4, opening of part (i)",
    says=r"""The first sum of (38), $\sum_{j \in \mathcal{P}_N \cup \mathcal{Q}_N} F_j$, is positive and increasing with
    respect to $M$.""",
    measure=draw_instances,
    control=Form(
        r"The sum is positive and decreases with $M$ if some $|\theta_j| < |\theta_0|$.",
        {"direction": -1, "below_largest": True},
    ),
    correction=Form(
        r"""The sum over a fixed set of indices is $\ge 0$ and does not increase with $M < N$; it is positive and
        strictly decreasing as soon as the set has some $|\theta_j| < |\theta_0|$, and zero for every $M$ if it has
        none. No threshold and no bound on $\theta_0$ is needed.""",
        {"direction": -1, "strict": False, "assumption": False},
        mutants=({"direction": 1}, {"sign": -1}, {"reference": "smallest"}, {"strict": True}),
        asks="neither",
    ),
    uses=("fedloru-v2/eq-41", "fedloru-v2/claim-Fj-sign"),
    importance="detail",
    because="The sum decreases with M, as the end of the same part says.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“positive and increasing with respect to M” opens (i), which ends “is a decreasing function of M”",
    ),
    print="misprint",
)
def claim_Fj_mono(
    instances: list[Instance],
    direction: int = 1,
    strict: bool = True,
    below_largest: bool = False,
    assumption: bool = True,
    sign: int = 1,
    reference: str = "largest",
) -> Evidence:
    """Each term falls by the derivative in eq. (41), which is 0 for |theta_j| = |theta_0| and negative otherwise."""

    def gap(instance: Instance, reading: Sets) -> Gap:
        kept = [instance.spikes[j] for j in instance.outside(instance.noise_N, reading)]
        theta_0 = min(instance.spikes, key=abs) if reference == "smallest" else instance.theta_0
        lower = any(abs(theta) < abs(instance.theta_0) for theta in kept)
        if below_largest and not lower:
            return Gap(False, 0, "")

        def total(noise: Fraction) -> Fraction:
            """Return the sum of the shares at one noise scale minus that at N."""
            at, at_N = wigner_outlier(theta_0, noise), wigner_outlier(theta_0, instance.noise_N)
            return sign * sum(
                (
                    (wigner_outlier(theta, noise) / at) ** 2 - (wigner_outlier(theta, instance.noise_N) / at_N) ** 2
                    for theta in kept
                ),
                Fraction(0),
            )

        at_M, at_larger = total(instance.noise_M), total(instance.noise_between)
        worst = max(-at_M, -at_larger, direction * (at_M - at_larger))
        part = f"the sum is {float(at_M):.6g} at M, {float(at_larger):.6g} at a larger sample size"
        if strict or lower:
            return Gap(worst >= 0, worst, part)
        return Gap(at_M != 0 or at_larger != 0, abs(at_M) + abs(at_larger), part)

    def proof() -> tuple[Fact, ...]:
        smaller = F_j({**SYMBOLS, "s_M": S_N + A})
        grows = F_j({**SYMBOLS, "s_M": S_N + A + B}) - smaller
        below = {THETA_0: THETA_J + C}
        return combine(positive("F_j at M", smaller, below), positive("F_j grows", grows, below))

    moves = "increasing" if direction > 0 else "decreasing"
    return judge_instances(
        assumed(instances, assumption),
        gap,
        READINGS if direction > 0 else ("limit",),
        proof=proof,
        scope="one to six spikes of both signs, including equal ones; three sample sizes",
        printed=f"positive and {moves} with M" if strict else f">= 0 and {moves}, or 0 throughout",
    )


def beside_border(cases: Searched, *ratios: float) -> Searched:
    r"""Return the cases, and the same with $|\theta_0|$ at given multiples of $\sigma s_M$."""
    moved = {name: np.tile(column, len(ratios)) for name, column in cases.items()}
    moved["theta_0"] = np.copysign(np.repeat(ratios, len(cases["noise"])) * moved["noise"], moved["theta_0"])
    return cases.holding({name: np.concatenate([cases[name], moved[name]]) for name in cases})


def search_boundary(context: Context) -> Searched:
    """Search cases on both sides of the assumption on theta_0 and on it, with s_N up to s_M."""
    axes = (SPIKE, NOISE, Axis("shrink", 1e-3, 1.0, UP_TO_ONE, words=SHRINK.words))
    found = collect_cases(
        context,
        axes,
        lambda cases: np.ones(len(cases["noise"]), bool),
        lambda cases: cases["noise"],
        examples=context.size(300, 3000),
        restarts=0,
    )
    return beside_border(found, 0.5, 0.9, 0.99, 0.999, 0.99995, 1.0, 1.001, 2.0)


@claim(
    "fedloru-v2/claim-sign-N",
    where="Appendix A.4, after eqs. (39) and (43)",
    says=r"""The difference $s_M^2 - s_N^2$ is positive; given the assumption that $\theta_0^2 \ge \sigma^2s_M^2 >
    \sigma^2s_Ms_N$, the numerator is positive, ensuring that (43) is positive.""",
    measure=search_boundary,
    mutants=[{"threshold": 0.9}, {"decreasing": False}, {"larger": "N"}, {"sigma_power": 2}],
    readings=(
        Reading(
            "s strictly decreasing",
            r"For $M < N$, $0 < s_N < s_M$ and $\theta_0^2 \ge \sigma^2s_M^2$: $s_M^2 - s_N^2 > 0$, $\theta_0^2 \ge "
            r"\sigma^2s_M^2 > \sigma^2s_Ms_N$, and the numerator $4\sigma^2(s_M^2 - s_N^2)(\theta_0^2 - "
            r"\sigma^4s_M^2s_N^2/\theta_0^2)$ of (43) is positive, as is (43), whose denominator is a square.",
            why="s is a monotonic decreasing function; $U_N < U_M$, as Appendix A.4 puts it before (38), is $s_N < "
            r"s_M$, and $\sigma^2s_M^2 > \sigma^2s_Ms_N$ requires it as well. With $s_M = s_N$ the difference is 0.",
        ),
    ),
    uses=("fedloru-v2/eq-43",),
    hypotheses=(
        Dropped(r"$s_M \ne s_N$", {"decreasing": False}),
        Dropped(r"$s_N \le s_M$", {"larger": "N"}),
        Dropped(r"$\theta_0^2 \ge \sigma^2s_M^2$", {"threshold": 0.01}),
    ),
    expect=("holds", "proof"),
)
def claim_sign_N(
    cases: Searched, threshold: float = 1.0, decreasing: bool = True, larger: str = "M", sigma_power: int = 4
) -> Evidence:
    """Each inequality follows from its factors.

    Without ``decreasing`` equal factors are allowed, ``larger`` says which of M and N has more.
    """

    def line(number: int, values: Mapping[str, Any]) -> tuple[Any, Any]:
        t0, sigma, s_M, s_N = (values[name] for name in ("theta_0", "sigma", "s_M", "s_N"))
        if number == 0:
            return s_N**2, s_M**2
        if number == 1:
            return sigma**2 * s_M * s_N, sigma**2 * s_M**2
        if number == 2:
            return sigma**2 * s_M * s_N, t0**2
        difference = t0**2 - sigma**sigma_power * s_M**2 * s_N**2 / t0**2
        return 0 * t0, 4 * sigma**2 * (s_M**2 - s_N**2) * difference

    def sides(number: int, case: Mapping[str, Any]) -> tuple[Any, Any]:
        values = parameters({**case, "ratio": 1})
        return line(number, values if larger == "M" else {**values, "s_M": values["s_N"], "s_N": values["s_M"]})

    noise = cases["noise"] * (cases["shrink"] if larger == "N" else 1.0)
    kept = where(cases, (cases["theta_0"] ** 2 >= threshold * noise**2) & ((cases["shrink"] < 1.0) | (not decreasing)))
    lines = ("s_N^2 < s_M^2", "sigma^2 s_M s_N < sigma^2 s_M^2", "sigma^2 s_M s_N < theta_0^2", "0 < numerator")
    for number in range(len(lines)):
        left, right = np.broadcast_arrays(*sides(number, kept), kept["noise"])[:2]
        evidence = judge_inequality(
            left,
            right,
            0.0,
            case=kept,
            exact=partial(sides, number),
            strict=True,
            printed=lines[number],
            domain=cases.domain,
            scope=f"{len(left)} cases with theta_0^2 >= sigma^2 s_M^2, equality included, s_N/s_M up to 0.9999",
        )
        if not evidence.ok:
            return evidence
    largest = (SIGMA * (S_N + A), SIGMA * (S_N + A) + B)  # at the assumption and above it
    shown = [
        positive(f"right less left of {name}", right - left, {S_M: S_N + A, **at})
        for name, (left, right) in ((name, line(number, SYMBOLS)) for number, name in enumerate(lines))
        for at in ([{THETA_0: theta_0} for theta_0 in largest] if THETA_0 in (right - left).free_symbols else [{}])
    ]
    return replace(evidence, printed="; ".join(lines), facts=combine(*shown) if threshold >= 1 else ())
