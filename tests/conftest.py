"""Property tests: the same examples in every run; `make test-deep` draws many new ones."""

import os

from hypothesis import settings

settings.register_profile("default", max_examples=30, deadline=None, derandomize=True, database=None)
settings.register_profile("deep", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
