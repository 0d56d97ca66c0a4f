"""Spectra along a run: known Hessians, the same table after an interruption, and requests that are refused."""

import csv
import sys

import pytest
import tiny_networks
import torch

from figures.spectrum.federation import TrainedRun
from hessian import CurvatureError, exact_hessian
from rankproof import main
from runs.folder import remove_run, train
from runs.networks.curvatures import SERVER, samples_of
from runs.networks.network_function import Batch
from runs.plan import make_plan
from runs.settings import Conduct, RunError

OWN = {"data": "tiny_networks:splits", "model": "tiny_networks:mlp"}
GIVEN = {"model": OWN["model"], "clients": 2, "batch": 4, "learning_rate": 0.2}


def plan_of(rounds=4, **conduct):
    return make_plan("fedavg", OWN["data"], GIVEN, Conduct(rounds=rounds, **conduct))


def table_of(folder):
    return list(csv.DictReader((folder / "spectrum.csv").open()))


def test_the_intervals_are_those_of_the_hessian_at_the_servers_weights(tmp_path):
    plan = plan_of(spectrum=2, spectrum_quantities="sharpness,trace", keep_every=1)
    train(plan, tmp_path)
    rows = table_of(tmp_path)
    assert [(row["round"], row["quantity"]) for row in rows] == [
        (number, name) for number in ("0", "2", "4") for name in ("sharpness", "trace")
    ]
    run = TrainedRun.of(tmp_path, "cpu", trust=True)
    network, data = run.problem.clients.network, run.problem.clients.data
    x, y = network.prepare_samples(data, Batch(samples_of(run.problem, SERVER)))
    exact = {}
    for number, weights in run.states():
        model = tiny_networks.mlp()
        model.load_state_dict(dict(weights))
        values = torch.linalg.eigvalsh(exact_hessian(model.double(), network.loss, x.double(), y))
        slack = 1e-4 * float(values.abs().max())  # the run is in single precision
        exact[str(number)] = {"sharpness": (float(values.max()), slack), "trace": (float(values.sum()), slack)}
    assert exact["0"] != exact["4"]
    for row in rows:
        value, slack = exact[row["round"]][row["quantity"]]
        assert float(row["low"]) - slack <= value <= float(row["high"]) + slack
        assert row["reached"] == "1"


def test_a_run_is_the_same_with_and_without_and_an_interrupted_one_has_the_same_table(tmp_path):
    conduct = {"spectrum": 1, "save_every": 1e6}
    train(plan_of(5, **conduct), tmp_path / "whole")
    train(plan_of(5, save_every=1e6), tmp_path / "without")
    for name in ("metrics.csv", "ledger.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    assert not (tmp_path / "without" / "spectrum.csv").exists()

    def stop(metrics):
        if metrics["round"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(plan_of(5, **conduct), tmp_path / "halves", stop)
    train(plan_of(5, **conduct), tmp_path / "halves")
    expected = (tmp_path / "whole" / "spectrum.csv").read_bytes()
    assert (tmp_path / "halves" / "spectrum.csv").read_bytes() == expected
    train(plan_of(6, **conduct), tmp_path / "halves")
    assert (tmp_path / "halves" / "spectrum.csv").read_bytes().startswith(expected)
    assert [row["round"] for row in table_of(tmp_path / "halves")] == [*"0123456"]
    remove_run(tmp_path / "halves")
    assert not (tmp_path / "halves").exists()


def test_rows_after_the_round_from_which_a_run_continues_are_measured_again(tmp_path):
    train(plan_of(2, spectrum=1), tmp_path / "run")
    train(plan_of(3, spectrum=1), tmp_path / "longer")
    (tmp_path / "run" / "spectrum.csv").unlink()  # the state at which it continues is measured, earlier ones are gone
    train(plan_of(3, spectrum=1), tmp_path / "run")
    assert table_of(tmp_path / "run") == table_of(tmp_path / "longer")[2:]


def test_the_state_from_which_a_run_continues_is_measured_for_quantities_asked_for_since(tmp_path):
    train(plan_of(2, spectrum=2), tmp_path)
    before = table_of(tmp_path)
    train(plan_of(4, spectrum=2, spectrum_quantities="trace,sharpness"), tmp_path)
    rows = [(row["round"], row["quantity"]) for row in table_of(tmp_path)]
    assert rows == [("0", "sharpness"), ("2", "sharpness"), ("2", "trace"), ("4", "trace"), ("4", "sharpness")]
    assert table_of(tmp_path)[:2] == before


def test_a_quantity_that_cannot_be_measured_leaves_the_others(tmp_path):
    told = []
    train(
        plan_of(2, spectrum=1, spectrum_quantities="sharpness,log-det=0.01,trace"), tmp_path / "some", say=told.append
    )
    (line,) = told
    assert line.startswith("log-det=0.01 of round 0 is not measured, because ")
    rows = [(row["round"], row["quantity"]) for row in table_of(tmp_path / "some")]
    assert rows == [(number, name) for number in "012" for name in ("sharpness", "trace")]
    train(plan_of(2, spectrum=1), tmp_path / "alone")
    told.clear()
    train(plan_of(1, spectrum=1, spectrum_quantities="log-det=0.01,log-det=0.02"), tmp_path / "none", say=told.append)
    assert [line.partition(" of ")[0] for line in told] == ["log-det=0.01", "log-det=0.02"]
    assert not (tmp_path / "none" / "spectrum.csv").exists()
    of_sharpness = [row for row in table_of(tmp_path / "some") if row["quantity"] == "sharpness"]
    assert of_sharpness == table_of(tmp_path / "alone")


@pytest.mark.parametrize(
    ("conduct", "error", "message"),
    [
        ({"spectrum": 1, "spectrum_quantities": "density"}, RunError, "takes single numbers, not density"),
        ({"spectrum": 1, "spectrum_quantities": "sharp"}, CurvatureError, "'sharp' is not a quantity"),
        ({"spectrum_quantities": "trace"}, RunError, "needs --spectrum N"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_written(tmp_path, conduct, error, message):
    with pytest.raises(error, match=message):
        train(plan_of(1, **conduct), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_runs_without_a_network_on_images_are_refused(tmp_path):
    plan = make_plan("fedavg", "quadratics", {"clients": 2, "learning_rate": 0.1}, Conduct(rounds=1, spectrum=1))
    with pytest.raises(RunError, match="measures networks on images"):
        train(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(RunError, match="spectrum must be a whole number of at least 1, got 0"):
        Conduct(spectrum=0)


def test_a_file_of_somebody_else_stays(tmp_path):
    (tmp_path / "spectrum.csv").write_text("mine\n")
    with pytest.raises(RunError, match=r"rankproof did not write it.*; move it away, or name another folder"):
        train(plan_of(1, spectrum=1), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["spectrum.csv"]
    train(plan_of(1), tmp_path)
    assert (tmp_path / "spectrum.csv").read_text() == "mine\n"


def test_the_command_takes_the_options_and_keeps_them_for_a_resumed_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["train", "fedavg", "--data", OWN["data"], "--model", OWN["model"], "--clients", "2", "--batch", "4"]
    words += ["--learning-rate", "0.2", "--spectrum", "2", "--spectrum-quantities", "stable-rank"]
    assert main([*words, "--rounds", "2", "--out", str(tmp_path / "run")]) == 0
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "4", "--trust"]) == 0
    rows = table_of(tmp_path / "run")
    assert [(row["round"], row["quantity"]) for row in rows] == [(n, "stable-rank") for n in "024"]
