"""Factors instead of dense layers: operations, memory, time and bytes; part of `benchmarks/federated.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from federated_cases import BATCH, COHORT, RATE, SEED, Case, Found, problem_of, ratios
from federated_loops import timed
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from algorithms.adapter import Adapter
from algorithms.descent import Descent, differentiate
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlora import FedLoRA
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import one_round
from algorithms.tree import Split, Tree
from runs.networks.network_function import Batch


def low_rank(case: Case, repetitions: int) -> Found:
    """Compare dense weights with factors: operations, memory and time of a gradient, and bytes of a round."""
    problem = problem_of(case, COHORT, BATCH)
    local = Descent(epochs=1, batch=BATCH, learning_rate=RATE)
    adapter = Adapter(case.rank, layers=case.layers)
    algorithms: dict[str, Any] = {
        "dense": FedAvg(local),
        f"W0 + AB, rank {case.rank}": FedLoRA(local, adapter),
        f"USV', rank {case.rank}": FeDLRT(local, case.rank, Truncation(0.0), "none", layers=case.layers),
    }
    answer: Found = {}
    works: dict[str, dict[str, Callable[[], Any]]] = {"time of a gradient": {}, "time of a round": {}}
    for name, algorithm in algorithms.items():
        fed, watched = Federation(problem.clients, seed=SEED), Watched(problem.clients[0])
        one = Federation([watched], seed=SEED)
        one_round(algorithm.round, one, algorithm.start(one, Tree(problem.start)))
        state = algorithm.start(fed, Tree(problem.start))
        with FlopCounterMode(display=False) as counted:
            watched.again()
        told = fed.ledger.bytes("down")
        one_round(algorithm.round, fed, state)
        works["time of a gradient"][name] = watched.again
        works["time of a round"][name] = lambda a=algorithm, fed=fed, state=state: one_round(a.round, fed, state)
        answer[name] = {
            "operations of a gradient": counted.get_total_flops(),
            "bytes kept for the backward pass": kept_bytes(watched.again),
            "trained numbers": sum(leaf.numel() for leaf in watched.trained),
            "bytes up in a round, each client": fed.ledger.bytes("up") // COHORT,
            "bytes down in a round, each client": (fed.ledger.bytes("down") - told) // COHORT,
            "bytes down once, each client": told // COHORT,
        }
    for what, work in works.items():
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
        for _ in range(repetitions):
            for name, call in work.items():
                times[name].append(timed(call))
        for name, entry in ratios(times, "dense").items():
            answer[name][what] = entry["cpu"]
    return answer


class Watched:
    """A client that keeps its last requested loss, so that it can be differentiated again."""

    takes_values = True

    def __init__(self, client: Any) -> None:
        self.client, self.samples, self.statistics = client, client.samples, client.statistics
        self.asked: Any = None

    def loss(self, w: Any, batch: Any = None) -> Tensor:
        """Return the loss of the client."""
        return self.loss_and_statistics(w, batch)[0]

    def loss_and_statistics(self, w: Any, batch: Any = None) -> Any:
        """Return the loss and statistics of the client."""
        self.asked = w, Batch(torch.arange(BATCH))
        return self.client.loss_and_statistics(w, self.asked[1])

    @property
    def trained(self) -> list[Tensor]:
        """Return the leaves that are differentiated."""
        return [leaf for leaf in Split(Tree(self.asked[0])).trained if leaf.requires_grad]

    def again(self) -> None:
        """Compute the gradient once more."""
        split = Split(Tree(self.asked[0]))
        places = [place for place, leaf in enumerate(split.trained) if leaf.requires_grad]

        def loss(given: Sequence[Tensor]) -> Any:
            leaves = list(split.trained)
            for place, leaf in zip(places, given, strict=True):
                leaves[place] = leaf
            return self.client.loss_and_statistics(split.rebuild(leaves), self.asked[1])

        differentiate(loss, [split.trained[place].detach() for place in places])


def kept_bytes(gradient: Callable[[], None]) -> int:
    """Count the bytes of the tensors that a forward pass saves for the backward pass, each memory once."""
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        gradient()
    return sum(sizes.values())
