"""Data as batches: one resident batch, or an iterable of batches that is read anew for every product."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler, WeightedRandomSampler

from hessian.symmetric import CurvatureError

Batch = Any
"""``(inputs, targets)``, or a mapping of keyword arguments of the model (Hugging Face style)."""
Loss = Callable[[Any, Any], Tensor]
"""Maps (output, targets) to a scalar, or (output, batch) where batches are mappings."""
_SHUFFLING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


@dataclass(frozen=True)
class Batches:
    """Batches that can be read any number of times.

    Attributes:
        source: The batches.
        resident: There is one only, and it stays in memory.
    """

    source: Iterable[Batch]
    resident: bool

    @staticmethod
    def of(data: Any) -> Batches:
        """Reads one batch, a list of batches or a loader as batches.

        Raises:
            CurvatureError: Data that can be read once only, that are shuffled, or that are neither.
        """
        if is_batch(data):
            return Batches((data,), resident=True)
        if isinstance(data, DataLoader):
            if isinstance(data.sampler, _SHUFFLING):
                raise CurvatureError(
                    f"the loader shuffles ({type(data.sampler).__name__}), so every product would see another order; "
                    "use DataLoader(..., shuffle=False)"
                )
            return Batches(data, resident=False)
        if not isinstance(data, Iterable):
            raise CurvatureError(
                f"expected (inputs, targets), a mapping, or an iterable of such batches, got {type(data).__name__}"
            )
        if iter(data) is data:
            raise CurvatureError("the data are an iterator, which can be read once only; pass a list or a DataLoader")
        if isinstance(data, Sequence) and len(data) == 1 and is_batch(data[0]):
            return Batches((data[0],), resident=True)
        return Batches(data, resident=False)

    def on(self, device: torch.device, dtype: torch.dtype) -> Iterator[Batch]:
        """Yields every batch on a device, floating inputs in the parameters' dtype.

        Raises:
            CurvatureError: An item that is not a batch.
        """
        for number, batch in enumerate(self.source, start=1):
            if not is_batch(batch):
                raise CurvatureError(f"item {number} is no batch: expected (inputs, targets) or a mapping of tensors")
            yield _move(batch, device, dtype)


def is_batch(data: Any) -> bool:
    """Whether it is a pair of inputs and targets, or a mapping with tensors."""
    if isinstance(data, Mapping):
        return any(isinstance(value, Tensor) for value in data.values())
    pair = isinstance(data, tuple | list) and len(data) == 2 and not is_nested(data)
    return pair and isinstance(data[1], Tensor)


def is_nested(data: Sequence[Any]) -> bool:
    """Whether the first of two items is itself a batch, so that they are two batches and not inputs and targets."""
    first, second = data
    return isinstance(second, tuple | list | Mapping) or (isinstance(first, tuple | list) and not _tensors(first))


def _tensors(items: Sequence[Any]) -> bool:
    return len(items) > 0 and all(isinstance(item, Tensor) for item in items)


def _move(batch: Batch, device: torch.device, dtype: torch.dtype) -> Batch:
    def inputs(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.to(device, dtype) if value.is_floating_point() else value.to(device)
        if isinstance(value, Mapping):
            return {key: inputs(item) for key, item in value.items()}
        if isinstance(value, tuple | list):
            return tuple(inputs(item) for item in value)
        return value

    if isinstance(batch, Mapping):
        return inputs(batch)
    targets = batch[1].to(device)
    return inputs(batch[0]), targets.to(dtype) if targets.is_floating_point() else targets


def size_of(batch: Batch) -> int:
    """Number of samples: the length of the first tensor.

    Raises:
        CurvatureError: No samples.
    """
    values = batch.values() if isinstance(batch, Mapping) else [batch[1], batch[0]]
    sizes = [len(value) for value in values if isinstance(value, Tensor) and value.ndim > 0]
    if not sizes or sizes[0] == 0:
        raise CurvatureError("a batch has no samples")
    return sizes[0]


def output_of(call: Callable[[tuple[Any, ...], dict[str, Any]], Any], batch: Batch) -> Any:
    """The model's output: called with the inputs, or with the mapping's entries as keywords."""
    inputs = batch if isinstance(batch, Mapping) else batch[0]
    if isinstance(inputs, Mapping):
        return call((), dict(inputs))
    return call(inputs if isinstance(inputs, tuple) else (inputs,), {})


def loss_of(loss: Loss, output: Any, batch: Batch, number: int) -> Tensor:
    """The loss of one batch, checked to be a finite scalar.

    Raises:
        CurvatureError: It is not; the message names the batch.
    """
    value = loss(output, batch if isinstance(batch, Mapping) else batch[1])
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise CurvatureError(f"the loss must be a scalar tensor, got {shape}; use its mean or sum over the samples")
    value = value.reshape(())
    if not math.isfinite(value.item()):
        raise CurvatureError(f"the loss is {value.item()} on batch {number}: check weights and inputs")
    return value


def reduction_of(loss: Loss, named: str | None) -> str:
    """Whether the loss is a mean or a sum over samples: as named, else the loss's own attribute, else a mean.

    Raises:
        CurvatureError: Another word, or a loss that does not reduce.
    """
    own = getattr(loss, "reduction", None) if isinstance(loss, nn.Module) else None
    reduction = named or own or "mean"
    if reduction not in ("mean", "sum"):
        raise CurvatureError(f"reduction must be 'mean' or 'sum', got {reduction!r}")
    if named and own in ("mean", "sum") and named != own:
        raise CurvatureError(f"reduction={named!r} was named, but the loss reduces by {own!r}")
    return reduction
