"""Operations that synchronise a GPU: reading values on the CPU, copies between devices, data-dependent shapes."""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

READING = {
    "aten::_local_scalar_dense",
    "aten::item",
    "aten::is_nonzero",
    "aten::equal",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::bincount",
}
MOVING = {"aten::_to_copy", "aten::copy_"}


class Synchronisations(TorchDispatchMode):
    """Records the names of operations that would synchronise a GPU; `operations` counts all operations."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.operations = 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        name = operation.name()
        self.operations += 1
        result = operation(*arguments, **(options or {}))
        short = name.split(".")[0]
        devices = {leaf.device for leaf in pytree.tree_leaves((arguments, result)) if isinstance(leaf, torch.Tensor)}
        if short in READING or (short in MOVING and len(devices) > 1):
            self.found.append(name)
        return result
