"""Hessians of pretrained language models: the model as a module from tokens to logits, its loss, and a batch of texts.

MiniLM (22.7 million parameters) with a head drawn at random on rated sentences, and SmolLM2-135M (dequantised Q4_1) on
instructions, whose loss is the mean over the tokens of the answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from runs.networks.language_federation import part_of
from runs.networks.language_model import locate, model_of, tokenizer_of
from workloads.texts import load_texts
from workloads.tokens import NO_LOSS, tokens


class Logits(nn.Module):
    """A model of transformers as a function of one tensor: (n, length, 2) tokens and mask to its logits."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits; for a causal model (n, vocabulary, length), as cross-entropies take them."""
        found: Any = self.model(input_ids=inputs[..., 0], attention_mask=inputs[..., 1]).logits
        return found.movedim(-1, 1) if found.ndim == 3 else found


def minilm(count: int, length: int) -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    """Return MiniLM on the first rated sentences."""
    return _made("hf:minilm", "classification", "rated-sentences", count, length)


def smollm2(count: int, length: int) -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    """Return SmolLM2-135M on the first instructions whose answers begin within the length."""
    return _made("hf:smollm2", "causal", "instructions", count, length)


def trained(
    given: tuple[nn.Module, nn.Module, Tensor, Tensor], steps: int, rate: float = 5e-5
) -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    """Return the same after steps of AdamW on the batch."""
    model, loss, inputs, targets = given
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss(model(inputs), targets).backward()
        optimiser.step()
    model.zero_grad(set_to_none=True)
    return given


def _made(name: str, task: Any, texts: str, count: int, length: int) -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    place = locate(name)
    model = model_of(place, task, 2, dropout=0.0).eval().requires_grad_(True)
    model.config._attn_implementation = "eager"  # peers differentiate it as it is, and fused attention only once
    read = tokens(load_texts(texts), tokenizer_of(place), length, truncate=True)
    read = part_of(read, np.arange(count))
    labels = read.labels
    if labels.ndim == 2:  # the next token's
        labels = torch.cat([labels[:, 1:], torch.full((count, 1), NO_LOSS)], dim=1)
    inputs = torch.stack([read.input_ids, read.attention_mask], dim=-1)
    return Logits(model), nn.CrossEntropyLoss(ignore_index=NO_LOSS), inputs, labels
