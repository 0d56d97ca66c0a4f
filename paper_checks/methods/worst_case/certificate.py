"""Certificates: multipliers in fractions that prove a bound, found by rounding, verified without a solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from paper_checks.methods.worst_case.exact import is_positive_semidefinite
from paper_checks.methods.worst_case.gram import Block, Matrix, combination
from paper_checks.methods.worst_case.problem import RECURSIONS, Setting, WorstCase, worst_case


@dataclass(frozen=True)
class Certificate:
    """A proof that the worst case of a setting is at most a bound.

    Attributes:
        setting: of what.
        bound: on the objective, per squared norm of the mean gradient.
        multipliers: non-negative factors of the inequalities, by their names; absent ones are zero.
    """

    setting: Setting
    bound: Fraction
    multipliers: Mapping[str, Fraction]

    def as_json(self) -> dict[str, Any]:
        """Return numbers as text."""
        s = self.setting
        known: dict[str, Any] = {"recursion": s.recursion.name, "clients": s.clients, "steps": s.steps}
        known |= {"step": str(s.step), "low": str(s.low), "goal": s.goal}
        if s.spread is not None:
            known["spread"] = str(s.spread)
        if s.alignment:
            known["alignment"] = [[str(d), str(c)] for d, c in s.alignment]
        if s.outside is not None:
            known["outside"] = str(s.outside)
        if s.mean is not None:
            known["mean"] = str(s.mean)
        held = {name: str(value) for name, value in self.multipliers.items() if value}
        return known | {"bound": str(self.bound), "multipliers": held}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Certificate:
        """Read one back.

        Raises:
            KeyError: something is missing.
            ValueError: a number cannot be read or is out of its range.
        """

        def optional(name: str) -> Fraction | None:
            return None if content.get(name) is None else Fraction(content[name])

        alignment = tuple((Fraction(d), Fraction(c)) for d, c in content.get("alignment", ()))
        setting = Setting(
            RECURSIONS[content["recursion"]],
            int(content["clients"]),
            int(content["steps"]),
            Fraction(content["step"]),
            Fraction(content["low"]),
            content["goal"],
            optional("spread"),
            alignment,
            optional("outside"),
            optional("mean"),
        )
        multipliers = {name: Fraction(value) for name, value in content["multipliers"].items()}
        return Certificate(setting, Fraction(content["bound"]), multipliers)


@dataclass(frozen=True)
class NoCertificate:
    """None was found, which says nothing about the bound."""

    reason: str


def slack_matrices(problem: WorstCase, bound: Fraction, multipliers: Mapping[str, Fraction]) -> dict[Block, Matrix]:
    """Return the matrices that must be positive semidefinite: bound - objective + multipliers times inequalities."""
    terms = [(bound, problem.unit), (Fraction(-1), problem.objective)]
    for known in problem.inequalities:
        weight = multipliers.get(known.name)
        if weight:
            terms.append((weight, known.form))
    total = combination(terms)
    return {block: total.matrix(block, names) for block, names in problem.blocks.items()}


def find_flaw(certificate: Certificate) -> str:
    """Say why a certificate proves nothing, in fractions; empty if it proves its bound.

    Every point that meets the inequalities has: objective <= objective - sum of multipliers times (left sides <= 0)
    = bound * unit - slack, once the function values cancel.
    """
    problem = worst_case(certificate.setting)
    known = {inequality.name: inequality for inequality in problem.inequalities}
    unknown = sorted(set(certificate.multipliers) - set(known))
    if unknown:
        return f"no inequality has the name {unknown[0]}"
    left = dict(problem.objective_values)
    balance: dict[str, Fraction] = {name: Fraction(value) for name, value in left.items()}
    for name, weight in certificate.multipliers.items():
        if weight < 0:
            return f"the multiplier of {name} is negative"
        for value, factor in known[name].values.items():
            balance[value] = balance.get(value, Fraction(0)) - weight * factor
    wrong = [name for name, value in balance.items() if value]
    if wrong:
        return f"the function values at point {wrong[0]} do not cancel"
    for block, matrix in slack_matrices(problem, certificate.bound, certificate.multipliers).items():
        if not is_positive_semidefinite(matrix):
            return f"the slack of the block {' '.join(block)} is not positive semidefinite"
    return ""


def round_certificate(
    problem: WorstCase, bound: Fraction, multipliers: Mapping[str, float], denominator: int
) -> Certificate | NoCertificate:
    """Return multipliers on a grid, with their balance repaired by the inequalities between each point and the start.

    Args:
        problem: the problem.
        bound: to be proved.
        multipliers: in floats, from a solver.
        denominator: of the grid.
    """
    exact = {name: Fraction(max(0, round(value * denominator)), denominator) for name, value in multipliers.items()}
    balance: dict[str, Fraction] = {name: Fraction(value) for name, value in problem.objective_values.items()}
    for known in problem.inequalities:
        for value, factor in known.values.items():
            balance[value] = balance.get(value, Fraction(0)) - exact.get(known.name, Fraction(0)) * factor
    for value, missing in balance.items():
        name = f"0,{value}" if missing > 0 else f"{value},0"
        exact[name] = exact.get(name, Fraction(0)) + abs(missing)
    found = Certificate(problem.setting, bound, {name: value for name, value in exact.items() if value})
    reason = find_flaw(found)
    return NoCertificate(f"rounded to multiples of 1/{denominator}: {reason}") if reason else found
