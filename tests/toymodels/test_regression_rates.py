"""RoLoRA's rates: the exact population map against runs, and where the printed factors hold."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.tree import Tree
from toymodels.problem import ProblemError
from toymodels.regression import regression
from toymodels.regression_rates import (
    ffa_correction,
    ffa_population_correction,
    heterogeneous_factor,
    homogeneous_factor,
    largest_step_of_homogeneous_factor,
    population_map,
)

GRID = np.concatenate([np.geomspace(1e-8, 0.1, 30), np.linspace(0.1, 0.999, 60)])


@pytest.mark.parametrize("own", [0.0, 0.8])
@pytest.mark.parametrize("step", [0.1, 0.5, 0.8, 1.0, 1.4])
def test_the_population_map_is_what_the_algorithm_does(own, step):
    given = regression(8, 5, 4, np.random.default_rng(3), heterogeneity=own, sine=0.8)
    truth = given.facts["truth"]
    fed = Federation(given.clients, shares=given.shares)
    algorithm = ExactRoLoRA(step / float((given.facts["mean_B"] ** 2).sum()))
    state, delta = algorithm.start(fed, Tree(given.start)), 0.8
    for _ in range(15):
        state, delta = algorithm.round(fed, fed.everyone, state), population_map(delta, step)
        a = state.A["W"]
        assert float((a - truth @ (truth.mT @ a)).norm()) == pytest.approx(delta, abs=1e-12)


@pytest.mark.parametrize("delta_0", [0.05, 0.6, 0.9, 0.999])
def test_the_printed_factors_hold_up_to_their_steps_and_eq_80_not_up_to_its_own(delta_0):
    below = GRID[delta_0 >= GRID]
    edge = largest_step_of_homogeneous_factor(delta_0)
    for step in np.linspace(0.0, edge, 60):
        factor = homogeneous_factor(delta_0, step)
        assert all(population_map(delta, step) <= delta * factor * (1 + 1e-12) for delta in below)
    for step in np.linspace(0.0, 0.5, 40):
        factor = heterogeneous_factor(delta_0, step)
        assert all(population_map(delta, step) <= delta * factor * (1 + 1e-12) for delta in below)
    assert edge < 1.0
    beyond = 0.5 * (edge + 1.0)
    assert population_map(1e-6, beyond) > 1e-6 * homogeneous_factor(delta_0, beyond)


def test_at_the_step_of_a_half_the_convergence_is_cubic():
    assert population_map(1e-3, 0.5) == pytest.approx(1e-9, rel=1e-5, abs=0)


def test_ffa_expectation_against_a_simulation():
    """E of the mean s of u.v/|u|^2 enters twice; here from its definition in two-dimensional samples, 5 errors."""
    rng = np.random.default_rng(7)
    for N, m, sine in ((1, 9, 0.5), (4, 12, 0.9)):
        cosine = np.sqrt(1 - sine**2)
        u, z = rng.standard_normal((2, 40_000, N, m))
        v = cosine * u + sine * z
        s = ((u * v).sum(-1) / (u * u).sum(-1)).mean(-1)
        training = ((v - s[:, None, None] * u) ** 2).mean((1, 2))
        population = cosine**2 + sine**2 - 2 * s * cosine + s**2
        for losses, correction in ((training, ffa_correction(N, m)), (population, ffa_population_correction(N, m))):
            error = losses.std() / len(losses) ** 0.5
            assert abs(losses.mean() - (1 + correction) * sine**2) < 5 * error


def test_factors_and_map_by_hand():
    """delta = 3/5, c^2 = 16/25; step 1/2: |1 - c^2| = 9/25 over sqrt(1 + (16/25)(9/25)) = sqrt(769)/25."""
    assert population_map(0.6, 0.5) == pytest.approx(0.6 * 9 / 769**0.5)
    assert population_map(0.0, 0.7) == 0.0
    assert population_map(1.0, 0.7) == 1.0
    assert heterogeneous_factor(0.5, 0.25) == 0.625
    assert heterogeneous_factor(1.0, 0.5) == 1.0
    assert homogeneous_factor(0.6, 1.0) == pytest.approx(0.6)
    assert largest_step_of_homogeneous_factor(0.6) == pytest.approx(0.84)


def test_ffa_correction_by_hand_and_in_the_limit():
    assert ffa_correction(1, 10) == pytest.approx(-1 / 10)
    assert ffa_correction(2, 4) == pytest.approx(-2 / 32)
    assert ffa_correction(1, 3) == pytest.approx(-1 / 3)
    assert ffa_population_correction(1, 3) == 1.0
    assert ffa_population_correction(2, 5) == pytest.approx(1 / 6)
    assert 1e6 * 1e3 * ffa_correction(1000, 10**6) == pytest.approx(-1.0, abs=1e-3)


def test_bad_input_gets_one_clear_line():
    for call in (
        lambda: population_map(1.2, 0.1),
        lambda: population_map(0.5, -1.0),
        lambda: homogeneous_factor(0.5, 1.01),
        lambda: heterogeneous_factor(0.5, 0.51),
        lambda: ffa_correction(3, 2),
        lambda: ffa_correction(0, 9),
        lambda: ffa_population_correction(1, 2),
        lambda: homogeneous_factor(1.2, 0.1),
        lambda: homogeneous_factor(0.5, -1.0),
        lambda: heterogeneous_factor(1.2, 0.1),
        lambda: heterogeneous_factor(0.5, -1.0),
        lambda: largest_step_of_homogeneous_factor(1.2),
    ):
        with pytest.raises(ProblemError, match=r"expected|stated"):
            call()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", None, 10**400])
def test_numbers_of_rates_are_finite(bad):
    for name, call in (
        ("step", lambda: population_map(0.5, bad)),
        ("angle distance", lambda: population_map(bad, 0.5)),
        ("step", lambda: homogeneous_factor(0.5, bad)),
        ("angle distance", lambda: heterogeneous_factor(bad, 0.5)),
        ("angle distance", lambda: largest_step_of_homogeneous_factor(bad)),
        ("clients", lambda: ffa_correction(bad, 3)),
        ("samples", lambda: ffa_correction(1, bad)),
        ("clients", lambda: ffa_population_correction(bad, 3)),
        ("samples", lambda: ffa_population_correction(2, bad)),
    ):
        with pytest.raises(ProblemError, match=f"{name} must be (a number|finite|a whole number), got") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_numbers_of_clients_and_samples_are_whole():
    for correction in (ffa_correction, ffa_population_correction):
        for sizes in ((2.5, 4), (2, 3.5)):
            with pytest.raises(ProblemError, match="must be a whole number, got"):
                correction(*sizes)
        assert correction(np.int32(100_000), np.float64(50_000.0)) == correction(100_000, 50_000)
        assert correction(10**200, 10**150) == pytest.approx(0.0, abs=1e-300)


@pytest.mark.parametrize("delta", [1e-300, 1e-170, 1e-100, 1e-3, 0.5, 0.999])
def test_the_map_at_large_steps(delta):
    """In exact numbers: delta |1 - 2 s c^2| / sqrt(1 + 4 s^2 c^2 delta^2)."""
    for step in (1e149, 1e151, 1e200, 1.7e308):
        with localcontext() as context:
            context.prec = 700
            d, s = Decimal(delta), Decimal(step)
            square = 1 - d * d
            expected = d * abs(1 - 2 * s * square) / (1 + 4 * s * s * square * d * d).sqrt()
        assert population_map(delta, step) == pytest.approx(float(expected), rel=1e-12, abs=0.0)
    assert population_map(0.0, 1e200) == 0.0
    assert population_map(1.0, 1e200) == population_map(1.0, 1.7e308) == 1.0
