"""Stable ranks of the diagonal blocks of a curvature matrix, module by module, with intervals and on one graph."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from hessian.lanczos.krylov import Progress
from hessian.numerics.intervals import StableRankInterval
from hessian.operators.curvature import Curvature
from hessian.quantities.block_measurements import each_block
from hessian.spectrum import STREAMS, SpectrumSettings, rank_by
from rmt.results import Result


@dataclass(frozen=True)
class BlockRank(Result):
    """A block's stable rank.

    Attributes:
        name: Name of the module; empty for parameters of the model itself.
        P: Number of parameters.
        rank: Stable rank with its interval, norms included; each interval has its own confidence.
        why: Why there is none; empty if there is one.
    """

    name: str
    P: int
    rank: StableRankInterval | None
    why: str


def block_ranks(
    operator: Curvature, settings: SpectrumSettings, depth: int | None = None, progress: Progress | None = None
) -> tuple[BlockRank, ...]:
    """Return the stable rank of every module's diagonal block.

    Args:
        operator: The whole matrix; the blocks share its graph.
        settings: Width, confidence, products and basis of each, and the seed: a block's random stream depends on its
            name, so other blocks do not change it.
        depth: Blocks of the modules at this depth, 1 for ``layer1``; default: of every module with parameters.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Products that are not finite.
    """

    def measure(name: str, block: Curvature) -> StableRankInterval:
        return rank_by(settings, block, np.random.default_rng([settings.seed, len(STREAMS), crc32(name.encode())]))

    return tuple(BlockRank(*one) for one in each_block(operator, measure, depth, progress))
