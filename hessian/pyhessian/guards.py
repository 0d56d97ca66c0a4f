"""Guards around a call of PyHessian: checks before it, what it lacks during it, everything restored after it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hessian.loss.batches import Batches, Loss
from hessian.loss.checked_objective import checked_objective
from hessian.loss.model_state import has_weight_norm
from hessian.numerics.symmetric import CurvatureError


@dataclass(frozen=True)
class PlainBatches:
    """Batches as PyHessian takes them: one tensor of inputs, one of targets."""

    source: Batches
    device: torch.device
    dtype: torch.dtype

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for number, batch in enumerate(self.source.move_to(self.device, self.dtype), start=1):
            if isinstance(batch, Mapping) or not isinstance(batch[0], Tensor):
                kind = "a mapping" if isinstance(batch, Mapping) else f"inputs of {type(batch[0]).__name__}"
                raise CurvatureError(
                    f"batch {number} is or has {kind}; PyHessian takes (inputs, targets), a tensor each: use Curvature"
                )
            yield batch[0].detach(), batch[1]


def require_fit(model: nn.Module, loss: Loss, batches: PlainBatches) -> None:
    """Refuse what PyHessian would compute wrongly or fail on, with the model in evaluation mode.

    Raises:
        CurvatureError: Batches of another kind, what `Objective` refuses, or parameters without curvature.
    """
    for _ in batches:
        pass
    if has_weight_norm(model):
        raise CurvatureError(
            "PyHessian differentiates fused weight norm, whose second derivative is wrong: use Curvature"
        )
    checked_objective(model, loss, batches.source, offered=())
    _require_used(model, loss, *next(iter(batches)))


def _require_used(model: nn.Module, loss: Loss, inputs: Tensor, targets: Tensor) -> None:
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    value = loss(model(inputs), targets)
    if not value.requires_grad:
        raise CurvatureError("the loss does not depend on any of the parameters: look for detach() or no_grad()")
    gradients = torch.autograd.grad(value, list(named.values()), create_graph=True, allow_unused=True)
    alive = [gradient for gradient in gradients if gradient is not None and gradient.requires_grad]
    rows: tuple[Tensor | None, ...] = (None,) * len(named)
    if alive:
        rows = torch.autograd.grad(alive, list(named.values()), [torch.ones_like(g) for g in alive], allow_unused=True)
    pairs = zip(named, gradients, rows, strict=True)
    flat = [name for name, g, row in pairs if g is None or not g.requires_grad or row is None]
    if flat:
        raise CurvatureError(
            f"the loss does not depend on {', '.join(flat[:4])}{' ...' if flat[4:] else ''}, or only linearly, where "
            "PyHessian fails; set requires_grad_(False) there, its rows of the Hessian are zero"
        )


@contextmanager
def restoring(model: nn.Module, loss: Loss) -> Iterator[None]:
    """Remove gradients inside the context; restore modes and gradients on exit."""
    modules = [*model.modules(), *(loss.modules() if isinstance(loss, nn.Module) else ())]
    modes = [(module, module.training) for module in modules]
    parameters = [p for module in modules for p in module.parameters(recurse=False)]
    gradients = [(p, p.grad) for p in parameters]
    try:
        for parameter in parameters:
            parameter.grad = None
        yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, mode in modes:
            module.training = mode


@contextmanager
def seeding(device: torch.device, seed: int) -> Iterator[None]:
    """Use a separate random state, and the model's device as the current one."""
    devices = [device] if device.type == "cuda" else []
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=devices))
        torch.default_generator.manual_seed(seed)
        if devices:
            stack.enter_context(torch.cuda.device(device))  # PyHessian says 'cuda' and means the current one
            torch.cuda.manual_seed(seed)
        yield


class _SuppliedTorch:
    """`torch` as PyHessian sees it: with `eig` where that is gone, and new tensors in the parameters' dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        if not _has_eig():
            self.eig = _symmetric_eig

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def zeros(self, *size: Any, **options: Any) -> Tensor:
        """Return zeros in the parameters' dtype: the tridiagonal matrix would be float32 otherwise."""
        return torch.zeros(*size, **{"dtype": self._dtype, **options})

    def randn(self, *size: Any, **options: Any) -> Tensor:
        """Return normal numbers in the parameters' dtype."""
        return torch.randn(*size, **{"dtype": self._dtype, **options})


@contextmanager
def supplying_torch(dtype: torch.dtype) -> Iterator[None]:
    """Replace `torch` in PyHessian's module inside the context; `torch` itself does not change."""
    module: Any = importlib.import_module("pyhessian.hessian")
    before = module.torch
    module.torch = _SuppliedTorch(dtype)
    try:
        yield
    finally:
        module.torch = before


def _has_eig() -> bool:
    try:
        torch.eig(torch.eye(1), eigenvectors=True)
    except (AttributeError, RuntimeError):
        return False
    return True


def _symmetric_eig(matrix: Tensor, eigenvectors: bool = False) -> tuple[Tensor, Tensor]:
    """Return what `torch.eig` gave for a real symmetric matrix: real and imaginary parts, and eigenvectors."""
    if float((matrix - matrix.T).abs().max()) > 0.0:
        raise CurvatureError("PyHessian asked for eigenvalues of a matrix that is not symmetric: an unknown version?")
    values, vectors = torch.linalg.eigh(matrix.double())
    return torch.stack([values, torch.zeros_like(values)], dim=1), vectors
