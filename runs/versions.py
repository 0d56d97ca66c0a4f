"""Versions of the software that computes a run."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("rankproof", "torch", "numpy", "safetensors")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that decide a run's numbers."""
    found = {package: installed(package) for package in _PACKAGES}
    return {"python": platform.python_version(), **{name: one for name, one in found.items() if one is not None}}


@cache
def installed(package: str) -> str | None:
    """Return the version of a package, which takes milliseconds to look up; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
