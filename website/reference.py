"""Pages of the API reference, written from the docstrings of the modules that other programs import."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

DOORS: dict[str, tuple[str, ...]] = {
    "rmt": ("rmt",),
    "hessian": ("hessian",),
    "toymodels": (
        "toymodels.problem",
        "toymodels.quadratic",
        "toymodels.legendre",
        "toymodels.ridges",
        "toymodels.regression",
        "toymodels.product_features",
    ),
    "algorithms": (
        "algorithms.rounds",
        "algorithms.federation",
        "algorithms.exchange",
        "algorithms.weights",
        "algorithms.low_rank",
        "algorithms.optimisers",
        "algorithms.ledger",
        "algorithms.fedavg",
        "algorithms.fedlin",
        "algorithms.fedlrt",
        "algorithms.fedloru",
        "algorithms.rolora",
    ),
    "runs": ("runs.problems", "runs.settings", "runs.catalogue", "runs.folder", "runs.experiments", "runs.stored"),
    "paper_checks": (
        "paper_checks.claim",
        "paper_checks.engine.verdict",
        "paper_checks.paper",
        "paper_checks.context",
        "paper_checks.ledger",
        "paper_checks.run",
        "paper_checks.replay",
    ),
}
"""Modules by room, in reading order. A room that declares names (`__all__`) shows these."""


def reference_pages() -> Iterator[tuple[str, str, str]]:
    """Yield name, location and text of each page."""
    for room, modules in DOORS.items():
        package = importlib.import_module(room)
        parts = [f"# {room}", package.__doc__ or ""]
        if modules == (room,):
            parts += [f"::: {room}.{name}" for name in package.__all__]
        else:
            parts += [f"::: {module}" for module in modules]
        yield room, f"reference/{room}.md", "\n\n".join(parts) + "\n"
