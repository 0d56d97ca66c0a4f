"""The fingerprint of a client's data: the same for the same data in another process, and another for other data.

Numbers and texts that a client holds are read: tensors, arrays, tables, and what lies in its attributes. A network and
generators of random numbers are left out, because they may differ in each process. What lies in files is not read,
except for their names; a client may say itself what its data are, by an attribute `fingerprint`. Objects that are not
made of attributes are read as pickle takes them apart. The kinds of those that even pickle cannot are reported.
"""

from __future__ import annotations

import functools
import inspect
import random
import struct
import threading
import warnings
from collections.abc import Iterable, Mapping, MappingView, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.layers import Factorable

_CHANCE = (torch.nn.Module, Factorable, torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
_EMPTY = (type(threading.Lock()), type(threading.RLock()), type(NotImplemented), type(...))
"""Kinds of objects that hold no data."""
_POINTER = struct.calcsize("P")
_OWN_DICT, _OWN_WEAK = 1 << 4, 1 << 3
"""Flags of types whose dictionary and weak references lie outside of the object's size, in CPython."""
_OF_NETWORKS = ("_parameters", "_modules")
_PLAIN = (str, bytes, bool, int, float, complex, type(None), PurePath, Enum, np.generic, torch.dtype, torch.device)


class Fingerprint(NamedTuple):
    """A digest of a client's data, and what it does not cover.

    Attributes:
        digest: The digest; none where nothing could be read.
        unread: Kinds of objects that could not be read, by name.
    """

    digest: bytes | None
    unread: tuple[str, ...]


def fingerprint(client: Any) -> bytes | None:
    """A digest of a client's data; none where it holds nothing that can be read."""
    return fingerprint_of(client).digest


def fingerprint_of(client: Any) -> Fingerprint:
    """Return the digest of a client's data, with the kinds of objects in it that could not be read."""
    said = getattr(client, "fingerprint", None)
    reader = _Reader()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(client if said is None or callable(said) else str(said), outermost=True)
    except Exception:  # of whatever a client is made of
        return Fingerprint(None, ())
    return Fingerprint(reader.digest.digest() if reader.found else None, tuple(dict.fromkeys(reader.unread)))


class _Reader:
    """Reads values into a digest, each after the name of its kind and its size."""

    def __init__(self) -> None:
        self.digest, self.found = sha256(), False
        self.unread: list[str] = []
        self._within: set[int] = set()

    def read(self, value: Any, outermost: bool = False) -> None:
        if id(value) in self._within or (isinstance(value, _CHANCE) and not outermost):
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
            self._data(f"tensor {value.dtype} {tuple(value.shape)}", numbers.numpy().data)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._data(f"array {value.dtype.str} {value.shape}", value.tobytes())
            if isinstance(value, np.ma.MaskedArray):
                self.read(np.ma.getmaskarray(value))
        elif value is None:  # holds nothing, so that a client of it alone is not known by it
            self._note("NoneType", b"None")
        elif isinstance(value, _PLAIN):
            self._data(type(value).__qualname__, repr(value).encode())
        elif isinstance(value, memoryview):
            self._data(f"memoryview {value.format} {value.shape}", value.tobytes())
        elif isinstance(value, Mapping):
            self._several("mapping", [part for pair in sorted(value.items(), key=_by_name) for part in pair])
        elif isinstance(value, Set):
            self._several("set", sorted(value, key=repr))
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
            self._several("partial", [value.func, value.args, value.keywords])
        elif inspect.ismethod(value):
            self._several("method", [value.__func__, value.__self__])
        elif inspect.isfunction(value):
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
            self._several(f"function {value.__qualname__}", [value.__defaults__, value.__kwdefaults__, cells])
        elif isinstance(value, type) or inspect.ismodule(value) or inspect.isbuiltin(value):
            self._note("name", getattr(value, "__qualname__", value.__name__).encode())
            if inspect.isbuiltin(value) and not inspect.ismodule(value.__self__):
                self.read(value.__self__)
        else:
            self._object(value)
        if isinstance(value, dict | list | tuple | set | frozenset) and _attributes(value):
            self._named(_attributes(value))

    def _object(self, value: Any) -> None:
        """Reads attributes; and, where they are not all that an object holds, what pickle makes of it."""
        self._note("object", type(value).__qualname__.encode())
        known = len(self.unread)
        self._named(_attributes(value))
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
        self._several("parts", taken)

    def _named(self, parts: list[tuple[str, Any]]) -> None:
        for name, part in parts:
            self._note("attribute", name.encode())
            self.read(part)

    def _several(self, kind: str, values: list[Any]) -> None:
        self._note(kind, str(len(values)).encode())
        for value in values:
            self.read(value)

    def _data(self, kind: str, data: bytes | memoryview) -> None:
        self.found = True
        self._note(kind, data)

    def _note(self, kind: str, data: bytes | memoryview) -> None:
        self.digest.update(f"{kind} {len(data)} ".encode())
        self.digest.update(data)


def _holds_more(value: Any) -> bool:
    """Whether an object has room for more than its attributes, as those of types written in C have."""
    kind = type(value)
    slots = sum(len(_listed(one.__dict__.get("__slots__", ()))) for one in kind.__mro__)
    within = (kind.__dictoffset__ != 0 and not kind.__flags__ & _OWN_DICT) + (
        kind.__weakrefoffset__ != 0 and not kind.__flags__ & _OWN_WEAK
    )
    return kind.__itemsize__ > 0 or kind.__basicsize__ > object.__basicsize__ + (slots + within) * _POINTER


def _is_taken_apart(kind: type) -> bool:
    """Whether a type says itself how pickle takes its objects apart."""
    names = ("__reduce__", "__reduce_ex__", "__getstate__")
    return any(getattr(kind, name, None) is not getattr(object, name, None) for name in names)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """Attributes with what an object was made of: fields of a dataclass; else all but what it has computed since."""
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


def _by_name(pair: tuple[Any, Any]) -> str:
    return repr(pair[0])
