"""Records of comparisons with predictions, of distances of spectra from laws, and of the Tracy-Widom law."""

import numpy as np
from recording import refused

from rmt import AtomicLaw, Comparison, MarchenkoPastur, Semicircle, TracyWidom1, distribution_distance
from rmt.tracy_widom import _determinant, _left_tail, _table

SAMPLE = Comparison.from_sample("edge", [2.0, 2.5, 1.0, 2.2], 2.4)
THEORY = Comparison.from_theory("edge", 2.1, 2.0, 0.04)
LAW = TracyWidom1()


def comparisons():
    for one in (SAMPLE, THEORY, Comparison.from_sample("two", [1.0, -3.0], -1.0)):
        yield one, one.deviation, str(one)
        yield [(one.interval(level), one.agrees(level)) for level in (1e-6, 0.05, 0.5, 0.9)], one.interval()


def borders_of_agreement():
    for error in (0.05, 0.051, 0.052, 0.06):
        yield (
            Comparison.from_theory("x", 2.1, 2.0, error).agrees(0.05),
            Comparison.from_theory("x", 1.9, 2.0, error).agrees(),
        )
    for predicted in (2.4, 3.5, 5.5, 12.0):
        one = Comparison.from_sample("x", [2.0, 2.5, 1.0, 2.2], predicted)
        yield one.agrees(0.05), one.agrees(1e-3), one.agrees(), one.deviation


def levels_that_are_refused():
    for level in (0.0, 1.0, 0.999, 1e-300, 9e-301, -1.0, np.nan, "a"):
        yield refused(THEORY.interval, level), refused(SAMPLE.agrees, level)


def samples_of_any_size():
    for sample in (
        [1.0, 1.0],
        [1.0, 1.0 + 1e-12],
        [1e200, 3e200],
        [[1.0, 2.0], [3.0, 5.0]],
        range(5),
        [1e-200, 2e-200],
    ):
        one = Comparison.from_sample("s", sample, 2.0)
        size = abs(one.observed)
        yield one.observed / size, one.standard_error / size, one.draws, one.source


def samples_that_are_refused():
    for sample, predicted in (([1.0], 1.0), ([], 1.0), ([1.0, np.nan], 1.0), ("ab", 1.0), ([1.0, 2.0], "a")):
        yield refused(Comparison.from_sample, "s", sample, predicted)
    for given in ((1.0, 1.0, 0.0), (1.0, 1.0, -1.0), (1.0, 1.0, np.inf), ("a", 1.0, 1.0), (1.0, None, 1.0)):
        yield refused(Comparison.from_theory, "t", *given)


def deviations_at_rounding():
    for observed, predicted, error in (
        *((1.0, 1.0, 0.0), (1.0 + 4e-16, 1.0, 0.0), (1.0 + 2e-15, 1.0, 0.0), (1.0 - 2e-15, 1.0, 0.0)),
        *((1.0 + 8e-16, 1.0, 1e-16), (1.0 + 8e-16, 1.0, 1e-15), (np.inf, np.inf, 1.0), (np.inf, 1.0, 1.0)),
        *((-np.inf, 1.0, 1.0), (1.0, np.inf, 1.0), (0.0, 0.0, 0.0), (2.0, 1.0, 0.5), (1.0, 2.0, 0.5)),
    ):
        yield Comparison("d", predicted, observed, error, "theory", 1).deviation


def distances_of_spectra():
    for values in ([0.1], [-1.0, 0.0, 0.5], [-3.0, 3.0], [[0.2, 0.3], [0.2, -1.0]], np.linspace(-1.0, 2.0, 7)):
        yield distribution_distance(values, Semicircle(0.7, 0.1)), distribution_distance(values, MarchenkoPastur(0.5))


def distances_from_atoms():
    two = AtomicLaw((-1.0, 1.0), (0.25, 0.75))
    close = AtomicLaw((1.0, 1.0 + 1e-13, 3.0), (0.2, 0.3, 0.5))
    for values in ([-1.0, 1.0, 1.0, 1.0], [-1.0 + 1e-12, 1.0 - 1e-12], [-1.0 + 3e-12, 1.0], [1.0, 5.0], [-1.0, -1.0]):
        yield distribution_distance(values, two), distribution_distance(values, close)
    yield (
        distribution_distance([1.0, 1.0, 1.0 + 1e-13, 3.0], close),
        distribution_distance([0.0, 0.0, 2.0], AtomicLaw((0.0,), (1.0,))),
    )


class _Known(AtomicLaw):
    """Atoms whose places are known to a millionth."""

    @property
    def _atom_errors(self):
        return (1e-6, 2e-6)


def distances_from_atoms_with_errors():
    for offset in (0.0, 0.9e-6, 1.1e-6, 1.9e-6, 2.1e-6):
        law = _Known((-1.0, 1.0), (0.5, 0.5))
        yield distribution_distance([-1.0 - offset, 1.0 + offset], law)
        yield distribution_distance([-1.0 + offset, 1.0 - offset], law)


def distances_next_to_a_kernel():
    law, affine = MarchenkoPastur(2.0), MarchenkoPastur(2.0).shifted(0.0).scaled(1.5)
    for size in (0.0, 1e-13, -1e-13, 1e-10, -1e-10):
        values = [size, size, 0.5, 2.0]
        yield [distribution_distance(values, law, scale=scale) for scale in (None, 1.0, 1e3)]
        yield distribution_distance(values, affine)


def distances_that_are_refused():
    for values, scale in (([], None), ([1.0, np.inf], None), (["a"], None), ([1.0], 0.0), ([1.0], -1.0), ([1.0], "a")):
        yield refused(distribution_distance, values, Semicircle(), scale=scale)


def deviations_next_to_rounding():
    for predicted, observed in ((1.0, 1.0 + 2.0**-49), (1.0, 1.0 + 2.0**-50), (1.0 - 2.0**-50, 1.0)):
        for error in (0.0, 1e-17, 2.0**-49, 1e-3):
            found = Comparison("x", predicted, observed, error, "sample", 3)
            back = Comparison("x", observed, predicted, error, "sample", 3)
            yield found.deviation, back.deviation, found.agrees(), back.agrees()
    for observed in (1e-17, -1e-17, 0.0):
        yield (
            Comparison("x", 0.0, observed, 0.0, "sample", 2).deviation,
            Comparison("x", observed, 0.0, 0.0, "theory", 1).deviation,
        )


def tracy_widom():
    s = np.array([-40.0, -9.0001, -9.0, -6.0, -3.0, -1.2, 0.0, 2.0, 6.0])
    return np.log(LAW.cdf(s[1:])), LAW.sf(s), LAW.pdf(s), np.log(LAW.sf(np.array([5.0, 20.0]))), LAW.cdf(0.5)


def tracy_widom_far_away():
    s = np.array([-np.inf, -1e3, 1e3, np.inf])
    return LAW.cdf(s), LAW.sf(s), LAW.pdf(s), refused(LAW.cdf, np.nan), refused(LAW.pdf, 1j), LAW.sf([[0.0]])


def moments_of_tracy_widom():
    return LAW.mean, LAW.variance


def quantiles_of_tracy_widom():
    levels = np.array([0.0, 1e-300, 1e-12, 0.5, 0.95, 1 - 1e-12, 1.0])
    yield LAW.quantile(levels), LAW.quantile(0.25)
    yield [refused(LAW.quantile, p) for p in (-1e-9, 1.0 + 1e-9, [0.5, 2.0], np.nan, "a")]


def logarithms_on_both_sides_of_the_seam():
    s = np.array([-8.99, -9.5])
    return _determinant(s[:1]), _left_tail(s), [part[[0, 1, -1]] for part in _table()]
