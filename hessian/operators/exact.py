r"""The dense Hessian of a mean loss over all trainable parameters, exact to rounding.

Two routes give the same matrix, each compared with a plain product. `columns` differentiates the gradient once per
parameter, in batches, and serves every twice-differentiable model. `layered` serves networks whose trainable parameters
all sit in `nn.Linear` layers: it differentiates once per *unit* and assembles the rest by matrix products, five to
eight times faster. With the input $a_m$ of layer $m$ (a 1 appended for the bias), a shift $\epsilon_l$ of the output of
layer $l$, and the gradient $g_m = \partial L / \partial \epsilon_m$, the blocks are sums over the samples $n$:

$$H_{ml} = \sum_n \frac{\partial (g_m^n \otimes a_m^n)}{\partial \epsilon_l^n} \otimes a_l^n, \qquad l \le m.$$
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral

import torch
from torch import Tensor, nn

from hessian.loss.batches import Loss, detach_tensors, require_dense_tensors, take_rows
from hessian.loss.checked_objective import checked_objective
from hessian.loss.graphs import at_even_place
from hessian.loss.model_state import one_at_a_time
from hessian.loss.objective import Objective
from hessian.loss.routes import RouteError, describe_failure, warn_one_by_one
from hessian.numerics.differentiation import exact_algebra, gradients_of
from hessian.numerics.symmetric import CurvatureError

Progress = Callable[[int, int], None]


@one_at_a_time()
def exact_hessian(
    model: nn.Module,
    loss: Loss,
    inputs: Tensor,
    targets: Tensor,
    *,
    columns: int = 64,
    rows: int = 1000,
    method: str = "auto",
    progress: Progress | None = None,
) -> Tensor:
    """Return the symmetric (P, P) Hessian of the mean loss over the P trainable parameters.

    Rows and columns are in the order of `model.parameters()`, frozen ones left out. The Hessian over a union of samples
    is the mean of the parts' Hessians weighted by their sizes, so many subsets at the same weights cost no more
    than their samples: pass `inputs[subset], targets[subset]`.

    Args:
        model: Maps (n, ...) inputs to outputs, sample by sample; left as it is.
        loss: Maps (outputs, targets) to a scalar that is a mean over samples, also where all are differentiated at
            once; `Curvature` takes other losses.
        inputs: The N samples, (N, ...).
        targets: Targets of the samples, (N, ...).
        columns: Columns differentiated together on the `columns` route; memory grows with columns times rows.
        rows: Samples differentiated together.
        method: `layered`, `columns`, or `auto`: `layered` where it applies and agrees with an exact product.
        progress: Called with (samples done, N) after every chunk of samples.

    Returns:
        The Hessian in the parameters' dtype, on their device, exactly symmetric.

    Raises:
        CurvatureError: No samples, unequal numbers of inputs and targets, numbers out of their range, an unknown
            method, `layered` for a model it does not cover, or what `Objective` refuses: randomness, batch norm in
            training mode, a loss that is not a mean over independent samples, values that are not finite.
    """
    if method not in ("auto", "layered", "columns"):
        raise CurvatureError(f"method must be 'auto', 'layered' or 'columns', got {method!r}")
    if not all(isinstance(number, Integral) and number >= 1 for number in (columns, rows)):
        raise CurvatureError(
            f"columns and rows must be whole numbers of at least 1, got columns={columns}, rows={rows}"
        )
    require_dense_tensors((inputs, targets))
    if not all(isinstance(part, Tensor) and part.ndim for part in (inputs, targets)):
        raise CurvatureError(
            "exact_hessian needs inputs and targets as one tensor each, with one row per sample, got "
            f"{_kind(inputs)} and {_kind(targets)}; for other data, multiply Curvature by the identity"
        )
    if len(inputs) == 0 or len(inputs) != len(targets):
        raise CurvatureError(
            f"expected equally many inputs and targets, at least one, got {len(inputs)} and {len(targets)}"
        )
    parts = [slice(start, start + rows) for start in range(0, len(inputs), rows)]
    objective = checked_objective(
        model, loss, [(inputs[part], targets[part]) for part in parts], reduction="mean", offered=()
    )  # named: it must be a mean also where one part holds all samples
    parameters = list(objective.parameters)
    chunks = _Chunks(objective, progress)
    hessian = None
    with torch.enable_grad():
        if method != "columns":
            reason = _why_not_layered(model, objective)
            if reason is None:
                try:
                    hessian = _differentiate_layers(chunks, model, parameters)
                    reason = _disagreement(hessian, chunks, parameters)
                except RouteError as error:
                    reason = describe_failure(error)
            if reason is not None:
                if method == "layered":
                    raise CurvatureError(f"the layered Hessian does not apply: {reason}; use method='columns'")
                hessian = None
        if hessian is None:
            hessian = _compute_checked_columns(chunks, parameters, columns)
    if not bool(torch.isfinite(hessian).all()):
        raise CurvatureError(objective.why_not_finite())
    return hessian


def _kind(part: object) -> str:
    return "a single number" if isinstance(part, Tensor) and part.ndim == 0 else type(part).__name__


class _Chunks:
    """The samples in chunks, each with its share of the mean."""

    def __init__(self, objective: Objective, progress: Progress | None) -> None:
        self.objective, self.progress = objective, progress

    def shares(self, report: bool = True) -> Iterator[Tensor]:
        """Yield each chunk's part of the mean loss; the parts add up to the mean over all samples."""
        done = 0
        for number, weight, batch in self.objective.weighted_batches():
            yield self.objective.batch_loss(batch, number) * weight
            done += len(batch[0])
            if report and self.progress is not None:
                self.progress(done, self.objective.samples)


Products = Callable[[Tensor, Sequence[Tensor], Tensor], list[Tensor]]
"""Returns B directions (B, *values.shape) times the Jacobian of values by each variable, (B, *variable.shape)."""


def _compute_checked_columns(chunks: _Chunks, parameters: list[Tensor], columns: int) -> Tensor:
    """Return the Hessian by columns, several at a time where that gives what single ones do."""
    try:
        hessian = _compute_columns(chunks, parameters, columns, _multiply_batched)
        fault = _disagreement(hessian, chunks, parameters)
    except RouteError as error:
        fault = describe_failure(error)
    if fault is None:
        return hessian
    warn_one_by_one(fault, "exact_hessian")
    return _compute_columns(chunks, parameters, columns, _multiply_one_by_one)


def _compute_columns(chunks: _Chunks, parameters: list[Tensor], columns: int, products_of: Products) -> Tensor:
    total = sum(p.numel() for p in parameters)
    hessian = parameters[0].new_zeros(total, total)
    for share in chunks.shares():
        gradients = gradients_of(share, parameters, create_graph=True, materialize_grads=True)
        first = 0
        for position, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
            if not gradient.requires_grad:  # linear in this parameter and in every other
                first += parameter.numel()
                continue
            for start in range(0, parameter.numel(), columns):
                count = min(columns, parameter.numel() - start)
                directions = parameter.new_zeros(count, parameter.numel())
                directions[:, start : start + count].fill_diagonal_(1)
                # The rest follows by symmetry.
                products = products_of(gradient, parameters[: position + 1], directions.view(count, *parameter.shape))
                block = torch.cat([product.reshape(count, -1) for product in products], dim=1)
                hessian[first + start : first + start + count, : block.shape[1]] += block
            first += parameter.numel()
    return hessian.tril() + hessian.tril(-1).mT


def _multiply_batched(values: Tensor, variables: Sequence[Tensor], directions: Tensor) -> list[Tensor]:
    """Return products of all directions at once.

    Raises:
        RouteError: An operation has no rule for that, or there is not enough memory for so many.
    """
    try:
        products = gradients_of(
            values, variables, directions, retain_graph=True, is_grads_batched=True, allow_unused=True
        )
    except Exception as error:
        raise RouteError(str(error)) from error
    # `materialize_grads` would give zeros without the leading B.
    return [
        variable.new_zeros(len(directions), *variable.shape) if product is None else product
        for product, variable in zip(products, variables, strict=True)
    ]


def _multiply_one_by_one(values: Tensor, variables: Sequence[Tensor], directions: Tensor) -> list[Tensor]:
    """Return products of one direction after the other."""
    rows = [
        gradients_of(values, variables, direction, retain_graph=True, materialize_grads=True)
        for direction in directions
    ]
    return [torch.stack(parts) for parts in zip(*rows, strict=True)]


def _linear_layers(model: nn.Module) -> list[nn.Linear]:
    return [m for m in model.modules() if type(m) is nn.Linear and any(p.requires_grad for p in m.parameters())]


def _why_not_layered(model: nn.Module, objective: Objective) -> str | None:
    """Run one sample through the model and name what keeps the layered route from applying, if anything does."""
    layers = _linear_layers(model)
    if not all(isinstance(layer.weight, nn.Parameter) for layer in layers):
        return "a layer's weight is computed from other parameters"
    owned = [id(p) for layer in layers for p in layer.parameters()]
    if len(set(owned)) < len(owned):
        return "two layers share a parameter"
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and id(parameter) not in owned:
            return f"the trainable parameter {name!r} is not in an nn.Linear layer"
    batch = objective.first_batch()
    sample = take_rows(batch, slice(1))
    with torch.enable_grad():
        with _Shifts(layers) as shifts:
            objective.output(sample)
        output = detach_tensors(objective.output(batch))
        value = objective.loss_at(output, batch, 1)
    if value.requires_grad:
        return "the loss reads parameters in addition to the model's output (a penalty)"
    if len(shifts.layers) < len(layers):
        return "a layer with trainable parameters is not used"
    if len(shifts.layers) > len(layers):
        return "a layer is used more than once"
    if any(a.ndim != 2 or len(a) != 1 for a in shifts.inputs):
        return "a layer's input is not (samples, features)"
    return None


class _Shifts:
    """A context that records the input of every layer called and adds a zero, differentiable shift to its output."""

    def __init__(self, layers: list[nn.Linear]) -> None:
        self.watched = layers
        self.layers: list[nn.Linear] = []  # in the order of their calls
        self.inputs: list[Tensor] = []
        self.shifts: list[Tensor] = []

    def __enter__(self) -> _Shifts:
        self.handles = [layer.register_forward_hook(self._shift) for layer in self.watched]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()

    def clear(self) -> None:
        """Forget the last forward pass, and with it its graph."""
        self.layers, self.inputs, self.shifts = [], [], []

    def _shift(self, module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
        assert isinstance(module, nn.Linear)
        shift = torch.zeros_like(output, requires_grad=True)
        self.layers.append(module)
        self.inputs.append(arguments[0])
        self.shifts.append(shift)
        return output + shift


def _differentiate_layers(chunks: _Chunks, model: nn.Module, parameters: list[Tensor]) -> Tensor:
    layers = _linear_layers(model)
    own = [p for p in model.parameters() if p.requires_grad]
    hessian = offsets = None
    with _Shifts(layers) as shifts:
        for share in chunks.shares():
            if hessian is None or offsets is None:
                offsets = _offsets(shifts.layers)
                hessian = parameters[0].new_zeros(offsets[-1], offsets[-1])
                order = _order(shifts.layers, offsets, own)
            gradients = gradients_of(share, shifts.shifts, create_graph=True, materialize_grads=True)
            size = len(shifts.inputs[0])
            augmented = [torch.cat([a.detach(), a.new_ones(size, 1)], dim=1) for a in shifts.inputs]
            for m, (gradient, a) in enumerate(zip(gradients, shifts.inputs, strict=True)):
                earlier = shifts.shifts[: m + 1]
                curvatures = _per_sample_jacobian(gradient, earlier)
                slopes = _per_sample_jacobian(a, earlier)
                for unit in range(gradient.shape[1]):
                    top = offsets[m] + unit * augmented[m].shape[1]
                    for l, (curvature, slope) in enumerate(zip(curvatures, slopes, strict=True)):  # noqa: E741
                        # d(g_m a_m)/d(epsilon_l) for one unit of layer m: (samples, inputs of m, units of l)
                        units = curvature.shape[2] if l < m else unit + 1  # the rest follows by symmetry
                        change = augmented[m][:, :, None] * curvature[:, unit, None, :units]
                        if l < m:
                            change[:, :-1] += gradient.detach()[:, unit, None, None] * slope
                        with exact_algebra():
                            block = change.reshape(size, -1).mT @ augmented[l]
                        block = block.view(augmented[m].shape[1], -1)
                        hessian[top : top + len(block), offsets[l] : offsets[l] + block.shape[1]] += block
            shifts.clear()
            del share, gradients, gradient, a, earlier
    assert hessian is not None
    return (hessian.tril() + hessian.tril(-1).mT)[order][:, order]


def _offsets(layers: list[nn.Linear]) -> list[int]:
    offsets = [0]
    for layer in layers:
        offsets.append(offsets[-1] + layer.out_features * (layer.in_features + 1))
    return offsets


def _order(layers: list[nn.Linear], offsets: list[int], parameters: list[nn.Parameter]) -> Tensor:
    """Return the place of every parameter in the layered layout, where each unit has its weights and then its bias."""
    places = {}
    for layer, first, last in zip(layers, offsets, offsets[1:], strict=False):
        place = torch.arange(first, last, device=layer.weight.device).view(layer.out_features, -1)
        places[id(layer.weight)] = place[:, :-1]
        if layer.bias is not None:
            places[id(layer.bias)] = place[:, -1]
    return torch.cat([places[id(p)].reshape(-1) for p in parameters])


def _per_sample_jacobian(values: Tensor, shifts: list[Tensor]) -> list[Tensor]:
    """Differentiate values (n, v) by each shift (n, s), sample by sample: a list of (n, v, s)."""
    samples, width = values.shape
    if not values.requires_grad:
        return [values.new_zeros(samples, width, shift.shape[1]) for shift in shifts]
    directions = torch.eye(width, dtype=values.dtype, device=values.device)[:, None, :].expand(width, samples, width)
    return [jacobian.transpose(0, 1) for jacobian in _multiply_batched(values, shifts, directions)]


def _disagreement(hessian: Tensor, chunks: _Chunks, parameters: list[Tensor]) -> str | None:
    """Compare with one plain product, in the rows of each parameter at their own scale.

    The layered route misses a parameter that is used outside its layer, and batched derivatives may be wrong.
    """
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(len(hessian), generator=generator, dtype=torch.float64, device="cpu").to(hessian)
    split = map(at_even_place, direction.split([p.numel() for p in parameters]))
    parts = [part.view_as(p) for part, p in zip(split, parameters, strict=True)]
    product = torch.zeros_like(direction)
    for share in chunks.shares(report=False):
        gradients = gradients_of(share, parameters, create_graph=True, materialize_grads=True)
        slope = sum((g * d).sum() for g, d in zip(gradients, parts, strict=True))
        assert isinstance(slope, Tensor)
        if slope.requires_grad:
            products = gradients_of(slope, parameters, materialize_grads=True)
            product += torch.cat([p.reshape(-1) for p in products])
    with exact_algebra():
        gap = hessian @ direction - product
    eps, sizes = torch.finfo(hessian.dtype).eps, [p.numel() for p in parameters]
    unit = direction.norm().item()
    errors, norms = ([part.norm().item() for part in one.split(sizes)] for one in (gap, hessian))
    for error, norm in zip(errors, norms, strict=True):
        allowed = eps * unit * (max(1000, len(hessian)) * norm + 10.0 * hessian.norm().item())
        # Not `error > allowed`: a NaN is a disagreement too.
        if not error <= allowed:
            return f"it misses an exact Hessian-vector product by {error:.3g}, with {allowed:.3g} allowed for rounding"
    return None
