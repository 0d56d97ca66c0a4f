"""Tables of a user's texts: files of JSON lines, JSON, CSV, TSV or Parquet, and tables in memory.

Nothing is guessed. A file that is not UTF-8, a row that lacks a field or has one twice, and a line that is not a record
are errors that name the line.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from workloads.data.idx import DataError

LACKING = object()
"""Value of a field that a row lacks."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with named columns.

    Attributes:
        name: Name of the file or of the function that they come from, for errors.
        columns: Names of the columns, in the order of their first appearance.
        rows: The fields of each row, by column.
        lines: Place of each row in its file, such as ``line 7``.
        classes: Names of the classes that whole numbers in a column denote, by column.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    lines: Sequence[str]
    classes: Mapping[str, Sequence[str]]

    def values(self, column: str, option: str | None = None) -> list[Any]:
        """Return the values of a column, which an option may name.

        Raises:
            DataError: There is no such column, or a row lacks it.
        """
        if column not in self.columns:
            remedy = "" if option is None else f": name one with --{option}"
            raise DataError(f"{self.name} has no column {column!r}; its columns are {', '.join(self.columns)}{remedy}")
        found = [row.get(column, LACKING) for row in self.rows]
        for value, line in zip(found, self.lines, strict=True):
            if value is LACKING:
                raise DataError(f"{self.name}, {line}: the field {column!r} is missing, which other rows have; add it")
        return found


def read_table(path: Path) -> Table:
    """Read a file by its ending, one of `ENDINGS`.

    Raises:
        DataError: The file is missing, empty, not UTF-8, or a row of it cannot be read.
    """
    if not path.is_file():
        raise DataError(f"the file {path} does not exist; name a file that ends in {', '.join(ENDINGS)}")
    try:
        table = _READERS[path.suffix.lower()](path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if not table.rows:
        raise DataError(f"{path} contains no texts; write one in each row")
    return table


def table_of(given: Any, name: str) -> Table:
    """Read a table in memory: a `datasets.Dataset`, a data frame of pandas, a list of records, or columns by name.

    Args:
        given: The table.
        name: Its name in errors.

    Raises:
        DataError: It is something else, is empty, or has columns of different lengths, of one name, or in no order.
    """
    classes: dict[str, Sequence[str]] = {}
    if isinstance(given, Table):
        return given
    if hasattr(given, "column_names") and hasattr(given, "features"):  # of the library datasets
        if isinstance(given.column_names, Mapping):
            raise DataError(f"{name} has several splits, {', '.join(map(str, given))}; return one of them as 'train'")
        for column, feature in (given.features or {}).items():
            if getattr(feature, "names", None):
                classes[column] = tuple(map(str, feature.names))
        columns = {column: list(given[column]) for column in given.column_names}
    elif hasattr(given, "to_dict") and hasattr(given, "columns"):  # of pandas or polars
        _require_names_once(given.columns, name)
        columns = {str(column): _plain(_values_of(given[column])) for column in given.columns}
    elif isinstance(given, Mapping):
        _require_names_once(given, name)
        _require_one_index(given, name)
        columns = {str(column): _plain(_as_list(values, f"{name}[{column!r}]")) for column, values in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        rows = []
        for number, row in enumerate(given):
            if not isinstance(row, Mapping):
                raise DataError(f"{name}: row {number} is a {type(row).__name__}; return records such as {_EXAMPLE}")
            _require_names_once(row, f"{name}: row {number}")
            rows.append(dict(zip(map(str, row), _plain(list(row.values())), strict=True)))
        return _table(name, rows, [f"row {number}" for number in range(len(rows))])
    else:
        raise DataError(
            f"{name} is a {type(given).__name__}; return a datasets.Dataset, a pandas.DataFrame or a list of records "
            f"such as {_EXAMPLE}"
        )
    sizes = {column: len(values) for column, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise DataError(f"{name} has columns of different lengths: {sizes}; give each row every field")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return _table(name, rows, [f"row {number}" for number in range(len(rows))], classes)


_EXAMPLE = '{"text": "...", "label": "..."}'


def join(tables: Sequence[Table], name: str) -> Table:
    """Return the rows of several tables as one table; columns that only some of them have are missing in the others."""
    if len(tables) == 1:
        return tables[0]
    return Table(
        name,
        tuple(dict.fromkeys(column for table in tables for column in table.columns)),
        [row for table in tables for row in table.rows],
        [f"{Path(table.name).name}, {line}" for table in tables for line in table.lines],
        {},
    )


def _table(
    name: str, rows: Sequence[Mapping[str, Any]], lines: Sequence[str], classes: Mapping[str, Sequence[str]] = {}
) -> Table:
    if not rows:
        raise DataError(f"{name} contains no texts; write one in each row")
    columns = dict.fromkeys(str(column) for row in rows for column in row)
    return Table(name, tuple(columns), rows, lines, classes)


def _values_of(column: Any) -> list[Any]:
    """Return the values of a column of pandas or polars."""
    values: list[Any] = column.tolist() if hasattr(column, "tolist") else column.to_list()
    return values


def _require_names_once(names: Iterable[Any], where: str) -> None:
    """Check that no two columns have one name, as 1 and "1" have.

    Raises:
        DataError: Two of them do.
    """
    known: set[str] = set()
    for name in map(str, names):
        if name in known:
            raise DataError(f"{where} has two columns {name!r}; rename one")
        known.add(name)


def _require_one_index(columns: Mapping[Any, Any], name: str) -> None:
    """Check that columns of pandas have one index, because the values of a row would be those of different labels.

    Raises:
        DataError: Two indices differ.
    """
    indexed = [(column, values.index) for column, values in columns.items() if _is_series(values)]
    for column, index in indexed[1:]:
        if not index.equals(indexed[0][1]):
            raise DataError(
                f"{name}[{column!r}] and {name}[{indexed[0][0]!r}] are Series with different indices; return one "
                "pandas.DataFrame, or lists"
            )


def _is_series(values: Any) -> bool:
    """Return whether values are a Series of pandas, whose `index` is not a method as that of a list is."""
    return hasattr(values, "to_frame") and not callable(getattr(values, "index", len))


def _as_list(values: Any, name: str) -> list[Any]:
    unordered = isinstance(values, Mapping | Set)  # the keys of a mapping are not its values
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__") or unordered:
        raise DataError(f"{name} is a {type(values).__name__}; give a list with one value for each row")
    return list(values)


def _plain(values: list[Any]) -> list[Any]:
    """Return values without the number types of numpy."""
    return [value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value for value in values]


def _decode(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: the file is not UTF-8; convert it, for example by `iconv -f latin1 -t utf-8`"
        ) from error


def _read_lines(path: Path) -> Table:
    rows, lines = [], []
    for number, line in enumerate(_decode(path).split("\n"), 1):
        if line.strip():
            rows.append(_record(path, f"line {number}", line))
            lines.append(f"line {number}")
    return _table(str(path), rows, lines)


def _record(path: Path, place: str, text: str) -> Mapping[str, Any]:
    try:
        row = json.loads(text, object_pairs_hook=_fields)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}, {place} is not valid JSON ({_why(error)}); each line is one record, {_EXAMPLE}"
        ) from error
    if not isinstance(row, dict):
        raise DataError(f"{path}, {place} is not a record; each line is one record, {_EXAMPLE}")
    return row


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a record of JSON.

    Raises:
        ValueError: A field is there twice.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return fields


def _why(error: ValueError | RecursionError) -> str:
    """Return what is wrong with JSON, without its place."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]


def _read_json(path: Path) -> Table:
    try:
        rows = json.loads(_decode(path), object_pairs_hook=_fields)
    except (ValueError, RecursionError) as error:
        place = f": line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(
            f"{path} is not valid JSON ({_why(error)}{place}); a file with one record in each line ends in .jsonl"
        ) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path} must be a list of records such as {_EXAMPLE}")
    return _table(str(path), rows, [f"record {number}" for number in range(1, len(rows) + 1)])


def _read_separated(path: Path, separator: str) -> Table:
    text, before = _decode(path), csv.field_size_limit(sys.maxsize)
    try:
        rows, lines = [], []
        reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
        for row, number in _numbered(reader):
            if row:  # not an empty line
                rows.append(row)
                lines.append(f"line {number}")
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; put texts with quotes or line ends in quotes"
        ) from error
    finally:
        csv.field_size_limit(before)
    if not rows:
        raise DataError(f"{path} is empty; write the names of the columns in its first line, and a text in each row")
    header = rows[0]
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        raise DataError(f"{path} has two columns {twice[0]!r}; rename one")
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(header):
            raise DataError(
                f"{path}, {line} has {len(row)} fields, and the first line names {len(header)} columns, "
                f"{', '.join(header)}; put texts with {separator!r} in quotes"
            )
    found = [dict(zip(header, row, strict=True)) for row in rows[1:]]
    return Table(str(path), tuple(header), found, lines[1:], {})


def _numbered(reader: Any) -> Iterator[tuple[list[str], int]]:
    """Yield rows with the number of their first lines."""
    line = 1
    for row in reader:
        yield row, line
        line = reader.line_num + 1


def _read_parquet(path: Path) -> Table:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise DataError(
            f"{path}: pandas reads Parquet by pyarrow, which is not installed; pip install pyarrow, or write the texts "
            "as .jsonl"
        ) from error
    except OSError:
        raise
    except Exception as error:  # any error of the library about a damaged file
        raise DataError(f"{path} is not a readable Parquet file ({' '.join(str(error).split())[:100]})") from error
    return table_of(frame, str(path))


_READERS: Mapping[str, Callable[[Path], Table]] = {
    ".jsonl": _read_lines,
    ".json": _read_json,
    ".csv": lambda path: _read_separated(path, ","),
    ".tsv": lambda path: _read_separated(path, "\t"),
    ".parquet": _read_parquet,
}
ENDINGS = tuple(_READERS)
"""Endings of files of texts."""
