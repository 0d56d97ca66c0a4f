"""The folder of a silo: its client's state, the broadcast values, and the requests it has answered.

A client's state never leaves its silo: the server holds a token of it, by which it asks for a version. Versions of the
last rounds stay, so that a server that was killed may resume from an earlier round.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path

from algorithms.federation import FederationError
from runs.silos.wire import MessageError, Packed
from workloads.files import write_whole

HISTORY = 8
"""Number of its own rounds whose versions a silo keeps."""
SECRET = 32
"""Bytes of a silo's secret."""
TOKEN = re.compile(r"[kp][0-9]{1,12}-[0-9a-f]{64}")
"""Token of a value kept for the round (k) or permanently (p), with the round that made it."""
RUN = re.compile(r"[0-9a-f]{12,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
        self._own, self._told, self._answered = (folder / run / name for name in ("own", "told", "answered"))
        for place in (self._own, self._told, self._answered):
            place.mkdir(exist_ok=True)

    def put(self, kind: str, round: int, packed: Packed) -> str:
        """Keep a value and return its token, which reveals nothing about the value to others."""
        data = packed.as_bytes
        token = f"{kind}{round}-{hmac.new(self._secret, data, sha256).hexdigest()}"
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

        Rounds count by when they were asked for, because a run that is started over begins with round 1 again.

        Raises:
            MessageError: It was answered before.
        """
        if not isinstance(nonce, str) or not re.fullmatch(r"[0-9a-f]{32}", nonce):
            raise MessageError("lacks a number of its own")
        try:
            file = os.open(self._answered / nonce, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError as error:
            raise MessageError("was answered before") from error
        with open(file, "w", encoding="ascii") as made:
            made.write(str(round))
        asked: dict[bytes | None, list[Path]] = {}
        for path in sorted(self._answered.iterdir(), key=_changed):
            kind = _read(path)
            asked[kind] = [*asked.pop(kind, []), path]  # the latest round is the last
        for paths in list(asked.values())[:-HISTORY]:
            for path in paths:
                path.unlink(missing_ok=True)

    def tidy(self, round: int, needed: Collection[str]) -> None:
        """Forget state of earlier rounds, and old versions of permanent state.

        A request that was late may be of an earlier round than what is here. Versions are old by when they were made,
        because a run that is started over begins with round 1 again.
        """
        paths = [path for path in self._own.iterdir() if TOKEN.fullmatch(path.name)]
        latest: dict[int, int] = {}
        for path in paths:
            if path.name[0] == "p":
                latest[_round(path)] = max(_changed(path), latest.get(_round(path), 0))
        rounds = sorted(latest, key=lambda number: (latest[number], number))[-HISTORY:]
        for path in paths:
            stays = _round(path) >= round if path.name[0] == "k" else _round(path) in rounds
            if not stays and path.name not in needed:
                path.unlink(missing_ok=True)


def keyed_digest(folder: Path, data: bytes) -> str:
    """Return a keyed digest; others cannot test guesses against it, because the key stays in the silo's folder.

    Raises:
        FederationError: The folder's secret is damaged.
        OSError: The folder cannot be written.
    """
    return hmac.new(_secret(folder), b"data " + data, sha256).hexdigest()


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0  # another process of this silo was first


def _round(path: Path) -> int:
    return int(path.name[1:].partition("-")[0])


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
