r"""Each sample's part of a Hessian: $H = \frac1N\sum_i h_i$, each $h_i$ of few directions and of either sign.

A sample's Hessian is found in the span of its products with random vectors, exact where its rank is at most their
number (networks of linear layers: the sum of their widths; Halko, Martinsson and Tropp 2011). Its positive and negative
parts are averaged apart, $H = \Lambda_+ - \Lambda_-$, in given directions, so no (P, P) matrix is needed at any P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hessian.loss.batches import Batch, Loss, count_samples, iterate_tensors, rows_of, size_of, take_rows
from hessian.loss.checked_objective import checked_objective
from hessian.loss.factories import USER_ERRORS, user_error
from hessian.loss.graphs import HessianGraph, Layout, at_even_place
from hessian.loss.model_state import Selection
from hessian.loss.objective import Objective
from hessian.loss.routes import fault_of, warn_one_by_one, weigh
from hessian.numerics.differentiation import exact_algebra
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import Vector, detach_parts
from hessian.operators.per_sample import mean_square, require_directions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampleHessians:
    r"""Samples' spectra, and the means of their positive and negative parts.

    Attributes:
        eigenvalues: of the samples' Hessians, (N, rank), increasing.
        plus: $V^T\Lambda_+V$ for the directions V, (d, d).
        minus: $V^T\Lambda_-V$, (d, d).
        dimension: P.
        captured: share of the samples' mean squared Frobenius norm that their eigenvalues hold; an estimate.
    """

    eigenvalues: Array
    plus: Array
    minus: Array
    dimension: int
    captured: float

    def __post_init__(self) -> None:
        fix_arrays(self)

    @property
    def traces(self) -> tuple[float, float]:
        r"""Traces of $\Lambda_+$ and $\Lambda_-$, in all directions."""
        values = self.eigenvalues
        return float(np.maximum(values, 0.0).sum(axis=1).mean()), float(np.maximum(-values, 0.0).sum(axis=1).mean())

    @property
    def square(self) -> float:
        """Mean squared Frobenius norm of one sample's Hessian.

        Raises:
            CurvatureError: It is not representable in double precision.
        """
        return mean_square(self.eigenvalues)


def sample_hessian_parts(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    rank: int,
    parameters: Selection = None,
    batch_norm: str | None = None,
    count: Callable[[Batch], int] = size_of,
    seed: int = 0,
) -> Iterator[tuple[Tensor, Tensor, float]]:
    """Yield each sample's eigenvalues, increasing, (rank,), eigenvectors, (P, rank), and squared Frobenius norm.

    It costs 2 rank products with the Hessian of one sample, and memory of rank vectors. The norm is an estimate from
    the first half of the products, unbiased.

    Args:
        model: Called with the inputs of each batch.
        loss: A mean over independent samples, of (output, targets).
        data: As for `Curvature`.
        rank: Random vectors; at least 1, at most P.
        parameters: Names or patterns; default: all that require gradients.
        batch_norm: `running` if batch norm is in training mode.
        count: Samples of a batch, or its tokens where the loss is a mean over tokens. A row's part is weighted by its
            own count, so the mean over rows is the Hessian of `Curvature` with the same count.
        seed: Seed of the random vectors.

    Raises:
        CurvatureError: As raised by `Objective`; or batch statistics, or a rank out of range.
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
        parameters=parameters,
        batch_norm=batch_norm,
        reduction="mean",
        count=count,
        by_rows=True,
        offered=("count",),
    )
    P = sum(p.numel() for p in objective.parameters)
    if not 1 <= rank <= P:
        raise CurvatureError(f"rank must lie between 1 and P = {P}, got {rank}")
    if not isinstance(rank, Integral):
        raise CurvatureError(f"rank must be a whole number, got {rank}")
    return _parts(objective, P, rank, torch.Generator().manual_seed(seed))


def sample_hessians(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    rank: int,
    directions: Tensor | None = None,
    parameters: Selection = None,
    batch_norm: str | None = None,
    seed: int = 0,
) -> SampleHessians:
    """Return the samples' spectra, and the means of their parts in some directions.

    Args:
        model: As for `sample_hessian_parts`.
        loss: As for `sample_hessian_parts`.
        data: As for `sample_hessian_parts`.
        rank: As for `sample_hessian_parts`.
        directions: Orthonormal columns, (P, d), such as the eigenvectors of largest modulus and some of the samples'
            own; default: all of them, for small P.
        parameters: As for `sample_hessian_parts`.
        batch_norm: As for `sample_hessian_parts`.
        seed: As for `sample_hessian_parts`.

    Raises:
        CurvatureError: As `sample_hessian_parts`, or directions that are not orthonormal columns.
    """
    parts = sample_hessian_parts(model, loss, data, rank=rank, parameters=parameters, batch_norm=batch_norm, seed=seed)
    spectra: list[Array] = []
    norms, sums, P = [], [torch.zeros(0)] * 2, 0
    for values, vectors, norm in parts:
        P = len(vectors)
        if directions is not None and not spectra:
            require_directions(directions, P, vectors.dtype)
        with exact_algebra():
            turned = vectors if directions is None else directions.T @ vectors
            for place, sign in enumerate((1.0, -1.0)):
                part = (turned * (sign * values).clamp(min=0.0)) @ turned.T
                sums[place] = part if not spectra else sums[place] + part
        spectra.append(values.double().cpu().numpy())
        norms.append(norm)
    plus, minus = (part.double().cpu().numpy() / len(spectra) for part in sums)
    eigenvalues = np.array(spectra)
    return SampleHessians(eigenvalues, plus, minus, P, float((eigenvalues**2).sum() / np.sum(norms)))


def _parts(
    objective: Objective, P: int, rank: int, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor, float]]:
    parameters = objective.parameters
    like, faults, each = parameters[0], dict[Any, str](), objective.count_per_row()
    for number, _, batch in objective.weighted_batches():
        for row, own in enumerate(_counts(objective, batch, number)):
            sample = take_rows(batch, slice(row, row + 1))
            if not own:  # its loss is a mean over nothing
                basis = torch.linalg.qr(_draw(rank, P, generator, like).T)[0]
                yield basis.new_zeros(rank), basis, 0.0
                continue
            graph = _graph_of(objective, sample, number)
            drawn = _draw(rank, P, generator, like)
            route = tuple(leaf.shape for leaf in iterate_tensors(sample)), graph.route
            if route not in faults:
                faults[route] = _fault_of(graph, drawn)
                if faults[route]:
                    warn_one_by_one(faults[route], "sample_hessians")
            batched = not faults[route]
            first = _times(graph, drawn, batched)
            basis = torch.linalg.qr(first.T)[0]
            images = _times(graph, basis.T, batched)
            with exact_algebra():
                inner = images @ basis
                values, turn = torch.linalg.eigh((inner + inner.T) / 2)
                vectors = basis @ turn
            weight = own / each
            yield values * weight, vectors, float(first.square().sum()) / rank * weight**2


def _graph_of(objective: Objective, sample: Batch, number: int) -> HessianGraph:
    """Return the differentiated graph of one sample.

    Raises:
        CurvatureError: The model or the loss fails on it.
    """
    parameters = objective.parameters
    try:
        with torch.enable_grad():
            return HessianGraph.of(objective.batch_loss(sample, number, parameters), parameters)
    except (CurvatureError, torch.OutOfMemoryError):
        raise
    except USER_ERRORS as error:
        found = user_error(error, f"the model or the loss on one sample of batch {number} alone")
        raise CurvatureError(
            f"{str(found).rstrip('.')}; the model must take a batch of one sample, for example by squeeze(1) "
            f"instead of squeeze()"
        ) from error


def _draw(rank: int, P: int, generator: torch.Generator, like: Tensor) -> Tensor:
    return torch.randn(rank, P, generator=generator, dtype=torch.float64, device="cpu").to(like)


def _counts(objective: Objective, batch: Batch, number: int) -> list[int]:
    """Return the count of each row of a batch.

    Raises:
        CurvatureError: They do not add up to that of the batch.
    """
    rows = rows_of(batch) or 0
    found = [count_samples(objective.count, take_rows(batch, slice(row, row + 1)), least=0) for row in range(rows)]
    if sum(found) != objective.sizes[number - 1]:
        raise CurvatureError(
            f"count must be additive: it gives {objective.sizes[number - 1]} for batch {number}, and {sum(found)} "
            f"for its "
            f"{rows} rows one by one",
            keywords=("count",),
        )
    return found


def _fault_of(graph: HessianGraph, rows: Tensor) -> str:
    """Return what is wrong with products of all rows (k, P) at once."""
    parts = _parts_of(graph, rows)

    def single(weights: Tensor) -> Vector:
        return detach_parts(graph.product(weigh(parts, weights), False))

    return fault_of(lambda: graph.product(parts, True), single, len(rows), rows)


def _parts_of(graph: HessianGraph, rows: Tensor) -> list[Tensor]:
    split = map(at_even_place, rows.split([p.numel() for p in graph.parameters], dim=1))
    return [part.reshape(len(rows), *p.shape) for part, p in zip(split, graph.parameters, strict=True)]


def _times(graph: HessianGraph, rows: Tensor, batched: bool) -> Tensor:
    """Return rows (k, P) times the Hessian, all at once or one after the other."""
    layout = Layout.of(graph.parameters)
    answer, size = torch.empty_like(rows), len(rows) if batched else 1
    for group, into in zip(rows.split(size), answer.split(size), strict=True):
        parts = _parts_of(graph, group) if batched else layout.parts(group)
        layout.write(detach_parts(graph.product(parts, batched)), into, add=False)
    return answer
