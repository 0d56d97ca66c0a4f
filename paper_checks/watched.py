"""A federation that keeps what travels, to look at every trip of a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from algorithms.federation import Cohort, Draw, Federation, Work


@dataclass(frozen=True)
class Trip:
    """One trip of a round: the work's name, what was sent, what each client answered."""

    work: str
    sent: dict[str, Any]
    uploads: tuple[Any, ...]


class Watched(Federation):
    """A federation that keeps what travels."""

    def __init__(self, clients: tuple[Any, ...], **options: Any) -> None:
        """As `Federation`."""
        super().__init__(clients, **options)
        self.trips: list[Trip] = []

    def gather(self, work: Work, *, to: Cohort, draw: Draw | None = None, **sent: Any) -> list[Any]:
        """As `Federation.gather`."""
        uploads = super().gather(work, to=to, draw=draw, **sent)
        self.trips.append(Trip(work.__name__, sent, tuple(uploads)))
        return uploads
