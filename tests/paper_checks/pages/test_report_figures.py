"""Figures of the report: one process or two, the same pictures in the same order."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from figures.figure import Settings
from figures.ledger import select
from paper_checks.pages import report_figures as module
from paper_checks.pages.report_figures import NOT_COMPLETE, report_figures
from rankproof import main
from runs.settings import RunError
from workloads.data.idx import DataError

FIGURES = select(["rolora/table-1", "hessian/fmnist-exact", "rolora/table-2"])


@pytest.mark.slow
def test_two_processes_draw_what_one_draws(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    told = []
    made = {
        jobs: report_figures(FIGURES, Settings(), tmp_path / str(jobs), jobs=jobs, progress=told.append)
        for jobs in (1, 2)
    }
    ids = ["rolora/table-1", "hessian/fmnist-exact", "rolora/table-2"]
    assert told == [*ids, *ids]
    assert [replace(figure, seconds=0.0) for figure in made[1]] == [replace(figure, seconds=0.0) for figure in made[2]]
    assert [bool(figure.svg) for figure in made[2]] == [True, False, True]
    assert "rankproof data fetch" in made[2][1].reason


@pytest.mark.sample(1)
@pytest.mark.parametrize(("stored", "recompute"), [(True, False), (False, False), (True, True)])
def test_stored_numbers_go_before_quick_ones_unless_all_is_computed_anew(stored, recompute, tmp_path):
    [known] = select(["rolora/table-2"])
    expected = "laptop" if stored and not recompute else "quick"
    [made] = report_figures([known], Settings(), tmp_path, stored=stored, recompute=recompute)
    assert made.scale == expected
    assert ("Stored numbers, of the sources" in made.caption) == (expected == "laptop")
    [other] = report_figures([known], Settings(seed=1), tmp_path, stored=stored, recompute=recompute)
    assert other.scale == "quick"


@pytest.mark.parametrize("error", [DataError("texts\nthat are not here"), RunError("an extra is not installed")])
def test_what_cannot_be_had_is_said_in_its_place(tmp_path, monkeypatch, error):
    def lacking(*_, **__):
        raise error

    monkeypatch.setattr("paper_checks.pages.report_figures.make", lacking)
    [found] = report_figures(FIGURES[:1], Settings(), tmp_path)
    assert found.reason == " ".join(str(error).split())


@pytest.mark.parametrize(("asked", "scale"), [((), "laptop"), (("--scale", "quick"), "quick")])
def test_the_command_shows_stored_numbers_unless_a_scale_is_named(asked, scale, tmp_path, monkeypatch):
    shown = []

    def write(run, figures, manifest, out):
        shown.extend(figures)
        return out / "index.html"

    known = select(["rolora/table-2"])
    monkeypatch.setattr("figures.ledger.all_figures", lambda: known)
    judged = SimpleNamespace(papers=[], as_expected=True, seed=1, budget="quick")  # no numbers to compare
    monkeypatch.setattr("paper_checks.command._run", lambda *_: judged)
    monkeypatch.setattr("paper_checks.pages.card.summary_table", lambda run: "")
    monkeypatch.setattr("paper_checks.pages.manifest.run_manifest", lambda run: {})
    monkeypatch.setattr("paper_checks.pages.report.write_report", write)
    assert main(["report", *asked, "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert [figure.scale for figure in shown] == [scale]


def test_an_experiment_that_has_not_run_is_not_drawn_at_a_scale_that_decides_nothing(tmp_path, monkeypatch):
    deciding = FIGURES[0]
    undecided = replace(deciding, quick_decides=False)
    monkeypatch.setattr(module, "stored_numbers", lambda *_: None)
    for figure, stored, drawn in ((deciding, True, True), (undecided, False, True), (undecided, True, False)):
        monkeypatch.setattr(module, "select", lambda ids, figure=figure: [figure])
        (found,) = report_figures([figure], Settings(), tmp_path, stored=stored)
        assert bool(found.svg) == drawn
        assert drawn or found.reason == NOT_COMPLETE
        assert found.command.startswith(f"rankproof figure {figure.id} --scale {'quick' if drawn else 'laptop'}")
