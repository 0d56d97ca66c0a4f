"""Lies here so that pytest puts this folder on the path: tests of the executors share `travelling`, and two workers."""

import pytest

from algorithms.executors.processes import Processes


@pytest.fixture(scope="session")
def two_workers():
    """Return an executor of two processes, for tests that need none of their own: each takes over a second to start."""
    pool = Processes(2)
    yield pool
    pool.close()
