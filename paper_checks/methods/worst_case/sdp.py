"""The semidefinite program of a worst case, by Clarabel (extra ``pep``), with three different ways to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from paper_checks.methods.worst_case.certificate import Certificate, NoCertificate, round_certificate
from paper_checks.methods.worst_case.gram import Block, Form
from paper_checks.methods.worst_case.problem import WorstCase

_DENOMINATORS = (10**3, 10**5, 10**7, 10**9, 10**12)


@dataclass(frozen=True)
class Solved:
    """The worst case, in floats: evidence, not proof.

    Attributes:
        value: the dual value, an upper bound up to the solver's accuracy.
        primal: the primal value, a lower bound up to the same.
        multipliers: of the inequalities.
        gram: inner products of the vectors of each block at the worst case.
        values: function values there.
    """

    value: float
    primal: float
    multipliers: Mapping[str, float]
    gram: Mapping[Block, NDArray[np.float64]]
    values: Mapping[str, float]


@dataclass(frozen=True)
class Unbounded:
    """No bound exists: the solver certifies a direction along which the objective grows and the mean gradient does not.

    Attributes:
        gram: inner products of the vectors of each block in that direction.
        values: function values in it.
    """

    gram: Mapping[Block, NDArray[np.float64]]
    values: Mapping[str, float]


@dataclass(frozen=True)
class SolverFailed:
    """The solver came to no result, which says nothing about the problem."""

    reason: str


def _conic(problem: WorstCase, margin: Fraction | None, iterations: int = 200) -> tuple[Any, list[str], list[str]]:
    """Solve the program; for a margin, the bound is given and the least eigenvalue of the slack is maximised."""
    import clarabel

    names = [known.name for known in problem.inequalities]
    values = sorted({value for known in problem.inequalities for value in known.values} | set(problem.objective_values))
    count = 1 + len(names)
    rows: list[NDArray[np.float64]] = []
    right: list[NDArray[np.float64]] = []
    cones: list[Any] = []

    def add(block: NDArray[np.float64], constant: NDArray[np.float64], cone: Any) -> None:
        rows.append(block)
        right.append(constant)
        cones.append(cone)

    if values:
        balance = np.zeros((len(values), count))
        for column, known in enumerate(problem.inequalities, start=1):
            for value, factor in known.values.items():
                balance[values.index(value), column] = factor
        wanted = np.array([float(problem.objective_values.get(value, 0)) for value in values])
        add(balance, wanted, clarabel.ZeroConeT(len(values)))
    signs = np.zeros((len(names), count))
    signs[:, 1:] = -np.eye(len(names))
    add(signs, np.zeros(len(names)), clarabel.NonnegativeConeT(len(names)))
    if margin is not None:  # an unbounded margin is useless
        cap = np.zeros((1, count))
        cap[0, 0] = 1.0
        add(cap, np.ones(1), clarabel.NonnegativeConeT(1))
    constant = problem.objective * -1 + problem.unit * (margin or 0)
    for block, labels in problem.blocks.items():
        identity = np.eye(len(labels))
        first = _triangle(_floats(problem.unit, block, labels) if margin is None else -identity)
        columns = [first, *(_triangle(_floats(known.form, block, labels)) for known in problem.inequalities)]
        add(
            -np.column_stack(columns),
            _triangle(_floats(constant, block, labels)),
            clarabel.PSDTriangleConeT(len(labels)),
        )
    aim = np.zeros(count)
    aim[0] = 1.0 if margin is None else -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = iterations
    solver = clarabel.DefaultSolver(
        csc_matrix((count, count)), aim, csc_matrix(np.vstack(rows)), np.concatenate(right), cones, settings
    )
    return solver.solve(), names, values


def solve(problem: WorstCase, iterations: int = 200) -> Solved | Unbounded | SolverFailed:
    """Return the worst case by its dual program: the least bound over all multipliers.

    Args:
        problem: what is asked.
        iterations: the most the solver may take.

    Raises:
        ImportError: Clarabel is not installed.
    """
    answer, names, values = _conic(problem, None, iterations)
    status = str(answer.status)
    if status not in ("Solved", "PrimalInfeasible"):
        return SolverFailed(f"Clarabel ended with {status}")
    dual = np.array(answer.z)
    gram, at = {}, len(values) + len(names)
    for block, labels in problem.blocks.items():
        size = len(labels) * (len(labels) + 1) // 2
        gram[block] = _square(dual[at : at + size], len(labels))
        at += size
    found = dict(zip(values, map(float, -dual[: len(values)]), strict=True))
    if status == "PrimalInfeasible":
        return Unbounded(gram, found)
    x = np.array(answer.x)
    return Solved(float(x[0]), float(answer.obj_val_dual), dict(zip(names, x[1:], strict=True)), gram, found)


def find_certificate(problem: WorstCase, bound: Fraction) -> Certificate | NoCertificate | SolverFailed:
    """Return a certificate of a bound: multipliers of the largest margin, on the coarsest grid that keeps the proof.

    Raises:
        ImportError: Clarabel is not installed.
    """
    answer, names, _ = _conic(problem, bound)
    status = str(answer.status)
    # Never infeasible: the margin may be negative, and what each point has with the start repairs any balance.
    if status not in ("Solved", "AlmostSolved"):
        return SolverFailed(f"Clarabel ended with {status}")
    x = np.array(answer.x)
    multipliers = dict(zip(names, map(float, x[1:]), strict=True))
    found: Certificate | NoCertificate = NoCertificate("none was tried")
    for denominator in _DENOMINATORS:
        found = round_certificate(problem, bound, multipliers, denominator)
        if isinstance(found, Certificate):
            return found
    assert isinstance(found, NoCertificate)
    return NoCertificate(f"{found.reason} (margin {x[0]:.2g})")


def _floats(form: Form, block: Block, labels: tuple[str, ...]) -> NDArray[np.float64]:
    return np.array(form.matrix(block, labels), dtype=float).reshape(len(labels), len(labels))


def _triangle(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the upper triangle by columns, off-diagonal entries times the root of 2."""
    rows, columns = np.tril_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def _square(triangle: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    rows, columns = np.tril_indices(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = triangle / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix + np.tril(matrix, -1).T
