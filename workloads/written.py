"""Records of the files that rankproof wrote: only these, and only if unchanged, are replaced or removed.

The record is a file of the folder with a line for each file that was written: its name, length and SHA-256 digest. A
line is on the disk before its file has its name, so a process that is killed leaves no file of its own unrecorded.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from workloads.files import SCRATCH, is_descriptor, naming_errors, require_target, scratch_name, write_whole

RECORD = ".rankproof-written"
_HEADER = (
    b'["Files that rankproof wrote in this folder. It replaces and removes no others, and these only unchanged."]\n'
)
_LARGE = 2**16
"""Size in bytes from which a record is rewritten without the lines of missing files."""
Line = tuple[str, int | None, str]
"""Name, length and digest of a file; the length is missing for a file that is still growing and for a folder."""


class ForeignFileError(FileExistsError):
    """Error about a file to overwrite that rankproof did not write, or that was changed later."""

    def __init__(self, path: Path) -> None:
        """Name the file."""
        super().__init__(errno.EEXIST, "rankproof did not write it, or it has been changed since", str(path))


class FolderRecord:
    """The record of a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self.folder = folder
        self._path = folder / RECORD

    @property
    def exists(self) -> bool:
        """Whether there is a record."""
        return os.path.lexists(self._path)

    def lines(self) -> list[Line]:
        """Return the record, from the first line on; empty where there is none.

        Raises:
            ForeignFileError: Another file has its name.
            OSError: It cannot be read.
        """
        return self._read()[0]

    def owns(self, path: Path) -> bool:
        """Return whether a file has the bytes that rankproof wrote there.

        Raises:
            OSError: The record or the file cannot be read.
        """
        sizes = {(length, digest) for name, length, digest in self.lines() if name == self._name(path)}
        if not sizes or not path.is_file() or not self._is_within(Path(os.path.realpath(path)).parent):
            return False
        with naming_errors(path):
            length = path.stat().st_size
            return length in {size for size, _ in sizes} and (length, _digest(path)) in sizes

    def has_begun(self, path: Path) -> bool:
        """Return whether rankproof began a growing file, or made a folder to write in."""
        return any(name == self._name(path) and length is None for name, length, _ in self.lines())

    def require(self, paths: Iterable[Path]) -> None:
        """Check that files may be written: each is not there yet, or has the bytes that rankproof wrote.

        Raises:
            ForeignFileError: One is another's.
            OSError: One cannot be written, or a folder has its name.
        """
        self.lines()
        for path in paths:
            if path.parent.is_dir():
                require_target(path)
            if path.exists() and _is_plain(path) and not self.owns(path):
                raise ForeignFileError(path)

    def write(self, files: Mapping[Path, bytes]) -> None:
        """Write files, all or none; files that already have these bytes stay as they are.

        Raises:
            ForeignFileError: One is there that rankproof did not write, or that has been changed since.
            OSError: One cannot be written, and is named; no file has been changed then.
        """
        left = {path: data for path, data in files.items() if not _holds(path, data)}
        for path in left:
            require_target(path)
        self.require(left)
        if not left:
            return
        scratch = scratch_name()
        plain = {path: data for path, data in left.items() if _is_plain(path)}
        places = {Path(os.path.realpath(path)).parent for path in plain}
        within = [place / scratch for place in places if place.is_relative_to(os.path.realpath(self.folder))]
        names = [os.path.relpath(place, os.path.realpath(self.folder)) for place in within]
        own = [(self._name(path), len(data), hashlib.sha256(data).hexdigest()) for path, data in plain.items()]
        self.note([*((name, None, "") for name in names), *own] if plain else [])
        fresh = {path for path in plain if not path.exists()}
        try:
            write_whole(left, fresh, self._check, scratch)
        except FileExistsError as error:
            if not self.owns(Path(str(error.filename))):
                raise ForeignFileError(Path(str(error.filename))) from error
            self.write(files)  # another process wrote the same files in the meantime

    def note(self, lines: Iterable[Line]) -> None:
        """Add lines to the record, and bring them to the disk.

        Raises:
            ForeignFileError: Another file has the name of the record.
            OSError: It cannot be written.
        """
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        if not data:
            return
        self._read()
        with naming_errors(self._path):
            if not self.exists:
                with suppress(FileExistsError):  # another process has begun it
                    write_whole({self._path: _HEADER + data}, fresh=[self._path])
                    return
            with self._alone() as descriptor:
                _, whole = self._read()
                if self._path.stat().st_nlink > 1:  # a copy by hard links keeps what it has
                    write_whole({self._path: self._path.read_bytes()[:whole] + data})
                    return
                if whole is not None:  # the system stopped within a line
                    os.ftruncate(descriptor, whole)
                os.write(descriptor, data)
                os.fsync(descriptor)

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Open the record to add lines, while no other process does; a line that is being written looks like a cut one.

        Yields:
            Its descriptor.
        """
        while True:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
            try:
                if fcntl is not None:
                    with suppress(OSError):  # a file system without locks
                        fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):  # else another one has its name now
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def remove(self, paths: Iterable[Path]) -> list[Path]:
        """Remove the files that still have the bytes that rankproof wrote, and return them."""
        removed = [path for path in paths if self._is_within(path.parent) and not path.is_symlink() and self.owns(path)]
        for path in removed:
            path.unlink()
        return removed

    def remove_scratch(self, folder: Path) -> None:
        """Remove the scratch files that a killed process left in a folder."""
        for place in folder.glob(f"{SCRATCH}*") if self._is_within(folder) else ():
            if self.has_begun(place) and place.is_dir() and not place.is_symlink():
                for file in place.iterdir():
                    if file.name.isdecimal() and file.is_file():
                        file.unlink()
                with suppress(OSError):
                    place.rmdir()

    def shorten(self) -> None:
        """Rewrite a large record without files that no longer exist; no other process may be writing."""
        if not self.exists or self._path.stat().st_size < _LARGE:
            return
        last = {(name, length is None): (name, length, digest) for name, length, digest in self.lines()}
        kept = [line for line in last.values() if os.path.lexists(self.folder / line[0])]
        text = _HEADER + b"".join(json.dumps(line).encode() + b"\n" for line in kept)
        if len(text) < self._path.stat().st_size // 2:
            write_whole({self._path: text})

    def clear(self) -> None:
        """Remove every file that rankproof wrote and that is unchanged, then the record and folders that are empty."""
        names = dict.fromkeys(name for name, _, _ in self.lines())
        self.remove(self.folder / name for name in names)
        places = [place for place in {(self.folder / name).parent for name in names} if self._is_within(place)]
        for place in {*places, self.folder}:
            self.remove_scratch(place)
        if not any(self.owns(self.folder / name) for name in names):
            with suppress(FileNotFoundError):
                self._path.unlink()
        for place in sorted({*places, self.folder}, reverse=True):
            with suppress(OSError):
                place.rmdir()

    def _read(self) -> tuple[list[Line], int | None]:
        """Return the lines, and the length of the complete ones if the last one is truncated."""
        if not self.exists:
            return [], None
        if self._path.is_symlink() or not self._path.is_file():
            raise ForeignFileError(self._path)
        with naming_errors(self._path):
            data = self._path.read_bytes()
        end = data.rfind(b"\n") + 1
        rows = data[:end].splitlines()
        if not data.startswith(_HEADER) or not (data[end:] == b"" or data[end:].startswith(b'["')):
            raise ForeignFileError(self._path)
        lines: list[Line] = []
        for row in rows[1:]:
            try:
                name, length, digest = json.loads(row)
                if not (isinstance(name, str) and isinstance(digest, str) and (length is None or type(length) is int)):
                    raise ValueError
            except (ValueError, TypeError, RecursionError):
                raise ForeignFileError(self._path) from None
            if not (os.path.isabs(name) or ".." in Path(name).parts or "\0" in name):  # else forged: it leads elsewhere
                lines.append((name, length, digest))
        return lines, (end if data[end:] else None)

    def _check(self, path: Path) -> None:
        if not self.owns(path):
            raise ForeignFileError(path)

    def _is_within(self, place: Path) -> bool:
        """Return whether a folder is this one or lies in it, links followed."""
        return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self.folder))

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)


def write_own(files: Mapping[Path, bytes], folder: Path) -> None:
    """Write files into a folder and below, all or none, and replace none that rankproof did not write.

    Raises:
        ForeignFileError: One is there that rankproof did not write, or that has been changed since.
        OSError: One cannot be written.
    """
    FolderRecord(folder).write(files)


def require_own(paths: Iterable[Path], folder: Path) -> None:
    """Check before the work that `write_own` may write files.

    Raises:
        ForeignFileError: One is there that rankproof did not write, or that has been changed since.
        OSError: One cannot be written.
    """
    FolderRecord(folder).require(paths)


def write_new(files: Mapping[Path, bytes]) -> None:
    """Write files, all or none, and replace nothing; files that already have these bytes stay as they are.

    Raises:
        ForeignFileError: One is there with other bytes.
        OSError: One cannot be written.
    """
    left = {path: data for path, data in files.items() if not _holds(path, data)}
    for path in left:
        if path.exists() and not path.is_dir():
            raise ForeignFileError(path)
    write_whole(left, fresh=left)


def _holds(path: Path, data: bytes) -> bool:
    with suppress(OSError):
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    return False


def _is_plain(path: Path) -> bool:
    """Return whether a path is a file, or could be one, unlike pipes and devices."""
    return not path.exists() or (path.is_file() and not is_descriptor(path))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
