"""Runs: an algorithm on a problem, round by round, into a table, and into a folder that an interrupted run resumes.

`runs.load(folder)` returns the metrics of a run as a data frame; it is imported when it is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runs.frames import load


def __getattr__(name: str) -> Any:
    """Return the public function."""
    if name == "load":
        from runs.frames import load

        return load
    raise AttributeError(f"module 'runs' has no attribute {name!r}")


__all__ = ["load"]
