"""Theorem 8 (Appendix F.2, eq. (34)): descent of a round before truncation, and the steps of its proof.

Setting: `shared.slack`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from paper_checks.fedlrt.replays.shared.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.fedlrt.replays.shared.slack import (
    FURTHER_STEPS,
    ONE,
    SIZES,
    all_proved,
    corrected_steps_are_bounded,
    descends_as_a_bowl,
    round_of,
    rounds,
)
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values

FURTHER = tuple({"steps": s, "step": whole / s} for s in FURTHER_STEPS for whole in (Fraction(1, 12), Fraction(1, 2)))
"""Rounds of so many steps, by steps and learning rate."""


@proof("fedlrt/thm-8")
def thm_8(certificate: Values, further: Sequence[Mapping[str, Any]] = FURTHER) -> str:
    r"""The constants $1 - \frac1{2s_*}$, which is below 12, and 12 itself are valid for $x = s_*\lambda L \le 1$.

    With the correction every client's first step is along g, so this is what `shared.local_steps` says with $\rho
    = 1$ and $R = 1 - \frac1{s_*}$. For $x \le \frac12$ even the exact worst case is known: one quadratic for all
    clients. Certificates show both at small sizes, from nothing but the inequalities of smooth functions.
    """
    certificates = certificate["certificates"]
    small, large = rounds([Fraction(1, 12), Fraction(1, 2)]), rounds([1, 2], SIZES[2:])
    settings = [(*one, "descent", "-1", None) for one in small + large]
    all_proved(certificates, settings, corrected_steps_are_bounded)
    for content in certificates:
        _, steps, step = round_of(content)
        whole, bound = steps * step, Fraction(content["bound"])
        if whole <= Fraction(1, 2):
            require(bound == ((1 - step) ** (2 * steps) - 1) / 2, "a certified bound is not the exact worst case")
        require(bound <= -whole * (1 - whole), "a certified bound is above -sλ(1 - sλL)")
    local_steps_descend(ONE, ONE)
    for steps in (1, 2, 3, 10, 100):
        coefficients_of_the_power(steps)
    require(len(further) > 0, "no further steps")
    for case in further:
        dominant = descends_as_a_bowl(case["steps"], case["step"])
        require(dominant, f"not dominant at {case['steps']} steps of {case['step']}")
    return (
        r"we prove the constant $1 - \frac1{2s_*}$, which is below 12, for all clients, steps and "
        rf"$s_*\lambda L \le 1$, and the exact worst case up to $s_*\lambda L = \frac12$; {len(small)} certificates "
        rf"confirm that case, and {len(large)} confirm the constant 1 for $s_*\lambda L$ up to 2"
    )


@replay("fedlrt/thm-8-proof")
def thm_8_proof(values: Values) -> Violation:
    """Evaluate the third term: derived, L^3 lambda^4 s^4; printed in the bracket, s lambda times (s lambda)^3 L^2."""
    steps, rate, L = int(values["steps"]), Fraction(values["rate"]), Fraction(values["L"])
    assumes = (
        Hypothesis("local steps", steps, ">=", 1),
        Hypothesis("L", L, ">", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * steps * rate * L, "<=", 1),
    )
    derived, printed = L**3 * rate**4 * steps**4, steps * rate * (steps * rate) ** 3 * L**2
    return Violation(
        abs(derived - printed),
        Fraction(0),
        assumes=assumes,
        reads="we subtract the third term in the printed bracket, L^2 lambda^4 s^4, from the derived third term, L^3 "
        "lambda^4 s^4, both divided by e^2 and |g|^2",
    )
