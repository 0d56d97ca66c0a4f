r"""Checks that products with the matrix are second derivatives, before any result depends on them.

Automatic differentiation takes what each operation calls its derivative on trust. A backward pass that detaches, that
is marked as differentiable once, or that is wrong when differentiated again (fused weight norm is) gives products that
belong to no Hessian. Two products test symmetry, $\langle v, H u\rangle = \|Hv\|$ with $u = Hv/\|Hv\|$; a difference of
gradients tests, parameter by parameter, that a product is a derivative, on samples drawn from all batches; and the
losses of every batch test, on all samples, that the gradient is one.

Where a difference does not match, the difference at twice the step is also taken. If the two agree, what lies between
them bounds rounding and curvature, and the miss counts; if not, a kink or rounding is in the way, and another step is
tried. Many kinks also settle, but at another value than the slope. A difference of losses is therefore compared with
the mean of the slopes on its way, which it equals across kinks if and only if these are derivatives; then another step
is tried as well. All of this runs in double precision where the model allows it, and at a point near the weights,
because zero biases put samples on a kink. A model that rounds to single precision on its way from the weights to the
loss, as Llama's norms do in any, is tested at the weights in double precision by steps and tolerances that bear that
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from math import inf

import torch
from torch import Tensor

from hessian.loss.batches import Batch, as_dtype, rows_are_samples, rows_of, take_rows
from hessian.loss.factories import USER_ERRORS, user_error
from hessian.loss.graphs import Block, Graph, Positions, inexact_embedding, require_dense
from hessian.loss.objective import Objective
from hessian.loss.product_rounding import ESTIMATE, FLOOR, faint_loss, find_lowest, require_little, types_towards
from hessian.numerics.differentiation import changed_by_units, gradients_of
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import (
    Vector,
    change,
    detach_parts,
    dot,
    draw_like,
    fill_missing,
    gaps_of,
    norm_of,
    quotient,
    shift,
    sizes_of,
)

LEAST_ROWS, MOST_ROWS, SHARE = 8, 32, 16
"""Samples on which products are tested: a sixteenth of all, between these numbers."""
MOST_BATCHES = 4
"""Batches that they are drawn from."""
ZERO = 100.0
"""A product that is smaller than the whole matrix's by this number of roundings is zero."""
MISSES = 3
"""That count, until the products are said to be wrong."""
NOISE = 1000.0
"""Roundings by which two evaluations may differ, since an accelerator may add in another order."""
VAGUE, STEPS = 1e4, 9
"""Units of rounding by which a loss that is lost in rounding jumps, at least, along so many small steps."""
PARTS = 16
"""Equal parts of the way between two losses, in which slopes are taken where the losses' difference is missed."""
_NOT_DIFFERENTIABLE = ("is not implemented", "differentiate twice", "ouble backward", "not infinitely differentiable")

UNSETTLED = "finite differences of the loss or of gradients do not converge at any step size"
_ADVICE = (
    "look for weight_norm, a custom function whose backward detaches, spectral_norm in training mode, "
    "torch.utils.checkpoint, and detach(), no_grad() or .data before the loss"
)


def require_second_derivatives(
    objective: Objective,
    matrix: str,
    padding: dict[int, list[int]],
    sizes: list[int],
    dtypes: tuple[torch.dtype, ...] | None = None,
    block: Block | None = None,
    in_interval: bool = False,
) -> float:
    """Test gradients on all samples and products on some.

    Args:
        objective: Model, loss and data.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        padding: Rows that are taken as constants, by the position of the parameter.
        sizes: Samples of each batch.
        dtypes: Types in which products are tested, by preference; default: double precision, then the model's own.
        block: Block that is tested, at its own scale; default: the whole matrix.
        in_interval: The result has an interval that takes account of rounding. So has every result of a block.

    Returns:
        Rounding of products in the model's own precision, relative to their size, on the samples on which they were
        tested.

    Raises:
        CurvatureError: A second derivative does not exist, or the products are not second derivatives or are mostly
            rounding; the message says which test failed.
    """
    own = objective.parameters[0].dtype
    precise = dtypes or tuple(dict.fromkeys((torch.float64, own)))
    rounding = 0.0
    for line, batch, parts in _lines(objective, matrix, padding, sizes, block):
        rows, columns = line.rows, line.columns
        # The slopes by the rows of a block off the diagonal may be much smaller than those by its columns.
        others = [replace(line, rows=columns, columns=rows, drawn={})] if rows != columns else []
        if parts:
            precision, tested = _require(line, (_miss_of_gradients, _miss_of_products), parts, precise)
            if others:
                _require(others[0], (_miss_of_gradients,), parts, precise)
        # In double precision, all of them might cost more than they are worth.
        _require(line, (_miss_of_gradients,), [batch], (own,), unsettled="")
        if others:
            _require(others[0], (_miss_of_gradients,), [batch], (own,), unsettled="")
        if parts:
            rounding = max(rounding, _require_little(line, precision, tested, precise, block is None, in_interval))
            del tested
    return rounding


def measure_rounding(
    objective: Objective,
    matrix: str,
    padding: dict[int, list[int]],
    sizes: list[int],
    dtypes: tuple[torch.dtype, ...] | None = None,
    block: Block | None = None,
    in_interval: bool = False,
) -> float:
    """Return what `require_second_derivatives` does, where the derivatives of the same operations have passed before.

    The arguments and the errors about rounding are the same.
    """
    own = objective.parameters[0].dtype
    precise = dtypes or tuple(dict.fromkeys((torch.float64, own)))
    rounding = 0.0
    for line, _, parts in _lines(objective, matrix, padding, sizes, block):
        for dtype in precise if parts else ():
            try:
                precision = _at(line, as_dtype(parts[0], dtype), dtype).precision
            except USER_ERRORS:
                if dtype == precise[-1]:
                    raise
                continue
            found = _require_little(line, precision, parts[0], precise, block is None, in_interval)
            rounding = max(rounding, found)
            break
    return rounding


def _lines(
    objective: Objective, matrix: str, padding: dict[int, list[int]], sizes: list[int], block: Block | None
) -> Iterator[tuple[_Line, Batch, list[Batch]]]:
    """Yield a line for each batch, and the samples on which products are tested, by preference, if they are."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randperm(len(sizes), generator=generator, device="cpu")[:MOST_BATCHES].tolist()
    count = max(min(max(LEAST_ROWS, sum(sizes) // SHARE), MOST_ROWS) // len(drawn), 1)
    drawn = _cover(drawn, objective.reached)
    every = tuple(range(len(objective.parameters)))
    rows, columns = block or Block(every, every)
    for place, batch in enumerate(objective.move_batches()):
        reached, parts = objective.reached[place], []
        if place in drawn:
            samples = rows_of(batch) or 0
            chosen = torch.randperm(samples, generator=generator, device="cpu")[:count].sort().values
            if all(any(reached[i] for i in positions) for positions in (rows, columns)):
                apart = samples > count and rows_are_samples(objective.count, batch)
                few = [take_rows(batch, chosen)] if apart else []
                parts = [*(few if few and _reach_all(objective, few[0], place) else []), batch]
        yield _Line(objective, matrix, place + 1, padding, rows, columns), batch, parts


def _require_little(
    line: _Line, precision: _Precision, tested: Batch, precise: Sequence[torch.dtype], whole: bool, in_interval: bool
) -> float:
    """Return the rounding of products on some samples, after refusing too much of it in the whole matrix."""
    own = line.objective.parameters[0].dtype
    estimates = precision.dtype == own and torch.float64 in precise  # which take memory
    found, through = _rounding(replace(line, precision=precision), tested, own, estimates)
    if whole:
        faint = _faint(line, as_dtype(tested, own), own)
        require_little(found, own, through, in_interval, faint, estimates)
    return found


def _cover(drawn: list[int], reached: Sequence[Sequence[bool]]) -> list[int]:
    """Return drawn batches with the first others that reach parameters which those do not."""
    found, seen = list(drawn), {i for place in drawn for i, one in enumerate(reached[place]) if one}
    for place, each in enumerate(reached):
        if more := {i for i, one in enumerate(each) if one} - seen:
            found.append(place)
            seen |= more
    return found


def _reach_all(objective: Objective, few: Batch, place: int) -> bool:
    """Return whether the loss of a few samples depends on all parameters that the loss of their batch depends on."""
    try:
        return objective.find_reached(few, place + 1, objective.parameters) == objective.reached[place]
    except USER_ERRORS:
        return True  # the test reports or avoids what fails


@dataclass(frozen=True)
class _Precision:
    """Precision that a test can have.

    Attributes:
        dtype: Type of the weights.
        steps: Tried in turn: kinks ask for small ones, rounding for large ones.
        exact: Relative difference that is allowed.
        settled: Relative difference of differences at two steps below which a miss counts.
        eps: Relative rounding of a value on its way.
    """

    dtype: torch.dtype
    steps: tuple[float, ...]
    exact: float
    settled: float
    eps: float


_DOUBLE = _Precision(torch.float64, (1e-7, 1e-8, 1e-9, 1e-5, 1e-3, 1e-10), 1e-6, 1e-3, torch.finfo(torch.float64).eps)
_SINGLE = _Precision(torch.float32, (1e-3, 1e-2, 1e-4), 1e-2, 0.05, torch.finfo(torch.float32).eps)
_PRECISIONS = {torch.float64: _DOUBLE, torch.float32: _SINGLE}
_ROUNDED = replace(_SINGLE, dtype=torch.float64, exact=1e-3)
"""Weights in double precision, where the model rounds to single on its way."""


@dataclass(frozen=True, eq=False)
class _Line:
    """A loss along a line: to a point near the weights, and from there along a direction.

    Attributes:
        objective: Model, loss and data.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        number: Number of the batch.
        padding: Rows that are taken as constants, by the position of the parameter.
        rows: Positions of the parameters by which products are compared.
        columns: Positions of those along which the loss and its gradients are followed.
        precision: How exact the test can be.
        drawn: The last point and direction, by the attempt.
    """

    objective: Objective
    matrix: str
    number: int
    padding: dict[int, list[int]]
    rows: Positions
    columns: Positions
    precision: _Precision = _DOUBLE
    drawn: dict[int, tuple[list[Tensor], list[Tensor]]] = field(default_factory=dict)

    @property
    def inside(self) -> Positions:
        """Positions of all parameters of the block."""
        return tuple(sorted({*self.rows, *self.columns}))

    @property
    def whole(self) -> bool:
        """Whether the block is the matrix."""
        return len(self.rows) == len(self.columns) == len(self.objective.parameters)

    def of(self, attempt: int, dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
        """Return another point and direction at each attempt: all parameters, and the parts of the columns."""
        if attempt not in self.drawn:
            self.drawn.clear()  # first, since each may be as large as the model
            generator = torch.Generator().manual_seed(attempt)
            point = self.weights(dtype)
            shift, v = (self._draw(point, positions, generator) for positions in (self.inside, self.columns))
            # A logarithm, say, bears a small step only.
            step = 10.0 ** -(2 + min(attempt, 3))
            for position, d in zip(self.inside, shift, strict=True):
                point[position] = torch.add(point[position], d, alpha=step)
            self.drawn[attempt] = point, v
        point, v = self.drawn[attempt]
        # All of them, since a model may differentiate by any on its way.
        return [p.detach().to(dtype).requires_grad_() for p in point], [d.to(dtype) for d in v]

    def draw_along(self, point: list[Tensor]) -> list[Tensor]:
        """Return a direction in the columns that is the same at each call."""
        return self._draw([p.detach() for p in point], self.columns, torch.Generator().manual_seed(0))

    def _draw(self, own: list[Tensor], positions: Positions, generator: torch.Generator) -> list[Tensor]:
        padding = {place: self.padding[i] for place, i in enumerate(positions) if i in self.padding}
        return draw_like([own[i] for i in positions], padding, generator)

    def shift(self, point: list[Tensor], v: list[Tensor], step: float) -> list[Tensor]:
        """Return new leaves, a step along the direction away from a point."""
        found = list(point)
        for position, moved in zip(self.columns, shift(self.by_columns(point), v, step), strict=True):
            found[position] = moved
        return found

    def by_rows(self, at: list[Tensor]) -> list[Tensor]:
        """Return the parameters of the rows."""
        return [at[i] for i in self.rows]

    def by_columns(self, at: list[Tensor]) -> list[Tensor]:
        """Return the parameters of the columns."""
        return [at[i] for i in self.columns]

    def weights(self, dtype: torch.dtype) -> list[Tensor]:
        """Return the parameters in a dtype."""
        return [p.detach().to(dtype) for p in self.objective.parameters]

    def loss(self, batch: Batch, at: list[Tensor]) -> Tensor:
        """Return the loss of samples."""
        return self.objective.batch_loss(batch, self.number, at)

    def output(self, batch: Batch, at: list[Tensor]) -> Tensor:
        """Return the model's output, which must be one tensor."""
        with torch.enable_grad():
            found: Tensor = self.objective.output(batch, at)
        return found

    def gradient(self, batch: Batch, at: list[Tensor], by: list[Tensor]) -> tuple[float, Vector]:
        """Return the loss of samples and its gradient by some of the parameters."""
        with torch.enable_grad():
            value = self.loss(batch, at)
        found = gradients_of(value, by, allow_unused=True) if value.requires_grad else [None] * len(by)
        require_dense(found)
        return value.item(), detach_parts(found)


Miss = Callable[[_Line, Batch, list[Tensor], list[Tensor], float], str | None]
"""A check of a line, samples, a point, a direction and a step: returns what is missed, in words, empty for nothing;
none if this step cannot tell, and `UNSEEN` if all that it finds is less than rounding."""
UNSEEN = "less than rounding"
NOT_FINITE = "derivatives are not finite"


def _require(
    line: _Line,
    misses: tuple[Miss, ...],
    parts: list[Batch],
    dtypes: tuple[torch.dtype, ...],
    unsettled: str = UNSETTLED,
) -> tuple[_Precision, Batch]:
    """Run each test with the first samples and dtype with which it is decisive, and return these."""
    model, left, fault = line.objective.model, list(misses), ""
    failure: Exception | None = None
    in_double = ""
    own = line.objective.parameters[0].dtype
    for part, dtype in [(part, dtype) for dtype in dtypes for part in parts]:
        try:
            given = as_dtype(part, dtype)
            at = _at(line, given, dtype)
            while left and not (fault := _fault(at, left[0], given, unsettled)):
                del left[0]
        except CurvatureError as error:
            failure = error
            continue
        except USER_ERRORS as error:
            text = " ".join(str(error).split())
            if any(words in text for words in _NOT_DIFFERENTIABLE):
                raise CurvatureError(
                    f"the model or the loss has no second derivative ({text[:160]}): replace that operation by "
                    f"one that has, such as Sigmoid for Hardsigmoid"
                ) from error
            failure = error
            in_double = in_double or (text[:160] or type(error).__name__ if dtype != own else "")
            continue
        if fault == NOT_FINITE:
            raise CurvatureError(line.objective.why_not_finite(line.matrix))
        if fault and (noise := _noise(at, given)):
            raise CurvatureError(noise)
        if fault and (faint := _faint(at, given, dtype)):
            raise CurvatureError(f"the derivatives of the loss cannot be tested: {faint}")
        if fault and in_double and dtype == own:
            raise CurvatureError(
                f"the products cannot be tested: the model or the loss fails in double precision ({in_double}), and "
                f"differences in {str(own).removeprefix('torch.')} are rounded too much, or the products are wrong: "
                f"{fault}; let it compute in double precision, with register_buffer for its tensors, no check of the "
                f"dtype and operations that take double, or scale the inputs; else {_ADVICE}"
            )
        if fault:
            raise CurvatureError(
                f"the products are not second derivatives: {fault}; "
                f"{model.find_half_precision() or _low_precision(at, given) or _embedding(at, given) or _ADVICE}"
            )
        return at.precision, part
    assert failure is not None
    if isinstance(failure, CurvatureError | torch.OutOfMemoryError):
        raise failure
    raise user_error(failure, f"the model or the loss on batch {line.number}") from failure


def _at(line: _Line, batch: Batch, dtype: torch.dtype) -> _Line:
    """Return the line with weights of a dtype, and the precision that the test then has."""
    rounded = dtype == torch.float64 and _rounds(line, batch)
    return replace(line, precision=_ROUNDED if rounded else _PRECISIONS[dtype])


def _rounds(line: _Line, batch: Batch) -> bool:
    """Return whether double-precision weights reach the loss through single precision, and nothing lower."""
    return _types(line, batch, torch.float64) == {torch.float32}


def _types(line: _Line, batch: Batch, dtype: torch.dtype) -> set[torch.dtype]:
    """Return the other types that the graph from weights of one type to the loss leads through."""
    at = [p.requires_grad_() for p in line.weights(dtype)]
    with torch.enable_grad():
        return types_towards(line.loss(batch, at), [at[position] for position in line.inside])


def _noise(line: _Line, batch: Batch) -> str:
    """Return in words that two evaluations at the same weights differ; empty if they do not."""

    def evaluated() -> tuple[float, Vector]:
        point = [p.requires_grad_() for p in line.weights(line.precision.dtype)]
        return line.gradient(batch, point, point)

    (one, first), (other, second) = evaluated(), evaluated()
    losses, size = abs(one - other), norm_of(sizes_of(first))
    slopes = norm_of(gaps_of(first, second))
    if max(losses - NOISE * line.precision.eps * abs(one), slopes - NOISE * line.precision.eps * size) <= 0.0:
        return ""
    what, gap = ("losses", losses) if losses > 0.0 else ("gradients", slopes)
    return (
        f"the model or the loss is random: two {what} of batch {line.number} with the same weights and samples differ "
        f"by {gap:.2g}. Look for noise in forward, such as torch.randn_like or functional dropout with training=True, "
        "and draw it once, before measuring, or leave it out"
    )


def _faint(line: _Line, batch: Batch, dtype: torch.dtype) -> str:
    """Return in words that losses are lost in rounding, at the weights and where derivatives are tested.

    A loss in small units is small as well, but it changes smoothly along small steps.
    """
    if not (faint := faint_loss(line.objective.losses, dtype)):
        return ""
    point, v = line.of(0, dtype)
    unit = torch.finfo(dtype).eps
    with torch.enable_grad():
        steps = [place * unit**0.5 for place in range(STEPS)]
        losses = [line.loss(batch, line.shift(point, v, step)).item() for step in steps]
    values = torch.tensor(losses, dtype=torch.float64, device="cpu")
    jump = float(values.diff().diff().abs().max())
    vague = len(set(losses)) < STEPS or jump > VAGUE * unit * float(values.abs().max())
    return faint if vague and faint_loss(losses, dtype) else ""


def _low_precision(line: _Line, batch: Batch) -> str:
    """Return what to do about a type of half precision on the way to the loss; empty if there is none."""
    low = find_lowest(_types(line, batch, line.precision.dtype), torch.float32)
    name = str(low).removeprefix("torch.")
    return "" if low is None else f"the model or the loss computes in {name}: leave .half() or .to({name}) out"


def _embedding(line: _Line, batch: Batch) -> str:
    """Return what to do about an embedding whose gradient is none by design; empty if there is none."""
    at = [p.requires_grad_() for p in line.weights(line.precision.dtype)]
    with torch.enable_grad():
        return inexact_embedding(line.loss(batch, at))


def _rounding(line: _Line, batch: Batch, own: torch.dtype, estimates: bool) -> tuple[float, torch.dtype | None]:
    """Return the rounding of a product relative to its size, at the first point of a line, and the type that causes it.

    Args:
        line: A line with the precision in which it could be tested.
        batch: Samples in the type of the data.
        own: The type of the parameters.
        estimates: Estimate it where double precision fails; otherwise it is none there.
    """
    dtype = line.precision.dtype
    through = find_lowest(_types(line, as_dtype(batch, own), own), own)
    # What both compute in the same lower precision shows in no difference.
    same = _types(line, as_dtype(batch, dtype), dtype) if dtype != own else {through or own}
    least = find_lowest(same, own)
    found = FLOOR * torch.finfo(least).eps if least is not None else 0.0
    if own == torch.float64 or (dtype == own and not estimates):
        return found, through
    images = []
    for kind, changed in ((dtype, dtype == own), (own, False)):  # the larger vectors first, for their memory
        point, v = line.of(0, own)
        line.drawn.clear()
        point = [p.detach().to(kind).requires_grad_() for p in point]
        try:
            with changed_by_units(kind) if changed else nullcontext():
                graph, _ = _graphs(line, as_dtype(batch, kind), point)
                images.append(detach_parts(graph.product([d.to(kind) for d in v], False, last=True)))
        except USER_ERRORS:
            if not changed:
                raise
            return inf, through  # not even an estimate
        del graph, point, v
    size = norm_of(sizes_of(images[0]))
    chance = ESTIMATE if dtype == own else 1.0
    found = max(found, chance * norm_of(gaps_of(*images)) / size if size > 0.0 else 0.0)
    return found, through


def _fault(line: _Line, miss: Miss, batch: Batch, unsettled: str) -> str:
    """Describe the last fault found at several points; empty if there is none at one of them."""
    missed: list[str] = []
    unseen = False
    for attempt, step in enumerate(line.precision.steps):
        found = miss(line, batch, *line.of(attempt, line.precision.dtype), step)
        if found == "":
            return ""
        unseen |= found == UNSEEN
        missed += [found] if found and found != UNSEEN else []
        if len(missed) == MISSES:
            break
    return missed[-1] if missed else "" if unseen else unsettled


def _miss_of_gradients(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float) -> str | None:
    """Compare differences of the loss with the gradient."""
    precision, step = line.precision, 10.0 * step  # losses do not jump at kinks, and bear a longer step

    def rise(step: float) -> Tensor:
        with torch.enable_grad():  # which the model or the loss may need for derivatives of their own
            above, below = (line.loss(batch, line.shift(point, v, sign * step)).detach() for sign in (1.0, -1.0))
        return (above - below) / (2.0 * step)

    value, gradient = line.gradient(batch, point, line.by_columns(point))
    slope = dot(gradient, v)
    del gradient
    if not bool(torch.isfinite(slope)):
        return NOT_FINITE
    near = rise(step)
    rounding = 100.0 * precision.eps * abs(value) / step
    size = max(norm_of(near), norm_of(slope))
    allowed = precision.exact * size + rounding
    if norm_of(near - slope) <= allowed:
        # A longer step may see the slope of a block, which is small next to what the loss rounds.
        return "" if line.whole or rounding <= 1e-3 * size else UNSEEN
    far = rise(2.0 * step)
    if not norm_of(near - far) <= precision.settled * norm_of(near) + rounding:  # a large slope settles nothing
        return None
    if norm_of(near - slope) <= allowed + 3.0 * norm_of(near - far):
        return ""
    slopes = _slopes_along(line, batch, point, v, step)
    unseen = float(slopes.diff().abs().sum()) / (2.0 * len(slopes))  # of the mean, by what jumps between them
    if norm_of(near - slopes.mean()) <= allowed + unseen:
        return None
    return (
        f"the loss of batch {line.number} rises by {float(near):.6g} for a step along which its gradient predicts "
        f"{float(slope):.6g}"
    )


def _slopes_along(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float) -> Tensor:
    """Return slopes along a direction, by gradients at the midpoints of equal parts of the way from -step to +step.

    Where the loss is continuous it rises by their mean, even with kinks.
    """
    middles = [(2.0 * part + 1.0) / PARTS - 1.0 for part in range(PARTS)]

    def slope(place: float) -> Tensor:
        at = line.shift(point, v, place * step)
        return dot(line.gradient(batch, at, line.by_columns(at))[1], v)

    return torch.stack([slope(place) for place in middles])


def _miss_of_products(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float) -> str | None:
    """Compare differences of gradients with products, and products with each other."""
    precision = line.precision
    Hv, own, gap, allowed = _product(line, batch, point, v)
    if not bool(torch.isfinite(own).all()):
        return NOT_FINITE
    difference = _differences_of(line)
    near, given = difference(line, batch, point, v, step)
    rounding, apart, other = 10.0 * precision.eps / step * given, gaps_of(Hv, near), sizes_of(near)
    del Hv
    noise, size = torch.zeros_like(own), norm_of(own)
    counts = torch.tensor([p.numel() for p in line.by_rows(point)], dtype=torch.float64, device="cpu")

    def alike() -> bool:
        """Return whether they agree in the part of every parameter, each on its own scale."""
        everywhere = 1e-3 * norm_of(rounding) + 1e-9 * max(size, norm_of(other))
        chance = noise + norm_of(noise) * (counts / counts.sum()).sqrt()  # few entries may be small by chance
        return bool((apart <= precision.exact * own.maximum(other) + rounding + everywhere + 10.0 * chance).all())

    if not alike():
        noise = gaps_of(difference(line, batch, point, v, 2.0 * step)[0], near)
        if not norm_of(noise) <= precision.settled * max(norm_of(other), size) + norm_of(rounding):
            return "" if _is_zero(line, batch, point, v, size) else None
    reasons = []
    if size > 0.0 and not gap <= max(precision.exact, 3.0 * norm_of(noise) / size) * allowed:
        reasons.append(f"two of them show that the matrix is not symmetric, by {gap / size:.2g} of it")
    if not alike():
        gap = norm_of(apart) / max(size, norm_of(other))
        reasons.append(f"one differs from the corresponding finite difference of gradients by {gap:.2g} of it")
    if not reasons:
        # A longer step may see a block that is small next to what rounds.
        seen = line.whole or norm_of(rounding) <= max(size, norm_of(other))
        return "" if seen else UNSEEN
    return "" if _is_zero(line, batch, point, v, size) else ", and ".join(reasons)


def _is_zero(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], size: float) -> bool:
    """Return whether a block is nothing but rounding, by its product and by the change of gradients along a long step.

    So are a bias before a softmax or a batch norm. What they are held against is a product with the whole matrix.
    """
    if line.whole:
        return False
    every = tuple(range(len(point)))
    at = [p.detach().requires_grad_() for p in point]
    whole = replace(line, rows=every, columns=every)
    Hv, own, *_ = _product(whole, batch, at, whole.draw_along(at))
    del Hv
    # Where both factors of a block are rounding, it is the square of that.
    power = 2 if line.matrix not in ("hessian", "residual") and line.rows == line.columns else 1
    if not size <= (ZERO * line.precision.eps) ** power * norm_of(own):
        return False
    step = max(line.precision.steps)
    near, far = (_differences_of(line)(line, batch, point, v, length)[0] for length in (step, 2.0 * step))
    gradient, other = norm_of(sizes_of(line.gradient(batch, at, at)[1])), norm_of(sizes_of(near))
    if other > line.precision.eps * (ZERO * norm_of(own) + 100.0 * gradient / step):
        return False
    return other == 0.0 or norm_of(gaps_of(near, far)) > 0.1 * other  # what is not rounding settles


def _differences_of(line: _Line) -> Callable[..., tuple[Vector, Tensor]]:
    return {"hessian": _difference, "residual": _residual_difference}.get(line.matrix, _sandwich_difference)


def _graphs(line: _Line, batch: Batch, point: list[Tensor]) -> tuple[Graph, Graph]:
    """Return the graphs of a block and of its transpose."""
    inside = line.inside
    graph = line.objective.graph(batch, line.number, 1.0, line.matrix, point, [point[i] for i in inside])
    if line.rows == line.columns:
        return graph, graph
    rows, columns = ([inside.index(i) for i in positions] for positions in (line.rows, line.columns))
    return graph.restrict(rows, columns), graph.restrict(columns, rows)


def _product(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor]) -> tuple[Vector, Tensor, float, float]:
    """Return a product, its sizes, the asymmetry of two of them, and the scale of that asymmetry."""
    graph, transposed = _graphs(line, batch, point)
    Hv = detach_parts(graph.product(v, False))
    sizes = sizes_of(Hv)
    size = norm_of(sizes)
    if not size > 0.0:
        return Hv, sizes, 0.0, 0.0
    change(Hv, lambda part: part / size)
    Hu = detach_parts(transposed.product(fill_missing(Hv, line.by_rows(point)), False, last=True))
    gap, allowed = abs(float(dot(Hu, v)) - size), norm_of(sizes_of(v)) * norm_of(sizes_of(Hu))
    del Hu
    change(Hv, lambda part: part * size)
    return Hv, sizes, gap, allowed


def _difference(line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float) -> tuple[Vector, Tensor]:
    """Return a product by a difference of gradients, and the sizes of a gradient's parts."""

    def gradient(at: list[Tensor]) -> Vector:
        return line.gradient(batch, at, line.by_rows(at))[1]

    up, down = (gradient(line.shift(point, v, sign * step)) for sign in (1.0, -1.0))
    sizes = sizes_of(up)
    return quotient(up, down, 2.0 * step), sizes


def _residual_difference(
    line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float
) -> tuple[Vector, Tensor]:
    """Return a product by a difference of pulled slopes, which are fixed at the point, and a gradient's sizes."""
    slope = _slope(line, batch, point, line.output(batch, point))

    def pulled(moved: list[Tensor]) -> Vector:
        return _pull(line.output(batch, moved), line.by_rows(moved), slope)

    up, down = (pulled(line.shift(point, v, sign * step)) for sign in (1.0, -1.0))
    sizes = sizes_of(up)
    return quotient(up, down, 2.0 * step), sizes


def _sandwich_difference(
    line: _Line, batch: Batch, point: list[Tensor], v: list[Tensor], step: float
) -> tuple[Vector, Tensor]:
    """Return a product by differences of outputs and of the slopes there, and the sizes of a gradient's parts."""
    up, down = (line.output(batch, line.shift(point, v, sign * step)).detach() for sign in (1.0, -1.0))
    pushed, output = (up - down) / (2.0 * step), line.output(batch, point)
    slope = _slope(line, batch, point, output)
    if line.matrix == "empirical-fisher":
        along = (slope * pushed).flatten(1).sum(dim=1) if slope.ndim > 1 else slope * pushed
        curved = line.objective.samples_in(batch, len(slope)) * along.reshape(-1, *(1,) * (slope.ndim - 1)) * slope
    else:
        potential = line.objective.potential(output, slope, batch, line.number, line.matrix, point)
        slopes = []
        for sign in (1.0, -1.0):
            cut = (output.detach() + sign * step * pushed).requires_grad_()
            with torch.enable_grad():
                slopes.append(gradients_of(potential(cut), cut)[0])
        curved = (slopes[0] - slopes[1]) / (2.0 * step)
    by = line.by_rows(point)
    sizes = sizes_of(_pull(output, by, slope, keep=True))
    return _pull(output, by, curved), sizes


def _slope(line: _Line, batch: Batch, point: list[Tensor], output: Tensor) -> Tensor:
    """Return the gradient of the loss by the outputs."""
    cut = output.detach().requires_grad_()
    with torch.enable_grad():
        return gradients_of(line.objective.loss_at(cut, batch, line.number, point), cut)[0]


def _pull(output: Tensor, by: list[Tensor], slope: Tensor, keep: bool = False) -> Vector:
    return detach_parts(gradients_of(output, by, slope, allow_unused=True, retain_graph=keep))
