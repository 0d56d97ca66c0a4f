"""The numbers of the random-matrix figures, at tiny sizes, and their pictures."""

import numpy as np
import pandas as pd
import pytest

from figures.figure import Settings
from figures.make import make
from figures.rmt import alignment as rmt_alignment
from figures.rmt import sample_size as rmt_sample_size
from figures.rmt import spectrum as rmt_spectrum
from figures.rmt import stable_rank as rmt_stable_rank
from figures.rmt import transition as rmt_transition
from rmt import SpikedModel, draw_dense


def test_count_excess_outside_the_bulk_counts_the_outliers():
    x = np.array([-9.0, -2.2, 2.1, 2.3, 9.0])
    assert rmt_spectrum.expected_count_excess(x, (1.5, 0.5, -2.0)) == pytest.approx([0, 1, -1, 0, 0], abs=1e-12)


def test_count_excess_against_draws():
    """The mean over draws, at 5 standard errors for each of a few points."""
    x, R, draws = np.array([-1.5, 0.0, 1.0, 1.8]), 60, 600
    counts = np.empty((draws, len(x)))
    for number in range(draws):
        values = draw_dense(SpikedModel((3.0, 0.6)), R, np.random.default_rng([1, number])).eigenvalues()
        counts[number] = np.searchsorted(values, x)
    excess = counts - R * SpikedModel().noise_law.cdf(x)
    z = (excess.mean(axis=0) - rmt_spectrum.expected_count_excess(x, (3.0, 0.6))) / excess.std(axis=0) * draws**0.5
    assert np.abs(z).max() < 5


def test_transition_table():
    sizes = rmt_transition.TransitionSizes((100, 10**9), 12, 3, 3)
    table = rmt_transition.transition_table(Settings(), sizes)
    big = table[(table.R == 10**9) & (table.span == "across")]
    assert np.abs(big.location - big.location_limit).max() < 1e-4
    assert np.abs(big.overlap - big.overlap_limit).max() < 1e-2
    assert big.location_printed.iloc[0] > 10
    assert "below the printed branch" in rmt_transition.transition_found(table)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "sizes", "name"),
    [
        (rmt_spectrum, rmt_spectrum.SpectrumSizes(80, 3, 300, 3, 5), "spectrum"),
        (rmt_transition, rmt_transition.TransitionSizes((100, 10**4), 4, 3, 3), "transition"),
        (rmt_stable_rank, rmt_stable_rank.StableRankSizes((10, 10**4, 10**9), 10), "stable-rank"),
        (rmt_sample_size, rmt_sample_size.SampleSizeSizes(10**4, (20, 40, 200, 2000), 4), "sample-size"),
        (rmt_alignment, rmt_alignment.AlignmentSizes(400, 6, 6, (0.5, 2.0), 2), "alignment"),
    ],
)
def test_made_whole(tmp_path, monkeypatch, module, sizes, name):
    constant = name.upper().replace("-", "_")
    monkeypatch.setitem(getattr(module, f"{constant}_SIZES"), "quick", sizes)
    made = make(getattr(module, constant), Settings(), tmp_path)
    assert made.paths["svg"].stat().st_size < 150_000
    assert made.found.startswith("Stated: ")
    assert made.caption.endswith("Scale quick, seed 0.")
    assert made.caption.count("$") % 2 == 0


def test_stable_rank_draws_agree_with_their_prediction(monkeypatch):
    sizes = rmt_stable_rank.StableRankSizes((10**6, 10**9), 100)
    monkeypatch.setitem(rmt_stable_rank.STABLE_RANK_SIZES, "quick", sizes)
    table = rmt_stable_rank.stable_rank_data(Settings())
    z = (table["mean"] - table.predicted) / (table.predicted_sd / np.sqrt(table.draws))
    assert np.abs(z).max() < 5
    assert table[table.quantity == "gap"].positive.min() == 1.0


def test_the_printed_bound_is_four_times_the_gap_and_the_gap_positive(monkeypatch):
    sizes = rmt_sample_size.SampleSizeSizes(10**7, (20, 200, 2000), 3)
    monkeypatch.setitem(rmt_sample_size.SAMPLE_SIZE_SIZES, "quick", sizes)
    table = rmt_sample_size.sample_size_data(Settings())
    gaps = table[(table.panel == "gap") & (table.series == "N = 10,000")]
    assert gaps["mean"].to_numpy() == pytest.approx(gaps.limit, abs=1e-3)
    assert (gaps.printed / gaps.limit)[gaps.M >= 200].to_numpy() == pytest.approx(4.0, rel=1e-4)
    assert gaps.negative.max() == 0.0


def test_alignment_by_rank_agrees_with_its_closed_form(monkeypatch):
    sizes = rmt_alignment.AlignmentSizes(20_000, 6, 40, (2.0,), 3)
    monkeypatch.setitem(rmt_alignment.ALIGNMENT_SIZES, "quick", sizes)
    table = rmt_alignment.alignment_data(Settings())
    cosines = table[table.panel == "cosine"]
    assert np.all(np.abs(cosines["mean"] - cosines.limit) < 6 * cosines.standard_error + 2e-3)
    plain = cosines[cosines.series == "no own errors"]
    assert plain.printed.to_numpy() == pytest.approx(plain.limit)


def test_the_sentence_of_the_spectrum_by_hand():
    """At R = 10,000 a count has the deviation sqrt(log R)/pi = 0.97; spikes 3 and -2 lie at 10/3 and -2.5."""
    law = [
        ("count without spikes", 10_000, at, value, draw, 0.25)
        for at, draw, value in (
            (-1.0, 0, 0.5),
            (-1.0, 1, 1.5),
            (1.0, 0, 0.25),
            (1.0, 1, 0.35),
            (1.95, 0, 9.0),
            (1.95, 1, 9.0),
        )
    ]
    outliers = [
        ("outlier", 400, spike, value, draw, np.nan)
        for spike, draw, value in (
            (3.0, 0, 3.3),
            (3.0, 1, 3.4),
            (3.0, 2, 3.33),
            (-2.0, 0, -2.4),
            (-2.0, 1, -2.5),
            (-2.0, 2, -2.2),
        )
    ]
    eigenvalues = [
        ("eigenvalue", 400, np.nan, value, place, np.nan) for place, value in enumerate((-2.4, -2.0, 2.05, 3.3))
    ]
    count = [("count", 400, 0.0, 0.0, draw, 0.0) for draw in range(4)]
    columns = ["kind", "R", "at", "value", "draw", "predicted"]
    table = pd.DataFrame([*law, *outliers, *eigenvalues, *count], columns=columns)
    found = rmt_spectrum.spectrum_found(table)
    assert "at R = 10,000 within 0.75 eigenvalues (sd of one matrix 0.97)" in found
    assert "mean outliers within 0.133 of the stated places, 2 eigenvalues of five spikes outside the bulk" in found
    assert rmt_spectrum.spectrum_headline(table) == "2 of five spikes leave the bulk, within 0.133 of the stated places"
    sizes = "Dense $R=400$ (4 matrices), band form $R=10000$ (2 matrices), 3 draws of the outliers."
    assert rmt_spectrum.spectrum_sizes(table) == sizes
