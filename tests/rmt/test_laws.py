"""Every law against its closed form, against quadrature of its own density, and against the rules all laws obey."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import beta, hyp2f1

from rmt.closed_laws import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.free import FreeSum
from rmt.general_laws import DensityLaw, RTransformLaw
from rmt.laws import Affine, Law
from rmt.separable import SeparableLaw

SEMICIRCLE = Semicircle(1.3, 0.4)
UNIFORM = DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform")
ARCSINE = DensityLaw(lambda x: 1 / (np.pi * np.sqrt((2 - x) * (2 + x))), (-2.0, 2.0), "arcsine")
TRIANGLE = DensityLaw(lambda x: 1 - np.abs(x), (-1.0, 1.0), "triangle")
LAWS = {
    "semicircle": SEMICIRCLE,
    "thin": MarchenkoPastur(0.3, 1.7),
    "square": MarchenkoPastur(1.0),
    "fat": MarchenkoPastur(2.5, 0.8),
    "coin": AtomicLaw((-1.0, 0.5, 2.0), (0.2, 0.5, 0.3)),
    "uniform": UNIFORM,
    "arcsine": ARCSINE,
    "triangle": TRIANGLE,
    "affine": Affine(MarchenkoPastur(0.3), 2.0, -1.0),
    "by R-transform": RTransformLaw(lambda w: 1 / (1 - 0.25 * w)),
    "weighted": SeparableLaw(AtomicLaw((0.7, 1.2), (0.5, 0.5)), AtomicLaw((0.4, 1.0), (0.6, 0.4)), 0.4),
    "signed": SeparableLaw(PointMass(1.5), AtomicLaw((-0.5, 1.0), (0.4, 0.6)), 0.3),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
FAST = {name: law for name, law in LAWS.items() if not isinstance(law, SeparableLaw)}  # they solve for every point
every_fast_law = pytest.mark.parametrize("law", FAST.values(), ids=FAST.keys())
positive = st.floats(0.1, 10)


def inside(law: Law, fraction: float) -> float:
    """Return an argument w of the R-transform: a fraction in (-1, 1) of the way to the edge value."""
    low, high = np.clip(law.edge_stieltjes, -3 / np.sqrt(law.variance), 3 / np.sqrt(law.variance))
    return fraction * (high if fraction > 0 else -low)


@every_fast_law
@given(fraction=st.floats(-0.95, 0.95).filter(lambda f: abs(f) > 1e-3))
def test_inverse_stieltjes_inverts(law, fraction):
    w = inside(law, fraction)
    z = law.inverse_stieltjes(w)
    assert z < law.support[0] if w < 0 else z > law.support[1]
    assert law.stieltjes(z) == pytest.approx(w, rel=1e-9)


@every_fast_law
@given(fraction=st.floats(-0.9, 0.9), s=positive, m=st.floats(-3, 3))
def test_scaling_and_shift(law, fraction, s, m):
    w, moved = inside(law, fraction), law.scaled(s).shifted(m)
    assert moved.r_transform(w / s) == pytest.approx(s * law.r_transform(w) + m, rel=1e-9, abs=1e-9 * (1 + s))
    expected = [s ** (n + 1) * c + (m if n == 0 else 0) for n, c in enumerate(law.free_cumulants(6))]
    assert np.allclose(moved.free_cumulants(6), expected, rtol=1e-7, atol=1e-8 * (s + 1) ** 6)
    assert np.allclose(moved.support, s * np.array(law.support) + m)


@every_law
@example(p=[1.9646693e-20, 8.3687837e-66])
@example(p=[2.884068732283614e-17, 1.3849904005676983e-148])
@example(p=[0.0, 1e-18, 3.116417744793879e-296, 3.116417744793879e-296])
@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_cdf_is_monotone_and_quantile_inverts_it(law, p):
    p = np.sort(p)
    x = law.quantile(p)
    # Where equations are solved for every point, levels that differ by rounding may change places.
    solved, width = isinstance(law, SeparableLaw), law.support[1] - law.support[0]
    assert np.all(np.diff(x) >= -1e-9 * width * solved)
    assert np.all(np.diff(law.cdf(x)) >= -1e-13 * solved)
    assert np.all(law.cdf(x) >= p - 1e-9)
    assert np.all(law.cdf(x - 1e-6) <= p + 1e-3)
    assert law.cdf(law.support[0] - 1) == 0
    assert law.cdf(law.support[1]) == 1


@every_law
def test_moments_by_quadrature_and_series_of_r(law):
    assert np.allclose([Law.moment(law, n) for n in range(7)], [law.moment(n) for n in range(7)], rtol=1e-7)
    assert np.allclose(
        law.free_cumulants(6), free_cumulants_from_moments([law.moment(n) for n in range(1, 7)]), atol=1e-7
    )
    assert law.r_transform(0.0) == pytest.approx(law.mean)
    w = 1e-4
    assert law.r_transform(w) == pytest.approx(law.mean + w * law.variance, abs=1e-6)


@every_law
def test_stieltjes_is_the_integral(law):
    width = law.support[1] - law.support[0]
    for z in (law.support[1] + 0.3 * width, law.support[0] - width, law.mean + 0.5j * width, law.mean - 0.4j * width):
        panels = law._panels
        value = np.sum(panels.masses / (z - panels.points)) + sum(m / (z - x) for x, m in law.atoms)
        slope = -np.sum(panels.masses / (z - panels.points) ** 2) - sum(m / (z - x) ** 2 for x, m in law.atoms)
        assert law.stieltjes(z) == pytest.approx(value, rel=1e-8)
        assert law.stieltjes_derivative(z) == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("law", [SEMICIRCLE, MarchenkoPastur(0.3, 1.7), MarchenkoPastur(0.9)])
def test_density_law_finds_the_closed_form(law):
    copy = DensityLaw(law._pdf, law.support)
    assert np.allclose(copy.edge_stieltjes, law.edge_stieltjes, rtol=1e-8)
    for distance in (1.0, 1e-2, 1e-4, 1e-6, 1e-9):
        z = law.support[1] + distance
        assert copy.stieltjes(z) == pytest.approx(law.stieltjes(z), rel=1e-10)
    x = np.linspace(law.support[0] - 0.1, law.support[1] + 0.1, 41)
    for height in (1.0, 0.1, 1e-3, -1e-6, 1e-9):
        assert np.allclose(copy.stieltjes(x + 1j * height), law.stieltjes(x + 1j * height), rtol=1e-10)
    assert np.allclose(copy.cdf(x), law.cdf(x), atol=1e-12)
    assert np.allclose(copy.free_cumulants(6), law.free_cumulants(6), rtol=1e-9, atol=1e-9)


class UniformByItsTransforms(Law):
    """No more than what every law must supply; inverse, R-transform and outliers are the base's."""

    support = (-1.0, 1.0)
    edge_stieltjes = (-np.inf, np.inf)

    def _pdf(self, x):
        return np.full_like(x, 0.5)

    def _stieltjes(self, z):
        return np.log((z + 1) / (z - 1)) / 2

    def _stieltjes_derivative(self, z):
        return 1 / (1 - z * z)


def test_a_law_that_supplies_its_transforms_alone():
    law = UniformByItsTransforms()
    w = np.array([-8.0, -3.0, -0.3, 1e-4, 0.1, 0.5, 2.0, 8.0])
    assert np.allclose(law.inverse_stieltjes(w), 1 / np.tanh(w), rtol=1e-12)
    for theta in (-1.7, 0.1, 0.5, 2.0, 1e4):
        location, overlap = law.outlier(theta)
        assert location == pytest.approx(1 / np.tanh(1 / theta), rel=1e-12)
        assert overlap == pytest.approx((theta * np.sinh(1 / theta)) ** -2, rel=1e-6)


def test_known_values():
    assert SEMICIRCLE.pdf(0.4) == pytest.approx(1 / (1.3 * np.pi))
    assert UNIFORM.stieltjes(2.0) == pytest.approx(np.log(3) / 2, abs=1e-13)
    assert UNIFORM.r_transform(2.0) == pytest.approx(1 / np.tanh(2) - 0.5, abs=1e-12)
    assert ARCSINE.stieltjes(2.5) == pytest.approx(1 / 1.5, abs=1e-12)
    assert TRIANGLE.edge_stieltjes == pytest.approx((-2 * np.log(2), 2 * np.log(2)), abs=1e-10)
    assert UNIFORM.edge_stieltjes == ARCSINE.edge_stieltjes == (-np.inf, np.inf)
    assert MarchenkoPastur(1.0).edge_stieltjes[0] == -np.inf
    assert MarchenkoPastur(4.0).cdf([-0.1, 0.0, 0.5]).tolist() == [0.0, 0.75, 0.75]
    assert MarchenkoPastur(4.0).quantile([0.1, 0.75]).tolist() == [0.0, 0.0]
    assert PointMass(2.0).scaled(3).shifted(1).inverse_stieltjes(0.5) == 9.0
    assert PointMass(2.0).cdf([1.9, 2.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("lower", [-0.5, 4e3, -3e4])
@pytest.mark.parametrize(
    ("left", "right"), [(1.5, 0.5), (0.5, 0.48), (0.4, 0.15), (0.022, 0.7), (0.07, 0.018), (0.0, 0.3)]
)
def test_edge_values_of_powers(left, right, lower):
    upper = lower + 3.0
    scale = 3.0 ** -(left + right + 1) / beta(left + 1, right + 1)
    law = DensityLaw(lambda x: scale * (x - lower) ** left * (upper - x) ** right, (lower, upper))
    of_edges = [
        np.inf if power < 0.02 else scale * 3.0 ** (left + right) * beta(power, other + 1)  # of 1/d times the density
        for power, other in ((left, right), (right, left))
    ]
    assert law.edge_stieltjes == pytest.approx((-of_edges[0], of_edges[1]), rel=1e-5)


def test_the_edge_value_of_a_density_that_is_constant_only_next_to_its_edge_is_infinite():
    total = 1e-8**1.5 + (1 - 1e-8**1.5) / 1.5
    law = DensityLaw(lambda x: np.sqrt(np.maximum(x, 1e-8)) / total, (0.0, 1.0))
    assert law.edge_stieltjes == (-np.inf, np.inf)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
def test_r_transform_law_finds_marchenko_pastur(ratio):
    law, exact = RTransformLaw(lambda w: 1 / (1 - ratio * w)), MarchenkoPastur(ratio)
    x = np.linspace(*exact._interval, 52)[1:-1]
    assert np.allclose(law.support, exact.support, atol=1e-10)
    assert np.allclose(law.edge_stieltjes, exact.edge_stieltjes, rtol=1e-9)
    assert np.allclose(np.array(law.atoms), np.array(exact.atoms), atol=1e-9)
    assert np.allclose(law.pdf(x), exact.pdf(x), atol=1e-10)
    assert np.allclose(law.cdf(x), exact.cdf(x), atol=1e-7)
    z = np.array([exact.support[1] + 0.1, -0.1 - 0.2j, 1 + 1e-3j])
    assert np.allclose(law.stieltjes(z), exact.stieltjes(z), rtol=1e-10)


def test_r_transform_without_a_law_is_refused():
    with pytest.raises(ValueError, match="not the R-transform"):
        RTransformLaw(lambda w: w + 0.9 * w**3 - 2 * w**2)
    with pytest.raises(ValueError, match="variance"):
        RTransformLaw(lambda w: -w)


def test_cumulants_in_exact_numbers():
    moments = tuple(map(Fraction, (1, 3, 7, 20, 51)))
    assert moments_from_free_cumulants(free_cumulants_from_moments(moments)) == moments
    c = sympy.symbols("c1:5")
    m = [sympy.expand(value) for value in moments_from_free_cumulants(c)]
    assert m[3] == sympy.expand(c[3] + 4 * c[0] * c[2] + 2 * c[1] ** 2 + 6 * c[0] ** 2 * c[1] + c[0] ** 4)
    assert moments_from_free_cumulants([1] * 6) == (1, 2, 5, 14, 42, 132)  # free Poisson: Catalan again


def test_the_mass_of_a_density_may_be_off_by_rounding():
    assert DensityLaw(lambda x: 0.5 + 4e-9, (-1.0, 1.0)).cdf(0.0) == pytest.approx(0.5)


def test_laws_are_values():
    assert Semicircle(2.0) == Semicircle(2.0, 0.0)
    assert hash(MarchenkoPastur(0.5)) == hash(MarchenkoPastur(0.5))
    assert AtomicLaw([1.0, 0.0], [0.25, 0.75]) == AtomicLaw((0.0, 1.0), (0.75, 0.25))
    assert isinstance(MarchenkoPastur(0.5).scaled(2), MarchenkoPastur)
    assert SEMICIRCLE.scaled(2).shifted(1) == Semicircle(2.6, 1.8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Semicircle(0.0), "sigma must be positive and finite, got 0.0"),
        (lambda: Semicircle(1.0, np.nan), "center must be finite, got nan"),
        (lambda: MarchenkoPastur(-1.0), "ratio must be positive and finite, got -1.0"),
        (lambda: AtomicLaw((0.0, 1.0), (0.5, 0.6)), r"masses must sum to 1, got 1\.1"),
        (lambda: AtomicLaw((0.0, 0.0), (0.5, 0.5)), "locations must differ"),
        (lambda: AtomicLaw((0.0, 1.0), (1.5, -0.5)), "mass must be positive and finite, got -0.5"),
        (lambda: Affine(ARCSINE, -2.0), "scale must be positive and finite, got -2.0"),
        (lambda: Affine(ARCSINE, 1.0, np.inf), "shift must be finite, got inf"),
        (
            lambda: DensityLaw(lambda x: 0.6, (-1, 1)),
            r"must integrate to 1, got 1\.2.*: widen the peak, or give quantiles",
        ),
        (lambda: DensityLaw(lambda x: 0.5 + 7e-9, (-1, 1)), r"must integrate to 1, got 1\.00000001"),
        (lambda: DensityLaw(lambda x: 1.0, (1.0, 1.0)), "support must have L < U"),
        (lambda: DensityLaw(lambda x: x, (-1, 1)), "must be non-negative, got -0.99"),
        (lambda: DensityLaw(lambda x: np.full_like(x, np.nan), (-1, 1)), "must be finite, got nan"),
        (lambda: DensityLaw(lambda x: np.exp(-x), (0, np.inf), "exponential"), "exponential: needs a compact support"),
        (lambda: SEMICIRCLE.scaled(-1.0), "s must be positive and finite, got -1.0"),
        (lambda: SEMICIRCLE.moment(-1), "integer >= 0, got -1"),
        (lambda: SEMICIRCLE.quantile(1.5), r"p must lie in \[0, 1\], got \[1.5\]"),
        (lambda: SEMICIRCLE.pdf(np.nan), "x must be a number, got nan"),
        (lambda: SEMICIRCLE.stieltjes(0.5), r"off the support \[-2.2, 3.0\], got \[0.5\]"),
        (lambda: SEMICIRCLE.inverse_stieltjes(2.0), r"between g\(L-\) = -0.769.* and g\(U\+\) = 0.769.*, got \[2.\]"),
        (lambda: SEMICIRCLE.inverse_stieltjes(SEMICIRCLE.edge_stieltjes[1]), "must lie strictly between"),
        (lambda: SEMICIRCLE.inverse_stieltjes(SEMICIRCLE.edge_stieltjes[0]), "must lie strictly between"),
        (lambda: SEMICIRCLE.inverse_stieltjes(0.0), "must not be 0"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@every_law
def test_a_moved_law_is_the_law_of_the_moved_variable(law):
    """X -> 2 X - 3 and X -> 2 (X - 3), each method against the same method of X."""
    for moved, shift in ((law.scaled(2.0).shifted(-3.0), -3.0), (law.shifted(-3.0).scaled(2.0), -6.0)):
        lower, upper = law.support
        x = np.linspace(lower, upper, 13)[1:-1]
        assert moved.support == pytest.approx((2 * lower + shift, 2 * upper + shift))
        assert moved.edge_stieltjes == pytest.approx(tuple(g / 2 for g in law.edge_stieltjes))
        assert moved.thresholds == pytest.approx(tuple(2 * t for t in law.thresholds), abs=1e-12)
        assert np.allclose(moved.atoms, [(2 * a + shift, m) for a, m in law.atoms])
        assert np.allclose(moved.pdf(2 * x + shift), np.asarray(law.pdf(x)) / 2)
        assert np.allclose(moved.cdf(2 * x + shift + 1e-9), law.cdf(x + 1e-9), atol=1e-7)
        assert np.allclose(
            moved.quantile([0.0, 0.1, 0.6, 1.0]), 2 * law.quantile([0.0, 0.1, 0.6, 1.0]) + shift, atol=1e-7
        )
        assert moved.mean == pytest.approx(2 * law.mean + shift)
        assert moved.variance == pytest.approx(4 * law.variance)
        assert moved.moment(3) == pytest.approx(
            8 * law.moment(3) + 12 * shift * law.moment(2) + 6 * shift**2 * law.mean + shift**3
        )
        z = np.array([upper + 0.5, lower - 0.1, 1 + 1j, 1 - 1j])
        assert np.allclose(moved.stieltjes(2 * z + shift), law.stieltjes(z) / 2)
        assert np.allclose(moved.stieltjes_derivative(2 * z + shift), law.stieltjes_derivative(z) / 4)
        edges = np.array(moved.support)
        assert np.asarray(moved.stieltjes(edges)) == pytest.approx(np.array(moved.edge_stieltjes))


@every_law
def test_the_two_thresholds_are_the_inverses_of_the_two_edge_values(law):
    for threshold, g in zip(law.thresholds, law.edge_stieltjes, strict=True):
        assert threshold == pytest.approx(0.0 if np.isinf(g) else 1 / g, rel=1e-14)
    assert law.thresholds[0] <= 0 <= law.thresholds[1]


@every_law
def test_outliers_are_those_of_the_stieltjes_transform(law):
    """g(location) = 1 / theta and overlap = -1 / (theta^2 g'), well outside, at both ends, in scaled noise too."""
    width = law.support[1] - law.support[0]
    for side, threshold in zip((-1, 1), law.thresholds, strict=True):
        for theta in (threshold + side * 0.3 * width, threshold + side * 3 * width, side * 1e3 * width):
            for scale in (1.0, 0.2):
                location, overlap = law.outlier(scale * theta, scale)
                assert law.stieltjes(location / scale) == pytest.approx(1 / theta, rel=1e-9)
                slope = law.stieltjes_derivative(location / scale)
                assert overlap == pytest.approx(-1 / (theta**2 * slope), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-120, 1e-8, 1e6, 1e120])
def test_laws_by_function_know_no_unit(unit):
    """A density and an R-transform written down in other units than 1."""
    exact = MarchenkoPastur(0.25, unit)
    for law in (
        RTransformLaw(lambda w: unit / (1 - 0.25 * unit * w)),
        DensityLaw(lambda x: MarchenkoPastur(0.25).pdf(x / unit) / unit, exact.support),
    ):
        assert np.allclose(np.array(law.support) / unit, np.array(exact.support) / unit, atol=1e-9)
        assert np.allclose(np.array(law.thresholds) / unit, np.array(exact.thresholds) / unit, rtol=1e-7)
        for theta in (2.0, -1.0):
            assert law.outlier(unit * theta)[0] / unit == pytest.approx(exact.outlier(unit * theta)[0] / unit, rel=1e-9)
            assert law.outlier(unit * theta)[1] == pytest.approx(exact.outlier(unit * theta)[1], abs=1e-9)
        assert np.allclose(law.cdf(unit * np.array([0.3, 1.0, 2.0])), exact.cdf(unit * np.array([0.3, 1.0, 2.0])))


@pytest.mark.parametrize(
    "moment",
    [
        lambda: Semicircle(1e200).variance,
        lambda: Semicircle(1e100).moment(4),
        lambda: MarchenkoPastur(0.5, 1e200).moment(2),
        lambda: PointMass(1e200).moment(2),
        lambda: AtomicLaw((-1e200, 1e200), (0.5, 0.5)).variance,
        lambda: Affine(ARCSINE, 1e200).variance,
        lambda: DensityLaw(lambda x: 0.5e-200, (-1e200, 1e200)).variance,
        lambda: DensityLaw(lambda x: 0.5e-200, (-1e200, 1e200)).moment(3),  # infinite on either side
        lambda: Affine(MarchenkoPastur(0.5), 1e200).moment(3, about=1e200),
    ],
)
def test_moments_beyond_double_precision_are_one_line(moment):
    with pytest.raises(ValueError, match="exceeds double precision; rescale the law"):
        moment()


def test_orders_are_whole_numbers():
    for bad in (-1, 1.5, np.inf, np.nan):
        for ask in (
            SEMICIRCLE.moment,
            UNIFORM.moment,
            PointMass(1.0).moment,
            MarchenkoPastur(1.0).free_cumulants,
            UNIFORM.free_cumulants,
            Affine(ARCSINE).free_cumulants,
        ):
            with pytest.raises(ValueError, match="must be an integer >= 0"):
                ask(bad)


@pytest.mark.parametrize("ratio", [3.7e13, 101.0, 99.0, 0.0101, 0.0099])
@pytest.mark.parametrize("place", [-0.9, 0.3, 0.99])
def test_marchenko_pastur_of_extreme_ratios_is_its_closed_form(ratio, place):
    """Its band may be narrow compared with its location, so the numbers under the root are exact fractions."""
    x = Fraction(ratio + 1 + place * 2 * np.sqrt(ratio))
    under = float(4 * Fraction(ratio) - (x - Fraction(ratio) - 1) ** 2)
    expected = np.sqrt(under) / (2 * np.pi * ratio * float(x))
    assert MarchenkoPastur(ratio).pdf(float(x)) == pytest.approx(expected, rel=1e-11, abs=0.0)


def test_marchenko_pastur_beside_its_atom():
    """Just left of the atom at 0, of mass 1 - 1/2.5: g = 0.6 / z + O(1), where the plain root formula cancels."""
    for z in (-1e-12, -1e-9, -1e-6):
        assert MarchenkoPastur(2.5).stieltjes(z) * z == pytest.approx(0.6, rel=2 * abs(z) + 1e-12)


def test_transforms_of_points_by_hand():
    """At 2: g(z) = 1/(z - 2), g' = -1/(z - 2)^2, R = 2; at 0 and 2: g(3) = (1/3 + 1)/2, g'(3) = -(1/9 + 1)/2."""
    point, coin = PointMass(2.0), AtomicLaw((0.0, 2.0), (0.5, 0.5))
    assert point.stieltjes(5.0) == pytest.approx(1 / 3)
    assert point.stieltjes_derivative(5.0) == pytest.approx(-1 / 9)
    assert point.stieltjes_derivative(2.0 + 2.0j) == pytest.approx(0.25)
    assert point.r_transform(0.7) == 2.0
    assert coin.stieltjes(3.0) == pytest.approx(1 / 6 + 1 / 2)
    assert coin.stieltjes_derivative(3.0) == pytest.approx(-1 / 18 - 1 / 2)


def test_moments_of_a_point_about_another():
    assert PointMass(2.0).moment(3, about=0.5) == pytest.approx(1.5**3)
    assert AtomicLaw((0.0, 2.0), (0.5, 0.5)).moment(1, about=0.5) == pytest.approx(0.5)
    assert Semicircle(1.0, 2.0).moment(2, about=0.5) == pytest.approx(1 + 1.5**2)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.uint8, np.uint64, int])
def test_numbers_of_fewer_digits_are_taken_as_floats(kind):
    one, two = (kind(2.0), kind(1.0)) if issubclass(kind, int | np.integer) else (kind(0.3), kind(1.7))
    made = [
        (Semicircle(one, two), Semicircle(float(one), float(two))),
        (MarchenkoPastur(one, two), MarchenkoPastur(float(one), float(two))),
        (PointMass(one), PointMass(float(one))),
        (AtomicLaw((one, two), (0.5, 0.5)), AtomicLaw((float(one), float(two)), (0.5, 0.5))),
        (Semicircle().scaled(one).shifted(two), Semicircle().scaled(float(one)).shifted(float(two))),
        (MarchenkoPastur(0.5).shifted(one).scaled(two), MarchenkoPastur(0.5).shifted(float(one)).scaled(float(two))),
        (SeparableLaw(PointMass(1.0), PointMass(1.0), one), SeparableLaw(PointMass(1.0), PointMass(1.0), float(one))),
    ]
    for law, same in made:
        assert law == same
        for found, right in (
            (law.support, same.support),
            (law.thresholds, same.thresholds),
            (law.pdf(0.1), same.pdf(0.1)),
            (law.moment(3, about=one), same.moment(3, about=float(one))),
            (law.outlier(kind(20), one), same.outlier(20.0, float(one))),
        ):
            assert found == right
            assert isinstance(np.ravel(found)[0], np.float64)


@pytest.mark.parametrize(
    "law",
    [
        Semicircle(0.5, 1.0),
        MarchenkoPastur(0.5),
        AtomicLaw((-1.0, 2.0), (0.25, 0.75)),
        PointMass(2.0),
        FreeSum(Semicircle(), MarchenkoPastur(0.5)),
        MarchenkoPastur(0.5).shifted(1.0),
        DensityLaw(lambda x: 0.5, (-1.0, 1.0)),
        SeparableLaw(PointMass(1.0), AtomicLaw((1.0, 2.0), (0.5, 0.5)), 0.5),
    ],
)
def test_whole_numbers_may_be_floats(law):
    for n in (0, 1, 3):
        assert law.moment(float(n)) == law.moment(n)
        assert law.free_cumulants(float(n)) == law.free_cumulants(n)


def test_an_outlier_needs_a_scale_and_a_spike():
    for scale in (-1.0, 0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="scale must be positive and finite"):
            MarchenkoPastur(0.5).outlier(0.1, scale=scale)
    for spike in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="a spike must be finite"):
            MarchenkoPastur(0.5).outlier(spike)


@pytest.mark.parametrize(("lower", "width", "power"), [(50.0, 1.0, 0.4), (1.2, 0.4, 0.48), (-1.0, 1.0, 0.3)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_densities_that_grow_towards_an_edge_away_from_0(lower, width, power, side):
    """d^-a over the distance d, whose transform is hypergeometric: next to the edge rounding moves the points."""
    edge = lower if side > 0 else lower + width
    law = DensityLaw(
        lambda x: (1 - power) / width * (np.abs(x - edge) / width) ** -power, (lower, lower + width), "steep"
    )
    for place in (0.3 + 0.1j, 0.004 + 0.007j, 1e-5 + 1e-5j, -1e-3, -1e-6, 0.999 + 0.001j):
        z = edge + side * width * place
        distance = side * (z - edge)
        exact = side * hyp2f1(1.0, 1 - power, 2 - power, width / distance) / distance
        assert abs(law.stieltjes(z) / exact - 1) < 1e-10
    x = edge + side * width * np.array([1e-9, 1e-3, 0.4])
    below = (np.abs(x - edge) / width) ** (1 - power)
    assert law.cdf(x) == pytest.approx(below if side > 0 else 1 - below, abs=1e-12)
    assert law.mean == pytest.approx(edge + side * width * (1 - power) / (2 - power), rel=1e-13)


def test_edges_steeper_than_quadrature_resolves_are_refused():
    """x^-a on (0, 1) has the distribution function x^(1 - a)."""
    for power in (0.3, 0.5, 0.6):
        law = DensityLaw(lambda x, a=power: (1 - a) * x**-a, (0.0, 1.0))
        assert law.cdf(0.5) == pytest.approx(0.5 ** (1 - power), abs=1e-8)
    for interval, density in (
        ((0.0, 1.0), lambda x: 0.1 * x**-0.9),
        ((0.0, 2.0), lambda x: 0.12 * 2**-0.12 * x**-0.88),
    ):
        with pytest.raises(ValueError, match=r"steep: the mass of this density is known to .* only, .* power -1/2"):
            DensityLaw(density, interval, "steep")


def test_an_r_transform_with_a_cut_is_refused():
    """A fair coin plus a semicircle: the root of the coin changes its branch between the bands."""

    def coin_and_semicircle(w):
        return (np.sqrt(1 + 4 * w * w) - 1) / np.where(w == 0, 1, 2 * w) + 0.09 * w

    with pytest.raises(ValueError, match="not the R-transform of a law with a density"):
        RTransformLaw(coin_and_semicircle)


@pytest.mark.sample(3)
@pytest.mark.parametrize("scale", [1.0, 3.0, 1e-5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_atom_that_is_found_counts_at_its_place(side, scale):
    """R = 1 / (1 - 2 w): Marchenko-Pastur of ratio 2, with half its mass at 0, and its mirror image."""
    law = RTransformLaw(lambda w: side * scale / (1 - 2 * side * scale * w))
    expected = 0.5 if side > 0 else 1.0
    for one in (law, law.scaled(2.0), FreeSum(law, PointMass(0.0))):
        assert one.cdf(0.0) == pytest.approx(expected, abs=1e-9)
        assert one.cdf(-1e-6 * scale) == pytest.approx(expected - 0.5, abs=1e-6)
        assert abs(one.quantile(0.25 if side > 0 else 0.75)) < 1e-9 * scale
    assert law.shifted(0.3).cdf(0.3) == pytest.approx(expected, abs=1e-9)


def test_atoms_of_sums_count_at_the_sum_of_their_places():
    """0.1 + 0.2 is not 0.3 in double precision; 0.8 + 0.8 - 1 of the mass is there."""
    law = FreeSum(AtomicLaw((0.1, 5.0), (0.8, 0.2)), AtomicLaw((0.2, 7.0), (0.8, 0.2)))
    assert [law.cdf(x) for x in (0.3 - 1e-12, 0.3, 0.1 + 0.2)] == pytest.approx([0.0, 0.6, 0.6])


@pytest.mark.sample(1)
@pytest.mark.parametrize(("ratio", "place", "sign"), [(2.0, 5.0, 1), (4.0, -100.0, 1), (2.0, 1.0, -1)])
def test_an_atom_away_from_zero_is_refused_with_the_remedy_that_works(ratio, place, sign):
    def transform(w):
        return sign / (1 - sign * ratio * w)

    with pytest.raises(ValueError, match=rf"rounding next to the atom at {place:g} .*\.shifted\({place:g}\)") as caught:
        RTransformLaw(lambda w: transform(w) + place)
    assert "\n" not in str(caught.value)
    law = RTransformLaw(transform).shifted(place)
    ((location, mass),) = law.atoms
    assert (location, mass) == pytest.approx((place, 1 - 1 / ratio), abs=1e-9)
    edges = sorted(place + sign * edge for edge in (0.0, (1 + ratio**0.5) ** 2))
    assert law.support == pytest.approx(edges, abs=1e-9)
    assert law.mean == pytest.approx(place + sign)


def test_another_refusal_names_no_atom():
    with pytest.raises(ValueError, match="not the R-transform of a law") as caught:
        RTransformLaw(lambda w: w + w**3)
    assert "shifted" not in str(caught.value)


@pytest.mark.parametrize(
    "law",
    [
        Semicircle(),
        Semicircle(0.3, -7.0),
        MarchenkoPastur(0.3),
        MarchenkoPastur(1.0),
        MarchenkoPastur(3.0, 0.2),
        AtomicLaw((-1.0, 2.0), (0.4, 0.6)),
    ],
)
def test_quantiles_of_0_and_1_are_the_ends_of_the_support(law):
    """Next to an end the rounding of a distribution function is felt as its root."""
    assert (law.quantile(0.0), law.quantile(1.0)) == law.support
    assert law.quantile([1.0, 0.0]).tolist() == list(law.support)[::-1]
    assert law.quantile(1.0 - 1e-9) <= law.support[1]


@pytest.mark.parametrize(
    "atoms",
    [
        {0.0: 0.25, 1e-18: 0.5, 1.0: 0.25},
        {1e-9: 0.25, 1e-6: 0.5, 1e12: 0.25},
        {-1.0: 0.25, -1e-300: 0.5, 7.0: 0.25},
        {-1e300: 0.25, 5e-324: 0.5, 1e-5: 0.25},
        {-3.0: 0.25, -2.0: 0.5, 0.0: 0.25},
    ],
)
def test_quantiles_of_atoms_are_their_places(atoms):
    law, (first, second, third) = AtomicLaw(list(atoms), list(atoms.values())), sorted(atoms)
    assert law.quantile([0.0, 0.1, 0.25, 0.2500001, 0.5, 0.75, 0.7500001, 1.0]).tolist() == [
        *[first] * 3,
        *[second] * 3,
        *[third] * 2,
    ]
    assert law.quantile(0.5) == second


@pytest.mark.parametrize("p", [1e-150, 1e-100, 1e-20, 1e-12, 1e-8])
def test_quantiles_next_to_0_keep_their_digits(p):
    """At ratio 1 the mass below a small x is 2 sqrt(x) / pi."""
    assert MarchenkoPastur(1.0).quantile(p) == pytest.approx((np.pi * p / 2) ** 2, rel=1e-8, abs=0.0)
    assert MarchenkoPastur(1.0, 1e-5).quantile(p) == pytest.approx(1e-5 * (np.pi * p / 2) ** 2, rel=1e-8, abs=0.0)
    if p >= 1e-12:  # the accuracy of its distribution function
        assert DensityLaw(lambda x: 1.0, (0.0, 1.0)).quantile(p) == pytest.approx(p, rel=1e-10, abs=0.0)


@pytest.mark.parametrize(
    ("moved", "message"),
    [
        (lambda law: law.shifted(1e17), r"0.0 and 1.0 are equal to rounding when shifted by 1e\+17, both 1e\+17;"),
        (lambda law: law.shifted(-1e17), "0.0 and 1.0 are equal to rounding when shifted by -1e"),
        (lambda law: law.scaled(5e-324).scaled(0.25), "0.0 and 5e-324 are equal to rounding when scaled by 0.25"),
        (lambda law: law.scaled(1e308).scaled(10.0), "the location 1e.308 exceeds double precision when scaled by 10"),
        (lambda law: law.scaled(1e308).shifted(1e308), "the location 1e.308 exceeds double precision when shifted by"),
    ],
)
def test_atoms_that_cannot_be_moved_are_named_with_the_reason(moved, message):
    with pytest.raises(ValueError, match=message):
        moved(AtomicLaw((0.0, 1.0), (0.5, 0.5)))
    assert AtomicLaw((0.0, 1.0), (0.5, 0.5)).shifted(1e15).locations == (1e15, 1e15 + 1)
