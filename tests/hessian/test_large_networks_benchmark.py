"""The benchmark of large networks: a network that fails ends it, with one line."""

from queue import Queue
from types import SimpleNamespace

from benchmarks.large_networks import _row_of


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
