"""The animated spike is at the position of the theory and the draws."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from figures.figure import Settings
from figures.rmt.crossing import STILL, R, animate, crossing, noise_histogram, write
from rmt import SpikedModel, draw_banded

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def steps():
    return crossing(Settings())


@pytest.fixture(scope="module")
def table(steps):
    return pd.DataFrame(steps)


@pytest.fixture(scope="module")
def drawn(steps):
    return animate(steps, *noise_histogram(Settings()))


def test_all_eigenvalues_are_of_one_noise_matrix(table):
    """The spike has rank one, so that the largest eigenvalue grows by at most as much as the spike."""
    steps, rises = np.diff(table.spike), np.diff(table.location)
    assert (rises >= -1e-12).all()
    assert (rises <= steps + 1e-12).all()
    whole = draw_banded(SpikedModel(), R, Settings().rng("crossing"), rows=R)
    edges, density = noise_histogram(Settings())
    assert (density * R * np.diff(edges)).sum() == pytest.approx(R)
    assert table.location.iloc[0] == pytest.approx(whole.at(1), abs=1e-3)


def test_draws_are_near_their_limits_and_the_printed_branch_is_not(table):
    far = table[(table.spike - 1.0).abs() > 0.3]
    assert (far.location - far.location_limit).abs().max() < 0.06
    assert (far.overlap - far.overlap_limit).abs().max() < 0.06
    small = table[table.spike < 0.7]
    assert (small.location_printed - small.location).min() > 0.1


def test_what_moves_passes_the_draws_in_their_order(table, drawn):
    (frames,) = re.findall(r"@keyframes found\{(.*?\})\}", drawn)
    places = [float(x) for x in re.findall(r"translate\(([\d.]+)px", frames)]
    assert len(places) == len(table) + 1
    unit = (690 - 50) / (3.3 + 2.3)
    np.testing.assert_allclose(places[:-1], 50 + (table.location + 2.3) * unit, atol=0.06)


def test_without_motion_the_spike_stands_at_twice_the_threshold(table, drawn):
    root = ElementTree.fromstring(drawn)
    (dot,) = (group for group in root.iter(f"{SVG}g") if group.get("id") == "value")
    still = table[table.spike == STILL].iloc[0]
    x, y = (float(part) for part in re.findall(r"[\d.]+", dot.get("transform")))
    assert x == pytest.approx(50 + STILL / 2.7 * 290, abs=0.06)
    assert y == pytest.approx(500 - (still.location - 1.8) / 1.4 * 170, abs=0.06)
    (style,) = root.iter(f"{SVG}style")
    outside = style.text.split("@media (prefers-reduced-motion:no-preference)")[0]
    assert "animation" not in outside


def test_the_file_is_small_and_needs_nothing_else(tmp_path):
    (path,) = write(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert not re.search(r"<script|<image|href|url\(", text)
    assert ElementTree.fromstring(text).find(f"{SVG}title").text
