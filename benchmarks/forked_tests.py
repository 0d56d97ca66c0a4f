"""Runs tests in forks of one process with the libraries loaded, but not the project (used by `mutants.py`).

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
    """A plugin that gives the coverage measurement the name of the running test."""

    def __init__(self, coverage) -> None:
        self.coverage = coverage

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Set the context around each test."""
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")


class Report:
    """A plugin that writes the seconds of each test, and the first failure with its message, to a file."""

    def __init__(self, file) -> None:
        self.file, self.seconds, self.failed, self.why = file, defaultdict(float), None, ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Measure processor seconds of set-up, call and tear-down, and of the processes that they start."""
        before = sum(os.times()[:4])
        yield
        self.seconds[item.nodeid] += sum(os.times()[:4]) - before

    def pytest_runtest_logreport(self, report):
        """Keep the name of the first failure."""
        if report.failed and self.failed is None:
            self.failed, self.why = report.nodeid, report.longreprtext

    def pytest_sessionfinish(self):
        """Write the file."""
        with open(self.file, "w") as stream:
            json.dump({"seconds": self.seconds, "failed": self.failed, "why": self.why}, stream)


class Chosen:
    """A plugin that selects tests, in the given order."""

    def __init__(self, tests) -> None:
        self.rank = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leave the other tests out."""
        items[:] = sorted((item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])


class Limits:
    """A plugin that ends the process if a test uses far more processor time than it should, or only waits."""

    def __init__(self, limits) -> None:
        self.limits = limits
        self._set(LOADING)

    def _set(self, seconds):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, WAITING + 10 * seconds)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Set the limit around each test."""
        self._set(self.limits.get(item.nodeid, LOADING))
        yield
        self._set(LOADING)


def carry_out(order):
    """Run the tests of an order in this process."""
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
    options = [
        "-q",
        "-x",
        "-m",
        "not slow",
        "--assert=plain",
        "--doctest-modules",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
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
