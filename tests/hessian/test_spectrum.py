"""Settings of a measurement, what bounds its work, and what its report says of itself."""

import math
import time
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
import torch
from torch import nn

from hessian import (
    Curvature,
    CurvatureError,
    DenseOperator,
    SpectrumSettings,
    measure_spectrum,
    stable_rank,
    stable_rank_of,
)
from hessian.lanczos.memory import Budget
from hessian.quantities.measurement import MeasureSettings


class Scales(nn.Module):
    """One weight for each input: the Hessian of half the sum of squares is the diagonal of the squared inputs."""

    def __init__(self, count):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(count, dtype=torch.float64))

    def forward(self, x):
        return self.weight * x


def half_the_sum_of_squares(output, target):
    return (output - target).square().sum() / (2 * len(output))


EIGENVALUES = torch.linspace(0.5, 1.0, 2500, dtype=torch.float64)
FLAT = (EIGENVALUES.sqrt()[None], torch.zeros(1, 2500, dtype=torch.float64))
"""Every direction counts: no budget suffices."""


def test_two_thousand_products_bound_the_work():
    model, wide = Scales(2500), {"relative_width": 1e-4, "chunk": 100}
    by_model = stable_rank(model, half_the_sum_of_squares, FLAT, vectorize=100, **wide)
    operator = Curvature(model, half_the_sum_of_squares, FLAT, vectorize=100)
    by_operator = stable_rank_of(operator, rng=np.random.default_rng(0), **wide)
    for found in (by_model, by_operator):
        assert found.products == 2000
        assert found.steps <= 120
        assert not found.reached
        assert float((EIGENVALUES**2).sum()) in found


def test_a_basis_has_a_hundred_and_twenty_rows_at_most():
    """Two eigenvalues of nearly the same size, of both signs: the norm asks for ever more rows."""
    values = torch.cat([torch.linspace(-1.0, 1.0, 2498).double(), torch.tensor([1.0001, -1.0001]).double()])
    data = (values.abs().sqrt()[None], torch.zeros(1, 2500, dtype=torch.float64))

    def signed(output, target):
        return ((output - target).square() * values.sign()).sum() / 2.0

    model = Scales(2500)
    narrow = {"relative_width": 1e-5, "products": 300, "chunk": 50}
    assert stable_rank(model, signed, data, **narrow).steps == 120
    operator = Curvature(model, signed, data)
    assert stable_rank_of(operator, rng=np.random.default_rng(0), **narrow).steps == 120


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, bad) for name in ("width", "tolerance") for bad in (0.0, -1.0, math.inf, math.nan)]
    + [("confidence", bad) for bad in (0.0, 1.0, -0.5, 1.5, math.nan)],
)
def test_numbers_beyond_their_range_are_refused(name, bad):
    with pytest.raises(CurvatureError, match=r"width and tolerance must be positive and finite and confidence in"):
        SpectrumSettings(**{name: bad})
    if name != "tolerance":
        argument = {"width": "relative_width"}.get(name, name)
        with pytest.raises(CurvatureError, match=r"relative_width must be positive and confidence in \(0, 1\)"):
            stable_rank_of(DenseOperator(torch.eye(2)), rng=np.random.default_rng(0), **{argument: bad})


@pytest.mark.parametrize(("name", "least"), [("outliers", 1), ("probes", 1), ("steps", 1), ("seed", 0)])
def test_counts_begin_at_one_and_seeds_at_zero(name, least):
    assert getattr(SpectrumSettings(**{name: least}), name) == least
    with pytest.raises(CurvatureError, match="must be at least 1 and seed at least 0"):
        SpectrumSettings(**{name: least - 1})


def test_further_quantities_have_the_settings_of_the_spectrum():
    own = SpectrumSettings(0.1, 0.9, products=70, basis=9, steps=11, chunk=2, memory=Budget.of("1 MiB"))
    assert own.for_quantities() == MeasureSettings(0.1, 0.9, 70, 9, 11, 2, Budget.of("1 MiB"))


def test_a_measurement_is_as_its_settings_say():
    report = measure_spectrum(DenseOperator(torch.diag(EIGENVALUES[::10])), SpectrumSettings())
    assert report.stable_rank.relative_width <= 0.05
    assert report.stable_rank.confidence == 0.95
    assert (report.largest, len(report.eigenvalues)) == (10, 20)
    assert report.residuals.max() <= 1e-4
    assert [len(nodes) for nodes in report.measure.nodes] == [60] * 4


@pytest.mark.parametrize("confidence", [0.6, 0.99])
def test_every_part_of_a_measurement_is_as_its_settings_say(confidence):
    """The products of each part by itself, the steps, and the fit, whose deviation is that of the norm's interval."""
    operator = DenseOperator(torch.diag(EIGENVALUES[::50] - 0.7))
    settings = SpectrumSettings(confidence=confidence, outliers=2, probes=3, steps=7, basis=6, products=90)
    report = measure_spectrum(operator, settings)
    assert [len(nodes) for nodes in report.measure.nodes] == [7] * 3
    assert list(report.products) == ["stable rank", "eigenpairs", "quadrature"]
    assert (report.products["stable rank"], report.products["quadrature"]) == (report.stable_rank.products, 3 * 7)
    norm = report.stable_rank.frobenius
    assert norm.low < norm.high
    by_hand = (norm.high**2 - norm.low**2) / (2.0 * NormalDist().inv_cdf((1.0 + confidence) / 2.0))
    assert report.fit.rest_by_norm.sd == pytest.approx(by_hand, rel=1e-6, abs=0.0)


@pytest.mark.parametrize(("P", "largest"), [(1, 1), (2, 1), (3, 2), (6, 3), (7, 4), (8, 4)])
def test_of_few_eigenvalues_each_is_listed_once(P, largest):
    values = [float(place) - 1.5 for place in range(P)]
    report = measure_spectrum(DenseOperator(torch.diag(torch.tensor(values).double())), SpectrumSettings(outliers=4))
    assert report.largest == largest
    np.testing.assert_allclose(report.eigenvalues, values[::-1], atol=1e-9)
    words = replace(report, residuals=np.linspace(0.1, 0.3, P)).words()
    assert words["residuals"].startswith("at most 0.3" if P > 1 else "at most 0.1")
    assert words["largest"].startswith(f"{values[-1]:.4g}")
    assert words["smallest"].startswith(f"{values[0]:.4g}") or P == 1


def test_the_settings_where_none_are_given():
    named = SpectrumSettings(
        width=0.05,
        confidence=0.95,
        outliers=10,
        tolerance=1e-4,
        probes=4,
        steps=60,
        seed=0,
        products=2000,
        basis=120,
        chunk=1,
    )
    assert named == SpectrumSettings()


def test_residuals_beyond_the_tolerance_are_said():
    operator = DenseOperator(torch.diag(EIGENVALUES[::10]))
    few = measure_spectrum(operator, SpectrumSettings(outliers=3, tolerance=1e-9, products=30, steps=5))
    enough = measure_spectrum(operator, SpectrumSettings(outliers=3, tolerance=1e-2, products=300, steps=5))
    assert not few.converged
    assert few.residuals.max() > 1e-9
    assert enough.converged
    assert enough.residuals.max() <= 1e-2


def test_widths_add_up_to_what_the_probes_and_the_norm_leave_open():
    """From the fields alone: of the squared Frobenius norm the probes' share, the rest is the norm's."""
    values = np.r_[2.0, np.linspace(-1.0, 1.0, 299)]
    found = stable_rank_of(
        DenseOperator(torch.diag(torch.from_numpy(values))), rng=np.random.default_rng(0), relative_width=0.2
    )
    square, norm = found.frobenius, found.spectral_norm
    assert found.value == pytest.approx(square.value**2 / norm.low**2, rel=1e-9)
    assert found.low == pytest.approx(square.low**2 / norm.high**2, rel=1e-9)
    assert found.high == pytest.approx(square.high**2 / norm.low**2, rel=1e-9)
    assert found.statistical_width == pytest.approx((square.high**2 - square.low**2) / square.value**2, rel=1e-9)
    assert found.deterministic_width == pytest.approx(found.relative_width - found.statistical_width, abs=1e-12)


def test_the_first_reading_of_the_data_is_no_check(monkeypatch):
    """A clock of our own, on which the first reading alone takes a thousand seconds."""
    clock, readings = [0.0], [0]

    def count(batch):
        readings[0] += 1
        clock[0] += 1000.0 if readings[0] == 1 else 1.0
        return len(batch[0])

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    operator = Curvature(
        Scales(3), half_the_sum_of_squares, (torch.ones(4, 3).double(), torch.zeros(4, 3).double()), count=count
    )
    assert readings[0] >= 2
    assert operator.cost().check_seconds == readings[0] - 1


def test_the_share_of_the_probes_is_no_more_than_the_whole_width():
    """One row of a basis: the probes leave more open than stable ranks there are, from 1 to the dimension."""
    values = torch.arange(1, 41, dtype=torch.float64) ** -1.0
    found = stable_rank_of(DenseOperator(torch.diag(values)), rng=np.random.default_rng(1), basis=1, products=22)
    assert 1.0 <= found.low < found.high <= 40.0
    assert (found.frobenius.high**2 - found.frobenius.low**2) / found.frobenius.value**2 > found.relative_width
    assert found.statistical_width == pytest.approx(found.relative_width)
    assert found.deterministic_width == pytest.approx(0.0, abs=1e-12)
