"""Numbers stored with the project are drawn as they are; runs behind figures are kept, resumed, or repeated."""

import hashlib
import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from algorithms.fedavg import FedAvg
from figures import make as making
from figures import stored_numbers as storing
from figures.experiments.sweep import outcomes_of
from figures.figure import Figure, FigureError, Settings
from figures.make import make
from runs.experiments import Experiment, Trial
from runs.folder import train
from runs.listing import find_runs
from runs.settings import RunError

ROUNDS = 4
calls: list[str] = []


def descent(settings):
    calls.append(settings.scale)
    trial = Trial("descent", "fedavg", "quadratics", ROUNDS, {"clients": 2}, (settings.seed,))
    (outcome,) = outcomes_of(Experiment((trial,)), settings)
    return pd.DataFrame(outcome.run.rows)


def draw(table):
    from matplotlib.figure import Figure as Picture

    picture = Picture()
    picture.subplots().plot(table["round"], table.loss)
    return picture


FIGURE = Figure(
    id="invented/descent",
    title="Descent",
    caption="A loss.",
    data=descent,
    draw=draw,
    headline=lambda table: "It falls",
    found=lambda table: "Stated: nothing.",
    sizes=lambda table: f"{len(table)} rounds.",
)
LAPTOP = Settings(scale="laptop")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    calls.clear()
    folder = tmp_path / "stored"
    folder.mkdir()
    monkeypatch.setattr(making, "stored_numbers", lambda f, s: storing.stored_numbers(f, s, folder))
    monkeypatch.setattr(making, "stored_seconds", lambda f, scale: storing.stored_seconds(f, scale, folder))
    return folder


def store(place, made):
    for kind in ("csv", "manifest"):
        shutil.copy(made.paths[kind], place)


def test_stored_numbers_are_drawn_whatever_the_sources_are_by_now(tmp_path, place, monkeypatch):
    first = make(FIGURE, LAPTOP, tmp_path / "first")
    assert not first.manifest["stored"]
    store(place, first)
    calls.clear()
    monkeypatch.setattr(making, "numbers_digest", lambda data: "other")
    again = make(FIGURE, LAPTOP, tmp_path / "again")
    assert calls == []
    assert again.manifest["stored"]
    assert again.manifest["stale"]
    assert again.manifest["sources_sha256"] == first.manifest["sources_sha256"]
    of = f"{first.caption} Stored numbers, of the sources {first.manifest['sources_sha256'][:12]}"
    assert again.caption == f"{of}, which have changed since; --recompute computes them again."
    assert again.paths["csv"].read_bytes() == first.paths["csv"].read_bytes()
    assert again.paths["png"].read_bytes() == first.paths["png"].read_bytes()
    store(place, again)
    third = make(FIGURE, LAPTOP, tmp_path / "third")
    assert {**third.manifest, "seconds": 0} == {**again.manifest, "seconds": 0}
    monkeypatch.undo()
    monkeypatch.setattr(making, "stored_numbers", lambda f, s: storing.stored_numbers(f, s, place))
    current = make(FIGURE, LAPTOP, tmp_path / "current")
    assert current.caption == f"{of}."
    assert not current.manifest["stale"]


def test_other_settings_and_recompute_compute(tmp_path, place):
    store(place, make(FIGURE, LAPTOP, tmp_path))
    calls.clear()
    assert not make(FIGURE, Settings(), tmp_path).manifest["stored"]
    assert not make(FIGURE, Settings(scale="laptop", seed=1), tmp_path).manifest["stored"]
    assert not make(FIGURE, LAPTOP, tmp_path, recompute=True).manifest["stored"]
    assert not make(FIGURE, LAPTOP, tmp_path, from_runs=True).manifest["stored"]
    assert calls == ["quick", "laptop", "laptop", "laptop"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda table, manifest: table.write_text(table.read_text() + "9,9\n"), "does not match"),
        (lambda table, manifest: manifest.write_text("{}"), "is not a manifest that `rankproof figure` wrote"),
        (lambda table, manifest: manifest.write_text("[" * 9), "is not a manifest that `rankproof figure` wrote"),
        (lambda table, manifest: table.write_bytes(b"\xff"), "does not match"),
    ],
)
def test_damaged_stored_numbers_are_named(tmp_path, place, damage, message):
    made = make(FIGURE, LAPTOP, tmp_path)
    store(place, made)
    damage(place / made.paths["csv"].name, place / made.paths["manifest"].name)
    with pytest.raises(FigureError, match=message) as error:
        make(FIGURE, LAPTOP, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_runs_are_taken_as_they_stand_but_for_quick_and_recompute(tmp_path):
    def runs_done(settings, **how):
        texts = []
        make(FIGURE, Settings(**settings, progress=texts.append), tmp_path, **how)
        return sum(", round 0 of" in text for text in texts)

    assert runs_done({"scale": "laptop"}) == 1
    shutil.rmtree(tmp_path / ".cache")
    assert runs_done({"scale": "laptop"}) == 0
    assert runs_done({"scale": "laptop"}, from_runs=True) == 0
    assert runs_done({"scale": "laptop"}, recompute=True) == 1
    assert runs_done({}) == 1
    (run,) = find_runs(tmp_path / "runs")
    assert run.done == ROUNDS
    assert not (tmp_path / ".anew").exists()


def test_a_manifest_names_the_runs_behind_the_numbers(tmp_path, place):
    made = make(FIGURE, replace(LAPTOP, seed=2), tmp_path)
    make(FIGURE, replace(LAPTOP, seed=3), tmp_path)
    named = made.manifest["runs"]
    (run,) = [run for run in find_runs(tmp_path / "runs") if run.settings["seed"] == 2]
    assert named == {run.folder.name: hashlib.sha256((run.folder / "metrics.csv").read_bytes()).hexdigest()}
    assert make(FIGURE, replace(LAPTOP, seed=2), tmp_path).manifest["runs"] == named  # from the cache
    store(place, made)
    again = make(FIGURE, replace(LAPTOP, seed=2), tmp_path / "again")
    assert again.manifest["stored"]
    assert again.manifest["runs"] == named


def test_a_figure_says_which_runs_other_versions_or_devices_made(tmp_path, place):
    made = make(FIGURE, LAPTOP, tmp_path)
    assert "runs_made_by" not in made.manifest
    assert "training runs" not in made.caption
    (run,) = find_runs(tmp_path / "runs")
    settings = json.loads((run.folder / "settings.json").read_text())
    settings["versions"]["torch"], settings["conduct"]["device"] = "1.0.0", "cuda"
    (run.folder / "settings.json").write_text(json.dumps(settings))
    made = make(FIGURE, LAPTOP, tmp_path, from_runs=True)
    assert made.manifest["runs_made_by"] == {run.folder.name: "torch 1.0.0, device cuda"}
    assert "Of 1 training runs, computed on other versions or devices: 1 with torch 1.0.0, device cuda." in made.caption
    assert make(FIGURE, LAPTOP, tmp_path).caption == made.caption  # from the cache
    store(place, made)
    assert "devices: 1 with torch 1.0.0, device cuda." in make(FIGURE, LAPTOP, tmp_path / "again").caption


def test_a_recompute_that_was_cut_off_goes_on(tmp_path):
    make(FIGURE, LAPTOP, tmp_path)

    def cut(text):
        if ", round 2 of" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(FIGURE, Settings(scale="laptop", progress=cut), tmp_path, recompute=True)
    assert find_runs(tmp_path / "runs")[0].done == ROUNDS
    texts = []
    made = make(FIGURE, Settings(scale="laptop", progress=texts.append), tmp_path, recompute=True)
    rounds = [text.split(", round ")[1][0] for text in texts if ", round " in text]
    assert rounds == ["3", "4"]
    assert made.table["round"].tolist() == list(range(ROUNDS + 1))
    assert not (tmp_path / ".anew").exists()


def test_what_another_figure_began_stays(tmp_path):
    other = replace(FIGURE, id="invented/other")

    def cut(text):
        if ", round 2 of" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(other, Settings(progress=cut), tmp_path)
    make(FIGURE, Settings(), tmp_path)
    texts = []
    make(other, Settings(progress=texts.append), tmp_path)
    assert not any(", round 0 of" in text for text in texts)
    assert not (tmp_path / ".anew").exists()


def test_a_second_command_waits_for_the_runs_of_the_first(tmp_path):
    class WaitingError(Exception):
        pass

    def second(text):
        if text.startswith("waiting for another process that makes this figure"):
            raise WaitingError

    def first(text):
        if ", round 2 of" in text:
            with pytest.raises(WaitingError):
                make(FIGURE, Settings(progress=second), tmp_path)

    make(FIGURE, Settings(progress=first), tmp_path)
    make(FIGURE, Settings(progress=second), tmp_path)
    assert calls == ["quick"]
    assert find_runs(tmp_path / "runs")[0].done == ROUNDS
    assert not (tmp_path / ".anew").exists()


@pytest.mark.parametrize(("changed", "rounds"), [(False, ROUNDS + 2), (True, ROUNDS)])
def test_a_longer_run_stays_if_the_new_one_repeats_its_rounds(tmp_path, monkeypatch, changed, rounds):
    make(FIGURE, LAPTOP, tmp_path)
    (run,) = find_runs(tmp_path / "runs")
    trial = Trial("descent", "fedavg", "quadratics", ROUNDS + 2, {"clients": 2})
    train(trial.plan(0), run.folder)
    if changed:  # as by code that computes something else now
        monkeypatch.setattr(FedAvg, "round", lambda self, fed, cohort, state: state)
    make(FIGURE, LAPTOP, tmp_path, recompute=True)
    assert [run.done for run in find_runs(tmp_path / "runs")] == [rounds]
    assert not (tmp_path / ".anew").exists()


@pytest.mark.parametrize("theirs", ["notes.txt", "checkpoints/notes.txt", "pictures/"])
def test_a_run_with_a_file_of_somebody_else_is_refused_before_the_runs_that_would_replace_it(tmp_path, theirs):
    make(FIGURE, LAPTOP, tmp_path)
    (run,) = find_runs(tmp_path / "runs")
    place = run.folder / theirs
    if theirs.endswith("/"):
        place.mkdir()
    else:
        place.write_text("mine")
    texts = []
    with pytest.raises(RunError, match=f"{place.name} is in the folder of a run that starts over"):
        make(FIGURE, Settings(scale="laptop", progress=texts.append), tmp_path, recompute=True)
    assert not any(", round " in text for text in texts)
    assert place.exists()
    make(FIGURE, LAPTOP, tmp_path, from_runs=True)
    assert not (tmp_path / ".anew").exists()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_the_place_of_a_run_is_refused_before_the_runs_that_would_replace_it(tmp_path, there):
    make(FIGURE, LAPTOP, tmp_path)
    (run,) = find_runs(tmp_path / "runs")
    kept = run.folder.rename(tmp_path / "archive")
    run.folder.symlink_to(kept if there else tmp_path / "nowhere")
    texts = []
    with pytest.raises(RunError, match="is a link, but a run has a folder there"):
        make(FIGURE, Settings(scale="laptop", progress=texts.append), tmp_path, recompute=True)
    assert not any(", round " in text for text in texts)
    assert find_runs(kept)[0].done == ROUNDS


def test_a_longer_run_that_stays_may_have_files_of_somebody_else(tmp_path):
    make(FIGURE, LAPTOP, tmp_path)
    (run,) = find_runs(tmp_path / "runs")
    train(Trial("descent", "fedavg", "quadratics", ROUNDS + 2, {"clients": 2}).plan(0), run.folder)
    (run.folder / "notes.txt").write_text("mine")
    make(FIGURE, LAPTOP, tmp_path, recompute=True)
    assert (run.folder / "notes.txt").read_text() == "mine"
    assert find_runs(tmp_path / "runs")[0].done == ROUNDS + 2


def test_what_other_sources_began_is_not_gone_on_with(tmp_path, monkeypatch):
    def cut(text):
        if ", round 2 of" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(FIGURE, Settings(progress=cut), tmp_path)
    monkeypatch.setattr(making, "numbers_digest", lambda data: "other")
    texts = []
    make(FIGURE, Settings(progress=texts.append), tmp_path)
    assert any(", round 0 of" in text for text in texts)
    assert not (tmp_path / ".anew").exists()


def test_the_projects_own_stored_numbers_are_whole():
    manifests = [
        path
        for path in storing.FOLDER.glob("*.manifest.json")
        if path.with_name(path.name.replace(".manifest.json", ".csv")).exists()
    ]
    assert manifests
    for path in manifests:
        made = json.loads(path.read_text())
        figure = Figure(made["figure"], "", "", descent, draw, str, str, str)
        settings = Settings(made["scale"], made["seed"], made["device"])
        assert storing.stored_numbers(figure, settings) is not None


@pytest.mark.parametrize(
    ("seconds", "scale", "lines"),
    [
        (75.0, "laptop", ["about 1:15 min, the time that the stored numbers took at scale laptop"]),
        (10.0, "laptop", ["about 10 s, the time that the stored numbers took at scale laptop"]),
        (9.9, "laptop", []),
        (75.0, "quick", []),
    ],
)
def test_numbers_that_are_computed_again_are_announced_by_the_time_they_took(place, tmp_path, seconds, scale, lines):
    store(place, make(FIGURE, LAPTOP, tmp_path))
    manifest = place / f"{FIGURE.slug}.manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"seconds_for_the_numbers": seconds}))
    said = []
    make(FIGURE, Settings(scale=scale, notify=said.append), tmp_path, recompute=True)
    assert [line for line in said if line.startswith("about")] == lines
