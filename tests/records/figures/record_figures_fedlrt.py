"""FeDLRT's figures in small sizes: readings, properties, costs and crossings, batched starts, savings, matrices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from drawings import figures_of, panel, picture
from matplotlib.figure import Figure as Picture
from own_sizes import columns
from recording import refused

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from figures.batched_starts import KeepAll, affine_map, iterate, recorded_rounds
from figures.fedlrt import communication, fig1, fig1_properties, fig3, fig4, fig4_picture, fig4_properties, vision
from figures.fedlrt import legendre_readings as legendre
from figures.fedlrt.fig3_crossings import PAIRS, amortised
from figures.fedlrt.vision_runs import VARIANTS, VISION, method_name
from figures.figure import Settings
from figures.property_matrix import draw_matrix
from toymodels.legendre import many_targets, random_targets

PLAN = legendre.Plan(Descent(2, 1e-2), (2,), 3, 30, {"uniform": 3, "dx": 2}, 5, 1, ("FedAvg", "FedLin"), draws=2)
READINGS = (
    legendre.Reading("first", rank=3, tau=0.1, corrections=("none", "full")),
    legendre.Reading("small start", rank=1, scale=0.1, rule="printed"),
    legendre.Reading("other basis", rank=9, basis="dx", split="all"),
)


def _targets(starts=3):
    return random_targets(starts, (4, 3), 1, Settings().rng("fig", "targets"))


def readings_of_least_squares():
    said = []
    table = legendre.readings_table("fig", READINGS, PLAN, _targets(), Settings(seed=1, progress=said.append))
    last = table[table["round"] == table.groupby(["reading", "method"])["round"].transform("max")]
    yield said, len(table), columns(last)
    first = table[table["round"] == 1]
    yield columns(first, "distance", "distance_low", "distance_high", "loss", "rank", "rank_high", "right", "below")


def targets_of_each_client():
    targets = torch.stack([_targets(2), _targets(2).flip(0)])
    plan = replace(PLAN, starts=2, draws=1, rounds={"uniform": 2}, far=2)
    table = legendre.readings_table("fig", READINGS[:1], plan, targets, Settings())
    return columns(table, "method", "round", "distance", "loss", "size", "smoothness", "curvature")


def minimisers_of_unequal_clients():
    clients = many_targets(
        _targets().expand(2, 3, 4, 3), np.random.default_rng(0), samples=25, basis="uniform", split="region"
    )
    W, H = legendre.minimisers(clients)
    return [client.samples for client in clients], figures_of(W), figures_of(H)


def rounds_that_are_recorded():
    for rounds, dense in ((0, 20), (1, 20), (7, 2), (25, 20), (100, 20), (41, 20), (1000, 5)):
        yield recorded_rounds(rounds, dense)
    yield recorded_rounds(30)[-3:], KeepAll().rank(torch.ones(2, 5))


def maps_of_rounds():
    clients = many_targets(
        _targets().expand(2, 3, 4, 3), np.random.default_rng(0), samples=24, basis="uniform", split="region"
    )
    starts = torch.linspace(-1.0, 1.0, 36, dtype=torch.float64).reshape(3, 4, 3)
    for algorithm in (FedAvg(Descent(3, 0.02)), FedLin(Descent(3, 0.02))):
        A, b = affine_map(algorithm, clients)
        yield figures_of(A), figures_of(b), figures_of(A.diagonal())
        yield [figures_of(w) for w in iterate(A, b, starts, [0, 1, 2, 5, 12])]


def plans_refused():
    return [refused(lambda draws=draws: replace(PLAN, draws=draws).draws) for draws in (0, 1, 3, 4)]


def starts_that_end():
    trace = legendre.Trace(torch.zeros(3, 2, 2, dtype=torch.float64), torch.eye(4, dtype=torch.float64), [0, 2, 4], 2)
    W = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    yield trace.follow(0, [0, 2], torch.stack([W, 2 * W]), 2), trace.follow(0, [1], W[None], 1)
    yield trace.follow(1, [0, 1, 2], torch.stack([W * 1e-10, W, W * 5e-10]), 2), trace.follow(2, [1], W[None] / 2, 3)
    progress = trace.progress
    yield progress.distance, progress.loss, progress.rank, progress.below
    yield progress.rows(slice(0, 2)), progress.rows(slice(1, 3))


def _course(method, rounds, distance, **other):
    rows = [
        {"round": r, "distance": d, "distance_low": d / 2, "distance_high": 2 * d}
        for r, d in zip(rounds, distance, strict=True)
    ]
    return [
        {
            "method": method,
            "clients": 2,
            "right": 3,
            "below": 0,
            "starts": 3,
            "rank": 2,
            "rank_low": 1,
            "rank_high": 3,
            "loss": d["distance"] ** 2,
            "loss_low": 0.0,
            "loss_high": 1.0,
            **d,
            **other,
        }
        for d in rows
    ]


COMMON = {
    "size": 2.0,
    "learning_rate": 1e-3,
    "smoothness": 4.0,
    "steps": 20,
    "split": "all",
    "basis": "uniform",
    "n": 4,
    "samples": 30,
    "target_rank": 2,
    "draws": 2,
    "tau": 0.1,
    "curvature": 0.01,
    "curvature_low": 0.005,
    "curvature_high": 0.02,
}
FLAT, DOWN, SLOW = (1.0, 0.5, 0.5, 0.49), (1.0, 1e-3, 9e-6, 1e-7), (1.0, 0.1, 1e-3, 2e-5)


def _readings(*courses):
    rows = []
    for number, by_method in enumerate(courses):
        for method, (rounds, distance) in by_method.items():
            rows += [
                {"reading": f"reading {number}, all", **COMMON, **row} for row in _course(method, rounds, distance)
            ]
    return pd.DataFrame(rows)


R4, R8 = (0, 1, 2, 4), (0, 2, 4, 8)
EARLY, TINY = (0, 1, 2, 3), (1.0, 0.1, 1e-6, 1e-7)
CASES = (
    {
        "FedAvg": (R8, FLAT),
        "FedLin": (R8, DOWN),
        "FeDLRT": (R4, FLAT),
        "FeDLRT, simplified": (R4, DOWN),
        "FeDLRT, full": (R4, DOWN),
    },
    {
        "FedAvg": (R8, SLOW),
        "FedLin": (R8, SLOW),
        "FeDLRT": (R4, FLAT),
        "FeDLRT, simplified": (R4, FLAT),
        "FeDLRT, full": (R4, SLOW),
    },
    {
        "FedAvg": (R4, DOWN),
        "FedLin": (R4, DOWN),
        "FeDLRT": (R4, DOWN),
        "FeDLRT, simplified": (R4, DOWN),
        "FeDLRT, full": (R4, DOWN),
    },
    {
        "FedAvg": (R4, FLAT),
        "FedLin": (R8, DOWN),
        "FeDLRT": (EARLY, FLAT),
        "FeDLRT, simplified": (EARLY, TINY),
        "FeDLRT, full": (EARLY, FLAT),
    },
)


def properties_of_readings():
    table = _readings(*CASES)
    yield (
        fig1_properties.summary(table).reset_index(drop=True),
        fig1_properties.properties(table),
        fig1_properties.unreached(table),
    )
    yield fig1.fig1_sizes(table), fig1.fig1_under(table)


def distances_that_rest():
    for ratio in (0.24, 0.26, 0.49, 0.51, 1.0):
        part = pd.DataFrame(_course("FedLin", (0, 2, 4, 8), (1.0, 0.9, 0.8, 0.8 * ratio))).assign(reading="a", **COMMON)
        yield bool(fig1_properties.summary(part).resting.iloc[0])
    for ratio in (0.98, 0.989, 0.991, 1.0, 1.009, 1.011):
        yield fig4_properties._rests(pd.DataFrame(_course("x", (0, 2, 4, 8), (1.0, 0.9, 0.8, 0.8 * ratio))))


def admitted_steps():
    for steps in (20, 21):
        table = _readings(*CASES[:1]).assign(steps=steps, smoothness=1 / (12 * 20 * 1e-3))
        yield bool(fig1_properties.properties(table).admitted.iloc[0])
        one = table[table.method.isin(("FedLin", "FeDLRT, simplified"))]
        yield bool(fig4_properties.properties(one).admitted.iloc[0])


def picture_of_readings():
    return picture(fig1.draw_fig1, _readings(*CASES))


def first_and_last_rounds():
    part = pd.DataFrame(_course("x", (0, 1, 2, 3), (1.0, 1e-6, 2e-5, 1e-5)))
    for level in (1.0, 2e-5, 1e-5, 1e-7, 2.0):
        yield legendre.first_round(part, level), legendre.last_above(part, level)
    yield legendre.first_round(part, 2e-5, "distance_high"), legendre.last_above(part, 5e-6, "distance_low")


def _fig4():
    courses = [{"FedLin": case["FedLin"], "FeDLRT, simplified": case["FeDLRT, simplified"]} for case in CASES]
    table = _readings(*courses)
    table.loc[(table.reading == "reading 1, all") & (table["round"] == 4) & (table.method != "FedLin"), "right"] = 2
    table.loc[(table.reading == "reading 3, all") & (table["round"] == 0), ["right", "below"]] = (0, 1)
    other = table.assign(clients=4, distance=table.distance * 1.5)
    return pd.concat([table, other], ignore_index=True)


def properties_of_ranks():
    table = _fig4()
    yield fig4_properties.properties(table), fig4_properties.unreached(table)
    yield fig4.fig4_sizes(table), fig4.fig4_under(table)
    low, full = (pd.DataFrame(_course("x", *CASES[0][name])) for name in ("FeDLRT, full", "FedLin"))
    yield fig4_properties.ratio_to_fedlin(low, full), fig4_properties.ratio_to_fedlin(full, low)


def picture_of_ranks():
    table = _fig4().replace({"reading": {"reading 1, all": fig4_picture.FOLLOWED}})
    return picture(fig4.draw_fig4, table[table.reading != "reading 3, all"])


def lines_that_lie_on_one_another():
    for share in (1.0, 1.01, 1.3, 2.0):
        table = _readings({"FedLin": CASES[0]["FedLin"], "FeDLRT, simplified": CASES[0]["FeDLRT, simplified"]})
        other = table.assign(clients=4, distance=table.distance * share)
        yield fig4_picture.alike(pd.concat([table, other]))


def orders_of_final_distances():
    return [fig4._order(ends) for ends in ((1.0, 1.005), (1.0, 1.02), (1.0, 0.5, 0.2), (1.0, 0.5, 0.6), (0.0, 0.0))]


def ratios_in_words():
    return [
        fig4._describe_ratio(*of)
        for of in ((2.0, np.nan, (1.0, 2.0)), (2.0, 5.0, (1.0, np.nan)), (0.0, 0.0, (0.0, 0.0)))
    ]


def a_few_rounds_of_both_figures():
    plan = replace(PLAN, starts=2, samples=40, rounds={"uniform": 2}, far=2, draws=1, target_rank=2)
    sizes = fig1.Fig1Sizes(3, replace(plan, clients=(3,)), ("first reading", "tau 1e-6"))
    table = fig1.fig1(sizes, Settings())
    yield columns(table[table["round"] == 2], "reading", "method", "start_rank", "distance", "rank", "size", "tau")
    table = fig4.fig4(
        fig4.Fig4Sizes(3, 2, plan, None, replace(plan, full_rank=("FedLin",)), ("initial rank 2",)), Settings()
    )
    yield columns(
        table[table["round"] == 2], "reading", "method", "start_rank", "distance", "rank", "size", "smoothness"
    )


def costs_of_a_round():
    for method in fig3.PRINTED:
        for n, r in ((8, 2),) if method == "FeDLRT" else ((8, 5),):
            yield method, fig3.count_costs(method, n, r, np.random.default_rng(0))
            yield {panel: formula(n, r) for panel, formula in fig3.PRINTED[method].items()}


def costs_and_crossings():
    table = fig3.fig3(fig3.Fig3Sizes(32, (1, 2, 8, 16)), Settings())
    yield [figures_of(table[name]) for name in ("counted", "printed", "trips", "rank")], len(table)
    for panel_ in fig3.PANELS:
        yield [amortised(table, *pair, panel_, column) for pair in PAIRS for column in ("counted", "printed")]
    yield fig3.fig3_headline(table), fig3.fig3_found(table), fig3.fig3_sizes(table)


def crossings_at_their_borders():
    for gaps in ((-1.0, 0.0, 1.0), (-1.0, -3.0, 1.0), (0.0, 1.0, 2.0), (-1.0, -2.0, -3.0)):
        rows = [
            {"panel": "p", "rank": r, "method": m, "counted": 5.0 + (g if m == "low" else 0.0)}
            for r, g in zip((1, 2, 4), gaps, strict=True)
            for m in ("low", "full")
        ]
        yield amortised(pd.DataFrame(rows), "low", "full", "p", "counted")


def elements_that_travel():
    yield [communication.elements_sent(5, 7, 2, row) for row in VARIANTS], communication.STATED, communication.NETWORKS
    yield [communication.sides(VISION[name]["quick"]) for name in ("fig-5", "fig-6")]
    table = pd.DataFrame({"figure": "f", "variant": "v", "rank": [1, 2, 3], "of_layers": [0.9, 0.5, 0.6]})
    yield [communication.largest_rank(table, "f", "v", share) for share in (0.6, 0.61, 0.95)]


def differences_and_savings_in_words():
    for least, most in ((-2.0, 3.0), (1.0, 3.0), (-3.0, -1.0), (0.0, 2.0), (-2.0, 0.0), (10.2, 10.4), (10.2, 10.6)):
        yield vision._between(least, most), vision._describe_saving(least, most, "FedLin")
    yield (
        [vision.counted(count) for count in (1, 2)],
        [method_name(row) for row in VARIANTS],
        vision.DECIDING,
        vision.PRINTED_ROUNDS,
    )


def _vision():
    rows = []
    for clients in (1, 4, 8):
        for method, sent, value in (
            ("without correction", 40, 0.7),
            ("full correction", 90, 0.8),
            ("FedAvg", 100, 0.75),
            ("FedLin", 200, 0.78),
        ):
            for seed in (0, 1):
                failed = int(method == "FedAvg" and clients == 8 and seed == 1)
                ends = value + 0.01 * seed - 0.002 * clients * (method == "FedAvg")
                rows.append(
                    (
                        "run",
                        method,
                        clients,
                        seed,
                        0.1,
                        5,
                        np.nan if failed else ends,
                        sent * clients * 100,
                        failed,
                        10,
                        20,
                    )
                )
    return pd.DataFrame(
        rows,
        columns=[
            "stage",
            "method",
            "clients",
            "seed",
            "rate",
            "round",
            "value",
            "bytes",
            "failed",
            "factorised",
            "steps",
        ],
    )


def savings_and_contrasts():
    table = _vision()
    yield vision.savings(table), {name: effect.text for name, effect in vision.contrasts(table).items()}
    yield vision.vision_outcome(table)
    yield (
        vision.vision_sizes("fig-5", table),
        vision.vision_sizes("fig-5", table.assign(steps=table.clients.map({1: 240, 4: 60, 8: 29}))),
    )


def statements_about_the_end_of_the_runs():
    table = _vision()
    table = table[table.method.isin(("without correction", "FedAvg")) & (table.clients < 8)]
    for rounds in (39, 40):
        found = vision.contrasts(table.assign(round=rounds, steps=20 + table.clients))
        yield [[name, effect.verdict] for name, effect in found.items()]


def matrices_of_properties():
    table = pd.DataFrame(
        {"one": [True, False, True], "two": [False, False, True], "left out": [True] * 3}, index=["a", "b", "c"]
    )
    later = pd.DataFrame({"two": [False, True, True]}, index=table.index)
    for options in ({}, {"rows": False, "wide": True}, {"unreached": later}):
        axes = Picture().subplots()
        draw_matrix(axes, table, {"two": "second", "one": "first"}, **options)
        yield panel(axes), [tick.get_rotation() for tick in axes.get_xticklabels()], axes.xaxis.get_ticks_position()
