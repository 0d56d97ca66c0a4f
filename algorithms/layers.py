"""Calling a module with weights that it does not hold: tensors, or factors that its layers compute through.

Any `torch.nn.Module` serves. Its own parameters and buffers stay as they are, and a call changes nothing: in training
mode batch norm uses the batch; new running statistics come as values, from `observe`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from algorithms.federation import FederationError
from algorithms.kernels import layer_names
from algorithms.products import Product
from algorithms.weights import Weight, with_shape

Place = tuple[dict[str, Any], str]
"""Where a module holds something: one of its dictionaries, and the name there."""

Change = tuple[dict[str, Any], str, Any]
"""A place, and what is put there."""


@dataclass(frozen=True, eq=False)
class Factorable:
    """A module prepared for calls.

    Attributes:
        module: The module as it was given.
        layers: Patterns of the layers whose weights may be values.
        shapes: Shapes of parameters and buffers, by name.
        trained: Names of the parameters that every call must give: those that require gradients.
        factorised: Names of the weights that may be values.
        places: Where each parameter and buffer is held; several for tied ones.
        buffers: Names of buffers.
        norms: Layers that may have running statistics, with the names of these.
        others: Names of all other buffers.
    """

    module: nn.Module
    layers: str | None
    shapes: Mapping[str, torch.Size]
    trained: frozenset[str]
    factorised: frozenset[str]
    places: Mapping[str, tuple[Place, ...]]
    buffers: frozenset[str]
    norms: tuple[tuple[_NormBase, frozenset[str]], ...]
    others: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return factorable, (self.module, self.layers)


def factorable(module: nn.Module, layers: str | None = None) -> Factorable:
    """Prepares a module for calls.

    Args:
        module: Any; it is neither changed nor copied.
        layers: Whose weights may be values, as patterns of names: ``layer*.conv*, head``; default: no layer's.

    Raises:
        FederationError: A pattern that names no layer with a matrix.
    """
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    tensors = {**parameters, **buffers}
    names = {id(tensor): name for name, tensor in tensors.items()}
    places: dict[str, list[Place]] = {name: [] for name in tensors}
    of_norms: list[tuple[_NormBase, frozenset[str]]] = []
    for part in module.modules():
        held = [(where, key) for where in (part._parameters, part._buffers) for key in where if where[key] is not None]
        for where, key in held:
            places[names[id(where[key])]].append((where, key))
        if isinstance(part, _NormBase):
            own = (names[id(buffer)] for buffer in part._buffers.values() if buffer is not None)
            of_norms.append((part, frozenset(own)))
    statistics = frozenset[str]().union(*(own for _, own in of_norms))
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    return Factorable(
        module,
        layers,
        shapes,
        frozenset(name for name, p in parameters.items() if p.requires_grad),
        frozenset(() if layers is None else layer_names(((name, shapes[name]) for name in parameters), layers)),
        {name: tuple(where) for name, where in places.items()},
        frozenset(buffers),
        tuple(of_norms),
        tuple(name for name in buffers if name not in statistics),
    )


def call(network: Factorable | nn.Module, weights: Mapping[str, Weight], *inputs: Any, **named: Any) -> Any:
    """The module's output at given weights.

    Args:
        network: Prepared once by `factorable`; a bare module is prepared for this call.
        weights: Every parameter that requires gradients, by its name; other parameters and buffers may be among them.
        inputs: Inputs of the module.
        named: Likewise.

    Raises:
        FederationError: A name that the module lacks or one that is missing, a wrong shape, or a value for a layer that
            takes none.

    >>> module = nn.Linear(2, 1)
    >>> call(module, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2))
    tensor([2.])
    """
    prepared = network if isinstance(network, Factorable) else factorable(network)
    with substitute(prepared, weights):
        return prepared.module(*inputs, **named)


def observe(
    network: Factorable | nn.Module, weights: Mapping[str, Weight], *inputs: Any
) -> tuple[Any, dict[str, Tensor]]:
    """The module's output at given weights, and the new values of the buffers that are among these.

    Args:
        network: As in `call`, like the rest.
        weights: Weights, with the buffers that are to be followed.
        inputs: Inputs of the module.

    Raises:
        FederationError: As `call`; or buffers are followed within `torch.func`.
    """
    prepared = network if isinstance(network, Factorable) else factorable(network)
    followed = prepared.buffers.intersection(weights)
    with substitute(prepared, weights, followed):
        output = prepared.module(*inputs)
        return output, {name: _current(prepared, name) for name in followed}


@contextmanager
def substitute(
    network: Factorable, weights: Mapping[str, Weight], followed: frozenset[str] = frozenset()
) -> Iterator[None]:
    """The weights in the module's places, and copies of the buffers that the module may change."""
    if followed and torch._C._are_functorch_transforms_active():
        raise FederationError(
            "running statistics of norms cannot be followed by several clients at once: choose --statistics batch, or "
            "the sequential executor"
        )
    entries = _check_weights(network, weights)
    changes: list[Change] = [
        (where, key, value) for name, value in entries.items() for where, key in network.places[name]
    ]
    for name in network.others:
        changes += _copy(network, name, entries)
    for norm, own in network.norms:
        if not norm.training or not norm.track_running_stats:
            continue
        if not own & followed:
            changes += [
                (norm.__dict__, "track_running_stats", False),
                *((norm._buffers, key, None) for key in norm._buffers),
            ]
            continue
        if norm.momentum is None:
            raise FederationError("running statistics of momentum None cannot be followed: give the layer a momentum")
        for name in own:
            changes += _copy(network, name, entries)
        changes.append((norm._buffers, "num_batches_tracked", None))
    before = [(where, key, where[key]) for where, key, _ in changes]
    try:
        for where, key, value in changes:
            where[key] = value
        yield
    finally:
        for where, key, value in reversed(before):
            where[key] = value


def _copy(network: Factorable, name: str, entries: Mapping[str, Any]) -> list[Change]:
    places = network.places[name]
    copy = (entries[name] if name in entries else places[0][0][places[0][1]]).detach().clone()
    return [(where, key, copy) for where, key in places]


def _current(network: Factorable, name: str) -> Tensor:
    where, key = network.places[name][0]
    return where[key]


def _check_weights(network: Factorable, weights: Mapping[str, Weight]) -> dict[str, Weight]:
    """The weights, of the shapes of the module's.

    Raises:
        FederationError: As `call`.
    """
    checked: dict[str, Weight] = {}
    for name, weight in weights.items():
        shape = network.shapes.get(name)
        if shape is None:
            raise FederationError(f"the network has no {name!r}; it has {', '.join(network.shapes)}")
        if isinstance(weight, Product):
            if name not in network.factorised:
                known = f"only {', '.join(sorted(network.factorised))}" if network.factorised else "no layer does"
                raise FederationError(f"{name} takes no factors; {known}: name it in `layers`")
            weight = _fit(name, weight, shape)
        elif not isinstance(weight, Tensor):
            raise FederationError(f"{name} must be a tensor or factors, got {type(weight).__name__}")
        if weight.shape != shape:
            raise FederationError(f"{name} has shape {tuple(weight.shape)}, the network's has {tuple(shape)}")
        checked[name] = weight
    if not network.trained <= checked.keys():
        raise FederationError(f"the weights lack {', '.join(sorted(network.trained - checked.keys()))}")
    return checked


def _fit(name: str, weight: Weight, shape: torch.Size) -> Weight:
    try:
        return with_shape(weight, shape)
    except FederationError as error:
        raise FederationError(f"{name}: {error}") from error
