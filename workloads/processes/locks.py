"""Locks of folders that end with the process that holds them, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK = ".rankproof-lock"
"""Name of the file in a locked folder; a process that is killed leaves it unlocked."""


@contextmanager
def lock_folder(folder: Path, wait: bool = False) -> Iterator[bool]:
    """Lock a folder against other processes that lock it, while open; a missing folder is not locked.

    Args:
        folder: The folder.
        wait: Until another process releases it.

    Yields:
        Whether no other process has the folder.

    Raises:
        OSError: No file can be written into it.
    """
    from filelock import FileLock, Timeout

    if not folder.is_dir():
        yield True
        return
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # Windows removes it at the release; a process that waits for it makes another
            (folder / LOCK).unlink()
        lock.release()
