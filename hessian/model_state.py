"""A model as a pure function of chosen parameters: nothing of it is changed, not even for a moment by a gradient."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian.symmetric import CurvatureError

Selection = Sequence[str] | str | None
"""Names of parameters or patterns such as ``layer1.*``; ``None``: all that require gradients."""
_DROPOUT = (nn.modules.dropout._DropoutNd, nn.RReLU)


def selected(model: nn.Module, selection: Selection) -> dict[str, Tensor]:
    """The chosen parameters in the model's order, as aliases that share the weights and nothing else.

    Raises:
        CurvatureError: None left, a pattern that matches nothing, integer or complex or half-precision weights, weights
            that are not finite, or several dtypes or devices.
    """
    named = dict(model.named_parameters())
    if not named:
        raise CurvatureError("the model has no parameters")
    if selection is None:
        chosen = {name: p for name, p in named.items() if p.requires_grad}
        if not chosen:
            kinds = sorted({str(p.dtype) for p in named.values() if not p.is_floating_point()})
            why = f"they are {', '.join(kinds)}" if kinds else "every requires_grad is False; name those that are meant"
            raise CurvatureError(f"the model has no trainable parameter: {why}")
    else:
        chosen = {name: named[name] for name in matching(tuple(named), selection)}
    for name, parameter in chosen.items():
        if parameter.dtype not in (torch.float32, torch.float64):
            raise CurvatureError(
                f"{name} is {parameter.dtype}; second derivatives need float32 or float64 (model.double())"
            )
        if not parameter.is_meta and not bool(torch.isfinite(parameter).all()):
            raise CurvatureError(f"{name} has weights that are not finite")
    devices = {str(p.device) for p in named.values()} | {str(b.device) for b in model.buffers()}
    dtypes = {str(p.dtype) for p in chosen.values()}
    if len(devices) > 1:
        raise CurvatureError(f"the model lies on several devices ({', '.join(sorted(devices))}); move it to one")
    if len(dtypes) > 1:
        raise CurvatureError(f"the parameters have several dtypes ({', '.join(sorted(dtypes))}); use one")
    if devices == {"meta"}:
        raise CurvatureError("the model lies on the meta device and has no weights")
    return {name: parameter.detach().requires_grad_() for name, parameter in chosen.items()}


def matching(names: Sequence[str], patterns: Sequence[str] | str) -> list[str]:
    """The names that match a pattern, in their order.

    Raises:
        CurvatureError: No pattern, or one that matches nothing.
    """
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    if not wanted:
        raise CurvatureError("no parameter was named; pass names or patterns, or None for all trainable ones")
    for pattern in wanted:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise CurvatureError(f"no parameter matches {pattern!r}; the first are {', '.join(list(names)[:6])}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)]


def check_modes(model: nn.Module, batch_norm: str | None) -> None:
    """Refuses dropout left on, and batch norm without a named policy.

    Raises:
        CurvatureError: One of these, or an unknown policy.
    """
    if batch_norm not in (None, "running", "batch"):
        raise CurvatureError(f"batch_norm must be 'running' or 'batch', got {batch_norm!r}")
    for name, module in model.named_modules():
        random = isinstance(module, _DROPOUT) and getattr(module, "p", 1.0) > 0
        if module.training and (random or (isinstance(module, nn.RNNBase) and module.dropout > 0)):
            raise CurvatureError(f"dropout is on in {name or 'the model'!r}: call model.eval() first")
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and batch_norm is None and module.training:
            raise CurvatureError(
                f"batch norm {name!r} is in training mode: name the statistics, batch_norm='running' (of training) or "
                "'batch' (of each batch, which couples its samples)"
            )


class PureModel:
    """Calls a model with aliases in place of its parameters and copies in place of its buffers."""

    def __init__(self, model: nn.Module, chosen: dict[str, Tensor], batch_norm: str | None) -> None:
        self._model, self._batch_norm = model, batch_norm
        self._chosen = chosen
        self._versions = {name: parameter._version for name, parameter in model.named_parameters()}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The output, differentiable in the chosen parameters only."""
        rest = {name: p.detach() for name, p in self._model.named_parameters() if name not in self._chosen}
        buffers = {name: buffer.clone() for name, buffer in self._model.named_buffers()}
        # Fused attention has no second derivative.
        with _batch_norm(self._model, self._batch_norm), sdpa_kernel(SDPBackend.MATH):
            return functional_call(self._model, {**rest, **self._chosen, **buffers}, args, kwargs, tie_weights=True)

    def require_unchanged(self) -> None:
        """Refuses weights that were changed since, which a kept graph would not notice.

        Raises:
            CurvatureError: They were.
        """
        for name, parameter in self._model.named_parameters():
            if parameter._version != self._versions.get(name):
                raise CurvatureError(f"{name} was changed after the operator was built; build it anew")


@contextmanager
def _batch_norm(model: nn.Module, policy: str | None) -> Iterator[None]:
    modules = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)] if policy else []
    modes = [module.training for module in modules]
    try:
        for module in modules:
            module.training = policy == "batch"
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def owner(name: str) -> str:
    """The module that a parameter belongs to: ``layer1.0.conv1`` for ``layer1.0.conv1.weight``."""
    return name.rpartition(".")[0]
