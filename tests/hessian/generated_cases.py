"""Generated problems, and their exact Hessians by a naive evaluation.

A case is a network, a loss with its meaning over all samples, a way to give the data, a dtype and options. The oracle
shares nothing with `hessian`: it writes the loss of all samples at once, with its penalty, as a function of one flat
vector and differentiates that twice by `torch.autograd.functional.hessian`.
"""

from __future__ import annotations

import copy
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES, SAMPLES, PLACES, WORDS = 3, 12, 4, 7
IGNORED = -100


class Sequences(nn.Module):
    """An embedding, a layer over the sequence, and a tied or an own head; logits (samples, classes, places)."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        width = 4 if kind == "attention" else 2
        self.words = nn.Embedding(WORDS, width, padding_idx=0 if kind == "lstm" else None)
        self.kind = kind
        if kind == "attention":
            self.middle = nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0, batch_first=True, activation="gelu")
            self.middle.eval()
        elif kind in ("rnn", "lstm"):
            self.middle = {"rnn": nn.RNN, "lstm": nn.LSTM}[kind](2, 2, batch_first=True)
        self.head = nn.Linear(width, WORDS if kind == "tied" else CLASSES, bias=False)
        if kind == "tied":
            self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.words(tokens)
        if self.kind in ("rnn", "lstm"):
            hidden = self.middle(hidden)[0]
        elif self.kind == "attention":
            hidden = self.middle(hidden)
        return self.head(torch.tanh(hidden)).transpose(1, 2)[:, :CLASSES]


class Unused(nn.Module):
    """An additional layer that nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.spare = nn.Linear(5, CLASSES), nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.used(x))


class ByName(nn.Module):
    """Takes a mapping's entries by name, and gives a mapping."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"logits": self.inner(inputs)}


class InParts(nn.Module):
    """Takes its inputs in two tensors."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.inner(torch.cat([left, right], dim=1))


def _normed(norm: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(5, 4), norm, nn.Tanh(), nn.Linear(4, CLASSES))


FLAT: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, CLASSES)),
    "relu, no bias": lambda: nn.Sequential(nn.Linear(5, 4, bias=False), nn.ReLU(), nn.Linear(4, CLASSES)),
    "layer norm": lambda: _normed(nn.LayerNorm(4)),
    "batch norm": lambda: _normed(nn.BatchNorm1d(4)).eval(),
    "cnn": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 2, 2), nn.GELU(), nn.Flatten(), nn.Linear(8, CLASSES)
    ),
    "batch norm, training": lambda: _normed(nn.BatchNorm1d(4)).train(),
    "unused": Unused,
    "frozen": lambda: _frozen(nn.Sequential(nn.Linear(5, 4), nn.Softplus(), nn.Linear(4, CLASSES))),
}
TOKENS = {kind: (lambda kind=kind: Sequences(kind)) for kind in ("plain", "tied", "rnn", "lstm", "attention")}


def _frozen(model: nn.Module) -> nn.Module:
    model[0].weight.requires_grad_(False)  # type: ignore[index,union-attr]
    return model


@dataclass(frozen=True)
class Meaning:
    """A loss as a user writes it, and the same over all samples.

    Attributes:
        make: The loss for batches, given the model and the dtype.
        sum: It sums, and the oracle's total is a sum.
        recombines: The losses of batches make up the loss over all samples by their sizes (or by `count`).
        count: Samples of a batch.
        targets: Targets that it takes: classes, ignored (some of them), or values.
        options: Options of `Curvature`.
    """

    make: Callable[[nn.Module, torch.dtype], Callable[[Any, Any], Tensor]]
    recombines: bool = True
    count: Callable[[Any], int] | None = None
    targets: str = "classes"
    options: dict[str, Any] = field(default_factory=dict)


def _weights(dtype: torch.dtype) -> Tensor:
    return torch.tensor([0.2, 1.0, 3.0], dtype=dtype)


def _penalised(model: nn.Module, dtype: torch.dtype) -> Callable[[Any, Any], Tensor]:
    return lambda output, y: (
        nn.functional.cross_entropy(output, y) + 0.1 * sum(p.pow(4).sum() for p in model.parameters())
    )


def _kept(batch: Any) -> int:
    labels = batch["labels"] if isinstance(batch, dict) else batch[1]
    return int((labels != IGNORED).sum())


MEANINGS: dict[str, Meaning] = {
    "mean": Meaning(lambda m, d: nn.CrossEntropyLoss()),
    "sum": Meaning(lambda m, d: nn.CrossEntropyLoss(reduction="sum")),
    "smoothed": Meaning(lambda m, d: nn.CrossEntropyLoss(label_smoothing=0.2)),
    "weighted": Meaning(lambda m, d: nn.CrossEntropyLoss(weight=_weights(d)), recombines=False),
    "weighted sum": Meaning(lambda m, d: nn.CrossEntropyLoss(weight=_weights(d), reduction="sum")),
    "ignored": Meaning(lambda m, d: nn.CrossEntropyLoss(), recombines=False, targets="ignored"),
    "ignored, counted": Meaning(lambda m, d: nn.CrossEntropyLoss(), count=_kept, targets="ignored"),
    "penalised": Meaning(_penalised),
    "sum, not named": Meaning(
        lambda m, d: lambda out, y: nn.functional.cross_entropy(out, y, reduction="sum"), recombines=False
    ),
    "sum, named": Meaning(
        lambda m, d: lambda out, y: nn.functional.cross_entropy(out, y, reduction="sum"), options={"reduction": "sum"}
    ),
    "squares": Meaning(lambda m, d: nn.MSELoss(), targets="values"),
    "coupled": Meaning(
        lambda m, d: lambda out, y: nn.functional.cross_entropy(out - out.mean(dim=0), y), recombines=False
    ),
}


def _cuts(sizes: tuple[int, ...]) -> list[slice]:
    ends = list(itertools.accumulate(sizes))
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


BATCHINGS: dict[str, Callable[[Any], Any]] = {
    "resident": lambda batch: batch(slice(None)),
    "three, unequal": lambda batch: [batch(part) for part in _cuts((2, 7, 3))],
    "one by one, then many": lambda batch: [batch(part) for part in _cuts((1, 1, 10))],
    "list of one": lambda batch: [batch(slice(None))],
    "loader": lambda batch: DataLoader(TensorDataset(*batch(slice(None), plain=True)), batch_size=5),
}


CONTAINERS = ("pair", "mapping", "parts")


@dataclass(frozen=True)
class Problem:
    """One generated case.

    Attributes:
        name: Parts of the case, in words.
        made_of: The same, one by one.
        model: The network, as a user would pass it.
        loss: The loss, as a user would pass it.
        data: The data, as a user would pass them.
        options: Options of `Curvature`.
        several: There are several batches.
        recombines: The losses of batches make up that over all samples.
        exact: The Hessian of the loss over all samples, by the oracle.
        gauss_newton: The Gauss-Newton matrix, where the loss is one of the outputs alone.
        plain: Model, loss, inputs and targets for `exact_hessian`, where it can take them.
    """

    name: str
    made_of: tuple[str, ...]
    model: nn.Module
    loss: Callable[[Any, Any], Tensor]
    data: Any
    options: dict[str, Any]
    several: bool
    recombines: bool
    exact: Callable[[], Tensor]
    gauss_newton: Callable[[], Tensor]
    plain: tuple[nn.Module, Callable[[Any, Any], Tensor], Tensor, Tensor]


def problems() -> Iterator[Problem]:
    """All of them, the same in every run: each network with each loss, the other choices at random."""
    pairs = [
        (network, meaning)
        for network, meaning in itertools.product([*FLAT, *TOKENS], MEANINGS)
        if network in FLAT or meaning not in ("squares", "coupled")  # the same as on the flat networks
    ]
    number = itertools.count()
    for network, meaning in pairs:
        for _ in range(2 if network in FLAT else 1):
            yield problem(next(number), network, meaning)


def problem(number: int, network: str, meaning: str) -> Problem:
    """One of them."""
    choice = random.Random(number)
    batching = list(BATCHINGS)[(number + list(MEANINGS).index(meaning)) % len(BATCHINGS)]
    container = choice.choice(CONTAINERS if batching != "loader" else CONTAINERS[:1])
    dtype = choice.choice([torch.float32, torch.float64])
    generator = torch.Generator().manual_seed(number)
    make = {**FLAT, **TOKENS}[network]
    with torch.random.fork_rng():
        torch.manual_seed(number)
        core = make().to(dtype)
    chosen = MEANINGS[meaning]
    inputs, targets = _samples(network, chosen.targets, generator)
    inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
    targets = targets.to(dtype) if targets.is_floating_point() else targets
    model = {"pair": lambda m: m, "mapping": ByName, "parts": InParts}[container](core)
    written = chosen.make(model, dtype)

    def loss(output: Any, target: Any) -> Tensor:
        return written(output["logits"], target["labels"]) if container == "mapping" else written(output, target)

    def batch(rows: slice, plain: bool = False) -> Any:
        x, y = inputs[rows], targets[rows]
        if plain or container == "pair":
            return x, y
        return {"inputs": x, "labels": y} if container == "mapping" else ((x[:, :2], x[:, 2:]), y)

    options = dict(chosen.options)
    if "sum" in meaning and not meaning.startswith("sum, not"):
        options["reduction"] = "sum"
    if chosen.count is not None:
        options["count"] = chosen.count
    if network == "batch norm, training":
        options["batch_norm"] = "running"
    ways: dict[str, dict[str, Any]] = {"": {}, "kept graphs": {"keep_graph": True}}
    if network not in ("rnn", "lstm"):  # which have no batching rule
        ways["vmap"] = {"vectorize": 2}
    if network in ("mlp", "layer norm"):
        ways["weights only"] = {"parameters": "*weight"}
    way = choice.choice(list(ways))
    options |= ways[way]
    made_of = (network, meaning, batching, str(dtype), container)
    return Problem(
        f"{number}: {', '.join(made_of)}{f', {way}' if way else ''}",
        made_of,
        model,
        loss,
        BATCHINGS[batching](batch),
        options,
        batching not in ("resident", "list of one"),
        chosen.recombines,
        functools.cache(lambda: _oracle(core, chosen, inputs, targets, options.get("parameters"))),
        lambda: _oracle(core, chosen, inputs, targets, options.get("parameters"), gauss_newton=True),
        (core, written if container == "pair" else chosen.make(core, dtype), inputs, targets),
    )


def _samples(network: str, kind: str, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    if network in TOKENS:
        inputs = torch.randint(WORDS, (SAMPLES, PLACES), generator=generator)
        targets = torch.randint(CLASSES, (SAMPLES, PLACES), generator=generator)
    else:
        inputs = torch.randn(SAMPLES, 5, generator=generator)
        targets = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    if kind == "values":
        return inputs, torch.randn(SAMPLES, CLASSES, generator=generator)
    if kind == "ignored":  # the more, the later: batches differ
        places = torch.rand(targets.shape, generator=generator).argsort(dim=0).argsort(dim=0)
        rows = torch.arange(SAMPLES).reshape(-1, *[1] * (targets.ndim - 1))
        targets = torch.where((rows >= 5) & (rows < SAMPLES - 1) & (places % 2 == 0), IGNORED, targets)
    return inputs, targets


def _oracle(
    model: nn.Module, meaning: Meaning, x: Tensor, y: Tensor, pattern: str | None, gauss_newton: bool = False
) -> Tensor:
    """All samples at once, in double precision, the chosen weights as one flat vector."""
    model = copy.deepcopy(model).double().eval()  # there is no dropout, and the statistics are the running ones
    x, y = (part.double() if part.is_floating_point() else part for part in (x, y))
    loss = meaning.make(model, torch.float64)
    named = [
        (name, p) for name, p in model.named_parameters() if (name.endswith("weight") if pattern else p.requires_grad)
    ]
    sizes = [p.numel() for _, p in named]

    def at(flat: Tensor, evaluate: Callable[[], Tensor]) -> Tensor:
        # The parameters are replaced by hand, wherever the model holds them: tied ones in several places.
        for (_, old), piece in zip(named, flat.split(sizes), strict=True):
            part = piece.view_as(old)  # one tensor: a tied one must not be penalised twice
            for module in model.modules():
                for key, held in module._parameters.items():
                    if held is old:
                        module._parameters[key] = part  # type: ignore[assignment]
                        places.append((module, key, old))
        try:
            return evaluate()
        finally:
            for module, key, old in places:
                module._parameters[key] = old
            places.clear()

    places: list[tuple[nn.Module, str, nn.Parameter]] = []
    own = torch.cat([p.detach().reshape(-1) for _, p in named])
    differentiate = torch.autograd.functional
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        if not gauss_newton:
            return differentiate.hessian(lambda flat: at(flat, lambda: loss(model(x), y)), own)
        output = model(x).detach()
        slopes = differentiate.jacobian(lambda flat: at(flat, lambda: model(x)), own).reshape(output.numel(), -1)
        middle = differentiate.hessian(lambda output: loss(output, y), output)
        return slopes.T @ middle.reshape(output.numel(), -1) @ slopes
