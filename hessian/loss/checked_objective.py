"""The checks that every curvature rests on: a loss over data is measured only after them.

Every entrance (`Curvature`, `exact_hessian`, `stable_rank`, PyHessian, the command) takes its loss from
`checked_objective`. That refuses what would end in a wrong number: losses of batches that do not make up the loss over
all samples, models that use or change other weights than the ones given, and second derivatives that are none.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil, inf
from typing import Any

import torch
from torch import Tensor, nn

from hessian.lanczos.memory import PROGRAM, Budget, bytes_of
from hessian.loss.batch_consistency import BatchConsistency
from hessian.loss.batches import Batch, Batches, Loss, copy_tensors, iterate_tensors, reduction_of, size_of
from hessian.loss.factories import USER_ERRORS
from hessian.loss.graphs import Block
from hessian.loss.kept_tensors import Call
from hessian.loss.model_state import (
    PureModel,
    Selection,
    check_modes,
    one_at_a_time,
    padding_rows,
    require_differentiation,
    select_parameters,
)
from hessian.loss.objective import Objective
from hessian.loss.output_curvature import Law, law_of, not_one_multiple
from hessian.loss.passed_checks import PassedChecks, Reading, read_with_fingerprint
from hessian.loss.product_rounding import LargestNumber
from hessian.loss.second_derivative_check import UNSETTLED, measure_rounding, require_second_derivatives
from hessian.numerics.live_bytes import measure_memory
from hessian.numerics.symmetric import CurvatureError

AROUND_PRODUCT, AROUND_GRADIENT = 3, 5
"""Vectors that checks hold in addition to a product and to a gradient."""
AROUND_OUTPUT = 4
"""Tensors of the output's shape that checks of other matrices than the Hessian hold."""
SCALARS = 2**8
"""Further numbers, with a margin."""


@one_at_a_time()
def checked_objective(
    model: nn.Module,
    loss: Loss,
    data: Any,
    *,
    matrix: str = "hessian",
    parameters: Selection = None,
    batch_norm: str | None = None,
    reduction: str | None = None,
    count: Callable[[Batch], int] = size_of,
    law: Law | None = None,
    budget: Budget | None = None,
    in_interval: bool = False,
    by_rows: bool = False,
    offered: Sequence[str] = ("count", "reduction"),
    passed: PassedChecks | None = None,
) -> Objective:
    """Read the data and check what a curvature of the loss rests on.

    Args:
        model: Left as it is.
        loss: Maps (output, targets), or (output, batch) for mappings, to a scalar.
        data: Data as `Batches.of` takes them.
        matrix: One of `hessian.loss.output_curvature.MATRICES`, whose products are tested.
        parameters: Names or patterns; default: all that require gradients.
        batch_norm: `running`, `batch`, or nothing.
        reduction: `mean` or `sum`, which is then tested also for a single batch; default: the loss's own, else
            `mean`, tested where there are several batches.
        count: Samples of a batch.
        law: Law of the targets, for the Fisher matrix; default: that of the loss, where it is known.
        budget: Budget of memory, for the checks.
        in_interval: The result has an interval that takes account of rounding beyond that of the parameters' type.
        by_rows: The result has a part for each row of the data, which must be a sample.
        offered: Those of the keywords `count` and `reduction` that the user of the result can give, for messages.
        passed: Checks that have passed, which are not repeated for the same structure.

    Raises:
        CurvatureError: The result would be wrong; the message names cause and remedy.
    """
    require_differentiation()
    check_modes(model, batch_norm)
    chosen = select_parameters(model, parameters)
    tensors = tuple(chosen.values())
    dtypes, held, numbers = None, 0, 0
    mean = reduction_of(loss, reduction) == "mean"
    draft = Objective(
        tuple(chosen),
        tensors,
        Batches.of(data),
        (),
        (),
        (),
        0.0,
        0.0,
        PureModel(model, loss, chosen, batch_norm),
        loss,
        mean,
        count,
        law_of(loss) if matrix == "fisher" and law is None else law,
    )
    started = time.perf_counter()
    subject = _subject_of(draft, matrix, batch_norm, reduction, in_interval, by_rows, budget)
    reading = read_with_fingerprint(draft, subject) if passed is not None and passed.may_know(subject) else None
    reached = None if passed is None or reading is None else passed.find_reached(reading.fingerprint)
    if reading is not None and reached is not None:
        draft = replace(draft, losses=reading.losses, reached=reached)
        sizes, largest = reading.sizes, reading.largest
    else:
        draft = replace(draft, losses=_require_nothing_kept(draft, reading))  # first: any call would fill a cache
        unchecked = time.perf_counter()
        first = draft.read(count)
        started += time.perf_counter() - unchecked
        if not first:
            raise CurvatureError(f"the data are empty: no batch{_dropped(draft.batches.source)}")
        draft = replace(draft, losses=tuple(value for _, value in first))
        _warn_of_unread_targets(draft, data)
        again, largest = _largest_number(draft, count)
        sizes = tuple(size for size, _ in first)
        if sizes != tuple(size for size, _ in again):
            raise CurvatureError("reading the data twice gave different batches: fix their order and number")
        draft = replace(draft, reached=_find_reached(draft))
    draft.model.require_kept()
    weights = tuple(size / sum(sizes) if mean else 1.0 for size in sizes)
    if matrix == "fisher":
        _require_one_multiple(draft, weights)
    if budget is not None:
        held = sum(measure_model_memory(model, tensors, data).values())
        numbers = count_check_numbers(draft, matrix)
        dtypes = budget.check_dtypes(tensors[0].dtype, held, numbers)
    test = require_second_derivatives if reached is None else measure_rounding
    try:
        rounding = test(draft, matrix, padding_rows(model, draft.names), list(sizes), dtypes, in_interval=in_interval)
    except CurvatureError as error:
        if budget is None or dtypes is None or UNSETTLED not in str(error) or torch.float64 in dtypes:
            raise
        raise CurvatureError(budget.describe_missing_double(held, numbers)) from error
    if matrix == "empirical-fisher":  # a sum over samples, each a row of the output, even of a single batch
        by_rows, offered = True, [name for name in offered if name != "count"]
    needed = len(sizes) > 1 or matrix == "empirical-fisher"
    known = passed is not None and reading is not None and passed.adds_up(reading.fingerprint)
    if (needed or reduction) and not known:
        BatchConsistency(
            draft,
            mean,
            count,
            needed,
            vouched=reduction is not None or count is not size_of,
            coupled=batch_norm == "batch",
            named=reduction is not None,
            by_rows=by_rows,
            several=len(sizes) > 1,
            offered=offered,
        ).require()
    draft.model.require_kept()
    if passed is not None:
        reading = reading if reached is not None else read_with_fingerprint(draft, subject)
        if reading is not None:
            passed.remember(reading.fingerprint, draft.reached)
    return replace(
        draft,
        weights=weights,
        sizes=sizes,
        value=sum(weight * value for weight, value in zip(weights, draft.losses, strict=True)),
        rounding=rounding,
        largest=largest,
        check_seconds=time.perf_counter() - started,
        check_dtypes=dtypes,
        fingerprint=None if passed is None or reading is None else reading.fingerprint,
    )


def _subject_of(objective: Objective, *options: Any) -> Hashable:
    """Return what is measured: names, shapes and types of the parameters, functions that are not traced, options."""
    own = zip(objective.names, objective.parameters, strict=True)
    tensors = tuple((name, tuple(p.shape), p.dtype, p.device.type) for name, p in own)
    model = objective.model
    return (type(model.module), tensors, model.modes, objective.mean, objective.count, objective.law, *options)


@one_at_a_time()
def require_block(objective: Objective, matrix: str, part: Block, has_passed: bool = False) -> float:
    """Test the derivatives of a block at its own scale: the test of the whole matrix does not see a small one.

    Args:
        objective: The loss over all samples.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        part: The block.
        has_passed: The derivatives have passed for this structure, so that rounding alone is measured.

    Returns:
        Rounding of its products, relative to their size, on the samples of the test.

    Raises:
        CurvatureError: Its products are not second derivatives.
    """
    padding = padding_rows(objective.model.module, objective.names)
    test = measure_rounding if has_passed else require_second_derivatives
    try:
        return test(objective, matrix, padding, list(objective.sizes), objective.check_dtypes, part)
    except CurvatureError as error:
        rows, columns = ([objective.names[i] for i in positions] for positions in part)
        some = ", ".join(rows[:3]) + (", ..." if len(rows) > 3 else "")
        by = "" if rows == columns else f" by {', '.join(columns[:3])}" + (", ..." if len(columns) > 3 else "")
        raise CurvatureError(f"block of {some}{by}: {error}") from error


def count_check_numbers(objective: Objective, matrix: str) -> int:
    """Count the numbers that the checks of derivatives hold at their peak, in any precision, by the first batch.

    They hold some vectors in addition to a product with its graph, or to a gradient, and the batch in their precision.
    Products with the Hessian show whether batches make up the whole.
    """
    batch, own = objective.first_batch(), objective.parameters
    zeros = [p.new_zeros(()).expand_as(p) for p in own]

    def product(kind: str) -> None:
        # What fails here fails in the checks, which tell it in words.
        with suppress(*USER_ERRORS):
            objective.graph(batch, 1, 1.0, kind).product(zeros, False)

    def peak(computation: Callable[[], object], vectors: int) -> int:
        held = measure_memory(computation, own[0].device)[1].peak
        return vectors * sum(p.numel() for p in own) + ceil(held / own[0].element_size())

    products = [peak(partial(product, kind), AROUND_PRODUCT) for kind in {matrix, "hessian"}]
    gradient = peak(lambda: objective.gradient(batch, 1, own), AROUND_GRADIENT)
    output = None if matrix == "hessian" else objective.output(batch, own)
    outputs = AROUND_OUTPUT * output.numel() if isinstance(output, Tensor) else 0
    return max(*products, gradient) + outputs + sum(leaf.numel() for leaf in iterate_tensors(batch)) + SCALARS


def measure_model_memory(model: nn.Module, copies: Sequence[Tensor], data: Any) -> dict[str, int]:
    """Return the bytes of the program, the model, the copies of its parameters and the data in memory."""
    batches = Batches.of(data).source
    inside = [leaf for batch in batches for leaf in iterate_tensors(batch)] if isinstance(batches, Sequence) else []
    return {
        "program": PROGRAM if copies[0].device.type == "cpu" else 0,
        "model": bytes_of([*model.parameters(), *model.buffers()]),
        "copies": bytes_of(copies),
        "data": bytes_of(leaf for leaf in inside if leaf.device == copies[0].device),
    }


def _dropped(source: Any) -> str:
    """Return in words why a loader leaves its only batch out; empty if it does not."""
    return ", since drop_last=True leaves the only one out" if getattr(source, "drop_last", False) else ""


def _warn_of_unread_targets(objective: Objective, data: Any) -> None:
    """Warn where a list of two tensors is read as inputs and targets, and is likely to be two batches of inputs."""
    if not (isinstance(data, list) and len(data) == 2 and all(isinstance(item, Tensor) for item in data)):
        return
    inputs, targets = objective.first_batch()
    if inputs.dtype != targets.dtype or inputs.shape[1:] != targets.shape[1:]:
        return
    unread = False
    with torch.enable_grad(), suppress(Exception):  # a loss that reads its targets fails without them
        value = objective.batch_loss((copy_tensors(inputs), None), 1, objective.parameters)
        unread = value.item() == objective.losses[0]
    if unread:
        warnings.warn(
            "a list of two tensors is (inputs, targets), and the loss does not read the second: for two batches "
            "without targets write [(first, None), (second, None)]",
            stacklevel=2,
        )


def _largest_number(objective: Objective, count: Callable[[Batch], int]) -> tuple[list[tuple[int, float]], float]:
    """Return what `Objective.read` does, and the largest number on the way to the losses; infinite if that is unseen.

    Raises:
        CurvatureError: See `Objective.read`.
    """
    largest = LargestNumber()
    try:
        return objective.read(count, largest.on), largest.value
    except (CurvatureError, RuntimeError):  # transforms of functions that refuse to be looked into
        return objective.read(count), inf


def _require_nothing_kept(objective: Objective, earlier: Reading | None) -> tuple[float, ...]:
    """Refuse caches of the weights, and return the loss of each batch, or nothing if one fails."""
    losses: dict[int, float] = {}
    batches = 0

    def evaluate(at: Sequence[Tensor], batch: Batch, number: int) -> Tensor:
        value = objective.batch_loss(copy_tensors(batch), number, at)
        losses.setdefault(number, value.item())
        return value

    def calls() -> Iterator[Call]:
        nonlocal batches
        for number, batch in enumerate(objective.move_batches(), start=1):
            batches = number
            yield Call(partial(evaluate, batch=batch, number=number), iterate_tensors(batch))

    objective.model.require_nothing_kept(calls, None if earlier is None else earlier.kept)
    return tuple(losses[number] for number in sorted(losses)) if len(losses) == batches else ()


def _require_one_multiple(objective: Objective, weights: Sequence[float]) -> None:
    """Refuse a loss that is not one multiple of minus the log likelihood in all batches, as with class weights.

    Raises:
        CurvatureError: It is not; or as `Objective.multiples`.
    """
    found = [
        weight * multiple
        for number, (weight, batch) in enumerate(zip(weights, objective.move_batches(), strict=True), start=1)
        for multiple in objective.multiples(batch, number)
    ]
    if max(found) - min(found) > 1e4 * torch.finfo(objective.parameters[0].dtype).eps * max(found):
        assert objective.law is not None
        with torch.enable_grad():
            law = objective.law(objective.output(objective.first_batch()))
        raise not_one_multiple(type(law).__name__)


def _find_reached(objective: Objective) -> tuple[tuple[bool, ...], ...]:
    """Return which parameters the loss of each batch depends on.

    Raises:
        CurvatureError: All batches depend on none, or one on the model's own parameters instead of their copies.
    """
    patterns = dict[tuple[bool, ...], tuple[bool, ...]]()
    found = []
    for number, batch in enumerate(objective.move_batches(), start=1):
        one = objective.find_reached(batch, number)
        found.append(patterns.setdefault(one, one))  # one object for all that are alike
    if not any(map(any, patterns)):
        raise CurvatureError("the loss does not depend on any of the parameters: look for detach() or no_grad()")
    return tuple(found)
