"""The runs behind the claims of FedLoRU's convergence analysis: losses with known constants, exact expectations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from algorithms.tree import Tree
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded, Setting, follow, scalar_setting
from paper_checks.fedloru.convergence.measurements.bounded_settings import BACK_AND_FORTH, draw_settings, judge_bounds
from paper_checks.methods.relations import Relation

ONE = torch.ones(1, 1, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["huber", "cosine"])
def test_gradient_is_that_of_the_loss_and_within_its_bounds(kind):
    rng = np.random.default_rng(0)
    client = Bounded(torch.from_numpy(rng.standard_normal((3, 2, 4))), 5.0, 0.3, kind)
    W = torch.from_numpy(3.0 * rng.standard_normal((2, 4))).requires_grad_()
    client.loss({"W": W}).backward()
    told = client.gradient(Tree(W=W.detach()))["W"]
    assert torch.allclose(W.grad, told)
    assert float(told.norm()) <= client.steepest
    assert torch.allclose(client.every_gradient(W.detach()).mean(dim=0), told)


@pytest.mark.parametrize("kind", ["huber", "cosine"])
def test_least_value_is_that_of_a_grid(kind):
    clients = tuple(Bounded(torch.tensor([[[c]]], dtype=torch.float64), 2.0, 0.5, kind) for c in (-0.4, 0.1, 0.9))
    setting = Setting("", clients, ONE, ONE, ONE, 0.1)
    grid = [setting.loss(torch.tensor([[w]], dtype=torch.float64)) for w in np.linspace(-4.0, 4.0, 8001)]
    assert setting.least() <= min(grid) + 1e-12
    assert setting.least() == pytest.approx(min(grid), abs=1e-6)


def test_weight_goes_back_and_forth():
    trace = follow(scalar_setting("", BACK_AND_FORTH))
    assert np.allclose([one["loss"] for one in trace.rounds], 0.005, rtol=1e-4)
    assert np.allclose([trace.L, trace.G, trace.above], [100.0, 1.0, 0.005])
    assert pytest.approx(4.0) == trace.C_B


def test_expectation_over_batches_of_two_samples():
    client = Bounded(torch.tensor([[[-2.0]], [[2.0]]], dtype=torch.float64), 1.0, 1.0)  # slopes 1 and -1 about 0
    setting = Setting("", (client,), 0 * ONE, 0 * ONE, 2 * ONE, 0.1, steps=1, rounds=1, noisy=True)
    one = follow(setting).rounds[0]
    assert one["in_A"] == one["in_B"] == 0.0
    assert one["dA"] == pytest.approx((0.1 * 2.0) ** 2)  # either way a step of eta |g| B
    assert one["dB"] == 0.0


def test_expectation_over_cohorts_of_one_of_two():
    clients = tuple(Bounded(torch.tensor([[[c]]], dtype=torch.float64), 1.0, 9.0) for c in (0.0, 4.0))
    setting = Setting("", clients, 0 * ONE, ONE, ONE, 0.5, size=1)
    one = follow(setting).rounds[0]  # slopes 1 and -3 at w = 1
    assert one["dA"] == pytest.approx((0.25 * 1 + 0.25 * 9) / 2)
    everyone = follow(replace(setting, size=None)).rounds[0]
    assert everyone["dA"] == pytest.approx(0.25 * 1)


def test_every_kind_of_run_is_drawn():
    names = {setting.name for setting in draw_settings(np.random.default_rng(1), 1)}
    assert {"without noise", "with noise", "cohorts", "cohorts with noise", "pure noise"} <= names


def test_lines_that_are_broken_by_much_are_not_near_equality():
    lines = [Relation("a line", left, right, 1e-12, True) for left, right in ((1.0, 1.005), (1.0, 2.0), (2.0, 1.0))]
    assert judge_bounds(lines, "three lines").tight == pytest.approx(1 / 3)
