"""Tensors that a model or a loss keeps between calls, where nothing can replace what they were computed from.

A weight that was computed once and is read from a cache afterwards is a constant in every later call: the block of the
Hessian that belongs to it would silently be zero. Tensors computed from the weights in one call are followed
by their storage, below automatic differentiation, so that neither `detach` nor `no_grad` hides them. A tensor that
outlives the call must not be read in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError

Evaluate = Callable[[Sequence[Tensor]], Tensor]
"""The loss of some samples at parameters."""


class _Watch(TorchDispatchMode):
    """A watch on which tensors are computed from the weights.

    Attributes:
        made: Storages of all results and of what was given.
        derived: Those among them that depend on the weights, and the weights' own.
        foreign: Other tensors that are read, by storage.
    """

    def __init__(self, weights: Iterable[Tensor], constants: Iterable[Tensor]) -> None:
        super().__init__()
        self.derived = _references(weights)
        self.made = {**_references(constants), **self.derived}
        self.foreign: dict[int, Tensor] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        for tensor in given:
            self.foreign.update(dict.fromkeys(_references([tensor]).keys() - self.made.keys(), tensor))
        answer = func(*args, **(kwargs or {}))
        results = _references(leaf for leaf in tree_leaves(answer) if isinstance(leaf, Tensor))
        self.made.update(results)
        if not self.derived.keys().isdisjoint(_references(given)):
            self.derived.update(results)
        return answer


def require_nothing_kept(
    evaluate: Evaluate, weights: dict[str, Tensor], own: dict[str, Tensor], constants: Iterable[Tensor]
) -> bool:
    """Refuse caches of the weights; call this before any other evaluation, which would fill them.

    Args:
        evaluate: The loss of a few samples.
        weights: The chosen parameters; copies replace them.
        own: The model's own tensors of these names.
        constants: The other tensors that are given to the evaluation: data, buffers, what is not chosen.

    Returns:
        Whether it could be tested: the evaluation did not fail.

    Raises:
        CurvatureError: Something that was computed from the weights is kept and read again, or was kept from before.
    """
    constants = list(constants)
    try:
        kept, foreign, unused = _one_call(evaluate, weights, constants)
        read = _one_call(evaluate, weights, constants)[1] if kept else {}
    except Exception:  # the user's code, on few samples: whoever calls it next on all will tell
        return False
    if kept & read.keys():
        raise CurvatureError(
            "the model or the loss keeps a tensor that it has computed from the weights, and reads it again between "
            "calls, where nothing can replace it: compute it again in each call, and measure outside of "
            "torch.nn.utils.parametrize.cached()"
        )
    for name, tensor in own.items():
        if _references([tensor]).keys() & foreign.keys():
            raise CurvatureError(describe_held_parameter(name))
    for tensor in foreign.values():
        for name in unused:
            if tensor.ndim > 1 and sorted(tensor.shape) == sorted(weights[name].shape):
                raise CurvatureError(
                    f"{name} does not reach the loss, and a tensor of its shape {tuple(tensor.shape)} that is not "
                    "a parameter of the model does: if that was computed from it and kept, empty the cache; if it is "
                    "meant, leave the parameter out by naming the others, parameters=",
                    keywords=("parameters",),
                )
    return True


def describe_held_parameter(name: str) -> str:
    """Return the error about a parameter that is not read through the model."""
    return (
        f"the loss or the model holds on to {name} by another way than the model's attributes, where nothing can "
        "replace it; read it from the model when called, as in sum(p.square().sum() for p in model.parameters())"
    )


def _one_call(
    evaluate: Evaluate, weights: dict[str, Tensor], constants: list[Tensor]
) -> tuple[set[int], dict[int, Tensor], list[str]]:
    """Return storages that outlive the call, outside tensors by storage, and weights that the loss does not see."""
    at = [p.detach().clone().requires_grad_() for p in weights.values()]
    watch = _Watch(at, constants)
    with torch.enable_grad():
        with watch:
            value = evaluate(at)
        found: Sequence[Tensor | None] = [None] * len(at)
        if value.requires_grad and watch.foreign:
            found = gradients_of(value, at, allow_unused=True)
    unused = [name for name, gradient in zip(weights, found, strict=True) if gradient is None]
    derived, foreign = watch.derived, watch.foreign
    del at, value, found, watch
    return {place for place, reference in derived.items() if not reference.expired()}, foreign, unused


def _references(tensors: Iterable[Tensor]) -> dict[int, StorageWeakRef]:
    """Return weak references to storages by address, which is not reused while a reference lives."""
    found = {}
    for tensor in tensors:
        try:
            reference = StorageWeakRef(tensor.untyped_storage())
        except (NotImplementedError, RuntimeError):  # sparse, or a wrapper around several
            continue
        found[reference.cdata] = reference
    return found
