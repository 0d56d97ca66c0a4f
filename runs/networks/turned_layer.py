"""GPT-2's linear layers, which store their weight as (in, out), with the usual (out, in) weight."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class TurnedLayer(nn.Module):
    """A linear layer whose weight ``(out, in)`` is a transposed view of the pretrained weight.

    Attributes:
        weight: ``(out, in)``; its numbers are in memory once.
        bias: ``(out,)``.
    """

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().mT, requires_grad=weight.requires_grad)
        self.bias = bias

    def forward(self, x: Tensor) -> torch.Tensor:
        """Return the layer's output."""
        return linear(x, self.weight, self.bias)


def is_turned(part: nn.Module) -> bool:
    """Return whether a linear layer stores its weight as (in, out)."""
    return type(part).__name__ == "Conv1D"


def turn_layers(module: nn.Module) -> None:
    """Replace every layer of a model that stores its weight as (in, out) by a `TurnedLayer`."""
    for parent in list(module.modules()):
        for name, part in list(parent.named_children()):
            if is_turned(part):
                setattr(parent, name, TurnedLayer(part.weight, part.bias))  # type: ignore[arg-type]
