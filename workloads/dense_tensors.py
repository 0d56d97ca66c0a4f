"""Check for dense tensors, with remedies for other kinds."""

import torch
from torch import Tensor


def not_dense(tensor: Tensor) -> str:
    """Return which other kind a tensor is, and the remedy, as in "a sparse tensor (...): pass x.to_dense()".

    Args:
        tensor: Any tensor.

    Returns:
        Words that follow a verb such as "hold"; empty for a dense tensor.
    """
    if tensor.is_meta:
        return "a tensor on the meta device, which has no numbers: make it without device='meta'"
    if tensor.is_nested:
        return "a nested tensor: pass torch.nested.to_padded_tensor(x, 0.0)"
    if tensor.is_quantized:
        return f"a quantized tensor ({_name(tensor.dtype)}): pass x.dequantize()"
    if tensor.layout is torch.strided:
        return ""
    kind = "a tensor in the layout of MKL-DNN" if tensor.is_mkldnn else f"a sparse tensor ({_name(tensor.layout)})"
    return f"{kind}: pass x.to_dense()"


def _name(kind: torch.dtype | torch.layout) -> str:
    return str(kind).removeprefix("torch.")
