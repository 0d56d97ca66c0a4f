"""The fingerprint of a client's data: equal data in another process give the same, and other data another one.

Numbers and texts that a client holds are read: tensors, arrays, tables, and what lies in its attributes. Networks,
generators of random numbers, loggers, locks and threads are left out, because they may differ in each process. What
lies in files is not read, except for their names. A client may say itself what its data are, by an attribute
`fingerprint`: a text, or the names of the attributes that count. Objects that are not made of attributes are read as
pickle takes them apart. The kinds of those that even pickle cannot are reported. Sets and tables are read in an order
of their contents.
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
_PLAIN = (str, bytes, bool, int, float, complex, type(None), PurePath, Enum, np.generic, torch.dtype, torch.device)


class Fingerprint(NamedTuple):
    """The digest of a client's data, and what it does not cover.

    Attributes:
        digest: The digest; none where nothing could be read.
        unread: Kinds of objects that could not be read, by name.
        has_data: Whether there is more than numbers and texts that stand alone, such as a size and the name of a file.
    """

    digest: bytes | None
    unread: tuple[str, ...]
    has_data: bool = False


def fingerprint(client: Any) -> bytes | None:
    """Return the digest of a client's data; None if it holds nothing that can be read."""
    return fingerprint_of(client).digest


def fingerprint_of(client: Any) -> Fingerprint:
    """Return the digest of a client's data, with the kinds of objects in it that could not be read.

    Raises:
        FederationError: The client's `fingerprint` is neither a text nor names of its attributes.
    """
    said = getattr(client, "fingerprint", None)
    own = said is not None and not callable(said)
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
    return Fingerprint(digest, tuple(dict.fromkeys(reader.unread)), reader.has_data or own)


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
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._data(f"array {value.dtype.str} {value.shape}", value.tobytes(), alone=not value.ndim)
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
            self._several("table", [list(getattr(value, "columns", ())), value.to_numpy()])
            index = getattr(value, "index", None)
            if hasattr(index, "to_numpy"):
                self.read(index)
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
        if isinstance(value, dict | list | tuple | set | frozenset) and _attributes(value):
            self.named(_attributes(value))

    def _object(self, value: Any) -> None:
        """Read the attributes of an object, and its pickled state if it holds more."""
        self._note("object", type(value).__qualname__.encode())
        known = len(self.unread)
        self.named(_attributes(value))
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
    """Return the attributes an object was built from: fields of a dataclass, else all except cached values."""
    if is_dataclass(value):
        names = [entry.name for entry in fields(value)]
    else:
        slots = [name for kind in type(value).__mro__ for name in _listed(kind.__dict__.get("__slots__", ()))]
        names = sorted({*getattr(value, "__dict__", {}), *slots} - {"__dict__", "__weakref__"})
    kind = type(value)
    computed = {
        name for name in names if isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
    }
    kept = [name for name in names if name not in computed and name not in _OF_NETWORKS and hasattr(value, name)]
    return [(name, getattr(value, name)) for name in kept]


def _listed(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
