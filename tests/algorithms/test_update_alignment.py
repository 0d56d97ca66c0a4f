"""The cosine of clients' updates and the server's, for numbers whose squares their type cannot hold."""

import pytest
import torch

from algorithms.alignment import alignment
from algorithms.tree import Tree


class Averaging:
    """An algorithm whose state and uploads are models."""

    weights = staticmethod(lambda state: state)
    client_model = staticmethod(lambda state, upload: upload)


def model(*weights):
    return Tree(w=torch.tensor(weights, dtype=torch.float16))


def test_weights_in_half_precision_are_compared_in_double():
    start, end = model(1.0, 1.0), model(301.0, 1.0)  # 300^2 is beyond the largest number of 65,504
    assert alignment(Averaging, start, end, [model(301.0, 401.0)]) == pytest.approx(0.6, rel=1e-12)
    assert alignment(Averaging, start, end, [model(301.0, 401.0), end]) == pytest.approx(0.8, rel=1e-12)
