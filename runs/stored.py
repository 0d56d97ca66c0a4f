"""Conversion of a run's state to plain JSON and named tensors, and back; reading never runs code.

A state is made of tensors, numbers, texts, tuples, mappings, trees, factors in place of weights, and named tuples of
known types.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

import algorithms
from algorithms.tree import Tree
from algorithms.weights import Added, Factored
from runs.settings import RunError

FACTORS: Mapping[str, type] = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in (Added, Factored)}
"""Stand-ins of weights, by module and name."""
ALIGNED = 64
"""Bytes to which torch aligns what it allocates."""
NamedTypes = Mapping[str, type]
"""Named tuples that may stand in a state, by module and name."""


def named_types(*modules: ModuleType) -> NamedTypes:
    """Return the named tuples of `algorithms`, and of further modules."""
    return {**_of_algorithms(), **_named_types(modules)}


@cache
def _of_algorithms() -> NamedTypes:
    found = pkgutil.walk_packages(algorithms.__path__, f"{algorithms.__name__}.")
    return _named_types([importlib.import_module(module.name) for module in found])


def _named_types(modules: Sequence[ModuleType]) -> NamedTypes:
    return {
        f"{kind.__module__}.{kind.__qualname__}": kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    }


class Shelf:
    """Named tensors with their memory layout, because results depend on the layout in the last bit.

    A tensor that occurs in several places of a state is on the shelf once, and is one tensor again afterwards.

    Attributes:
        tensors: Numbers of the tensors by name, as they are stored.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[Any, str] = {}

    def put(self, tensor: Tensor) -> list[Any]:
        """Store a tensor and return its description: its name, with strides and shift unless these are usual."""
        shift = tensor.data_ptr() % ALIGNED // tensor.element_size() if tensor.numel() else 0
        key = (tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.dtype, tensor.shape, tensor.stride())
        if key not in self._names:
            self._names[key] = str(len(self.tensors))
            self.tensors[self._names[key]] = _numbers(tensor)
        # A tensor that is contiguous may have other strides where it has one row or column, by which libraries go.
        usual = tensor.stride() == torch.empty(tensor.shape, device="meta").stride() and not shift
        return [self._names[key]] if usual else [self._names[key], list(tensor.stride()), shift]


@dataclass(frozen=True)
class StoredTensors:
    """Stored tensors of a shelf, by their descriptions.

    Attributes:
        tensors: Numbers of the tensors by name.
        device: Where the run computes.
    """

    tensors: Mapping[str, Tensor]
    device: torch.device
    _made: dict[str, Tensor] = field(default_factory=dict)

    def get(self, reference: Sequence[Any]) -> Tensor:
        """Return the tensor that `put` described, in its memory layout.

        Raises:
            KeyError, TypeError, ValueError, RuntimeError: There is none.
        """
        name, *layout = reference
        if name not in self._made:
            self._made[name] = _lay_out(self.tensors[name].to(self.device), *layout)
        return self._made[name]


def _numbers(tensor: Tensor) -> Tensor:
    """Return the numbers of a tensor without its layout, on the CPU."""
    own = tensor.detach().to("cpu").contiguous()
    whole = own.untyped_storage().nbytes() == own.numel() * own.element_size()
    return own if whole else own.clone()


def _lay_out(numbers: Tensor, strides: Sequence[int] | None = None, shift: int = 0) -> Tensor:
    if strides is None or not numbers.numel():
        return numbers.clone()  # into memory of torch's own, which is aligned
    reach = sum((size - 1) * stride for size, stride in zip(numbers.shape, strides, strict=True))
    room = numbers.new_empty(shift + reach + 1)
    tensor = room.as_strided(numbers.shape, strides, shift)
    target, source = tensor, numbers
    for dimension, stride in enumerate(strides):
        if not stride:  # the same numbers again and again, as `expand` gives
            target, source = target.narrow(dimension, 0, 1), source.narrow(dimension, 0, 1)
    target.copy_(source)
    return tensor


def to_plain(value: Any, put: Callable[[Tensor], Any], kinds: NamedTypes) -> Any:
    """Convert a value to plain JSON.

    Args:
        value: Part of a state.
        put: Takes a tensor and returns its plain description.
        kinds: Named tuples that may occur in it.

    Raises:
        RunError: It holds what a state may not hold.
    """
    if isinstance(value, Tensor):
        return {"tensor": put(value)}
    if isinstance(value, Tree):
        return {"tree": {name: to_plain(entry, put, kinds) for name, entry in value.items()}}
    if isinstance(value, Mapping):
        return {"mapping": [[_key(name), to_plain(entry, put, kinds)] for name, entry in value.items()]}
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if FACTORS.get(name) is type(value):
        return {"factors": name, "fields": [to_plain(entry, put, kinds) for entry in vars(value).values()]}
    if isinstance(value, tuple) and kinds.get(name) is type(value):
        return {"named": name, "fields": [to_plain(entry, put, kinds) for entry in value]}
    if is_dataclass(value) and kinds.get(name) is type(value):
        return {"named": name, "fields": [to_plain(getattr(value, entry.name), put, kinds) for entry in fields(value)]}
    if type(value) in (tuple, list, torch.Size):
        return {"list" if type(value) is list else "tuple": [to_plain(entry, put, kinds) for entry in value]}
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    raise RunError(
        f"a state holds a {name}, which cannot be stored; keep tensors, numbers, texts, tuples, mappings, trees, "
        "factors and named tuples that are defined in the module of the algorithm"
    )


def from_plain(value: Any, get: Callable[[Any], Tensor], kinds: NamedTypes) -> Any:
    """Restore a value that `to_plain` took apart.

    Raises:
        KeyError, TypeError, ValueError: The value is not what `to_plain` gives.
    """
    if len(value) > 2 or (len(value) == 2 and "fields" not in value):
        raise ValueError("a part of a state with two descriptions")
    if "tensor" in value:
        return get(value["tensor"])
    if "tree" in value:
        return Tree({name: from_plain(entry, get, kinds) for name, entry in value["tree"].items()})
    if "mapping" in value:
        return {_key(name): from_plain(entry, get, kinds) for name, entry in value["mapping"]}
    if "factors" in value:
        return _factors(value["factors"], [from_plain(entry, get, kinds) for entry in value["fields"]])
    if "named" in value:
        return kinds[value["named"]](*(from_plain(entry, get, kinds) for entry in value["fields"]))
    if "tuple" in value:
        return tuple(from_plain(entry, get, kinds) for entry in value["tuple"])
    if "list" in value:
        return [from_plain(entry, get, kinds) for entry in value["list"]]
    if value["value"] is not None and type(value["value"]) not in (bool, int, float, str):
        raise ValueError("a value that is neither a number nor a text")
    return value["value"]


def _factors(name: str, parts: Sequence[Any]) -> Added | Factored:
    made = FACTORS[name](*parts)
    if isinstance(made, Added):
        right = isinstance(made.base, Tensor | Added | Factored) and type(made.scale) is float
        matrices = [made.A, made.B]
    else:
        right = made.of is None or (type(made.of) is tuple and all(type(side) is int for side in made.of))
        matrices = [made.U, made.V, *(() if made.S is None else (made.S,))]
    if not right or not all(isinstance(matrix, Tensor) for matrix in matrices):
        raise ValueError("invalid factors")
    return made


def _key(name: Any) -> Any:
    if type(name) not in (str, int):
        raise RunError(f"a state has a mapping with the key {name!r}; keys are texts or whole numbers")
    return name
