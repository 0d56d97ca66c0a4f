"""Declares claims whose check yields what a method judges."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Any

from paper_checks.claim import Claim, Evidence, claim, constants_of
from paper_checks.evaluation import as_written

Found = Callable[..., Generator[Any, None, Any]]


def by(method: Callable[..., Evidence], *, exact: bool = False) -> Callable[..., Callable[[Found], Claim]]:
    """Return a decorator like `claim`, with a method of judging: the decorated function yields what the method judges.

    Args:
        method: judges a list of what was yielded; what the function returns are its further arguments.
        exact: whether the function receives constants that are floats as fractions.
    """

    def declare(id: str, **fields: Any) -> Callable[[Found], Claim]:
        def declared(find: Found) -> Claim:
            floats = {name: one for name, one in constants_of(find).items() if isinstance(one, float | list | tuple)}

            @wraps(find)
            def judge(*data: Any, **constants: Any) -> Evidence:
                if exact:
                    constants = {name: as_written(value) for name, value in {**floats, **constants}.items()}
                found, rest = find(*data, **constants), list[Any]()
                if not isinstance(found, Generator):
                    raise TypeError(f"{find.__name__} yields nothing to judge")
                return method(list(_collect(found, rest)), *rest)

            return claim(id, **fields)(judge)

        return declared

    return declare


def _collect(found: Generator[Any, None, Any], rest: list[Any]) -> Iterator[Any]:
    """Yield all that a generator yields; what it returns in the end is put into a list."""
    returned = yield from found
    rest += returned if isinstance(returned, tuple) else (returned,)
