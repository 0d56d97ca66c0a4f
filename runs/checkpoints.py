"""Checkpoints of a run: an index in JSON, tensors in safetensors, and one file per client for its own memory.

A checkpoint counts once its index is there, which is written last. The last two are kept, and those of every so many
rounds where that is asked for. A client's file is written when the client's memory has changed, and stays as long as an
index names it.

The progress of a long round is a checkpoint within it, ``within-ROUND``. It complements the checkpoint of the round
before, and is removed when the next round is saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors

from algorithms.federation import FederationState
from algorithms.resumable import DATACLASSES, RoundProgress
from algorithms.rounds import RunState
from runs.index import NAME, read_index, require_file, sign_index
from runs.settings import ELSEWHERE, RunError
from runs.stored import NamedTypes, Shelf, StoredTensors, from_plain, to_plain
from runs.tables import Mark
from workloads.written import FolderRecord

KEPT = 2
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, SafetensorError, TypeError, ValueError)
"""Errors of reading what no run wrote."""
NOTES = "notes"
"""Name of the text with the notes in a file of tensors."""
_OWN = re.compile(
    r"round-\d{6,}\.(json|safetensors)|client-\d{6,}-round-\d{6,}\.safetensors|within-\d{6,}(\.json|-[01]\.safetensors)"
)


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a round.

    Attributes:
        state: After the last round that was saved.
        marks: How far the tables of the run were by then, by the names of their files.
        seconds: Wall time of the run so far.
        left_out: Reasons why clients take no part any more, by name.
        suspects: Uploads that may have spoilt the model though they were taken, by the name of their client.
    """

    state: RunState
    marks: Mapping[str, Mark]
    seconds: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    suspects: Mapping[str, str] = field(default_factory=dict)


class Checkpoints:
    """The checkpoints of one run in their folder."""

    def __init__(
        self,
        folder: Path,
        run: str,
        kinds: NamedTypes,
        device: torch.device | str = "cpu",
        earlier: str | None = None,
        keep_every: int | None = None,
        edited: Path | None = None,
    ) -> None:
        """Name the folder; nothing is read or written yet.

        Args:
            folder: Folder that holds only the checkpoints.
            run: Identity of the run; other runs' checkpoints are refused.
            kinds: Named tuples that may stand in a state.
            device: Where the run computes.
            earlier: Identity that the run had under an earlier version; those checkpoints are read, too.
            keep_every: Rounds between checkpoints that stay.
            edited: Settings of the run that somebody changed; they are named where checkpoints are another run's.
        """
        self.folder, self._run, self._kinds, self._device = folder, run, kinds, torch.device(device)
        self._runs = (run, run if earlier is None else earlier)
        self._keep_every, self._edited = keep_every, edited
        self._clients: dict[int, tuple[Mapping[str, Any], str]] = {}
        self._digests: dict[str, str] = {}
        self._record = FolderRecord(folder.parent)
        self._saved: dict[str, tuple[int, ...]] = {}
        self._within = 0

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint atomically, then remove the files that only older checkpoints needed.

        Raises:
            OSError: It cannot be written; the one before it stays.
            RunError: The state holds what cannot be stored.
        """
        state, number = checkpoint.state, checkpoint.state.round
        files: dict[str, bytes] = {}
        clients: dict[int, tuple[Mapping[str, Any], str]] = {}
        for client, memory in state.federation.personal.items():
            kept = self._clients.get(client)
            if kept is None or kept[0] is not memory:
                name = f"client-{client:06d}-round-{number:06d}.safetensors"
                files[name] = self._pack(memory, name)
                kept = (memory, name)
            clients[client] = kept
        shelf, main = Shelf(), f"round-{number:06d}.safetensors"
        parts = {"algorithm": state.algorithm, "shared": state.federation.shared, "equipped": state.federation.equipped}
        written = {name: to_plain(part, shelf.put, self._kinds) for name, part in parts.items()}
        personal = {str(client): name for client, (_, name) in clients.items()}
        files[main] = _tensor_file(shelf, {"name": main, "personal": personal})
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        known = {**self._digests, **digests}
        content = {
            "run": self._run,
            "round": number,
            **written,
            "personal": personal,
            "seconds": checkpoint.seconds,
            "marks": {name: asdict(mark) for name, mark in checkpoint.marks.items()},
            "files": {name: known[name] for name in (main, *personal.values())},
            **({"left_out": dict(checkpoint.left_out)} if checkpoint.left_out else {}),
            **({"suspects": dict(checkpoint.suspects)} if checkpoint.suspects else {}),
        }
        self._write(files, f"round-{number:06d}.json", content)
        self._clients, self._digests = clients, content["files"]
        self._tidy(number)

    def save_within(self, progress: RoundProgress, seconds: float) -> None:
        """Write the progress of a round atomically; the checkpoint of the round before must be there.

        Args:
            progress: Progress of the round.
            seconds: Wall time of the run so far.

        Raises:
            OSError: It cannot be written; the one before it stays.
            RunError: The progress holds what cannot be stored.
        """
        shelf, stem = Shelf(), f"within-{progress.round:06d}"
        plain = to_plain(progress, shelf.put, {**self._kinds, **DATACLASSES})
        self._within = 1 - self._within  # the file of the last index stays until the new one is there
        name = f"{stem}-{self._within}.safetensors"
        data = _tensor_file(shelf, {"name": name})
        files = {name: hashlib.sha256(data).hexdigest()}
        content = {"run": self._run, "round": progress.round, "progress": plain, "seconds": seconds, "files": files}
        self._write({name: data}, f"{stem}.json", content)
        self._record.shorten()

    def load_within(self, number: int) -> tuple[RoundProgress, float] | None:
        """Load the progress of a round and the wall time until then; None if there is none.

        Raises:
            RunError: It is not whole, or another run's.
            OSError: It cannot be read.
        """
        path = self.folder / f"within-{number:06d}.json"
        if not os.path.lexists(path):
            return None
        content = read_index(path)
        if content.get("run") not in self._runs:
            raise RunError(f"{path} belongs to another run")
        try:
            ((name, digest),) = content["files"].items()
            data = self._bytes(name, digest)
            self._within = int(name.removesuffix(".safetensors")[-1])
            taken = StoredTensors(safetensors.load(data), self._device)
            progress = from_plain(content["progress"], taken.get, {**self._kinds, **DATACLASSES})
            if not isinstance(progress, RoundProgress) or progress.round != number:
                raise ValueError("the progress of another round")
            progress.check()
            return progress, float(content["seconds"])
        except _DAMAGE as error:
            if isinstance(error, RunError):
                raise
            raise RunError(f"{path} is not a checkpoint that rankproof wrote ({error!r})") from error

    def _write(self, files: Mapping[str, bytes], index: str, content: Mapping[str, Any]) -> None:
        """Write files and then the index that names them."""
        self.folder.mkdir(exist_ok=True)
        for written in (files, {index: sign_index(content)}):
            self._free([name for name in written if not self._record.owns(self.folder / name)])
            self._record.write({self.folder / name: data for name, data in written.items()})
            _sync(self.folder)
        if not self._saved:
            self._record.note([(self.folder.name, None, "")])
        self._saved |= {name: _state(self.folder / name) for name in (*files, index)}

    def require_storable(self, state: RunState) -> None:
        """Check before the first round that a state can be saved.

        Raises:
            RunError: It holds what cannot be stored.
        """
        for part in (state.algorithm, state.federation.shared, state.federation.equipped):
            to_plain(part, lambda tensor: None, self._kinds)

    @property
    def exist(self) -> bool:
        """Whether there is any checkpoint, complete or not."""
        return bool(self._indices())

    def load(self, number: int | None = None) -> tuple[Checkpoint, list[str]]:
        """Load a complete checkpoint, and say what is wrong with the later ones.

        Args:
            number: Round of the checkpoint; default: the last complete one.

        Raises:
            RunError: None is whole, or there is none of this round.
            OSError: One cannot be read.
        """
        wrong: list[str] = []
        if number is not None and number not in map(_number, self._indices()):
            kept = ", ".join(str(_number(path)) for path in self._indices())
            raise RunError(f"{self.folder} has no checkpoint of round {number}, but of {kept or 'none'}")
        for path in reversed(self._indices()):
            if number is not None and number != _number(path):
                continue
            try:
                return self._read(path), wrong
            except RunError as error:
                wrong.append(str(error))
        raise RunError(f"{wrong[0] if wrong else self.folder}", "restore it from a copy", ELSEWHERE)

    @staticmethod
    def names(path: Path) -> bool:
        """Return whether a file has the name of a checkpoint's file."""
        return _OWN.fullmatch(path.name) is not None

    def marks(self) -> dict[str, Mark]:
        """Return the marks of the tables at the last complete checkpoint; empty if there is none."""
        for path in reversed(self._indices()):
            with suppress(OSError, KeyError, ValueError, AttributeError):
                return {name: Mark.of(mark) for name, mark in read_index(path)["marks"].items()}
        return {}

    def runs(self) -> set[str]:
        """Return the identities of the runs whose checkpoints are in the folder."""
        found = set()
        for path in self._indices():
            with suppress(RunError, OSError):
                found.add(str(read_index(path).get("run")))
        return found

    def load_each(self) -> Iterator[Checkpoint]:
        """Load every checkpoint, the oldest first.

        Raises:
            RunError: One is not whole.
            OSError: One cannot be read.
        """
        return (self._read(path) for path in self._indices())

    def is_kept(self, number: int) -> bool:
        """Return whether the checkpoint of a round is kept permanently."""
        return self._keep_every is not None and number % self._keep_every == 0

    @property
    def foreign_files(self) -> list[Path]:
        """Files with names of checkpoints that no run wrote, or that were changed later."""
        named = self._own_files()
        listed = _listed_digests(named)
        return [path for path in named if not self._is_own(path, listed)]

    def remove(self) -> None:
        """Remove the checkpoints that a run wrote, and the folder if it is then empty."""
        named = self._own_files()
        listed = _listed_digests(named)
        for path in [path for path in named if self._is_own(path, listed)]:
            path.unlink()
        self._record.remove_scratch(self.folder)
        with suppress(OSError):
            self.folder.rmdir()

    def _read(self, path: Path) -> Checkpoint:
        content = read_index(path)
        if content.get("run") not in self._runs:
            if self._edited is not None:
                raise RunError(
                    f"{self._edited} has been changed since rankproof wrote it: {path.name} has other settings"
                )
            raise RunError(f"{path} belongs to another run")
        try:
            data = {name: self._bytes(name, digest) for name, digest in content["files"].items()}
            number, main = content["round"], f"round-{content['round']:06d}.safetensors"
            taken = StoredTensors(safetensors.load(data[main]), self._device)
            algorithm, shared, equipped = (
                from_plain(content[part], taken.get, self._kinds) for part in ("algorithm", "shared", "equipped")
            )
            _require_names(data)
            _require_clients(path, content["personal"], _notes(data[main]))
            personal = {int(client): self._unpack(data[name]) for client, name in content["personal"].items()}
            marks = {name: Mark.of(mark) for name, mark in content["marks"].items()}
            seconds = float(content["seconds"])
            left_out, suspects = (
                {str(name): str(why) for name, why in content.get(part, {}).items()}
                for part in ("left_out", "suspects")
            )
        except _DAMAGE as error:
            if isinstance(error, RunError):
                raise
            raise RunError(f"{path} is not a checkpoint that rankproof wrote ({error!r})") from error
        self._clients = {int(client): (personal[int(client)], name) for client, name in content["personal"].items()}
        self._digests = dict(content["files"])
        state = RunState(number, algorithm, FederationState(number, personal, shared, equipped))
        return Checkpoint(state, marks, seconds, left_out, suspects)

    def _pack(self, memory: Mapping[str, Any], name: str) -> bytes:
        shelf = Shelf()
        structure = to_plain(memory, shelf.put, self._kinds)
        return _tensor_file(shelf, {"name": name, "memory": structure})

    def _unpack(self, data: bytes) -> Mapping[str, Any]:
        return from_plain(_notes(data)["memory"], StoredTensors(safetensors.load(data), self._device).get, self._kinds)

    def _bytes(self, name: str, digest: str) -> bytes:
        if not _OWN.fullmatch(name):
            raise RunError(f"{self.folder} has an index that lists the file {name!r}, which no run writes")
        path = self.folder / name
        require_file(path)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise RunError(f"{path} is missing") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise RunError(f"{path} is damaged")
        return data

    def _indices(self) -> list[Path]:
        """Return the paths of the indices, the oldest first."""
        return sorted((path for path in self._own_files() if NAME.fullmatch(path.name)), key=_number)

    def _own_files(self) -> list[Path]:
        """Return the files with names of checkpoints, without folders of such names."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        return [path for path in there if _OWN.fullmatch(path.name) and not path.is_dir()]

    def _is_own(self, path: Path, listed: Mapping[str, str]) -> bool:
        """Return whether a run wrote a file: this process, or a run whose index or record has its digest."""
        if path.is_symlink() or not path.is_file():
            return False
        if self._saved.get(path.name) == _state(path) or self._record.owns(path):
            return True
        if path.suffix == ".json":
            return path.name in listed
        with path.open("rb") as stream:
            return listed.get(path.name) == hashlib.file_digest(stream, "sha256").hexdigest()

    def _free(self, names: Iterable[str]) -> None:
        """Remove files of earlier runs whose names are needed now."""
        taken = [path for path in self._own_files() if path.name in set(names)]
        listed = _listed_digests(self._own_files()) if taken else {}
        for path in taken:
            if self._is_own(path, listed):
                path.unlink()

    def _tidy(self, number: int) -> None:
        """Remove files that no kept checkpoint needs, including files of an interrupted checkpoint."""
        # The start is saved only for the progress of the first round.
        before = [path for path in self._indices() if 0 < _number(path) <= number or not number]
        indices = [path for path in before if path in before[-KEPT:] or self.is_kept(_number(path))]
        needed = {path.name for path in indices}
        for path in indices:
            with suppress(RunError):
                needed |= set(read_index(path)["files"])
        named = self._own_files()
        listed = _listed_digests(named)
        for path in [path for path in named if path.name not in needed and self._is_own(path, listed)]:
            path.unlink()
        self._record.remove_scratch(self.folder)
        self._record.shorten()


def _notes(data: bytes) -> Mapping[str, Any]:
    """Return the notes in a file of tensors; earlier versions noted at most the structure of a memory."""
    length = int.from_bytes(data[:8], "little")
    found = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    notes: Mapping[str, Any] = json.loads(found[NOTES]) if NOTES in found else {k: json.loads(found[k]) for k in found}
    return notes


def _require_names(data: Mapping[str, bytes]) -> None:
    """Check that files are those of their names; files of earlier versions do not hold their names.

    Raises:
        RunError: One was written under another name.
    """
    for name, content in data.items():
        made = _notes(content).get("name", name)
        if made != name:
            raise RunError(f"{name} holds what a run wrote as {made}")


def _require_clients(index: Path, personal: Mapping[str, str], notes: Mapping[str, Any]) -> None:
    """Check that an index names the file of each client that the run saved, and each file for its own client.

    Raises:
        RunError: It lacks one, has one too many, or has another's.
    """
    saved = notes.get("personal", personal)
    for client in sorted({*saved, *personal}, key=int):
        name, right = personal.get(client), saved.get(client)
        if name != right:
            said = "no file" if name is None else f"the file {name}"
            raise RunError(f"{index} has {said} for client {client}, where the run saved {right or 'none'}")
        if name is not None and not name.startswith(f"client-{int(client):06d}-"):
            raise RunError(f"{index} has the file {name} for client {client}, which is another client's")


def _listed_digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the digests of the files that complete indices name, and the names of these indices."""
    found: dict[str, str] = {}
    for path in paths:
        if path.suffix == ".json":
            with suppress(RunError, OSError):
                found |= {path.name: "", **read_index(path)["files"]}
    return found


def _state(path: Path) -> tuple[int, ...]:
    """Return a value that changes with a file."""
    found = path.lstat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _number(index: Path) -> int:
    return int(index.stem.removeprefix("round-"))


def _tensor_file(shelf: Shelf, notes: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file; all notes are one text, because safetensors writes several in a random order."""
    return safetensors.save(shelf.tensors, {NOTES: json.dumps(notes)})


def _sync(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
