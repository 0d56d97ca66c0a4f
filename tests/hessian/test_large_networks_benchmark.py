"""The benchmark of large networks: a network that fails ends it, with one line, and so does a budget that is none."""

from queue import Queue
from types import SimpleNamespace

import pytest

from benchmarks.large_networks import _row_of, main


def process(alive):
    """A process that is seen alive so many times."""
    left = [True] * alive
    return SimpleNamespace(is_alive=lambda: bool(left) and left.pop(), join=lambda: None)


def test_a_process_that_ends_without_a_result_is_not_waited_for():
    assert _row_of(process(alive=1), Queue()) is None


def test_a_result_is_taken_from_a_process_that_runs_or_has_just_ended():
    for alive in (1, 0):
        answers = Queue()
        answers.put({"products": 7})
        assert _row_of(process(alive), answers) == {"products": 7}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--memory", "six"], "look like '6 GiB'"),
        (["--scratch", "."], "give --memory too"),
        (
            ["--memory", "1 GiB", "--scratch", "nowhere"],
            "the folder nowhere for vectors that do not fit does not exist",
        ),
    ],
)
def test_a_budget_that_is_none_is_told_in_a_line(given, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["large_networks", "--only", "resnet-10", *given])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert message in capsys.readouterr().err.splitlines()[-1]
