"""Checks of the results of the user's functions at the server: the start, and the numbers of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import FederationError
from algorithms.rounds import COLUMNS
from algorithms.tree import Tree, tensors
from runs.networks.shared_memory import tied_names
from runs.settings import RunError
from runs.silos.norms import largest_number, largest_squarable
from workloads.dense_tensors import not_dense

MARGIN = 1e3
"""Smallest ratio of the largest number whose squares can be added to a number in the start: training changes it."""
_EXAMPLE = "such as {'accuracy': 0.5}"


def check_start(given: Any) -> Tree:
    """Check the initial weights and return a copy, which only the run can change.

    Args:
        given: Result of the app's `start`.

    Raises:
        RunError: It is not a table of real, finite tensors by name.
    """
    if not isinstance(given, Mapping):
        raise RunError(f"start() must return tensors by name, such as a state_dict(), got a {type(given).__name__}")
    if not given:
        raise RunError("start() returns no weights; return those of the network, such as a state_dict()")
    for name, entry in given.items():
        if not isinstance(name, str):
            raise RunError(f"start() must return tensors by name, such as a state_dict(), got the name {name!r}")
        if not isinstance(entry, Tensor):
            raise RunError(
                f"start() must return tensors by name, such as a state_dict(), got a {type(entry).__name__} for "
                f"{name!a}"
            )
        if fault := not_dense(entry):
            raise RunError(f"start() must return dense tensors; {name!a} is {fault}")
        if not entry.is_floating_point():
            raise RunError(
                f"start() returns {name!a} as {_type(entry)}, and weights must be real floating-point numbers: "
                f"leave it "
                "out, as in {name: w for name, w in module.state_dict().items() if w.is_floating_point()}; "
                "functional_call then takes it from the silo's own module"
            )
        if entry.element_size() < 2:
            raise RunError(
                f"start() returns {name!a} as {_type(entry)}, a type with which torch cannot compute: pass x.float()"
            )
        if not bool(torch.isfinite(entry).all()):
            raise RunError(
                f"start() returns numbers for {name!a} that are not finite; check how the network is initialised"
            )
        largest, most = largest_number(entry), largest_squarable(entry) / MARGIN
        if largest > most:
            raise RunError(
                f"start() returns numbers for {name!a} up to {largest:.3g}, and the squares of uploads from there "
                f"would overflow; make them at most {most:.3g}"
            )
    if tied := tied_names(given):
        one, other = tied
        raise RunError(
            f"start() returns {one!a} and {other!a}, which are tied: they share memory, and the run would train each "
            f"for itself. Leave {other!a} out, as module.named_parameters() does; functional_call then takes "
            f"{one!a} for both. Give a clone() to train them apart"
        )
    return Tree({name: entry.detach().clone() for name, entry in given.items()})


def measure(evaluate: Any, w: Mapping[str, Any]) -> dict[str, int | float]:
    """Evaluate weights with the app's `evaluate`, and return numbers by name.

    Args:
        evaluate: Function of the user's; it gets a copy of the weights.
        w: Weights.

    Raises:
        FederationError: It changes the weights in place, or returns something else than numbers by free names.
    """
    copies = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, w)
    found = evaluate(copies)
    # Batch norm writes running statistics without counting it as a version.
    if not all(_is_same(one, two) for one, two in zip(tensors(w), tensors(copies), strict=True)):
        raise FederationError(
            "evaluate changed the weights in place, as batch norm in training mode does; call module.eval() first, and "
            "make new tensors (w * 2 instead of w.mul_(2))"
        )
    if not isinstance(found, Mapping):
        said = "None" if found is None else f"a {type(found).__name__}"
        raise FederationError(f"evaluate must return numbers by name, {_EXAMPLE}, got {said}")
    for name in found:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or set(name) & set(',"'):
            raise FederationError(
                f"evaluate returns a number with the name {name!a}; use a printable name without commas and quotes"
            )
        if name in COLUMNS:
            raise FederationError(
                f"evaluate returns a number with the name {name!r}, which is a column of every run; give it "
                f"another name"
            )
    return {name: _number(name, value) for name, value in found.items()}


def _number(name: str, value: Any) -> int | float:
    """Return a number as the tables of a run have it: whole numbers of more than 63 bits become floats."""
    one: Any = value
    if isinstance(value, Tensor):
        one = value.item() if value.numel() == 1 and not not_dense(value) else None
    elif isinstance(value, np.ndarray | np.generic):
        one = value.item() if value.size == 1 else None
    if isinstance(one, bool) or not isinstance(one, Real):
        said = f"a {type(value).__name__}" if one is not None else f"a {type(value).__name__} that is not one number"
        if isinstance(value, bool | str):
            said = ascii(value)
        raise FederationError(f"evaluate must return numbers by name, {_EXAMPLE}, got {said[:80]} for {name!a}")
    try:
        return one if type(one) is int and one is value and abs(one) < 2**63 else float(one)
    except OverflowError as error:
        raise FederationError(f"evaluate returns a number for {name!a} that does not fit in a float") from error


def _is_same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True)


def _type(entry: Tensor) -> str:
    return str(entry.dtype).removeprefix("torch.")
