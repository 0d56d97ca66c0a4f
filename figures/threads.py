"""Threads of torch, few enough to get along with other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_threads() -> Iterator[None]:
    """At most half as many threads of torch as there are processors, while open.

    Its threads wait for each other actively: one that is not running, because another process has its processor, costs
    all of them their time. Measured on two processors with another process at work, two threads took ten times as long
    as one for eigenvalues of a 2000 x 2000 matrix and for training a small network.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, (os.cpu_count() or 1) // 2)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
