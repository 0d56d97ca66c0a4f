"""Temporary folders of records, whose paths do not show in what is recorded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recording import plain

FAST = Path("/dev/shm")
SHOWN = "FOLDER"


@contextmanager
def folder() -> Iterator[tuple[Path, Callable[[Any], Any]]]:
    """Yield an empty folder, and a function that puts `FOLDER` for its path into texts."""
    with TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as made:
        place = Path(made).resolve()

        def hide(value: Any) -> Any:
            if isinstance(value, dict):
                return {hide(key): hide(entry) for key, entry in value.items()}
            if isinstance(value, list | tuple):
                return [hide(entry) for entry in value]
            return str(value).replace(str(place), SHOWN) if isinstance(value, str | Path) else value

        yield place, hide


def in_folder(case: Callable[[Path], Any]) -> Callable[[], Any]:
    """Let a case have a folder of its own; what it gives shows the path as `FOLDER`."""

    @wraps(case)
    def run() -> Any:
        with folder() as (place, hide):
            return hide(plain(case(place)))

    return run
