"""Verbatim text of LaTeX: left out, except for the labels of listings."""

from __future__ import annotations

import re

_VERBATIM = re.compile(r"\\(begin|end)\s*\{(verbatim\*?|lstlisting|minted|comment|Verbatim|filecontents\*?)\}")
_LABELLED = ("lstlisting", "minted", "Verbatim")
"""Environments within which commands can be escaped."""
_INNER = re.compile(r"\\label\s*\{([^{}]*)\}")
_OPTION = re.compile(r"(?:^|[\[,])\s*label\s*=\s*(?:\{([^{}]*)\}|([^,\]{}]+))")
_LONGEST = 5000
"""Characters of options that are looked at."""
LISTING_LABEL = r"\lstlistinglabel"
"""Command for a label of a listing in the text that is left."""


class Verbatim:
    """The environments of a file whose text is printed as it is, line after line.

    Attributes:
        inside: The environment that is open; empty if none is.
    """

    def __init__(self) -> None:
        """Begin outside of all environments."""
        self.inside = ""
        self._options: str | None = None

    def kept(self, line: str) -> str:
        """Return the next line without what is printed as it is."""
        kept, start = "", 0
        for found in _VERBATIM.finditer(line):
            if found[1] == "begin" and not self.inside:
                kept += line[start : found.start()]
                self.inside = found[2]
                self._options = "" if self.inside == "lstlisting" else None
            elif found[1] == "end" and found[2] == self.inside:
                kept += self._labels(line[start : found.start()])
                self.inside = ""
            else:
                continue
            start = found.end()
        return kept + (self._labels(f"{line[start:]}\n") if self.inside else line[start:])

    def _labels(self, text: str) -> str:
        """Return the labels in a part of the environment that is open, as commands."""
        found = _INNER.findall(text) if self.inside in _LABELLED else []
        if self._options is not None:
            self._options = (self._options + text).lstrip()
            end = _option_end(self._options)
            if (not self._options.startswith("[") and self._options) or end or len(self._options) > _LONGEST:
                found += [one or other.strip() for one, other in _OPTION.findall(self._options[: end or 0])]
                self._options = None
        return "".join(f"{LISTING_LABEL}{{{label}}}" for label in found)


def _option_end(text: str) -> int | None:
    """Return the place after the brackets with which a text begins; None if they are not there, or still open."""
    depth = 0
    for at, sign in enumerate(text if text.startswith("[") else ""):
        depth += (sign in "{[") - (sign in "}]")
        if depth == 0:
            return at + 1
    return None
