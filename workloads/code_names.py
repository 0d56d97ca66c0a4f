"""Pattern of a name of code, ``module:name``, both for imports and for the question of trust."""

import re

_CODE = re.compile(r"[^\s:/\\]+:[^\W\d][\w.]*")


def names_code(text: str) -> bool:
    """Return whether a text has the form ``module:name``; nothing is imported for any other text."""
    return _CODE.fullmatch(text) is not None
