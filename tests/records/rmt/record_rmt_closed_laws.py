"""Records of laws in closed form: both ends, kernels, transforms, moments, spikes, units, and what is refused."""

import numpy as np
from laws_shown import arguments_of, distribution_of, ends_of, moments_of, outliers_of, r_transforms_of, transforms_of
from recording import refused

from rmt import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
from rmt.laws import Affine

CIRCLE = Semicircle(0.7, -1.3)
TALL, FLAT, SQUARE = MarchenkoPastur(0.3, 1.7), MarchenkoPastur(2.6, 0.6), MarchenkoPastur(1.0, 1.4)
NARROW, WIDE = MarchenkoPastur(2e-3, 1.2), MarchenkoPastur(400.0, 0.8)
THREE = AtomicLaw((2.0, -1.0, 0.5), (0.5, 0.2, 0.3))
LAWS = (CIRCLE, TALL, FLAT, SQUARE, NARROW, WIDE, THREE, PointMass(-0.4))


def ends():
    return [ends_of(law) for law in LAWS]


def densities_and_distributions():
    return [distribution_of(law) for law in LAWS]


def transforms():
    return [transforms_of(law) for law in LAWS]


def transforms_inside_are_refused_and_at_the_ends_are_limits():
    for law in LAWS:
        lower, upper = law.support
        for z in (lower, upper, (lower + upper) / 2, np.inf, complex(lower, 0.0), [lower, upper], lower + 0.0j):
            yield refused(law.stieltjes, z), refused(law.stieltjes_derivative, z)


def transforms_far_away_are_those_of_a_point():
    for law in (CIRCLE, TALL, THREE):
        yield law.stieltjes([1e18, -1e200]) * 1e18, law.stieltjes_derivative([1e18, -1e120]) * 1e36
        for z in (1e18 + 1e19j, 0.5 + 1e18j, 1e200j, -1e18 + 3j, 0.5 + 3e16j, 3e16):
            yield law.stieltjes(z) * z, law.stieltjes_derivative(z) * z * z if abs(z) < 1e100 else None


def r_transforms():
    return [r_transforms_of(law) for law in LAWS]


def r_transforms_at_0_and_at_the_borders():
    for law in (CIRCLE, TALL, FLAT):
        left, right = law.edge_stieltjes
        for w in (0.0, left, right, np.nextafter(right, 0.0), 1.001 * right, [0.1, 2.0 * right]):
            yield refused(law.r_transform, w), refused(law.inverse_stieltjes, w)


def moments():
    return [moments_of(law) for law in LAWS]


def outliers_at_two_scales():
    return [[list(outliers_of(law, scale)) for scale in (1.0, 0.4)] for law in LAWS]


def outliers_at_their_thresholds():
    for law in (CIRCLE, TALL, FLAT):
        for threshold in law.thresholds:
            for factor in (1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-3):
                yield refused(law.outlier, factor * threshold)


def outliers_in_gaps_of_each_law():
    for law in LAWS:
        for spike in (-2.0, -0.3, 0.25, 1.4, 3.0):
            yield law.outliers_in_gaps(spike), law.outliers_in_gaps(spike, 0.5)


def outliers_in_the_gap_above_a_kernel():
    least = FLAT.entry_variance * (FLAT.ratio - np.sqrt(FLAT.ratio))
    return [FLAT.outliers_in_gaps(factor * least) for factor in (0.01, 0.5, 0.999, 1.001)]


def spikes_that_are_none():
    for spike, scale in ((0.0, 1.0), (np.inf, 1.0), (2.0, 0.0), (2.0, -1.0), ("2", 1.0), (2.0, np.inf)):
        yield refused(CIRCLE.outlier, spike, scale), refused(CIRCLE.outliers_in_gaps, spike, scale)


def scaled_and_shifted():
    for law in LAWS:
        for moved in (law.scaled(2.5), law.shifted(-0.6), law.scaled(0.5).shifted(1.5).scaled(2.0)):
            yield type(moved).__name__, moved.support, moved.free_cumulants(3), moved.atoms, moved.cdf(moved.mean)


def scales_and_shifts_that_are_none():
    for law in LAWS:
        for wrong in (0.0, -1.0, np.inf, np.nan, "1"):
            yield refused(law.scaled, wrong), refused(law.shifted, wrong if wrong else np.nan)


def affine_laws():
    law = FLAT.shifted(-0.9).scaled(1.5)
    return (
        *(ends_of(law), distribution_of(law), transforms_of(law), r_transforms_of(law), moments_of(law)),
        *(list(outliers_of(law, 0.7)), law.outliers_in_gaps(0.5), law._atom_errors, law._size, law._interval),
    )


def angles_above_and_on_the_axis():
    for law in LAWS:
        lower, upper = law.support
        z = np.array([lower - 1.0, lower + 0.3, upper + 0.5]) + 1j * np.array([0.0, 0.4, 0.0])
        yield law._angle(z), law._angle(z + 0.2j)


def overlaps_over_the_whole_range():
    return [law._overlap(arguments_of(law, np.array([-1.0, -0.5, 1e-6, 0.3, 1.0]))) for law in LAWS]


def overlaps_at_large_arguments():
    return TALL._overlap(np.array([-(2.0**520), 2.0**499, -1e3])), TALL._overlap(np.array([1 / (0.3 * 1.7)]))


def laws_in_extreme_units():
    for law in (Semicircle(1e-120), Semicircle(1e150, 1e151), MarchenkoPastur(0.5, 1e-150), MarchenkoPastur(1e-8)):
        size = law.support[1]
        yield [one / size for one in (*law.support, law.mean, law.variance / size, *law.quantile([0.1, 0.6]))]
        yield size / 10.0 ** round(np.log10(size)), refused(law.moment, 4)


def sizes_that_are_refused():
    for wrong in (0.0, -1.0, np.inf, np.nan, "1", None, 1e308):
        yield refused(Semicircle, wrong), refused(MarchenkoPastur, wrong), refused(MarchenkoPastur, 0.5, wrong)
    for centre in (np.inf, np.nan, "0", 1.7e308):
        yield refused(Semicircle, 1e307, centre), refused(PointMass, centre)


def atoms_that_are_refused():
    for places, masses in (
        *(
            ((1.0, 2.0), (1.0,)),
            ((), ()),
            ((1.0, 1.0), (0.5, 0.5)),
            ((1.0, 2.0), (0.5, 0.4)),
            ((1.0, 2.0), (1.5, -0.5)),
        ),
        *((1.0, 1.0), ((1.0,), (1.0,)), ((1.0, np.inf), (0.5, 0.5)), ((-1e308, 1e308), (0.5, 0.5))),
        *(((0.0, 1.0), (0.5, 0.5 + 2e-12)), ((0.0, 1.0), (0.5, 0.5 + 5e-13)), ((0.0, 1.0), (1.0, 0.0)), ("ab", (1,))),
    ):
        yield refused(AtomicLaw, places, masses)


def atoms_that_a_move_makes_equal():
    close = AtomicLaw((1.0, 1.0 + 1e-15, 3.0), (0.2, 0.3, 0.5))
    yield refused(close.shifted, 1e3), refused(close.scaled, 1e308), refused(close.scaled, 2.0)


def moments_that_are_refused():
    for law in (CIRCLE, THREE, PointMass(3.0), PointMass(-1e200)):
        for n in (-1, 1.5, "2", np.inf, 2.0):
            yield refused(law.moment, n), refused(law.free_cumulants, n)
        yield refused(law.moment, 2, np.nan), refused(law.moment, 1, "0")


def levels_and_points_that_are_refused():
    masked = np.ma.masked_array([0.1, 0.2], [True, False])
    for wrong in (-0.1, 1.1, np.nan, "a", [0.5, 2.0], 0.5j, [[0.25], [0.5]], masked, None):
        yield refused(CIRCLE.quantile, wrong), refused(CIRCLE.cdf, wrong), refused(CIRCLE.pdf, wrong)


def quantiles_reach_atoms_at_their_levels():
    for law in (THREE, FLAT, PointMass(2.0)):
        masses = np.cumsum([mass for _, mass in law.atoms])[:2]
        yield law.quantile(np.clip([*masses, *(masses - 1e-9), *(masses + 1e-9)], 0.0, 1.0))
        yield [law.cdf([place - 1e-9, place, place + 1e-9]) for place, _ in law.atoms]


class _Misled(Semicircle):
    """A law whose distribution function is too high next to its lower end, or too low next to its upper one."""

    def _continuous_cdf(self, x):
        lower, upper = self.support
        most = 2e-3 * (upper - lower) * abs(self._stieltjes(np.array([lower + 1e-3j * (upper - lower)])).imag)
        beyond = np.abs(super()._continuous_cdf(x) + self.excess[0] * most * (x < 0) - self.excess[1] * most * (x > 0))
        return np.where(x <= lower, 0.0, np.where(x >= upper, 1.0, beyond))


def bands_that_do_not_add_up():
    for factor in (0.3, 0.6, 0.9, 1.1, 1.5, 3.0):
        for excess in ((factor, 0.0), (0.0, factor)):
            law = _Misled(1.0)
            law.__dict__["excess"] = excess
            yield refused(law.cdf, -0.5)


def distribution_functions_that_are_wrong():
    law = Semicircle(1.0)
    for places, mass in (
        *(
            ((0.0, 1.0), (0.2, 0.1)),
            ((0.0, 1.0), (0.2, 0.2 - 9e-7)),
            ((0.0, 1.0), (0.2, 0.2 - 2e-6)),
            ((0.0, 0.1), (-2e-6, 1)),
        ),
        *(
            ((0.0, 0.1), (-9e-7, 1)),
            ((0.0, 0.1), (0.5, 1 + 9e-7)),
            ((0.0, 0.1), (0.5, 1 + 2e-6)),
            ((1.0, 0.0), (0.3, 0.2)),
        ),
        *(((0.0, 1e-15), (0.2, 0.1)), ((0.0, 1e-13), (0.2, 0.1))),
    ):
        yield refused(law._orderly, np.array(places), np.array(mass))
    for level in (0.5, 0.5 + 9e-7, 0.5 + 2e-6):
        yield refused(law._reaching, np.array([level]), np.array([0.0]))


class _Known(AtomicLaw):
    """Atoms whose places are known to a millionth, or to two."""

    @property
    def _atom_errors(self):
        return (1e-6, 2e-6)


def atoms_that_are_known_to_their_errors():
    law, points = _Known((-1.0, 1.0), (0.3, 0.7)), 1e-6 * np.array([-2.2, -1.8, -1.1, -0.9, 0.0, 0.9])
    yield law.cdf(-1.0 + points), law.cdf(1.0 + points)
    for scale, shift in ((1.0, 0.0), (2.0, 3e9), (0.5, -4e9)):
        moved = law.scaled(scale).shifted(shift)
        yield np.array(Affine(law, scale, shift)._atom_errors) / 1e-6, type(moved).__name__
    yield np.array(FLAT.shifted(-0.9).scaled(1.5)._atom_errors) / 1e-16, FLAT.shifted(-3.0)._size


def ends_are_quantiles():
    for law in (CIRCLE, TALL, FLAT, THREE):
        yield law.quantile(0.0) == law.support[0], law.quantile(1.0) == law.support[1]
        yield law.quantile([0.0, 1.0]) - np.array(law.support)


def shapes_are_kept():
    x = np.array([[0.4, 0.9], [1.1, 2.0]])
    return CIRCLE.pdf(-1.0), TALL.cdf(x), TALL.stieltjes(x + 1j), FLAT.r_transform(-x), TALL.quantile(np.array(0.5))


def sizes_by_the_largest_modulus():
    for law in (Semicircle(1.5), MarchenkoPastur(0.5, 2.0)):
        for one in (law, law.shifted(-7.0), law.shifted(-1.0).scaled(3.0), law.shifted(4.0)):
            yield one._size, one.support
