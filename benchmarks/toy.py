"""One round of FeDLRT's Figure 4: our rounds on Gram matrices against a plain loop of autograd on the data points.

``python benchmarks/toy.py [--starts 20] [--plain-starts 2] [--figures]``. Both do one round of FedLin and of FeDLRT
(simplified correction, rank 4) for every number of clients from 1 to 32, alternating in one process on one thread; the
plain loop does so for fewer starts, and times are per start. The results are compared. ``--figures`` adds the time of
Figures 1 and 4 at quick scale. Writes one JSON file with the numbers and the environment.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import USV, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from figures.batched_starts import KeepAll, affine_map
from figures.figure import Settings
from figures.ledger import select
from figures.provenance import machine, package_versions
from toymodels.legendre import legendre_features, many_targets, random_targets

N, RANK, SAMPLES, CLIENTS = 20, 4, 10_000, (1, 2, 4, 8, 16, 32)
LOCAL = Descent(20, 1e-3)
Points = list[tuple[Tensor, Tensor]]


def points(clients: int, seed: int) -> Points:
    """Return the features of each client's points, as `many_targets` assigns them with the same seed."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1.0, 1.0, (2, SAMPLES))
    parts = np.array_split(rng.permutation(SAMPLES), clients)
    return [
        tuple(torch.from_numpy(legendre_features(values[rows], N, "uniform")) for values in (x, y))  # type: ignore[misc]
        for rows in parts
    ]


def loss(p: Tensor, q: Tensor, values: Tensor, W: Tensor) -> Tensor:
    """Return half the mean square over the points."""
    return 0.5 * (((p @ W) * q).sum(dim=1) - values).square().mean()


def slope(at: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a gradient by autograd."""
    variable = at.detach().requires_grad_()
    (found,) = torch.autograd.grad(value(variable), variable)
    return found


def mean(data: Points, parts: Sequence[Tensor]) -> Tensor:
    """Return the mean over clients weighted by their numbers of points."""
    return sum((len(p) * part for (p, _), part in zip(data, parts, strict=True)), torch.zeros(())) / SAMPLES


def plain_fedlin(data: Points, target: Tensor, W: Tensor) -> Tensor:
    """Run one round for one start, client after client."""
    values = [((p @ target) * q).sum(dim=1) for p, q in data]
    own = [slope(W, lambda w, i=i: loss(*data[i], values[i], w)) for i in range(len(data))]  # type: ignore[misc]
    G = mean(data, own)
    ends = []
    for i, (p, q) in enumerate(data):
        w = W
        for _ in range(LOCAL.steps):
            w = w - LOCAL.learning_rate * (slope(w, lambda v: loss(p, q, values[i], v)) + G - own[i])  # noqa: B023
        ends.append(w)
    return mean(data, ends)


def plain_fedlrt(data: Points, target: Tensor, U: Tensor, S: Tensor, V: Tensor) -> Tensor:
    """Run one round for one start up to the truncation, client after client; return the matrix."""
    values = [((p @ target) * q).sum(dim=1) for p, q in data]
    slopes = []
    for (p, q), f in zip(data, values, strict=True):
        factors = [part.detach().requires_grad_() for part in (U, S, V)]
        slopes.append(torch.autograd.grad(loss(p @ factors[0], q @ factors[2], f, factors[1]), factors))
    G_U, G_S, G_V = (mean(data, parts) for parts in zip(*slopes, strict=True))
    Ut, Vt = (torch.linalg.qr(torch.cat([base, G], dim=1))[0][:, RANK:] for base, G in ((U, G_U), (V, G_V)))
    Ut, Vt = torch.cat([U, Ut], dim=1), torch.cat([V, Vt], dim=1)
    start = torch.nn.functional.pad(S, (0, RANK, 0, RANK))
    ends = []
    for (p, q), f, (_, own, _) in zip(data, values, slopes, strict=True):
        correction, s = torch.nn.functional.pad(G_S - own, (0, RANK, 0, RANK)), start
        a, b = p @ Ut, q @ Vt
        for _ in range(LOCAL.steps):
            s = s - LOCAL.learning_rate * (slope(s, lambda v: loss(a, b, f, v)) + correction)  # noqa: B023
        ends.append(s)
    return Ut @ mean(data, ends) @ Vt.T


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median wall time after a warm-up, and the result."""
    result = work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def peak() -> float:
    """Return the floating-point operations per second of a large matrix product."""
    A = torch.randn(1500, 1500, dtype=torch.float64)
    return 2 * 1500**3 / timed(lambda: A @ A, 5)[0]


def one_number_of_clients(C: int, starts: int, plain_starts: int, repeats: int) -> dict[str, Any]:
    """Measure times per start, operations, and the largest difference between the two codes."""
    rng = np.random.default_rng(1)
    targets = random_targets(starts, (N, N), RANK, rng)
    W = torch.from_numpy(rng.standard_normal((starts, N, N)) / np.sqrt(N))
    clients = many_targets(
        targets.expand(C, *targets.shape), np.random.default_rng(2), samples=SAMPLES, basis="uniform"
    )
    data = points(C, 2)
    cut = [factorise(Tree(W=start), RANK) for start in W]
    state = USV(*(Tree(W=torch.stack([one[part]["W"] for one in cut])) for part in range(3)))
    fed = Federation(clients, executor=Vmap())
    low, full = FeDLRT(LOCAL, RANK, KeepAll()), FedLin(LOCAL)

    def our_fedlrt() -> Tensor:
        return product(one_round(low.round, fed, state))["W"]

    def our_fedlin() -> Tensor:
        return one_round(full.round, fed, Tree(W=W))["W"]

    began = time.perf_counter()
    A, b = affine_map(full, clients)
    map_seconds = time.perf_counter() - began
    few = range(plain_starts)
    contenders: dict[str, tuple[Callable[[], Any], int, int]] = {
        "FeDLRT, ours": (our_fedlrt, starts, repeats),
        "FeDLRT, plain": (
            lambda: torch.stack([plain_fedlrt(data, targets[i], *(part["W"][i] for part in state)) for i in few]),
            plain_starts,
            1,
        ),
        "FedLin, ours": (our_fedlin, starts, repeats),
        "FedLin, plain": (lambda: torch.stack([plain_fedlin(data, targets[i], W[i]) for i in few]), plain_starts, 1),
        "FedLin, ours, as a map": (lambda: (W.flatten(1) @ A + b).reshape(W.shape), starts, repeats),
    }
    answer: dict[str, Any] = {"seconds to find the map": map_seconds}
    results = {}
    for name, (work, count, times) in contenders.items():
        seconds, results[name] = timed(work, times)
        answer[f"{name}, seconds per start"] = seconds / count
    for method, name in (("FeDLRT", "FeDLRT, ours"), ("FedLin", "FedLin, ours"), ("FedLin", "FedLin, ours, as a map")):
        other = results[f"{method}, plain"]
        answer[f"{name}, difference"] = float((results[name][:plain_starts] - other).abs().max())
    for name, work in (("FeDLRT, ours", our_fedlrt), ("FedLin, ours", our_fedlin)):
        with FlopCounterMode(display=False) as counter:
            work()
        answer[f"{name}, operations per start"] = counter.get_total_flops() / starts
    return answer


def main() -> None:
    """Run everything, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--plain-starts", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("toy.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    by_clients = {}
    for C in CLIENTS:
        by_clients[C] = one_number_of_clients(
            C, options.starts, min(options.plain_starts, options.starts), options.repeats
        )
        print(C, by_clients[C], flush=True)
    speed = peak()
    whole: dict[str, Any] = {}
    for method in ("FeDLRT", "FedLin"):
        ours, plain, operations = (
            sum(entry[f"{method}, {what} per start"] for entry in by_clients.values())
            for what in ("ours, seconds", "plain, seconds", "ours, operations")
        )
        whole[method] = {
            "ours, seconds a round": options.starts * ours,
            "plain, seconds a round": options.starts * plain,
            "ratio": plain / ours,
            "seconds at the speed of a large product": options.starts * operations / speed,
            "times that": ours / (operations / speed),
        }
    answer: dict[str, Any] = {
        "setting": {"starts": options.starts, "plain starts": options.plain_starts, "clients": CLIENTS, "threads": 1},
        "environment": {
            **machine(),
            "packages": package_versions(("rankproof", "numpy", "torch")),
            "load_average": os.getloadavg()[0],
            "operations a second of a large product": speed,
        },
        "a round, all numbers of clients": whole,
        "by number of clients": by_clients,
    }
    if options.figures:
        answer["figures, quick, seconds"] = {}
        for id in ("fedlrt/fig-1", "fedlrt/fig-4"):
            began, used = time.perf_counter(), time.process_time()
            (figure,) = select([id])
            figure.draw(figure.data(Settings()))
            answer["figures, quick, seconds"][id] = {
                "wall": time.perf_counter() - began,
                "processor": time.process_time() - used,
            }
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
