"""Worst case of a round of corrected local steps: program, certificate and verification, compared with PEPit.

Writes one JSON file with the numbers and the environment: ``python benchmarks/worst_case.py [--out FILE]``.
Needs the extra ``pep``; PEPit's columns stay empty where it is not installed. One process, one thread.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib.metadata
import importlib.util
import json
import platform
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from paper_checks.methods.worst_case.certificate import Certificate, find_flaw
from paper_checks.methods.worst_case.closed_form import coupling_dominates, descent_certificate, worst_descent
from paper_checks.methods.worst_case.problem import FEDAVG, FEDLIN, SIMPLIFIED, Setting, WorstCase, worst_case
from paper_checks.methods.worst_case.sdp import Solved, find_certificate, solve

SIZES = ((2, 2), (2, 3), (3, 3), (4, 4), (8, 4), (16, 4), (2, 8), (4, 8), (2, 16), (1000, 16), (2, 24), (2, 32))
WHOLE = Fraction(1, 12)
PEPIT_LARGEST = 32
"""PEPit is not tried beyond this number of clients times steps, the size of its Gram matrix."""


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """Return the result and the least processor time, since machines are shared; slow work is done once."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
        if times[-1] > 2.0:
            break
    return result, min(times)


def by_pepit(clients: int, steps: int, step: float) -> float:
    """Compute the same worst case, with every client's points and gradients written out."""
    from PEPit import PEP
    from PEPit.functions import SmoothFunction

    pep = PEP()
    functions = [pep.declare_function(SmoothFunction, L=1.0) for _ in range(clients)]
    x = pep.set_initial_point()
    own = [f.gradient(x) for f in functions]
    g = sum(own[1:], own[0]) * (1.0 / clients)
    pep.add_constraint(g**2 == 1)
    ends = []
    for f, start in zip(functions, own, strict=True):
        y = x - step * g
        for _ in range(1, steps):
            y = y - step * (f.gradient(y) - start + g)
        ends.append(y)
    end = sum(ends[1:], ends[0]) * (1.0 / clients)
    rises = [f(end) - f(x) for f in functions]
    pep.set_performance_metric(sum(rises[1:], rises[0]) * (1.0 / clients))
    return float(pep.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0))


def assembled(setting: Setting) -> WorstCase:
    """Return the problem with all its inequalities written out."""
    problem = worst_case(setting)
    for known in problem.inequalities:
        _ = known.form
    return problem


def sizes() -> list[dict[str, Any]]:
    """Measure each size: program, certificate by rounding, verification; the closed form; PEPit."""
    with_pepit = importlib.util.find_spec("PEPit") is not None
    if with_pepit:
        by_pepit(1, 1, 0.1)  # imports and first compilation are not what is compared
    rows = []
    for clients, steps in SIZES:
        step = WHOLE / steps
        exact = worst_descent(steps, step)
        problem, assembling = timed(lambda c=clients, s=steps, h=step: assembled(Setting(FEDLIN, c, s, h)))
        found, solving = timed(lambda p=problem: solve(p))
        assert isinstance(found, Solved), found
        bound = Fraction(round(exact * Fraction(9999, 10_000) * 10**6) + 1, 10**6)
        certificate, searching = timed(lambda p=problem, b=bound: find_certificate(p, b))
        row: dict[str, Any] = {
            "clients": clients,
            "steps": steps,
            "exact": float(exact),
            "error": found.value - float(exact),
            "assemble_s": assembling,
            "solve_s": solving,
            "search_s": searching,
            "certificate": isinstance(certificate, Certificate),
        }
        if isinstance(certificate, Certificate):
            reason, row["verify_s"] = timed(lambda c=certificate: find_flaw(c))
            assert not reason
        closed = descent_certificate(clients, steps, step)
        reason, row["verify_closed_form_s"] = timed(lambda c=closed: find_flaw(c))
        assert not reason
        if with_pepit and clients * steps <= PEPIT_LARGEST:
            try:
                value, row["pepit_s"] = timed(lambda c=clients, s=steps, h=step: by_pepit(c, s, float(h)))
                row["pepit_error"] = value - float(exact)
            except Exception as error:  # solvers fail in their own ways; that is a result here
                row["pepit_failed"] = str(error).split(".")[0]
        rows.append(row)
        print(row, flush=True)
    return rows


def any_clients() -> list[dict[str, Any]]:
    """Prove the closed form for any number of clients, at many local steps."""
    rows = []
    for steps in (100, 1000, 10_000):
        proved, took = timed(lambda s=steps: coupling_dominates(s, WHOLE / s), 1)
        rows.append({"steps": steps, "proved": proved, "verify_s": took})
    return rows


def step_sizes() -> list[dict[str, Any]]:
    """Return the largest s λ L at which every round descends, for two clients or more, by bisection on the program."""
    rows = []
    for low in (-1, 0):
        for steps in (2, 3, 4, 6, 8, 12):
            below, above = 1.0, min(2.0 * steps, 8.0)
            for _ in range(20):
                middle = (below + above) / 2.0
                found = solve(worst_case(Setting(FEDLIN, 2, steps, Fraction(middle) / steps, Fraction(low))))
                assert isinstance(found, Solved), found
                below, above = (middle, above) if found.value < 0.0 else (below, middle)
            rows.append({"class": "convex" if low == 0 else "smooth", "steps": steps, "largest": below})
    return rows


def recursions() -> list[dict[str, Any]]:
    """Return worst descent and drift of each kind of local steps, two clients, from the program (floats, no proof)."""
    kinds = (
        ("FedLin, or full correction", {"recursion": FEDLIN}),
        ("simplified, outside at most a tenth", {"recursion": SIMPLIFIED, "outside": Fraction(1, 10)}),
        ("simplified, outside at most all", {"recursion": SIMPLIFIED, "outside": Fraction(1)}),
        ("FedAvg, gradients apart by a tenth", {"recursion": FEDAVG, "spread": Fraction(1, 100)}),
        ("FedAvg, gradients apart by one", {"recursion": FEDAVG, "spread": Fraction(1)}),
    )
    rows = []
    for name, what in kinds:
        for low in (-1, 0):
            for steps, whole in ((4, Fraction(1, 12)), (4, Fraction(1, 2)), (12, Fraction(1, 12))):
                row: dict[str, Any] = {
                    "steps": name,
                    "class": "convex" if low == 0 else "smooth",
                    "local_steps": steps,
                    "whole": str(whole),
                }
                for goal in ("descent", "drift"):
                    found = solve(
                        worst_case(
                            Setting(clients=2, steps=steps, step=whole / steps, low=Fraction(low), goal=goal, **what)
                        )
                    )
                    row[goal] = found.value if isinstance(found, Solved) else type(found).__name__
                rows.append(row)
                print(row, flush=True)
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    out = parser.parse_args().out
    packages = {
        name: importlib.metadata.version(name)
        for name in ("numpy", "scipy", "clarabel", "PEPit", "cvxpy")
        if importlib.util.find_spec(name)
    }
    result = {
        "environment": {"python": platform.python_version(), "machine": platform.machine(), "packages": packages},
        "whole": str(WHOLE),
        "sizes": sizes(),
        "any_clients": any_clients(),
        "step_sizes": step_sizes(),
        "recursions": recursions(),
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
