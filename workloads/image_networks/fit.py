"""Plain mini-batch training of small classifiers on one machine, the same on every call."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor], Tensor]
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class FitSettings:
    """Settings of training.

    Attributes:
        epochs: Passes over the data; 0 leaves the model as it is.
        batch: Samples in a mini-batch; the last of an epoch may be smaller.
        learning_rate: Step size.
        optimizer: `adam` or `sgd`.
        momentum: Momentum of `sgd`; not used by `adam`.
        weight_decay: Coefficient of the L2 penalty that the optimizer adds to the gradient.
        seed: Seed of the order of the samples, and of the model's own randomness, such as dropout.

    Raises:
        ValueError: A value is out of its range.
    """

    epochs: int = 10
    batch: int = 64
    learning_rate: float = 1e-3
    optimizer: str = "adam"
    momentum: float = 0.9
    weight_decay: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch < 1:
            raise ValueError(f"epochs must be at least 0 and batch at least 1, got {self.epochs} and {self.batch}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.optimizer not in ("adam", "sgd"):
            raise ValueError(f"optimizer must be 'adam' or 'sgd', got {self.optimizer!r}")
        if not 0 <= self.momentum < 1 or not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                f"momentum must be in [0, 1) and weight_decay at least 0, got {self.momentum} and {self.weight_decay}"
            )


@dataclass(frozen=True)
class FitResult:
    """Results of training.

    Attributes:
        losses: Mean loss over the samples of each epoch, as met during the epoch.
        accuracy: Share of the training samples classified rightly by the final model, in evaluation mode.
        seconds: Wall time.
    """

    losses: tuple[float, ...]
    accuracy: float
    seconds: float


def fit(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    settings: FitSettings,
    *,
    loss: Loss = nn.functional.cross_entropy,
    progress: Progress | None = None,
) -> FitResult:
    """Train a classifier in place and return its losses, accuracy and time.

    The order of the samples is drawn from a generator of its own, so it depends only on the seed; the global
    random state and the model's mode are left as they were.

    Args:
        model: Maps (n, ...) inputs to logits (n, classes).
        x: The N inputs, (N, ...), on the model's device.
        y: Classes of the inputs, int64 (N,).
        settings: How to train.
        loss: Maps (logits, classes) to the mean loss.
        progress: Called with (epochs done, mean loss of the epoch).

    Raises:
        ValueError: No samples, unequal numbers of inputs and classes, or no trainable parameter.
        FloatingPointError: The loss is not finite; the message names the epoch and the batch, counted from 1.
    """
    if len(x) == 0 or y.shape != (len(x),):
        raise ValueError(f"expected N >= 1 inputs and classes (N,), got {len(x)} inputs and {tuple(y.shape)}")
    started = time.perf_counter()
    optimizer = _optimizer(model, settings)
    order = torch.Generator().manual_seed(settings.seed)
    training = {module: module.training for module in model.modules()}
    losses = []
    devices = [x.device] if x.is_cuda else []
    with torch.random.fork_rng(devices=devices), torch.enable_grad():
        torch.manual_seed(settings.seed)
        model.train()
        try:
            for epoch in range(settings.epochs):
                batches = torch.randperm(len(x), generator=order).to(x.device).split(settings.batch)
                losses.append(_epoch(model, x, y, batches, optimizer, loss, epoch))
                if progress is not None:
                    progress(epoch + 1, losses[-1])
            accuracy = _accuracy(model, x, y)
        finally:
            for module, mode in training.items():
                module.training = mode
    return FitResult(tuple(losses), accuracy, time.perf_counter() - started)


def _optimizer(model: nn.Module, settings: FitSettings) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("the model has no trainable parameter (every requires_grad is False)")
    if settings.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    return torch.optim.SGD(
        parameters, lr=settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
    )


def _epoch(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    batches: tuple[Tensor, ...],
    optimizer: torch.optim.Optimizer,
    loss: Loss,
    epoch: int,
) -> float:
    total = 0.0
    for number, batch in enumerate(batches, start=1):
        optimizer.zero_grad(set_to_none=True)
        value = loss(model(x[batch]), y[batch])
        if not math.isfinite(value.item()):
            raise FloatingPointError(
                f"the loss is {value.item()} in epoch {epoch + 1}, batch {number} of {len(batches)}: "
                f"lower the learning rate ({optimizer.param_groups[0]['lr']:g}) or check the inputs"
            )
        value.backward()
        optimizer.step()
        total += value.item() * len(batch)
    optimizer.zero_grad(set_to_none=True)
    return total / len(x)


@torch.no_grad()
def _accuracy(model: nn.Module, x: Tensor, y: Tensor, rows: int = 2000) -> float:
    model.eval()
    right = sum(
        int((model(inputs).argmax(dim=1) == classes).sum())
        for inputs, classes in zip(x.split(rows), y.split(rows), strict=True)
    )
    return right / len(x)
