"""A federated problem of a user's own texts and a language model, from plain settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import torch

from runs.networks.language_federation import LanguageFederation, has_template, tokenizer_at
from runs.networks.language_model import PREFIX, Place
from runs.networks.network_function import seeded_draws
from runs.settings import EARLIER_NAMES
from workloads.code_names import names_code
from workloads.data.idx import DataError
from workloads.own_texts import COLUMNS, Columns, OwnTexts, clients_of, is_text_data, own_from, read_own, stamp_of
from workloads.texts import TextSet
from workloads.tokens import TokenSet, separate, tokens

DECIDING = ("model", *COLUMNS)
"""Options from which it follows that a function returns texts."""


@dataclass(frozen=True)
class TextFederation(LanguageFederation):
    """A language model trained by clients that each have a part of a user's texts.

    Attributes:
        text: Column of the texts to classify; default: text.
        label: Column of their classes; default: label.
        prompt: Column of prompts, or several between commas; default: prompt, if there is one.
        answer: Column of the answers to be learnt; default: answer.
        client: Column that names the client of each text.
        test_data: File of test texts; default: those of the folder, else about a fifth of the texts, each chosen by its
            hash.
    """

    earlier_names: ClassVar[Mapping[str, str]] = {"eval_batch": EARLIER_NAMES["eval_batch"]}
    example: ClassVar[str] = (
        "rankproof train fedlora --data mails.jsonl --text body --label kind --client team --max-length 48 --truncate "
        "--learning-rate 0.003 --rounds 4 (takes a minute or two for 1,000 texts on two idle cores; in a round a "
        "client receives and sends 150,536 bytes each)"
    )

    text: str | None = None
    label: str | None = None
    prompt: str | None = None
    answer: str | None = None
    client: str | None = None
    test_data: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._columns()

    @classmethod
    def defaults(cls, data: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return defaults of options from the data: one client for each that the data name."""
        if None not in (given.get("clients"), given.get("partition")):
            return {}
        client = given.get("client")
        with suppress(DataError):  # data that cannot be read are refused when the problem is built
            names: tuple[str, ...] = ()
            if is_text_data(data):
                names = clients_of(data, client)
            elif client is not None:
                names = _own(data, Columns(*(given.get(name) for name in COLUMNS)), 0).clients
            return {"clients": len(names), "partition": "by-client"} if names else {}
        return {}

    def _columns(self) -> Columns:
        return Columns(self.text, self.label, self.prompt, self.answer, self.client)

    def _tokenised(
        self, place: Place, files: tuple[object, ...], root: str | None, seed: int
    ) -> tuple[TokenSet, TokenSet, tuple[str, ...]]:
        own = self._texts(seed)
        tokenizer = tokenizer_at(place, files)
        causal = own.train.answers is not None
        chat = self.template == "chat" or (causal and self.template is None and has_template(tokenizer))
        train, test = (
            _tokens(split, place, files, self.max_length, self.truncate, chat) for split in (own.train, own.test)
        )
        return train, test, (*self._notes(own, chat), *own.notes)

    def _texts(self, seed: int) -> OwnTexts:
        if is_text_data(self.data) or Path(self.data).is_dir():
            return _read(self.data, self._columns(), self.test_data, stamp_of(self.data, self.test_data))
        if self.test_data is not None:
            raise DataError(f"{self.data} returns the test texts too; leave --test-data out")
        if not names_code(self.data):
            raise DataError(f"{self.data} does not exist, or has no texts")
        return _own(self.data, self._columns(), seed)

    def _notes(self, own: OwnTexts, chat: bool) -> tuple[str, ...]:
        """Describe the texts, and how they are written."""
        train, test = len(own.train.texts), len(own.test.texts)
        clients = f", of {len(own.clients)} clients" if own.clients else ""
        sizes = f"{train:,} training texts{clients}, and {test:,} test texts"
        if own.train.answers is None:
            return (f"{sizes}, of {len(own.train.classes)} classes",)
        form = "the chat template of the tokenizer" if chat else "each prompt, a line break and its answer"
        other = "; --template plain writes them without it" if chat else ""
        return (f"{sizes}, written as {form}{other}",)


def _own(data: str, columns: Columns, seed: int) -> OwnTexts:
    """Call a user's function, whose draws from torch use the seed."""
    from hessian.loss.factories import data_of  # brings much along that other runs do not need

    with seeded_draws(seed, torch.device("cpu")):
        return own_from(data_of(data), data, columns)


@lru_cache(maxsize=2)
def _read(data: str, columns: Columns, test: str | None, stamp: tuple[object, ...]) -> OwnTexts:
    """Read texts once while their files are unchanged."""
    return read_own(data, columns, test)


@lru_cache(maxsize=4)
def _tokens(
    texts: TextSet, place: Place, files: tuple[object, ...], max_length: int, truncate: bool, chat: bool
) -> TokenSet:
    return tokens(texts if chat else separate(texts), tokenizer_at(place, files), max_length, truncate, chat)


def is_own_texts(name: str, given: Mapping[str, Any]) -> bool:
    """Return whether a name of the user's data means texts: by its files, by the model, or by a named column."""
    if is_text_data(name) or any(given.get(column) is not None for column in COLUMNS):
        return True
    return str(given.get("model") or "").startswith(PREFIX)
