"""Property tests: the same examples in every run; `make test-deep` draws many new ones."""

import gc
import os
import random
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=30, deadline=None, derandomize=True, database=None)
settings.register_profile("deep", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

LEFT = Path(__file__).with_name("left_to_test_all.txt")
"""Tests that `make test` leaves to `make test-all`, by `benchmarks/left_to_test_all.py`."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep what is collected, which stays to the end, out of every search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Let networks that a test or its fixtures make without a seed start alike, regardless of the tests before."""
    if torch := sys.modules.get("torch"):  # whose `manual_seed` formats the stack for devices that are not in use yet
        (torch if torch.cuda.device_count() else torch.default_generator).manual_seed(0)


def pytest_collection_modifyitems(items):
    """Mark as slow what `make test` leaves out: tests of a list, and all but n cases of a family with `sample(n)`."""
    families = defaultdict(list)
    left = set(LEFT.read_text(encoding="utf-8").splitlines()) if LEFT.exists() else set()
    for item in items:
        if item.nodeid in left:
            item.add_marker(pytest.mark.slow)
        if mark := item.get_closest_marker("sample"):
            families[item.parent.nodeid, item.originalname, mark.args[0]].append(item)
    for (_, name, kept), cases in families.items():
        drawn = random.Random(name).sample(cases, min(kept, len(cases)))
        for case in cases:
            if case not in drawn:
                case.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _no_results_of_other_runs(tmp_path_factory):
    """The last results that `rankproof show` answers from are those of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
