"""Stored index of a checkpoint: JSON with a digest of its content. Reading it does not need torch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runs.settings import RunError
from workloads.written import FolderRecord

SETTINGS = "settings.json"
NAME = re.compile(r"round-(\d{6,18})\.json", re.ASCII)


def require_file(path: Path) -> None:
    """Check before a file of a run is read that it is one; folders give an error of the system.

    Raises:
        RunError: It is a pipe, a socket or a device, of which reading may never end.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise RunError(f"{path} is not a file; move it away, or name another folder")


def sign_index(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of an index."""
    text = json.dumps(content)
    return json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": content}).encode() + b"\n"


def read_index(path: Path) -> dict[str, Any]:
    """Return the content of an index.

    Raises:
        RunError: It is not what was written.
        OSError: It cannot be read.
    """
    require_file(path)
    try:
        stored = json.loads(path.read_bytes())
        content = stored["content"]
        if hashlib.sha256(json.dumps(content).encode()).hexdigest() == stored["sha256"] and isinstance(content, dict):
            return content
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise RunError(f"{path} is damaged or of another version")


def last_index(folder: Path) -> dict[str, Any]:
    """Return the content of the last complete index of a run's checkpoints; empty if there is none."""
    paths = (folder / "checkpoints").glob("round-*.json")
    named = {int(found[1]): path for path in paths if (found := NAME.fullmatch(path.name))}
    for _, path in sorted(named.items(), reverse=True):
        with suppress(RunError, OSError):  # as a run does that goes on from the one before
            return read_index(path)
    return {}


def digest_of(identity: Mapping[str, Any]) -> str:
    """Return the first digits of the hash of a run's identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def recorded_edit(folder: Path) -> bool | None:
    """Return whether the settings in a folder differ from those that the run wrote; None without a record.

    Runs of earlier versions left no record.

    Raises:
        ForeignFileError: Another file has the name of the record.
        OSError: The record or the settings cannot be read.
    """
    record = FolderRecord(folder)
    known = any(name == SETTINGS for name, _, _ in record.lines())
    return not record.owns(folder / SETTINGS) if known else None


def is_edited(folder: Path) -> bool:
    """Return whether the settings of a run were changed, according to the folder's record."""
    with suppress(OSError):
        return recorded_edit(folder) is True
    return False


def known_digest(folder: Path, stored: Mapping[str, Any], digest: str) -> str:
    """Return the digest under which the checkpoints in a folder may know its run.

    A run that an earlier version began has that version's digest in its settings. It cannot be computed from what is
    there now, so it counts in settings that the folder's record knows.

    Args:
        folder: Folder of the run.
        stored: Content of its settings.
        digest: Digest of what makes it this run, as the settings are.
    """
    return digest if is_edited(folder) else str(stored.get("earlier", digest))
