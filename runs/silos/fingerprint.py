"""The fingerprint of a client's data: equal data in another process give the same, and other data another one.

Numbers and texts that a client holds are read: tensors, arrays, tables, and what lies in its attributes. Networks,
generators of random numbers, loggers, locks and threads are left out, because they may differ in each process. What
lies in files is not read, except for their names. A client may say itself what its data are, by an attribute
`fingerprint`: a text, or the names of the attributes that count. Objects that are not made of attributes are read as
pickle takes them apart. It reports the kinds of values that even pickle cannot read, and cached properties, which it
does not read because they may not be computed yet. Sets and tables are read in an order of their contents.
"""

from __future__ import annotations

import functools
import inspect
import logging
import random
import re
import struct
import threading
import warnings
from collections.abc import Iterable, Mapping, MappingView, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import torch
from torch import Tensor

from algorithms.federation import FederationError
from algorithms.layers import Factorable

_CHANCE = (
    torch.nn.Module,
    Factorable,
    torch.Generator,
    np.random.Generator,
    np.random.RandomState,
    random.Random,
    logging.Filterer,  # loggers and handlers
    logging.LoggerAdapter,
    threading.Thread,
)
"""Kinds of objects that may differ in each process without other data."""
_OF_PROCESS = re.compile(
    r"(logging|loguru|structlog|threading|concurrent|socket|subprocess|multiprocessing\.(synchronize|process|pool))\b"
)
"""Modules whose objects may, too."""
_SINGLE = (date, time, timedelta, Decimal, Fraction, UUID)
"""Kinds of single values that are read as pickle takes them apart."""
_EMPTY = (type(threading.Lock()), type(threading.RLock()), type(NotImplemented), type(...))
"""Kinds of objects that hold no data."""
_POINTER = struct.calcsize("P")
_OWN_DICT, _OWN_WEAK = 1 << 4, 1 << 3
"""Flags of types whose dictionary and weak references lie outside of the object's size, in CPython."""
_OF_NETWORKS = ("_parameters", "_modules")
_OF_ARRAYS = frozenset(vars(np.ma.masked_array([0]))) | {"_mmap", "filename", "offset", "mode"}
"""Attributes that numpy gives to masked arrays, which are read as numbers and mask, and to arrays in files."""
_TABLES = ("pandas", "polars", "pyarrow")
"""Packages whose tables are read as numbers; their attributes are objects of C, or caches."""
_EXTENDED = 63
"""Bits of the fraction of an 80-bit number, which lies in 12 or 16 bytes."""
_PLAIN = (str, bytes, bool, int, float, complex, type(None), PurePath, Enum, np.generic, torch.dtype, torch.device)


class Fingerprint(NamedTuple):
    """The digest of a client's data, and what it does not cover.

    Attributes:
        digest: The digest; none where nothing could be read.
        unread: Kinds of objects that could not be read, by name.
        has_data: Whether there is more than numbers and texts that stand alone, such as a size and the name of a file.
        cached: Cached properties in the data, which the digest leaves out, by class and name.
    """

    digest: bytes | None
    unread: tuple[str, ...]
    has_data: bool = False
    cached: tuple[str, ...] = ()


def fingerprint(client: Any) -> bytes | None:
    """Return the digest of a client's data; None if it holds nothing that can be read."""
    return fingerprint_of(client).digest


def fingerprint_of(client: Any) -> Fingerprint:
    """Return the digest of a client's data, with the kinds of objects in it that could not be read.

    Raises:
        FederationError: The client's `fingerprint` is neither a text nor names of its attributes, or is a text that
            consists of such names.
    """
    said = getattr(client, "fingerprint", None)
    own = said is not None and not callable(said)
    if own and isinstance(said, str):
        _require_no_names(client, said)
    reader = _Reader()
    named = _named_parts(client, said) if own and not isinstance(said, _PLAIN) else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if named is not None:
                reader.named(named)
            else:
                reader.read(str(said) if own else client, outermost=True)
    except Exception:  # of any object that a client holds
        return Fingerprint(None, ())
    digest = reader.digest.digest() if reader.found else None
    unread, cached = (tuple(dict.fromkeys(names)) for names in (reader.unread, reader.cached))
    return Fingerprint(digest, unread, reader.has_data or own, cached)


def _require_no_names(client: Any, text: str) -> None:
    """Refuse a text that consists of names of attributes, as that of a tuple without its comma does.

    Raises:
        FederationError: It does.
    """
    known = {name for name, _ in _attributes(client) if name != "fingerprint"}
    missing = object()
    if inspect.getattr_static(client, text, missing) is missing and not _consists_of(text, known):
        return
    raise FederationError(
        f"its client's fingerprint is the text {text[:80]!a}, which consists of names of the client's attributes: to "
        f'name attributes, write a tuple of them with commas, such as ("x",); to identify the data by a text, use '
        f"another one"
    )


def _consists_of(text: str, names: set[str]) -> bool:
    """Return whether a text consists of names, with nothing but spaces, commas, semicolons and quotes in between."""
    ends = {0}
    for start in range(len(text)):
        if start in ends and text[start] in " ,;'\"":
            ends.add(start + 1)
        elif start in ends:
            ends |= {start + len(name) for name in names if name and text.startswith(name, start)}
    return bool(text.strip(" ,;'\"")) and len(text) in ends


def _named_parts(client: Any, names: Any) -> list[tuple[str, Any]]:
    """Return the attributes that a client names as its data, with their names."""
    right = isinstance(names, list | tuple | set | frozenset) and names and all(isinstance(name, str) for name in names)
    if not right:
        raise FederationError(
            f"its client's fingerprint is a {type(names).__name__}; make it a text that identifies the data, or a "
            f"tuple of the names of the attributes that hold the data"
        )
    lacking = sorted(name for name in names if not hasattr(client, name))
    if lacking:
        raise FederationError(
            f"its client's fingerprint names {lacking[0]!a}, and the client has no such attribute; name the "
            f"attributes that hold its data"
        )
    return [(name, getattr(client, name)) for name in sorted(set(names))]


class _Reader:
    """Reads values into a digest, each after the name of its kind and its size."""

    def __init__(self) -> None:
        self.digest, self.found, self.has_data = sha256(), False, False
        self.unread: list[str] = []
        self.cached: list[str] = []
        self._within: set[int] = set()
        self._many = False

    def read(self, value: Any, outermost: bool = False) -> None:
        if id(value) in self._within or (_is_of_process(value) and not outermost):
            self._note("left out", type(value).__qualname__.encode())
            return
        self._within.add(id(value))
        try:
            self._read(value)
        finally:
            self._within.discard(id(value))

    def _read(self, value: Any) -> None:
        if isinstance(value, Tensor):
            whole = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
            numbers = whole.resolve_conj().resolve_neg().cpu().contiguous().flatten().view(torch.uint8)
            self._data(f"tensor {value.dtype} {tuple(value.shape)}", numbers.numpy().data, alone=not value.ndim)
        elif isinstance(value, np.ndarray | np.void) and value.dtype.names is not None:
            self._note("records", str(value.shape).encode())  # field by field, because bytes between them are random
            self.named([(name, value[name]) for name in value.dtype.names])
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            kind = f"{value.dtype.str} {value.dtype}" if value.dtype.kind == "V" else value.dtype.str
            self._data(f"array {kind} {value.shape}", _numbers_of(value), alone=not value.ndim)
            if isinstance(value, np.ma.MaskedArray):
                self.read(np.ma.getmaskarray(value))
        elif value is None:  # holds nothing, so that a client of it alone is not known by it
            self._note("NoneType", b"None")
        elif isinstance(value, _PLAIN):
            self._data(type(value).__qualname__, _written(value).encode(), alone=not isinstance(value, bytes))
        elif isinstance(value, memoryview):
            self._data(f"memoryview {value.format} {value.shape}", value.tobytes())
        elif isinstance(value, Mapping):
            self._mapping(value)
        elif isinstance(value, Set):
            self._set(value)
        elif isinstance(value, MappingView) and isinstance(value, Iterable):
            self._several("view", list(value))
        elif isinstance(value, np.ndarray) and value.ndim == 0:
            self._several("ndarray", [value.item()])
        elif isinstance(value, list | tuple | np.ndarray):
            self._several(type(value).__qualname__, list(value))
        elif hasattr(value, "to_numpy"):  # tables and their columns
            self._table(value)
        elif isinstance(value, functools.partial):
            self._several("partial", [value.func, *value.args, value.keywords], many=False)
        elif inspect.ismethod(value):
            self._several("method", [value.__func__, value.__self__], many=False)
        elif inspect.isfunction(value):
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
            given = [*(value.__defaults__ or ()), value.__kwdefaults__, *cells]
            self._several(f"function {value.__qualname__}", given, many=False)
        elif isinstance(value, type) or inspect.ismodule(value) or inspect.isbuiltin(value):
            self._note("name", getattr(value, "__qualname__", value.__name__).encode())
            if inspect.isbuiltin(value) and not inspect.ismodule(value.__self__):
                self.read(value.__self__)
        else:
            self._object(value)
            return
        if _may_have_own_attributes(value):
            self.named(self._attributes(value))

    def _attributes(self, value: Any) -> list[tuple[str, Any]]:
        """Return the attributes of an object, and remember the cached properties among them."""
        self.cached += [f"{type(value).__qualname__}.{name}" for name in sorted(_cached_names(type(value)))]
        return _attributes(value)

    def _object(self, value: Any) -> None:
        """Read the attributes of an object, and its pickled state if it holds more."""
        self._note("object", type(value).__qualname__.encode())
        known = len(self.unread)
        self.named(self._attributes(value))
        hidden = _holds_more(value) and not isinstance(value, _EMPTY)
        if not hidden and (len(self.unread) == known or not _is_taken_apart(type(value))):
            return
        try:
            parts = value.__reduce_ex__(4)
            taken = [*parts[:3], *(list(more) for more in parts[3:5] if more is not None)]
        except Exception:  # such as that of pickle about what it cannot store
            if hidden:
                self._note("unread", type(value).__qualname__.encode())
                self.unread.append(type(value).__qualname__)
            return
        del self.unread[known:]
        data = self.has_data
        self._several("parts", taken, many=False)
        if isinstance(value, _SINGLE):
            self.has_data = data or self._many

    def named(self, parts: list[tuple[str, Any]]) -> None:
        """Read values after their names."""
        for name, part in parts:
            self._note("attribute", name.encode())
            self.read(part)

    def _table(self, value: Any) -> None:
        """Read a table by its columns, because in one array of all of them some numbers would be rounded."""
        if not hasattr(value, "columns"):
            self._column(value)
        elif hasattr(value, "items"):
            self._several("table", list(value.columns))
            for _, column in value.items():
                self._column(column)
        else:
            self._several("table", [list(value.columns), value.to_numpy()])
        index = getattr(value, "index", None)
        if hasattr(index, "to_numpy"):
            self.read(index)

    def _column(self, value: Any) -> None:
        """Read a column with its type; categories have an order, by which their codes count."""
        kind = getattr(value, "dtype", None)
        categories = [getattr(kind, name, None) for name in ("categories", "ordered")]
        self._several("column", [str(kind), *categories, value.to_numpy()])

    def _several(self, kind: str, values: list[Any], many: bool = True) -> None:
        self._note(kind, str(len(values)).encode())
        before, self._many = self._many, self._many or many
        for value in values:
            self.read(value)
        self._many = before

    def _mapping(self, value: Mapping[Any, Any]) -> None:
        """Read keys and values; those of a table of settings are independent, as attributes are."""
        pairs = list(value.items())
        if all(_is_plain(key) for key, _ in pairs):
            pairs.sort(key=lambda pair: _written(pair[0]))
        else:
            pairs.sort(key=lambda pair: (self._alone(pair[0]), self._alone(pair[1])))
        self._several("mapping", [part for pair in pairs for part in pair], many=False)

    def _set(self, value: Set[Any]) -> None:
        self._several("set", sorted(value, key=_written if all(map(_is_plain, value)) else self._alone))

    def _alone(self, value: Any) -> bytes:
        """Return the digest of a value by itself, by which an order does not depend on addresses."""
        reader = _Reader()
        reader._within = set(self._within)
        reader.read(value)
        return reader.digest.digest()

    def _data(self, kind: str, data: bytes | memoryview, alone: bool = False) -> None:
        self.found = True
        self.has_data = self.has_data or self._many or not alone
        self._note(kind, data)

    def _note(self, kind: str, data: bytes | memoryview) -> None:
        self.digest.update(f"{kind} {len(data)} ".encode())
        self.digest.update(data)


def _numbers_of(array: Any) -> bytes:
    """Return the numbers of an array as bytes, without those that fill up extended precision, which are random."""
    if array.dtype.type not in (np.longdouble, np.clongdouble) or np.finfo(np.longdouble).nmant != _EXTENDED:
        return bytes(array.tobytes())
    native = array.astype(array.dtype.newbyteorder("<"), copy=False)
    rows = np.frombuffer(native.tobytes(), np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)
    return rows[:, : (_EXTENDED + 17) // 8].tobytes()


def _is_of_process(value: Any) -> bool:
    """Return whether an object may differ between processes although the data are the same."""
    return isinstance(value, _CHANCE) or _OF_PROCESS.match(type(value).__module__ or "") is not None


def _is_plain(value: Any) -> bool:
    """Return whether `_written` gives the same text in every process."""
    return isinstance(value, _PLAIN) or (type(value) is tuple and all(map(_is_plain, value)))


def _written(value: Any) -> str:
    """Return a plain value as text; of a member of an enumeration, whose value may be any object, its name."""
    if isinstance(value, Enum) and not _is_plain(value.value):
        return f"<{type(value).__qualname__}.{value.name}>"
    return repr(value)


def _holds_more(value: Any) -> bool:
    """Return whether an object may hold more than its attributes, as types written in C do."""
    kind = type(value)
    slots = sum(len(_listed(one.__dict__.get("__slots__", ()))) for one in kind.__mro__)
    within = (kind.__dictoffset__ != 0 and not kind.__flags__ & _OWN_DICT) + (
        kind.__weakrefoffset__ != 0 and not kind.__flags__ & _OWN_WEAK
    )
    return kind.__itemsize__ > 0 or kind.__basicsize__ > object.__basicsize__ + (slots + within) * _POINTER


def _is_taken_apart(kind: type) -> bool:
    """Return whether a type defines how pickle reduces its objects."""
    names = ("__reduce__", "__reduce_ex__", "__getstate__")
    return any(getattr(kind, name, None) is not getattr(object, name, None) for name in names)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object: fields of a dataclass, then all others except cached values."""
    own = getattr(value, "__dict__", {})
    slots = () if isinstance(value, _PLAIN) else _slots(type(value))  # those of a path are caches
    fixed = [entry.name for entry in fields(value)] if is_dataclass(value) else []
    names = [*fixed, *sorted({*own, *slots} - {*fixed, "__dict__", "__weakref__"})]
    left = _cached_names(type(value)) | set(_OF_NETWORKS)
    if isinstance(value, np.memmap | np.ma.MaskedArray):
        left |= _OF_ARRAYS
    kept = [name for name in names if name not in left and (name in own or hasattr(value, name))]
    return [(name, own[name] if name in own else getattr(value, name)) for name in kept]


def _cached_names(kind: type) -> set[str]:
    """Return the names of the cached properties of a class."""
    named = {name: entry for one in reversed(kind.__mro__) for name, entry in vars(one).items()}
    return {name for name, entry in named.items() if isinstance(entry, functools.cached_property)}


def _slots(kind: type) -> list[str]:
    """Return the names of a type's slots; private ones are stored under a name with that of their class."""
    return [
        f"_{one.__name__.lstrip('_')}{name}"
        if name.startswith("__") and not name.endswith("__") and one.__name__.strip("_")
        else name
        for one in kind.__mro__
        for name in _listed(one.__dict__.get("__slots__", ()))
    ]


def _may_have_own_attributes(value: Any) -> bool:
    """Return whether somebody may have added attributes to an object that is read by its contents."""
    if isinstance(value, Enum | type) or inspect.ismodule(value) or inspect.isbuiltin(value) or inspect.ismethod(value):
        return False
    packages = {one.__module__.partition(".")[0] for one in type(value).__mro__}
    return packages.isdisjoint(_TABLES)


def _listed(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
