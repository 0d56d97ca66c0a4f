"""Searches from the findings about an earlier matrix: valid for any other, cheaper if they are alike."""

import numpy as np
import pytest
import torch

from hessian import DenseOperator
from hessian.lanczos.bounds import complement_end, complement_norm
from hessian.lanczos.krylov import Krylov
from hessian.quantities.measurement import MeasureSettings, measure_from, stream_of
from hessian.quantities.names import read_quantities

SETTINGS = MeasureSettings(relative_width=0.2, products=200, basis=40)
TRUTHS = {
    "sharpness": np.max,
    "smallest": np.min,
    "trace": np.sum,
    "stable-rank": lambda values: (values**2).sum() / np.abs(values).max() ** 2,
}


def spectrum(rng, size=60):
    return np.r_[1.0, 0.9, -0.8, 0.5, 0.3, 0.06 * rng.standard_normal(size - 5)]


def rotated(values, rng):
    basis = np.linalg.qr(rng.standard_normal((len(values),) * 2))[0]
    return basis, dense(values, basis)


def dense(values, basis):
    matrix = (basis * values) @ basis.T
    return DenseOperator(torch.from_numpy((matrix + matrix.T) / 2.0))


def measured(operator, names, seed, place, start):
    return measure_from(operator, read_quantities(names), SETTINGS, lambda part: stream_of(part, seed, place), start)


@pytest.mark.parametrize("turn", [0.03, 3.0], ids=["alike", "unlike"])
def test_intervals_contain_the_exact_values_of_the_new_matrix(turn):
    missed, count = dict.fromkeys(TRUTHS, 0), 10
    for seed in range(count):
        rng = np.random.default_rng([seed, 0])
        values = spectrum(rng)
        basis, first = rotated(values, rng)
        _, start = measured(first, "stable-rank", seed, 0, None)
        moved = values * np.exp(0.1 * rng.standard_normal(len(values)))
        turned = np.linalg.qr(basis + turn * rng.standard_normal(basis.shape) / np.sqrt(len(basis)))[0]
        found, _ = measured(dense(moved, turned), tuple(TRUTHS), seed, 1, start)
        for name, truth in TRUTHS.items():
            missed[name] += truth(moved) not in found[name]
    assert max(missed.values()) <= 3  # more has a chance of 0.1 % if one in twenty misses


def test_a_matrix_like_the_earlier_one_takes_fewer_products():
    rng = np.random.default_rng(0)
    _, operator = rotated(spectrum(rng, 200), rng)
    first, start = measured(operator, "sharpness, stable-rank", 0, 0, None)
    second, _ = measured(operator, "sharpness, stable-rank", 0, 1, start)
    assert second.warm
    assert not first.warm
    assert second.reached
    assert sum(second.products.values()) < sum(first.products.values())


def test_a_new_large_eigenvalue_is_not_hidden_by_the_earlier_vectors():
    rng = np.random.default_rng(1)
    values = spectrum(rng)
    basis, first = rotated(values, rng)
    _, start = measured(first, "sharpness", 0, 0, None)
    values[-1] = 4.0
    found, _ = measured(dense(values, basis), "sharpness, stable-rank", 0, 1, start)
    assert 4.0 in found["sharpness"]
    assert found["sharpness"].value > 3.9


def test_the_bound_of_the_rest_holds_for_given_rows_of_any_kind():
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 2])
        values = spectrum(rng, 40)
        basis, operator = rotated(values, rng)
        given = torch.from_numpy(basis[:, [0, 2]].T.copy())
        krylov = Krylov(operator, rng, given=given)
        for _ in range(3):
            krylov.bring_forward(krylov.size + krylov.pending - 1 if krylov.size else 2)
            krylov.extend(1)
        rest = np.delete(values, [0, 2])
        missed += complement_end(krylov, 1.0, 0.05) < rest.max() or complement_norm(krylov, 0.05) < np.abs(rest).max()
        assert sorted(krylov.given) == [3, 4]
    assert missed <= 12  # two events of 5 %: more has a chance of 1 %


def test_rows_that_change_places_keep_the_recurrence():
    rng = np.random.default_rng(3)
    values = spectrum(rng, 30)
    basis, operator = rotated(values, rng)
    krylov = Krylov(operator, rng, given=torch.from_numpy(basis[:, :3].T + 0.05 * rng.standard_normal((3, 30))))
    for place in (3, 1, 4, 3, 5):
        krylov.bring_forward(max(place, krylov.size))
        krylov.extend(1)
    V, Q = krylov.basis, krylov.waiting
    H = operator.products(torch.eye(30).double())
    assert torch.allclose(V @ V.T, torch.eye(len(V)).double(), atol=1e-12)
    expected = torch.from_numpy(np.array(krylov.compression)) @ V + torch.from_numpy(np.array(krylov.coupling)).T @ Q
    assert torch.allclose(V @ H, expected, atol=1e-12)


def test_powers_of_the_start_are_those_of_the_whole_matrix_next_to_given_rows():
    rng = np.random.default_rng(4)
    basis, operator = rotated(spectrum(rng, 30), rng)
    krylov = Krylov(operator, rng, given=torch.from_numpy(basis[:, :3].T + 0.05 * rng.standard_normal((3, 30))))
    for place in (3, 4, 5, 3, 4, 5):  # the start and two steps, then the given rows
        krylov.bring_forward(place)
        krylov.extend(1)
    start = krylov.power_of_start(0)
    once = operator.products(start[None])[0]
    assert torch.allclose(krylov.power_of_start(1), once, atol=1e-12)
    assert torch.allclose(krylov.power_of_start(2), operator.products(once[None])[0], atol=1e-12)


def test_after_a_costly_warm_start_the_next_four_states_start_from_nothing_and_then_sixteen():
    rng = np.random.default_rng(5)
    _, operator = rotated(spectrum(rng, 200), rng)
    _, start = measured(operator, "sharpness, stable-rank", 0, 0, None)
    names, cold = frozenset({"sharpness", "stable-rank"}), start.products
    assert start.plan(names, 0.2, 0.95) > 0
    assert start.follow(start, cold, tried=True).waits == 0
    for waits in (4, 16):
        start = start.follow(start, cold + 1, tried=True)
        for left in range(waits, 0, -1):
            assert (start.waits, start.plan(names, 0.2, 0.95)) == (left, 0)
            start = start.follow(start, cold, tried=False)
        assert start.plan(names, 0.2, 0.95) > 0


def test_vectors_that_have_turned_completely_cost_one_product():
    rng = np.random.default_rng(6)
    values = spectrum(rng, 200)
    _, first = rotated(values, rng)
    _, second = rotated(values, rng)
    _, start = measured(first, "sharpness, stable-rank", 0, 0, None)
    found, _ = measured(second, "sharpness, stable-rank", 0, 1, start)
    _, alone = measured(second, "sharpness, stable-rank", 0, 1, None)
    assert not found.warm
    assert sum(found.products.values()) == alone.products + 1
