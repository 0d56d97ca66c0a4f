"""Metrics of a causal model's answers: of answers that it generates, and of its choice among the answers that occur.

An answer is generated greedily, token by token, until the token that ends it or the length of the longest expected
answer. A choice is the answer of the largest log-likelihood after the prompt, the sum over its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from algorithms.federation import FederationError
from algorithms.layers import Factorable
from algorithms.weights import Weight
from runs.networks.network_function import Labelled
from workloads.code_names import names_code
from workloads.text_metrics import exact_match
from workloads.tokens import NO_LOSS

Metric = Callable[[Sequence[str], Sequence[str]], float]
"""A number from generated answers and the expected ones."""
GENERATED: Mapping[str, Metric] = {"exact_match": exact_match}
"""Metrics of generated answers by name."""
CHOICE = "choice"
"""Name of the share of prompts whose own answer is the likeliest."""
CHOICES = 64
"""Largest number of different answers to choose among."""
_PADDING = -1


class CausalNetwork(Protocol):
    """A causal model as a function of its weights, such as `runs.networks.language_network.LanguageNetwork`."""

    @property
    def testing(self) -> Factorable:
        """The model without drop-out."""
        ...

    def logits(self, module: Factorable, w: Mapping[str, Weight], x: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the logits of tokens at some places."""
        ...

    def substituted(self, w: Mapping[str, Weight]) -> AbstractContextManager[nn.Module]:
        """Return the model at some weights, for calls within the context."""
        ...


@dataclass(frozen=True, eq=False)
class Answers:
    """Metrics of the answers to a split of prompts.

    Attributes:
        decode: Returns the text of tokens, without special tokens.
        metrics: Metrics of generated answers by name.
        choice: Whether the model also chooses among the answers that occur in the split.
    """

    decode: Callable[[list[int]], str]
    metrics: Mapping[str, Metric]
    choice: bool = False

    @torch.no_grad()
    def test(self, network: CausalNetwork, w: Mapping[str, Weight], data: Labelled) -> dict[str, float]:
        """Return the metrics of a model on a split.

        Raises:
            FederationError: A metric is not a finite number, or there are too many answers to choose among.
        """
        pairs = [_divide(x, y) for x, y in zip(data.x, data.y, strict=True)]
        found = {}
        if self.metrics:
            generated = self._generate(network, w, pairs)
            expected = [self.decode(answer.tolist()) for _, answer in pairs]
            for name, metric in self.metrics.items():
                found[name] = _number(name, metric(generated, expected))
        if self.choice:
            found[CHOICE] = _choice(network, w, pairs)
        return found

    def _generate(
        self, network: CausalNetwork, w: Mapping[str, Weight], pairs: Sequence[tuple[Tensor, Tensor]]
    ) -> list[str]:
        """Return the model's answers; prompts of one length are continued together, so that none is padded."""
        most = max(len(answer) for _, answer in pairs)
        ends = torch.stack([answer[-1] for _, answer in pairs]).unique()
        found = [""] * len(pairs)
        by_length: dict[int, list[int]] = {}
        for place, (prompt, _) in enumerate(pairs):
            by_length.setdefault(len(prompt), []).append(place)
        with network.substituted(w) as module:
            for places in by_length.values():
                ids, past = torch.stack([pairs[place][0] for place in places]), None
                rows: list[Tensor] = []
                ended = torch.zeros(len(places), dtype=torch.bool, device=ids.device)
                while len(rows) < most and not bool(ended.all()):
                    given: dict[str, Any] = {"input_ids": ids, "past_key_values": past, "use_cache": True}
                    made = module(**given)
                    ids, past = made.logits[:, -1].argmax(-1, keepdim=True), made.past_key_values
                    rows.append(ids[:, 0])
                    ended |= torch.isin(ids[:, 0], ends)
                for place, row in zip(places, torch.stack(rows, 1), strict=True):
                    last = torch.isin(row, ends).nonzero()
                    found[place] = self.decode(row[: int(last[0, 0]) if len(last) else None].tolist())
        return found


def answers_of(names: Sequence[str], tokenizer: Any) -> Answers:
    """Return the metrics of some names; ``module:function`` names a function of the user, `Metric`.

    Raises:
        FederationError: An unknown name.
    """
    metrics: dict[str, Metric] = {}
    for name in names:
        if names_code(name):
            from hessian.loss.factories import import_object  # brings much along that other runs do not need

            metrics[name.rpartition(":")[2].rpartition(".")[2]] = import_object(name, "metric")
        elif name in GENERATED:
            metrics[name] = GENERATED[name]
        elif name != CHOICE:
            raise FederationError(
                f"there is no metric {name!r} of answers; metrics takes {', '.join(GENERATED)}, {CHOICE} and "
                "module:function"
            )
    return Answers(lambda ids: tokenizer.decode(ids, skip_special_tokens=True), metrics, CHOICE in names)


def _divide(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tokens of a prompt and of its answer."""
    places = (y != NO_LOSS).nonzero()[:, 0]
    return x[: int(places[0])], x[places]


def _choice(network: CausalNetwork, w: Mapping[str, Weight], pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Return the share of prompts whose own answer is the likeliest of those that occur."""
    answers = [*dict.fromkeys(tuple(answer.tolist()) for _, answer in pairs)]
    if len(answers) > CHOICES:
        raise FederationError(
            f"the metric {CHOICE} is for at most {CHOICES} different answers, and there are {len(answers)}; use "
            f"{next(iter(GENERATED))}, or fewer test texts"
        )
    right = 0
    for prompt, own in pairs:
        x = prompt.new_full((len(answers), len(prompt) + max(map(len, answers))), _PADDING)
        x[:, : len(prompt)] = prompt
        for row, answer in zip(x, answers, strict=True):
            row[len(prompt) : len(prompt) + len(answer)] = row.new_tensor(answer)
        places = torch.arange(len(prompt) - 1, x.shape[1] - 1, device=x.device)
        likely = network.logits(network.testing, w, x, places).float().log_softmax(-1)
        targets = x[:, len(prompt) :]
        each = likely.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0] * (targets != _PADDING)
        right += answers[int(each.sum(1).argmax())] == tuple(own.tolist())
    return right / len(pairs)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise FederationError(f"the metric {name} returned {value!r:.80}; it must return a finite number")
    return number
