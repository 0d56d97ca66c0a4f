"""Certificates of the worst cases: closed forms, and multipliers rounded from the solver's (extra ``pep``).

``python -m paper_checks.fedlrt.write_certificates`` writes them again; the proofs verify them with fractions only.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from paper_checks.fedlrt.replays.shared.slack import SIZES
from paper_checks.methods.worst_case.certificate import Certificate
from paper_checks.methods.worst_case.closed_form import descent_certificate, drift_certificate, worst_descent
from paper_checks.methods.worst_case.problem import FEDLIN, SIMPLIFIED, Setting, worst_case
from paper_checks.methods.worst_case.sdp import Solved, find_certificate, solve
from paper_checks.replay import stored_path
from workloads.files import write_whole


def rounded_certificate(clients: int, steps: int, whole: Fraction) -> Certificate:
    """Find a certificate by the solver, of a bound one part in 10,000 above the worst case.

    Raises:
        ValueError: none was found.
    """
    bound = worst_descent(steps, whole / steps) * Fraction(9999, 10_000)
    short = Fraction(round(bound * 10**6) + 1, 10**6)
    found = find_certificate(worst_case(Setting(FEDLIN, clients, steps, whole / steps)), short)
    if not isinstance(found, Certificate):
        raise ValueError(f"{clients} clients, {steps} steps, s λ L = {whole}: {found.reason}")
    return found


def simplified_certificate(clients: int, steps: int, whole: Fraction, outside: Fraction) -> Certificate:
    """Find a certificate for the simplified correction, where the exact worst case has no closed form.

    Raises:
        ValueError: none was found.
    """
    problem = worst_case(Setting(SIMPLIFIED, clients, steps, whole / steps, outside=outside))
    solved = solve(problem)
    if not isinstance(solved, Solved):
        raise ValueError(f"{clients} clients, {steps} steps, s λ L = {whole}: {solved}")
    found = find_certificate(problem, Fraction(round(solved.value * 9999 / 10_000 * 10**6) + 1, 10**6))
    if not isinstance(found, Certificate):
        raise ValueError(f"{clients} clients, {steps} steps, s λ L = {whole}: {found.reason}")
    return found


def certificates() -> dict[str, dict[str, Any]]:
    """Return the content of every file, by claim."""
    descents = [descent_certificate(c, s, whole / s) for c, s in SIZES for whole in (Fraction(1, 12), Fraction(1, 2))]
    descents += [rounded_certificate(c, s, whole) for c, s in SIZES[2:] for whole in (Fraction(1), Fraction(2))]
    drifts = [drift_certificate(c, s, Fraction(1, s)) for c, s in SIZES]
    simplified = [
        simplified_certificate(c, s, whole, delta)
        for c, s in SIZES[1:]
        for whole in (Fraction(1, 12), Fraction(1))
        for delta in (Fraction(1, 10), Fraction(1))
    ]
    return {
        "fedlrt/thm-1": {"certificates": [c.as_json() for c in drifts]},
        "fedlrt/thm-4": {"certificates": [c.as_json() for c in simplified]},
        "fedlrt/thm-8": {"certificates": [c.as_json() for c in descents]},
    }


def main() -> None:
    """Write every file."""
    folder = Path(__file__).parent
    (folder / "certificates").mkdir(exist_ok=True)
    for claim, values in certificates().items():
        content = json.dumps({"id": claim, "values": values}, indent=1) + "\n"
        write_whole({stored_path(folder, claim, "certificate"): content.encode()})


if __name__ == "__main__":
    main()
