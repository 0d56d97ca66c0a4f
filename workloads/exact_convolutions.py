"""Convolutions on a GPU in the precision of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


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
