"""Free sums against the sums that are known in closed form, and against the additivity of cumulants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmt.closed_laws import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
from rmt.free import FreeSum
from rmt.general_laws import DensityLaw
from rmt.laws import Affine, Law

COIN = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
UNIFORM = DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform")


def interior(law: Law, count: int) -> np.ndarray:
    return np.linspace(*law.support, count + 2)[1:-1]


def test_two_coins_make_the_arcsine_law():
    law = FreeSum(COIN, COIN)
    x = interior(law, 101)
    assert law.support == pytest.approx((-2, 2), abs=1e-14)
    assert law.edge_stieltjes == (-np.inf, np.inf)
    assert law.atoms == ()
    exact = 1 / (np.pi * np.sqrt(4 - x**2))
    assert np.allclose(law.pdf(x), exact, rtol=np.where(np.abs(x) < 1e-9, 1e-6, 1e-12))  # at 0 every root solves
    assert np.allclose(law.cdf(x), 0.5 + np.arcsin(x / 2) / np.pi, atol=1e-9)
    assert law.stieltjes(2.5) == pytest.approx(1 / 1.5, rel=1e-13)
    assert [law.moment(n) for n in (2, 4, 6)] == pytest.approx([2, 6, 20])


def test_marchenko_pastur_adds_when_ratio_times_variance_agree():
    # v / (1 - c w) with one c: the numerators add
    law, exact = FreeSum(MarchenkoPastur(0.5, 2.0), MarchenkoPastur(1.0, 1.0)), MarchenkoPastur(1 / 3, 3.0)
    x = interior(exact, 101)
    assert law.support == pytest.approx(exact.support, abs=1e-12)
    assert law.edge_stieltjes == pytest.approx(exact.edge_stieltjes, rel=1e-6)
    assert np.allclose(law.pdf(x), exact.pdf(x), atol=1e-12)
    assert np.allclose(law.cdf(x), exact.cdf(x), atol=1e-11)
    z = np.array([exact.support[1] + 1e-3, -0.5, 3 + 1e-3j, 1 - 2j])
    assert np.allclose(law.stieltjes(z), exact.stieltjes(z), rtol=1e-11)
    assert np.allclose(law.stieltjes_derivative(z), exact.stieltjes_derivative(z), rtol=1e-10)


@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.5])
def test_coin_and_semicircle_solve_their_cubic(sigma):
    law, v = FreeSum(COIN, Semicircle(sigma)), sigma**2
    x = interior(law, 51)
    g = law._stieltjes(x + 0j)
    # g = omega / (omega^2 - 1) at omega = x - sigma^2 g
    residual = np.abs(g * ((x - v * g) ** 2 - 1) - (x - v * g))
    assert np.all(residual < np.where(np.abs(x) < 1e-9, 1e-8, 1e-12))  # at 0, in the gap, a subordination is infinite
    assert np.all(g.imag <= 1e-12)
    assert law._panels.total == pytest.approx(1, abs=1e-9)
    assert np.all(law.pdf(x[np.abs(x) < 0.2]) < 1e-8) == (sigma < 1)  # two bands merge at sigma = 1
    assert law.cdf(0.0) == pytest.approx(0.5, abs=1e-9)


def test_projections_leave_atoms():
    law = FreeSum(AtomicLaw((0.0, 1.0), (0.7, 0.3)), AtomicLaw((0.0, 1.0), (0.6, 0.4)))
    assert [x for x, _ in law.atoms] == [0.0, 1.0]
    assert [m for _, m in law.atoms] == pytest.approx([0.3, 0.1])
    assert law._panels.total == pytest.approx(0.6, abs=1e-9)
    assert law.support[0] == 0.0
    assert law.cdf([0.0, 1.0 - 1e-9]) == pytest.approx([0.3, 0.7 - 0.1 + 0.0], abs=0.2)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "law",
    [
        FreeSum(AtomicLaw((-1.0, 0.0, 2.0), (0.3, 0.3, 0.4)), COIN),
        FreeSum(UNIFORM, Semicircle(0.5)),
        FreeSum(Semicircle(1.0), Affine(MarchenkoPastur(0.2), 2.0, 5.0)),
        FreeSum(COIN, FreeSum(Semicircle(0.8), MarchenkoPastur(0.5))),
    ],
    ids=["atoms", "uniform", "affine", "nested"],
)
def test_the_density_has_the_added_cumulants(law):
    assert law._panels.total == pytest.approx(1, abs=1e-8)
    assert [Law.moment(law, n, law.mean) for n in range(7)] == pytest.approx(
        [law.moment(n, law.mean) for n in range(7)], abs=1e-7
    )
    assert law.free_cumulants(3) == pytest.approx(np.add(law.a.free_cumulants(3), law.b.free_cumulants(3)))


def test_large_random_matrices_agree():
    rng, n = np.random.default_rng(3), 1200
    noise = rng.standard_normal((n, n))
    matrix = 0.4 * (noise + noise.T) / np.sqrt(2 * n) + np.diag(np.repeat([-1.0, 1.0], n // 2))
    law = FreeSum(COIN, Semicircle(0.4))
    counts = np.searchsorted(np.linalg.eigvalsh(matrix), grid := interior(law, 25)) / n
    assert np.max(np.abs(counts - law.cdf(grid))) < 5 / n  # eigenvalues are rigid: errors of a few counts


@given(
    p=st.floats(0.1, 0.9),
    sigma=st.floats(0.2, 2),
    ratio=st.floats(0.2, 3),
    x=st.floats(-4, 8),
    height=st.floats(1e-3, 2),
)
def test_subordination_equations(p, sigma, ratio, x, height):
    law = FreeSum(AtomicLaw((0.0, sigma, 2.0 + sigma), (p, (1 - p) / 2, (1 - p) / 2)), MarchenkoPastur(ratio))
    z = x + 1j * height
    omega_a, omega_b = law.subordination(z)
    g = law.stieltjes(z)
    assert omega_a.imag >= height * (1 - 1e-12)
    assert omega_b.imag >= height * (1 - 1e-12)
    assert law.a.stieltjes(omega_a) == pytest.approx(g, rel=1e-9)
    assert law.b.stieltjes(omega_b) == pytest.approx(g, rel=1e-9)
    assert omega_a + omega_b == pytest.approx(z + 1 / g, rel=1e-9)


def test_the_order_of_the_parts_changes_no_value():
    """Atoms are solved for first, whichever part they belong to; each function belongs to its own part."""
    one, other, z = FreeSum(Semicircle(0.5), COIN), FreeSum(COIN, Semicircle(0.5)), np.array([0.3 + 0.4j, -2 + 0.01j])
    for part, omega in zip((one.a, one.b), one.subordination(z), strict=True):
        assert np.allclose(part.stieltjes(omega), one.stieltjes(z), rtol=1e-10)
    assert np.allclose(one.subordination(z), other.subordination(z)[::-1])
    assert one.support == pytest.approx(other.support)
    assert np.allclose(one.stieltjes_derivative(z.conj()), one.stieltjes_derivative(z).conj())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (AtomicLaw((0.1, 1.0), (0.7, 0.3)), AtomicLaw((0.0, 2.3), (0.8, 0.2))),
        (AtomicLaw((-1.0, 1.0), (0.7, 0.3)), AtomicLaw((-2.0, 2.0), (0.6, 0.4))),
        (AtomicLaw((-1.0, 1.0), (0.7, 0.3)), MarchenkoPastur(2.0)),
    ],
)
def test_the_density_at_an_atom_is_that_of_the_continuous_part(a, b):
    law = FreeSum(a, b)
    places = np.array([location for location, _ in law.atoms])
    assert len(places)
    assert law.pdf(places).tolist() == [0.0] * len(places)
    assert law.pdf(np.nextafter(places, np.inf)).tolist() == [0.0] * len(places)
    assert law.shifted(0.5).pdf(places + 0.5).tolist() == [0.0] * len(places)


def test_edges_and_atoms_of_sums_of_different_parts():
    """2/3 at -1 with 0.4 at 0 leaves 1/15 at -1, and with 0.6 at 5 leaves 4/15 at 4; the other pairs weigh less."""
    law = FreeSum(AtomicLaw((-1.0, 2.0), (2 / 3, 1 / 3)), AtomicLaw((0.0, 5.0), (0.4, 0.6)))
    assert np.allclose(law.atoms, [(-1.0, 1 / 15), (4.0, 4 / 15)])
    heavy = FreeSum(AtomicLaw((-1.0, 2.0), (0.3, 0.7)), AtomicLaw((0.0, 5.0), (0.4, 0.6)))
    assert heavy.support[1] == 7.0
    assert heavy.edge_stieltjes[1] == np.inf
    assert np.allclose(heavy.atoms, [(2.0, 0.1), (7.0, 0.3)])
    light = FreeSum(AtomicLaw((-1.0, 2.0), (0.7, 0.3)), AtomicLaw((0.0, 5.0), (0.6, 0.4)))
    assert light.support[0] == -1.0
    assert light.edge_stieltjes[0] == -np.inf
    assert light.support[1] < 7.0


@given(sigma=st.floats(0.1, 3), ratio=st.floats(0.1, 4), fraction=st.floats(0.01, 0.95))
def test_r_transforms_add_outside_the_support(sigma, ratio, fraction):
    law = FreeSum(Semicircle(sigma), MarchenkoPastur(ratio))
    w = fraction * law.edge_stieltjes[1]
    z = law.inverse_stieltjes(w)
    assert z > law.support[1]
    assert law.stieltjes(z) == pytest.approx(w, rel=1e-8)
    assert law.r_transform(w) == pytest.approx(sigma**2 * w + 1 / (1 - ratio * w))
    assert law.pdf(law.support[1] - 1e-3 * sigma) > 0


def test_exact_special_cases():
    semicircle = FreeSum(Semicircle(3.0, 1.0), Semicircle(4.0, -2.0))
    assert semicircle.closed_form == Semicircle(5.0, -1.0)
    assert semicircle.quantile(0.9) == Semicircle(5.0, -1.0).quantile(0.9)
    assert semicircle.edge_stieltjes == (-0.2, 0.2)
    assert FreeSum(PointMass(2.0), COIN).closed_form == COIN.shifted(2.0)
    assert FreeSum(COIN, PointMass(2.0)).cdf([1.0, 2.0, 3.0]).tolist() == [0.5, 0.5, 1.0]
    assert FreeSum(PointMass(2.0), PointMass(1.0)).support == (3.0, 3.0)


def test_scaling_and_shift():
    law = FreeSum(COIN, Semicircle(0.5))
    moved = law.scaled(2.0).shifted(3.0)
    assert moved.support == pytest.approx(2 * np.array(law.support) + 3)
    assert moved.pdf(3.0 + 2 * 0.7) == pytest.approx(law.pdf(0.7) / 2)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="b must be a Law, got 3"):
        FreeSum(COIN, 3)
    with pytest.raises(ValueError, match="upper half-plane"):
        FreeSum(COIN, COIN).subordination(1 - 1j)


@pytest.mark.sample(3)
@pytest.mark.parametrize("small", [1e-13, 1e-17, 1e-40])
@pytest.mark.parametrize(
    ("make", "levels"),
    [
        (lambda small: FreeSum(Semicircle(small), AtomicLaw((0.0, 1.0), (0.5, 0.5))), [0.1, 0.3, 0.45]),
        (lambda small: FreeSum(MarchenkoPastur(2.0), AtomicLaw((0.0, small), (0.6, 0.4))), [0.15, 0.25, 0.45]),
        (
            lambda small: FreeSum(
                AtomicLaw((-1.0, 0.0, 1.0), (0.2, 0.6, 0.2)), AtomicLaw((-small, 0.0, small), (0.3, 0.4, 0.3))
            ),
            [0.25, 0.6, 0.7],
        ),
        (lambda small: FreeSum(MarchenkoPastur(2.0), MarchenkoPastur(0.3, small)), [0.1, 0.3, 0.45]),
    ],
)
def test_bands_next_to_0_keep_their_shape(make, levels, small):
    """Compressed by a projection, the small part is that of 1e-9 in its own units."""
    known, law = make(1e-9), make(small)
    assert law.quantile(levels) / small == pytest.approx(known.quantile(levels) / 1e-9, rel=1e-7)
    assert law.cdf(law.quantile(levels)) == pytest.approx(levels, abs=1e-10)


def test_a_point_on_an_atom_does_not_stop_a_law_given_by_its_density():
    """In the middle of the gap one part sees its atoms alike, and the other sees infinity."""
    triangle = DensityLaw(lambda x: 1 - np.abs(x), (-1.0, 1.0))
    law = FreeSum(triangle, AtomicLaw((-5.0, 5.0), (0.5, 0.5)))
    assert law.cdf([-1.0, 0.0, 1.0]) == pytest.approx(0.5)
    assert law.quantile([0.25, 0.75]) == pytest.approx([-law.quantile(0.75), law.quantile(0.75)], rel=1e-9)
