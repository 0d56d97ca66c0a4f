"""Runs tests in forks of one process that holds the libraries and nothing of the project (used by `mutants.py`).

Reads one order a line (JSON): `files` of tests; `tests`, if not all of them, in the order wanted; `limits`, the
processor seconds after which a test of that name ends the process, as waiting for much longer does; `cover` and
`sources`, the file for which test runs which line of these; `report`, the file for the seconds of each test and the
one that failed.
Prints the number of the process that runs them, then its exit status.
"""

import gc
import json
import os
import signal
import sys
from collections import defaultdict
from contextlib import suppress

import hypothesis  # noqa: F401
import matplotlib.font_manager  # noqa: F401 - looks for fonts, once in each home
import pandas  # noqa: F401
import pytest
import scipy.linalg
import scipy.optimize
import scipy.stats  # noqa: F401
import sympy  # noqa: F401
import torch
import torch._dynamo  # else the first clone under a dispatch mode loads it, for some seconds

LOADING = 60.0
"""Processor seconds for imports and for tests without a limit."""
WAITING = 300.0
"""Seconds beyond ten times those of the processor: what a test waits for may get little of it."""


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


class Report:
    """Seconds of each test, the first that failed and what it said, as a file."""

    def __init__(self, file) -> None:
        self.file, self.seconds, self.failed, self.why = file, defaultdict(float), None, ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Processor seconds of set-up, call and tear-down, and of the processes they start."""
        before = sum(os.times()[:4])
        yield
        self.seconds[item.nodeid] += sum(os.times()[:4]) - before

    def pytest_runtest_logreport(self, report):
        """Keeps the first name."""
        if report.failed and self.failed is None:
            self.failed, self.why = report.nodeid, report.longreprtext

    def pytest_sessionfinish(self):
        """Writes the file."""
        with open(self.file, "w") as stream:
            json.dump({"seconds": self.seconds, "failed": self.failed, "why": self.why}, stream)


class Chosen:
    """Some of the tests, in the order given."""

    def __init__(self, tests) -> None:
        self.rank = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leaves the others out."""
        items[:] = sorted((item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])


class Limits:
    """Ends the process when a test uses much more of the processor than it should, or only waits."""

    def __init__(self, limits) -> None:
        self.limits = limits
        self._set(LOADING)

    def _set(self, seconds):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, WAITING + 10 * seconds)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Around each test."""
        self._set(self.limits.get(item.nodeid, LOADING))
        yield
        self._set(LOADING)


def carry_out(order):
    """Runs the tests of an order in this process."""
    plugins, measured = [], None
    if "cover" in order:
        import coverage

        measured = coverage.Coverage(data_file=order["cover"], include=order["sources"], config_file=False)
        measured.start()
        plugins.append(Contexts(measured))
    if "tests" in order:
        plugins.append(Chosen(order["tests"]))
    if "limits" in order:
        plugins.append(Limits(order["limits"]))
    plugins.append(Report(order["report"]))
    options = ["-q", "-x", "--assert=plain", "--doctest-modules", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*options, *order["files"]], plugins)
    if measured is not None:
        measured.stop()
        measured.save()
    return int(status)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    gc.collect()
    gc.freeze()  # pytest collects garbage twice a run: without the libraries, most of a mutant's time
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            order = json.loads(line)
            os._exit(carry_out(order))
        print(child, flush=True)
        status = os.waitpid(child, 0)[1]
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # what a wrong line left behind
        print(os.waitstatus_to_exitcode(status), flush=True)
