"""Rows of a growing orthonormal basis: in memory as they are, in lower precision, or in a file.

A row that is stored in lower precision is another row. What is stored is what the basis consists of: it is what the
matrix is multiplied with next, and what vectors are made orthogonal to. What a row loses on the way in is the caller's
to account for; `append` tells how much it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from hessian.differentiation import exact_algebra
from hessian.symmetric import CurvatureError

LARGEST = 2.0**14
"""Entry that the largest of a row becomes in half precision, so that small ones keep their digits."""
COLUMNS = 2**20
"""Taken together where rows are recombined in place."""


@dataclass(frozen=True)
class Store:
    """How rows are kept.

    Attributes:
        dtype: Type of what is stored; nothing: that of the matrix.
        reserve: Rows in memory that are allocated at once; 0: memory grows with them, old and new side by side.
        folder: Folder for a file of the rows beyond those, which is removed with the basis; nothing: no such rows.
    """

    dtype: torch.dtype | None = None
    reserve: int = 0
    folder: Path | None = None


class Rows:
    """Unit rows ``(P,)`` of one dtype and device, handed out in blocks.

    Args:
        P: Length of each.
        dtype: Type in which they are given and handed out.
        device: Device of the rows.
        store: Storage of the rows.
    """

    def __init__(self, P: int, dtype: torch.dtype, device: torch.device, store: Store) -> None:
        self._P, self._dtype, self._store = P, dtype, store
        self._kept = torch.empty((store.reserve, P), dtype=store.dtype or dtype, device=device)
        self._factors: list[float] = []
        self._file: IO[bytes] | None = None
        self._count = 0
        self._read_into: Tensor | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def room(self) -> int:
        """How many more there may be."""
        planned = self._store.reserve if self._store.reserve and self._store.folder is None else self._P
        return max(0, min(planned, self._P) - self._count)

    @property
    def whole(self) -> bool:
        """They are kept as they are, in one piece of memory."""
        return self._kept.dtype == self._dtype and self._store.folder is None

    @exact_algebra()
    def append(self, row: Tensor) -> float:
        """Adds a unit row; returns the size of its part that is orthogonal to the row as it is stored."""
        if self._count == len(self._kept) and self._store.folder is None:
            more = min(max(16, self._count // 2), self._P - self._count)
            grown = self._kept.new_empty((self._count + more, self._P))
            grown[: self._count] = self._kept  # what is not written takes no memory of a processor yet
            self._kept = grown
        lost = 0.0
        if self._kept.dtype != self._dtype:
            unit = LARGEST / float(row.abs().max())
            stored = (row * unit).to(self._kept.dtype)
            back = stored.to(self._dtype)
            self._factors.append(1.0 / float(torch.linalg.vector_norm(back)))
            back *= self._factors[-1]
            lost = float(torch.linalg.vector_norm(back.mul_(float(row @ back)).sub_(row)))
            row = stored
        if self._count < len(self._kept):
            self._kept[self._count] = row
        else:
            self._write(row)
        self._count += 1
        return lost

    def taken(self, first: int, last: int) -> Tensor:
        """A copy of the rows from first to before last, ``(last - first, P)``."""
        if self.whole:
            return self._kept[first:last].clone()
        return torch.stack([self._read(place).clone() for place in range(first, last)])

    def blocks(self, count: int) -> Iterator[tuple[int, Tensor]]:
        """The first so many rows, all at once or one at a time; each block with the number of its first row.

        A block is that only until the next: rows that are not whole are read into one place.
        """
        if self.whole:
            yield 0, self._kept[:count]
            return
        for place in range(count):
            yield place, self._read(place)[None]

    @exact_algebra()
    def recombine(self, coefficients: Tensor, count: int) -> None:
        """Puts combinations ``(new, count)`` of the first rows in their place, and the other rows behind; in memory."""
        assert self.whole
        new, others = len(coefficients), self._count - count
        for start in range(0, self._P, COLUMNS):
            part = self._kept[:, start : start + COLUMNS]
            part[:new] = coefficients @ part[:count]
        for place in range(others):
            self._kept[new + place] = self._kept[count + place]
        self._count = new + others

    def _read(self, place: int) -> Tensor:
        if place < len(self._kept):
            row = self._kept[place]
        else:
            assert self._file is not None
            size = self._P * self._kept.element_size()
            self._file.seek((place - len(self._kept)) * size)
            raw = np.fromfile(self._file, dtype=np.uint8, count=size)
            row = torch.from_numpy(raw).view(self._kept.dtype).to(self._kept.device)
        if not self._factors:
            return row
        if self._read_into is None:  # memory that is new each time costs more than what is done in it
            self._read_into = torch.empty(self._P, dtype=self._dtype, device=self._kept.device)
        return self._read_into.copy_(row).mul_(self._factors[place])

    def _write(self, row: Tensor) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._store.folder, buffering=0)  # noqa: SIM115 (goes with the rows)
        left = row.cpu().view(torch.uint8).numpy().tobytes()
        try:
            self._file.seek((self._count - len(self._kept)) * len(left))
            while len(left):
                left = left[self._file.write(left) :]
        except OSError as error:
            raise CurvatureError(
                f"no row of the basis could be written to {self._store.folder} ({error.strerror}); free space there, "
                "or name another folder"
            ) from error


Span = Tensor | tuple[Rows, int]
"""Orthonormal rows ``(m, P)``, or the first so many of stored ones."""


def span_size(V: Span) -> int:
    """How many rows."""
    return len(V) if isinstance(V, Tensor) else V[1]


def blocks_of(V: Span) -> Iterator[Tensor]:
    """Blocks of rows."""
    if isinstance(V, Tensor):
        yield V
        return
    rows, count = V
    for _, block in rows.blocks(count):
        yield block
