"""Experiments on language models as data: RoLoRA's Figures 3 to 8 and Tables 1 and 6, and FedLoRU's fine-tuning.

For a given seed, all methods of a setting use the same texts, clients and start. Rounds are communication rounds; an
iteration of RoLoRA takes two. As in RoLoRA's Table 4, more clients have fewer rounds, so the number of samples
stays about the same. For the layers of the paper's RoBERTa-Large we take the layers at the same distance from the top
of a smaller model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.experiment import Design, Line, choose_rates, run_design
from figures.figure import Scale, Settings

ALGORITHMS: Mapping[str, str] = {
    "LoRA": "fedlora",
    "FFA-LoRA": "ffa-lora",
    "FlexLoRA": "flexlora",
    "RoLoRA": "rolora",
    "FedLoRU": "fedloru-finetune",
}
THREE = ("LoRA", "FFA-LoRA", "RoLoRA")
TRIPS = {"RoLoRA": 2}
"""Communication rounds in a round of a method; 1 where none is named."""
TEXTS = "rated-sentences"
SPLITS: Mapping[str, Mapping[str, Any]] = {
    "IID": {"partition": "even"},
    "by source": {"partition": "by-source"},
    "by class": {"partition": "dirichlet", "partition_psi": 0.5},
}
BUDGETS = ("P1", "P2", "P3")
RATES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)
"""The printed grid of learning rates."""
UPLINKS = (("low", "P1", "P2"), ("high", "U", "twice U"))
"""Name of a budget, layers of LoRA, and twice as many of FFA-LoRA and RoLoRA."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that depend on the scale.

    Attributes:
        common: Options of every run.
        tuning: Further options of the runs that choose learning rates.
        blocks: Number of last blocks with adapters, by budget: the budgets of Table 7, and U of Table 8.
        depth: Number of blocks of the model.
        rounds: Communication rounds by number of clients; multiples of 2 `evaluations`.
        budget_rounds: Communication rounds of the comparison of budgets, likewise.
        evaluations: Number of evaluations after the start.
        skewed: Number of clients that differ.
        few: Number of clients of the comparison of budgets.
        ranks: Ranks of the comparison of budgets; everything else uses the first.
        rates: Learning rates tried.
        tuning_rounds: Communication rounds of the runs that choose, an even number.
        seeds: Number of seeds.
    """

    common: Mapping[str, Any]
    tuning: Mapping[str, Any]
    blocks: Mapping[str, int]
    depth: int
    rounds: Mapping[int, int]
    budget_rounds: int
    evaluations: int
    skewed: int
    few: int
    ranks: tuple[int, ...]
    rates: tuple[float, ...]
    tuning_rounds: int
    seeds: int

    def layers(self, budget: str) -> str:
        """Return the patterns of the query and value matrices of a budget's blocks."""
        last = range(self.depth - self.blocks[budget], self.depth)
        return ", ".join(f"*.layer.{block}.*.{part}" for block in last for part in ("query", "value"))


SIZES: Mapping[Scale, Sizes] = {
    "quick": Sizes(
        {
            "model": "hf:minilm",
            "max_length": 32,
            "truncate": True,
            "batch": 2,
            "steps": 1,
            "samples": 64,
            "test_samples": 16,
            "dropout": 0.0,
        },
        {"held_out": 16},
        {"P1": 1, "P2": 2, "P3": 3, "U": 2, "twice U": 4},
        6,
        {2: 2, 4: 2},
        2,
        1,
        4,
        2,
        (4,),
        (5e-3,),
        2,
        1,
    ),
    "laptop": Sizes(
        {
            "model": "hf:minilm",
            "max_length": 64,
            "truncate": True,
            "batch": 8,
            "steps": 2,
            "test_samples": 512,
            "dropout": 0.0,
        },
        {"held_out": 256},
        {"P1": 1, "P2": 2, "P3": 3, "U": 2, "twice U": 4},
        6,
        {3: 136, 20: 24, 50: 8},
        48,
        4,
        20,
        3,
        (4, 8, 2, 1),
        RATES,
        12,
        3,
    ),
    "paper": Sizes(
        {"model": "hf:FacebookAI/roberta-large", "max_length": 128, "truncate": True, "batch": 64, "steps": 20},
        {"held_out": 1000},
        {"P1": 3, "P2": 6, "P3": 24, "U": 4, "twice U": 8},
        24,
        {3: 500, 20: 80, 50: 40},
        500,
        10,
        20,
        3,
        (4, 8, 2, 1),
        RATES,
        40,
        3,
    ),
}


def clients_lines(sizes: Sizes) -> list[tuple[Line, int]]:
    """Return the lines of Tables 1 and 6 and Figure 3 with their communication rounds: methods by clients and split."""
    cases = [("IID", clients, tuple(ALGORITHMS)) for clients in sizes.rounds]
    cases += [(split, sizes.skewed, THREE) for split in ("by source", "by class")]
    return [
        (
            _line(
                sizes,
                method,
                {"split": split, "clients": clients},
                clients,
                "P2",
                sizes.ranks[0],
                sizes.rounds[clients],
                SPLITS[split],
            ),
            sizes.rounds[clients],
        )
        for split, clients, methods in cases
        for method in methods
    ]


def budgets_lines(sizes: Sizes) -> list[tuple[Line, int]]:
    """Return the lines of Figures 4 and 6 to 8: three methods by layers and ranks."""
    return [
        (
            _line(sizes, method, {"rank": rank, "budget": budget}, sizes.few, budget, rank, sizes.budget_rounds),
            sizes.budget_rounds,
        )
        for rank in sizes.ranks
        for budget in BUDGETS
        for method in THREE
    ]


def uplinks_lines(sizes: Sizes) -> list[tuple[Line, int]]:
    """Return the lines of Figure 5: three methods with equal uploads; one factor is sent for twice the layers."""
    return [
        (
            _line(
                sizes,
                method,
                {"uplink": name},
                sizes.few,
                ours if method == "LoRA" else twice,
                sizes.ranks[0],
                sizes.budget_rounds,
            ),
            sizes.budget_rounds,
        )
        for name, ours, twice in UPLINKS
        for method in THREE
    ]


def _line(
    sizes: Sizes,
    method: str,
    keys: Mapping[str, str | int],
    clients: int,
    budget: str,
    rank: int,
    rounds: int,
    more: Mapping[str, Any] = SPLITS["IID"],
) -> Line:
    own = rounds // TRIPS.get(method, 1)
    options = {
        **sizes.common,
        **more,
        "clients": clients,
        "rank": rank,
        "layers": sizes.layers(budget),
        "evaluate_every": own // sizes.evaluations,
    }
    if method == "FedLoRU":
        options["tau"] = max(1, own // 4)
    return Line({**keys, "method": method}, ALGORITHMS[method], TEXTS, options, rate_of=method)


def tuning_designs(sizes: Sizes, methods: Collection[str]) -> list[Design]:
    """Return the designs that choose each method's learning rate, on IID clients of `skewed`, with budget P2."""
    found = []
    for trips in (1, 2):
        rounds = sizes.tuning_rounds // trips
        lines = [
            _line(sizes, method, {"clients": sizes.skewed}, sizes.skewed, "P2", sizes.ranks[0], sizes.tuning_rounds)
            for method in ALGORITHMS
            if method in methods and TRIPS.get(method, 1) == trips
        ]
        tuned = tuple(
            replace(line, tuned=True, options={**line.options, **sizes.tuning, "evaluate_every": rounds})
            for line in lines
        )
        if tuned:
            found.append(Design(tuned, rounds, 0, sizes.rates, rounds))
    return found


def designs(lines: Sequence[tuple[Line, int]], seeds: int, rates: Mapping[str, float], default: float) -> list[Design]:
    """Return designs that group lines with as many rounds, in the order of their first lines."""
    by_rounds: dict[int, list[Line]] = {}
    for line, rounds in lines:
        with_rate = replace(line, options={**line.options, "learning_rate": rates.get(line.rate_of, default)})
        by_rounds.setdefault(rounds // TRIPS.get(str(line.keys["method"]), 1), []).append(with_rate)
    return [Design(tuple(mine), rounds, seeds) for rounds, mine in by_rounds.items()]


def whole_designs(lines_of: Callable[[Sizes], Sequence[tuple[Line, int]]], settings: Settings) -> list[Design]:
    """Return the runs of a figure at a scale, and those that choose their learning rates."""
    sizes = settings.sizes(SIZES)
    lines = lines_of(sizes)
    return [
        *tuning_designs(sizes, {str(line.keys["method"]) for line, _ in lines}),
        *designs(lines, sizes.seeds, {}, sizes.rates[0]),
    ]


def table_of(lines: Sequence[tuple[Line, int]], sizes: Sizes, settings: Settings) -> pd.DataFrame:
    """Choose the learning rates, then make the runs; one row for each rate tried, then one for each evaluation."""
    tuning = tuning_designs(sizes, {str(line.keys["method"]) for line, _ in lines})
    announce_cost([*tuning, *designs(lines, sizes.seeds, {}, sizes.rates[0])], settings, LEFT_OUT)
    keys = list(lines[0][0].keys)
    of_choice = {"split": "IID", "clients": sizes.skewed, "rank": sizes.ranks[0], "budget": "P2", "uplink": "none"}
    tried: list[dict[str, Any]] = []
    rates: dict[str, float] = {}
    for design in tuning:
        rows, chosen = choose_rates(design, settings)
        rates |= chosen
        tried += [{**row, **{name: of_choice[name] for name in keys if name != "method"}} for row in rows]
    found = [run_design(design, settings) for design in designs(lines, sizes.seeds, rates, sizes.rates[0])]
    table = pd.concat(found, ignore_index=True)
    table["rate"] = table.method.map(rates)
    table["round"] *= table.method.map(lambda method: TRIPS.get(method, 1))
    order = {tuple(line.keys.values()): place for place, (line, _) in enumerate(lines)}
    places = [order[tuple(row)] for row in table[keys].itertuples(index=False, name=None)]
    table = table.iloc[sorted(range(len(table)), key=lambda row: places[row])].reset_index(drop=True)
    if not tried:
        return table
    choice = pd.DataFrame(tried)[table.columns]
    choice["round"] *= choice.method.map(lambda method: TRIPS.get(method, 1))
    return pd.concat([choice, table], ignore_index=True)


LEFT_OUT = (
    "the optimiser: AdamW, fresh in every round (convention)",
    "local epochs: 20 local steps, as Table 4 says of rounds and clients only then (rankproof show rolora/table-4)",
    "scale alpha: 1; the head is trained and averaged as well as the adapters (convention)",
    "seeds: 3; learning rates are chosen on validation samples, not on the test set: one for each method, with 20 "
    "clients that are alike, rank 4 and P2, and used everywhere",
    "rounds: 80 with 20 clients and 40 with 50, where as many samples as in Table 4 would be 75 and 30",
    "layers: queries and values of the last blocks, where P1 of SST-2 has values only",
    "GLUE is not among the data: rated sentences in its place",
)
"""Settings that the paper leaves out, and differences from it."""
