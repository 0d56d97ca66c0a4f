"""Versions of the software that computes a run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("rankproof", "torch", "numpy", "safetensors")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that decide a run's numbers."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
