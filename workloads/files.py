"""Atomic writes of files, also through links; pipes and devices are written directly."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

STANDARD_OUTPUT = "-"
SCRATCH = ".writing-"
"""Start of the name of a folder in which files are written before they take their places."""


def write_whole(
    files: Mapping[Path, bytes],
    fresh: Collection[Path] = (),
    check: Callable[[Path], None] | None = None,
    scratch: str | None = None,
) -> list[Path]:
    """Write files atomically: write scratch files, sync, then rename, so readers never see half a file.

    A link stays a link: the file it points to is replaced, and keeps its permissions. Pipes and devices are written
    into, after the files have been written and before they are renamed.

    Args:
        files: Contents by path; their folders exist.
        fresh: Those of them that replace nothing: a file that has appeared in such a place stays.
        check: Called with every other path right before its file is replaced; what it raises stops the writing.
        scratch: Name of the folder in which files are written first; default: a random one.

    Returns:
        The paths of all files.

    Raises:
        OSError: A path cannot be written, and names it; no file has been changed then.
    """
    places = {path: _replaced(path) for path in files}
    scratch = scratch or scratch_name()
    with ExitStack() as stack:
        beside: dict[Path, Path] = {}
        ready = {}
        for number, (path, place) in enumerate(places.items()):
            if place is None:
                continue
            with naming_errors(path):
                if place.parent not in beside:
                    beside[place.parent] = place.parent / scratch
                    beside[place.parent].mkdir(mode=0o700)
                    stack.callback(shutil.rmtree, beside[place.parent], ignore_errors=True)
                ready[path] = beside[place.parent] / str(number)
                with ready[path].open("wb") as stream:
                    stream.write(files[path])
                    stream.flush()
                    os.fsync(stream.fileno())
                if place.exists():
                    ready[path].chmod(stat.S_IMODE(place.stat().st_mode))
        for path in places.keys() - ready.keys():
            with naming_errors(path), path.open("wb", buffering=0) as pipe:
                left = memoryview(files[path])
                while left:
                    left = left[pipe.write(left) :]
        with ExitStack() as undone:  # new files are taken back where a later one fails
            for path in sorted(ready, key=lambda path: path not in fresh):
                with naming_errors(path):
                    place = places[path] or path
                    if path in fresh:
                        _place(ready[path], place)
                        undone.callback(place.unlink, missing_ok=True)
                    else:
                        if check is not None:
                            check(path)
                        os.replace(ready[path], place)
            undone.pop_all()
    return list(files)


def scratch_name() -> str:
    """Return a new name for a folder of files that are being written."""
    return f"{SCRATCH}{secrets.token_hex(8)}"


def _place(finished: Path, place: Path) -> None:
    """Give a file its name, unless that is taken.

    Raises:
        OSError: It is taken, or cannot be given.
    """
    try:
        os.link(finished, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from None
        os.replace(finished, place)


def require_writable(folder: Path) -> None:
    """Make a folder if needed, and fail before the work rather than after it.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    with naming_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Make a folder if needed for the work within; if the work fails, remove the folders made here that are empty.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        require_writable(folder)
        yield
    except BaseException:
        for one in made:
            with suppress(OSError):
                one.rmdir()
        raise


def require_target(path: Path) -> None:
    """Fail before the work if a file cannot be written later, without making files or folders.

    Raises:
        OSError: The path is a folder, or its folder is not there or cannot be written to.
    """
    place = _replaced(path)
    with naming_errors(path):
        if place is not None:
            with tempfile.TemporaryFile(dir=place.parent):
                pass
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def with_home(name: str | Path) -> Path:
    """Return a path in which ~ and ~user are home folders; a user without one is part of a name, as in a shell."""
    return Path(os.path.expanduser(name))


def is_standard_output(name: str) -> bool:
    """Return whether a name means standard output: `-`, or any path to the same file, pipe or terminal."""
    if name == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(os.stat(name), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # closed, replaced by an object without a descriptor, or no file yet
        return False


def _replaced(path: Path) -> Path | None:
    """Return the regular file, existing or not, to replace; None if the path is written directly.

    Raises:
        OSError: The path is a folder or a file that is not to be written, links go in a circle, or the folder of the
            file does not exist.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        place = Path(os.path.realpath(path))
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path)) from None
        return place
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode) or is_descriptor(path):
        return None
    if not os.access(path, os.W_OK):  # a folder lets its files be replaced that are not to be written
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return Path(os.path.realpath(path))


def is_descriptor(path: Path) -> bool:
    """Return whether a path leads to an open file of a process, such as /dev/fd/3, which must not be replaced."""
    while path.is_symlink():
        if os.path.realpath(path.parent).startswith("/proc/"):
            return True
        path = path.parent / os.readlink(path)
    return False


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Make errors name the requested path, never a temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
