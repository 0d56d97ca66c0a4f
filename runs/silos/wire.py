"""Letters between a server and its silos: plain JSON, and tensors as safetensors; what is read names no code to run.

Values are taken apart as for checkpoints (`runs.stored`), so that what is computed from a tensor is the same to the
last bit at both ends. A letter is measured before it is taken apart.
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

PROTOCOL = 2
"""Number of the form of letters; a server and a silo of two numbers do not work together."""
ROOM = 16
"""How many times the room of its numbers a tensor with gaps may take; with more it travels without gaps."""


class MessageError(ValueError):
    """A letter that is not taken; the message says why."""


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
        """Size in bytes, nearly: a character of the text counts as one."""
        return len(self.text) + sum(map(len, self.blobs.values()))


@dataclass(frozen=True)
class Limits:
    """Largest sizes of a letter.

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
        """Limits of so many megabytes of tensors.

        Raises:
            ValueError: It is no number, or none of that size.
        """
        if isinstance(most, bool) or not isinstance(most, int | float) or not 1e-6 <= most <= 1e9:
            raise ValueError(f"limit-mb must be a number from 1e-6 to 1e9, got {most!r}")
        return cls(bytes=int(most * 1e6))


class Packed(NamedTuple):
    """A value as it travels: its structure for JSON, and its tensors."""

    structure: Any
    blob: bytes

    @property
    def digest(self) -> str:
        """Digest of both, hexadecimal."""
        return hashlib.sha256(self.as_bytes).hexdigest()

    @property
    def as_bytes(self) -> bytes:
        """Both in one piece, as files keep them."""
        text = json.dumps(self.structure, allow_nan=False).encode()
        return len(text).to_bytes(8, "little") + text + self.blob

    @staticmethod
    def from_bytes(data: bytes) -> Packed:
        """Restores a packed value from what `whole` made.

        Raises:
            MessageError: The data are not made by `whole`.
        """
        length = int.from_bytes(data[:8], "little")
        try:
            return Packed(json.loads(data[8 : 8 + length]), data[8 + length :])
        except (ValueError, RecursionError) as error:
            raise MessageError("a stored value is damaged") from error


def pack(value: Any, kinds: NamedTypes) -> Packed:
    """Takes a value apart.

    Args:
        value: A value made of tensors, trees, numbers, texts, tuples, mappings and what `kinds` has.
        kinds: Named tuples and settings that may stand in it.

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
    """Puts a value together; on the processor.

    Args:
        packed: The value as it arrived, within its limits.
        kinds: As in `pack`; nothing else is made.

    Raises:
        MessageError: It is not what `pack` gives.
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
    except Exception as error:  # whatever hostile bytes lead to, here or in what they make
        raise MessageError(f"is not what a silo or its server sends ({type(error).__name__})") from error


def read(letter: Message, limits: Limits) -> dict[str, Any]:
    """The content of a letter's text, after the letter has been measured.

    Raises:
        MessageError: It is too large, too deep or no table in JSON.
    """
    size = sum(map(len, letter.blobs.values()))
    if size > limits.bytes or len(letter.text) > limits.text or len(letter.blobs) > limits.blobs:
        raise MessageError(
            f"has {size:,} bytes of tensors in {len(letter.blobs):,} pieces and {len(letter.text):,} letters of text; "
            f"at most {limits.bytes:,}, {limits.blobs:,} and {limits.text:,} are taken"
        )
    try:
        content = json.loads(letter.text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MessageError("has a text that is no JSON, or too deep") from error
    if not isinstance(content, dict):
        raise MessageError("has a text that is no table")
    _require_shallow(content, limits.depth)
    return content


def printable(text: str, most: int = 500) -> str:
    """A text that others wrote as it may be shown: in one line, without signs that command a terminal, and not long."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:most])


def to_json(content: Mapping[str, Any]) -> str:
    """The text of a letter."""
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
    """Strides and shift of a tensor decide how much memory it takes: no more than `pack` asks for."""
    if not isinstance(reference, list) or len(reference) not in (1, 3) or reference[0] not in tensors:
        raise MessageError("names a tensor that it does not hold")
    if len(reference) == 1:
        return
    tensor, (strides, shift) = tensors[reference[0]], reference[1:]
    whole = isinstance(strides, list) and all(type(number) is int and number >= 0 for number in (*strides, shift))
    if not whole or len(strides) != tensor.ndim or shift >= ALIGNED:
        raise MessageError("has a tensor of no possible layout")
    if _reach(tensor.shape, strides, shift) > _room(tensor) + ALIGNED:
        raise MessageError("has a tensor that takes far more room than its numbers")


def _reach(shape: Any, strides: Any, shift: int) -> int:
    return shift + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size) + 1


def _room(tensor: Tensor) -> int:
    return ALIGNED + ROOM * tensor.numel()
