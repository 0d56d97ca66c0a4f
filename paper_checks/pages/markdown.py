"""Markdown of the pages in ``docs/``: anchors of claims and formulas."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)


def anchor_of(id: str) -> str:
    """Return the anchor that Markdown renderers give a heading which is the id of a claim.

    >>> anchor_of("fedloru-v2/prop-3.1")
    'fedloru-v2prop-31'
    """
    return re.sub(r"[^a-z0-9_-]", "", id.lower())


def mathematics(text: str) -> str:
    r"""Write formulas in the notation that Markdown leaves alone.

    >>> mathematics("a rank of $r_1$")
    'a rank of $`r_1`$'
    """
    return _FORMULA.sub(lambda match: f"$`{match.group(1)}`$", text)
