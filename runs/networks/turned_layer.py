"""GPT-2's linear layers, which keep their weight as (in, out), with a weight that is (out, in) as all others are."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class TurnedLayer(nn.Module):
    """A linear layer whose weight ``(out, in)`` is a transposed view of what the pretrained layer keeps.

    Attributes:
        weight: ``(out, in)``; its numbers are in memory once.
        bias: ``(out,)``.
    """

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().mT, requires_grad=weight.requires_grad)
        self.bias = bias

    def forward(self, x: Tensor) -> torch.Tensor:
        """The layer's value."""
        return linear(x, self.weight, self.bias)


def is_turned(part: nn.Module) -> bool:
    """Whether a linear layer keeps its weight as (in, out)."""
    return type(part).__name__ == "Conv1D"


def turn_layers(module: nn.Module) -> None:
    """Puts a `TurnedLayer` in place of every layer of a model that keeps its weight as (in, out)."""
    for parent in list(module.modules()):
        for name, part in list(parent.named_children()):
            if is_turned(part):
                setattr(parent, name, TurnedLayer(part.weight, part.bias))  # type: ignore[arg-type]
