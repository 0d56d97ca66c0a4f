"""The IDX format of MNIST: a magic number, big-endian dimensions, then the bytes of a uint8 array."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

UINT8 = 0x08  # the only one of the format's element types that MNIST and its relatives use


class DataError(RuntimeError):
    """Error about data that are missing, damaged, or cannot be fetched; one line with the remedy."""


def parse(content: bytes, name: str = "IDX data") -> NDArray[np.uint8]:
    """Return the read-only uint8 array held by the bytes of an unpacked IDX file.

    Args:
        content: The whole file, header included.
        name: Name of the file in errors.

    Raises:
        DataError: The magic number, the element type, a dimension, or the length is wrong.
    """
    if len(content) < 4:
        raise DataError(f"{name}: expected an IDX header of at least 4 bytes, found {len(content)} bytes")
    zeros, kind, rank = struct.unpack(">HBB", content[:4])
    if zeros != 0 or rank == 0:
        raise DataError(f"{name}: not an IDX file, it starts with {content[:4].hex()}")
    if kind != UINT8:
        raise DataError(f"{name}: expected IDX elements of type 0x08 (uint8), found 0x{kind:02x}")
    header = 4 + 4 * rank
    if len(content) < header:
        raise DataError(f"{name}: expected {rank} dimensions in {header} bytes, found {len(content)} bytes")
    shape = struct.unpack(f">{rank}I", content[4:header])
    expected = header + math.prod(shape)
    if 0 in shape or len(content) != expected:
        raise DataError(f"{name}: expected {expected} bytes for shape {shape}, found {len(content)}")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def pack(array: NDArray[np.uint8]) -> bytes:
    """Return the IDX bytes of a uint8 array of at least one dimension, the inverse of `parse`.

    Raises:
        DataError: The array is not uint8 or has no dimension.
    """
    if array.dtype != np.uint8 or array.ndim == 0:
        raise DataError(f"expected a uint8 array with dimensions, got {array.dtype} of shape {array.shape}")
    header = struct.pack(f">HBB{array.ndim}I", 0, UINT8, array.ndim, *array.shape)
    return header + np.ascontiguousarray(array).tobytes()
