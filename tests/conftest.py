"""Property tests: the same examples in every run; `make test-deep` draws many new ones."""

import os

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=30, deadline=None, derandomize=True, database=None)
settings.register_profile("deep", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def _no_results_of_other_runs(tmp_path_factory):
    """The last results that `rankproof show` answers from are those of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
