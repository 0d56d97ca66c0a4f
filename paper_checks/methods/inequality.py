"""Inequalities over a domain of few parameters: hypothesis at the corners, an optimiser towards equality, exact replay.

Random testing is nearly blind in many dimensions, so a claim names its few meaningful parameters. Cases are collected
once and judged for every form: the printed one, mutants and corrections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray
from scipy.optimize import differential_evolution, minimize

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.engine.lines import Line, line_of
from paper_checks.evaluation import format_apart
from paper_checks.facts import Exact, Fact, compare
from paper_checks.methods.domain import Axis, Cases, Described, Searched, Tried, describe_search, require_reached
from paper_checks.methods.draws import draw_cases
from paper_checks.methods.sides import ROUNDING, Array, UndefinedError, checked_sides

NO_DOMAIN = (
    "it passes without a domain, so nobody knows where it was searched: give domain= what collect_cases or tried return"
)
"""Why evidence without a domain establishes nothing."""
LOOSE = 0.01
"""Error bound, relative to both sides, from which on a case that passes within it is noted."""

Shown = Mapping[str, NDArray[Any]] | Sequence[Mapping[str, Any]] | Callable[[int], Mapping[str, Any]] | None
"""The parameters of cases."""


def collect_cases(
    context: Context,
    axes: Sequence[Axis],
    assumption: Callable[[Cases], NDArray[np.bool_]],
    gap: Callable[[Cases], NDArray[np.float64]],
    *,
    examples: int,
    restarts: int,
) -> Searched:
    """Collect cases that satisfy an assumption: corners of the domain, draws, and searches towards equality.

    Differential evolution searches at every budget; at the full one a simplex search, from the best of the uniform
    draws of another stream, searches a second time.

    Args:
        context: seeds hypothesis and the optimiser.
        axes: the parameters.
        assumption: which cases the statement speaks about, vectorised.
        gap: distance from equality, vectorised; the optimiser makes it small (or negative).
        examples: examples for hypothesis.
        restarts: runs of differential evolution.

    Returns:
        Arrays of equal length, one per axis: corners and draws lead, searches follow, uniform draws end.

    Raises:
        UndefinedError: the assumption leaves too few cases, or none at an end or in a tenth of an axis.
    """
    drawn = draw_cases(context, strategies.tuples(*(axis.strategy() for axis in axes)), examples)

    def as_cases(units: NDArray[np.float64]) -> Cases:
        return {axis.name: axis.decode(column) for axis, column in zip(axes, units, strict=True)}

    def objective(units: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = units.reshape(len(axes), -1)
        cases = as_cases(columns)
        values = np.where(assumption(cases), gap(cases), np.inf)
        visited.append(columns[:, np.isfinite(values)])
        return values if units.ndim > 1 else values[0]

    visited: list[NDArray[np.float64]] = []
    rng = context.rng("optimiser")
    uniform = context.rng("uniform").random((len(axes), context.size(500, 20_000)))
    with np.errstate(all="ignore"):
        for _ in range(restarts):
            differential_evolution(
                objective,
                [(0.0, 1.0)] * len(axes),
                rng=rng,
                maxiter=120,
                popsize=8,
                tol=1e-12,
                polish=False,
                vectorized=True,
                updating="deferred",
            )
        if restarts and context.budget == "full":
            for start in uniform[:, np.argsort(objective(uniform))[:10]].T:
                minimize(lambda at: float(objective(np.clip(at, 0.0, 1.0)[:, None])[0]), start, method="Nelder-Mead")
    corners = list(product(*(axis.ends() for axis in axes)))
    columns = np.array(corners + drawn, dtype=float).T
    groups = [
        {axis.name: column for axis, column in zip(axes, columns, strict=True)},
        as_cases(np.concatenate([np.empty((len(axes), 0)), *visited], axis=1)),
        as_cases(uniform),
    ]
    kept = [assumption(group) for group in groups]
    cases = Searched(
        (axis.name, np.concatenate([group[axis.name][keep] for group, keep in zip(groups, kept, strict=True)]))
        for axis in axes
    )
    require_reached(axes, cases)
    cases.domain = Described(describe_search(axes, int(kept[-1].sum())), sum(int(keep.sum()) for keep in kept))
    return cases


def judge_inequality(
    left: NDArray[Any],
    right: NDArray[Any],
    error: NDArray[np.float64] | float,
    *,
    scope: str,
    case: Shown = None,
    exact: Callable[[Mapping[str, Fraction]], tuple[Exact, Exact]] | None = None,
    printed: str = "left <= right",
    strict: bool = False,
    quotient: bool = False,
    readable: Sequence[bool] | None = None,
    size: NDArray[np.float64] | float = 0.0,
    infinite: bool = False,
    domain: str | Tried = "",
    lines: Sequence[str] = (),
) -> Evidence:
    """Judge ``left <= right`` (or ``left < right``) over cases.

    A case violates if it does so by more than its error bound; with ``exact`` the worst cases are evaluated again in
    fractions (their floats taken exactly) and only that counts. A case that passes only within its error bound needs
    one of the order of rounding, `ROUNDING` relative to the size of what is compared.

    Args:
        left: left sides, floats or exact numbers.
        right: right sides.
        error: bound on the numerical error of ``left - right``.
        scope: what was covered.
        case: the parameters of the cases in plain numbers, for the witness: columns by name (numbers, or fractions
            as text), a list of mappings, or a function of the index; the index alone where nothing is to be replayed.
        exact: both sides in fractions from the parameters of a case.
        printed: what the form says.
        strict: whether equality violates.
        quotient: whether the quotient of the sides means something; its least value is then reported as slack.
        readable: which cases can be written down for a replay; if one of them violates, the worst of them is the
            witness. All by default.
        size: size of the quantities whose difference a side is, where that is more than the side itself.
        infinite: whether sides may be infinite, which then decide by their sign.
        domain: what was searched for the cases and what was not, as `collect_cases` says it, or what was tried; part
            of the scope. A violation needs no more than its case. What passes needs a domain, and on a grid one that
            reaches what is stated; a domain in other words is noted on the card.
        lines: for a statement of several lines, the name of the line that each case is of.

    Raises:
        UndefinedError: sides that cannot be compared (see `checked_sides`), parameters of other cases, a tolerance that
            is more than rounding, or a grid that does not reach what is stated (see `Tried`).
    """
    searched, shown_at = domain.describe() if isinstance(domain, Tried) else domain, _by_index(case)
    scope = f"{scope}; {searched}" if searched else scope
    if len(left) == 0:
        return Evidence(True, scope, printed, "no case", cases=0)
    left, right, difference, error = checked_sides(left, right, error, infinite=infinite, decided=exact is not None)
    count = len(left)
    _require_fitting(case, count)
    scale = np.maximum(np.maximum(np.abs(left), np.abs(right)), np.finfo(float).tiny)
    with np.errstate(invalid="ignore"):  # an infinite side decides by its sign
        excess = np.where(np.isinf(scale), np.sign(difference), difference / scale)
    positive = quotient & (left > 1e-300) & (right > 0)
    with np.errstate(over="ignore"):
        slack = float(np.min(right[positive] / left[positive])) if positive.any() else None
    tight = float(np.mean(np.abs(excess) <= 0.01))
    shown: tuple[Fact, ...] = ()
    if exact is None:
        violating = _beyond_rounding(difference, error, strict, readable)
    else:
        violating, shown = _violating_exactly(_candidates(excess, difference, strict), shown_at, exact, strict)
    failing = difference > error
    if violating is not None:
        failing[violating] = True
    named = _lines(lines, left, right + error, failing, strict)
    if violating is not None:
        return Evidence(
            False,
            scope,
            printed,
            "left {}, right {} at the witness".format(*format_apart(left[violating], right[violating])),
            margin=min(-float(excess[violating]), 0.0),
            slack=slack,
            cases=count,
            tight=tight,
            witness=shown_at(violating),
            sides=(float(left[violating]), float(right[violating])),
            facts=shown,
            infinite=bool(np.isinf(scale[violating])),
            lines=named,
        )
    notes = list(_notes_of(domain, count))
    if exact is None:
        _check_tolerance(difference, error, np.maximum(scale, size))
        notes += _notes_of_size(difference, error, scale)
    if isinstance(domain, Tried):
        domain.check()
    obtained = f"no violation in {count} cases" + (f"; right/left at least {slack:.6g}" if slack else "")
    margin = max(-float(excess.max()), 0.0)
    return Evidence(
        True,
        scope,
        printed,
        obtained,
        margin=margin,
        slack=slack,
        cases=count,
        tight=tight,
        lines=named,
        notes=tuple(notes),
        flaw="" if domain else NO_DOMAIN,
    )


def _notes_of(domain: str | Tried, count: int) -> Iterator[str]:
    """Yield what the cases that are judged have to do with the domain, where no method says it."""
    if isinstance(domain, str) and domain and not isinstance(domain, Described):
        yield "the domain is described in the author's words, not by a search or a grid"
    known = len(domain.rows) if isinstance(domain, Tried) else getattr(domain, "cases", 0)
    if count < known:
        yield f"{count} of the {known} cases of the domain are judged"


def _notes_of_size(difference: Array, error: Array, scale: Array) -> Iterator[str]:
    """Yield that cases pass within an error bound that is not small next to both of their sides."""
    loose = (difference > 0) & (error > LOOSE * scale)
    if loose.any():
        index = int(np.argmax(np.where(loose, error / scale, 0.0)))
        yield (
            f"{int(loose.sum())} cases pass only within their error bound, such as {error[index]:.2g} for sides of "
            f"{scale[index]:.2g}, because the quantities behind the sides are said to be larger"
        )


def _require_fitting(case: Shown, count: int) -> None:
    """Check that the parameters are those of the cases, because a witness would else have those of another case.

    Raises:
        UndefinedError: There are more or fewer.
    """
    lengths: dict[str, int | str] = {}
    if isinstance(case, Mapping):
        lengths = {name: len(column) if hasattr(column, "__len__") else "one value" for name, column in case.items()}
    if isinstance(case, Sequence):
        lengths = {"the list": len(case)}
    wrong = [f"{name} has {length}" for name, length in lengths.items() if length != count]
    if wrong:
        raise UndefinedError(f"case= must have the parameters of each of the {count} cases, but {'; '.join(wrong)}")


def _by_index(case: Shown) -> Callable[[int], Mapping[str, Any]]:
    if isinstance(case, Mapping):
        return lambda index: {name: _written(name, column[index]) for name, column in case.items()}
    if isinstance(case, Sequence):
        return case.__getitem__
    return case or (lambda index: {"case": index})


def _written(column: str, value: Any) -> float | str:
    """Return a parameter as a float, or as the text of a fraction that no float is equal to."""
    try:
        exact = Fraction(value) if isinstance(value, str) else value
        near = float(exact)
        if not isinstance(exact, float | np.floating) and near != exact:
            return str(Fraction(str(exact)))
    except (TypeError, ValueError, ZeroDivisionError):
        raise UndefinedError(
            f"the column {column!r} of case= has {value!r}, which is not a number: give numbers or fractions, or give "
            "case= a list with a mapping for each case, which may hold texts"
        ) from None
    return near if not isinstance(value, str) else str(value)


def _lines(
    names: Sequence[str], left: Array, right: Array, failing: NDArray[np.bool_], strict: bool
) -> dict[str, Line]:
    if not len(names):
        return {"": line_of(not failing.any(), left, right, strict=strict, formula=True)}
    if len(names) != len(left):
        raise UndefinedError(f"expected the line of each of {len(left)} cases, got {len(names)}")
    of = np.array(names)
    own = {name: of == name for name in dict.fromkeys(names)}
    return {
        name: line_of(not failing[here].any(), left[here], right[here], strict=strict, formula=True)
        for name, here in own.items()
    }


def steps_of(chain: Sequence[Array]) -> list[str]:
    """Return the names of a chain's lines for `judge_inequality`, each between two neighbours, case by case."""
    return [f"step {number + 1}" for number, column in enumerate(chain[:-1]) for _ in column]


def _check_tolerance(difference: NDArray[np.float64], error: NDArray[np.float64], size: NDArray[np.float64]) -> None:
    """Check the error bound of a case that lies within it: only a bound on rounding may decide."""
    loose = (difference > 0) & (error > ROUNDING * size)
    if loose.any():
        index = int(np.argmax(np.where(loose, error / size, 0.0)))
        raise UndefinedError(
            f"{int(loose.sum())} cases pass only within a tolerance of {error[index]:.2g} for quantities of size "
            f"{size[index]:.2g}, which is more than rounding"
        )


def _beyond_rounding(
    difference: NDArray[np.float64], error: NDArray[np.float64], strict: bool, readable: Sequence[bool] | None
) -> int | None:
    """Return the case that exceeds its error bound by most; if strict, one that does not stay below by it.

    A finite case that can be written down comes before others.
    """
    beyond = difference + error if strict else difference - error
    violates = beyond >= 0 if strict else beyond > 0
    for preferred in (np.isfinite(beyond), readable):
        if preferred is not None and (violates & np.array(preferred)).any():
            violates = violates & np.array(preferred)
    return int(np.argmax(np.where(violates, beyond, -np.inf))) if violates.any() else None


def _candidates(excess: NDArray[np.float64], difference: NDArray[np.float64], strict: bool) -> list[int]:
    """Return the cases to judge in fractions: worst by relative excess, the leading corners, worst by difference.

    Where a side is 0 rounding alone is an excess of 1, and many equalities would hide a violation. Equality, which
    violates a strict inequality, hides among the smallest differences.
    """
    worst = np.argsort(-excess, kind="stable")[:50]
    close = np.argsort(-difference, kind="stable")[: 200 if strict else 50]
    return list(dict.fromkeys(map(int, np.concatenate([worst, np.arange(min(len(excess), 128)), close]))))


def _violating_exactly(
    candidates: Sequence[int],
    case: Callable[[int], Mapping[str, Any]],
    exact: Callable[[Mapping[str, Fraction]], tuple[Exact, Exact]],
    strict: bool,
) -> tuple[int | None, tuple[Fact, ...]]:
    """Return the first candidate that violates in fractions, and that fact."""
    for index in candidates:
        left, right = exact({name: Fraction(value) for name, value in case(index).items()})
        shown = compare("witness", left, ">=" if strict else ">", right)
        if shown is not None:
            return index, (shown,)
    return None, ()
