"""The runs of the learning curves: their algorithms, the choice of learning rates, and the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from figures.experiments.experiment import choice_seeds
from figures.experiments.rate_choice import best_rate, next_tries
from figures.experiments.sweep import outcomes_of
from figures.figure import DataChoice, Scale, Settings
from runs.catalogue import problem_settings_of
from runs.experiments import Experiment, Trial
from runs.plan import make_plan
from workloads.data.datasets import find

DATA = ("mnist", "fashion-mnist")
MANY = "half of the rank, the rank, twice the rank, in turn"


@dataclass(frozen=True)
class Method:
    """An algorithm with its options in these runs.

    Attributes:
        label: Name of the algorithm in the picture.
        algorithm: Name of the algorithm on the command line.
        settings: Options of the algorithm itself.
        personal: Whether the clients' own models are what it trains.
    """

    label: str
    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    personal: bool = False

    @property
    def metric(self) -> str:
        """Name of the metric drawn: test accuracy; of personal models, the mean over the clients' own test sets."""
        return "personal_accuracy" if self.personal else "accuracy"


FAMILIES: Mapping[str, tuple[Method, ...]] = {
    "full weights": (
        Method("central training", "central"),
        Method("local training (p)", "local", personal=True),
        Method("FedAvg", "fedavg"),
        Method("FedLin", "fedlin"),
    ),
    "one pair of factors": (
        Method("FedLoRA", "fedlora"),
        Method("FFA-LoRA", "ffa-lora"),
        Method("RoLoRA", "rolora"),
        Method("FlexLoRA", "flexlora"),
    ),
    "dynamical low rank": (
        Method("FeDLRT, plain", "fedlrt-plain"),
        Method("FeDLRT, full", "fedlrt-full"),
        Method("FeDLRT, simplified", "fedlrt"),
        Method("naive FeDLRT", "fedlrt-naive"),
    ),
    "accumulation": (
        Method("FedLoRU, A anew", "fedloru", {"restart": "random"}),
        Method("FedLoRU, A kept", "fedloru", {"restart": "keep A"}),
        Method("FedLoRU, both kept", "fedloru", {"restart": "momentum"}),
        Method("FedLoRU fine-tuning", "fedloru-finetune"),
        Method("mFedLoRU", "mfedloru"),
    ),
    "personal; ranks": (
        Method("pFedLoRU (p)", "pfedloru", personal=True),
        Method("pFedLoRA (1) (p)", "pfedlora-1", personal=True),
        Method("pFedLoRA (2) (p)", "pfedlora-2", personal=True),
        Method("FedHM, one rank", "fedhm"),
        Method("FedHM, many ranks", "fedhm", {"ranks": MANY}),
    ),
}
"""The papers' algorithms that train networks and their baselines, by rows of the picture."""
METHODS = tuple(method for family in FAMILIES.values() for method in family)
LABELS = tuple(method.label for method in METHODS)


@dataclass(frozen=True)
class CurveSizes:
    """Sizes that depend on the scale.

    Attributes:
        methods: Labels of the algorithms.
        splits: How the data are divided, by words for it.
        federation: Options of every run: network, images, clients, local steps.
        rank: Rank of all factors; clients of many ranks have half of it, it, and twice as much in turn.
        tau: Rounds between accumulations.
        rounds: Rounds of every run.
        every: Rounds between evaluations.
        seeds: Number of seeds, the same for all algorithms.
        rates: Learning rates tried, where there is more than one, with a seed of their own.
        tuning_rounds: Rounds of the runs that choose.
    """

    methods: tuple[str, ...]
    splits: Mapping[str, Mapping[str, Any]]
    federation: Mapping[str, Any]
    rank: int
    tau: int
    rounds: int
    every: int
    seeds: int
    rates: tuple[float, ...]
    tuning_rounds: int = 1


_IID: Mapping[str, Any] = {"partition": "even"}
_MIXED: Mapping[str, Any] = {"partition": "dirichlet", "partition_psi": 0.3}
CURVE_SIZES: dict[Scale, CurveSizes] = {
    "quick": CurveSizes(
        ("FedAvg", "RoLoRA", "FedLoRU, A anew", "pFedLoRU (p)", "FeDLRT, simplified"),
        {"IID": _IID},
        {
            "model": "perceptron",
            "width": 64,
            "side": 14,
            "clients": 4,
            "samples": 800,
            "own_share": 0.2,
            "batch": 20,
            "held_out": 1000,
        },
        rank=4,
        tau=2,
        rounds=4,
        every=2,
        seeds=1,
        rates=(0.3,),
    ),
    "laptop": CurveSizes(
        LABELS,
        {"IID": _IID, "Dirichlet": _MIXED},
        {
            "model": "perceptron",
            "width": 64,
            "side": 14,
            "clients": 10,
            "samples": 2000,
            "own_share": 0.2,
            "batch": 20,
            "held_out": 2000,
        },
        rank=4,
        tau=5,
        rounds=20,
        every=2,
        seeds=1,
        rates=(0.1, 0.3, 1.0, 3.0),
        tuning_rounds=6,
    ),
    "paper": CurveSizes(
        LABELS,
        {"IID": _IID, "Dirichlet": _MIXED},
        {"model": "resnet10", "clients": 20, "own_share": 0.2, "batch": 32, "held_out": 10_000},
        rank=32,
        tau=20,
        rounds=100,
        every=5,
        seeds=5,
        rates=(0.01, 0.03, 0.1, 0.3),
        tuning_rounds=20,
    ),
}


@dataclass(frozen=True)
class Case:
    """A data set and how it is divided."""

    data: str
    split: str
    settings: Mapping[str, Any]


def cases_of(settings: Settings) -> list[Case]:
    """Return the cases of a scale whose data sets are on this machine."""
    splits = settings.sizes(CURVE_SIZES).splits
    return [Case(data, split, of) for data in curves_choice(settings).names for split, of in splits.items()]


def curves_choice(settings: Settings) -> DataChoice:
    """Choose both data sets, or the one that is on this machine."""
    here = tuple(name for name in DATA if find(name, settings.data_root) is not None)
    if len(here) == len(DATA) or not here:
        return DataChoice(DATA)
    (lacking,) = set(DATA) - set(here)
    return DataChoice(here, f"{lacking} was not found and is left out")


def options_of(method: Method, sizes: CurveSizes, case: Case, rate: float) -> dict[str, Any]:
    """Return the options of a run as `rankproof train` takes them, without the seed."""
    options = {**sizes.federation, **case.settings, "evaluate_every": sizes.every, "learning_rate": rate}
    given = dict(method.settings)
    if given.get("ranks") == MANY:
        in_turn = (max(1, sizes.rank // 2), sizes.rank, 2 * sizes.rank)
        given["ranks"] = tuple(in_turn[number % 3] for number in range(sizes.federation["clients"]))
    if method.algorithm not in ("fedavg", "fedlin", "local", "central"):
        options["rank"] = sizes.rank
    if "fedloru" in method.algorithm:
        options["tau"] = sizes.tau
    return {**options, **given}


def experiment_of(
    sizes: CurveSizes, cases: Sequence[Case], rates: Mapping[str, float], seeds: tuple[int, ...]
) -> Experiment:
    """Return the runs of the curves, each algorithm with its learning rate.

    Args:
        sizes: Sizes of the scale.
        cases: Data sets and splits.
        rates: Learning rates by the labels of the algorithms.
        seeds: Seeds, the same for all algorithms and cases, so samples, clients and start are the same.
    """
    return Experiment(
        tuple(
            Trial(
                f"{method.label} on {case.data}, {case.split}",
                method.algorithm,
                case.data,
                sizes.rounds,
                options_of(method, sizes, case, rates[method.label]),
                seeds,
            )
            for method in METHODS
            if method.label in rates
            for case in cases
        )
    )


def first_rates(sizes: CurveSizes) -> list[dict[str, float]]:
    """Return the learning rates that every algorithm tries, by label; empty if there is only one."""
    return [dict.fromkeys(sizes.methods, rate) for rate in sizes.rates] if len(sizes.rates) > 1 else []


def rate_experiment(
    settings: Settings, sizes: CurveSizes, cases: Sequence[Case], rates: Mapping[str, float], number: int = 0
) -> Experiment:
    """Return runs that choose the learning rates, at rates by the labels of the algorithms.

    Args:
        settings: The settings, which give the seeds.
        sizes: Sizes of the scale.
        cases: Data sets and splits.
        rates: Learning rates by the labels of the algorithms.
        number: Number of the seed of runs that choose, 0 or 1.
    """
    short = replace(sizes, rounds=sizes.tuning_rounds, every=sizes.tuning_rounds)
    return experiment_of(short, cases, rates, (choice_seeds(settings)[number],))


def tune(
    settings: Settings, sizes: CurveSizes, cases: Sequence[Case]
) -> tuple[list[dict[str, object]], dict[str, float]]:
    """Run the choice of learning rates; return its rows, and the chosen rates by the labels of the algorithms.

    An algorithm has one rate for all cases: the one with the largest mean, over the cases, of the accuracy on the
    samples held out for validation, or of personal models on the clients' own held-out samples. These runs have seeds
    of their own. A run that failed counts as accuracy 0. `next_tries` says which rates an algorithm tries, and when a
    second seed decides between two.
    """
    methods = [method for method in METHODS if method.label in sizes.methods]
    if len(sizes.rates) == 1:
        return [], {method.label: sizes.rates[0] for method in methods}
    rows: list[dict[str, object]] = []
    values: dict[str, dict[tuple[float, int], float]] = {method.label: {} for method in methods}
    while True:
        batches: dict[tuple[int, int], dict[str, float]] = {}
        for label, known in values.items():
            for place, (rate, number) in enumerate(next_tries(known, sizes.rates, settings.scale)):
                batches.setdefault((place, number), {})[label] = rate
        if not batches:
            return rows, {label: best_rate(known) for label, known in values.items()}
        for (_, number), rates in batches.items():
            table = [(method, case) for method in methods if method.label in rates for case in cases]
            experiment = rate_experiment(settings, sizes, cases, rates, number)
            (seed,) = experiment.trials[0].seeds
            for (method, case), outcome in zip(table, outcomes_of(experiment, settings, "rates: "), strict=True):
                metric = method.metric if method.personal else "validation_accuracy"
                last = {"round": sizes.tuning_rounds, metric: 0.0} if outcome.failure else outcome.curve(metric)[-1]
                rows.append(row_of("choice", method, case, seed, rates[method.label], last, metric))
                known, tried = values[method.label], (rates[method.label], number)
                known[tried] = known.get(tried, 0.0) + float(last[metric]) / len(cases)


def constant_answers(case: Case, sizes: CurveSizes, seed: int, settings: Settings) -> dict[bool, tuple[float, int]]:
    """Return the accuracy of the best constant answer and its number of samples, on the test set and per client.

    Returns:
        By whether models are personal: then the mean over the clients' own test sets, each with its own best answer.
    """
    given = {**sizes.federation, **case.settings, "seed": seed}
    problem = problem_settings_of(case.data, make_plan("fedavg", case.data, given).settings).build(
        seed, root=settings.place
    )
    labels, own = problem.splits["test"].y, problem.own
    of_clients = [problem.clients.data.y[part] for part in own]
    each = [float(part.bincount().max()) / len(part) for part in of_clients]
    return {
        False: (float(labels.bincount().max()) / len(labels), len(labels)),
        True: (sum(each) / len(each), sum(len(part) for part in of_clients)),
    }


def row_of(
    stage: str, method: Method, case: Case, seed: int, rate: float, row: Mapping[str, Any], metric: str
) -> dict[str, object]:
    """Return a row of the figure's table."""
    return {
        "stage": stage,
        "method": method.label,
        "data": case.data,
        "split": case.split,
        "seed": seed,
        "rate": rate,
        "round": row["round"],
        "accuracy": row[metric],
        "constant": float("nan"),
        "samples": 0,
    }
