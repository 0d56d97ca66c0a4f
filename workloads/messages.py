"""Texts within messages."""


def shorten(text: str, most: int) -> str:
    """Return a text without its middle if it is too long; the ends of a message hold cause and remedy.

    >>> shorten("a" * 20 + "b" * 20, 9)
    'aaa...bbb'
    """
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
