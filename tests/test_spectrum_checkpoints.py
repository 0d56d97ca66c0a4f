"""Spectra through training, by the command, against dense Hessians of every state."""

import re

import numpy as np
import pandas as pd
import pytest
import tiny_networks
import torch
from safetensors.torch import save_file

import rankproof
from hessian import CurvatureError, RitzPairs, exact_hessian
from hessian.state_files import load_state, numbered_states
from hessian.through_training import angles_of

SMALL = ("--outliers", "3", "--double", "--width", "0.02")


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
    status, out, err = run(capsys, folder, tmp_path)
    assert status == 0, err
    table = pd.read_csv(tmp_path / "checkpoints.csv")
    assert {path.name for path in tmp_path.iterdir()} == {f"checkpoints.{kind}" for kind in ("csv", "png", "pdf")}
    assert table.number.tolist() == [0, 0, 0, 10, 10, 10, 20, 20, 20]
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
        assert re.search(rf"^ +{number}  loss .*{one.value:.4g}, {one.low:.4g} to {one.high:.4g}", out, flags=re.M)


def test_what_is_no_state_of_the_model_is_one_line(capsys, tmp_path, states):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    torch.save(torch.nn.Linear(2, 3).state_dict(), tmp_path / "other" / "step-1.pt")
    for folder, more, part in (
        (tmp_path / "none", (), "there is no folder"),
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


class Opened:
    """What a file of weights must not bring along."""

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
    for name, part in (("code-1.pt", "cannot be read"), ("nested-1.pt", "more than tensors"),
                       ("broken-1.safetensors", "cannot be read")):  # fmt: skip
        with pytest.raises(CurvatureError, match=part):
            load_state(model, tmp_path / name)
    assert capsys.readouterr().out == ""


def test_angles_need_a_gap():
    pairs = RitzPairs(np.array([5.0, 3.0, 2.9, 1.0]), torch.eye(4), np.array([0.2, 0.2, 0.01, 0.0]))
    found = angles_of(pairs)
    assert found[0] == pytest.approx(np.arcsin(0.2 / 1.8))
    assert found[1] == pytest.approx(np.pi / 2)  # its neighbour is nearer than its residual
    assert found[3] == pytest.approx(np.pi / 2)  # its neighbour below is not known
