"""Texts as tokens: padded tensors for classification, or for a causal loss on answers only.

The tokenizer is given by the caller and only called, so nothing here depends on the library that it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workloads.data.idx import DataError
from workloads.partition import Even, Files, Partition, Parts
from workloads.texts import ByClient, BySource, TextSet

NO_LOSS = -100
"""The label of a token that the loss leaves out, as torch's cross entropy has it by default."""


class Tokenizer(Protocol):
    """The interface of a transformers tokenizer that we use."""

    pad_token_id: int | None
    eos_token_id: int | None

    def __call__(self, text: list[str], **options: Any) -> Any:
        """Return the tokens of each text, under `input_ids`."""
        ...


@dataclass(frozen=True, eq=False)
class TokenSet:
    """Samples as tokens.

    Attributes:
        name: The registry name of the data set.
        split: `train` or `test`.
        input_ids: Tokens, padded on the right, int64 (n, T).
        attention_mask: 1 for tokens and 0 for padding, int64 (n, T).
        labels: The class of each sample, int64 (n,), or of a causal task each token itself where it belongs to the
            answer and -100 elsewhere, int64 (n, T). They are not shifted: token t is predicted from those before it.
        classes: Names of the classes; of a causal task none.
        origins: Where each sample comes from, int64 (n,), counted in `origin_names`.
        origin_names: Names of the sources.
        kept: Indices of these samples in the data set, increasing, int64 (n,).
        truncated: Number of samples that were cut to the length.
        dropped: Number of samples that were left out, since nothing of their answers lay within the length.
        count: Number of samples in the split of the data set; default: up to the last that is kept.

    Raises:
        DataError: Shapes that do not fit, or a sample without a token.
    """

    name: str
    split: str
    input_ids: Tensor
    attention_mask: Tensor
    labels: Tensor
    classes: tuple[str, ...]
    origins: NDArray[np.int64]
    origin_names: tuple[str, ...]
    kept: NDArray[np.int64]
    truncated: int = 0
    dropped: int = 0
    count: int | None = None

    def __post_init__(self) -> None:
        shape = self.input_ids.shape
        wanted = shape if self.causal else shape[:1]
        if (
            len(shape) != 2
            or self.attention_mask.shape != shape
            or self.labels.shape != wanted
            or len(self.origins) != len(self.kept)
            or len(self.kept) != shape[0]
        ):
            raise DataError(
                f"expected input_ids and attention_mask (n, T) and labels {'(n, T)' if self.causal else '(n,)'}, got "
                f"{tuple(shape)}, {tuple(self.attention_mask.shape)} and {tuple(self.labels.shape)}"
            )
        if shape[0] == 0 or not bool(self.attention_mask.any(dim=1).all()):
            raise DataError(f"{self.name}, {self.split}: a sample needs at least one token")

    @property
    def causal(self) -> bool:
        """Whether the task is to continue the text."""
        return not self.classes

    @property
    def lengths(self) -> Tensor:
        """Tokens of each sample without padding, int64 (n,)."""
        return self.attention_mask.sum(dim=1)

    @property
    def predicted(self) -> Tensor:
        """Number of loss terms of each sample; see `terms_of`."""
        return terms_of(self.labels)

    @property
    def total(self) -> int:
        """Number of samples in the split of the data set, if known."""
        return int(self.kept[-1]) + 1 if self.count is None else self.count

    def divide(self, partition: Partition, clients: int, seed: int) -> Parts:
        """Divide the samples among the clients: by source if the partition is `BySource` or `ByClient`, else by class.

        The indices of `Files` count the samples of the data set, as `kept` does.

        Raises:
            PartitionError: The samples cannot be divided as asked.
            DataError: A division by class of texts that have no classes.
        """
        if isinstance(partition, BySource | ByClient):
            return partition.parts(self.origins, clients, seed)
        if isinstance(partition, Files):
            return partition.among(partition.parts(np.zeros(self.total, dtype=np.int64), clients, seed), self.kept)
        if not self.causal:
            return partition.parts(self.labels.numpy(), clients, seed)
        if not isinstance(partition, Even):
            raise DataError(
                f"{type(partition).__name__} divides by class, and these texts have none; choose even, by-source or "
                "files"
            )
        return partition.parts(np.zeros(len(self.labels), dtype=np.int64), clients, seed)


def terms_of(labels: Tensor) -> Tensor:
    """Return the number of loss terms of each sample, int64 (n,): 1, or its answer tokens (never the first token)."""
    return torch.ones(len(labels), dtype=torch.int64) if labels.ndim == 1 else (labels[:, 1:] != NO_LOSS).sum(dim=1)


def tokens(texts: TextSet, tokenizer: Tokenizer, length: int, truncate: bool = False, chat: bool = False) -> TokenSet:
    """Tokenise the samples of a data set.

    A classified text has the tokenizer's own special tokens. An instruction is followed by its answer and the token
    that ends it, and only these two have labels. In a chat the tokenizer's template surrounds both.

    Args:
        texts: The samples.
        tokenizer: Called with lists of texts; names the tokens that pad and end a text.
        length: Most tokens of a sample, at least 2; what the model has positions for.
        truncate: Cut longer samples, and count them; an answer is cut at its end.
        chat: Write instructions and answers by the tokenizer's chat template.

    Raises:
        DataError: Samples longer than `length` where they may not be cut, a tokenizer without a token to pad or to
            end with, no sample that is left, or a chat template that is missing or does not suit.
    """
    if length < 2:
        raise DataError(f"the length must be at least 2 tokens, got {length}")
    causal = texts.answers is not None
    if chat and not causal:
        raise DataError(f"{texts.name} are for classification, and a chat template is for answers; leave it out")
    tokenise = _tokenise_chats if chat else _tokenise_answers
    rows, begins = tokenise(texts, tokenizer) if causal else (_tokenise_classes(texts, tokenizer), None)
    lengths = np.array([len(row) for row in rows])
    longer = np.flatnonzero(lengths > length)
    if len(longer) and not truncate:
        raise DataError(
            f"{texts.name}, {texts.split}: {len(longer)} of {len(rows)} samples have more than {length} tokens (the "
            f"longest {lengths.max()}): cut them with --truncate, or raise --max-length, if the model allows it"
        )
    if causal:
        rows = [row[:length] for row in rows]
    else:
        for place, row in zip(longer, _ids(tokenizer, [texts.texts[i] for i in longer], length), strict=True):
            rows[place] = row
    # Of a prompt that fills the length nothing is left to learn from; the first token of all is never predicted.
    kept = (
        np.arange(len(rows)) if begins is None else np.flatnonzero(np.maximum(begins, 1) < np.minimum(lengths, length))
    )
    if len(kept) == 0:
        raise DataError(
            f"{texts.name}, {texts.split}: no answer begins within {length} tokens; choose a greater length"
        )
    input_ids, mask = _pad([rows[i] for i in kept], _padding(tokenizer))
    if begins is None:
        labels = torch.from_numpy(texts.labels[kept])
    else:
        answer = torch.arange(input_ids.shape[1]) >= torch.from_numpy(begins[kept])[:, None]
        labels = torch.where(answer & (mask == 1), input_ids, NO_LOSS)
    return TokenSet(
        name=texts.name,
        split=texts.split,
        input_ids=input_ids,
        attention_mask=mask,
        labels=labels,
        classes=texts.classes,
        origins=texts.origins[kept],
        origin_names=texts.origin_names,
        kept=kept.astype(np.int64),
        truncated=int((lengths[kept] > length).sum()),
        dropped=len(rows) - len(kept),
        count=len(rows),
    )


def separate(texts: TextSet) -> TextSet:
    """Return instructions with a line break after each prompt that does not end in white space; others unchanged."""
    if texts.answers is None:
        return texts
    return replace(texts, texts=tuple(text if text[-1:].strip() == "" else f"{text}\n" for text in texts.texts))


def _tokenise_classes(texts: TextSet, tokenizer: Tokenizer) -> list[list[int]]:
    return _ids(tokenizer, list(texts.texts))


def _tokenise_answers(texts: TextSet, tokenizer: Tokenizer) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return prompt and answer of each sample in one row, and the start of its answer."""
    if tokenizer.eos_token_id is None:
        raise DataError(
            "the tokenizer has no token that ends an answer (eos_token); name a causal model, as in --model hf:smollm2"
        )
    prompts = _ids(tokenizer, list(texts.texts))
    answers = _ids(tokenizer, list(texts.answers or ()), special=False)
    rows = [[*prompt, *answer, tokenizer.eos_token_id] for prompt, answer in zip(prompts, answers, strict=True)]
    return rows, np.array([len(prompt) for prompt in prompts], dtype=np.int64)


def _tokenise_chats(texts: TextSet, tokenizer: Any) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return the chat of each sample in one row, and the start of its answer.

    Raises:
        DataError: There is no template, or it does not write a chat as its prompt and then the answer.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise DataError("the tokenizer has no chat template; choose --template plain")
    before, after = [], []
    for prompt, answer in zip(texts.texts, texts.answers or (), strict=True):
        asked = [{"role": "user", "content": prompt}]
        try:
            begin = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
            whole = tokenizer.apply_chat_template(
                [*asked, {"role": "assistant", "content": answer}], tokenize=False, add_generation_prompt=False
            )
        except Exception as error:  # any error that a template raises
            raise DataError(
                f"the tokenizer's chat template cannot write {texts.name} ({' '.join(str(error).split())[:100]}); "
                "choose --template plain"
            ) from error
        if not whole.startswith(begin) or answer.strip() not in whole[len(begin) :]:
            raise DataError(
                "the tokenizer's chat template does not write the answer after the prompt for an answer; choose "
                "--template plain"
            )
        before.append(begin)
        after.append(whole[len(begin) :].rstrip())  # templates end a turn by a line break, which nobody generates
    special = {*getattr(tokenizer, "all_special_ids", ())}
    prompts, answers = (_ids(tokenizer, part, special=False) for part in (before, after))
    if not all(row and row[-1] in special for row in answers) and tokenizer.eos_token_id is None:
        raise DataError("neither the tokenizer nor its chat template has a token that ends an answer (eos_token)")
    ended = [row if row and row[-1] in special else [*row, tokenizer.eos_token_id] for row in answers]
    rows = [[*prompt, *answer] for prompt, answer in zip(prompts, ended, strict=True)]
    return rows, np.array([len(prompt) for prompt in prompts], dtype=np.int64)


def _ids(tokenizer: Tokenizer, texts: list[str], length: int | None = None, special: bool = True) -> list[list[int]]:
    if not texts:
        return []
    cut = {} if length is None else {"truncation": True, "max_length": length}
    found = tokenizer(texts, add_special_tokens=special, padding=False, verbose=False, **cut)
    return [list(map(int, row)) for row in found["input_ids"]]


def _padding(tokenizer: Tokenizer) -> int:
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    if pad is None:
        raise DataError("the tokenizer has no token to pad with (pad_token); set tokenizer.pad_token")
    return pad


def _pad(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    widest = max(map(len, rows))
    mask = torch.tensor([len(row) for row in rows])[:, None] > torch.arange(widest)
    ids = torch.full((len(rows), widest), pad, dtype=torch.int64)
    ids[mask] = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
    return ids, mask.to(torch.int64)
