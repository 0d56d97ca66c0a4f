"""Quantities of a symmetric matrix by one call, each with a confidence interval and all with a common basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from math import inf
from numbers import Integral

import numpy as np

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.krylov import Progress
from hessian.lanczos.memory import Budget, Plan, plan_basis, plan_pairs
from hessian.lanczos.probes import PILOT
from hessian.lanczos.stable_rank import FIRST_STEPS, Searched, scale_interval
from hessian.numerics.symmetric import CountedOperator, CurvatureError, ScaledOperator, SymmetricOperator, keeps_digits
from hessian.operators.curvature import Curvature
from hessian.quantities.diagonal import measure_diagonal
from hessian.quantities.estimates import Estimate, Measured, Measurement, Profile
from hessian.quantities.names import COUNTS, SMOOTH, Quantity, read_quantities
from hessian.quantities.quadrature_probes import PILOT_PROBES, Goals, deflate, draw_rules
from hessian.quantities.shared_search import SIGNS, SharedSearch
from hessian.quantities.warm_search import WarmSearch, WarmStart

PARTS = ("basis and probes", "quadrature", "diagonal")
"""Parts of a measurement, each with a random stream of its own."""
BY_RULES = (*COUNTS, *SMOOTH, "density")
"""Quantities by quadrature."""
LEAST_PRODUCTS = FIRST_STEPS + PILOT
STREAM = 10
"""First of the streams, apart from those of `hessian.spectrum`."""


@dataclass(frozen=True)
class MeasureSettings:
    """Settings of a measurement of quantities.

    Attributes:
        relative_width: Width of each interval, relative to the value; of extreme eigenvalues, relative to the norm; of
            a count, to at least one; of a distribution function, the median width of the band.
        confidence: Confidence level of each interval.
        products: Largest number of products of all parts together.
        basis: Largest number of rows of the Krylov basis, each as large as the parameters.
        steps: Largest number of Lanczos steps of a probe of the quadrature.
        chunk: Probes multiplied together.
        memory: Budget of memory; None: no limit.

    Raises:
        CurvatureError: A number out of its range.
    """

    relative_width: float = 0.05
    confidence: float = 0.95
    products: int = 2000
    basis: int = 120
    steps: int = 60
    chunk: int = 1
    memory: Budget | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.relative_width < inf or not 0.0 < self.confidence < 1.0:
            raise CurvatureError(
                f"relative_width must be positive and finite and confidence in (0, 1), got {self.relative_width} and "
                f"{self.confidence}",
                keywords=("relative_width", "confidence"),
            )
        for name, least in (("products", LEAST_PRODUCTS), ("basis", 1), ("steps", 1), ("chunk", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise CurvatureError(
                    f"{name} must be a whole number of at least {least}, got {value!r}", keywords=(name,)
                )


def measure(
    operator: SymmetricOperator,
    quantities: str | Quantity | Iterable[str | Quantity],
    *,
    relative_width: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    products: int = 2000,
    basis: int = 120,
    steps: int = 60,
    chunk: int | None = None,
    memory: Budget | int | str | None = None,
    progress: Progress | None = None,
) -> Measurement:
    r"""Measure quantities of a symmetric matrix, each with an interval, with a common basis and common probes.

    Args:
        operator: The matrix, such as `Curvature` or `DenseOperator`.
        quantities: Names, in a sequence or separated by commas: ``trace``, ``sharpness`` (the largest eigenvalue),
            ``smallest``, ``frobenius-squared``, ``stable-rank``, ``count-above=T``, ``count-below=T`` (below -T),
            ``effective-dimension=T``, ``log-det=T``, ``diagonal``, ``density``.
        relative_width: Width of each interval, relative to the value; of extreme eigenvalues, relative to the norm; of
            a count, to at least one; of a density, the median width of the band. `reached` says whether it is.
        confidence: Confidence level of each interval.
        seed: Seed of starting vectors and probes.
        products: Largest number of products of all parts together.
        basis: Largest number of rows of the Krylov basis; memory is basis times P.
        steps: Largest number of Lanczos steps of a probe, for counts, effective dimension, log-det and density.
        chunk: Probes drawn together; default: `Curvature.chunk`, or 1 for other operators.
        memory: A budget, as in `stable_rank_of`.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: A quantity or a number that is not valid, a matrix that is zero (stable rank) or not positive
            semidefinite (log-det, effective dimension), products that are not finite, or squares beyond the range of
            numbers (squared Frobenius norm).

    >>> import torch
    >>> from hessian import DenseOperator
    >>> found = measure(DenseOperator(torch.diag(torch.tensor([3.0, 1.0, -2.0]).double())), "trace, count-below=1")
    >>> round(found["trace"].value, 6), 2.0 in found["trace"], found["count-below=1"].value
    (2.0, True, 1.0)
    """
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise CurvatureError(f"seed must be a whole number of at least 0, got {seed!r}", keywords=("seed",))
    if chunk is None:
        chunk = operator.chunk if isinstance(operator, Curvature) else 1
    settings = MeasureSettings(
        relative_width, confidence, products, basis, steps, chunk, None if memory is None else Budget.of(memory)
    )
    found = measure_with(
        operator, read_quantities(quantities), settings, lambda part: stream_of(part, int(seed)), progress
    )
    if isinstance(operator, Curvature):
        return replace(found, gradients=operator.cost().gradients)
    return found


def stream_of(part: str, seed: int, *more: int) -> np.random.Generator:
    """Return the random stream of one of `PARTS`.

    Args:
        part: The part.
        seed: Seed of the measurement.
        more: Further numbers, such as those of a block's name.
    """
    return np.random.default_rng([seed, STREAM + PARTS.index(part), *more])


def parts_of(quantities: tuple[Quantity, ...]) -> tuple[str, ...]:
    """Return the parts of `PARTS` that quantities need."""
    names = {one.name for one in quantities}
    needed = (True, bool(names.intersection(BY_RULES)), "diagonal" in names)
    return tuple(part for part, need in zip(PARTS, needed, strict=True) if need)


def measure_with(
    operator: SymmetricOperator,
    quantities: tuple[Quantity, ...],
    settings: MeasureSettings,
    streams: Callable[[str], np.random.Generator],
    progress: Progress | None = None,
) -> Measurement:
    """Measure quantities with given settings and random streams, as `measure` does.

    Args:
        operator: The matrix.
        quantities: Quantities to measure.
        settings: Accuracy and limits.
        streams: Returns the random stream of one of `PARTS`.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: As in `measure`.
    """
    return _measure(operator, quantities, settings, streams, None, progress, keep=False)[0]


def measure_from(
    operator: SymmetricOperator,
    quantities: tuple[Quantity, ...],
    settings: MeasureSettings,
    streams: Callable[[str], np.random.Generator],
    start: WarmStart | None,
    progress: Progress | None = None,
    finer: float = 1.0,
    choices: int = 1,
) -> tuple[Measurement, WarmStart | None]:
    """Measure quantities, starting from what was found of a similar matrix, and return what the next may start from.

    The next starts from nothing after a matrix whose fourth powers are beyond double precision.

    Args:
        operator: The matrix.
        quantities: Quantities to measure.
        settings: Accuracy and limits.
        streams: Returns the random stream of one of `PARTS`; streams of the earlier matrix must not be used again.
        start: Findings about a similar matrix; None: none. They are not used if a quantity needs converged eigenpairs
            (those of `BY_RULES`, and the diagonal), or if a budget of memory stores the basis in lower precision.
        progress: Called with a description of the current step.
        finer: Share of the width asked for at which the probes of the trace aim.
        choices: Intervals of the trace of which one is reported, so that this one has its share of the error
            probability. Others have the confidence of the settings.

    Raises:
        CurvatureError: As in `measure`.
    """
    return _measure(operator, quantities, settings, streams, start, progress, True, finer, choices)


def _measure(
    operator: SymmetricOperator,
    quantities: tuple[Quantity, ...],
    settings: MeasureSettings,
    streams: Callable[[str], np.random.Generator],
    start: WarmStart | None,
    progress: Progress | None,
    keep: bool,
    finer: float = 1.0,
    choices: int = 1,
) -> tuple[Measurement, WarmStart | None]:
    """Return the measurement, and its findings if they are to be kept."""
    names = frozenset(one.name for one in quantities)
    by_rules = tuple(one for one in quantities if one.name in BY_RULES)
    scaled = ScaledOperator(operator)
    counted = CountedOperator(scaled)
    plan = Plan(min(settings.basis, operator.P), settings.chunk, Store(), "")
    if settings.memory is not None:
        plan = plan_basis(operator, settings.memory, plan.rows, settings.chunk)
        _require_room(operator, settings, plan, bool(by_rules), "diagonal" in names)
    parts = len(parts_of(quantities))
    for_diagonal = PILOT if "diagonal" in names else 0
    reserve = for_diagonal + (min(settings.steps, operator.P) if by_rules else 0)
    if settings.products < LEAST_PRODUCTS + reserve:
        raise CurvatureError(
            f"these quantities need products of at least {LEAST_PRODUCTS + reserve}, got {settings.products}",
            keywords=("products",),
        )
    search = SharedSearch(
        counted,
        streams(PARTS[0]),
        settings.relative_width,
        settings.confidence,
        min(max(settings.products // parts, LEAST_PRODUCTS), settings.products - reserve),
        plan,
        _report(progress, PARTS[0]),
        names,
        _rows_for_rules(operator.P, settings.steps) if by_rules else 0,
        finer=finer,
        choices=choices,
    )
    searched: tuple[WarmSearch, Searched] | None = None
    usable = not by_rules and "diagonal" not in names and plan.store == Store()
    count = start.plan(names, settings.relative_width, settings.confidence) if start is not None and usable else 0
    if start is not None and count:
        common = {field.name: getattr(search, field.name) for field in fields(search)}
        searched = WarmSearch(**common, start=start, scaled=scaled).search_on(count)
    before = counted.count
    if searched is None:
        found = search.search()
    else:
        search, found = searched
    products = {PARTS[0]: counted.count}
    results: dict[Quantity, Measured] = {}
    for quantity in quantities:
        if quantity.name not in (*BY_RULES, "diagonal"):
            one = _by_search(search, found, quantity, scaled.unit)
            results[quantity] = replace(one, confidence=settings.confidence)
    if by_rules:
        left = settings.products - counted.count
        left = min(max(left // (parts - 1), min(settings.steps, operator.P)), left - for_diagonal)
        goals = Goals(by_rules, settings.relative_width, settings.confidence, settings.steps, left, scaled.unit)
        rules = draw_rules(deflate(counted, found.krylov), goals, streams(PARTS[1]), _report(progress, PARTS[1]))
        products[PARTS[1]] = rules.products
        results |= {quantity: rules.estimate(quantity, goals) for quantity in by_rules}
    if "diagonal" in names:
        before = counted.count
        diagonal = measure_diagonal(
            counted,
            found.krylov,
            rng=streams(PARTS[2]),
            width=settings.relative_width,
            confidence=settings.confidence,
            products=settings.products - before,
            chunk=plan.together,
            progress=_report(progress, PARTS[2]),
        )
        products[PARTS[2]] = counted.count - before
        results[diagonal.quantity] = _times(diagonal, scaled.unit)
    measured = Measurement(
        operator.P,
        settings.confidence,
        {quantity: results[quantity] for quantity in quantities},
        found.krylov.size,
        products,
        given_up=plan.words,
        warm=bool(found.krylov.given),
    )
    if not keep or not keeps_digits(scaled.unit, 4):  # findings have squares of variances, so the next search is cold
        return measured, None
    cold = counted.count - before if searched is None or start is None else start.products
    findings = WarmStart.of(found, cold, scaled.unit)
    if "trace" in names:
        variance, degrees = search.trace_error(found)
        findings = replace(findings, variance=variance * scaled.unit**2, degrees=degrees)
    return measured, findings if start is None else start.follow(findings, counted.count, tried=count > 0)


def _rows_for_rules(P: int, steps: int) -> int:
    """Return the rows from which converged pairs are taken out.

    That is as many as one probe costs, or all if they cost less than the pilot's probes and leave nothing to chance.
    """
    return P if PILOT_PROBES * steps >= P else steps


def _report(progress: Progress | None, part: str) -> Progress | None:
    return None if progress is None else lambda text: progress(f"{part}: {text}")


def _require_room(
    operator: SymmetricOperator, settings: MeasureSettings, plan: Plan, by_rules: bool, diagonal: bool
) -> None:
    """Check that the quadrature's basis and the vectors of the diagonal fit into the budget next to the basis.

    Raises:
        CurvatureError: They do not.
    """
    needs = []
    if by_rules:  # pairs that are taken out, and the basis of one probe
        needs.append((2 * plan.rows, settings.steps, f"a probe of {min(settings.steps, operator.P)} steps"))
    if diagonal:  # a copy of the basis, and a few vectors in double precision
        needs.append((2 * plan.rows, 12, "a diagonal"))
    for rows, steps, what in needs:
        try:
            fits = settings.memory is None or not plan_pairs(operator, settings.memory, rows, steps)[1]
        except CurvatureError:
            fits = False
        if not fits:
            raise CurvatureError(
                f"memory is too small for a basis of {plan.rows} rows and {what}: allow more memory=, or choose fewer "
                "steps=",
                keywords=("memory", "steps"),
            )


def _by_search(search: SharedSearch, found: Searched, quantity: Quantity, unit: float) -> Measured:
    """Return a quantity by the basis and its probes."""
    if quantity.name == "stable-rank":
        return scale_interval(replace(search.build_interval(found), given_up=search.plan.words), unit)
    if quantity.name in SIGNS:
        return _times(search.extreme(found.krylov, quantity), unit)
    if quantity.name == "trace":
        return _times(search.trace(found, quantity), unit)
    if not keeps_digits(unit, 2):
        raise CurvatureError(
            f"the squared norm of eigenvalues near {unit:.0e} is beyond double precision: multiply the loss by "
            f"{1.0 / unit:.0e}"
        )
    return _times(search.square(found, quantity), unit**2)


def _times(found: Estimate | Profile, unit: float) -> Estimate | Profile:
    """Return an estimate for the matrix times a number."""
    if isinstance(found, Profile):
        return replace(
            found, value=found.value * unit, low=found.low * unit, high=found.high * unit, sd=found.sd * unit
        )
    return replace(
        found, value=found.value * unit, low=found.low * unit, high=found.high * unit, uncertain=found.uncertain * unit
    )
