r"""Whether products with the matrix are second derivatives: tested on a few samples, before anything rests on them.

Automatic differentiation takes what each operation calls its derivative on trust. A backward pass that detaches, that
is marked as differentiable once, or that is wrong when differentiated again (fused weight norm is) gives products that
belong to no Hessian. Two products test symmetry, $\langle v, H u\rangle = \|Hv\|$ with $u = Hv/\|Hv\|$; one difference
of gradients tests that the products are derivatives, and the losses on the way that the gradient is one. All in double
precision where the model allows it, and at a point beside the weights, because zero biases put samples on a kink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hessian.batches import Batch, as_dtype, cut, rows_of
from hessian.graphs import flat
from hessian.symmetric import CurvatureError

if TYPE_CHECKING:
    from hessian.objective import Objective

ROWS = 4
"""Samples of the test: few, so that a small step crosses no kink of theirs."""
ATTEMPTS = 4
ALLOWED = 1e-3
"""Relative difference of a product from a difference of gradients."""
_NOT_DIFFERENTIABLE = ("is not implemented", "differentiate twice", "ouble backward", "not infinitely differentiable")


def require_second_derivatives(objective: Objective, matrix: str, padding: dict[int, int]) -> None:
    """Tests the products of the first samples.

    Args:
        objective: Model, loss and data.
        matrix: `hessian` or `gauss-newton`.
        padding: Rows that are taken as constants, by the position of the parameter.

    Raises:
        CurvatureError: There is no second derivative, or the products are none; the message says which test failed.
    """
    batch = objective.first_batch()
    rows = rows_of(batch)
    candidates = [batch] if rows is None or rows <= ROWS else [cut(batch, slice(ROWS)), batch]
    dtypes = [torch.float64, objective.parameters[0].dtype]
    failure: Exception | None = None
    for part, dtype in [(part, dtype) for dtype in dict.fromkeys(dtypes) for part in candidates]:
        try:
            faults = [_faults(objective, matrix, as_dtype(part, dtype), dtype, padding, 0)]
            while faults[-1] and len(faults) < ATTEMPTS:  # a kink within the step
                faults.append(_faults(objective, matrix, as_dtype(part, dtype), dtype, padding, len(faults)))
        except CurvatureError as error:
            failure = error
            continue
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError) as error:
            text = " ".join(str(error).split())
            if any(words in text for words in _NOT_DIFFERENTIABLE):
                raise CurvatureError(
                    f"the model or the loss has no second derivative ({text[:160]}): replace that operation by one "
                    "that has, such as Sigmoid for Hardsigmoid"
                ) from error
            failure = error
            continue
        if faults[-1]:
            raise CurvatureError(
                f"the products are no second derivatives: {faults[-1]}; look for weight_norm, a custom function whose "
                "backward detaches, spectral_norm in training mode, and detach() or no_grad() on the way to the loss"
            )
        return
    assert failure is not None
    raise failure


def _faults(
    objective: Objective, matrix: str, batch: Batch, dtype: torch.dtype, padding: dict[int, int], attempt: int
) -> str:
    """What fails, in words; empty if nothing does."""
    double = dtype == torch.float64
    step, allowed = (1e-7, ALLOWED) if double else (1e-3, 0.05)
    rounding = 10.0 * torch.finfo(dtype).eps / step
    generator = torch.Generator().manual_seed(attempt)
    own = [p.detach().to(dtype) for p in objective.parameters]
    shift, v = (_direction(own, padding, generator) for _ in range(2))
    beside = 10.0 ** -(2 + attempt)  # a logarithm of a weight, say, bears a small step only
    point = _moved(own, shift, beside)
    graph = objective.graph(batch, 1, 1.0, matrix, point)
    direction = flat(v, v)
    told = []

    Hv = flat(graph.product(v, False), v)
    size = float(torch.linalg.vector_norm(Hv))
    if size > 0.0:
        Hu = flat(graph.product(_split(Hv / size, own), False), v)
        gap = abs(float(direction @ Hu) - size)
        if not gap <= (1e-6 if double else 1e-3) * float(
            torch.linalg.vector_norm(direction) * torch.linalg.vector_norm(Hu)
        ):
            told.append(f"two of them show a matrix that is not symmetric, by {gap / size:.1%}")

    ends = [_moved(point, v, sign * step) for sign in (1.0, -1.0)]
    if matrix == "hessian":
        (above, up), (below, down) = (_gradient(objective, batch, end) for end in ends)
        difference, floor = (up - down) / (2.0 * step), rounding * float(torch.linalg.vector_norm(up))
        rise, slope = (above - below) / (2.0 * step), float((up + down) @ direction) / 2.0
        if not abs(rise - slope) <= allowed * max(abs(rise), abs(slope)) + rounding * abs(above):
            told.append(f"the loss rises by {rise:.6g} for a step along which its gradient gives {slope:.6g}")
    else:
        difference, floor = _gauss_newton_difference(objective, batch, point, ends, step)
    gap = float(torch.linalg.vector_norm(Hv - difference))
    largest = max(size, float(torch.linalg.vector_norm(difference)))
    if not gap <= allowed * largest + floor:
        told.append(f"one differs from the difference of gradients that it is the limit of, by {gap / largest:.1%}")
    return ", and ".join(told)


def _direction(own: list[Tensor], padding: dict[int, int], generator: torch.Generator) -> list[Tensor]:
    """Normal, each parameter on its own scale."""
    overall = float(flat(own, own).square().mean().sqrt()) or 1.0
    drawn = []
    for position, p in enumerate(own):
        z = torch.randn(p.shape, generator=generator, dtype=torch.float64, device="cpu").to(p)
        z = z * (float(p.square().mean().sqrt()) or overall)
        if position in padding:
            z[padding[position]] = 0.0
        drawn.append(z)
    return drawn


def _moved(point: Sequence[Tensor], direction: Sequence[Tensor], step: float) -> list[Tensor]:
    return [(p.detach() + step * d).requires_grad_() for p, d in zip(point, direction, strict=True)]


def _gradient(objective: Objective, batch: Batch, at: list[Tensor]) -> tuple[float, Tensor]:
    with torch.enable_grad():
        value = objective.batch_loss(batch, 1, at)
    found = torch.autograd.grad(value, at, allow_unused=True) if value.requires_grad else [None] * len(at)
    return value.item(), flat(found, at)


def _gauss_newton_difference(
    objective: Objective, batch: Batch, point: list[Tensor], ends: list[list[Tensor]], step: float
) -> tuple[Tensor, float]:
    """A product by differences of outputs and of the loss's slopes, and its rounding."""
    up, down = (objective.output(batch, end).detach() for end in ends)
    pushed = (up - down) / (2.0 * step)
    with torch.enable_grad():
        output = objective.output(batch, point)
    slopes = []
    for sign in (1.0, -1.0):
        cut = (output.detach() + sign * step * pushed).requires_grad_()
        with torch.enable_grad():
            value = objective.loss_at(cut, batch, 1, point)
        slopes.append(torch.autograd.grad(value, cut)[0])
    rounding = 10.0 * torch.finfo(up.dtype).eps / step
    pulled, scale = (
        flat(torch.autograd.grad(output, point, way, allow_unused=True, retain_graph=True), point)
        for way in ((slopes[0] - slopes[1]) / (2.0 * step), slopes[0])
    )
    return pulled, rounding * float(torch.linalg.vector_norm(scale))


def _split(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    return [part.reshape(p.shape) for part, p in zip(vector.split([p.numel() for p in like]), like, strict=True)]
