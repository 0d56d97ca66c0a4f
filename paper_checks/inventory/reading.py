"""A paper read from any source."""

from __future__ import annotations

from paper_checks.inventory.document import Document
from paper_checks.inventory.source import SourceError, read_source


def read_document(name: str) -> Document:
    """Return what the source of a paper contains.

    Args:
        name: A file (LaTeX, Markdown or text), a folder, or an archive.

    Raises:
        SourceError: It cannot be read, or nothing in it is text of a paper.
        OSError: A file cannot be read.
    """
    from paper_checks.inventory.latex import read_latex  # the parser is needed for LaTeX alone
    from paper_checks.inventory.plain import read_plain

    source = read_source(name)
    document = read_latex(source) if source.latex else read_plain(source)
    if not document.paragraphs and not document.items and not document.tables:
        raise SourceError(f"{name} contains no text of a paper; name the file that has its sections")
    return document
