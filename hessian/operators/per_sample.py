r"""Each sample's part of a Gauss-Newton matrix: $G = \frac1N\sum_i A_i^T A_i$ with $A_i = \Lambda_i^{1/2} J_i$.

$J_i$ is the Jacobian of the K outputs of sample i by the P parameters, $\Lambda_i$ the Hessian of its loss by these
outputs. $A_i$ is (K, P), from K products of a vector with a Jacobian, so no (P, P) matrix is needed at any P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hessian.loss.batches import Batch, Loss, iterate_tensors, rows_of, size_of, take_rows
from hessian.loss.checked_objective import checked_objective
from hessian.loss.graphs import pull, route_of
from hessian.loss.model_state import Selection
from hessian.loss.objective import Objective
from hessian.loss.routes import fault_of, warn_one_by_one
from hessian.numerics.differentiation import exact_algebra, gradients_of
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import Vector, detach_parts, fill_missing

TOGETHER = 4
SMALL = 20_000
"""Samples differentiated together, and parameters of them: in small networks calls cost more than arithmetic."""
ORTHONORMAL = 1e-3
"""By how much inner products of directions may differ from 0 and 1."""


@dataclass(frozen=True, eq=False)
class SampleSpectra:
    """Each sample's share of a Gauss-Newton matrix.

    Attributes:
        eigenvalues: of $A_i A_i^T$, (N, K), increasing; the non-zero ones of the sample's Gauss-Newton matrix.
        blocks: $A_i V$ for the directions V, (N, K, r); r = 0 where none were given.
    """

    eigenvalues: NDArray[np.float64]
    blocks: NDArray[np.float64]

    def __post_init__(self) -> None:
        fix_arrays(self)

    @property
    def trace(self) -> float:
        """Trace of the Gauss-Newton matrix of the mean loss."""
        return float(self.eigenvalues.sum(axis=1).mean())

    @property
    def square(self) -> float:
        """Mean squared Frobenius norm of one sample's Gauss-Newton matrix.

        Raises:
            CurvatureError: It is not representable in double precision.
        """
        return mean_square(self.eigenvalues)


def mean_square(eigenvalues: NDArray[np.float64]) -> float:
    """Return the mean over samples of the sum of squares of each one's eigenvalues.

    Args:
        eigenvalues: Eigenvalues of each sample, (N, K).

    Raises:
        CurvatureError: Eigenvalues so small or large that this is not representable in double precision.
    """
    unit = float(np.abs(eigenvalues).max(initial=0.0))
    if unit == 0.0:
        return 0.0
    square = unit * unit * float(((eigenvalues / unit) ** 2).sum(axis=1).mean())
    if not np.finfo(float).tiny <= square < np.inf:
        raise CurvatureError(
            f"squares of eigenvalues of the order {unit:.0e} are not representable in double precision: multiply "
            "the loss by a constant"
        )
    return square


def sample_factors(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    parameters: Selection = None,
    batch_norm: str | None = None,
    count: Callable[[Batch], int] = size_of,
) -> Iterator[Tensor]:
    """Yield $A_i$, (K, P), sample by sample, in the order of the data.

    Args:
        model: Called with the inputs of each batch; its output is one tensor (n, ...), one row for each sample.
        loss: A mean over independent samples, of (output, targets).
        data: As for `Curvature`.
        parameters: Names or patterns; default: all that require gradients.
        batch_norm: `running` if batch norm is in training mode.
        count: Samples of a batch, or its tokens where the loss is a mean over tokens. A row's factor is weighted by its
            share of them, so the mean over rows is the matrix of `Curvature` with the same count.

    Raises:
        CurvatureError: As raised by `Objective`; or batch statistics, outputs that are not one row for each sample, or
            a loss that is not convex in the outputs.
    """
    if batch_norm == "batch":
        raise CurvatureError(
            "batch statistics couple the samples, so no sample has its own Hessian: use batch_norm='running'",
            keywords=("batch_norm",),
        )
    objective = checked_objective(
        model,
        loss,
        data,
        matrix="gauss-newton",
        parameters=parameters,
        batch_norm=batch_norm,
        reduction="mean",
        count=count,
        by_rows=True,
        offered=("count",),
    )
    return _factors(objective)


def sample_spectra(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    directions: Tensor | None = None,
    parameters: Selection = None,
    batch_norm: str | None = None,
) -> SampleSpectra:
    """Return the spectrum of every sample's Gauss-Newton matrix, and its block in given directions.

    It costs a forward pass and K backward passes for each sample, and memory of K vectors.

    Args:
        model: As for `sample_factors`.
        loss: As for `sample_factors`.
        data: As for `sample_factors`.
        directions: Orthonormal columns, (P, r), such as the top eigenvectors.
        parameters: As for `sample_factors`.
        batch_norm: As for `sample_factors`.

    Raises:
        CurvatureError: As `sample_factors`.
    """
    factors = sample_factors(model, loss, data, parameters=parameters, batch_norm=batch_norm)
    return spectra_of(factors, directions)


def spectra_of(factors: Iterator[Tensor] | Tensor, directions: Tensor | None = None) -> SampleSpectra:
    """Return the spectra and blocks of given factors, each (K, P).

    Raises:
        CurvatureError: As `require_directions`.
    """
    values, blocks = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for factor in factors:
        if directions is not None and not values:
            require_directions(directions, factor.shape[1], factor.dtype)
        with exact_algebra():
            values.append(torch.linalg.eigvalsh(factor @ factor.T).clamp(min=0.0).double().cpu().numpy())
            block = factor @ directions if directions is not None else factor[:, :0]
        blocks.append(block.double().cpu().numpy())
    return SampleSpectra(np.array(values), np.array(blocks))


def require_directions(directions: Tensor, P: int, dtype: torch.dtype) -> None:
    """Check that directions are orthonormal columns, (P, r), in a type.

    Raises:
        CurvatureError: They are not.
    """
    if directions.ndim != 2 or len(directions) != P or directions.dtype != dtype:
        raise CurvatureError(
            f"directions must be columns (P, r) of {dtype} with P = {P}, got the shape {tuple(directions.shape)} of "
            f"{directions.dtype}",
            keywords=("directions",),
        )
    with exact_algebra():
        off = directions.T @ directions - torch.eye(directions.shape[1]).to(directions)
    if not bool((off.abs() <= ORTHONORMAL).all()):
        raise CurvatureError(
            "directions must be orthonormal columns: take eigenvectors, or the first factor of torch.linalg.qr",
            keywords=("directions",),
        )


def _factors(objective: Objective) -> Iterator[Tensor]:
    faults, each = dict[Any, str](), objective.count_per_row()
    for number, _, batch in objective.weighted_batches():
        with torch.enable_grad():
            roots = _roots(objective, batch, number)
        if rows_of(batch) != len(roots):
            raise CurvatureError(
                f"batch {number}: the output has {len(roots)} rows, but the batch has {rows_of(batch)} samples"
            )
        roots = roots * sqrt(objective.sizes[number - 1] / len(roots) / each)
        together = max(1, min(TOGETHER, len(roots), SMALL // sum(p.numel() for p in objective.parameters)))
        for part in range(0, len(roots), together):
            few = take_rows(batch, slice(part, part + together))
            yield from _products(objective, few, roots[part : part + together], faults)


def _products(objective: Objective, batch: Batch, roots: Tensor, faults: dict[Any, str]) -> Iterator[Tensor]:
    """Multiply roots by the Jacobians of a few samples, each (K, P), in one pass with one sample's cotangents each.

    Passes for several cotangents at once are compared with single ones at the first batch of each route.
    """
    samples, K = roots.shape[:2]
    with torch.enable_grad():
        output = objective.output(batch)
        cotangents = roots.new_zeros(samples, K, samples, K)
        cotangents[range(samples), :, range(samples)] = roots
        cotangents = cotangents.reshape(-1, *output.shape)

    def pulled(directions: Tensor, batched: bool) -> Vector:
        return detach_parts(pull([output], objective.parameters, [directions], batched))

    def single(weights: Tensor) -> Vector:
        with exact_algebra():
            return pulled(torch.tensordot(weights, cotangents, dims=1), False)

    route = tuple(leaf.shape for leaf in iterate_tensors(batch)), route_of([output])
    if route not in faults:
        faults[route] = fault_of(lambda: pulled(cotangents, True), single, len(cotangents), roots)
        if faults[route]:
            warn_one_by_one(faults[route], "sample_factors")
    if not faults[route]:
        found = pulled(cotangents, True)
    else:
        rows = [fill_missing(pulled(direction, False), objective.parameters) for direction in cotangents]
        found = [torch.stack(parts) for parts in zip(*rows, strict=True)]
    parts = [
        (p.new_zeros(samples * K, *p.shape) if part is None else part).reshape(samples, K, -1)
        for part, p in zip(found, objective.parameters, strict=True)
    ]
    yield from torch.cat(parts, dim=2).detach()


def _roots(objective: Objective, batch: Batch, number: int) -> Tensor:
    r"""Return $\Lambda_i^{1/2}$ of all samples of a batch, (n, K, K)."""
    with torch.enable_grad():  # a model may differentiate by its inputs
        output = objective.output(batch)
    if not isinstance(output, Tensor):
        raise CurvatureError(f"the model must return one tensor, got {type(output).__name__}; wrap it")
    leaf = output.detach().requires_grad_()
    value = objective.loss_at(leaf, batch, number) * len(leaf)
    (slope,) = gradients_of(value, leaf, create_graph=True)
    slope = slope.reshape(len(leaf), -1)
    rows = []
    for k in range(slope.shape[1]):  # samples are independent: the sum's derivative is every sample's own row
        (row,) = gradients_of(slope[:, k].sum(), leaf, retain_graph=True, materialize_grads=True)
        rows.append(row.reshape(len(leaf), -1))
    values, vectors = torch.linalg.eigh(torch.stack(rows, dim=1))
    allowed = 100 * torch.finfo(values.dtype).eps * values.abs().max()
    if bool((values < -allowed).any()):
        raise CurvatureError(
            f"the loss is not convex in the outputs (curvature {float(values.min()):.3g}): its samples have no "
            f"square root; use Curvature(matrix='gauss-newton')"
        )
    with exact_algebra():
        return (vectors * values.clamp(min=0.0).sqrt()[:, None, :]) @ vectors.mT
