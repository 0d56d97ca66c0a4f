"""Rounding of products as they are, measured against the same products in double precision.

The checks of derivatives run in double precision, where autocast does nothing, and where a model may take another
branch. So products in the parameters' own type are compared with double ones: on a few samples when the data are read,
and where these differ by more than the type explains on all of the data, along directions near the largest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hessian.loss.batches import as_dtype
from hessian.loss.graphs import Layout
from hessian.loss.objective import Objective
from hessian.numerics.differentiation import exact_algebra
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import norm_of

Positions = Sequence[int]

FLOOR = 10.0
"""Units of rounding of a type in which something is computed that products are never said to be better than."""
ORDINARY = 1e3
"""Units of rounding of the parameters' type up to which a few samples suffice to measure it."""
MOST = 0.05
"""Relative rounding beyond which products are refused."""
DIRECTIONS = 5
"""Along which all of the data are compared: a random one, and what products make of it, the last near the largest."""


def types_towards(value: Tensor, leaves: Sequence[Tensor]) -> set[torch.dtype]:
    """Return the real types that a graph leads through from leaves of one type to a value, except this one."""
    of = leaves[0].dtype
    pending: list[Any] = [value.grad_fn] if value.requires_grad else []
    above: dict[Any, list[tuple[Any, int]]] = {node: [] for node in pending}
    while pending:
        node = pending.pop()
        for source, place in node.next_functions:
            if source is not None:
                pending += [source] if source not in above else []
                above.setdefault(source, []).append((node, place))
    own = {id(leaf) for leaf in leaves}
    pending = [node for node in above if id(getattr(node, "variable", None)) in own]
    seen, reached = set(pending), set()
    while pending:
        source = pending.pop()
        for node, place in above[source]:
            made = {one.dtype for one in node._input_metadata}  # what goes into a node backward came out of it forward
            reached |= made if source._input_metadata[place].dtype.to_real() == of else set()
            pending += [node] if node not in seen else []
            seen.add(node)
    return {kind.to_real() for kind in reached if kind.is_floating_point or kind.is_complex} - {of}


def lowest(types: set[torch.dtype], own: torch.dtype) -> torch.dtype | None:
    """Return the type of the largest unit of rounding, if that is larger than the parameters' own."""
    worst = max(types, key=lambda kind: torch.finfo(kind).eps, default=own)
    return worst if torch.finfo(worst).eps > torch.finfo(own).eps else None


def require_little(rounding: float, own: torch.dtype, through: torch.dtype | None, in_interval: bool) -> None:
    """Refuse rounding that a result cannot take account of.

    Args:
        rounding: Measured, relative to a product.
        own: Type of the parameters.
        through: Type of lower precision that the model computes in, if one shows.
        in_interval: The result has an interval that takes account of it.

    Raises:
        CurvatureError: It is too much for any interval, or is that of half precision where there is none.
    """
    if rounding <= (MOST if in_interval or through is None else ORDINARY * torch.finfo(torch.float32).eps):
        return
    why = (
        f"the model or the loss computes in {_name(through)}, as autocast, .half() and .to({_name(through)}) do"
        if through is not None
        else f"the model or the loss computes something else in {_name(own)} than in double precision, as a branch on "
        "the dtype or an operation of low precision does"
    )
    raise CurvatureError(
        f"products with the matrix in {_name(own)} are off by {rounding:.2g} of their size: {why}; leave that out, or "
        "measure model.double() if it is the same function there"
    )


def is_ordinary(rounding: float, own: torch.dtype) -> bool:
    """Return whether rounding on a few samples is of the order that the parameters' type explains."""
    return rounding <= ORDINARY * torch.finfo(own).eps


def rounding_on_all(
    objective: Objective, matrix: str, rows: Positions, columns: Positions, multiply: Multiply
) -> float:
    """Return the largest relative difference of products on all of the data from those in double precision.

    Args:
        objective: Model, loss and data.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        rows: Positions of the parameters of the block's rows.
        columns: Positions of those of its columns.
        multiply: The block, or its transpose, times a vector as measurements take it.
    """
    like = objective.parameters[0]
    total = Layout.of([objective.parameters[i] for i in columns]).total
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(total, generator=generator, dtype=torch.float64, device="cpu").to(like.device, like.dtype)
    worst = 0.0
    for _ in range(DIRECTIONS):
        exact = _double_product(objective, matrix, rows, columns, v.double())
        size = norm_of(exact)
        if not 0.0 < size < float("inf"):
            break
        gap = norm_of(multiply(rows, columns, v).double() - exact)
        worst = max(worst, gap / size)
        v, rows, columns = (exact / size).to(like.dtype), columns, rows
    return worst


Multiply = Callable[[Positions, Positions, Tensor], Tensor]
"""A block, by the positions of its rows and columns, times a vector of the columns' entries."""


@exact_algebra()
def _double_product(objective: Objective, matrix: str, rows: Positions, columns: Positions, v: Tensor) -> Tensor:
    at = [p.detach().double().requires_grad_() for p in objective.parameters]
    by = sorted({*rows, *columns})
    given, wanted = (Layout.of([at[i] for i in part]) for part in (columns, rows))
    parts = given.parts(v[None])
    total, here = v.new_zeros(1, wanted.total), v.new_empty(1, wanted.total)
    for number, weight, batch in objective.weighted_batches():
        double = as_dtype(batch, torch.float64)
        graph = objective.graph(double, number, weight, matrix, at=at, by=[at[i] for i in by])
        block = graph.restricted([by.index(i) for i in rows], [by.index(i) for i in columns])
        wanted.write(block.product(parts, False, last=True), here, add=False)
        total += here
    return total[0]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
