"""The command line: its contract, and one clear line for every error a user can make."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rankproof

QUICK = "fedloru-v2/eq-43"


def run(capsys, *arguments):
    """Status, standard output and standard error of one command."""
    try:
        status = rankproof.main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def assert_one_line(err, *parts):
    lines = [line for line in err.splitlines() if line.startswith("rankproof:")]
    assert len(lines) == 1
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0]


def test_check_writes_json_and_a_table(capsys, tmp_path):
    target = tmp_path / "verdicts.json"
    status, out, _ = run(capsys, "check", QUICK, "fedloru-v2/eq-39", "--json", str(target), "--seed", "3")
    assert status == 0
    assert "2 holds" in out
    answer = json.loads(target.read_text())
    assert [entry["id"] for entry in answer["claims"]] == ["fedloru-v2/eq-39", QUICK]
    assert {"commit", "seed", "budget", "packages", "wall_seconds"} <= set(answer["manifest"])
    assert answer["manifest"]["seed"] == 3


def test_claims_lists_the_ledger(capsys):
    status, out, _ = run(capsys, "claims", "--json")
    entries = json.loads(out)
    assert status == 0
    assert set(entries[0]) == {
        "id", "also", "paper", "where", "kind", "expected", "expected_grade", "says", "replay",
    }  # fmt: skip
    status, out, _ = run(capsys, "claims", "--paper", "fedloru")
    assert f"{sum(entry['paper'].startswith('fedloru') for entry in entries)} claims" in out


def test_show_prints_a_card(capsys):
    status, out, _ = run(capsys, "show", "fedloru-v2/txt-total20")
    assert status == 0
    assert "refuted" in out
    assert "rankproof replay fedloru-v2/txt-total20" in out
    assert max(map(len, out.splitlines())) <= 100


def test_replay_confirms_witnesses_and_certificates(capsys):
    status, out, _ = run(capsys, "replay", "fedloru-v2/prop-3.1")
    assert status == 0
    assert "witness confirmed" in out
    status, out, _ = run(capsys, "replay", "fedloru-v2/eq-40")
    assert status == 0
    assert "certificate confirmed" in out


def test_replay_without_a_stored_witness_says_what_to_do(capsys):
    status, _, err = run(capsys, "replay", QUICK)
    assert status == 2
    assert_one_line(err, "no stored witness", f"rankproof show {QUICK}")


@pytest.mark.parametrize("command", ["check", "show", "replay"])
def test_unknown_ids_are_named_with_near_ones(capsys, command):
    status, _, err = run(capsys, command, "fedloru-v2/prop-3.2")
    assert status == 2
    assert_one_line(err, "no claim 'fedloru-v2/prop-3.2'", "did you mean fedloru-v2/prop-3.1")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("check", "--paper", "fedavg"), ("no paper 'fedavg'", "known: fedloru-iclr, fedloru-v1, fedloru-v2")),
        (("check", "--budget", "huge"), ("invalid choice: 'huge'",)),
        (("check", "--seed", "-1"), ("--seed", "at least 0, got '-1'")),
        (("check", "--jobs", "0"), ("--jobs", "at least 1, got '0'")),
        (("figure", "rmt/spectrum", "--seed", "x"), ("at least 0, got 'x'",)),
        (("figure", "rmt/spectra"), ("rmt/spectrum",)),
        (("figure",), ("name a figure, or --all",)),
        (("figure", "rmt/spectrum", "--scale", "huge"), ("invalid choice: 'huge'",)),
        (("data", "fetch", "imagenet"), ("unknown data set 'imagenet'", "known: mnist, fashion-mnist")),
        (("nonsense",), ("invalid choice: 'nonsense'",)),
        ((), ("arguments are required",)),
    ],
)
def test_bad_usage_is_one_line_and_status_2(capsys, arguments, parts):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert not out
    assert_one_line(err, *parts)


def test_an_absent_accelerator_is_one_line(capsys, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    status, _, err = run(capsys, "figure", "rmt/spectrum", "--device", "cuda", "--out", str(tmp_path))
    assert status == 2
    assert_one_line(err, "cuda")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", QUICK, "--json", "{}/verdicts.json"),
        ("report", "--out", "{}"),
        ("figure", "rmt/spectrum", "--out", "{}"),
    ],
)
def test_a_folder_that_cannot_be_written_fails_before_the_work(capsys, tmp_path, arguments):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    status, out, err = run(capsys, *(part.format(blocked / "sub") for part in arguments))
    assert status == 2
    assert not out
    assert_one_line(err, "file")
    assert list(tmp_path.iterdir()) == [blocked]


def test_missing_and_damaged_data_are_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    status, out, err = run(capsys, "data", "verify", "mnist")
    assert status == 2
    assert_one_line(err, "rankproof data fetch mnist")
    folder = tmp_path / "data" / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name in (
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
    ):
        (folder / name).write_bytes(b"altered")
    status, _, err = run(capsys, "data", "verify", "mnist")
    assert status == 2
    assert_one_line(err, "ubyte")
    status, out, _ = run(capsys, "data", "list", "mnist")
    assert status == 0
    assert "damaged" in out


def test_help_helps(capsys):
    for arguments in (("--help",), ("check", "--help"), ("figure", "--help"), ("data", "--help"), ("report", "--help")):
        status, out, _ = run(capsys, *arguments)
        assert status == 0
        assert "usage: rankproof" in out


def test_the_console_command_runs_and_help_needs_no_torch():
    program = "import sys, rankproof; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip() == "False"
    command = Path(sys.executable).with_name("rankproof")
    if command.exists():
        done = subprocess.run([command, "claims"], capture_output=True, text=True, check=True)
        assert "fedloru-v2/prop-3.1" in done.stdout
