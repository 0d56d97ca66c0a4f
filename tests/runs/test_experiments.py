"""Experiments: what is missing is run, what was truncated goes on, and what two of them share is run once."""

import shutil
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from filelock import FileLock

from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from runs.experiments import Experiment, Sweep, Trial, carried_out, carry_out, format_minutes, missing_runs
from runs.folder import train
from runs.listing import find_runs
from runs.settings import RunError
from workloads.processes.locks import LOCK

GIVEN = {"clients": 3, "learning_rate": 0.1}
ONE = Trial("one", "fedavg", "quadratics", 6, GIVEN, (0, 1))
OTHER = Trial("other", "fedlora", "quadratics", 4, {**GIVEN, "rank": 2})


def rows(outcomes):
    return [(outcome.trial.label, outcome.seed, list(outcome.run.rows)) for outcome in outcomes]


def test_missing_runs_are_run_and_stand_from_then_on(tmp_path):
    both = Experiment((ONE, OTHER))
    assert [(trial.label, seed) for trial, seed in missing_runs(both, tmp_path)] == [
        ("one", 0),
        ("one", 1),
        ("other", 0),
    ]
    said = []
    first = carry_out(both, tmp_path, say=said.append)
    assert [(outcome.trial.label, outcome.seed) for outcome in first] == [("one", 0), ("one", 1), ("other", 0)]
    assert [len(outcome.curve("loss")) for outcome in first] == [7, 7, 5]
    assert said[0].startswith("run 1 of 3: one, seed 0, round 0 of 6")
    assert said[-1] == "run 3 of 3: other, seed 0, round 4 of 4, 0 s left"
    said.clear()
    assert rows(carry_out(both, tmp_path, say=said.append)) == rows(first)
    assert not said
    assert not missing_runs(both, tmp_path)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_of_other_settings_under_the_name_of_a_run_is_refused(tmp_path, seed):
    rates = [Experiment((replace(ONE, settings={**GIVEN, "learning_rate": rate}, seeds=(0,)),)) for rate in (0.1, 0.2)]
    (first,) = carry_out(rates[0], tmp_path / "store")
    other = replace(rates[1].trials[0], seeds=(seed,))
    (second,) = carry_out(Experiment((other,)), tmp_path / "others")
    shutil.rmtree(first.run.folder)
    shutil.copytree(second.run.folder, first.run.folder)
    for call in (carry_out, missing_runs):
        with pytest.raises(RunError, match="a run whose settings are not those of its name; move it away"):
            call(rates[0], tmp_path / "store")
    first.run.folder.rename(tmp_path / "away")
    assert [outcome.run.rows for outcome in carry_out(rates[0], tmp_path / "store")] == [first.run.rows]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("metrics.csv", "holds metrics.csv without settings.json"),
        ("checkpoints", "checkpoints is a file, but a run has a folder there"),
        ("log.txt", "rankproof did not write it"),
        ("", "is not a folder, but a run has one there"),
    ],
)
def test_a_file_of_somebody_else_where_a_later_run_goes_is_refused_before_the_first_run(tmp_path, name, message):
    folder = tmp_path / ONE.plan(1).folder
    if name:
        folder.mkdir()
    (folder / name).write_text("mine")
    said = []
    with pytest.raises(RunError, match=message):
        carry_out(Experiment((ONE,)), tmp_path, say=said.append)
    assert not said
    assert list(tmp_path.iterdir()) == [folder]
    assert (folder / name).read_text() == "mine"


def test_a_run_whose_settings_were_edited_is_refused(tmp_path):
    (outcome,) = carry_out(Experiment((replace(ONE, seeds=(0,)),)), tmp_path)
    path = outcome.run.folder / "settings.json"
    text = path.read_text()
    assert '"learning_rate": 0.1' in text
    path.write_text(text.replace('"learning_rate": 0.1', '"learning_rate": 0.2'))
    with pytest.raises(RunError, match=r"settings\.json has been edited since the run wrote it; restore it"):
        carry_out(Experiment((replace(ONE, seeds=(0,)),)), tmp_path)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A trial on data and by an algorithm of a module of the user's, and the file of the algorithm."""
    made = {"seed": 0, "label": 1, "width": 2}

    def batches():
        x = torch.arange(24.0).reshape(12, 2).add(made["seed"]).sin()
        return (x, (x[:, 0] > 0).long() * made["label"]), (x[:5], (x[:5, 1] > 0).long())

    path = tmp_path / "own.py"
    path.write_text("")
    module = types.ModuleType("own_module")
    module.__file__, module.batches, module.network = str(path), batches, lambda: torch.nn.Linear(made["width"], 2)
    module.Average = type("Average", (FedAvg,), {"__module__": "own_module"})
    monkeypatch.setitem(sys.modules, "own_module", module)
    settings = {"clients": 2, "steps": 1, "model": "own_module:network"}
    return Trial("own", "own_module:Average", "own_module:batches", 1, settings), made, path


@pytest.mark.parametrize(("name", "value"), [("label", 7), ("width", 3)])
def test_a_finished_run_is_refused_where_the_functions_of_the_user_fail_now(tmp_path, own, name, value):
    trial, made, _ = own
    carry_out(Experiment((trial,)), tmp_path / "store")
    made[name] = value
    with pytest.raises(RunError, match="cannot be compared with your functions and files: "):
        carry_out(Experiment((trial,)), tmp_path / "store")


@pytest.mark.parametrize("change", ["data", "code"])
def test_a_finished_run_of_other_data_or_code_of_the_user_is_refused(tmp_path, own, change):
    trial, made, path = own
    (first,) = carry_out(Experiment((trial,)), tmp_path / "store")
    assert rows(carry_out(Experiment((trial,)), tmp_path / "store")) == rows([first])
    made["seed"], _ = (1, None) if change == "data" else (0, path.write_text("changed"))
    what = "another data" if change == "data" else "other code of own_module:Average"
    with pytest.raises(RunError, match=f"a run (with|of) {what}.*; move it away, and it is made again"):
        carry_out(Experiment((replace(trial, seeds=(1, 0)),)), tmp_path / "store")
    assert len(find_runs(tmp_path / "store")) == 1  # refused before another run is made
    shutil.move(first.run.folder, tmp_path / "away")
    (second,) = carry_out(Experiment((trial,)), tmp_path / "store")
    assert (second.run.rows == first.run.rows) == (change == "code")


@pytest.mark.parametrize("sweep", [None, Sweep(ThreadPoolExecutor(1))])
def test_the_device_is_that_of_the_runs(tmp_path, sweep):
    with pytest.raises(RunError, match="computed on the cpu, not on cuda"):  # toy problems refuse all others
        carry_out(Experiment((ONE,)), tmp_path, sweep=sweep, device="cuda")
    carry_out(Experiment((ONE,)), tmp_path)
    carry_out(Experiment((ONE,)), tmp_path, sweep=sweep, device="cuda")  # what exists is taken


def test_a_shared_run_is_run_once_whatever_it_is_called(tmp_path):
    carry_out(Experiment((ONE,)), tmp_path)
    said = []
    again = Experiment((replace(ONE, label="again", seeds=(1, 2)),))
    outcomes = carry_out(again, tmp_path, say=said.append)
    assert {text.split(",")[1] for text in said} == {" seed 2"}
    assert len(find_runs(tmp_path)) == 3
    assert [outcome.trial.label for outcome in outcomes] == ["again", "again"]


def test_rounds_are_added_or_left_out(tmp_path):
    carry_out(Experiment((ONE,)), tmp_path)
    longer, shorter = (Experiment((replace(ONE, rounds=number),)) for number in (9, 3))
    long = carry_out(longer, tmp_path)
    assert rows(long) == rows(carry_out(longer, tmp_path / "elsewhere"))
    short = carry_out(shorter, tmp_path)
    assert [outcome.run.done for outcome in short] == [3, 3]
    assert rows(short) == rows(carry_out(shorter, tmp_path / "third"))
    twice = Experiment((replace(ONE, label="long", rounds=12), replace(ONE, label="short", rounds=10)))
    assert [outcome.run.done for outcome in carry_out(twice, tmp_path)] == [12, 12, 10, 10]


def test_what_was_cut_off_goes_on_to_the_same_numbers(tmp_path):
    experiment = Experiment((ONE, OTHER))

    def cut(text):
        if "one, seed 1, round 3" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(experiment, tmp_path, say=cut)
    assert [(trial.label, seed) for trial, seed in missing_runs(experiment, tmp_path)] == [("one", 1), ("other", 0)]
    shorter = Experiment((replace(ONE, rounds=4),))
    carry_out(shorter, tmp_path)
    assert rows(carry_out(experiment, tmp_path)) == rows(carry_out(experiment, tmp_path / "at once"))


def test_a_run_of_another_process_is_left_to_it_and_waited_for(tmp_path):
    experiment = Experiment((ONE, OTHER))
    expected = rows(carry_out(experiment, tmp_path / "alone"))
    folder = tmp_path / "shared" / ONE.plan(0).folder
    folder.mkdir(parents=True)
    another = FileLock(folder / LOCK)
    another.acquire()
    said = []

    def let_go(text):
        said.append(text)
        if "waiting" in text:
            another.release()

    assert rows(carry_out(experiment, tmp_path / "shared", say=let_go)) == expected
    order = list(dict.fromkeys(text.split(", round")[0] for text in said))
    assert order == [
        "run 2 of 3: one, seed 1",
        "run 3 of 3: other, seed 0",
        "1 of 3 runs are in progress in another process; waiting for it",
        "run 1 of 3: one, seed 0",
    ]


def test_a_run_that_diverges_is_an_outcome_and_the_others_go_on(tmp_path):
    wild = replace(ONE, label="wild", settings={**GIVEN, "learning_rate": 1e200}, seeds=(0,))
    outcomes = carry_out(Experiment((wild, OTHER)), tmp_path)
    assert "lower the learning rate" in outcomes[0].failure
    assert outcomes[1].failure == ""
    with pytest.raises(RunError, match="wild, seed 0: round 1"):
        outcomes[0].curve("loss")
    with pytest.raises(RunError, match="other, seed 0: no metric 'accuracy'"):
        outcomes[1].curve("accuracy")
    assert [trial.label for trial, _ in missing_runs(Experiment((wild, OTHER)), tmp_path)] == ["wild"]


def test_a_run_that_cannot_start_ends_the_experiment(tmp_path):
    with pytest.raises(FederationError, match="rank 99"):
        carry_out(Experiment((replace(OTHER, settings={**GIVEN, "rank": 99}),)), tmp_path)
    with pytest.raises(RunError, match="--rnak"):
        carry_out(Experiment((replace(OTHER, settings={"rnak": 2}),)), tmp_path)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_trials_that_evaluate_the_same_run_at_other_rounds_have_their_own(tmp_path, first, aligned):
    given = {**GIVEN, "alignment": aligned}
    seldom = replace(ONE, label="seldom", rounds=12, settings={**given, "evaluate_every": 4})
    often = replace(ONE, label="often", rounds=6, settings={**given, "evaluate_every": 2})
    twice = replace(ONE, label="twice", rounds=8, settings={**given, "evaluate_every": 4})
    trials = (seldom, often, twice)
    alone = [rows(carry_out(Experiment((trial,)), tmp_path / trial.label)) for trial in trials]
    for trial in (seldom, often)[:: 1 - 2 * first]:
        carry_out(Experiment((trial,)), tmp_path / "one store")
    found = carry_out(Experiment(trials), tmp_path / "one store")
    # Two seeds; a longer run goes on from one that was evaluated wherever it asks.
    assert len(list((tmp_path / "one store").iterdir())) == (4, 2)[first]
    for outcome in found:
        one = next(row for each in alone for row in each if row[:2] == (outcome.trial.label, outcome.seed))
        assert [row["round"] for row in outcome.curve("loss")] == [row["round"] for row in one[2] if "loss" in row]
        assert [row["loss"] for row in outcome.curve("loss")] == [row["loss"] for row in one[2] if "loss" in row]
        for name in ("bytes_up", "alignment") if aligned else ("bytes_up",):  # in every round, evaluated or not
            assert [row["round"] for row in outcome.curve(name)] == list(range(outcome.trial.rounds + 1))
    assert not missing_runs(Experiment(trials), tmp_path / "one store")


@pytest.mark.parametrize("often_first", [False, True])
def test_a_run_that_fails_is_an_outcome_of_all_trials_that_evaluate_it(tmp_path, often_first):
    wild = {**GIVEN, "learning_rate": 1e10}  # the loss is not a number before the weights are none
    often = replace(ONE, label="often", rounds=8, settings={**wild, "evaluate_every": 1})
    seldom = replace(ONE, label="seldom", rounds=12, settings={**wild, "evaluate_every": 4})
    trials = (often, seldom) if often_first else (seldom, often)
    alone = {trial.label: carry_out(Experiment((trial,)), tmp_path / trial.label)[0].failure for trial in trials}
    for _ in range(2):  # at once, and when both have failed
        found = carry_out(Experiment(trials), tmp_path / "one store")
        for outcome in found:
            assert outcome.failure.split(";")[0] == alone[outcome.trial.label].split(";")[0]


def test_what_was_cut_off_is_not_taken_over_by_trials_that_evaluate_other_rounds(tmp_path):
    often = Experiment((replace(ONE, label="often", rounds=8, seeds=(0,)),))
    seldom = Experiment((replace(ONE, label="seldom", rounds=12, seeds=(0,), settings={**GIVEN, "evaluate_every": 4}),))

    def cut(text):
        if "round 5 of" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(often, tmp_path, say=cut)
    carry_out(seldom, tmp_path)
    said = []
    found = carry_out(often, tmp_path, say=said.append)
    assert "round 6 of 8" in said[0]
    assert rows(found) == rows(carry_out(often, tmp_path / "alone"))
    assert not missing_runs(seldom, tmp_path)
    assert len(find_runs(tmp_path)) == 3


def test_a_run_that_another_process_took_over_is_made_beside_it(tmp_path, monkeypatch):
    """Between the look at a folder and the lock on it lies the time in which a network is made."""
    often = Experiment((replace(ONE, label="often", rounds=8, seeds=(0,)),))
    seldom = Experiment((replace(ONE, label="seldom", rounds=4, seeds=(0,), settings={**GIVEN, "evaluate_every": 4}),))
    taken = []

    def late(*arguments):
        if not taken:
            taken.append(True)
            carry_out(seldom, tmp_path)
        return train(*arguments)

    monkeypatch.setattr("runs.experiments.train", late)
    (outcome,) = carry_out(often, tmp_path)
    assert [row["round"] for row in outcome.curve("loss")] == list(range(9))


def test_evaluations_that_are_lacking_are_named(tmp_path):
    carry_out(Experiment((replace(ONE, rounds=8, settings={**GIVEN, "evaluate_every": 4}),)), tmp_path)
    (first, _) = carry_out(Experiment((replace(ONE, settings={**GIVEN, "evaluate_every": 2}),)), tmp_path)
    plan = ONE.plan(0)
    train(replace(plan, conduct=replace(plan.conduct, rounds=12, evaluate_every=3)), first.run.folder)  # by hand
    longer = Experiment((replace(ONE, rounds=10, settings={**GIVEN, "evaluate_every": 2}),))
    with pytest.raises(RunError, match="was not evaluated after round 8; move it away"):
        carry_out(longer, tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rounds": 0}, "rounds must be"),
        ({"seeds": ()}, "one needs seeds"),
        ({"seeds": (1, 1)}, "each once"),
        ({"settings": {"seed": 1}}, "not among its settings"),
        ({"settings": {"evaluate_every": 4}}, "multiple of evaluate_every, 4, got 6"),
    ],
)
def test_lines_at_the_door(changed, message):
    with pytest.raises(RunError, match=message):
        replace(ONE, **changed)


def test_a_label_stands_once():
    with pytest.raises(RunError, match="two lines of an experiment have the same name, 'one'"):
        Experiment((ONE, OTHER, ONE))


def test_runs_have_one_thread_and_give_the_others_back(tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = []
        carry_out(Experiment((OTHER,)), tmp_path, say=lambda text: seen.append(torch.get_num_threads()))
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_the_earlier_name_still_works():
    assert carried_out is carry_out


def test_times_in_words():
    assert [format_minutes(seconds) for seconds in (0.4, 59, 60, 3599, 3600)] == [
        "0 s",
        "59 s",
        "1 min 00 s",
        "59 min 59 s",
        "1 h 00 min",
    ]
