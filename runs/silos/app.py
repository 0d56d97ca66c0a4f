"""Writer of a small Flower app for silos: the algorithm's options, and functions for the user to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from runs.catalogue import ALGORITHMS, SUGGESTED, look_up, options_of
from runs.settings import RunError
from runs.silos.problem import SILOS
from workloads.files import write_whole

TEMPLATES = resources.files("runs.silos") / "written"
FILES = ("pyproject.toml", "README.md", "LICENSE", "silos/server_app.py", "silos/client_app.py", "silos/task.py")
"""Files of the app; in the package each has the suffix .template, so nothing takes them for its own."""
SHOWN: Mapping[str, Any] = {**SUGGESTED, "steps": 10, "learning_rate": 0.05}
"""Values with which the written example learns, of those options that an algorithm has."""


def write_app(folder: Path, algorithm: str, silos: Sequence[str]) -> list[Path]:
    """Write the app.

    Args:
        folder: Folder of the app, new or empty.
        algorithm: Name of an algorithm in the catalogue.
        silos: Names of the silos.

    Returns:
        The files.

    Raises:
        RunError: The folder is not empty, or the names are not valid.
        OSError: It cannot be written.
    """
    look_up(ALGORITHMS, "algorithm", algorithm)
    if hasattr(ALGORITHMS[algorithm].kind, "pool"):
        raise RunError(f"{algorithm} needs all data in one place, but silos keep their own: choose another algorithm")
    if len(set(silos)) != len(silos) or not all(re.fullmatch(r"\w[\w.-]*", name) for name in silos):
        raise RunError(
            "silos need distinct names of letters, digits, dots and hyphens, starting with a letter or digit, got "
            f"{', '.join(silos)!r}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is not empty; name a new folder")
    words = {
        "name": re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "silos",
        "algorithm": algorithm,
        "silos": ",".join(silos),
        "first": silos[0],
        "nodes": "\n\n".join(_start_of(name, port) for port, name in enumerate(silos, 9094)),
        "options": "\n".join(_options(algorithm, len(silos))),
    }
    texts = {name: (TEMPLATES / f"{Path(name).name}.template").read_text(encoding="utf-8") for name in FILES}
    contents = {folder / name: Template(text).substitute(words) for name, text in texts.items()}
    contents[folder / "silos" / "__init__.py"] = '"""The app."""\n'
    (folder / "silos").mkdir(parents=True)
    write_whole({path: text.encode() for path, text in contents.items()}, fresh=contents)
    return list(contents)


def _options(algorithm: str, silos: int) -> list[str]:
    """Return the lines of the app's config for the algorithm's options, which every run may change."""
    lines = []
    shown = {**SHOWN, "client_ranks": ",".join(str(2 - number % 2) for number in range(silos))}
    for name, option in options_of(algorithm, SILOS, shown).items():
        if name in (SILOS, "clients"):
            continue
        value = shown.get(name, option.default)
        text = '""' if value in (None, MISSING, ()) else _toml(value)
        lines.append(f"{name.replace('_', '-')} = {text}  # {option.help.splitlines()[0]}" if option.help else text)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return '"' + (",".join(map(str, value)) if isinstance(value, tuple) else str(value)) + '"'


def _start_of(silo: str, port: int) -> str:
    return (
        f"    flower-supernode --superlink server.example:8443 --root-certificates certificates/ca.pem \\\n"
        f"        --auth-supernode-private-key keys/{silo} --port {port} \\\n"
        f'        --node-config \'silo="{silo}" folder="/var/lib/silo/{silo}"\''
    )
