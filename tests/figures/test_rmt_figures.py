"""The numbers of the random-matrix figures, at tiny sizes, and their pictures."""

import numpy as np
import pytest

from figures import rmt_spectrum, rmt_stable_rank, rmt_transition
from figures.figure import Settings
from figures.make import make
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


@pytest.mark.parametrize(
    ("module", "sizes", "name"),
    [
        (rmt_spectrum, rmt_spectrum.SpectrumSizes(80, 3, 300, 3, 5), "spectrum"),
        (rmt_transition, rmt_transition.TransitionSizes((100, 10**4), 4, 3, 3), "transition"),
        (rmt_stable_rank, rmt_stable_rank.StableRankSizes((10, 10**4, 10**9), 10), "stable-rank"),
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
