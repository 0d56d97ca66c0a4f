"""The matrix of a network at every file of weights in a folder, or at every checkpoint of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures.figure import Settings
from figures.spectrum.federation import TrainedRun
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import operators_of
from hessian.loss.passed_checks import PassedChecks
from hessian.loss.state_files import load_state, numbered_states, order_of_states
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.operators.data_parallel import Workers
from runs.folder import CHECKPOINTS
from runs.index import NAME
from runs.networks.curvatures import SERVER, curvatures

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Which of several states a matrix belongs to.

    Attributes:
        columns: Number and file of the state, or round (number) and client, as columns of a table.
        name: Name in messages.
        states: Number of states, clients included; a run may turn out to have fewer.
        client: Client of a run; `SERVER` for the server and for files.
    """

    columns: dict[str, Any]
    name: str
    states: int
    client: int = SERVER


Visit = Callable[[Place, Curvature], None]
"""Measures one state. The matrix must not be kept, because its graph is freed before the next one is built."""


def visit_files(request: SpectrumRequest, folder: Path, visit: Visit, progress: Progress | None = None) -> None:
    """Measure a network at every file of weights in a folder.

    Args:
        request: Names, accuracy, device.
        folder: Folder of the files.
        visit: Measures a state.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Names, files, model, loss or data are not valid; the message names cause and remedy.
    """
    files = numbered_states(folder)
    if progress is not None:
        progress(f"{len(files)} files in the order of {order_of_states(folder)}")
    states = [lambda model, path=path: load_state(model, path) for path in files.values()]
    for (number, path), operator in zip(files.items(), operators_of(request, states, progress), strict=True):
        visit(Place({"number": number, "file": path.name}, path.name, len(files)), operator)
        del operator


def visit_run(
    request: SpectrumRequest,
    folder: Path,
    clients: int,
    visit: Visit,
    progress: Progress | None = None,
    trust: bool = False,
) -> None:
    """Measure the server's model of a run at its start and after every round with a checkpoint, and some clients.

    Args:
        request: Matrix, parameters, precision, device and accuracy; network, data and loss are the run's.
        folder: Folder of the run.
        clients: Number of first clients to measure as well, each with the matrix of its own samples.
        visit: Measures a state; the server of a round comes before its clients.
        progress: Called with the current step.
        trust: Whether code that the run names may run.

    Raises:
        CurvatureError, RunError, FederationError, DataError: The run, its data or its numbers are not valid.
    """
    say = progress or (lambda text: None)
    Settings(device=request.device).check_device()
    say("reading the run")
    run = TrainedRun.of(folder, request.device, trust)
    if clients > len(run.problem.clients):
        raise CurvatureError(
            f"--clients must be at most {len(run.problem.clients)}, the number of clients of the run, got {clients}"
        )
    options = {
        "matrix": request.matrix,
        "parameters": request.parameters or None,
        "memory": request.settings.memory,
        "vectorize": "trial" if request.trial else 1,
        "workers": Workers.of(request.workers, request.ray),
        "checks": PassedChecks(),
    }
    kept = sum(bool(NAME.fullmatch(path.name)) for path in (folder / CHECKPOINTS).glob("*"))
    states = (kept + 1) * (1 + bool(clients))  # the clients' own samples are as many as the server's together
    for number, weights in run.states():
        measured = (SERVER, *range(clients))
        for client, operator in curvatures(run.problem, weights, measured, request.double, **options):
            name = f"round {number}, {name_of(client)}"
            visit(Place({"number": number, "client": client}, name, states, client), operator)
            del operator


def name_of(client: int) -> str:
    """Return the name of a client, or of the server."""
    return "server" if client == SERVER else f"client {client}"
