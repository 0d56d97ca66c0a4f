"""Values and derivatives in float32 where the model is: what is faster and less exact on a GPU is turned off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


@contextmanager
def exact_evaluation() -> Iterator[None]:
    """One formula for values with and without gradients: transformer layers have a faster one without."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with exact_convolutions():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def exact_convolutions() -> Iterator[None]:
    """Convolutions of cuDNN in float32; by default they are in TF32, of three digits."""
    if not torch.cuda.is_initialized():
        yield
        return
    # Since torch 2.9 each operator has its own setting, and the older, common one cannot be read where they differ.
    of, name, exact = (
        (torch.backends.cudnn.conv, "fp32_precision", "ieee")
        if hasattr(torch.backends.cudnn, "conv")
        else (torch.backends.cudnn, "allow_tf32", False)
    )
    before = getattr(of, name)
    setattr(of, name, exact)
    try:
        yield
    finally:
        setattr(of, name, before)


def gradients_of(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    """Gradients as of `torch.autograd.grad`, with exact convolutions."""
    with exact_convolutions():
        return torch.autograd.grad(*arguments, **options)
