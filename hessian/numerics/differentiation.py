"""Values and derivatives in float32 for float32 models: faster but less exact modes of GPUs are turned off.

Autocast within a model is the user's choice; outside of it, it would spoil the computations with its products.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


@contextmanager
def exact_evaluation() -> Iterator[None]:
    """Use one formula for values with and without gradients: transformer layers have a faster one without."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with exact_convolutions():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def exact_convolutions() -> Iterator[None]:
    """Run convolutions of cuDNN in float32 instead of TF32, the default, which has three digits."""
    if not torch.cuda.is_initialized():
        yield
        return
    cudnn: Any = torch.backends.cudnn
    if not hasattr(cudnn, "conv"):
        before = cudnn.allow_tf32
        cudnn.allow_tf32 = False
        try:
            yield
        finally:
            cudnn.allow_tf32 = before
        return
    # Since torch 2.9 each operator has its own setting. The older, common one, which `cudnn.flags` reads in models that
    # use it, cannot be read where operators differ from it or from each other: all of them are set.
    each = [(of, of.fp32_precision) for of in (cudnn.conv, cudnn.rnn)]
    cudnn.allow_tf32 = False
    try:
        for of, _ in each:
            of.fp32_precision = "ieee"
        yield
    finally:
        cudnn.allow_tf32 = any(precision == "tf32" for _, precision in each)
        for of, precision in each:
            of.fp32_precision = precision


@contextmanager
def exact_algebra() -> Iterator[None]:
    """Multiply matrices in their own dtype, even under autocast and if float32 is set to use TF32."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        for matmul in (torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)):
            # Before torch 2.9 there is a setting of GPUs alone, and of another name.
            name, exact = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
            if (before := getattr(matmul, name, exact)) not in (exact, "none"):
                setattr(matmul, name, exact)
                stack.callback(setattr, matmul, name, before)
        yield


class plain_weight_norm(TorchFunctionMode):  # noqa: N801 - a context manager
    """Weight norm by its formula: the derivative of the fused kernel's own derivative is wrong."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch._weight_norm:
            return func(*args, **(kwargs or {}))
        return _weight_norm(*args, **(kwargs or {}))


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    return v * (g / torch.norm_except_dim(v, 2, dim))


@contextmanager
def without_cudnn() -> Iterator[None]:
    """Turn cuDNN off; `torch.backends.cudnn.flags` would also set its precision."""
    before = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


def gradients_of(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    """Return gradients like `torch.autograd.grad`, with exact convolutions."""
    with exact_convolutions():
        return torch.autograd.grad(*arguments, **options)
