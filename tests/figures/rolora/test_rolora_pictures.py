"""The pictures of RoLoRA's figures: every mark against its row."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from seen import band, bars, curve, drawn, key, level, same, styled, texts, within

from figures.figure import Settings
from figures.rolora import aggregations as rolora_aggregations
from figures.rolora import angle as rolora_angle
from figures.rolora import ffa as rolora_ffa

LEAST = 1e-14
TABLES = {
    rolora_angle.ANGLE: (
        rolora_angle.ANGLE_SIZES,
        rolora_angle.AngleSizes((2, 6), (1.0, 3.0, 30.0), 3, 6, (0.25, 0.5, 1.0)),
    ),
    rolora_ffa.FFA_PLATEAU: (rolora_ffa.FFA_SIZES, rolora_ffa.FFASizes((8, 20), (1, 3), (2, 5), (0.5, 0.7), (3,), 20)),
    rolora_aggregations.AGGREGATIONS: (
        rolora_aggregations.AGGREGATION_SIZES,
        rolora_aggregations.AggregationSizes(4, 2, 1, (2.0**-6,)),
    ),
}


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def tables(told):
    """Return the function that computes the tiny table of a figure, once."""

    @cache
    def table_of(figure):
        of_scale, tiny = TABLES[figure]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(of_scale, "quick", tiny)
            return figure.data(replace(Settings(), progress=told.append))

    return table_of


def range_of(name, part, x):
    return [
        curve(name, part[x], part["median"].clip(lower=LEAST)),
        band(part[x], part.low.clip(lower=LEAST), part.high.clip(lower=LEAST)),
    ]


@pytest.mark.slow
def test_aggregations(tables, told):
    table = tables(rolora_aggregations.AGGREGATIONS)
    picture = styled(rolora_aggregations.draw_aggregations, table)
    methods, cases = list(rolora_aggregations.METHODS), list(rolora_aggregations.CASES)
    assert key(picture) == methods
    assert {f"{case}, {method}" for case in cases for method in methods} <= set(told)
    for column, case in enumerate(cases):
        top, bottom = picture.axes[column], picture.axes[len(cases) + column]
        rows = table[table["case"] == case]
        training, population = (rows[rows.quantity == quantity] for quantity in ("training", "population"))
        marks = [mark for m in methods for mark in range_of(m, training[training.method == m], "round")]
        limit = rows.rank_1.iloc[0]
        same(drawn(top), [*marks, *([level(limit)] if limit > LEAST else [])])
        sent = population[population.bytes > 0]
        same(drawn(bottom), [mark for m in methods for mark in range_of(m, sent[sent.method == m], "bytes")])
        assert texts(top) == (
            f"({'abcd'[column]}) {case}",
            "communication round",
            "training loss above least" * (column == 0),
        )
        assert texts(bottom) == ("", "bytes", "expected loss above least" * (column == 0))
        assert (top.get_xscale(), bottom.get_xscale()) == ("linear", "log")
        assert top.get_yscale() == bottom.get_yscale() == "log"
        assert within(top)
        assert within(bottom)


def test_a_run_that_is_not_finite_is_none():
    given = rolora_aggregations.aggregation_problem(Settings(), "equal, expected", "here")
    assert rolora_aggregations.course(given, "FedAvg", 0.01, 2, 0) is not None
    assert rolora_aggregations.course(given, "FedAvg", 1e200, 2, 0) is None


def test_the_angle(tables):
    table = tables(rolora_angle.ANGLE)
    picture = styled(rolora_angle.draw_angle, table)
    a, b, c, d, e, f = picture.axes
    curves, worst = table[table.panel == "angle"], table[table.panel == "worst"]
    for axes, clients in ((a, "equal"), (b, "different")):
        marks = []
        for step, part in curves[(curves.data == "expectation") & (curves.clients == clients)].groupby("step"):
            shown = part[part["median"] > 1e-13]
            marks += [
                curve(f"$s={step:g}$", shown.iteration, shown["median"]),
                curve("", part.iteration, part.printed),
                curve("", part.iteration, part.exact.clip(lower=1e-16)),
            ]
        same(drawn(axes), marks)
    for axes, clients in ((c, "equal"), (d, "different")):
        rows, marks = curves[curves.data.isin(["fixed", "fresh"]) & (curves.clients == clients)], []
        for dim, least, most in ((2, 2, 60), (6, 6, 180)):
            for m in (least, most):
                fixed, fresh = (
                    rows[(rows.d == dim) & (rows.samples == m) & (rows.data == data)] for data in ("fixed", "fresh")
                )
                name = f"$d={dim}$, $m={m}$"
                marks += [
                    curve(name, fixed.iteration, fixed["median"]),
                    band(fixed.iteration, fixed.low, fixed.high),
                    curve("", fresh.iteration, fresh["median"]),
                ]
        one = rows[(rows.d == 6) & (rows.data == "fixed") & (rows.samples == 6)]
        marks += [
            curve("expected loss", one.iteration, one.exact.clip(lower=1e-16)),
            curve("as printed", one.iteration, one.printed),
        ]
        same(drawn(axes), marks)
    mean = worst[worst.data == "expectation"]
    runs = worst[worst.data == "steps"]
    equal, different = (mean[mean.clients == clients].sort_values("step") for clients in ("equal", "different"))
    same(
        drawn(e),
        [
            level(1.0),
            curve("run, expected loss", equal.step, equal["median"]),
            curve("runs, $m=10d$", runs.step, runs["median"]),
            bars("runs, $m=10d$", runs.step, runs.low, runs.high),
            curve("eq. (80)", equal.step, equal.printed),
            curve("eq. (254)", different.step, different.printed),
        ],
    )
    assert e.get_ylim()[0] == 0
    marks = []
    for dim in (2, 6):
        for data, name in (("fixed", f"$d={dim}$"), ("fresh", "")):
            part = worst[(worst.d == dim) & (worst.data == data) & (worst.clients == "equal")]
            marks.append(curve(name, part.samples / dim, part.over))
    same(drawn(f), marks)
    assert set(key(f)) == {"$d=2$", "$d=6$", "new samples"}
    angle = (r"iteration $t$", r"angle distance $\delta^t$")
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) equal clients, expected loss", *angle),
        ("(b) different clients, expected loss", *angle),
        ("(c) equal clients, samples", *angle),
        ("(d) different clients, samples", *angle),
        ("(e) largest one-step ratio", r"step $s=\eta\Vert \bar b^*\Vert^2$", r"$\max_t\,\delta^{t+1}/\delta^t$"),
        ("(f) some step above eq. (80)", "samples of a client, $m/d$", "share of runs"),
    ]
    assert [axes.get_yscale() for axes in picture.axes] == ["log"] * 4 + ["linear"] * 2
    assert key(picture)[-2:] == ["expected loss", "as printed"]


def test_ffa(tables):
    table = tables(rolora_ffa.FFA_PLATEAU)
    picture = styled(rolora_ffa.draw_ffa, table)

    def distances(part, x, names):
        found = []
        for series, name in names.items():
            one = part[part.series == series]
            size, error = one["mean"].abs(), 2 * one.standard_error
            found += [
                curve("", one[x], one.printed.abs()),
                curve(name, one[x], size),
                bars(name, one[x], size - np.minimum(error, 0.9 * size), size + error),
            ]
        return found

    marks = []
    for N, part in table[table.panel == "m"].groupby("N"):
        marks += distances(part, "m", {"training": f"$N={N}$", "population": ""})
    same(drawn(picture.axes[0]), marks)
    assert set(key(picture.axes[0])) == {f"$N={N}$" for N in table[table.panel == "m"].N}
    for axes, x in zip(picture.axes[1:3], "Nd", strict=True):
        names = {"training": "training (below)", "population": "population (above)"}
        found = [
            mark
            if mark.name in names.values()
            else curve("", *mark.points.T)
            if mark.kind == "curve"
            else bars("", *mark.points.T)
            for mark in drawn(axes)
        ]
        nameless = [replace(mark, name="") for mark in found]
        same(nameless, distances(table[table.panel == x], x, dict.fromkeys(names, "")))
        assert key(axes) == list(names.values())
        colours = [to_hex(line.get_color()) for line in axes.lines if len(line.get_xdata())]
        assert set(colours) == {to_hex(sample.get_color()) for sample in axes.get_legend().legend_handles}
    angle = table[table.panel == "delta"]
    marks = []
    for series, T, name in (
        ("training", 0, "FFA-LoRA"),
        ("population", 0, ""),
        ("training", 3, "RoLoRA, $T=3$"),
        ("population", 3, ""),
    ):
        one = angle[(angle.series == series) & (angle.iterations == T)]
        marks.append(curve(name, one.sine**2, one["mean"]))
        if T and series == "population":
            marks.append(curve("", one.sine**2, one.printed))
    apart = angle[angle.series == "different"]
    marks += [curve("FFA-LoRA, clients differ", apart.sine**2, apart["mean"]), curve("", apart.sine**2, apart.printed)]
    same(drawn(picture.axes[3]), marks)
    loss = r"$|\mathrm{loss}/(\Vert b^*\Vert^2\delta_0^2)-1|$"
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) samples of a client", "$m$", loss),
        ("(b) clients", "$N$", loss),
        ("(c) dimension", "$d$", loss),
        ("(d) angle of the start", r"$\delta_0^2$", r"loss$/\Vert b^*\Vert^2$"),
    ]
    assert all(axes.get_xscale() == axes.get_yscale() == "log" for axes in picture.axes)
    assert picture.axes[1].get_ylim() == picture.axes[2].get_ylim()


def test_ffa_of_clients_that_differ_is_gamma_squared_apart(tables):
    """Own parts of b*: without them the loss would be that of equal clients in another draw."""
    given = rolora_ffa._problem(Settings(), "different", 5, None, 6, 0.5, 0)
    alike = rolora_ffa._problem(Settings(), "delta", 5, None, 6, 0.5, 0)
    assert given.facts["gamma_squared"] > 0.01
    assert alike.facts["gamma_squared"] == pytest.approx(0.0, abs=1e-12)
    apart = tables(rolora_ffa.FFA_PLATEAU).query("series == 'different'")
    assert apart["mean"].to_numpy() == pytest.approx(apart.printed.to_numpy(), rel=1e-9)


def test_worst_ratios_are_those_of_their_runs():
    angles = pd.Series([0.8, 0.4, 0.36]).to_numpy()
    assert rolora_angle.worst_ratio(angles) == pytest.approx(0.9)
    rounding = rolora_angle.FLOOR * np.array([1e9, 3.0, 0.9, 5.0])  # ratios with 0.9 are left out
    assert rolora_angle.worst_ratio(rounding) == pytest.approx(3e-9)


def overs(table, data, over):
    """Return the table with these shares of runs above the factor, by step, for equal clients."""
    chosen = (table.panel == "worst") & (table.data == data) & (table.clients == "equal")
    return table.assign(over=table.over.where(~chosen, table.step.map(over)))


def test_the_contraction_holds_up_to_the_step_before_the_first_that_fails(tables):
    """A step beyond one that fails may hold again, and a step may fail in only a part of the runs."""
    table = tables(rolora_angle.ANGLE)
    over = {0.1: 0.0, 0.25: 0.0, 0.5: 1.0, 0.75: 0.0, 1.0: 0.0}
    failing = overs(table, "expectation", over)
    assert rolora_angle.angle_headline(failing) == (
        "The printed contraction holds up to η‖b*‖² = 0.25 and fails from 0.5 on"
    )
    assert "for eta |b*|^2 up to 0.25 and fails from 0.5 on" in rolora_angle.angle_found(failing)
    holding = overs(table, "expectation", dict.fromkeys(over, 0.0))
    assert rolora_angle.angle_headline(holding).endswith("holds in every step tried, up to η‖b*‖² = 1")
    assert "at all steps tried, up to 1;" in rolora_angle.angle_found(holding)
    steps = table[(table.panel == "worst") & (table.data == "expectation") & (table.clients == "equal")]
    more = pd.concat([table, steps.assign(data="steps")])
    for shares, words in (
        ((0.0, 0.0, 0.3, 0.0, 1.0), "up to 0.25, and every run does at 1 to 1."),
        ((0.0, 1.0, 0.3, 1.0, 0.0), "up to 0.1, and every run does at 0.25 to 0.75."),
        ((0.0, 0.0, 0.0, 0.0, 0.0), "up to 1."),
    ):
        drawn = overs(more, "steps", dict(zip(over, shares, strict=True)))
        assert f"no run exceeds the factor at the steps tried {words}" in rolora_angle.angle_found(drawn)


def test_enough_samples_are_those_from_which_on_no_run_exceeds_the_factor(tables):
    table = tables(rolora_angle.ANGLE)
    drawn = table.data.isin(["fixed", "fresh"])
    for over, words in (
        ({2: 0.0, 6: 0.5, 18: 0.0, 60: 0.0, 180: 0.2}, "is 60 at d = 2, none (m up to 180) at d = 6;"),
        (dict.fromkeys((2, 6, 18, 60, 180), 0.0), "is 2 at d = 2, 6 at d = 6;"),
    ):
        changed = table.assign(over=table.over.where(~drawn, table.samples.map(over)))
        assert words in rolora_angle.angle_found(changed)
