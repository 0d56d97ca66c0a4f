"""Files of a network's weights in a folder, in the order of the numbers in their names."""

from __future__ import annotations

import re
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from hessian.numerics.symmetric import CurvatureError

ENDINGS = (".safetensors", ".pt", ".pth", ".bin")
"""Endings of files that are read: safetensors, or a state_dict written by `torch.save`."""


def numbered_states(folder: Path) -> dict[int, Path]:
    """Return the files of weights in a folder, by the last number in their names, increasing.

    Raises:
        CurvatureError: No folder, no such file, or two of the same number.
    """
    if not folder.is_dir():
        raise CurvatureError(f"there is no folder {folder}: name one that holds files of weights")
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        numbers = re.findall(r"\d+", path.stem)
        if path.suffix not in ENDINGS or not path.is_file() or not numbers:
            continue
        if (number := int(numbers[-1])) in found:
            raise CurvatureError(f"{found[number].name} and {path.name} in {folder} have the same number {number}")
        found[number] = path
    if not found:
        raise CurvatureError(
            f"{folder} holds no file of weights with a number in its name, such as step-100.safetensors; read are "
            f"{', '.join(ENDINGS)}"
        )
    return dict(sorted(found.items()))


def load_state(model: nn.Module, path: Path) -> None:
    """Load the weights of a file into a model like `load_state_dict`, without running anything from the file.

    Raises:
        CurvatureError: A file that is not a state_dict, or not of this model, or whose numbers a cast to the model's
            types would change by more than rounding.
    """
    try:
        state = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, SafetensorError, UnpicklingError) as error:
        said = " ".join(str(error).split())[:120]
        raise CurvatureError(f"{path} cannot be read as weights ({said}): save model.state_dict()") from error
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise CurvatureError(f"{path} holds more than tensors by name: save model.state_dict() alone")
    for name, own in model.state_dict().items():
        given = state.get(name)
        if isinstance(own, Tensor) and given is not None and not _serves(given, own):
            raise CurvatureError(
                f"{name} in {path} is {_name(given)} and {_name(own)} in the model: save the state_dict of that model, "
                "or build the model in the type of the file"
            )
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        said = " ".join(str(error).split())[:200]
        raise CurvatureError(f"the weights in {path} are not those of the model: {said}") from error


def _serves(given: Tensor, own: Tensor) -> bool:
    """Return whether a cast to the model's type is exact or rounds a floating-point number."""
    if own.is_complex() or own.is_floating_point():
        return given.is_floating_point() or (own.is_complex() and given.is_complex())
    if given.is_complex() or given.is_quantized:
        return False
    return given.dtype == own.dtype or bool((given.to(own.dtype).to(given.dtype) == given).all())


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
