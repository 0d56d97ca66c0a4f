"""`rankproof train` through its front door."""

import pytest

from rankproof import main


def test_train_then_lengthen(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert main(["train", "fedlrt", "--rounds", "3", "--rows", "5", "--columns", "4", "--out", folder]) == 0
    assert "fedlrt on quadratics: round 3, loss" in capsys.readouterr().out
    assert main(["train", "--resume", folder, "--rounds", "5"]) == 0
    assert "round 5" in capsys.readouterr().out
    assert len((tmp_path / "run" / "metrics.csv").read_text().splitlines()) == 7


def test_list_names_algorithms_and_problems(capsys):
    assert main(["train", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "fedloru" in listed
    assert "quadratics" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an algorithm"),
        (["fedprox"], "unknown algorithm 'fedprox'; known: fedavg"),
        (["fedlora", "--rank", "99"], "rank 99 does not fit W"),
        (["fedavg", "--clients", "0"], "expected positive sizes"),
        (["fedavg", "--data", "cifar"], "unknown problem"),
        (["--resume", "nowhere"], "nowhere holds no run"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("rankproof: ")
    assert message in error
    assert len(error.splitlines()) == 1
