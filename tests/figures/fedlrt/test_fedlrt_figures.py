"""FeDLRT's Figures 1, 3 and 4 at tiny sizes; many starts at once are the algorithms' own rounds, one by one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.fedlrt import CORRECTIONS, FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.batched_starts import affine_map, iterate, recorded_rounds, run_fedlrt
from figures.fedlrt import fig1 as fedlrt_fig1
from figures.fedlrt import fig3 as fedlrt_fig3
from figures.fedlrt import fig4 as fedlrt_fig4
from figures.fedlrt.legendre_readings import STOP, Plan, Reading, Trace, first_round, minimisers, readings_table
from figures.figure import FigureError, Settings
from figures.make import make
from toymodels.legendre import many_targets, random_targets

LOCAL = Descent(4, 1e-2)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def problem(starts=3):
    rng = np.random.default_rng(0)
    targets = torch.stack([random_targets(starts, (5, 5), 1, rng) for _ in range(3)])
    clients = many_targets(targets, rng, samples=90, basis="uniform", split="region")
    return clients, torch.from_numpy(rng.standard_normal((starts, 5, 5)))


def alone(clients, number, algorithm, start, rounds):
    """Weights after every round of one start, by plain clients one after the other."""
    plain = [type(c)(c.pairs, c.H, c.B[number], c.c[number], c.samples).as_quadratic() for c in clients]
    fed = Federation(plain)
    state, found = algorithm.start(fed, Tree(W=start)), []
    for _ in range(rounds + 1):
        found.append(algorithm.weights(state)["W"])
        state = one_round(algorithm.round, fed, state)
    return found


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_starts_of_several_ranks_go_as_they_go_alone(correction):
    clients, starts = problem()
    ranks, truncations = [1, 3, 3], [Truncation(0.05), Truncation(0.3), Truncation(0.02, "printed")]
    seen = {}

    def follow(count, numbers, W, rank):
        seen.update({(count, number): (W[place], rank) for place, number in enumerate(numbers)})
        return [False] * len(numbers)

    run_fedlrt(clients, starts, FeDLRT(LOCAL, 1, correction=correction), ranks, truncations, 6, follow)
    for number, (rank, truncation) in enumerate(zip(ranks, truncations, strict=True)):
        algorithm = FeDLRT(LOCAL, rank, truncation, correction)
        for count, W in enumerate(alone(clients, number, algorithm, starts[number], 6)):
            torch.testing.assert_close(seen[count, number][0], W, atol=1e-12, rtol=1e-12)
    assert len({rank for _, rank in seen.values()}) > 1


def test_starts_that_are_followed_enough_end():
    clients, starts = problem()
    seen = []

    def follow(count, numbers, W, rank):
        seen.append((count, tuple(numbers)))
        return [count >= number for number in numbers]

    run_fedlrt(clients, starts, FeDLRT(LOCAL, 1), [2] * 3, [Truncation(0.0, most=2)] * 3, 9, follow)
    assert seen == [(0, (0, 1, 2)), (1, (1, 2)), (2, (2,))]


@pytest.mark.parametrize("algorithm", [FedAvg(LOCAL), FedLin(LOCAL)])
def test_full_rank_rounds_are_powers_of_a_map(algorithm):
    clients, starts = problem()
    found = iterate(*affine_map(algorithm, clients), starts, [0, 1, 2, 5, 12])
    for number in range(3):
        path = alone(clients, number, algorithm, starts[number], 12)
        expected = torch.stack([path[count] for count in (0, 1, 2, 5, 12)])
        torch.testing.assert_close(found[:, number], expected, atol=1e-12, rtol=1e-12)


def test_recorded_rounds():
    found = recorded_rounds(1000, dense=4)
    assert found[:8] == [0, 1, 2, 3, 4, 6, 8, 12]
    assert found[-1] == 1000
    assert found == sorted(set(found))


def test_a_start_is_followed_until_it_is_nearer_than_the_stop():
    trace = Trace(torch.zeros(3, 1, 1, dtype=torch.float64), torch.eye(1, dtype=torch.float64), [0, 1], 1)
    W = torch.tensor([[[2 * STOP]], [[STOP]], [[STOP / 2]]], dtype=torch.float64)
    assert trace.follow(0, [0, 1, 2], W, 1) == [False, False, True]
    assert trace.progress.distance[0].tolist() == [2 * STOP, STOP, STOP / 2]


def test_first_round_is_for_good():
    part = pd.DataFrame({"round": [0, 1, 2, 3], "distance": [1.0, 0.1, 1.0, 0.1]})
    assert first_round(part, 0.5) == 3
    assert np.isnan(first_round(part, 0.01))


def test_clients_with_the_same_points_need_no_correction():
    """One curvature: the mean of the clients' steps is the step on the mean loss, in any basis."""
    plan = Plan(LOCAL, (3,), 2, 90, {"uniform": 8}, 8, 3, ("FedAvg", "FedLin"))
    targets = torch.stack([random_targets(2, (5, 5), 1, np.random.default_rng(i)) for i in range(3)])
    readings = [Reading(split, split=split, rank=3, corrections=CORRECTIONS) for split in ("all", "region")]
    table = readings_table("test", readings, plan, targets, Settings())
    ends = table[table["round"] == 8].pivot(index="method", columns="reading", values="distance")
    low = ends.loc[["FeDLRT", "FeDLRT, simplified", "FeDLRT, full"]]
    assert float(np.ptp(low["all"])) < 1e-12
    assert float(np.ptp(low["region"])) > 1e-6
    assert float(abs(ends["all"]["FedAvg"] - ends["all"]["FedLin"])) < 1e-12
    assert float(abs(ends["region"]["FedAvg"] - ends["region"]["FedLin"])) > 1e-6
    assert (table.clients == 3).all()
    for reading in readings:  # smoothness is that of the roughest client, curvature that of the mean loss
        points = Settings().rng("test", "points")
        clients = many_targets(targets, points, samples=90, basis=reading.basis, split=reading.split)
        largest = [float(torch.linalg.eigvalsh(client.H)[-1]) for client in clients]
        least = float(torch.linalg.eigvalsh(sum(client.samples * client.H for client in clients))[0])
        mine = table[table.reading == reading.name]
        assert np.unique(mine.smoothness) == pytest.approx(max(largest))
        assert np.unique(mine.curvature) == pytest.approx(least / sum(client.samples for client in clients))


def test_each_start_meets_the_points_of_its_own_draw():
    """Five starts over two draws; the start, rank 3 of 3, is the same weight for every number of draws."""
    plan = Plan(LOCAL, (2,), 5, 60, {"uniform": 40}, 2**16, 1, draws=2)
    targets = random_targets(5, (3, 3), 1, np.random.default_rng(3))
    settings = Settings()
    table = readings_table("test", [Reading("one", rank=3)], plan, targets, settings)

    normal = torch.from_numpy(settings.rng("test", "starts").standard_normal((5, 3, 3)) / np.sqrt(3))
    distances, curvatures, smoothest = [0.0] * 5, [], []
    for draw, own in enumerate(([0, 2, 4], [1, 3])):
        points = settings.rng("test", "points", *([1] * draw))
        clients = many_targets(
            targets[own].expand(2, len(own), 3, 3), points, samples=60, basis="uniform", split="random"
        )
        W, H = minimisers(clients)
        for place, number in enumerate(own):
            distances[number] = float(torch.linalg.norm(normal[number] - W[place]))
        curvatures.append(float(torch.linalg.eigvalsh(H)[0]))
        smoothest += [float(torch.linalg.eigvalsh(client.H)[-1]) for client in clients]
    first = table[(table["round"] == 0) & (table.method == "FedLin")].iloc[0]
    quartiles = np.quantile(distances, (0.25, 0.5, 0.75))
    assert [first.distance_low, first.distance, first.distance_high] == pytest.approx(quartiles)
    assert (first.curvature_low, first.curvature_high) == pytest.approx((min(curvatures), max(curvatures)))
    assert first.curvature == pytest.approx(sum(curvatures) / 2)
    assert first.smoothness == pytest.approx(max(smoothest))
    assert (first.draws, first.starts) == (2, 5)
    ends = table[table["round"] == table.groupby("method")["round"].transform("max")].set_index("method")
    assert ends.distance_high["FedLin"] < 1e-9  # with the minimiser of another draw no start would get there
    assert ends.distance_high["FeDLRT, simplified"] < 0.9 * first.distance_high


def test_more_draws_than_starts_are_refused():
    with pytest.raises(FigureError, match="2 starts cannot share 3 draws"):
        Plan(LOCAL, (2,), 2, 60, {"uniform": 40}, 2**16, 1, draws=3)


def test_minimisers_have_no_mean_gradient():
    clients, _ = problem()
    W, _ = minimisers(clients)
    slope = sum(client.gradient(Tree(W=W))["W"] for client in clients)
    assert float(slope.abs().max()) < 1e-10


@pytest.mark.parametrize("method", fedlrt_fig3.PRINTED)
def test_counts_of_a_round_by_hand(method):
    n, r = 12, 3
    counts = fedlrt_fig3.count_costs(method, n, r, np.random.default_rng(0))
    numbers = {
        "FedAvg": 2 * n**2,
        "FedLin": 4 * n**2,
        "FeDLRT": 6 * n * r + 5 * r**2,
        "FeDLRT, simplified": 6 * n * r + 7 * r**2,
        "FeDLRT, full": 6 * n * r + 13 * r**2,
    }[method]
    held = {"FedAvg": 2 * n**2, "FedLin": 4 * n**2}
    assert counts["communication"] == numbers
    assert counts["trips"] == {"FedAvg": 1, "FeDLRT, full": 3}.get(method, 2)
    assert counts["client memory"] == held.get(method, counts["client memory"])
    if method == "FedAvg":  # p W, (p W) q, and the outer product
        assert counts["client compute"] == 2 * n**2 + 2 * n + 2 * n**2


def test_amortisation_is_where_costs_meet():
    rows = [
        {"panel": "x", "method": method, "rank": rank, "counted": cost}
        for method, costs in (("low", (1.0, 2.0, 4.0)), ("full", (3.0, 3.0, 3.0)), ("dear", (9.0, 9.0, 9.0)))
        for rank, cost in zip((10, 20, 40), costs, strict=True)
    ]
    table = pd.DataFrame(rows)
    assert fedlrt_fig3.amortised(table, "low", "full", "x", "counted") == pytest.approx(30.0)
    assert fedlrt_fig3.amortised(table, "low", "dear", "x", "counted") == float("inf")


@pytest.mark.slow
def test_made_whole(tmp_path, monkeypatch):
    plan = Plan(Descent(5, 1e-2), (1, 2), 2, 100, {"uniform": 12, "plain": 3}, 64, 2)
    four = fedlrt_fig4.Fig4Sizes(5, 2, plan, None, plan, ("basis plain",))
    plan = replace(plan, clients=(2,), full_rank=("FedAvg", "FedLin"))
    one = fedlrt_fig1.Fig1Sizes(5, plan, ("first reading",))
    monkeypatch.setitem(fedlrt_fig1.FIG1_SIZES, "quick", one)
    monkeypatch.setitem(fedlrt_fig3.FIG3_SIZES, "quick", fedlrt_fig3.Fig3Sizes(16, (1, 4, 8, 16)))
    monkeypatch.setitem(fedlrt_fig4.FIG4_SIZES, "quick", four)
    for figure in (fedlrt_fig1.FIG1, fedlrt_fig3.FIG3, fedlrt_fig4.FIG4):
        made = make(figure, Settings(), tmp_path)
        assert made.found.startswith("Stated: ")
        assert made.caption.count("$") % 2 == 0
        assert made.paths["svg"].stat().st_size < 400_000


def test_found_says_which_readings_show_the_papers_figure():
    def lines(reading, ends):
        for method, (end, resting) in ends.items():
            for count, distance in ((0, 1.0), (5, end if resting else 0.1), (10, end)):
                yield {
                    "reading": reading,
                    "method": method,
                    "round": count,
                    "distance": distance,
                    "size": 1.0,
                    "basis": "plain",
                    "smoothness": 1.0,
                    "steps": 10,
                    "learning_rate": 1e-2,
                }

    low = dict.fromkeys(("FeDLRT, simplified", "FeDLRT, full"), (1e-9, True))
    shows = {"FedAvg": (0.1, True), "FedLin": (1e-9, False), "FeDLRT": (0.1, True), **low}
    table = pd.DataFrame([*lines("shows", shows), *lines("not", shows | {"FedAvg": (1e-9, True)})])
    text = fedlrt_fig1.fig1_found(table)
    assert "without correction stall above 1e-5 in 1 of 2 readings (shows)" in text
    assert "all of it (but for single precision) in 1 of 2 readings (shows)" in text
    assert "admitted in none" in text
