"""Tables that only grow: rows are appended and flushed, and a checkpoint stores their length and digest."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import Any

from runs.settings import ELSEWHERE, RunError
from workloads.files import naming_errors, write_whole

_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?|inf)|nan")
_FIRST = b"round,"
"""Start of every table of a run."""


@dataclass(frozen=True)
class Mark:
    """Length and digest of the first part of a file.

    Attributes:
        length: Length in bytes.
        sha256: SHA-256 digest of these bytes, as hexadecimal digits.
    """

    length: int
    sha256: str

    @classmethod
    def of(cls, stored: Any) -> Mark:
        """Return the mark that a checkpoint has stored.

        Raises:
            ValueError: It is none.
        """
        right = isinstance(stored, dict) and set(stored) == {"length", "sha256"} and isinstance(stored["sha256"], str)
        if not right or type(stored["length"]) is not int or not 0 <= stored["length"] < 2**63:
            raise ValueError("no length and digest of a file")
        return cls(**stored)


class Table:
    """A comma-separated file that a run appends to."""

    def __init__(self, path: Path, columns: Sequence[str] = (), before: bytes | None = None) -> None:
        """Open a table, cut to its known first part.

        Args:
            path: Path of the file.
            columns: Names in the first line; for rows without names, those of the first row.
            before: Content of the file so far; what follows it is cut off. None: the file must not be there yet.

        Raises:
            OSError: The file cannot be written; it is named.
        """
        known = before or b""
        self.path, self._columns, self._length = path, list(columns), len(known)
        self._digest = hashlib.sha256(known)
        with naming_errors(path):
            if before is not None and path.stat().st_nlink > 1:  # a copy by hard links keeps what it has
                write_whole({path: known})
            self._stream = path.open("xb" if before is None else "r+b", buffering=0)
            self._stream.truncate(len(known))
            self._stream.seek(0, os.SEEK_END)
        if known and not self._columns:
            self._columns = next(csv.reader(io.StringIO(known.decode())))

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows; missing values are left empty. The first call also writes the names of the known columns.

        Raises:
            RunError: A row has a column that the first one lacked.
            OSError: The file cannot be written; it is named.
        """
        if not rows and (self._length or not self._columns):
            return
        text = io.StringIO()
        self._columns = self._columns or list(rows[0])
        writer = csv.DictWriter(text, self._columns, lineterminator="\n")
        if not self._length:
            writer.writeheader()
        more = [name for row in rows for name in row if name not in self._columns]
        if more:
            raise RunError(f"{self.path.name} has no column {more[0]!r}; evaluate the same numbers from the start")
        writer.writerows(rows)
        data = text.getvalue().encode()
        with naming_errors(self.path):
            left = memoryview(data)
            while left:
                left = left[self._stream.write(left) :]
        self._digest.update(data)
        self._length += len(data)

    def mark(self) -> Mark:
        """Flush the table to the disk and return its mark.

        Raises:
            OSError: It cannot be brought there.
        """
        with naming_errors(self.path):
            os.fsync(self._stream.fileno())
        return Mark(self._length, self._digest.hexdigest())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def read_marked(path: Path, mark: Mark) -> bytes:
    """Read the part of a file that a mark covers.

    Raises:
        RunError: The file is shorter, or differs.
        OSError: It cannot be read.
    """
    with naming_errors(path), path.open("rb") as stream:
        data = stream.read(mark.length)
    if Mark(len(data), hashlib.sha256(data).hexdigest()) != mark:
        raise RunError(f"{path} is not what the run wrote", "restore it from a copy", ELSEWHERE)
    return data


def is_continuation(data: bytes, length: int = 0, texts: Sequence[str] = ()) -> bool:
    """Return whether only rows of later rounds follow the first part of a file.

    The last one may be cut short. Nothing else shows what a run that was killed wrote after its last checkpoint.

    Args:
        data: Content of the file.
        length: Length of the part that is known.
        texts: Columns that hold texts; all others hold numbers, or nothing.
    """
    header, _, _ = data.partition(b"\n")
    if not data or not header.startswith(_FIRST[: len(data)]):
        return not data
    try:
        columns = header.decode().split(",")
        known = data[:length].decode().splitlines()[1:]
        lines = data[max(length, len(header) + 1) :].decode().split("\n")
    except UnicodeDecodeError:
        return False
    last = int(known[-1].split(",")[0]) if known else 0
    for place, line in enumerate(lines):
        cells, whole = line.split(","), place < len(lines) - 1
        if not whole and not line:
            continue
        named = list(zip(columns, cells, strict=False))[: None if whole else len(cells) - 1]
        numbers = [cell for name, cell in named if name not in texts and cell]
        if len(cells) > len(columns) or (whole and len(cells) < len(columns)) or not cells[0].isdecimal():
            return False
        if not whole and len(cells) == 1:
            continue
        if int(cells[0]) < last or any(isinstance(read_number(cell), str) for cell in numbers):
            return False
        last = int(cells[0])
    return True


def rows_of(data: bytes) -> list[dict[str, Any]]:
    """Return the rows of a table with numbers as numbers, without empty cells.

    Raises:
        ValueError: It is not a table.
    """
    reader = csv.DictReader(io.StringIO(data.decode("utf-8")), strict=True)
    try:
        names = list(reader.fieldnames or ())
        if len(set(names)) < len(names) or "" in names:
            raise ValueError("two columns with the same name, or a column without a name")
        return [{name: read_number(value) for name, value in row.items() if value != ""} for row in reader]
    except csv.Error as error:
        raise ValueError(str(error)) from error


def read_number(text: str) -> Any:
    """Return the number that a text represents, as Python writes it; else the text.

    >>> read_number("-2"), read_number("1e-07"), read_number("nan"), read_number("1_000"), read_number("1e999")
    (-2, 1e-07, nan, '1_000', '1e999')
    """
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return text
    try:
        return int(text)
    except ValueError:
        value = float(text)
        return text if isinf(value) and "inf" not in text else value
