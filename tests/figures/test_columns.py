"""Columns of the figures' tables: each number of a row by a formula written here, at small and unequal sizes."""

from collections import defaultdict
from itertools import cycle
from math import hypot, sqrt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from algorithms.tree import Tree
from figures.fedloru import toy as fedloru_toy
from figures.fedloru.fig1 import pairs
from figures.fedlrt import fig3 as fedlrt_fig3
from figures.fedlrt.fig1_properties import SINGLE, summary
from figures.fedlrt.fig1_properties import properties as fig1_properties
from figures.fedlrt.fig4_properties import properties as fig4_properties
from figures.fedlrt.fig4_properties import unreached as fig4_unreached
from figures.fedlrt.legendre_readings import CLOSE, Trace
from figures.figure import Settings
from figures.hessian import alignment as hessian_alignment
from figures.language.sizes import FEDLORU_FIGURE, ROLORA_FIGURE
from figures.rmt import alignment as rmt_alignment
from figures.rmt import sample_size as rmt_sample_size
from figures.rmt import stable_rank as rmt_stable_rank
from figures.rmt import transition as rmt_transition
from figures.rolora import aggregations as rolora_aggregations
from figures.rolora import angle as rolora_angle
from figures.rolora import ffa as rolora_ffa
from figures.rolora.printed import TABLE_1, TABLE_2, TABLE_6, TABLE_12
from figures.rolora.tables import TABLE_1_FIGURE, TABLE_2_FIGURE, TABLE_6_FIGURE, TABLE_12_FIGURE
from rmt import SpikedModel
from toymodels.regression import in_expectation
from toymodels.regression_rates import homogeneous_factor
from workloads.architectures import ATTENTION, LLAMA_2_7B


@pytest.mark.parametrize(
    ("method", "communication", "compute", "memory"),
    [
        ("FedAvg", 98, 49, 98),
        ("FedLin", 196, 49, 98),
        ("FeDLRT", 6 * 7 * 3 + 6 * 9, 4 * 7 * 3 + 4 * 9, 4 * (7 * 3 + 2 * 9)),
        ("FeDLRT, simplified", 6 * 7 * 3 + 8 * 9, 4 * 7 * 3 + 5 * 9, 4 * (7 * 3 + 2 * 9)),
        ("FeDLRT, full", 6 * 7 * 3 + 10 * 9, 4 * 7 * 3 + 8 * 9, 4 * (7 * 3 + 2 * 9)),
    ],
)
def test_printed_costs_are_those_of_table_1(method, communication, compute, memory):
    """At n = 7 and r = 3, for one local step on one sample."""
    printed = [fedlrt_fig3.PRINTED[method][panel](7, 3) for panel in fedlrt_fig3.PANELS]
    assert printed == [communication, compute, memory]


def test_costs_of_a_table_are_those_of_its_rank(monkeypatch):
    """Full-rank methods cost the same at every rank, and are counted once."""
    asked = []

    def counted(method, n, r, rng):
        asked.append((method, r))
        return {"communication": 100.0 + r, "client compute": 200.0 + r, "client memory": 300.0 + r, "trips": 5}

    monkeypatch.setattr(fedlrt_fig3, "count_costs", counted)
    table = fedlrt_fig3.fig3(fedlrt_fig3.Fig3Sizes(16, (2, 5)), Settings())
    low = ("FeDLRT", "FeDLRT, simplified", "FeDLRT, full")
    assert asked == [("FedAvg", 2), ("FedLin", 2), *((method, r) for method in low for r in (2, 5))]
    for row in table.itertuples():
        base = {"communication": 100.0, "client compute": 200.0, "client memory": 300.0}[row.panel]
        assert row.counted == base + (row.rank if row.method in low else 2)
        assert row.printed == fedlrt_fig3.PRINTED[row.method][row.panel](16, row.rank)
        assert (row.n, row.trips) == (16, 5)
    assert len(table) == 5 * 3 * 2


@pytest.mark.parametrize(
    ("costs", "rank"),
    [
        ((1.0, 2.0, 4.0), 30.0),
        ((3.0, 4.0, 5.0), 10.0),
        ((4.0, 5.0, 6.0), 10.0),
        ((2.0, 3.0, 4.0), 20.0),
        ((1.0, 4.0, 2.0), 10 + 10 * 2 / 3),
        ((0.0, 1.0, 2.9), float("inf")),
        ((0.0, 1.0, 3.0), 40.0),
    ],
)
def test_costs_meet_at_the_first_rank_where_they_are_equal(costs, rank):
    rows = [("low", r, cost) for r, cost in zip((10, 20, 40), costs, strict=True)]
    rows += [("full", r, 3.0) for r in (40, 10, 20)]  # in any order
    table = pd.DataFrame(rows, columns=["method", "rank", "counted"]).assign(panel="x")
    assert fedlrt_fig3.amortised(table, "low", "full", "x", "counted") == pytest.approx(rank)


def test_a_trace_is_summarised_by_its_starts():
    minimisers = torch.zeros(5, 2, 3, dtype=torch.float64)
    gram = torch.diag(torch.arange(1.0, 7.0, dtype=torch.float64))
    trace = Trace(minimisers, gram, [0, 2], 3)
    W = torch.zeros(5, 2, 3, dtype=torch.float64)
    W[:, 1, 2] = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
    trace.follow(0, [0, 1, 2], W[:3], 4)
    trace.follow(0, [3, 4], W[3:], 2)
    first, _ = trace.progress.rows(slice(0, 4))
    low, middle, high = np.quantile([1.0, 2.0, 4.0, 8.0], (0.25, 0.5, 0.75))
    assert [first[name] for name in ("distance_low", "distance", "distance_high")] == [low, middle, high]
    losses = np.quantile([3.0, 12.0, 48.0, 192.0], (0.25, 0.5, 0.75))  # half of six times the square
    assert [first[name] for name in ("loss_low", "loss", "loss_high")] == pytest.approx(losses)
    assert [first[name] for name in ("rank_low", "rank", "rank_high")] == [2, 4, 4]
    assert (first["round"], first["right"], first["below"]) == (0, 0, 1)
    trace.follow(2, [0, 1], W[:2], 3)
    trace.follow(2, [2, 3, 4], W[2:], 4)
    _, second = trace.progress.rows(slice(1, 5))
    assert (second["round"], second["right"], second["below"]) == (2, 1, 2)


def one_reading(of, size=1.0, **fixed):
    """Rows of one reading: method to its distances at rounds 0, 4, 5 and 10."""
    fixed = {"learning_rate": 0.01, "smoothness": 1.0, "steps": 5} | fixed
    return pd.DataFrame(
        {"reading": "one", "method": method, "round": count, "distance": distance, "size": size, **fixed}
        for method, distances in of.items()
        for count, distance in zip((0, 4, 5, 10), distances, strict=True)
    )


STALLS, FALLS = (1.0, 0.11, 0.1, 0.09), (1.0, 0.5, 0.1, 1e-6)
SHOWS = {"FedAvg": STALLS, "FedLin": FALLS, "FeDLRT": STALLS, "FeDLRT, simplified": STALLS, "FeDLRT, full": FALLS}


@pytest.mark.parametrize(
    ("distances", "resting"),
    [((1.0, 9.0, 0.1, 0.051), True), ((1.0, 9.0, 0.1, 0.049), False), ((1.0, 0.01, 0.1, 0.049), False)],
)
def test_a_method_rests_where_it_has_not_halved_since_half_the_rounds(distances, resting):
    found = summary(one_reading({"FedAvg": distances}, size=7.0)).loc["one", "FedAvg"]
    assert (found.end, bool(found.resting), found["size"]) == (distances[-1], resting, 7.0)


@pytest.mark.parametrize("method", ["FedAvg", "FeDLRT"])
@pytest.mark.parametrize(("end", "far"), [(CLOSE, False), (1.01 * CLOSE, True)])
def test_both_uncorrected_methods_stand_still_above_the_level(method, end, far):
    has = fig1_properties(one_reading(SHOWS | {method: (1.0, end, end, end)})).loc["one"]
    assert has.plateau == far


@pytest.mark.parametrize("method", ["FedLin", "FeDLRT, full"])
@pytest.mark.parametrize(("end", "close"), [(CLOSE, True), (1.01 * CLOSE, False)])
def test_both_corrected_methods_come_to_the_level(method, end, close):
    has = fig1_properties(one_reading(SHOWS | {method: (1.0, 0.5, 0.1, end)})).loc["one"]
    assert has.exact == close
    assert not has.faster


@pytest.mark.parametrize(("rounds", "faster"), [((1.0, 0.5, 0.1, 1e-6), False), ((1.0, 0.5, 1e-6, 1e-6), True)])
def test_faster_is_in_fewer_rounds(rounds, faster):
    has = fig1_properties(one_reading(SHOWS | {"FeDLRT, full": rounds})).loc["one"]
    assert (has.exact, has.faster) == (True, faster)


@pytest.mark.parametrize(("last", "faster"), [(5, True), (6, False), (9, False)])
def test_a_method_recorded_in_other_rounds_is_faster_only_if_the_other_is_still_away(last, faster):
    """FedLin is above the level in round 5 and within it in round 10, and may have reached it in any round between."""
    table = one_reading(SHOWS)
    table.loc[(table.method == "FeDLRT, full") & (table["round"] == 10), "round"] = last
    table = table[(table.method != "FeDLRT, full") | (table["round"] != 5) | (table.distance <= CLOSE)]
    has = fig1_properties(table).loc["one"]
    assert (has.exact, has.faster) == (True, faster)


@pytest.mark.parametrize(("end", "single"), [(3.0 * SINGLE, True), (3.01 * SINGLE, False)])
def test_single_precision_is_one_of_the_minimiser_s_size(end, single):
    table = one_reading(SHOWS | {"FeDLRT, full": (1.0, 0.5, 0.1, end)}, size=3.0)
    assert fig1_properties(table).loc["one"].single == single


@pytest.mark.parametrize(("apart", "alike"), [(0.9e-6, True), (1.1e-6, False)])
@pytest.mark.parametrize("method", ["FeDLRT", "FeDLRT, simplified", "FeDLRT, full"])
def test_variants_are_alike_within_a_millionth_of_the_start(method, apart, alike):
    low = dict.fromkeys(("FeDLRT", "FeDLRT, simplified", "FeDLRT, full"), (2.0, 0.5, 0.1, 0.05))
    moved = tuple(np.add(low[method], (0.0, 2 * apart, 0.0, 0.0)))
    has = fig1_properties(one_reading(SHOWS | low | {method: moved})).loc["one"]
    assert (has.alike, has.alike_full) == (alike, False)
    full = {"FedAvg": (2.0, 0.5, 0.1, 0.05), "FedLin": (2.0, 0.5, 0.1, 0.05 + 2 * apart)}
    assert fig1_properties(one_reading(SHOWS | full)).loc["one"].alike_full == alike


@pytest.mark.parametrize(("rate", "admitted"), [(1 / 120, True), (1.001 / 120, False)])
def test_a_step_is_admitted_up_to_the_bound_of_theorem_2(rate, admitted):
    fixed = {"learning_rate": rate, "smoothness": 2.0, "steps": 5}
    assert fig1_properties(one_reading(SHOWS, **fixed)).loc["one"].admitted == admitted


def of_clients(clients, low, full, right=3, below=0, rate=1 / 120):
    return pd.DataFrame(
        {
            "reading": "one",
            "method": method,
            "clients": clients,
            "round": count,
            "distance": distance,
            "right": right,
            "below": below,
            "starts": 3,
            "learning_rate": rate,
            "smoothness": 2.0,
            "steps": 5,
        }
        for method, distances in (("FeDLRT, simplified", low), ("FedLin", full))
        for count, distance in zip((0, 4, 5, 10), distances, strict=True)
    )


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"right": 2}, "right"),
        ({"below": 1}, "above"),
        ({"low": (1.0, 0.5, 0.2, 1.1e-5), "full": (1.0, 0.9, 0.8, 0.7)}, "close"),
        ({"full": (1.0, 0.5, 1e-6, 1e-6)}, "faster"),
        ({"rate": 1.001 / 120}, "admitted"),
    ],
)
def test_a_reading_has_a_property_with_every_number_of_clients(change, lost, place):
    plain = {"low": (1.0, 0.5, CLOSE, CLOSE), "full": (1.0, 0.9, 0.8, CLOSE)}
    parts = [plain | (change if number == place else {}) for number in range(2)]
    has = fig4_properties(pd.concat(of_clients(4**number, **part) for number, part in enumerate(parts))).loc["one"]
    lacking = {name for name, value in has.items() if not value}
    assert lacking == {lost}
    assert fig4_properties(of_clients(2, **plain)).loc["one"].all()


@pytest.mark.parametrize(
    ("low", "right", "below", "open"),
    [
        ((1.0, 0.5, 0.4, 0.3), 2, 0, True),  # still falling, from above
        ((1.0, 0.5, 0.4, 0.3), 3, 0, False),  # found
        ((1.0, 0.5, 0.4, 0.3), 2, 1, False),  # a run was below
        ((1.0, 0.5, 0.3, 0.2999), 2, 0, False),  # at rest
    ],
)
def test_a_rank_above_the_target_s_is_not_reached_while_the_distance_falls(low, right, below, open):
    table = of_clients(2, low, (1.0, 0.9, 0.8, 0.7), right, below)
    later = fig4_unreached(table).loc["one"]
    assert (later.right, later.close) == (open, low[-1] == 0.3)


def banded(monkeypatch, module, stable_ranks=(), tops=()):
    """Draws with known stable ranks, or known leading eigenvalues and overlaps, one after the other."""
    ranks, pairs_of = cycle(stable_ranks or [0.0]), cycle(tops or [(0.0, 0.0)])

    def draw(model, R, rng, **rest):
        return SimpleNamespace(
            stable_rank=lambda: SimpleNamespace(value=next(ranks)),
            top_overlaps=lambda count: (lambda pair: (np.array([pair[0]]), np.array([[pair[1]]])))(next(pairs_of)),
        )

    monkeypatch.setattr(module, "draw_banded", draw)


def test_every_column_of_the_sample_sizes(monkeypatch):
    draws = (30.0, -10.0, 50.0, 5.0)
    banded(monkeypatch, rmt_sample_size, draws)
    monkeypatch.setitem(rmt_sample_size.SAMPLE_SIZE_SIZES, "quick", rmt_sample_size.SampleSizeSizes(10**4, (400,), 4))
    table = rmt_sample_size.sample_size_data(Settings())
    row = table[(table.panel == "stable rank") & (table.R == 10**4)].iloc[0]
    shares = np.array(draws) / 10**4
    assert (row["mean"], row.negative, row.draws, row.M) == (pytest.approx(shares.mean()), 0.25, 4, 400)
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(shares, [0.1, 0.9])))
    # sigma s = 1/2: theta + 1/(4 theta) for the spike 1; sum of squares of the spikes and of the noise
    assert row.limit == pytest.approx((1 + 0.25 + 0.0625 + 0.36 + 0.25 * 10**4) / 1.25**2 / 10**4, rel=1e-3)
    gap = table[(table.panel == "gap") & (table.series == "N = 10,000")].iloc[0]
    assert (gap["mean"], gap.negative) == (0.0, 0.0)  # the same draws of both
    assert gap.printed == pytest.approx(4 * (0.5 / 1.25) ** 2 - 4 * (0.1 / 1.01) ** 2)
    server = (1 + 0.25 + 0.0625 + 0.36 + 0.01 * 10**4) / 1.01**2 / 10**4
    assert gap.limit == pytest.approx(row.limit - server, rel=1e-3)
    assert len(table) == 4  # three dimensions, and one server of more samples


def test_every_column_of_the_stable_ranks(monkeypatch):
    draws = (3.0, 7.0, 8.0, 4.0, 1.0)
    banded(monkeypatch, rmt_stable_rank, draws)
    monkeypatch.setitem(rmt_stable_rank.STABLE_RANK_SIZES, "quick", rmt_stable_rank.StableRankSizes((1000,), 3))
    table = rmt_stable_rank.stable_rank_data(Settings()).set_index("quantity")
    client, server = np.array([3.0, 7.0, 8.0]), np.array([4.0, 1.0, 3.0])
    for name, values in (("client", client), ("server", server), ("gap", client - server)):
        row = table.loc[name]
        assert (row["mean"], row.draws, row.R) == (pytest.approx(values.mean()), 3, 1000)
        assert (row.low, row.high) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])))
        assert row.standard_error == pytest.approx(values.std(ddof=1) / sqrt(3))
        assert row.positive == pytest.approx((values > 0).mean())
    models = {"client": rmt_stable_rank.CLIENT, "server": rmt_stable_rank.SERVER}
    for name, model in models.items():
        rank, top = model.stable_rank(1000).value, model.outliers[0]
        assert table.predicted[name] == pytest.approx(rank)
        assert table.predicted_sd[name] == pytest.approx(2 * rank * model.outlier_sd(5.0, 1000) / top.location)
    assert table.predicted["gap"] == pytest.approx(table.predicted["client"] - table.predicted["server"])
    assert table.predicted_sd["gap"] == pytest.approx(hypot(table.predicted_sd["client"], table.predicted_sd["server"]))


def test_every_column_of_the_transition(monkeypatch):
    tops = ((2.0, 0.1), (2.5, 0.5), (2.1, 0.2))
    banded(monkeypatch, rmt_transition, tops=tops)
    table = rmt_transition.transition_table(Settings(), rmt_transition.TransitionSizes((1000,), 3, 3, 3))
    assert table[table.span == "across"].spike.tolist() == pytest.approx([0.1, 1.3, 2.5])
    assert table[table.span == "window"].spike.tolist() == pytest.approx([0.7, 1.0, 1.3])
    row = table[(table.span == "across") & (table.spike == 2.5)].iloc[0]
    for name, values in (("location", [2.0, 2.5, 2.1]), ("overlap", [0.1, 0.5, 0.2])):
        assert row[name] == pytest.approx(np.mean(values))
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])))
        assert row[f"{name}_error"] == pytest.approx(np.std(values, ddof=1) / sqrt(3))
    assert (row.location_limit, row.location_printed) == pytest.approx((2.5 + 0.4, 2.5 + 0.4))
    assert row.overlap_limit == pytest.approx(1 - 0.4**2)
    small = table[table.spike == 0.1].iloc[0]
    assert (small.location_limit, small.location_printed, small.overlap_limit) == pytest.approx((2.0, 10.1, 0.0))


def test_limits_beside_the_alignment_of_clients(monkeypatch):
    monkeypatch.setattr(rmt_alignment, "_BULK_R", 60)
    sizes = rmt_alignment.AlignmentSizes(300, 5, 3, (2.0, 0.5), 4)
    monkeypatch.setitem(rmt_alignment.ALIGNMENT_SIZES, "quick", sizes)
    table = rmt_alignment.alignment_data(Settings())
    assert set(table[table.panel == "cosine"].draws) == {3}
    for x, overlap in ((0.5, 0.0), (2.0, 0.75)):
        between, truth = (table[(table.panel == panel) & (table.x == x)].iloc[0] for panel in ("<u, u'>", "|<v, u>|"))
        assert (between.limit, truth.limit, truth.printed) == pytest.approx((overlap, sqrt(overlap), overlap))
        assert (between.R, between.draws) == (300, 3)
    bulk = table[table.panel == "bulk weight"]
    assert bulk.x.tolist() == pytest.approx([-2 + (2 * place + 1) / 6 for place in range(12)])
    assert bulk.limit.tolist() == pytest.approx([1 / (1 + 4 - 2 * x) for x in bulk.x])
    assert (set(bulk.printed), set(bulk.R), set(bulk.draws)) == ({0.25}, {60}, {4})


def test_a_standard_error_is_that_of_the_mean(monkeypatch):
    clients = iter([np.array([[0.2, 0.1]]), np.array([[0.5, 0.3]]), np.array([[0.6, 0.8]])])

    def draw(model, R, rng, ranks):
        row = next(clients, np.zeros((1, 2)))[0]
        return SimpleNamespace(
            cosines=lambda slopes: row,
            slopes=lambda *_: None,
            oriented=lambda: SimpleNamespace(inner=np.array([[0.5]]), towards=np.array([[[0.5]]])),
        )

    monkeypatch.setattr(rmt_alignment, "draw_two_clients", draw)
    monkeypatch.setattr(rmt_alignment, "_BULK_R", 60)
    monkeypatch.setitem(rmt_alignment.ALIGNMENT_SIZES, "quick", rmt_alignment.AlignmentSizes(300, 2, 3, (2.0,), 3))
    table = rmt_alignment.alignment_data(Settings())
    rows = table[(table.panel == "cosine") & (table.series == "no own errors")]
    assert rows["mean"].tolist() == pytest.approx([1.3 / 3, 0.4])
    errors = [np.std(column, ddof=1) / sqrt(3) for column in ([0.2, 0.5, 0.6], [0.1, 0.3, 0.8])]
    assert rows.standard_error.tolist() == pytest.approx(errors)


def test_every_column_of_the_angles(monkeypatch):
    """Three runs that contract by known ratios; the printed factor lies between two of them."""
    factor = homogeneous_factor(rolora_angle.START, rolora_angle.USUAL)
    ratios = (0.9 * factor, 0.98 * factor, 1.01 * factor)
    shown = cycle(ratios)

    def run(given, step, iterations, fresh=None):
        ratio = next(shown)
        return np.array([rolora_angle.START * ratio**t for t in range(iterations + 1)]), None

    monkeypatch.setattr(rolora_angle, "run_exact", run)
    monkeypatch.setattr(rolora_angle, "_expected_curves", lambda *_: [])
    monkeypatch.setattr(rolora_angle, "_ratios", lambda *_: [])
    monkeypatch.setitem(rolora_angle.ANGLE_SIZES, "quick", rolora_angle.AngleSizes((3,), (2.0,), 3, 4, (0.25,)))
    table = rolora_angle.angle_data(Settings())
    mine = table[(table.clients == "equal") & (table.data == "fixed")]
    runs = np.array([[rolora_angle.START * ratio**t for t in range(5)] for ratio in ratios])
    for t in range(5):
        row = mine[(mine.panel == "angle") & (mine.iteration == t)].iloc[0]
        assert (row.low, row["median"], row.high) == pytest.approx(tuple(np.quantile(runs[:, t], [0.1, 0.5, 0.9])))
        assert row.printed == pytest.approx(rolora_angle.START * factor**t)
        assert (row.samples, row.d, row.seeds, row.step) == (6, 3, 3, rolora_angle.USUAL)
    worst = mine[mine.panel == "worst"].iloc[0]
    assert (worst.low, worst["median"], worst.high) == pytest.approx(tuple(np.quantile(ratios, [0.1, 0.5, 0.9])))
    assert (worst.over, worst.printed, worst.iteration) == (pytest.approx(1 / 3), factor, 4)


def test_every_column_of_the_losses_of_ffa_lora(monkeypatch):
    """RoLoRA's bound is (1 + eps) eps^2 at the angle of each run, and its losses are over the square of b*."""
    ends, runs = cycle((0.3, 0.5)), []
    real = rolora_ffa.run_exact

    def run(given, step, T):
        state = real(given, step, T)[1]
        runs.append((given, state.A @ state.B))
        return [0.9, next(ends)], state

    monkeypatch.setattr(rolora_ffa, "run_exact", run)
    monkeypatch.setattr(rolora_ffa, "BY_CLIENTS", (2,))
    monkeypatch.setitem(rolora_ffa.FFA_SIZES, "quick", rolora_ffa.FFASizes((8,), (3,), (2,), (0.5,), (3,), 3))
    table = rolora_ffa.ffa_data(Settings())
    mine = table[(table.panel == "delta") & (table.iterations == 3)].set_index("series")
    assert set(mine.draws) == {10}
    assert mine.printed.tolist() == pytest.approx([(1.3 * 0.09 + 1.5 * 0.25) / 2] * 2)
    sizes = [float((given.facts["mean_B"] ** 2).sum()) for given, _ in runs]
    training = [given.loss(w) / size for (given, w), size in zip(runs, sizes, strict=True)]
    expected = [
        in_expectation(given, constants=False).loss(w) / size for (given, w), size in zip(runs, sizes, strict=True)
    ]
    for series, values in (("training", training), ("population", expected)):
        assert mine["mean"][series] == pytest.approx(np.mean(values))
        assert mine.standard_error[series] == pytest.approx(np.std(values, ddof=1) / sqrt(10))
    start = table[(table.panel == "delta") & (table.iterations == 0)].set_index("series")
    assert start.printed["different"] == 0.25
    assert start["mean"]["different"] == pytest.approx(0.25)  # in expectation there is nothing to scatter
    means = table[(table.panel == "m") & (table.series == "training, plain")].iloc[0]
    assert (means.N, means.m, means.d, means.sine, means.draws) == (2, 8, rolora_ffa.DIMENSION, rolora_ffa.SINE, 3)


def course_of(values, rounds=(0, 2), sent=(0, 80)):
    return rolora_aggregations.Course(rounds, sent, *(tuple(part * value for value in values) for part in (1, 2, 3)))


def test_every_column_of_the_aggregations(monkeypatch):
    """The rate with the least median training loss at the end; of runs that diverge the others are summarised."""
    tuning = {0.25: [(1.0, 0.9), (1.0, 0.1), (1.0, 0.2)], 0.5: [(1.0, 0.3), (1.0, 0.3), (1.0, 0.01)]}
    own = [(10.0, 4.0), None, (20.0, 1.0), (30.0, 2.0)]
    counts = defaultdict(int)

    def course(problem, method, rate, rounds, seed, enough=-np.inf):
        if seed >= 1000:
            return course_of(tuning[rate][seed - 1000])
        counts[method, rate] += 1
        return None if own[seed] is None else course_of(own[seed])

    monkeypatch.setattr(rolora_aggregations, "course", course)
    limits = cycle([1.0, 5.0, 2.0, 9.0])
    monkeypatch.setattr(rolora_aggregations, "_best_of_rank_1", lambda problem: next(limits))
    sizes = rolora_aggregations.AggregationSizes(2, 4, 3, (0.25, 0.5))
    monkeypatch.setitem(rolora_aggregations.AGGREGATION_SIZES, "quick", sizes)
    table = rolora_aggregations.aggregation_data(Settings())
    assert set(counts) == {(method, 0.25) for method in rolora_aggregations.METHODS}  # 0.2 is below 0.3
    assert (set(table.rate), set(table.runs), set(table.diverged), set(table.rank_1)) == ({0.25}, {3}, {1}, {3.5})
    for part, quantity in enumerate(("training", "population", "angle"), start=1):
        of = table[(table.quantity == quantity) & (table.method == "RoLoRA")]
        for place, values in enumerate(([10.0, 20.0, 30.0], [4.0, 1.0, 2.0])):
            for row in of[of["round"] == 2 * place].itertuples():
                expected = tuple(part * np.quantile(values, [0.1, 0.5, 0.9]))
                assert (row.low, row.median, row.high, row.bytes) == pytest.approx((*expected, 80 * place))


def test_medians_and_apart_intervals_are_compared_case_by_case():
    """Below, above, equal; and the central 80 % apart on either side."""
    cases = list(rolora_aggregations.CASES)
    rows = [
        (cases[0], (1.0, 2.0, 3.0), (3.5, 4.0, 5.0)),
        (cases[1], (6.0, 7.0, 8.0), (3.5, 4.0, 5.0)),
        (cases[2], (1.0, 2.0, 3.0), (3.0, 4.0, 5.0)),  # they touch
        (cases[3], (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)),
    ]
    table = pd.DataFrame(
        {
            "case": case,
            "method": method,
            "quantity": quantity,
            "round": count,
            "low": low,
            "median": middle,
            "high": high,
        }
        for case, mine, theirs in rows
        for method, (low, middle, high) in (("RoLoRA", mine), ("FFA-LoRA", theirs), ("FedLoRA", mine))
        for quantity in ("training", "population")
        for count in (0, 2)
    )
    table.loc[table.quantity == "training", "median"] = 0.0
    table.loc[(table["round"] == 0) & (table.method == "RoLoRA"), "median"] = 99.0
    headline = rolora_aggregations.aggregation_headline(table)
    assert "below FFA-LoRA's in 2, below FedLoRA's in 0 of 4 cases" in headline
    table = table.assign(rate=0.25, diverged=0)
    assert "below in 2 of 4 cases, above in 1, the central 80% of the seeds apart in 2" in (
        rolora_aggregations.aggregation_found(table)
    )


def test_every_column_of_the_toy_runs(monkeypatch):
    runs = {0: [(0, 1.0, 0, 0.0), (1, 0.5, 2, 0.1), (2, 0.2, 4, 0.2)], 1: [(0, 1.0, 0, 0.0), (1, 0.6, 3, 0.1)]}
    runs[2] = [(0, 1.0, 0, 0.0), (1, 0.4, 5, 0.1), (2, 0.3, 5, 0.2)]
    monkeypatch.setattr(fedloru_toy, "toy_problem", lambda *_: None)
    monkeypatch.setattr(fedloru_toy, "course", lambda problem, method, tau, rounds, seed: runs[seed])
    monkeypatch.setitem(fedloru_toy.TOY_SIZES, "quick", fedloru_toy.ToySizes(2, (5,), 3))
    table = fedloru_toy.toy_data(Settings())
    mine = table[(table.case == "equal clients") & (table.method == "momentum")].set_index("round")
    assert mine.excess.tolist() == [1.0, 0.5, 0.3]
    assert (mine.low[1], mine.high[1], mine.high[2]) == (0.4, 0.6, np.inf)
    assert mine["rank"].tolist() == [0.0, 3.0, 4.5]
    assert mine.megabytes.tolist() == [0.0, 0.1, 0.2]
    assert (set(mine.seeds), set(mine.diverged), set(mine.tau)) == ({3}, {1}, {5})


@pytest.fixture
def toy(monkeypatch):
    """A problem of matrices of 5 x 3."""
    monkeypatch.setattr(fedloru_toy, "SHAPE", (5, 3))
    return fedloru_toy.toy_problem(Settings(), "different clients", 0)


@pytest.mark.parametrize(("method", "numbers", "rank"), [("FedAvg", 5 * 3, 3), ("FedLoRA", 2 * (5 + 3), 2)])
def test_a_toy_run_counts_megabytes_and_the_rank_of_its_update(toy, method, numbers, rank):
    rows = fedloru_toy.course(toy, method, 0, 3, 0)
    assert [row[0] for row in rows] == [0, 1, 2, 3]
    steps = np.diff([row[3] for row in rows])
    assert steps == pytest.approx([2 * fedloru_toy.CLIENTS * numbers * 8 / 1e6] * 3)
    assert (rows[0][1], rows[0][2], rows[3][2]) == (1.0, 0, rank)
    falls = [row[1] for row in rows]
    assert falls == sorted(falls, reverse=True)
    assert falls[-1] > 0


@pytest.mark.parametrize(("share", "rank"), [(0.9e-3, 1), (1.1e-3, 2)])
def test_singular_values_count_from_a_thousandth_of_the_largest(monkeypatch, toy, share, rank):
    W = torch.zeros(5, 3, dtype=torch.float64)
    W[3, 2], W[1, 0] = 5.0, 5.0 * share
    algorithm = SimpleNamespace(start=lambda fed, tree: None, weights=lambda state: Tree(W=W))
    monkeypatch.setattr(fedloru_toy, "algorithm_of", lambda *_: algorithm)
    assert fedloru_toy.course(toy, "FedAvg", 0, 0, 0)[0][2] == rank


@pytest.mark.parametrize(
    ("client", "server", "above", "below"),
    [
        ((5.0, 4.0, 6.0), (3.0, 2.0, 3.9), True, False),
        ((5.0, 4.0, 6.0), (3.0, 2.0, 4.0), False, False),
        ((1.0, 0.5, 1.9), (3.0, 2.0, 4.0), False, True),
        ((1.0, 0.5, 2.0), (3.0, 2.0, 4.0), False, False),
    ],
)
def test_intervals_of_client_and_server_are_apart_where_they_do_not_touch(client, server, above, below):
    table = pd.DataFrame(
        {
            "weights": weights,
            "estimator": "stable rank",
            "samples": samples,
            "run": 0,
            "epoch": 5,
            "value": value,
            "low": low,
            "high": high,
        }
        for weights in ("own", "common")
        for samples, (value, low, high) in ((500, server), (50, client))
    )
    (row,) = pairs(table, "own", "stable rank").itertuples()
    assert (row.client, row.server, row.above, row.below) == (client[0], server[0], above, below)


def test_every_number_of_the_comparison_of_clients(monkeypatch):
    """Three clients of one of four samples each: their errors are scaled by 1 - 1/4."""
    monkeypatch.setattr(hessian_alignment, "SPAN", 2)
    rng, P, ranks = np.random.default_rng(0), 7, 3

    def side():
        vectors = np.linalg.qr(rng.standard_normal((P, P)))[0][:, :ranks]
        return hessian_alignment.Side(np.array([9.0, -5.0, 3.0, 1.0, 0.5, 0.2, 0.1]), vectors, rng.standard_normal(P))

    server, clients = side(), [side() for _ in range(3)]
    table = pd.DataFrame(hessian_alignment.compare(server, clients, 0.25, 1, 4, 8))
    assert (set(table.epoch), set(table.M)) == ({8}, {1})
    found = {name: part.set_index("index") for name, part in table[table.series == "measured"].groupby("quantity")}
    errors = [(client.gradient - server.gradient) / sqrt(0.75) for client in clients]
    leading = [client.vectors.T @ error for client, error in zip(clients, errors, strict=True)]
    cosine = [
        float(a.gradient @ b.gradient / np.linalg.norm(a.gradient) / np.linalg.norm(b.gradient))
        for a, b in ((clients[0], clients[1]), (clients[0], clients[2]), (clients[1], clients[2]))
    ]
    for name, number in {
        "noise size": 0.25,
        "error square": np.mean(np.square(errors)),
        "error square, leading": np.mean(np.square(leading)),
        "gradient square": np.sum(server.gradient**2) / P,
        "whole cosine": np.mean(cosine),
    }.items():
        assert found[name].value.tolist() == pytest.approx([number])
    for index in range(ranks):
        one = [float(server.vectors[:, index] @ client.vectors[:, index]) ** 2 for client in clients]
        two = [float(((server.vectors[:, :2].T @ client.vectors[:, index]) ** 2).sum()) for client in clients]
        for name, shares in (("overlap", one), ("span", two)):
            row = found[name].loc[index + 1]
            assert (row.value, row.low, row.high) == pytest.approx((np.mean(shares), min(shares), max(shares)))
    curves = [hessian_alignment.cosines(a, b) for a, b in ((clients[0], clients[1]), (clients[0], clients[2]))]
    curves.append(hessian_alignment.cosines(clients[1], clients[2]))
    mean = np.mean(curves, axis=0)
    error = sqrt(2 / 3 * 3) * np.std(curves, axis=0)  # without a client one pair is left
    cosines = found["cosine"]
    assert cosines.value.tolist() == pytest.approx(mean.tolist())
    assert (cosines.high - cosines.value).tolist() == pytest.approx(error.tolist())
    assert (cosines.value - cosines.low).tolist() == pytest.approx(error.tolist())
    assert found["step"].value.tolist() == pytest.approx(np.diff(mean).tolist())
    assert found["rise"].value.tolist() == pytest.approx((mean - mean[0]).tolist())


def test_every_column_of_an_exact_size():
    table = FEDLORU_FIGURE.data(Settings())
    (row,) = table[(table.model == "LLaMA-2-7B") & (table["rank"] == 16)].itertuples()
    numbers = 32 * 4 * 2 * 4096 * 16  # layers, matrices, both factors
    assert (row.trained, row.bytes_up, row.bytes_down) == (numbers, 4 * numbers, 4 * numbers)
    assert (row.bytes_of_an_iteration, row.optimiser_bytes) == (4 * numbers, 8 * numbers)
    assert row.share == pytest.approx(100 * numbers / LLAMA_2_7B.parameters)
    assert row.recomputed == pytest.approx(100 * numbers / (LLAMA_2_7B.parameters + numbers))
    assert (row.published, row.unit, row.matrices) == (0.248, "%", " ".join(ATTENTION))
    assert (row.first_layer, row.last_layer, row.method) == (0, 31, "FedLoRU")
    stated = ROLORA_FIGURE.data(Settings())
    stated = stated[stated.published.notna()]
    assert stated.recomputed.tolist() == pytest.approx((stated.bytes_up / 1024).tolist())
    assert set(stated.unit) == {"KiB"}


@pytest.mark.parametrize(
    ("figure", "rows", "average"),
    [(TABLE_1_FIGURE, TABLE_1, True), (TABLE_6_FIGURE, TABLE_6, True), (TABLE_2_FIGURE, TABLE_2, False)],
)
def test_every_column_of_printed_rows(figure, rows, average):
    table = figure.data(Settings())
    for row in rows:
        mine = table[(table.setting == (row.setting if average else "")) & (table.method == row.method)]
        mine = mine.set_index("column")
        for name, score in row.scores.items():
            assert (mine.published[name], mine.deviation[name]) == (float(score.mean), float(score.deviation))
            assert np.isnan(mine.recomputed[name]) == average
        if average:
            means = [float(score.mean) for score in row.scores.values()]
            assert mine.published["Avg."] == float(row.average)
            assert mine.recomputed["Avg."] == pytest.approx(sum(means) / len(means))
    known = table[table.recomputed.notna()]
    assert known.difference.to_numpy() == pytest.approx((known.recomputed - known.published).to_numpy(), abs=1e-9)
    assert table[table.recomputed.isna()].difference.isna().all()


def test_every_column_of_table_12():
    table = TABLE_12_FIGURE.data(Settings()).set_index(["column", "method"])
    for metric, scores in TABLE_12.items():
        for method, score in scores.items():
            row = table.loc[metric, method]
            assert (row.published, row.deviation) == (float(score.mean), float(score.deviation))
            assert np.isnan(row.recomputed) == (metric != "MMLU")


def test_a_spiked_model_has_the_stable_rank_of_its_formula():
    """The formula that the tests above use: squares of the spikes and of the noise over that of the outlier."""
    model = SpikedModel((5.0, 3.0, 1.5, -2.0), scale=0.5)
    squares = 25 + 9 + 2.25 + 4 + 0.25 * 10**6
    assert model.stable_rank(10**6).value == pytest.approx(squares / (5 + 0.05) ** 2, rel=1e-4)
