"""The folder of a silo: its client's state, the broadcast values, the requests it has answered, and its last answers.

A client's state never leaves its silo: the server holds a token of it, by which it asks for a version. Versions of the
last rounds stay, so a server that was killed may resume from an earlier round. A file has the order of the rounds,
because the times of files change with a clock that is set back and with a copy of the folder.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from algorithms.federation import FederationError
from runs.silos.wire import MessageError, Packed
from workloads.files import write_whole
from workloads.processes.locks import lock_folder

HISTORY = 8
"""Number of its own rounds whose versions a silo keeps."""
SECRET = 32
"""Bytes of a silo's secret."""
TOKEN = re.compile(r"[kp][0-9]{1,12}-[0-9a-f]{64}")
"""Token of a value kept for the round (k) or permanently (p), with the round that made it."""
RUN = re.compile(r"[0-9a-f]{12,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_DONE = re.compile(r"\.?([0-9]+)-[0-9a-f]{64}(\.part)?")
"""Name of an answer, of one that is being written, and of the folder that is locked while the work is done."""
_LONG = 1 << 12
"""Bytes of the list of rounds from which rounds without files are removed from it."""


class ClientStore:
    """The values and the numbers of answered requests that a silo keeps for one run."""

    def __init__(self, folder: Path, run: str) -> None:
        """Make the folder.

        Args:
            folder: Folder of the silo.
            run: Name of the server's run.

        Raises:
            MessageError: The run has no possible name.
            FederationError: The folder's secret is damaged.
            OSError: The folder cannot be written.
        """
        if not RUN.fullmatch(run):
            raise MessageError("names no run")
        self._secret = _secret(folder)
        (folder / run).mkdir(mode=0o700, exist_ok=True)  # other users of this machine have no part in it
        places = (folder / run / name for name in ("own", "told", "answered", "done"))
        self._own, self._told, self._answered, self._done = places
        self._rounds = folder / run / "rounds"
        for place in (self._own, self._told, self._answered, self._done):
            place.mkdir(exist_ok=True)

    def put(self, kind: str, round: int, packed: Packed) -> str:
        """Keep a value and return its token, which reveals nothing about the value to others."""
        data = packed.as_bytes
        token = f"{kind}{round}-{hmac.new(self._secret, data, sha256).hexdigest()}"
        self._note(round)
        write_whole({self._own / token: data})  # again, where it is here: the run may have been started over
        return token

    def take(self, token: str) -> Packed:
        """Return the value of a token.

        Raises:
            MessageError: It is not here any more, or damaged.
        """
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise MessageError("asks for a value that no silo keeps")
        data = _read(self._own / token)
        if data is None:
            raise MessageError(
                f"asks for the value that the client kept in round {token[1:].partition('-')[0]}, which is "
                f"missing; restore the silo's folder from a copy, or begin another run in another `folder` of the "
                f"app's config"
            )
        if not hmac.compare_digest(hmac.new(self._secret, data, sha256).hexdigest(), token[-64:]):
            raise MessageError(f"asks for {token[:12]}, which is damaged in the silo's folder")
        return Packed.from_bytes(data)

    def load_broadcast(self, digest: str) -> Packed | None:
        """Return a value that the server broadcast; None if it has to send it again."""
        data = _read(self._told / digest) if _DIGEST.fullmatch(digest) else None
        return Packed.from_bytes(data) if data is not None and sha256(data).hexdigest() == digest else None

    def keep_broadcast(self, values: Mapping[str, Packed], needed: Collection[str]) -> None:
        """Keep the values that the server broadcast, and forget those no longer needed.

        Raises:
            MessageError: A value is not what its digest says.
        """
        for digest, packed in values.items():
            if packed.digest != digest:
                raise MessageError("has a value that does not match its digest")
            write_whole({self._told / digest: packed.as_bytes})
        for path in self._told.iterdir():
            if _DIGEST.fullmatch(path.name) and path.name not in needed:
                path.unlink(missing_ok=True)

    def answer_once(self, nonce: str, round: int) -> None:
        """Remember a request, and forget requests of rounds to which no server returns.

        The last rounds are those asked for last, because a run that is started over begins with round 1 again.

        Raises:
            MessageError: It was answered before.
        """
        if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
            raise MessageError("lacks a number of its own")
        try:
            file = os.open(self._answered / nonce, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError as error:
            raise MessageError("was answered before") from error
        with open(file, "w", encoding="ascii") as made:
            made.write(str(round))
        self._note(round)
        asked = self._asked()
        last = self._last(asked.values())
        for path, number in asked.items():
            if number not in last:
                path.unlink(missing_ok=True)

    @contextmanager
    def begin(self, round: int, work: str) -> Iterator[bool]:
        """Begin a piece of work, and yield whether no other process of this silo is doing it.

        Args:
            round: Round of the work.
            work: Digest of all that determines the answer.
        """
        place = self._done / f".{round}-{work}"
        place.mkdir(exist_ok=True)
        free = False
        try:
            with lock_folder(place) as free:
                yield free
        finally:
            if free:
                with suppress(OSError):  # another process may have locked it by now
                    place.rmdir()

    def find_answer(self, round: int, work: str) -> Packed | None:
        """Return the answer to a piece of work that is done; None if it has to be done again."""
        name = f"{round}-{work}"
        data = _read(self._done / name) or b""
        if not hmac.compare_digest(data[:32], self._seal(name, data[32:])):
            return None
        packed = Packed.from_bytes(data[32:])
        tokens = [*packed.structure["keep"].values(), *packed.structure["personal"].values()]
        return packed if all((self._own / token).exists() for token in tokens) else None

    def keep_answer(self, round: int, work: str, packed: Packed) -> None:
        """Keep the answer to a piece of work, and forget those of other rounds.

        Errors of writing are ignored, because the answer goes out without it, and the work can be done again.
        """
        for path in self._done.iterdir():
            if (found := _DONE.fullmatch(path.name)) and found[1] != str(round):
                with suppress(OSError):  # another process was faster
                    path.rmdir() if path.is_dir() else path.unlink()
        name, data = f"{round}-{work}", packed.as_bytes
        made = self._done / f"{name}.part"
        with suppress(OSError):
            made.write_bytes(self._seal(name, data) + data)
            os.replace(made, self._done / name)

    def tidy(self, round: int, needed: Collection[str]) -> None:
        """Forget state of earlier rounds, and old versions of permanent state.

        A request that was late may be of an earlier round than what is here. The last versions are those that were made
        last, because a run that is started over begins with round 1 again.
        """
        paths = self._versions()
        last = self._last(_round(path) for path in paths if path.name[0] == "p")
        for path in paths:
            stays = _round(path) >= round if path.name[0] == "k" else _round(path) in last
            if not stays and path.name not in needed:
                path.unlink(missing_ok=True)

    def _versions(self) -> list[Path]:
        return [path for path in self._own.iterdir() if TOKEN.fullmatch(path.name)]

    def _asked(self) -> dict[Path, int]:
        """Return the rounds of the answered requests by file, without one that another process is just writing."""
        found = {path: _numbers(_read(path)) for path in self._answered.iterdir() if _NONCE.fullmatch(path.name)}
        return {path: numbers[0] for path, numbers in found.items() if numbers}

    def _last(self, rounds: Iterable[int]) -> set[int]:
        """Return the last of some rounds, in the order of the list; those that it does not have are before it."""
        place = {number: position for position, number in enumerate(self._listed())}
        return set(sorted(set(rounds), key=lambda number: (place.get(number, -1), number))[-HISTORY:])

    def _listed(self) -> list[int]:
        """Return the rounds in the order in which they were asked for, each where it was last."""
        return list(dict.fromkeys(reversed(_numbers(_read(self._rounds)))))[::-1]

    def _note(self, round: int) -> None:
        """Make a round the last of the list."""
        with lock_folder(self._own, wait=True):
            listed = self._listed()
            if listed[-1:] == [round]:
                return
            if self._rounds.exists() and self._rounds.stat().st_size > _LONG:
                there = {*map(_round, self._versions()), *self._asked().values()}
                write_whole({self._rounds: b"".join(b"%d\n" % number for number in listed if number in there)})
            with open(self._rounds, "ab") as file:
                file.write(b"\n%d\n" % round)  # the line before may have been cut
                file.flush()
                os.fsync(file.fileno())

    def _seal(self, name: str, data: bytes) -> bytes:
        """Return the bytes that show that this silo made an answer."""
        return hmac.new(self._secret, b"done " + name.encode() + b" " + data, sha256).digest()


def keyed_digest(folder: Path, data: bytes) -> str:
    """Return a keyed digest; others cannot test guesses against it, because the key stays in the silo's folder.

    Raises:
        FederationError: The folder's secret is damaged.
        OSError: The folder cannot be written.
    """
    return hmac.new(_secret(folder), b"data " + data, sha256).hexdigest()


def _round(path: Path) -> int:
    return int(path.name[1:].partition("-")[0])


def _numbers(data: bytes | None) -> list[int]:
    return [int(word) for word in (data or b"").split() if word.isdigit() and len(word) < 20]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _secret(folder: Path) -> bytes:
    """Return the silo's own key, without which nobody can guess tokens from values."""
    path = folder / "secret"
    folder.mkdir(parents=True, exist_ok=True)
    found = _read(path)
    if found is None:
        made = path.with_name(f".secret-{secrets.token_hex(8)}")
        made.touch(mode=0o600)
        made.write_bytes(secrets.token_bytes(SECRET))
        try:
            os.link(made, path)
        except FileExistsError:
            pass  # another process of this silo was first
        finally:
            made.unlink()
        found = path.read_bytes()
    if len(found) != SECRET:  # with an empty key anybody could compare digests with those of their guesses
        raise FederationError(
            "the secret of the silo's folder is damaged; restore it, or begin with an empty folder and another run"
        )
    return found
