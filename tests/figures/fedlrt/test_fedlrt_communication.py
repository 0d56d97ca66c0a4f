"""FeDLRT's communication counts equal the ledger of a run, and the stated savings require these ranks."""

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from figures.fedlrt import vision as vision
from figures.fedlrt.communication import COMMUNICATION, NETWORKS, elements_sent, largest_rank, sides
from figures.fedlrt.vision_runs import VARIANTS, VISION
from figures.figure import Settings
from workloads.data.datasets import find

ROOT = Path(__file__).resolve().parents[3] / "data"


@pytest.fixture(scope="module")
def table():
    return COMMUNICATION.data(Settings())


def test_the_ledger_of_a_run_has_what_is_counted(tmp_path, monkeypatch):
    if find("fashion-mnist", ROOT) is None:
        pytest.skip("Fashion-MNIST is not here")
    quick = replace(VISION["fig-8"]["quick"], rows=tuple(VARIANTS), rank=3, steps=1)
    monkeypatch.setitem(VISION["fig-8"], "quick", quick)
    saved = vision.savings(vision.vision_data("fig-8", Settings(data_root=ROOT, runs=tmp_path)))
    for row, trips in (("without correction", 2), ("full correction", 4), ("simplified correction", 4)):
        layers = sides(quick)
        low = sum(elements_sent(m, n, 3, row) for m, n in layers)
        expected = 1 - low / (trips * sum(m * n for m, n in layers))
        assert saved[saved.method == row].of_layers.tolist() == pytest.approx([expected] * 2)


def test_the_stated_savings_ask_for_these_ranks(table):
    assert largest_rank(table, "fig-5", "simplified correction", 0.9) == 1
    assert largest_rank(table, "fig-5", "without correction", 0.9) == 0
    for share, rank in ((0.96, 81), (0.97, 61)):
        layers = sides(VISION["fig-6"]["paper"])
        full = 4 * sum(m * n for m, n in layers)
        low = [sum(elements_sent(m, n, r, "simplified correction") for m, n in layers) for r in (rank, rank + 1)]
        assert low[0] <= (1 - share) * full < low[1]
        assert largest_rank(table, "fig-6", "simplified correction", share) == rank


def test_a_head_saves_little_of_the_whole_network(table):
    """A head of 10 x 512 at rank 4: 3 * 522 * 4 = 6,264 numbers, and 5, 13 or 7 matrices of 16."""
    mine = table[(table.figure == "fig-5") & (table["rank"] == 4)].set_index("variant").of_all
    for variant, trips, low in (
        ("without correction", 2, 6_344),
        ("full correction", 4, 6_472),
        ("simplified correction", 4, 6_376),
    ):
        assert mine[variant] == pytest.approx((trips * 5_120 - low) / (trips * 11_173_962), rel=1e-12)


def test_the_figure_tells_them(table):
    assert "up to rank 61" in COMMUNICATION.found(table)
    assert len(COMMUNICATION.draw(table).axes) == 4
    assert set(table.figure) == set(VISION)


FACTORISED = {
    "fig-5": [(10, 512)],
    "fig-6": [(4096, 1024), (4096, 4096)],
    "fig-7": [(512, 512)] * 2,
    "fig-8": [(512, 512)] * 36,
}
SQUARES = {"without correction": (5, 2), "full correction": (13, 4), "simplified correction": (7, 4)}
"""Number of r x r matrices sent per round, and of full matrices sent per round of the counterpart."""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("figure", NETWORKS)
def test_every_column_by_hand(table, figure, variant):
    every = sum(prod(shape) for shape in VISION[figure]["paper"].shapes.values())
    layers = FACTORISED[figure]
    squares, trips = SQUARES[variant]
    mine = table[(table.figure == figure) & (table.variant == variant)]
    full = sum(m * n for m, n in layers)
    most = min(min(layer) for layer in layers) // 2
    assert mine["rank"].tolist() == list(range(1, most + 1))
    assert set(mine.network) == {NETWORKS[figure]}
    for rank in sorted({1, min(3, most), most}):
        (row,) = mine[mine["rank"] == rank].itertuples()
        low = sum(3 * (m + n) * rank + squares * rank**2 for m, n in layers)
        assert (row.parameters, row.factorised) == (every, full)
        assert row.of_layers == pytest.approx(1 - low / (trips * full))
        assert row.of_all == pytest.approx(1 - (low + trips * (every - full)) / (trips * every))
        assert row.compression == pytest.approx(1 - sum((m + n) * rank + rank**2 for m, n in layers) / full)
