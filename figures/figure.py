"""Definition of a figure, and the settings it is made with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np

from figures.style import set_headline

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

Scale = Literal["quick", "laptop", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Sizes = TypeVar("Sizes")


class FigureError(ValueError):
    """An error for a figure that cannot be made as requested; the message is one line with the remedy."""


@dataclass(frozen=True)
class Settings:
    """The settings that a figure is made with.

    Attributes:
        scale: Changes sizes, never code: `quick` takes seconds, `laptop` minutes, `paper` needs an accelerator.
        seed: Root of all random streams.
        device: Torch device of the heavy parts.
        data_root: The first folder in which to look for data sets.
        runs: Folder of training runs: existing ones are used, missing ones are made there.
        replaces: Folder of earlier runs that those in `runs` replace once all are made; None if they stay there.
        pieces: Folder of completed parts of the numbers (`figures.pieces`); None saves no parts.
        progress: Called with one line of progress now and then.
        notify: Called with lines to keep on the screen, such as the cost of long work before it starts.
        pool: Makes several training runs at a time; default: one after the other, here.
        slots: Machine of each concurrent run; set only in a dry run, which reports them and runs nothing.
        named: Called with the folder of each training run that the numbers come from.

    Raises:
        FigureError: An unknown scale or a seed that is not a whole number of at least 0.
    """

    scale: Scale = "quick"
    seed: int = 0
    device: str = "cpu"
    data_root: str | Path | None = None
    runs: str | Path = "results/runs"
    replaces: Path | None = None
    pieces: Path | None = None
    progress: Callable[[str], None] | None = None
    notify: Callable[[str], None] | None = None
    pool: Executor | None = None
    slots: tuple[str, ...] | None = None
    named: Callable[[Path], None] | None = None

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise FigureError(f"unknown scale {self.scale!r}; choose one of {', '.join(SCALES)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise FigureError(f"the seed must be a whole number of at least 0, got {self.seed!r}")

    def rng(self, *purpose: object) -> np.random.Generator:
        """Return the random stream of a purpose, so one part of a figure does not change the others."""
        digest = hashlib.sha256("\n".join(map(str, purpose)).encode()).digest()
        words = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 16, 4)]
        return np.random.default_rng([self.seed, *words])

    @property
    def place(self) -> str | None:
        """The folder of the data sets, as runs take it."""
        return None if self.data_root is None else str(self.data_root)

    def sizes(self, by_scale: Mapping[Scale, Sizes]) -> Sizes:
        """Return the sizes of the scale."""
        return by_scale[self.scale]

    def report(self, text: str) -> None:
        """Report the progress of the work to the caller."""
        if self.progress is not None:
            self.progress(text)

    def announce(self, text: str) -> None:
        """Give the caller a line to keep on the screen."""
        if self.notify is not None:
            self.notify(text)

    def name_run(self, folder: Path) -> None:
        """Give the caller the folder of a training run that the numbers come from."""
        if self.named is not None:
            self.named(folder)

    def check_device(self) -> None:
        """Check the device before the work starts.

        Raises:
            FigureError: The device is unknown to torch or not on this machine.
        """
        if self.device == "cpu":
            return
        import torch

        try:
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).strip().splitlines()[0]
            raise FigureError(f"device {self.device!r} cannot be used here ({reason}); try --device cpu") from None


@dataclass(frozen=True)
class DataChoice:
    """The data sets that a figure uses with given settings.

    Attributes:
        names: Names of `workloads.data.datasets.REGISTRY`.
        note: One line for caption, manifest and command line if these are not the intended data; else empty.
    """

    names: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure: a function that computes its numbers, and one that draws them.

    Attributes:
        id: `theme/name`, as on the command line.
        title: A few words.
        caption: Description of the picture, with LaTeX between dollars.
        data: Computes the numbers; everything random comes from `settings.rng`.
        draw: Draws the numbers and computes nothing but positions of marks.
        headline: One fact over the picture, in at most fifteen words: what the numbers show.
        found: One neutral sentence from the numbers: what the paper states, and what we find.
        sizes: One sentence from the numbers: dimensions, sample sizes, numbers of draws.
        datasets: Names of the data sets it needs, from `workloads.data.datasets.REGISTRY`.
        choose: Chooses other data sets by the settings and by what is on this machine; default: `datasets`.
        quick_decides: Whether scale `quick` is evidence about the statement. If it only shows that the code runs, as in
            training experiments, the report does not draw it.
        designs: The training runs behind the numbers at a scale, each a `figures.experiments.experiment.Design`; None:
            there are none.
        in_paper: Whether a paper has the experiment of `designs`; if not, its settings differ from no printed ones.
        printed_designs: The paper's runs; default: `designs` at scale `paper`.
        by_scale: Sizes at every scale, dataclasses, of numbers that need no training runs; None: no paper has them.
        conventions: Where the value of a setting at scale `paper` is from, by the setting's name, if it is not printed.
        printed: The paper's values of settings that no machine of ours can have at scale `paper`, by name: its data
            sets, its model.
        beyond: Settings that no option of a run has and that differ from the paper's at every scale, by name: the
            paper's value and ours.
        under: The scale in one line under the headline, of a figure without `designs`; None: no line.
    """

    id: str
    title: str
    caption: str
    data: Callable[[Settings], DataFrame]
    draw: Callable[[DataFrame], Picture]
    headline: Callable[[DataFrame], str]
    found: Callable[[DataFrame], str]
    sizes: Callable[[DataFrame], str]
    datasets: tuple[str, ...] = ()
    choose: Callable[[Settings], DataChoice] | None = None
    quick_decides: bool = True
    designs: Callable[[Settings], Sequence[Any]] | None = None
    in_paper: bool = True
    printed_designs: Callable[[Settings], Sequence[Any]] | None = None
    by_scale: Mapping[Scale, Any] | None = field(default=None, hash=False)
    conventions: Mapping[str, str] = field(default_factory=dict, hash=False)
    printed: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    beyond: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    under: Callable[[DataFrame], str] | None = None

    def data_choice(self, settings: Settings) -> DataChoice:
        """Return the data sets for these settings, without checking that they are complete."""
        return DataChoice(self.datasets) if self.choose is None else self.choose(settings)

    def picture(self, table: DataFrame, below: str = "") -> Picture:
        """Return the picture of a table, with its headline, and a smaller text under it if there is one."""
        picture = self.draw(table)
        set_headline(picture, self.headline(table), below)
        return picture

    @property
    def slug(self) -> str:
        """The id as a file name."""
        return self.id.replace("/", "-")
