"""Several workers change no number, and one that dies ends the run in one line."""

import multiprocessing
import os
import signal

import pytest

from rankproof import main

RUN = ["train", "pfedloru", "--data", "ridges", "--rounds", "3", "--cohort", "3", "--rows", "5", "--columns", "4"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_change_no_number(tmp_path, workers):
    for count in (1, workers):
        assert main([*RUN, "--workers", str(count), "--out", str(tmp_path / str(count))]) == 0
    for name in ("metrics.csv", "ledger.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / str(workers) / name).read_bytes()
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_workers(tmp_path):
    assert main([*RUN, "--out", str(tmp_path / "whole")]) == 0
    assert main([*RUN, "--rounds", "2", "--workers", "2", "--out", str(tmp_path / "parts")]) == 0
    assert main(["train", "--resume", str(tmp_path / "parts"), "--rounds", "3"]) == 0
    assert (tmp_path / "whole" / "metrics.csv").read_bytes() == (tmp_path / "parts" / "metrics.csv").read_bytes()


@pytest.mark.slow
def test_a_worker_that_dies_is_one_line(tmp_path, monkeypatch, capsys):
    from runs import folder

    rounds = folder.rounds

    def killing(*given, **options):
        for step in rounds(*given, **options):
            yield step
            if step.state.round == 2:
                os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    monkeypatch.setattr(folder, "rounds", killing)
    assert main([*RUN, "--workers", "2", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert "a worker was killed by SIGKILL" in told
    assert told.endswith(f"keeps round 2; continue with `rankproof train --resume {tmp_path}`")
    assert not multiprocessing.active_children()
    monkeypatch.undo()
    assert main(["train", "--resume", str(tmp_path)]) == 0


def test_what_does_not_go_with_workers_is_one_line(tmp_path, capsys):
    for more, told in ((["--executor", "vmap"], "vmap runs in one process"), (["--workers", "0"], "at least 1")):
        assert main([*RUN, "--workers", "2", *more, "--out", str(tmp_path)]) == 2
        assert told in capsys.readouterr().err
