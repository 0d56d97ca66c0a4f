"""Functions and clients that actors of `benchmarks/scale.py` import: a million clients, processes and their times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from algorithms.exchange import Client, Memory, Reply
from runs.network_problem import NetworkProblem, network_problem
from toymodels.quadratic import Quadratic
from workloads.image_networks.models import ModelSettings, model
from workloads.image_networks.small import perceptron
from workloads.partition import Parts

TICK = os.sysconf("SC_CLK_TCK")


class ManyClients:
    """Quadratics that are created on request.

    Attributes:
        sizes: Sizes of their data, all equal.
    """

    def __init__(self, count: int, shape: tuple[int, int]) -> None:
        self.sizes: Sequence[float] = np.ones(count)  # type: ignore[assignment]
        self._shape = shape

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> Client:
        generator = torch.Generator().manual_seed(number)
        factor = torch.randn(2 * [self._shape[0] * self._shape[1]], generator=generator, dtype=torch.float64)
        H = (factor @ factor.T / len(factor)).reshape(2 * self._shape)
        return Quadratic(H, torch.randn(self._shape, generator=generator, dtype=torch.float64), 0.0)


def nothing(client: Client, memory: Memory) -> Reply:
    """Do no work, and return one number."""
    return Reply(torch.zeros(()))


def perceptron_problem(clients: int, hidden: int) -> NetworkProblem:
    """Return a perceptron of 784 inputs on random data, with 64 samples for each client."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(64 * clients, 784, generator=generator), torch.arange(64 * clients) % 10
    module = nn.Sequential(*perceptron(784, (hidden,), 10, 0, dtype=torch.float32))
    parts = Parts(np.arange(len(x)), np.arange(clients + 1, dtype=np.int64) * 64)
    return network_problem(module, (x, y), parts, (x[:10], y[:10]))


def image_problem(clients: int) -> NetworkProblem:
    """Return a ResNet-10 of a quarter of its width on random grey 28 x 28 images, 64 samples for each client."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(64 * clients, 1, 28, 28, generator=generator), torch.arange(64 * clients) % 10
    parts = Parts(np.arange(len(x)), np.arange(clients + 1, dtype=np.int64) * 64)
    return network_problem(model("resnet10", ModelSettings(10, 1, 28, width=16)), (x, y), parts, (x[:10], y[:10]))


def descendants(root: int) -> dict[int, str]:
    """Return the processes that a process and its children have started, with their command lines."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            status = (place / "stat").read_text()
            names[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        parents[int(place.name)] = int(status.rpartition(")")[2].split()[1])
    found: dict[int, str] = {}
    new = {root}
    while new:
        new = {process for process, parent in parents.items() if parent in new}
        found |= {process: names[process] for process in new}
    return found


def processor_seconds(root: int) -> float:
    """Return the processor time of a process and of its living descendants."""
    total = 0.0
    for process in (root, *descendants(root)):
        try:
            fields = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def memory(processes: Mapping[int, str], name: str) -> int:
    """Return the largest private memory, in bytes, among processes whose command line contains a name."""
    found = [0]
    for process, command in processes.items():
        if name in command:
            lines = (Path("/proc") / str(process) / "status").read_text().splitlines()
            found.append(sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")))
    return max(found)


def tensors_of(tree: Mapping[str, Tensor]) -> list[Tensor]:
    """Return its tensors, in order."""
    return [tree[name] for name in sorted(tree)]
