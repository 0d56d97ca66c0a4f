"""Declares claims whose check yields what a method judges."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Any

from paper_checks.claim import Claim, Evidence, claim

Found = Callable[..., Generator[Any, None, Any]]


def by(method: Callable[..., Evidence]) -> Callable[..., Callable[[Found], Claim]]:
    """A decorator like `claim`, with a method of judging: the decorated function yields what the method judges.

    Args:
        method: judges a list of what was yielded; what the function returns are its further arguments.
    """

    def declare(id: str, **fields: Any) -> Callable[[Found], Claim]:
        def declared(find: Found) -> Claim:
            @wraps(find)
            def judge(*data: Any, **constants: Any) -> Evidence:
                found, rest = find(*data, **constants), list[Any]()
                if not isinstance(found, Generator):
                    raise TypeError(f"{find.__name__} yields nothing that could be judged")
                return method(list(_followed(found, rest)), *rest)

            return claim(id, **fields)(judge)

        return declared

    return declare


def _followed(found: Generator[Any, None, Any], rest: list[Any]) -> Iterator[Any]:
    """All that a generator yields; what it returns in the end is put into a list."""
    returned = yield from found
    rest += returned if isinstance(returned, tuple) else (returned,)
