"""The experiments on images that are stored at laptop scale: their tables, and the design behind each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd

from figures.experiments.experiment import Design, Line
from figures.fedloru import designs as fedloru_designs
from figures.fedlrt.vision_runs import VISION
from figures.figure import Settings
from figures.rolora.fig2_runs import FIG2_SIZES, designs

STORED = Path(__file__).resolve().parent.parent / "docs" / "figures"
LAPTOP = Settings(scale="laptop")

EXPERIMENTS: dict[str, Callable[[], Iterable[Design]]] = {
    **{
        f"fedloru/{name}": lambda name=name: [getattr(fedloru_designs, f"{name.replace('-', '')}_design")(LAPTOP)]
        for name in ("tab-1", "tab-3", "tab-4", "tab-6", "tab-7", "restarts")
    },
    "fedloru/fig-8": lambda: fedloru_designs.fig8_designs(LAPTOP)[1:],
    **{f"fedlrt/{name}": lambda of=of: [of["laptop"].design] for name, of in VISION.items()},
    "rolora/fig-2": lambda: [
        design for start in FIG2_SIZES["laptop"].rounds for design in designs(FIG2_SIZES["laptop"], start, {})
    ],
}
"""The designs of every experiment, at laptop scale."""


def table_of(id: str) -> pd.DataFrame:
    """Return the stored table of an experiment."""
    return pd.read_csv(STORED / f"{id.replace('/', '-')}.csv")


def design_of(id: str, keys: Mapping[str, str]) -> tuple[Design, Line]:
    """Return the line of an experiment with these keys, and its design."""
    ((design, line),) = [
        (of, line)
        for of in EXPERIMENTS[id]()
        for line in of.lines
        if {key: str(value) for key, value in line.keys.items()} == keys
    ]
    return design, line
