"""Images are read once for the runs of an experiment, and again when their files change."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from runs.networks import image_federation
from runs.networks.image_federation import ImageFederation
from workloads.data.datasets import DataError, find

ROOT = Path(__file__).resolve().parents[3] / "data"
SETTINGS = ImageFederation("mnist", "perceptron", clients=2, side=7, samples=40, test_samples=30)


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = find("mnist", ROOT)
    if folder is None:
        pytest.skip("MNIST is not here: `rankproof data fetch mnist`")
    monkeypatch.setenv("RANKPROOF_DATA", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "MNIST" / "raw")
    image_federation._load_images.cache_clear()
    yield tmp_path
    image_federation._load_images.cache_clear()


def reads():
    return image_federation._load_images.cache_info().misses


def test_the_next_problem_reads_nothing_and_is_the_same(place):
    first = SETTINGS.build(0, root=str(place))
    assert reads() == 2
    second = SETTINGS.build(0, root=str(place))
    assert reads() == 2
    for split, data in first.splits.items():
        assert torch.equal(data.x, second.splits[split].x)
        assert torch.equal(data.y, second.splits[split].y)
    assert torch.equal(first.clients.data.x, second.clients.data.x)


def test_changed_files_are_read_and_verified_again(place):
    SETTINGS.build(0, root=str(place))
    file = next(path for path in (place / "MNIST" / "raw").iterdir() if "t10k-labels" in path.name)
    os.utime(file, ns=(1, 1))
    SETTINGS.build(0, root=str(place))
    assert reads() == 4
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataError, match="t10k-labels"):
        SETTINGS.build(0, root=str(place))
    shutil.rmtree(place / "MNIST")
    with pytest.raises(DataError, match="MNIST was not found"):
        SETTINGS.build(0, root=str(place))
