"""A part of a LaTeX source that has a number."""

from __future__ import annotations

from dataclasses import dataclass, field

from paper_checks.inventory.document import Kind


@dataclass
class Span:
    """A part of the source that has a number, or could have one.

    Attributes:
        kind: Kind of the item; None for a section.
        number: As printed; empty if it has none.
        start: Where it begins.
        end: Where it ends.
        body: Its text in LaTeX.
        title: Its title or caption in LaTeX.
        called: Printed word before the number, or the command of a section.
        section: Number of its section.
        inside: The statement that contains it.
        proofs: Where its proofs are.
        label: Its label.
        lines: Whether an equation has several lines.
    """

    kind: Kind | None
    number: str
    start: int
    end: int
    body: str = ""
    title: str = ""
    called: str = ""
    section: str = ""
    inside: Span | None = None
    proofs: list[tuple[int, int]] = field(default_factory=list)
    label: str = ""
    lines: bool = False
