"""Spectra through training, by the command, against dense Hessians of every state."""

import json
import re
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_networks
import torch
from matplotlib.figure import Figure
from safetensors.torch import save_file

import rankproof
from algorithms.rounds import rounds
from algorithms.weights import dense_tree
from figures.spectrum.checkpoints import measure_checkpoints, measure_run, write_checkpoints
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import require_room
from hessian import CurvatureError, RitzPairs, SpectrumSettings, exact_hessian
from hessian.loss.state_files import load_state, numbered_states
from hessian.through_training import angles_of
from runs.folder import train
from runs.plan import make_plan, parts_of
from runs.settings import Conduct
from workloads.written import RECORD

SMALL = ("--outliers", "3", "--double", "--width", "0.02")
KINDS = ("csv", "json", "png", "pdf")
OWN = {"data": "tiny_networks:splits", "model": "tiny_networks:mlp"}


def run(capsys, folder, out, *more):
    """Status, standard output and standard error."""
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(out))
    status = rankproof.main(("spectrum", *names, "--checkpoints", str(folder), *SMALL, *more))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """A folder of three states, and their eigenvalues and eigenvectors."""
    folder, spectra = tmp_path_factory.mktemp("states"), {}
    model = tiny_networks.mlp().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(21):
        if step % 10 == 0:
            single = {name: value.float() for name, value in model.state_dict().items()}
            if step == 20:
                torch.save(single, folder / "after-20.pt")
            else:
                save_file(single, folder / f"step{step:03d}.safetensors")
            exact = tiny_networks.mlp().double()
            exact.load_state_dict(single)
            loss = torch.nn.functional.cross_entropy
            spectra[step] = torch.linalg.eigh(exact_hessian(exact, loss, tiny_networks.X.double(), tiny_networks.Y))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(tiny_networks.X.double()), tiny_networks.Y).backward()
        optimizer.step()
    (folder / "notes-7.txt").write_text("no weights")
    return folder, spectra


def test_every_state_has_the_numbers_of_its_dense_hessian(capsys, tmp_path, states):
    folder, spectra = states
    status, out, err = run(capsys, folder, tmp_path, "--confidence", "0.9999")
    assert status == 0, err
    table = pd.read_csv(tmp_path / "checkpoints.csv")
    assert {path.name for path in tmp_path.iterdir()} == {*(f"checkpoints.{kind}" for kind in KINDS), RECORD}
    stored = json.loads((tmp_path / "checkpoints.json").read_text())
    assert stored["states"] == str(folder)
    assert [row["value"] for row in stored["rows"]] == table.value.tolist()
    assert [row["overlap"] is None for row in stored["rows"]] == table.overlap.isna().tolist()
    assert table.number.tolist() == [0, 0, 0, 10, 10, 10, 20, 20, 20]
    cost = table.groupby("number").first()
    assert (cost.products >= 22 + 4).all()  # basis and pilot of the stable rank, and pairs
    assert (cost.gradients > 0.0).all()
    assert not cost.warm.iloc[0]
    before = None
    for number, (values, vectors) in spectra.items():
        state = table[table.number == number]
        rank = float((values**2).sum() / values.abs().max() ** 2)
        assert state.low.iloc[0] <= rank <= state.high.iloc[0]
        largest, leading = values.flip(0)[:3].numpy(), vectors.flip(1)[:, :3]
        assert (np.abs(state.eigenvalue.to_numpy() - largest) <= state.residual.to_numpy()).all()
        if before is None:
            assert state.overlap.isna().all()
        else:
            exact = (before * leading).sum(dim=0).abs().numpy()
            assert (state.overlap_low.to_numpy() <= exact).all()
            assert (exact <= state.overlap_high.to_numpy()).all()
            assert (state.overlap_high - state.overlap_low < 0.2).any()
        before = leading
        one = state.iloc[0]
        numbers = rf"{one.value:.4g}, {one.low:.4g} to {one.high:.4g}.* {one.products} products, {one.gradients:.0f} "
        assert re.search(rf"^ +{number}  loss .*{numbers}gradients", out, flags=re.M)


def test_results_of_other_states_are_not_replaced(tmp_path, monkeypatch):
    request = SpectrumRequest("tiny_networks:mlp", "tiny_networks:pair")
    table = pd.DataFrame(
        {"number": [0], "value": 1.0, "low": 1.0, "high": 1.0, "eigenvalue": 1.0, "residual": 0.0, "overlap": None}
    )
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr("figures.spectrum.checkpoints.draw_checkpoints", lambda *_: Figure())
    write_checkpoints(table, request, Path("one"), out)
    require_room(request, out, tmp_path / "one")
    with pytest.raises(CurvatureError, match="a measurement with another folder of states; name another folder"):
        require_room(request, out, Path("two"))


@pytest.mark.slow
def test_the_time_of_all_states_is_estimated_before_the_first(states, trained):
    asked, folder = [], trained[0]

    def expect(seconds, work):
        asked.append((seconds, work))

    settings = SpectrumSettings(outliers=3)
    files = SpectrumRequest("tiny_networks:mlp", "tiny_networks:pair", settings=settings)
    measure_checkpoints(files, states[0], expect=expect)
    request = SpectrumRequest(str(folder), str(folder), settings=settings)
    measure_run(request, folder, 1, trust=True, expect=expect)
    (seconds, of_files), (_, of_run) = asked
    assert seconds > 0.0
    assert of_files.startswith("some 186 products at 3 states")
    kept = len(list((folder / "checkpoints").glob("round-*.json")))
    assert of_run.startswith(f"some {62 * 2 * (kept + 1)} products at {2 * (kept + 1)} states")


def test_one_state_alone_has_no_overlaps(capsys, tmp_path, states):
    folder, spectra = states
    alone = tmp_path / "states"
    alone.mkdir()
    (alone / "after-20.pt").write_bytes((folder / "after-20.pt").read_bytes())
    status, out, err = run(capsys, alone, tmp_path / "out")
    assert status == 0, err
    table = pd.read_csv(tmp_path / "out" / "checkpoints.csv")
    assert table.overlap.isna().tolist() == [True] * 3
    assert table.eigenvalue.to_numpy() == pytest.approx(spectra[20][0].flip(0)[:3].numpy(), abs=table.residual.max())
    rows = json.loads((tmp_path / "out" / "checkpoints.json").read_text())["rows"]
    assert [[row[name] for name in ("overlap", "overlap_low", "overlap_high")] for row in rows] == [[None] * 3] * 3
    (line,) = [line for line in out.splitlines() if re.match(r" +20 ", line)]
    assert "nan" not in line.lower()


@pytest.mark.parametrize("matrix", ["hessian", "residual"])
def test_equal_files_in_double_precision_have_equal_rows(tmp_path, matrix):
    """The network is built in single precision, and its own numbers are those of none of the files."""
    exact = tiny_networks.mlp().double()
    generator = torch.Generator().manual_seed(4)
    state = {name: torch.randn(v.shape, generator=generator).double() for name, v in exact.state_dict().items()}
    state = {name: value * (1.0 + 1e-9) for name, value in state.items()}
    exact.load_state_dict(state)
    for step in (1, 2):
        torch.save(state, tmp_path / f"step-{step}.pt")
    settings = SpectrumSettings(outliers=2)
    names = ("tiny_networks:mlp", "tiny_networks:pair")
    table = measure_checkpoints(SpectrumRequest(*names, matrix=matrix, double=True, settings=settings), tmp_path)
    loss = torch.nn.functional.cross_entropy(exact(tiny_networks.X.double()), tiny_networks.Y).item()
    assert table.loss.to_numpy() == pytest.approx(loss, rel=1e-13)
    for place, rows in table.groupby("place"):
        assert rows.eigenvalue.to_numpy() == pytest.approx(rows.eigenvalue.iloc[0], rel=1e-12), place


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "int64", "int8", "bool"])
def test_weights_of_another_kind_of_number_are_one_line(capsys, tmp_path, states, dtype):
    state = torch.load(states[0] / "after-20.pt", weights_only=True)
    name = list(state)[1]
    folder = tmp_path / "states"
    folder.mkdir()
    torch.save(state | {name: state[name].to(getattr(torch, dtype))}, folder / "step-1.pt")
    status, out, err = run(capsys, folder, tmp_path / "out")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{name} in " in err
    assert f"is {dtype} and float" in err
    assert not any((tmp_path / "out").glob("checkpoints*"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_weights_of_any_precision_are_read(tmp_path, dtype):
    model = tiny_networks.mlp()
    state = {name: value.to(getattr(torch, dtype)) for name, value in model.state_dict().items()}
    torch.save(state, tmp_path / "step-1.pt")
    load_state(model, tmp_path / "step-1.pt")
    assert all(torch.equal(value, state[name].to(value.dtype)) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("steps", "serves"), [(3.0, True), (3.5, False), (float("nan"), False), (3 + 0j, False)])
def test_whole_numbers_of_a_model_are_read_from_whole_numbers_alone(tmp_path, steps, serves):
    """An average of states turns the count of batches of batch norm into a floating-point number."""
    model = torch.nn.BatchNorm1d(2)
    torch.save(model.state_dict() | {"num_batches_tracked": torch.tensor(steps)}, tmp_path / "step-1.pt")
    if serves:
        load_state(model, tmp_path / "step-1.pt")
        assert int(model.num_batches_tracked) == 3
    else:
        with pytest.raises(CurvatureError, match=r"num_batches_tracked in .* and int64 in the model"):
            load_state(model, tmp_path / "step-1.pt")


def test_what_is_no_state_of_the_model_is_one_line(capsys, tmp_path, states):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    torch.save(torch.nn.Linear(2, 3).state_dict(), tmp_path / "other" / "step-1.pt")
    for folder, more, part in (
        (tmp_path / "none", (), "does not exist: name one"),
        (tmp_path / "empty", (), "no file of weights"),
        (tmp_path / "other", (), "are not those of the model"),
        (states[0], ("--blocks",), "--blocks and --checkpoints"),
    ):
        status, out, err = run(capsys, folder, tmp_path / "out", *more)
        assert status == 2
        assert not out
        assert part in err
        assert len([line for line in err.splitlines() if line.startswith("rankproof:")]) == 1
        assert "Traceback" not in err


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run in factors, its checkpoints at rounds 2 and 4, and the dense spectra that belong to it."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    given = {"model": OWN["model"], "clients": 3, "epochs": 2, "batch": 10, "rank": 2, "layers": "0,2"}
    plan = make_plan("fedlrt", OWN["data"], given, Conduct(rounds=4, keep_every=2))
    train(plan, folder)
    parts, spectra = parts_of(plan), {}
    for step in rounds(parts.algorithm, parts.problem, rounds=4, seed=plan.settings["seed"]):
        if step.state.round % 2 == 0:
            model = tiny_networks.mlp()
            model.load_state_dict(dense_tree(parts.algorithm.weights(step.state.algorithm), parts.problem.start))
            for client in (-1, 0, 1):
                chosen = slice(None) if client < 0 else parts.problem.clients[client].indices
                x, y = tiny_networks.X[chosen].double(), tiny_networks.Y[chosen]
                exact = exact_hessian(model.double(), torch.nn.functional.cross_entropy, x, y)
                spectra[step.state.round, client] = torch.linalg.eigh(exact)
    return folder, spectra


def of_run(capsys, folder, out, *more):
    """Status, standard output and standard error."""
    status = rankproof.main(("spectrum", "--checkpoints", str(folder), "--out", str(out), "--trust", *SMALL, *more))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.slow
def test_server_and_clients_of_a_run_have_the_numbers_of_their_dense_hessians(capsys, tmp_path, trained):
    folder, spectra = trained
    status, out, err = of_run(capsys, folder, tmp_path, "--clients", "2")
    assert status == 0, err
    assert {path.name for path in tmp_path.iterdir()} == {*(f"checkpoints.{kind}" for kind in KINDS), RECORD}
    table = pd.read_csv(tmp_path / "checkpoints.csv")
    assert list(table.groupby(["number", "client"]).groups) == sorted(spectra)
    for (number, client), (values, vectors) in spectra.items():
        state = table[(table.number == number) & (table.client == client)]
        assert state.samples.iloc[0] == (40 if client < 0 else 40 // 3 + (client < 40 % 3))
        assert state.low.iloc[0] <= float((values**2).sum() / values.abs().max() ** 2) <= state.high.iloc[0]
        assert (np.abs(state.eigenvalue.to_numpy() - values.flip(0)[:3].numpy()) <= state.residual.to_numpy()).all()
        other = (number - 2, -1) if client < 0 else (number, -1)
        if other not in spectra:
            assert state.overlap.isna().all()
            continue
        exact = (vectors * spectra[other][1]).sum(dim=0).abs().flip(0)[:3].numpy()
        assert (state.overlap_low.to_numpy() <= exact).all()
        assert (exact <= state.overlap_high.to_numpy()).all()
        assert state.overlap_high.iloc[0] - state.overlap_low.iloc[0] < 0.1
        one, who = state.iloc[0], "server" if client < 0 else f"client {client}"
        assert re.search(rf"^ +{number}  {who} +loss .*{one.value:.4g}, {one.low:.4g} to {one.high:.4g}", out, re.M)


@pytest.mark.slow
def test_workers_change_no_number_of_states_or_runs(capsys, tmp_path, states, trained):
    for measure, folder, more in ((run, states[0], ()), (of_run, trained[0], ("--clients", "1"))):
        tables = {}
        for workers in ("1", "2"):
            out = tmp_path / measure.__name__ / workers
            status, _, err = measure(capsys, folder, out, *more, "--workers", workers)
            assert status == 0, err
            tables[workers] = pd.read_csv(out / "checkpoints.csv").select_dtypes("number").drop(columns="gradients")
        pd.testing.assert_frame_equal(tables["1"], tables["2"], rtol=1e-6, atol=1e-6)


def test_what_is_no_run_of_a_network_is_one_line(capsys, tmp_path, trained, states):
    folder, _ = trained
    toy, cut = tmp_path / "toy", tmp_path / "cut"
    train(make_plan("fedavg", "quadratics", {"clients": 2, "rows": 4, "columns": 3}, Conduct(rounds=1)), toy)
    for path in folder.rglob("*.*"):
        (cut / path.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
        (cut / path.relative_to(folder)).write_bytes(path.read_bytes())
    (cut / "checkpoints" / "round-000002.safetensors").write_bytes(b"cut")
    names = [f"--{name}={value}" for name, value in OWN.items()]
    for where, more, parts in (
        (toy, (), ("quadratics, not on images",)),
        (cut, (), ("round-000002.safetensors is damaged",)),
        (folder, names[:1], ("defines network, data and loss: leave out --data",)),
        (folder, ("--loss", "mse", "--batch-norm", "batch"), ("leave out --loss, --batch-norm",)),
        (folder, ("--clients", "4"), ("--clients must be at most 3", "got 4")),
        (folder, ("--blocks",), ("--blocks and --checkpoints",)),
        (states[0], names[:1], ("--model must be given",)),
        (states[0], (*names, "--clients", "1"), ("--clients requires --checkpoints with the folder of a run",)),
    ):
        status, out, err = of_run(capsys, where, tmp_path / "out", *more)
        assert (status, out) == (2, "")
        assert "Traceback" not in err
        lines = [line for line in err.splitlines() if line.startswith("rankproof:")]
        assert len(lines) == 1
        assert all(part in lines[0] for part in parts), lines
    assert not list(Path(tmp_path / "out").glob("*"))


class Opened:
    """An object that a file of weights must not bring along."""

    def __reduce__(self):
        return (print, ("run",))


def test_files_are_read_by_number_and_run_nothing(tmp_path, capsys):
    model = torch.nn.Linear(2, 1)
    for name in ("epoch2-step10.pt", "epoch1-step9.pt", "last.pt"):
        torch.save(model.state_dict(), tmp_path / name)
    assert [path.name for path in numbered_states(tmp_path).values()] == ["epoch1-step9.pt", "epoch2-step10.pt"]
    save_file(model.state_dict(), tmp_path / "x-10.safetensors")
    with pytest.raises(CurvatureError, match="the same number 10"):
        numbered_states(tmp_path)
    torch.save({"weight": Opened()}, tmp_path / "code-1.pt")
    torch.save({"model": model.state_dict()}, tmp_path / "nested-1.pt")
    (tmp_path / "broken-1.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{}")
    for name, part in (
        ("code-1.pt", "cannot be read"),
        ("nested-1.pt", "more than tensors"),
        ("broken-1.safetensors", "cannot be read"),
    ):
        with pytest.raises(CurvatureError, match=part):
            load_state(model, tmp_path / name)
    assert capsys.readouterr().out == ""


def test_angles_need_a_gap():
    pairs = RitzPairs(np.array([5.0, 3.0, 2.9, 1.0]), torch.eye(4), np.array([0.2, 0.2, 0.01, 0.0]), missed=0.0)
    found = angles_of(pairs)
    assert found[0] == pytest.approx(np.arcsin(0.2 / 1.8))
    assert found[1] == pytest.approx(np.pi / 2)  # its neighbour is nearer than its residual
    assert found[3] == pytest.approx(np.pi / 2)  # its neighbour below is not known
    assert found[2] == pytest.approx(np.pi / 2)
    # One that is missing may lie up to 2.5 beyond the last, and anywhere without a search.
    hidden = angles_of(replace(pairs, missed=2.5))
    assert hidden[0] == pytest.approx(np.arcsin(0.2 / 1.5))
    assert angles_of(replace(pairs, missed=np.inf)) == pytest.approx(np.full(4, np.pi / 2))


def copies():
    """Five copies of each of ten eigenvalues, of which the first three are far apart."""
    torch.manual_seed(0)
    return torch.nn.Linear(10, 5, bias=False).double()


def copied_data():
    """Inputs with a known second moment, and targets."""
    generator = torch.Generator().manual_seed(1)
    turned = torch.linalg.qr(torch.randn(40, 10, generator=generator, dtype=torch.float64))[0]
    return turned * torch.logspace(2.0, 0.0, 10, dtype=torch.float64), torch.zeros(40, 5, dtype=torch.float64)


def test_missing_copies_are_said_and_leave_overlaps_open(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "copied", types.SimpleNamespace(copies=copies, copied_data=copied_data))
    (tmp_path / "states").mkdir()
    for number in (1, 2):
        torch.save(copies().state_dict(), tmp_path / "states" / f"step-{number}.pt")
    names = ("--model", "copied:copies", "--data", "copied:copied_data", "--loss", "mse", "--outliers", "2")
    for products in ("22", "400"):
        more = ("--products", products, "--out", str(tmp_path / products))
        assert rankproof.main(("spectrum", *names, *more, "--checkpoints", str(tmp_path / "states"))) == 0
        text = capsys.readouterr().out
        table = pd.read_csv(tmp_path / products / "checkpoints.csv")
        second = table[table.number == 2]
        assert (second.overlap_low < 1e-12).all()  # copies leave the vectors open
        assert (second.overlap_high == 1.0).all()
        assert rankproof.main(("spectrum", *names, *more)) == 0
        whole = capsys.readouterr().out
        stored = json.loads((tmp_path / products / "spectrum.json").read_text())
        values = [entry["value"] for entry in stored["eigenvalues"][:2]]
        searches = np.isfinite(table.missed).all(), stored["eigenvalues_missed"]["searched"]
        for searched, said, (first, other) in zip(searches, (text, whole), (table.eigenvalue[:2], values), strict=True):
            assert ("copies of repeated eigenvalues may be missing: raise --products" in said) == (not searched)
            assert not searched or other == pytest.approx(first)
        assert all(searches) == (products == "400")
