"""A problem from plain settings: genuine images where they are, and a user's own data and network by name."""

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from algorithms.rounds import rounds
from runs.networks.image_federation import ImageFederation
from runs.plan import make_plan, parts_of
from runs.settings import RunError
from workloads.data.datasets import REGISTRY, DataError, ImageSet
from workloads.partition import ByLabel, Dirichlet, DirichletInTurn, Even, Files, PartitionError

TRAIN, TEST = 90, 30


@pytest.fixture(autouse=True)
def noise(monkeypatch):
    """A data set of the registry that holds noise: nothing is read."""

    def load(name, root=None, split="train"):
        count = TRAIN if split == "train" else TEST
        rng = np.random.default_rng([count])
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        known = REGISTRY[name]
        labels = (np.arange(count) % 10).astype(np.uint8)
        return ImageSet(name, images, labels, split, ".", known.pixel_mean, known.pixel_deviation)

    monkeypatch.setattr("runs.networks.image_federation.load", load)


SMALL = {"data": "mnist", "model": "convnet", "side": 4, "width": 2, "clients": 5}


def test_settings_are_followed():
    made = ImageFederation(
        **SMALL, partition=Dirichlet(0.5), samples=60, test_samples=12, held_out=20, own_share=0.25, crop=2
    ).build(3)
    assert len(made.clients) == 5
    assert sum(made.clients.sizes) + sum(made.own.sizes) == 60
    assert made.own.sizes.tolist() == [3] * 5
    assert [len(split.x) for split in made.splits.values()] == [12, 20]
    assert made.clients.data.x.shape == (60, 4, 4)
    assert made.clients.network.preparation.padding == 2
    assert set(made.evaluate(made.start)) == {"loss", "accuracy", "validation_loss", "validation_accuracy"}
    assert made.name == "convnet on mnist"


@pytest.mark.sample(3)
@pytest.mark.parametrize("more", [{}, {"held_out": 30}, {"samples": 50}, {"held_out": 20, "samples": 45}])
@pytest.mark.parametrize("own_share", [0.0, 0.25])
def test_files_of_a_partition_count_the_samples_of_the_data(tmp_path, more, own_share):
    written = [range(80, 9, -2), range(37, 0, -6), (41, 43, 81, 5, 0)]
    for client, indices in enumerate(written):
        (tmp_path / f"client{client}.txt").write_text(" ".join(map(str, indices)))
    settings = {**SMALL, "clients": 1, "side": None}
    every = [row.tobytes() for row in ImageFederation(**settings).build(3).clients.data.x.numpy()]
    settings |= {"clients": 3, "partition": Files(str(tmp_path)), "own_share": own_share}
    made = ImageFederation(**settings, **more).build(3)
    place = [every.index(row.tobytes()) for row in made.clients.data.x.numpy()]
    assert len(place) == more.get("samples", TRAIN - more.get("held_out", 0))
    for client, indices in enumerate(written):
        given = [*made.clients.parts[client], *(made.own[client] if own_share else ())]
        assert {place[at] for at in given} == set(indices) & set(place)
    other = ImageFederation(**settings, **more).build(4)
    assert other.given["partition"] == made.given["partition"]  # the files are the same for every seed


def test_a_file_whose_samples_are_all_held_out_is_named(tmp_path):
    made = ImageFederation(**{**SMALL, "side": None}, held_out=30).build(3)
    every = [row.tobytes() for row in ImageFederation(**{**SMALL, "side": None}).build(3).clients.data.x.numpy()]
    held = {every.index(row.tobytes()) for row in made.splits["validation"].x.numpy()}
    for client in range(5):
        (tmp_path / f"{client}.txt").write_text(str(sorted(held if client == 3 else set(range(TRAIN)) - held)[client]))
    settings = {**SMALL, "partition": Files(str(tmp_path))}
    assert ImageFederation(**settings).build(3).clients.sizes.tolist() == [1] * 5
    with pytest.raises(PartitionError, match=r"no sample of .*3\.txt is left for training: all 1 are held out"):
        ImageFederation(**settings, held_out=30).build(3)
    (tmp_path / "3.txt").write_text(str(TRAIN))
    with pytest.raises(PartitionError, match=f"{TRAIN} is not a sample; there are {TRAIN}, counted from 0"):
        ImageFederation(**settings, held_out=30).build(3)


def test_the_side_of_a_is_not_named_where_the_names_would_be_exchanged():
    small = {name: value for name, value in SMALL.items() if name != "data"} | {"rank": 2, "rest": "frozen"}
    for algorithm in ("ffa-lora", "rolora"):
        parts_of(make_plan(algorithm, "mnist", {**small, "model": "two-layer"}))
        with pytest.raises(RunError, match="the weight of input has its inputs along the rows"):
            parts_of(make_plan(algorithm, "mnist", {**small, "model": "two-layer", "a_at": "outputs"}))
    found = parts_of(
        make_plan("ffa-lora", "mnist", {**small, "rest": "trained", "model": "perceptron", "a_at": "inputs"})
    )
    assert found.algorithm.adapter.a_at == "inputs"


def test_the_seed_decides():
    first, same, other = (ImageFederation(**SMALL).build(seed) for seed in (0, 0, 1))
    assert torch.equal(first.clients[2].indices, same.clients[2].indices)
    assert not torch.equal(first.clients[2].indices, other.clients[2].indices)
    name = next(iter(first.start))
    assert torch.equal(first.start[name], same.start[name])
    assert not torch.equal(first.start[name], other.start[name])


def test_images_are_standardised_on_the_way_to_the_network():
    made = ImageFederation(**{**SMALL, "side": None, "model": "perceptron"}).build(0)
    assert made.clients.data.x.dtype == torch.uint8
    inputs = made.clients.network.preparation(made.clients.data.x)
    expected = (made.clients.data.x / 255 - 0.1307) / 0.3081
    torch.testing.assert_close(inputs[:, 0], expected)


def test_it_trains():
    steps = rounds(FedAvg(Descent(batch=8, steps=2, learning_rate=0.05)), ImageFederation(**SMALL).build(0), rounds=1)
    assert np.isfinite(list(steps)[-1].metrics["loss"])


@pytest.fixture
def own(monkeypatch):
    module = types.ModuleType("own")
    x = torch.randn(40, 6)
    module.data = lambda: ((x, (x[:, 0] > 0).long()), (x[:8], (x[:8, 0] > 0).long()))
    module.network = lambda: nn.Linear(6, 2)
    module.three = lambda: (1, 2, 3)
    module.numbers = lambda: ((x.numpy(), [1] * 40), (x.numpy(), [1] * 40))
    module.none = lambda: None
    y = torch.arange(40) % 2
    module.unlabelled = lambda: ((x, y[:35]), (x, y))
    module.below = lambda: ((x, y), (x, y - 1))
    module.sparse = lambda: ((x, y), (x.to_sparse_csr(), y))
    module.nested = lambda: ((torch.nested.nested_tensor([x[:9], x[9:]], layout=torch.jagged), y), (x, y))
    module.quantized = lambda: (([torch.quantize_per_tensor(row, 0.1, 0, torch.qint8) for row in x], y), (x, y))
    module.infinite = lambda: ((x.clone().index_fill_(0, torch.tensor([3]), float("inf")), y), (x, y))
    monkeypatch.setitem(sys.modules, "own", module)


def test_own_data_and_network_by_name(own):
    made = ImageFederation(data="own:data", model="own:network", clients=4, partition=Dirichlet(1.0)).build(0)
    assert sum(made.clients.sizes) == 40
    assert set(made.start) == {"weight", "bias"}
    last = list(rounds(FedAvg(Descent(learning_rate=1.0, steps=5)), made, rounds=5))[-1]
    assert last.metrics["accuracy"] > 0.8


BY_CLASS = [Dirichlet(0.2), DirichletInTurn(0.2), ByLabel()]


@pytest.mark.sample(3)
@pytest.mark.parametrize("partition", BY_CLASS, ids=repr)
@pytest.mark.parametrize("kind", ["one-hot", "soft", "half"])
def test_probabilities_are_divided_by_the_likeliest_class(own, partition, kind):
    label = torch.arange(42) % 3
    x, shares = torch.randn(42, 6), nn.functional.one_hot(label, 3)
    if kind != "one-hot":
        shares = 0.4 * shares + 0.6 * torch.rand(42, 3).softmax(1).sort(1).values.gather(1, (shares - 1).argsort(1))
        assert torch.equal(shares.argmax(1), label)
    y = shares.half() if kind == "half" else shares.float()
    sys.modules["own"].dense = lambda: ((x, y), (x, y))
    sys.modules["own"].plain = lambda: ((x, label), (x, label))
    sys.modules["own"].network = lambda: nn.Linear(6, 3)
    common = {"model": "own:network", "clients": 3, "partition": partition, "held_out": 3, "samples": 33}
    parts = ImageFederation(data="own:plain", **common).build(5).clients.parts
    found = ImageFederation(data="own:dense", **common).build(5).clients.parts
    assert [part.tolist() for part in found] == [part.tolist() for part in parts]


@pytest.mark.parametrize("partition", BY_CLASS, ids=repr)
@pytest.mark.parametrize(
    "y",
    [
        torch.linspace(0, 1, 40),
        torch.rand(40, 2, generator=torch.Generator().manual_seed(0)),
        torch.ones(40, 1),
        torch.tensor([[2.0, -1.0]] * 40),
        torch.tensor([[1, 1, 0]] * 40),
        torch.zeros(40, 2, 3),
    ],
    ids=lambda y: f"{y.dtype} {tuple(y.shape)}",
)
def test_targets_without_classes_are_not_divided_by_class(own, partition, y):
    x = torch.randn(40, 6)
    sys.modules["own"].dense = lambda: ((x, y), (x, y))
    given = {"data": "own:dense", "model": "own:network", "clients": 2}
    with pytest.raises(PartitionError, match=r"divides by class, and targets .* name none; give a whole number"):
        ImageFederation(**given, partition=partition).build(0)


def test_targets_without_classes_are_divided_at_random(own):
    x, y = torch.randn(40, 6), torch.rand(40, 2)
    sys.modules["own"].dense = lambda: ((x, y), (x, y))
    made = ImageFederation(data="own:dense", model="own:network", clients=2, partition=Even()).build(0)
    assert list(made.clients.sizes) == [20, 20]


def test_a_named_network_has_an_output_for_each_column_of_probabilities(own):
    x, y = torch.rand(12, 1, 8, 8), nn.functional.one_hot(torch.arange(12) % 4, 4).float()
    sys.modules["own"].dense = lambda: ((x, y), (x, y))
    made = ImageFederation(data="own:dense", model="perceptron", clients=2).build(0)
    assert list(made.start.values())[-1].shape == (4,)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            (12, 8, 8, 3),
            r"images of shape \(n, channels, height, width\), got \(12, 8, 8, 3\), which has the channels last",
        ),
        ((12, 8, 9, 1), r"got \(12, 8, 9, 1\), which has the channels last; return x.permute\(0, 3, 1, 2\)"),
        ((12, 3, 8, 9), "takes square images, got 8 x 9 pixels; make them square in own:shaped"),
        ((12, 8, 9), "takes square images, got 8 x 9 pixels; make them square in own:shaped"),
    ],
)
def test_images_of_another_shape_have_a_remedy_that_is_taken(own, shape, message):
    x, y = torch.rand(shape), torch.arange(12) % 2
    sys.modules["own"].shaped = lambda: ((x, y), (x, y))
    with pytest.raises(RunError, match=message):
        ImageFederation(data="own:shaped", model="perceptron", clients=2).build(0)


@pytest.mark.parametrize("shape", [(12, 3, 8, 8), (12, 8, 8), (12, 5, 4, 4), (12, 3, 3, 3)])
def test_square_images_with_channels_first_are_taken(own, shape):
    x, y = torch.rand(shape), torch.arange(12) % 2
    sys.modules["own"].shaped = lambda: ((x, y), (x, y))
    made = ImageFederation(data="own:shaped", model="perceptron", clients=2).build(0)
    assert made.clients.data.x.shape == shape


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model": "lenet"}, RunError, "unknown model 'lenet'; known: resnet10"),
        ({"data": "imagenet"}, DataError, "unknown data set 'imagenet'"),
        ({"clients": 91}, DataError, "90 samples cannot be divided among 91 clients"),
        ({"samples": 91}, RunError, "samples must be from 1 to 90, got 91"),
        ({"test_samples": 31}, RunError, "test_samples must be from 1 to 30, got 31"),
        ({"adapt": "pad"}, RunError, "convnet takes images of any size; adapt is for alexnet, vgg16, vit"),
        ({"data": "own:data", "side": 4}, RunError, "side has no effect on what own:data returns; leave it out"),
        ({"model": "own:network", "width": 2}, RunError, "width has no effect on what own:network returns"),
        ({"model": "own:network", "norm": "group"}, RunError, "norm has no effect on what own:network returns"),
        ({"model": "own:network", "adapt": "pad"}, RunError, "adapt has no effect on what own:network returns"),
        ({"held_out": 90}, DataError, "the validation set must have from 0 to 89"),
        ({"side": 10}, RunError, r"side must divide 28, so be one of \[1, 2, 4, 7, 14, 28\], got 10"),
        ({"model": "vgg16"}, RunError, "VGG16 takes images of 32 x 32, got 4 x 4; adapt='pad'"),
        ({"own_share": 1.5}, DataError, "between 0 and 1, got 1.5"),
        ({"data": "own:three", "model": "own:network"}, RunError, "own:three must return"),
        ({"data": "own:numbers", "model": "own:network"}, FederationError, "must be two tensors, got Tensor and list"),
        ({"data": "own:none", "model": "own:network"}, RunError, "own:none returned None"),
        (
            {"data": "own:unlabelled", "model": "own:network"},
            FederationError,
            "have 40 inputs and 35 labels; each input",
        ),
        (
            {"data": "own:below", "model": "own:network"},
            RunError,
            "sample 0 of the test data has label -1; labels count",
        ),
        ({"data": "own:sparse", "model": "own:network"}, FederationError, r"the test inputs hold a sparse .*to_dense"),
        ({"data": "own:nested", "model": "own:network"}, FederationError, "the training inputs hold a nested tensor"),
        ({"data": "own:quantized", "model": "own:network"}, FederationError, r"hold a quantized .*x\.dequantize\(\)"),
        ({"data": "own:infinite", "model": "own:network"}, FederationError, "input 3 of the training data is not fin"),
        ({"data": "own:data"}, RunError, r"convnet takes images, not inputs of shape \(6,\); name a model of yours"),
        ({"model": "own:network"}, FederationError, "cannot take the training data, of shape"),
        ({"model": "own:nothing"}, RunError, "nothing"),
        ({"device": "cuda:7"}, RunError, "the device cuda:7 is not there: "),
        ({"device": "cuda:0,cuda:1"}, RunError, "takes one device, got cuda:0,cuda:1; .* --executor ray --device cuda"),
        ({"device": "quantum"}, RunError, "quantum"),
    ],
)
def test_what_does_not_go_together_is_one_line(own, monkeypatch, settings, error, message):
    from workloads.data.datasets import load

    if settings.get("data") == "imagenet":
        monkeypatch.setattr("runs.networks.image_federation.load", load)
    device = settings.pop("device", "cpu")
    small = dict(SMALL)
    for name, of in (("side", "data"), ("width", "model")):  # no settings of what a function gives
        if ":" in settings.get(of, ""):
            del small[name]
    with pytest.raises(error, match=message) as caught:
        ImageFederation(**{**small, **settings}).build(0, device)
    assert "\n" not in str(caught.value)
