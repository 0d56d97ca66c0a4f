"""The pickled batches of CIFAR-10 and CIFAR-100: colour images of 32 x 32 pixels, and their classes.

A pickle can run any code when it is opened. The caller hands over only bytes whose checksum is the published one, and
the reader here builds only arrays, lists and text, regardless of what the bytes ask for.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.data.idx import DataError

SHAPE = (3, 32, 32)
_ARRAYS: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],  # wherever this version of numpy keeps it
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return one of the three objects that rebuild an array, and refuse all others."""
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _ARRAYS[module, name]


def read_batches(
    contents: Sequence[bytes], name: str = "CIFAR batch", *, labels: str, classes: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the images (N, 3, 32, 32) and the classes (N,) of one or several batches, one after the other.

    Args:
        contents: The files, each a pickled mapping with `data`, uint8 (n, 3072), red, green and blue planes by rows.
        name: Name of the files in errors.
        labels: The mapping's key of the classes: `labels`, `fine_labels` or `coarse_labels`.
        classes: Number of classes.

    Raises:
        DataError: The pickle asks for more than arrays, is damaged, or holds something else.
    """
    images, answers = [], []
    for content in contents:
        batch = _open(content, name)
        data, found = batch.get("data"), batch.get(labels)
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
            raise DataError(f"{name}: expected `data` of uint8 and shape (n, 3072)")
        if not isinstance(found, list) or len(found) != len(data):
            raise DataError(f"{name}: expected a list `{labels}` of {len(data)} classes")
        if not all(type(value) is int and 0 <= value < classes for value in found):
            raise DataError(f"{name}: expected classes from 0 to {classes - 1} in `{labels}`")
        images.append(data.reshape(-1, *SHAPE))
        answers.append(np.array(found, dtype=np.uint8))
    return np.concatenate(images), np.concatenate(answers)


def _open(content: bytes, name: str) -> dict[str, Any]:
    try:
        # The published files were written by Python 2, whose text comes as bytes without this encoding.
        batch = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a damaged pickle raises almost anything
        raise DataError(f"{name}: not a batch of images ({' '.join(str(error).split())})") from error
    if not isinstance(batch, dict):
        raise DataError(f"{name}: expected a mapping, found {type(batch).__name__}")
    return batch
