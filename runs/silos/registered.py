"""Registry of the work that a silo does on request, and of the settings it takes; a silo does nothing else."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Work
from algorithms.low_rank import Truncation
from runs.catalogue import ALGORITHMS, KINDS
from runs.silos.problem import local_loss
from runs.silos.wire import MessageError
from runs.stored import NamedTypes, named_types

DRAWS = ("draw", "_draws")
"""Methods of settings that draw a client's random numbers."""


@cache
def works() -> Mapping[str, Work]:
    """Return the work of the catalogue's algorithms by module and name: public functions of a client and its memory."""
    modules = {
        base.__module__
        for entry in ALGORITHMS.values()
        for base in entry.kind.__mro__
        if base.__module__.startswith("algorithms.")
    }
    found = [work for name in sorted(modules) for work in vars(sys.modules[name]).values() if _is_work(work, name)]
    return {work_name(work): work for work in (*found, local_loss)}


def work_name(work: Work) -> str:
    """Return the name of work in messages."""
    return f"{work.__module__.rpartition('.')[2]}.{work.__name__}"


@cache
def sent_kinds() -> NamedTypes:
    """Return the types that a silo reads in a request: named tuples, and settings of the catalogue's algorithms."""
    alternatives = [kind for kinds in KINDS.values() for kind in kinds.values() if kind.__module__[:4] == "algo"]
    settings = [Descent, Adapter, Truncation, *alternatives, *(entry.kind for entry in ALGORITHMS.values())]
    return {**answered_kinds(), **{f"{kind.__module__}.{kind.__qualname__}": kind for kind in settings}}


@cache
def answered_kinds() -> NamedTypes:
    """Return the types that a server reads in an answer: named tuples of the algorithms."""
    return named_types()


def describe_draw(draw: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Describe an exchange's `draw` for a message: the settings whose method it is, and its name.

    Raises:
        MessageError: It is not a method of settings.
    """
    if draw is None:
        return None
    owner, name = getattr(draw, "__self__", None), getattr(draw, "__name__", "")
    if owner is None or name not in DRAWS:
        raise MessageError(f"cannot be sent: {draw!r} draws random numbers and is not a method of settings")
    return {"of": owner, "by": name}


def find_draw(drawn: Any) -> Callable[..., Any] | None:
    """Return the method that `describe_draw` described.

    Raises:
        MessageError: There is none.
    """
    if drawn is None:
        return None
    if not isinstance(drawn, dict) or drawn.get("by") not in DRAWS or not hasattr(drawn.get("of"), drawn["by"]):
        raise MessageError("asks for random numbers in an unknown way")
    return getattr(drawn["of"], drawn["by"])


def _is_work(value: Any, module: str) -> bool:
    if not inspect.isfunction(value) or value.__module__ != module or value.__name__.startswith("_"):
        return False
    return list(inspect.signature(value).parameters)[:2] == ["client", "memory"]
