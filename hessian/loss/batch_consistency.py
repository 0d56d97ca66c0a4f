r"""Checks that the batch losses add up to the loss over all samples, by cutting batches and joining the parts.

A mean over independent samples (or tokens) satisfies $c L = c_1 L_1 + c_2 L_2$ for the counts c of any two parts and
of both together, and a sum $L = L_1 + L_2$; so do the derivatives. Every batch is cut unequally, and the tail of each
is joined to the head of the next: class weights, ignored targets and the like show in one of these, in any order
of the samples. The values and the gradients are compared on all of them, and one product with the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from hessian.loss.batches import Batch, as_dtype, count_samples, detach_tensors, join, loss_of, rows_of, take_rows
from hessian.loss.factories import USER_ERRORS
from hessian.loss.graphs import HessianGraph, Layout
from hessian.loss.objective import Objective
from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import Vector, detach_parts, norm_of, sizes_of, subtract

TOLERANCE = 1e-6
"""Relative difference in double precision below which two losses or gradients are the same."""

_TURN = "by x.transpose(0, 1) or x[None], and let the model turn them back"


class _UnlikeError(Exception):
    """The parts cannot be compared; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class BatchConsistency:
    """The check that batch losses add up.

    Attributes:
        objective: Loss and data.
        mean: The loss is said to be a mean, else a sum.
        count: Samples of a batch.
        needed: Something rests on it, so a test that cannot be made needs somebody's word.
        vouched: The user has said what the loss is, where it cannot be tested.
        coupled: The model couples the samples of a batch, and is meant to: the loss alone is tested, on its outputs.
        named: The reduction is named, so the count need not be one of rows.
        by_rows: Each row is a sample of its own in the result, so the count has to be one of rows.
        several: There are several batches.
        offered: Keywords by which the user can say what the loss is: of `count` and `reduction`.
    """

    objective: Objective
    mean: bool
    count: Callable[[Batch], int]
    needed: bool
    vouched: bool
    coupled: bool
    named: bool = False
    by_rows: bool = False
    several: bool = True
    offered: Sequence[str] = ("count", "reduction")

    def require(self) -> None:
        """Compare all batches.

        Raises:
            CurvatureError: The loss over all samples is not what the losses of the batches give; or that cannot be
                tested, and nobody has vouched for it.
        """
        doubts: list[str] = []
        tail = None
        for number, batch in enumerate(self.objective.move_batches(), start=1):
            whole = {"batch": batch}
            if self.coupled:
                with torch.enable_grad():
                    whole["output"] = detach_tensors(self.objective.output(batch))
            rows = rows_of(whole)
            if rows is None:
                doubts.append(f"the tensors of batch {number} have several lengths")
                tail = None
                continue
            # Unequal parts, so that no symmetry helps a loss that is neither a mean nor a sum.
            at = (rows + 2) // 3 if rows > 1 else rows
            head = take_rows(whole, slice(at))
            try:
                if rows > 1:
                    self._compare(whole, [head, take_rows(whole, slice(at, None))], number, number == 1)
                if tail is not None:
                    self._compare(self._join(tail, head), [tail, head], number, number == 2)
            except _UnlikeError as doubt:
                doubts.append(str(doubt))
            tail = take_rows(whole, slice(at, None)) if rows > 1 else whole
        if doubts and self.needed and not self.vouched:
            ways = ["name reduction='mean' or reduction='sum'"] if "reduction" in self.offered else []
            ways += ["count= for a mean over tokens"] if "count" in self.offered else []
            remedy = f"{', or '.join(ways)}, to define the loss" if ways else "pass all data as one batch"
            raise CurvatureError(
                "cannot test whether the losses of the batches add up to the loss over all samples "
                f"({doubts[0]}): {remedy}",
                keywords=self.offered,
            )

    def _join(self, tail: Any, head: Any) -> Any:
        try:
            return join(tail, head)
        except (ValueError, RuntimeError) as error:
            raise _UnlikeError(f"samples of two batches cannot be joined into one, {error}") from error

    def _compare(self, whole: Any, parts: list[Any], number: int, second: bool) -> None:
        """Compare in the parameters' dtype, and if that leaves a doubt, in double precision."""
        counts = [self._count(part) for part in parts]
        total = self._count(whole)
        if sum(counts) != total:
            found = f"{total} for batch {number}, and {' and '.join(map(str, counts))} for two parts of its rows"
            if self.by_rows:
                raise CurvatureError(
                    f"count must be additive: it gives {found}. Each row is a sample here, so put the "
                    f"samples along dimension 0, {_TURN}",
                    keywords=("count",),
                )
            if self.named:
                raise _UnlikeError(f"count is not additive over rows: {found}")
            raise CurvatureError(
                f"count must be additive: it gives {found}. If dimension 0 does not index the samples, as in "
                f"time-first batches or with one sequence for all items, name reduction='mean' or reduction='sum' "
                f"next to count=, "
                "because parts of the samples then cannot be compared",
                keywords=("count", "reduction"),
            )
        if total == 0:
            return
        items = [whole, *(part for part, count in zip(parts, counts, strict=True) if count)]
        used = [count for count in counts if count]
        at: Sequence[Tensor] = self.objective.parameters
        dtype = at[0].dtype

        def agree(mean: bool, allowed: float) -> tuple[bool, list[float]]:
            shares = [count / total if mean else 1.0 for count in used]
            losses, gaps = self._gaps(items, shares, number, at, second)
            if not all(isfinite(gap) for gap, _ in gaps):
                raise CurvatureError(self.objective.why_not_finite())
            return all(gap <= allowed * size for gap, size in gaps), losses

        allowed = TOLERANCE if dtype == torch.float64 else 1e3 * torch.finfo(dtype).eps
        agreed, losses = agree(self.mean, allowed)
        if not agreed and dtype != torch.float64:
            single = items, at
            try:
                items = [as_dtype(one, torch.float64) for one in items]
                at = [p.detach().double().requires_grad_() for p in at]
                agreed, losses = agree(self.mean, TOLERANCE)
                allowed = TOLERANCE
            except _UnlikeError:  # some tensor does not become double; rounding of a near fit is absolute
                items, at = single
                allowed = 1e-2
                agreed, losses = agree(self.mean, allowed)
        if agreed:
            return
        shown = f"{losses[0]:.6g} on {total} samples of batch {number}"
        shown += f", {' and '.join(f'{one:.6g}' for one in losses[1:])} on {' and '.join(map(str, used))}"
        shown += " of them" if len(used) > 1 else ""
        word = "mean" if self.mean else "sum"
        if agree(not self.mean, allowed)[0]:
            other = "sum" if self.mean else "mean"
            say = f"say reduction={other!r}, or " if "reduction" in self.offered else ""
            raise CurvatureError(
                f"the loss is a {other} over samples, not a {word}: {shown}; {say}use a loss that is a {word}",
                keywords=("reduction",),
            )
        raise CurvatureError(
            f"the loss is not a {word} over independent samples: {shown}. Class weights and ignored or padded targets "
            f"make it a mean over something else: {', or '.join(self._ways())}; a model must not couple the samples of "
            f"a batch{self._whole()}. Samples are along dimension 0: of time-first batches or single sequences, put "
            f"the samples there, {_TURN}{self._elsewhere()}",
            keywords=("count", "reduction"),
        )

    def _ways(self) -> list[str]:
        """Return in words how a loss that divides by something else than its samples can be measured."""
        ways = ["give count= with the number that it divides by"] if "count" in self.offered else []
        ways += ["name reduction='sum' with a loss that sums"] if "reduction" in self.offered else []
        ways += ["leave samples with ignored targets out of the data"] if self.by_rows else []
        return ways or ["measure Curvature, which takes count= and reduction="]

    def _whole(self) -> str:
        """Return in words how a loss of all samples together can be measured; empty if it cannot."""
        if self.by_rows or (self.named and "reduction" not in self.offered):
            return ""
        if self.several:
            return "; or pass all data as one batch, to one process"
        return "; or leave out reduction= to take the loss of the only batch as it is"

    def _elsewhere(self) -> str:
        """Return in words how samples along another dimension can be counted; empty if they cannot."""
        if self.by_rows or len(self.offered) < 2:
            return ""
        return "; or name both count=, a function that counts the samples of a batch, and reduction="

    def _count(self, item: Any) -> int:
        return count_samples(self.count, item["batch"], 0) if rows_of(item["batch"]) else 0

    def _gaps(
        self, items: list[Any], shares: list[float], number: int, at: Sequence[Tensor], second: bool
    ) -> tuple[list[float], list[tuple[float, float]]]:
        """Return the losses of a whole and of its parts, and for each feature the mismatch and its scale."""
        loss, missing = self._features(items[0], number, at, second)
        losses, sizes = [loss], [norm_of(sizes_of(each)) for each in missing]
        for item, share in zip(items[1:], shares, strict=True):
            loss, found = self._features(item, number, at, second)
            losses.append(loss)
            for place, (rest, each) in enumerate(zip(missing, found, strict=True)):
                sizes[place] = max(sizes[place], share * norm_of(sizes_of(each)))
                subtract(rest, each, share)
                each.clear()  # before the next ones are made
        gaps = [(norm_of(sizes_of(rest)), size) for rest, size in zip(missing, sizes, strict=True)]
        terms = [share * one for share, one in zip(shares, losses[1:], strict=True)]
        return losses, [(abs(losses[0] - sum(terms)), max(map(abs, (losses[0], *terms)))), *gaps]

    def _features(self, item: Any, number: int, at: Sequence[Tensor], second: bool) -> tuple[float, list[Vector]]:
        """Return the value and, as vectors in parts, the gradient and if asked one product with the Hessian."""
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
                return float(value.detach()), _derivatives(value, variables, second)
        except CurvatureError as error:
            raise CurvatureError(
                f"{error}, for only some of its samples: if targets are ignored, {', or '.join(self._ways())}",
                keywords=("count", "reduction"),
            ) from error
        except USER_ERRORS as error:
            raise _UnlikeError(
                f"the model or the loss fails on other batch sizes, {' '.join(str(error).split())[:120]}"
            ) from error


def _derivatives(value: Tensor, variables: list[Tensor], second: bool) -> list[Vector]:
    if not value.requires_grad:
        return [[None] * len(variables) for _ in range(1 + second)]
    gradients = gradients_of(value, variables, create_graph=second, allow_unused=True)
    found = [detach_parts(gradients)]
    if second:
        layout = Layout.of(variables)
        like = variables[0]
        ramp = torch.linspace(-1.0, 1.5, layout.total, dtype=like.dtype, device=like.device)
        graph = HessianGraph(tuple(variables), gradients)
        found.append(detach_parts(graph.product(layout.parts(ramp[None]), False, last=True)))
    return found
