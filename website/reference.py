"""Pages of the API reference, written from the docstrings of the modules that other programs import."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

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
FIRST: dict[str, tuple[str, ...]] = {
    "Measure a Hessian": ("hessian.stable_rank", "hessian.measure", "hessian.measure_spectrum", "hessian.Curvature"),
    "Predict a spectrum": ("rmt.SpikedModel",),
    "Train": ("algorithms.rounds.rounds", "runs.plan.make_plan", "runs.folder.train"),
}
"""Functions and classes that people call first, by purpose."""
_FIRST_PAGE = "reference/index.md"
_INTRODUCTION = """\
# Reference

These are the functions and classes that you are likely to call first. [Spectra by
example](../spectra-by-example.md) and [training by example](../training-by-example.md) use them from start to picture.
All other public names are on the page of their package: """


def reference_pages() -> Iterator[tuple[str, str, str]]:
    """Yield name, location and text of each page, what people call first on the first."""
    rooms = ", ".join(f"[{room}]({room}.md)" for room in DOORS)
    first = [f"{_INTRODUCTION}{rooms}.", *(_section(purpose, names) for purpose, names in FIRST.items())]
    yield "What to call first", _FIRST_PAGE, "\n\n".join(first) + "\n"
    for room, modules in DOORS.items():
        package = importlib.import_module(room)
        parts = [f"# {room}", package.__doc__ or ""]
        if modules == (room,):
            parts += [f"::: {room}.{name}" for name in package.__all__]
        else:
            parts += [f"::: {module}" for module in modules]
        yield room, f"reference/{room}.md", "\n\n".join(parts) + "\n"


def _section(purpose: str, names: Sequence[str]) -> str:
    """Return a section with the named members; their own members are on the page of their package."""
    shown = (f"::: {name}\n    options: {{ heading_level: 3, members: false }}" for name in names)
    return "\n\n".join((f"## {purpose}", *shown))
