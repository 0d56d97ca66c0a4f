"""The picture of a measured spectrum and its printed summary, against the report."""

import dataclasses

import numpy as np
import pytest
import tiny_networks  # noqa: F401 - named as a module's factory below
from scipy.stats import norm
from seen import drawn, key, styled, texts

from figures.spectrum.as_json import to_json
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import measure_network, summary
from figures.spectrum.measured_spectrum_picture import LAWS, draw_block_ranks, draw_spectrum_report
from hessian import SpectrumSettings
from hessian.block_ranks import BlockRank

ENDS = ("value", "low", "high")


@pytest.fixture(scope="module")
def measured():
    settings = SpectrumSettings(outliers=4, probes=2, steps=20)
    return measure_network(SpectrumRequest("tiny_networks:mlp", "tiny_networks:pair", double=True, settings=settings))


@pytest.fixture(scope="module")
def picture(measured):
    return styled(draw_spectrum_report, measured.report)


def named(axes, name):
    """The marks of that name, without those of others."""
    return [mark for mark in drawn(axes) if mark.name == name]


def test_panels_say_what_they_show(measured, picture):
    report = measured.report
    nodes, _ = report.measure.rule()
    width = (nodes[-1] - nodes[0]) / 200
    a, b, c = picture.axes
    title = f"(a) all {report.P:,} eigenvalues; smoothed by a normal kernel of sd {width:.2g}"
    assert texts(a) == (title, "eigenvalue", "density")
    assert texts(b)[0].startswith("(b) the bulk; kernel of sd ")
    assert texts(b)[1:] == ("eigenvalue", "density")
    assert texts(c) == ("(c) share of the bulk below, and distances", "eigenvalue", "")
    assert a.get_yscale() == b.get_yscale() == "log"
    low, high = a.get_xlim()
    assert low < nodes[0] < nodes[-1] < high
    assert high - low == pytest.approx(1.08 * (nodes[-1] - nodes[0]))


def test_computed_eigenvalues_stand_at_their_places_with_their_residuals(measured, picture):
    report = measured.report
    outlying = np.isin(report.eigenvalues, report.fit.outliers)
    for axes in picture.axes[:2]:
        low, high = axes.get_xlim()
        for chosen, name in ((outlying, "computed, outlier"), (~outlying, "computed, in the bulk")):
            shown = report.eigenvalues[chosen & (report.eigenvalues >= low) & (report.eigenvalues <= high)]
            places = np.concatenate([c.lines[0].get_xdata() for c in axes.containers if c.get_label() == name] or [[]])
            assert sorted(places) == pytest.approx(sorted(shown))
            for container in (c for c in axes.containers if c.get_label() == name):
                ends = np.array([segment[:, 0] for segment in container.lines[2][0].get_segments()])
                kept = report.residuals[np.searchsorted(-report.eigenvalues, -places)]
                assert np.diff(ends)[:, 0] == pytest.approx(2 * kept, abs=1e-12)


def test_the_fitted_noise_is_the_smoothed_semicircle(measured, picture):
    report = measured.report
    law, share = report.fit.model.noise_law, report.fit.bulk.size / report.P
    nodes, _ = report.measure.rule()
    width = (nodes[-1] - nodes[0]) / 200
    (mark,) = named(picture.axes[0], "fitted noise, smoothed alike")
    x, y = mark.points.T
    t = law.quantile((np.arange(20_000) + 0.5) / 20_000)
    near = np.abs(x) < 4 * width + t[-1]
    exact = [share * norm.pdf(one - t, scale=width).mean() for one in x[near]]
    assert y[near] == pytest.approx(np.array(exact), rel=0.02, abs=2e-3 * max(exact))
    assert abs((x * y).sum() / y.sum()) < 1e-4 * t[-1]  # the law has mean 0


def test_fitted_outliers_have_bars_of_two_standard_deviations(measured, picture):
    report = measured.report
    spots = [o for o in report.fit.model.outliers if o.separated]
    (container,) = [c for c in picture.axes[0].containers if str(c.get_label()).startswith("fitted outlier")]
    assert sorted(container.lines[0].get_xdata()) == pytest.approx(sorted(o.location for o in spots))
    half = {o.location: 2 * report.fit.model.outlier_sd(o.spike, report.P) for o in spots}
    for segment in container.lines[2][0].get_segments():
        centre, size = segment[:, 0].mean(), np.ptp(segment[:, 0]) / 2
        assert size == pytest.approx(half[min(half, key=lambda place: abs(place - centre))], rel=1e-6)


def test_distribution_functions_stand_with_their_distances(measured, picture):
    report, axes = measured.report, picture.axes[2]
    names = {
        law.name: f"{law.name.replace('on a share of the directions', 'and zeros')}: {law.distance.value:.2f}"
        for law in report.fit.alternatives
    }
    fitted = f"fitted semicircle: {report.fit.distance.value:.2f}"
    assert set(key(axes)) == {"left open by the quadrature", "measured", fitted, *names.values()}
    assert names
    assert len({str(look) for look in LAWS}) == len(LAWS)
    for law in report.fit.alternatives:
        (mark,) = named(axes, names[law.name])
        assert mark.points[:, 1] == pytest.approx(np.asarray(law.cdf(mark.points[:, 0])))
    (mark,) = named(axes, fitted)
    assert mark.points[:, 1] == pytest.approx(np.asarray(report.fit.model.noise_law.cdf(mark.points[:, 0])))
    (mark,) = named(axes, "measured")
    assert mark.points[:, 1] == pytest.approx(report.fit.bulk.cdf(mark.points[:, 0]))


def test_blocks_have_their_intervals_from_the_top(measured):
    """No interval is symmetric, and a block without a rank has no line."""
    numbers = {("first", 40): (3.0, 2.0, 3.5), ("none", 5): None, ("", 1200): (7.0, 6.5, 9.0)}
    blocks = tuple(
        BlockRank(*block, None, "a reason")
        if ends is None
        else BlockRank(
            *block, dataclasses.replace(measured.report.stable_rank, **dict(zip(ENDS, ends, strict=True))), ""
        )
        for block, ends in numbers.items()
    )
    (axes,) = styled(lambda both: draw_block_ranks(both, 0.9), blocks).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first (40)", "(model) (1,200)"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert texts(axes) == ("diagonal blocks (parameters)", "stable rank, 90 % intervals", "")
    for place, ends in enumerate(filter(None, numbers.values())):
        point, _, (bar,) = axes.containers[place].lines
        (segment,) = bar.get_segments()
        assert (point.get_xdata()[0], *segment[:, 0]) == pytest.approx(ends)
        assert segment[:, 1].tolist() == [place, place]


def test_what_did_not_converge_is_said(measured):
    for converged in (True, False):
        report = dataclasses.replace(measured.report, converged=converged)
        text = summary(dataclasses.replace(measured, report=report))
        (line,) = [line for line in text.splitlines() if line.startswith("residuals")]
        assert line.endswith("; not converged: raise --products") is not converged
        assert to_json(dataclasses.replace(measured, report=report))["eigenvalues_converged"] is converged


@pytest.mark.parametrize(
    ("probes", "signs", "words"),
    [(12, True, "2 % from 12 vectors of signs"), (12, False, "2 % from 12 probes"), (0, False, "nothing random")],
)
def test_the_kind_of_probes_is_said(measured, probes, signs, words):
    rank = dataclasses.replace(measured.report.stable_rank, probes=probes, signs=signs, statistical_width=0.02)
    other = dataclasses.replace(measured, report=dataclasses.replace(measured.report, stable_rank=rank))
    assert words in summary(other)
    assert to_json(other)["stable_rank"]["signs"] is signs


def test_a_spectrum_without_a_fit_has_its_reason(measured):
    assert "reason_for_none" not in to_json(measured)["fit"]
    report = dataclasses.replace(measured.report, fit=None, no_fit="there is no noise")
    without = dataclasses.replace(measured, report=report)
    assert to_json(without)["fit"] == {"reason_for_none": "there is no noise"}
    assert "spiked model   not fitted: there is no noise" in summary(without)
    axes = styled(draw_spectrum_report, report).axes
    assert texts(axes[2])[0] == "(c) share of the bulk below"
    assert "computed" in key(axes[0])
