"""What a run saves, in one file: no code is loaded from it, and a file that was cut or changed is refused.

The first line is the SHA-256 of the rest; the second, JSON, holds the structure; the bytes of the tensors follow.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algorithms.federation import FederationState
from algorithms.fedloru import FedLoRUState, PairsState
from algorithms.ledger import Entry, Ledger
from algorithms.lora import AB, LoRAState
from algorithms.low_rank import USV
from algorithms.tree import Tree
from runs.run import RunState
from runs.settings import RunError
from workloads.files import write_whole

STATE = "state.pt"
NAMED = {kind.__name__: kind for kind in (AB, LoRAState, FedLoRUState, PairsState, USV)}
TYPES = {str(kind): kind for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64)}


@dataclass(frozen=True)
class Saved:
    """Where a run stands.

    Attributes:
        state: State after the last round that was saved.
        ledger: What had travelled by then.
        rows: Metrics of every round up to it.
    """

    state: RunState
    ledger: Ledger
    rows: list[dict[str, float]]


def save(folder: Path, run: Mapping[str, Any], saved: Saved) -> None:
    """Writes where a run stands into its folder, whole or not at all.

    Args:
        folder: Of the run.
        run: Its algorithm, problem and settings, which `load` compares.
        saved: Where it stands.
    """
    tensors: list[Tensor] = []
    state = saved.state
    content = {
        "run": dict(run),
        "round": state.round,
        "algorithm": _plain(state.algorithm, tensors),
        "personal": {str(number): _plain(kept, tensors) for number, kept in state.federation.personal.items()},
        "shared": _plain(state.federation.shared, tensors),
        "ledger": [list(vars(entry).values()) for entry in saved.ledger.entries],
        "metrics": list(saved.rows[0]),
        "rows": [list(row.values()) for row in saved.rows],
        "tensors": [(str(tensor.dtype), tuple(tensor.shape)) for tensor in tensors],
    }
    parts = [tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() for tensor in tensors]
    body = b"\n".join((json.dumps(content).encode(), b"".join(parts)))
    write_whole({folder / STATE: hashlib.sha256(body).hexdigest().encode() + b"\n" + body})


def load(folder: Path, run: Mapping[str, Any]) -> Saved:
    """Reads what `save` wrote.

    Raises:
        RunError: The file is damaged or of another run.
        OSError: There is nothing to read.
    """
    path = folder / STATE
    digest, _, body = path.read_bytes().partition(b"\n")
    if digest != hashlib.sha256(body).hexdigest().encode():
        raise RunError(f"{path} is damaged or of another version; bring its copy back, or start anew with --force")
    head, _, data = body.partition(b"\n")
    try:
        content = json.loads(head)
        changed = [key for key in run if content["run"].get(key) != run[key]]
        if changed:
            raise RunError(f"{path} is of a run with other {', '.join(changed)}; bring its own back, or use --force")
        return _saved(content, data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{path} is not what a run saves ({error!r}); start anew with --force") from error


def _saved(content: Mapping[str, Any], data: bytes) -> Saved:
    tensors = _tensors(content["tensors"], data)
    personal = {int(number): _rich(kept, tensors) for number, kept in content["personal"].items()}
    federation = FederationState(content["round"], personal, _rich(content["shared"], tensors))
    rows = [dict(zip(content["metrics"], row, strict=True)) for row in content["rows"]]
    if [row["round"] for row in rows] != list(range(content["round"] + 1)):
        raise ValueError("rows that are not those of its rounds")
    ledger = Ledger(Entry(*entry) for entry in content["ledger"])
    return Saved(RunState(content["round"], _rich(content["algorithm"], tensors), federation), ledger, rows)


def _tensors(described: Sequence[Any], data: bytes) -> list[Tensor]:
    found, offset = [], 0
    for kind, shape in described:
        empty = torch.empty(shape, dtype=TYPES[kind])
        end = offset + empty.numel() * empty.element_size()
        if empty.numel():
            empty = torch.frombuffer(bytearray(data[offset:end]), dtype=TYPES[kind]).reshape(shape)
        found.append(empty)
        offset = end
    return found


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    """Tensors by their number in a list, named tuples by the name of their class."""
    if isinstance(value, Tensor):
        tensors.append(value.detach().cpu())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, Tree):
        return {"tree": {name: _plain(entry, tensors) for name, entry in value.items()}}
    if isinstance(value, Mapping):
        return {"mapping": {name: _plain(entry, tensors) for name, entry in value.items()}}
    if type(value) in NAMED.values():
        return {"named": type(value).__name__, "fields": [_plain(entry, tensors) for entry in value]}
    if type(value) in (tuple, list):
        return {"sequence": [_plain(entry, tensors) for entry in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise TypeError(f"a state holds a {type(value).__name__}, which cannot be stored; add it to `NAMED`")


def _rich(value: Mapping[str, Any], tensors: list[Tensor]) -> Any:
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "tree" in value:
        return Tree({name: _rich(entry, tensors) for name, entry in value["tree"].items()})
    if "mapping" in value:
        return {name: _rich(entry, tensors) for name, entry in value["mapping"].items()}
    if "named" in value:
        return NAMED[value["named"]](*(_rich(entry, tensors) for entry in value["fields"]))
    if "sequence" in value:
        return tuple(_rich(entry, tensors) for entry in value["sequence"])
    return value["value"]
