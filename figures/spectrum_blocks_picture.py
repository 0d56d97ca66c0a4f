"""The picture of the stable ranks of a network's modules; its numbers come from `hessian.block_ranks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from figures.style import BLUE, WIDTH, plain_log_ticks
from hessian.block_ranks import BlockRank

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw_block_ranks(blocks: tuple[BlockRank, ...], confidence: float) -> Picture:
    """One line for each block that has a stable rank, from the top in the model's order."""
    from matplotlib.figure import Figure as Picture

    shown = [(block, block.rank) for block in blocks if block.rank is not None]
    picture = Picture(figsize=(WIDTH, 1.0 + 0.22 * max(len(shown), 3)))
    axes = picture.add_subplot()
    for place, (_, rank) in enumerate(shown):
        ends = [[rank.value - rank.low], [rank.high - rank.value]]
        axes.errorbar([rank.value], [place], xerr=ends, fmt="o", color=BLUE, lw=1.0, ms=3.5)
    axes.set_yticks(range(len(shown)), [f"{block.name or '(model)'} ({block.P:,})" for block, _ in shown])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel=f"stable rank, {100 * confidence:g} % intervals")
    plain_log_ticks(axes.xaxis)
    axes.set_title("diagonal blocks (parameters)")
    return picture
