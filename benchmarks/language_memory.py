"""Memory and time of a local step of language models, for each option that saves memory.

``python benchmarks/language_memory.py [--only minilm smollm2 billion]`` takes minutes and needs the packages of
`hf:minilm` and `hf:smollm2`. Each row is a process of its own with one thread: a client of FedLoRA takes three steps of
AdamW on random tokens. Memory is the largest resident set, before the first step and overall. Time is the processor
time of a step, the smaller of the last two.

``--random`` builds each model from its configuration with random weights, on which neither memory nor time depends, so
it needs no package. The model `billion` has only a configuration, that of TinyLlama-1.1B.

``--device cuda`` measures random weights on a GPU, in one process, within 90 seconds on an H200. Its steps have 16
texts of 512 tokens. Memory is what PyTorch's allocator has handed out, and time is the wall-clock time of a step.
"""

from __future__ import annotations

import os
import sys

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

import argparse
import json
import platform
import resource
import subprocess
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlora import FedLoRA
from algorithms.optimisers import AdamW
from algorithms.rounds import one_round
from runs.language_problem import language_problem
from runs.networks.language_model import DTYPES, Task, locate, model_of
from runs.versions import versions
from workloads.tokens import NO_LOSS, TokenSet

OUT = {"cpu": Path(__file__).with_suffix(".json"), "cuda": Path(__file__).with_name("language_memory_gpu.json")}
WITHIN = 80.0
"""No row begins after so many seconds on a GPU."""


@dataclass(frozen=True)
class Shape:
    """A model and the texts of a step.

    Attributes:
        task: Task.
        layers: Layers with adapters.
        texts: Texts of a step on a processor.
        tokens: Tokens of each.
        config: Configuration, with the name of the architecture.
        stored: Whether a package carries weights of this shape.
    """

    task: Task
    layers: str
    texts: int
    tokens: int
    config: dict[str, Any]
    stored: bool = False


def llama(layers: int, width: int, heads: int, pairs: int, inner: int, vocabulary: int, tied: bool) -> dict[str, Any]:
    """Return the configuration of a Llama."""
    return {
        "model_type": "llama",
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": pairs,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
    }


MINILM = {
    "model_type": "bert",
    "num_hidden_layers": 6,
    "hidden_size": 384,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "vocab_size": 30522,
    "num_labels": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
QUERY_VALUE = "*.q_proj, *.v_proj"
SHAPES = {
    "minilm": Shape("classification", "*.query, *.value", 16, 64, MINILM, stored=True),
    "smollm2": Shape("causal", QUERY_VALUE, 4, 64, llama(30, 576, 9, 3, 1536, 49152, True), stored=True),
    "billion": Shape("causal", QUERY_VALUE, 4, 64, llama(22, 2048, 32, 4, 5632, 32000, False)),
    "tiny": Shape("causal", QUERY_VALUE, 4, 64, llama(2, 64, 4, 2, 128, 32000, False)),
}
"""Models by name; `tiny` is for trying the script."""
GPU_TEXTS, GPU_TOKENS = 16, 512
WAYS: dict[str, dict[str, Any]] = {
    "float32": {},
    "micro-batch": {"micro_batch": 2},
    "gradient checkpointing": {"gradient_checkpointing": True},
    "autocast bfloat16": {"autocast": torch.bfloat16},
    "autocast bfloat16, gradient checkpointing": {"autocast": torch.bfloat16, "gradient_checkpointing": True},
    "bfloat16": {"dtype": "bfloat16"},
    "bfloat16, gradient checkpointing": {"dtype": "bfloat16", "gradient_checkpointing": True},
}
GPU_WAYS = tuple(way for way in WAYS if way != "micro-batch")


def texts(task: Task, count: int, length: int) -> TokenSet:
    """Return random tokens; for a causal task the second half of each text is the answer."""
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(5, 20000, size=(count, length)))
    labels = torch.from_numpy(rng.integers(0, 2, size=count))
    if task == "causal":
        labels = torch.where(torch.arange(length) >= length // 2, ids, NO_LOSS)
    names, origins = ("0", "1") if task == "classification" else (), np.zeros(count, dtype=np.int64)
    return TokenSet("random", "train", ids, torch.ones_like(ids), labels, names, origins, ("one",), np.arange(count))


def model(name: str, dtype: str, random: bool, device: str = "cpu") -> torch.nn.Module:
    """Return a model with its stored weights, or with random ones that are drawn on the device."""
    shape = SHAPES[name]
    if shape.stored and not random:
        return model_of(locate(f"hf:{name}"), shape.task, 2, dtype=dtype, dropout=0.0)
    import transformers

    torch.manual_seed(0)
    kind, config = shape.config["model_type"], {of: value for of, value in shape.config.items() if of != "model_type"}
    loader = {
        "classification": transformers.AutoModelForSequenceClassification,
        "causal": transformers.AutoModelForCausalLM,
    }[shape.task]
    with torch.device(device):
        made = loader.from_config(transformers.AutoConfig.for_model(kind, **config), dtype=DTYPES[dtype])
    found: torch.nn.Module = made.requires_grad_(False)
    return found


def steps(
    shape: Shape, module: torch.nn.Module, samples: TokenSet, way: str, peak: Callable[[], float], clock: Any
) -> dict[str, float]:
    """Return the peak of memory before the first step and after the last, and the time of a step."""
    named = {of: value for of, value in WAYS[way].items() if of != "dtype"}
    count = len(samples.labels)
    problem = language_problem(module, samples, [np.arange(count)], samples, layers=shape.layers, **named)
    local = Descent(batch=count, optimiser=AdamW(), learning_rate=1e-3)
    algorithm = FedLoRA(local, Adapter(4, layers=shape.layers, a_at="inputs", precision="float32"))
    fed = Federation(problem.clients, known=problem.known)
    state = algorithm.start(fed, problem.start)
    before, seconds = peak(), []
    for _ in range(3):
        begun = clock()
        state = one_round(algorithm.round, fed, state)
        seconds.append(clock() - begun)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    sizes = {"megabytes_before": round(before / 2**20), "megabytes": round(peak() / 2**20)}
    return {"parameters": parameters, **sizes, "seconds": round(min(seconds[1:]), 6)}


def resident() -> float:
    """Return the largest resident set of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def on_processor(name: str, way: str, random: bool) -> dict[str, float]:
    """Measure a row in this process."""
    shape = SHAPES[name]
    module = model(name, WAYS[way].get("dtype", "float32"), random)
    return steps(shape, module, texts(shape.task, shape.texts, shape.tokens), way, resident, time.process_time)


def on_gpu(name: str, ways: tuple[str, ...], device: str, begun: float) -> dict[str, Any]:
    """Measure the rows of a model on a GPU, with one copy of its weights for each type."""

    def peak() -> float:
        most = float(torch.cuda.max_memory_allocated(device))
        torch.cuda.reset_peak_memory_stats(device)
        return most

    def clock() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    shape, found = SHAPES[name], {}
    samples = texts(shape.task, GPU_TEXTS, GPU_TOKENS)
    for dtype in DTYPES:
        module = None
        for way in (way for way in ways if WAYS[way].get("dtype", "float32") == dtype):
            if time.perf_counter() - begun > WITHIN:
                print(f"{name} {way}: left out after {WITHIN:.0f} seconds", flush=True)
                continue
            module = model(name, dtype, True, device) if module is None else module
            torch.cuda.empty_cache()
            peak()
            try:
                found[way] = steps(shape, module, samples, way, peak, clock)
            except torch.cuda.OutOfMemoryError:
                found[way] = {"out_of_memory": True}
            print(name, way, found[way], flush=True)
    return found


def main() -> None:
    """Add the measurements to the file."""
    begun = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=tuple(SHAPES), default=("minilm", "smollm2", "billion"))
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS))
    parser.add_argument("--random", action="store_true", help="random weights instead of those of a package")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--out", type=Path, help="file of the measurements; default: next to this script")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if options.child:
        name, way = options.child
        print(json.dumps(on_processor(name, way, options.random)))
        return
    gpu = torch.device(options.device).type == "cuda"
    out = options.out or OUT["cuda" if gpu else "cpu"]
    found = json.loads(out.read_text()) if out.exists() else {}
    machine = {"machine": platform.machine(), "transformers": metadata.version("transformers"), "threads": 1}
    if gpu:
        machine["device"] = torch.cuda.get_device_name(options.device)

    def add(name: str, rows: dict[str, Any]) -> None:
        found[name] = {**found.get(name, {}), **rows}
        found["environment"] = {**versions(), **machine}
        out.write_text(json.dumps(found, indent=1) + "\n")

    for name in options.only:
        shape = SHAPES[name]
        random = gpu or options.random or not shape.stored
        sizes = (GPU_TEXTS, GPU_TOKENS) if gpu else (shape.texts, shape.tokens)
        about = {"texts": sizes[0], "tokens": sizes[1], "random_weights": random, "load": os.getloadavg()[0]}
        add(name, about)
        ways = tuple(options.ways or (GPU_WAYS if gpu else WAYS))
        if gpu:
            add(name, on_gpu(name, ways, options.device, begun))
        for way in () if gpu else ways:
            command = [sys.executable, __file__, "--child", name, way, *(["--random"] if random else [])]
            made = subprocess.run(command, capture_output=True, text=True, check=True)
            add(name, {way: json.loads(made.stdout.splitlines()[-1])})
            print(name, way, found[name][way], flush=True)


if __name__ == "__main__":
    main()
