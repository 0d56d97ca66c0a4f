"""One measurement of a spectrum: stable rank with its interval, extreme eigenpairs, quadrature of the rest, the fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from numbers import Integral

import numpy as np
import torch

from hessian.fits.measured_fit import MeasuredFit, fit_measured
from hessian.lanczos.eigenpairs import extreme_eigenpairs, usual_basis
from hessian.lanczos.krylov import Array, Progress
from hessian.lanczos.memory import Budget, plan_pairs
from hessian.lanczos.quadrature import SpectralMeasure, spectral_measure
from hessian.lanczos.stable_rank import stable_rank_of
from hessian.loss.product_rounding import describe_limit
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.intervals import StableRankInterval
from hessian.numerics.symmetric import CountedOperator, CurvatureError, SymmetricOperator
from hessian.quantities.estimates import Measurement
from hessian.quantities.measurement import MeasureSettings, measure_with, stream_of
from hessian.quantities.names import Quantity, read_quantities
from rmt.results import Result, join_texts

STREAMS = ("stable rank", "eigenpairs", "quadrature")
"""Parts of a measurement, each with a random stream of its own."""


@dataclass(frozen=True)
class SpectrumSettings:
    """Settings of a measurement of a spectrum.

    Attributes:
        width: Relative width asked of the stable rank's interval.
        confidence: Confidence level of all intervals.
        outliers: Eigenpairs to compute at each end.
        tolerance: Tolerance of their residuals, relative to the norm.
        probes: Probes of the quadrature.
        steps: Lanczos steps of each probe.
        seed: Root of the random streams.
        products: Largest number of products for the stable rank, and likewise for the eigenpairs.
        basis: Largest number of rows in memory, each as large as the parameters.
        chunk: Probes of the stable rank multiplied together: more than 1 pays where data are streamed.
        memory: Budget of memory for the whole measurement; None: no limit.
        quantities: Further quantities to measure, as for `hessian.measure`; the stable rank shares their basis.

    Raises:
        CurvatureError: A number out of its range.
    """

    width: float = 0.05
    confidence: float = 0.95
    outliers: int = 10
    tolerance: float = 1e-4
    probes: int = 4
    steps: int = 60
    seed: int = 0
    products: int = 2000
    basis: int = 120
    chunk: int = 1
    memory: Budget | None = None
    quantities: tuple[Quantity | str, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.width < inf or not 0.0 < self.confidence < 1.0 or not 0.0 < self.tolerance < inf:
            raise CurvatureError(
                f"width and tolerance must be positive and finite and confidence in (0, 1), got {self.width}, "
                f"{self.tolerance} and {self.confidence}",
                keywords=("width", "confidence"),
            )
        whole = ("outliers", "probes", "steps", "seed", "products", "basis", "chunk")
        for name in whole:
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise CurvatureError(f"{name} must be a whole number, got {value!r}", keywords=(name,))
        if not isinstance(self.memory, Budget | None):
            raise CurvatureError(
                f"memory must be a Budget, such as Budget({str(self.memory)!r}), got {self.memory!r}",
                keywords=("memory",),
            )
        if min(self.outliers, self.probes, self.steps) < 1 or self.seed < 0:
            raise CurvatureError(
                f"outliers, probes and steps must be at least 1 and seed at least 0, got {self.outliers}, "
                f"{self.probes}, {self.steps} and {self.seed}",
                keywords=("outliers", "probes", "steps", "seed"),
            )
        if self.quantities:
            object.__setattr__(self, "quantities", read_quantities(self.quantities))

    def for_quantities(self) -> MeasureSettings:
        """Return the settings of the quantities' measurement.

        Raises:
            CurvatureError: A number out of its range.
        """
        return MeasureSettings(
            self.width, self.confidence, self.products, self.basis, self.steps, self.chunk, self.memory
        )

    def rng(self, part: str) -> np.random.Generator:
        """Return the random stream of one of `STREAMS`; a change of one part does not affect the others."""
        return np.random.default_rng([self.seed, STREAMS.index(part)])


@dataclass(frozen=True, eq=False)
class SpectrumReport(Result):
    """Results of a measurement.

    Attributes:
        settings: Settings of the measurement.
        P: Dimension.
        dtype: Type of the products.
        device: Device of the products.
        stable_rank: Stable rank with its interval, norms included.
        eigenvalues: Extreme eigenvalues, decreasing: the `largest` largest, then the smallest.
        residuals: An eigenvalue lies within that of each of them.
        largest: Number of eigenvalues from the upper end.
        converged: All residuals are within the tolerance.
        measure: Quadrature of the rest, the extreme eigenvalues as atoms.
        fit: The spiked model, if there is noise to fit.
        no_fit: Why the fit failed; empty if it did not.
        products: Products with one vector, by part.
        seconds: Wall time, by part.
        given_up: Compromises made for a budget of memory, in words; empty for none.
        missed: How far beyond the last values at either end an eigenvalue may be that is missing among them, such as a
            copy of a repeated one, but with a small chance; infinite if there was no search for such.
        limit: Why no number of products would bring the residuals within the tolerance, in words; empty if more may.
        quantities: The further quantities, with the stable rank; None if there were none.
    """

    settings: SpectrumSettings
    P: int
    dtype: str
    device: str
    stable_rank: StableRankInterval
    eigenvalues: Array
    residuals: Array
    largest: int
    converged: bool
    measure: SpectralMeasure
    fit: MeasuredFit | None
    no_fit: str
    products: dict[str, int]
    seconds: dict[str, float]
    given_up: str = ""
    missed: float = inf
    limit: str = ""
    quantities: Measurement | None = None

    def __post_init__(self) -> None:
        fix_arrays(self)

    def words(self) -> dict[str, str]:
        """Return the stable rank, the extreme eigenvalues and the fit in words."""
        rank = self.stable_rank.words()
        smallest = len(self.eigenvalues) - self.largest
        unsettled = "" if self.converged else f"; not converged: {self.limit or 'raise products'}"
        allowed = 2.0 * _find_tolerance(self.settings, self.dtype, self.stable_rank)
        lacking = f"; {text}" if (text := describe_missed(self.missed, allowed)) else ""
        further = {} if self.quantities is None else self.quantities.words()
        return {
            **{label: text for label, text in rank.items() if label != "memory"},
            **{label: text for label, text in further.items() if label not in ("stable rank", "memory", "cost")},
            "eigenvalues": f"{self.eigenvalues[-1]:.4g} to {self.eigenvalues[0]:.4g}; {self.largest} largest and "
            f"{smallest} smallest computed{unsettled}{lacking}",
            "largest": join_texts([f"{value:.4g}" for value in self.eigenvalues[: self.largest]]),
            "smallest": join_texts([f"{value:.4g}" for value in self.eigenvalues[self.largest :][::-1]]),
            "residuals": f"at most {self.residuals.max():.1g}{unsettled}{lacking}",
            **({"memory": self.given_up} if self.given_up else {}),
            **({"spiked model": f"not fitted: {self.no_fit}"} if self.fit is None else self.fit.words()),
        }


def measure_spectrum(
    operator: SymmetricOperator, settings: SpectrumSettings, progress: Progress | None = None
) -> SpectrumReport:
    """Measure the spectrum of a symmetric operator and fit the spiked model to it.

    Args:
        operator: The matrix.
        settings: Accuracy, numbers of pairs and probes, seed.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Numbers out of their range, a matrix that is zero to rounding, or products that are not finite.
    """
    counted = CountedOperator(operator)
    largest = min(settings.outliers, (operator.P + 1) // 2)
    smallest = min(settings.outliers, operator.P - largest)
    basis, three_vectors = 0, False
    if settings.memory is not None:  # before anything else: it may not suffice
        basis, three_vectors = plan_pairs(operator, settings.memory, largest + smallest, settings.steps)
    products: dict[str, int] = {}
    seconds: dict[str, float] = {}

    def finish(part: str, started: float) -> None:
        products[part] = counted.count - sum(products.values())
        seconds[part] = time.perf_counter() - started

    def report(part: str) -> Progress:
        return (lambda text: progress(f"{part}: {text}")) if progress is not None else _quiet

    started = time.perf_counter()
    rank, further = _rank_and_quantities(counted, settings, report("stable rank"))
    finish("stable rank", started)
    started = time.perf_counter()
    pairs = extreme_eigenpairs(
        counted,
        largest,
        smallest,
        tolerance=settings.tolerance,
        rng=settings.rng("eigenpairs"),
        basis=basis,
        products=settings.products,
        progress=report("eigenpairs"),
    )
    finish("eigenpairs", started)
    started = time.perf_counter()
    measure = spectral_measure(
        counted,
        rng=settings.rng("quadrature"),
        probes=settings.probes,
        steps=settings.steps,
        without=pairs,
        three_vectors=three_vectors,
        progress=report("quadrature"),
    )
    finish("quadrature", started)
    given_up = [f"stable rank: {rank.given_up}"] if rank.given_up else []
    usual = usual_basis(len(pairs))
    given_up += [f"eigenpairs: {basis} rows, not {usual}"] if 0 < basis < min(usual, operator.P) else []
    given_up += ["quadrature: three vectors, no basis"] if three_vectors else []
    fit, why = None, ""
    try:
        if not 1e-50 < rank.spectral_norm.value < 1e50:
            raise ValueError(
                f"powers of eigenvalues of the order {rank.spectral_norm.value:.0e} are not representable in double "
                "precision: multiply the loss by a constant"
            )
        fit = fit_measured(pairs, largest, rank.frobenius, measure, confidence=settings.confidence)
    except ValueError as error:  # a matrix without noise has a spectrum all the same
        why = str(error)
    dtype = str(operator.dtype).removeprefix("torch.")
    allowed = _find_tolerance(settings, dtype, rank)
    limited = 2.0 * pairs.rounding > allowed  # at twice their floor residuals are not reduced further
    return SpectrumReport(
        settings=settings,
        P=operator.P,
        dtype=dtype,
        device=str(operator.device),
        stable_rank=rank,
        eigenvalues=pairs.values,
        residuals=pairs.residuals,
        largest=largest,
        converged=bool(pairs.residuals.max() <= allowed),
        measure=measure,
        fit=fit,
        no_fit=why,
        products=products,
        seconds=seconds,
        given_up="; ".join(given_up),
        missed=pairs.missed,
        limit=describe_limit(pairs.rounding / rank.spectral_norm.value, operator.dtype) if limited else "",
        quantities=further,
    )


def rank_by(
    settings: SpectrumSettings, operator: SymmetricOperator, rng: np.random.Generator, progress: Progress | None = None
) -> StableRankInterval:
    """Return the stable rank of a matrix, with the accuracy and the limits of a spectrum's settings.

    Args:
        settings: Accuracy and limits.
        operator: The matrix.
        rng: Random stream of the probes.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Numbers out of their range, a matrix that is zero to rounding, or products that are not finite.
    """
    return stable_rank_of(
        operator,
        rng=rng,
        relative_width=settings.width,
        confidence=settings.confidence,
        products=settings.products,
        basis=settings.basis,
        chunk=settings.chunk,
        memory=settings.memory,
        progress=progress,
    )


def _rank_and_quantities(
    operator: SymmetricOperator, settings: SpectrumSettings, progress: Progress
) -> tuple[StableRankInterval, Measurement | None]:
    """Return the stable rank, and with it the further quantities if there are any."""
    if not settings.quantities:
        return rank_by(settings, operator, settings.rng("stable rank"), progress), None
    own = Quantity("stable-rank")
    found = measure_with(
        operator,
        read_quantities((own, *settings.quantities)),
        settings.for_quantities(),
        lambda part: stream_of(part, settings.seed),
        progress,
    )
    return found[own], found


def _find_tolerance(settings: SpectrumSettings, dtype: str, rank: StableRankInterval) -> float:
    """Return the largest residual of a converged pair."""
    return max(settings.tolerance, 20.0 * torch.finfo(getattr(torch, dtype)).eps) * rank.spectral_norm.value


def describe_missed(missed: float, allowed: float) -> str:
    """Return in words which eigenvalues a list of extreme ones may lack; empty if only such as do not matter.

    Args:
        missed: How far beyond the last one listed an eigenvalue may be that is missing; infinite without a search.
        allowed: The least that matters.
    """
    if missed == inf:
        return "copies of repeated eigenvalues may be missing: raise products"
    if missed > allowed:
        return f"one up to {missed:.1g} beyond the last, such as a copy of a repeated one, may be missing"
    return ""


def _quiet(text: str) -> None:
    pass
