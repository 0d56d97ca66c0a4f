"""Figure 1 of FedLoRU on a tiny invented image set, and the estimate of eq. (87) on known spectra."""

import hashlib
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from stripes import stripes

from figures.fedloru.fig1 import (
    ESTIMATORS,
    FIG1,
    FIG1_SIZES,
    Fig1Sizes,
    eq_87,
    fig1,
    fig1_choice,
    fig1_found,
    fig1_sizes,
    pairs,
)
from figures.fedloru.fig1_picture import draw_fig1
from figures.figure import Settings
from figures.make import make
from hessian.lanczos.quadrature import SpectralMeasure
from workloads.data.datasets import REGISTRY, DataError
from workloads.data.file_layouts import Layout
from workloads.data.idx import pack
from workloads.data.packages import FILES

SIZES = Fig1Sizes(4, 10, 1, 10, 40, 2, 2, 1, 8, relative_width=0.5)


@pytest.fixture(scope="module")
def table():
    return fig1(stripes(200), SIZES, Settings())


@pytest.mark.slow
def test_every_estimator_at_both_weights_in_every_run_and_epoch(table):
    counts = table.groupby(["weights", "samples", "estimator"]).size()
    assert set(counts.index) == {(w, n, e) for w in ("own", "common") for n in (10, 40) for e in ESTIMATORS}
    assert (counts == 4).all()
    assert set(table.epoch) == {1, 2}
    assert np.isfinite(table.value).all()
    assert (table.value > 0).all()


def test_the_servers_own_weights_are_the_common_ones(table):
    own, common = (
        table[(table.samples == 40) & (table.weights == weights)].sort_values(["estimator", "run", "epoch"])
        for weights in ("own", "common")
    )
    assert (own.value.to_numpy() == common.value.to_numpy()).all()
    client = table[(table.samples == 10) & (table.estimator == "stable rank")]
    values = client.pivot(index=["run", "epoch"], columns="weights", values="value")
    assert not np.isclose(values.own, values.common, rtol=1e-3).all()


def test_stable_ranks_lie_in_their_intervals(table):
    ranks = table[table.estimator == "stable rank"]
    assert ((ranks.low <= ranks.value) & (ranks.value <= ranks.high)).all()
    assert (ranks.low < ranks.high).any()
    assert (ranks.value >= 1 - 1e-6).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table(table):
    again = fig1(stripes(200), replace(SIZES, runs=1, epochs=1), Settings())
    first = table[(table.run == 0) & (table.epoch == 1)]
    ranks, before = (t[t.estimator == "stable rank"].value for t in (again, first))
    assert len(ranks) == 4
    assert np.allclose(ranks, before, rtol=1e-3)


def test_eq_87_by_hand():
    """Two nodes: with masses their ratio counts, with densities the kernel's height over the grid's spacing as well."""
    measure = SpectralMeasure(2, (np.array([3.0, 9.0]),), (np.array([0.4, 0.6]),), np.empty(0))
    densities, masses = eq_87(measure)
    exact = 1.0 + 0.4 * 9.0 / (0.6 * 81.0)
    assert masses == pytest.approx(exact)
    length = 6.0 + 2 * 0.01
    kernel = np.sqrt(2.0 * np.pi * 1e-5 * length) / (length / 9999)
    # The top node lies 0.01 inside the grid's end, nearer than the kernel reaches: a part of its mass is cut off.
    assert 0.5 * kernel * exact < densities < kernel * exact


def test_found_counts_what_the_table_says(table):
    made = table.copy()
    rank = made.estimator == "stable rank"
    made.loc[rank & (made.samples == 10), ["value", "low", "high"]] = [5.0, 4.0, 6.0]
    made.loc[rank & (made.samples == 40), ["value", "low", "high"]] = [2.0, 1.5, 2.5]
    assert "stable rank: 4 of 4 (the mean over runs: 2 of 2 epochs; median ratio 2.50; intervals apart: 4 above" in (
        fig1_found(made)
    )
    assert pairs(made, "own", "stable rank").above.all()
    made.loc[rank & (made.samples == 10), ["value", "low", "high"]] = [1.2, 1.1, 1.3]
    assert "stable rank: 0 of 4" in fig1_found(made)
    assert "0 above, 4 below" in fig1_found(made)


def test_picture_and_sizes(table):
    picture = draw_fig1(table)
    assert len(picture.axes) == 6
    assert all(axes.get_yscale() == "log" for axes in picture.axes)
    assert fig1_sizes(table).startswith("ResNet-10 with 1 channels in the stem, $P=1383$")
    assert FIG1.datasets == ("fashion-mnist",)
    assert fig1_choice(Settings()).names == fig1_choice(Settings(scale="laptop")).names == FIG1.datasets
    assert "CIFAR-100" in FIG1.caption


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """Invented sets of both kinds, registered under the names that the figure asks for, with their own checksums.

    Titles say that they are invented, and this machine's genuine sets are out of sight.
    """
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 100).astype(np.uint8)
    grey = pack((rng.uniform(0, 60, (100, 28, 28)) + 15 * labels[:, None, None]).astype(np.uint8))
    colour = (rng.uniform(0, 60, (100, 3072)) + 15 * labels[:, None]).astype(np.uint8)
    files = {
        "fashion-mnist": (
            tmp_path / "FashionMNIST/raw",
            dict.fromkeys(FILES[::2], grey) | dict.fromkeys(FILES[1::2], pack(labels)),
        ),
        "cifar-100": (tmp_path / "cifar-100-python", dict.fromkeys(("train", "test", "meta"), colour.tobytes())),
    }

    def read(contents, name):
        return np.frombuffer(contents[0], np.uint8).reshape(-1, 3, 32, 32).copy(), labels

    layouts = {
        "fashion-mnist": REGISTRY["fashion-mnist"].layout,
        "cifar-100": Layout("", {"train": ("train",), "test": ("test",)}, read, (3, 32, 32), 100),
    }
    for name, (_, contents) in files.items():
        known = {file: hashlib.md5(content).hexdigest() for file, content in contents.items()}
        made = replace(REGISTRY[name], title=f"Invented {name}", md5=known, places=(), layout=layouts[name])
        monkeypatch.setitem(REGISTRY, name, made)
    monkeypatch.setitem(FIG1_SIZES, "paper", replace(SIZES, side=4, runs=1, epochs=1))
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    monkeypatch.chdir(tmp_path)

    def put(*names):
        for name in names:
            folder, contents = files[name]
            folder.mkdir(parents=True)
            for file, content in contents.items():
                (folder / file).write_bytes(content)

    return put


@pytest.mark.slow
def test_the_papers_scale_uses_the_papers_data_where_present(sets, tmp_path, table):
    sets("cifar-100")  # the other set is not needed then
    made = make(FIG1, Settings(scale="paper", data_root=tmp_path), tmp_path / "out")
    assert [entry["name"] for entry in made.manifest["data"]] == ["cifar-100"]
    assert "Data: Invented cifar-100 (genuine, checksums verified). Scale" in made.caption
    assert not made.note
    assert set(made.table.side) == {32}
    # A stem for three channels and a head for a hundred classes: 2 * 9 more weights, and 90 more rows of 8 + 1.
    assert set(made.table.parameters) == {table.parameters.iloc[0] + 18 + 90 * 9}


@pytest.mark.slow
def test_the_papers_scale_says_what_it_used_instead(sets, tmp_path):
    sets("fashion-mnist")
    told = []
    made = make(FIG1, Settings(scale="paper", data_root=tmp_path, progress=told.append), tmp_path / "out")
    note = "Invented cifar-100, the paper's data, was not found: the genuine Invented fashion-mnist was used instead"
    assert made.note == note
    assert note in told
    assert "\n" not in note
    assert made.caption.count(note) == 1
    manifest = json.loads(made.paths["manifest"].read_text())
    assert manifest["data_note"] == note
    assert [entry["name"] for entry in manifest["data"]] == ["fashion-mnist"]
    sets("cifar-100")  # from now on it is there, and the kept numbers do not serve
    again = make(FIG1, Settings(scale="paper", data_root=tmp_path), tmp_path / "out")
    assert not again.cached
    assert [entry["name"] for entry in again.manifest["data"]] == ["cifar-100"]


def test_a_damaged_set_is_an_error_and_no_reason_to_use_the_other(sets, tmp_path):
    sets("fashion-mnist", "cifar-100")
    (tmp_path / "cifar-100-python/train").write_bytes(pickle.dumps("altered"))
    with pytest.raises(DataError, match="train: expected MD5"):
        make(FIG1, Settings(scale="paper", data_root=tmp_path), tmp_path / "out")
    assert fig1_choice(Settings(scale="laptop", data_root=tmp_path)).names == ("fashion-mnist",)
