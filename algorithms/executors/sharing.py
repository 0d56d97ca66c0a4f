"""Messages between processes whose tensors lie in shared memory, all of one message in one piece.

Memory that is shared goes when the last process that sees it lets go or ends, whatever ends it.
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
import torch.multiprocessing  # teaches connections to hand shared memory over
from torch import Tensor

from algorithms.exchange import FederationError

_ALIGNMENT = 64  # bytes; a multiple of every item's
_SHARED = "/dev/shm"  # where Linux keeps shared memory
_FEW = 1 << 15  # bytes that travel faster than a handle of shared memory


class Place(NamedTuple):
    """Where a tensor lies in the shared piece, and what it is."""

    offset: int
    shape: torch.Size
    dtype: torch.dtype
    device: torch.device


class Packed(NamedTuple):
    """A message as it travels.

    Attributes:
        text: Everything but the tensors.
        places: Places of the tensors.
        entries: Entries of the tensors, as bytes: in shared memory, or with the message where they are few; or an
            array, which others share in their own way.
    """

    text: bytes
    places: tuple[Place, ...]
    entries: Tensor | bytes | np.ndarray


def pack(message: Any, shared: bool = True) -> Packed:
    """Puts a message into one piece; each of its tensors is copied once.

    Args:
        message: The message.
        shared: Large ones lie in shared memory; else in an array.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: Something in it cannot leave the process, such as a lambda.
        FederationError: There is no room in shared memory.
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
    """The message.

    Args:
        packed: The message as it arrived.
        own: Tensors get memory of their own; else they lie in the message's and are not to be changed.
    """
    entries = packed.entries
    if isinstance(entries, np.ndarray):
        with warnings.catch_warnings():  # an array that several processes see may not be written to
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
    """Refuses a message that does not fit, which would end the process without a word when it is written."""
    if os.path.isdir(_SHARED):
        room = os.statvfs(_SHARED)
        if size > room.f_bavail * room.f_frsize:
            raise FederationError(
                f"{_SHARED} has no room for {size:,} bytes that processes share: enlarge it, or use another executor"
            )


def _at(piece: Tensor, place: Place) -> Tensor:
    size = place.shape.numel() * place.dtype.itemsize
    return piece[place.offset : place.offset + size].view(place.dtype).view(place.shape)


class _Pickler(pickle.Pickler):
    """Leaves tensors out, each once."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, entry: Any) -> int | None:
        """The number of a tensor."""
        if type(entry) is not Tensor:
            return None
        if id(entry) not in self._numbers:
            self._numbers[id(entry)] = len(self.tensors)
            self.tensors.append(entry)  # held until the end, so that no other takes its id
        return self._numbers[id(entry)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, tensors: Sequence[Tensor]) -> None:
        super().__init__(stream)
        self._tensors = tensors

    def persistent_load(self, number: Any) -> Tensor:
        """The tensor of a number."""
        return self._tensors[number]
