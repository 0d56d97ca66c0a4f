"""Functional calls of a module with substituted weights: tensors, or factors through which its layers compute.

Any `torch.nn.Module` can be used. A call does not change the module's parameters and buffers: in training mode, batch
norm uses the batch, and `observe` returns the new running statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
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
"""Location of a parameter or buffer in a module: one of its dictionaries, and the key."""

Change = tuple[dict[str, Any], str, Any]
"""A location, and the value to put there."""


@dataclass(frozen=True, eq=False)
class Factorable:
    """A module prepared for functional calls.

    Attributes:
        module: The module.
        layers: Patterns of the layers whose weights may be factors.
        shapes: Shapes of parameters and buffers, by name.
        trained: Names of the parameters that require gradients, which every call must provide.
        factorised: Names of the weights that may be factors.
        places: Locations of each parameter and buffer; several if it is tied.
        buffers: Names of the buffers.
        norms: Layers that may have running statistics, with the names of these buffers.
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
    """Prepare a module for functional calls.

    Args:
        module: The module; it is neither changed nor copied.
        layers: Patterns for the names of layers whose weights may be factors: ``layer*.conv*, head``; default: none.

    Raises:
        FederationError: A pattern matches no layer with a matrix.
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
    """Return the module's output at given weights.

    Args:
        network: A module prepared by `factorable`; a plain module is prepared for this call only.
        weights: All parameters that require gradients, by name; may include other parameters and buffers.
        inputs: Positional inputs of the module.
        named: Keyword inputs of the module.

    Raises:
        FederationError: A name is unknown or missing, a shape is wrong, or a layer that does not accept factors is
            given some.

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
    """Return the module's output at given weights, and the new values of the buffers among the weights.

    Args:
        network: The module, as in `call`.
        weights: Weights, including the buffers to update.
        inputs: Inputs of the module.

    Raises:
        FederationError: As in `call`; or buffers would be updated within `torch.func`.
    """
    prepared = network if isinstance(network, Factorable) else factorable(network)
    followed = prepared.buffers.intersection(weights)
    if followed and torch._C._are_functorch_transforms_active():
        weights = {**weights, **_spread_over_clients(weights, followed, inputs)}
    with substitute(prepared, weights, followed):
        output = prepared.module(*inputs)
        return output, {name: _current(prepared, name) for name in followed}


@contextmanager
def bind(network: Factorable, weights: Mapping[str, Weight]) -> Iterator[Callable[..., Any]]:
    """Put weights into the module for several calls, between which their tensors may change in place.

    Args:
        network: The module.
        weights: Weights, as in `call`.

    Yields:
        A function of the module's inputs that returns its output. As in `call`, each call begins with the same buffers.

    Raises:
        FederationError: As in `call`.
    """
    with substitute(network, weights):
        buffers = {name: _current(network, name) for name in network.others}

        def bound(*inputs: Any) -> Any:
            for name in buffers:
                for where, key, copy in _copy(network, name, buffers):
                    where[key] = copy
            return network.module(*inputs)

        yield bound


def _spread_over_clients(weights: Mapping[str, Weight], names: Collection[str], inputs: Any) -> dict[str, Tensor]:
    """Return buffers of each client's own, because `torch.vmap` cannot change in place what all clients share."""
    trained = [weight for name, weight in weights.items() if name not in names]
    parts = [[part for part in of if isinstance(part, Tensor)][:1] for of in (inputs, trained)]
    zeros = [torch.zeros_like(part.flatten()[0]) for (part,) in filter(None, parts)]
    buffers = {name: weights[name] for name in names}
    return {
        name: sum((zero.to(value.dtype) for zero in zeros), value)
        for name, value in buffers.items()
        if isinstance(value, Tensor)
    }


@contextmanager
def substitute(
    network: Factorable, weights: Mapping[str, Weight], followed: frozenset[str] = frozenset()
) -> Iterator[None]:
    """Put weights into the module for the duration of the context, and copies of buffers that the module may change."""
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
            raise FederationError("running statistics with momentum None cannot be tracked: give the layer a momentum")
        for name in own:
            changes += _copy(network, name, entries)
        changes.append((norm._buffers, "num_batches_tracked", None))
    before = [(where, key, where[key]) for where, key, _ in changes]
    try:
        for where, key, value in changes:
            where[key] = value
        yield
    except (TypeError, RuntimeError) as error:
        kinds = {type(weight).__name__: name for name, weight in entries.items() if isinstance(weight, Product)}
        used = next((name for kind, name in kinds.items() if kind in str(error)), None)
        if used is None:
            raise
        raise FederationError(
            f"the network uses a factorised weight, such as {used}, where torch takes only tensors, "
            "as functional_call does: call the layer itself, or leave it out of the layers"
        ) from error
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
    """Check the weights against the module, and return them in its shapes.

    Raises:
        FederationError: As in `call`.
    """
    checked: dict[str, Weight] = {}
    for name, weight in weights.items():
        shape = network.shapes.get(name)
        if shape is None:
            raise FederationError(f"the network has no {name!r}; it has {', '.join(network.shapes)}")
        if isinstance(weight, Product):
            if name not in network.factorised:
                known = f"only {', '.join(sorted(network.factorised))}" if network.factorised else "no layer does"
                raise FederationError(f"{name} cannot be factorised; {known}: name it in `layers`")
            weight = _fit(name, weight, shape)
        elif not isinstance(weight, Tensor):
            raise FederationError(f"{name} must be a tensor or factors, got {type(weight).__name__}")
        if weight.shape != shape:
            raise FederationError(f"{name} has shape {tuple(weight.shape)}, but the network needs {tuple(shape)}")
        checked[name] = weight
    if not network.trained <= checked.keys():
        raise FederationError(f"the weights lack {', '.join(sorted(network.trained - checked.keys()))}")
    return checked


def _fit(name: str, weight: Weight, shape: torch.Size) -> Weight:
    try:
        return with_shape(weight, shape)
    except FederationError as error:
        raise FederationError(f"{name}: {error}") from error
