"""Texts within messages and tables."""


def shorten(text: str, most: int) -> str:
    """Return a text without its middle if it is too long; the ends of a message hold cause and remedy.

    >>> shorten("a" * 20 + "b" * 20, 9)
    'aaa...bbb'
    """
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def as_cell(text: str) -> str:
    """Return a text as a cell of a CSV file: after an apostrophe if a spreadsheet would compute it as a formula.

    >>> as_cell("=1+1"), as_cell("x = 1")
    ("'=1+1", 'x = 1')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
