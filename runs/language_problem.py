"""Federated training of a language model: a model, tokenised texts, and clients given by indices of texts.

`language_problem` checks model and texts once, at the door. What is trained are the layers that algorithms factorise,
and the head; all else is frozen, in memory once, and neither differentiated nor sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from algorithms.federation import FederationError, require_whole
from algorithms.kernels import layer_names
from algorithms.layers import Factorable
from algorithms.tree import Tree, wide
from runs.index import digest_of as digest_of_names
from runs.network_problem import indices_of, require_once, with_earlier_keywords
from runs.networks.answers import Answers
from runs.networks.image_federation import digest_of
from runs.networks.language_model import Task, drawn_in, head_of, positions, pretrained_in
from runs.networks.language_network import (
    PADDING,
    LanguageClients,
    LanguageNetwork,
    LanguageProblem,
    network_of,
    vocabulary_of,
)
from runs.networks.network_checks import is_alike
from runs.networks.network_function import Labelled, seeded_draws
from runs.networks.peft_format import Update, read_adapter
from runs.settings import ADAPTER, PRETRAINED
from workloads.partition import Indices, Parts
from workloads.text_metrics import CLASS_METRICS
from workloads.tokens import TokenSet

ClientWeights = Literal["samples", "tokens"]


@with_earlier_keywords(
    rows="eval_batch", weighed="client_weights", at_once="micro_batch", checkpointing="gradient_checkpointing"
)
def language_problem(
    module: nn.Module,
    train: TokenSet,
    parts: Parts | Sequence[Indices],
    test: TokenSet,
    *,
    layers: str | None,
    head: str | None = None,
    client_weights: ClientWeights = "samples",
    micro_batch: int | None = None,
    gradient_checkpointing: bool = False,
    adapter: Path | None = None,
    evaluated: Mapping[str, TokenSet] = MappingProxyType({}),
    own: Parts | Sequence[Indices] | None = None,
    eval_batch: int = 64,
    name: str = "language model",
    metrics: Sequence[str] = (),
    answers: Answers | None = None,
    autocast: torch.dtype | None = None,
) -> LanguageProblem:
    """Build a federated problem from a transformers language model and texts.

    Args:
        module: A model for sequence classification or causal language modelling, whose calls give ``logits``. It is
            not changed; its frozen weights are shared and not copied.
        train: The clients' samples, of the model's tokens.
        parts: Indices of each client's samples, each sample once.
        test: Samples for evaluation.
        layers: Patterns for the names of the layers that are trained, such as ``*.query, *.value``; none: all weights
            are.
        head: Patterns for the names of further layers to train; default: a classifier's head, and
            none of a causal model.
        client_weights: Weight of a client in averages: the number of its `samples`, or of the `tokens` in its losses.
        micro_batch: Samples per micro-batch; gradients are summed over them; default: the whole batch.
        gradient_checkpointing: Recompute activations for the gradient instead of storing them, which takes less memory
            and more time.
        adapter: Folder of an adapter of PEFT whose factors and head are the start.
        evaluated: Further samples to evaluate, by the name with which their numbers begin.
        own: Held-out samples of each client, for personal weights, among `train`, in nobody's part.
        eval_batch: Samples per batch in evaluations and in full gradients.
        name: Name of the problem.
        metrics: Names of further metrics of a classification: f1 (macro), mcc.
        answers: Further metrics of a causal model; see `runs.networks.answers.answers_of`.
        autocast: Type in which layers compute, such as bfloat16; default: that of the weights.

    Raises:
        FederationError: Model, texts and layers do not go together; the message says what and where.
        RunError: A head that the model lacks, or an adapter that is not the model's.
    """
    require_whole(1, eval_batch=eval_batch, **({} if micro_batch is None else {"micro_batch": micro_batch}))
    if client_weights not in ("samples", "tokens"):
        raise FederationError(f"client_weights must be samples or tokens, got {client_weights!r}")
    task: Task = "causal" if train.causal else "classification"
    splits = {"test": test, **evaluated}
    for split, texts in (("training", train), *splits.items()):
        _require_fit(module, split, texts, task)
    shapes = [(of, parameter.shape) for of, parameter in module.named_parameters()]
    chosen = tuple(of for of, _ in shapes) if layers is None else _layers(shapes, layers)
    beside = head_of(module, head) if head is not None or task == "classification" else ()
    trained = [of for of, _ in shapes if of in {*chosen, *beside}]
    if layers is not None:
        _require_apart(module, chosen, beside)
    device = next(module.parameters()).device
    data = _labelled(train, device)
    parts, own = indices_of("the clients' samples", parts, data), None if own is None else indices_of("own", own, data)
    if own is not None and (len(own) != len(parts) or not all(own.sizes)):
        raise FederationError("own must have held-out samples of every client")
    require_once(parts, own)

    every = [texts.input_ids[texts.attention_mask == 1] for texts in (train, *splits.values())]
    said = {*torch.cat(every).unique().tolist()}
    unused = next((token for token in range(vocabulary_of(module)) if token not in said), 0)
    unknown = [of for of in metrics if of not in CLASS_METRICS]
    if unknown or (metrics and task == "causal"):
        why = f"there is no metric {unknown[0]!r}" if unknown else "the metrics are those of a classification"
        raise FederationError(f"{why}; metrics takes {', '.join(CLASS_METRICS)}")
    if answers is not None and task != "causal":
        raise FederationError("answers are those of a causal model; leave them out of a classification")
    network = network_of(module, task, trained, gradient_checkpointing, unused)
    network = replace(network, metrics=tuple(metrics), answers=answers, autocast=autocast)
    if task == "causal":
        _require_causal(network.testing.module, train)
    weights = dict(network.testing.module.named_parameters())
    begun, whole = ({}, {}) if adapter is None else read_adapter(adapter, network.testing.module)
    frozen = sorted(set(whole) - set(beside))
    if frozen:
        raise FederationError(f"{adapter} stores {frozen[0]} whole, which would not be trained: name its layer in head")
    start = Tree(
        {
            of: whole.get(of, weights[of]).detach().to(wide(weights[of]) if of in beside else weights[of])
            for of in trained
        }
    )
    labelled = {split: _labelled(texts, device) for split, texts in splits.items()}
    for split, made in {"training": data, **labelled}.items():
        _require_separate(network, start, split, made.x)
    shares = None
    if client_weights == "tokens":
        terms = train.predicted.numpy()
        shares = tuple(float(terms[part].sum()) for part in (parts[k] for k in range(len(parts))))
    given = {
        "network": digest_of(*start.values(), *(part for update in begun.values() for part in update[1:])),
        "data": digest_of(*(tensor for texts in (train, test) for tensor in (texts.input_ids, texts.labels))),
        **_further_digests(module, begun),
    }
    return LanguageProblem(
        name,
        LanguageClients(network, data, parts, eval_batch, micro_batch),
        start,
        labelled,
        own,
        eval_batch,
        given,
        shares,
        tuple(start[of] for of in trained if of not in {*drawn_in(module, beside), *whole}),
        begun,
        classes=train.classes,
    )


def _further_digests(module: nn.Module, begun: Mapping[str, Update]) -> dict[str, str]:
    """Return digests of the pretrained weights, also of the frozen ones, and of an adapter.

    They have names of their own because runs of earlier versions lack them.
    """
    pretrained = pretrained_in(module)
    found = {PRETRAINED: digest_of(*pretrained)} if pretrained else {}
    if begun:
        tensors = {of: digest_of(*update[1:]) for of, update in begun.items()}
        found[ADAPTER] = digest_of_names({of: [update.scale, tensors[of]] for of, update in begun.items()})
    return found


def _labelled(texts: TokenSet, device: torch.device) -> Labelled:
    """Return tokens, padded with `PADDING`, and labels."""
    x = texts.input_ids.masked_fill(texts.attention_mask == 0, PADDING)
    return Labelled(x.to(device), texts.labels.to(device))


def _layers(shapes: Sequence[tuple[str, Sequence[int]]], layers: str) -> tuple[str, ...]:
    try:
        return layer_names(shapes, layers)
    except FederationError as error:
        matrices = [name.rpartition(".")[0] for name, shape in shapes if len(shape) >= 2]
        ends = dict.fromkeys(f"*.{name.rpartition('.')[2]}" for name in matrices)
        raise FederationError(f"{str(error).partition(';')[0]}; the model has {', '.join(ends)}") from error


def _require_apart(module: nn.Module, chosen: Sequence[str], beside: Sequence[str]) -> None:
    """Check that no trained weight is used in two places or trained in two ways.

    Raises:
        FederationError: One has.
    """
    places: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        places.setdefault(id(parameter), []).append(name)
    for names in places.values():
        if len(names) > 1 and {*chosen, *beside} & {*names}:
            raise FederationError(
                f"{names[0]} is also {names[1]}: a PEFT adapter would change only one of the two; name other "
                "layers, or choose an algorithm that trains all weights"
            )
    heads = {name.rpartition(".")[0]: name for name in beside}
    both = [name for name in chosen if name.rpartition(".")[0] in heads]
    if both:
        layer = both[0].rpartition(".")[0]
        raise FederationError(
            f"{layer} is among the layers with factors, and {heads[layer]} is trained in full as a head: name it in "
            f"only one of --layers and --head"
        )


@torch.no_grad()
def _require_causal(module: nn.Module, texts: TokenSet) -> None:
    """Check that a model's output at a position does not depend on later tokens.

    A masked model's does, and is read as a causal one without complaint: it would see the answers it is to predict.

    Raises:
        FederationError: It does.
    """
    longest = int(texts.lengths.argmax())
    ids = texts.input_ids[longest : longest + 1, : min(int(texts.lengths[longest]), 16)]
    ids = ids.to(next(module.parameters()).device)
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % vocabulary_of(module)
    one, two = (module(input_ids=of, attention_mask=torch.ones_like(of)).logits for of in (ids, other))
    change = (one - two)[:, :-1].abs().max() if ids.shape[1] > 1 else torch.tensor(0.0)
    if bool(change > 10.0 * torch.finfo(one.dtype).eps * one.abs().max()):
        raise FederationError(
            "the model is not causal: its output for a token depends on later tokens, so it would see the "
            "answers; choose a causal one (of BERT's kind: with is_decoder in its configuration)"
        )


@torch.no_grad()
def _require_separate(network: LanguageNetwork, start: Tree, split: str, x: Tensor) -> None:
    """Check that a model's output for a text depends neither on the rest of its batch nor on the padding.

    Losses and gradients are taken in batches of several widths, and would depend on how texts are divided. Looks at the
    shortest text and a longer one, at the start and at a point near it. In training mode, with one draw of drop-out,
    only the text next to it changes, because another width draws otherwise.

    Raises:
        FederationError: It does; or training changes a buffer, which would leak from client to client.
    """
    lengths = (x != PADDING).sum(1)
    order = lengths.argsort(stable=True)
    short = int(lengths[order[0]])
    longer = order[lengths[order] >= 2 * short]
    pair = x[torch.stack([order[0], longer[0] if len(longer) else order[-1]])]
    pair = pair[:, : int((pair != PADDING).sum(1).max())]
    alike = torch.cat([pair[:1]] * 2)
    generator = torch.Generator().manual_seed(0)
    moved = {of: value + 0.1 * value.abs().mean() * _normal(value, generator) for of, value in start.items()}
    places = torch.arange(min(short, 8), device=x.device) if network.task == "causal" else None

    def first(module: Factorable, w: Mapping[str, Tensor], batch: Tensor) -> Tensor:
        with seeded_draws(0, x.device):
            return network.logits(module, w, batch, places)[0].detach()

    for w in (start, moved):
        modes = {"evaluation": network.testing}
        if network.random or network.recomputed is not None:
            modes["training"] = network.training
        for mode, module in modes.items():
            with _unchanged_buffers(module.module):
                outputs = first(module, w, pair)
                if not is_alike(outputs, first(module, w, alike), 1e-6):
                    raise FederationError(
                        f"the model's output for a text in {mode} mode depends on the other texts in its batch, so "
                        "losses would depend on how texts are divided into batches; normalise by nn.LayerNorm instead "
                        "of batch statistics"
                    )
        if not is_alike(first(network.testing, w, pair), first(network.testing, w, pair[:1, :short]), 1e-4):
            raise FederationError(
                f"the model's output for text {int(order[0])} of the {split} texts depends on the padding behind it, "
                "and so on the longest text of its batch; choose a model that masks padding by attention_mask"
            )


@contextmanager
def _unchanged_buffers(module: nn.Module) -> Iterator[None]:
    """Restore the buffers of a model, which all its copies share.

    Raises:
        FederationError: One has been changed.
    """
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    yield
    changed = [name for name, buffer in module.named_buffers() if not torch.equal(buffer, before[name])]
    for name in changed:
        module.get_buffer(name).copy_(before[name])
    if changed:
        raise FederationError(
            f"training changes the buffer {changed[0]} of the model, as batch norm does, and clients would share the "
            "change; choose a model that normalises by nn.LayerNorm"
        )


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, device="cpu").to(like)


def _require_fit(module: nn.Module, split: str, texts: TokenSet, task: Task) -> None:
    """Check that a model can process texts.

    Raises:
        FederationError: It cannot.
    """
    if texts.causal != (task == "causal"):
        raise FederationError("training and test samples must be of one task")
    _, width = texts.input_ids.shape
    most, vocabulary = positions(module), vocabulary_of(module)
    if most is not None and width > most:
        sample = int(texts.lengths.argmax())
        raise FederationError(
            f"sample {sample} of the {split} texts has {width} tokens, and the model has positions for {most}: "
            f"choose --max-length {most} with --truncate"
        )
    mask = texts.attention_mask
    if bool((mask[:, 1:] > mask[:, :-1]).any()):
        raise FederationError(f"padding of the {split} texts must follow the tokens: set padding_side to right")
    real: Tensor = texts.input_ids.masked_fill(mask == 0, 0)
    if int(real.min()) < 0 or int(real.max()) >= vocabulary:
        raise FederationError(
            f"the {split} texts have token {int(real.max())}, and the model's are below {vocabulary}: the "
            f"tokenizer belongs to another model"
        )
    if task == "classification":
        outputs = int(module.config.num_labels)  # type: ignore[union-attr, arg-type]
        labels = texts.labels
        if int(labels.min()) < 0 or int(labels.max()) >= outputs:
            raise FederationError(
                f"the {split} texts have labels {int(labels.min())} to {int(labels.max())}, and the model's outputs "
                f"are for 0 to {outputs - 1}"
            )
    elif not bool((texts.predicted > 0).all()):
        sample = int(np.flatnonzero(texts.predicted.numpy() == 0)[0])
        raise FederationError(
            f"sample {sample} of the {split} texts has no token that contributes to the loss; leave it out"
        )
