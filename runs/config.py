"""Files that configure runs: TOML that people write, or the `settings.json` of another run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.index import SETTINGS, require_file
from runs.settings import Conduct, RunError
from workloads.arguments import nearest_flag

if TYPE_CHECKING:
    from runs.plan import Plan

NAMES = ("algorithm", "data")
"""Keys that name the algorithm and the problem; all others are options."""


@dataclass(frozen=True)
class Config:
    """The configuration of a run.

    Attributes:
        path: The file.
        algorithm: Name of the algorithm; None if the file leaves it open.
        problem: Name of the problem; None if the file leaves it open.
        values: Values of options by name, those of the conduct among them.
        stored: Whether a run wrote the file, so that it has every option, also those that nobody asked for.
    """

    path: Path
    algorithm: str | None
    problem: str | None
    values: Mapping[str, Any]
    stored: bool = False


def read_config(path: Path) -> Config:
    """Read a configuration: a file of TOML or JSON with one value per option, a run's settings, or a run's folder.

    Hyphens in the names of options are read as underscores. Nothing that the file names is imported.

    Raises:
        RunError: The file cannot be read as one of these.
        OSError: It cannot be read at all.
    """
    path = path / SETTINGS if path.is_dir() else path
    require_file(path)
    content = _parse(path)
    if isinstance(content.get("settings"), dict):
        return _of_run(path, content)
    names: dict[str, str | None] = {}
    for name in NAMES:
        value = content.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise RunError(f"{path}: {name} must be a name, got {value!r}; correct it")
        names[name] = value
    values = {name.replace("-", "_"): value for name, value in content.items()}
    table = next((name for name, value in values.items() if isinstance(value, dict)), None)
    if table is not None:
        raise RunError(f"{path}: {table!r} is a table; write each option on a line of its own, above any [table]")
    if len(values) < len(content):
        raise RunError(f"{path} has an option twice, with hyphens and with underscores; remove one of the two")
    return Config(path, names["algorithm"], names["data"], values)


def _parse(path: Path) -> dict[str, Any]:
    text, kind = path.read_bytes(), "JSON" if path.suffix == ".json" else "TOML"
    try:
        content = json.loads(text) if kind == "JSON" else tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not valid {kind} ({error}); correct it") from error
    if not isinstance(content, dict):
        raise RunError(f"{path} must have a value for each option by name; see `rankproof train ALGORITHM --dry-run`")
    return content


def _of_run(path: Path, content: Mapping[str, Any]) -> Config:
    algorithm, problem, conduct = content.get("algorithm"), content.get("problem"), content.get("conduct", {})
    if not isinstance(algorithm, str) or not isinstance(problem, str) or not isinstance(conduct, dict):
        raise RunError(f"{path} is not the file of settings that a run wrote; restore it from a copy")
    rounds = {name: content[name] for name in ("rounds",) if name in content}
    return Config(path, algorithm, problem, {**content["settings"], **conduct, **rounds}, stored=True)


def combine(config: Config, algorithm: str, problem: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options from a configuration and the command line, which takes precedence.

    Steps on the command line replace epochs in the file, and epochs replace steps. Options of a run's settings that the
    new algorithm or problem does not have are left out if they have their default value.

    Args:
        config: The configuration.
        algorithm: Name of the algorithm of the new run.
        problem: Name of its problem.
        flags: Values from the command line, by name.

    Raises:
        RunError: An option in the file is unknown, or has a value that it does not take.
    """
    from runs.catalogue import CONDUCT, options_of
    from runs.plan import with_present_names

    values = with_present_names(config.problem or problem, config.values)  # a name may mean something else elsewhere
    flags = with_present_names(problem, flags)
    values = {name: value for name, value in values.items() if not _is_replaced(name, values, flags, config.stored)}
    found = {**values, **flags}
    conduct = CONDUCT.options({})
    known = conduct | options_of(algorithm, problem, found)
    if config.stored:
        of_run = options_of(str(config.algorithm), str(config.problem), config.values)
        for name in set(values) - set(known) - set(flags):
            if name in of_run and _is_equal(values[name], of_run[name].default):
                del found[name]
    every = conduct | options_of(algorithm, problem, found, every=True)
    for name in found:
        if name in flags:
            continue
        if name not in every:
            raise RunError(f"{config.path}: {algorithm} on {problem} takes no {name!a}{_remedy(name, list(every))}")
        try:
            every[name].check(found[name])
        except RunError as error:
            raise RunError(f"{config.path}: {error}") from error
    return found


def _is_replaced(name: str, values: Mapping[str, Any], flags: Mapping[str, Any], stored: bool) -> bool:
    """Return whether the other one of steps and epochs has a value that takes the place of this one."""
    if name.endswith("epochs"):
        return flags.get(f"{name.removesuffix('epochs')}steps") is not None
    if not name.endswith("steps"):
        return False
    epochs = f"{name.removesuffix('steps')}epochs"
    return flags.get(epochs) is not None or (stored and values.get(epochs) is not None and name not in flags)


def _is_equal(value: Any, default: Any) -> bool:
    return bool(value == (list(default) if isinstance(default, tuple) else default))


def _remedy(name: str, known: list[str]) -> str:
    """Name the algorithms that take an option, or the nearest option, as the end of a sentence."""
    from runs.catalogue import algorithms_that_take

    near = nearest_flag(name, [one.replace("_", "-") for one in known])
    suggested = f"; did you mean {near.replace('-', '_')}?" if near else "; remove it"
    return algorithms_that_take(name) or suggested


def to_toml(plan: Plan) -> str:
    """Return a configuration that gives a plan again, with every option that has a value.

    >>> from runs.plan import make_plan
    >>> print(to_toml(make_plan("fedavg", "quadratics", {"clients": 3})).partition("rows")[0], end="")
    algorithm = "fedavg"
    data = "quadratics"
    rounds = 100
    seed = 0
    alignment = false
    clients = 3
    """
    usual = asdict(Conduct())
    conduct = {name: value for name, value in asdict(plan.conduct).items() if value != usual[name] or name == "rounds"}
    values = {"algorithm": plan.algorithm, "data": plan.problem, **conduct, **plan.settings}
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in values.items()
        if value is not None and not _is_replaced(name, values, {}, stored=True)
    ]
    return "\n".join(lines) + "\n"
