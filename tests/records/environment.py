"""Variables of the environment inside a context."""

import os
from contextlib import contextmanager


@contextmanager
def variables(**values):
    """Set variables, or remove those that are None, and restore all of them at the end."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
