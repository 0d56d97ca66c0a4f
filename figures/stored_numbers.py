"""Numbers that took long to compute and are stored with the project.

A figure's `FOLDER/SLUG.csv` and `FOLDER/SLUG.manifest.json` are copies of the files that `make` wrote. They are drawn
for the scale, seed and device that the manifest names, even if the sources have changed since. The new picture's
caption and manifest say whether they have.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from figures.figure import Figure, FigureError, Settings
from figures.provenance import FOLDER as FOLDER

IDENTITY = ("figure", "scale", "seed", "device", "data", "packages", "sources_sha256")
MACHINE = ("python", "platform", "processors")
DIFFERENCE = ("option", "setting", "printed", "run")


def stored_numbers(figure: Figure, settings: Settings, folder: Path = FOLDER) -> dict[str, Any] | None:
    """Return the stored numbers of a figure with these settings, or None.

    Returns:
        `identity`, `machine`, `note`, `seconds`, `differences` (settings that differ from the paper's, each with the
        names in `DIFFERENCE`), `runs` (digests of the metrics of training runs, by folder), `runs_made_by` (versions
        and device of those that were computed with others) and `csv`, as they were when the numbers were computed.

    Raises:
        FigureError: The manifest does not describe the table, or it cannot be read.
    """
    table, manifest = folder / f"{figure.slug}.csv", folder / f"{figure.slug}.manifest.json"
    if not (table.is_file() and manifest.is_file()):
        return None
    try:
        made = json.loads(manifest.read_text(encoding="utf-8"))
        digest, note = made["files"][table.name], made.get("data_note", "")
        entry = {
            "identity": {name: made[name] for name in IDENTITY},
            "machine": {name: made[name] for name in MACHINE},
            "note": note,
            "seconds": made["seconds_for_the_numbers"],
            "runs": made.get("runs", {}),
            "runs_made_by": made.get("runs_made_by", {}),
            "differences": [{name: row[name] for name in DIFFERENCE} for row in made.get("differences", [])],
        }
        texts = (note, made["sources_sha256"], *(data["title"] for data in made["data"]))
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("texts are missing")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FigureError(
            f"{manifest} is not a manifest that `rankproof figure` wrote; restore it from a copy"
        ) from error
    content = table.read_bytes()
    if digest != hashlib.sha256(content).hexdigest():
        raise FigureError(f"{table} does not match {manifest.name}; restore it from a copy, or --recompute")
    entry["csv"] = content.decode()
    asked = {"figure": figure.id, "scale": settings.scale, "seed": settings.seed, "device": settings.device}
    return entry if all(entry["identity"][name] == value for name, value in asked.items()) else None


def stored_seconds(figure: Figure, scale: str, folder: Path = FOLDER) -> float | None:
    """Return the time that a figure's stored numbers took at a scale, in seconds; None if none are stored."""
    try:
        made = json.loads((folder / f"{figure.slug}.manifest.json").read_text(encoding="utf-8"))
        return float(made["seconds_for_the_numbers"]) if made["scale"] == scale else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def stored_settings(figure: Figure, folder: Path = FOLDER) -> Settings | None:
    """Return scale, seed and device of a figure's stored numbers; None if none are stored."""
    try:
        made = json.loads((folder / f"{figure.slug}.manifest.json").read_text(encoding="utf-8"))
        return Settings(scale=made["scale"], seed=made["seed"], device=made["device"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
