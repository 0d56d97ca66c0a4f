"""Slow results that many tests of the papers ask for are computed once."""

import os
from collections.abc import Mapping
from functools import cache

import pytest
from replayed_once import replayed_once

from paper_checks.fedlrt.replays import simplified_rounds, worst_cases


@pytest.fixture(scope="session")
def stored_answers(tmp_path_factory):
    """In place of `replay_in_fresh_process`, for files as they are stored."""
    own = tmp_path_factory.getbasetemp()
    return replayed_once(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(autouse=True)
def _each_worst_case_once(monkeypatch):
    """The same certificate of a worst case is verified once for many changes of its neighbours."""
    monkeypatch.setattr(simplified_rounds, "_flaw", lambda content: _flaw_once(repr(_whole(content)), _SIMPLIFIED))
    monkeypatch.setattr(worst_cases, "_proves", lambda content: _flaw_once(repr(_whole(content)), _FULL))


_SIMPLIFIED, _FULL = simplified_rounds._flaw, worst_cases._proves


def _whole(content):
    """All of it, read."""
    if isinstance(content, Mapping):
        return {name: _whole(part) for name, part in content.items()}
    return [_whole(part) for part in content] if isinstance(content, list) else content


@cache
def _flaw_once(content, flaw_of):
    """The flaw of one certificate."""
    return flaw_of(eval(content))
