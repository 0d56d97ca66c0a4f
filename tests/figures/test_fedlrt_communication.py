"""Communication of FeDLRT, by counting: it equals the ledger of a run, and the stated savings ask for these ranks."""

from dataclasses import replace
from pathlib import Path

import pytest

from figures import fedlrt_vision as vision
from figures.fedlrt_communication import COMMUNICATION, largest_rank, sent, sides
from figures.fedlrt_vision_runs import VARIANTS, VISION
from figures.figure import Settings
from workloads.datasets import find

ROOT = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def table():
    return COMMUNICATION.data(Settings())


def test_the_ledger_of_a_run_has_what_is_counted(tmp_path, monkeypatch):
    if find("fashion-mnist", ROOT) is None:
        pytest.skip("Fashion-MNIST is not here")
    quick = replace(VISION["fig-8"]["quick"], rows=tuple(VARIANTS), rank=3)
    monkeypatch.setitem(VISION["fig-8"], "quick", quick)
    saved = vision.savings(vision.vision_data("fig-8", Settings(data_root=ROOT, runs=tmp_path)))
    for row, trips in (("without correction", 2), ("full correction", 4), ("simplified correction", 4)):
        layers = sides(quick)
        low = sum(sent(m, n, 3, row) for m, n in layers)
        expected = 1 - low / (trips * sum(m * n for m, n in layers))
        assert saved[saved.method == row].of_layers.tolist() == pytest.approx([expected] * 2)


def test_the_stated_savings_ask_for_these_ranks(table):
    assert largest_rank(table, "fig-5", "simplified correction", 0.9) == 1
    assert largest_rank(table, "fig-5", "without correction", 0.9) == 0
    for share, rank in ((0.96, 81), (0.97, 61)):
        layers = sides(VISION["fig-6"]["paper"])
        full = 4 * sum(m * n for m, n in layers)
        low = [sum(sent(m, n, r, "simplified correction") for m, n in layers) for r in (rank, rank + 1)]
        assert low[0] <= (1 - share) * full < low[1]
        assert largest_rank(table, "fig-6", "simplified correction", share) == rank


def test_the_figure_tells_them(table):
    assert "up to rank 61" in COMMUNICATION.found(table)
    assert len(COMMUNICATION.draw(table).axes) == 4
    assert set(table.figure) == set(VISION)
