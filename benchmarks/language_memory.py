"""Memory and time of a local step of language models, for each option that saves memory.

``python benchmarks/language_memory.py [--only minilm|smollm2]``, minutes, needs the packages of `hf:minilm` and
`hf:smollm2`. Each row is a process of its own with one thread: a client of FedLoRA takes three steps of AdamW on random
tokens. Memory is the largest resident set, before the first step and overall. Time is the processor time of a step, the
smaller of the last two.
"""

from __future__ import annotations

import os
import sys

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

import argparse
import json
import resource
import subprocess
import time
import warnings
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
from runs.networks.language_model import Task, locate, model_of
from runs.versions import versions
from workloads.tokens import NO_LOSS, TokenSet

OUT = Path(__file__).with_suffix(".json")
MODELS: dict[str, tuple[Task, str, int, int]] = {
    "minilm": ("classification", "*.query, *.value", 16, 64),
    "smollm2": ("causal", "*.q_proj, *.v_proj", 4, 64),
}
"""Task, layers, texts of a step, and tokens of a text."""
WAYS: dict[str, dict[str, Any]] = {
    "float32": {},
    "micro-batch": {"micro_batch": 2},
    "gradient checkpointing": {"gradient_checkpointing": True},
    "autocast bfloat16": {"autocast": torch.bfloat16},
    "bfloat16": {"dtype": "bfloat16"},
}


def texts(task: Task, count: int, length: int) -> TokenSet:
    """Return random tokens; for a causal task the second half of each text is the answer."""
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(5, 20000, size=(count, length)))
    labels = torch.from_numpy(rng.integers(0, 2, size=count))
    if task == "causal":
        labels = torch.where(torch.arange(length) >= length // 2, ids, NO_LOSS)
    names, origins = ("0", "1") if task == "classification" else (), np.zeros(count, dtype=np.int64)
    return TokenSet("random", "train", ids, torch.ones_like(ids), labels, names, origins, ("one",), np.arange(count))


def measure(name: str, way: str) -> dict[str, float]:
    """Return the megabytes before the first step and at most, the seconds of a step, and the number of parameters."""
    task, layers, batch, length = MODELS[name]
    named = dict(WAYS[way])
    dtype = named.pop("dtype", "float32")
    model = model_of(locate(f"hf:{name}"), task, 2, dtype=dtype, dropout=0.0)
    samples = texts(task, batch, length)
    problem = language_problem(model, samples, [np.arange(batch)], samples, layers=layers, **named)
    local = Descent(batch=batch, optimiser=AdamW(), learning_rate=1e-3)
    algorithm = FedLoRA(local, Adapter(4, layers=layers, a_at="inputs", precision="float32"))
    fed = Federation(problem.clients, known=problem.known)
    state = algorithm.start(fed, problem.start)
    before, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(3):
        begun = time.process_time()
        state = one_round(algorithm.round, fed, state)
        seconds.append(time.process_time() - begun)
    count = sum(parameter.numel() for parameter in model.parameters())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sizes = {"megabytes_before": round(before / 1024), "megabytes": round(most / 1024)}
    return {"parameters": count, **sizes, "seconds": min(seconds[1:])}


def main() -> None:
    """Add the measurements to the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(MODELS))
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=tuple(WAYS))
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if options.child:
        print(json.dumps(measure(*options.child)))
        return
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    for name in (options.only,) if options.only else MODELS:
        _, _, batch, length = MODELS[name]
        found[name] = {**found.get(name, {}), "texts": batch, "tokens": length, "load": os.getloadavg()[0]}
        for way in options.ways:
            command = [sys.executable, __file__, "--child", name, way]
            made = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name][way] = json.loads(made.stdout.splitlines()[-1])
            print(name, way, found[name][way], flush=True)
        found["environment"] = {**versions(), "threads": 1}
        OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
