"""Comparisons of methods: errors of averaging, learning curves, bytes and times, leads, falls, and the mechanism."""

from math import nan

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure as Picture
from own_sizes import columns
from recording import refused

from algorithms.adapter import AB
from algorithms.rolora import Half
from algorithms.tree import Tree
from figures import aggregation_error as averaging
from figures.curves import learning_curves, method_comparison, method_comparison_picture, method_comparison_texts
from figures.curves.method_comparison_runs import vector
from figures.language import sizes
from figures.rolora import fig2, language, mechanism


def _pair(seed, rank=2, scale=1.0):
    rng = np.random.default_rng(seed)
    make = lambda *shape: torch.from_numpy(scale * rng.standard_normal(shape))  # noqa: E731
    return AB(Tree(W=make(5, rank), V=make(3, rank)), Tree(W=make(rank, 4), V=make(rank, 6)), Tree())


def _exchange(pairs=3, shares=(0.5, 0.3, 0.2)):
    sent = tuple(_pair(seed) for seed in range(pairs))
    mean = AB(*(_sum_of(shares, [pair[part] for pair in sent]) for part in range(3)))
    return averaging.AveragedExchange("train", tuple(shares), sent, mean, {})


def _sum_of(shares, trees):
    """Return the sum of shares times trees; nothing for empty trees."""
    return Tree({name: sum(s * t[name] for s, t in zip(shares, trees, strict=True)) for name in trees[0]})


def errors_of_averaging():
    exchange, before = _exchange(), averaging.product_of(_pair(7))
    for server in (exchange.averaged, _pair(3), _pair(0)):
        yield averaging.aggregation_error(exchange, server, before)
    yield [averaging.errors_of_few(exchange, few, 4, np.random.default_rng(few)) for few in (1, 2, 3)]


def angles_of_subspaces():
    U = {name: torch.eye(4, dtype=torch.float64)[:, :2] for name in ("a", "b")}
    for A in (U, {name: u.flip(0) for name, u in U.items()}, {name: u + 0.5 * u.flip(0) for name, u in U.items()}):
        yield averaging.angle_between(A, U), averaging.angle_between({**A, "b": U["b"]}, U)


def halves_of_an_exchange():
    pair = _pair(0)
    common = {"A": pair.A, "B": pair.B}
    for work in ("train_B", "train_A"):
        half = Half(pair.B if work == "train_B" else pair.A, Tree()) if len(Half._fields) == 2 else None
        exchange = averaging.AveragedExchange(work, (1.0,), (half,), half, common)
        yield float(exchange.products[0].square()), float(averaging.product_of(exchange.averaged).square())
    product = averaging.AveragedExchange("train", (1.0,), ((pair.A, Tree()),), None, {})
    yield product.pairs, product.averaged, float(product.products[0].square()), float(pair.A.square())
    yield refused(lambda: averaging.AveragedExchange("w", (1.0,), ("text",), None, {}).pairs)


def subspaces_of_updates():
    update = Tree(W=torch.diag(torch.tensor([3.0, 2.0, 1.0])), V=torch.diag(torch.tensor([5.0, 0.5])))
    for rank in (1, 2):
        U, share = mechanism.best_subspace(update, rank)
        yield share, {name: abs(u) for name, u in U.items()}


def _mechanism():
    rows = []
    for clients in (3, 20):
        for method, error in (("LoRA", 0.1), ("FlexLoRA", 0.05), ("FFA-LoRA", 1e-8), ("RoLoRA", 2e-8)):
            for turn in (1, 2):
                few = 0.08 if method == "LoRA" and clients == 20 else nan
                rows.append(
                    {
                        "split": "IID",
                        "clients": clients,
                        "seed": 0,
                        "method": method,
                        "round": turn,
                        "norm": 2.0,
                        "change": 1.0 / turn,
                        "error": error * clients,
                        "least": error / 2,
                        "angle": 0.3 / turn,
                        "few": 3,
                        "few_error": few,
                        "full_angle": 0.9,
                        "full_share": 0.5,
                    }
                )
    return pd.DataFrame(rows)


def mechanism_in_numbers():
    table = _mechanism()
    yield (
        mechanism.growth(table),
        mechanism.exact_methods(table),
        columns(mechanism.relative(table)[:2], "error", "least", "of_change"),
    )
    yield mechanism.mechanism_outcome(table), mechanism.mechanism_headline(table), mechanism.mechanism_found(table)
    worse = table.assign(error=table.error.where(table.method != "RoLoRA", 3e-5))
    yield mechanism.mechanism_outcome(worse), mechanism.ROUNDING, mechanism.DRAWS, mechanism.REFERENCE_RATE


def lower_bounds():
    return [
        learning_curves.lower_bound(*of)
        for of in ((0.5, 10), (0.0, 10), (0.04, 10), (0.06, 10), (1.0, 10), (0.9, 1000))
    ]


def margins_over_constant_answers():
    rows = [("choice", "FedAvg", "mnist", "IID", 99, 0.1, 2, 0.9, nan, 0)]
    for method, ends in (("FedAvg", (0.8, 0.7)), ("FedLoRA", (0.6, 0.35))):
        for seed, end in enumerate(ends):
            rows += [
                ("curve", method, "mnist", "IID", seed, 0.3, turn, end - 0.1 * (4 - turn), 0.1, 1000) for turn in (2, 4)
            ]
    table = pd.DataFrame(
        rows, columns=["stage", "method", "data", "split", "seed", "rate", "round", "accuracy", "constant", "samples"]
    )
    yield columns(learning_curves.margins(table), "method", "seed", "bound", "margin")
    for of in (table, table[table.accuracy > 0.39], table[table.method == "FedAvg"]):
        yield learning_curves.learning_headline(of)
    yield learning_curves.learning_found(table), learning_curves.LEVEL, learning_curves.MARGIN


def _compared():
    rows = []
    for method, end, sent in (
        ("FedAvg", 0.8, 100),
        ("FedLoRA", 0.79, 40),
        ("FLoRA", 0.775, 10),
        ("pFedLoRU (p)", 0.9, 5),
    ):
        rows += [
            ("choice", method, 99, rate, 4, value, 0, 0, "cpu") for rate, value in ((0.1, 0.5), (0.3, 0.6), (1.0, 0.4))
        ]
        for seed in (0, 1):
            rows += [
                (
                    "run",
                    method,
                    seed,
                    0.3 if sent > 10 else 1.0,
                    turn,
                    end - 0.1 * (turn < 4) + 0.004 * seed,
                    turn * sent,
                    0,
                    "cpu",
                )
                for turn in (0, 2, 4)
            ]
        rows += [("seconds", method, 0, 0.3, turn, 0.1 * turn + sent / 50, 0, 0, "cpu") for turn in (1, 2)]
        rows += [("error", method, 0, 0.3, turn, 10.0 ** (-turn - sent / 20), 0, 0, "cpu") for turn in (1, 3)]
    return pd.DataFrame(
        rows, columns=["stage", "method", "seed", "rate", "round", "value", "bytes", "failed", "device"]
    )


def bytes_errors_and_times():
    table = _compared()
    failed = (table.method == "FedAvg") & (table.seed == 1) & (table["round"] == 4)
    broken = table.assign(value=table.value.mask(failed), failed=failed.astype(int))
    for of in (table, broken):
        yield method_comparison.summary(of).reset_index(), method_comparison.methods_headline(of)
    yield (
        method_comparison.round_times(table),
        method_comparison.largest_errors(table),
        method_comparison.ends_of_grid(table),
    )
    yield method_comparison.describe_methods(table), method_comparison.ends_of_grid(table[table.rate < 1.0])
    alone = table[table.method.isin(("FedAvg", "pFedLoRU (p)", "FLoRA"))]
    yield method_comparison.methods_headline(alone), method_comparison.NEAR, method_comparison.EXACT


def methods_against_a_reference():
    table = _compared()
    same = table[table.method == "FedLoRA"].assign(method="RBLA")
    table = pd.concat([table, same])
    yield {name: effect.text for name, effect in method_comparison_texts.effects_of(table).items()}
    yield method_comparison_texts.same_as_reference(table), method_comparison_texts.sentences_headline(table)


def heights_of_labels():
    for heights, gap in (
        ([0.5, 0.5, 0.1], 0.2),
        ([0.9, 0.95, 1.0], 0.2),
        ([0.0, 0.0], 0.6),
        ([0.5] * 7, 0.2),
        ([], 0.1),
    ):
        yield method_comparison_picture.spread(np.array(heights), gap)


def labels_at_ends_of_curves():
    for ends, gap in (
        ({1: (1.0, 2.0), 2: (1.01, 2.0), 3: (5.0, 1.0)}, 0.1),
        ({k: (1.0, k / 20.0) for k in range(1, 13)}, 0.1),
        ({}, 0.1),
    ):
        axes = Picture().subplots()
        axes.set(xlim=(0, 6), ylim=(0, 3))
        method_comparison_picture.label_ends(axes, ends, gap)
        yield [[text.get_text(), *map(float, text.get_position()), *map(float, text.xy)] for text in axes.texts]


def weights_in_a_vector():
    return vector({"b": torch.ones(2, 2), "a": torch.arange(3.0)}), vector({"b": torch.ones(1)}).dtype


def trained_and_sent():
    for method in ("LoRA", "FlexLoRA", "FFA-LoRA", "RoLoRA", "FedLoRU"):
        yield sizes.trained(method, 3, 5, 2)
    for data in (sizes.rolora_data, sizes.fedloru_data):
        table = data(None)
        yield columns(
            table,
            "setting",
            "trained",
            "share",
            "bytes_up",
            "bytes_of_an_iteration",
            "optimiser_bytes",
            "recomputed",
            every=9,
        )
        yield sizes.sizes_found(table), sizes.sizes_headline(table), sizes.sizes_counted(table)


def _texts():
    rows = []
    for split, clients in (("IID", 3), ("IID", 20), ("by class", 20)):
        for method, value in (("LoRA", 0.8), ("FFA-LoRA", 0.7), ("RoLoRA", 0.82)):
            for seed in (0, 1, 2):
                end = value - clients / 100 * (method == "LoRA") + 0.01 * seed * (method != "RoLoRA")
                rows += [
                    ("run", split, clients, method, seed, 0.1, turn, end + bump, turn * 9, 0)
                    for turn, bump in ((0, 0.3), (4, 0.02), (8, 0.0))
                ]
    return pd.DataFrame(
        rows, columns=["stage", "split", "clients", "method", "seed", "rate", "round", "value", "bytes", "failed"]
    )


def leads_and_falls():
    table = _texts()
    yield [[language.describe_setting(keys), other, effect.text] for keys, other, effect in language.leads(table)]
    yield [[name, effect.text] for name, effect in language.falls(table)], language.language_outcome(table)
    yield (
        language.language_outcome(language.best_evaluations(table)),
        columns(language.best_evaluations(table)[:4], "value", "round"),
    )
    yield [[value.group, value.name, value.cells] for value in language.values(table)][:5]
    yield [[one.group, one.name, one.effect.mean] for one in language.contrasts(table, language.falls(table))][-3:]
    yield language.headline_against("LoRA")(table), language.headline_against("FFA-LoRA")(table)


def falls_with_the_budget():
    table = _texts()
    table = table[table.split == "IID"].assign(rank=4, budget=table.clients.map({3: "P3", 20: "P1"}))
    names = ("stage", "rank", "budget", "method", "seed", "rate", "round", "value", "bytes", "failed")
    table = table[list(names)]
    yield [[name, effect.text] for name, effect in language.robustness(table)], language.settings_of(table)
    yield [
        language.describe_setting(keys)
        for keys in ({"uplink": "low"}, {"rank": 2, "budget": "P1"}, {"clients": 3, "split": "IID"})
    ]


def _two_layer(last=10):
    rows = []
    for start in ("slope 1 at 0", "printed start"):
        for clients in (5, 10):
            for method, value in (("LoRA", 0.8), ("FFA-LoRA", 0.55), ("RoLoRA", 0.85)):
                for seed in (0, 1):
                    end = 0.1 if start[0] == "p" else value - 0.03 * (clients > 5) * (method == "LoRA") + 0.02 * seed
                    for turn in range(0, last + 1, 2 if method == "RoLoRA" else 1):
                        rows.append(
                            (
                                "run",
                                start,
                                clients,
                                method,
                                seed,
                                0.1,
                                turn,
                                end - 0.001 * (last - turn) - 0.05 * (turn == last) * (method == "LoRA"),
                                0,
                                0,
                            )
                        )
    return pd.DataFrame(
        rows, columns=["stage", "start", "clients", "method", "seed", "rate", "round", "value", "bytes", "failed"]
    )


def accuracies_of_the_last_rounds():
    for last in (2, 4, 10):
        table = _two_layer(last)
        yield columns(fig2.last_rounds(table)[:7], "method", "value", every=2), fig2.describe_late(table)
    yield {name: effect.text for name, effect in fig2.statements(table, "slope 1 at 0").items()}
    yield (
        fig2.fig2_outcome(table),
        fig2.fig2_headline(table),
        fig2.ends_of_ffa(table, "slope 1 at 0"),
        fig2._by_the_last(table),
    )
    yield fig2.fig2_sizes(table)
