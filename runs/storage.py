"""States as files: tensors, and the structure around them as text; no code is loaded from a file."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algorithms.federation import FederationState
from algorithms.ledger import Entry, Ledger
from algorithms.tree import Tree
from runs.run import RunState
from workloads.files import write_whole

STATE = "state.pt"


def save(folder: Path, state: RunState, ledger: Ledger) -> None:
    """Writes a state and its ledger into a folder, whole or not at all."""
    tensors: list[Tensor] = []
    content = {
        "round": state.round,
        "algorithm": _plain(state.algorithm, tensors),
        "personal": {str(number): _plain(kept, tensors) for number, kept in state.federation.personal.items()},
        "shared": _plain(state.federation.shared, tensors),
        "ledger": [asdict(entry) for entry in ledger.entries],
    }
    buffer = io.BytesIO()
    torch.save({"structure": json.dumps(content), "tensors": tensors}, buffer)
    write_whole({folder / STATE: buffer.getvalue()})


def load(folder: Path) -> tuple[RunState, Ledger]:
    """Reads what `save` wrote.

    Raises:
        OSError: There is nothing to read.
    """
    stored = torch.load(folder / STATE, weights_only=True)
    content, tensors = json.loads(stored["structure"]), stored["tensors"]
    personal = {int(number): _rich(kept, tensors) for number, kept in content["personal"].items()}
    federation = FederationState(content["round"], personal, _rich(content["shared"], tensors))
    ledger = Ledger(Entry(**entry) for entry in content["ledger"])
    return RunState(content["round"], _rich(content["algorithm"], tensors), federation), ledger


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    """Tensors by their number in a list, named tuples by the name of their class."""
    if isinstance(value, Tensor):
        tensors.append(value.detach().cpu())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, Tree):
        return {"tree": {name: _plain(entry, tensors) for name, entry in value.items()}}
    if isinstance(value, Mapping):
        return {"mapping": {name: _plain(entry, tensors) for name, entry in value.items()}}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind = f"{type(value).__module__}:{type(value).__name__}"
        return {"named": kind, "fields": [_plain(entry, tensors) for entry in value]}
    if isinstance(value, tuple | list):
        return {"sequence": [_plain(entry, tensors) for entry in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise TypeError(f"a state holds a {type(value).__name__}, which cannot be stored")


def _rich(value: Mapping[str, Any], tensors: list[Tensor]) -> Any:
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "tree" in value:
        return Tree({name: _rich(entry, tensors) for name, entry in value["tree"].items()})
    if "mapping" in value:
        return {name: _rich(entry, tensors) for name, entry in value["mapping"].items()}
    if "named" in value:
        module, _, kind = value["named"].partition(":")
        if not module.startswith("algorithms."):
            raise ValueError(f"a stored state names {module}, which is no algorithm")
        return getattr(importlib.import_module(module), kind)(*(_rich(entry, tensors) for entry in value["fields"]))
    if "sequence" in value:
        return tuple(_rich(entry, tensors) for entry in value["sequence"])
    return value["value"]
