r"""Hessian, Gauss-Newton matrix and Fisher matrices of a loss over data, by their products with vectors.

With weights $w$ (P of them), outputs $f(x; w)$, $J = \partial f/\partial w$ and a loss $L$ over all samples,

$$\frac{\partial^2 L}{\partial w^2} = J^T \frac{\partial^2 L}{\partial f^2} J
+ \sum_k \frac{\partial L}{\partial f_k} \frac{\partial^2 f_k}{\partial w^2}$$

is the generalised Gauss-Newton matrix (Schraudolph, 2002) and its residual; `hessian.loss.output_curvature` has the
Fisher matrices. One batch keeps its differentiated graph, so a product is one backward pass through it; several
batches are read again for every call, which costs a forward and a backward pass more for each batch, shared by all
vectors of the call. Products are sums over batches (`hessian.operators.shards`), which other processes may hold
(`hessian.operators.data_parallel`).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hessian.lanczos.memory import Budget, give_back
from hessian.loss.batches import Batch, Loss, size_of
from hessian.loss.checked_objective import checked_objective, measure_model_memory, require_block
from hessian.loss.graphs import Block, Layout, Positions
from hessian.loss.model_state import Selection, aliases, match_names, one_at_a_time, owner, require_differentiation
from hessian.loss.output_curvature import MATRICES, Law
from hessian.loss.passed_checks import PassedChecks
from hessian.loss.product_rounding import few_suffice, rounding_on_all
from hessian.loss.routes import warn_one_by_one
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.cross_blocks import CrossBlock
from hessian.operators.data_parallel import RemoteShards, Workers
from hessian.operators.shards import CHANGED, LocalShards, Shards, cut_up
from rmt.results import Result

TOGETHER = 8
"""Vectors that the trial multiplies together."""
SHORT = 100_000
"""Entries of a vector up to which calling an operation takes longer than its arithmetic."""


@dataclass(frozen=True)
class Cost(Result):
    """Cost of products.

    Attributes:
        products: Products with one vector.
        seconds: Wall time of these, graphs included.
        gradient_seconds: Wall time of one gradient over the same data, the best of three.
        check_seconds: Wall time of the checks when the operator was built, of handing it to workers and of the trial if
            there were any, not part of `seconds`.
        together: Vectors multiplied together.
        workers: Processes that multiply; 0 where it is this one.
        fault: Why some vectors were multiplied one at a time though more were asked for; empty if none were.
    """

    products: int
    seconds: float
    gradient_seconds: float
    check_seconds: float
    together: int = 1
    workers: int = 0
    fault: str = ""

    @property
    def gradients(self) -> float:
        """The time in units of one gradient over the same data."""
        return self.seconds / self.gradient_seconds

    @property
    def gradients_with_checks(self) -> float:
        """The time with the checks in units of one gradient over the same data."""
        return (self.seconds + self.check_seconds) / self.gradient_seconds


@dataclass
class _Spent:
    products: int = 0
    seconds: float = 0.0
    gradient_seconds: float = math.nan


class Curvature:
    """The Hessian of a loss over data, or a matrix of its kind, as a symmetric operator.

    The model does not change: its weights, modes, buffers and `.grad` are neither changed nor referred to by a graph,
    and the kept graph is freed with the operator. A kept graph has copies of the data, so memory which NumPy
    writes to later does not change the matrix.

    Threads that measure take turns. Another thread must not train or evaluate the model meanwhile, because the model
    holds copies of its weights while it is evaluated here.

    Attributes:
        samples: Number of samples.
        loss: Value of the loss over all samples.
        unused: Names of parameters that the loss does not depend on; their rows are zero.
        aliases: Other names of parameters that have several, such as tied weights, each with the one among `names`.
        held: Bytes of what is held, by part, where `memory` was given.
    """

    @one_at_a_time()
    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        data: Any,
        *,
        matrix: str = "hessian",
        parameters: Selection = None,
        batch_norm: str | None = None,
        reduction: str | None = None,
        count: Callable[[Batch], int] = size_of,
        keep_graph: bool | None = None,
        vectorize: int | Literal["trial"] = 1,
        law: Law | None = None,
        memory: Budget | int | str | None = None,
        workers: Workers | int | str | Sequence[str] | None = None,
        checks: PassedChecks | None = None,
    ) -> None:
        """Read the data a few times, to weigh the batches and for the checks of `Objective`.

        Args:
            model: Called with the inputs of each batch, or with a mapping's entries as keywords.
            loss: Maps (output, targets) to a scalar; (output, batch) where batches are mappings.
            data: ``(inputs, targets)``, a mapping of tensors, or an iterable of such that can be read repeatedly, such
                as an unshuffled `DataLoader`. Moved to the model's device; floating values take the parameters' dtype.
            matrix: `hessian`, `gauss-newton`, `residual` (the Hessian less the Gauss-Newton matrix), `fisher` (exact,
                of the model's own law) or `empirical-fisher` (of the data's targets); all but the first need one tensor
                as output.
            parameters: Names or patterns, such as ``"layer1.*"``; default: all that require gradients. A tied weight
                has several names.
            batch_norm: `running` or `batch` statistics; needed if batch norm is in training mode. With `batch`, a norm
                that is frozen (in evaluation mode, where another one is not) keeps its running statistics.
            reduction: Whether the loss is a `mean` or a `sum` over samples; default: its own attribute, else `mean`.
                The loss is the mean, or the sum, over the samples of all batches of any sizes. Where there are several
                batches, or this is named, a check verifies that the batches' losses add up to it.
            count: Samples of a batch, where that is not the common length of its tensors; tokens, for instance.
            keep_graph: Keep the differentiated graph; default: for a single resident batch.
            vectorize: Vectors multiplied together by `vmap`, or `trial`: one or eight, the faster one in a short trial,
                so that numbers repeat to rounding only. Products of several are compared with single ones before their
                first use. Where they fail or differ, vectors are multiplied one at a time, with a `RouteWarning`.
            law: Law of targets, for `fisher`: maps the output to a `torch.distributions.Distribution`; default: that of
                the loss, for cross-entropy, squared errors and binary cross-entropy of logits.
            memory: Bytes, or words such as ``6 GiB``, for the checks and for what `held` counts; if it leaves no room
                for checks in double precision, they are in the model's own.
            workers: Workers that multiply: `Workers`, or their argument, a number of processes or devices such as
                ``"cuda:0,cuda:1"``; default: this process. Batches stay whole; a single one is cut along
                dimension 0, where the counts of its parts must add up.
            checks: Checks that have passed, one `PassedChecks` for all matrices of a loop: those of the structure are
                not repeated while code, operations and shapes stay the same; default: all checks.

        Raises:
            CurvatureError: A model, a loss or data whose curvature cannot be taken; the message names cause and remedy.
        """
        if matrix not in MATRICES:
            raise CurvatureError(
                f"matrix must be one of {', '.join(map(repr, MATRICES))}, got {matrix!r}", keywords=("matrix",)
            )
        if law is not None and matrix != "fisher":
            raise CurvatureError(f"law= requires matrix='fisher', got matrix={matrix!r}", keywords=("law", "matrix"))
        if law is not None and not callable(law):
            raise CurvatureError(f"law must be a function of the output, got {law!r}", keywords=("law",))
        if vectorize != "trial" and not (isinstance(vectorize, int) and vectorize >= 1):
            raise CurvatureError(f"vectorize must be at least 1, or 'trial', got {vectorize!r}")
        budget = None if memory is None else Budget.of(memory)
        team = Workers.of(workers)
        data = data if team is None else cut_up(data, team.count, batch_norm, count)
        self._objective = checked_objective(
            model,
            loss,
            data,
            matrix=matrix,
            parameters=parameters,
            batch_norm=batch_norm,
            reduction=reduction,
            count=count,
            law=law,
            budget=budget,
            in_interval=True,
            passed=checks,
        )
        self._passed = checks
        self._matrix = matrix
        self._roundings: dict[Block, float] = {}
        self._names, self._parameters = self._objective.names, self._objective.parameters
        self._positions: Positions = tuple(range(len(self._names)))
        self._layout = Layout.of(self._parameters)
        self.aliases = {other: name for other, name in aliases(model).items() if name in self._names}
        whole = Block(self._positions, self._positions)
        self._faults: dict[Block, CurvatureError | None] = {whole: None}
        self._on_few: dict[Block, float] = {whole: self._objective.rounding}
        self._vectorize, self._extra_seconds, self._trying = 1, 0.0, False
        self.samples, self.loss = self._objective.samples, self._objective.value
        keep = self._objective.batches.resident if keep_graph is None else keep_graph
        self._spent = _Spent()
        self._limited = budget is not None
        if self._limited:
            self._rounding_of(whole)  # before graphs and vectors take their place
        started = time.perf_counter()
        self._shards: Shards
        if team is None:
            self._shards = LocalShards(self._objective, matrix, keep)
            self._spent.seconds += time.perf_counter() - started
        else:
            self._shards = RemoteShards(self._objective, matrix, keep, team)
            self._extra_seconds += time.perf_counter() - started
        self.unused = tuple(name for name, used in zip(self._names, self._objective.used, strict=True) if not used)
        self.held = (
            {} if budget is None else measure_model_memory(model, self._parameters, data) | self._shards.measure_held()
        )
        if vectorize != "trial":
            self._vectorize = vectorize
        else:
            self._try_ways()
        if budget is not None:
            give_back()

    @property
    def P(self) -> int:
        """Number of parameters."""
        return self._layout.total

    @property
    def dtype(self) -> torch.dtype:
        """Type of the parameters."""
        return self._parameters[0].dtype

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return self._parameters[0].device

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the vectors' entries."""
        return self._names

    @property
    def keeps_graph(self) -> bool:
        """Whether products reuse one graph, so several at a time are not faster."""
        return self._shards.keeps_graph

    @property
    def together(self) -> int:
        """Vectors multiplied together, as given or as the trial found."""
        return self._vectorize

    @property
    def chunk(self) -> int:
        """Probes to draw together: those multiplied together; at least 8 if data are streamed or vectors are short."""
        return self._vectorize if self.keeps_graph and self.P > SHORT else max(self._vectorize, TOGETHER)

    @property
    def rounding(self) -> float:
        """Rounding of a product relative to the largest, beyond that of the parameters' type; measured when read."""
        return self._rounding_of(Block(self._positions, self._positions))

    @one_at_a_time()
    def _rounding_of(self, block: Block) -> float:
        """Return the same of a block, on its own scale."""
        self._require_derivatives(block)
        on_few = self._on_few[block]
        if few_suffice(on_few, self.dtype, self._objective.largest) or not self._objective.may_be_double:
            return on_few
        if block not in self._roundings:
            started = time.perf_counter()
            once = not self._limited and self._shards.keeps_graph and len(self._objective.sizes) == 1
            multiply = self._multiply_once if once and not self._shards.workers else None
            found = rounding_on_all(self._objective, self._matrix, *block, multiply)
            self._roundings[block] = max(on_few, found)
            self._extra_seconds += time.perf_counter() - started
        return self._roundings[block]

    def _multiply_once(self, rows: Sequence[int], columns: Sequence[int], vector: Tensor) -> Tensor:
        """Multiply a block by a vector, which does not count as a product."""
        return self._shards.products(Block(tuple(rows), tuple(columns)), vector[None], 1)[0]

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P).

        Raises:
            CurvatureError: Vectors of another type, shape, dtype or device, or weights that were changed since.
        """
        return self._products(vectors, self._layout.total, Block(self._positions, self._positions))

    def products_in_place(self, rows: Tensor) -> Tensor:
        """Multiply the matrix by each row, in place."""
        return self._products(rows, self._layout.total, Block(self._positions, self._positions), rows)

    def prepare(self, together: int = 1) -> None:
        """Make the checks that precede the first product, so what they hold is not counted as a product's.

        Args:
            together: Vectors that will be given at a time.

        Raises:
            CurvatureError: The products of this block are not second derivatives.
        """
        block = Block(self._positions, self._positions)
        self._require_derivatives(block)
        if self._limited:
            self._rounding_of(block)
        if (count := min(together, self._vectorize)) > 1:
            self._shards.products(block, torch.zeros((count, self.P), dtype=self.dtype, device=self.device), count)

    def why_not_finite(self) -> str:
        """Describe why a product is not finite."""
        return self._objective.why_not_finite(self._matrix)

    def peak_elsewhere(self, vectors: Tensor) -> int:
        """Return the bytes that workers hold on the parameters' device at the peak of products with these vectors."""
        return self._shards.peak_elsewhere(Block(self._positions, self._positions), vectors, self._vectorize)

    @one_at_a_time()
    def _products(self, vectors: Tensor, width: int, block: Block, into: Tensor | None = None) -> Tensor:
        """Multiply a block of the matrix by each vector, (k, width) to (k, rows), into new rows or given ones."""
        if not isinstance(vectors, Tensor):
            raise CurvatureError(f"expected vectors as a tensor, got a value of type {type(vectors).__name__}")
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise CurvatureError(f"expected vectors of shape (k, {width}), got {tuple(vectors.shape)}")
        if vectors.dtype != self.dtype or vectors.device != self.device:
            raise CurvatureError(
                f"expected vectors in {self.dtype} on {self.device}, got {vectors.dtype} on {vectors.device}"
            )
        self._objective.model.require_unchanged()
        self._require_derivatives(block)
        started = time.perf_counter()
        known = self._shards.fault
        try:
            answer = self._shards.products(block, vectors, self._vectorize, into)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            raise CurvatureError(CHANGED) from error
        if self._shards.fault and not known and not self._trying:
            warn_one_by_one(self._shards.fault, f"vectorize={self._vectorize}")
        self._spent.products += len(vectors)
        self._spent.seconds += time.perf_counter() - started
        return answer

    def _require_derivatives(self, block: Block) -> None:
        """Test a block before its first product: what is small next to the whole matrix is not seen in that."""
        if block not in self._faults:
            require_differentiation()  # before a fault is kept
            started = time.perf_counter()
            fault, rounding = None, 0.0
            used = self._objective.used
            if all(any(used[i] for i in positions) for positions in block):
                known, found = self._passed, self._objective.fingerprint
                try:
                    has_passed = known is not None and known.knows_block(found, block)
                    rounding = require_block(self._objective, self._matrix, block, has_passed)
                    if known is not None:
                        known.remember_block(found, block)
                except CurvatureError as error:
                    fault = error
            transposed = Block(block.columns, block.rows)
            self._faults |= {block: fault, transposed: fault}
            self._on_few |= {block: rounding, transposed: rounding}
            self._extra_seconds += time.perf_counter() - started
        if (fault := self._faults[block]) is not None:
            raise fault

    def __matmul__(self, vector: Tensor) -> Tensor:
        """Multiply the matrix by a vector (P,), or by the columns of (P, k)."""
        return self.products(vector[None])[0] if vector.ndim == 1 else self.products(vector.T.contiguous()).T

    def block(self, parameters: Selection) -> Curvature:
        """Return the diagonal block of some of the parameters; it shares graph and data, and counts its own cost.

        Its derivatives are tested before its first product, which raises where they are wrong.

        Raises:
            CurvatureError: A pattern that matches none of them.
        """
        kept = self._choose(parameters)
        part = copy.copy(self)
        part._names = tuple(self._names[i] for i in kept)
        part._parameters = tuple(self._parameters[i] for i in kept)
        part._positions = tuple(self._positions[i] for i in kept)
        part._layout = Layout.of(part._parameters)
        part.aliases = {other: name for other, name in self.aliases.items() if name in part._names}
        part.unused = tuple(name for name in self.unused if name in part._names)
        part._spent, part._extra_seconds = _Spent(), 0.0
        return part

    def between(self, rows: Selection, columns: Selection) -> CrossBlock:
        """Return the block of some parameters by others, off the diagonal; it shares graph and data, costs count here.

        Its derivatives are tested before its first product, which raises where they are wrong.

        Raises:
            CurvatureError: A pattern that matches none of the parameters, or a parameter in both.
        """
        down, across = self._choose(rows), self._choose(columns)
        if both := set(down) & set(across):
            raise CurvatureError(
                f"an off-diagonal block needs disjoint parameters, but {self._names[min(both)]} is in both: use "
                f"block() for a diagonal block"
            )
        row_names, column_names = (tuple(self._names[i] for i in chosen) for chosen in (down, across))
        height, width = (sum(self._parameters[i].numel() for i in chosen) for chosen in (down, across))
        ends = tuple(tuple(self._positions[i] for i in chosen) for chosen in (down, across))

        def times(vectors: Tensor) -> Tensor:
            return self._products(vectors, width, Block(*ends))

        def transposed(vectors: Tensor) -> Tensor:
            return self._products(vectors, height, Block(*ends[::-1]))

        def rounding() -> float:
            return self._rounding_of(Block(*ends))

        return CrossBlock(
            row_names, column_names, (height, width), self.dtype, self.device, times, transposed, rounding
        )

    def blocks(self, depth: int | None = None) -> dict[str, Curvature]:
        """Return a diagonal block per module that owns parameters, or per module at a depth, as ``layer1`` at 1.

        Each parameter is in one block. One with several names is in that of its name among `names`; `aliases` has the
        others. `block` takes a module with all that it holds.

        Raises:
            CurvatureError: A depth that is not a whole number of at least 1.
        """
        whole = isinstance(depth, Integral) and not isinstance(depth, bool)
        if depth is not None and not (whole and depth >= 1):
            raise CurvatureError(
                f"depth must be a whole number of at least 1, got {depth!r}; leave it out for a block per module",
                keywords=("depth",),
            )
        owners: dict[str, list[str]] = {}
        for name in self._names:
            place = owner(name)
            owners.setdefault(".".join(place.split(".")[:depth]), []).append(name)
        return {place: self.block(names) for place, names in owners.items()}

    def cost(self, gradient_seconds: float | None = None) -> Cost:
        """Return the cost of this operator's products so far; takes three gradients the first time for a structure.

        Args:
            gradient_seconds: Time of one gradient, if it is known from a matrix of the same structure.
        """
        if gradient_seconds is not None:
            self._spent.gradient_seconds = gradient_seconds
        if math.isnan(self._spent.gradient_seconds):
            self._spent.gradient_seconds = self._seconds_of_a_gradient()
        checks = self._objective.check_seconds + self._extra_seconds
        return Cost(
            self._spent.products,
            self._spent.seconds,
            self._spent.gradient_seconds,
            checks,
            self._vectorize,
            self._shards.workers,
            self._shards.fault,
        )

    def _try_ways(self) -> None:
        """Choose between one vector at a time and several by the time for each; the best of three counts."""
        started, spent = time.perf_counter(), self._spent
        self._trying = True
        best: dict[int, float] = {}
        for together in (1, TOGETHER):
            self._vectorize, self._spent = together, _Spent()
            vectors = torch.ones((together, self.P), dtype=self.dtype, device=self.device)
            try:
                for attempt in range(4):
                    before = self._spent.seconds
                    self.products(vectors)
                    if attempt:  # the first call is slower than all that follow
                        each = (self._spent.seconds - before) / together
                        best[together] = min(best.get(together, math.inf), each)
            except RuntimeError:  # no memory for so many
                if together == 1:
                    raise
        if self._shards.fault:
            best = {1: best[1]}
        self._vectorize, self._spent = min(best, key=lambda together: best[together]), spent
        self._trying = False
        self._extra_seconds += time.perf_counter() - started

    def _choose(self, parameters: Selection) -> list[int]:
        """Return the positions of parameters among the names."""
        if parameters is None:
            return list(range(len(self._names)))
        chosen = set(match_names(self._names, parameters, self.aliases))
        return [place for place, name in enumerate(self._names) if name in chosen]

    def _seconds_of_a_gradient(self) -> float:
        """Return the time of a gradient, the best of three, or that of an earlier matrix of the same structure."""
        whole = len(self._positions) == len(self._objective.parameters) and not self._shards.workers
        passed = self._passed if whole else None
        known = None if passed is None else passed.gradient_seconds(self._objective.fingerprint)
        if known is None:
            known = min(self._time_gradient() for _ in range(3))
            if passed is not None:
                passed.remember_gradient(self._objective.fingerprint, known)
        return known

    def _time_gradient(self) -> float:
        started = time.perf_counter()
        self._shards.gradients(self._positions)
        return time.perf_counter() - started
