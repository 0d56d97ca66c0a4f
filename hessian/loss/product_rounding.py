"""Rounding of products as they are, measured against the same products in double precision.

The checks of derivatives run in double precision, where autocast does nothing, and where a model may take another
branch. So products in the parameters' own type are compared with double ones on a few samples when the data are read.
A few samples do not represent the others where these differ by more than the type explains, or where the model computes
large numbers: inputs of size 1000 saturate most units, and the curvature comes from the few samples that do not, whose
activations are rounded by 1000 units of the type. Then products on all of the data are compared, along directions that
end near the largest eigenvalue.

Where a model cannot be evaluated in double precision, products are compared with products in the same type, in which
every operation takes numbers that are changed by up to a unit of rounding. The difference is an estimate of how much
products are rounded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from math import inf, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import Parameter

from hessian.loss.batches import Batch, as_dtype, iterate_tensors
from hessian.loss.factories import USER_ERRORS
from hessian.loss.graphs import Graph, Layout
from hessian.loss.objective import Objective
from hessian.loss.routes import RouteWarning
from hessian.numerics.differentiation import UNREAL, changed_by_units, exact_algebra
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import norm_of

Positions = Sequence[int]
Multiply = Callable[[Positions, Positions, Tensor], Tensor]
"""Multiplies the block of some rows and columns, by their positions, by a vector."""
Kept = dict[int, Graph]
"""Graphs in double precision, by the number of the batch."""

FLOOR = 10.0
"""Units of rounding of a type in which something is computed that products are never said to be better than."""
ORDINARY = 1e3
"""Units of rounding of single precision up to which low precision does not show in a product."""
LARGE = 32.0
"""Largest input, weight or activation up to which a few samples suffice to measure rounding: an activation is rounded
by its size, in units of the type, and curvatures change by as much."""
MOST = 0.05
"""Relative rounding beyond which products are refused."""
DIRECTIONS = 8
"""Along which all of the data are compared: a random one, and what products make of it, the last near the largest."""
ROWS = 3.0**0.5
"""Times the largest row of a tridiagonal matrix that its norm may be: a basis takes the one for the other."""
ESTIMATE = 3.0
"""Times an estimate by chance that rounding may be."""
FIRST, USUAL = 2, 3.0
"""Directions after which the others are left out if products along these are rounded by no more units than usual."""


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


def find_lowest(types: set[torch.dtype], own: torch.dtype) -> torch.dtype | None:
    """Return the type of the largest unit of rounding, if that is larger than the parameters' own."""
    worst = max(types, key=lambda kind: torch.finfo(kind).eps, default=own)
    return worst if torch.finfo(worst).eps > torch.finfo(own).eps else None


def faint_loss(losses: Sequence[float], dtype: torch.dtype) -> str:
    """Return in words that losses are so small that derivatives are lost in rounding; empty if they are not.

    The derivatives of a cross-entropy that is nearly 0 come from probabilities next to 1, which round to 1.
    """
    largest = max(map(abs, losses), default=inf)
    if not largest <= sqrt(torch.finfo(dtype).eps):
        return ""
    begin = f"the loss is {largest:.2g}, as after training to zero loss, so its derivatives are mostly rounding error"
    if dtype == torch.float64:
        return f"{begin} even in double precision: measure an earlier state, at which the loss is larger"
    return f"{begin} in {_name(dtype)}: measure model.double() on the same data, or pass --double on the command line"


def require_little(
    rounding: float,
    own: torch.dtype,
    through: torch.dtype | None,
    in_interval: bool,
    faint: str = "",
    estimated: bool = False,
) -> None:
    """Refuse rounding that a result cannot take account of.

    Args:
        rounding: Measured, relative to a product.
        own: Type of the parameters.
        through: Type of lower precision that the model computes in, if one shows.
        in_interval: The result has an interval that takes account of it.
        faint: Why derivatives are mostly rounding, in words of `faint_loss`.
        estimated: It was not measured against double precision.

    Raises:
        CurvatureError: It is too much for any interval, or is that of half precision where there is none.
    """
    if rounding <= (MOST if in_interval or through is None else ORDINARY * torch.finfo(torch.float32).eps):
        return
    if faint and through is None:
        raise CurvatureError(
            f"products with the matrix in {_name(own)} are off by {rounding:.2g} of their size: {faint}"
        )
    if estimated and through is None:
        raise CurvatureError(
            f"products with the matrix in {_name(own)} are rounded by about {rounding:.2g} of their size, as where "
            "inputs or activations are large: scale the inputs, or measure model.double()"
        )
    why = (
        f"the model or the loss computes in {_name(through)}, as autocast, .half() and .to({_name(through)}) do"
        if through is not None
        else f"the model or the loss computes something different in {_name(own)} than in double precision, as a "
        f"branch on "
        "the dtype or an operation of low precision does"
    )
    raise CurvatureError(
        f"products with the matrix in {_name(own)} are off by {rounding:.2g} of their size: {why}; leave that out, or "
        "measure model.double() if it is the same function there"
    )


def describe_limit(rounding: float, own: torch.dtype) -> str:
    """Return in words that no number of products reaches an accuracy, and the remedy.

    Args:
        rounding: Rounding of a product, relative to the largest.
        own: Type of the products.
    """
    begin = f"products are rounded by {rounding:.1g} of the norm, so more of them do not help"
    if own == torch.float64:
        return f"{begin}: compute in double precision throughout the model, or ask for less"
    return f"{begin}: leave out autocast and low precision, or measure model.double(), on the command line --double"


class LargestNumber(saved_tensors_hooks):
    """The largest number of a batch, and of what operations keep for their derivatives while this is open."""

    def __init__(self) -> None:
        super().__init__(self._see, lambda tensor: tensor)
        self._largest: dict[torch.device, Tensor] = {}
        self._unseen = False

    def on(self, batch: Batch) -> LargestNumber:
        """Return this, with the inputs of a batch seen, which operations on constants do not keep."""
        for leaf in iterate_tensors(batch if isinstance(batch, Mapping) else batch[0]):
            self._see(leaf)
        return self

    def _see(self, tensor: Tensor) -> Tensor:
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            self._unseen = True  # within a transform, where values cannot be read
        elif tensor.is_floating_point() and tensor.numel() > 1 and tensor.layout is torch.strided:
            # A watch on the model's operations, such as a fingerprint, is not about these.
            plain = type(tensor) in (Tensor, Parameter)
            with torch.no_grad(), torch._C._DisableTorchDispatch() if plain else nullcontext():
                given = tensor.detach()
                size = _find_largest(given)
                # All of it again only where that is needed; on an accelerator, asking would wait for it.
                if given.device.type != "cpu" or not bool(size < UNREAL):
                    size = _find_largest(torch.where(given.abs() < UNREAL, given, 0.0))
                before = self._largest.get(given.device, size)
                self._largest[given.device] = torch.maximum(before, size)
        return tensor.detach()  # an output that its own graph holds would keep that from being freed

    @property
    def value(self) -> float:
        """The number; 0 if there was none, infinite if some could not be seen."""
        return inf if self._unseen else max((size.item() for size in self._largest.values()), default=0.0)


def _find_largest(numbers: Tensor) -> Tensor:
    least, most = torch.aminmax(numbers)  # a tenth of the time of a norm
    return torch.maximum(-least, most).double()


def few_suffice(rounding: float, own: torch.dtype, largest: float) -> bool:
    """Return whether a few samples show the rounding of all samples.

    Args:
        rounding: Measured on a few samples.
        own: Type of the parameters.
        largest: Largest number that the model and the loss compute on all samples.
    """
    return own == torch.float64 or (rounding <= FLOOR * torch.finfo(own).eps and largest <= LARGE)


def rounding_on_all(
    objective: Objective, matrix: str, rows: Positions, columns: Positions, multiply: Multiply | None = None
) -> float:
    """Return the largest relative difference of products on all of the data from those in double precision.

    Args:
        objective: Model, loss and data.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        rows: Positions of the parameters of the block's rows.
        columns: Positions of those of its columns.
        multiply: Multiplies by a kept graph of a single batch, so that the graph in double precision is also kept for
            all directions; default: graphs are built for each.

    Returns:
        The difference; from products that are changed by units of rounding where there is no double precision.
    """
    like = objective.parameters[0]
    total = Layout.of([objective.parameters[i] for i in columns]).total
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(total, generator=generator, dtype=torch.float64, device="cpu").to(like.device, like.dtype)
    worst = size_along = gap_along = 0.0
    kept: Kept | None = None if multiply is None else {}
    reference = _double_product
    for tried in range(DIRECTIONS):
        try:
            try:
                exact = reference(objective, matrix, rows, columns, v, kept)
            except USER_ERRORS:
                if reference is _changed_product:
                    raise
                reference = _changed_product  # as in the checks, which then are in the model's own precision
                exact = reference(objective, matrix, rows, columns, v, kept)
        except torch.OutOfMemoryError:
            _warn("products in double precision on all of them do not fit into memory: give smaller batches")
            break
        except USER_ERRORS as error:
            _warn(f"the model or the loss fails in double precision ({' '.join(str(error).split())[:160]})")
            break
        size = norm_of(exact)
        if not 0.0 < size < float("inf"):
            break
        own = _product(objective, matrix, rows, columns, v) if multiply is None else multiply(rows, columns, v)
        gap, length = norm_of(own.double() - exact), norm_of(v.double())
        worst = max(worst, gap / size)
        size_along, gap_along = max(size_along, size / length), max(gap_along, gap / length)
        if tried + 1 >= FIRST and worst <= USUAL * torch.finfo(like.dtype).eps:
            break
        v, rows, columns = (exact / size).to(like.dtype), columns, rows
    if worst == 0.0:
        return 0.0
    # What is compared is rounded itself.
    chance = ESTIMATE if reference is _changed_product else 1.0
    return chance * max(worst, ROWS * gap_along / size_along) + FLOOR * torch.finfo(like.dtype).eps


def _warn(why: str) -> None:
    warnings.warn(
        f"the rounding of products was measured on a few samples alone, because {why}", RouteWarning, stacklevel=3
    )


@exact_algebra()
def _double_product(
    objective: Objective, matrix: str, rows: Positions, columns: Positions, v: Tensor, kept: Kept | None
) -> Tensor:
    return _product(objective, matrix, rows, columns, v.double(), kept)


def _changed_product(
    objective: Objective, matrix: str, rows: Positions, columns: Positions, v: Tensor, kept: Kept | None
) -> Tensor:
    with changed_by_units(v.dtype):
        return _product(objective, matrix, rows, columns, v).double()


def _product(
    objective: Objective, matrix: str, rows: Positions, columns: Positions, v: Tensor, kept: Kept | None = None
) -> Tensor:
    """Return a block times a vector, in the precision of the vector, by the kept graph of a single batch if asked."""
    at = [p.detach().to(v.dtype).requires_grad_() for p in objective.parameters]
    by = sorted({*rows, *columns})
    given, wanted = (Layout.of([at[i] for i in part]) for part in (columns, rows))
    parts = given.parts(v[None])
    total, here = v.new_zeros(1, wanted.total), v.new_empty(1, wanted.total)
    for number, weight, batch in objective.weighted_batches():
        graph = None if kept is None else kept.get(number)
        if graph is None:
            cast = as_dtype(batch, v.dtype)
            graph = objective.graph(cast, number, weight, matrix, at=at, by=[at[i] for i in by])
            if kept is not None:
                kept[number] = graph
        block = graph.restrict([by.index(i) for i in rows], [by.index(i) for i in columns])
        wanted.write(block.product(parts, False, last=kept is None), here, add=False)
        total += here
    return total[0]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
