"""Frozen weights of linear layers rounded to 8 bits, by torchao; needs the extra `quantise`.

For the gradient, torchao's own layers keep a copy of each weight in the type of the inputs, which takes more memory
than the rounding saves. Ours form that copy again, one layer at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from runs.settings import RunError


class _Product(torch.autograd.Function):
    """The product of inputs with a frozen weight, which keeps only the rounded weight for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Any) -> Tensor:  # type: ignore[override]
        ctx.weight = weight
        return linear(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None]:  # type: ignore[override]
        needed = ctx.needs_input_grad[0]
        return (grad @ ctx.weight.dequantize().to(grad.dtype) if needed else None), None


class RoundedLinear(nn.Linear):
    """A linear layer with a frozen rounded weight."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the output of the layer."""
        made: Tensor = _Product.apply(input, self.weight)
        return made if self.bias is None else made + self.bias


def quantise(module: nn.Module, kept: Collection[str]) -> list[str]:
    """Round the weights of linear layers to 8 bits, with a scale for each output; layers compute as before.

    Args:
        module: The model, whose weights are replaced one by one.
        kept: Names of weights that keep their type, because they are trained or have factors. Weights that are used in
            two places keep theirs, too.

    Returns:
        The names of the rounded weights.

    Raises:
        RunError: torchao is not installed, or no layer is left.
    """
    try:
        logging.disable(logging.WARNING)  # about its kernels for GPUs
        with redirect_stderr(StringIO()):
            from torchao.quantization import Int8WeightOnlyConfig, quantize_
    except ImportError as error:
        raise RunError("--quantise needs the package torchao: pip install 'rankproof[quantise]'") from error
    finally:
        logging.disable(logging.NOTSET)
    places: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        places.setdefault(id(parameter), []).append(name)
    found = [
        f"{name}.weight"
        for name, layer in module.named_modules()
        if type(layer) is nn.Linear and len(places[id(layer.weight)]) == 1 and f"{name}.weight" not in kept
    ]
    if not found:
        raise RunError("no frozen linear layer is left to quantise; name fewer --layers, or leave --quantise out")
    chosen = frozenset(found)
    quantize_(module, Int8WeightOnlyConfig(), lambda layer, name: f"{name}.weight" in chosen)
    for name in found:
        module.get_submodule(name.removesuffix(".weight")).__class__ = RoundedLinear
    return found
