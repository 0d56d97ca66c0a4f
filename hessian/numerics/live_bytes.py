"""Bytes of tensors that a computation holds at its peak: tracked on a processor, read from the allocator on a GPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class MemoryUse:
    """Memory of the tensors that a computation made.

    Attributes:
        peak: Largest number of bytes at a time.
        left: Bytes that are still there at its end, its answer included.
    """

    peak: int
    left: int


def measure_memory(computation: Callable[[], Answer], device: torch.device) -> tuple[Answer, MemoryUse]:
    """Run a computation, and return its answer and its memory.

    Memory within an operation is seen on a GPU only, that of files read and of NumPy's arrays not at all.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        answer = computation()
        torch.cuda.synchronize(device)
        peak, left = torch.cuda.max_memory_allocated(device), torch.cuda.memory_allocated(device)
        return answer, MemoryUse(peak - before, left - before)
    with _Counter() as counter:
        answer = computation()
    return answer, MemoryUse(counter.peak, counter.now)


class _Counter(TorchDispatchMode):
    """Counter of the bytes of storages, from the operation that allocates each until it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {storage._cdata for storage in _storages((args, kwargs))}
        answer = func(*args, **(kwargs or {}))
        for storage in _storages(answer):
            place = storage._cdata
            if place not in given and place not in self._sizes:
                self._sizes[place] = storage.nbytes()
                self.now += storage.nbytes()
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._release, place)
        return answer

    def _release(self, place: int) -> None:
        self.now -= self._sizes.pop(place, 0)


def _storages(tree: Any) -> list[torch.UntypedStorage]:
    found = []
    for leaf in tree_leaves(tree):
        if isinstance(leaf, Tensor):
            try:
                found.append(leaf.untyped_storage())
            except (NotImplementedError, RuntimeError):  # sparse, or a wrapper around several
                continue
    return found
