"""The server of silos: a usual run in a folder, whose executor asks the silos."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from runs.catalogue import CONDUCT, algorithm_of, options_of
from runs.folder import CHECKPOINTS, METRICS, Metrics, train
from runs.index import SETTINGS, last_index, require_file
from runs.plan import Parts, Plan, make_plan
from runs.settings import ANSWERED, CONTENT, SIZES, Conduct, RunError
from runs.silos.client_store import RUN
from runs.silos.executor import Silos
from runs.silos.given import check_start
from runs.silos.problem import RUN_NAME, SILOS, Evaluate, RemoteClient, RemoteClients, SiloProblem, SiloSettings
from runs.silos.transport import AnswerPolicy, Transport
from runs.silos.wire import Limits, printable
from workloads.files import with_home

_PATIENCE = {entry.name for entry in fields(AnswerPolicy)}
_CONDUCT = {"rounds", "evaluate_every", "keep_every"}
Start = Callable[[], Mapping[str, Tensor]]


def serve(config: Mapping[str, Any], line: Transport, start: Start, evaluate: Evaluate | None = None) -> Metrics:
    """Train with silos into a folder, or resume the run in it.

    Args:
        config: Configuration of the app: `algorithm`, `silos` (names between commas), `folder`, and options of the
            algorithm, of `Conduct` and of `AnswerPolicy` by name; `limit_mb`: the largest answer.
        line: Line to the silos.
        start: Function that returns the initial weights.
        evaluate: Function from weights to numbers by name, with the server's data; default: the silos' mean loss.

    Returns:
        The last round's metrics.

    Raises:
        RunError: The options or the start are not valid; no silo has been asked.
        FederationError: Silos are missing, or a round cannot continue.
    """
    torch.set_num_threads(1)  # as silos have: the bits of a run in one process
    plan, folder, patience, limits = _read_config(config)
    settings = SiloSettings(plan.settings["silos"], plan.settings["clients"])
    first = check_start(start())
    algorithm = algorithm_of(plan.algorithm, SILOS, plan.settings)
    if hasattr(algorithm, "pool"):
        raise RunError(
            f"{plan.algorithm} needs all data in one place, but silos keep their own: choose another algorithm"
        )
    if plan.settings["alignment"] and evaluate is None:
        raise RunError(
            "alignment needs a function evaluate at the server; without it, losses would be compared instead of updates"
        )
    name, run = _name_of(plan, folder)
    silos = Silos(settings.names, line, name, patience, limits, say)
    met = silos.meet(first.keys(), _known_left_out(folder, settings.names))
    clients = [RemoteClient(name, *about) for name, about in zip(settings.names, met, strict=True)]
    silos.expect_data(_known_data(folder, settings.names))
    problem = SiloProblem(RemoteClients(tuple(clients)), first, evaluate, run, _counts(folder))
    try:
        metrics = train(plan, folder, _round, say=say, parts=Parts(algorithm, problem, silos))
    except BaseException as error:
        silos.say(_describe_traffic(silos))
        if isinstance(error, RunError) and (said := error.of_app()) != str(error):
            raise type(error)(said) from error
        raise
    silos.say(_describe_traffic(silos))
    return metrics


def _describe_traffic(silos: Silos) -> str:
    return f"{silos.bytes_sent:,} bytes sent to silos, {silos.bytes_received:,} received"


def _name_of(plan: Plan, folder: Path) -> tuple[str, str]:
    """Return the name under which silos keep a run's state, and the name that its settings store.

    Each run has its own name, so two runs of one plan do not delete each other's state. A run that an earlier
    version began has the plan's digest.
    """
    stored = _stored_facts(folder)
    run = None if stored is None else stored.get(RUN_NAME, "")
    if run is None or (run == "" and not (folder / CHECKPOINTS).exists()):
        run = secrets.token_hex(12)
    if not isinstance(run, str) or not (run == "" or RUN.fullmatch(run)):
        raise RunError(f"{folder / SETTINGS} has an invalid {RUN_NAME}; restore it from a copy")
    return run or plan.digest, run


def _known_data(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the digests of the silos' data that the settings of a run store, by name."""
    stored = _stored_facts(folder) or {}
    found = {name: stored.get(f"{CONTENT}{name}") for name in names}
    return {name: digest for name, digest in found.items() if isinstance(digest, str)}


def _known_left_out(folder: Path, names: Sequence[str]) -> dict[str, tuple[str, float, str]]:
    """Return the silos that the run in a folder has left out: why, their numbers of samples, and digests of their data.

    Empty if it has left out all of them, or if its settings lack the numbers.
    """
    left, sizes = last_index(folder).get("left_out"), (_stored_facts(folder) or {}).get(SIZES)
    if not isinstance(left, dict) or not isinstance(sizes, list) or set(names) <= left.keys():
        return {}
    if len(sizes) != len(names) or not all(type(size) is float for size in sizes):
        return {}
    digests = _known_data(folder, names)
    return {
        name: (str(left[name]), size, digests.get(name, ""))
        for name, size in zip(names, sizes, strict=True)
        if name in left
    }


def _counts(folder: Path) -> bool:
    """Return whether the table of a run has a column with the number of silos in each mean; a new table gets it."""
    path = folder / METRICS
    if not path.is_file():
        return True
    with path.open("rb") as stream:
        header = stream.readline(1 << 16)
    return not header.endswith(b"\n") or ANSWERED.encode() in header.rstrip(b"\n").split(b",")


def _stored_facts(folder: Path) -> Mapping[str, Any] | None:
    """Return the given facts in the settings of a run; None without settings."""
    try:
        require_file(folder / SETTINGS)
        stored = json.loads((folder / SETTINGS).read_text(encoding="utf-8")).get("given", {})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}  # the run itself says what is wrong with its settings
    return stored if isinstance(stored, dict) else {}


def _read_config(config: Mapping[str, Any]) -> tuple[Plan, Path, AnswerPolicy, Limits]:
    """Return the plan, the folder, the policy and the limits of an app's config."""
    under: dict[str, str] = {}
    for name in config:
        other = under.setdefault(name.replace("-", "_"), name)
        if other != name:
            raise RunError(f"the app's config has both {other} and {name}, which are one option; leave one of them out")
    given = {name.replace("-", "_"): value for name, value in config.items() if value != ""}
    try:
        algorithm, folder = str(given.pop("algorithm")), with_home(str(given.pop("folder")))
        given.setdefault("clients", len(str(given["silos"]).split(",")))
    except KeyError as error:
        raise RunError(f"the app's config lacks {error.args[0]}; add it to its pyproject.toml") from error
    if "\0" in str(folder):
        raise RunError(f"the app's config needs a folder without a NUL character, got {str(folder)!r}")
    try:
        patience = AnswerPolicy(**{name: given.pop(name) for name in _PATIENCE & given.keys()})
        limits = Limits.of_megabytes(given.pop("limit_mb", 1024))
    except (TypeError, ValueError) as error:
        raise RunError(f"the app's config: {error}") from error
    known = CONDUCT.options({})
    conduct = Conduct(save_every=0.0, **{name: known[name].check(given.pop(name)) for name in _CONDUCT & given.keys()})
    options = options_of(algorithm, SILOS, {}, every=True)
    values = {
        name: options[name].read(value) if name in options and isinstance(value, str) else value
        for name, value in given.items()
    }
    return make_plan(algorithm, SILOS, values, conduct), folder, patience, limits


def _round(metrics: Mapping[str, Any]) -> None:
    say(", ".join(f"{name} {value:.6g}" for name, value in metrics.items() if isinstance(value, float | int)))


def say(text: str) -> None:
    """Print a line on standard error."""
    print(f"rankproof: {printable(' '.join(text.split()), len(text))}", file=sys.stderr, flush=True)
