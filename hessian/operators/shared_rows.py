"""Rows of numbers that several processes map as memory, from a file in shared memory if that has room."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from hessian.lanczos.memory import format_bytes
from hessian.numerics.symmetric import CurvatureError

SHARED = Path("/dev/shm")
"""Where Linux keeps shared memory."""
_ALIGNMENT = 64  # bytes


class Frame(NamedTuple):
    """Layout of the file: the vectors of a call, then the products of each worker.

    Attributes:
        rows: Vectors of the call.
        columns: Entries of each.
        width: Entries of each product.
        dtype: Type of both.
        workers: Number of workers that write products.
    """

    rows: int
    columns: int
    width: int
    dtype: torch.dtype
    workers: int

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._pad(self.columns) + self.workers * self._pad(self.width)

    def vectors(self, memory: Tensor) -> Tensor:
        """Return the vectors of the call, ``(rows, columns)``."""
        return self._at(memory, 0, self.columns)

    def products(self, memory: Tensor, worker: int) -> Tensor:
        """Return the products of a worker, ``(rows, width)``."""
        return self._at(memory, self._pad(self.columns) + worker * self._pad(self.width), self.width)

    def _pad(self, entries: int) -> int:
        return -(-self.rows * entries * self.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT

    def _at(self, memory: Tensor, start: int, entries: int) -> Tensor:
        size = self.rows * entries * self.dtype.itemsize
        return memory[start : start + size].view(self.dtype).view(self.rows, entries)


@dataclass(frozen=True, eq=False)
class SharedFile:
    """A file that is mapped as memory.

    Attributes:
        path: Path by which others find it, until it is unlinked; its memory goes with the last process that sees it.
        memory: Bytes of the file.
    """

    path: str
    memory: Tensor

    @staticmethod
    def create(size: int) -> SharedFile:
        """Create a file.

        Raises:
            CurvatureError: No folder has enough space.
        """
        for folder in (SHARED, Path(tempfile.gettempdir())):
            if not folder.is_dir() or shutil.disk_usage(folder).free < size:
                continue
            handle, path = tempfile.mkstemp(prefix="rankproof-", dir=folder)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(handle, 0, size)  # what does not fit later ends the process without a word
                else:
                    os.ftruncate(handle, size)
                return SharedFile(path, _map(handle, size))
            except OSError:
                os.unlink(path)
            finally:
                os.close(handle)
        raise CurvatureError(
            f"neither {SHARED} nor {tempfile.gettempdir()} has room for {format_bytes(size, up=True)} of vectors "
            f"that workers share: free space there, or use fewer workers"
        )

    @staticmethod
    def open(path: str) -> Tensor:
        """Map a file that another process has created."""
        handle = os.open(path, os.O_RDWR)
        try:
            return _map(handle, os.fstat(handle).st_size)
        finally:
            os.close(handle)

    def unlink(self) -> None:
        """Remove the file from its folder, once all processes have mapped it."""
        with suppress(OSError):
            os.unlink(self.path)


def _map(handle: int, size: int) -> Tensor:
    return torch.frombuffer(mmap.mmap(handle, size), dtype=torch.uint8)
