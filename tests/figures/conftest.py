"""One linear-algebra thread for the figures' tests."""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Matrices this small only wait for each other's threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
