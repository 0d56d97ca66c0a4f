"""FedLoRU's higher rank of clients, layer by layer, in a classifier and in a causal language model.

Theorem 3.2 of FedLoRU v2 says that the Hessian of fewer samples has the larger stable rank, at any weights. Here the
Hessian's diagonal block of some layers is taken on a server's samples and on nested parts of its clients': of MiniLM
on rated sentences at the pretrained weights with a new head, and after training; of SmolLM2-135M on instructions at
the pretrained weights.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from algorithms.weights import Weight
from figures.experiments.experiment import Line
from figures.fedloru.trained_ranks import RankSizes, states
from figures.figure import Figure, Scale, Settings
from figures.pieces import piece
from figures.style import BLACK, MARKERS, SERIES, WIDTH
from figures.threads import few_threads
from hessian import Curvature
from hessian.block_ranks import block_ranks
from hessian.spectrum import SpectrumSettings
from hessian.through_training import rank_columns
from runs.network_problem import NetworkProblem
from runs.networks.curvatures import SERVER
from runs.networks.language_network import PADDING
from workloads.tokens import NO_LOSS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENTENCES, INSTRUCTIONS = "rated-sentences", "instructions"
DEPTH = 4
"""Depth of modules such as ``bert.encoder.layer.0`` and ``answers.model.layers.0``."""
NAMES: Mapping[str, str] = {"minilm": "MiniLM", "smollm2": "SmolLM2"}
QUALITIES = ("accuracy", "perplexity")
CAUSAL = ("smollm2",)
"""Models that have the head they were pretrained with."""
KEYS = ["model", "seed", "round", "layer"]


@dataclass(frozen=True)
class LayerSizes:
    """Sizes for one model, which depend on the scale.

    Attributes:
        texts: Name of its data set.
        options: Options of the training run.
        rounds: Rounds of training.
        measured: Rounds after which the weights are measured.
        layers: Patterns of the parameters of the layers that are measured.
        clients: Number of the server's clients.
        samples: Numbers of a client's samples, increasing; the smaller ones are the first of the larger ones, and the
            server has the largest of every client.
        width: Width asked of the intervals, relative to the value.
        products: Largest number of products for a block.
    """

    texts: str
    options: Mapping[str, Any]
    rounds: int
    measured: tuple[int, ...]
    layers: tuple[str, ...]
    clients: int
    samples: tuple[int, ...]
    width: float
    products: int

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.options["model"]).removeprefix("hf:")

    @property
    def server(self) -> int:
        """Number of the server's samples."""
        return self.clients * self.samples[-1]


LAYER_SIZES: Mapping[Scale, tuple[LayerSizes, ...]] = {
    "quick": (
        LayerSizes(
            SENTENCES,
            {"model": "hf:minilm", "max_length": 12, "truncate": True, "batch": 4, "steps": 2, "test_samples": 8},
            1,
            (1,),
            ("*.layer.5.*",),
            2,
            (2,),
            1.0,
            24,
        ),
    ),
    "laptop": (
        LayerSizes(
            SENTENCES,
            {"model": "hf:minilm", "max_length": 32, "truncate": True, "batch": 16, "steps": 60, "test_samples": 256},
            1,
            (0, 1),
            ("*.layer.1.*", "*.layer.3.*", "*.layer.5.*"),
            3,
            (2, 8),
            0.3,
            60,
        ),
        LayerSizes(
            INSTRUCTIONS,
            {"model": "hf:smollm2", "max_length": 48, "truncate": True, "batch": 1, "steps": 1, "test_samples": 40},
            1,
            (0,),
            ("*.layers.9.*", "*.layers.19.*", "*.layers.29.*"),
            3,
            (1, 2, 4),
            0.3,
            60,
        ),
    ),
    "paper": (
        LayerSizes(
            SENTENCES,
            {"model": "hf:FacebookAI/roberta-large", "max_length": 128, "truncate": True, "batch": 64, "steps": 500},
            1,
            (0, 1),
            ("*.layer.*",),
            10,
            (50, 500),
            0.1,
            400,
        ),
    ),
}
RATE = 5e-5
"""Learning rate of training, AdamW in all weights: the usual one of fine-tuning."""


def language_ranks(settings: Settings) -> pd.DataFrame:
    """Train the models and measure the stable ranks of their layers.

    Returns:
        One row for each block: model, seed, round, layer (name of the module), client (-1: the server), samples,
        value, low, high (the stable rank with its interval), largest (the spectral norm), frobenius, parameters,
        products, reached (whether the interval is as narrow as asked for), accuracy or perplexity (of the weights, on
        test texts).
    """
    with few_threads():
        return pd.DataFrame([row for sizes in settings.sizes(LAYER_SIZES) for row in _model_rows(sizes, settings)])


def _model_rows(sizes: LayerSizes, settings: Settings) -> Iterator[dict[str, Any]]:
    line = Line({"method": "central"}, "central", sizes.texts, {**sizes.options, "dropout": 0.0})
    seed = 100 * settings.seed
    run = RankSizes(sizes.rounds, sizes.measured, 1, sizes.clients)
    for number, problem, weights in states(line, RATE, seed, run, settings):
        quality = {name: value for name, value in problem.evaluate(weights).items() if name in QUALITIES}
        chosen = draw_samples(problem, sizes, settings, seed)
        for client, samples in [(SERVER, sizes.server)] + [
            (client, samples) for samples in sizes.samples for client in range(sizes.clients)
        ]:
            mine = chosen if client == SERVER else chosen[client * sizes.samples[-1] :][:samples]
            name = f"{sizes.model}, seed {seed}, round {number}, client {client}, {samples} samples"
            found = piece(settings, name, partial(_rows, problem, weights, mine, sizes, settings, name))
            at = {"model": sizes.model, "seed": seed, "round": number, "client": client, "samples": samples, **quality}
            for row in found:
                yield {**at, **row}
        if number == max(sizes.measured):
            return  # what is trained after it is not measured


def draw_samples(problem: NetworkProblem, sizes: LayerSizes, settings: Settings, seed: int) -> np.ndarray:
    """Draw the server's training samples at random; a client's samples are consecutive among them."""
    return settings.rng("language-ranks", seed).choice(len(problem.clients.data.x), sizes.server, replace=False)


def _rows(
    problem: NetworkProblem,
    weights: Mapping[str, Weight],
    samples: np.ndarray,
    sizes: LayerSizes,
    settings: Settings,
    name: str,
) -> list[dict[str, Any]]:
    settings.report(name)
    return list(layer_ranks(curvature(problem, weights, samples, sizes.layers), sizes, settings))


class Answers(nn.Module):
    """A module that returns a causal model's logits only at the answer tokens of a batch.

    Args:
        model: Computes logits only at chosen positions if asked to.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.answers = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Return the logits (n, places, vocabulary)."""
        named = {"attention_mask": attention_mask, "use_cache": False, "logits_to_keep": _places(labels)}
        logits: Tensor = self.answers(input_ids=input_ids, **named).logits
        return logits


def curvature(
    problem: NetworkProblem, weights: Mapping[str, Weight], samples: np.ndarray, layers: tuple[str, ...]
) -> Curvature:
    """Return the Hessian of the mean loss over some training samples, in some parameters, without dropout.

    A classifier's loss is a mean over samples, a causal model's over the tokens of answers.

    Raises:
        CurvatureError: A model or parameters whose curvature cannot be taken.
    """
    network: Any = problem.clients.network
    module = copy.deepcopy(network.testing.module)
    module.load_state_dict(dict(weights), strict=False)
    x, y = problem.clients.data.x[samples], problem.clients.data.y[samples]
    real = x != PADDING
    batch = {"input_ids": x.where(real, network.padding), "attention_mask": real.long(), "labels": y}
    width, causal = int(real.any(0).sum()), network.task == "causal"
    batch = {name: value[:, :width] if causal or name != "labels" else value for name, value in batch.items()}
    module, loss = (Answers(module), _loss_of_answers) if causal else (module, _loss)
    return Curvature(module.requires_grad_(True), loss, batch, parameters=layers)


def _loss(output: Any, batch: Mapping[str, Tensor]) -> Tensor:
    return cross_entropy(output.logits, batch["labels"])


def _loss_of_answers(logits: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
    targets = batch["labels"][:, 1:][:, _places(batch["labels"])]
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_LOSS)


def _places(labels: Tensor) -> Tensor:
    """Return the positions from which an answer token is predicted."""
    return (labels[:, 1:] != NO_LOSS).any(0).nonzero()[:, 0]


def layer_ranks(operator: Curvature, sizes: LayerSizes, settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the stable rank of each layer's block."""
    asked = SpectrumSettings(width=sizes.width, products=sizes.products, seed=settings.seed)
    for block in block_ranks(operator, asked, DEPTH):
        if block.rank is None:
            raise ArithmeticError(f"the block of {block.name} has no stable rank: {block.why}")
        yield {
            "layer": block.name,
            **rank_columns(block.rank),
            "parameters": block.P,
            "products": block.rank.products,
            "reached": int(block.rank.reached),
        }


def compare_with_server(table: pd.DataFrame) -> pd.DataFrame:
    """Return each client's block with the server's.

    Returns:
        The columns of the table's clients, and server (its stable rank), above and below (whether the intervals are
        apart), larger (the client's largest eigenvalue over the server's, in modulus).
    """
    server = table[table.client == SERVER].set_index(KEYS)[["value", "low", "high", "largest"]].add_prefix("server_")
    pairs = table[table.client != SERVER].join(server, on=KEYS)
    return pairs.assign(
        server=pairs.server_value,
        above=pairs.low > pairs.server_high,
        below=pairs.high < pairs.server_low,
        larger=pairs.largest / pairs.server_largest,
    )


def counts(of: pd.DataFrame) -> str:
    """Describe how often a client's stable rank exceeds the server's."""
    return (
        f"{int((of.value > of.server).sum())} of {len(of)} (intervals apart: {int(of.above.sum())} above, "
        f"{int(of.below.sum())} below)"
    )


def ranks_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the counts by model, state and number of samples."""
    parts = [
        f"{_state(model, number)}, {samples} samples: {counts(of)}"
        for (model, number, samples), of in compare_with_server(table).groupby(
            ["model", "round", "samples"], sort=False
        )
    ]
    return f"Block's stable rank of a client above the server's: {'; '.join(parts)}"


def heading(table: pd.DataFrame) -> str:
    """Return the headline: the counts by model only."""
    parts = [
        f"{NAMES.get(str(model), model)} {int((of.value > of.server).sum())} of {len(of)}"
        for model, of in compare_with_server(table).groupby("model", sort=False)
    ]
    return f"Larger stable rank of a client's block: {', '.join(parts)}"


def _state(model: object, number: object) -> str:
    head = "" if model in CAUSAL else " with a new head"
    return f"{NAMES.get(str(model), model)} {'after training' if number else f'pretrained{head}'}"


def draw_language_ranks(table: pd.DataFrame) -> Picture:
    """Draw a panel for each model and state: server and clients, by number of samples, against the layer."""
    from matplotlib.figure import Figure as New

    panels = list(table.groupby(["model", "round"], sort=False))
    picture = New(figsize=(WIDTH, 3.4))
    grid = picture.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, ((model, number), mine) in zip(grid, panels, strict=True):
        layers = list(dict.fromkeys(mine.layer))
        groups = [(BLACK, "s", "server", mine[mine.client == SERVER])]
        groups += [
            (SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)], "client", of)
            for place, (_, of) in enumerate(mine[mine.client != SERVER].groupby("samples"))
        ]
        for place, (colour, marker, who, of) in enumerate(groups):
            aside = 0.2 * (place - (len(groups) - 1) / 2) + 0.04 * np.maximum(of.client, 0)
            x = np.array([layers.index(name) for name in of.layer]) + aside
            axes.errorbar(
                x,
                of.value,
                [of.value - of.low, of.high - of.value],
                fmt=marker,
                color=colour,
                markersize=3,
                linewidth=0.8,
                label=f"{who}, {int(of.samples.iloc[0])}",
            )
        quality = next(name for name in QUALITIES if name in mine and mine[name].notna().all())
        axes.set_title(f"{_state(model, number)}\n{quality} {mine[quality].iloc[0]:.2f}", fontsize=8)
        axes.set(xlabel="layer", yscale="log")
        axes.set_xticks(range(len(layers)), [name.rpartition(".")[2] for name in layers])
        axes.legend(title="samples", fontsize=6.5, title_fontsize=6.5)
    grid[0].set_ylabel("stable rank of the block")
    return picture


def ranks_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding, layer by layer."""
    by_layer = "; ".join(
        f"{_state(model, number)}, layer {str(layer).rpartition('.')[2]}: server {of.server.iloc[0]:.2f}, clients "
        f"{of.value.mean():.2f} in the mean, largest eigenvalue {of.larger.median():.2f} times the server's (median), "
        f"above in {counts(of)}"
        for (model, number, layer), of in compare_with_server(table).groupby(["model", "round", "layer"], sort=False)
    )
    return (
        "Stated: at any weights the Hessian of a client has a larger stable rank than that of the server. Found: "
        f"{ranks_outcome(table)}. {by_layer}."
    )


def ranks_sizes(table: pd.DataFrame) -> str:
    """Describe the blocks, samples and intervals."""
    known = {(sizes.model, sizes.server): sizes for every in LAYER_SIZES.values() for sizes in every}
    parts = []
    for model, mine in table.groupby("model", sort=False):
        server, clients = mine[mine.client == SERVER], mine[mine.client != SERVER]
        of = known[str(model), int(server.samples.iloc[0])]
        wide, steps = int((mine.reached == 0).sum()), of.rounds * of.options["steps"]
        trained = (
            f"training: {steps} steps of AdamW in all weights, batches of {of.options['batch']}, rate {RATE:g}; "
            if max(mine["round"])
            else ""
        )
        parts.append(
            f"{NAMES.get(str(model), model)} on {of.texts}, at most {of.options['max_length']} tokens, longer texts "
            f"cut; "
            f"blocks of {', '.join(f'{count:,}' for count in sorted(set(mine.parameters)))} parameters; "
            f"{of.server} samples of the server, {' or '.join(map(str, sorted(set(clients.samples))))} of each of "
            f"{clients.client.nunique()} clients, among them; {trained}intervals at 95 % each, asked to be "
            f"{of.width:g} of the value wide{f', {wide} of {len(mine)} wider' if wide else ''}; "
            f"seeds {', '.join(map(str, sorted(set(mine.seed))))}."
        )
    return " ".join(parts)


LANGUAGE_RANKS = Figure(
    "fedloru/language-ranks",
    "FedLoRU: stable ranks of language models' layers, server and clients",
    r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$ of a layer's diagonal block of the Hessian, for the mean loss (per "
    r"sample or per answer token) over the server's samples and over parts of the clients' samples; bars: 95 % "
    r"intervals.",
    language_ranks,
    draw_language_ranks,
    heading,
    ranks_found,
    ranks_sizes,
    (SENTENCES, INSTRUCTIONS),
    quick_decides=False,
)
