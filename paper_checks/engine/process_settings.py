"""Settings of the process that a check may change, such as torch's default type, for the checks after it."""

from __future__ import annotations

import decimal
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np

_DENORMAL = 1e-310
"""A number that is 0 in products if numbers of its size are flushed to 0."""
_PRECISION = 53
"""Bits of mpmath's numbers by default."""


@contextmanager
def settings_restored() -> Iterator[None]:
    """Restore on leaving what a check may change and another check may depend on.

    These are the current folder, the environment, limits of Python, filters of warnings, the context of decimals,
    answers of numpy to overflow, the precision of mpmath, and torch's defaults, threads and modes.
    """
    with ExitStack() as restored:
        with suppress(FileNotFoundError):  # somebody removed the current folder
            restored.callback(_change_folder, os.getcwd())
        restored.callback(_set_environment, dict(os.environ))
        restored.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        restored.callback(sys.set_int_max_str_digits, sys.get_int_max_str_digits())
        restored.callback(_set_filters, [*warnings.filters])
        restored.callback(decimal.setcontext, decimal.getcontext().copy())
        restored.callback(np.seterr, **np.geterr())
        restored.callback(_set_precision, sys.modules["mpmath"].mp.prec if "mpmath" in sys.modules else _PRECISION)
        torch = sys.modules.get("torch")  # a check may load it
        restored.callback(_restore_torch, None if torch is None else {name: read(torch) for name, read, _ in _OF_TORCH})
        restored.callback(_set_flushing, _flushes())
        yield


def _change_folder(folder: str) -> None:
    with suppress(OSError):
        os.chdir(folder)


def _set_environment(before: dict[str, str]) -> None:
    if before != dict(os.environ):
        os.environ.clear()
        os.environ.update(before)


def _set_filters(before: list[Any]) -> None:
    if before != [*warnings.filters]:
        warnings.resetwarnings()  # also forgets which warnings were shown by the others
        warnings.filters[:] = before  # type: ignore[index]


def _set_precision(bits: int) -> None:
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and mpmath.mp.prec != bits:
        mpmath.mp.prec = bits


def _flushes() -> bool:
    return _DENORMAL * float(len("1")) == 0.0  # a product that is computed now and not by the compiler


def _set_flushing(before: bool) -> None:
    torch = sys.modules.get("torch")  # only torch changes it
    if torch is not None and _flushes() != before:
        torch.set_flush_denormal(before)


_OF_TORCH: tuple[tuple[str, Callable[[Any], Any], Callable[[Any, Any], Any]], ...] = (
    ("type", lambda torch: torch.get_default_dtype(), lambda torch, value: torch.set_default_dtype(value)),
    ("device", lambda torch: str(torch.get_default_device()), lambda torch, value: _set_device(torch, value)),
    ("gradients", lambda torch: torch.is_grad_enabled(), lambda torch, value: torch.set_grad_enabled(value)),
    ("threads", lambda torch: torch.get_num_threads(), lambda torch, value: torch.set_num_threads(value)),
    (
        "determinism",
        lambda torch: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        lambda torch, value: torch.use_deterministic_algorithms(value[0], warn_only=value[1]),
    ),
    (
        "products",
        lambda torch: torch.get_float32_matmul_precision(),
        lambda torch, value: torch.set_float32_matmul_precision(value),
    ),
)
"""Settings of torch: name, and the functions that read and write it."""


def _set_device(torch: Any, device: str) -> None:
    torch.set_default_device(None if device == "cpu" else device)


def _restore_torch(before: dict[str, Any] | None) -> None:
    """Restore torch's settings, or its defaults if it was not loaded before."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if before is None:
        before = {
            "type": torch.float32,
            "device": "cpu",
            "gradients": True,
            "determinism": (False, False),
            "products": "highest",
        }
    for name, read, write in _OF_TORCH:
        if name in before and read(torch) != before[name]:
            write(torch, before[name])
