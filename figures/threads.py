"""A limit on torch's threads, so other processes do not slow it down."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_threads() -> Iterator[None]:
    """Limit torch to at most half as many threads as there are processors, while open.

    Torch's threads wait actively for each other, so one thread that lost its processor to another process delays all of
    them. On two processors with another busy process, two threads took ten times as long as one, both for the
    eigenvalues of a 2000 x 2000 matrix and for training a small network.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, (os.cpu_count() or 1) // 2)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
