"""A language model as a function of its weights, with losses for classification or for the tokens of answers.

Inputs are one tensor of tokens, with -1 where there is padding, so a batch is as wide as its longest text. Every
copy of the model shares its weights: they are in memory once.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from algorithms.federation import FederationError
from algorithms.layers import Factorable, factorable, substitute
from algorithms.weights import Weight
from runs.network_problem import NetworkClient, NetworkClients, NetworkProblem
from runs.networks.answers import Answers
from runs.networks.language_model import Task, has_dropout
from runs.networks.network_function import Batch, Labelled, count_parts, seeded_draws
from runs.networks.peft_format import Update
from runs.networks.turned_layer import turn_layers
from workloads.partition import Indices
from workloads.text_metrics import CLASS_METRICS, perplexity
from workloads.tokens import NO_LOSS, terms_of

PADDING = -1
"""Input where a text has no token."""
LOGITS = 2**26
"""At most so many are made at a time in evaluations of a causal model, where a text has so many as words are known."""


class Recomputed:
    """Layers that recompute their values for the gradient, at the weights of the call."""

    def __init__(self) -> None:
        self.current: tuple[Factorable, Mapping[str, Weight]] | None = None

    def __call__(self, function: Any, *inputs: Any, **_: Any) -> Any:
        """Return the layer's output."""
        current = self.current
        assert current is not None

        def again(*given: Any) -> Any:
            with substitute(*current):  # by then the call is over, and the module has its own weights
                return function(*given)

        return checkpoint(again, *inputs, use_reentrant=False)


@dataclass(frozen=True, eq=False)
class LanguageNetwork:
    """A model as a function of its weights; it replaces `runs.networks.network_function.Network`.

    Attributes:
        training: The model in training mode.
        testing: The same without drop-out.
        task: Task that its loss belongs to.
        padding: A token of the model's that fills the places without one.
        random: Whether it drops features at random in training mode.
        recomputed: Function that keeps no values for the gradient, if there is one.
        chooses: Whether the model can compute logits at chosen positions only.
        outputs: Numbers in the model's output for a sample, or for one of its places.
        metrics: Names of further metrics of predicted classes, among `workloads.text_metrics.CLASS_METRICS`.
        answers: Metrics of a causal model's answers.
        autocast: Type in which layers compute, if it is not that of the weights; see `torch.autocast`.
    """

    statistics: ClassVar[frozenset[str]] = frozenset()
    preparation: ClassVar[None] = None
    joint: ClassVar[bool] = False

    training: Factorable
    testing: Factorable
    task: Task
    padding: int
    random: bool
    recomputed: Recomputed | None = None
    chooses: bool = False
    outputs: int = 1
    metrics: tuple[str, ...] = ()
    answers: Answers | None = None
    autocast: torch.dtype | None = None

    def loss_and_statistics(
        self, w: Mapping[str, Weight], data: Labelled, batch: Batch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the mean loss of samples or of answer tokens, with drop-out if the batch has noise."""
        module = self.testing
        drawn: AbstractContextManager[None] = nullcontext()
        if batch.noise is not None:
            module, drawn = self.training, seeded_draws(batch.noise, data.x.device)
        elif self.recomputed is not None and not self.random:
            module = self.training  # layers are computed again in training mode alone
        with drawn:
            total, terms, _ = self._summed(module, w, data.x[batch.samples], data.y[batch.samples])
        return total / terms, {}

    @torch.no_grad()
    def test(self, w: Mapping[str, Weight], data: Labelled, rows: int) -> dict[str, float]:
        """Return the mean loss over a split without drop-out, in batches of ``rows`` samples of similar length.

        Add the accuracy and the further metrics of a classification, or the perplexity of the answers.
        """
        order = (data.x != PADDING).sum(1).argsort()
        loss, terms, predicted = 0.0, 0, torch.empty(len(data.x), dtype=torch.int64)
        for part in order.split(max(1, min(rows, LOGITS // (data.x.shape[1] * self.outputs)))):
            total, count, classes = self._summed(self.testing, w, data.x[part], data.y[part])
            loss, terms = loss + float(total), terms + int(count)
            if classes is not None:
                predicted[part.cpu()] = classes.cpu()
        mean = loss / terms
        if self.task == "causal":
            further = {} if self.answers is None else self.answers.test(self, w, data)
            return {"loss": mean, "perplexity": perplexity(mean), **further}
        labels = data.y.cpu()
        further = {name: CLASS_METRICS[name](predicted.numpy(), labels.numpy()) for name in self.metrics}
        return {"loss": mean, "accuracy": float((predicted == labels).sum()) / terms, **further}

    def _summed(
        self, module: Factorable, w: Mapping[str, Weight], x: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor | int, Tensor | None]:
        """Return the sum of losses, the number of its terms, and the predicted classes of a classification."""
        width = int((x != PADDING).any(0).sum())
        x = x[:, :width]
        if self.task == "classification":
            logits = self.logits(module, w, x).float()
            return cross_entropy(logits, y, reduction="sum"), len(y), logits.detach().argmax(1)
        targets = y[:, 1:width]
        places = (targets != NO_LOSS).any(0).nonzero()[:, 0]
        targets = targets[:, places]
        logits = self.logits(module, w, x, places).float()
        total = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_LOSS, reduction="sum")
        return total, (targets != NO_LOSS).sum(), None

    def logits(self, module: Factorable, w: Mapping[str, Weight], x: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the model's output for tokens (n, T): logits (n, classes), or (n, places, vocabulary)."""
        real = x != PADDING
        named: dict[str, Any] = {"input_ids": x.where(real, self.padding), "attention_mask": real.to(torch.int64)}
        if places is not None:
            named |= {"use_cache": False, **({"logits_to_keep": places} if self.chooses else {})}
        with self.substituted(w, module) as model:
            logits: Tensor = model(**named).logits
        return logits if places is None or self.chooses else logits[:, places]

    @contextmanager
    def substituted(self, w: Mapping[str, Weight], module: Factorable | None = None) -> Iterator[nn.Module]:
        """Return the model at some weights, by default the one without drop-out, for calls within the context."""
        module = module or self.testing
        # A head is trained in single precision, while the frozen weights may have half.
        dtype, device = ((one := next(module.module.parameters())).dtype, one.device)
        w = {name: value.to(dtype) if isinstance(value, Tensor) else value for name, value in w.items()}
        cast: AbstractContextManager[Any] = nullcontext()
        if self.autocast is not None:
            cast = torch.autocast(device.type, self.autocast)
        if self.recomputed is not None:
            self.recomputed.current = (module, w)
        try:
            with substitute(module, w), cast:
                yield module.module
        finally:
            if self.recomputed is not None:
                self.recomputed.current = None


def network_of(
    module: nn.Module, task: Task, trained: Sequence[str], gradient_checkpointing: bool = False, unused: int = 0
) -> LanguageNetwork:
    """Return a model as a function of its trained weights.

    Args:
        module: A model of transformers; it is neither changed nor copied, but for its structure.
        task: Task that its loss belongs to.
        trained: Names of the parameters that calls give; all others stay as they are.
        gradient_checkpointing: Recompute layers' values for the gradient instead of keeping them, as is also done
            where the model has this switched on.
        unused: A token that the texts do not have, for padding, where the model names none for that.

    Raises:
        FederationError: The model's layers cannot be computed again.
    """
    names, twins = frozenset(trained), []
    memo: dict[int, Any] = {id(buffer): buffer for buffer in module.buffers()}
    for name, parameter in module.named_parameters():
        memo[id(parameter)] = nn.Parameter(parameter.detach(), requires_grad=name in names)
    for training in (True, False):
        twins.append(copy.deepcopy(module, dict(memo)).train(training))
        turn_layers(twins[-1])
    padding = getattr(module.config, "pad_token_id", None)
    if not isinstance(padding, int) or padding < 0:
        padding = unused
        for twin in twins:  # a classifier that reads a text's last token looks for where padding begins
            twin.config.pad_token_id = unused  # type: ignore[union-attr]
    # A model that does so already would recompute at its own weights, not at those of the call.
    recomputed = Recomputed() if gradient_checkpointing or _recomputes(module) else None
    if recomputed is not None:
        begin: Any = getattr(twins[0], "_set_gradient_checkpointing", None)
        try:
            begin(enable=True, gradient_checkpointing_func=recomputed)
            twins[0].config.use_cache = False  # type: ignore[union-attr]  # else transformers warns that it does so
        except (ValueError, TypeError) as error:
            raise FederationError(
                f"{type(module).__name__} cannot be checkpointed; leave gradient_checkpointing out"
            ) from error
    return LanguageNetwork(
        training=factorable(twins[0], "*"),
        testing=factorable(twins[1], "*"),
        task=task,
        padding=padding,
        random=has_dropout(module),
        recomputed=recomputed,
        chooses="logits_to_keep" in inspect.signature(module.forward).parameters,
        outputs=vocabulary_of(module) if task == "causal" else 1,
    )


def _recomputes(module: nn.Module) -> bool:
    """Return whether a model has gradient checkpointing switched on, under either name of transformers."""
    found = getattr(module, "is_activation_checkpointing", None)
    return bool(getattr(module, "is_gradient_checkpointing", False) if found is None else found)


def vocabulary_of(module: nn.Module) -> int:
    """Return the size of a model's vocabulary."""
    return int(module.get_input_embeddings().num_embeddings)  # type: ignore[operator]


@dataclass(frozen=True, eq=False)
class LanguageClient(NetworkClient):
    """A client whose samples are texts; a loss by token is averaged over the tokens of all samples.

    Attributes:
        micro_batch: Samples of a batch whose gradients are computed at a time, and added up; none: all.
    """

    network: Any
    micro_batch: int | None = None

    def passes(self, together: bool) -> Sequence[tuple[float, Any]]:
        """Return all samples in parts of at most `rows`, with their weights in the mean."""
        places = torch.arange(self.samples, device=self.indices.device)
        return self._shared(places.tensor_split(count_parts(self.samples, self.rows)))

    def parts(self, batch: Batch) -> Sequence[tuple[float, Batch]]:
        """Return a batch in parts of at most `micro_batch` samples, with their weights in its mean."""
        if self.micro_batch is None or len(batch.samples) <= self.micro_batch:
            return [(1.0, batch)]
        parts = batch.samples.split(self.micro_batch)
        return [
            (share, Batch(part, noise=None if batch.noise is None else batch.noise ^ number))
            for number, (share, part) in enumerate(self._shared(parts))
        ]

    def tensors(self) -> Mapping[str, Tensor]:
        """Refuse: texts of several lengths cannot be stacked.

        Raises:
            FederationError: Always.
        """
        raise FederationError("language models train one client at a time: choose --executor sequential")

    def _shared(self, parts: Sequence[Tensor]) -> list[tuple[float, Tensor]]:
        terms = [int(terms_of(self.data.y[self.indices[part]]).sum()) for part in parts]
        return [(own / sum(terms), part) for own, part in zip(terms, parts, strict=True)]


@dataclass(frozen=True, eq=False)
class LanguageClients(NetworkClients):
    """Clients that are built on demand.

    Attributes:
        micro_batch: Samples of a batch at a time.
    """

    network: Any
    micro_batch: int | None = None

    def _client(self, indices: Indices) -> LanguageClient:
        places = torch.from_numpy(indices).to(self.data.x.device)
        return LanguageClient(self.network, self.data, places, self.rows, self.micro_batch)


@dataclass(frozen=True, eq=False)
class LanguageProblem(NetworkProblem):
    """A federated problem of a language model: clients with texts, and the evaluation of weights.

    Attributes:
        shares: Weights of the clients in averages; none: the numbers of their samples.
        known: Tensors that clients have before the first round: the pretrained weights.
        begun: Updates of weights by an adapter of PEFT from which factors start; none: fresh ones.
        notes: Decisions about data and layers that nobody named, to be printed before the first round.
        classes: Names of the classes in the order of the model's logits; none for a causal model.
    """

    takes_values: ClassVar[bool] = True

    shares: tuple[float, ...] | None = None
    known: tuple[Tensor, ...] = ()
    begun: Mapping[str, Update] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def width_of(self, batch: int) -> int:
        """Return the mean number of tokens of the longest text in a random batch."""
        lengths = (self.clients.data.x != PADDING).sum(1)
        none_longer = (lengths.bincount().cumsum(0) / len(lengths)) ** batch
        return round(float((1 - none_longer).sum()))

    def of_width(self, width: int | None) -> LanguageProblem:
        """Return the problem with all training texts of one length, to measure the cost of a step.

        Every place of theirs counts as an answer to a causal model, which makes its last layer look dearer than it is.
        """
        if width is None:
            return self
        x, y = self.clients.data
        even = x[:, :1].clamp(min=0).expand(-1, width)
        return replace(self, clients=replace(self.clients, data=Labelled(even, even if y.ndim == 2 else y)))
