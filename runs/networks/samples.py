"""Samples from a user's function: arrays, torch `Dataset`s and `DataLoader`s become inputs and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
)

from runs.settings import RunError
from workloads.dense_tensors import not_dense

TAKEN = "((inputs, labels), (test inputs, test labels)), or a pair of datasets or loaders"


def splits_of(given: Any, source: str) -> tuple[Any, Any]:
    """Return the training and test samples of what a function returned; the two splits are checked where they are used.

    A data set is read once, in its own order, and so is the data set of a loader. Random transforms are therefore drawn
    once, from the run's seed.

    Args:
        given: A pair for training and tests: each inputs and labels (tensors or arrays), a `Dataset` or a `DataLoader`.
        source: Name of the function, for errors.

    Raises:
        RunError: It is not a pair, or a sample of a data set is not an input with its label.
    """
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise RunError(f"{source} must return {TAKEN}; got {_kind(given)}")
    train, test = given
    if isinstance(train, (Tensor, np.ndarray)):
        raise RunError(f"{source} returned one pair of tensors; return {TAKEN}, because the run needs test data")
    return _split(train, f"the training data of {source}"), _split(test, f"the test data of {source}")


def _split(data: Any, what: str) -> Any:
    if isinstance(data, DataLoader):
        _require_every_sample(data, what)
    if isinstance(data, (DataLoader, Dataset)):
        return _collected(_batches(data), what)
    if isinstance(data, (tuple, list)):
        return tuple(_tensor(p, what) if isinstance(p, np.ndarray) else p for p in data)
    return data


def _require_every_sample(loader: DataLoader[Any], what: str) -> None:
    """Check that a loader takes each sample of its data set once, because the whole data set is read.

    Raises:
        RunError: Its sampler chooses among them.
    """
    batches, sampler = loader.batch_sampler, loader.sampler
    if isinstance(loader.dataset, IterableDataset):
        return
    if isinstance(sampler, RandomSampler):
        right = not sampler.replacement and sampler.num_samples == len(sampler.data_source)
    else:
        right = type(sampler) is SequentialSampler
    if not right or type(batches) not in (BatchSampler, type(None)):
        kind = type(batches if right else sampler).__name__
        raise RunError(
            f"{what} are a loader whose sampler, a {kind}, chooses samples, but a run reads the whole data set; return "
            "torch.utils.data.Subset(dataset, indices) instead"
        )


def _tensor(array: np.ndarray[Any, Any], what: str) -> Tensor:
    """Convert an array of any byte order to a tensor; torch cannot compare unsigned numbers of more than 8 bits."""
    if np.ma.is_masked(array):
        raise RunError(f"{what} have masked entries; fill them, or leave their samples out")
    wide = array.dtype.kind == "u" and array.itemsize > 1
    if wide and array.size and array.max() > np.iinfo(np.int64).max:
        raise RunError(f"{what} have the number {array.max()}, which is too large; torch takes up to 2^63 - 1")
    kind = np.dtype(np.int64) if wide else array.dtype.newbyteorder("=")
    try:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=kind))
    except TypeError as error:
        raise RunError(
            f"{what} have an array of type {array.dtype}; make it one of numbers, such as float32"
        ) from error


def _batches(data: Any) -> Iterable[Any]:
    """Yield batches of a data set in its own order; a loader's sampler would draw another order for each run."""
    loads = isinstance(data, DataLoader)
    inner = data.dataset if loads else data
    known = not isinstance(inner, IterableDataset) and hasattr(inner, "__len__")
    if loads and not known:
        yield from data
        return
    collate, joins = (data.collate_fn, data.batch_sampler is not None) if loads else (default_collate, True)
    for sample in (inner[place] for place in range(len(inner))) if known else inner:
        parts = sample if isinstance(sample, (tuple, list)) else [sample]
        if any(not_dense(part) for part in parts if isinstance(part, Tensor)):
            yield sample  # not to be collated, and refused in words
            continue
        try:
            batch = collate([sample] if joins else sample)
        except TypeError:  # pictures, and other things that are not numbers
            batch = sample
        yield batch


def _read(batches: Iterable[Any], what: str) -> Iterator[tuple[int, Any]]:
    """Yield batches with their numbers, and name the sample at which a user's data set fails.

    Raises:
        RunError: It does.
    """
    left = iter(batches)
    for place in count():
        try:
            batch = next(left)
        except StopIteration:
            return
        except Exception as error:
            from hessian.loss.factories import user_error  # brings much along that other runs do not need

            raise RunError(str(user_error(error, f"reading sample {place} in {what}"))) from error
        yield place, batch


def _collected(batches: Iterable[Any], what: str) -> tuple[Tensor, Tensor]:
    inputs: list[Tensor] = []
    labels: list[Tensor] = []
    for place, batch in _read(batches, what):
        if isinstance(batch, (tuple, list)) and len(batch) == 2 and isinstance(batch[1], (int, float)):
            batch = batch[0], torch.tensor(batch[1])
        if not isinstance(batch, (tuple, list)) or len(batch) != 2 or not all(isinstance(p, Tensor) for p in batch):
            raise RunError(f"sample {place} in {what} must be an input and its label as tensors, got {_kind(batch)}")
        if fault := not_dense(batch[0]) or not_dense(batch[1]):
            raise RunError(f"sample {place} in {what} holds {fault}")
        one = batch[1].ndim == 0  # a loader without batches
        inputs.append(batch[0][None] if one else batch[0])
        labels.append(batch[1][None] if one else batch[1])
        if inputs[-1].shape[1:] != inputs[0].shape[1:]:
            raise RunError(
                f"sample {place} in {what} has the shape {tuple(inputs[-1].shape[1:])}, the first one "
                f"{tuple(inputs[0].shape[1:])}; bring all inputs to one shape"
            )
        if labels[-1].shape[1:] != labels[0].shape[1:]:
            raise RunError(
                f"the label of sample {place} in {what} has the shape {tuple(labels[-1].shape[1:])}, the first one "
                f"{tuple(labels[0].shape[1:])}; bring all labels to one shape"
            )
    if not inputs:
        raise RunError(f"{what} contains no samples")
    return torch.cat(inputs), torch.cat(labels)


def _kind(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}: {', '.join(type(part).__name__ for part in value[:4])}"
    return f"a value of type {type(value).__name__}"
