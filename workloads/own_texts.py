"""A user's own texts, from a file, a folder or tables in memory, as training and test sets.

Layouts of a folder:

    FOLDER/train.jsonl   FOLDER/test.jsonl                 one training and one test file
    FOLDER/anna.jsonl    FOLDER/ben.jsonl                  one file for each client (a file called test is the test set)
    FOLDER/train/anna.jsonl  FOLDER/train/ben.jsonl  FOLDER/test/any.jsonl

Without a test set a hash chooses each text with probability 1/5 as a test text, which keeps equal texts together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.code_names import names_code
from workloads.data.idx import DataError
from workloads.data.image_folder import ENDINGS as IMAGES
from workloads.data.image_folder import TESTS, TRAINS
from workloads.data.text_files import choose_test, essence
from workloads.data.text_tables import ENDINGS, Table, join, read_table, table_of
from workloads.files import with_home
from workloads.texts import TextSet

COLUMNS = ("text", "label", "prompt", "answer", "client")
"""Names of the options that name columns, and the columns' usual names."""
TRAIN, TEST = "train", "test"
EXACT = 2.0**53
"""From here on neighbouring whole numbers are one floating-point number."""


@dataclass(frozen=True)
class Columns:
    """Columns of a table of texts.

    Attributes:
        text: Column of the texts to classify; default: text.
        label: Column of their classes; default: label.
        prompt: Column of prompts, or several between commas; default: prompt, if there is one.
        answer: Column of the answers to be learnt; default: answer.
        client: Column that names the client of each text; default: the texts belong to nobody.

    Raises:
        DataError: Columns of both tasks are named.
    """

    text: str | None = None
    label: str | None = None
    prompt: str | None = None
    answer: str | None = None
    client: str | None = None

    def __post_init__(self) -> None:
        if (self.text or self.label) and (self.prompt or self.answer):
            raise DataError(
                "texts are classified by --text and --label, or continued by --prompt and --answer; name one of the two"
            )

    def is_causal(self, table: Table) -> bool:
        """Return whether the model learns answers; if no column is named, the usual names decide.

        Raises:
            DataError: No column is named, and the table has no columns of the usual names.
        """
        if self.text or self.label or self.prompt or self.answer:
            return bool(self.prompt or self.answer)
        classified, continued = {"text", "label"} <= {*table.columns}, {"prompt", "answer"} <= {*table.columns}
        if classified == continued:
            raise DataError(
                f"{table.name} has the columns {', '.join(table.columns)}: name those of the texts and their classes "
                "with --text and --label, or those of prompts and answers with --prompt and --answer"
            )
        return continued


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """The training and test texts of a user.

    Attributes:
        train: Training texts; their sources are the clients, if the data name any.
        test: Test texts.
        clients: Names of the clients that the data name; else none.
        notes: Decisions about the data, in words.
    """

    train: TextSet
    test: TextSet
    clients: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def is_text_data(name: str) -> bool:
    """Return whether a name of data is a file or a folder of texts; nothing is read.

    A folder of images by class may have a table next to them, such as ``labels.csv``, and is not one of texts.

    >>> is_text_data("mails.jsonl"), is_text_data("mnist"), is_text_data("my_module:texts")
    (True, False, False)
    """
    path = with_home(name)
    try:
        if path.is_dir():
            folders = [folder for folder in path.iterdir() if folder.is_dir()]
            inner = [folder for folder in folders if folder.name.lower() in (*TRAINS, *TESTS)]
            return any(map(_files, (path, *inner))) and not any(map(_holds_images, (path, *folders)))
        return path.suffix.lower() in ENDINGS and (path.is_file() or not names_code(name))
    except (OSError, ValueError):
        return False


def clients_of(name: str, client: str | None) -> tuple[str, ...]:
    """Return the names of the clients in a file or folder of texts; none if it names no clients.

    Raises:
        DataError: The texts cannot be read.
    """
    path = with_home(name)
    if client is None:
        train, _ = _layout(path)
        return tuple(file.stem for file in train) if len(train) > 1 else ()
    table = _read_files(*_layout(path)[0])
    return _in_order({_name_of(value, table, line) for value, line in _each(table, client, "client")})


def read_own(name: str, columns: Columns, test: str | None = None) -> OwnTexts:
    """Read the texts of a file or folder.

    Args:
        name: The file or folder.
        columns: Names of the columns.
        test: File of the test texts; default: those that a folder holds, else about a fifth of the texts.

    Raises:
        DataError: The texts cannot be read, or do not suit the columns.
    """
    path = with_home(name)
    files, tests = _layout(path)
    if test is not None:
        tests = [with_home(test)]
        if tests[0] in files:
            raise DataError(f"{test} is one of the training files; name another test file")
    tables = [_read_files(file) for file in files]
    table = join(tables, str(path))
    owners = None
    if len(files) > 1 and columns.client is None:
        owners = [file.stem for file, own in zip(files, tables, strict=True) for _ in own.rows]
    return _sets(path.resolve().name, table, _read_files(*tests) if tests else None, columns, owners)


def own_from(given: Any, name: str, columns: Columns) -> OwnTexts:
    """Return the texts of tables in memory.

    Args:
        given: A table for `table_of`; (training, test) tables; tables by the names ``train`` and ``test``; or two
            `TextSet`s.
        name: Name of the function that returned it, for errors.
        columns: Names of the columns.

    Raises:
        DataError: It is something else.
    """
    train, test = given, None
    if isinstance(given, tuple) and len(given) == 2:
        train, test = given
    elif isinstance(given, Mapping) and TRAIN in given and all(not _is_column(part) for part in given.values()):
        train, test = given[TRAIN], next((given[split] for split in TESTS if split in given), None)
        others = [split for split in given if split != TRAIN]
        if test is None and others:
            raise DataError(
                f"{name} returns {TRAIN!r} with {', '.join(map(repr, others))}, of which none is a test set; name it "
                f"{', '.join(TESTS[:-1])} or {TESTS[-1]}, or leave it out"
            )
    if isinstance(train, TextSet) or isinstance(test, TextSet):
        if not (isinstance(train, TextSet) and isinstance(test, TextSet)):
            raise DataError(f"{name} must return two TextSets, for training and test")
        return OwnTexts(train, test)
    table = table_of(train, name if test is None else f"the training data of {name}")
    return _sets(name, table, None if test is None else table_of(test, f"the test data of {name}"), columns, None)


def _is_column(part: Any) -> bool:
    """Return whether a value in a mapping is a column, not a table."""
    return isinstance(part, Sequence) and not (len(part) and isinstance(part[0], Mapping))


def stamp_of(name: str, test: str | None = None) -> tuple[object, ...]:
    """Return a value that changes with the files of texts.

    Raises:
        DataError: There are none.
    """
    train, tests = _layout(with_home(name))
    files = [*train, *tests, *([] if test is None else [with_home(test)])]
    return tuple(map(_stamp, files))


def _stamp(file: Path) -> tuple[object, ...]:
    try:
        state = file.stat()
    except OSError:
        return (str(file),)
    return str(file.absolute()), state.st_size, state.st_mtime_ns


def _files(folder: Path) -> list[Path]:
    own = (path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and not path.name.startswith("."))
    return sorted((path for path in own if path.is_file()), key=lambda path: _natural(path.stem))


def _holds_images(folder: Path) -> bool:
    """Return whether a folder or one of its own folders has an image."""
    inner = (one for one in folder.iterdir() if one.is_dir())
    return any(file.suffix.lower() in IMAGES for one in (folder, *inner) for file in one.iterdir())


def _layout(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the training files and the test files.

    Raises:
        DataError: A folder without texts, or with training files in two places.
    """
    if not path.is_dir():
        return [path], []
    files = _files(path)
    splits: list[tuple[list[Path], str]] = []
    for names in (TRAINS, TESTS):
        found: list[Path] = []
        for name in names:
            inside = [one for one in path.iterdir() if one.is_dir() and one.name.lower() == name]
            found = found or [file for folder in inside for file in _files(folder)]
            found = found or [file for file in files if file.stem.lower() == name]
        splits.append((found, names[0]))
    (train, _), (test, _) = splits
    others = [file for file in files if file.stem.lower() not in (*TRAINS, *TESTS)]
    if train and others:
        raise DataError(
            f"{path} has {train[0].relative_to(path)} and also {others[0].name}; put the files of clients into the "
            f"folder {path / TRAIN}, or remove one"
        )
    if not train and not others:
        raise DataError(f"{path} has no training texts; put files that end in {', '.join(ENDINGS)} there")
    return train or others, test


def _read_files(*files: Path) -> Table:
    tables = [_read_file(file, _stamp(file)) for file in files]
    return join(tables, str(files[0].parent))


@lru_cache(maxsize=32)
def _read_file(file: Path, stamp: tuple[object, ...]) -> Table:
    """Read a file once, because a plan needs its clients before a run needs its texts."""
    return read_table(file)


def _sets(name: str, table: Table, tests: Table | None, columns: Columns, owners: Sequence[str] | None) -> OwnTexts:
    """Return both splits of a table, or of two tables."""
    causal = columns.is_causal(table)
    tables = {TRAIN: table, **({} if tests is None else {TEST: tests})}
    texts = {split: _texts(one, columns, causal) for split, one in tables.items()}
    answers = (
        {split: _strings(one, columns.answer or "answer", "answer") for split, one in tables.items()} if causal else {}
    )
    labels = {} if causal else {split: _labels(one, columns.label or "label") for split, one in tables.items()}
    if columns.client is not None:
        owners = [_name_of(value, table, line) for value, line in _each(table, columns.client, "client")]
    clients = _in_order({*(owners or ())})
    number_of = {owner: number for number, owner in enumerate(clients)}
    origins = np.array([number_of[owner] for owner in owners or ()], dtype=np.int64)
    origins = origins if owners else np.zeros(len(table.rows), dtype=np.int64)
    notes = []
    chosen = np.zeros(len(table.rows), dtype=bool)
    if tests is None:
        keys = [said or answers[TRAIN][place] for place, said in enumerate(texts[TRAIN])]
        chosen = _choose_test(keys, [labels[TRAIN] if labels else [], owners or []])
        if not chosen.any():
            raise DataError(
                f"{table.name} has {len(chosen)} texts, and each class and client keeps one for training, so none "
                "is left for a test; name a file of test texts with --test-data"
            )
        notes.append(
            f"{int(chosen.sum()):,} of {len(chosen):,} texts are test texts, chosen by a hash; --test-data names others"
        )
    names = () if causal else _classes(table, columns, [labels[TRAIN][i] for i in np.flatnonzero(~chosen).tolist()])
    place_of = {label: place for place, label in enumerate(names)}
    found: dict[str, TextSet] = {}
    for split in (TRAIN, TEST):
        source = split if split in tables else TRAIN
        one = tables[source]
        which = np.flatnonzero(~chosen if split == TRAIN else chosen) if source == TRAIN else np.arange(len(one.rows))
        for place in which.tolist() if labels else ():
            if labels[source][place] not in place_of:
                raise DataError(
                    f"{one.name}, {one.lines[place]}: no training text has the label {labels[source][place]!r}; the "
                    f"training labels are {_listed(names)}"
                )
        found[split] = TextSet(
            name=name,
            split=split,
            texts=tuple(texts[source][i] for i in which),
            labels=np.array([place_of[labels[source][i]] if labels else 0 for i in which], dtype=np.int64),
            classes=names,
            origins=origins[which] if source == TRAIN else np.zeros(len(which), dtype=np.int64),
            origin_names=clients or (name,),
            answers=tuple(answers[source][i] for i in which) if causal else None,
        )
    if clients and len(np.unique(found[TRAIN].origins)) < len(clients):  # cannot be, because each keeps a text
        raise DataError(f"{table.name}: a client has no training text; name test texts with --test-data")
    return OwnTexts(found[TRAIN], found[TEST], clients, tuple(notes))


def _choose_test(texts: Sequence[str], groups: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Choose each text with probability 1/5 by its hash; a class or client that would lose all keeps its first."""
    keys = [essence(text) for text in texts]
    chosen = choose_test(keys)
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    for group in filter(len, groups):
        left = {group[place] for place in np.flatnonzero(~chosen).tolist()}
        for name, key in zip(group, keys, strict=True):
            if name not in left:
                chosen[places[key]] = False
                left |= {group[place] for place in places[key]}
    return chosen


def _classes(table: Table, columns: Columns, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the classes: those that the column declares, else the labels of the training texts.

    Raises:
        DataError: There is only one.
    """
    names = tuple(table.classes.get(columns.label or "label", ())) or _in_order({*labels})
    if len({*labels}) < 2:
        raise DataError(f"all training texts of {table.name} have the label {labels[0]!r}; a classifier needs two")
    return names


def _texts(table: Table, columns: Columns, causal: bool) -> list[str]:
    if not causal:
        return _strings(table, columns.text or "text", "text")
    asked = columns.prompt or ("prompt" if "prompt" in table.columns else None)
    if asked is None:
        return [""] * len(table.rows)
    several = [asked] if asked in table.columns else [part.strip() for part in asked.split(",")]
    parts = [_strings(table, column, "prompt", empty=True) for column in several]
    return ["\n".join(filter(None, row)) for row in zip(*parts, strict=True)]


def _strings(table: Table, column: str, option: str, empty: bool = False) -> list[str]:
    """Return the texts of a column.

    Raises:
        DataError: A value that is not a text, or an empty one.
    """
    found = []
    for value, line in _each(table, column, option):
        if value is None and empty:
            value = ""
        if not isinstance(value, str):
            raise DataError(f"{table.name}, {line}: {column} must be a text, got {_shown(value)}")
        if not value.strip() and not empty:
            raise DataError(f"{table.name}, {line}: {column} is empty; write a text there, or remove the row")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{table.name}, {line}: {column} has half of a surrogate pair, {value[error.start]!a}; remove it"
            ) from error
        found.append(value)
    return found


def _labels(table: Table, column: str) -> list[str]:
    names = table.classes.get(column)
    found = []
    for value, line in _each(table, column, "label"):
        if names and isinstance(value, int) and 0 <= value < len(names):
            value = names[value]
        found.append(_name_of(value, table, line, f"the label in {column}"))
    return found


def _name_of(value: Any, table: Table, line: str, what: str = "the client") -> str:
    """Return a class or a client as a text.

    Raises:
        DataError: It is neither a text nor a whole number, or a floating-point number to which several may be rounded.
    """
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= EXACT:
            raise DataError(
                f"{table.name}, {line}: {what} is the floating-point number {value:.0f}, which may have been rounded, "
                "so several may be one; write them as whole numbers or texts"
            )
        value = int(value)
    if not isinstance(value, str | int) or not str(value).strip():
        raise DataError(f"{table.name}, {line}: {what} must be a text or a whole number, got {_shown(value)}")
    return str(value)


def _each(table: Table, column: str, option: str) -> list[tuple[Any, str]]:
    return list(zip(table.values(column, option), table.lines, strict=True))


def _in_order(names: set[str]) -> tuple[str, ...]:
    """Sort names, numbers by their size."""
    return tuple(sorted(names, key=_natural))


def _natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return what sorts whole numbers by size and before words, and numbers within words by size."""
    parts = [name] if re.fullmatch(r"-?[0-9]{1,18}", name) else re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return [(0, int(part), "") if re.fullmatch(r"-?[0-9]+", part) else (1, 0, part) for part in parts], name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 10 else f"{', '.join(names[:10])} and {len(names) - 10} more"
