r"""A spectrum through training: stable rank and leading eigenpairs at one state after the other, and their overlaps.

An eigenvector that is found with residual r, at a distance g from the nearest other eigenvalue, is at an angle of at
most $\arcsin(r/g)$ from the true one (Davis and Kahan, 1970). The angle between vectors of two states is known up to
the sum of the two angles. Residuals do not reveal an eigenvalue that has not been found, so g also allows for one
where the search for copies leaves it possible (`missed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import acos, asin, cos, inf, pi

import numpy as np
import torch

from hessian.lanczos.eigenpairs import extreme_eigenpairs
from hessian.lanczos.krylov import Array, Progress, RitzPairs
from hessian.lanczos.memory import plan_pairs
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.intervals import Interval, StableRankInterval
from hessian.numerics.symmetric import SymmetricOperator
from hessian.quantities.names import Quantity
from hessian.quantities.sequence import MeasurementSequence
from hessian.spectrum import SpectrumSettings, rank_by

RANK = Quantity("stable-rank")


@dataclass(frozen=True, eq=False)
class StateSpectrum:
    """Measured spectrum at one state.

    Attributes:
        rank: Stable rank with its interval, norms included.
        pairs: The largest eigenvalues, decreasing, and their vectors.
        angles: How far each vector is from an eigenvector at most, in radians; a right angle where nothing is known.
        missed: How far beyond the last value an eigenvalue may be that is missing among them, such as a copy of a
            repeated one; infinite if there was no search for such.
        warm: The search of the stable rank started from the eigenvectors of an earlier state.
    """

    rank: StableRankInterval
    pairs: RitzPairs
    angles: Array
    missed: float = inf
    warm: bool = False

    def __post_init__(self) -> None:
        fix_arrays(self)


def rank_columns(rank: StableRankInterval) -> dict[str, float]:
    """Return the numbers of a stable rank for a table."""
    return {
        "value": rank.value,
        "low": rank.low,
        "high": rank.high,
        "largest": rank.spectral_norm.value,
        "frobenius": rank.frobenius.value,
    }


def sequence_of(settings: SpectrumSettings) -> MeasurementSequence | None:
    """Return the sequence in which `state_spectrum` measures the stable rank of each state from the one before.

    It is None under a budget of memory, in which the eigenvectors of the state before have no room.
    """
    return MeasurementSequence((RANK,), settings.seed) if settings.memory is None else None


def state_spectrum(
    operator: SymmetricOperator,
    settings: SpectrumSettings,
    progress: Progress | None = None,
    sequence: MeasurementSequence | None = None,
) -> StateSpectrum:
    """Measure one state; the eigenpairs start from nothing, with the random stream of `measure_spectrum`.

    Args:
        operator: The matrix at that state.
        settings: Accuracy, number of pairs, seed.
        progress: Called with a description of the current step.
        sequence: Measures the stable rank from the findings of the states before; None: from nothing, with the random
            stream of `measure_spectrum`, the same at every state.

    Raises:
        CurvatureError: Numbers out of their range, a matrix that is zero to rounding, or products that are not finite.
    """
    warm = False
    if sequence is None:
        rank = rank_by(settings, operator, settings.rng("stable rank"), progress)
    else:
        measured = sequence.measure(operator, settings.for_quantities(), progress)
        rank, warm = measured[RANK], measured.warm
    wanted, basis = min(settings.outliers, operator.P), 0
    if settings.memory is not None:  # with the vectors of the state before
        basis, _ = plan_pairs(operator, settings.memory, 2 * wanted + 1, 1)
    found = extreme_eigenpairs(
        operator,
        min(wanted + 1, operator.P),
        tolerance=settings.tolerance,
        rng=settings.rng("eigenpairs"),
        basis=basis,
        products=settings.products,
        progress=progress,
    )
    pairs = replace(
        found, values=found.values[:wanted], vectors=found.vectors[:wanted], residuals=found.residuals[:wanted]
    )
    return StateSpectrum(rank, pairs, angles_of(found)[:wanted], found.missed, warm)


def angles_of(pairs: RitzPairs) -> Array:
    """Bound the angles between vectors and eigenvectors, as far as the eigenvalues found allow; radians.

    Args:
        pairs: The largest eigenvalues, decreasing; one may be missing among them up to `missed` beyond the last.
    """
    hidden = float(pairs.values[-1]) + pairs.missed
    angles = np.full(len(pairs), pi / 2.0)
    for place, (value, residual) in enumerate(zip(pairs.values, pairs.residuals, strict=True)):
        apart = np.append(np.delete(np.abs(pairs.values - value) - pairs.residuals, place), value - hidden)
        if place + 1 < len(pairs) and apart.size and residual < (gap := float(apart.min())):
            angles[place] = asin(residual / gap)  # of the last pair the next neighbour is not known
    return angles


def overlaps(before: StateSpectrum, after: StateSpectrum) -> tuple[Interval, ...]:
    """Return the absolute inner products of the vectors of the same place at two states."""
    found = []
    one, other = before.pairs.vectors.double(), after.pairs.vectors.double()
    lengths = torch.linalg.vector_norm(one, dim=1) * torch.linalg.vector_norm(other, dim=1)  # rounded in float32
    products = (one * other).sum(dim=1) / lengths
    for product, *angles in zip(torch.abs(products).tolist(), before.angles, after.angles, strict=True):
        angle, slack = acos(min(product, 1.0)), float(sum(angles))
        ends = (cos(min(angle + slack, pi / 2.0)), cos(max(angle - slack, 0.0)))
        found.append(Interval(min(product, 1.0), *ends))
    return tuple(found)
