"""The benchmark for a GPU: a part that fails or takes too long does not lose the others, and names its reason."""

import os
import signal
from pathlib import Path

import pytest

from benchmarks.on_gpu import Request, agreement, all_well, main, run_stage, start

REQUEST = Request("cpu", True, 2, Path())


def good(request):
    yield "estimates", "one", {"device": request.device}
    yield "estimates", "two", {"small": request.small}


def failing(request):
    yield "estimates", "before it failed", {}
    raise ValueError("no such\nnetwork")


def hanging(request):
    yield "estimates", "before it hung", {}
    signal.pause()


def dying(request):
    yield "estimates", "before it died", {}
    os._exit(3)


def test_rows_are_kept_however_a_part_ends():
    rows = {}
    limits = {good: 60.0, failing: 60.0, hanging: 0.5, dying: 60.0}
    jobs = [start(part.__name__, part, REQUEST, limit) for part, limit in limits.items()]
    run_stage(jobs, lambda section, name, row: rows.setdefault(section, {}).update({name: row}))
    assert rows["estimates"].pop("one") == {"device": "cpu"}
    assert rows["estimates"].pop("two") == {"small": True}
    assert set(rows["estimates"]) >= {"before it failed", "before it died"}
    assert {job.name: job.outcome for job in jobs} == {
        "good": "done",
        "failing": "failed: ValueError: no such network",
        "hanging": "stopped at its limit of 0 s",
        "dying": "failed: the process ended with status 3",
    }
    assert not any(job.process.is_alive() for job in jobs)


def rows(stable_rank):
    return {"MLP": {"stable-rank": stable_rank, "trace": [1.0, 2.0, 3.0], "sharpness": [5.0, 5.0, 5.1]}}


@pytest.mark.parametrize(
    ("other", "overlap", "inside"),
    [
        ([2.5, 3.0, 4.0], True, True),
        ([3.5, 3.8, 4.1], True, False),
        ([4.0, 4.1, 5.0], True, False),
        ([4.1, 4.2, 5.0], False, False),
    ],
)
def test_intervals_of_device_and_processor_are_compared(other, overlap, inside):
    results = {"reference": rows([2.0, 3.0, 4.0]), "compared": rows(other), "parts": {"prepare": "done, after 1 s"}}
    results["agreement"] = agreement(results)
    found = results["agreement"]["MLP"]
    assert found["stable-rank"]["intervals overlap"] == overlap
    assert found["stable-rank"]["each contains the other's value"] == inside
    assert found["trace"]["relative difference"] == 0.0
    assert all_well(results) == overlap
    assert not all_well({**results, "parts": {"prepare": "stopped at its limit of 3 s, after 3 s"}})
    assert not all_well({**results, "tests": {"file": {"exit_status": 1}}})


@pytest.mark.parametrize("given", [["--minutes", "0"], ["--rounds", "1"], ["--only", "everything"]])
def test_settings_that_cannot_be_run_are_refused(given, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["on_gpu", *given])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "error" in capsys.readouterr().err
