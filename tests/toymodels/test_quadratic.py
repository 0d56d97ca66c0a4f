"""Quadratic losses seen through bases."""

import numpy as np
import pytest
import torch

from toymodels.quadratic import random_quadratics


def test_bases_that_are_views_are_as_good_as_copies():
    client = random_quadratics((4, 3), 1, np.random.default_rng(0)).clients[0]
    U, V = torch.eye(4, dtype=torch.float64)[:, :2], torch.linalg.qr(torch.ones(3, 1, dtype=torch.float64))[0]
    S = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    whole = client.loss({"W": U @ S @ V.mT})
    assert float(client.projected({"W": U}, {"W": V}).loss({"W": S})) == pytest.approx(float(whole))
