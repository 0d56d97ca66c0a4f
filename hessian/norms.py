"""The stable rank of a Hessian, or of any symmetric operator, with an interval: the public calls."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from torch import nn

from hessian.basis_rows import Store
from hessian.batches import Loss
from hessian.curvature import Curvature
from hessian.intervals import Interval, StableRankInterval
from hessian.krylov import Progress
from hessian.memory import Budget, Plan, plan_basis
from hessian.probes import PILOT
from hessian.rank_search import FIRST_STEPS, RankSearch
from hessian.symmetric import CountedOperator, CurvatureError, ScaledOperator, SymmetricOperator


def stable_rank(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    relative_width: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    products: int = 2000,
    basis: int = 120,
    chunk: int | None = None,
    memory: Budget | int | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> StableRankInterval:
    """The stable rank of the Hessian of a loss over data, with an interval, and what it cost in gradients.

    Args:
        model: Left as it was.
        loss: Maps (output, target) to a scalar; (output, batch) where batches are mappings.
        data: ``(inputs, targets)``, a mapping of tensors, or an iterable of such that can be read repeatedly.
        relative_width: Width of the whole interval, relative to the value.
        confidence: Confidence level of the interval.
        seed: Seed of starting vectors and probes.
        products: Largest number of products with the matrix.
        basis: Largest number of rows of the Krylov basis; memory is basis times the number of parameters.
        chunk: Probes multiplied together; default: `vectorize` for a resident batch, 8 where data are streamed.
        memory: A budget, as in `stable_rank_of`, that the checks keep too.
        progress: Told what is going on.
        options: Those of `Curvature`: matrix, parameters, batch_norm, reduction, count, keep_graph, vectorize, workers.

    Raises:
        CurvatureError: A model, a loss, data or numbers that do not serve; the message names cause and remedy.

    >>> import torch
    >>> inputs, targets = torch.eye(3).double(), torch.zeros(3, 1).double()
    >>> found = stable_rank(nn.Linear(3, 1, bias=False).double(), nn.MSELoss(), (inputs, targets))
    >>> round(found.value, 6), 3.0 in found  # the Hessian is 2/3 times the identity
    (3.0, True)
    """
    if seed < 0:
        raise CurvatureError(f"seed must be at least 0, got {seed}")
    operator = Curvature(model, loss, data, memory=memory, **options)
    found = stable_rank_of(
        operator,
        rng=np.random.default_rng(seed),
        relative_width=relative_width,
        confidence=confidence,
        products=products,
        basis=basis,
        chunk=chunk or (operator.together if operator.keeps_graph else 8),
        memory=memory,
        progress=progress,
    )
    return replace(found, gradients=operator.cost().gradients)


def stable_rank_of(
    operator: SymmetricOperator,
    *,
    rng: np.random.Generator,
    relative_width: float = 0.05,
    confidence: float = 0.95,
    products: int = 2000,
    basis: int = 120,
    chunk: int = 1,
    memory: Budget | int | str | None = None,
    progress: Progress | None = None,
) -> StableRankInterval:
    """The stable rank of a symmetric operator, as narrow as asked for.

    Args:
        operator: The matrix.
        rng: Source of starting vectors and probes.
        relative_width: Width of the whole interval, relative to the value.
        confidence: Confidence level of the interval.
        products: Largest number of products; where they do not suffice, the interval is wider and `reached` is false.
        basis: Largest number of rows of the Krylov basis; memory is basis times P.
        chunk: Probes multiplied together: more than 1 pays where data are streamed.
        memory: Bytes, words such as ``6 GiB``, or a `Budget` that names a folder too: how the basis is kept rests on
            it, and what lower precision costs is in the interval. An operator tells what it holds by its attribute
            `held`; `Curvature` does if it was given a budget as well.
        progress: Told what is going on.

    Raises:
        CurvatureError: A width, a confidence or a number out of its range, or a matrix that is zero to rounding.
    """
    if not 0.0 < relative_width < inf or not 0.0 < confidence < 1.0:
        raise CurvatureError(
            f"relative_width must be positive and confidence in (0, 1), got {relative_width} and {confidence}"
        )
    least = FIRST_STEPS + PILOT
    if products < least or basis < 1 or chunk < 1:
        raise CurvatureError(
            f"expected products >= {least}, basis >= 1 and chunk >= 1, got {products}, {basis} and {chunk}"
        )
    scaled = ScaledOperator(operator)
    plan = Plan(min(basis, operator.P), chunk, Store(), "")
    if memory is not None:
        plan = plan_basis(operator, Budget.of(memory), plan.rows, chunk)
    search = RankSearch(CountedOperator(scaled), rng, relative_width, confidence, products, plan, progress)
    return replace(_times(search.run(), scaled.unit), given_up=plan.words)


def _times(found: StableRankInterval, scale: float) -> StableRankInterval:
    """The same for the matrix times a number."""

    def times(interval: Interval) -> Interval:
        return Interval(interval.value * scale, interval.low * scale, interval.high * scale)

    return replace(
        found,
        spectral_norm=times(found.spectral_norm),
        frobenius=times(found.frobenius),
        eigenvalue=found.eigenvalue * scale,
        residual=found.residual * scale,
    )
