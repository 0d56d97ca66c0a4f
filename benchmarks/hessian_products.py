"""Implementations of a Hessian-vector product by architecture, compared with a hand loop over a cached graph.

``python benchmarks/hessian_products.py [--out FILE] [--rounds N] [--device cuda]``. One thread, processor seconds, on a
GPU seconds until it has ended; contenders in turn, each with an untimed product first; ratios to the hand loop within a
round. The hand loop splits a vector, runs through the graph that it keeps, and joins the parts, the minimum for flat
vectors. The other ways are: eight vectors by `vmap`; a fresh graph for each product, as for streamed data; forward over
reverse by `torch.func`, with one vector and with eight. Construction and checks are not timed.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import functools
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian import Curvature, CurvatureError
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, small_convnet

MANY = 8
Product = Callable[[Tensor], Tensor]


class Sequence(nn.Module):
    """A layer over a sequence and a head on its mean."""

    def __init__(self, middle: nn.Module, width: int) -> None:
        super().__init__()
        self.middle, self.head = middle, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (samples, classes)."""
        found = self.middle(x)
        return self.head((found[0] if isinstance(found, tuple) else found).mean(dim=1))


def networks() -> dict[str, tuple[nn.Module, Tensor]]:
    """Return models in evaluation mode, and inputs."""
    torch.manual_seed(0)
    attention = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, activation="gelu")
    return {
        "MLP 196-20-10, 256 samples": (perceptron(196, (20,), 10, 0).float(), torch.randn(256, 196)),
        "MLP 784-100-10, 256": (perceptron(784, (100,), 10, 0).float(), torch.randn(256, 784)),
        "CNN, 64": (small_convnet(14, (8,), 10, 0).float(), torch.randn(64, 1, 14, 14)),
        "ResNet-10 of width 8, 32": (resnet(10, 10, 0, channels=1, width=8).eval(), torch.randn(32, 1, 14, 14)),
        "attention block of width 64, 16": (Sequence(attention, 64).eval(), torch.randn(16, 20, 64)),
        "LSTM of width 32, 16": (Sequence(nn.LSTM(16, 32, batch_first=True), 32), torch.randn(16, 12, 16)),
    }


def ways(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return calls and the vectors that each multiplies; the first is the hand loop."""
    loss, names = nn.CrossEntropyLoss(), [name for name, _ in model.named_parameters()]
    own = Curvature(model, loss, (x, y))
    many = Curvature(model, loss, (x, y), vectorize=MANY)
    weights = [p.detach().clone().requires_grad_() for p in model.parameters()]
    sizes, shapes = [p.numel() for p in weights], [p.shape for p in weights]
    vector = torch.randn(own.P, device=x.device)
    vectors = torch.randn(MANY, own.P, device=x.device)

    def split(v: Tensor) -> list[Tensor]:
        return [part.view(shape) for part, shape in zip(v.split(sizes), shapes, strict=True)]

    def joined(parts: Any) -> Tensor:
        return torch.cat([part.reshape(-1) for part in parts])

    def value(parts: list[Tensor]) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return loss(functional_call(model, dict(zip(names, parts, strict=True)), (x,)), y)

    def slopes() -> Any:
        return torch.autograd.grad(value(weights), weights, create_graph=True)

    cached = slopes()
    plain = [p.detach() for p in weights]

    def by_hand(v: Tensor) -> Tensor:
        return joined(torch.autograd.grad(cached, weights, split(v), retain_graph=True))

    def fresh(v: Tensor) -> Tensor:
        return joined(torch.autograd.grad(slopes(), weights, split(v)))

    def forward(v: Tensor) -> Tensor:
        return joined(jvp(grad(value), (plain,), (split(v),))[1])

    expected = by_hand(vector)
    candidates: dict[str, tuple[Product, Tensor, int]] = {
        "hand loop, cached graph": (by_hand, vector, 1),
        "ours": (own.__matmul__, vector, 1),
        f"ours, {MANY} by vmap": (many.products, vectors, MANY),
        "fresh graph": (fresh, vector, 1),
        "forward over reverse": (forward, vector, 1),
        f"forward over reverse, {MANY} by vmap": (vmap(forward), vectors, MANY),
    }
    answer: dict[str, tuple[Callable[[], Any], int]] = {}
    for name, (product, given, count) in candidates.items():
        try:
            found = product(given if count == 1 else torch.stack([vector] * MANY))
        except (RuntimeError, NotImplementedError) as error:
            answer[f"{name}: {' '.join(str(error).split())[:80]}"] = (lambda: None, 0)
            continue
        found = found if count == 1 else found[0]
        if not torch.allclose(found, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max())):
            raise RuntimeError(f"{name}: another product")
        answer[name] = (functools.partial(product, given), count)
    return answer


def seconds(call: Callable[[], Any], repeats: int, device: str) -> float:
    """Return the processor time of one call; on a GPU the time until it is done."""
    clock = time.process_time
    if device != "cpu":
        clock = time.perf_counter
        torch.cuda.synchronize()
    began = clock()
    for _ in range(repeats):
        call()
    if device != "cpu":
        torch.cuda.synchronize()
    return (clock() - began) / repeats


def measured(model: nn.Module, x: Tensor, rounds: int, device: str) -> dict[str, Any]:
    """Measure milliseconds of the hand loop, and ratios to it: median, quartiles, and the fastest rounds' ratio."""
    # cuDNN has no second derivative of a recurrent layer: without it, every way has one.
    torch.backends.cudnn.enabled = not any(isinstance(module, nn.RNNBase) for module in model.modules())
    found = ways(model.to(device), x.to(device), torch.randint(10, (len(x),)).to(device))
    hand = next(iter(found))
    working = {name: call for name, (call, count) in found.items() if count}
    for call in working.values():
        seconds(call, 1, device)  # what is done once: kernels are loaded
    repeats = {name: max(1, int(0.03 / max(seconds(call, 1, device), 1e-4))) for name, call in working.items()}
    times: dict[str, list[float]] = {name: [] for name in repeats}
    for turn in range(rounds):
        for name in list(times) if turn % 2 else reversed(list(times)):
            call, count = found[name]
            call()  # a loop finds its own graph in the caches, not that of others
            times[name].append(seconds(call, repeats[name], device) / count)
    entry: dict[str, Any] = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "ms of the hand loop": float(f"{1e3 * statistics.median(times[hand]):.3g}"),
    }
    for name in times:
        ratios = [one / other for one, other in zip(times[name], times[hand], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
        fastest = min(times[name]) / min(times[hand])  # on a busy machine, what others disturbed least
        found_here = {"median": middle, "from": low, "to": high, "of the fastest rounds": fastest}
        entry[name] = {key: round(ratio, 3) for key, ratio in found_here.items()}
    entry["fail"] = [name for name, (_, count) in found.items() if count == 0]
    return entry


def main() -> None:
    """Measure everything, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    answer: dict[str, Any] = {
        "environment": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "threads": 1,
            "load": round(os.getloadavg()[0], 1),
            "rounds": options.rounds,
        }
    }
    if options.device != "cpu":
        answer["environment"]["device"] = torch.cuda.get_device_name(options.device)
        torch.backends.cudnn.allow_tf32 = False  # all ways in the precision of ours
    for name, (model, x) in networks().items():
        try:
            answer[name] = measured(model, x, options.rounds, options.device)
        except (CurvatureError, RuntimeError) as error:
            answer[name] = {"fails": " ".join(str(error).split())[:200]}
        print(name, json.dumps(answer[name]), file=sys.stderr, flush=True)
    options.out.write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
