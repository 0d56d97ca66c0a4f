"""Tensors that are lent to the work of clients, and how it shows that the work wrote into them.

Torch counts what it writes into a tensor, except through ``.data``, numpy and other views of the memory. The sum of the
bits, which takes one pass over the tensor, shows such writes unless they only move words of 8 bytes about.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from algorithms.tree import tensors

_WORD = 8
"""Bytes of the numbers that are summed."""


class Lent:
    """The tensors of a message, as they were when they were lent.

    Args:
        message: Tensors, or containers of them.
    """

    def __init__(self, message: Any) -> None:
        self._tensors = [leaf for leaf in tensors(message) if leaf.layout == torch.strided and not leaf.is_meta]
        self._counted = [leaf for leaf in self._tensors if not leaf.is_inference()]
        self._versions, self._bits = self._count(), self._sum()

    def written_by_torch(self) -> bool:
        """Return whether torch counted a write into one of them; takes no time."""
        return self._versions != self._count()

    def written(self) -> bool:
        """Return whether anything wrote into one of them."""
        return self.written_by_torch() or self._bits != self._sum()

    def _count(self) -> list[int]:
        return [leaf._version for leaf in self._counted]

    def _sum(self) -> list[int]:
        return [sum_of_bits(leaf) for leaf in self._tensors]


def sum_of_bits(leaf: Tensor) -> int:
    """Return the sum of a tensor's bits in words of 8 bytes."""
    numbers = leaf.detach().contiguous().flatten().view(torch.uint8)
    whole = numbers.numel() // _WORD * _WORD
    words = numbers[:whole]
    aligned = words if words.storage_offset() % _WORD == 0 else words.clone()
    return int(aligned.view(torch.int64).sum()) + int(numbers[whole:].sum())
