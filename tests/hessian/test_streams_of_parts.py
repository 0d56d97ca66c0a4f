"""Random streams of a measurement: every part and every block has its own, and equal settings give equal numbers."""

import numpy as np
import pytest
import torch
from torch import nn

import hessian.spectrum as module
from hessian import Curvature, SpectrumSettings
from hessian.block_ranks import block_ranks
from hessian.spectrum import STREAMS


@pytest.fixture(scope="module")
def operator():
    """Blocks of 8, 9, 9 and 8 parameters, two of them of one shape, and a layer that the loss does not reach."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(2, 3)).double()
    network.idle = nn.Linear(1, 1).double()
    network.forward = lambda x: network[4](network[3](network[2](network[1](network[0](x)))))
    x, y = torch.randn(7, 3).double(), torch.randn(7, 3).double()
    return Curvature(network, nn.MSELoss(), (x, y))


def drawn(operator, seed, monkeypatch):
    """First draws of the search of every block, by name."""
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "stable_rank_of", lambda block, rng, **_: found.append(tuple(rng.random(4))))
        names = [block.name for block in block_ranks(operator, SpectrumSettings(seed=seed)) if not block.why]
    return dict(zip(names, found, strict=True))


def test_parts_and_blocks_have_streams_that_differ_pairwise(operator, monkeypatch):
    def streams():
        found = {}
        for seed in range(4):
            found |= {(seed, part): tuple(SpectrumSettings(seed=seed).rng(part).random(4)) for part in STREAMS}
            found |= {(seed, "block", name): draw for name, draw in drawn(operator, seed, monkeypatch).items()}
        return found

    found = streams()
    assert len(found) == 4 * (3 + 4)
    assert len(set(found.values())) == len(found)
    assert streams() == found


def test_blocks_inside_one_module_have_streams_of_their_own(monkeypatch):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 3)), nn.Sequential(nn.Linear(3, 2)))
    found = drawn(
        Curvature(network.double(), nn.MSELoss(), (torch.randn(7, 3).double(), torch.randn(7, 2).double())),
        0,
        monkeypatch,
    )
    assert set(found) == {"0.0", "0.1", "1.0"}
    assert len(set(found.values())) == 3


def test_every_block_has_the_rank_of_its_own_matrix(operator):
    found = {block.name: block for block in block_ranks(operator, SpectrumSettings())}
    assert {name: block.P for name, block in found.items()} == {"0": 8, "2": 9, "3": 8, "4": 9, "idle": 2}
    assert found["idle"].rank is None
    assert found["idle"].why == "the loss does not depend on it"
    for name, block in operator.blocks().items():
        if name != "idle":
            values = np.linalg.eigvalsh(block.products(torch.eye(block.P).double()).numpy())
            rank = float((values**2).sum() / np.abs(values).max() ** 2)
            assert found[name].rank.value == pytest.approx(rank, rel=1e-6)
            assert rank in found[name].rank
