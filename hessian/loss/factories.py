"""Models, data and losses named as ``module:name`` on a command line, with one clear error for each mistake."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from hessian.loss.batches import Loss
from hessian.loss.output_curvature import Law
from hessian.numerics.symmetric import CurvatureError
from workloads.code_names import names_code

LOSSES: dict[str, type[nn.Module]] = {"cross-entropy": nn.CrossEntropyLoss, "mse": nn.MSELoss}
"""Losses by name; means over samples, or over all entries of the targets."""


def model_of(spec: str) -> nn.Module:
    """Call a model factory, or a model class, without arguments.

    Raises:
        CurvatureError: The name cannot be resolved, the factory raises, or it gives something else.
    """
    factory = import_object(spec, "model")
    if isinstance(factory, nn.Module):
        raise CurvatureError(f"{spec} is a model; name a function that returns one, called without arguments")
    model = _call(factory, spec, "model")
    if not isinstance(model, nn.Module):
        raise CurvatureError(f"the model factory {spec} must return a torch.nn.Module, got {type(model).__name__}")
    return model


def data_of(spec: str) -> Any:
    """Call a data factory without arguments; its result is checked where it is read.

    Raises:
        CurvatureError: The name cannot be resolved, or the factory raises or gives nothing.
    """
    data = _call(import_object(spec, "data"), spec, "data")
    if data is None:
        raise CurvatureError(
            f"the data factory {spec} returned None; it must return (inputs, targets), a mapping or batches"
        )
    return data


def loss_of_name(spec: str) -> Loss:
    """Return a loss of `LOSSES`, a loss function by its name, or an instance of a loss class.

    Raises:
        CurvatureError: None of these.
    """
    if spec in LOSSES:
        return LOSSES[spec]()
    if ":" not in spec:
        raise CurvatureError(f"unknown loss {spec!r}; use {', '.join(LOSSES)} or module:function")
    loss = import_object(spec, "loss")
    if isinstance(loss, type):
        loss = _call(loss, spec, "loss")
    if not callable(loss):
        raise CurvatureError(f"the loss {spec} must be a function of (output, targets), got {type(loss).__name__}")
    return loss


def count_of(spec: str) -> Callable[[Any], int]:
    """Return a function that gives the number of samples, or of tokens, of a batch.

    Raises:
        CurvatureError: The name cannot be resolved, or is not a function.
    """
    count = import_object(spec, "count")
    if not callable(count):
        raise CurvatureError(f"the count {spec} must be a function of a batch, got {type(count).__name__}")
    function: Callable[[Any], int] = count
    return function


def find_law(spec: str) -> Law:
    """Return a function from the output to the distribution of the targets.

    Raises:
        CurvatureError: The name cannot be resolved, or is not a function.
    """
    law = import_object(spec, "law")
    if not callable(law):
        raise CurvatureError(f"the law {spec} must be a function of the output, got {type(law).__name__}")
    function: Law = law
    return function


USER_ERRORS = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""Errors by which a model, a loss or data that cannot be evaluated say so."""


def user_error(error: BaseException, what: str) -> CurvatureError:
    """Convert an error of a user's code to one line with its kind and its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}, line {frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return CurvatureError(f"{what} failed: {type(error).__name__}{place}{': ' if text else ''}{text[:300]}")


def import_object(spec: str, what: str) -> Any:
    """Return the object that ``module:name`` on a command line names.

    Args:
        spec: The name.
        what: The option that gives the name, for the messages.

    Raises:
        CurvatureError: It cannot be imported.
    """
    module, _, name = spec.partition(":")
    if not names_code(spec):
        raise CurvatureError(f"--{what} must look like module:name, got {spec!r}")
    try:
        place: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(error.name + ".")):
            raise CurvatureError(
                f"there is no module {error.name!r} for --{what} {spec}; modules are searched in the current "
                f"folder and on Python's path"
            ) from None
        found = user_error(error, f"importing {module}")
        raise CurvatureError(f"{found}; put it into the current folder, or its folder on PYTHONPATH") from error
    except (Exception, SystemExit) as error:
        raise user_error(error, f"importing {module}") from error
    for part in name.split("."):
        if not hasattr(place, part):
            raise CurvatureError(f"module {module!r} has no {name!r} for --{what}")
        place = getattr(place, part)
    return place


def _call(factory: Any, spec: str, what: str) -> Any:
    if not callable(factory):
        raise CurvatureError(f"{spec} is a {type(factory).__name__}; name a function without arguments that returns it")
    function: Callable[[], Any] = factory
    try:
        with torch.enable_grad():
            return function()
    except (Exception, SystemExit) as error:
        raise user_error(error, f"the {what} factory {spec}") from error
