"""Checks of the files in the folder of a run before it starts, resumes or is removed there: none are of others."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs.checkpoints import Checkpoints
from runs.index import SETTINGS
from runs.plan import earlier_digest, is_as_written
from runs.settings import ANEW, ELSEWHERE, RunError
from runs.tables import Mark, is_continuation
from workloads.files import SCRATCH, naming_errors
from workloads.processes.locks import LOCK, lock_folder
from workloads.written import RECORD, FolderRecord

METRICS, LEDGER, CHECKPOINTS, BOARD = "metrics.csv", "ledger.csv", "checkpoints", "tensorboard"
SPECTRUM = "spectrum.csv"
"""Quantities of the Hessian; only where they are asked for (`runs.spectrum`)."""
LOG = "log.txt"
"""Events of workers, a line each; only where something did."""
_TEXTS = {METRICS: (), LEDGER: ("direction", "what")}
"""Columns of the tables that hold texts."""
_STAMPED = re.compile(rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)
_FOREIGN = "rankproof did not write it, or it has been changed since"


def require_startable(folder: Path) -> None:
    """Check, before a run is made there, that a folder holds nothing that would keep it from starting; see `train`.

    Raises:
        RunError: It does; the message names it.
        OSError: The folder cannot be read.
    """
    try:
        _require_place(folder)
    except RunError:
        with lock_folder(folder) as alone:
            if alone:  # no other process is in the middle of a start
                _require_place(folder)


def _require_place(folder: Path) -> None:
    _require_folder(folder)
    require_plain_files(folder)
    require_log(folder)
    checkpoints = Checkpoints(folder / CHECKPOINTS, "", {})
    if not ((folder / SETTINGS).exists() and checkpoints.exist):
        require_free(folder, checkpoints)


def require_free(folder: Path, checkpoints: Checkpoints) -> None:
    """Refuse a folder without a run to resume if it holds what a new run would replace.

    Raises:
        RunError: It does; the message names it.
    """
    there = [name for name in (METRICS, LEDGER, CHECKPOINTS) if os.path.lexists(folder / name)]
    if there and not (folder / SETTINGS).exists():
        raise RunError(f"{folder} holds {', '.join(there)} without {SETTINGS}", ELSEWHERE)
    _require_own(folder, checkpoints)
    begun = [name for name, length, _ in FolderRecord(folder).lines() if length is None]
    begun = [name for name in begun if name in (METRICS, CHECKPOINTS)]
    if (folder / SETTINGS).exists() and begun and begun[-1] == CHECKPOINTS:
        raise RunError(f"{folder} holds the results of a run, without its checkpoints", ELSEWHERE, ANEW)


def _require_own(folder: Path, checkpoints: Checkpoints) -> None:
    """Refuse a folder with files that no run is known to have written.

    Raises:
        RunError: There is one; the message names it.
    """
    record = FolderRecord(folder)
    with naming_foreign():
        record.lines()
        foreign = [path for path in (folder / SETTINGS, folder / LOG) if path.exists() and not record.owns(path)]
        for name in (METRICS, LEDGER):
            if (folder / name).exists() and not is_own_table(folder / name):
                foreign.append(folder / name)
    for path in (*foreign, *checkpoints.foreign_files):
        raise RunError(f"{path}: {_FOREIGN}", ELSEWHERE)


def require_own_files(folder: Path, checkpoints: Checkpoints) -> None:
    """Refuse to start over a folder with files that no run wrote. Earlier versions did not leave a record.

    Raises:
        RunError: There is such a file; the message names it.
    """
    _require_no_links(folder)
    if FolderRecord(folder).exists or not checkpoints.exist:
        _require_own(folder, checkpoints)
        return
    marks = checkpoints.marks()
    foreign = [path for path in (folder / SETTINGS, folder / LOG) if path.exists()]
    if is_as_written(folder) and earlier_digest(folder) in checkpoints.runs():
        foreign.remove(folder / SETTINGS)
    for name in (METRICS, LEDGER):
        if (folder / name).exists() and not is_own_table(folder / name, marks.get(name)):
            foreign.append(folder / name)
    for path in (*foreign, *checkpoints.foreign_files):
        raise RunError(f"{path}: {_FOREIGN}", ELSEWHERE)


def require_removable(folder: Path) -> None:
    """Check that `remove_run` may remove the folder of a run.

    Raises:
        RunError: It is a link, or holds a file or folder that no run wrote; the message names it.
    """
    if folder.is_symlink():
        raise RunError(f"{folder} is a link, but a run has a folder there", "move it away", ELSEWHERE)
    _require_folder(folder)
    checkpoints = Checkpoints(folder / CHECKPOINTS, "", {})
    record = FolderRecord(folder)
    require_own_files(folder, checkpoints)
    named = {folder / name for name in (SETTINGS, METRICS, LEDGER, LOG, RECORD, LOCK)}
    scratch = [path for path in folder.rglob(f"{SCRATCH}*") if record.has_begun(path)]
    folders = {checkpoints.folder, folder / BOARD, *scratch}
    for path in folder.rglob("*"):
        within = (path.parent == checkpoints.folder and checkpoints.names(path)) or path.parent in scratch
        own = path in folders if path.is_dir() else path in named or within or record.owns(path)
        if path.is_symlink() or not own:
            raise RunError(f"{path} is in the folder of a run that starts over; {_FOREIGN}", ELSEWHERE)


def is_own_table(path: Path, mark: Mark | None = None) -> bool:
    """Return whether runs wrote a table: its first part has the known digest, and rows of later rounds follow."""
    known, begun = [(mark.length, mark.sha256)] if mark else [], False
    for name, length, digest in FolderRecord(path.parent).lines():
        if name == path.name and length is None:  # begun again: what was known is of a table that is gone
            known, begun = [], True
        elif name == path.name and length is not None:
            known.append((length, digest))
    with naming_errors(path):
        data = path.read_bytes()
    if begun and not known:
        return is_continuation(data, 0, _TEXTS[path.name])
    return any(
        length <= len(data)
        and hashlib.sha256(data[:length]).hexdigest() == digest
        and is_continuation(data, length, _TEXTS[path.name])
        for length, digest in set(known)
    )


@contextmanager
def naming_foreign() -> Iterator[None]:
    """Add the remedy to the error about a foreign file."""
    try:
        yield
    except FileExistsError as error:
        raise RunError(f"{error.filename}: {_FOREIGN}", ELSEWHERE) from error


def _require_folder(folder: Path) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise RunError(f"{folder} is not a folder, but a run has one there", "move it away", ELSEWHERE)


def _require_no_links(folder: Path) -> None:
    """Refuse links in the folder of a run, because they may lead to the files of another run."""
    for name in (SETTINGS, METRICS, LEDGER, LOG, SPECTRUM, CHECKPOINTS):
        if (folder / name).is_symlink():
            raise RunError(f"{folder / name} is a link, but runs write plain files", ELSEWHERE)


def require_plain_files(folder: Path) -> None:
    """Refuse links, folders and devices in the places of a run's files.

    Raises:
        RunError: There is one; the message names it.
    """
    _require_no_links(folder)
    for name in (SETTINGS, METRICS, LEDGER, LOG, SPECTRUM):
        if (folder / name).exists() and not (folder / name).is_file():
            kind = "a folder" if (folder / name).is_dir() else "not a file"
            raise RunError(f"{folder / name} is {kind}, but a run writes a file there", ELSEWHERE)
    if (folder / CHECKPOINTS).exists() and not (folder / CHECKPOINTS).is_dir():
        raise RunError(f"{folder / CHECKPOINTS} is a file, but a run has a folder there", ELSEWHERE)


def require_log(folder: Path) -> None:
    """Refuse a log without any line that a run writes; notes among such lines are fine.

    Raises:
        RunError: It has none.
    """
    path = folder / LOG
    data = path.read_bytes() if path.exists() else b""
    if data.strip() and not _STAMPED.search(data):
        raise RunError(f"{path}: {_FOREIGN}", "move it away", ELSEWHERE)
