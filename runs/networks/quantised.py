"""Frozen weights of linear layers rounded to 8 bits, by torchao; needs the extra `quantise`."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import redirect_stderr
from io import StringIO

from torch import nn

from runs.settings import RunError


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
        if isinstance(layer, nn.Linear) and len(places[id(layer.weight)]) == 1 and f"{name}.weight" not in kept
    ]
    if not found:
        raise RunError("no frozen linear layer is left to quantise; name fewer --layers, or leave --quantise out")
    chosen = frozenset(found)
    quantize_(module, Int8WeightOnlyConfig(), lambda layer, name: f"{name}.weight" in chosen)
    return found
