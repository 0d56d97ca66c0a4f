"""Slow results that many tests of the papers ask for are computed once."""

import os
from collections.abc import Mapping
from functools import cache

import pytest
from replayed_once import replayed_once

from paper_checks.fedlrt.replays import thm_1, thm_4, thm_8


@pytest.fixture(scope="session")
def stored_answers(tmp_path_factory):
    """In place of `replay_in_fresh_process`, for files as they are stored."""
    own = tmp_path_factory.getbasetemp()
    return replayed_once(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(autouse=True)
def _each_worst_case_once(monkeypatch):
    """Return the same certificate of a worst case is verified once for many changes of its neighbours."""
    for module, name, proved in _PROVED:
        monkeypatch.setattr(module, name, lambda content, proved=proved: _proved_once(repr(_whole(content)), proved))


_PROVED = (
    (thm_4, "simplified_steps_are_bounded", thm_4.simplified_steps_are_bounded),
    (thm_1, "corrected_steps_are_bounded", thm_1.corrected_steps_are_bounded),
    (thm_8, "corrected_steps_are_bounded", thm_8.corrected_steps_are_bounded),
)
"""Module, name and function of the proofs of one certificate."""


def _whole(content):
    """Return all of it, read."""
    if isinstance(content, Mapping):
        return {name: _whole(part) for name, part in content.items()}
    return [_whole(part) for part in content] if isinstance(content, list) else content


@cache
def _proved_once(content, proved):
    """Prove one certificate, once if it is proved."""
    proved(eval(content))
