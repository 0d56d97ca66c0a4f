"""Records of messages of checks, and of results in words, in plain values and as tables."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from recording import refused

from rmt import checks
from rmt.comparison import Comparison
from rmt.results import Result, align_rows, format_value, join_texts, plain
from rmt.spiked import Outlier, SpikedModel

WRONG = (0, -1, 1, 0.5, True, 1.0, -0.0, np.float32(0.1), Fraction(1, 3), 10**400, np.inf, np.nan, "1", None, [1], 1j)


@dataclass(frozen=True)
class Shown(Result):
    a_number: Any
    other: Any = None


@dataclass(frozen=True)
class Hiding(Result):
    unplain = ("state",)
    seen: float
    state: Any


@dataclass(frozen=True)
class InWords(Result):
    number: int

    def words(self):
        return {f"row {k}": f"<{k}>\nmore" for k in range(self.number)}


@dataclass(frozen=True)
class Bare:
    values: Any


def numbers():
    for value in WRONG:
        yield [
            refused(check, "x", value)
            for check in (
                *(checks.require_number, checks.require_finite, checks.require_positive, checks.require_not_negative),
                *(checks.require_order, checks.require_flag, checks.require_reals, checks.require_points_in_row),
            )
        ]


def fourth_moments():
    return [refused(checks.require_fourth_moment, value) for value in (1.0, 0.999999, 3, np.inf, np.nan, "3")]


def flags():
    return [refused(checks.require_flag, "f", value) for value in (True, False, np.True_, 1, "yes", None)]


def sequences():
    for value in (
        *((1, 2.5), [3], np.array([1, 2]), np.zeros((2, 2)), 2.0, "ab", [1, "b"], [[1, 2]], (), [1j], {1: 2}, [True]),
        *(range(3), np.ma.masked_array([1.0, 2.0], [0, 1]), np.array(5.0), [np.nan, np.inf], [10**400]),
    ):
        yield [refused(check, "v", value) for check in (checks.require_numbers, checks.require_row, checks.freeze)]


def points():
    for value in (1, [1, 2.5], 1j, [10**30, 1], [10**30, 1j], "a", ["a"], None, np.nan, [[1.0, 2.0]], [], 10**400):
        yield [
            refused(check, "z", value)
            for check in (checks.require_points, checks.require_reals, checks.require_points_in_row)
        ]


def levels():
    return [refused(checks.require_levels, p) for p in (0, 1, -1e-9, 1 + 1e-9, [0.2, 3.0, 4.0], np.nan, "a")]


def powers():
    return [refused(checks.power, *given) for given in ((2.0, 3), (-1.5, 3), (0.0, 0), (1e200, 2), (-1e200, 3))]


def representable_moments():
    return [refused(checks.require_representable, value, 7) for value in (1e308, np.inf, -np.inf, np.nan)]


def abbreviated_values():
    return [checks.abbreviate(value) for value in ("x" * 78, "x" * 79, "a\n  b", list(range(40)), np.arange(3.0))]


def frozen_arrays_are_copies():
    given = np.array([1, 2])
    kept = checks.freeze("a", given)
    given[0] = 9
    return kept, str(kept.dtype), refused(kept.__setitem__, 0, 1.0), refused(kept.setflags, write=False)


def unwrapped():
    return checks.unwrap(np.array(2.0)), checks.unwrap(np.array([2.0])), checks.unwrap(np.array(1j))


VALUES = (
    *(None, True, False, 1234567, -5, 0.000012345, 12345.678, np.inf, np.nan, "text", (1.0, 2.5), [], (), {}),
    *({"a": 1.5, "b": None}, np.arange(3), np.zeros((2, 3)), np.float64(0.25), np.array(7), list(range(6))),
    *(list(range(7)), [[1, 2], [3]], [np.zeros(2)] * 8, Outlier(2.0, 2.5, True, 0.75), Fraction(1, 3), np.bool_(True)),
)


def values_in_words():
    return [format_value(value) for value in VALUES]


def values_as_plain_ones():
    for value in (*VALUES, PurePosixPath("a/b"), Bare((1.0, np.inf)), [{"a": [np.nan]}], Bare):
        yield plain(value) if value is not Bare else type(plain(value)).__name__
        yield plain(value, finite_only=False) if value is not Bare else ""


def lists_in_words():
    return [join_texts(list("abcdefgh"[:n])) for n in (0, 1, 6, 7)], join_texts(list("abc"), 2)


def rows_in_columns():
    return align_rows({"a": "1", "a label of 15 c": "two\nlines", "": "x"})


def results_in_words():
    for one in (Shown(0.12345), Shown(3, [1, 2]), Hiding(1.5, object()), *map(InWords, (0, 1, 3, 4))):
        yield str(one), one.words(), one.to_dict(), one._repr_html_()


def results_within_results():
    one = Shown(Shown(1.0, np.inf), {"x": Outlier(2.0, 2.5, True, 0.75)})
    return str(one), one.to_dict(), plain(one), Shown(InWords(2)).words()


def results_of_models():
    model = SpikedModel((3.0, -0.5))
    for one in (model.outlier(3.0), model.stable_rank(50), Comparison.from_theory("edge", 2.1, 2.0, 0.05)):
        yield str(one), one.to_dict(), one._repr_html_()
