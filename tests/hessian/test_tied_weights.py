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
