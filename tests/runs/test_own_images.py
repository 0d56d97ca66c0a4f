"""Training on data of one's own: a folder of images, data sets and loaders."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from rankproof import main
from runs.networks.samples import splits_of
from runs.settings import RunError

X, Y = torch.arange(42.0).reshape(7, 6), torch.tensor([0, 1, 2, 0, 1, 2, 0])
TEST = (X[:3] + 0.5, Y[:3])


class Pairs(Dataset):
    """Samples as plain Python values."""

    def __len__(self):
        return 7

    def __getitem__(self, place):
        return X[place], int(Y[place])


class Stream(IterableDataset):
    """The same, one after the other."""

    def __iter__(self):
        yield from zip(X, Y, strict=True)


class Made(Dataset):
    """Inputs that a function makes when they are read."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 2

    def __getitem__(self, place):
        return self.make(), place


class Labels(Pairs):
    """Labels of one and of two numbers."""

    def __getitem__(self, place):
        return X[place], Y[: 1 + place]


@pytest.mark.parametrize(
    "train",
    [
        (X, Y),
        [X.numpy(), Y.numpy()],
        TensorDataset(X, Y),
        Pairs(),
        Stream(),
        DataLoader(Pairs(), batch_size=3, shuffle=True),
        DataLoader(Stream(), batch_size=2),
        DataLoader(Pairs(), batch_size=None),
        DataLoader(Stream(), batch_size=None),
        DataLoader([(X[:4], Y[:4]), (X[4:], Y[4:])], batch_size=None),
        (X.numpy().astype(">f4"), Y.numpy().astype(">i8")),
        (X.numpy(), Y.numpy().astype(np.uint16)),
    ],
    ids=[
        "tensors",
        "arrays",
        "tensor dataset",
        "dataset",
        "stream",
        "shuffled loader",
        "loader of a stream",
        "loader without batches",
        "the same of a stream",
        "loader of whole batches",
        "big-endian arrays",
        "unsigned",
    ],
)
def test_samples_come_in_the_order_of_the_data(train):
    (x, y), (x_test, y_test) = splits_of((train, TEST), "my:data")
    assert torch.equal(x, X)
    assert torch.equal(y, Y)
    assert torch.equal(x_test, TEST[0])
    assert torch.equal(y_test, TEST[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X, "must return"),
        ((X, Y), "because the run needs test data"),
        ((TensorDataset(X), TEST), "sample 0 in the training data of my:data must be an input and its label"),
        ((TensorDataset(X[:0], Y[:0]), TEST), "the training data of my:data contains no samples"),
        ((Made(lambda: Image.new("L", (2, 2))), TEST), "sample 0 in .* must be an input and its label .* Image,"),
        ((TEST, DataLoader(Made(object), 2)), "sample 0 in the test data of my:data must be an input .* object,"),
        ((Made(lambda: 1 / 0), TEST), r"reading sample 0 in the training data of my:data failed: ZeroDivisionError \("),
        ((Made(lambda: Image.open("nowhere")), TEST), "reading sample 0 in the .* failed: FileNotFoundError"),
        (((X.numpy().astype(object), Y), TEST), "the training data of my:data have an array of type object; make it"),
        (
            ((X, np.array(["a"] * 7)), TEST),
            "the training data of my:data have an array of type <U1; make it one of num",
        ),
        ((Made(lambda: X[0].to_sparse()), TEST), r"sample 0 in the training .* a sparse tensor .*pass x\.to_dense\(\)"),
        ((Made(lambda: X[0].to("meta")), TEST), "sample 0 in the training data of my:data holds a tensor on the meta"),
        ((Labels(), TEST), r"label of sample 1 in .* \(2,\), the first one \(1,\)"),
    ],
)
def test_other_values_are_refused_in_one_line(given, message):
    with pytest.raises(RunError, match=message):
        splits_of(given, "my:data")


def test_inputs_of_several_shapes_are_refused():
    message = r"sample 1 in the test data of my:data has the shape \(3,\), the first one \(2,\)"
    with pytest.raises(RunError, match=message):
        splits_of(((X, Y), Ragged()), "my:data")


class Ragged(Dataset):
    """Inputs of two and of three numbers."""

    def __len__(self):
        return 2

    def __getitem__(self, place):
        return torch.ones(2 + place), 0


def stripes(folder, rng):
    """Grey images of 6 x 9 pixels that are bright on the left or on the right."""
    for name in ("left", "right"):
        for number in range(20):
            pixels = rng.integers(0, 60, (6, 9))
            pixels[:, :4] += 150 * (name == "left")
            pixels[:, 5:] += 150 * (name == "right")
            path = folder / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).save(path)


def test_a_folder_of_images_is_trained_on_and_resumed_from_anywhere(tmp_path, monkeypatch, capsys):
    stripes(tmp_path / "photos", np.random.default_rng(0))
    monkeypatch.chdir(tmp_path)
    command = "train fedavg --data photos --model perceptron --width 8 --side 6 --clients 3 --learning-rate 0.3"
    assert main([*command.split(), "--rounds", "6", "--out", "run"]) == 0
    assert "accuracy 1," in capsys.readouterr().out
    stored = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert str(tmp_path / "photos") in json.dumps(stored)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0


def test_images_that_are_not_square_name_the_option(tmp_path, capsys):
    stripes(tmp_path / "photos", np.random.default_rng(0))
    assert (
        main(["train", "fedavg", "--data", str(tmp_path / "photos"), "--clients", "2", "--out", str(tmp_path / "r")])
        == 2
    )
    assert "takes square images, got 6 x 9 pixels; give --side N" in capsys.readouterr().err


def test_an_unknown_name_says_how_own_data_are_named(tmp_path, capsys):
    assert main(["train", "fedavg", "--data", "my-photos", "--out", str(tmp_path / "r")]) == 2
    assert "a folder of images by class, such as ./images, or module:function" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [
        {"sampler": SubsetRandomSampler(range(4))},
        {"sampler": [3, 2, 1, 0]},
        {"sampler": WeightedRandomSampler([1.0] * 7, 7)},
        {"sampler": RandomSampler(Pairs(), num_samples=3)},
        {"sampler": RandomSampler(Pairs(), replacement=True)},
        {"batch_sampler": [[0, 1], [2, 3]]},
    ],
)
def test_a_loader_that_chooses_samples_is_refused_because_the_whole_set_would_be_read(more):
    with pytest.raises(RunError, match=r"the test data of my:data are a loader whose sampler, a \w+, .*Subset"):
        splits_of((TEST, DataLoader(Pairs(), **more)), "my:data")


def test_a_part_of_a_data_set_is_that_part():
    (x, y), _ = splits_of((DataLoader(Subset(Pairs(), [5, 1]), batch_size=2, shuffle=True), TEST), "my:data")
    assert torch.equal(x, X[[5, 1]])
    assert torch.equal(y, Y[[5, 1]])


def test_masked_entries_are_refused_and_a_mask_of_none_is_fine():
    masked = np.ma.masked_array(X.numpy(), mask=np.zeros((7, 6), dtype=bool))
    (x, _), _ = splits_of(((masked, Y.numpy()), TEST), "my:data")
    assert torch.equal(x, X)
    masked[3, 2] = np.ma.masked
    with pytest.raises(RunError, match="the training data of my:data have masked entries; fill them"):
        splits_of(((masked, Y.numpy()), TEST), "my:data")


def test_unsigned_numbers_of_64_bits_are_whole_numbers_unless_they_are_too_large():
    labels = Y.numpy().astype(np.uint64)
    (_, y), _ = splits_of(((X.numpy(), labels), TEST), "my:data")
    assert torch.equal(y, Y)
    labels[2] = 2**63
    with pytest.raises(RunError, match="the number 9223372036854775808, which is too large"):
        splits_of(((X.numpy(), labels), TEST), "my:data")
