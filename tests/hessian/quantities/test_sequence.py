"""Matrices measured one after the other: traces by differences where they change slowly, in full where they do not."""

import numpy as np
import pytest
import torch

from hessian import DenseOperator
from hessian.lanczos.memory import Budget
from hessian.quantities.measurement import MeasureSettings, measure_with, stream_of
from hessian.quantities.names import read_quantities
from hessian.quantities.sequence import DIFFERENCES, MeasurementSequence, plan_differences

P = 300
SETTINGS = MeasureSettings(relative_width=0.02, products=600, basis=40)


class Turned:
    """Known eigenvalues, whose eigenvectors turn in planes of two coordinates."""

    dtype, device = torch.float64, torch.device("cpu")

    def __init__(self, values, angle):
        self.values, self.P, self.angle = values, len(values), angle

    def products(self, rows):
        half = self.P // 2
        turns = [np.cos(self.angle), np.sin(self.angle)]

        def turn(x, sign):
            one, other = x[:, :half], x[:, half:]
            return torch.cat([turns[0] * one - sign * turns[1] * other, sign * turns[1] * one + turns[0] * other], 1)

        return turn(turn(rows, -1.0) * torch.from_numpy(self.values), 1.0)


def path(change, states, seed=0, size=P):
    rng = np.random.default_rng(seed)
    where = rng.permutation(size)
    bulk, drift = 0.06 * np.abs(rng.standard_normal(size - 3)), rng.standard_normal(size - 3)
    for place in range(states):
        values = np.empty(size)
        values[where] = np.r_[3.0 + change * place, 2.0, -1.0, bulk * (1.0 + change * place * drift)]
        yield Turned(values, 0.3 * change * place)


def total(found):
    return sum(found.products.values())


@pytest.mark.parametrize("names", ["trace", "stable-rank, trace"])
def test_a_trace_that_changes_slowly_takes_a_fraction_of_the_products(names):
    sequence, costs = MeasurementSequence(read_quantities(names), 0), []
    for operator in path(0.002, 8):
        found = sequence.measure(operator, SETTINGS)
        assert list(map(str, found)) == names.split(", ")
        assert found["trace"].confidence == found.confidence == 0.95
        assert operator.values.sum() in found["trace"]
        assert found.reached
        costs.append(total(found))
    assert DIFFERENCES in found.products
    assert np.median(costs[3:]) <= 0.5 * costs[0]


def test_unrelated_matrices_are_measured_in_full_and_the_trial_is_not_repeated_at_once():
    sequence, tried, costs, alone = MeasurementSequence(read_quantities("trace"), 0), [], [], []
    missed = 0
    for place in range(7):
        (operator,) = path(0.0, 1, seed=place)
        found = sequence.measure(operator, SETTINGS)
        missed += operator.values.sum() not in found["trace"]
        assert "basis and probes" in found.products
        tried.append(DIFFERENCES in found.products)
        costs.append(total(found))
        streams = lambda part, place=place: stream_of(part, 0, place)  # noqa: E731
        alone.append(total(measure_with(operator, read_quantities("trace"), SETTINGS, streams)))
    assert tried == [True, True, False, False, False, False, True]
    assert missed <= 2  # more has a chance of 0.4 %
    assert sum(costs) <= 1.1 * sum(alone) + 2 * 24


def test_a_sudden_change_falls_back_on_a_full_measurement():
    sequence = MeasurementSequence(read_quantities("trace"), 0)
    operators = [*path(0.002, 4), *path(0.002, 1, seed=9)]
    found = [sequence.measure(operator, SETTINGS) for operator in operators]
    assert "basis and probes" not in found[3].products
    assert set(found[4].products) == {"basis and probes", DIFFERENCES}
    assert operators[4].values.sum() in found[4]["trace"]
    assert found[4]["trace"].confidence == 0.95


def test_a_matrix_of_another_size_starts_again():
    sequence = MeasurementSequence(read_quantities("trace"), 0)
    for operator in path(0.002, 4):
        sequence.measure(operator, SETTINGS)
    (other,) = path(0.0, 1, size=200)
    found = sequence.measure(other, SETTINGS)
    assert not found.warm
    assert found.P == 200
    assert other.values.sum() in found["trace"]


@pytest.mark.parametrize(
    ("names", "memory"), [("trace, count-above=1", None), ("sharpness", None), ("trace", Budget.of("1 GiB"))]
)
def test_what_cannot_be_followed_is_searched_at_each_matrix(names, memory):
    sequence = MeasurementSequence(read_quantities(names), 0)
    settings = MeasureSettings(relative_width=0.02, products=500, basis=40, steps=20, memory=memory)
    (operator,) = path(0.0, 1)
    found = sequence.measure(operator, settings)
    assert DIFFERENCES not in found.products  # a trace that is followed would keep some at the first matrix
    assert "basis and probes" in found.products


@pytest.mark.parametrize("products", [150, 230])
def test_no_matrix_takes_more_products_than_allowed(products):
    sequence = MeasurementSequence(read_quantities("trace"), 0)
    settings = MeasureSettings(relative_width=0.02, products=products, basis=40)
    for operator in path(0.002, 4):
        found = sequence.measure(operator, settings)
        assert total(found) <= products
        assert operator.values.sum() in found["trace"]


@pytest.mark.parametrize("units", [(1.0, 1e-90, 1e-90), (1e-60, 1e-200, 1e-60, 1e-60), (1.0, 1e90, 1e90, 1e70)])
@pytest.mark.parametrize("names", ["trace", "stable-rank", "sharpness,count-above=0", "density", "trace,stable-rank"])
def test_matrices_of_any_size_are_measured_one_after_the_other(names, units):
    """If fourth powers are beyond double precision, the next matrix is measured from nothing."""
    values = np.linspace(-0.4, 3.0, 40)
    sequence = MeasurementSequence(read_quantities(names), 0)
    for unit in units:
        found = sequence.measure(DenseOperator(torch.diag(torch.from_numpy(unit * values))), SETTINGS)
        for name, truth in (
            ("trace", unit * values.sum()),
            ("stable-rank", (values**2).sum() / 9.0),
            ("sharpness", 3.0 * unit),
            ("count-above=0", float((values > 0.0).sum())),
        ):
            if name in names.split(","):
                assert found[name].low * (1.0 - 1e-9) <= truth <= found[name].high * (1.0 + 1e-9)


def test_plans_follow_slow_changes_for_long_and_fast_ones_not_at_all():
    common = {"rest": 100.0, "half": 1.0, "basis": 20, "vectors": 8, "others": 0, "confidence": 0.95}
    still, slow, fast = (plan_differences(change=change, **common) for change in (0.0, 0.05, 50.0))
    assert fast is None
    assert still.ratio < slow.ratio <= 0.8
    assert still.ratio == pytest.approx(16 / (20 + 100 * 1.96**2), rel=1e-2)  # 8 vectors and 8 probes for ever
    assert plan_differences(change=0.0, **common | {"rest": 1.0}).ratio > still.ratio
    assert plan_differences(change=0.0, **common | {"others": 400}) is None
    assert plan_differences(change=0.0, limit=500.0, **common) is None
    assert plan_differences(change=0.0, limit=2000.0, **common) is not None
