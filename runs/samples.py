"""Samples that a user's function returns: arrays, a torch `Dataset` and a `DataLoader` become inputs and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from runs.settings import RunError

TAKEN = "((inputs, labels), (test inputs, test labels)), or a pair of datasets or loaders"


def splits_of(given: Any, source: str) -> tuple[Any, Any]:
    """Return the training and test samples of what a function returned; the two splits are checked where they are used.

    A data set is read once, in its own order, and so is the data set of a loader. Random transforms are therefore drawn
    once, from the run's seed.

    Args:
        given: A pair for training and tests: each inputs and labels (tensors or arrays), a `Dataset` or a `DataLoader`.
        source: Name of the function, for errors.

    Raises:
        RunError: It is no pair, or a sample of a data set is not an input with its label.
    """
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise RunError(f"{source} must return {TAKEN}; got {_kind(given)}")
    train, test = given
    if isinstance(train, (Tensor, np.ndarray)):
        raise RunError(f"{source} returned one pair of tensors; return {TAKEN}, so that there is something to test on")
    return _split(train, f"the training data of {source}"), _split(test, f"the test data of {source}")


def _split(data: Any, what: str) -> Any:
    if isinstance(data, (DataLoader, Dataset)):
        return _collected(_batches(data), what)
    if isinstance(data, (tuple, list)):
        return tuple(torch.from_numpy(np.ascontiguousarray(p)) if isinstance(p, np.ndarray) else p for p in data)
    return data


def _batches(data: Any) -> Iterable[Any]:
    """Batches of a data set in its own order; a loader's sampler would draw another order for each run."""
    inner, collate = (data.dataset, data.collate_fn) if isinstance(data, DataLoader) else (data, default_collate)
    if not isinstance(inner, IterableDataset) and hasattr(inner, "__len__"):
        return (collate([inner[place]]) for place in range(len(inner)))
    return data if isinstance(data, DataLoader) else (collate([sample]) for sample in data)


def _collected(batches: Iterable[Any], what: str) -> tuple[Tensor, Tensor]:
    inputs: list[Tensor] = []
    labels: list[Tensor] = []
    for place, batch in enumerate(batches):
        if not isinstance(batch, (tuple, list)) or len(batch) != 2 or not all(isinstance(p, Tensor) for p in batch):
            raise RunError(f"sample {place} in {what} must be an input and its label as tensors, got {_kind(batch)}")
        inputs.append(batch[0])
        labels.append(batch[1])
        if inputs[-1].shape[1:] != inputs[0].shape[1:]:
            raise RunError(
                f"sample {place} in {what} has the shape {tuple(inputs[-1].shape[1:])}, the first one "
                f"{tuple(inputs[0].shape[1:])}; bring all inputs to one shape"
            )
    if not inputs:
        raise RunError(f"there is no sample in {what}")
    return torch.cat(inputs), torch.cat(labels)


def _kind(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}: {', '.join(type(part).__name__ for part in value[:4])}"
    return f"a value of type {type(value).__name__}"
