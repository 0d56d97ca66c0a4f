"""The stable rank of a network's Hessian, with an interval, by one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from hessian.lanczos.krylov import Progress
from hessian.lanczos.memory import Budget
from hessian.lanczos.stable_rank import stable_rank_of
from hessian.loss.batches import Loss
from hessian.numerics.intervals import StableRankInterval
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature


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
    """Estimate the stable rank of the Hessian of a loss over data, with an interval, and its cost in gradients.

    Args:
        model: The network, which does not change.
        loss: Maps (output, target) to a scalar; (output, batch) where batches are mappings.
        data: ``(inputs, targets)``, a mapping of tensors, or an iterable of such that can be read repeatedly.
        relative_width: Width of the whole interval, relative to the value.
        confidence: Confidence level of the interval.
        seed: Seed of starting vectors and probes.
        products: Largest number of products with the matrix.
        basis: Largest number of rows of the Krylov basis; memory is basis times the number of parameters.
        chunk: Probes drawn together; default: `Curvature.chunk`.
        memory: A budget, as in `stable_rank_of`, which the checks also keep.
        progress: Called with a description of the current step.
        options: As for `Curvature`: matrix, parameters, batch_norm, reduction, count, keep_graph, vectorize, workers.

    Raises:
        CurvatureError: A model, a loss, data or numbers that cannot be used; the message names cause and remedy.

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
        chunk=chunk or operator.chunk,
        memory=memory,
        progress=progress,
    )
    return replace(found, gradients=operator.cost().gradients)
