"""Networks and data of `benchmarks/federated.py`, and the comparison of its times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from runs.network_problem import NetworkProblem, network_problem
from workloads.data.datasets import load
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import levels, perceptron, small_convnet
from workloads.partition import Parts

Found = dict[str, Any]
COHORT, SAMPLES, BATCH, RATE, SEED = 20, 160, 32, 0.05, 0


@dataclass(frozen=True)
class Case:
    """A network, and the number of its measurements.

    Attributes:
        make: The network.
        side: Height and width of the images.
        rounds: Rounds of every contender.
        layers: Names of the factorised layers.
        rank: Rank of the factors.
    """

    make: Callable[[], nn.Module]
    side: int
    rounds: int
    layers: str
    rank: int


def small_perceptron(inputs: int, hidden: int) -> nn.Module:
    """Return a perceptron for images, with one hidden layer."""
    return nn.Sequential(nn.Flatten(), *perceptron(inputs, (hidden,), 10, SEED, dtype=torch.float32))


CASES = {
    "MLP 196-20-10": Case(lambda: small_perceptron(196, 20), 14, 20, "1", 4),
    "MLP 784-200-10": Case(lambda: small_perceptron(784, 200), 28, 16, "1", 8),
    "ResNet-10, width 16, 14x14": Case(lambda: resnet(10, 10, SEED, channels=1, width=16), 14, 8, "layer*", 8),
}
CONVOLUTIONS = Case(lambda: small_convnet(28, (16, 32), 10, SEED, dtype=torch.float32), 28, 8, "0", 8)
TINY = {"MLP 196-20-10": Case(CASES["MLP 196-20-10"].make, 14, 2, "1", 4)}


def images(side: int, count: int) -> tuple[Tensor, Tensor]:
    """Return normalised images (count, 1, side, side) and labels of Fashion-MNIST, repeated if needed."""
    data = load("fashion-mnist")
    data = replace(data, images=data.images[:count], labels=data.labels[:count])
    which = torch.arange(count) % len(data.labels)
    x = levels(data, side, torch.float32)[:, None]
    return ((x - x.mean()) / x.std())[which], torch.from_numpy(data.labels).long()[which]


def problem_of(case: Case, clients: int, samples: int) -> NetworkProblem:
    """Return clients of equal size."""
    x, y = images(case.side, clients * samples)
    bounds = np.arange(clients + 1, dtype=np.int64) * samples
    return network_problem(case.make(), (x, y), Parts(np.arange(len(x)), bounds), (x[:100], y[:100]))


def ratios(times: Mapping[str, Sequence[tuple[float, float] | None]], base: str) -> Found:
    """Return seconds per round and ratios to a contender in the same rounds, by CPU and wall; None if it was absent."""
    answer: Found = {}
    for name, rounds in times.items():
        pairs = [(own, other) for own, other in zip(rounds, times[base], strict=True) if own and other]
        answer[name] = {}
        if not pairs:
            continue
        for k, of in enumerate(("cpu", "wall")):
            seconds, shares = [own[k] for own, _ in pairs], [own[k] / other[k] for own, other in pairs]
            answer[name][of] = {"seconds": statistics.median(seconds), "ratio": spread(shares)}
    return answer


def spread(values: Sequence[float]) -> Found:
    """Return median, quartiles and number of the values."""
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {"median": median, "quartiles": [low, high], "rounds": len(values)}


def plain(value: Any) -> Any:
    """Return floats rounded to four digits."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
