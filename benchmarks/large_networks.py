"""The stable rank of large networks: time, products, gradients and memory, on a CPU or a GPU.

``python benchmarks/large_networks.py [--device cuda] [--only resnet-18]``. ResNet-18 (11 million parameters) on genuine
Fashion-MNIST images after some steps of training, with batch norm on its running statistics; a transformer of 100
million parameters on random tokens at its initial weights, the fused attention replaced by plain products; and two
smaller networks, whose resident memory is compared with budgets. ``--only`` names others: transformers of ten and
thirty million and of a billion, and SmolLM2-135M on instructions. Each network runs in a process of its own, so that
the peak of the memory is its own. Results are added to the JSON file by device. ``--memory "5 GiB"`` gives a budget,
whose results are added to the others, and ``--scratch FOLDER`` a folder for rows of the basis that do not fit. Each row
records whether torch requests huge pages (``THP_MEM_ALLOC_ENABLE=1``).
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import queue
import re
import resource
import signal
import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.stable_rank_routes import Network
from figures.provenance import machine, package_versions
from hessian import Curvature, CurvatureError, stable_rank_of
from hessian.lanczos.memory import Budget, format_bytes
from workloads.data.datasets import load
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, pool
from workloads.progress import follow, report_progress

WIDTH = 0.05


class Decoder(nn.Module):
    """A causal transformer that predicts the next token: (n, length) tokens to (n, length, vocabulary) logits."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits."""
        length = tokens.shape[1]
        hidden = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        return self.head(self.layers(hidden, mask=mask, is_causal=True))


def fashion(count: int) -> tuple[Tensor, Tensor]:
    """Return Fashion-MNIST images (count, 1, 28, 28) and classes.

    Raises:
        DataError: They are not on this machine.
    """
    images = load("fashion-mnist")
    return pool(images, 28, torch.float32)[:count, None], torch.from_numpy(images.labels.astype(np.int64))[:count]


def train_resnet_18(images: Tensor, classes: Tensor, batch: int, width: int = 64) -> nn.Module:
    """Return ResNet-18 after a step of stochastic gradient descent on each batch, in evaluation mode."""
    network = resnet(18, 10, 0, channels=1, width=width).to(images.device).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.005, momentum=0.9)
    for start in follow(range(0, len(images), batch), "training"):
        rows = slice(start, start + batch)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images[rows]), classes[rows]).backward()
        optimizer.step()
    network.zero_grad(set_to_none=True)
    return network.eval()


def resnet_18(device: str, batch: int) -> Network:
    """Return ResNet-18 after 30 steps of stochastic gradient descent."""
    x, y = (part.to(device) for part in fashion(30 * batch))
    return Network(train_resnet_18(x, y, batch), nn.CrossEntropyLoss(), x[:batch], y[:batch])


def narrow_resnet(device: str, batch: int) -> Network:
    """Return ResNet-10 of width 16 at its initial weights on random images: activations dominate its memory."""
    x, y = torch.randn(batch, 1, 28, 28, device=device), torch.randint(10, (batch,), device=device)
    return Network(resnet(10, 10, 0, channels=1, width=16).to(device).eval(), nn.CrossEntropyLoss(), x, y)


def wide_perceptron(device: str, batch: int) -> Network:
    """Return a perceptron of 1.3 million parameters on random inputs: vectors dominate its memory."""
    x, y = torch.randn(batch, 784, device=device), torch.randint(10, (batch,), device=device)
    network = perceptron(784, (1024, 512), 10, 0, dtype=torch.float32).to(device)
    return Network(network, nn.CrossEntropyLoss(), x, y)


class TokenLoss(nn.CrossEntropyLoss):
    """The mean cross-entropy of the next tokens."""

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of logits (n, length, vocabulary)."""
        return super().forward(logits.flatten(0, 1), targets.flatten())


def transformer(
    device: str, batch: int, width: int = 768, layers: int = 12, heads: int = 12, vocabulary: int = 20_000
) -> Network:
    """Return a transformer, by default with 100 million parameters."""
    torch.manual_seed(0)
    with torch.device(device):  # a billion weights take minutes to be drawn on a processor
        network = Decoder(vocabulary, width, layers, heads, 64).eval()
        tokens = torch.randint(vocabulary, (batch, 65))
    return Network(network, TokenLoss(), tokens[:, :-1], tokens[:, 1:])


def language_model(device: str, batch: int) -> Network:
    """Return the pretrained SmolLM2-135M on instructions of 48 tokens."""
    from benchmarks.language_hessians import smollm2

    network, loss, inputs, targets = smollm2(batch, 48)
    return Network(network.to(device), loss, inputs.to(device), targets.to(device))


NETWORKS = {
    "resnet-18": resnet_18,
    "transformer-100m": transformer,
    "transformer-10m": functools.partial(transformer, width=256, layers=6, heads=4),
    "transformer-30m": functools.partial(transformer, width=448, layers=8, heads=7),
    "transformer-1b": functools.partial(transformer, width=2048, layers=20, heads=16),
    "smollm2-135m": language_model,
    "resnet-10": narrow_resnet,
    "perceptron-1m": wide_perceptron,
}
ASKED_FOR = ("transformer-10m", "transformer-30m", "transformer-1b", "smollm2-135m")
"""Networks that are measured where `--only` names them."""
PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Files in which Linux reports the peak memory of a process, and resets it."""


def _forget_peak() -> None:
    """Reset the peak, so that earlier work such as training does not count."""
    with suppress(OSError):
        PEAK[1].write_text("5")


def _peak() -> float:
    """Return the peak resident memory of this process, in GiB."""
    if PEAK[0].exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", PEAK[0].read_text())[1]) / 2**20  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(name: str, device: str, batch: int, threads: int, memory: Budget | None, width: float, answer: Any) -> None:
    """Measure one network, in a fresh process."""
    torch.set_num_threads(threads)
    network = NETWORKS[name](device, batch)
    _forget_peak()
    operator = Curvature(network.model, network.loss, network.data, memory=memory)
    del network
    peak_of_checks = _peak()
    vector = torch.ones((1, operator.P), device=device)
    products = []
    for _ in range(3):
        began = time.perf_counter()
        operator.products(vector)
        products.append(time.perf_counter() - began)
    del vector
    used = time.process_time()
    gradient = operator.cost().gradient_seconds
    with report_progress(name) as bar:
        began = time.perf_counter()
        found = stable_rank_of(
            operator, rng=np.random.default_rng(0), relative_width=width, memory=memory, progress=bar.step
        )
        seconds = time.perf_counter() - began
    used = time.process_time() - used
    spent = operator.cost()
    row = {
        "parameters": operator.P,
        "samples": operator.samples,
        "loss": operator.loss,
        "stable_rank": [found.low, found.value, found.high],
        "width_asked": width,
        "reached": found.reached,
        "certified": found.certified,
        "eigenvalue": found.eigenvalue,
        "lanczos_steps": found.steps,
        "probes": found.probes,
        "products": found.products,
        "seconds": seconds,
        "check_seconds": spent.check_seconds,
        "gradient_seconds": gradient,
        "product_over_gradient": statistics.median(products) / gradient,
        "gradients_worth": seconds / gradient,
        "share_of_time_in_products": spent.seconds / spent.products * found.products / seconds,
        "peak_process_GiB": _peak(),
        "processor_seconds": used,
        "threads": threads,
        "huge_pages": os.environ.get("THP_MEM_ALLOC_ENABLE") == "1",
    }
    if memory is not None:
        row |= {
            "memory": format_bytes(memory.limit),
            "given_up": found.given_up,
            "peak_process_GiB_of_checks": peak_of_checks,
        }
        row |= {"held_GiB": {part: size / 2**30 for part, size in operator.held.items()}}
    if device.startswith("cuda"):
        row |= {"device_name": torch.cuda.get_device_name(device)}
        row |= {"peak_device_GiB": torch.cuda.max_memory_allocated(device) / 2**30}
    answer.put(row)


def _row_of(process: Any, answer: Any) -> dict[str, Any] | None:
    """Return a process's answer; None if it ends without one."""
    while process.is_alive():
        try:
            row: dict[str, Any] = answer.get(timeout=1.0)
            process.join()
            return row
        except queue.Empty:
            continue
    with suppress(queue.Empty):  # it answered with its last breath
        return answer.get(timeout=1.0)  # type: ignore[no-any-return]
    return None


def main() -> int:
    """Run the networks and add their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=tuple(NETWORKS), default=None)
    parser.add_argument("--batch", type=int, default=0, help="samples; default: 32, on a GPU 256")
    parser.add_argument("--memory", help="a budget, such as '5 GiB'")
    parser.add_argument("--scratch", help="folder for rows of the basis that a budget has no room for")
    parser.add_argument("--width", type=float, default=WIDTH, help=f"asked of the interval; default: {WIDTH}")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print("large_networks: no CUDA device is here; leave --device out", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.scratch and not options.memory:
        parser.error("--scratch is for what a budget has no room for: give --memory too")
    try:
        memory = None if options.memory is None else Budget.named(options.memory, options.scratch)
    except CurvatureError as error:
        parser.error(str(error))
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    context = multiprocessing.get_context("spawn")
    for name in [options.only] if options.only else [name for name in NETWORKS if name not in ASKED_FOR]:
        batch = options.batch or (32 if options.device == "cpu" else 256)
        if name.startswith(("transformer", "smollm2")) and not options.batch:
            batch //= 8
        answer = context.Queue()
        process = context.Process(
            target=measure,
            args=(name, options.device, batch, options.threads, memory, options.width, answer),
            daemon=True,  # it ends with this process
        )
        process.start()
        row = _row_of(process, answer)
        if row is None:
            print(f"large_networks: {name} ended without a result, exit status {process.exitcode}", file=sys.stderr)
            return 1
        row["environment"] = {**machine(), "packages": package_versions(("rankproof", "numpy", "scipy", "torch"))}
        within = f" within {options.memory}" if options.memory else ""
        within += " and a file" if options.scratch else ""
        results[f"{name} on {options.device.split(':')[0]}{within}"] = row
        options.out.write_text(json.dumps(results, indent=1) + "\n")
        print(json.dumps({key: value for key, value in row.items() if key != "environment"}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
