"""Rows of a growing orthonormal basis: in memory in full or lower precision, or in a file.

A row that is stored in lower precision is a different row. The basis consists of the stored rows: the matrix is
multiplied with them, and vectors are made orthogonal to them. `append` returns how much a row loses when it is stored,
and the caller accounts for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from math import sqrt
from pathlib import Path
from threading import Thread
from typing import IO, TypeVar

import torch
from torch import Tensor

from hessian.numerics.differentiation import exact_algebra
from hessian.numerics.symmetric import CurvatureError

LARGEST = 2.0**14
"""Entry that the largest of a row becomes in half precision, so small ones keep their digits."""
COLUMNS = 2**20
"""Entries that are taken together where rows are recombined in place, rounded or squared."""
READ = 2**18
"""Entries of a row that are read at once, at least: from a file, many short pieces cost more than what is in them."""
TILES = {"cpu": 2**21, "cuda": 2**26}
"""Entries that a thread reads together where rows are not whole, but no more than a row has in its columns: what stays
in a processor's cache, and what keeps a GPU busy."""
COLUMNS_OF_A_THREAD = 2**18
"""Columns below which a thread of its own does not pay."""
Tile = tuple[slice, slice, Tensor]
"""Places of rows, from the first row asked for on; columns; and the entries, which must not be changed."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Store:
    """Storage of the rows.

    Attributes:
        dtype: Type of what is stored; nothing: that of the matrix.
        reserve: Rows in memory that are allocated at once; 0: memory grows with them, old and new side by side.
        folder: Folder for a file of the rows beyond those, which is removed with the basis; nothing: no such rows.
    """

    dtype: torch.dtype | None = None
    reserve: int = 0
    folder: Path | None = None


class Rows:
    """Unit rows ``(P,)`` of one dtype and device, handed out in tiles.

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

    def __len__(self) -> int:
        return self._count

    @property
    def P(self) -> int:
        """Length of each row."""
        return self._P

    @property
    def room(self) -> int:
        """Number of rows that may be added."""
        planned = self._store.reserve if self._store.reserve and self._store.folder is None else self._P
        return max(0, min(planned, self._P) - self._count)

    @property
    def in_one_piece(self) -> bool:
        """Whether the rows are stored in full precision as one tensor."""
        return self._kept.dtype == self._dtype and self._store.folder is None

    def view(self, first: int, last: int) -> Tensor | None:
        """View rows as one tensor, or return None if they are not stored so."""
        return self._kept[first:last] if self.in_one_piece else None

    @exact_algebra()
    def append(self, row: Tensor) -> float:
        """Add a unit row, and return the norm of its part that is orthogonal to the stored row."""
        if self._count == len(self._kept) and self._store.folder is None:
            more = min(max(16, self._count // 2), self._P - self._count)
            grown = self._kept.new_empty((self._count + more, self._P))
            grown[: self._count] = self._kept  # what is not written takes no memory of a processor yet
            self._kept = grown
        lost = 0.0
        if self._kept.dtype == self._dtype:
            self._put(row, 0)
        else:
            lost = self._put_rounded(row)
        self._count += 1
        return lost

    def read(self, first: int, into: Tensor) -> Tensor:
        """Copy the rows from ``first`` on into ``(k, P)`` others, and return these."""

        def copy(tiles: Iterator[Tile]) -> None:
            for places, columns, tile in tiles:
                into[places, columns] = tile

        last = first + len(into)
        if (whole := self.view(first, last)) is not None:
            return into.copy_(whole)
        self.by_columns(first, last, copy)
        factors = self.factors(first, last)
        return into if factors is None else into.mul_(factors[:, None])

    def swap(self, one: int, other: int) -> None:
        """Let two rows in memory change places."""
        assert max(one, other) < len(self._kept)
        self._kept[[one, other]] = self._kept[[other, one]]
        if self._factors:
            self._factors[one], self._factors[other] = self._factors[other], self._factors[one]

    def factors(self, first: int, last: int) -> Tensor | None:
        """Return the factors by which entries of tiles must be multiplied, ``(last - first,)``; None if all are 1."""
        if not self._factors:
            return None
        return torch.tensor(self._factors[first:last], dtype=self._dtype, device=self._kept.device)

    def by_columns(self, first: int, last: int, work: Callable[[Iterator[Tile]], Found]) -> list[Found]:
        """Apply a function to the tiles of rows, without their factors, in one thread or in several.

        Args:
            first: First row.
            last: Row after the last.
            work: Takes tiles in turn, each of which is one only until the next.

        Returns:
            Results in the order of the columns.
        """
        threads = 1
        if self._kept.device.type == "cpu":
            threads = max(min(torch.get_num_threads(), self._P // COLUMNS_OF_A_THREAD), 1)
        width = -(-self._P // threads)
        parts = [slice(start, min(start + width, self._P)) for start in range(0, self._P, width)]
        # Memory is taken here: what a thread takes itself stays with it, outside of all budgets.
        tiles = [self._tiles(first, last, part, *self._tile(last - first, part)) for part in parts]
        return _in_threads([partial(work, one) for one in tiles])

    def _tile(self, count: int, within: slice) -> tuple[Tensor, Tensor]:
        """Allocate a tile of some rows and columns, and a buffer for one of its rows from a file."""
        length = within.stop - within.start
        entries = min(TILES.get(self._kept.device.type, COLUMNS), length)
        together = max(min(entries // min(READ, length), count), 1)
        width = max(entries // together, 1)
        raw = torch.empty(width if self._file is not None else 0, dtype=self._kept.dtype, device="cpu")
        return torch.empty((together, width), dtype=self._dtype, device=self._kept.device), raw

    def _tiles(self, first: int, last: int, within: slice, read: Tensor, raw: Tensor) -> Iterator[Tile]:
        """Yield the tiles of rows within columns."""
        together, width = read.shape
        for place in range(first, last, together):
            places = range(place, min(place + together, last))
            inside = max(min(places.stop, len(self._kept)) - place, 0)
            for start in range(within.start, within.stop, width):
                columns = slice(start, min(start + width, within.stop))
                tile = read[: len(places), : columns.stop - start]
                tile[:inside] = self._kept[place : place + inside, columns]
                for number, one in enumerate(places[inside:], start=inside):
                    tile[number] = self._from_file(one, start, raw[: columns.stop - start]).to(tile.device)
                yield slice(place - first, places.stop - first), columns, tile

    @exact_algebra()
    def recombine(self, coefficients: Tensor, count: int) -> None:
        """Replace the first rows by combinations ``(new, count)`` of them, and move the others behind; in memory."""
        assert self.in_one_piece
        new, others = len(coefficients), self._count - count
        width = max(min(COLUMNS, self._P // 4) // max(new, 1), 1)
        for start in range(0, self._P, width):
            part = self._kept[:, start : start + width]
            part[:new] = coefficients @ part[:count]
        for place in range(others):
            self._kept[new + place] = self._kept[count + place]
        self._count = new + others

    def _put_rounded(self, row: Tensor) -> float:
        """Store a unit row in lower precision, and return the norm of its part orthogonal to the stored one."""
        unit = LARGEST / max(float(end.abs()) for end in torch.aminmax(row))
        squares = torch.zeros(3, dtype=torch.float64, device=row.device)
        width = min(COLUMNS, -(-self._P // 4))
        for start in range(0, self._P, width):
            part = row[start : start + width]
            stored = (part * unit).to(self._kept.dtype)
            self._put(stored, start)
            back = stored.double()
            # The error has the same part orthogonal to what is stored.
            error = part.to(torch.float64, copy=True).sub_(back, alpha=1.0 / unit)
            squares += torch.stack([error @ error, error @ back, back @ back])
        whole, along, kept = squares.tolist()
        self._factors[self._count :] = [1.0 / sqrt(kept)]
        return sqrt(max(whole - along**2 / kept, 0.0))

    def _put(self, part: Tensor, start: int) -> None:
        """Store columns of the row that is being added."""
        if self._count < len(self._kept):
            self._kept[self._count, start : start + len(part)] = part
        else:
            self._write(part, start)

    def _from_file(self, place: int, start: int, into: Tensor) -> Tensor:
        """Read columns of a row from the file; several threads may do so at once."""
        assert self._file is not None
        left, offset = memoryview(into.view(torch.uint8).numpy().data), self._offset(place, start)
        while left:
            if not (read := os.preadv(self._file.fileno(), [left], offset)):
                raise CurvatureError(f"the file with rows of the basis in {self._store.folder} was truncated")
            left, offset = left[read:], offset + read
        return into

    def _offset(self, place: int, start: int) -> int:
        return ((place - len(self._kept)) * self._P + start) * self._kept.element_size()

    def _write(self, part: Tensor, start: int) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._store.folder, buffering=0)  # noqa: SIM115 (goes with the rows)
        left = part.cpu().view(torch.uint8).numpy().tobytes()
        try:
            self._file.seek(self._offset(self._count, start))
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
    """Return the number of rows."""
    return len(V) if isinstance(V, Tensor) else V[1]


@exact_algebra()
def project_on(vectors: Tensor, V: Span, first: int = 0) -> Tensor:
    """Return the coefficients of vectors ``(k, P)`` along the rows from ``first`` on, ``(k, m - first)``."""
    return _along(vectors, V, first)


@exact_algebra()
def project_out_of(vectors: Tensor, V: Span, first: int = 0) -> Tensor:
    """Subtract from vectors ``(k, P)``, in place, their projection on rows, and return its coefficients.

    One pass of Gram and Schmidt: what rounding leaves of it is left to the next.
    """
    found = _along(vectors, V, first)
    _add_combinations(vectors, found, V, first, alpha=-1)
    return found


@exact_algebra()
def combine(coefficients: Tensor, V: Span) -> Tensor:
    """Return combinations of rows, ``(k, P)``, by coefficients ``(k, m)``."""
    if isinstance(V, Tensor):
        return coefficients @ V
    found = coefficients.new_zeros(len(coefficients), V[0].P)
    _add_combinations(found, coefficients, V, 0, alpha=1)
    return found


def _along(vectors: Tensor, V: Span, first: int) -> Tensor:
    if (whole := _view_whole(V, first)) is not None:
        return vectors @ whole.T

    def sums(tiles: Iterator[Tile]) -> Tensor:
        found = vectors.new_zeros(len(vectors), count - first)
        for places, columns, tile in tiles:
            found[:, places] += vectors[:, columns] @ tile.T
        return found

    rows, count = V
    return _times(reduce(torch.add, rows.by_columns(first, count, sums)), rows.factors(first, count))


def _add_combinations(vectors: Tensor, coefficients: Tensor, V: Span, first: int, alpha: int) -> None:
    if (whole := _view_whole(V, first)) is not None:
        vectors.addmm_(coefficients, whole, alpha=alpha)
        return
    rows, count = V
    factored = _times(coefficients, rows.factors(first, count))

    def add(tiles: Iterator[Tile]) -> None:
        for places, columns, tile in tiles:
            vectors[:, columns].addmm_(factored[:, places], tile, alpha=alpha)

    rows.by_columns(first, count, add)


def _view_whole(V: Span, first: int) -> Tensor | None:
    """View the rows from ``first`` on as one tensor, or return None if they are not stored so."""
    return V[first:] if isinstance(V, Tensor) else V[0].view(first, V[1])


def _times(coefficients: Tensor, factors: Tensor | None) -> Tensor:
    return coefficients if factors is None else coefficients * factors


def _in_threads(works: list[Callable[[], Found]]) -> list[Found]:
    """Run each piece of work in its own thread, the first in this one, and return the results.

    Torch's own threads share every operation, so what one of them has read in lower precision another multiplies:
    from the cache of another processor, which can take five times as long as both. Meanwhile threads elsewhere that use
    torch for the first time also start with one, because the number is common to all.
    """
    if len(works) == 1:
        return [works[0]()]
    results: list[list[Found]] = [[] for _ in works]
    errors: list[BaseException] = []
    inference, count = torch.is_inference_mode_enabled(), torch.get_num_threads()

    def run(number: int) -> None:
        torch.set_num_threads(1)  # each thread has its own number, but Intel's library one for all
        try:
            with torch.inference_mode(inference):
                results[number].append(works[number]())
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=run, args=(number,)) for number in range(1, len(works))]
    try:
        for thread in threads:
            thread.start()
        run(0)
    finally:
        try:
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()
        finally:
            torch.set_num_threads(count)
    if errors:
        raise errors[0]
    return [found for one in results for found in one]
