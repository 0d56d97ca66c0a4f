"""The runs of the comparison of methods: accuracy and bytes, error of the aggregation, and time of a round."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algorithms.federation import Federation, FederationError
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.experiments.experiment import Design, Line
from figures.figure import Scale, Settings
from runs.catalogue import ALGORITHMS, GROUPS, options_of
from runs.index import SETTINGS
from runs.listing import find_runs
from runs.plan import parts_of

LABELS: Mapping[str, str] = {
    "fedavg": "FedAvg",
    "fedlin": "FedLin",
    "fedprox": "FedProx",
    "scaffold": "SCAFFOLD",
    "fedlrt": "FeDLRT, simplified",
    "fedlrt-full": "FeDLRT, full",
    "fedlrt-plain": "FeDLRT, plain",
    "fedlrt-naive": "naive FeDLRT",
    "fedhm": "FedHM",
    "fedpara": "FedPara",
    "fedlora": "FedLoRA",
    "ffa-lora": "FFA-LoRA",
    "rolora": "RoLoRA",
    "hetlora": "HetLoRA",
    "rbla": "RBLA",
    "lora-fair": "LoRA-FAIR",
    "fedsa-lora": "FedSA-LoRA (p)",
    "fed-sb": "Fed-SB",
    "flexlora": "FlexLoRA",
    "flora": "FLoRA",
    "fedex-lora": "FedEx-LoRA",
    "fedloru": "FedLoRU",
    "fedloru-finetune": "FedLoRU, fine-tuning",
    "mfedloru": "mFedLoRU",
    "frlora": "FRLoRA",
    "pfedloru": "pFedLoRU (p)",
    "pfedlora-1": "pFedLoRA (1) (p)",
    "pfedlora-2": "pFedLoRA (2) (p)",
    "pfedpara": "pFedPara (p)",
}
"""Methods that train networks and communicate, in the order of the catalogue; (p): personal models are compared."""
FAMILIES: Mapping[str, str] = {
    "all weights": "all weights",
    "bases and coefficients of the weights": "bases, Hadamard products",
    "Hadamard products of factors": "bases, Hadamard products",
    "an update AB, whose factors are averaged": "averages of factors",
    "an update AB, whose products are averaged": "averages of products",
    "updates AB that accumulate": "accumulation",
    "personal updates": "personal",
}
"""Families of the picture by the groups of the catalogue."""
FAMILY = {LABELS[name]: FAMILIES[group] for group, names in GROUPS.items() for name in names if name in LABELS}
WHOLE = (
    *("fedavg", "fedprox", "fedhm", "fedpara", "fedlora", "ffa-lora", "hetlora", "rbla", "lora-fair", "fed-sb"),
    *("flexlora", "flora", "fedex-lora", "fedloru", "fedloru-finetune", "mfedloru", "frlora"),
)
"""Methods with one global model, whose clients do in a round what they would do without the others."""


@dataclass(frozen=True)
class MethodSizes:
    """Sizes that depend on the scale.

    Attributes:
        methods: Names of the methods.
        federation: Options of every run: network, images, clients, local steps.
        rank: Rank of all factors.
        tau: Rounds between accumulations.
        rounds: Rounds of every run, including those that choose learning rates.
        every: Rounds between evaluations.
        seeds: Number of seeds, the same for all methods.
        rates: Learning rates tried, where there is more than one, with a seed of their own.
        measured: Number of first rounds whose time and error are measured; default: all.
    """

    methods: tuple[str, ...]
    federation: Mapping[str, Any]
    rank: int
    tau: int
    rounds: int
    every: int
    seeds: int
    rates: tuple[float, ...] = field(default=(0.3,))
    measured: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Methods that are compared on one data set.

    Attributes:
        data: Name of the data set.
        sizes: Sizes by scale.
        divided: Options of local steps by method, of those with two kinds of local steps in a round: each kind gets
            half of the steps. Other methods with two kinds take all steps of both.
    """

    data: str
    sizes: Mapping[Scale, MethodSizes]
    divided: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_SMALL: Mapping[str, Any] = {
    "model": "perceptron",
    "width": 64,
    "side": 14,
    "own_share": 0.2,
    "batch": 20,
    "partition": "dirichlet",
    "partition_psi": 0.3,
}
METHOD_SIZES: dict[Scale, MethodSizes] = {
    "quick": MethodSizes(
        ("fedavg", "fedlora", "fed-sb", "flora", "pfedloru"),
        {**_SMALL, "clients": 4, "samples": 800, "held_out": 1000},
        rank=4,
        tau=2,
        rounds=4,
        every=2,
        seeds=1,
    ),
    "laptop": MethodSizes(
        tuple(LABELS),
        {**_SMALL, "clients": 10, "samples": 2000, "held_out": 2000},
        rank=4,
        tau=4,
        rounds=16,
        every=2,
        seeds=2,
        rates=(0.1, 0.3, 1.0, 3.0),
    ),
    "paper": MethodSizes(
        tuple(LABELS),
        {
            "model": "resnet10",
            "clients": 20,
            "own_share": 0.2,
            "batch": 32,
            "held_out": 10_000,
            "partition": "dirichlet",
            "partition_psi": 0.3,
        },
        rank=32,
        tau=20,
        rounds=100,
        every=5,
        seeds=3,
        rates=(0.003, 0.01, 0.03, 0.1, 0.3),
    ),
}


FASHION = Comparison("fashion-mnist", METHOD_SIZES)


def line_of(name: str, sizes: MethodSizes, of: Comparison = FASHION) -> Line:
    """Return the line of a method, which chooses a learning rate of its own."""
    known = options_of(name, of.data, {})
    given = {**sizes.federation, "evaluate_every": sizes.every, "rank": sizes.rank, "tau": sizes.tau}
    for option in of.divided.get(name, ()):
        given[option] = sizes.federation["steps"] // 2
    options = {key: entry for key, entry in given.items() if key in known or key == "evaluate_every"}
    personal = hasattr(ALGORITHMS[name].kind, "personal_weights")
    metric = "personal_accuracy" if personal else "accuracy"
    return Line({"method": LABELS[name]}, name, of.data, options, metric, name, True)


def design_of(settings: Settings, of: Comparison = FASHION) -> Design:
    """Return the runs of a scale; learning rates are chosen by runs as long as the figure's."""
    sizes = settings.sizes(of.sizes)
    lines = tuple(line_of(name, sizes, of) for name in sizes.methods)
    return Design(lines, sizes.rounds, sizes.seeds, sizes.rates, sizes.rounds)


def device_of(line: Line, rounds: int, seed: int, rate: float, settings: Settings) -> str:
    """Return the kind of device that a run was made on; that of the settings if the store lacks it."""
    trial = line.trial(rounds, (seed,), rate)
    folder = Path(settings.runs) / trial.plan(seed).folder
    made = find_runs(folder)[0].conduct.get("device") if (folder / SETTINGS).exists() else None
    return str(made or settings.device).partition(":")[0]


def vector(weights: Mapping[str, Tensor]) -> Tensor:
    """Return all weights as one vector in double precision."""
    return torch.cat([weights[name].detach().reshape(-1).double().cpu() for name in sorted(weights)])


def aggregation_error(algorithm: Any, clients: Any, shares: Any, seed: int, before: Any, after: Any) -> float:
    r"""Return $\|w^+ - \sum_k s_kw_k\| / \|\sum_k s_kw_k - w\|$ for a round from w to $w^+$.

    Here $w_k$ is the model after a round in which only client k takes part, from the same state and with the same
    batches.

    Args:
        algorithm: The method.
        clients: Clients of the federation.
        shares: Weights of the clients in averages; None: the sizes of their data.
        seed: Seed of the federation.
        before: State of the algorithm and of the federation before the round.
        after: State of the algorithm after the round.
    """
    state, kept = before
    mean, total = None, 0.0
    for number in range(len(clients)):
        alone = Federation(clients, shares=shares, seed=seed, state=kept)
        share = float(alone.shares[number])
        model = share * vector(algorithm.weights(one_round(algorithm.round, alone, state, (number,))))
        mean, total = model if mean is None else mean + model, total + share
    assert mean is not None, "a federation has clients"
    ideal = mean / total
    start, end = vector(algorithm.weights(state)), vector(algorithm.weights(after))
    return float((end - ideal).norm() / (ideal - start).norm())


def measure_rounds(line: Line, rate: float, seed: int, sizes: MethodSizes, settings: Settings) -> list[dict[str, Any]]:
    """Run a method once more; measure the time of each round, and the error of the aggregation where it is defined.

    Returns:
        Stage (`seconds` or `error`), round and value. A run that diverges ends with its last finite round.
    """
    rows: list[dict[str, Any]] = []
    parts = parts_of(line.trial(sizes.rounds, (seed,), rate).plan(seed, settings.place, settings.device))
    problem, algorithm = parts.problem, parts.algorithm
    known = getattr(problem, "known", ())
    fed = Federation(problem.clients, shares=problem.shares, seed=seed, executor=parts.executor, known=known)
    state = algorithm.start(fed, Tree(problem.start))
    for number in range(1, (sizes.measured or sizes.rounds) + 1):
        before = (state, fed.state)
        started = seconds_of(settings.device)
        try:
            state = one_round(algorithm.round, fed, state)
        except FederationError:
            break
        rows.append({"stage": "seconds", "round": number, "value": seconds_of(settings.device) - started})
        if line.algorithm in WHOLE and (number - 1) % sizes.every == 0:
            error = aggregation_error(algorithm, problem.clients, problem.shares, seed, before, state)
            rows.append({"stage": "error", "round": number, "value": error})
    return rows


def seconds_of(device: str) -> float:
    """Return the processor time so far, which other work hardly changes; with an accelerator, the wall time."""
    if not device.startswith("cuda"):
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()
