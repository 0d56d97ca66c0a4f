"""Large pages for memory that is written for the first time: on Linux, small ones cost more than what is put there."""

from __future__ import annotations

import ctypes
import mmap
from contextlib import suppress

from torch import Tensor

LEAST = 2**26
"""Bytes from which it pays."""


def in_large_pages(fresh: Tensor) -> Tensor:
    """Asks the system for large pages where memory of a processor is new and large; returns the tensor."""
    size = fresh.untyped_storage().nbytes()
    if fresh.device.type == "cpu" and size >= LEAST and (advice := getattr(mmap, "MADV_HUGEPAGE", None)) is not None:
        start = -(-fresh.untyped_storage().data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        with suppress(AttributeError, OSError, TypeError):  # it is advice, which not every system takes
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size - mmap.PAGESIZE), advice)
    return fresh
