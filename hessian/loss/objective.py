"""A loss over data as a function of chosen parameters, batch by batch: values, gradients and graphs of its curvatures.

`hessian.loss.checked_objective` builds it and refuses what would lead to a wrong number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import count as counting
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from hessian.loss.batches import (
    Batch,
    Batches,
    Loss,
    copy_tensors,
    count_samples,
    iterate_tensors,
    labels_out_of_range,
    loss_of,
    output_of,
    require_untouched,
    rows_of,
    size_of,
    strange_inputs,
)
from hessian.loss.factories import USER_ERRORS, user_error
from hessian.loss.graphs import GaussNewtonGraph, Graph, HessianGraph, Middle, not_smooth_at_zero
from hessian.loss.model_state import PureModel
from hessian.loss.output_curvature import (
    Law,
    OuterSlopes,
    Potential,
    SlopeCurvature,
    divergence,
    ignored_label,
    multiples_of,
    require_tensor,
    slope_of_loss,
)
from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss over all samples, as a function of chosen parameters.

    Attributes:
        names: Names of the chosen parameters.
        parameters: Copies of them, at which the curvature is taken.
        batches: The data.
        weights: Weights of each batch's loss in the loss over all samples.
        losses: Losses of each batch, as first read.
        sizes: Samples of each batch.
        value: The loss over all samples.
        check_seconds: Wall time of the checks.
        rounding: Rounding of products, relative to their size, on the samples of the checks.
        largest: Largest number that the model and the loss compute on the way to the loss.
        numbers: Numbers of the batches, where they are a share of those that weights and losses are of; nothing: all.
        check_dtypes: Types in which products are tested, by preference, where a budget limits them.
        reached: Whether the loss of each batch depends on each parameter.
        fingerprint: Fingerprint of what is computed, see `hessian.loss.passed_checks`; None if it is not known.
    """

    names: tuple[str, ...]
    parameters: tuple[Tensor, ...]
    batches: Batches
    weights: tuple[float, ...]
    losses: tuple[float, ...]
    sizes: tuple[int, ...]
    value: float
    check_seconds: float
    model: PureModel
    loss: Loss
    mean: bool
    count: Callable[[Batch], int]
    law: Law | None
    rounding: float = 0.0
    largest: float = 0.0
    numbers: range | None = None
    check_dtypes: tuple[torch.dtype, ...] | None = None
    reached: tuple[tuple[bool, ...], ...] = ()
    fingerprint: Any = None

    @property
    def used(self) -> tuple[bool, ...]:
        """Whether the loss of any batch depends on each parameter."""
        return tuple(map(any, zip(*set(self.reached), strict=True)))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return sum(self.sizes)

    @property
    def may_be_double(self) -> bool:
        """Whether a budget of memory leaves room for derivatives in double precision."""
        return self.check_dtypes is None or torch.float64 in self.check_dtypes

    def output(self, batch: Batch, at: Sequence[Tensor] | None = None) -> Any:
        """Return the model's output on a batch, at the chosen parameters or at others."""
        return self.model.run(lambda: output_of(self.model, self.model.module.forward, batch), at)

    def loss_at(self, output: Any, batch: Batch, number: int, at: Sequence[Tensor] | None = None) -> Tensor:
        """Return the loss of an output."""
        value: Tensor = self.model.run(lambda: loss_of(self.loss, output, batch, number), at)
        return value if at is not None else self._require_repeatable(value, number)

    def batch_loss(self, batch: Batch, number: int, at: Sequence[Tensor] | None = None) -> Tensor:
        """Return the loss of a batch, which at the chosen parameters must be the same as in the first reading.

        Raises:
            CurvatureError: It is not, not finite, or no scalar.
        """
        value: Tensor = self.model.run(
            lambda: loss_of(self.loss, output_of(self.model, self.model.module.forward, batch), batch, number), at
        )  # in one run: the loss may read the parameters
        return value if at is not None else self._require_repeatable(value, number)

    def gradient(self, batch: Batch, number: int, by: Sequence[Tensor]) -> Sequence[Tensor | None]:
        """Return the gradient of a batch's loss by some of the chosen parameters, in parts."""
        with torch.enable_grad():
            value = self.batch_loss(batch, number)
            return gradients_of(value, by, allow_unused=True)

    def find_reached(self, batch: Batch, number: int, at: Sequence[Tensor] | None = None) -> tuple[bool, ...]:
        """Return which of the chosen parameters the loss of samples depends on, which `batch_loss` evaluates.

        Raises:
            CurvatureError: It depends on the model's own parameters instead of their copies.
        """
        with self.model.watching_own_parameters(), torch.enable_grad():
            value = self.batch_loss(batch, number, at)
            if not value.requires_grad:
                return (False,) * len(self.parameters)
            self.model.require_own_unused(value)
            found = gradients_of(value, self.parameters, allow_unused=True)
        return tuple(one is not None for one in found)

    def graph(
        self,
        batch: Batch,
        number: int,
        weight: float,
        matrix: str,
        at: Sequence[Tensor] | None = None,
        by: Sequence[Tensor] | None = None,
    ) -> Graph:
        """Build the differentiated graph of a batch.

        Args:
            batch: The batch.
            number: Number of the batch, for messages.
            weight: Factor of its loss.
            matrix: One of `hessian.loss.output_curvature.MATRICES`.
            at: In place of the chosen parameters.
            by: The parameters to differentiate by; default: all.

        Raises:
            CurvatureError: Outputs, a loss or targets that the matrix is not defined for.
        """
        parameters = tuple(by or at or self.parameters)
        with torch.enable_grad():
            if matrix == "hessian":
                return HessianGraph.of(self.batch_loss(batch, number, at) * weight, parameters)
            output = require_tensor(self.output(batch, at), matrix)
            slope = slope_of_loss(output, lambda cut: self.loss_at(cut, batch, number, at), parameters, matrix)
            if not output.requires_grad:  # another batch does reach the parameters
                return HessianGraph.of(output.sum(), parameters)
            if matrix == "residual":
                return HessianGraph.of((output * slope).sum() * weight, parameters)
            middle: Middle
            if matrix == "empirical-fisher":
                middle = OuterSlopes(slope, weight * self.samples_in(batch, len(slope)))
            else:
                potential = self.potential(output, slope, batch, number, matrix, at)
                middle = SlopeCurvature.of(output, lambda cut: potential(cut) * weight)
            return GaussNewtonGraph.of(output, middle, parameters)

    def potential(
        self, output: Tensor, slope: Tensor, batch: Batch, number: int, matrix: str, at: Sequence[Tensor] | None
    ) -> Potential:
        """Return the function whose Hessian at a batch's outputs is M: the loss, or a divergence for `fisher`.

        Args:
            output: Output of the batch.
            slope: Slope of the loss by the outputs.
            batch: The batch.
            number: Number of the batch, for messages.
            matrix: `gauss-newton` or `fisher`.
            at: In place of the chosen parameters; without, a loss at the outputs must be what it was at first.

        Raises:
            CurvatureError: A law that the loss or the targets do not belong to.
        """
        if matrix == "gauss-newton":
            return lambda cut: self.loss_at(cut, batch, number, at)
        return divergence(output, slope, *self._likelihood(batch, number, at))

    def multiples(self, batch: Batch, number: int) -> list[float]:
        """Return the multiples of minus the log likelihood that the loss of a batch is, see `multiples_of`.

        Raises:
            CurvatureError: As `multiples_of`; or the law or the loss fails on the batch.
        """
        with torch.enable_grad():
            output = require_tensor(self.output(batch), "fisher")
            try:
                return multiples_of(output, *self._likelihood(batch, number, None))
            except (CurvatureError, torch.OutOfMemoryError):
                raise
            except USER_ERRORS as error:
                raise user_error(error, f"the law or the loss on batch {number}") from error

    def _likelihood(
        self, batch: Batch, number: int, at: Sequence[Tensor] | None
    ) -> tuple[Any, Law, Callable[[Tensor, Tensor], Tensor], int | None]:
        """Return targets, law, loss and ignored label as `divergence` takes them."""
        assert self.law is not None
        elsewhere = at or self.parameters  # at other outputs the loss is another one

        def loss(cut: Tensor, targets: Tensor) -> Tensor:
            return self.loss_at(cut, (batch[0], targets), number, elsewhere)

        targets = None if isinstance(batch, Mapping) else batch[1]
        return targets, self.law, loss, ignored_label(self.loss)

    def samples_in(self, batch: Batch, rows: int) -> float:
        """Return the factor from the slopes of a batch's loss to the slopes of its samples, each a row of the output.

        Raises:
            CurvatureError: The batch counts another number of samples.
        """
        found = count_samples(self.count, batch)
        if found != rows:
            raise CurvatureError(
                f"the empirical Fisher matrix needs a row of the output for each sample: {rows} rows for {found} "
                "samples: give data and output one row for each, and leave samples with ignored targets out of the "
                "data; or leave out count=, and name reduction='sum' with a loss that sums",
                keywords=("count", "reduction"),
            )
        return float(rows) if self.mean else 1.0

    def count_per_row(self) -> float:
        """Return how many samples, by `count`, a row of the data has on average.

        Raises:
            CurvatureError: A batch whose tensors differ in length, so it has no rows.
        """
        if self.count is size_of:
            return 1.0
        rows = 0
        for number, batch in enumerate(self.move_batches(), start=1):
            if (found := rows_of(batch)) is None:
                raise CurvatureError(
                    f"the tensors of batch {number} have several lengths, so its samples cannot be separated: "
                    f"give every tensor one row for each sample"
                )
            rows += found
        return self.samples / rows

    def weighted_batches(self, copied: bool = False) -> Iterator[tuple[int, float, Batch]]:
        """Yield number, weight and content of every batch, on the parameters' device, copied on demand."""
        numbers = range(1, len(self.weights) + 1) if self.numbers is None else self.numbers
        for number, batch in zip_longest(numbers, self.move_batches(copied)):
            if number is None or batch is None:
                raise CurvatureError(
                    f"the data had {len(numbers)} batches when the operator was built and have "
                    f"{'more' if number is None else 'fewer'} now; build it again"
                )
            yield number, self.weights[number - 1], batch

    def share(self, numbers: range, device: torch.device) -> Objective:
        """Return the loss over some of the batches, with their weights in the loss over all, on a device."""
        parameters = tuple(p.detach().to(device).requires_grad_() for p in self.parameters)
        return replace(
            self,
            parameters=parameters,
            model=self.model.at(parameters),
            batches=self.batches.select(numbers),
            numbers=numbers,
            fingerprint=None,
        )

    def first_batch(self) -> Batch:
        """Return the first batch on the parameters' device."""
        return next(iter(self.move_batches()))

    def move_batches(self, copied: bool = False) -> Iterator[Batch]:
        """Yield the batches on the parameters' device, copied even if they are there, on demand."""
        return self.batches.move_to(self.parameters[0].device, self.parameters[0].dtype, copied)

    def read(
        self, count: Callable[[Batch], int], within: Callable[[Batch], AbstractContextManager[Any]] | None = None
    ) -> list[tuple[int, float]]:
        """Return the samples and the loss of every batch.

        Args:
            count: Samples of a batch.
            within: Maps a batch to what is open while its loss is evaluated.

        Raises:
            CurvatureError: The model or the loss fails on a batch, or changes it.
        """
        found = []
        with torch.enable_grad():  # a model may differentiate by its inputs, and a loss by the weights
            for number, batch in enumerate(self.move_batches(), start=1):
                given = copy_tensors(batch)
                try:
                    samples = count_samples(count, batch)
                    with nullcontext() if within is None else within(given):
                        found.append((samples, self.batch_loss(given, number).item()))
                except (CurvatureError, torch.OutOfMemoryError):
                    raise
                except USER_ERRORS as error:
                    raise self._failure(error, batch, number) from error
                require_untouched(given, batch, number)
        return found

    def _failure(self, error: Exception, batch: Batch, number: int) -> CurvatureError:
        """Convert an error of the model or the loss on a batch to one line with its cause, if that can be found."""
        output: Any = None
        with torch.no_grad(), suppress(Exception):
            output = self.output(copy_tensors(batch))
        why = "" if output is None else labels_out_of_range(output, batch)
        if "does not require grad" in str(error) and self.model.holds_others_fixed():
            why = (
                "the forward pass or the loss differentiates with respect to parameters that were not chosen, so "
                "choose these as well or leave parameters= out; Curvature(...).block('layer.*') then gives the "
                "block of some of them"
            )
        if not why and isinstance(error, RuntimeError):
            why = self.model.find_other_dtype() or (strange_inputs(batch, str(error)) if output is None else "")
        if not why and re.search(r"got:? \(?(torch\.)?Double|not implemented for 'Double'", str(error)):
            why = (
                "an operation of the model or the loss does not take float64, so measure model.float(), or choose an "
                "operation that does"
            )
        found = user_error(error, f"the model or the loss on batch {number}")
        return CurvatureError(f"{str(found).rstrip('.')}; {why}") if why else found

    def why_not_finite(self, matrix: str = "hessian") -> str:
        """Describe why products with a matrix are not finite although the loss is."""
        own = self.parameters
        numbers = counting(1) if self.numbers is None else self.numbers
        for number, batch in zip(numbers, self.move_batches(), strict=False):
            with torch.enable_grad():
                roots = not_smooth_at_zero(self.batch_loss(batch, number))
            graph = self.graph(batch, number, 1.0, matrix)
            found = graph.product([torch.ones_like(p) for p in own], False)
            bad = [
                name
                for name, part in zip(self.names, found, strict=True)
                if part is not None and not bool(torch.isfinite(part).all())
            ]
            if bad:
                begin = f"second derivatives in {bad[0]} are not finite on batch {number}, though the loss is"
                if any(leaf.is_floating_point() and not bool(leaf.isfinite().all()) for leaf in iterate_tensors(batch)):
                    return f"{begin}: the data contain non-finite numbers, so leave those samples out"
                if not roots:
                    return f"{begin}: the weights or the loss overflow"
                return (
                    f"{begin} ({', '.join(roots)}): a norm, a root or a power below 2 has none at zero, so add "
                    "a small number inside it, as in (x.square().sum() + 1e-12).sqrt(); or the weights or the loss "
                    "overflow"
                )
        return "a product with the curvature matrix is not finite: the weights or the loss overflow"

    def _require_repeatable(self, value: Tensor, number: int) -> Tensor:
        """Return a loss after checking that it equals the loss of the first reading, if there was one."""
        if number <= len(self.losses):
            like, one, other = self.parameters[0], self.losses[number - 1], value.item()
            # Not equality: an accelerator may add in another order, with an error relative to what it adds.
            scale = abs(one) if like.device.type == "cpu" else max(1.0, abs(one))
            if not abs(one - other) <= 1e3 * torch.finfo(like.dtype).eps * scale:
                if self.numbers is not None:
                    raise CurvatureError(
                        f"batch {number} has loss {one:.9g} in this process and {other:.9g} in a worker, which gets "
                        "the model, the loss and the data alone: keep what the model or the loss reads in these, such "
                        "as in the targets, and not in a global of a module that data() sets, or leave workers out; or "
                        "the order of the data, the model or the loss is random"
                    )
                raise CurvatureError(
                    f"batch {number} has loss {one:.9g} and then {other:.9g}: the order of the data or the model "
                    "is random, or the loss changes from call to call; fix the order, call model.eval() if dropout is "
                    "on, and draw no noise in forward, for example by torch.randn_like or functional dropout with "
                    "training=True"
                )
        return value
