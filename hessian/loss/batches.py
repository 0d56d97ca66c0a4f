"""Data as batches: one resident batch, whole or in shards, or an iterable of batches, read again for every product."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SubsetRandomSampler, WeightedRandomSampler

from hessian.numerics.symmetric import CurvatureError
from workloads.dense_tensors import not_dense

Batch = Any
"""``(inputs, targets)``, where targets are anything that the loss takes, also None, as they are for ``(inputs,)``; or a
mapping of keyword arguments of the model (Hugging Face style)."""
Loss = Callable[[Any, Any], Tensor]
"""Maps (output, targets) to a scalar, or (output, batch) where batches are mappings."""
_SEVERAL = "several inputs are ((a, b), targets), several targets (inputs, (s, t))"
_SAID = {
    "int64": "long|int64",
    "int32": "int|int32",
    "int16": "short|int16",
    "int8": "char|signed char|int8",
    "uint8": "byte|unsigned char|uint8",
}
"""Words of torch's errors for types."""
_SHUFFLING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


@dataclass(frozen=True)
class Batches:
    """Batches that can be read any number of times.

    Attributes:
        source: The batches.
        resident: They are one batch, or its pieces, and stay in memory.
    """

    source: Iterable[Batch]
    resident: bool

    @staticmethod
    def of(data: Any) -> Batches:
        """Read one batch, a list of batches or a loader as batches.

        Raises:
            CurvatureError: Data that can be read once only, that are shuffled, or that are neither.
        """
        if isinstance(data, Batches):
            return data
        if is_batch(data):
            return Batches((data,), resident=True)
        if isinstance(data, DataLoader):
            if isinstance(data.sampler, _SHUFFLING):
                raise CurvatureError(
                    f"the loader shuffles ({type(data.sampler).__name__}), so every product would see a different "
                    f"order; use DataLoader(..., shuffle=False)"
                )
            return Batches(data, resident=False)
        if not isinstance(data, Iterable) or isinstance(data, Tensor):
            raise CurvatureError(
                f"expected (inputs, targets), a mapping, or an iterable of such batches, got {_describe(data)}; "
                f"if the loss takes no targets, pass (inputs, None)"
            )
        if isinstance(data, tuple | list) and data and isinstance(data[0], Tensor):
            raise CurvatureError(f"expected (inputs, targets), got {_describe(data)}: {_SEVERAL}")
        if iter(data) is data:
            raise CurvatureError("the data are an iterator, which can be read only once; pass a list or a DataLoader")
        if isinstance(data, Sequence) and len(data) == 1 and _may_be_batch(data[0]):
            return Batches((data[0],), resident=True)
        return Batches(data, resident=False)

    def select(self, numbers: range) -> Batches:
        """Select consecutive batches by their numbers, from 1; of a loader the others are not read."""
        places = slice(numbers.start - 1, numbers.stop - 1)
        source = self.source
        if isinstance(source, list | tuple):
            return Batches(source[places], self.resident)
        if isinstance(source, DataLoader) and not isinstance(source.dataset, IterableDataset):
            order: dict[str, Any] = {"batch_sampler": list(source.batch_sampler or ())[places]}
            if source.batch_sampler is None:  # what the data set gives are batches
                order = {"batch_size": None, "sampler": list(source.sampler)[places]}
            return Batches(DataLoader(source.dataset, collate_fn=source.collate_fn, **order), self.resident)
        return Batches(_Selection(source, places), self.resident)

    def move_to(self, device: torch.device, dtype: torch.dtype, copied: bool = False) -> Iterator[Batch]:
        """Yield every batch on a device, with floating inputs in the parameters' dtype, in new memory on demand.

        Raises:
            CurvatureError: An item that is not a batch.
        """
        for number, batch in enumerate(self.source, start=1):
            yield _move(_require_batch(batch, number), device, dtype, copied)


@dataclass(frozen=True)
class _Selection:
    """Some of the batches of an iterable that has to be read from its beginning."""

    source: Iterable[Batch]
    places: slice

    def __iter__(self) -> Iterator[Batch]:
        return islice(self.source, self.places.start, self.places.stop)


def is_batch(data: Any) -> bool:
    """Return whether it is inputs with targets or without, or a mapping with tensors, and not two of these.

    Raises:
        CurvatureError: It can be read both ways, or holds a tensor that is not dense.
    """
    if isinstance(data, tuple | list) and len(data) == 1 and not isinstance(data[0], Tensor):
        return False  # one batch among batches
    if not _may_be_batch(data):
        return False
    require_dense_tensors(data)
    return isinstance(data, Mapping) or len(data) == 1 or not _are_batches(data)


def _may_be_batch(item: Any) -> bool:
    if isinstance(item, Mapping):
        return any(isinstance(value, Tensor) for value in item.values())
    if not isinstance(item, tuple | list) or len(item) not in (1, 2):
        return False
    return next(iterate_tensors(item[0]), None) is not None


def _are_batches(data: Sequence[Any]) -> bool:
    """Return whether two items are two batches and not inputs and targets, by the kinds and lengths of their tensors.

    Raises:
        CurvatureError: They can be either.
    """
    first, second = data
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and _may_be_batch(first)
    both = isinstance(first, tuple | list) and isinstance(second, tuple | list)
    if not both or len(first) != len(second) or not _may_be_batch(first) or not _may_be_batch(second):
        return False
    if rows_of(data) is None or any(part is None for item in data for part in item):
        return True  # inputs and targets have a row for each sample
    kinds = [[(leaf.dtype, leaf.ndim) for leaf in iterate_tensors(item)] for item in data]
    if kinds[0] != kinds[1]:
        return False  # batches are of one kind
    if isinstance(data, list):
        return True
    shapes = [[(leaf.dtype, leaf.shape[1:]) for leaf in iterate_tensors(item)] for item in data]
    if shapes[0] == shapes[1] and len(set(shapes[0])) > 1:
        return True  # like inputs with their targets, and again like these
    raise CurvatureError(
        "the data can be read as two batches or as one of several inputs and targets, since all tensors have the same "
        "number of rows: write [(inputs, targets), (inputs, targets)] for two batches, and [((a, b), (s, t))] for one"
    )


def require_dense_tensors(data: Any) -> None:
    """Refuse sparse, nested, quantized and meta tensors, and packed sequences.

    Raises:
        CurvatureError: The data hold one; the message says how to turn it into a dense one.
    """
    if _holds_packed(data):
        raise CurvatureError(
            "the data hold a PackedSequence, whose rows are not samples: give padded sequences with their lengths, "
            "((padded, lengths), targets) as pad_packed_sequence(packed, batch_first=True) makes them, and call "
            "pack_padded_sequence in the model's forward"
        )
    for leaf in iterate_tensors(data):
        if leaf.is_meta:
            raise CurvatureError(
                "the data are on the meta device, which stores no numbers: create them on another device"
            )
        if fault := not_dense(leaf):
            raise CurvatureError(f"the data hold {fault}")


def _holds_packed(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_packed, value.values()))
    return isinstance(value, PackedSequence) or (isinstance(value, tuple | list) and any(map(_holds_packed, value)))


def _require_batch(item: Any, number: int) -> Batch:
    """Return a batch with its targets, which are None if there are only inputs.

    Raises:
        CurvatureError: It is not a batch.
    """
    if not _may_be_batch(item):
        raise CurvatureError(
            f"item {number} is not a batch but {_describe(item)}: expected (inputs, targets) or a mapping of tensors"
            + (f"; {_SEVERAL}" if isinstance(item, tuple | list) and len(item) > 2 else "")
        )
    require_dense_tensors(item)
    if isinstance(item, Mapping):
        return item
    inputs, targets = (item[0], None) if len(item) == 1 else item
    if isinstance(inputs, tuple | list) and _one_by_one(inputs, targets):
        raise CurvatureError(
            f"the inputs of batch {number} are a {type(inputs).__name__} of {len(inputs)} tensors, one for each "
            f"sample, and the model would be called with {len(inputs)} arguments: stack them into one tensor, as in "
            "torch.stack(inputs), after padding if their sizes differ"
        )
    return inputs, targets


def _one_by_one(inputs: Sequence[Any], targets: Any) -> bool:
    """Return whether inputs are one tensor for each sample, and not several tensors with a row for each."""
    if isinstance(targets, tuple | list) and rows_of((inputs, targets)) is not None:
        scalars = any(leaf.ndim == 0 for leaf in iterate_tensors(targets))
        return scalars and len(inputs) == len(targets)
    samples = len(targets) if isinstance(targets, tuple | list) or (isinstance(targets, Tensor) and targets.ndim) else 0
    tensors = all(isinstance(item, Tensor) for item in inputs)
    return tensors and len(inputs) == samples and any(item.ndim == 0 or len(item) != samples for item in inputs)


def _describe(data: Any) -> str:
    """Describe data in words, for a message."""
    if isinstance(data, Tensor):
        return f"a tensor of shape {tuple(data.shape)}"
    if isinstance(data, Mapping):
        return f"a {type(data).__name__} without tensors"
    if isinstance(data, tuple | list) and len(data) in (1, 2):
        return f"a {type(data).__name__} whose inputs are {_describe(data[0])}"
    if isinstance(data, tuple | list):
        kinds = ", ".join(type(item).__name__ for item in data[:3]) + (", ..." if len(data) > 3 else "")
        return f"a {type(data).__name__} of {len(data)}" + (f" ({kinds})" if data else "")
    kind = type(data).__name__
    return kind + (" (torch.from_numpy makes it a tensor)" if kind == "ndarray" else "")


def _move(batch: Batch, device: torch.device, dtype: torch.dtype, copied: bool) -> Batch:
    def moved(tensor: Tensor) -> Tensor:
        there = tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype, copy=copied)
        if there.is_inference():
            return there.clone()  # which no graph may hold
        return _leaf(there, tensor)

    return _map(batch, moved)


def _leaf(made: Tensor, own: Tensor) -> Tensor:
    """Return a tensor made from data as data: a leaf that is differentiated by where they are.

    A model that differentiates by its inputs marks them, which must not mark the user's own, and only leaves can be
    marked.
    """
    return made.detach().requires_grad_(own.requires_grad)


def size_of(batch: Batch) -> int:
    """Return the number of samples: the common length of the batch's tensors.

    Raises:
        CurvatureError: No samples, or tensors of several lengths.
    """
    lengths = sorted({len(tensor) for tensor in iterate_tensors(batch) if tensor.ndim > 0})
    if not lengths or lengths[0] == 0:
        raise CurvatureError("a batch has no samples: leave it out")
    if len(lengths) > 1:
        raise CurvatureError(
            f"the tensors of a batch have {', '.join(map(str, lengths[:-1]))} and {lengths[-1]} rows, so the "
            f"number of samples is ambiguous: give count=, a function of the batch",
            keywords=("count",),
        )
    return lengths[0]


def count_samples(count: Callable[[Batch], int], batch: Batch, least: int = 1) -> int:
    """Count the samples of a batch by a user's function.

    Raises:
        CurvatureError: It gives no whole number, or less than the least.
    """
    found = count(batch)
    number = found.item() if isinstance(found, Tensor) and found.numel() == 1 else found
    if not isinstance(number, int | float) or number != number // 1 or not least <= number < math.inf:
        raise CurvatureError(
            f"count must give a whole number of at least {least} for every batch, got {found!r}", keywords=("count",)
        )
    return int(number)


def rows_of(batch: Batch) -> int | None:
    """Return the common length of the tensors of a batch, except scalars; None if lengths differ."""
    lengths = {len(tensor) for tensor in iterate_tensors(batch) if tensor.ndim > 0}
    return lengths.pop() if len(lengths) == 1 else None


def rows_are_samples(count: Callable[[Batch], int], batch: Batch) -> bool:
    """Return whether dimension 0 indexes samples: the counts of two parts of the rows add up to that of all.

    They do not for time-first batches, or for one sequence, because its parts are not samples.
    """
    rows = rows_of(batch)
    if rows is None or rows < 2 or count is size_of:
        return rows is not None
    at = (rows + 2) // 3  # unequal parts, as for the check that batches add up
    return not why_not_additive(count, batch, [take_rows(batch, slice(at)), take_rows(batch, slice(at, None))])


def why_not_additive(count: Callable[[Batch], int], batch: Batch, parts: Sequence[Batch]) -> str:
    """Return in words why parts of a batch do not have its samples together; empty if they do."""
    try:
        whole, found = (sum(count_samples(count, one, 0) for one in some) for some in ([batch], parts))
    except Exception as error:  # a user's function that takes whole batches alone
        return f"count= fails on parts of it ({' '.join(str(error).split())[:120]})"
    if found == whole:
        return ""
    return (
        f"count= gives {whole} for its {rows_of(batch)} rows and {found} for {len(parts)} parts of them together, as "
        "where dimension 0 is time"
    )


def take_rows(value: Any, rows: slice | Tensor) -> Any:
    """Take some rows of every tensor in a value."""
    return _map(value, lambda tensor: _leaf(tensor[rows], tensor) if tensor.ndim else tensor)


def as_dtype(value: Any, dtype: torch.dtype) -> Any:
    """Convert the floating tensors in a value to another dtype."""
    return _map(value, lambda tensor: _leaf(tensor.to(dtype), tensor) if tensor.is_floating_point() else tensor)


def copy_tensors(value: Any) -> Any:
    """Copy the tensors in a value."""
    return _map(value, lambda tensor: _leaf(tensor.clone(), tensor))


def detach_tensors(value: Any) -> Any:
    """Detach the tensors in a value from their graphs."""
    return _map(value, torch.Tensor.detach)


def require_untouched(given: Any, own: Any, number: int) -> None:
    """Refuse a model or a loss that has changed its arguments.

    Raises:
        CurvatureError: Copies of the batch's tensors were written to; the message names the batch.
    """
    now, before = list(iterate_tensors(given)), list(iterate_tensors(own))
    if len(now) != len(before) or any(map(_is_written, now, before)):
        raise CurvatureError(
            f"the model or the loss changes batch {number} in place, as a first layer nn.ReLU(inplace=True) does, "
            f"so every call would see different data: leave inplace out, or begin with a copy, x = x.clone()"
        )


def _is_written(copy: Tensor, own: Tensor) -> bool:
    if copy._version or copy.shape != own.shape:
        return True
    strided = own.layout is torch.strided  # `data` may be written to without a new version
    return strided and bool(((copy != own) & (own == own)).any())  # NaN is not equal to itself


def join(first: Any, second: Any) -> Any:
    """Concatenate the rows of two values.

    Raises:
        ValueError: They do not fit together.
    """
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        scalar = first.ndim == 0 or second.ndim == 0
        if first.shape[1:] != second.shape[1:] or (scalar and not torch.equal(first, second)):
            raise ValueError(f"rows of shapes {tuple(first.shape[1:])} and {tuple(second.shape[1:])}")
        return _leaf(torch.cat([first, second]), first) if first.ndim else first
    if isinstance(first, Mapping) and isinstance(second, Mapping) and first.keys() == second.keys():
        return {key: join(first[key], second[key]) for key in first}
    if isinstance(first, tuple | list) and isinstance(second, tuple | list) and len(first) == len(second):
        return _like(first, [join(one, other) for one, other in zip(first, second, strict=True)])
    if isinstance(first, Tensor | Mapping | tuple | list) or first != second:
        raise ValueError("unlike things")
    return first


def iterate_tensors(value: Any) -> Iterator[Tensor]:
    """Yield every tensor in a value."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from iterate_tensors(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from iterate_tensors(item)


def _map(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return _like(value, [_map(item, change) for item in value])
    return value


def _like(value: Sequence[Any], items: Sequence[Any]) -> tuple[Any, ...]:
    """Return items as a tuple, a named one if the value is one."""
    make: Callable[[Sequence[Any]], tuple[Any, ...]] = getattr(value, "_make", tuple)
    return make(items)


def output_of(call: Callable[[tuple[Any, ...], dict[str, Any]], Any], forward: Callable[..., Any], batch: Batch) -> Any:
    """Call the model with the inputs, or with the mapping's entries as keywords, and return its output.

    Args:
        call: Calls the model with positional arguments and keywords.
        forward: Its function, whose arguments tell whether it takes a named tuple whole.
        batch: The batch.
    """
    inputs = batch if isinstance(batch, Mapping) else batch[0]
    if isinstance(inputs, Mapping):
        return call((), dict(inputs))
    return call(inputs if isinstance(inputs, tuple) and not _takes_whole(forward, inputs) else (inputs,), {})


def _takes_whole(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> bool:
    """Return whether a function takes named inputs as one argument, and not each by its name."""
    fields = getattr(inputs, "_fields", None)
    if fields is None:
        return False
    arguments = inspect.signature(forward)
    if tuple(arguments.parameters)[: len(fields)] == fields:
        return False
    try:
        arguments.bind(inputs)
    except TypeError:
        return False
    return True


def loss_of(loss: Loss, output: Any, batch: Batch, number: int) -> Tensor:
    """Return the loss of one batch, which must be a finite scalar.

    Raises:
        CurvatureError: It is not, or the loss cannot take the output; the message names the batch.
    """
    targets = batch if isinstance(batch, Mapping) else batch[1]
    try:
        value = loss(output, targets)
    except (TypeError, AttributeError) as error:
        if not isinstance(targets, Tensor) and not isinstance(batch, Mapping):
            kind = "None" if targets is None else f"a {type(targets).__name__}"
            raise CurvatureError(
                f"the targets of batch {number} are {kind}, which the loss cannot take "
                f"({' '.join(str(error).split())[:120]}): give other targets, or a function of (output, targets) "
                f"as the loss"
            ) from error
        if isinstance(output, Tensor):
            raise
        keys = f" with the keys {', '.join(map(repr, output))}" if isinstance(output, Mapping) else ""
        raise CurvatureError(
            f"the model returns a {type(output).__name__}{keys}, which the loss cannot take "
            f"({' '.join(str(error).split())[:120]}): give a function of (output, targets), or of (output, batch) for "
            "mappings, that picks the logits, as in lambda output, batch: cross_entropy(output['logits'], "
            "batch['labels']); on the command line --loss module:function"
        ) from error
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise CurvatureError(f"the loss must be a scalar tensor, got {shape}; use its mean or sum over the samples")
    value = value.reshape(())
    if not math.isfinite(value.item()):
        raise CurvatureError(f"the loss is {value.item()} on batch {number}: check weights and inputs")
    return value


def labels_out_of_range(output: Any, batch: Batch) -> str:
    """Describe the labels for which the output has no class; empty if the targets are not labels or all have one."""
    targets = None if isinstance(batch, Mapping) else batch[1]
    if not isinstance(output, Tensor) or not isinstance(targets, Tensor) or output.ndim < 2 or targets.numel() == 0:
        return ""
    if targets.is_floating_point() or targets.is_complex():
        return ""
    classes = output.shape[1 if output.ndim == targets.ndim + 1 else -1]
    low, high = int(targets.min()), int(targets.max())
    if low >= 0 and high < classes:
        return ""
    return f"the labels run from {low} to {high}, and {classes} outputs are for labels 0 to {classes - 1}"


def strange_inputs(batch: Batch, said: str) -> str:
    """Describe inputs that are not floating-point numbers where an error is about their type; empty if it is not.

    Args:
        batch: Inputs with targets.
        said: The error, in which torch names a type by its dtype or by the older name of its tensors.
    """
    inputs = batch if isinstance(batch, Mapping) else batch[0]
    kinds = sorted(
        {str(leaf.dtype).removeprefix("torch.") for leaf in iterate_tensors(inputs) if not leaf.is_floating_point()}
    )
    # An embedding asks for whole numbers, and names them.
    if "indices" in said or not any(
        re.search(rf"\b({_SAID.get(kind, kind)})(Tensor)?\b", said, re.IGNORECASE) for kind in kinds
    ):
        return ""
    return f"the inputs are {' and '.join(kinds)}: if the model needs floats, pass x.float()"


def reduction_of(loss: Loss, named: str | None) -> str:
    """Return whether the loss is a mean or a sum over samples: as named, else by its own attribute, else a mean.

    Raises:
        CurvatureError: Another word, or a loss that does not reduce.
    """
    own = getattr(loss, "reduction", None) if isinstance(loss, nn.Module) else None
    own = "mean" if own == "batchmean" else own
    reduction = named or own or "mean"
    if reduction == own and own not in ("mean", "sum"):
        raise CurvatureError(f"the loss must be a scalar, but it has reduction={own!r}: use 'mean' or 'sum'")
    if reduction not in ("mean", "sum"):
        raise CurvatureError(f"reduction must be 'mean' or 'sum', got {reduction!r}", keywords=("reduction",))
    if named and own in ("mean", "sum") and named != own:
        raise CurvatureError(
            f"the loss reduces by {own!r}, but a {named} was requested: use one of the two in both places"
        )
    return reduction
