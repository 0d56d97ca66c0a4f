"""`rankproof spectrum --quantities`: its table, its files, and one line for every bad list."""

import dataclasses
import json

import numpy as np
import pytest
import tiny_networks
import torch

import rankproof
from figures.spectrum.as_json import require_same_subject
from figures.spectrum.measured_network import SpectrumRequest
from hessian import CurvatureError, exact_hessian
from rmt.results import plain

NAMES = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair")


def run(capsys, *arguments):
    """Status, standard output and standard error of one command."""
    try:
        status = rankproof.main(("spectrum", *arguments))
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture(scope="module")
def dense():
    model = tiny_networks.mlp().double()
    return exact_hessian(model, torch.nn.functional.cross_entropy, tiny_networks.X.double(), tiny_networks.Y)


def test_a_table_and_json_of_the_whole_and_of_every_module(capsys, tmp_path, dense):
    names = "trace,sharpness,stable-rank,count-below=0.001,diagonal"
    status, text, err = run(capsys, *NAMES, "--double", "--quantities", names, "--blocks", "--out", str(tmp_path))
    assert status == 0, err
    values = torch.linalg.eigvalsh(dense)
    found = json.loads((tmp_path / "quantities.json").read_text())
    assert list(found["quantities"]) == names.split(",")
    assert found["quantities"]["trace"]["value"] == pytest.approx(float(values.sum()), rel=0.1)
    assert found["quantities"]["sharpness"]["value"] == pytest.approx(float(values.max()), rel=1e-3)
    assert found["quantities"]["count-below=0.001"]["value"] == int((values < -0.001).sum())
    assert found["quantities"]["diagonal"]["sum"] == pytest.approx(float(values.sum()), rel=0.1)
    assert found["cost"]["products"] == sum(found["products_by_part"].values())
    assert "processor" in found or "packages" in found
    arrays = np.load(tmp_path / "diagonal.npz")
    assert arrays["value"] == pytest.approx(dense.diagonal().numpy(), abs=6.0 * arrays["sd"].max() + 1e-9)
    lines = text.splitlines()
    assert lines[0].startswith("Hessian, 83 parameters, 40 samples, loss ")
    assert [line.split("  ")[0] for line in lines[1:6]] == [
        "trace",
        "sharpness",
        "stable rank",
        "below -0.001",
        "diagonal",
    ]
    first, size = 0, 0
    for block in found["blocks"]:
        size = block["parameters"]
        part = dense[first : first + size, first : first + size]
        assert block["quantities"]["trace"]["value"] == pytest.approx(float(part.trace()), rel=0.1)
        assert f"  {block['name']}, {size} parameters" in lines
        first += size
    assert first == len(dense)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--quantities", "spread"), "'spread' is not a quantity: choose among trace"),
        (("--quantities", ""), "name at least one quantity"),
        (("--quantities", "count-above"), "count-above needs a threshold"),
        (("--quantities", "log-det=0.01"), "log-det=0.01 is for positive semidefinite matrices"),
        (("--quantities", "trace", "--width", "0"), "--width and tolerance must be positive"),
    ],
)
def test_a_list_that_cannot_be_measured_is_one_line(capsys, tmp_path, arguments, message):
    status, text, err = run(capsys, *NAMES, *arguments, "--out", str(tmp_path))
    assert (status, text) == (2, "")
    assert message in err.splitlines()[-1]
    assert not (tmp_path / "quantities.json").exists()


def test_the_measurement_of_another_matrix_is_not_overwritten(capsys, tmp_path):
    arguments = (*NAMES, "--quantities", "sharpness", "--out", str(tmp_path))
    assert run(capsys, *arguments)[0] == 0
    status, _, err = run(capsys, *arguments, "--matrix", "gauss-newton")
    assert status == 2
    assert "another matrix" in err


def test_a_semidefinite_matrix_has_a_log_determinant(capsys, tmp_path):
    status, text, err = run(
        capsys, *NAMES, "--double", "--matrix", "gauss-newton", "--quantities", "log-det=0.01,effective-dimension=0.01",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert status == 0, err
    assert "log det 0.01" in text
    assert "eff. dim. 0.01" in text


OF_THE_MATRIX = {"model", "data", "loss", "matrix", "parameters", "batch_norm", "reduction", "count", "law"}


@pytest.mark.parametrize("name", [one.name for one in dataclasses.fields(SpectrumRequest)])
def test_a_stored_measurement_is_kept_unless_only_the_way_to_measure_differs(tmp_path, name):
    request, path = SpectrumRequest("a:model", "a:data"), tmp_path / "spectrum.json"
    stored = plain(request)
    path.write_text(json.dumps({"request": stored | {name: "other"}}))
    if name in OF_THE_MATRIX:
        with pytest.raises(CurvatureError, match=f"contains a measurement with another {name}; name another folder"):
            require_same_subject(path, request)
    else:
        require_same_subject(path, request)
    path.write_text(json.dumps({"request": stored}))
    require_same_subject(path, request)
