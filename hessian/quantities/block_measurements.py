"""Quantities of the diagonal blocks of a curvature matrix, module by module and on one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar
from zlib import crc32

from hessian.lanczos.krylov import Progress
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.quantities.estimates import Measurement
from hessian.quantities.measurement import MeasureSettings, measure_with, stream_of
from hessian.quantities.names import Quantity
from rmt.results import Result

Found = TypeVar("Found")
UNMEASURED = ("zero to rounding", "products are rounded", "positive semidefinite matrices")
"""Parts of messages about blocks that cannot be measured, while others can."""


@dataclass(frozen=True)
class BlockMeasurement(Result):
    """Quantities of a block.

    Attributes:
        name: Name of the module; empty for parameters of the model itself.
        P: Number of parameters.
        measurement: The quantities, each interval with its own confidence, and their time in gradients of the whole;
            None if they cannot be measured.
        why: Why they cannot; empty if they can.
    """

    name: str
    P: int
    measurement: Measurement | None
    why: str


def measure_blocks(
    operator: Curvature,
    quantities: tuple[Quantity, ...],
    settings: MeasureSettings,
    *,
    seed: int = 0,
    depth: int | None = None,
    progress: Progress | None = None,
) -> tuple[BlockMeasurement, ...]:
    """Measure quantities of every module's diagonal block.

    Args:
        operator: The whole matrix; the blocks share its graph.
        quantities: Quantities to measure.
        settings: Accuracy and limits for each block.
        seed: Seed; a block's random stream depends on its name, so other blocks do not change it.
        depth: Blocks of the modules at this depth, 1 for ``layer1``; default: of every module with parameters.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Products that are not finite.
    """
    gradient = operator.cost().gradient_seconds

    def measure(name: str, block: Curvature) -> Measurement:
        key = crc32(name.encode())
        found = measure_with(block, quantities, settings, lambda part: stream_of(part, seed, key))
        return replace(found, gradients=block.cost(gradient).gradients)

    return tuple(BlockMeasurement(*one) for one in each_block(operator, measure, depth, progress))


def each_block(
    operator: Curvature, measure: Callable[[str, Curvature], Found], depth: int | None, progress: Progress | None
) -> Iterator[tuple[str, int, Found | None, str]]:
    """Yield name and size of every block with its measurement, or None and why there is none.

    Args:
        operator: The whole matrix.
        measure: Measures a block, given its name.
        depth: Depth of the modules; None: every module with parameters.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: An error that is not about a single block.
    """
    for name, block in operator.blocks(depth).items():
        if progress is not None:
            progress(f"block {name or 'of the model itself'}")
        if set(block.unused) == set(block.names):
            yield name, block.P, None, "the loss does not depend on it"
            continue
        try:
            block.prepare()
        except CurvatureError as error:
            yield name, block.P, None, str(error.__cause__ or error)
            continue
        try:
            yield name, block.P, measure(name, block), ""
        except CurvatureError as error:
            words = [one for one in UNMEASURED if one in str(error)]
            if not words:
                raise
            yield name, block.P, None, "not positive semidefinite" if words[0] == UNMEASURED[-1] else words[0]
