"""One command for a machine with a GPU: device tests, products, and estimates with intervals, in three minutes.

``make gpu`` or ``python benchmarks/on_gpu.py [--minutes 3] [--device cuda] [--small] [--only PART ...]`` runs the parts
below, each in a process of its own with a limit of time, and rewrites ``on_gpu.json`` after each result. A part that
fails, is stopped or finds no time left is named there with the reason, and the others still run.

- `prepare`: trains ResNet-18 for 30 steps on Fashion-MNIST, or on synthetic images if the data are absent.
- `tests`: the tests of devices. `reference` runs at the same time: stable rank, trace and largest eigenvalue of small
  networks and of ResNet-18 on 8 images, by the processor in double precision.
- `compared`: the same networks on the device in single precision. Both intervals should contain both values.
- `resnet-18`, `transformer-28m`, `smollm2-135m`, `transformer-100m`: products next to a loop over a cached graph and to
  the peers that are installed, then the estimates, with time and memory. The transformers read random tokens at their
  initial weights. SmolLM2-135M has random weights by its configuration if the pretrained ones are absent.
- `products`: ways to a product of small networks, as ``hessian_products.py`` compares them.

The exit status is 0 if all parts have ended, all tests have passed and all intervals overlap.

Seconds are wall time until the device has finished. ``--small`` shrinks all networks, to try the script on a processor.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, ROOT := os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import argparse
import importlib.util
import json
import multiprocessing
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks import hessian_products
from benchmarks.large_networks import fashion, train_resnet_18, transformer
from benchmarks.stable_rank_routes import PEERS, Network, version_of
from figures.provenance import machine, package_versions, sources_digest
from hessian import Curvature, measure
from workloads.data.idx import DataError
from workloads.files import write_whole
from workloads.image_networks.resnet import resnet

QUANTITIES = ("stable-rank", "trace", "sharpness")
PACKAGES = ("torch", "numpy", "scipy", "transformers", *(package for package, _, _ in PEERS.values()))
TESTS = (
    ("tests/hessian/test_devices.py", "cuda and not products"),
    ("tests/hessian/test_devices.py", "cuda and products and not gauss"),
    ("tests/hessian/test_devices.py", "cuda and products and gauss"),
    ("tests/hessian/test_devices.py", "pyhessian_follows"),
    ("tests/hessian/numerics/test_differentiation.py", "seven_digits_on_a_gpu"),
    ("tests/hessian/pyhessian/test_pyhessian_backend.py", "device_is_that_of_the_model"),
)
"""Files of tests that use a GPU, with the expressions that select them."""
STEPS, COMPARED = 30, 8
"""Steps of training of ResNet-18, and images on which the processor measures it."""
WIDTH = 0.05
"""Width asked of the intervals, relative to the value."""
MANY = 60
"""Largest number of products of an estimate."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """Settings that each part gets.

    Attributes:
        device: Device of torch.
        small: Shrink the networks.
        rounds: Rounds in which products are timed.
        folder: Folder in which parts leave files for later ones.
    """

    device: str
    small: bool
    rounds: int
    folder: Path

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device != "cpu"

    def wait(self) -> None:
        """Wait until the device has finished."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)


# Parts: generators of (section, row's name, row).
Part = Callable[[Request], Iterator[tuple[str, str, Row]]]


def prepare(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Describe the device, and train ResNet-18."""
    row: Row = {"device": request.device}
    if request.on_gpu:
        facts = torch.cuda.get_device_properties(request.device)
        row = {
            "card": facts.name,
            "memory_GiB": round(facts.total_memory / 2**30, 1),
            "capability": f"{facts.major}.{facts.minor}",
            "cuda": torch.version.cuda,
        }
    yield "environment", "device", row
    batch = 16 if request.small else 256
    count, source = STEPS * batch, "Fashion-MNIST"
    try:
        images, classes = fashion(count)
    except DataError as error:
        source = f"synthetic images, because Fashion-MNIST is absent: {str(error).splitlines()[0]}"
        images, classes = synthetic_images(count)
    began = time.perf_counter()
    width = 8 if request.small else 64
    model = train_resnet_18(images.to(request.device), classes.to(request.device), batch, width).cpu()
    kept = {"state": model.state_dict(), "images": images[:batch].clone(), "classes": classes[:batch].clone()}
    torch.save({**kept, "width": width}, request.folder / "resnet-18.pt")
    yield "environment", "training of resnet-18", {"data": source, "seconds": time.perf_counter() - began}


def synthetic_images(count: int) -> tuple[Tensor, Tensor]:
    """Return smooth templates of ten classes with noise (count, 1, 28, 28), and the classes."""
    generator = torch.Generator().manual_seed(0)
    templates = nn.functional.interpolate(torch.randn(10, 1, 7, 7, generator=generator), size=28, mode="bilinear")
    classes = torch.randint(10, (count,), generator=generator)
    return templates[classes] + 0.5 * torch.randn(count, 1, 28, 28, generator=generator), classes


def trained_resnet(request: Request) -> Network:
    """Return the ResNet-18 that `prepare` has trained, on the device."""
    kept = torch.load(request.folder / "resnet-18.pt")
    model = resnet(18, 10, 0, channels=1, width=kept["width"])
    model.load_state_dict(kept["state"])
    data = kept["images"].to(request.device), kept["classes"].to(request.device)
    return Network(model.to(request.device).eval(), nn.CrossEntropyLoss(), *data)


def run_tests(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Run the tests of devices."""
    import pytest

    torch.set_num_threads(1)
    for file, expression in TESTS:
        outcomes = Outcomes()
        chosen = expression if request.on_gpu else expression.replace("cuda", "foreign")
        if request.small and "cuda" in expression:
            chosen += " and (mlp or eigenpairs or exact_hessian)"
        if "pyhessian" in f"{file} {expression}" and importlib.util.find_spec("pyhessian") is None:
            yield "tests", f"{file}, {expression}", {"left out": "PyHessian is absent"}
            continue
        options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-k", chosen, "--rootdir", ROOT]
        began = time.perf_counter()
        status = pytest.main([*options, os.path.join(ROOT, file)], plugins=[outcomes])
        seconds = time.perf_counter() - began
        yield "tests", f"{file}, {expression}", {"exit_status": int(status), **vars(outcomes), "seconds": seconds}


class Outcomes:
    """Plug-in of pytest that counts outcomes, and keeps the failures and the reasons of skips."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test."""
        if report.skipped:
            self.skipped[report.nodeid] = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")[:200]
        elif report.failed:
            self.failed[report.nodeid] = report.longreprtext[-600:]
        elif report.when == "call":
            self.passed += 1


def small_networks(request: Request) -> Iterator[tuple[str, Network]]:
    """Yield the networks that both the processor and the device measure."""
    chosen = list(hessian_products.networks().items())
    for name, (model, x) in chosen[::2][:2] if request.small else chosen:
        yield name, Network(model, nn.CrossEntropyLoss(), x, torch.arange(len(x)) % 10)
    if (request.folder / "resnet-18.pt").exists():
        trained = trained_resnet(replace(request, device="cpu"))
        few = replace(trained, inputs=trained.inputs[:COMPARED], targets=trained.targets[:COMPARED])
        yield f"ResNet-18, {len(few.inputs)} images", few


def reference(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure small networks by the processor, in double precision."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 2))
    for name, network in small_networks(request):
        wide = replace(network, model=network.model.double(), inputs=network.inputs.double())
        yield "reference", name, measured(replace(request, device="cpu"), wide)


def compared(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure small networks on the device, in single precision."""
    for name, network in small_networks(request):
        yield "compared", name, measured(request, placed(network, request.device))


def placed(network: Network, device: str) -> Network:
    """Return a network on a device."""
    model, (inputs, targets) = network.model.to(device), (part.to(device) for part in network.data)
    return replace(network, model=model, inputs=inputs, targets=targets)


def measured_resnet(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure ResNet-18 on the batch of its training."""
    yield from both(request, "resnet-18", trained_resnet(request), WIDTH)


def middling_transformer(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure a transformer of 28 million parameters."""
    sizes = (4, 32, 2, 2, 200) if request.small else (32, 448, 8, 7)
    yield from both(request, "transformer-28m", transformer(request.device, *sizes), WIDTH)


def large_transformer(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure a transformer of 100 million parameters, without peers."""
    network = transformer(request.device, *((4, 48, 2, 2, 200) if request.small else (32, 768, 12, 12)))
    yield "estimates", "transformer-100m", measured(request, network)


def language_model(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Measure SmolLM2-135M, or a network of its shape."""
    network, source = smollm2(request.small)
    yield from both(request, "smollm2-135m", placed(network, request.device), 0.1, {"weights": source})


def smollm2(small: bool) -> tuple[Network, str]:
    """Return SmolLM2-135M on instructions, or its shape with random weights on random tokens, and which it is."""
    from benchmarks import language_hessians
    from runs.settings import RunError

    if not small:
        with suppress(RunError, ImportError):
            return Network(*language_hessians.smollm2(16, 48)), "pretrained, 16 instructions of 48 tokens"
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "vocab_size": 49152}
    if small:
        sizes = {"hidden_size": 36, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 300}
    torch.manual_seed(0)
    sizes |= {"num_attention_heads": 9, "num_key_value_heads": 3}
    config = LlamaConfig(**sizes, tie_word_embeddings=True, initializer_range=sizes["hidden_size"] ** -0.5)
    config._attn_implementation = "eager"  # fused attention has no second derivative
    model = language_hessians.Logits(LlamaForCausalLM(config).eval())
    tokens = torch.randint(sizes["vocab_size"], (16, 49))
    inputs = torch.stack([tokens[:, :-1], torch.ones_like(tokens[:, 1:])], dim=-1)
    source = "random weights by the configuration of SmolLM2-135M, 16 random sequences of 48 tokens"
    return Network(model, nn.CrossEntropyLoss(), inputs, tokens[:, 1:]), source


def small_products(request: Request) -> Iterator[tuple[str, str, Row]]:
    """Compare ways to a product of small networks."""
    torch.set_num_threads(1)
    if request.on_gpu:
        torch.backends.cudnn.allow_tf32 = False  # all ways in the precision of ours
    chosen = list(hessian_products.networks().items())
    for name, (model, x) in chosen[:2] if request.small else chosen:
        yield "products of small networks", name, hessian_products.measured(model, x, request.rounds, request.device)


def both(
    request: Request, name: str, network: Network, width: float, about: Row | None = None
) -> Iterator[tuple[str, str, Row]]:
    """Yield a network's products, its estimates, and its products next to the peers'."""
    operator, seconds = construct(request, network)
    yield "products", name, products(request, network, operator, peers=False)
    yield "estimates", name, {**(about or {}), **estimates(request, operator, seconds, width)}
    yield "products", name, products(request, network, operator, peers=True)


def measured(request: Request, network: Network) -> Row:
    """Return the estimates of a network."""
    return estimates(request, *construct(request, network), WIDTH)


def construct(request: Request, network: Network) -> tuple[Curvature, float]:
    """Return the Hessian of a network, and the seconds of its construction with all checks."""
    request.wait()
    if request.on_gpu:
        torch.cuda.reset_peak_memory_stats(request.device)
    began = time.perf_counter()
    operator = Curvature(network.model, network.loss, network.data)
    request.wait()
    return operator, time.perf_counter() - began


def estimates(request: Request, operator: Curvature, checks: float, width: float) -> Row:
    """Return the estimates of a Hessian with time and memory."""
    before = operator.cost()
    began = time.perf_counter()
    found = measure(operator, QUANTITIES, relative_width=width, products=MANY)
    request.wait()
    seconds = time.perf_counter() - began
    spent = operator.cost()
    row = {
        "parameters": operator.P,
        "samples": operator.samples,
        "dtype": str(operator.dtype).removeprefix("torch."),
        "loss": operator.loss,
        "width_asked": width,
        **{name: [found[name].low, found[name].value, found[name].high] for name in QUANTITIES},
        "reached": {name: found[name].reached for name in QUANTITIES},
        "products": sum(found.products.values()),
        "seconds_of_construction_and_checks": checks,
        "seconds_of_estimates": seconds,
        "gradient_seconds": spent.gradient_seconds,
        "product_over_gradient": (spent.seconds - before.seconds)
        / (spent.products - before.products)
        / spent.gradient_seconds,
    }
    if request.on_gpu:
        row["peak_device_GiB"] = torch.cuda.max_memory_allocated(request.device) / 2**30
    return row


def products(request: Request, network: Network, ours: Curvature, peers: bool) -> Row:
    """Return milliseconds of a product of ours and of a loop over a cached graph, and of each peer that is installed.

    All contenders run in turn; ratios are medians over rounds, relative to ours. A peer that fails says why.
    """
    vector = torch.randn(ours.P, generator=torch.Generator().manual_seed(0)).to(ours.device)
    ways: dict[str, Callable[[], Any]] = {"ours": lambda: ours @ vector, "loop": loop_product(network, vector)}
    row: Row = {"parameters": ours.P, "samples": ours.samples}
    if request.on_gpu:
        torch.backends.cudnn.allow_tf32 = False  # all contenders in the precision of ours
    for peer, (package, module, opener) in PEERS.items() if peers else ():
        if importlib.util.find_spec(module) is None:
            row[peer] = "absent"
            continue
        try:
            with sdpa_kernel(SDPBackend.MATH):  # fused attention has no second derivative
                session = opener(network)
            ways[f"{peer} {version_of(package)}"] = lambda product=session.product: product(vector)
        except Exception as error:  # a peer may fail in any way
            row[peer] = one_line(error)
    expected = (ours @ vector).double()
    times: dict[str, list[float]] = {}
    with sdpa_kernel(SDPBackend.MATH):
        for name, way in ways.items():
            try:
                found = way()
                flat = found if isinstance(found, Tensor) else torch.cat([part.reshape(-1) for part in found])
                difference = float((flat.double() - expected).norm() / expected.norm())
                row[name] = {"relative difference to ours": difference}
                times[name] = []
            except Exception as error:
                row[name] = one_line(error)
        for _ in range(min(request.rounds, 5)):
            for name in times:
                ways[name]()
                request.wait()
                began = time.perf_counter()
                ways[name]()
                request.wait()
                times[name].append(time.perf_counter() - began)
    for name, seconds in times.items():
        ratios = [one / our for one, our in zip(seconds, times["ours"], strict=True)]
        row[name] |= {"ms": 1e3 * statistics.median(seconds), "over ours": statistics.median(ratios)}
    network.model.zero_grad(set_to_none=True)
    return row


def loop_product(network: Network, vector: Tensor) -> Callable[[], Tensor]:
    """Return the product with a vector by a graph of the gradient that is kept."""
    weights = list(network.model.parameters())
    with sdpa_kernel(SDPBackend.MATH):
        loss = network.loss(network.model(network.inputs), network.targets)
        slopes = torch.autograd.grad(loss, weights, create_graph=True)
    parts = [part.view_as(p) for part, p in zip(vector.split([p.numel() for p in weights]), weights, strict=True)]

    def product() -> Tensor:
        found = torch.autograd.grad(slopes, weights, parts, retain_graph=True)
        return torch.cat([part.reshape(-1) for part in found])

    return product


def one_line(error: BaseException) -> str:
    """Return an error in one line."""
    return f"failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


STAGES: tuple[dict[str, tuple[Part, float]], ...] = (
    {"prepare": (prepare, 0.2)},
    {"tests": (run_tests, 0.3), "reference": (reference, 0.3)},
    {"compared": (compared, 0.15)},
    {"resnet-18": (measured_resnet, 0.2)},
    {"transformer-28m": (middling_transformer, 0.2)},
    {"smollm2-135m": (language_model, 0.3)},
    {"products": (small_products, 0.15)},
    {"transformer-100m": (large_transformer, 0.2)},
)
"""Parts by stage, each with its limit as a share of the time; those of a stage run at the same time."""
NAMES = tuple(name for stage in STAGES for name in stage)


@dataclass
class Job:
    """A part that runs in a process.

    Attributes:
        name: Name of the part.
        process: The process, which leads a process group of its own.
        answers: The end from which rows and the outcome come.
        began: Monotonic time of the start.
        limit: Seconds after which it is stopped.
        outcome: Outcome in words; empty while it runs.
    """

    name: str
    process: Any
    answers: Connection
    began: float
    limit: float
    outcome: str = ""

    def stop(self, outcome: str) -> None:
        """End the process with all that it has started."""
        self.outcome = outcome
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.answers.close()


def start(name: str, part: Part, request: Request, limit: float) -> Job:
    """Start a part."""
    context = multiprocessing.get_context("fork")  # no torch device is in use here, so children may open one
    answers, questions = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(part, request, questions), name=name)
    process.start()
    with suppress(ProcessLookupError, PermissionError):
        os.setpgid(process.pid, process.pid)
    questions.close()
    return Job(name, process, answers, time.monotonic(), limit)


def serve(part: Part, request: Request, answers: Connection) -> None:
    """Run a part in this process: send each row, then its outcome."""
    with suppress(PermissionError):
        os.setpgid(0, 0)
    try:
        for row in part(request):
            answers.send(row)
        answers.send("done")
    except BaseException as error:
        answers.send(one_line(error))


def run_stage(jobs: list[Job], keep: Callable[[str, str, Row], None]) -> None:
    """Wait for the parts of a stage, and hand on their rows as they come."""
    try:
        while running := {job.answers: job for job in jobs if not job.outcome}:
            left = min(job.began + job.limit for job in running.values()) - time.monotonic()
            for connection in wait(list(running), timeout=max(0.0, left)):
                job = running[connection]  # type: ignore[index]
                try:
                    answer = job.answers.recv()
                except EOFError:
                    job.process.join()
                    job.stop(f"failed: the process ended with status {job.process.exitcode}")
                    continue
                if isinstance(answer, str):
                    job.stop(answer)
                else:
                    keep(*answer)
            for job in running.values():
                if not job.outcome and time.monotonic() > job.began + job.limit:
                    job.stop(f"stopped at its limit of {job.limit:.0f} s")
    finally:
        for job in jobs:
            if not job.outcome:
                job.stop("interrupted")


def agreement(results: Row) -> Row:
    """Compare the device's intervals with the processor's, for all networks that both have measured."""
    rows: Row = {}
    for name in results.get("reference", {}).keys() & results.get("compared", {}).keys():
        here, there = results["reference"][name], results["compared"][name]
        rows[name] = {}
        for quantity in QUANTITIES:
            (low, value, high), (bottom, found, top) = here[quantity], there[quantity]
            rows[name][quantity] = {
                "intervals overlap": low <= top and bottom <= high,
                "each contains the other's value": low <= found <= high and bottom <= value <= top,
                "relative difference": abs(found - value) / abs(value) if value else None,
            }
    return dict(sorted(rows.items()))


def all_well(results: Row) -> bool:
    """Return whether all parts ended, all tests passed, and all intervals of device and processor overlap."""
    ended = all(words.startswith("done") for words in results["parts"].values())
    passed = all(row.get("exit_status", 0) == 0 for row in results.get("tests", {}).values())
    agree = all(one["intervals overlap"] for row in results["agreement"].values() for one in row.values())
    return ended and passed and agree


def main() -> int:
    """Run the parts within the time, and write the JSON file after each row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0, help="limit of all parts together; default: 3")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="shrink the networks, to try the script")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="PART", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=9, help="rounds in which products are timed; default: 9")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if not options.minutes > 0.0 or options.rounds < 2:
        parser.error("--minutes must be positive, and --rounds at least 2")
    began = time.monotonic()
    whole = 60.0 * options.minutes
    results: Row = {
        "environment": {
            **machine(),
            "packages": package_versions(PACKAGES),
            "sources of hessian": sources_digest(("hessian",))[:16],
        },
        "small": options.small,
        "minutes": options.minutes,
        "parts": {},
    }

    def save() -> None:
        results["seconds"] = round(time.monotonic() - began, 1)
        results["agreement"] = agreement(results)
        write_whole({options.out: (json.dumps(results, indent=1) + "\n").encode()})

    def keep(section: str, name: str, row: Row) -> None:
        results.setdefault(section, {})[name] = row
        text = f"{time.monotonic() - began:6.1f} s  {section}, {name}: {json.dumps(row)[:800]}"
        print(text, file=sys.stderr, flush=True)
        save()

    with tempfile.TemporaryDirectory() as folder:
        request = Request(options.device, options.small, options.rounds, Path(folder))
        for stage in STAGES:
            jobs = []
            for name, (part, share) in stage.items():
                left = began + whole - time.monotonic()
                if name not in options.only and name != "prepare":
                    continue
                if left < 0.02 * whole:
                    results["parts"][name] = "left out, because no time was left"
                    continue
                jobs.append(start(name, part, request, min(share * whole, left)))
            run_stage(jobs, keep)
            for job in jobs:
                seconds = time.monotonic() - job.began
                results["parts"][job.name] = f"{job.outcome}, after {seconds:.1f} s"
                print(f"{job.name}: {results['parts'][job.name]}", file=sys.stderr, flush=True)
            save()
    return int(not all_well(results))


if __name__ == "__main__":
    sys.exit(main())
