"""Products of a curvature matrix, summed over shards of the data.

`LocalShards` multiplies the shards of this process. `hessian.operators.data_parallel` sends shards to workers, each of
which has `LocalShards` of its own. Vectors have the entries of some parameters, given by their positions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Protocol

import torch
from torch import Tensor

from hessian.loss.batches import Batch, Batches, count_samples, iterate_tensors, rows_of, take_rows, why_not_additive
from hessian.loss.graphs import Block, Graph, Layout, Positions, separate_from
from hessian.loss.objective import Objective
from hessian.loss.routes import draw_rows, fault_of, weigh
from hessian.numerics.live_bytes import measure_memory
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import detach_parts

CHANGED = "the data or the model were changed in place after the operator was built; build it again"
Group = tuple[slice, Sequence[Tensor]]
"""Some of the vectors: their rows, and their parts."""


class Shards(Protocol):
    """A matrix as a sum over shards of the data."""

    @property
    def workers(self) -> int:
        """Number of workers that hold shards; 0 if they are in this process."""
        ...

    @property
    def keeps_graph(self) -> bool:
        """Whether products reuse differentiated graphs."""
        ...

    @property
    def fault(self) -> str:
        """Why some vectors are multiplied one at a time though more were asked for; empty if none are."""
        ...

    def products(self, block: Block, vectors: Tensor, together: int, into: Tensor | None = None) -> Tensor:
        """Multiply a block by each vector, (k, columns) to (k, rows), so many together, into new or given rows."""
        ...

    def gradients(self, by: Positions) -> None:
        """Compute the gradient of every shard by some parameters, and discard it."""
        ...

    def measure_held(self) -> dict[str, int]:
        """Return the bytes of graphs, and of all that workers hold on the parameters' device."""
        ...

    def peak_elsewhere(self, block: Block, vectors: Tensor, together: int) -> int:
        """Return the further bytes that workers hold on the parameters' device at the peak of products."""
        ...


class LocalShards:
    """Shards of the data in this process, one for each batch.

    Attributes:
        objective: The loss over the shards.
        workers: 0, since no other process holds shards.
        fault: Why some vectors are multiplied one at a time though more were asked for; empty if none are.
    """

    workers = 0
    fault = ""

    def __init__(self, objective: Objective, matrix: str, keep: bool) -> None:
        """Build the graphs that are kept.

        Args:
            objective: The loss.
            matrix: One of `hessian.loss.output_curvature.MATRICES`.
            keep: Keep all graphs, with copies of the data, so they do not change with the user's memory.
        """
        self.objective, self._matrix = objective, matrix
        self._layouts: dict[Positions, Layout] = {}
        self._shapes: dict[int, Hashable] = {}
        self._routes: dict[tuple[Block, int], int] = {}
        self._faults: dict[Hashable, str] = {}
        self._every = tuple(range(len(objective.parameters)))
        source = objective.batches.source
        given = iterate_tensors(source) if keep and isinstance(source, Sequence) else ()
        self._versions = [(leaf, leaf._version) for leaf in given if not leaf.is_inference()]
        self._graphs: list[Graph] | None = list(self._build(self._every, copied=True)) if keep else None

    @property
    def keeps_graph(self) -> bool:
        """Whether products reuse differentiated graphs."""
        return self._graphs is not None

    def products(self, block: Block, vectors: Tensor, together: int, into: Tensor | None = None) -> Tensor:
        """Multiply a block by each vector, (k, columns) to (k, rows), so many vectors together.

        Args:
            block: The block.
            vectors: The vectors.
            together: How many are multiplied at a time.
            into: Rows for the answer, which may be the vectors; default: new ones.

        Raises:
            CurvatureError: The data were written to, or their losses are others.
        """
        if any(leaf._version != version for leaf, version in self._versions):
            raise CurvatureError(CHANGED)
        columns, rows = self._layout(block.columns), self._layout(block.rows)
        groups: list[Group] = [
            (slice(first, first + together), columns.parts(vectors[first : first + together]))
            for first in range(0, len(vectors), together)
        ]
        once = len(self.objective.weights if self._graphs is None else self._graphs) == 1
        answer = into if into is not None and once else vectors.new_empty(len(vectors), rows.total)
        begun, place = False, 0
        for graph in self._graphs_of(block):
            usable = [*self._usable(graph, place, block, groups, vectors)]
            for number, (group, parts) in enumerate(usable, start=1):
                last = number == len(usable) and not self.keeps_graph
                found = graph.product(parts, len(answer[group]) > 1, last=last)
                if answer is into:
                    separate_from(found, answer)
                rows.write(found, answer[group], add=begun)
            del graph  # before the next is built, because both would otherwise be in memory
            begun, place = True, place + 1
        self._wait()
        return answer if into is None or answer is into else into.copy_(answer)

    def _usable(self, graph: Graph, place: int, block: Block, groups: list[Group], vectors: Tensor) -> Iterator[Group]:
        """Yield the groups, and one vector at a time those whose products at once are not those one by one."""
        columns = self._layout(block.columns)
        for group, parts in groups:
            rows = range(*group.indices(len(vectors)))
            if len(rows) == 1 or not self._fault_of(graph, place, block, len(rows)):
                yield group, parts
            else:
                yield from ((slice(row, row + 1), columns.parts(vectors[row : row + 1])) for row in rows)

    def _fault_of(self, graph: Graph, place: int, block: Block, count: int) -> str:
        """Return what is wrong with products of so many vectors with such a graph, compared once for each route."""
        here = block, place
        if here not in self._routes or not self.keeps_graph:
            self._routes[here] = graph.route
        key = block, count, self._shapes[place], self._routes[here]
        if key not in self._faults:
            columns = [self.objective.parameters[i] for i in block.columns]
            drawn = draw_rows(columns, count)
            self._faults[key] = fault_of(
                lambda: detach_parts(graph.product(drawn, True)),
                lambda weights: detach_parts(graph.product(weigh(drawn, weights), False)),
                count,
                columns[0],
            )
            self.fault = self.fault or self._faults[key]
        return self._faults[key]

    def gradients(self, by: Positions) -> None:
        """Compute the gradient of every shard by some parameters, and discard it."""
        objective = self.objective
        parameters = [objective.parameters[i] for i in by]
        for number, _, batch in objective.weighted_batches():
            objective.gradient(batch, number, parameters)
        self._wait()

    def measure_held(self) -> dict[str, int]:
        """Return the bytes of graphs; kept graphs are built again instead of the first ones."""
        if self._graphs is None:
            return {"graph": 0}
        self._graphs = None
        self._graphs, held = measure_memory(lambda: list(self._build(self._every, copied=True)), self._device)
        return {"graph": held.left}

    def peak_elsewhere(self, block: Block, vectors: Tensor, together: int) -> int:
        """Return 0, because all shards are in this process."""
        return 0

    @property
    def _device(self) -> torch.device:
        return self.objective.parameters[0].device

    def _layout(self, positions: Positions) -> Layout:
        if positions not in self._layouts:
            self._layouts[positions] = Layout.of([self.objective.parameters[i] for i in positions])
        return self._layouts[positions]

    def _graphs_of(self, block: Block) -> Iterable[Graph]:
        """Return graphs of a block; its positions refer to the parameters by which the graphs were built."""
        if self._graphs is not None:
            whole = block == (self._every, self._every)
            return self._graphs if whole else (graph.restrict(*block) for graph in self._graphs)
        if block.rows == block.columns:
            return self._build(block.rows)
        by = tuple(sorted({*block.rows, *block.columns}))
        rows, columns = ([by.index(i) for i in positions] for positions in block)
        # The variable of a generator would hold each graph while the next is built.
        return map(lambda graph: graph.restrict(rows, columns), self._build(by))  # noqa: C417

    def _build(self, by: Positions, copied: bool = False) -> Iterator[Graph]:
        objective = self.objective
        parameters = [objective.parameters[i] for i in by]
        for place, (number, weight, batch) in enumerate(objective.weighted_batches(copied)):
            self._shapes[place] = tuple(leaf.shape for leaf in iterate_tensors(batch))
            yield objective.graph(batch, number, weight, self._matrix, by=parameters)

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)


def cut_up(data: Any, workers: int, batch_norm: str | None, count: Callable[[Batch], int]) -> Batches:
    """Read data as batches for workers; a single batch is cut along dimension 0, into one batch for each worker.

    Args:
        data: Data as `Batches.of` takes them.
        workers: Number of workers; fewer pieces are cut where a batch has fewer samples that count, or where the counts
            of so many pieces do not add up.
        batch_norm: `batch` couples the samples of a batch.
        count: Samples of a batch.

    Raises:
        CurvatureError: A single batch that cannot be cut.
    """
    batches = Batches.of(data)
    if not batches.resident or workers == 1:
        return batches
    (batch,) = batches.source
    why = ""
    if batch_norm == "batch":
        why = "batch norm couples the samples of a batch"
    elif (rows := rows_of(batch)) is None:
        why = "its tensors have several lengths"
    else:
        for number in range(min(workers, rows), 1, -1):
            shards = [take_rows(batch, slice(rows * i // number, rows * (i + 1) // number)) for i in range(number)]
            if fault := why_not_additive(count, batch, shards):
                why = fault
            elif all(count_samples(count, piece, 0) for piece in shards):
                return Batches(shards, resident=True)
    if why:
        raise CurvatureError(
            f"the only batch cannot be divided among {workers} workers, because {why}: pass several batches, or leave "
            "workers= out",
            keywords=("workers", "count"),
        )
    return batches


def shares_of(sizes: list[int], workers: int) -> list[range]:
    """Return the numbers of consecutive batches, from 1, for each worker, with samples as equal as possible.

    Args:
        sizes: Samples of each batch.
        workers: Number of workers; no more get a share than there are batches.
    """
    number = min(workers, len(sizes))
    ends = list(accumulate(sizes))
    bounds = [0]
    for share in range(1, number):
        ideal = ends[-1] * share / number
        place = bisect_left(ends, ideal)
        below = ends[place - 1] if place else 0
        nearest = place + 1 if ends[place] - ideal <= ideal - below else place
        bounds.append(min(max(nearest, bounds[-1] + 1), len(sizes) - number + share))
    return [range(first + 1, last + 1) for first, last in pairwise([*bounds, len(sizes)])]
