"""Settings of the process that a check may change, such as torch's default type, for the checks after it."""

from __future__ import annotations

import decimal
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

_DENORMAL = 1e-310
"""A number that is 0 in products if numbers of its size are flushed to 0."""
_PRECISION = 53
"""Bits of mpmath's numbers by default."""
_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
"""Answers of numpy to overflow and the like, by default."""
_DEFAULTS: dict[str, Any] = {"type": "torch.float32", "device": "cpu", "gradients": True, "products": "highest"}
"""Settings of torch that matter to every number, as they are if torch was not loaded before."""


class SettingsError(ValueError):
    """A module changes a setting on which numbers of other modules depend."""


@contextmanager
def settings_restored() -> Iterator[None]:
    """Restore on leaving what a check may change and another check may depend on.

    These are the current folder, the environment, limits of Python, filters of warnings, the context of decimals,
    answers of numpy to overflow, the precision of mpmath, assumptions of sympy, and torch's defaults, threads and
    modes.
    """
    with _saved():
        yield


@contextmanager
def settings_kept(what: str) -> Iterator[None]:
    """Import modules within, which may not change what numbers of others depend on.

    Which modules a process imports, and in which order, depends on the claims that are asked for and on the number of
    processes. So a module that changes a setting when it is imported would change numbers of some other claims.

    Args:
        what: Name of the module that is imported, for the error.

    Raises:
        SettingsError: A setting was changed, and is restored; the message names it and the remedy.
    """
    before, saved = _deciding(), _saved()
    try:
        yield
        changed = [name for name, value in _deciding().items() if value != before.get(name, value)]
        if changed:
            raise SettingsError(
                f"importing {what} changes {' and '.join(changed)}, on which the numbers of other claims depend; "
                "change it within the functions that need it, such as measure="
            )
    except BaseException:
        saved.close()
        raise


def _saved() -> ExitStack:
    """Return what restores the settings of now when it is closed."""
    restored = ExitStack()
    with suppress(FileNotFoundError):  # somebody removed the current folder
        restored.callback(_change_folder, os.getcwd())
    restored.callback(_set_environment, dict(os.environ))
    restored.callback(sys.setrecursionlimit, sys.getrecursionlimit())
    restored.callback(sys.set_int_max_str_digits, sys.get_int_max_str_digits())
    restored.callback(_set_filters, [*warnings.filters])
    restored.callback(decimal.setcontext, decimal.getcontext().copy())
    numpy = sys.modules.get("numpy")
    restored.callback(_set_errors, None if numpy is None else numpy.geterr())
    restored.callback(_set_precision, *_precision())
    restored.callback(_set_assumptions, _assumptions())
    torch = sys.modules.get("torch")  # a check may load it
    restored.callback(_restore_torch, None if torch is None else {name: read(torch) for name, read, _ in _OF_TORCH})
    restored.callback(_set_flushing, _flushes())
    return restored


def _deciding() -> dict[str, Any]:
    """Return the settings that decide numbers, by their names in words."""
    context, torch, numpy = decimal.getcontext(), sys.modules.get("torch"), sys.modules.get("numpy")
    found: dict[str, Any] = {
        "the current folder": _folder(),
        "the context of decimals": (context.prec, context.rounding, context.Emin, context.Emax, dict(context.traps)),
        "the precision of mpmath": _precision()[0],
        "the assumptions of sympy": _assumptions(),
        "whether denormal numbers are flushed to 0": _flushes(),
        "numpy's answers to overflow": _ERRORS if numpy is None else numpy.geterr(),
        "which warnings raise errors": [one for one in warnings.filters if one[0] == "error"],
    }
    for name, default in _DEFAULTS.items():
        read = next(read for other, read, _ in _OF_TORCH if other == name)
        value = default if torch is None else read(torch)
        found[f"torch's default {name}"] = value if isinstance(value, bool) else str(value)
    return found


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _set_errors(before: dict[str, Any] | None) -> None:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.seterr(**(before or _ERRORS))


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


def _precision() -> tuple[int, int]:
    """Return the bits of mpmath's numbers and of its intervals."""
    mpmath = sys.modules.get("mpmath")
    return (_PRECISION, _PRECISION) if mpmath is None else (mpmath.mp.prec, mpmath.iv.prec)


def _set_precision(bits: int, of_intervals: int) -> None:
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and _precision() != (bits, of_intervals):
        mpmath.mp.prec, mpmath.iv.prec = bits, of_intervals


def _assumptions() -> frozenset[Any]:
    """Return what sympy takes for true everywhere."""
    assume = sys.modules.get("sympy.assumptions.assume")
    return frozenset() if assume is None else frozenset(assume.global_assumptions)


def _set_assumptions(before: frozenset[Any]) -> None:
    if _assumptions() != before:
        found = sys.modules["sympy.assumptions.assume"].global_assumptions
        found.clear()
        found.update(before)


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
        before = {**_DEFAULTS, "type": torch.float32, "determinism": (False, False)}
    for name, read, write in _OF_TORCH:
        if name in before and read(torch) != before[name]:
            write(torch, before[name])
