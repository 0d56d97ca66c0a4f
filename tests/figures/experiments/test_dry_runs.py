"""The dry run of every figure that trains, at every scale: all of its runs can be planned, and none is made."""

import pytest

from figures.experiments import cost, sweep
from figures.figure import SCALES, Settings
from figures.ledger import all_figures
from runs.cost import Cost

READS_ITS_MODEL = "fedloru/language-ranks"
"""Its dry run needs the weights of the model, which may not be here."""
TRAINED = [figure for figure in all_figures() if sweep.needs_runs(figure) and figure.id != READS_ITS_MODEL]


@pytest.fixture
def free(monkeypatch):
    """Runs that are planned, and whose operations are not counted."""
    counted = []

    def cost_of(plan, build=None):
        counted.append(plan)
        return Cost(1.0, 1.0)

    monkeypatch.setattr(cost, "cost_of", cost_of)
    monkeypatch.setattr(sweep, "cost_of", cost_of)
    return counted


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("figure", TRAINED, ids=lambda figure: figure.id)
def test_a_dry_run_plans_every_run(tmp_path, free, figure, scale):
    told = []
    settings = Settings(scale, runs=tmp_path / "runs", notify=told.append, slots=("here",))
    with pytest.raises(sweep.OnlyPlannedError):
        figure.data(settings)
    assert free
    assert not (tmp_path / "runs").exists()
    assert len(told) > 2
