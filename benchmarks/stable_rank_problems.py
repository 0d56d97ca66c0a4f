"""Networks of several kinds whose Hessian has a known low or high stable rank.

The large eigenvalues of networks trained on MNIST stand out, so that the stable rank is low; under squared loss on
white inputs none does. Seeds are 0 throughout; sizes and epochs were chosen for the stable rank that they give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.stable_rank_routes import Problem
from hessian import Curvature, Krylov, exact_hessian, stable_rank_of
from workloads.data import datasets
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, pool, small_convnet
from workloads.image_networks.vit import vit

CLASSES = nn.CrossEntropyLoss()
SQUARES = nn.MSELoss()


@dataclass(frozen=True)
class Case:
    """A problem's factory, and the effort spent on it.

    Attributes:
        name: Name in print.
        make: Function that makes the problem.
        tries: Seeds by which the peers' settings are chosen; ours are chosen by twice as many.
        confirmations: Further seeds on which ours are confirmed.
        rounds: Rounds of timing.
        wide: The same network on a batch of the usual size, for the share of time inside products.
        deep: The network has many layers, so blocks are those of modules at depth 1.
    """

    name: str
    make: Callable[[], Problem]
    tries: int
    confirmations: int
    rounds: int
    wide: Callable[[Problem], Problem] | None = None
    deep: bool = False


def exact_problem(model: nn.Module, loss: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> Problem:
    """Return a problem small enough for its dense Hessian, in double precision."""
    dense = model.double()
    wide = targets.double() if targets.is_floating_point() else targets
    H = exact_hessian(dense, loss, inputs.double(), wide)
    model.float()
    values = torch.linalg.eigvalsh(H).numpy()
    top, square = float(np.abs(values).max()), float((values**2).sum())
    # Var |Hz|^2 over signs z: 2 (|H^2|_F^2 less the squared diagonal of H^2).
    variance = 2.0 * float((values**4).sum() - ((H**2).sum(dim=1) ** 2).sum()) / square**2
    facts = {
        "truth": "dense Hessian in double precision",
        "effective rank of H^2": square**2 / float((values**4).sum()),
    }
    return Problem(model, loss, inputs, targets, square / top**2, top, square, variance, facts)


def large_problem(
    model: nn.Module,
    loss: nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    width: float = 0.004,
    basis: int = 200,
    steps: int = 60,
) -> Problem:
    """Return a problem whose truth is our own interval, far narrower than the contest's (by default 4 to 30 times).

    The variance of a probe is that of as many of the largest eigenvalues as there are steps, which carry it.
    """
    operator = Curvature(model, loss, (inputs, targets))
    found = stable_rank_of(operator, rng=np.random.default_rng(99), relative_width=width, products=4000, basis=basis)
    krylov = Krylov(operator, np.random.default_rng(98))
    krylov.extend(steps)
    fourth = float((krylov.ritz()[0] ** 4).sum())
    square = found.frobenius.value**2
    facts = {
        "truth": f"our interval [{found.low:.5g}, {found.high:.5g}], {found.products} products",
        "effective rank of H^2": square**2 / fourth,
    }
    top = found.spectral_norm.value
    return Problem(model, loss, inputs, targets, found.value, top, square, 2.0 * fourth / square**2, facts)


def mnist(side: int, count: int) -> tuple[Tensor, Tensor]:
    """Return MNIST images (count, side, side) and classes."""
    data = datasets.load("mnist")
    return pool(data, side, torch.float32)[:count], torch.from_numpy(data.labels[:count].astype("int64"))


def mlp(count: int, settings: FitSettings, samples: int) -> Problem:
    """Return a trained perceptron."""
    x, y = mnist(14, count)
    model = perceptron(196, (20,), 10, 0, dtype=torch.float32)
    fit(model, x.flatten(1), y, settings)
    return exact_problem(model, CLASSES, x[:samples].flatten(1), y[:samples])


def long_mlp() -> Problem:
    """Return a perceptron trained until few eigenvalues stand out."""
    return mlp(4000, FitSettings(epochs=60, learning_rate=3e-3), 256)


def short_mlp() -> Problem:
    """Return a briefly trained perceptron."""
    return mlp(1000, FitSettings(epochs=10), 512)


def residual(side: int, count: int, epochs: int) -> nn.Module:
    """Return a narrow ResNet-10 trained on MNIST, in evaluation mode."""
    x, y = mnist(side, count)
    model = resnet(10, 10, 0, channels=1, width=8)
    fit(model, x[:, None], y, FitSettings(epochs=epochs))
    return model.eval()


def long_resnet() -> Problem:
    """Return a ResNet-10 trained longer, on smaller images."""
    x, y = mnist(7, 64)
    model = residual(7, 4000, 6)
    return large_problem(model, CLASSES, x[:, None], y)


def short_resnet() -> Problem:
    """Return a briefly trained ResNet-10."""
    x, y = mnist(14, 32)  # a peer's thousand products are affordable on these
    return large_problem(residual(14, 1000, 3), CLASSES, x[:, None], y)


class OverRows(nn.Module):
    """An LSTM over the rows of images (n, side, side), and a head on its last state."""

    def __init__(self, side: int, width: int) -> None:
        super().__init__()
        self.recurrent, self.head = nn.LSTM(side, width, batch_first=True), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (n, 10)."""
        return self.head(self.recurrent(x)[0][:, -1])


def recurrent() -> Problem:
    """Return a trained LSTM."""
    x, y = mnist(14, 2000)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = OverRows(14, 16)
    fit(model, x, y, FitSettings(epochs=10, learning_rate=3e-3))
    return exact_problem(model, CLASSES, x[:64], y[:64])


def attending() -> Problem:
    """Return a trained vision transformer, in evaluation mode."""
    x, y = mnist(14, 2000)
    model = vit(10, 0, channels=1, side=14, adapt="pad", width=32, depth=3)
    fit(model, x[:, None], y, FitSettings(epochs=6))
    return large_problem(model.eval(), CLASSES, x[:32, None], y[:32])


def on_more_images(problem: Problem) -> Problem:
    """Return the same network on 128 images; its truth is neither known nor needed."""
    x, y = mnist(problem.inputs.shape[-1], 128)
    return replace(problem, inputs=x[:, None], targets=y)


def flat_mlp() -> Problem:
    """Return squared loss on white inputs, without large eigenvalues."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2000, 40, generator=generator), torch.randn(2000, 60, generator=generator)
    model = perceptron(40, (40,), 60, 0, dtype=torch.float32)
    return exact_problem(model, SQUARES, x, y)


def white_images() -> tuple[nn.Module, Tensor, Tensor]:
    """Return a network with a small head, whose weights would otherwise make filters stand out, images and values."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(500, 8, 8, generator=generator), torch.randn(500, 20, generator=generator)
    model = small_convnet(8, (4,), 20, 0, dtype=torch.float32)
    with torch.no_grad():
        model[-1].weight.mul_(0.1)
    return model, x, y


def flat_cnn() -> Problem:
    """Return squared loss on white images: eigenvectors near the axes, nearly twentyfold eigenvalues."""
    model, x, y = white_images()
    return exact_problem(model, SQUARES, x, y)


CASES = (
    Case("MLP 196-20-10, MNIST, 60 epochs", long_mlp, 10, 30, 9),
    Case("MLP 196-20-10, MNIST, 10 epochs", short_mlp, 10, 30, 9),
    Case("ResNet-10 of width 8, MNIST 7x7, 6 epochs", long_resnet, 4, 20, 5, on_more_images, True),
    Case("ResNet-10 of width 8, MNIST 14x14, 3 epochs", short_resnet, 4, 20, 5, on_more_images, True),
    Case("LSTM of width 16, rows of MNIST 14x14, 10 epochs", recurrent, 6, 20, 7),
    Case("vision transformer of width 32, MNIST 14x14, 6 epochs", attending, 4, 20, 5, None, True),
    Case("MLP 40-40-60, white inputs, squared loss", flat_mlp, 30, 60, 15),
    Case("CNN 8x8, white inputs, squared loss", flat_cnn, 30, 60, 15),
)
