"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Writes files of one folder beside their places, syncs, then renames: a reader never sees half of one.

    Args:
        files: Contents by path; all in the same, existing folder.

    Raises:
        OSError: The folder cannot be written to; no file has been changed then.
    """
    if not files:
        return
    folder = next(iter(files)).parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as beside:
        for path, content in files.items():
            with (Path(beside) / path.name).open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        for path in files:
            os.replace(Path(beside) / path.name, path)


def require_writable(folder: Path) -> None:
    """Fails before the work rather than after it.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
