"""FedLoRU's figures in small sizes: quadratics, gains, costs to a target, alignment, ranks, printed values."""

from math import nan

import numpy as np
import pandas as pd
import torch
from own_sizes import Sized, columns
from recording import refused

from figures.fedloru import (
    alignment,
    curves,
    experiments,
    fig1,
    fig4,
    language_ranks,
    paper_scale,
    printed,
    toy,
    trained_ranks,
)
from figures.figure import Settings
from hessian.lanczos.quadrature import SpectralMeasure
from runs.networks.curvatures import SERVER


def courses_on_quadratics():
    problem = toy.toy_problem(Settings(seed=1), "different clients", 1)
    for method in ("FedLoRA", "momentum"):
        yield method, toy.course(problem, method, 1, 1, 1)
    yield toy.course(problem, "FedLoRA", 2, 0, 3)


def table_on_quadratics():
    table = toy.toy_data(Sized(own=toy.ToySizes(0, (1, 3), 1)))
    yield columns(table)
    yield toy.toy_headline(table), toy.toy_found(table), toy.toy_sizes(table)


def runs_that_diverge_on_quadratics():
    runs = [
        [(0, 1.0, 0, 0.1), (1, 0.5, 2, 0.2), (2, 0.25, 3, 0.3)],
        [(0, 1.0, 0, 0.1), (1, 0.4, 1, 0.2)],
        [(0, 1.0, 0, 0.1), (1, 0.2, 2, 0.2), (2, 0.1, 4, 0.3)],
    ]
    rows = toy._rows("equal clients", "momentum", 5, 2, runs)
    yield rows, toy._rows("equal clients", "FedLoRA", 0, 2, runs[1:2])
    table = pd.DataFrame([*rows, *toy._rows("different clients", "FedLoRA", 0, 1, runs[1:2])])
    yield toy.toy_found(table), toy.toy_found(table.assign(excess=9e-14)), toy.toy_found(table.assign(excess=-1e-13))


def _runs(values, **keys):
    """Rows of runs: by method, accuracy at the rounds 4 and 8 for two or three seeds."""
    rows = []
    for (method, size), by_seed in values.items():
        for seed, (early, late) in enumerate(by_seed):
            for turn, value in ((0, 0.1), (4, early), (8, late)):
                failed = int(np.isnan(value))
                rows.append(
                    {
                        "stage": "run",
                        **keys,
                        "size": size,
                        "method": method,
                        "seed": seed,
                        "rate": 0.1,
                        "round": turn,
                        "value": value,
                        "bytes": 1000 * turn * (1 + len(method)),
                        "failed": failed,
                    }
                )
    return rows


SETTING = {"data": "fashion-mnist", "split": "IID", "clients": 20, "participation": "0.5"}
ENDS = {
    ("FedAvg", "full"): [(0.6, 0.7), (0.61, 0.72), (0.5, 0.71)],
    ("FedLoRA", "large"): [(0.5, 0.65), (0.6, 0.66), (0.4, 0.6)],
    ("FedHM", "large"): [(0.5, 0.75), (0.75, 0.8), (0.4, 0.8)],
    ("FedLoRU", "large"): [(0.69, 0.7), (0.7, 0.7), (0.5, 0.55)],
}
FEWER = {key: [(a - 0.1, b - 0.15 * (key[0] == "FedAvg")) for a, b in of] for key, of in ENDS.items()}


def _two_settings():
    return pd.DataFrame(_runs(ENDS, **SETTING) + _runs(FEWER, **{**SETTING, "clients": 100}))


def gains_over_fedavg():
    table = _two_settings()
    return curves.relative_gains(table), curves.gains_outcome(table), curves.gains_headline(table)


def costs_to_a_target():
    table = _two_settings()
    yield columns(curves.costs_to_target(table)), curves.shares_of_bytes(table), curves.costs_outcome(table)
    yield curves.costs_headline(table), curves.costs_headline(table[table.clients == 100])
    yield [[*key, rounds] for key, rounds in curves.rounds_to_target(table).items()], curves.curves_outcome(table)
    yield curves.curves_headline(table)


def runs_that_just_reach_a_target():
    target = 0.5 - curves.BELOW
    for end in (target, target - 1e-9, target + 1e-9):
        rows = _runs({("FedAvg", "full"): [(0.1, 0.5)], ("FedLoRU", "large"): [(0.1, end)]}, **SETTING)
        table = pd.DataFrame(rows)
        table = table[table["round"] == 8]
        yield columns(curves.costs_to_target(table), "bytes"), [*curves.rounds_to_target(table).values()]


def _aligned():
    rows = []
    for participation, ahead in (("0.5", 1), ("0.1", -1)):
        for method, value in (("FedAvg", 0.3), ("FedLoRA", 0.32), ("FedLoRU", 0.35)):
            for seed in (0, 1):
                for turn in range(1, 9):
                    of = value + 0.01 * seed * turn - ahead * (0.1 if method != "FedAvg" and turn <= 2 else 0.0)
                    rows.append(
                        {
                            "stage": "run",
                            **SETTING,
                            "participation": participation,
                            "size": "large",
                            "method": method,
                            "seed": seed,
                            "rate": nan,
                            "round": turn,
                            "value": of - 0.2 * (ahead < 0 and method == "FedLoRU" and turn > 5),
                            "bytes": 1,
                            "failed": 0,
                        }
                    )
    return pd.DataFrame(rows)


def alignment_of_updates():
    table = _aligned()
    yield [[name, method, str(rounds), effect.text] for name, method, rounds, effect in alignment.differences(table)]
    yield alignment.alignment_outcome(table), alignment.alignment_headline(table)
    yield [str(alignment.spans(rounds)) for rounds in (1, 2, 7, 8, 15, 16, 39, 40, 41, 400)]


def published_accuracies():
    row = {"data": "cifar-100", "split": "IID", "clients": 20, "size": "medium"}
    for table, more in (
        *(
            ("1", {}),
            ("1", {"split": "NonIID", "size": "small"}),
            ("1", {"clients": 50}),
            ("6", {}),
            ("6", {"clients": 30}),
        ),
        *(
            ("7", {"clients": 100}),
            ("7", {}),
            ("restarts", {}),
            ("4", {"split": "setting 2"}),
            ("3", {"split": "psi = 0.5"}),
        ),
        ("4", {"data": "fashion-mnist", "split": "setting 1"}),
    ):
        for method in ("FedAvg", "FedLoRU", "FedHM", "mFedLoRU", "pFedLoRU", "FedLoRA"):
            yield table, method, refused(experiments.published_accuracy, table, {**row, **more, "method": method})


def words_of_settings():
    row = {"data": "cifar-10", "split": "NonIID", "clients": 20, "size": "small", "method": "FedHM"}
    for of in ("1", "3", "4", "6", "7", "restarts"):
        for data in ("cifar-10", "cifar-100"):
            keys = {**row, "data": data}
            yield experiments.group_of(of, keys), experiments.name_of(of, keys), experiments.where(of, keys)
    yield experiments.name_of("1", {**row, "size": "full"}), experiments.left_out()[:2]


def tables_and_contrasts():
    table = _two_settings()
    for of in ("1", "6"):
        table = table if of == "1" else table[table.method != "FedHM"]
        yield [
            [value.group, value.name, value.published, value.difference, value.cells]
            for value in experiments.values(table, of)
        ][:4]
        found = experiments.contrasts(table, of, experiments.PAIRS[of])
        yield [[one.group, one.name, one.published, one.effect.text, one.finding] for one in found[:5]]
    yield experiments.headline("6")(table)
    yield (
        experiments.PAIRS["restarts"],
        experiments.HEADED,
        experiments.printed_only(table, "4"),
        experiments.printed_only(table, "1"),
    )


def restarts_in_words():
    ends = {
        (name, "large"): [(0.5, 0.6 + 0.02 * place), (0.5, 0.61 + 0.02 * place)]
        for place, name in enumerate(("FedLoRA", "A anew", "A kept", "both kept", "A anew, 2 tau", "A anew, 4 tau"))
    }
    table = pd.DataFrame(_runs(ends, **SETTING))
    yield experiments.found_in("restarts")(table)[:900]


def bytes_at_the_papers_scale():
    table = _two_settings()
    table = table[(table.clients == 20) & (table.seed == 0)]
    cheap = table.assign(bytes=table.bytes.where(table.method != "FedLoRU", table.bytes // 2))
    for of in (table, cheap):
        yield paper_scale.ends(of), paper_scale.paper_scale_outcome(of), paper_scale.paper_scale_headline(of)
    yield paper_scale.paper_scale_sizes(table), paper_scale.ROUNDS, paper_scale.TAU


def losses_in_fine_tuning():
    for last in (25, 26):
        rows = [
            {
                "stage": "run",
                "method": method,
                "answers": answers,
                "seed": seed,
                "rate": nan,
                "round": turn,
                "value": value + 0.1 * seed - turn / 100,
                "bytes": 0,
                "failed": 0,
            }
            for method, value in (("FedLoRA", 2.0), ("FedLoRU", 1.9))
            for answers in ("held out", "training")
            for seed in (0, 1)
            for turn in (0, last)
        ]
        table = pd.DataFrame(rows)
        table.loc[table.seed == 1, "value"] += 0.01 * (table.method == "FedLoRU")
        yield fig4.gain(table), fig4.gain(table, "training"), fig4.fig4_headline(table), fig4.fig4_found(table)
        yield (
            fig4.fig4_outcome(table[table.seed == 0]),
            fig4.fig4_headline(table.assign(value=table.value.where(table.method == "FedLoRA"))),
        )


def _ranks(keys):
    rows = []
    for turn in (0, 4):
        for client, value, half, largest, norm in (
            (SERVER, 5.0, 0.5, 2.0, 6.0),
            (0, 6.0, 0.4, 2.2, 8.0),
            (1, 4.0, 0.4, 1.5, 5.0),
            (2, 5.2, 0.4, -2.5, 6.5),
        ):
            rows.append(
                {
                    **keys,
                    "seed": 0,
                    "round": turn,
                    "client": client,
                    "samples": 9 if client == SERVER else 3 + client,
                    "value": value + turn,
                    "low": value + turn - half,
                    "high": value + turn + half,
                    "largest": largest,
                    "frobenius": norm,
                    "parameters": 10,
                }
            )
    return rows


def ranks_of_server_and_clients():
    table = pd.DataFrame(
        _ranks({"method": "FedAvg", "data": "fashion-mnist"}) + _ranks({"method": "FedLoRU", "data": "fashion-mnist"})
    )
    yield (
        columns(trained_ranks.compare_with_server(table)[:6]),
        trained_ranks.ranks_outcome(table),
        trained_ranks.ranks_headline(table),
    )
    yield trained_ranks.ranks_found(table), trained_ranks.ranks_sizes(table.replace({"round": {4: 16}}))
    yield trained_ranks.ranks_outcome(table[table["round"] == 4])


def ranks_of_layers():
    table = pd.DataFrame(
        _ranks({"model": "minilm", "layer": "bert.encoder.layer.1"}) + _ranks({"model": "smollm2", "layer": "x.9"})
    )
    table["reached"] = [1, 0] * (len(table) // 2)
    yield (
        columns(language_ranks.compare_with_server(table)[:3]),
        language_ranks.ranks_outcome(table),
        language_ranks.heading(table),
    )
    yield language_ranks.ranks_found(table)


def answers_in_batches():
    labels = torch.tensor([[-100, -100, 5, 6, -100], [-100, 7, -100, -100, -100]])
    yield language_ranks._places(labels)
    logits = torch.linspace(-1, 1, 2 * 3 * 8, dtype=torch.float64).reshape(2, 3, 8)
    yield language_ranks._loss_of_answers(logits, {"labels": labels}), language_ranks.DEPTH, language_ranks.RATE


def _fig1():
    rows = []
    for weights, shift in (("own", 0.0), ("common", -2.0)):
        for run in (0, 1):
            for epoch in (5, 10):
                for samples, value in ((50, 5.0 + run + shift), (500, 4.0 + epoch / 10)):
                    for place, estimator in enumerate(fig1.ESTIMATORS):
                        of = value * (1 + place)
                        rows.append(
                            {
                                "weights": weights,
                                "samples": samples,
                                "run": run,
                                "epoch": epoch,
                                "loss": 0.1,
                                "parameters": 9,
                                "estimator": estimator,
                                "value": of,
                                "low": of - 0.5 * place,
                                "high": of + 0.5 * place,
                                "depth": 10,
                                "width": 4,
                                "side": 7,
                            }
                        )
    return pd.DataFrame(rows)


def stable_ranks_in_training():
    table = _fig1()
    yield (
        fig1.pairs(table, "own", "stable rank").reset_index(),
        fig1.pairs(table, "common", "eq. 87, masses").reset_index(drop=True),
    )
    yield fig1.fig1_headline(table), fig1.fig1_found(table), fig1.fig1_sizes(table)


def estimates_from_quadrature():
    for nodes, weights in (([-1.0, 0.0, 2.0], [0.2, 0.5, 0.3]), ([0.1, 5.0], [0.9, 0.1])):
        yield fig1.eq_87(SpectralMeasure(20, (np.array(nodes),), (np.array(weights),), np.zeros(0)))


def printed_values():
    for name, value in vars(printed).items():
        if name.isupper():
            yield f"{name}: {str(value)[:1500]}"
