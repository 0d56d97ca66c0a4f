"""Records of laws given by a density or an R-transform, of quadrature, of moments, and of what is refused."""

from fractions import Fraction
from functools import cache

import numpy as np
from laws_shown import distribution_of, ends_of, moments_of, outliers_of, r_transforms_of, transforms_of
from recording import Within, refused

from rmt import DensityLaw, MarchenkoPastur, RTransformLaw
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.panel_quadrature import Panels, graded_breaks, nodes_on

RATIO, ATOM = 0.4, 2.5
RESOLVED = np.array(
    [
        1.0 + 1e-3j,
        1e-3j,
        1.0 + 1e-4j,
        0.5 + 1e-3j,
        2.0 + 0j,
        0.999 + 2e-3j,
        0.001 + 2e-3j,
        0.9999 + 3e-4j,
        0.5 + 0.05j,
        0.02 + 0.02j,
    ]
)


@cache
def _beta():
    return DensityLaw(lambda x: 0.75 * (x - 1.0) * (3.0 - x), (1.0, 3.0), "parabola")


@cache
def _leaning():
    return DensityLaw(lambda x: 1.5 * np.sqrt(x), (0.0, 1.0), "root")


@cache
def _two_bands():
    def density(x):
        return np.where(np.abs(x) > 1.0, np.where(x > 0, 1.2, 0.3) * (np.abs(x) - 1.0) * (2.0 - np.abs(x)) * 4.0, 0.0)

    return DensityLaw(density, (-2.0, 2.0), "two bands")


@cache
def _given():
    return RTransformLaw(lambda w: 1.3 / (1 - RATIO * 1.3 * w), "ratio 0.4")


class _Unchecked(RTransformLaw):
    """A law whose mass is not added up, which takes long with a kernel."""

    def __post_init__(self):
        pass


@cache
def _with_kernel():
    return _Unchecked(lambda w: 0.8 / (1 - ATOM * 0.8 * w), "ratio 2.5")


def ends_of_densities():
    return [ends_of(law) for law in (_beta(), _leaning(), _two_bands())]


def distributions_of_densities():
    return distribution_of(_beta()), distribution_of(_leaning())


def distribution_over_a_gap():
    law = _two_bands()
    return law.cdf([-1.5, -1.0, 0.0, 0.9, 1.7]), law.quantile([0.1, 0.2, 0.20001, 0.7])


def transforms_of_densities():
    return [transforms_of(law, (0.3, -1e-3)) for law in (_beta(), _leaning(), _two_bands())]


def transforms_close_to_the_axis():
    z = np.array([1.7 + 1e-7j, 2.2 - 1e-4j, 2.9999 + 1e-6j])
    return _beta().stieltjes(z), _beta().stieltjes_derivative(z), _beta()._angle(np.array([1.7 + 1e-7j, 2.2 + 0j]))


def r_transforms_of_densities():
    return [r_transforms_of(law) for law in (_beta(), _leaning())]


def moments_of_densities():
    return moments_of(_beta()), moments_of(_leaning())


def outliers_of_densities():
    return [list(outliers_of(law, 0.6)) for law in (_beta(), _leaning())]


def outliers_next_to_the_threshold_of_a_density():
    below, above = _leaning().thresholds
    return [Within(1e-4, refused(_leaning().outlier, below * (1.0 + 10.0**-k))) for k in (2, 5, 8, 11)], above


def outliers_in_the_gap_of_a_density():
    return [_two_bands().outliers_in_gaps(spike) for spike in (-5.0, -1.1, -0.7, 0.4, 0.8, 9.0)]


def affine_laws_of_densities():
    law = _leaning().scaled(2.0).shifted(-3.0)
    return ends_of(law), distribution_of(law), moments_of(law), list(outliers_of(law))


def densities_that_are_refused():
    yield refused(DensityLaw, 3.0, (0.0, 1.0))
    for support in ((0.0,), (0.0, 1.0, 2.0), (0.0, np.inf), (1.0, 1.0), (2.0, 1.0), "ab", 1.0):
        yield refused(DensityLaw, lambda x: 1.0 + 0 * x, support, "flat")
    for density in (lambda x: 0.5, lambda x: 1.0 + 1e-7, lambda x: x - 0.5, lambda x: np.nan, lambda x: 1 / x):
        yield refused(DensityLaw, density, (0.0, 1.0))


def masses_just_inside_the_tolerance():
    return DensityLaw(lambda x: 1.0 + 9e-9, (0.0, 1.0)).edge_stieltjes


def edge_values_of_slow_powers():
    for power in (0.1, 0.4, 0.6, 1.0):
        law = DensityLaw(lambda x, power=power: (power + 1) * x**power, (0.0, 1.0))
        yield Within(1e-4, law.edge_stieltjes)
        mirrored = DensityLaw(lambda x, power=power: (power + 1) / 2 * ((3 - x) / 2) ** power, (1.0, 3.0))
        yield Within(1e-4, mirrored.edge_stieltjes), Within(1e-4, mirrored.thresholds)


def ends_of_transforms():
    law = _with_kernel()
    return (
        _given().support,
        _given().edge_stieltjes,
        _given().atoms,
        law.support,
        law.edge_stieltjes,
        law.thresholds,
        law.atoms,
    )


def distributions_of_transforms():
    law = _given()
    return law.pdf([0.5, 1.1, 3.0]), law.cdf([0.3, 1.1, 2.9]), _with_kernel()._pdf(np.array([0.7, 3.0]))


def transforms_of_transforms():
    return [transforms_of(law) for law in (_given(), _with_kernel())]


def r_transforms_and_outliers_of_transforms():
    for law in (_given(), _with_kernel()):
        yield r_transforms_of(law), list(outliers_of(law, 1.5)), law.variance_scale, law._atom_errors


def outliers_in_the_gap_above_the_kernel_of_a_transform():
    return [(_with_kernel().outliers_in_gaps(s), MarchenkoPastur(ATOM, 0.8).outliers_in_gaps(s)) for s in (0.3, -1.0)]


def outliers_inside_the_support_of_a_transform():
    spikes = (0.02, 0.1, 0.4, 0.8, 1.2, 1.6, -0.05, -0.2, -0.6, 5.0)
    return [[law.outliers_in_gaps(spike) for spike in spikes] for law in (_given(), _with_kernel())]


def transforms_that_are_refused():
    yield refused(RTransformLaw, 1.0)
    yield refused(RTransformLaw, lambda w: 2.0, "a point")
    yield refused(RTransformLaw, lambda w: -w, "negative variance")
    yield refused(RTransformLaw, lambda w: w - w**3, "not a law")


def a_transform_in_small_units():
    law = RTransformLaw(lambda w: 1e-60 * w, "small")
    return law.support, law.variance_scale


def break_points_and_nodes():
    breaks = graded_breaks(3, levels=4)
    points, weights = nodes_on(np.array([0.0, 0.5, 2.0]))
    return breaks, len(graded_breaks(16)), points[:, [0, 7, 19]], weights[:, [0, 7, 19]], weights.sum(axis=1)


def panels_of_a_density():
    panels = Panels.of(lambda x: 2.0 * x, (0.0, 1.0))
    z = np.array([2.0 + 0j, -0.5 + 0.1j])
    return (
        *(panels.total, panels.error < 1e-10, panels.masses.shape, panels.cdf(np.array([0.0, 0.3, 1.0]))),
        *(panels.cauchy(z), panels.cauchy(z, 2), panels.angle(z), panels.resolves(RESOLVED)),
        panels.pole(np.array([0.3 + 0.1j, 1.5])),
    )


def panels_are_halved_where_a_density_bends():
    panels = Panels.of(lambda x: np.where(x < 0.3, 1.0, 2.0), (0.0, 1.0), tolerance=1e-4)
    few = Panels.of(lambda x: np.where(x < 0.3, 1.0, 2.0), (0.0, 1.0), tolerance=1e-4, widest=0)
    return len(panels.points), panels.total, len(few.points), few.error


def errors_of_panels_add_up():
    rough = Panels.of(lambda x: np.where(np.abs(x - 0.5) < 0.2, 1.0, 2.0), (0.0, 1.0), tolerance=1e-4, widest=1)
    return rough.error, rough.total, len(rough.points)


def panels_find_a_band_between_the_nodes():
    def below(x):
        return x + np.where(x > 0.500001, 0.25, 0.0)

    panels = Panels.of(lambda x: np.ones_like(x), (0.0, 1.0), below=below)
    return panels.total, panels.cdf(np.array([0.4, 0.6]))


def moments_and_cumulants():
    cumulants = (1.5, 2.0, -0.5, 0.25, 3.0, 0.0)
    moments = moments_from_free_cumulants(cumulants)
    return moments, free_cumulants_from_moments(moments), free_cumulants_from_moments(cumulants)


def moments_and_cumulants_of_fractions():
    halves = [Fraction(1, 2), Fraction(1, 3), Fraction(-2, 5), Fraction(7)]
    yield [str(one) for one in moments_from_free_cumulants(halves)]
    yield [str(one) for one in free_cumulants_from_moments(halves)], moments_from_free_cumulants(())
