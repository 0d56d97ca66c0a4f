"""Rows of a growing orthonormal basis: in memory as they are, in lower precision, or in a file.

A row that is stored in lower precision is another row. What is stored is what the basis consists of: it is what the
matrix is multiplied with next, and what vectors are made orthogonal to. What a row loses on the way in is the caller's
to account for; `append` tells how much it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from hessian.symmetric import CurvatureError

LARGEST = 2.0**14
"""Entry that the largest of a row becomes in half precision, so that small ones keep their digits."""
COLUMNS = 2**20
"""Taken together where rows are recombined in place."""
PIECE = 2**17
"""Entries of a vector that are summed in double precision at a time."""
TILE, LEAST_TILE = 2**20, 2**10
"""Entries of rows in lower precision that are taken up at once: what fits into a cache, and no more than a row where
that is not little."""


@dataclass(frozen=True)
class Store:
    """How rows are kept.

    Attributes:
        dtype: Type of what is stored; nothing: that of the matrix.
        reserve: Rows in memory that are allocated at once; 0: memory grows with the rows, and more than doubles on the
            way.
        folder: For a file of the rows beyond those, which is removed with the basis; nothing: no such rows.
    """

    dtype: torch.dtype | None = None
    reserve: int = 0
    folder: Path | None = None


class Rows:
    """Unit rows ``(P,)`` of one dtype and device, handed out in blocks.

    Args:
        P: Length of each.
        dtype: In which they are given and handed out.
        device: On which.
        store: How they are kept.
    """

    def __init__(self, P: int, dtype: torch.dtype, device: torch.device, store: Store) -> None:
        self._P, self._dtype, self._store = P, dtype, store
        self._kept = torch.empty((store.reserve, P), dtype=store.dtype or dtype, device=device)
        self._factors: list[float] = []
        self._file: IO[bytes] | None = None
        self._count = 0

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

    def append(self, row: Tensor) -> float:
        """Adds a unit row; returns the size of its part that is orthogonal to the row as it is stored."""
        if self._count == len(self._kept) and self._store.folder is None:
            more = min(max(16, self._count // 2), self._P - self._count)
            self._kept = torch.cat([self._kept, self._kept.new_empty((more, self._P))])
        inside = self._count < len(self._kept)
        place = self._kept[self._count] if inside else self._kept.new_empty(self._P)
        lost = 0.0
        if self._kept.dtype == self._dtype:
            place.copy_(row)
        else:
            lost = self._rounded(row, place)
        if not inside:
            self._write(place)
        self._count += 1
        return lost

    def _rounded(self, row: Tensor, place: Tensor) -> float:
        """Writes a row in lower precision; returns the size of what is orthogonal to that."""
        unit = LARGEST / float(torch.linalg.vector_norm(row, ord=torch.inf))
        parts = pieces_of(self._P)
        square, product, lost = torch.zeros((3,), dtype=torch.float64, device=row.device)
        for part in parts:
            place[part] = row[part] * unit
            back = place[part].double()
            square += back @ back
            product += back @ row[part].double()
        for part in parts:
            back = place[part].double().mul_(product / square).sub_(row[part])
            lost += back @ back
        self._factors.append(1.0 / sqrt(float(square)))
        return sqrt(float(lost))

    def taken(self, first: int, last: int) -> Tensor:
        """A copy of the rows from first to before last, ``(last - first, P)``."""
        found = self._kept.new_empty((last - first, self._P), dtype=self._dtype)
        for place, row in enumerate(found, start=first):
            row.copy_(self._kept[place] if place < len(self._kept) else self._from_file(place, 0, self._P))
            if self._factors:
                row *= self._factors[place]
        return found

    def tiles(self, count: int) -> Iterator[tuple[slice, Tensor]]:
        """Some columns of the first so many rows after the others, each with what they are; all at once where whole.

        A tile is overwritten by the next.
        """
        if self.whole:
            yield slice(0, self._P), self._kept[:count]
            return
        width = min(self._P, max(ceil(self._P / max(count, 1)), LEAST_TILE // max(count, 1)), TILE // max(count, 1))
        tile = self._kept.new_empty((count, width), dtype=self._dtype)
        factors = torch.tensor(self._factors[:count], dtype=self._dtype, device=tile.device)[:, None]
        inside = min(count, len(self._kept))
        for first in range(0, self._P, width):
            columns = slice(first, min(first + width, self._P))
            part = tile[:, : columns.stop - first]
            part[:inside] = self._kept[:inside, columns]
            for place in range(inside, count):
                part[place] = self._from_file(place, first, columns.stop)
            yield columns, part.mul_(factors) if self._factors else part

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

    def _from_file(self, place: int, first: int, last: int) -> Tensor:
        """Some columns of a row, as stored."""
        assert self._file is not None
        size = self._kept.element_size()
        self._file.seek(((place - len(self._kept)) * self._P + first) * size)
        raw = np.fromfile(self._file, dtype=np.uint8, count=(last - first) * size)
        return torch.from_numpy(raw).view(self._kept.dtype).to(self._kept.device)

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


def pieces_of(P: int) -> list[slice]:
    """Pieces of a vector, so small that copies of one in double precision are less than the vector."""
    width = min(PIECE, max(ceil(P / 8), LEAST_TILE))
    return [slice(first, first + width) for first in range(0, P, width)]


Span = Tensor | tuple[Rows, int]
"""Orthonormal rows ``(m, P)``, or the first so many of stored ones."""


def span_size(V: Span) -> int:
    """How many rows."""
    return len(V) if isinstance(V, Tensor) else V[1]


def along(vectors: Tensor, V: Span) -> Tensor:
    """Components ``(k, m)`` of vectors ``(k, P)`` along the rows."""
    found: Tensor | None = None
    for columns, tile in _tiles(V):
        part = _components(vectors[:, columns], tile)
        found = part if found is None else found.add_(part)
    assert found is not None
    return found


def take_out(vectors: Tensor, components: Tensor, V: Span, again: bool = False) -> Tensor | None:
    """Subtracts components along the rows from vectors, in place; returns those that are left, if asked.

    Rows that are not whole are read once for both.
    """
    found: Tensor | None = None
    for columns, tile in _tiles(V):
        part = vectors[:, columns]
        if len(part) == 1:
            part[0].addmv_(tile.T, components[0], alpha=-1.0)  # several times as fast as a matrix of one row
        else:
            part.addmm_(components, tile, alpha=-1.0)
        if again:
            left = _components(part, tile)
            found = left if found is None else found.add_(left)
    return found


def outside(vectors: Tensor, V: Span, *, own: bool = False, passes: int = 2) -> Tensor:
    """The part of each vector orthogonal to the rows.

    Args:
        vectors: Shape ``(k, P)``.
        V: The rows.
        own: Write to the vectors themselves.
        passes: How often to subtract what is along the rows: twice where little is left.
    """
    left = vectors if own else vectors.clone()
    components: Tensor | None = along(left, V)
    for number in range(1, passes + 1):
        assert components is not None
        components = take_out(left, components, V, again=number < passes)
    return left


def _components(vectors: Tensor, rows: Tensor) -> Tensor:
    return (rows @ vectors[0])[None] if len(vectors) == 1 else vectors @ rows.T


def _tiles(V: Span) -> Iterator[tuple[slice, Tensor]]:
    if isinstance(V, Tensor):
        yield slice(0, V.shape[1]), V
    else:
        yield from V[0].tiles(V[1])
