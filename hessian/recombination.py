r"""Whether the losses of batches make up the loss over all samples: by parts of batches, and by parts put together.

A mean over independent samples (or tokens) satisfies $c L = c_1 L_1 + c_2 L_2$ for the counts c of any two parts and
of both together, and a sum $L = L_1 + L_2$; so do the derivatives. Every batch is cut unequally, and the tail of each
is joined to the head of the next: class weights, ignored targets and the like show in one of these, whatever the order
of the samples. The values and the gradients are compared on all of them, and one product with the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hessian.batches import Batch, as_dtype, counted, cut, joined, loss_of, rows_of
from hessian.differentiation import exact_algebra, gradients_of
from hessian.graphs import flat
from hessian.symmetric import CurvatureError

if TYPE_CHECKING:
    from hessian.objective import Objective

TOLERANCE = 1e-6
"""Relative difference in double precision below which two losses or gradients are the same."""


class _UnlikeError(Exception):
    """Things that cannot be compared, with the reason."""


@dataclass(frozen=True, eq=False)
class Recombination:
    """The check.

    Attributes:
        objective: Loss and data.
        mean: The loss is said to be a mean, else a sum.
        count: Samples of a batch.
        needed: Something rests on it, so that a test that cannot be made needs somebody's word.
        vouched: The user has said what the loss is, where it cannot be tested.
        coupled: The model couples the samples of a batch, and is meant to: the loss alone is tested, on its outputs.
    """

    objective: Objective
    mean: bool
    count: Callable[[Batch], int]
    needed: bool
    vouched: bool
    coupled: bool

    def require(self) -> None:
        """Compares all batches.

        Raises:
            CurvatureError: The loss over all samples is not what the losses of the batches give; or that cannot be
                tested, and nobody has vouched for it.
        """
        doubts: list[str] = []
        tail = None
        for number, batch in enumerate(self.objective.moved(), start=1):
            whole = {"batch": batch}
            if self.coupled:
                with torch.no_grad():
                    whole["output"] = self.objective.output(batch)
            rows = rows_of(whole)
            if rows is None:
                doubts.append(f"the tensors of batch {number} have several lengths")
                tail = None
                continue
            # Unequal parts, so that no symmetry helps a loss that is neither a mean nor a sum.
            at = (rows + 2) // 3 if rows > 1 else rows
            head = cut(whole, slice(at))
            try:
                if rows > 1:
                    self._compare(whole, [head, cut(whole, slice(at, None))], number, number == 1)
                if tail is not None:
                    self._compare(self._joined(tail, head), [tail, head], number, number == 2)
            except _UnlikeError as doubt:
                doubts.append(str(doubt))
            tail = cut(whole, slice(at, None)) if rows > 1 else whole
        if doubts and self.needed and not self.vouched:
            raise CurvatureError(
                f"whether the losses of the batches make up the loss over all samples cannot be tested ({doubts[0]}): "
                "name reduction='mean' or 'sum', or count= for a mean over tokens, to say what the loss is"
            )

    def _joined(self, tail: Any, head: Any) -> Any:
        try:
            return joined(tail, head)
        except (ValueError, RuntimeError) as error:
            raise _UnlikeError(f"samples of two batches cannot be put into one, {error}") from error

    def _compare(self, whole: Any, parts: list[Any], number: int, second: bool) -> None:
        """Compares in the parameters' dtype, and where that leaves a doubt, in double precision."""
        counts = [self._counted(part) for part in parts]
        total = self._counted(whole)
        if sum(counts) != total:
            raise CurvatureError(
                f"count gives {total} for samples of batch {number}, and {' and '.join(map(str, counts))} for two "
                "parts of them: it must add up"
            )
        if total == 0:
            return
        pairs = [(part, count) for part, count in zip(parts, counts, strict=True) if count]
        used = [count for _, count in pairs]
        own = self.objective.parameters
        dtype = own[0].dtype
        found = [self._features(one, number, own, second) for one in (whole, *(part for part, _ in pairs))]
        allowed = TOLERANCE if dtype == torch.float64 else 1e3 * torch.finfo(dtype).eps
        if _agree(found[0], found[1:], used, total, self.mean, allowed):
            return
        if dtype != torch.float64:
            double = [p.detach().double().requires_grad_() for p in own]
            try:
                items = [as_dtype(one, torch.float64) for one in (whole, *(part for part, _ in pairs))]
                found = [self._features(one, number, double, second) for one in items]
                allowed = TOLERANCE
            except _UnlikeError:  # some tensor does not become double; rounding of a near fit is absolute
                allowed = 1e-2
            if _agree(found[0], found[1:], used, total, self.mean, allowed):
                return
        told = f"{float(found[0][0]):.6g} on {total} samples of batch {number}"
        told += f", {' and '.join(f'{float(part[0]):.6g}' for part in found[1:])} on {' and '.join(map(str, used))}"
        told += " of them" if len(used) > 1 else ""
        word = "mean" if self.mean else "sum"
        if _agree(found[0], found[1:], used, total, not self.mean, allowed):
            other = "sum" if self.mean else "mean"
            raise CurvatureError(
                f"the loss is a {other} over samples, not a {word}: {told}; say reduction={other!r} (on the command "
                f"line --reduction {other}), or use a loss that is a {word}"
            )
        raise CurvatureError(
            f"the loss is not a {word} over independent samples: {told}. Class weights and ignored or padded targets "
            "make it a mean over something else: give count= with what it divides by (on the command line --count "
            "module:function), or reduction='sum' with a loss that sums; a model must not couple the samples of a "
            "batch; or pass all data as one batch, to one process"
        )

    def _counted(self, item: Any) -> int:
        return counted(self.count, item["batch"], 0) if rows_of(item["batch"]) else 0

    def _features(self, item: Any, number: int, at: Sequence[Tensor], second: bool) -> list[Tensor]:
        """Value, gradient, and if asked one product with the Hessian."""
        batch = item["batch"]
        try:
            with torch.enable_grad():
                if not self.coupled:
                    variables = list(at)
                    value = self.objective.batch_loss(batch, number, at)
                else:
                    output = item["output"]
                    if not isinstance(output, Tensor):
                        raise _UnlikeError("the output is not one tensor")
                    shift = torch.zeros_like(output[:1], requires_grad=True)  # of the outputs of all samples
                    variables = [shift]
                    value = self.objective.model.run(
                        lambda: loss_of(self.objective.loss, output + shift, batch, number), at
                    )
                return [value.detach().double(), *_derivatives(value, variables, second)]
        except CurvatureError as error:
            raise CurvatureError(
                f"{error}, for some of its samples alone: where targets are ignored, give count= with the number of "
                "those that are not (on the command line --count module:function)"
            ) from error
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError) as error:
            raise _UnlikeError(
                f"the model or the loss fails on other batches, {' '.join(str(error).split())[:120]}"
            ) from error


def _derivatives(value: Tensor, variables: list[Tensor], second: bool) -> list[Tensor]:
    if not value.requires_grad:
        return []
    gradients = gradients_of(value, variables, create_graph=second, allow_unused=True)
    found = [flat(gradients, variables)]
    if second and found[0].requires_grad:
        ramp = torch.linspace(-1.0, 1.5, len(found[0]), dtype=found[0].dtype, device=found[0].device)
        with exact_algebra():
            slope = found[0] @ ramp
        found.append(flat(gradients_of(slope, variables, allow_unused=True), variables))
    return [one.detach() for one in found]


def _agree(
    whole: list[Tensor], parts: list[list[Tensor]], counts: list[int], total: int, mean: bool, allowed: float
) -> bool:
    """Whether the parts make up the whole, in all features."""
    shares = [count / total if mean else 1.0 for count in counts]
    for place, target in enumerate(whole):
        terms = [share * part[place].double() for share, part in zip(shares, parts, strict=True)]
        size = max(float(torch.linalg.vector_norm(term)) for term in (target.double(), *terms))
        if not float(torch.linalg.vector_norm(target.double() - sum(terms))) <= allowed * size:
            return False
    return True
