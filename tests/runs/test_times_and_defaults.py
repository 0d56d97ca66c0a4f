"""When a run saves and what time it says is left, what it closes, and what it is where nothing is asked for."""

from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from io import StringIO
from types import SimpleNamespace
from typing import ClassVar

import pytest

from algorithms.federation import FederationError, Sequential
from runs import experiments, folder
from runs import progress as progress_of_runs
from runs.checkpoints import Checkpoints
from runs.experiments import Trial, _ProgressReport
from runs.folder import train
from runs.format import format_bytes
from runs.networks.image_federation import ImageFederation
from runs.plan import make_plan, parts_of
from runs.problems import HeterogeneousLegendre, Legendre, PopulationRegression, Quadratics, Regression, Ridges
from runs.progress import show_progress
from runs.settings import Conduct, RunError
from workloads.progress import Progress


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Gives the rounds of the checkpoints of a run whose rounds and checkpoints take some seconds each."""

    def of(each, cost, **more):
        clock, found, original = [100.0], [], Checkpoints.save

        def save(checkpoints, checkpoint):
            clock[0] += cost
            found.append(checkpoint.state.round)
            original(checkpoints, checkpoint)

        def progress(metrics):
            clock[0] += each

        monkeypatch.setattr(folder, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        monkeypatch.setattr(Checkpoints, "save", save)
        settings = {"clients": 2, "rows": 3, "columns": 2, "learning_rate": 0.1, **more}
        conduct = Conduct(rounds=settings.pop("rounds"), save_every=settings.pop("save_every"))
        try:
            train(make_plan("fedavg", "quadratics", settings, conduct), tmp_path / "run", progress)
        except FederationError as error:
            found.append(str(error))
        return found

    return of


def test_checkpoints_wait_for_their_time_and_take_a_twentieth_of_it(saved):
    assert saved(each=4.0, cost=0.0, rounds=12, save_every=10.0) == [2, 5, 8, 11, 12]  # rounds 0, 1, 2: 12 seconds


def test_a_checkpoint_that_takes_long_comes_seldom(saved):
    assert saved(each=4.0, cost=1.0, rounds=14, save_every=10.0) == [2, 7, 12, 14]  # from the second on, 20 seconds


def test_a_round_is_saved_once_whatever_ends_the_run(saved):
    *rounds, said = saved(each=1.0, cost=0.0, rounds=5000, save_every=0.0, learning_rate=50.0)
    assert rounds == list(range(1, len(rounds) + 1))
    assert said.endswith(f"keeps round {len(rounds)}")


def test_what_a_run_opens_it_closes_also_where_its_start_fails(tmp_path, monkeypatch):
    closed, tables = [], []

    class Closing(Sequential):
        def close(self):
            closed.append(self)

    class Seen(folder.Table):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            tables.append(self)

    monkeypatch.setattr(folder, "parts_of", lambda plan: replace(parts_of(plan), executor=Closing()))
    monkeypatch.setattr(folder, "Table", Seen)
    train(make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(rounds=1)), tmp_path / "run")
    assert len(closed) == 1
    assert [table._stream.closed for table in tables] == [True, True]
    with pytest.raises(FederationError):
        train(make_plan("fedlora", "quadratics", {"clients": 2, "rank": 9}, Conduct(rounds=1)), tmp_path / "other")
    assert len(closed) == 2


def test_a_run_gives_its_last_metrics_also_where_it_was_over(tmp_path):
    plan = make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(rounds=3))
    last = train(plan, tmp_path)
    assert last["round"] == 3
    assert {"loss", "bytes_up"} < set(last)
    assert train(plan, tmp_path) == last


@pytest.fixture
def shown(monkeypatch):
    """The displays of progress in order, with a clock that does not move."""
    displays = []

    @contextmanager
    def keep(name, total, unit):
        displays.append(Progress(name, total, unit, stream=StringIO(), clock=lambda: 0.0))
        yield displays[-1]

    monkeypatch.setattr(progress_of_runs, "report_progress", keep)
    return displays


def test_the_progress_of_a_resumed_run_begins_after_its_earlier_rounds(tmp_path, shown):
    for begins, follows in ((0, 1), (6, 7)):
        with show_progress(make_plan("fedavg", "quadratics", {}, Conduct(rounds=9)), tmp_path) as progress:
            progress({"round": begins, "loss": 2.0, "bytes_down": 1000, "bytes_up": 500})
            progress({"round": follows, "loss": 1.0, "bytes_down": 1000, "bytes_up": 500})
        assert (
            shown[-1].line() == f"fedavg on quadratics: round {follows} of 9, loss 1, sent 1.5 kB; 0 s, about 0 s left"
        )
        assert shown[-1]._from == max(begins - 1, 0)


def test_the_progress_of_a_run_starts_at_its_stored_round(tmp_path, shown):
    begun, longer = (make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(rounds=number)) for number in (3, 5))
    train(begun, tmp_path / "run")
    for name, replaces, number in (("run", False, 3), ("run", True, 0), ("none", False, 0)):
        with show_progress(longer, tmp_path / name, replaces):
            assert shown[-1].line() == f"fedavg on quadratics: round {number} of 5; 0 s"


class Board:
    """A stand-in for TensorBoard's writer, which may not be installed."""

    made: ClassVar[list["Board"]] = []

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars, self.closed = folder, purge_step, [], False
        self.made.append(self)

    def add_scalar(self, name, value, number):
        self.scalars.append((name, value, number))

    def close(self):
        self.closed = True


def test_a_board_is_told_every_metric_and_begins_at_the_first_round(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_of_runs, "_summary_writer", lambda: Board)
    plan = make_plan("fedavg", "quadratics", {}, Conduct(rounds=9, tensorboard=True))
    with show_progress(plan, tmp_path) as progress:
        progress({"round": 6, "loss": 2.0})
        progress({"round": 7, "loss": 1.0, "rank": 3})
        (board,) = Board.made
        assert not board.closed
    assert board.closed
    assert (board.folder, board.purge_step) == (str(tmp_path / "tensorboard"), 6)
    assert board.scalars == [("loss", 2.0, 6), ("loss", 1.0, 7), ("rank", 3, 7)]


def test_lines_end_alike_on_every_system_and_what_cannot_be_written_is_named(tmp_path, monkeypatch):
    plan = make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(rounds=2))
    train(plan, tmp_path / "whole")
    for name in ("metrics.csv", "ledger.csv"):
        assert b"\r" not in (tmp_path / "whole" / name).read_bytes()

    def full(table, rows):
        raise OSError(28, "No space left on device", str(table.path))

    monkeypatch.setattr(folder.Table, "append", full)
    with pytest.raises(RunError, match=r"cannot write .*metrics.csv: No space left on device; .* keeps no round; free"):
        train(plan, tmp_path / "cut")


def test_the_time_that_is_left_follows_from_all_rounds_done(monkeypatch):
    times = iter([100.0, 101.0, 110.0, 140.0, 148.0])
    monkeypatch.setattr(experiments, "time", SimpleNamespace(monotonic=lambda: next(times)))
    said = []
    watch, trial = _ProgressReport(8, 2, said.append), Trial("a", "fedavg", "quadratics", 4)
    first = watch.reporter(1, trial, 0)
    first({"round": 0})
    first({"round": 2})
    watch.add_run(4)
    second = watch.reporter(2, trial, 5)
    second({"round": 1})
    second({"round": 4})
    assert said == [
        "run 1 of 2: a, seed 0, round 0 of 4",
        "run 1 of 2: a, seed 0, round 2 of 4, 30 s left",
        "run 2 of 2: a, seed 5, round 1 of 4, 24 s left",
        "run 2 of 2: a, seed 5, round 4 of 4, 0 s left",
    ]


def test_a_line_of_an_experiment_plans_its_rounds_seed_and_data():
    plan = Trial("a", "fedavg", "quadratics", 7, {"clients": 3}).plan(5, "somewhere")
    assert (plan.conduct.rounds, plan.conduct.root) == (7, "somewhere")
    assert (plan.settings["seed"], plan.settings["clients"]) == (5, 3)


TOY = {"clients": 4, "rows": 10, "columns": 8}
DEFAULTS = {
    Quadratics: {**TOY, "heterogeneity": 0.5, "least_curvature": 0.1},
    Legendre: {**TOY, "samples": 50, "target_rank": 2},
    HeterogeneousLegendre: {**TOY, "samples": 50},
    Regression: {**TOY, "heterogeneity": 0.5, "samples": 50},
    PopulationRegression: {**TOY, "heterogeneity": 0.5},
    Ridges: {**TOY, "heterogeneity": 0.5, "samples": 50, "profile": "pseudo-huber"},
    Conduct: {
        "rounds": 100,
        "executor": "sequential",
        "device": "cpu",
        "evaluate_every": 1,
        "workers": 1,
        "address": None,
        "gpus_per_worker": None,
        "save_every": 10.0,
        "save_in_round": 60.0,
        "keep_every": None,
        "spectrum": None,
        "spectrum_quantities": None,
        "tensorboard": False,
        "root": None,
    },
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_stand_for_what_was_run_without_naming_them(kind):
    """Folders are named by the settings, defaults among them: another default is another run of the same command."""
    assert {field.name: field.default for field in fields(kind)} == DEFAULTS[kind]


def test_toy_problems_suggest_steps_that_move():
    assert Quadratics.suggest({}) == {"steps": 10, "learning_rate": 0.05, "truncation": 0.01}


def test_image_problems_leave_images_as_they_are_by_default():
    found = {field.name: field.default for field in fields(ImageFederation) if field.default is not MISSING}
    plain = {
        "clients": 20,
        "side": None,
        "width": None,
        "samples": None,
        "test_samples": None,
        "held_out": 0,
        "own_share": 0.0,
        "crop": 0,
        "flip": False,
        "eval_batch": 1000,
    }
    assert {name: found[name] for name in plain} == plain


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999.4, "999 B"), (999.5, "1 kB"), (1e6, "1 MB"), (2.5e9, "2.5 GB"), (7e12, "7 TB"), (-2e3, "-2 kB")],
)
def test_sizes_in_words(size, words):
    assert format_bytes(size) == words
