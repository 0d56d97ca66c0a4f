"""Locks of folders between processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from workloads.processes.locks import LOCK, lock_folder

ROOT = Path(__file__).resolve().parents[3]
HOLD = (
    "import sys, pathlib; from workloads.processes.locks import lock_folder\n"
    "with lock_folder(pathlib.Path(sys.argv[1])) as free:\n"
    "    print(free, flush=True); sys.stdin.read()\n"
)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a lock until its input ends or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


@pytest.mark.parametrize("end", ["kill", "input"])
def test_a_lock_ends_with_its_process_however_that_ends(tmp_path, holder, end):
    with lock_folder(tmp_path) as free:
        assert not free
    assert (tmp_path / LOCK).exists()  # whoever does not get a lock leaves it alone
    if end == "kill":
        holder.kill()
    else:
        holder.stdin.close()
    holder.wait()
    with lock_folder(tmp_path) as free:
        assert free


def test_waiting_ends_when_the_other_process_releases_the_folder(tmp_path, holder):
    holder.stdin.close()
    with lock_folder(tmp_path, wait=True) as free:
        assert free


def test_a_lock_leaves_nothing_and_keeps_the_files_of_the_folder(tmp_path):
    (tmp_path / "mine").write_text("kept")
    with lock_folder(tmp_path) as free, lock_folder(tmp_path) as again:
        assert free
        assert not again
        assert (tmp_path / LOCK).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine").read_text() == "kept"


def test_a_missing_folder_is_not_locked(tmp_path):
    with lock_folder(tmp_path / "missing") as free:
        assert free
    assert not list(tmp_path.iterdir())
