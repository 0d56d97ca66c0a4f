"""Arguments of laws, models and draws: arrays are copied, and those of another kind are refused in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rmt import (
    AtomicLaw,
    ClientGradients,
    CovarianceSum,
    DensityLaw,
    FreeSum,
    JointPopulation,
    MarchenkoPastur,
    PointMass,
    RTransformLaw,
    Semicircle,
    SeparableLaw,
    SpikedCovariance,
    SpikedModel,
    SpikedSum,
    TracyWidom1,
    alignment_by_rank,
    draw_banded,
    draw_dense,
    draw_sum,
    draw_two_clients,
)
from rmt.secular import RotatedDraw, draw_rotated

ONE = PointMass(1.0)
POPULATION = JointPopulation.of([[1.0]], [100.0])
MODEL = SpikedModel((2.0, 1.5))


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _population(array: np.ndarray) -> Callable[[], Any]:
    law = CovarianceSum(JointPopulation(array, np.array([60.0, 40.0]), np.zeros((1, 0, 0))), (ONE,), (300.0,))
    return lambda: law.mean


def _counts(array: np.ndarray) -> Callable[[], Any]:
    population = JointPopulation(np.array([[1.0], [3.0]]), array[:, 0], np.zeros((1, 0, 0)))
    return lambda: population.traces.tolist()


def _block(array: np.ndarray) -> Callable[[], Any]:
    population = JointPopulation.of([[1.0]], [9.0], np.diag(array[:, 0])[None])
    return lambda: population.largest.tolist()


def _spikes(array: np.ndarray) -> Callable[[], Any]:
    model = SpikedSum(array[:1, :, None], POPULATION, (ONE,), (200.0,))
    return lambda: model.above[0].location


def _slopes(array: np.ndarray) -> Callable[[], Any]:
    gradients = ClientGradients(array[:, 0])  # type: ignore[arg-type]
    return lambda: alignment_by_rank(MODEL, gradients, [1, 2])


def _rotated(array: np.ndarray) -> Callable[[], Any]:
    draw = RotatedDraw(SpikedModel((2.0,)), array[:, 0], np.array([[0.6], [0.8]]))
    return lambda: draw.eigenvalue(1)


def _atoms(array: np.ndarray) -> Callable[[], Any]:
    law = AtomicLaw(array[:, 0], (0.5, 0.5))
    return lambda: law.mean


@pytest.mark.parametrize("made", [_population, _counts, _block, _spikes, _slopes, _rotated, _atoms])
def test_an_array_that_is_used_again_changes_nothing_that_was_made_from_it(made: Callable[..., Any]) -> None:
    first, second = np.array([[9.0], [4.0]]), np.array([[7.0], [5.0]])
    expected = made(first.copy())(), made(second.copy())()
    assert expected[0] != expected[1]
    buffer = first.copy()
    before = made(buffer)
    buffer[:] = second
    assert (before(), made(buffer)()) == expected
    assert before() == expected[0]
    assert buffer.flags.writeable


def test_lists_that_are_used_again_change_nothing() -> None:
    weights, samples = [ONE], [200.0]
    law = CovarianceSum(POPULATION, weights, samples)  # type: ignore[arg-type]
    model = SpikedSum(np.array([[[9.0]]]), POPULATION, weights, samples)  # type: ignore[arg-type]
    weights[0], samples[0] = PointMass(2.0), 20.0
    assert law.mean == pytest.approx(1.0)
    expected = SpikedSum(np.array([[[9.0]]]), POPULATION, (ONE,), (200.0,))
    assert model.above[0].location == expected.above[0].location


def test_arrays_of_a_value_cannot_be_written_to() -> None:
    model = SpikedSum(np.array([[[9.0]]]), POPULATION, (ONE,), (200.0,))
    for array in (POPULATION.atoms, POPULATION.counts, model.spikes, model.population.block):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 2.0


BAD: dict[str, Callable[[], Any]] = {
    "spikes must be a sequence of numbers, got 3.0; write (2.0,) for a single one": lambda: SpikedCovariance(3.0),  # type: ignore[arg-type]
    "spikes must be a sequence of numbers, got array([[3.]])": lambda: SpikedCovariance(np.array([[3.0]])),  # type: ignore[arg-type]
    "spikes must be a sequence of numbers, got array(3.)": lambda: SpikedModel(np.array(3.0)),  # type: ignore[arg-type]
    "spikes must be a sequence of numbers, got None": lambda: SpikedModel(None),  # type: ignore[arg-type]
    "spikes must be an array of real numbers, got ['a']": lambda: SpikedModel("a"),  # type: ignore[arg-type]
    "spikes must be an array of real numbers, got [1j]": lambda: SpikedModel((1j,)),  # type: ignore[arg-type]
    "scale must be a number, got 'a'": lambda: SpikedModel((2.0,), scale="a"),  # type: ignore[arg-type]
    "ratio must be a number, got (1.0, 2.0)": lambda: SpikedCovariance((3.0,), ratio=(1.0, 2.0)),  # type: ignore[arg-type]
    "spikes must have no masked entries, because these would be read as valid numbers: remove them, for example by "
    "values.compressed()": lambda: SpikedModel(np.ma.masked_array([1.0, 2.0], [False, True])),  # type: ignore[arg-type]
    "sigma must be a number, got None": lambda: Semicircle(None),  # type: ignore[arg-type]
    "ratio must be a number, got '1'": lambda: MarchenkoPastur("1"),  # type: ignore[arg-type]
    "location must be a number, got [1.0, 2.0]": lambda: PointMass([1.0, 2.0]),  # type: ignore[arg-type]
    "locations must be a sequence of numbers, got 1.0": lambda: AtomicLaw(1.0, 1.0),  # type: ignore[arg-type]
    "masses must be a sequence of numbers, got 1.0": lambda: AtomicLaw((1.0,), 1.0),  # type: ignore[arg-type]
    "density must be a function, got 3": lambda: DensityLaw(3, (0.0, 1.0)),  # type: ignore[arg-type]
    "the support must be a sequence of numbers, got 1.0": lambda: DensityLaw(lambda x: 1.0, 1.0),  # type: ignore[arg-type]
    "transform must be a function, got 3": lambda: RTransformLaw(3),  # type: ignore[arg-type]
    "weights must be a sequence of laws, one for each group": lambda: CovarianceSum(POPULATION, ONE, (9.0,)),  # type: ignore[arg-type]
    "samples must be a sequence of numbers, got 9.0": lambda: CovarianceSum(POPULATION, (ONE,), 9.0),  # type: ignore[arg-type]
    "weights must be an AtomicLaw or a PointMass, got float": lambda: CovarianceSum(POPULATION, (1.0,), (9.0,)),  # type: ignore[arg-type]
    "samples must be a sequence of numbers, got 33": lambda: draw_sum(POPULATION, (ONE,), 33, _rng()),  # type: ignore[arg-type]
    "weights must be a sequence of laws": lambda: draw_sum(POPULATION, ONE, (33,), _rng()),  # type: ignore[arg-type]
    "population must be a JointPopulation, got a float": lambda: draw_sum(1.0, (ONE,), (33,), _rng()),  # type: ignore[arg-type]
    "atoms must be (n, G), got ()": lambda: JointPopulation.of(1.0, [1.0]),
    "atoms must be an array of real numbers, got [[1.0], [1.0, 2.0]]": lambda: JointPopulation.of(
        [[1.0], [1.0, 2.0]], [1.0]
    ),
    "the block must be (G, r, r)": lambda: JointPopulation.of([[1.0]], [1.0], 1.0),
    "every atom needs one count": lambda: JointPopulation.of([[1.0]], 1.0),
    "the array spikes must be (G, r, r), one matrix for each of 1": lambda: SpikedSum(
        np.array([[[1.0]], [[2.0]]]), POPULATION, (ONE,), (9.0,)
    ),
    "the array spikes must be symmetric": lambda: SpikedSum(
        np.array([[[1.0, 0.5], [0.0, 1.0]]]), POPULATION, (ONE,), (9.0,)
    ),
    "the array spikes has a negative eigenvalue, -1.0": lambda: SpikedSum(
        np.array([[[-1.0]]]), POPULATION, (ONE,), (9.0,)
    ),
    "the array spikes must be (G, r, r), one matrix for each of 1 covariances, got (1, 1)": lambda: SpikedSum(
        np.array([[9.0]]), POPULATION, (ONE,), (9.0,)
    ),
    "along must be a sequence of numbers, got 1.0": lambda: ClientGradients(1.0),  # type: ignore[arg-type]
    "elsewhere must be a number, got (1.0,)": lambda: ClientGradients((1.0,), (1.0,)),  # type: ignore[arg-type]
    "ranks must be a sequence of numbers, got 1": lambda: alignment_by_rank(MODEL, ClientGradients((1.0, 1.0)), 1),  # type: ignore[arg-type]
    "a rank must be an integer >= 0, got 1.5": lambda: alignment_by_rank(MODEL, ClientGradients((1.0, 1.0)), [1.5]),  # type: ignore[list-item]
    "the grid must be points in a row, (points,), got shape ()": lambda: draw_banded(
        SpikedModel((2.0,)), 50, _rng(), rows=50
    ).counts_below(0.5),  # type: ignore[arg-type]
    "samples must be an integer >= 0, got 1.5": lambda: draw_two_clients(MODEL, 50, _rng(), 2).slopes(
        ClientGradients((1.0, 1.0)),
        _rng(),
        1.5,  # type: ignore[arg-type]
    ),
    "the dimension R must be a number, got None": lambda: draw_dense(MODEL, None, _rng()),  # type: ignore[arg-type]
    "rank must be a number, got None": lambda: draw_two_clients(MODEL, 50, _rng(), None),  # type: ignore[arg-type]
    "the order of a moment must be a number, got 'a'": lambda: Semicircle().moment("a"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", BAD)
def test_arguments_of_another_kind_are_refused_in_one_line(message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        BAD[message]()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("length", "shown"), [(78, f"'{'a' * 78}'"), (79, f"'{'a' * 79}...")])
def test_a_message_shows_80_characters_of_a_value(length: int, shown: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"sigma must be a number, got {shown}") + "$"):
        Semicircle("a" * length)  # type: ignore[arg-type]


def test_numbers_of_every_kind_are_welcome() -> None:
    """Whole floats for whole numbers, fractions, arrays, and anything that yields numbers."""
    assert alignment_by_rank(MODEL, ClientGradients((1.0, 1.0)), [1.0, 2.0]) == alignment_by_rank(  # type: ignore[list-item]
        MODEL,
        ClientGradients([1, 1]),
        np.array([1, 2]),  # type: ignore[arg-type]
    )
    assert SpikedModel([Fraction(3, 2), np.float32(2.0)]).spikes == (2.0, 1.5)  # type: ignore[arg-type]
    masses = {-1.0: 0.5, 1.0: 0.5}
    assert AtomicLaw(masses.keys(), masses.values()).atoms == ((-1.0, 0.5), (1.0, 0.5))  # type: ignore[arg-type]
    two = draw_two_clients(MODEL, 50, _rng(), 2)
    np.testing.assert_array_equal(
        two.slopes(ClientGradients((1.0, 1.0)), _rng(), 2.0),  # type: ignore[arg-type]
        two.slopes(ClientGradients((1.0, 1.0)), _rng(), 2),
    )


def test_a_density_that_misses_mass_names_narrow_peaks():
    """Half the mass is uniform, the other half lies in a peak of width 1e-4 between the points of the quadrature."""

    def density(x):
        return 0.5 + 0.5 * np.exp(-0.5 * ((x - 0.37123) / 1e-4) ** 2) / (1e-4 * np.sqrt(2 * np.pi))

    with pytest.raises(
        ValueError, match=r"must integrate to 1, got 0\.5.*; if it does, a narrow peak was missed: widen"
    ):
        DensityLaw(density, (0.0, 1.0))


MASKED = np.ma.masked_array([0.5, 9.0], [False, True])


@pytest.mark.parametrize(
    "law",
    [
        Semicircle(),
        MarchenkoPastur(0.5),
        AtomicLaw((0.0, 1.0), (0.5, 0.5)),
        ONE,
        FreeSum(AtomicLaw((0.0, 1.0), (0.5, 0.5)), Semicircle()),
        SeparableLaw(ONE, ONE, 0.5),
        CovarianceSum(POPULATION, (ONE,), (200.0,)),
        DensityLaw(lambda x: 1.0, (0.0, 1.0)),
        MarchenkoPastur(0.5).shifted(1.0),
        TracyWidom1(),
    ],
    ids=lambda law: type(law).__name__,
)
def test_masked_entries_are_not_points_of_a_law(law: Any) -> None:
    for name in ("pdf", "cdf", "quantile", "stieltjes", "stieltjes_derivative", "r_transform", "inverse_stieltjes"):
        if hasattr(law, name):
            for values, message in ((MASKED, "must have no masked entries"), (["a", "0.5"], "must be .*number")):
                with pytest.raises(ValueError, match=message) as caught:
                    getattr(law, name)(values)
                assert "\n" not in str(caught.value)
    if hasattr(law, "subordination"):
        with pytest.raises(ValueError, match="z must have no masked entries"):
            law.subordination(MASKED + 5.0)
    assert law.cdf(np.ma.masked_array([0.5], [False])) == law.cdf(np.array([0.5]))


@pytest.mark.parametrize(
    ("spectrum", "message"),
    [
        (np.ma.masked_array([1.0, 2.0, 3.0], [False, False, True]), "spectrum must have no masked entries"),
        ([1j, 2, 3], "spectrum must be an array of real numbers"),
        ("abc", "spectrum must be an array of real numbers"),
        ([[1.0, 2.0, 3.0]], "spectrum must be a one-dimensional array"),
        ([1.0, 2.0], r"the spectrum must be 3 finite numbers, got shape \(2,\)"),
    ],
)
def test_a_spectrum_is_a_row_of_real_numbers(spectrum: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        draw_rotated(SpikedModel((2.0,)), 3, _rng(), spectrum=spectrum)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "made",
    [
        lambda: AtomicLaw((10**400, 1.0), (0.5, 0.5)),
        lambda: SpikedModel((10**400,)),
        lambda: ClientGradients((10**400,)),
    ],
    ids=["locations", "spikes", "gradients"],
)
def test_whole_numbers_beyond_doubles_are_refused_in_one_line(made):
    with pytest.raises(ValueError, match=r"^(locations|spikes|along) must be an array of real numbers, got [(\[]1000"):
        made()
