"""Records of images and networks from plain settings: data of a user, their division, networks, and what is refused."""

import numpy as np
import torch
from hidden_folder import in_folder
from recording import refused
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
)

from runs.networks.image_federation import (
    ImageFederation,
    _are_shares,
    _classes_of,
    compute_probe,
    digest_of,
    parts_from_files,
    torch_device,
)
from runs.networks.network_function import seeded_draws
from runs.networks.samples import splits_of
from workloads.partition import ByLabel, Dirichlet, Even, Files

X = ((37.0 * torch.arange(12 * 9, dtype=torch.float64)) % 101 / 64 - 0.75).reshape(12, 3, 3)
Y = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 1, 0])
HERE = "record_runs_images"


def _data():
    return (X, Y), (X[:5] + 0.25, Y[:5])


def _drawn_data():
    x = torch.rand(6, 4, 4)
    return (x, Y[:6]), (x[:2], Y[:2])


def _shares():
    y = nn.functional.one_hot(Y, 4).double()
    return (X, y), (X[:5], y[:5])


def _negative():
    return (X, Y - 1), (X[:5], Y[:5])


def _network():
    made = nn.Sequential(nn.Flatten(), nn.Linear(9, 3).to(torch.float64))
    with torch.no_grad():
        made[1].weight.copy_((11.0 * torch.arange(27.0) % 29 / 32 - 0.5).reshape(3, 9))
        made[1].bias.copy_(torch.tensor([0.25, 0.0, -0.5]))
    return made


def _federation(**given):
    return ImageFederation(**{"data": f"{HERE}:_data", "model": f"{HERE}:_network", "clients": 3, **given})


def a_federation_of_own_functions():
    made = _federation(samples=9, test_samples=4, held_out=2, own_share=0.34, eval_batch=4).build(3)
    yield list(made.clients.sizes), made.clients[0].indices, made.own.sizes, made.own.order, made.name, [*made.given]
    yield made.evaluate(made.start), made.given["data"], made.clients.data.y, made.rows


def a_federation_in_the_paper_s_network():
    made = _federation(model="convnet", data=f"{HERE}:_drawn_data", width=2, clients=2, crop=1, flip=True).build(1)
    yield {name: list(value.shape) for name, value in made.start.items()}, made.given
    prepare = made.clients.network.preparation
    yield prepare.padding, list(made.clients.sizes), made.splits["test"].y


def federations_that_are_refused():
    for given in (
        {"samples": 0},
        {"samples": 13},
        {"samples": 11, "held_out": 2},
        {"held_out": 12},
        {"test_samples": 0},
        {"eval_batch": 0},
        {"side": 0},
        {"crop": -1},
        {"width": 2},
        {"norm": "group"},
        {"adapt": "pad"},
        {"side": 2},
        {"data": f"{HERE}:_negative"},
        {"data": f"{HERE}:_network"},
        {"data": "no_such_module:f"},
        {"clients": 13},
        {"model": "convnet", "adapt": "pad"},
        {"model": "convnett"},
    ):
        yield refused(lambda **given: _federation(**given).build(0), **given)


def crops_and_networks_of_shapes():
    made, grey, colours = _federation(), torch.ones(2, 5, 4), torch.ones(2, 4, 5, 5)
    for crop in (0, 3, 4):
        for x in (grey, colours, torch.ones(2, 5)):
            yield refused(_federation(crop=crop, flip=crop == 0)._preparation, x, None)
    yield refused(made._preparation, grey, None), refused(made._preparation, grey, ((0.5,), (0.25,)))
    named = _federation(model="convnet", width=2)
    shapes = [(2, 5), (2, 5, 5, 3), (2, 5, 5, 5), (2, 3, 4, 4), (2, 5, 4), (2, 4, 4, 4), (2, 5, 5, 4), (2, 5, 5)]
    for shape in shapes:
        found = refused(named._network, torch.ones(shape), 3, 0, torch.device("cpu"))
        yield found if isinstance(found, str) else [list(parameter.shape) for parameter in found.parameters()][:2]
    of_names = _federation(model="convnet", data="mnist")
    yield refused(of_names._network, torch.ones(2, 5, 4), 3, 0, torch.device("cpu"))


def splits_of_own_functions():
    for name in ("data", "drawn_data", "shares", "negative"):
        for seed in (0, 1):
            found = refused(_federation(data=f"{HERE}:_{name}")._splits, None, seed)
            yield found if isinstance(found, str) else [found[0][0].sum(), found[1][0].shape, found[2], found[3]]


def suggestions_for_images():
    for given in ({}, {"steps": 3}, {"model": "convnet"}, {"model": "a:b"}, {"model": "resnet18", "steps": None}):
        yield ImageFederation.suggest(given)
    yield ImageFederation().folder, ImageFederation("a:b").folder, ImageFederation(".").folder


def classes_of_targets():
    half = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    for y in (Y, half, half + 6e-4, half + 4e-4, -half, half[:, :1], half.to(torch.int64), Y.double(), half.half()):
        yield _are_shares(y), refused(_classes_of, y, Even()), refused(_classes_of, y, ByLabel())
    yield refused(_classes_of, Y.double(), Dirichlet(1.0))


def digests_of_tensors():
    yield digest_of(), digest_of(X), digest_of(X.float()), digest_of(X, Y), digest_of(Y, X), digest_of(X.reshape(9, 12))
    yield (
        digest_of(_network()),
        digest_of(nn.Sequential(_network())),
        digest_of(X.T if X.ndim == 2 else X.transpose(1, 2)),
    )


def probes_of_networks():
    made = _federation(clients=2).build(0)
    yield compute_probe(made), compute_probe(made, 4), made.given


@in_folder
def parts_in_files(folder):
    np.savetxt(folder / "0.txt", [3, 1, 8], fmt="%d")
    np.savetxt(folder / "1.txt", [5, 0], fmt="%d")
    partition = refused(Files, str(folder))
    if isinstance(partition, str):
        return partition
    for kept in (np.arange(9), np.array([0, 1, 5]), np.array([0, 5])):
        found = refused(parts_from_files, partition, 9, kept, 2)
        yield found if isinstance(found, str) else [found[0].order, found[0].bounds, found[1]]


def devices():
    made = [refused(torch_device, name) for name in ("cpu", "cpu:0", "cuda,cpu", "meta")]
    return [*map(str, made), refused(torch_device, "nonsense").partition(": ")[2].partition(":")[0]]


def draws_of_a_seed():
    for seed in (0, 1):
        with seeded_draws(seed, torch.device("cpu")):
            yield torch.rand(1), torch.randint(100, (2,))


class _Pairs(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, place):
        if self.pairs[place] is None:
            raise ValueError("no sample")
        return self.pairs[place]


class _Stream(IterableDataset):
    def __iter__(self):
        yield from zip(X[:3], Y[:3], strict=True)


def _split(given):
    found = refused(splits_of, (given, (X[:1], Y[:1])), "own:data")
    return found if isinstance(found, str) else [[part.shape, part.dtype, part.double().sum()] for part in found[0]]


def samples_of_data_sets_and_loaders():
    pairs, tensors = _Pairs([(X[0], 1), (X[1], 2), (X[2], 0)]), TensorDataset(X, Y)
    for given in (
        (X, Y),
        [X, Y],
        pairs,
        tensors,
        _Stream(),
        Subset(tensors, [4, 2]),
        DataLoader(tensors, batch_size=5),
        DataLoader(tensors, batch_size=5, drop_last=True, shuffle=True),
        DataLoader(pairs, batch_size=None),
        DataLoader(_Stream(), batch_size=2),
        DataLoader(tensors, collate_fn=lambda samples: (samples[0][0][None] * 2, samples[0][1][None] + 1)),
        DataLoader(tensors, sampler=WeightedRandomSampler([1.0] * 12, 12)),
        DataLoader(tensors, sampler=[3, 1]),
        DataLoader(tensors, batch_sampler=[[1, 2]]),
        DataLoader(tensors, batch_sampler=BatchSampler([0, 1], 2, False)),
    ):
        yield _split(given)


def samples_that_are_refused():
    for pairs in (
        [],
        [(X[0], 1), (X[1, :2], 1)],
        [(X[0], Y[:2]), (X[1], Y[:3])],
        [(X[0], 1), None],
        [X[0]],
        [(X[0], 1, 2)],
        [(X[0], "a")],
        [(X[0].to_sparse(), 1)],
        [(X[0], 1.5)],
    ):
        yield (
            _split(_Pairs(pairs)).partition(" (")[0]
            if isinstance(_split(_Pairs(pairs)), str)
            else _split(_Pairs(pairs))
        )
    for given in (3, (X, Y), [(X, Y)], ((X, Y), (X, Y), (X, Y)), {"a": 1, "b": 2}):
        yield refused(lambda given: len(splits_of(given, "own:data")), given)


def arrays_become_tensors():
    x = X[:2].numpy()
    for array in (
        x,
        x.astype(">f4"),
        np.array([1, 2**40], np.uint64),
        np.array([2**63 - 1], np.uint64),
        np.array([2**63], np.uint64),
        np.array([1, 200], np.uint8),
        np.array([1, 60000], ">u2"),
        np.array(["a", "b"]),
        np.ma.masked_array([1.0, 2.0], [False, True]),
        np.ma.masked_array([1.0, 2.0], [False, False]),
        x[:, ::-1],
        np.array([], np.uint32),
    ):
        yield _split((array, Y[:2]))
