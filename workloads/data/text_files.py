"""Readers of text files: each takes verified contents and returns the samples of both splits."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.data.text_packages import HEADLINES, INSTRUCTIONS, NEWSGROUPS, RATED

TEST_SHARE = 0.2
"""Share of the samples in the test split, of sets that come without one."""
NEUTRAL = 0.5
"""Sentences whose mean rating, on a scale from -4 to 4, is nearer to 0 are neither negative nor positive."""

_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


class Samples(NamedTuple):
    """The samples of a data set, of both splits.

    Attributes:
        texts: Texts of the samples; of instructions, what comes before the answers.
        labels: Classes of the samples, int64 (n,); 0 where there are none.
        classes: Names of the classes.
        origins: Sources of the samples, int64 (n,), counted in `origin_names`.
        origin_names: Names of the sources.
        test: Whether samples belong to the test split, bool (n,).
        answers: Answers to instructions; None for other data.
    """

    texts: list[str]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    origins: NDArray[np.int64]
    origin_names: tuple[str, ...]
    test: NDArray[np.bool_]
    answers: list[str] | None = None


Reader = Callable[[Mapping[str, bytes]], Samples]


def essence(text: str) -> str:
    """Return the letters and digits of a text in lower case, to find copies; or the text, if it has none."""
    if text.isascii():  # a hundred times faster
        return text.lower().encode().translate(None, _NO_LETTERS).decode() or text
    return "".join(re.findall(r"[^\W_]+", text.lower())) or text


def choose_test(keys: Sequence[str], share: float = TEST_SHARE) -> NDArray[np.bool_]:
    """Choose the test samples, bool (n,), by a hash of their keys, so equal keys stay together."""
    return np.array([int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) < share * 16**8 for key in keys], dtype=bool)


def rated_sentences(contents: Mapping[str, bytes]) -> Samples:
    """Read sentences of four sources with the signs of their mean ratings; reviews and articles stay together.

    Hutto and Gilbert (2014): reviews of films and of products, tweets, and editorials of a newspaper.
    """
    texts, labels, origins, keys = [], [], [], []
    for origin, file in enumerate(RATED):
        for line in contents[file].decode().splitlines():
            number, rating, text = line.split("\t")
            if abs(float(rating)) < NEUTRAL:
                continue
            # Numbers such as 12_3 are the third sentence of the twelfth review or article.
            whole = f"{file} {number.split('_')[0]}" if "_" in number else essence(text)
            keys.append(whole)
            texts.append(text.strip())
            labels.append(float(rating) > 0)
            origins.append(origin)
    return Samples(
        texts,
        np.array(labels, dtype=np.int64),
        ("negative", "positive"),
        np.array(origins, dtype=np.int64),
        ("film reviews", "tweets", "product reviews", "editorials"),
        choose_test(keys),
    )


def newsgroups(contents: Mapping[str, bytes]) -> Samples:
    """Read posts of twenty newsgroups in lower case and without punctuation, split as published (by date).

    The source of a post is the hierarchy of its group, the first part of the name.
    """
    rows, sizes = [], []
    for file in NEWSGROUPS:
        lines = contents[file].decode().split("\n")[3:]  # three lines of headers
        split = [line.split("\t", 1) for line in lines if line.strip()]
        rows += split
        sizes.append(len(split))
    names = [row[0] for row in rows]
    classes, labels = np.unique(names, return_inverse=True)
    hierarchies, origins = np.unique([name.split(".")[0] for name in names], return_inverse=True)
    return Samples(
        [row[1].strip() for row in rows],
        labels.astype(np.int64),
        tuple(map(str, classes)),
        origins.astype(np.int64),
        tuple(map(str, hierarchies)),
        np.arange(len(rows)) >= sizes[0],
    )


def headlines(contents: Mapping[str, bytes]) -> Samples:
    """Read headlines in lower case, sarcastic or not; equal headlines are in the same split."""
    rows = [json.loads(line) for line in contents[HEADLINES[0]].decode().splitlines()]
    texts = [row["input"][-1]["content"].strip() for row in rows]
    return Samples(
        texts,
        np.array([int(row["ideal"]) for row in rows], dtype=np.int64),
        ("sincere", "sarcastic"),
        np.zeros(len(rows), dtype=np.int64),
        ("headlines",),
        choose_test([essence(text) for text in texts]),
    )


def instructions(contents: Mapping[str, bytes]) -> Samples:
    """Read instructions with answers, with or without an input; equal instructions are in the same split."""
    rows = json.loads(contents[INSTRUCTIONS[0]])
    texts = [
        f"Instruction: {row['instruction']}\n" + (f"Input: {row['input']}\n" if row["input"] else "") + "Answer:\n"
        for row in rows
    ]
    return Samples(
        texts,
        np.zeros(len(rows), dtype=np.int64),
        (),
        np.array([bool(row["input"]) for row in rows], dtype=np.int64),
        ("instruction alone", "instruction with an input"),
        choose_test([essence(text) for text in texts]),
        [row["output"] for row in rows],
    )
