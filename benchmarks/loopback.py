"""A Flower server and silos as processes of one machine, for tests and measurements; all end with their `with`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

BIN = Path(sys.executable).parent
HEARTBEAT = 10
"""Seconds between signs of life that a silo promises, instead of Flower's 30; it counts as gone after two of them."""
POLL = "0.2"
"""Seconds after which Flower looks for work that is to be started, instead of its 1."""
_SILO = f"""
from flwr.supercore import heartbeat
from flwr.supernode import cli, fleet_http_connection
heartbeat.HEARTBEAT_DEFAULT_INTERVAL = fleet_http_connection.HEARTBEAT_DEFAULT_INTERVAL = {HEARTBEAT}
cli.flower_supernode()
"""
READY = "Uvicorn running"
"""Line by which a server says that it takes requests."""


class Processes:
    """Processes of one machine with their own Flower home; all end with their `with` block.

    Attributes:
        folder: Folder for Flower's home and logs.
        place: Folder in which the processes run.
        processes: Processes by name.
    """

    def __init__(self, folder: Path, place: Path | None = None) -> None:
        self.folder, self.place = folder, place or folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            **os.environ,
            "FLWR_HOME": str(folder / "flower"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": POLL,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "SILOS_LOOPBACK": str(folder),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, connections: str) -> None:
        """Write Flower's file of connections."""
        home = self.folder / "flower"
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text(connections)

    def start(self, name: str, words: list[str], ready: str | None = None, seconds: float = 120.0) -> None:
        """Start or restart a process, and wait until it prints that it is ready.

        Raises:
            TimeoutError: It does not.
        """
        before = self.log(name).count(ready) if ready and (self.folder / f"{name}.log").exists() else 0
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words,
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        until = time.monotonic() + seconds
        while ready and self.log(name).count(ready) == before:
            if time.monotonic() > until or self.processes[name].poll() is not None:
                raise TimeoutError(f"{name} is not ready after {seconds:g} s: {self.log(name)[-2000:]}")
            time.sleep(0.2)

    def run(self, words: list[str], seconds: float = 120.0) -> tuple[int, str]:
        """Run a command to its end; return its status and output.

        Raises:
            subprocess.TimeoutExpired: It took too long.
        """
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=seconds, check=False, cwd=self.place
        )
        return done.returncode, done.stdout + done.stderr

    def ended(self, name: str, seconds: float = 120.0) -> int:
        """Wait for the end of a process; return its status.

        Raises:
            subprocess.TimeoutExpired: It is still running.
        """
        return self.processes[name].wait(seconds)

    def log(self, name: str) -> str:
        """Return the printed text of a process."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            _end(process, signal.SIGKILL)
        self.processes = {}
        until = time.monotonic() + 20.0
        while (left := self.left()) and time.monotonic() < until:  # in sessions of their own
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.1)

    def left(self) -> list[int]:
        """Return the numbers of processes that were started here and still live."""
        return _marked(self.folder)


class Loopback(Processes):
    """A SuperLink and a SuperNode for each silo, without TLS, on free ports of 127.0.0.1.

    Attributes:
        silos: Names of the silos.
    """

    def __init__(self, folder: Path, silos: tuple[str, ...]) -> None:
        super().__init__(folder)
        self.silos, self.port = silos, free_port()

    def __enter__(self) -> Self:
        connection = f'address = "127.0.0.1:{self.port}"\ninsecure = true\n'
        self.connect(f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\n{connection}')
        try:
            self.start_server()
            for silo in self.silos:
                self.start_silo(silo)
        except BaseException:
            self.close()
            raise
        return self

    def start_server(self) -> None:
        """Start or restart the SuperLink, and wait until it takes requests.

        Raises:
            TimeoutError: It does not.
        """
        words = [str(BIN / "flower-superlink"), "--insecure", "--port", str(self.port)]
        words += ["--database", str(self.folder / "server.db"), "--disable-runtime-dependency-installation"]
        self.start("server", words, READY)

    def start_silo(self, silo: str) -> None:
        """Start or restart the SuperNode of a silo."""
        config = f'silo="{silo}" folder="{self.folder / silo}"'
        words = ["--insecure", "--superlink", f"127.0.0.1:{self.port}", "--port", str(free_port())]
        self.start(silo, [sys.executable, "-c", _SILO, *words, "--node-config", config])

    def submit(self, app: Path, config: str = "") -> str:
        """Submit an app, which then runs at the server; return its output.

        Raises:
            RuntimeError, subprocess.TimeoutExpired: It failed, or took too long.
        """
        words = [str(BIN / "flwr"), "run", str(app), "loopback", *(["--run-config", config] if config else [])]
        status, said = self.run(words)
        if status:
            raise RuntimeError(f"{' '.join(words)}: {said}")
        return said

    def kill(self, name: str) -> None:
        """Kill a silo or the server with all its processes, like a machine that fails."""
        _end(self.processes.pop(name), signal.SIGKILL)
        if name == "server":  # what it started is in sessions of its own, and would go on
            for number in self.left():
                with suppress(OSError):
                    words = Path(f"/proc/{number}/cmdline").read_bytes().decode(errors="replace")
                    if f":{self.port}\0" in f"{words}\0" and "--node-config" not in words:
                        os.kill(number, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    process.wait()


def _marked(folder: Path) -> list[int]:
    """Return the processes whose environment names the folder, which are those started here."""
    mark, found = f"SILOS_LOOPBACK={folder}".encode(), []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes().split(b"\0") and int(place.parent.name) != os.getpid():
                found.append(int(place.parent.name))
        except (OSError, ValueError):
            continue
    return found


def free_port() -> int:
    """Return a free port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
