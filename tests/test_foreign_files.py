"""No command changes or removes a byte that rankproof did not write, for any names of the files of others.

`HYPOTHESIS_PROFILE=deep` draws 2,000 folders.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from figures import make as making
from figures import run_curves
from figures.figure import Figure, Settings
from figures.make import make
from figures.spectrum import measured_spectrum
from figures.spectrum.measured_network import MeasuredNetwork, SpectrumRequest
from figures.spectrum.measured_spectrum import measure_network, require_room, write_spectrum
from hessian.numerics.symmetric import CurvatureError
from hessian.spectrum import SpectrumSettings
from paper_checks.pages.report import write_report
from paper_checks.result import Run
from paper_checks.run import _keep
from rankproof import main
from runs.folder import remove_run
from runs.settings import RunError
from workloads.data.file_sets import FileSet, fetch
from workloads.data.idx import DataError
from workloads.written import _HEADER, RECORD, write_own

SMALL = ("--clients", "2", "--steps", "1", "--rows", "3", "--columns", "2", "--rounds", "2", "--save-every", "0")
DATA = {"train.bin": b"genuine", "test.bin": b"data"}
TINY = FileSet(
    name="tiny",
    title="Tiny",
    folder="Tiny",
    md5={name: hashlib.md5(data).hexdigest() for name, data in DATA.items()},
    sources=(lambda runner, work: DATA,),
)
FIGURE = Figure(
    id="invented/line",
    title="A line",
    caption="A line.",
    data=lambda settings: pd.DataFrame({"x": [0.0, settings.seed]}),
    draw=lambda table: None,
    headline=lambda table: "",
    found=lambda table: "nothing",
    sizes=lambda table: "2 points.",
)
NAMES = [
    *("settings.json", "metrics.csv", "ledger.csv", "log.txt", RECORD),
    *(f"checkpoints/round-00000{n}.{kind}" for n in (1, 2) for kind in ("json", "safetensors")),
    *("checkpoints/client-000000-round-000001.safetensors", "checkpoints/.writing-x/0", "checkpoints"),
    *("tensorboard/events.out.tfevents.1.x", ".writing-0123456789abcdef/0", "notes.txt", "Settings.json"),
    *("spectrum.json", "spectrum.png", "spectrum.pdf", "blocks.png", "checkpoints.json", "verdicts.json"),
    *("runs-loss.csv", "runs-loss.png", "runs-loss.pdf", "witnesses/x.json"),
    *("index.html", "claims.csv", "paper-x.html", "map-x.svg", "figures.html", "figures/x.svg"),
    *(f"invented-line.{kind}" for kind in ("png", "pdf", "svg", "csv", "manifest.json")),
    *(".cache/invented-line.quick.0.cpu.json", ".cache/invented-line.quick.0.cpu.0.pieces/a.json", ".cache"),
    *("runs/x/settings.json", ".anew/x/settings.json", "Tiny/train.bin", "Tiny/test.bin", "Tiny"),
    *("pyproject.toml", "README.md", "silos/server_app.py", "docs/a-paper.md", "src/paper.py"),
]


@dataclasses.dataclass(frozen=True, repr=False)
class Own:
    """Files and results of the commands, which a failing example need not print."""

    run: Path
    measured: MeasuredNetwork
    contents: list[bytes]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Files as the commands write them; the folder of a run; a measured spectrum."""
    run = tmp_path_factory.mktemp("run")
    assert quietly("train", "fedavg", *SMALL, "--out", run) == 0
    request = SpectrumRequest(
        "tiny_networks:mlp",
        "tiny_networks:pair",
        settings=SpectrumSettings(0.5, outliers=1, probes=1, steps=5, products=200),
    )
    measured = measure_network(request)
    spectrum = tmp_path_factory.mktemp("spectrum")
    write_spectrum(measured, spectrum)
    contents = [
        path.read_bytes()[:4000] for place in (run, spectrum) for path in place.glob("*.*") if path.name != RECORD
    ]
    contents += [b"", b"{}", b"[]", b"\0\xff\n", b"epoch,auc\n1,0.9\n", b"round,", b'{"id": "x", "values": {}}\n']
    contents += [_HEADER + b'["settings.json", 3]\n', _HEADER[:-1], b'{"sha256": "0", "content": {"run": "x"}}\n']
    return Own(run, measured, contents)


def quietly(*words):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = main([str(word) for word in words])
    assert status == 0 or said.getvalue().count("\n") == 1
    return status


def spectrum(folder, measured):
    require_room(measured.request, folder)
    write_spectrum(measured, folder)


COMMANDS = {
    "train": lambda at, run, of: quietly("train", "fedavg", *SMALL, "--out", at),
    "train again": lambda at, run, of: quietly("train", "fedlin", *SMALL, "--out", at, "--force"),
    "train in a board": lambda at, run, of: quietly("train", "fedavg", *SMALL, "--tensorboard", "--force", "--out", at),
    "resume": lambda at, run, of: quietly("train", "--resume", at, "--rounds", "3"),
    "list": lambda at, run, of: quietly("runs", "list", at),
    "plot": lambda at, run, of: quietly("runs", "plot", run, "--metric", "loss", "--out", at),
    "export": lambda at, run, of: quietly("runs", "export", at),
    "figure": lambda at, run, of: make(FIGURE, Settings(), at),
    "figure again": lambda at, run, of: make(FIGURE, Settings(), at, recompute=True),
    "a run that starts over": lambda at, run, of: remove_run(at),
    "spectrum": lambda at, run, of: spectrum(at, of),
    "report": lambda at, run, of: write_report(Run((), 0, "quick", 1.0), [], {}, at),
    "check --json": lambda at, run, of: write_own({at / "verdicts.json": b"[1]\n"}, at),
    "check --store": lambda at, run, of: _keep(at / "witnesses" / "x.json", {"id": "y", "values": {}}, 1, at),
    "data": lambda at, run, of: fetch(TINY, at),
    "flower new": lambda at, run, of: quietly("flower", "new", at),
    "new-paper": lambda at, run, of: quietly("new-paper", "a-paper", "--out", at),
}


def laid_out(draw, contents, folder, outside):
    """Files, links and folders of somebody else."""
    for number, name in enumerate(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))):
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            how = draw(st.sampled_from(["file"] * 5 + ["link", "link to nothing", "linked folder", "folder"]))
            if how == "file":
                path.write_bytes(draw(st.sampled_from(contents)))
            elif how == "link":
                (outside / str(number)).write_bytes(draw(st.sampled_from(contents)))
                path.symlink_to(outside / str(number))
            elif how == "link to nothing":
                path.symlink_to(f"{name.replace('/', '-')}.nowhere")
            else:
                place = outside / f"folder {number}" if how == "linked folder" else path
                place.mkdir(exist_ok=True)
                (place / "round-000001.safetensors").write_bytes(b"mine")
                (place / "mine").write_bytes(b"mine")
                if place != path:
                    path.symlink_to(place)
        except OSError:  # another name is a part of this one
            continue


def state(*places):
    """Links and contents, by path."""
    found = {}
    for place in places:
        for root, folders, files in os.walk(place):
            for name in (*folders, *files):
                path = Path(root, name)
                found[path] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


@given(st.data(), st.lists(st.sampled_from(sorted(COMMANDS)), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_others_wrote_stays_to_the_byte(own, data, commands):
    run, measured, contents = own.run, own.measured, own.contents
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(making, "render", lambda draw: dict.fromkeys(("png", "pdf", "svg"), b"<svg/>"))
        patched.setattr(measured_spectrum, "render", lambda draw, kinds: dict.fromkeys(kinds, b"drawn"))
        patched.setattr(run_curves, "render", lambda draw, kinds: dict.fromkeys(kinds, b"drawn"))
        folder, outside = Path(name) / "out", Path(name) / "outside"
        folder.mkdir()
        outside.mkdir()
        laid_out(data.draw, contents, folder, outside)
        before = state(folder, outside)
        for command in commands:
            with contextlib.suppress(OSError, RunError, DataError, CurvatureError):
                COMMANDS[command](folder, run, measured)
            after = state(folder, outside)
            assert {path: after.get(path, "gone") for path in before} == before, command
        assert torch.get_num_threads() == 1


@pytest.mark.parametrize("data", [b"", b"{}", b"no json", json.dumps({"editor.fontSize": 12}).encode()])
@pytest.mark.parametrize("name", ["settings.json", "metrics.csv", "ledger.csv"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_train_names_the_file_that_is_in_the_way(data, name, force, tmp_path, capsys):
    (tmp_path / name).write_bytes(data)
    assert main(["train", "fedavg", *SMALL, "--out", str(tmp_path), *force]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert name in said
    assert "name another folder with --out" in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == {tmp_path / name: data}


def test_a_file_that_appears_while_a_command_works_stays(own, tmp_path, monkeypatch):
    measured = own.measured

    def late(data, kinds):
        (tmp_path / "spectrum.png").write_bytes(b"mine")
        return dict.fromkeys(kinds, b"drawn")

    monkeypatch.setattr("figures.spectrum.measured_spectrum.render", late)
    with pytest.raises(FileExistsError, match="rankproof did not write it"):
        write_spectrum(measured, tmp_path)
    assert {path.name for path in tmp_path.iterdir() if path.name != RECORD} == {"spectrum.png"}
    assert (tmp_path / "spectrum.png").read_bytes() == b"mine"


def test_a_spectrum_replaces_its_own_and_no_other(own, tmp_path):
    measured = own.measured
    spectrum(tmp_path, measured)
    spectrum(tmp_path, measured)
    with pytest.raises(
        CurvatureError, match="contains a measurement with another model; name another folder with --out"
    ):
        require_room(dataclasses.replace(measured.request, model="tiny_networks:other"), tmp_path)
    (tmp_path / "spectrum.json").write_text("{}")
    with pytest.raises(FileExistsError, match="rankproof did not write it"):
        require_room(measured.request, tmp_path)
