"""Files that the papers have stored: replayed in one fresh process per paper, once for all tests that read the answers.

A start of such a process costs a second and some witnesses take several; themes and pages ask for the same files.
"""

from functools import cache

from paper_checks.ledger import PAPERS
from paper_checks.replay import Replayed, Stored, replay_in_fresh_process, stored


@cache
def _answers(package: str) -> tuple[tuple[Stored, Replayed], ...]:
    (paper,) = (paper for paper in PAPERS if paper.package == package)
    files = [file for claim in paper.claims() for file in stored(paper.folder, claim.id)]
    return tuple(zip(files, replay_in_fresh_process(package, files), strict=True))


def replayed_once(package: str, files: list[Stored], search_path: tuple[str, ...] = ()) -> list[Replayed]:
    """In place of `replay_in_fresh_process` for files as they are stored."""
    assert not search_path
    known = {(file.id, file.kind): (file, answer) for file, answer in _answers(package)}
    found = [known[file.id, file.kind] for file in files]
    assert [file for file, _ in found] == list(files)
    return [answer for _, answer in found]
