"""Runs tests in forks of one process that holds the libraries and nothing of the project (used by `mutants.py`).

Reads one order a line (JSON): `tests`, and the files for `cover` (which test reaches which line) and `report` (how long
each test took). Prints the number of the process that runs them, then its exit status.
"""

import json
import os
import sys
from collections import defaultdict

import hypothesis  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.linalg
import scipy.optimize
import scipy.stats  # noqa: F401
import sympy  # noqa: F401
import torch


class Contexts:
    """Names the running test to the measurement of coverage."""

    def __init__(self, coverage) -> None:
        self.coverage = coverage

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Around each test."""
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")


class Durations:
    """Seconds of each test, as a file."""

    def __init__(self, file) -> None:
        self.file, self.seconds = file, defaultdict(float)

    def pytest_runtest_logreport(self, report):
        """Set-up, call and tear-down."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self):
        """Writes the file."""
        with open(self.file, "w") as stream:
            json.dump(self.seconds, stream)


def carry_out(order):
    """Runs the tests of an order in this process."""
    plugins, measured = [], None
    if "cover" in order:
        import coverage

        measured = coverage.Coverage(data_file=order["cover"], source=["."], config_file=False)
        measured.start()
        plugins.append(Contexts(measured))
    if "report" in order:
        plugins.append(Durations(order["report"]))
    status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *order["tests"]], plugins)
    if measured is not None:
        measured.stop()
        measured.save()
    return int(status)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            os._exit(carry_out(json.loads(line)))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
