"""A federated problem of texts and a transformers language model, from plain settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, replace
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import nn

from algorithms.federation import FederationError
from runs.format import printable
from runs.index import digest_of as digest_of_names
from runs.language_problem import ClientWeights, language_problem
from runs.networks.answers import answers_of
from runs.networks.image_federation import digest_of, parts_from_files, torch_device
from runs.networks.language_model import (
    DTYPES,
    PREFIX,
    Place,
    Task,
    base_of,
    classes_in,
    configuration_of,
    locate,
    model_of,
    tokenizer_of,
    usual_layers,
)
from runs.networks.language_network import LanguageProblem
from runs.networks.peft_format import base_named_in, classes_of
from runs.settings import CONFIGURATION, EARLIER_NAMES, RunError, at_least
from workloads.data.file_sets import find
from workloads.data.idx import DataError
from workloads.messages import shorten
from workloads.partition import Even, Files, Indices, Partition, hold_out, hold_out_each
from workloads.texts import TEXTS, ByClient, load_texts
from workloads.tokens import TokenSet, tokens


class TextPartition(Partition, Protocol):
    """A partition of texts; unlike other partitions it may use their sources."""


@dataclass(frozen=True)
class LanguageFederation:
    """A language model trained by clients that each have a part of some texts.

    Attributes:
        data: Name of a data set of texts.
        model: hf:minilm, hf:smollm2, hf:FOLDER, hf:FILE.gguf, or hf:OWNER/NAME in your Hugging Face cache.
        layers: Patterns of the trained layers; default: all weights are trained.
        task: Task of the data: classification, or causal (continue instructions with answers).
        head: Patterns for the names of further layers to train; default: the head of a classifier.
        clients: Number of clients.
        partition: How the texts are divided among the clients.
        max_length: Maximum number of tokens of a text.
        truncate: Cut texts that are too long; without it, they are an error.
        dtype: Type of the frozen weights.
        dropout: Drop-out rate; default: the model's own rates.
        client_weights: Weight of clients in averages: their number of `samples`, or the number of `tokens` in their
            losses.
        micro_batch: Samples per micro-batch; gradients are summed over them; default: the whole batch.
        gradient_checkpointing: Recompute activations for the gradient instead of storing them, which takes less memory
            and more time.
        samples: Training samples used, drawn at random; default: all.
        test_samples: Test samples used, drawn at random, the same for every seed; default: all.
        held_out: Training samples kept for validation.
        training_loss: Number of training samples on which to evaluate the loss, drawn at random; default: none.
        own_share: Share of each client's samples used as its own test set, for personal models; 0: the whole test set.
        eval_batch: Samples per batch in evaluations and in full gradients.
        start_from: Folder of a PEFT adapter whose factors and head are the starting point. Layers and rank must be
            those of the adapter; if its layers differ in rank, name one of these ranks, and each layer keeps its own.
        allow_pickle: Allow pickled weights, which may run code, if the model has no other weights.
        template: How an instruction is written: plain, or by the chat template of the tokenizer; default: plain, but by
            the chat template for your own texts if the tokenizer has one.
        metrics: Further metrics, between commas. Of a classification: f1 (the mean over classes), mcc. Of instructions:
            exact_match of generated answers, choice (whether a prompt's own answer is the likeliest of all answers),
            and module:function, a function of yours of the generated and the expected answers.
        autocast: Type in which layers compute, such as bfloat16 for less memory; the weights keep theirs; default: the
            type of the weights.
    """

    earlier_names: ClassVar[Mapping[str, str]] = EARLIER_NAMES
    example: ClassVar[str] = (
        "rankproof train rolora --data rated-sentences --samples 600 --test-samples 400 --max-length 48 --truncate "
        "--learning-rate 0.003 --rounds 4 (takes a minute or two on two idle cores; in a round a client receives and "
        "sends 153,616 bytes each)"
    )
    """Command for the help of a problem of this kind, with its time and its bytes."""

    data: str = "rated-sentences"
    model: str = f"{PREFIX}minilm"
    layers: str | None = None
    task: Task | None = None
    head: str | None = None
    clients: int = 3
    partition: TextPartition = Even()  # noqa: RUF009 - a frozen value
    max_length: int = 128
    truncate: bool = False
    dtype: Literal["float32", "bfloat16"] = "float32"
    dropout: float | None = None
    client_weights: ClientWeights = "samples"
    micro_batch: int | None = None
    gradient_checkpointing: bool = False
    samples: int | None = None
    test_samples: int | None = None
    held_out: int = 0
    training_loss: int = 0
    own_share: float = 0.0
    eval_batch: int = 64
    start_from: str | None = None
    allow_pickle: bool = False
    template: Literal["plain", "chat"] | None = None
    metrics: str | None = None
    autocast: Literal["bfloat16"] | None = None

    def __post_init__(self) -> None:
        at_least(
            1,
            clients=self.clients,
            eval_batch=self.eval_batch,
            micro_batch=self.micro_batch,
            samples=self.samples,
            test_samples=self.test_samples,
            max_length=self.max_length,
        )
        at_least(0, held_out=self.held_out, training_loss=self.training_loss)
        if self.dropout is not None and not 0.0 <= self.dropout < 1.0:
            raise RunError(f"dropout must be from 0 to below 1, got {self.dropout}")
        if not self.model.startswith(PREFIX):
            raise RunError(f"{self.data} are texts; name a language model, such as --model {PREFIX}minilm")

    @classmethod
    def suggest(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Suggest AdamW, local epochs unless steps are given, and factors as in PEFT, on the architecture's layers.

        Without a suggestion for an architecture the layers must be named.
        """
        layers: Any = None
        if given.get("layers") is None:
            with suppress(RunError):  # a model that is not here is refused when it is built
                layers = usual_layers(str(given.get("model", cls.model))) or MISSING
        epochs = {} if given.get("steps") is not None else {"epochs": 1}
        return {
            **epochs,
            "batch": 16,
            "learning_rate": 1e-3,
            "optimiser": "adamw",
            "rank": 4,
            "a_at": "inputs",
            "precision": "float32",
            "layers": layers,
        }

    def build(self, seed: int, device: str = "cpu", root: str | None = None) -> LanguageProblem:
        """Build the problem.

        Args:
            seed: Seed of a new head, of the samples and of their division.
            device: Torch device.
            root: Where data sets lie.

        Raises:
            RunError: A model that is not here, or settings that do not go together.
            DataError: Data that are not there, or cannot be divided.
            FederationError: Model and data do not fit.
        """
        try:
            return self._build(seed, torch_device(device), root)
        except (FederationError, DataError, RunError):
            raise
        except (ValueError, RuntimeError) as error:
            raise RunError(" ".join(str(error).split())[:300]) from error

    def _build(self, seed: int, device: torch.device, root: str | None) -> LanguageProblem:
        place = locate(self.model)
        files = _stamp(place)
        train, test, notes = self._tokenised(place, files, root, seed)
        task: Task = "causal" if train.causal else "classification"
        if self.task not in (None, task):
            raise RunError(f"{self.data} are for {task}; name another data set, or leave --task out")
        cut = " and ".join(
            f"{texts.truncated} of {len(texts.kept)} {split}" for split, texts in (("training", train), ("test", test))
        )
        module = _model(
            place,
            task,
            len(train.classes),
            self.dtype,
            self.dropout,
            0 if train.causal else seed,
            self.allow_pickle,
            str(device),
            files,
        )
        read = len(train.kept), len(test.kept)
        left, kept = hold_out(len(train.kept), self.held_out, seed)
        evaluated = {"validation": part_of(train, kept)} if len(kept) else {}
        train = part_of(train, left[self._drawn("samples", len(left), seed)])
        test = part_of(test, self._drawn("test_samples", len(test.kept), 0))
        notes = (*notes, *self._drawn_note(*read, len(train.kept), len(test.kept)))
        given, own = {"cut": cut}, None
        if config := configuration_of(place):
            given[CONFIGURATION] = digest_of_names(config)
        if isinstance(self.partition, Files):
            parts, given["partition"] = parts_from_files(self.partition, train.total, train.kept, self.clients)
        else:
            parts = train.divide(self.partition, self.clients, seed)
            if isinstance(self.partition, ByClient):
                given["partition"] = digest_of(*map(torch.from_numpy, (parts.order, parts.bounds)))
        if self.own_share:
            parts, own = hold_out_each(parts, self.own_share, seed)
        if self.training_loss:
            trained = np.sort(parts.order)
            evaluated["training"] = part_of(train, trained[self._drawn("training_loss", len(trained), seed)])
        metrics = [] if self.metrics is None else [name.strip() for name in self.metrics.split(",")]
        made = language_problem(
            module,
            train,
            parts,
            test,
            layers=self.layers,
            head=self.head,
            client_weights=self.client_weights,
            micro_batch=self.micro_batch,
            gradient_checkpointing=self.gradient_checkpointing,
            evaluated=evaluated,
            own=own,
            eval_batch=self.eval_batch,
            adapter=None if self.start_from is None else Path(self.start_from),
            name=f"{self.model} on {self.data}",
            metrics=() if train.causal else metrics,
            answers=answers_of(metrics, tokenizer_at(place, files)) if metrics and train.causal else None,
            autocast=None if self.autocast is None else DTYPES[self.autocast],
        )
        notes = (*notes, *self._base_note(), *self._classes_note(module, train.classes), *self._layers_note())
        return replace(made, given={**made.given, **given}, notes=notes)

    def _tokenised(
        self, place: Place, files: tuple[object, ...], root: str | None, seed: int
    ) -> tuple[TokenSet, TokenSet, tuple[str, ...]]:
        """Return training and test samples as tokens, and what was decided about them, in words."""
        stamp, chat = _texts_stamp(self.data, root), self.template == "chat"
        train, test = (
            _tokens(self.data, root, split, place, files, self.max_length, self.truncate, chat, stamp)
            for split in ("train", "test")
        )
        unused = train.causal and self.template is None and has_template(tokenizer_at(place, files))
        note = "the tokenizer has a chat template, which is not used; --template chat uses it, and --template plain not"
        return train, test, (note,) if unused else ()

    def _drawn_note(self, train: int, test: int, trained: int, tested: int) -> tuple[str, ...]:
        """Describe how many of the texts are trained on and tested, if options leave some out."""
        asked = {"--samples": self.samples, "--test-samples": self.test_samples, "--held-out": self.held_out or None}
        named = [flag for flag, value in asked.items() if value is not None]
        if not named:
            return ()
        used = f"{trained:,} of {train:,} training texts and {tested:,} of {test:,} test texts are used"
        return (f"{used}, because of {' and '.join(named)}",)

    def _base_note(self) -> tuple[str, ...]:
        """Name the base model of the adapter at the start if it has another name than the model of the run."""
        named = "" if self.start_from is None else base_named_in(Path(self.start_from))
        if not named or _last_name(named) == _last_name(own := base_of(self.model)):
            return ()
        return (
            f"the adapter in {self.start_from} names the base model {shorten(printable(named), 200)}, but this run "
            f"uses {own}: it fits only if both are the same model",
        )

    def _classes_note(self, module: nn.Module, classes: Sequence[str]) -> tuple[str, ...]:
        """Name a class that the head at the start has in another place than the data."""
        named = classes_in(module) if self.start_from is None else classes_of(Path(self.start_from))
        alike = {name.casefold(): place for place, name in enumerate(named)}
        exact = {name: place for place, name in enumerate(named)}
        for place, name in enumerate(classes):
            other = exact.get(name, alike.get(name.casefold(), place))
            if other != place:
                head = self.model if self.start_from is None else self.start_from
                return (
                    f"the head of {head} has {name!r} as class {other}, and the data as class {place}: until it is "
                    "trained, it takes one class for another; rename the classes so that they have the head's order",
                )
        return ()

    def _layers_note(self) -> tuple[str, ...]:
        """Name the layers if they are the default for the architecture."""
        with suppress(RunError):
            if self.layers is not None and self.layers == usual_layers(self.model):
                return (f"layers with adapters: {self.layers}, the default for the model; --layers names others",)
        return ()

    def _drawn(self, name: str, count: int, seed: int) -> Indices:
        """Draw as many samples as a setting says, in increasing order."""
        asked = getattr(self, name)
        if asked is not None and asked > count:
            raise RunError(f"{name} must be from 1 to {count}, got {asked}")
        return hold_out(count, count - (asked or count), seed)[0]


def part_of(texts: TokenSet, indices: Indices) -> TokenSet:
    """Return some samples, cut to the width of the longest."""
    which = torch.from_numpy(indices)
    width = int(texts.lengths[which].max())
    labels = texts.labels[which]
    return replace(
        texts,
        input_ids=texts.input_ids[which, :width],
        attention_mask=texts.attention_mask[which, :width],
        labels=labels[:, :width] if texts.causal else labels,
        origins=texts.origins[indices],
        kept=texts.kept[indices],
    )


@lru_cache(maxsize=1)
def _model(
    place: Place,
    task: Task,
    classes: int,
    dtype: str,
    dropout: float | None,
    seed: int,
    allow_pickle: bool,
    device: str,
    files: tuple[object, ...],
) -> nn.Module:
    """Load the model; the cache serves later runs while the files are unchanged, and nobody changes the model."""
    return model_of(place, task, classes, dtype=dtype, dropout=dropout, seed=seed, allow_pickle=allow_pickle).to(device)


@lru_cache(maxsize=4)
def _tokens(
    data: str,
    root: str | None,
    split: str,
    place: Place,
    files: tuple[object, ...],
    max_length: int,
    truncate: bool,
    chat: bool,
    texts: tuple[object, ...],
) -> TokenSet:
    """Tokenise a split, with a cache as for the model."""
    return tokens(load_texts(data, root, split), tokenizer_at(place, files), max_length, truncate, chat)


@lru_cache(maxsize=2)
def tokenizer_at(place: Place, files: tuple[object, ...]) -> Any:
    """Load a tokenizer, with a cache as for the model."""
    return tokenizer_of(place)


def has_template(tokenizer: Any) -> bool:
    """Return whether a tokenizer has a chat template."""
    return bool(getattr(tokenizer, "chat_template", None))


def _stamp(place: Place) -> tuple[object, ...]:
    """Return a value that changes with the files of a model."""
    files = [place.folder / place.gguf] if place.gguf else sorted(place.folder.iterdir())
    return tuple((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file())


def _texts_stamp(name: str, root: str | None) -> tuple[object, ...]:
    folder = find(TEXTS[name], root)
    return () if folder is None else _stamp(Place(folder))


def _last_name(model: str) -> str:
    r"""Return the name of a model without its owner or its folder, in small letters.

    >>> _last_name("org/Bert"), _last_name(r"C:\models\bert"), _last_name("hub/models--org--bert/snapshots/86b5")
    ('bert', 'bert', 'bert')
    """
    cached = re.search(r"models--(?:[^/\\]+--)?([^/\\]+)[/\\]snapshots[/\\]", model)
    return (cached[1] if cached else PureWindowsPath(Path(model).resolve()).name).casefold()
