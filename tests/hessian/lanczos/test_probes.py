"""Intervals of probes, by hand."""

from math import inf, sqrt

import numpy as np
import pytest
import torch
from scipy.stats import binom, t

from hessian import CurvatureError, DenseOperator, Interval
from hessian.lanczos.krylov import Krylov
from hessian.lanczos.probes import (
    FEW,
    FEW_AXES,
    PILOT,
    SHORT,
    SKEW,
    Prediction,
    Probes,
    draw_probes,
    measure_unconverged,
    predict_rest,
    predict_signs,
    project_out,
    sign_probes,
)

PAIR = np.array([1.0, 3.0] * (PILOT // 2))
"""Mean 2, variance n/(n - 1)."""


def test_the_interval_of_probes_is_symmetric_for_the_inverse_root():
    """The relative deviation of one square is s = sqrt(n/(n - 1))/2; that of the inverse root is half of it."""
    s = sqrt(PILOT / (PILOT - 1)) / 2.0
    for count in (PILOT, 3 * PILOT):
        probes = Probes(np.resize(PAIR, count))
        found = probes.interval(0.9)
        # Three degrees of freedom fewer than a variance of ten has; a twentieth of the 10 % is the starting vector's.
        half = t.ppf(1.0 - 0.95 * 0.1 / 2.0, PILOT - 1 - 3) * s / 2.0 / sqrt(count)
        assert probes.pilot_spread == pytest.approx(s)
        assert found.value == 2.0
        assert 1.0 / sqrt(found.low) == pytest.approx((1.0 + half) / sqrt(2.0))
        assert 1.0 / sqrt(found.high) == pytest.approx((1.0 - half) / sqrt(2.0))


def test_the_spread_is_the_pilots_whatever_comes_after():
    far = Probes(np.r_[PAIR, 1000.0])
    assert far.pilot_spread == Probes(PAIR).pilot_spread
    assert far.mean == pytest.approx((2.0 * PILOT + 1000.0) / (PILOT + 1))


def test_a_spread_beyond_the_mean_leaves_an_end_that_is_finite():
    wide = Probes(np.r_[100.0, np.zeros(PILOT - 1)]).interval(0.999)
    assert wide.high == pytest.approx(10.0 / 0.05**2)
    assert 0.0 < wide.low < wide.value == 10.0


def test_a_spread_that_few_directions_could_make_is_taken_for_a_larger_one():
    """Mean 1, deviations of 1 % one after the other; twelve directions of d could make sqrt(24)/d."""
    s = 0.01 * sqrt(PILOT / (PILOT - 1))
    squares = 1.0 + 0.01 * np.array([1.0, -1.0] * (PILOT // 2))
    for directions, spread in ((50, SKEW * s), (sqrt(2 * FEW) / (2 * s), 2 * s), (sqrt(2 * FEW) / s, s), (10**6, s)):
        assert Probes(squares, directions=directions).pilot_spread == pytest.approx(spread, rel=1e-12)
    assert Probes(np.ones(PILOT), directions=50).pilot_spread == 0.0  # nothing varies: any direction would show
    assert Probes(squares, exact=True, directions=50).pilot_spread == 0.0
    assert Probes(squares, directions=50).merge(Probes(squares, directions=50)).directions == 50


@pytest.mark.parametrize(("count", "square"), [(1, 0.0), (1, 0.5), (1, 2.25), (2, 0.0), (4, 0.0), (12, 0.0)])
def test_intervals_cover_where_few_directions_make_the_spread(count, square):
    """C has 190 eigenvalues of modulus 1 but for a few; the law of its probes needs no matrix."""
    rng, sizes = np.random.default_rng(190), np.array([190 - count, count])
    parts = rng.chisquare(sizes, (2000, PILOT, 2))
    draws = 190.0 * (parts @ [1.0, square]) / parts.sum(axis=-1)
    truth = float(sizes @ [1.0, square])
    covered = sum(truth in Probes(squares, directions=190).interval(0.95) for squares in draws)
    assert covered >= binom.ppf(1e-6, 2000, 0.9525)
    if count == 1:  # nor does it hold by itself
        assert sum(truth in Probes(squares).interval(0.95) for squares in draws) < 1840


def test_the_part_of_a_spread_that_is_not_predicted_is_taken_for_that_of_copies():
    squares = 1.0 + 0.01 * np.array([1.0, -1.0] * (PILOT // 2))
    s = 0.01 * sqrt(PILOT / (PILOT - 1))

    def seen(spread, square=1.0, largest=inf):
        return Probes(squares, predicted=Prediction(square, spread, largest))

    assert seen(s).pilot_spread == pytest.approx(s)
    assert not seen(s).copies_show
    assert seen(0.0).copies == pytest.approx(s)
    assert seen(0.0).pilot_spread == pytest.approx(SKEW * s)
    assert seen(0.0).copies_show
    assert seen(s, square=0.1).copies_show  # so little of the mean is predicted
    part = sqrt(0.5 / SHORT) * s
    assert seen(part).pilot_spread == pytest.approx(sqrt(0.5 + 0.5 * SKEW**2) * s)
    few = 2.0 * s / sqrt(2.0 * FEW)  # no more than a dozen copies could make
    assert seen(0.0, largest=few).pilot_spread == pytest.approx(2.0 * s)
    wild = Probes(np.r_[10.0, np.zeros(PILOT - 1)] + 1e-3, predicted=Prediction(0.0, 0.0))
    assert wild.pilot_spread == pytest.approx(float(wild.squares.std(ddof=1) / wild.mean))  # beyond any law of squares
    assert Probes(squares, looks=2).interval(0.9) == Probes(squares).interval(0.95)


def test_a_basis_predicts_the_probes_of_its_complement():
    """Three outliers and a bulk: mean and spread of a probe as the matrix has them; further copies are not seen."""
    bulk = np.cos(np.linspace(0.0, np.pi, 397))
    for outliers, square in (([9.0, 7.0, -6.0], 1.0), ([9.0, 9.0, 9.0], 0.6)):
        values = np.r_[outliers, bulk]
        ratios = []
        for seed in range(10):
            krylov = Krylov(DenseOperator(torch.diag(torch.from_numpy(values))), np.random.default_rng(seed))
            krylov.extend(12)
            V = krylov.basis.numpy()
            rest = np.diag(values) - V.T @ (V * values)
            rest = rest - (rest @ V.T) @ V
            predicted = predict_rest(krylov)
            ratios.append(predicted.square / np.linalg.norm(rest) ** 2)
            assert predicted.largest == pytest.approx(81.0, rel=1e-6)
            if square == 1.0:
                squares = np.linalg.eigvalsh(rest) ** 2
                d = 400 - 12
                variance = 2.0 * d / (d + 2.0) * float((squares**2).sum() - squares.sum() ** 2 / d)
                assert predicted.spread == pytest.approx(sqrt(variance) / squares.sum(), rel=0.3)
                assert predicted.degrees > 12 * FEW
        assert np.median(ratios) == pytest.approx(1.0, abs=0.15) if square == 1.0 else np.median(ratios) < square


def test_a_basis_that_has_many_of_the_directions_predicts_those_that_are_left():
    """Eight of thirty: were all thirty left, the prediction would be 1.36 times as large."""
    values, rng, ratios = np.cos(np.linspace(0.0, np.pi, 30)), np.random.default_rng(0), []
    for _ in range(100):
        krylov = Krylov(DenseOperator(torch.diag(torch.from_numpy(values))), rng)
        krylov.extend(8)
        V = krylov.basis.numpy()
        rest = np.diag(values) - V.T @ (V * values)
        ratios.append(predict_rest(krylov).square / np.linalg.norm(rest - (rest @ V.T) @ V) ** 2)
    assert 0.8 < np.mean(ratios) < 1.05


@pytest.mark.parametrize(("copies", "least", "most"), [(5, 0.0, 0.0), (30, 0.0, 0.05), (75, 0.95, 1.0)])
def test_copies_of_what_a_basis_holds_are_predicted_where_they_are_many(copies, least, most):
    """The weight in the starting vector tells the number of many; a few are left to the probes."""
    values = np.r_[np.full(copies, 3.0), np.cos(np.linspace(0.0, np.pi, 400 - copies))]
    seen = []
    for seed in range(60):
        krylov = Krylov(DenseOperator(torch.diag(torch.from_numpy(values))), np.random.default_rng(seed))
        krylov.extend(12)
        seen.append(bool((measure_unconverged(krylov)[0] > 2.5).any()))
    assert least <= np.mean(seen) <= most


def test_a_basis_predicts_where_few_large_directions_make_the_spread():
    """Five rows leave the fifth of five outliers, next to a bulk of one modulus whose probes hardly differ."""
    values = np.r_[32.0, 16.0, 8.0, -6.0, 4.0, np.ones(150), -np.ones(150)]
    few = []
    for seed in range(40):
        krylov = Krylov(DenseOperator(torch.diag(torch.from_numpy(values))), np.random.default_rng(seed))
        krylov.extend(5)
        few.append((predicted := predict_rest(krylov)).few)
        assert predicted.cautious_spread == pytest.approx((SKEW if few[-1] else 1.0) * predicted.spread)
        # What few directions make is not explained.
        squares = 300.0 * (1.0 + predicted.spread * (PAIR / 2.0 - 1.0))
        seen = Probes(squares, predicted=predicted)
        assert seen.copies_show == few[-1]
    assert np.mean(few) >= 0.8


@pytest.mark.parametrize(("count", "square"), [(1, 9.0), (2, 9.0), (4, 9.0), (1, 200.0), (2, 1000.0)])
def test_intervals_cover_where_copies_make_the_spread(count, square):
    """C has 190 eigenvalues of modulus 1 but for copies of larger ones, of which the basis says nothing."""
    rng, sizes = np.random.default_rng(191), np.array([190 - count, count])
    parts = rng.chisquare(sizes, (2000, PILOT, 2))
    draws = 190.0 * (parts @ [1.0, square]) / parts.sum(axis=-1)
    truth, predicted = float(sizes @ [1.0, square]), Prediction(190.0, 0.0, square)
    covered = sum(truth in Probes(squares, directions=190, predicted=predicted).interval(0.95) for squares in draws)
    assert covered >= binom.ppf(1e-6, 2000, 0.9525)


@pytest.mark.parametrize("width", [0.02, 0.1, 2.0])
def test_as_many_probes_as_needed_give_the_width(width):
    probes = Probes(PAIR)
    count = probes.needed(width, 0.9)
    found = Probes(np.resize(PAIR, count)).interval(0.9).relative_width
    fewer = Probes(np.resize(PAIR, max(count - 1, PILOT))).interval(0.9).relative_width
    assert found <= width * (1 + 1e-9)
    assert fewer > width * (1 - 1e-9) or count == PILOT


def test_a_rest_that_hardly_counts_takes_no_more_than_the_pilot():
    """As that of rounding alone, which no basis predicts."""
    squares = 1e-14 * np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 3.0, 5.0])
    assert Probes(squares, predicted=Prediction(0.0, 0.0)).needed(1e12, 0.95) == PILOT
    assert Probes(squares, predicted=Prediction(0.0, 0.0)).needed(0.5, 0.95) > PILOT


def test_exact_probes_add_up_and_replace_others():
    exact = Probes(np.array([1.0, 4.0]), exact=True)
    assert exact.interval(0.5) == Interval(5.0, 5.0, 5.0)
    assert exact.pilot_spread == 0.0
    assert Probes(PAIR).merge(exact) is exact
    assert Probes(PAIR).merge(Probes(np.array([2.0]))).squares.tolist() == [*PAIR, 2.0]


def test_a_complement_as_small_as_the_probes_is_gone_through_whole():
    values = np.array([5.0, 3.0, 2.0, 1.0, 0.5])
    operator = DenseOperator(torch.diag(torch.from_numpy(values)))
    V = torch.eye(5, dtype=torch.float64)[:2]
    whole = draw_probes(operator, V, 3, np.random.default_rng(0))
    assert whole.exact
    assert whole.mean == pytest.approx(4.0 + 1.0 + 0.25)
    reports = []
    drawn = draw_probes(operator, V[:1], 3, np.random.default_rng(0), chunk=2, report=reports.append)
    assert not drawn.exact
    assert reports == [2, 3]
    assert drawn.directions == 4
    assert all(4 * 0.25 <= square <= 4 * 9.0 for square in drawn.squares)  # on a sphere of radius two


def test_products_that_are_not_finite_are_refused():
    operator = DenseOperator(torch.eye(30).double())
    operator.products = lambda rows: rows * float("nan")
    with pytest.raises(CurvatureError, match="is not finite: the weights or the loss overflow"):
        draw_probes(operator, torch.eye(30).double()[:1], 3, np.random.default_rng(0))


def test_results_that_hold_arrays_are_compared_as_objects():
    """Entry by entry they would have no truth value."""
    one, other = Probes(PAIR), Probes(PAIR.copy())
    assert one != other
    assert len({one, other, one}) == 2


def test_signs_vary_with_what_is_off_the_diagonal_of_the_square():
    """H = [[1, 1], [1, 1]] and 3 on the diagonal: the square of Hs is 8 + 9 where both signs agree, else 9; mean 13."""
    matrix = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]).double()
    probes = sign_probes(DenseOperator(matrix), 400, np.random.default_rng(0), 3.0)
    assert set(probes.squares.round(9)) == {9.0, 17.0}
    assert 150 <= (probes.squares == 17.0).sum() <= 250
    assert probes.least == pytest.approx(sqrt(2.0 * FEW_AXES) * 9.0)
    assert Probes(np.full(PILOT, 13.0), least=2.6).pilot_spread == pytest.approx(0.2)  # though nothing varies
    assert Probes(PAIR, least=1e-3).pilot_spread == Probes(PAIR).pilot_spread
    reports = []
    some = sign_probes(DenseOperator(matrix), 5, np.random.default_rng(0), 3.0, chunk=2, report=reports.append)
    assert some.squares == pytest.approx(probes.squares[:5])
    assert reports == [2, 4, 5]


def test_products_with_signs_that_are_not_finite_are_refused():
    operator = DenseOperator(torch.eye(30).double())
    operator.products = lambda rows: rows * float("inf")
    with pytest.raises(CurvatureError, match="is not finite: the weights or the loss overflow"):
        sign_probes(operator, 3, np.random.default_rng(0), 1.0)


@pytest.mark.parametrize("turned", [0.0, 0.02, 0.05, 1.0])
def test_a_basis_predicts_how_much_signs_vary(turned):
    """The prediction takes no product, and is 0 for a diagonal H and any start."""
    P = 400
    G = np.random.default_rng(0).standard_normal((P, P))
    Q = np.linalg.qr((1.0 - turned) * np.eye(P) + turned * G)[0]
    H = Q * np.cos(np.linspace(0.0, np.pi, P)) @ Q.T
    operator, M = DenseOperator(torch.from_numpy((H + H.T) / 2.0)), H @ H
    variance, floor = 2.0 * ((M**2).sum() - (np.diag(M) ** 2).sum()), sqrt(2.0 * FEW_AXES)
    squares = []
    for seed in range(40):
        krylov = Krylov(operator, np.random.default_rng(seed))
        krylov.extend(6)
        squares.append(predict_signs(krylov, 0.0) ** 2)
        assert krylov.products == 6
        least = floor / (P * float(krylov.compression[:, 0] @ krylov.compression[:, 0]))
        assert predict_signs(krylov, 1.0) == pytest.approx(max(sqrt(squares[-1]), least), rel=1e-6)
    if turned == 0.0:
        assert max(squares) <= 1e-14
    else:
        assert np.mean(squares) == pytest.approx(variance / np.trace(M) ** 2, rel=0.3)


def test_two_steps_predict_nothing_of_signs():
    krylov = Krylov(DenseOperator(torch.diag(torch.arange(9.0).double())), np.random.default_rng(0))
    krylov.extend(2)
    assert predict_signs(krylov, 1.0) == inf


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [2, 3, 4, 300])
def test_intervals_cover_where_few_directions_make_signs_vary(count, size):
    """Directions of the largest eigenvalue, each on so many axes, and a diagonal that does not vary.

    On three axes one is seen in a quarter of all signs; ten probes often show none.
    """
    rng, rank = np.random.default_rng([count, size]), 60.0
    draws = 20_000 if (count, size) == (4, 300) else 2000  # where one direction as the floor would not do
    sums = rng.choice([-1.0, 1.0], (draws, PILOT, count, size)).sum(axis=-1) if size < 9 else None
    squares = rng.chisquare(1, (draws, PILOT, count)) if sums is None else sums**2 / size
    least = sqrt(2.0 * FEW_AXES)
    drawn = rank + (squares - 1.0).sum(axis=-1)
    covered = sum(rank in Probes(probes, least=least).interval(0.95) for probes in drawn)
    assert covered >= binom.ppf(1e-4, draws, 0.9525)
    if count == 1 and size == 3:  # nor does it hold by itself
        assert sum(rank in Probes(probes).interval(0.95) for probes in drawn) < 1900


def test_vectors_nearly_along_a_basis_are_orthogonal_to_it_afterwards():
    """One pass leaves as much of them along it, by rounding, as orthogonal to it."""
    generator = torch.Generator().manual_seed(0)
    V = torch.linalg.qr(torch.randn(300, 20, generator=generator))[0].T.contiguous()
    vectors = torch.randn(5, 20, generator=generator) @ V + 1e-5 * torch.randn(5, 300, generator=generator)
    rest = project_out(vectors.clone(), V)
    sizes = torch.linalg.vector_norm(rest, dim=1)
    assert (sizes > 1e-4).all()
    assert ((rest @ V.T).abs().amax(dim=1) <= 1e-5 * sizes).all()
