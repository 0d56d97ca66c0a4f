"""Disclosures under headlines and captions: scale, failed runs, rates at an end or chosen by little, borrowed ones."""

from math import nan
from types import SimpleNamespace

import pandas as pd

from figures.experiments import disclosures
from figures.experiments.experiment import Design, Line
from figures.figure import Settings
from figures.ledger import select

COLUMNS = ["stage", "split", "clients", "method", "seed", "rate", "round", "value", "bytes", "failed"]


def _table(*tries, ends=()):
    rows = [("choice", *line, seed, rate, 3, value, 0, failed) for line, seed, rate, value, failed in tries]
    return pd.DataFrame(
        [*rows, *(("run", *line, seed, rate, 5, value, 0, failed) for line, seed, rate, value, failed in ends)],
        columns=COLUMNS,
    )


A, B, C, D = ("IID", 4, "FedAvg"), ("IID", 4, "FedLin"), ("skewed", 1, "FedAvg"), ("skewed", 4, "FedAvg")
INSIDE = [(A, 99, rate, value, 0) for rate, value in ((0.1, 0.7), (0.3, 0.8), (1.0, 0.7))]
LOW = [(B, 99, rate, value, 0) for rate, value in ((0.1, 0.8), (0.3, 0.795), (1.0, 0.7))]
HIGH = [(C, 99, rate, value, failed) for rate, value, failed in ((0.1, 0.7, 0), (0.3, nan, 1), (1.0, 0.8, 0))]
ALIKE = [(D, 99, rate, value, 0) for rate, value in ((0.1, 0.1), (0.3, 0.8), (1.0, 0.7949))]


def rates_at_an_end():
    for tries in (INSIDE, LOW, HIGH, [*INSIDE, *LOW, *HIGH, *ALIKE], INSIDE[1:2], []):
        yield disclosures.rates_at_an_end(_table(*tries))


def rates_of_runs_that_failed():
    for values in ((nan, 0.8, 0.7), (nan, 0.004, 0.003), (0.8, 0.7, nan), (nan, nan, nan)):
        rates = zip((0.1, 0.3, 1.0), values, strict=True)
        table = _table(*((A, 99, rate, value, int(value != value)) for rate, value in rates))
        yield disclosures.rates_at_an_end(table), disclosures.close_rates(table)


def rates_chosen_by_little():
    second = [(B, 98, 0.1, 0.6, 0), (B, 98, 0.3, 0.9, 0)]
    wide = [(B, 98, 0.1, 0.9, 0), (B, 98, 0.3, 0.6, 0)]
    for tries in (INSIDE, LOW, [*LOW, *second], [*LOW, *wide], [*INSIDE, *LOW, *HIGH, *ALIKE], ALIKE, []):
        yield disclosures.close_rates(_table(*tries))


def failed_runs_by_line():
    ends = [
        (A, 0, 0.3, 0.5, 0),
        (A, 1, 0.3, nan, 1),
        (B, 0, 0.1, nan, 1),
        (B, 1, 0.1, nan, 1),
        (C, 0, 0.3, 0.5, 0),
        (D, 0, 0.3, 0.5, 0),
    ]
    yield disclosures.failed_runs(_table(*INSIDE, ends=ends)), disclosures.failed_runs(_table(*INSIDE, ends=ends[:1]))
    yield disclosures.failed_runs(_table(ends=ends[1:4])), disclosures.failed_runs(pd.DataFrame({"stage": ["run"]}))


def lines_that_a_few_columns_identify():
    others = ("IID", 1, "FedAvg"), ("IID", 1, "FedLin"), ("skewed", 4, "FedLin")
    for lines in ((A, B), (B, A), (A, C), (C, A, B), (A, others[0]), (A, B, *others)):
        ends = [(line, seed, 0.3, nan, seed < place) for place, line in enumerate(lines) for seed in range(3)]
        low = [(line, 99, rate, 0.9 - rate, 0) for line in lines for rate in (0.1, 0.101, 0.3)]
        table = _table(*low, ends=ends)
        yield disclosures.failed_runs(table), disclosures.rates_at_an_end(table), disclosures.close_rates(table)


def tables_without_a_column():
    table = _table(*LOW, ends=[(A, 0, 0.3, nan, 1), (B, 0, 0.1, 0.5, 0)])
    for name in ("stage", "seed", "failed", "rate", "value", "bytes"):
        given = table.drop(columns=name)
        yield name, disclosures.failed_runs(given)
        if name in ("stage", "failed", "rate", "value"):
            yield disclosures.rates_at_an_end(given)


def borrowed_rates():
    ends = [(line, 0, rate, 0.5, 0) for line, rate in ((A, 0.3), (B, 0.1), (C, 0.3), (D, nan))]
    yield (
        disclosures.borrowed_rates(_table(*INSIDE, ends=ends)),
        disclosures.borrowed_rates(_table(*INSIDE, ends=ends[:1])),
    )
    yield (
        disclosures.borrowed_rates(_table(ends=ends)),
        disclosures.borrowed_rates(_table(*INSIDE, *LOW, ends=ends[:3])),
    )


def scales_in_a_line():
    for id in ("fedlrt/fig-8", "fedloru/fig-4", "rolora/fig-2", "rmt/transition"):
        figure = select([id])[0]
        yield [disclosures.scale_line(figure, Settings(scale)) for scale in ("quick", "laptop")]


def scales_of_mixed_designs():
    lines = [
        Line({"method": name}, name, data, {"model": model, "samples": samples, **more})
        for name, data, model, samples, more in (
            ("fedavg", "mnist", "perceptron", 1000, {"width": 8}),
            ("fedlin", "fashion-mnist", "resnet10", 2000, {"width": 16, "side": 14}),
        )
    ]
    for designs in (
        [Design((line,), 4 + place, place + 1) for place, line in enumerate(lines)],
        [Design(tuple(lines[:1]), 1, 1)],
    ):
        yield disclosures.scale_line(SimpleNamespace(designs=lambda settings, designs=designs: designs), Settings())


def texts_under_headlines():
    figure = SimpleNamespace(designs=None, under=None, found=lambda table: "Found.")
    ends = [(A, 0, 0.3, 0.5, 0), (A, 1, 0.3, nan, 1)]
    for table in (_table(*INSIDE, ends=ends), _table(*LOW, ends=ends), _table(*INSIDE, ends=ends[:1])):
        yield disclosures.under_headline(figure, table, Settings()), disclosures.finding(figure, table)
    figure = SimpleNamespace(designs=None, under=lambda table: f"{len(table)} rows")
    yield disclosures.under_headline(figure, table, Settings())
