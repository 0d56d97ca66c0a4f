"""Messages between processes whose tensors are in shared memory, one block for each message.

A block is freed when the last process that maps it releases it or ends, even if that process is killed.
"""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.multiprocessing  # registers how connections pass shared memory
from torch import Tensor

from algorithms.exchange import FederationError

_ALIGNMENT = 64  # bytes; a multiple of every item size
_SHARED = "/dev/shm"  # where Linux keeps shared memory
_FEW = 1 << 15  # up to so many bytes, a copy is faster than a handle of shared memory


class Place(NamedTuple):
    """Offset, shape, type and device of a tensor in a shared block."""

    offset: int
    shape: torch.Size
    dtype: torch.dtype
    device: torch.device


class Packed(NamedTuple):
    """A serialised message.

    Attributes:
        text: Everything except the tensors.
        places: Positions of the tensors in the block.
        entries: The block of tensor entries: in shared memory; as bytes within the message if they are few; or as an
            array, which Ray shares in its own way.
    """

    text: bytes
    places: tuple[Place, ...]
    entries: Tensor | bytes | np.ndarray


def pack(message: Any, shared: bool = True) -> Packed:
    """Serialise a message into one block; each of its tensors is copied once.

    Args:
        message: The message.
        shared: Put large messages into shared memory; else into an array.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: A part of the message cannot be sent, such as a lambda.
        FederationError: Shared memory is full.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(message)
    places, end = [], 0
    for tensor in pickler.tensors:
        places.append(Place(end, tensor.shape, tensor.dtype, tensor.device))
        end += -(-tensor.numel() * tensor.element_size() // _ALIGNMENT) * _ALIGNMENT
    piece = torch.empty(end, dtype=torch.uint8, device="cpu")
    if end > _FEW and shared:
        _require_room(end)
        piece.share_memory_()
    for tensor, place in zip(pickler.tensors, places, strict=True):
        _at(piece, place).copy_(tensor.detach())
    entries = piece.numpy().tobytes() if end <= _FEW else piece if shared else piece.numpy()
    return Packed(stream.getvalue(), tuple(places), entries)


def unpack(packed: Packed, own: bool = False) -> Any:
    """Return the message of a serialised one.

    Args:
        packed: The serialised message.
        own: Copy the tensors into memory of their own; else they share the block and must not be modified.
    """
    entries = packed.entries
    if isinstance(entries, np.ndarray):
        with warnings.catch_warnings():  # the array is read-only, because several processes share it
            warnings.simplefilter("ignore", UserWarning)
            entries = torch.from_numpy(entries)
    elif not isinstance(entries, Tensor):
        entries = torch.frombuffer(bytearray(entries or b" "), dtype=torch.uint8)
    tensors = [_at(entries, place) for place in packed.places]
    if own:
        tensors = [tensor.clone() for tensor in tensors]
    return _Unpickler(
        io.BytesIO(packed.text), [t.to(place.device) for t, place in zip(tensors, packed.places, strict=True)]
    ).load()


def _require_room(size: int) -> None:
    """Check that a message fits into shared memory, because writing one that does not kills the process silently."""
    if os.path.isdir(_SHARED):
        room = os.statvfs(_SHARED)
        if size > room.f_bavail * room.f_frsize:
            raise FederationError(
                f"{_SHARED} is too small for {size:,} bytes of shared memory: enlarge it, or use another executor"
            )


def _at(piece: Tensor, place: Place) -> Tensor:
    size = place.shape.numel() * place.dtype.itemsize
    return piece[place.offset : place.offset + size].view(place.dtype).view(place.shape)


class _Pickler(pickle.Pickler):
    """Pickles a message without its tensors, and collects each tensor once."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, entry: Any) -> int | None:
        """Return the number of a tensor, or None for other objects."""
        if type(entry) is not Tensor:
            return None
        if id(entry) not in self._numbers:
            self._numbers[id(entry)] = len(self.tensors)
            self.tensors.append(entry)  # keeps the tensor alive, so that its id is not reused
        return self._numbers[id(entry)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, tensors: Sequence[Tensor]) -> None:
        super().__init__(stream)
        self._tensors = tensors

    def persistent_load(self, number: Any) -> Tensor:
        """Return the tensor of a number."""
        return self._tensors[number]
