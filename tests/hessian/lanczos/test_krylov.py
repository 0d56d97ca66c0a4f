import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hessian import CurvatureError, DenseOperator, Krylov, SpectralMeasure, extreme_eigenpairs, spectral_measure
from hessian.lanczos.basis_rows import Rows, Store
from hessian.lanczos.bounds import probable_norm
from hessian.lanczos.probes import draw_probes, predict_rest
from hessian.numerics.symmetric import ScaledOperator, multiply


def rotated(eigenvalues, seed=0, dtype=torch.float64):
    """A dense operator with a known spectrum."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2))[0]
    dense = torch.from_numpy(Q * np.asarray(eigenvalues, dtype=float) @ Q.T)
    return DenseOperator(((dense + dense.T) / 2).to(dtype))


SPREAD = np.r_[50.0, 30.0, 30.0, 10.0, np.linspace(2.0, -2.0, 295), -20.0]


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("restart", [False, True])
def test_the_recurrence_holds_and_the_basis_is_orthonormal(block, restart):
    operator = rotated(SPREAD)
    krylov = Krylov(operator, np.random.default_rng(1), block=block)
    krylov.extend(24)
    if restart:
        krylov.restart([0, 1, krylov.size - 2, krylov.size - 1])
        krylov.extend(12)
    V, H = krylov.basis.numpy(), operator.matrix.numpy()
    waiting = krylov.waiting.numpy()
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-13)
    np.testing.assert_allclose(V @ waiting.T, 0.0, atol=1e-13)
    np.testing.assert_allclose(H @ V.T, V.T @ krylov.compression + waiting.T @ krylov.coupling, atol=1e-12)


CHANGES = {
    "a product": lambda krylov: krylov.extend(1),
    "another start": lambda krylov: krylov.seed(),
    "a restart": lambda krylov: krylov.restart([0, krylov.size - 1]),
}


def findings(krylov):
    rest = predict_rest(krylov)
    bounds = [] if krylov.restarted else [probable_norm(krylov, 1e-3)]
    return [krylov.compression, krylov.largest, *krylov.ritz(), rest.square, rest.spread, *bounds]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_found_about_a_basis_is_forgotten_when_it_changes(change):
    asked, silent = (Krylov(rotated(SPREAD), np.random.default_rng(1)) for _ in range(2))
    asked.extend(8, lambda size: findings(asked))
    silent.extend(8)
    findings(asked)
    for krylov in (asked, silent):
        CHANGES[change](krylov)
    for found, expected in zip(findings(asked), findings(silent), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="read-only"):
        asked.compression[0, 0] = 1.0


def test_a_copy_finds_for_itself():
    krylov = Krylov(rotated(SPREAD), np.random.default_rng(1))
    krylov.extend(6)
    expected = krylov.compression
    for other in (copy.copy(krylov), copy.deepcopy(krylov), pickle.loads(pickle.dumps(krylov))):
        krylov.extend(1)
        assert len(krylov.compression) == krylov.size
        np.testing.assert_array_equal(other.compression, expected)
        with pytest.raises(ValueError, match="read-only"):
            other.compression[0, 0] = 1.0


def test_a_block_that_was_interrupted_between_its_rows_is_taken_again(monkeypatch):
    operator = rotated(SPREAD)
    krylov, whole = (Krylov(operator, np.random.default_rng(1), block=3) for _ in range(2))
    krylov.extend(6)
    once, calls = krylov._orthogonalise, iter(range(10))

    def stops(*given):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return once(*given)

    with monkeypatch.context() as patched:
        patched.setattr(krylov, "_orthogonalise", stops)
        with pytest.raises(KeyboardInterrupt):
            krylov.extend(3)
    krylov.extend(6)
    whole.extend(12)
    V, H = krylov.basis.numpy(), operator.matrix.numpy()
    np.testing.assert_allclose(krylov.compression, V @ H @ V.T, atol=1e-12)
    assert krylov.largest == pytest.approx(whole.largest, rel=1e-9)


def test_a_row_in_half_precision_that_was_interrupted_leaves_no_factor_behind():
    lost, kept = (row / np.linalg.norm(row) for row in np.random.default_rng(0).standard_normal((2, 40)))
    rows = Rows(40, torch.float64, torch.device("cpu"), Store(torch.float16, 3))
    rows._put_rounded(torch.from_numpy((lost**3).copy()))  # and then no word that it is there
    rows.append(torch.from_numpy(kept))
    np.testing.assert_allclose(rows.read(0, torch.empty(1, 40).double())[0], kept, atol=1e-3)


def test_a_restart_right_after_another_start_keeps_it():
    krylov = Krylov(rotated(SPREAD), np.random.default_rng(1))
    krylov.extend(8)
    krylov.seed()
    krylov.restart([0, krylov.size - 1])
    krylov.extend(4)
    V, H = krylov.basis.numpy(), rotated(SPREAD).matrix.numpy()
    np.testing.assert_allclose(
        H @ V.T, V.T @ krylov.compression + krylov.waiting.numpy().T @ krylov.coupling, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"block": 2}, {"basis": 14}])
def test_extreme_pairs_of_both_signs_have_honest_residuals(dtype, options):
    operator = rotated(SPREAD, dtype=dtype)
    found = extreme_eigenpairs(operator, 4, 1, tolerance=1e-5, rng=np.random.default_rng(2), **options)
    # A repeated pair is seen twice only with two starting vectors, or by rounding.
    for value, vector, residual in zip(found.values, found.vectors.double(), found.residuals, strict=True):
        exact = float(torch.linalg.vector_norm(operator.matrix.double() @ vector - value * vector))
        assert exact <= 1.5 * residual
        assert np.abs(SPREAD - value).min() <= residual
    assert found.values[0] == pytest.approx(50.0, rel=1e-5)
    assert found.values[-1] == pytest.approx(-20.0, rel=1e-5)
    np.testing.assert_allclose((found.vectors @ found.vectors.T).numpy(), np.eye(5), atol=2e-6)


def test_there_are_no_ghosts_after_many_steps():
    krylov = Krylov(rotated(np.r_[50.0, 30.0, 20.0, 10.0, np.linspace(0, 1, 396)]), np.random.default_rng(0))
    krylov.extend(150)
    assert np.sum(krylov.ritz()[0] > 5.0) == 4


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.integers(0, 100))
def test_a_whole_small_spectrum_comes_out_with_all_copies(eigenvalues, seed):
    operator = rotated(eigenvalues, seed)
    P = operator.P
    found = extreme_eigenpairs(operator, P, rng=np.random.default_rng(seed))
    np.testing.assert_allclose(found.values, np.sort(eigenvalues)[::-1], atol=1e-12)


def test_zero_and_identity_are_invariant_at_once():
    for matrix in (torch.zeros(5, 5), torch.eye(5)):
        krylov = Krylov(DenseOperator(matrix), np.random.default_rng(0))
        krylov.extend(5)
        assert krylov.invariant
        assert krylov.size == 1
        krylov.seed(10)
        krylov.extend(10)
        assert krylov.size == 5


def test_numbers_out_of_range_are_refused():
    operator = rotated([1.0, 2.0])
    for largest, smallest in ((0, 0), (2, 1), (-1, 1)):
        with pytest.raises(CurvatureError, match="between 1 and P = 2"):
            extreme_eigenpairs(operator, largest, smallest, rng=np.random.default_rng(0))
    with pytest.raises(CurvatureError, match="block"):
        Krylov(operator, np.random.default_rng(0), block=3)
    with pytest.raises(CurvatureError, match="symmetric"):
        DenseOperator(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))


def test_overflowing_products_are_named():
    class Overflow(DenseOperator):
        def products(self, vectors):
            return vectors * float("inf")

    with pytest.raises(CurvatureError, match="not finite"):
        Krylov(Overflow(torch.eye(3)), np.random.default_rng(0)).extend(1)


def test_quadrature_gives_moments_within_their_errors_and_the_distribution():
    operator = rotated(SPREAD)
    rng = np.random.default_rng(0)
    atoms = extreme_eigenpairs(operator, 4, 1, tolerance=1e-9, block=2, rng=rng)
    for known, probes in ((None, 40), (atoms, 10)):
        measure = spectral_measure(operator, rng=rng, probes=probes, steps=30, without=known)
        for power in (0, 1, 2, 3):
            moment = measure.moment(power)
            assert abs(moment.value - np.mean(SPREAD**power)) <= 5.0 * moment.sd + 1e-9
    points = np.linspace(-1.8, 1.8, 19)
    exact = (SPREAD[:, None] <= points).mean(axis=0)
    np.testing.assert_allclose(measure.cdf(points), exact, atol=0.05)
    grid = np.linspace(-30, 60, 20_001)
    assert float(np.trapezoid(measure.density(grid, 0.5), grid)) == pytest.approx(1.0, abs=1e-6)
    assert measure.density(np.array([50.0]), 0.1)[0] == pytest.approx(1 / 300 / (0.1 * np.sqrt(2 * np.pi)), rel=1e-6)
    assert measure.density(np.array([50.0]), 0.1, with_atoms=False)[0] < 1e-12


def test_all_atoms_known_leave_nothing_to_probe():
    operator = rotated([3.0, 1.0, -1.0])
    pairs = extreme_eigenpairs(operator, 3, rng=np.random.default_rng(0))
    measure = spectral_measure(operator, rng=np.random.default_rng(0), probes=3, without=pairs)
    assert measure.moment(2).value == pytest.approx(11.0 / 3.0)
    np.testing.assert_allclose(measure.cdf(np.array([-2.0, 0.0, 4.0])), [0.0, 1 / 3, 1.0])
    with pytest.raises(CurvatureError, match="positive"):
        spectral_measure(operator, rng=np.random.default_rng(0), probes=0)


def test_rounding_is_measured_by_the_asymmetry_of_the_products():
    class Rough(DenseOperator):
        def products(self, vectors):
            return super().products(vectors) + 1e-6 * (vectors.roll(1, dims=1) - vectors.roll(-1, dims=1))

    rough = Rough(rotated(SPREAD).matrix)
    krylov = Krylov(rough, np.random.default_rng(0))
    krylov.extend(20)
    square = krylov.basis @ rough.products(krylov.basis).T
    gap = float((square - square.T).abs().max())
    assert krylov.rounding == pytest.approx(gap, rel=0.05)
    assert krylov.pairs([0, 19]).residuals.min() >= 0.9 * gap
    krylov.extend(1)
    assert krylov.rounding >= 0.9 * gap


def test_the_error_of_a_moment_is_that_of_a_mean_of_probes():
    nodes, weights = (np.array([1.0]), np.array([2.0]), np.array([4.0])), (np.ones(1),) * 3
    moment = SpectralMeasure(10, nodes, weights, np.empty(0)).moment(1)
    assert moment.value == pytest.approx(7.0 / 3.0)
    assert moment.sd == pytest.approx(np.sqrt(7.0 / 3.0) / np.sqrt(3.0))


def test_a_seed_is_one_row_unless_more_are_asked_for():
    krylov = Krylov(DenseOperator(torch.zeros(5, 5)), np.random.default_rng(0))
    for size in (1, 2, 3):
        krylov.extend(5)
        assert krylov.size == size
        assert krylov.invariant
        krylov.seed()
        assert not krylov.invariant


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_exact_operator_is_known_to_ten_units_of_rounding(dtype):
    krylov = Krylov(DenseOperator(-4.0 * torch.eye(8, dtype=dtype)), np.random.default_rng(0))
    krylov.extend(1)
    assert krylov.rounding == pytest.approx(10.0 * torch.finfo(dtype).eps * 4.0, rel=1e-5, abs=0.0)
    assert krylov.pairs([0]).residuals[0] == pytest.approx(krylov.rounding, rel=1e-6, abs=0.0)


def test_a_starting_vector_is_the_first_row_whatever_its_length():
    start = torch.tensor([3.0, 0.0, -4.0]).double()
    krylov = Krylov(rotated([1.0, 2.0, 3.0]), np.random.default_rng(0), start=1e-3 * start)
    krylov.extend(1)
    torch.testing.assert_close(krylov.basis[0], start / 5.0)
    assert (krylov.products, krylov.P) == (1, 3)


def test_progress_names_the_norm_reached():
    reports = []
    extreme_eigenpairs(DenseOperator(torch.tensor([[-1.1]])), 1, rng=np.random.default_rng(0), progress=reports.append)
    assert len(reports) == 1
    assert reports[0].startswith("1 products, residual ")
    assert reports[0].endswith(" of 1.1")


class InPlace(DenseOperator):
    """Products of its own, in addition to inherited ones in place."""

    def products_in_place(self, rows):
        return rows.copy_(super().products(rows))


class More(InPlace):
    def products(self, vectors):
        return super().products(vectors) + 10.0 * vectors


class Around:
    """Another operator has all that it does not have."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def products(self, vectors):
        return self.inner.products(vectors) + 10.0 * vectors


def test_products_in_place_are_those_of_the_class_that_multiplies():
    matrix = torch.diag(torch.tensor([3.0, 1.0, -2.0]).double())
    patched = ScaledOperator(DenseOperator(matrix))
    patched.products = lambda vectors: vectors @ matrix + 10.0 * vectors
    for operator in (More(matrix), Around(InPlace(matrix)), patched):
        rows = torch.eye(3).double()
        assert multiply(operator, rows) is rows
        assert torch.equal(rows, matrix + 10.0 * torch.eye(3).double())


def test_a_scaled_operator_leaves_what_it_is_given_and_what_it_gets():
    kept = torch.tensor([[4.0, 8.0]]).double()
    cached = SimpleNamespace(P=2, dtype=torch.float64, device=torch.device("cpu"), products=lambda vectors: kept)
    given = torch.ones(1, 2).double()
    scaled = ScaledOperator(cached)
    for found in (scaled.products(given), multiply(scaled, given.clone())):
        assert torch.equal(found * scaled.unit, kept)
    assert torch.equal(kept, torch.tensor([[4.0, 8.0]]).double())
    assert torch.equal(given, torch.ones(1, 2).double())


@pytest.mark.parametrize("inside", [0.3, 0.9, 1.0 - 1e-6])
def test_what_is_outside_of_a_basis_is_exact_however_little_it_is(inside):
    P = 4000
    V = torch.eye(P)[:5].contiguous()
    image = torch.zeros(1, P)
    image[0, :5], image[0, 5:] = (inside / 5.0) ** 0.5, ((1.0 - inside) / (P - 5.0)) ** 0.5
    fixed = SimpleNamespace(P=P, dtype=torch.float32, device=torch.device("cpu"), products=lambda vectors: image)
    square = float((image[0, 5:].double() ** 2).sum())
    assert draw_probes(fixed, V, 1, np.random.default_rng(0)).squares[0] == pytest.approx(square, rel=1e-5)
