"""Runs several at a time: the longest first, the same outcomes, and what options and machines do not allow."""

import argparse
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from algorithms.federation import FederationError
from figures.experiments.cost import announce_cost
from figures.experiments.experiment import Design, Line, run_design
from figures.experiments.sweep import OnlyPlannedError, Planned, plan_table
from figures.figure import Settings
from rankproof import main
from runs.cost import Cost
from runs.experiments import Experiment, Sweep, Trial, carry_out
from runs.settings import RunError
from workloads.processes.pool import Place, add_place_options, place_of, slots_of

GIVEN = {"clients": 3, "learning_rate": 0.1}
ONE = Trial("one", "fedavg", "quadratics", 6, GIVEN, (0, 1))
OTHER = Trial("other", "fedlora", "quadratics", 4, {**GIVEN, "rank": 2})
WILD = replace(ONE, label="wild", settings={**GIVEN, "learning_rate": 1e200}, seeds=(0,))
SAME = replace(ONE, label="same", rounds=5, seeds=(1,))


class Noted:
    """A pool that notes what it is handed, and does it at once or later."""

    def __init__(self, pool=None):
        self.given, self.pool = [], pool

    def submit(self, function, *arguments):
        self.given.append((arguments[0].label, arguments[1]))
        if self.pool is not None:
            return self.pool.submit(function, *arguments)
        done = Future()
        try:
            done.set_result(function(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


def rows(outcomes):
    return [(outcome.trial.label, outcome.seed, outcome.failure, list(outcome.run.rows)) for outcome in outcomes]


def test_a_pool_comes_to_the_outcomes_of_one_run_after_the_other(tmp_path):
    every = Experiment((ONE, OTHER, WILD, SAME))
    expected = carry_out(every, tmp_path / "here")
    said, costs = [], {"one": 2.0, "other": 5.0, "wild": 1.0, "same": 4.0}
    with ThreadPoolExecutor(2) as threads:
        pool = Noted(threads)
        sweep = Sweep(pool, lambda trial: costs[trial.label])
        found = carry_out(every, tmp_path / "there", say=said.append, sweep=sweep)
    assert rows(found) == rows(expected)
    assert pool.given[:5] == [("other", 0), ("same", 1), ("one", 0), ("one", 1), ("wild", 0)]
    assert found[3].failure
    assert said[-1].startswith("5 of 5 runs are done, 0 s left; last ")
    again = Noted()
    carry_out(every, tmp_path / "there", sweep=Sweep(again))
    assert again.given == [("wild", 0)]  # what exists is taken


def test_errors_of_a_pool_are_those_of_the_run(tmp_path):
    with pytest.raises(FederationError, match="rank 99"):
        carry_out(Experiment((replace(OTHER, settings={**GIVEN, "rank": 99}),)), tmp_path, sweep=Sweep(Noted()))

    class Far(Noted):
        def submit(self, function, *arguments):
            return super().submit(function, *arguments[:2], tmp_path / "another disk", *arguments[3:])

    with pytest.raises(RunError, match=r"another disk is not on .*: choose an --out that all machines"):
        carry_out(Experiment((OTHER,)), tmp_path / "store", sweep=Sweep(Far()))


def given(*words):
    parser = argparse.ArgumentParser()
    add_place_options(parser, "runs")
    return parser.parse_args(words)


def test_places_are_named_by_options():
    assert place_of(given(), ValueError) is None
    assert place_of(given("--on", "ray", "--workers", "3"), ValueError) == Place("local", 3, 0.0)
    found = place_of(given("--on", "ray", "--address", "auto", "--gpus-per-worker", "0.25"), ValueError)
    assert found == Place("auto", None, 0.25)
    assert len(slots_of(Place("local", 3), ValueError)) == 3
    assert slots_of(None, ValueError) == ("here",)
    assert place_of(given("--on", "ray", "--gpus-per-worker", "2"), ValueError) == Place("local", None, 2.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "2"), "--workers requires --on ray"),
        (("--address", "auto"), "--address requires --on ray"),
        (("--gpus-per-worker", "1"), "--gpus-per-worker requires --on ray"),
        *(
            (("--on", "ray", "--gpus-per-worker", share), "must be a fraction such as 0.25, .*, or a whole number")
            for share in ("nan", "0", "-1", "1.5", "0.00001", "inf")
        ),
        (("--on", "ray", "--address", ""), "--address must name a cluster"),
        (("--on", "ray", "--address", "auto", "--workers", "2"), "auto has its own number of workers"),
    ],
)
def test_places_that_do_not_serve_are_one_line(words, message):
    with pytest.raises(ValueError, match=message):
        place_of(given(*words), ValueError)


def test_a_table_says_what_goes_where():
    lines = [Planned("short", 4, 10, Cost(3.6e16, 1e6)), Planned("long", 1, 100, Cost(1.44e17, 2e6))]
    told = plan_table(lines, ("a", "b"))
    assert [line.split()[0] for line in told[:3]] == ["line", "long", "short"]
    assert told[1].endswith("a (1)")
    assert told[2].endswith("b (4)")  # four short ones next to a long one
    assert "4.00" in told[1]
    assert "1.00" in told[2]
    assert told[3].startswith("5 runs, 2.9e+17 floating-point operations, 8.00 GPU hours")
    assert "2 at a time: 4.00 hours" in told[3]


def test_a_dry_run_runs_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("figures.experiments.cost.cost_of", lambda plan, build: Cost(plan.conduct.rounds * 1e12, 1e3))
    line = Line({"method": "FedAvg"}, "fedavg", "quadratics", {"clients": 3}, tuned=True)
    design = Design((line,), 8, 3, rates=(0.1, 0.2), tuning_rounds=2)
    told = []
    settings = Settings(runs=tmp_path / "runs", notify=told.append, slots=("here", "there"))
    with pytest.raises(OnlyPlannedError):
        announce_cost(design, settings)
    with pytest.raises(AssertionError, match="tells what all of its runs cost"):
        run_design(design, settings)
    assert "FedAvg: learning rates  2" in "\n".join(told)
    assert "a learning rate that is best at an end of those tried needs runs beyond these" in told
    assert any(text.startswith("5 runs, 2.8e+13 floating-point operations") for text in told)
    assert not (tmp_path / "runs").exists()
    monkeypatch.chdir(tmp_path)
    assert main(["figure", "rmt/transition", "--dry-run", "--on", "ray", "--workers", "2"]) == 0
    assert main(["check", "fedlrt/thm-2", "--dry-run", "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    assert "rmt/transition: the numbers need no training runs; they are computed on this machine" in said
    assert "1 claims from 1 modules, largest first; each goes to the next free worker: here (2)" in said
    assert not list(tmp_path.iterdir())
