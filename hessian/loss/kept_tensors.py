"""Tensors that a model or a loss keeps between calls, where nothing can replace what they were computed from.

A weight that was computed once and is read from a cache afterwards is a constant in every later call: the block of the
Hessian that belongs to it would silently be zero. Tensors computed from the weights in one call are followed
by their storage, below automatic differentiation, so neither `detach` nor `no_grad` hides them. A tensor that
outlives the call must not be read in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError

Evaluate = Callable[[Sequence[Tensor]], Tensor]
"""The loss of some samples at parameters."""


References = dict[int, StorageWeakRef]
"""Weak references to storages by address."""


class Call(NamedTuple):
    """A call of the model and the loss.

    Attributes:
        evaluate: The loss of some samples.
        constants: Tensors of these samples.
    """

    evaluate: Evaluate
    constants: Iterable[Tensor]


KEPT = (
    "the model or the loss keeps a tensor that it has computed from the weights, and reuses it between calls, "
    "where it cannot be replaced: compute it again in each call, and measure outside of "
    "torch.nn.utils.parametrize.cached()"
)
"""The error about a cache."""


class Watch(TorchDispatchMode):
    """A watch on which tensors are computed from the weights.

    Attributes:
        made: Storages of all results and of what was given.
        derived: Those among them that depend on the weights, and the weights' own.
        foreign: Other tensors that are read, by storage.
    """

    def __init__(self, weights: Iterable[Tensor], constants: Iterable[Tensor]) -> None:
        super().__init__()
        self.derived = references(weights)
        self.made = {**references(constants), **self.derived}
        self.foreign: dict[int, Tensor] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        for tensor in given:
            self.foreign.update(dict.fromkeys(references([tensor]).keys() - self.made.keys(), tensor))
        answer = func(*args, **(kwargs or {}))
        results = references(leaf for leaf in tree_leaves(answer) if isinstance(leaf, Tensor))
        self.made.update(results)
        if not self.derived.keys().isdisjoint(references(given)):
            self.derived.update(results)
        return answer


def require_nothing_kept(
    calls: Callable[[], Iterable[Call]],
    weights: dict[str, Tensor],
    own: dict[str, Tensor],
    others: Iterable[Tensor],
    kept: References | None = None,
) -> None:
    """Refuse caches of the weights; call this before any other evaluation, which would fill them.

    One batch may fill a cache that only another reads, so all calls are made before the second round.

    Args:
        calls: The calls, which can be made any number of times.
        weights: The chosen parameters; copies replace them.
        own: The model's own tensors of these names.
        others: The other tensors that the model has: buffers, and what is not chosen.
        kept: Storages that an earlier call computed from the weights, and that outlive it.

    Raises:
        CurvatureError: Something that was computed from the weights is kept and read again, or was kept from before.
    """
    others, kept = list(others), dict(kept or {})
    alike, reached = dict[str, tuple[int, ...]](), set[str]()
    for found in _watch_calls(calls, weights, others):
        if found.foreign.keys() & kept.keys():
            raise CurvatureError(KEPT)
        for name, tensor in own.items():
            if references([tensor]).keys() & found.foreign.keys():
                raise CurvatureError(describe_held_parameter(name))
        kept = {place: one for place, one in (kept | found.derived).items() if not one.expired()}
        for name in found.unused:
            sizes = sorted(weights[name].shape)
            shapes = (shape for shape in found.foreign.values() if len(shape) > 1 and sorted(shape) == sizes)
            if (shape := next(shapes, None)) is not None:
                alike[name] = shape
        reached |= weights.keys() - found.unused if found.foreign else set()
    if kept and any(found.foreign.keys() & kept.keys() for found in _watch_calls(calls, weights, others)):
        raise CurvatureError(KEPT)
    for name in sorted(alike.keys() - reached):
        if all(name in _unused_by(call, weights) for call in calls()):
            raise CurvatureError(
                f"{name} does not reach the loss, but a tensor of the same shape {alike[name]} that is not "
                "a parameter of the model does: if it is a cached copy, empty the cache; if it is intended, "
                "exclude the parameter by naming the others, parameters=",
                keywords=("parameters",),
            )


def describe_held_parameter(name: str) -> str:
    """Return the error about a parameter that is not read through the model."""
    return (
        f"the loss or the model keeps a reference to {name} outside the model's attributes, where it cannot be "
        f"replaced; read it from the model when called, as in sum(p.square().sum() for p in model.parameters())"
    )


class _Found(NamedTuple):
    """Storages, tensors and weights that a call shows.

    Attributes:
        derived: Storages that depend on the weights and outlive the call.
        foreign: Shapes of outside tensors, by their storage.
        unused: Weights that the loss does not see, where there are such tensors.
    """

    derived: dict[int, StorageWeakRef]
    foreign: dict[int, tuple[int, ...]]
    unused: set[str]


def _watch_calls(
    calls: Callable[[], Iterable[Call]], weights: dict[str, Tensor], others: list[Tensor]
) -> Iterator[_Found]:
    """Make the calls and yield what those show that do not fail."""
    for call in calls():
        try:
            found = _watch_call(call.evaluate, weights, [*call.constants, *others])
        except Exception:  # the user's code: the first reading of the data reports it
            continue
        yield found


def _watch_call(evaluate: Evaluate, weights: dict[str, Tensor], constants: list[Tensor]) -> _Found:
    at = [p.detach().clone().requires_grad_() for p in weights.values()]
    watch = Watch(at, constants)
    unused = set[str]()
    with torch.enable_grad():
        with watch:
            value = evaluate(at)
        if watch.foreign:
            unused = _unused(value, at, weights)
    derived, foreign = watch.derived, {place: tuple(tensor.shape) for place, tensor in watch.foreign.items()}
    del at, value, watch
    return _Found({place: one for place, one in derived.items() if not one.expired()}, foreign, unused)


def _unused_by(call: Call, weights: dict[str, Tensor]) -> set[str]:
    """Return the weights that the loss of a call does not see."""
    at = [p.detach().clone().requires_grad_() for p in weights.values()]
    with suppress(Exception), torch.enable_grad():
        return _unused(call.evaluate(at), at, weights)
    return set(weights)


def _unused(value: Tensor, at: Sequence[Tensor], weights: dict[str, Tensor]) -> set[str]:
    found: Sequence[Tensor | None] = [None] * len(at)
    if value.requires_grad:
        with suppress(RuntimeError):  # the graph of something kept is gone
            found = gradients_of(value, at, allow_unused=True)
    return {name for name, gradient in zip(weights, found, strict=True) if gradient is None}


def references(tensors: Iterable[Tensor]) -> References:
    """Return weak references to storages by address, which is not reused while a reference lives."""
    found = {}
    for tensor in tensors:
        try:
            reference = StorageWeakRef(tensor.untyped_storage())
        except (NotImplementedError, RuntimeError):  # sparse, or a wrapper around several
            continue
        found[reference.cdata] = reference
    return found
