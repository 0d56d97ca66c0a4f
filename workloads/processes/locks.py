"""Locks of folders that end with the process that holds them, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def lock_folder(folder: Path, wait: bool = False) -> Iterator[bool]:
    """Lock a folder against other processes that lock it, while open.

    Without the folder, or without such locks in the system, nothing is locked.

    Args:
        folder: The folder.
        wait: Until another process lets go.

    Yields:
        Whether no other process has the folder.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        yield True
        return
    if not folder.is_dir():
        yield True
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            flock(descriptor, LOCK_EX if wait else LOCK_EX | LOCK_NB)
        except BlockingIOError:
            free = False
        else:
            free = True
        yield free
    finally:
        os.close(descriptor)
