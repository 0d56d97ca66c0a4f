"""Settings with sizes of their own, for figures whose smallest scale takes seconds."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from figures.figure import Settings


@dataclass(frozen=True)
class Sized(Settings):
    """Settings that give the same sizes at every scale.

    Attributes:
        own: The sizes.
    """

    own: Any = None

    def sizes(self, by_scale: Any) -> Any:
        """Return the sizes."""
        return self.own


def columns(table: Any, *names: str, every: int = 1) -> dict[str, list[Any]]:
    """Return some columns of every n-th row of a table; all columns if none is named."""
    part = table.iloc[::every]
    return {name: list(part[name]) for name in (names or table.columns)}


def told(design: Any) -> Iterator[str]:
    """Yield numbers of a design, options that all lines share, and every line with its other ones."""
    held = Counter(str(entry) for line in design.lines for entry in line.options.items())
    common = {text for text, count in held.items() if count == len(design.lines)}
    yield f"{design.rounds} rounds, {design.seeds} seeds, {design.rates}, {design.tuning_rounds}, {design.runs} runs"
    yield " ".join(text for text in map(str, design.lines[0].options.items()) if text in common)
    for line in design.lines:
        own = " ".join(text for text in map(str, line.options.items()) if text not in common)
        yield f"{line.label}: {line.algorithm} {line.problem} {line.metric} {line.rate_of!r} {line.tuned} {own}"
