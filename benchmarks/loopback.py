"""A Flower server and silos as processes of one machine, for tests and measurements; none outlives its `with`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

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
_READY = "Uvicorn running"


class Loopback:
    """A SuperLink and a SuperNode for each silo, without TLS, on free ports of 127.0.0.1.

    Attributes:
        folder: Folder for Flower's home, logs, and a folder of each silo.
        silos: Names of the silos.
    """

    def __init__(self, folder: Path, silos: tuple[str, ...]) -> None:
        self.folder, self.silos = folder, silos
        self.port = _free_port()
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

    def __enter__(self) -> Loopback:
        home = self.folder / "flower"
        home.mkdir(parents=True, exist_ok=True)
        connection = f'address = "127.0.0.1:{self.port}"\ninsecure = true\n'
        (home / "config.toml").write_text(f'[superlink]\ndefault = "loopback"\n\n[superlink.loopback]\n{connection}')
        try:
            self.start_server()
            for silo in self.silos:
                self.start_silo(silo)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start_server(self, seconds: float = 120.0) -> None:
        """Starts the SuperLink, which may have been there before, and waits until it takes requests.

        Raises:
            TimeoutError: It does not.
        """
        words = [
            str(BIN / "flower-superlink"),
            "--insecure",
            "--port",
            str(self.port),
            "--database",
            str(self.folder / "server.db"),
        ]
        before = self.log("server").count(_READY) if (self.folder / "server.log").exists() else 0
        self._start("server", [*words, "--disable-runtime-dependency-installation"])
        until = time.monotonic() + seconds
        while self.log("server").count(_READY) == before:
            if time.monotonic() > until or self.processes["server"].poll() is not None:
                raise TimeoutError(f"no SuperLink after {seconds:g} s: {self.log('server')[-2000:]}")
            time.sleep(0.2)

    def start_silo(self, silo: str) -> None:
        """Starts the SuperNode of a silo, which may have been there before."""
        config = f'silo="{silo}" folder="{self.folder / silo}"'
        words = ["--insecure", "--superlink", f"127.0.0.1:{self.port}", "--port", str(_free_port())]
        self._start(silo, [sys.executable, "-c", _SILO, *words, "--node-config", config])

    def submit(self, app: Path, config: str = "", seconds: float = 120.0) -> str:
        """Submits an app, which then runs at the server; returns what was printed.

        Raises:
            RuntimeError, subprocess.TimeoutExpired: It failed, or took too long.
        """
        words = [str(BIN / "flwr"), "run", str(app), "loopback", *(["--run-config", config] if config else [])]
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=seconds, check=False, cwd=self.folder
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def kill(self, name: str) -> None:
        """Kills a silo or the server, with all that it started, as a machine that fails does."""
        _end(self.processes.pop(name), signal.SIGKILL)
        if name == "server":  # what it started is in sessions of its own, and would go on
            for number in self.left():
                with suppress(OSError):
                    words = Path(f"/proc/{number}/cmdline").read_bytes().decode(errors="replace")
                    if f":{self.port}\0" in f"{words}\0" and "--node-config" not in words:
                        os.kill(number, signal.SIGKILL)

    def log(self, name: str) -> str:
        """The printed text of a process."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        """Ends all processes."""
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
        """Numbers of processes that were started here and still live."""
        return _marked(self.folder)

    def _start(self, name: str, words: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words,
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    process.wait()


def _marked(folder: Path) -> list[int]:
    """Processes whose environment names the folder, which only those have that were started here."""
    mark, found = f"SILOS_LOOPBACK={folder}".encode(), []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes().split(b"\0") and int(place.parent.name) != os.getpid():
                found.append(int(place.parent.name))
        except (OSError, ValueError):
            continue
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
