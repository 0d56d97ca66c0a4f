"""Settings with sizes of their own, for figures whose smallest scale takes seconds."""

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
