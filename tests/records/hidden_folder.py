"""Temporary folders of records, whose paths do not show in what is recorded."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recording import plain

FAST = Path("/dev/shm")
SHOWN = "FOLDER"


def in_folder(case: Callable[[Path], Any]) -> Callable[[], Any]:
    """Let a case have a folder of its own; what it gives shows the path as `FOLDER`."""

    @wraps(case)
    def run() -> Any:
        with TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as place:
            folder = Path(place).resolve()
            return _hide(plain(case(folder)), str(folder))

    return run


def _hide(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {_hide(key, path): _hide(entry, path) for key, entry in value.items()}
    if isinstance(value, list):
        return [_hide(entry, path) for entry in value]
    return value.replace(path, SHOWN) if isinstance(value, str) else value
