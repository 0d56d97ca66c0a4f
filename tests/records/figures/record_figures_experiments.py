"""Experiments as data: lines, seeds, final values, effects, tables, learning rates, plans, and what differs."""

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, nan

import pandas as pd
from drawings import panel, picture
from matplotlib.figure import Figure as Picture
from recording import refused

from figures.experiments import rate_choice as rates
from figures.experiments.cost import announce_cost, cost_of_line
from figures.experiments.differences import Difference, describe, differences, page, sizes_of, values_of, with_beyond
from figures.experiments.differences import _listed as listed
from figures.experiments.effects import Effect, by_seed, mean_and_half_width, paired_effect, smallest_detectable
from figures.experiments.experiment import Design, Line, choice_seeds, finals, key_columns
from figures.experiments.experiment import _number_alike as number_alike
from figures.experiments.limited_time import Work
from figures.experiments.sweep import SUSTAINED, OnlyPlannedError, Planned, needs_runs, plan_table
from figures.experiments.tables import Contrast, Value, count_effects, draw_table, lead_headline
from figures.experiments.text_tables import Cell, draw_text_table, fill_table
from figures.figure import Settings
from figures.ledger import select
from runs.cost import Cost
from runs.experiments import Trial

ABOVE, BELOW, OPEN = Effect(4, 0.03, 0.01, 0.02), Effect(3, -0.02, 0.005, 0.01), Effect(2, 0.01, 0.04, 0.05)
SHORT, NONE = Effect(3, 0.05, 0.01, 0.02, limit="12 of 60 rounds"), Effect(0, nan, inf, inf, 2)
LINE = Line({"method": "FedAvg", "clients": 4}, "fedavg", "mnist", {"clients": 4}, rate_of="a", tuned=True)


def effects_at_their_borders():
    for effect in (
        *(ABOVE, BELOW, OPEN, SHORT, NONE, Effect(1, 0.01, inf, inf), Effect(2, 0.01, 0.01, 0.1, 1)),
        *(Effect(2, -0.01, 0.01, 0.1, unit="units"), Effect(2, -0.0001, 0.0002, 0.1)),
    ):
        yield effect.low, effect.high, effect.above, effect.verdict, effect.text, effect.reversed.text


def effects_paired_by_seed():
    yield paired_effect({0: 0.5, 1: 0.7, 2: 0.65, 7: 0.1}, {2: 0.6, 0: 0.45, 1: 0.72})
    yield paired_effect({0: 0.5, 1: nan, 2: 0.65}, {0: 0.6, 1: 0.4, 2: nan})
    yield paired_effect({0: nan}, {0: 1.0}), paired_effect({3: 0.5}, {3: 0.25})
    yield refused(paired_effect, {0: 1.0}, {1: 1.0})


def smallest_differences():
    return [smallest_detectable(pairs) for pairs in ([0.1, 0.2], [0.1, 0.2, 0.4], [0.0, 1.0, 2.0, 5.0, 3.0])]


def means_over_seeds():
    return [mean_and_half_width(of) for of in ({0: 0.5, 1: 0.7, 2: 0.9}, {0: 0.5, 1: nan}, {0: nan}, {})]


def _table():
    rows = [
        ("choice", "FedAvg", 2, 99, 0.1, 3, 0.5, 10, 0),
        *(
            ("run", "FedAvg", 2, seed, 0.1, turn, 0.1 * turn + 0.01 * seed, 7 * turn, 0)
            for seed in (0, 1)
            for turn in (0, 2, 4)
        ),
        *(("run", "FedLin", 3, 0, 0.3, turn, 0.4 - 0.05 * turn, 9 * turn, 0) for turn in (4, 0, 2)),
        ("run", "FedLin", 3, 1, 0.3, 4, nan, 0, 1),
    ]
    return pd.DataFrame(
        rows, columns=["stage", "method", "clients", "seed", "rate", "round", "value", "bytes", "failed"]
    )


def final_values():
    yield finals(_table()), finals(_table(), 2), finals(_table(), 9), key_columns(_table())
    ends = finals(_table())
    yield by_seed(ends, method="FedAvg"), by_seed(ends, method="FedLin", clients=3)
    yield refused(by_seed, ends), refused(by_seed, ends, method="FedLin", clients=2)


def trials_of_lines():
    cosine = replace(LINE, options={"schedule": "cosine", "schedule_minimum": 0.01, "learning_rate": 0.5})
    for trial in (LINE.trial(7, (0, 2)), LINE.trial(7, [1], 0.2), cosine.trial(9, (0,)), cosine.trial(9, (0,), 0.005)):
        yield trial.label, trial.rounds, trial.seeds, str(trial.settings)
    fixed = replace(LINE, options={"schedule": "cosine", "schedule_period": 4, "learning_rate": 0.1})
    yield str(fixed.trial(9, (0,)).settings), LINE.label, LINE.choice_metric
    yield replace(LINE, metric="personal_accuracy").choice_metric, replace(LINE, metric="loss").choice_metric


def designs_and_their_seeds():
    other = replace(LINE, keys={"method": "FedLin", "clients": 4}, tuned=False)
    for design in (
        Design((LINE, other), 5, 3, (0.1, 0.2), 2),
        Design((LINE, other), 5, 3, (0.1,)),
        Design((LINE,), 5, 0),
    ):
        yield design.runs, design.own_seeds(Settings()), design.own_seeds(Settings(seed=3))
    yield choice_seeds(Settings()), choice_seeds(Settings(seed=3))
    yield refused(Design, (), 5, 3), refused(Design, (LINE, replace(other, keys={"method": "x"})), 5, 3)
    yield refused(Design, (LINE, replace(other, rate_of="b")), 5, 3, (0.1,))
    yield (
        refused(Design, (replace(LINE, tuned=False),), 5, 3, (0.1,)),
        Design((LINE, replace(other, rate_of="b")), 1, 1).rates,
    )


def labels_of_equal_trials():
    trials = [
        LINE.trial(3, (0,), 0.1),
        LINE.trial(3, (0,), 0.2),
        replace(LINE, keys={"method": "x"}).trial(3, (0,), 0.2),
    ]
    return [trial.label for trial in number_alike(trials)]


def rates_to_try_next():
    grid = (0.1, 0.3)
    first = {(0.1, 0): 0.7, (0.3, 0): 0.8}
    for values, scale in (
        *(({}, "laptop"), ({(0.3, 0): 0.8}, "laptop"), (first, "laptop"), (first, "paper"), (first, "quick")),
        ({(0.1, 0): 0.8, (0.3, 0): 0.7}, "laptop"),
        ({(0.1, 0): 0.8, (0.3, 0): 0.795, (0.03, 0): 0.1}, "laptop"),
        ({(0.1, 0): 0.8, (0.3, 0): 0.7949, (0.03, 0): 0.1}, "laptop"),
        ({(0.1, 0): 0.8, (0.3, 0): 0.797, (0.03, 0): 0.1, (0.3, 1): 0.9}, "laptop"),
        ({(0.1, 0): 0.0, (0.3, 0): 0.0}, "laptop"),
        ({(0.1, 0): 0.0, (0.3, 0): 0.0}, "paper"),
        ({(0.1, 0): 0.5, (0.3, 0): 0.5}, "paper"),
        ({**first, **{(rate, 0): 0.8 + rate / 1000 for rate in (1.0, 3.0, 10.0)}}, "laptop"),
        ({**first, **{(rate, 0): 0.8 + rate / 1000 for rate in (1.0, 3.0, 10.0, 30.0)}}, "laptop"),
        ({(rate, 0): 0.9 - rate for rate in (0.1, 0.3, 0.03, 0.01, 0.003)}, "laptop"),
        ({(rate, 0): 0.9 - rate for rate in (0.1, 0.3, 0.03, 0.01, 0.003, 0.001)}, "laptop"),
    ):
        yield rates.next_tries(values, grid, scale), rates.best_rate(values) if values else None
    decades = sorted({float(f"{rate * 10.0**power:.12g}") for rate in (0.1, 0.8) for power in range(-2, 3)})
    for shown in range(3, len(decades) + 1):
        for tried, sign in ((decades[:shown], 1), (decades[-shown:], -1)):
            yield rates.next_tries({(rate, 0): 0.5 + sign * rate / 1000 for rate in tried}, (0.1, 0.8))
    yield rates.next_tries(first, (0.1,)), rates.next_tries({}, (0.5, 0.2, 0.05))
    yield rates.next_tries({(0.5, 0): 0.9, (0.2, 0): 0.1, (0.05, 0): 0.1}, (0.5, 0.2, 0.05))
    yield rates.next_tries({(0.5, 0): 0.1, (0.2, 0): 0.1, (0.05, 0): 0.9}, (0.5, 0.2, 0.05))


def rates_by_two_seeds():
    for values in (
        {(0.1, 0): 0.8, (0.3, 0): 0.799, (1.0, 0): 0.5, (0.1, 1): 0.7, (0.3, 1): 0.71},
        {(0.1, 0): 0.8, (0.3, 0): 0.799, (1.0, 0): 0.5, (0.1, 1): 0.7},
        *(
            {(0.1, 0): 0.8, (0.3, 0): 0.8, (1.0, 0): 0.795},
            {(0.3, 0): 0.0, (0.1, 0): 0.0},
            {(0.3, 0): 0.8, (0.1, 0): 0.7949},
        ),
    ):
        yield rates.best_rate(values), rates.close_to_best(values)


def rates_and_seeds_in_words():
    choice = pd.DataFrame({"rate": [0.3, 1.0, 0.1, 3.0], "seed": [99, 98, 99, 99]})
    yield (
        rates.describe_rates(choice, (0.1, 0.3)),
        rates.describe_rates(choice[:0], (0.1,)),
        rates.describe_seeds(choice),
    )
    yield rates.describe_rates(choice[:1], (0.1, 0.3)), rates.describe_seeds(choice[2:])


def counts_of_effects():
    for some in (
        [ABOVE],
        [ABOVE, BELOW, OPEN, SHORT],
        [BELOW, BELOW],
        [NONE],
        [ABOVE, NONE],
        [OPEN],
        [SHORT, SHORT],
        [],
    ):
        yield count_effects("A", "B", some), lead_headline("A", "B", some), lead_headline("A", "B", some, "forms")
    yield (
        lead_headline("A", "B", [ABOVE] * 3),
        lead_headline("A", "B", [BELOW, ABOVE]),
        lead_headline("A", "B", [OPEN, SHORT]),
    )


VALUES = (
    Value("IID", "FedAvg", 80.0, 78.04, 1.26),
    Value("IID", "FedLin", 70.0, 85.0, nan, 1),
    Value("not IID", "FedAvg", None, nan, nan, 2),
    Value("not IID", "FedLin", 60.0, 50.0, 0.5, same_data=False),
)
CONTRASTS = (
    Contrast("A minus B", "IID", 2.0, ABOVE),
    Contrast("A minus B", "not IID", -1.0, BELOW),
    Contrast("A minus C", "IID", None, Effect(1, 0.01, inf, inf)),
    Contrast("A minus C", "late", 0.0, SHORT),
)


def rows_of_tables():
    yield [[value.difference, value.cells] for value in VALUES]
    yield [[one.falls, one.finding, replace(one, published=-1.0).finding] for one in CONTRASTS]


def table_with_comparisons():
    return picture(draw_table, VALUES, CONTRASTS)


def table_alone():
    yield picture(draw_table, VALUES[2:3], (), "loss"), picture(draw_table, VALUES[3:], CONTRASTS[2:3])


def text_tables():
    rows = [
        [Cell("group", bold=True)],
        [Cell("a"), Cell("1", 0.4), Cell("2", -0.05)],
        [Cell("more", bold=True), Cell("x", -3.0)],
    ]
    yield picture(draw_text_table, ["", "one", "two"], rows, (2.0, 1.0, 1.5))
    axes = Picture().subplots()
    fill_table(axes, ["h"], [[Cell("t", 1.0)]], [1.0], 7)
    yield panel(axes)


def plans_by_machine():
    costs = [Cost(operations=10.0**power, bytes=2 * 10**power) for power in (12, 15, 13)]
    lines = [Planned(f"line {place}", 3 - place, 5 + place, cost) for place, cost in enumerate(costs)]
    yield plan_table(lines, ("a", "b", "b")), plan_table(lines[1:2], ("a",)), SUSTAINED
    yield plan_table([Planned("long", 4, 2, Cost(operations=5e18, bytes=10**12))], ("a", "a"))
    yield [
        plan_table([Planned("a", runs, 2, Cost(4e16, 10)), Planned("b", 1, 2, Cost(9e16, 10))], ("one", "two"))[-1]
        for runs in (1, 2, 3, 4)
    ]


def costs_that_are_announced():
    line = Line({"method": "FedAvg"}, "fedavg", "quadratics", {"clients": 3}, "loss", "", True)
    other = Line({"method": "FedLoRA"}, "fedlora", "quadratics", {"clients": 2, "rank": 1}, "loss")
    for designs, options in (
        ([Design((line, other), 4, 2, (0.1, 0.3), 3)], {"slots": ("a", "b")}),
        ([Design((line,), 4, 0, (0.1, 0.3), 4), Design((other,), 10**13, 3)], {"slots": ("a",)}),
        ([Design((other,), 10**11, 3)], {"slots": ("a",)}),
        ([Design((line,), 4, 1)], {"scale": "paper"}),
        ([Design((line, replace(line, tuned=False)), 4, 2, (0.1,))], {"slots": ("a",)}),
        ([Design((line,), 4, 1, (0.1, 0.3))], {"scale": "paper", "slots": ("a",)}),
        ([Design((line,), 4, 1)], {}),
    ):
        said = []
        with suppress(OnlyPlannedError):
            announce_cost(designs, Settings(**options, notify=said.append), ("tau: 5", "x"))
            said.append("not only planned")
        yield said
    yield cost_of_line(line, 4, Settings()).operations, cost_of_line(line, 8, Settings()).bytes


def values_in_tables():
    for name, values in (
        *(
            ("batch", (32, 4, 128)),
            ("cohort", (None,)),
            ("x", (None, 3)),
            ("flip", (True, False)),
            ("rate", (0.5, 1e-5)),
            ("rate", (1e5, 0.1 + 0.2, 2.0)),
        ),
        *(
            ("layers", ("*.layer.11.*.q, *.layer.4.*",)),
            ("layers", ("head",)),
            ("layers", ("*.layer.3.a, *.layer.3.b",)),
        ),
        *(("ranks", ((4, 4, 2), (1,))), ("rounds", ((("a", 3), ("b", None)),)), ("x", ((),)), ("width", (None,))),
    ):
        yield listed(name, values)


def figures_with_runs():
    return {
        one.id: needs_runs(one) for one in select(("rmt/", "rolora/", "fedloru/", "training/methods", "fedlrt/fig-5"))
    }


@dataclass(frozen=True)
class _Inner:
    rounds: int
    local: object


@dataclass(frozen=True)
class _Sizes:
    n: int
    first: _Inner
    by: dict


def values_of_sizes():
    return sizes_of(_Sizes(3, _Inner(5, "a"), {"x": 2})), sizes_of(_Inner(1, None), "before ")


def values_of_lines():
    lines = (
        LINE,
        replace(LINE, keys={"method": "FedLoRA", "clients": 4}, algorithm="fedlora", options={"rank": 2, "epochs": 3}),
    )
    for design in (
        Design(lines, 5, 3, (0.3, 0.1), 2),
        Design(lines[:1], 5, 0, (0.3, 0.1), 2),
        Design(lines[1:], 5, 1, (0.3,)),
    ):
        found = values_of([design])
        yield {
            name: {
                key: str(of.get(key))
                for key in (
                    "data",
                    "rounds",
                    "seeds",
                    "steps",
                    "epochs",
                    "rank",
                    "learning_rate",
                    "rates tried",
                    "tuning_rounds",
                    "clients",
                )
            }
            for name, of in found.items()
        }


def settings_that_differ():
    for id in ("fedlrt/fig-1", "fedlrt/fig-4", "fedloru/fig-4", "training/methods"):
        for scale in ("quick", "laptop", "paper"):
            yield [[row.setting, row.paper, row.run] for row in differences(select([id])[0], Settings(scale))]


def settings_that_differ_in_runs_of_language_models():
    return [[row.setting, row.paper, row.run] for row in differences(select(["rolora/fig-5"])[0], Settings("laptop"))]


def differences_in_words():
    rows = [
        Difference("layers", "layers", "*.layer.4.*, *.layer.5.*", "block 1"),
        Difference("batch", "batch", "128", "32"),
    ]
    figure = select(["fedlrt/fig-8"])[0]
    yield (
        describe(rows),
        describe([]),
        with_beyond(figure, rows),
        page([("a/b", tuple(rows)), ("a/c", tuple(rows)), ("d", ())]),
    )
    yield with_beyond(figure, [Difference("warm start", "warm start", "x", "y")])


WORK = Work(
    (
        Design(
            (
                LINE,
                replace(LINE, keys={"method": "FedLin", "clients": 2}, options={"clients": 2, "steps": 3}, tuned=False),
            ),
            4,
            5,
            (0.1, 0.3),
            2,
        ),
        Design(
            (Line({"method": "m"}, "fedavg", "mnist", {"learning_rate": 0.5, "model": "small", "clients": 3}),), 6, 2
        ),
    ),
    Settings("laptop", seed=1),
    "cuda:1",
    4,
    ("small",),
)


def tasks_and_their_order():
    for work in (WORK, replace(WORK, device="cpu"), replace(WORK, together=2), replace(WORK, processors=())):
        for group in (0, 1):
            yield [
                [task.text, str(task.order), task.metric, task.trial.rounds]
                for task in (*work.choices(group), *work.runs(group, 0.1 if not group else None)[::3])
            ]
            yield [work.place(task.trial) for task in work.runs(group, 0.1)[:2]]


def tasks_after_choices():
    said = []
    for values in ((0.7, 0.8), (0.8, 0.7), (0.8, 0.798), (None, 0.0)):
        more = WORK.after_choices(0, dict(zip(WORK.choices(0), values, strict=True)), said.append)
        yield [task.text for task in more][:3]
    known = {**dict(zip(WORK.choices(0), (0.7, 0.8), strict=True)), **dict.fromkeys(WORK.choices(0, [(1.0, 0)]), 0.798)}
    more = WORK.after_choices(0, known, said.append)
    yield [task.text for task in more], said
    last = {**known, **dict(zip(more, (0.7, 0.9), strict=True))}
    yield [task.text for task in WORK.after_choices(0, last, said.append)][:2], said[-1]


def trials_without_rates():
    return number_alike([Trial("a", "fedavg", "mnist", 1, {}, (0,))])[0].label
