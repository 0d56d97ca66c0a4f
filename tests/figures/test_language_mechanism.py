"""Errors of averaging factors separately, angles, and stable ranks of layers, on tiny models against dense formulas."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import cross_entropy

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import FederationError
from algorithms.fedlora import FedLoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.optimisers import AdamW
from algorithms.rolora import RoLoRA
from algorithms.rounds import rounds
from algorithms.tree import Tree
from figures.aggregation_error import (
    AveragedExchange,
    ExchangeRecorder,
    aggregation_error,
    angle_between,
    errors_of_few,
    product_of,
)
from figures.fedloru import language_ranks as ranks
from figures.figure import Settings
from figures.rolora import mechanism as mechanism
from runs.networks.curvatures import SERVER

pytest.importorskip("transformers")
from tiny_language import bert, llama, texts

from runs.language_problem import language_problem
from runs.plan import Parts

LAYERS = "*.query, *.value"
KINDS = {"LoRA": FedLoRA, "FFA-LoRA": FFALoRA, "FlexLoRA": FlexLoRA, "RoLoRA": RoLoRA}


def tiny(method, clients=3):
    local = Descent(steps=2, batch=2, learning_rate=1e-2, optimiser=AdamW())
    parts = np.arange(12).reshape(clients, -1)[:, : 12 // clients]
    problem = language_problem(bert(), texts(), list(parts), texts(4, seed=1), layers=LAYERS)
    algorithm = KINDS[method](local, Adapter(2, layers=LAYERS, a_at="inputs"))
    return Parts(algorithm, problem, ExchangeRecorder())


def federated(method, count=3):
    """Each exchange, the server's factors after it, and the product before it."""
    parts, before, found = tiny(method), None, []
    for step in rounds(parts.algorithm, parts.problem, rounds=count, executor=parts.executor):
        state = step.state.algorithm.factors
        for exchange in parts.executor.exchanges():
            found.append((exchange, exchange.averaged or state, before))
            before = product_of(found[-1][1])
        if found:  # what is measured last is what the algorithm goes on with
            for name, product in product_of(state).items():
                torch.testing.assert_close(before[name], product, rtol=1e-6, atol=1e-9)
        before = product_of(state)
    return found


def norm(tree):
    return sqrt(float(tree.square()))


def test_loras_error_is_the_mean_product_of_deviations():
    for number, (exchange, server, before) in enumerate(federated("LoRA")):
        found = aggregation_error(exchange, server, before)
        deviations = [AB(pair.A - server.A, pair.B - server.B) for pair in exchange.pairs]
        parts = [product_of(pair) * share for share, pair in zip(exchange.shares, deviations, strict=True)]
        whole = parts[0] + parts[1] + parts[2]
        assert found.error == pytest.approx(norm(whole), rel=1e-3)
        assert found.least <= found.error
        assert found.error > 1e-3 * found.norm or number == 0
        assert found.change > 0.0


@pytest.mark.parametrize("method", ["FFA-LoRA", "RoLoRA"])
def test_one_factor_at_a_time_is_exact(method):
    trips = federated(method)
    assert len(trips) == 3 * (2 if method == "RoLoRA" else 1)
    for exchange, server, before in trips:
        found = aggregation_error(exchange, server, before)
        assert found.error <= mechanism.ROUNDING * found.norm
        assert found.angle < 1e-3  # the mean's rows are A's


def test_a_common_factor_that_is_another_is_an_error():
    exchange, server, before = federated("FFA-LoRA")[-1]
    other = replace(exchange, common={"A": exchange.common["A"] * 1.1})
    assert aggregation_error(other, server, before).error > 1e-2 * aggregation_error(exchange, server, before).norm


def test_flexloras_error_is_the_least():
    for exchange, server, before in federated("FlexLoRA"):
        found = aggregation_error(exchange, server, before)
        assert found.error == pytest.approx(found.least, rel=1e-3, abs=1e-5 * found.norm)
    assert exchange.pairs is None
    assert exchange.averaged is None


def test_uploads_that_are_no_factors_are_refused():
    exchange = AveragedExchange("train_all", (1.0,), (Tree(W=torch.ones(2, 2)),), Tree(W=torch.ones(2, 2)), {})
    with pytest.raises(FederationError, match="train_all sends a Tree"):
        _ = exchange.products


def test_angles():
    U = {"W": torch.eye(5)[:, :2]}
    assert angle_between({"W": U["W"] @ torch.tensor([[2.0, 1.0], [0.0, 3.0]])}, U) == pytest.approx(0.0, abs=1e-7)
    assert angle_between({"W": torch.eye(5)[:, 2:4]}, U) == pytest.approx(1.0)
    assert angle_between({"W": torch.eye(5)[:, [0, 4]]}, U) == pytest.approx(sqrt(0.5))
    a, truth = torch.tensor([[0.8], [0.6]]), torch.tensor([[1.0], [0.0]])
    assert angle_between({"W": a}, {"W": truth}) == pytest.approx(0.6)  # Definition 5.2
    many = torch.randn(400, 4, generator=torch.Generator().manual_seed(0))
    assert angle_between({"W": many}, {"W": torch.eye(400)[:, :4]}) == pytest.approx(sqrt(1 - 4 / 400), abs=0.01)


def invented(clients, systematic, seed=0):
    """Clients whose factors deviate from common ones: alike in their product, or independently."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(clients):
        A, B = rng.standard_normal((20, 2)), rng.standard_normal((2, 20))
        if systematic:
            sign = rng.choice([-1.0, 1.0])
            A, B = sign * np.ones((20, 2)), sign * np.ones((2, 20))
        pairs.append(AB(Tree(W=torch.from_numpy(A + 1.0)), Tree(W=torch.from_numpy(B - 1.0))))
    shares = (1.0 / clients,) * clients
    mean = AB(*(Tree(W=sum(pair[place]["W"] for pair in pairs) / clients) for place in (0, 1)))
    return AveragedExchange("train_factors", shares, tuple(pairs), mean, {})


@pytest.mark.parametrize("systematic", [False, True])
def test_errors_of_few_grow_or_fall_as_the_theory_says(systematic):
    trips = [invented(50, systematic, seed) for seed in range(8)]
    rows = []
    for seed, exchange in enumerate(trips):
        error = aggregation_error(exchange, exchange.averaged, Tree(W=torch.zeros(20, 20, dtype=torch.float64))).error
        few = errors_of_few(exchange, 3, 200, np.random.default_rng(seed))
        rows.append(
            {
                "split": "IID",
                "clients": 50,
                "few": 3,
                "error": error,
                "few_error": few,
                "norm": 1.0,
                "least": 0.0,
                "change": 1.0,
            }
        )
    found = mechanism.growth(pd.DataFrame(rows))[0]
    # Of three clients with one product the errors scatter (signs agree in a quarter of cohorts): root mean square.
    expected = (1 - 1 / 50) / sqrt(0.75 * (8 / 9) ** 2) if systematic else found[4]
    assert found[3] == pytest.approx(expected, rel=0.1)
    assert 0.9 * found[4] < found[3] < found[5]


def test_errors_of_all_are_the_error():
    exchange = invented(5, False)
    found = aggregation_error(exchange, exchange.averaged, Tree(W=torch.zeros(20, 20, dtype=torch.float64)))
    assert errors_of_few(exchange, 5, 2, np.random.default_rng(0)) == pytest.approx(found.error)


def test_the_reference_is_gradient_descent_in_the_layers_alone():
    parts = tiny("LoRA")
    update = mechanism.full_update(parts, 1, 0)
    assert set(update) == set(parts.algorithm.adapter.factors(parts.problem.start).A)
    best, share = mechanism.best_subspace(Tree(W=torch.diag(torch.tensor([3.0, 2.0, 1.0]))), 1)
    assert share == pytest.approx(9 / 14)
    assert float(best["W"][0].abs()) == pytest.approx(1.0)


def test_the_mechanism_in_words_and_drawn():
    rows = []
    for method in mechanism.METHODS:
        parts = tiny(method)
        best, share = mechanism.best_subspace(mechanism.full_update(parts, 2, 0), 2)
        count = 1 if method == "RoLoRA" else 2
        for number, row in enumerate(mechanism.follow(parts, count, 0, best, 2, Settings()), 1):
            rows.append(
                {"split": "IID", "clients": 4, "seed": 0, "method": method, "round": number, **row, "full_share": share}
            )
    table = pd.DataFrame(rows)
    assert (table.groupby("method").size() == 2).all()
    assert table.few_error.notna().sum() == 2  # LoRA's rounds alone
    assert "FFA-LoRA and RoLoRA: only rounding" in mechanism.mechanism_outcome(table)
    assert "theory: " in mechanism.mechanism_found(table)
    assert "rank 4" in mechanism.mechanism_sizes(table)
    worse = table.assign(error=table.error.where(table.method != "RoLoRA", table.norm / 2))
    assert "RoLoRA: up to 0.5" in mechanism.mechanism_outcome(worse)
    assert len(mechanism.draw_mechanism(table).axes) == 3


def test_blocks_of_layers_are_those_of_the_dense_hessian():
    problem = language_problem(bert().double(), texts(), [np.arange(12)], texts(4, seed=1), layers=LAYERS)
    chosen = np.array([0, 3, 5])
    operator = ranks.curvature(problem, problem.start, chosen, ("*.layer.1.attention.self.query.*",))
    sizes = replace(ranks.LAYER_SIZES["quick"][0], width=0.05, products=2000)
    (row,) = ranks.layer_ranks(operator, sizes, Settings())
    assert row["layer"] == "bert.encoder.layer.1"
    assert row["parameters"] == 16 * 16 + 16
    assert row["reached"]

    module, samples = bert().double(), texts()
    name = "bert.encoder.layer.1.attention.self.query"
    fixed = dict(module.named_parameters())
    ids, mask, labels = (part[chosen] for part in (samples.input_ids, samples.attention_mask, samples.labels))

    def loss(weight, bias):
        w = {**fixed, f"{name}.weight": weight, f"{name}.bias": bias}
        named = {"input_ids": ids, "attention_mask": mask}
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return cross_entropy(torch.func.functional_call(module, w, kwargs=named).logits, labels)

    truth = stable_rank(loss, (fixed[f"{name}.weight"].detach(), fixed[f"{name}.bias"].detach()))
    assert row["low"] <= truth <= row["high"]
    assert row["value"] == pytest.approx(truth, rel=0.05)


def stable_rank(loss, given):
    """From all eigenvalues of the dense Hessian."""
    rows = torch.autograd.functional.hessian(loss, given)
    dense = torch.cat(
        [torch.cat([part.reshape(one.numel(), -1) for part in row], 1) for one, row in zip(given, rows, strict=True)]
    )
    exact = torch.linalg.eigvalsh(dense)
    return float((exact**2).sum() / exact.abs().max() ** 2)


def test_blocks_of_a_causal_model_are_of_the_mean_loss_over_the_tokens_of_answers():
    samples = texts(causal=True)
    problem = language_problem(llama(), samples, [np.arange(12)], texts(4, causal=True, seed=1), layers="*.q_proj")
    chosen = np.array([0, 3, 5])
    operator = ranks.curvature(problem, problem.start, chosen, ("*.layers.1.self_attn.v_proj.*",))
    sizes = replace(ranks.LAYER_SIZES["quick"][0], width=0.05, products=2000)
    (row,) = ranks.layer_ranks(operator, sizes, Settings())
    assert row["layer"] == "answers.model.layers.1"
    assert row["parameters"] == 8 * 16
    assert row["reached"]

    module, name = llama(), "model.layers.1.self_attn.v_proj.weight"
    fixed = dict(module.named_parameters())

    def loss(weight):
        """Sample by sample, without padding, with all logits."""
        total, terms = 0.0, 0
        for one in chosen:
            count = int(samples.attention_mask[one].sum())
            ids = samples.input_ids[one, :count][None]
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                logits = torch.func.functional_call(module, {**fixed, name: weight}, kwargs={"input_ids": ids}).logits
            total = total + cross_entropy(logits[0, 1 : count - 1], ids[0, 2:], reduction="sum")
            terms += count - 2
        return total / terms

    assert operator.loss == pytest.approx(float(loss(fixed[name].detach())), rel=1e-5)
    truth = stable_rank(loss, (fixed[name].detach(),))
    assert row["low"] <= truth <= row["high"]
    assert row["value"] == pytest.approx(truth, rel=0.05)


def layers_table(client=(3.0, 2.8, 3.2), server=(2.0, 1.9, 2.1)):
    rows = []
    for model, number, quality, samples_of_server in (
        ("minilm", 0, "accuracy", 4),
        ("minilm", 1, "accuracy", 4),
        ("smollm2", 0, "perplexity", 12),
    ):
        for who, samples, (value, low, high) in ((SERVER, samples_of_server, server), (0, 2, client), (1, 2, server)):
            rows.append(
                {
                    "model": model,
                    "seed": 0,
                    "round": number,
                    "client": who,
                    "samples": samples,
                    quality: 0.5,
                    "layer": "answers.model.layers.5",
                    "value": value,
                    "low": low,
                    "high": high,
                    "largest": 1.0,
                    "frobenius": sqrt(value),
                    "parameters": 100,
                    "products": 24,
                    "reached": 1,
                }
            )
    return pd.DataFrame(rows)


def test_ranks_of_layers_in_words_and_drawn():
    table = layers_table()
    assert "MiniLM after training, 2 samples: 1 of 2 (intervals apart: 1 above, 0 below)" in ranks.ranks_outcome(table)
    assert "SmolLM2 pretrained, 2 samples: 1 of 2 (intervals apart: 1 above, 0 below)" in ranks.ranks_outcome(table)
    low = ranks.ranks_outcome(layers_table(client=(1.0, 0.9, 1.1)))
    assert "MiniLM pretrained with a new head, 2 samples: 0 of 2 (intervals apart: 0 above, 1 below)" in low
    assert "above in 1 of 2" in ranks.ranks_found(table)
    assert "4 samples of the server" in ranks.ranks_sizes(table)
    other = ranks.ranks_outcome(table.replace({"model": {"minilm": "FacebookAI/roberta-large"}}))
    assert "FacebookAI/roberta-large after training, 2 samples: 1 of 2" in other
    assert "SmolLM2 on instructions" in ranks.ranks_sizes(table)
    assert [axes.get_title().partition("\n")[2] for axes in ranks.draw_language_ranks(table).axes] == [
        "accuracy 0.50",
        "accuracy 0.50",
        "perplexity 0.50",
    ]


def by_shares(*shares):
    """Clients with two layers, 5 x 4 and 3 x 6, and a server's own factors of rank 2."""
    rng = np.random.default_rng(0)

    def pair():
        return AB(
            *(
                Tree({name: torch.from_numpy(rng.standard_normal(shape)) for name, shape in sides.items()})
                for sides in ({"a": (5, 2), "b": (3, 2)}, {"a": (2, 4), "b": (2, 6)})
            )
        )

    pairs = tuple(pair() for _ in shares)
    return AveragedExchange("train_factors", shares, pairs, mean_of(shares, pairs), {}), pair()


def mean_of(shares, pairs):
    """Both factors averaged apart."""
    means = ({name: sum(s * p[i][name] for s, p in zip(shares, pairs, strict=True)) for name in "ab"} for i in (0, 1))
    return AB(*map(Tree, means))


def test_every_number_of_an_error_by_dense_matrices():
    exchange, server = by_shares(0.5, 0.3, 0.2)
    before = Tree(a=torch.ones(5, 4, dtype=torch.float64), b=-2 * torch.ones(3, 6, dtype=torch.float64))
    found = aggregation_error(exchange, server, before)
    norm = change = error = least = apart = 0.0
    for name in "ab":
        products = [(pair[0][name] @ pair[1][name]).numpy() for pair in exchange.sent]
        mean = sum(share * product for share, product in zip(exchange.shares, products, strict=True))
        A, B = (server[place][name].numpy() for place in (0, 1))
        left, sigma, _ = np.linalg.svd(mean)
        norm, change = norm + (mean**2).sum(), change + ((mean - before[name].numpy()) ** 2).sum()
        error, least = error + ((mean - A @ B) ** 2).sum(), least + (sigma[2:] ** 2).sum()
        apart += ((left[:, :2] - A @ np.linalg.pinv(A) @ left[:, :2]) ** 2).sum() / 4
    assert (found.norm, found.change, found.error) == pytest.approx((sqrt(norm), sqrt(change), sqrt(error)))
    assert (found.least, found.angle) == pytest.approx((sqrt(least), sqrt(apart)))


def test_few_clients_keep_their_shares():
    exchange, _ = by_shares(0.7, 0.2, 0.1)
    whole = aggregation_error(exchange, exchange.averaged, exchange.products[0]).error
    assert errors_of_few(exchange, 3, 2, np.random.default_rng(0)) == pytest.approx(whole)
    assert errors_of_few(exchange, 1, 3, np.random.default_rng(0)) == pytest.approx(0.0, abs=1e-12)
    pair = replace(exchange, shares=(0.7 / 0.9, 0.2 / 0.9), sent=exchange.sent[:2])
    averaged = mean_of(pair.shares, pair.sent)
    first = replace(exchange, shares=(0.7, 0.2), sent=exchange.sent[:2])
    expected = aggregation_error(pair, averaged, exchange.products[0]).error
    assert errors_of_few(first, 2, 2, np.random.default_rng(0)) == pytest.approx(expected)
