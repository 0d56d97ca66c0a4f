"""Making a figure: files, cache, manifest, errors; with a figure invented for the purpose."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rankproof
from figures import make as making
from figures.figure import Figure, FigureError, Settings
from figures.ledger import all_figures, select
from figures.make import make, read_table
from workloads.data.datasets import REGISTRY
from workloads.data.idx import DataError
from workloads.written import RECORD


def parabola(settings):
    calls.append(settings.scale)
    settings.report("squaring")
    x = settings.rng("x").standard_normal(settings.sizes({"quick": 5, "laptop": 7, "paper": 9}))
    return pd.DataFrame({"x": x, "y": x**2, "name": ["", "nan?", "a,b", "$x$", "ü"] + ["n"] * (len(x) - 5)}).assign(
        gap=np.nan
    )


def draw(table):
    from matplotlib.figure import Figure as Picture

    picture = Picture()
    picture.subplots().plot(table.x, table.y, ".")
    return picture


FIGURE = Figure(
    id="invented/parabola",
    title="A parabola",
    caption="$y = x^2$.",
    data=parabola,
    draw=draw,
    headline=lambda table: f"Up to y = {table.y.max():g}",
    found=lambda table: f"Stated: y = x²; found: within {(table.y - table.x**2).abs().max():g}.",
    sizes=lambda table: f"{len(table)} points.",
)
calls: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()


def test_files_and_manifest(tmp_path):
    texts = []
    made = make(FIGURE, Settings(seed=3, device="cpu:0", progress=texts.append), tmp_path)
    assert sorted(made.paths) == ["csv", "manifest", "pdf", "png", "svg"]
    assert made.paths["png"].read_bytes().startswith(b"\x89PNG")
    assert made.paths["pdf"].read_bytes().startswith(b"%PDF")
    assert b"<svg" in made.paths["svg"].read_bytes()
    manifest = json.loads(made.paths["manifest"].read_text())
    assert manifest == made.manifest
    assert manifest["command"] == "rankproof figure invented/parabola --scale quick --seed 3 --device cpu:0"
    assert [manifest[name] for name in ("figure", "title")] == ["invented/parabola", "A parabola"]
    assert [manifest[name] for name in ("scale", "seed", "device")] == ["quick", 3, "cpu:0"]
    assert made.caption == "$y = x^2$. 5 points. Scale quick, seed 3."
    assert made.found == "Stated: y = x²; found: within 0."
    for kind in ("png", "pdf", "svg", "csv"):
        path = made.paths[kind]
        assert manifest["files"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "squaring" in texts
    assert {"computing", "drawing"} <= set(texts)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == [".cache", RECORD]
    assert str(tmp_path) not in made.paths["manifest"].read_text()


def test_the_table_is_the_csv_bit_for_bit(tmp_path):
    made = make(FIGURE, Settings(), tmp_path)
    pd.testing.assert_frame_equal(made.table, parabola(Settings()), check_exact=True)


@pytest.mark.slow
def test_cache_by_settings_and_recompute(tmp_path):
    first = make(FIGURE, Settings(), tmp_path)
    bytes_of = {kind: path.read_bytes() for kind, path in first.paths.items() if kind != "manifest"}
    again = make(FIGURE, Settings(), tmp_path)
    assert (first.cached, again.cached, calls) == (False, True, ["quick"])
    assert {kind: path.read_bytes() for kind, path in again.paths.items() if kind != "manifest"} == bytes_of
    assert not make(FIGURE, Settings(seed=1), tmp_path).cached
    assert not make(FIGURE, Settings(scale="laptop"), tmp_path).cached
    assert make(FIGURE, Settings(), tmp_path).cached
    assert not make(FIGURE, Settings(), tmp_path, recompute=True).cached


def test_numbers_are_kept_by_scale_seed_device_and_sources(tmp_path):
    def is_cached(settings, sources="one", recompute=False, from_runs=False):
        entry, cached = making._load_or_compute(FIGURE, settings, sources, tmp_path, recompute, from_runs)
        assert [entry["identity"][name] for name in ("scale", "seed", "device", "sources_sha256")] == [
            *(settings.scale, settings.seed, settings.device, sources)
        ]
        assert len(read_table(entry["csv"])) == (5 if settings.scale == "quick" else 7)
        return cached

    (tmp_path / ".cache").mkdir()
    every = (Settings(), Settings(seed=1), Settings(scale="laptop"), Settings(device="cpu:0"))
    assert [is_cached(settings) for settings in every] == [False] * 4
    assert [is_cached(settings) for settings in every] == [True] * 4
    assert sorted(path.name for path in (tmp_path / ".cache").glob("*.json")) == [
        "invented-parabola.laptop.0.cpu.json",
        "invented-parabola.quick.0.cpu-0.json",
        "invented-parabola.quick.0.cpu.json",
        "invented-parabola.quick.1.cpu.json",
    ]
    assert not is_cached(Settings(), recompute=True)
    assert not is_cached(Settings(), from_runs=True)
    assert [is_cached(Settings(), sources) for sources in ("one", "two", "two", "one")] == [True, False, True, False]
    assert is_cached(Settings(seed=1))


def test_runs_are_noted_with_the_digest_of_their_metrics(tmp_path):
    from runs.listing import METRICS

    used = {}
    for name, text in (("failed", None), ("done", "{}\n")):
        folder = tmp_path / name
        folder.mkdir()
        if text is not None:
            (folder / METRICS).write_text(text)
        making._note_run(used, folder)
    assert used == {"failed": "", "done": hashlib.sha256(b"{}\n").hexdigest()}


def test_changed_sources_and_a_damaged_cache_compute_again(tmp_path, monkeypatch):
    make(FIGURE, Settings(), tmp_path)
    (kept,) = (tmp_path / ".cache").iterdir()
    kept.write_text(kept.read_text()[:100])
    assert not make(FIGURE, Settings(), tmp_path).cached
    monkeypatch.setattr(making, "numbers_digest", lambda data: "other")
    assert not make(FIGURE, Settings(), tmp_path).cached


def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path, monkeypatch):
    made = make(FIGURE, Settings(), tmp_path)
    before = {path: path.read_bytes() for path in made.paths.values()}

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        make(FIGURE, Settings(), tmp_path)
    assert {path: path.read_bytes() for path in made.paths.values()} == before
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in before} | {".cache", RECORD}


def test_a_folder_that_cannot_be_made_fails_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        make(FIGURE, Settings(), tmp_path / "file")
    assert calls == []


def test_missing_data_passes_through(tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTRY, "fashion-mnist", replace(REGISTRY["fashion-mnist"], places=()))
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    figure = select(["hessian/fmnist-exact"])[0]
    with pytest.raises(DataError, match="Fashion-MNIST was not found"):
        make(figure, Settings(), tmp_path)


@pytest.mark.parametrize("device", ["cuda:77", "abacus"])
def test_a_device_that_is_not_there(tmp_path, device):
    with pytest.raises(FigureError, match=f"device '{device}' cannot be used here") as error:
        make(FIGURE, Settings(device=device), tmp_path)
    assert isinstance(error.value, ValueError)
    assert "\n" not in str(error.value)


def test_settings_at_the_door():
    with pytest.raises(FigureError, match="unknown scale 'huge'; choose one of quick, laptop, paper"):
        Settings(scale="huge")  # type: ignore[arg-type]
    with pytest.raises(FigureError, match="seed"):
        Settings(seed=-1)


def test_streams_are_named():
    one, same, other = (Settings().rng(*p).random() for p in (("a", 1), ("a", 1), ("a", 2)))
    assert one == same != other


def test_the_ledger():
    ids = [figure.id for figure in all_figures()]
    assert {"rmt/spectrum", "rmt/transition", "rmt/stable-rank", "hessian/fmnist-exact"} <= set(ids)
    assert len(set(ids)) == len(ids)
    assert [figure.id for figure in select(["rmt/transition", "rmt/transition"])] == ["rmt/transition"]
    assert {figure.id for figure in select(["rmt/"])} == {id for id in ids if id.startswith("rmt/")}
    assert select() == all_figures()


def test_the_list_is_lines_or_json(capsys):
    chosen = select(["rmt/"])
    assert rankproof.main(["figure", "--list", "rmt/"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [figure.id for figure in chosen]
    assert rankproof.main(["figure", "--list", "--json", "rmt/"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == [{"id": f.id, "title": f.title, "datasets": list(f.datasets)} for f in chosen]
    assert rankproof.main(["figure", "--json", "rmt/transition"]) == 2
    assert "add --list" in capsys.readouterr().err


def test_two_figures_of_one_id_are_an_error(monkeypatch):
    from figures.fedloru import toy as fedloru_toy

    monkeypatch.setattr(fedloru_toy, "AGAIN", replace(fedloru_toy.FEDLORU_TOY, title="Another"), raising=False)
    with pytest.raises(FigureError, match=r"are called .fedloru/toy., one of them in figures\.fedloru\.toy"):
        all_figures()


def test_unknown_ids_name_near_ones():
    with pytest.raises(FigureError, match="unknown figure 'rmt/spectrun'; did you mean rmt/spectrum"):
        select(["rmt/spectrun"])
    with pytest.raises(FigureError, match="did you mean rmt/stable-rank"):
        select(["stable-rank"])
    with pytest.raises(FigureError, match=r"known: .*rmt/spectrum"):
        select(["zzzz"])


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([2**53 + 1, -(2**63), 0], "int64"),
        ([2**63, 2**70 + 1, -1], "object"),
        ([0.1, 5e-324, -0.0], "float64"),
        ([1.5, float("nan"), float("-inf")], "float64"),
        ([True, False, True], "bool"),
        (["1_000", "20", "3"], "str"),
        (["007", "10", "3"], "str"),
        (["007.5", "10", "3"], "str"),
        (["٣", "4", "5"], "str"),
        ([" 1", "2", "3"], "str"),
        (["Infinity", "1", "2"], "str"),
        (["a\rb", "c\nd", 'e"f'], "str"),
        ([1 + 2j, 3j, 0j], "str"),
    ],
)
def test_a_table_is_read_as_it_was_written(entries, kind):
    table = pd.DataFrame({"row": range(3), "value": pd.Series(entries, dtype=object)})
    found = read_table(table.to_csv(index=False, na_rep="nan", lineterminator="\n"))["value"]
    assert [str(one) for one in found] == [str(one) for one in entries]
    assert (kind == "str") == all(isinstance(one, str) for one in found)
    assert kind == "str" or str(found.dtype) == kind
