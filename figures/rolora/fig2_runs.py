"""The runs behind RoLoRA's Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from figures.experiments.experiment import Design, Line
from figures.figure import Scale

METHODS = ("LoRA", "FFA-LoRA", "RoLoRA")
ALGORITHMS: Mapping[str, str] = {"LoRA": "fedlora", "FFA-LoRA": "ffa-lora", "RoLoRA": "rolora"}
PRINTED = "printed start"
SLOPE, FROZEN = "slope 1 at 0", "frozen random weight"
LEARNING = (SLOPE, FROZEN)
STARTS: Mapping[str, str] = {PRINTED: "two-layer-printed", SLOPE: "two-layer-slope-1", FROZEN: "two-layer"}
"""Networks by start."""
IN_A_ROUND = ((METHODS[:2], 1), (METHODS[2:], 2))
"""Communication rounds in a round of each method: an iteration of RoLoRA trains B in one and A in another."""
COMMON: Mapping[str, Any] = {
    "partition": "by-label",
    "partition_together": "drawn",
    "epochs": 5,
    "batch": 64,
    "rank": 16,
    "rest": "frozen",
}


@dataclass(frozen=True)
class Fig2Sizes:
    """Sizes that depend on the scale.

    Attributes:
        rounds: Communication rounds by start, even numbers; starts are run in this order.
        seeds: Seeds of each start.
        rates: Learning rates tried by start, where there is more than one, once for each method and number of clients.
        tuning_rounds: Communication rounds of the runs that choose.
        held_out: Training images held out from these runs.
        options: More options of all runs.
    """

    rounds: Mapping[str, int]
    seeds: Mapping[str, int]
    rates: Mapping[str, tuple[float, ...]]
    tuning_rounds: int = 2
    held_out: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


FIG2_SIZES: dict[Scale, Fig2Sizes] = {
    "quick": Fig2Sizes(
        {SLOPE: 4, PRINTED: 2},
        {SLOPE: 1, PRINTED: 1},
        {SLOPE: (0.03,), PRINTED: (0.3,)},
        options={"samples": 2000, "test_samples": 1000, "epochs": 1},
    ),
    "laptop": Fig2Sizes(
        {SLOPE: 10, FROZEN: 10, PRINTED: 2},
        {SLOPE: 5, FROZEN: 5, PRINTED: 1},
        {SLOPE: (0.003, 0.01, 0.03, 0.1, 0.3), FROZEN: (0.03, 0.1, 0.3, 1.0, 3.0), PRINTED: (0.3,)},
        tuning_rounds=10,
        held_out=5000,
    ),
    "paper": Fig2Sizes(
        {SLOPE: 100, FROZEN: 100, PRINTED: 2},
        {SLOPE: 10, FROZEN: 10, PRINTED: 1},
        {SLOPE: (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), FROZEN: (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), PRINTED: (0.3,)},
        tuning_rounds=20,
        held_out=5000,
    ),
}


def tuning_designs(sizes: Fig2Sizes, start: str) -> Iterator[Design]:
    """Yield the designs that choose the learning rates of a start that learns; RoLoRA has its own."""
    held = {"held_out": sizes.held_out}
    for methods, per_round in IN_A_ROUND if start != PRINTED else ():
        lines = tuple(
            replace(line, tuned=True, options={**line.options, **held}) for line in _lines(sizes, start, methods)
        )
        rounds = sizes.tuning_rounds // per_round
        yield Design(lines, rounds, 1, sizes.rates[start], rounds)


def designs(sizes: Fig2Sizes, start: str, rates: Mapping[str, float]) -> Iterator[Design]:
    """Yield the runs of a start, on all training images."""
    for methods, per_round in IN_A_ROUND:
        lines = tuple(
            replace(line, options={**line.options, "learning_rate": rates.get(line.rate_of, sizes.rates[start][0])})
            for line in _lines(sizes, start, methods)
        )
        yield Design(lines, sizes.rounds[start] // per_round, sizes.seeds[start])


def whole_designs(sizes: Fig2Sizes) -> Iterator[Design]:
    """Yield the runs of every start and those that choose their learning rates, for counting."""
    for start in sizes.rounds:
        tuning = list(tuning_designs(sizes, start))
        for place, design in enumerate(designs(sizes, start, {})):
            if start == PRINTED:
                yield design
                continue
            of = tuning[place]
            yield replace(design, lines=of.lines, rates=of.rates, tuning_rounds=of.tuning_rounds)


def _lines(sizes: Fig2Sizes, start: str, methods: tuple[str, ...]) -> tuple[Line, ...]:
    return tuple(
        Line(
            {"start": start, "clients": clients, "method": method},
            ALGORITHMS[method],
            "mnist",
            {**COMMON, "model": STARTS[start], "clients": clients, **sizes.options},
            rate_of=f"{start}, {clients}, {method}",
        )
        for clients in (5, 10)
        for method in methods
    )
