"""Messages between a server and its silos: plain JSON, and tensors as safetensors; reading never runs code.

Values are converted as for checkpoints (`runs.stored`), so both ends compute the same bits from a tensor. The size
of a message is checked before it is parsed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from runs.settings import RunError
from runs.stored import ALIGNED, NamedTypes, Shelf, StoredTensors, from_plain, to_plain

PROTOCOL = 3
"""Version of the message format; a server and a silo need the same one."""
ROOM = 16
"""Largest memory of a tensor with gaps, as a multiple of its numbers; beyond this it travels without gaps."""


class MessageError(ValueError):
    """Error about a refused message; it says why."""


class Message(NamedTuple):
    """A message between server and silo.

    Attributes:
        text: Text in JSON.
        blobs: Tensors as safetensors, by name.
    """

    text: str
    blobs: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Approximate size in bytes: a character of the text counts as one."""
        return len(self.text) + sum(map(len, self.blobs.values()))


@dataclass(frozen=True)
class Limits:
    """Largest sizes of a message.

    Attributes:
        bytes: Bytes of its tensors.
        text: Characters of its text.
        depth: Depth of values within values.
        blobs: Number of its tensors.
    """

    bytes: int = 1 << 30
    text: int = 1 << 22
    depth: int = 48
    blobs: int = 1 << 12

    @classmethod
    def of_megabytes(cls, most: Any) -> Limits:
        """Return limits for a number of megabytes of tensors.

        Raises:
            ValueError: It is not a number, or out of range.
        """
        if isinstance(most, bool) or not isinstance(most, int | float) or not 1e-6 <= most <= 1e9:
            raise ValueError(f"limit-mb must be a number from 1e-6 to 1e9, got {most!r}")
        return cls(bytes=int(most * 1e6))


class Packed(NamedTuple):
    """A value in a message: its structure for JSON, and its tensors."""

    structure: Any
    blob: bytes

    @property
    def digest(self) -> str:
        """Hexadecimal digest of both."""
        return hashlib.sha256(self.as_bytes).hexdigest()

    @property
    def as_bytes(self) -> bytes:
        """Both as one sequence of bytes, as files keep them."""
        text = json.dumps(self.structure, allow_nan=False).encode()
        return len(text).to_bytes(8, "little") + text + self.blob

    @staticmethod
    def from_bytes(data: bytes) -> Packed:
        """Restore a packed value from `as_bytes`.

        Raises:
            MessageError: The data do not come from `as_bytes`.
        """
        length = int.from_bytes(data[:8], "little")
        try:
            return Packed(json.loads(data[8 : 8 + length]), data[8 + length :])
        except (ValueError, RecursionError) as error:
            raise MessageError("a stored value is damaged") from error


def pack(value: Any, kinds: NamedTypes) -> Packed:
    """Convert a value to its structure and its tensors.

    Args:
        value: A value made of tensors, trees, numbers, texts, tuples, mappings and what `kinds` has.
        kinds: Named tuples and settings that it may contain.

    Raises:
        MessageError: It holds something else.
    """
    shelf = Shelf()

    def put(tensor: Tensor) -> Any:
        return shelf.put(tensor if _reach(tensor.shape, tensor.stride(), 0) <= _room(tensor) else tensor.contiguous())

    try:
        structure = to_plain(value, put, kinds)
        json.dumps(structure, allow_nan=False)
        return Packed(structure, safetensors.save(shelf.tensors))
    except (RunError, ValueError, KeyError, TypeError, SafetensorError, RecursionError) as error:
        raise MessageError(f"cannot be sent: {error}") from error


def unpack(packed: Packed, kinds: NamedTypes) -> Any:
    """Restore a value, on the CPU.

    Args:
        packed: The value as it arrived, within its limits.
        kinds: As in `pack`; no other types are built.

    Raises:
        MessageError: It does not come from `pack`.
    """
    try:
        tensors = safetensors.load(packed.blob)
        taken = StoredTensors(tensors, torch.device("cpu"))

        def get(reference: Any) -> Tensor:
            _require_layout(reference, tensors)
            return taken.get(reference)

        return from_plain(packed.structure, get, kinds)
    except MessageError:
        raise
    except Exception as error:  # any error that hostile bytes cause, here or in the objects they build
        raise MessageError(f"is not a message of a silo or its server ({type(error).__name__})") from error


def read(message: Message, limits: Limits) -> dict[str, Any]:
    """Parse the text of a message, after checking its size.

    Raises:
        MessageError: It is too large, too deep or not a table in JSON.
    """
    size = sum(map(len, message.blobs.values()))
    if size > limits.bytes or len(message.text) > limits.text or len(message.blobs) > limits.blobs:
        raise MessageError(
            f"has {size:,} bytes of tensors in {len(message.blobs):,} pieces and {len(message.text):,} characters of "
            f"text; at most {limits.bytes:,}, {limits.blobs:,} and {limits.text:,} are taken"
        )
    try:
        content = json.loads(message.text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MessageError("has a text that is not JSON, or is nested too deeply") from error
    if not isinstance(content, dict):
        raise MessageError("has a text that is not a table")
    _require_shallow(content, limits.depth)
    return content


def printable(text: str, most: int = 500) -> str:
    """Return a text of others in one line of bounded length, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:most])


def to_json(content: Mapping[str, Any]) -> str:
    """Return the text of a message."""
    return json.dumps(content, allow_nan=False)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _require_shallow(content: Any, most: int) -> None:
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > most:
            raise MessageError(f"has values more than {most} deep")
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]


def _require_layout(reference: Any, tensors: Mapping[str, Tensor]) -> None:
    """Check that strides and shift of a tensor do not take more memory than `pack` allows."""
    if not isinstance(reference, list) or len(reference) not in (1, 3) or reference[0] not in tensors:
        raise MessageError("names a tensor that it does not contain")
    if len(reference) == 1:
        return
    tensor, (strides, shift) = tensors[reference[0]], reference[1:]
    whole = isinstance(strides, list) and all(type(number) is int and number >= 0 for number in (*strides, shift))
    if not whole or len(strides) != tensor.ndim or shift >= ALIGNED:
        raise MessageError("has a tensor with an impossible layout")
    if _reach(tensor.shape, strides, shift) > _room(tensor) + ALIGNED:
        raise MessageError("has a tensor that needs far more memory than its numbers")


def _reach(shape: Any, strides: Any, shift: int) -> int:
    return shift + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size) + 1


def _room(tensor: Tensor) -> int:
    return ALIGNED + ROOM * tensor.numel()
