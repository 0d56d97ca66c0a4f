"""The fingerprint of a client's data: the same for the same data in another process, and another for other data.

Numbers and texts that a client holds are read: tensors, arrays, tables, and what lies in its attributes. A network and
generators of random numbers are left out, because they may differ in each process. What lies in files is not read,
except for their names; a client may say itself what its data are, by an attribute `fingerprint`.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.layers import Factorable

_CHANCE = (torch.nn.Module, Factorable, torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
_OF_NETWORKS = ("_parameters", "_modules")
_PLAIN = (str, bytes, bool, int, float, complex, type(None), PurePath, Enum, np.generic, torch.dtype, torch.device)


def fingerprint(client: Any) -> bytes | None:
    """A digest of a client's data; none where it holds nothing that can be read."""
    said = getattr(client, "fingerprint", None)
    reader = _Reader()
    try:
        reader.read(client if said is None or callable(said) else str(said), outermost=True)
    except Exception:  # of whatever a client is made of
        return None
    return reader.digest.digest() if reader.found else None


class _Reader:
    """Reads values into a digest, each after the name of its kind and its size."""

    def __init__(self) -> None:
        self.digest, self.found = sha256(), False
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
        elif isinstance(value, _PLAIN):
            self._data(type(value).__qualname__, repr(value).encode())
        elif isinstance(value, Mapping):
            self._several("mapping", [part for pair in sorted(value.items(), key=_by_name) for part in pair])
        elif isinstance(value, Set):
            self._several("set", sorted(value, key=repr))
        elif isinstance(value, list | tuple | np.ndarray):
            self._several(type(value).__qualname__, list(value))
        elif hasattr(value, "to_numpy"):  # tables and their columns
            self._several("table", [list(getattr(value, "columns", ())), value.to_numpy()])
        elif isinstance(value, functools.partial):
            self._several("partial", [value.func, value.args, value.keywords])
        elif inspect.ismethod(value):
            self._several("method", [value.__func__, value.__self__])
        elif inspect.isfunction(value):
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
            self._several(f"function {value.__qualname__}", [value.__defaults__, value.__kwdefaults__, cells])
        elif isinstance(value, type) or inspect.ismodule(value) or inspect.isbuiltin(value):
            self._note("name", getattr(value, "__qualname__", value.__name__).encode())
        else:
            self._note("object", type(value).__qualname__.encode())
            for name, part in _attributes(value):
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
