"""Writes the certificates of the worst cases: closed forms, and multipliers rounded from the solver's (extra ``pep``).

``python -m paper_checks.fedlrt.write_certificates`` writes them anew; the replays verify them with fractions alone.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from paper_checks.methods.worst_case.certificate import Certificate
from paper_checks.methods.worst_case.closed_form import descent_certificate, drift_certificate, worst_descent
from paper_checks.methods.worst_case.problem import FEDLIN, SIMPLIFIED, Setting, worst_case
from paper_checks.methods.worst_case.sdp import Solved, find_certificate, solve
from paper_checks.replay import stored_path
from workloads.files import write_whole

SIZES = ((2, 1), (2, 2), (2, 3), (3, 3), (4, 4))
"""Clients and local steps."""

FURTHER_STEPS = (16, 64, 300)
"""Local steps far outside these sizes, for which the proof is checked row by row."""


def rounded_certificate(clients: int, steps: int, whole: Fraction) -> Certificate:
    """A certificate found by the solver, of a bound one part in 10,000 above the worst case.

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
    """The same for the simplified correction, where the exact worst case has no closed form.

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
    """The content of every file, by claim."""
    descents = [descent_certificate(c, s, whole / s) for c, s in SIZES for whole in (Fraction(1, 12), Fraction(1, 2))]
    descents += [rounded_certificate(c, s, whole) for c, s in SIZES[2:] for whole in (Fraction(1), Fraction(2))]
    drifts = [drift_certificate(c, s, Fraction(1, s)) for c, s in SIZES]
    further = [
        {"steps": s, "step": str(whole / s)} for s in FURTHER_STEPS for whole in (Fraction(1, 12), Fraction(1, 2))
    ]
    sums, rounds = [], []
    for clients, steps in SIZES:
        for whole in (Fraction(1, 12), Fraction(1, 2), Fraction(2), Fraction(5), Fraction(100)):
            case = {"clients": clients, "steps": steps, "step": str(whole / steps)}
            rounds.append(case)
            sums.append(case | {"first": "1", "drift": "1", "square": "1", "t": "1"})
            if whole <= 2:
                sums.append(case | {"first": "1/2", "drift": "1", "square": "1/2", "t": str(1 - whole)})
    simplified = [
        simplified_certificate(c, s, whole, delta)
        for c, s in SIZES[1:]
        for whole in (Fraction(1, 12), Fraction(1))
        for delta in (Fraction(1, 10), Fraction(1))
    ]
    local = {"limit": "1", "steps": [1, 2, 3, 10, 100, 1000]}
    wide = {"largest": "3/2", **local}
    return {
        "fedlrt/eq-36": {"square": "1/2"},
        "fedlrt/lemma-4": {"half": "1/2"},
        "fedlrt/lemma-6": {"factor": "1", "clients": [1, 2, 3, 7]},
        "fedlrt/thm-2": {"largest": "1", **local, "square": "1/2"},
        "fedlrt/thm-3": {"limit": "1/2", "steps": [1, 2, 3, 10, *FURTHER_STEPS]},
        "fedlrt/thm-4": {**wide, "square": "1/2", "least": "1", "certificates": [c.as_json() for c in simplified]},
        "fedlrt/eq-46": wide,
        "fedlrt/cor-1": {
            **wide,
            "kappa": "1.2072",
            "constants": {"1/12": "13.35", "1/24": "25.28", "1/94": "96", "1/2": "96"},
        },
        "fedlrt/cor-2-proof": {"kappa": "1.2072", "constant": "96", "share": "82"},
        "fedlrt/assumption-1": {"factor": "2"},
        "fedlrt/thm-11-combine": {"loss": "2", "half": "1/2"},
        "fedlrt/thm-1": {"certificates": [c.as_json() for c in drifts], "further_steps": [100, *FURTHER_STEPS]},
        "fedlrt/thm-6-proof": {"steps": [1, 2, 3, 10, 100]},
        "fedlrt/thm-7": {"cases": sums},
        "fedlrt/thm-7-first-term": {"cases": rounds},
        "fedlrt/thm-7-second-term": {"cases": rounds},
        "fedlrt/thm-8": {"certificates": [c.as_json() for c in descents], "further": further},
    }


def main() -> None:
    """Writes every file."""
    folder = Path(__file__).parent
    (folder / "certificates").mkdir(exist_ok=True)
    for claim, values in certificates().items():
        content = json.dumps({"id": claim, "values": values}, indent=1) + "\n"
        write_whole({stored_path(folder, claim, "certificate"): content.encode()})


if __name__ == "__main__":
    main()
