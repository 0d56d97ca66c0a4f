"""Workers at the end of work: errors that cannot be pickled, work continued elsewhere, memory that is released."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from travelling import answer_number, quadratics

from algorithms.executors.processes import Processes
from algorithms.federation import Federation, FederationError, Reply

HERE = Path(__file__).parents[1]


class TwoPartsError(Exception):
    """An error that can be pickled but not unpickled, because it is made of two arguments and keeps one."""

    def __init__(self, what, why):
        super().__init__(f"{what}: {why}")


def fail_in_two_parts(client, memory):
    raise TwoPartsError("a file", "it is gone")


def fail_beside_work(client, memory):
    if memory.number:
        time.sleep(3600)
    raise FederationError("client 0 has a wrong file")


def send_and_keep_much(client, memory):
    return Reply(torch.ones(20_000), personal={"w": torch.ones(20_000)})


@pytest.fixture(params=[2])
def given(request):
    """Return a federation of two clients, and its workers."""
    pool = Processes(request.param)
    yield Federation(quadratics(2).clients, executor=pool), pool
    pool.close()


def test_workers_that_are_at_work_end_by_themselves(given):
    fed, pool = given
    assert fed.gather(answer_number, to=(0, 1)) == [0.0, 1.0]  # both are there
    processes = [worker.process for worker in pool._workers]
    with pytest.raises(FederationError, match="client 0 has a wrong file"):
        fed.gather(fail_beside_work, to=(0, 1))
    assert processes[1].exitcode == 1  # it ended by itself, not by a signal
    assert processes[0].exitcode in (0, 1)


@pytest.mark.parametrize("given", [1], indirect=True)
def test_what_comes_back_leaves_shared_memory_and_errors_that_cannot_travel_are_words(given):
    fed, _ = given
    found = [fed.mean(send_and_keep_much, to=fed.everyone)]
    assert torch.allclose(found[0], torch.ones(20_000))
    found += [fed.personal(number)["w"] for number in fed.everyone]
    found += fed.gather(send_and_keep_much, to=fed.everyone)
    assert not any(tensor.is_shared() for tensor in found)
    with pytest.raises(FederationError, match="fail_in_two_parts: TwoPartsError: a file: it is gone"):
        fed.mean(fail_in_two_parts, to=fed.everyone)


UNGUARDED = """
import sys
sys.path[:0] = {paths!r}
from algorithms.executors.processes import Processes
from algorithms.federation import Federation
from travelling import answer_number, quadratics
Federation(quadratics(2).clients, executor=Processes(1)).gather(answer_number, to=(0, 1))
"""


def test_a_script_without_the_main_guard_gets_the_missing_line_in_the_error(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.format(paths=[str(HERE.parents[1]), str(HERE)]))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert 'put its code under if __name__ == "__main__":' in done.stderr.splitlines()[-1]
    assert "spawn" not in done.stderr  # no trace of a worker
