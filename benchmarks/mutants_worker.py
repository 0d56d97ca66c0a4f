"""Copies of the project in which wrong lines run without root's rights (used by `mutants.py`).

A wrong line may rename or delete anything that its user may; one that ran as root replaced `/dev/full` by a file. If
the runner is root, the tests therefore run as `nobody`, who may write only in a scratch folder.
"""

from __future__ import annotations

import compileall
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wrong_lines import Mutant, mutated

ROOT = Path(__file__).resolve().parent.parent
FORKING = Path(__file__).with_name("forked_tests.py")
AS_ROOT = "--as-root"
"""The option of `mutants.py` that leaves root its rights."""
_PROBE = """
import os, subprocess, sys, pytest
os.listdir(sys.argv[1])
subprocess.run([sys.executable, "-c", "import pytest"], check=True, capture_output=True)
"""
"""As tests do, this starts the interpreter from Python, which the one command that gives rights up may still do."""


def nobodys() -> tuple[int, int]:
    """Return the ids of the unprivileged user and of its group."""
    import pwd  # not on Windows, which has no root either

    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def is_root() -> bool:
    """Return whether this process may write everywhere."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def without_root(place: Path) -> list[str]:
    """Return the prefix of a command that runs as `nobody`; empty if this process is not root.

    Where the interpreter or the project lies in a folder that only root may enter, `nobody` gets one right of root:
    to read everything.

    Args:
        place: Folder that the command has to read.

    Raises:
        SystemExit: The tests cannot run as `nobody` here.
    """
    if not is_root():
        return []
    setpriv = shutil.which("setpriv")
    why = "setpriv is not here (of util-linux)"
    if setpriv is not None:
        user, group = nobodys()
        for rights in ("-all", "-all,+dac_read_search"):
            sets = [f"--{name}={rights}" for name in ("inh-caps", "ambient-caps", "bounding-set")]
            found = [setpriv, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", *sets]
            probe = subprocess.run([*found, sys.executable, "-c", _PROBE, str(place)], capture_output=True, text=True)
            if probe.returncode == 0:
                return found
            why = (probe.stderr.strip().splitlines() or [f"status {probe.returncode}"])[-1]
    raise SystemExit(
        f"mutants: wrong lines must not run as root, and they cannot run as nobody ({why}): start this as a user "
        f"without rights, or, on a machine that may be lost, with {AS_ROOT}"
    )


class Worker:
    """A copy of the project, and a process that forks a fresh Python for every order.

    Args:
        folder: An empty one, for the copy and for what its tests write.
        as_root: Root keeps its rights.

    Attributes:
        place: The copy.
        scratch: Folder that the tests may write to: their home and temporary files, and what is asked of them.
        given_up: Prefix of a command that runs with the rights of the tests.
        environment: Their environment.

    Raises:
        SystemExit: This is root, and cannot become somebody else.
    """

    def __init__(self, folder: Path, as_root: bool = False) -> None:
        self.place, self.scratch = folder / "copy", folder / "scratch"
        _copy_project(self.place)
        compileall.compile_dir(self.place, quiet=2)  # once: wrong lines must leave no bytecode behind
        self.given_up = [] if as_root else _given_up(folder, self.place)
        names = {"HOME": "home", "TMPDIR": "tmp", "HYPOTHESIS_STORAGE_DIRECTORY": "hypothesis"}
        own = {name: self.scratch / part for name, part in names.items()}
        for part in (self.scratch, *own.values()):
            part.mkdir(exist_ok=True)
            if self.given_up:
                os.chown(part, *nobodys())
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        data = os.environ.get("RANKPROOF_DATA", str(ROOT / "data"))
        self.environment = {
            **os.environ,
            **threads,
            **{name: str(part) for name, part in own.items()},
            "PYTHONPATH": str(self.place),
            "RANKPROOF_DATA": data,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = subprocess.Popen(
            [*self.given_up, sys.executable, str(FORKING)],
            cwd=self.place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def tests(self, limit: float = 7200.0, **order: Any) -> int | None:
        """Return the exit status of pytest; None if it took longer than `limit`, in seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        with ThreadPoolExecutor(1) as waiting:
            answer = waiting.submit(self.process.stdout.readline)
            try:
                return int(answer.result(timeout=limit))
            except TimeoutError:
                os.killpg(child, signal.SIGKILL)
                answer.result()
                return None

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Hold a wrong line in the copy, whose file has the same text and times again afterwards."""
        path = self.place / mutant.file
        text, times = path.read_text(encoding="utf-8"), path.stat()
        try:
            path.write_text(mutated(text, mutant), encoding="utf-8")
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def _copy_project(place: Path) -> None:
    listing = ["git", "ls-files", "-co", "--exclude-standard"]
    for name in subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n"):
        if name and (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def _given_up(folder: Path, place: Path) -> Sequence[str]:
    """Return `without_root`, after making the copy readable for `nobody`."""
    if is_root():
        for path in (folder, place, *place.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return without_root(place)
