"""`rankproof spectrum --checkpoints --quantities`: states against their dense Hessians, and one line for what fails."""

import json
import sys
import types

import numpy as np
import pandas as pd
import pytest
import tiny_networks
import torch

import rankproof
from hessian import exact_hessian
from runs.folder import train
from runs.plan import make_plan, parts_of
from runs.settings import Conduct
from workloads.written import RECORD

NAMES = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--double")
TRUTHS = {
    "trace": np.sum,
    "sharpness": np.max,
    "smallest": np.min,
    "frobenius-squared": lambda values: (values**2).sum(),
}
FILES = {f"checkpoint-quantities.{kind}" for kind in ("csv", "json", "png", "pdf")}


def run(capsys, *arguments):
    """Status, standard output and standard error of one command."""
    status = rankproof.main(("spectrum", *arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def spectrum_of(state, chosen=slice(None)):
    """Eigenvalues of the dense Hessian of a state over some of the samples."""
    model = tiny_networks.mlp().double()
    model.load_state_dict(state)
    x, y = tiny_networks.X[chosen].double(), tiny_networks.Y[chosen]
    return torch.linalg.eigvalsh(exact_hessian(model, torch.nn.functional.cross_entropy, x, y)).numpy()


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """A folder of three states of a training, and their eigenvalues."""
    folder, spectra = tmp_path_factory.mktemp("states"), {}
    model = tiny_networks.mlp().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(13):
        if step % 6 == 0:
            torch.save(model.state_dict(), folder / f"step{step}.pt")
            spectra[step] = spectrum_of(model.state_dict())
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(tiny_networks.X.double()), tiny_networks.Y).backward()
        optimizer.step()
    torch.save(model.state_dict(), folder / "last.pt")
    return folder, spectra


def test_every_state_has_the_quantities_of_its_dense_hessian(capsys, tmp_path, states):
    folder, spectra = states
    more = ("--quantities", ",".join(TRUTHS), "--confidence", "0.9999", "--out", str(tmp_path))
    status, text, err = run(capsys, *NAMES, "--checkpoints", str(folder), *more)
    assert status == 0, err
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, RECORD}
    table = pd.read_csv(tmp_path / "checkpoint-quantities.csv")
    assert list(zip(table.number, table["quantity"], strict=True)) == [(n, name) for n in spectra for name in TRUTHS]
    assert table.file.tolist()[:: len(TRUTHS)] == [f"step{step}.pt" for step in spectra]
    for row in table.itertuples():
        exact = TRUTHS[row.quantity](spectra[row.number])
        assert row.low - 1e-9 <= exact <= row.high + 1e-9, row
        assert row.reached
    assert (table.products > 0).all()
    stored = json.loads((tmp_path / "checkpoint-quantities.json").read_text())
    assert [row["value"] for row in stored["rows"]] == table.value.tolist()
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1 :: 1 + len(TRUTHS)]][:3] == ["0", "6", "12"]
    assert sum(line.strip().startswith("trace") for line in lines) == 3
    assert any(line.startswith("left out: last.pt") for line in lines)


def linear():
    """A linear map, whose Hessian under the squared loss is that of the inputs, once for each output."""
    return torch.nn.Linear(30, 20, bias=False).double()


def linear_data():
    """Unequal inputs, and targets."""
    generator = torch.Generator().manual_seed(1)
    scales = torch.logspace(0.5, -1.0, 30, dtype=torch.float64)
    return torch.randn(50, 30, generator=generator, dtype=torch.float64) * scales, torch.zeros(50, 20).double()


def test_a_trace_is_followed_from_file_to_file(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "linear_case", types.SimpleNamespace(linear=linear, linear_data=linear_data))
    (tmp_path / "states").mkdir()
    for number in range(4):
        torch.save(linear().state_dict(), tmp_path / "states" / f"step-{number}.pt")
    names = ("--model", "linear_case:linear", "--data", "linear_case:linear_data", "--loss", "mse", "--width", "0.03")
    more = ("--quantities", "trace", "--out", str(tmp_path / "out"))
    status, _, err = run(capsys, *names, "--checkpoints", str(tmp_path / "states"), *more)
    assert status == 0, err
    table = pd.read_csv(tmp_path / "out" / "checkpoint-quantities.csv")
    exact = 2.0 * float(linear_data()[0].square().sum()) / 50  # of 20 blocks, each over the mean of 20 outputs
    assert ((table.low <= exact) & (exact <= table.high)).all()
    assert table.products.iloc[-1] < table.products.iloc[0] / 3
    assert table.warm.tolist()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--quantities", "trace,density"), "single numbers, not density"),
        (("--quantities", "diagonal"), "single numbers, not diagonal"),
        (("--quantities", "log-det=0.1"), "step0.pt: log-det=0.1 is for positive semidefinite matrices"),
        (("--quantities", "trace", "--blocks"), "--blocks and --checkpoints are separate"),
    ],
)
def test_what_cannot_be_measured_is_one_line(capsys, tmp_path, states, arguments, message):
    out = tmp_path / "out"
    status, text, err = run(capsys, *NAMES, "--checkpoints", str(states[0]), *arguments, "--out", str(out))
    assert (status, text) == (2, "")
    assert message in err.splitlines()[-1]
    assert not any(out.glob("checkpoint-quantities*"))


def test_results_of_other_states_are_not_replaced(capsys, tmp_path, states):
    folder, other = states[0], tmp_path / "other"
    other.mkdir()
    (other / "step3.pt").write_bytes((folder / "step6.pt").read_bytes())
    more = ("--quantities", "sharpness", "--out", str(tmp_path / "out"))
    assert run(capsys, *NAMES, "--checkpoints", str(other), *more)[0] == 0
    status, _, err = run(capsys, *NAMES, "--checkpoints", str(folder), *more)
    assert status == 2
    assert "another folder of states; name another folder with --out" in err


def test_server_and_clients_of_a_run(capsys, tmp_path):
    folder = tmp_path / "run"
    given = {"model": "tiny_networks:mlp", "clients": 3, "epochs": 1, "batch": 10}
    plan = make_plan("fedavg", "tiny_networks:splits", given, Conduct(rounds=2, keep_every=1))
    train(plan, folder)
    more = ("--quantities", "trace,sharpness", "--clients", "1", "--double", "--trust", "--confidence", "0.9999")
    status, text, err = run(capsys, "--checkpoints", str(folder), *more, "--out", str(tmp_path / "out"))
    assert status == 0, err
    table = pd.read_csv(tmp_path / "out" / "checkpoint-quantities.csv")
    assert set(zip(table.number, table.client, strict=True)) == {(n, c) for n in (0, 1, 2) for c in (-1, 0)}
    problem = parts_of(plan).problem
    for client, samples in ((-1, slice(None)), (0, problem.clients[0].indices)):
        values = spectrum_of(tiny_networks.mlp().double().state_dict(), samples)
        rows = table[(table.number == 0) & (table.client == client)]
        for row in rows.itertuples():
            assert row.low - 1e-9 <= TRUTHS[row.quantity](values) <= row.high + 1e-9
    assert [line.split()[1] for line in text.splitlines() if "loss" in line] == ["server", "client"] * 3
