"""Records of how intervals, estimates and names of quantities are printed, and of what is refused."""

import dataclasses
from math import inf

import numpy as np
from recording import refused

from hessian import Interval, Moment, Quantity, StableRankInterval
from hessian.fits.measured_fit import Side
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.intervals import format_interval
from hessian.quantities.estimates import Estimate, Measurement, Profile
from hessian.quantities.names import ALIASES, LABELS, QUANTITIES, read_quantities
from hessian.tracker import TrackedState

RANK = StableRankInterval(
    *(3.2, 3.1, 3.4, 0.9, Interval(2.0, 2.0, 2.05), Interval(3.58, 3.5, 3.7), -2.0, 1e-3, True),
    *(0.05, 0.0437, 12, 10, 34, True),
)


def digits_of_printed_intervals():
    ends = [(3.237, 3.225, 3.252), (1.00213, 1.00204, 1.00241), (5.0, 5.0, 5.0), (1.0, 0.5, 2.0), (0.0, -1.0, 1.0)]
    ends += [(-3.0021, -3.0024, -3.0019), (1.0, 1.0 - 1e-7, 1.0 + 1e-7), (1.0, 1.0 - 1e-8, 1.0 + 1e-8), (1.0, 0.0, inf)]
    ends += [(1.0, 1.0 - 4e-8, 1.0 + 4e-8), (1234567.0, 1234560.0, 1234570.0), (2.0, 1.999, 2.0), (2.0, 1.9999, 2.0)]
    return [format_interval(*one) for one in ends]


def widths_of_intervals():
    return [
        Interval(*ends).relative_width
        for ends in [(2.0, 1.0, 4.0), (0.0, 0.0, 0.0), (0.0, -1.0, 1.0), (-2.0, -3.0, 0.0)]
    ]


def members_of_intervals():
    interval = Interval(2.0, 1.0, 4.0)
    return [x in interval for x in (0.999, 1.0, 4.0, 4.001)], [x in RANK for x in (3.0999, 3.1, 3.4, 3.4001)]


def stable_ranks_in_words():
    yield str(RANK), RANK.words(), RANK.relative_width
    change = dataclasses.replace
    yield change(RANK, certified=False, probes=0, eigenvalue=2.0, statistical_width=0.0).words()
    yield change(RANK, reached=False, signs=True).words()
    yield change(RANK, reached=False, limit="the products are rounded", given_up="basis in float16").words()
    yield change(RANK, gradients=3.0) == RANK, change(RANK, steps=13) == RANK, list(RANK.to_dict())


def estimates_in_words():
    for quantity, probes, reached in [("trace", 0, True), ("count-below=0.5", 1, True), ("count-above=2", 12, False)]:
        limit = "" if reached else "raise products"
        found = Estimate(Quantity.of(quantity), -3.0, -3.5, -2.25, 0.995, probes, reached, limit)
        yield found.words(), found.width, [x in found for x in (-3.5, -3.50001, -2.25, -2.2499)]


def _profile(name, reached=True):
    ends = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.3, 0.6]), np.array([0.3, 0.9, 1.0])
    sd = np.array([0.1, 0.4, 1.9]) if name == "diagonal" else np.empty(0)
    limit = "" if reached else "raise steps"
    return Profile(Quantity(name), np.array([-1.0, 0.0, 2.0]), *ends, sd, 0.9, 7, reached, limit)


def profiles_in_words():
    for name in ("diagonal", "density"):
        yield _profile(name).words(), _profile(name, reached=False).words()
    long = dataclasses.replace(_profile("diagonal"), value=np.linspace(0.0, 2.0, 1234))
    yield long.words()


def band_between_its_points():
    return _profile("density").bracket(np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 2.0, 2.5])), _profile("density").bracket(
        1.0
    )


def measurements_in_words():
    below = Quantity.of("count-below=0.5")
    found = {Quantity("stable-rank"): RANK, below: Estimate(below, 2.0, 1.0, 3.0, 0.9, 4, True)}
    measured = Measurement(50, 0.9, found, 12, {"basis and probes": 30, "quadrature": 0, "diagonal": 12})
    yield str(measured), measured.words(), measured.reached, len(measured), [str(one) for one in measured]
    late = {**found, Quantity("trace"): Estimate(Quantity("trace"), 5.0, 1.0, 9.0, 0.9, 4, False, "raise products")}
    other = dataclasses.replace(measured, found=late, gradients=12.6, given_up="at most 4 rows, not 12")
    yield (
        other.words(),
        other.reached,
        other["trace"].value,
        other["count-below=0.50"].value,
        list(other.to_dict()["found"]),
    )
    long = Quantity.of("effective-dimension=0.00012345")
    yield dataclasses.replace(measured, found={long: Estimate(long, 2.0, 1.0, 3.0, 0.9, 4, True)}).words()
    yield [
        dataclasses.replace(measured, found={one: Estimate(one, 2.0, 1.0, 3.0, 0.9, 4, True)}).words()
        for one in (
            Quantity.of("count-above=1234567"),
            Quantity.of("count-above=12345678"),
            Quantity.of("log-det=12345678"),
        )
    ]
    for warm in (False, True):
        state = TrackedState(7, 0.123456, dataclasses.replace(other, warm=warm), warm, 2.6, 1.0)
        yield state.words(), state["trace"].high


def names_and_labels_of_quantities():
    yield QUANTITIES, ALIASES, LABELS
    for text in (
        "trace",
        " largest ",
        "logdet=2",
        "count-below=0",
        "count-below = 1e-1",
        "count-above=-0.0",
        "log-det=0.5",
    ):
        found = Quantity.of(text)
        yield str(found), found.label, found.threshold


def refused_quantities():
    for text in ("rank", "count-above", "trace=1", "log-det=0", "count-above=-1", "log-det=inf", "count-below=nan"):
        yield refused(Quantity.of, text)
    yield refused(Quantity.of, "count-above=x"), refused(Quantity.of, "effective-dimension=-2")
    yield (
        refused(Quantity.of, "count-below=inf"),
        refused(Quantity, "log-det", 1e-300),
        refused(Quantity.of, "density=0"),
    )


def lists_of_quantities():
    yield [str(one) for one in read_quantities("trace,, largest,sharpness , trace")]
    yield [str(one) for one in read_quantities(["density", Quantity("diagonal")])], read_quantities(Quantity("trace"))
    yield refused(read_quantities, " , "), refused(read_quantities, [])


def outliers_of_a_side_in_words():
    return [str(Side(3, complete, hidden)) for complete in (True, False) for hidden in (0.0, 0.49, 0.5, 2.6)]


def moments_in_words():
    return str(Moment(1.23456, 0.0456)), str(Moment(-2.0, float("nan")))


def arrays_of_results_are_copies_that_cannot_be_written_to():
    @dataclasses.dataclass(frozen=True)
    class Holder:
        alone: np.ndarray
        several: tuple
        word: str

    given = np.arange(3.0)
    held = Holder(given, (given, 2), "x")
    fix_arrays(held)
    given[0] = 9.0
    yield held.alone, held.several, held.word, [held.alone.flags.writeable, held.several[0].flags.writeable]
    yield refused(held.alone.__setitem__, 0, 1.0)
