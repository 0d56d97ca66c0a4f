"""Every route to products of a network with one layer: each gives a whole matrix and what it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from every_layer import LayerProblem
from torch import Tensor, nn

from hessian import Curvature, Workers, exact_hessian, sample_factors, sample_hessian_parts

LOSS = nn.MSELoss()
Route = Callable[[LayerProblem, Workers], tuple[Tensor, Tensor]]


def _whole(problem: LayerProblem, data: Any, **options: Any) -> tuple[Tensor, Tensor]:
    operator = Curvature(problem.model, LOSS, data, **options)
    found = operator.products(torch.eye(operator.P, dtype=operator.dtype))
    return found, problem.gauss_newton if options.get("matrix") == "gauss-newton" else problem.hessian


def _resident(**options: Any) -> Route:
    return lambda problem, workers: _whole(problem, (problem.x, problem.y), **options)


def _dealt(**options: Any) -> Route:
    return lambda problem, workers: _whole(problem, problem.uneven(), **options)


def _alone(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    return _whole(problem, (problem.x[:1], problem.y[:1]), vectorize=3)[0], problem.first


def _elsewhere(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    return _whole(problem, problem.uneven(), vectorize=3, workers=workers)


def _blocks(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    """The first parameter's block, and those by the others, from one graph and several vectors together."""
    operator = Curvature(problem.model, LOSS, (problem.x, problem.y), vectorize=3)
    first, others = operator.names[0], operator.names[1:]
    block = operator.block(first)
    found = block.products(torch.eye(block.P, dtype=block.dtype))
    if others:
        cross = operator.between(first, others)
        found = torch.cat([found, cross.products(torch.eye(cross.shape[1], dtype=block.dtype)).T], dim=1)
    return found, problem.hessian[: block.P]


def _columns(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    return exact_hessian(problem.model, LOSS, problem.x, problem.y, rows=3, columns=5), problem.hessian


def _samples(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    P = len(problem.hessian)
    parts = sample_hessian_parts(problem.model, LOSS, problem.uneven(), rank=P)
    return torch.stack([(v * values) @ v.T for values, v, _ in parts]).mean(dim=0), problem.hessian


def _factors(problem: LayerProblem, workers: Workers) -> tuple[Tensor, Tensor]:
    factors = sample_factors(problem.model, LOSS, problem.uneven())
    return torch.stack([factor.T @ factor for factor in factors]).mean(dim=0), problem.gauss_newton


ROUTES: dict[str, Route] = {
    "plain": _resident(),
    "graph not kept": _resident(keep_graph=False),
    "together": _resident(vectorize=3),
    "batches together": _dealt(vectorize=3),
    "kept batches together": _dealt(vectorize=3, keep_graph=True),
    "alone": _alone,
    "workers": _elsewhere,
    "blocks": _blocks,
    "columns": _columns,
    "samples": _samples,
    "Gauss-Newton": _dealt(vectorize=3, matrix="gauss-newton"),
    "factors": _factors,
}
