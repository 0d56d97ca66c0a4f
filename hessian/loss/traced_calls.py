"""Fingerprints of what a model and a loss compute: operations, their graph, and the code that ran.

Two calls with equal fingerprints have executed the same Python code, which has called the same operations of torch in
the same order, on tensors of the same shapes, connected in the same way and with the same numbers as arguments, and
automatic differentiation has recorded the same graph. Whether its derivatives are right is then the same for both.
A call has no fingerprint if something in it cannot be seen or is not torch's own: a custom function with a backward
pass in Python or C++, an operation of another library, a transform, or a profiler that is already running.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from sysconfig import get_path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_leaves

from hessian.loss.kept_tensors import Watch

OWN = ("aten", "prims")
"""Namespaces of torch's own operations."""
PLAIN = (int, float, complex, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
"""Types of arguments that their text identifies."""
FIXED = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))
"""Folders whose code does not change within a process."""
STANDARD = get_path("stdlib")
"""Folder of the standard library, which does not either, but which may hold the packages of users."""


class Trace(Watch):
    """A record of operations, and of Python code outside of torch and of these checks, while it is open.

    Attributes:
        strange: Something cannot be identified, or is not torch's own, or a profiler is running that sees the code.
        codes: Code of the functions that ran.
    """

    def __init__(self, weights: Iterable[Tensor], constants: Iterable[Tensor]) -> None:
        super().__init__(weights, constants)
        self.strange = sys.getprofile() is not None
        self.codes = set[CodeType]()
        self._open = self._collected = False
        self._digest = blake2b(digest_size=16)
        self._labels = {place: label for label, place in enumerate(self.made)}

    def __enter__(self) -> Any:
        entered = super().__enter__()
        self._collected, self._open = gc.isenabled(), True
        gc.disable()  # finalisers of what others have left would be taken for a part of the call
        self._resume()
        return entered

    def __exit__(self, *error: Any) -> None:
        self._open = False
        self._pause()
        super().__exit__(*error)
        if self._collected:
            gc.enable()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._pause()  # no code of a user runs within an operation
        try:
            self.strange |= func.namespace not in OWN
            self._note((str(func), torch.is_grad_enabled()))
            self._note_arguments((args, kwargs or {}))
            answer = super().__torch_dispatch__(func, types, args, kwargs)
            self._note_arguments([one for one in tree_leaves(answer) if isinstance(one, Tensor)])
        finally:
            self._resume()
        return answer

    def _pause(self) -> None:
        if sys.getprofile() == self._note_code:
            sys.setprofile(None)

    def _resume(self) -> None:
        if self._open and not self.strange:  # an operation at the end of the record must not leave its profiler
            sys.setprofile(self._note_code)

    def _note_code(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and not _is_fixed(frame.f_code.co_filename):
            self.codes.add(frame.f_code)

    def digest(self) -> str:
        """Return the digest of the operations so far."""
        return self._digest.hexdigest()

    def _note(self, what: Any) -> None:
        self._digest.update(repr(what).encode())

    def _note_arguments(self, value: Any) -> None:
        if isinstance(value, Tensor):
            try:
                place = value.untyped_storage()._cdata
                self._note((self._labels.setdefault(place, len(self._labels)), value.storage_offset(), value.stride()))
            except (NotImplementedError, RuntimeError):  # sparse, or a wrapper around several
                self.strange = True
            self._note((value.dtype, tuple(value.shape), value.device.type))
        elif isinstance(value, tuple | list):
            self._note(len(value))
            for one in value:
                self._note_arguments(one)
        elif isinstance(value, dict):
            self._note(sorted(value))
            for key in sorted(value):
                self._note_arguments(value[key])
        elif isinstance(value, PLAIN):
            self._note(value)
        else:
            self.strange = True


def _is_fixed(file: str) -> bool:
    return file.startswith(FIXED) or (file.startswith(STANDARD) and "site-packages" not in file)


def graph_digest(value: Tensor, leaves: Sequence[Tensor]) -> str | None:
    """Return a digest of the graph from leaves to a value; None if a part of it is not torch's own.

    Args:
        value: A result.
        leaves: Tensors whose positions identify them.
    """
    positions = {id(leaf): place for place, leaf in enumerate(leaves)}
    digest = blake2b(digest_size=16)
    pending: list[Any] = [] if value.grad_fn is None else [value.grad_fn]
    numbers = {node: number for number, node in enumerate(pending)}
    while pending:
        node = pending.pop()
        name = type(node).__name__
        if isinstance(node, BackwardCFunction) or not (name == "AccumulateGrad" or name.rstrip("0123456789") != name):
            return None
        digest.update(repr((numbers[node], name, positions.get(id(getattr(node, "variable", None)), -1))).encode())
        for source, place in node.next_functions:
            if source is not None and source not in numbers:
                numbers[source] = len(numbers)
                pending.append(source)
            digest.update(repr((numbers.get(source, -1), place)).encode())
    return digest.hexdigest()


def contents_digest(tensors: Iterable[Tensor]) -> str:
    """Return a digest of the numbers in tensors."""
    digest = blake2b(digest_size=16)
    for tensor in tensors:
        plain = tensor.detach().cpu().contiguous()
        digest.update(repr((plain.dtype, tuple(plain.shape))).encode())
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
