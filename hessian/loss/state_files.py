"""Files of a network's weights in a folder, in the order of the numbers in their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from hessian.numerics.symmetric import CurvatureError

ENDINGS = (".safetensors", ".pt", ".pth", ".bin")
"""Endings of files that are read: safetensors, or a state_dict written by `torch.save`."""
_EXTRA = "_extra_state"
"""Last part of the name under which a state_dict holds what `get_extra_state` of a module returns."""


_WORDS = ("step", "iteration", "iter", "it", "round", "epoch", "ep")
"""Words before the number of a state; the first that every name has, with different numbers, orders them."""
_NUMBER = r"(?:(?<=[=-])-)?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+|[kKmMbBtT](?![a-zA-Z]))?"
"""A number in a name; only digits alone are a whole number, not -5, 1,000, 1e3, 1k or 1T."""
_GROUPED = r"[1-9]\d{0,2}(?:[_' ]\d{3})+(?!\d)"
"""Digits that may be one number, such as 1_000, or several; no whole number either."""
_ANY_NUMBER = rf"(?:(?<![a-zA-Z\d.])|(?<=step)|(?<=iter)|(?<=iteration)|(?<=round)|(?<=epoch)){_GROUPED}|{_NUMBER}"
"""A number anywhere in a name: the digits of resnet18_100 are those of two numbers."""
_UNREAD = (".ckpt", ".npz", ".h5", ".hdf5", ".keras", ".pkl", ".pickle", ".msgpack", ".onnx", ".gguf", ".pdparams")
"""Endings of files that may be weights of other formats."""


def numbered_states(folder: Path) -> dict[int, Path]:
    """Return the files of weights in a folder, increasing by the numbers that `order_of_states` names.

    Raises:
        CurvatureError: No folder, no such file, a shard of a state, two files of the same number, or names with other
            numbers that would order the files differently.
    """
    paths = _numbered_paths(folder)
    word = _word_of(paths)
    found: dict[int, Path] = {}
    for path in paths:
        number = _number_of(path, word)
        if number is None:
            raise CurvatureError(_unordered(path, folder))
        if number in found:
            raise CurvatureError(
                f"{found[number].name} and {path.name} in {folder} have the same number {number}: give every state its "
                "own, or leave one of the files out"
            )
        found[number] = path
    found = dict(sorted(found.items()))
    _require_one_order(list(found.values()), word, folder)
    return found


def _unordered(path: Path, folder: Path) -> str:
    """Return why a name has no number that orders its file, and the remedy."""
    doubtful = re.search(rf"(?<!\d){_GROUPED}", path.stem)
    if doubtful is None:
        return f"{path.name} in {folder} has no whole number that could order it: name it like step-100{path.suffix}"
    *_, last = parts = re.findall(r"\d+", doubtful[0])
    joined, ending = "".join(parts), path.suffix
    return (
        f"{path.name} in {folder} has no whole number that certainly orders it, because {doubtful[0]} may be {joined} "
        f"or several numbers: name it like step-{joined}{ending} or step-{last}{ending}"
    )


def _require_one_order(paths: list[Path], word: str, folder: Path) -> None:
    """Check that no other number in the names orders the files differently.

    After a word these are its own other numbers and those after words of longer spans, else all whole numbers at one
    place in the names, counted from either end.

    Raises:
        CurvatureError: One does, as in model-2024-01-31 and model-2024-02-01, epoch-1-step-9 and epoch-2-step-5, or
            238_7a8882 and 666_dbd6fe, which end in hashes.
    """
    words = _WORDS[_WORDS.index(word) :] if word else ("",)
    for numbers in ([_numbers_of(path, one) for path in paths] for one in words):
        for place in range(max(map(len, numbers))):
            for at in (place, -place - 1):
                column = [(path, own[at]) for path, own in zip(paths, numbers, strict=True) if len(own) > place]
                _require_increase(column, folder)


def _require_increase(column: Sequence[tuple[Path, int]], folder: Path) -> None:
    for (path, number), (after, larger) in pairwise(column):
        if number > larger:
            raise CurvatureError(
                f"{path.name} and {after.name} in {folder} have several numbers that order them differently: keep "
                f"one number in each name, such as step-100{path.suffix}, or the files of one run in the folder"
            )


def order_of_states(folder: Path) -> str:
    """Return in words which number orders the files: the one after step, iter, round or epoch, else the last whole one.

    Raises:
        CurvatureError: As `numbered_states`.
    """
    word = _word_of(_numbered_paths(folder))
    return f"the number after {word!r}" if word else "the last whole number of each name"


def _numbered_paths(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CurvatureError(f"folder {folder} does not exist: name one that holds files of weights")
    found = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in ENDINGS and path.is_file()]
    for path in found:
        if re.search(r"-\d{5}-of-\d{5}$", path.stem):
            raise CurvatureError(
                f"{path.name} in {folder} is a shard of one state, as save_pretrained writes large models: save the "
                "whole state in one file, by torch.save(model.state_dict(), 'step-100.pt')"
            )
    found = [path for path in found if _is_numbered(path)]
    if not found:
        raise CurvatureError(
            f"{folder} holds no file of weights with a number in its name, such as step-100.safetensors; readable "
            f"formats are {', '.join(ENDINGS)}"
        )
    return found


def _is_numbered(path: Path) -> bool:
    return re.search(r"\d", path.stem) is not None


def left_out_states(folder: Path) -> list[str]:
    """Return the names of files that `numbered_states` leaves out: of weights without a number, or of other formats."""
    names = [path for path in folder.iterdir() if path.is_file()]
    unread = [path for path in names if path.suffix.lower() in _UNREAD]
    return sorted(
        path.name for path in names if path in unread or (path.suffix.lower() in ENDINGS and not _is_numbered(path))
    )


def _word_of(paths: list[Path]) -> str:
    """Return the word whose numbers order files; empty if it is the last whole number of each name."""
    for word in _WORDS:
        numbers = [_number_of(path, word) for path in paths]
        if None not in numbers and len(set(numbers)) == len(paths):
            return word
    return ""


def _number_of(path: Path, word: str) -> int | None:
    """Return the last whole number after a word, or of all if the word is empty; None if there is none."""
    numbers = _numbers_of(path, word)
    return numbers[-1] if numbers else None


def _numbers_of(path: Path, word: str) -> list[int]:
    """Return the whole numbers after a word, or all if the word is empty."""
    after_word = rf"(?<![a-z]){word}s?[^a-z0-9]*?({_GROUPED}|{_NUMBER})"
    found = re.findall(after_word if word else _ANY_NUMBER, path.stem, re.IGNORECASE)
    return [int(text) for text in found if text.isdecimal()]


def load_state(model: nn.Module, path: Path) -> None:
    """Load the weights of a file into a model like `load_state_dict`, without running anything from the file.

    Raises:
        CurvatureError: A file that is not a state_dict, or not of this model, or whose numbers a cast to the model's
            types would change by more than rounding.
    """
    try:
        state = load_file(path) if path.suffix.lower() == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, SafetensorError, UnpicklingError) as error:
        kind = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, UnpicklingError) else None
        if kind is not None:
            raise CurvatureError(
                f"{path} cannot be read as weights, because it holds an object of {kind[1]}, which could run code: "
                "save only tensors and plain values, also in get_extra_state"
            ) from error
        said = " ".join(str(error).split())[:120]
        raise CurvatureError(f"{path} cannot be read as weights ({said}): save model.state_dict()") from error
    own = model.state_dict(keep_vars=True)
    others = (
        [name for name, value in state.items() if not isinstance(value, Tensor)] if isinstance(state, dict) else [""]
    )
    # What get_extra_state returns is part of a state_dict, and the model takes it back by set_extra_state.
    strange = [name for name in others if str(name).rpartition(".")[2] != _EXTRA]
    if strange:
        raise CurvatureError(
            f"{path} holds more than tensors by name: save only model.state_dict(), or load it in the "
            "function that --model names"
        )
    if foreign := [name for name in others if name not in own]:
        raise CurvatureError(
            f"{path} holds {foreign[0]}, what get_extra_state returned, and the model has no such method there: build "
            "the model that was saved"
        )
    plain = [name for name, value in own.items() if isinstance(value, Tensor) and value.layout == torch.strided]
    if partial := [name for name in plain if isinstance(state.get(name), Tensor) and not _has_numbers(state[name])]:
        raise CurvatureError(
            f"{partial[0]} in {path} is a {_kind(state[partial[0]])} tensor: save tensors that hold all numbers"
        )
    _complete(state, own, path)
    for name, tensor in own.items():
        given = state.get(name)
        if isinstance(tensor, Tensor) and isinstance(given, Tensor) and not _serves(given, tensor):
            raise CurvatureError(
                f"{name} in {path} is {_name(given)} and {_name(tensor)} in the model: save the state_dict of that "
                "model, or build the model in the type of the file"
            )
        if isinstance(tensor, Tensor) and isinstance(given, Tensor) and not _only_rounds(given, tensor.dtype):
            raise CurvatureError(
                f"{name} in {path} is {_name(given)} with numbers up to {float(given.abs().max()):.3g}, which "
                f"{_name(tensor)} of the model cannot hold: build the model in the type of the file"
            )
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:  # set_extra_state is user code
        said = " ".join(str(error).split())[:200]
        raise CurvatureError(f"the weights in {path} are not those of the model: {said}") from error


def _complete(state: dict[str, Any], own: dict[str, Any], path: Path) -> None:
    """Give every name of a tied tensor what the file has under one of them, as `save_model` of safetensors writes it.

    Raises:
        CurvatureError: The file has different numbers under two names of one tensor.
    """
    tied: dict[tuple[Any, ...], list[str]] = {}
    for name, tensor in own.items():
        if isinstance(tensor, Tensor) and tensor.layout == torch.strided and tensor.numel() and not tensor.is_meta:
            place = tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()
            tied.setdefault(place, []).append(name)
    for names in tied.values():
        first, *rest = [name for name in names if name in state] or [""]
        for name in rest:
            if not _same(state[name], state[first]):
                raise CurvatureError(
                    f"{first} and {name} differ in {path}, and are one tensor in the model: build the model without "
                    "tying them"
                )
        if first:
            state.update((name, state[first]) for name in names)


def _same(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same numbers, where nan equals nan."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _has_numbers(given: Tensor) -> bool:
    return given.layout == torch.strided and not given.is_meta


def _kind(tensor: Tensor) -> str:
    return "meta" if tensor.is_meta else str(tensor.layout).removeprefix("torch.")


def _serves(given: Tensor, own: Tensor) -> bool:
    """Return whether a cast to the model's type is exact or rounds a floating-point number."""
    if own.is_complex() or own.is_floating_point():
        return given.is_floating_point() or (own.is_complex() and given.is_complex())
    if given.is_complex() or given.is_quantized:
        return False
    return given.dtype == own.dtype or bool((given.to(own.dtype).to(given.dtype) == given).all())


def _only_rounds(given: Tensor, dtype: torch.dtype) -> bool:
    """Return whether a cast to a floating-point type rounds the numbers, on the scale of the largest one.

    One of them may vanish next to the others, as a weight may that has decayed for long, but none may overflow.
    """
    if given.dtype == dtype or not (dtype.is_floating_point or dtype.is_complex):
        return True
    wide = torch.complex128 if given.is_complex() else torch.float64
    own, cast = given.to(wide), given.to(dtype).to(wide)
    finite = own.isfinite()
    if not bool(cast[finite].isfinite().all()):
        return False
    gaps, sizes = (cast - own)[finite].abs(), own[finite].abs()
    return not sizes.numel() or bool(gaps.max() <= torch.finfo(dtype).eps * sizes.max())


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
