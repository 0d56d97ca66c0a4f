"""Layouts of the files of data sets, and their readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from workloads.data.cifar import SHAPE, read_batches
from workloads.data.idx import parse
from workloads.data.packages import FILES

Images = tuple[NDArray[np.uint8], NDArray[np.uint8]]


@dataclass(frozen=True)
class Layout:
    """The layout of a data set's files, with their reader.

    Attributes:
        below: The folder below the data set's own, or empty.
        splits: The files of each split, in the order in which `read` takes them.
        read: Map from verified contents and a name for errors to images (N, *shape) and classes (N,).
        shape: Shape of one image: (height, width) of grey levels, or (channels, height, width).
        classes: Number of classes.
    """

    below: str
    splits: Mapping[str, tuple[str, ...]]
    read: Callable[[Sequence[bytes], str], Images]
    shape: tuple[int, ...]
    classes: int


def _read_idx(contents: Sequence[bytes], name: str) -> Images:
    # Copied, because an array that cannot be written to is a nuisance to torch.
    images, labels = (parse(content, name).copy() for content in contents)
    return images, labels


IDX = Layout("raw", {"train": FILES[:2], "test": FILES[2:]}, _read_idx, (28, 28), 10)
BATCHES_OF_10 = tuple(f"data_batch_{number}" for number in range(1, 6))
CIFAR_10 = Layout(
    "", {"train": BATCHES_OF_10, "test": ("test_batch",)}, partial(read_batches, labels="labels", classes=10), SHAPE, 10
)
CIFAR_100 = Layout(
    "", {"train": ("train",), "test": ("test",)}, partial(read_batches, labels="fine_labels", classes=100), SHAPE, 100
)
