"""A parameter with several names is selected by each of them, and counts once in a partition."""

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, stable_rank

CE = nn.CrossEntropyLoss()


class Tied(nn.Module):
    """Embeds, mixes and decodes by the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.emb, self.mix, self.dec = nn.Embedding(6, 3), nn.Linear(3, 3), nn.Linear(3, 6)
        self.dec.weight = self.emb.weight

    def forward(self, tokens):
        return self.dec(torch.tanh(self.mix(self.emb(tokens))))


class Twice(nn.Module):
    """A layer that hangs in two places."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(4, 4), nn.Linear(4, 3)
        self.second = self.first

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


def tied():
    torch.manual_seed(0)
    return Tied().double(), (torch.randint(6, (20,)), torch.randint(6, (20,)))


def twice():
    torch.manual_seed(1)
    return Twice().double(), (torch.randn(20, 4).double(), torch.randint(3, (20,)))


def by_hand(model, data, names):
    """The diagonal block of parameters, by the names of `named_parameters`."""
    own = dict(model.named_parameters())
    chosen = [own[name] for name in names]
    slopes = torch.autograd.grad(CE(model(data[0]), data[1]), chosen, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    return torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(one, chosen, retain_graph=True)]) for one in flat]
    )


@pytest.mark.parametrize(
    ("build", "pattern", "names"),
    [
        (tied, "dec.*", ["emb.weight", "dec.bias"]),
        (tied, "dec.weight", ["emb.weight"]),
        (tied, "d*.w*", ["emb.weight"]),
        (tied, ["dec.bias", "dec.weight"], ["emb.weight", "dec.bias"]),
        (tied, "emb.*", ["emb.weight"]),
        (twice, "second.*", ["first.weight", "first.bias"]),
        (twice, ["second.bias", "head.*"], ["first.bias", "head.weight", "head.bias"]),
    ],
)
def test_each_name_selects_the_parameter(build, pattern, names):
    model, data = build()
    dense = by_hand(model, data, names)
    for block in (Curvature(model, CE, data, parameters=pattern), Curvature(model, CE, data).block(pattern)):
        assert block.names == tuple(names)
        torch.testing.assert_close(block @ torch.eye(block.P, dtype=torch.float64), dense)


def test_blocks_are_a_partition_and_the_other_names_are_listed():
    model, data = tied()
    whole = Curvature(model, CE, data)
    blocks = whole.blocks()
    assert {place: block.names for place, block in blocks.items()} == {
        "emb": ("emb.weight",),
        "mix": ("mix.weight", "mix.bias"),
        "dec": ("dec.bias",),
    }
    assert whole.aliases == {"dec.weight": "emb.weight"}
    assert blocks["emb"].aliases == {"dec.weight": "emb.weight"}
    assert blocks["dec"].aliases == {}
    assert Curvature(twice()[0], CE, twice()[1]).aliases == {
        "second.weight": "first.weight",
        "second.bias": "first.bias",
    }


def test_a_tied_weight_outside_of_a_block_or_on_both_sides_is_named():
    model, data = tied()
    whole = Curvature(model, CE, data)
    with pytest.raises(CurvatureError, match=r"no parameter matches 'dec\.weight'; the first are mix\.weight"):
        whole.block("mix.*").block("dec.weight")
    with pytest.raises(CurvatureError, match=r"emb\.weight is in both"):
        whole.between("dec.*", "emb.*")
    assert stable_rank(model, CE, data, parameters="dec.weight").value == pytest.approx(
        stable_rank(model, CE, data, parameters="emb.weight").value
    )


class Padded(nn.Module):
    """Sums embeddings of one weight, mixes along the sequence and decodes, by that weight if asked."""

    def __init__(self, paddings, decodes):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(5, 3, padding_idx=row) for row in paddings)
        self.dec = nn.Linear(3, 5)
        for emb in self.embs[1:]:
            emb.weight = self.embs[0].weight
        if decodes:
            self.dec.weight = self.embs[0].weight
        with torch.no_grad():
            self.dec.weight.normal_()
            self.embs[0].weight.normal_()

    def forward(self, tokens):
        return self.after([emb(tokens) for emb in self.embs], self.dec.weight, self.dec.bias)

    @staticmethod
    def after(found, weight, bias):
        return nn.functional.linear(torch.tanh(sum(found).cumsum(1)), weight, bias).transpose(1, 2)


@pytest.mark.parametrize("decodes", [True, False])
@pytest.mark.parametrize("paddings", [(0,), (0, 1), (3, None), (None, 4), (2, 0, 2)])
def test_lookups_of_padding_are_constants_and_other_uses_are_not(paddings, decodes):
    """As in training, where the gradient leaves out the lookups alone."""
    with torch.random.fork_rng():
        torch.manual_seed(2)
        model = Padded(paddings, decodes).double()
        tokens, targets = torch.randint(5, (13, 4)), torch.randint(5, (13, 4))
    own = dict(model.named_parameters())
    constant = own["embs.0.weight"].detach()

    def loss(*at):
        weights = dict(zip(own, at, strict=True))
        weight = weights["embs.0.weight"]
        rows = [torch.arange(5) == (-1 if row is None else row) for row in paddings]
        found = [torch.where(row[:, None], constant, weight)[tokens] for row in rows]
        return CE(Padded.after(found, weights.get("dec.weight", weight), weights["dec.bias"]), targets)

    at = [p.detach().requires_grad_() for p in own.values()]
    slopes = torch.autograd.grad(loss(*at), at, create_graph=True)
    trained = torch.autograd.grad(CE(model(tokens), targets), list(own.values()))
    torch.testing.assert_close(trained, slopes)
    flat = torch.cat([slope.flatten() for slope in slopes])
    rows = [torch.autograd.grad(one, at, retain_graph=True, materialize_grads=True) for one in flat]
    dense = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    operator = Curvature(model, CE, (tokens, targets))
    torch.testing.assert_close(operator @ torch.eye(operator.P, dtype=torch.float64), dense)
