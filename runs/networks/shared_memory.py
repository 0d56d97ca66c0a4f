"""Whether tensors of a network lie in the same memory, where a step of one would change another."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def tied_names(given: Mapping[str, Tensor]) -> tuple[str, str] | None:
    """Return the names of two weights with numbers in the same memory, the first before the second; None without."""
    of_storage: dict[int, list[str]] = {}
    for name, entry in given.items():
        if entry.numel():
            of_storage.setdefault(entry.untyped_storage().data_ptr(), []).append(name)
    for names in of_storage.values():
        if len(names) < 2:
            continue
        unit = min(given[name].element_size() for name in names)
        owner = torch.full((given[names[0]].untyped_storage().nbytes() // unit,), -1, dtype=torch.int32)
        for number, name in enumerate(names):
            entry = given[name]
            units = entry.element_size() // unit
            strides = *(units * stride for stride in entry.stride()), 1
            sizes = *(size if stride else 1 for size, stride in zip(entry.shape, entry.stride(), strict=True)), units
            own = owner.as_strided(sizes, strides, units * entry.storage_offset())
            earlier = int(own.max())
            if earlier >= 0:
                return names[earlier], name
            own.fill_(number)
    return None
