"""Files that the papers have stored: replayed in one fresh process per paper, once in a run of the tests.

A start of such a process costs a second and some witnesses take many; themes and pages ask for the same files, and so
do the processes among which the tests are divided.
"""

import pickle
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from paper_checks.ledger import PAPERS
from paper_checks.replay import Replayed, Stored, replay_in_fresh_process


@contextmanager
def _alone(place: Path):
    """Wait until no other process of the run is here; on Windows, where nothing waits, they do the same work."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:
        yield
        return
    with place.open("w") as lock:
        flock(lock, LOCK_EX)
        yield


@cache
def _answers(package: str, shared: Path) -> dict[tuple[str, str], tuple[Stored, Replayed]]:
    """Return the answers for all files of a paper, from the first process that asks; the others read them."""
    kept = shared / f"{package}.replayed"
    with _alone(shared / f"{package}.lock"):
        if not kept.exists():
            (paper,) = (paper for paper in PAPERS if paper.package == package)
            files = [file for claim in paper.claims() for file in paper.to_replay(claim.id)]
            answers = replay_in_fresh_process(package, files)
            kept.write_bytes(pickle.dumps(list(zip(files, answers, strict=True))))
        return {(file.id, file.kind): (file, answer) for file, answer in pickle.loads(kept.read_bytes())}


def replayed_once(shared: Path):
    """Return a replacement of `replay_in_fresh_process` for files as they are stored.

    Args:
        shared: A folder of this run of the tests, the same in all of its processes.
    """

    def replayed(package: str, files: list[Stored], *_: object) -> list[Replayed]:
        known = _answers(package, shared)
        found = [known[file.id, file.kind] for file in files]
        assert [file for file, _ in found] == list(files)
        return [answer for _, answer in found]

    return replayed
