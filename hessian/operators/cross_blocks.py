r"""Blocks of a curvature matrix off its diagonal: some parameters by others.

A block B (rows, columns) is not symmetric, but $\begin{pmatrix} 0 & B\\ B^T & 0\end{pmatrix}$ is, with every
singular value of B as an eigenvalue of either sign: twice the squared Frobenius norm, the same spectral norm, so twice
the stable rank. So every result for symmetric operators, including intervals, also holds for B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from hessian.lanczos.stable_rank import stable_rank_of
from hessian.numerics.intervals import Interval, StableRankInterval


@dataclass(frozen=True, eq=False)
class CrossBlock:
    """A block of a curvature matrix, given by its products.

    Attributes:
        row_names: Parameters of its rows.
        column_names: Parameters of its columns.
        shape: Numbers of its rows and columns.
        dtype: Type of vectors and products.
        device: Device of vectors and products.
    """

    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    shape: tuple[int, int]
    dtype: torch.dtype
    device: torch.device
    _times: Callable[[Tensor], Tensor]
    _transposed: Callable[[Tensor], Tensor]
    _rounding: Callable[[], float]

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the block by each row, (k, columns) to (k, rows).

        Raises:
            CurvatureError: Vectors of another shape, dtype or device, or weights that were changed since.
        """
        return self._times(vectors)

    def __matmul__(self, vector: Tensor) -> Tensor:
        """Multiply the block by a vector (columns,), or by the columns of (columns, k)."""
        return self.products(vector[None])[0] if vector.ndim == 1 else self.products(vector.T.contiguous()).T

    @property
    def T(self) -> CrossBlock:
        """The block of the columns by the rows."""
        return CrossBlock(
            self.column_names,
            self.row_names,
            self.shape[::-1],
            self.dtype,
            self.device,
            self._transposed,
            self._times,
            self._rounding,
        )

    def dilated(self) -> Dilation:
        """Return the symmetric matrix with B above its diagonal and its transpose below."""
        return Dilation(self)

    def stable_rank(self, **settings: Any) -> StableRankInterval:
        """Estimate stable rank, spectral and Frobenius norm with their intervals.

        Args:
            settings: Settings of `stable_rank_of`; a product with the dilated matrix is one with B and one with B^T.

        Raises:
            CurvatureError: As `stable_rank_of`.
        """
        found = stable_rank_of(self.dilated(), **settings)
        ends = (found.frobenius.value, found.frobenius.low, found.frobenius.high)
        return replace(
            found,
            value=found.value / 2.0,
            low=found.low / 2.0,
            high=found.high / 2.0,
            frobenius=Interval(*(end / sqrt(2.0) for end in ends)),
        )


@dataclass(frozen=True, eq=False)
class Dilation:
    """A block and its transpose as one symmetric operator, of the rows first and then of the columns."""

    block: CrossBlock

    @property
    def P(self) -> int:
        """Rows and columns together."""
        return sum(self.block.shape)

    @property
    def dtype(self) -> torch.dtype:
        """Type of vectors and products."""
        return self.block.dtype

    @property
    def device(self) -> torch.device:
        """Device of vectors and products."""
        return self.block.device

    @property
    def rounding(self) -> float:
        """Rounding of a product relative to the largest, beyond that of the dtype."""
        return self.block._rounding()

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P)."""
        rows, columns = vectors.split(self.block.shape, dim=1)
        return torch.cat([self.block.products(columns.contiguous()), self.block.T.products(rows.contiguous())], dim=1)
