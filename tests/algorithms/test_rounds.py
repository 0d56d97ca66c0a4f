"""The loop over rounds: when it evaluates and how it resumes, by hand on two parabolas."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from algorithms.adapter import fit_rank
from algorithms.central_training import CentralTraining
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from algorithms.fedlrt import FeDLRT
from algorithms.kernels import CONVOLUTIONS
from algorithms.rounds import rounds
from algorithms.weights import Added, Factored
from toymodels.quadratic import random_quadratics


@dataclass(frozen=True)
class Parabola:
    """A client with loss (w - centre)^2 / 2 and some samples."""

    centre: float
    samples: float = 1.0

    def loss(self, w, batch=None):
        return (w["w"] - self.centre).square().sum() / 2.0


class Two:
    """Parabolas about 0 and 4, the second with three times the weight, so that the minimiser is 3."""

    clients = (Parabola(0.0), Parabola(4.0, 3.0))
    shares = (0.25, 0.75)
    measures = {"size": lambda w: float(w["w"].abs().sum())}  # noqa: RUF012

    def __init__(self, start=1.0):
        self.start = {"w": torch.tensor([start], dtype=torch.float64)}

    def loss(self, w):
        return float(sum(share * client.loss(w) for share, client in zip(self.shares, self.clients, strict=True)))


HALF = FedAvg(Descent(1, 0.5))
"""One step of 1/2, which halves the distance from 3."""


def taken(*arguments, **options):
    return [step.metrics for step in rounds(*arguments, **options)]


def test_every_round_halves_the_distance_and_is_evaluated():
    found = taken(HALF, Two(), rounds=3)
    assert [metrics["round"] for metrics in found] == [0, 1, 2, 3]
    assert [metrics["size"] for metrics in found] == [1.0, 2.0, 2.5, 2.75]
    # (w^2 + 3 (w - 4)^2) / 8
    assert [metrics["loss"] for metrics in found] == pytest.approx([3.5, 2.0, 1.625, 1.53125])
    assert [metrics["bytes_up"] for metrics in found] == [0, 16, 32, 48]
    assert all("rank" not in metrics for metrics in found)


def test_rounds_between_evaluations_hold_what_costs_nothing():
    found = taken(HALF, Two(), rounds=5, evaluate_every=2)
    assert [metrics["round"] for metrics in found if "loss" in metrics] == [0, 2, 4, 5]
    assert set(found[1]) == {"round", "bytes_down", "bytes_up"}
    with pytest.raises(FederationError, match="evaluate_every must be a whole number of at least 1, got 0"):
        taken(HALF, Two(), rounds=1, evaluate_every=0)


def test_a_run_resumes_with_its_ledger():
    whole = list(rounds(HALF, Two(), rounds=4, cohort=1, seed=3))
    half = list(rounds(HALF, Two(), rounds=2, cohort=1, seed=3))[-1]
    rest = list(rounds(HALF, Two(), rounds=4, cohort=1, seed=3, resume=(half.state, half.ledger)))
    assert [step.metrics for step in rest] == [step.metrics for step in whole[3:]]
    assert [step.state.round for step in rest] == [3, 4]


def test_central_training_is_one_client_in_every_round():
    found = taken(CentralTraining(Descent(1, 0.5)), Two(), rounds=2, cohort=2)
    assert [metrics["size"] for metrics in found] == [1.0, 2.0, 2.5]


def test_a_loss_that_is_no_number_names_its_round():
    with pytest.raises(FederationError, match="the loss at the start is nan"):
        taken(HALF, Two(float("nan")), rounds=1)
    # Steps of 1e200: the square of the second distance is infinite.
    with pytest.raises(FederationError, match=r"round 1: the loss is inf"):
        taken(FedAvg(Descent(1, 1e200)), Two(), rounds=2)


def test_the_rank_is_the_largest_of_all_layers():
    problem = random_quadratics((5, 4), 3, np.random.default_rng(0))
    found = list(rounds(FeDLRT(Descent(2, 0.05), 2), problem, rounds=2))
    assert found[0].metrics["rank"] == 2.0
    for step in found:
        assert step.metrics["rank"] == max(U.shape[1] for U in step.state.algorithm.U.values())


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"clip": 0.0}, {"clip": -1.0}, {"clip": float("nan")}])
def test_epochs_and_clips_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(FederationError, match=f"{name} must be (a whole number of at least 1, got 0|positive)"):
        Descent(**wrong)


def test_ranks_beyond_the_smaller_side_are_refused_unless_they_are_capped():
    W = torch.zeros(3, 5)
    assert fit_rank("W", W, 3, CONVOLUTIONS[0]) == (3, 5, 3)
    with pytest.raises(FederationError, match=r"rank 4 does not fit W .*: as a 3 x 5 matrix it takes 1 to 3"):
        fit_rank("W", W, 4, CONVOLUTIONS[0])
    assert fit_rank("W", W, 4, CONVOLUTIONS[0], True) == (3, 5, 3)


class Personal(FedAvg):
    """Every client adds its own centre to the weights."""

    def personal_weights(self, fed, state, client):
        return {"w": state["w"] + fed.clients[client].centre}


class Judged(Two):
    """Measures what each client uses."""

    def evaluate_personal(self, weights, fed):
        return {"of its own": sum(float(weights(client)["w"]) for client in range(len(fed.clients)))}


def test_personal_weights_are_measured_where_there_are_some():
    found = taken(Personal(Descent(1, 0.5)), Judged(), rounds=1)
    assert [metrics["of its own"] for metrics in found] == [2.0 * 1.0 + 4.0, 2.0 * 2.0 + 4.0]
    assert "of its own" not in taken(HALF, Judged(), rounds=1)[0]


def test_weights_that_hold_factors_are_compared_as_matrices_and_kept_as_objects():
    one, other = (Added(torch.zeros(2, 3), 1.0, torch.ones(2, 1), torch.ones(1, 3)) for _ in range(2))
    assert (one == other).all()
    factored, twin = (Factored(torch.ones(2, 1), torch.ones(1, 1), torch.ones(3, 1)) for _ in range(2))
    assert (factored == twin).all()
    assert len({one, other, factored, twin}) == 4
