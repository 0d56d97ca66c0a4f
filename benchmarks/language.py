"""Language models: tokens per second and memory, compared with a plain loop of PEFT and transformers on the same work.

``python benchmarks/language.py [--only tiny|causal|minilm|accuracy|memory]``, some minutes. Both take the same batches
from the same factors, round by round in turn, with AdamW and without dropout, and must reach the same losses; times
are CPU seconds of the process with one thread. Memory is the largest resident set of a process that does nothing else:
both on the texts of one client and of 3, and ours with 50 (of which 4 train in a round). Accuracy is that of
MiniLM on held-out rated sentences, of both after the same steps on the same batches, each by its own evaluation.
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
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import peft
import torch
import transformers

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlora import FedLoRA
from algorithms.optimisers import AdamW
from algorithms.resumable import Resumable
from algorithms.rounds import one_round
from runs.language_problem import language_problem
from runs.networks.language_federation import part_of
from runs.networks.language_model import locate, model_of, tokenizer_of
from workloads.texts import load_texts
from workloads.tokens import NO_LOSS, TokenSet, tokens

OUT = Path(__file__).with_suffix(".json")
RANK, RATE, STEPS = 4, 1e-3, 3
SEEDS, SENTENCES, ROUNDS, ACCURATE_STEPS, ACCURATE_RATE, TOKENS = (0, 1), 512, 4, 30, 5e-3, 32
"""Settings for the comparison of accuracies: seeds, test sentences, rounds, steps of a round, rate, most tokens."""


@dataclass(frozen=True)
class Case:
    """A kind of work.

    Attributes:
        layers: Patterns of the layers with adapters.
        targets: The same, as PEFT names them.
        head: Modules that PEFT saves whole.
        batch: Samples of a step.
        length: Most tokens of a sample.
        vocabulary: Tokens that are drawn.
        rounds: How often both are timed.
    """

    layers: str
    targets: tuple[str, ...]
    head: tuple[str, ...]
    batch: int
    length: int
    vocabulary: int
    rounds: int

    @property
    def causal(self) -> bool:
        """Whether texts are continued."""
        return not self.head


CASES = {
    "tiny": Case("*.query, *.value", ("query", "value"), ("classifier",), 16, 32, 1000, 200),
    "causal": Case("*.q_proj, *.v_proj", ("q_proj", "v_proj"), (), 8, 64, 8192, 100),
    "minilm": Case("*.query, *.value", ("query", "value"), ("classifier",), 16, 64, 30000, 40),
}


def model(name: str, seed: int = 0) -> torch.nn.Module:
    """Return the same model on every call."""
    torch.manual_seed(0)
    if name == "minilm":
        return model_of(locate("hf:minilm"), "classification", 2, dropout=0.0, seed=seed).eval()
    if name == "tiny":
        return transformers.BertForSequenceClassification(
            transformers.BertConfig(
                vocab_size=1000,
                hidden_size=64,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=128,
                max_position_embeddings=64,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
            )
        ).eval()
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=8192,
            hidden_size=128,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=256,
            max_position_embeddings=128,
        )
    ).eval()


def texts(case: Case, count: int) -> TokenSet:
    """Return random tokens; for a causal task the second half of each text is the answer."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(case.length // 2, case.length + 1, size=count)
    mask = torch.from_numpy((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64))
    ids = torch.from_numpy(rng.integers(5, case.vocabulary, size=mask.shape)) * mask
    labels = torch.from_numpy(rng.integers(0, 2, size=count))
    if case.causal:
        answer = torch.arange(mask.shape[1]) >= torch.from_numpy(lengths)[:, None] // 2
        labels = torch.where(answer & (mask == 1), ids, NO_LOSS)
    names = () if case.causal else ("0", "1")
    return TokenSet(
        "random", "train", ids, mask, labels, names, np.zeros(count, dtype=np.int64), ("one",), np.arange(count)
    )


class Ours:
    """Rounds of FedLoRA on random tokens, or on given samples by one client."""

    def __init__(
        self,
        name: str,
        clients: int = 1,
        given: tuple[TokenSet, TokenSet] | None = None,
        steps: dict[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        case = CASES[name]
        count = case.batch * STEPS
        self.samples, test = given or (texts(case, count * clients), texts(case, 4))
        parts = np.arange(len(self.samples.labels)).reshape(clients, -1)
        problem = language_problem(
            model(name, seed), self.samples, list(parts), test, layers=case.layers, eval_batch=case.batch
        )
        how = {"epochs": 1, "learning_rate": RATE, **(steps or {})}
        local = Descent(batch=case.batch, optimiser=AdamW(), optimiser_state="personal", **how)
        self.algorithm = FedLoRA(local, Adapter(RANK, layers=case.layers, a_at="inputs", seed=seed))
        self.fed, self.problem = (
            Federation(problem.clients, known=problem.known, seed=seed, executor=Resumable()),  # as runs in a folder do
            problem,
        )
        self.state = self.algorithm.start(self.fed, problem.start)

    def batches(self, number: int) -> list[torch.Tensor]:
        """Return the samples of the first client's steps in a round."""
        rng = np.random.default_rng([self.fed.seed, number, 1, 0])
        return [batch.samples for batch in self.algorithm.local.draw(self.problem.clients[0], rng)]

    def round(self, cohort: tuple[int, ...] | None = None) -> None:
        """Run one round of some clients."""
        self.state = one_round(self.algorithm.round, self.fed, self.state, cohort)


class Plain:
    """A loop of PEFT's model and torch's AdamW."""

    def __init__(self, name: str, start: Any, samples: TokenSet, rate: float = RATE, seed: int = 0) -> None:
        case = CASES[name]
        config = peft.LoraConfig(
            r=RANK, lora_alpha=RANK, target_modules=list(case.targets), modules_to_save=list(case.head) or None
        )
        self.model, self.samples = peft.get_peft_model(model(name, seed), config), samples
        with torch.no_grad():
            for of, parameter in self.model.named_parameters():
                if ".lora_" in of and start is not None:
                    own = of.removeprefix("base_model.model.").replace(".lora_A.default", "")
                    parts = start.A if "lora_A" in of else start.B
                    parameter.copy_(parts[own.replace(".lora_B.default", "")].mT)
        self.optimiser = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=rate)

    def round(self, batches: list[torch.Tensor]) -> float:
        """Take a step on each batch; return the last loss."""
        for batch in batches:
            width = int(self.samples.lengths[batch].max())  # as a collator pads
            ids, mask = self.samples.input_ids[batch, :width], self.samples.attention_mask[batch, :width]
            labels = self.samples.labels[batch]
            found = self.model(
                input_ids=ids, attention_mask=mask, labels=labels[:, :width] if labels.ndim == 2 else labels
            )
            self.optimiser.zero_grad()
            found.loss.backward()
            self.optimiser.step()
        return float(found.loss)

    @torch.no_grad()
    def accuracy(self, test: TokenSet) -> float:
        """Return the fraction of right answers."""
        right = 0
        for part in torch.arange(len(test.labels)).split(32):
            found = self.model(input_ids=test.input_ids[part], attention_mask=test.attention_mask[part])
            right += int((found.logits.argmax(1) == test.labels[part]).sum())
        return right / len(test.labels)


def accuracy() -> dict[str, Any]:
    """Compare held-out accuracy on rated sentences, before the first step and after the last."""
    place = locate("hf:minilm")
    train, test = (
        tokens(load_texts("rated-sentences", None, split), tokenizer_of(place), TOKENS, True)
        for split in ("train", "test")
    )
    rng = np.random.default_rng(0)
    test = part_of(test, np.sort(rng.choice(len(test.labels), SENTENCES, replace=False)))
    found: dict[str, Any] = {"ours": [], "plain": [], "start": [], "steps": ROUNDS * ACCURATE_STEPS}
    for seed in SEEDS:
        how = {"epochs": None, "steps": ACCURATE_STEPS, "learning_rate": ACCURATE_RATE}
        ours = Ours("minilm", given=(train, test), steps=how, seed=seed)
        plain = Plain("minilm", ours.state.factors, train, ACCURATE_RATE, seed)
        found["start"].append(plain.accuracy(test))
        for number in range(1, ROUNDS + 1):
            plain.round(ours.batches(number))
            ours.round()
        found["ours"].append(ours.problem.evaluate(ours.algorithm.values(ours.state))["accuracy"])
        found["plain"].append(plain.accuracy(test))
        print(f"seed {seed}: {[found[who][-1] for who in ('start', 'ours', 'plain')]}", flush=True)
    apart = max(abs(a - b) for a, b in zip(found["ours"], found["plain"], strict=True))
    if apart > 0.01:
        raise SystemExit(f"accuracies are more than a point apart: {found}")
    return {**found, "batch": CASES["minilm"].batch, "test_sentences": SENTENCES, "most_apart": apart}


def speed(name: str) -> dict[str, Any]:
    """Measure tokens per CPU second of both, and the distance of their final weights."""
    case, ours = CASES[name], Ours(name)
    plain = Plain(name, ours.state.factors, ours.samples)
    tokens, times = int(ours.samples.lengths.sum()), {"ours": [], "plain": []}
    for number in range(1, case.rounds + 1):
        batches = ours.batches(number)
        steps = {"ours": ours.round, "plain": lambda batches=batches: plain.round(batches)}
        for who in ("ours", "plain") if number % 2 else ("plain", "ours"):
            begun = time.process_time()
            steps[who]()
            times[who].append(time.process_time() - begun)
    whole = torch.arange(min(case.batch, len(ours.samples.labels)))
    client = type(ours.problem.clients[0])(ours.problem.clients.network, ours.problem.clients.data, whole)
    with torch.no_grad():
        last = float(client.loss(ours.algorithm.values(ours.state)))
        labels = {"labels": ours.samples.labels[whole]}
        other = float(
            plain.model(
                input_ids=ours.samples.input_ids[whole], attention_mask=ours.samples.attention_mask[whole], **labels
            ).loss
        )
    if abs(last - other) > 1e-3 * abs(other):
        raise SystemExit(f"{name}: not the same work: the losses are {last} and {other}")
    ratios = [a / b for a, b in zip(times["ours"], times["plain"], strict=True)][1:]
    return {
        "tokens_a_round": tokens,
        "tokens_per_second": {who: round(tokens / median(found[1:])) for who, found in times.items()},
        "time_over_plain": round(median(ratios), 3),
        "quartiles": [round(float(q), 3) for q in np.quantile(ratios, [0.25, 0.75])],
        "rounds": len(ratios),
        "losses": [last, other],
    }


def peak(name: str, who: str, clients: int) -> dict[str, float]:
    """Return the largest resident set of a training process, in MB: before the first step, and overall."""
    case = CASES[name]
    if who == "plain":
        samples = texts(case, case.batch * STEPS * clients)
        plain, batches = Plain(name, None, samples), torch.arange(len(samples.labels)).split(case.batch)
        step = partial(plain.round, list(batches))
    else:
        ours = Ours(name, clients)
        step = partial(ours.round, tuple(range(0, clients, max(1, clients // 3))))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step()
    return {"before": before / 1024, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def memory(name: str) -> dict[str, Any]:
    """Measure `peak` in separate processes."""
    found = {}
    for who, clients in (("plain", 1), ("ours", 1), ("plain", 3), ("ours", 3), ("ours", 50)):
        command = [sys.executable, __file__, "--child", name, who, str(clients)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        found[f"{who}, {clients} client{'s' if clients > 1 else ''}"] = json.loads(made.stdout.splitlines()[-1])
    return {"megabytes": found}


def main() -> None:
    """Add the measurements to the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=(*CASES, "accuracy", "memory"))
    parser.add_argument("--memory-of", choices=tuple(CASES), default="minilm")
    parser.add_argument("--child", nargs=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if options.child:
        name, who, clients = options.child
        print(json.dumps(peak(name, who, int(clients))))
        return
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    for name in (options.only,) if options.only else (*CASES, "accuracy", "memory"):
        others = {"memory": partial(memory, options.memory_of), "accuracy": accuracy}
        found[name] = others.get(name, partial(speed, name))()
        found[name]["load"] = os.getloadavg()[0]
        print(name, json.dumps(found[name]))
        found["environment"] = {
            "python": platform.python_version(),
            "machine": platform.processor() or platform.machine(),
            **{library: metadata.version(library) for library in ("torch", "transformers", "peft")},
            "threads": 1,
        }
        OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
