"""Modules with one layer given by factors; no matrix is square except in the output projections of attention."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from algorithms.kernels import CONVOLUTIONS, matrix_shape
from algorithms.weights import Added, Factored

WHOLE, ALONG = CONVOLUTIONS
PLAIN = torch.float64


@dataclass(frozen=True)
class Case:
    """A module, the name of the weight, inputs, and how a kernel is read."""

    module: nn.Module
    name: str
    inputs: tuple[Any, ...]
    convolution: str = WHOLE

    @property
    def weight(self):
        return dict(self.module.named_parameters())[self.name].detach()

    @property
    def matrix(self):
        return matrix_shape(self.weight.shape, self.convolution)


class InputsFirst(nn.Module):
    """Multiplies inputs by the weight without transposing it, as some networks do."""

    def __init__(self, how):
        super().__init__()
        self.weight, self.bias, self.how = nn.Parameter(normal(5, 7)), nn.Parameter(normal(7)), how

    def forward(self, x):
        if self.how == "addmm":
            both = torch.addmm(self.bias, x, self.weight)
            return both - torch.addmm(self.bias, x, self.weight, beta=0.5, alpha=3.0)
        return (x @ self.weight if self.how == "@" else torch.mm(x, self.weight)) + self.bias


class WeightFirst(nn.Module):
    """Multiplies the weight by inputs."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(normal(5, 7))

    def forward(self, x):
        return torch.matmul(self.weight, x)


class Tied(nn.Module):
    """An embedding whose weight is also the head's."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(9, 4, dtype=PLAIN), nn.Linear(4, 9, bias=False, dtype=PLAIN)
        self.head.weight = self.embedding.weight

    def forward(self, indices):
        return self.head(torch.tanh(self.embedding(indices)))


class Odd(nn.Module):
    """A function of the weight that has no path through factors."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(normal(5, 7))

    def forward(self, x):
        scaled = self.weight / self.weight.norm(dim=1, keepdim=True)
        return torch.einsum("bj,ij->bi", x, scaled) + x @ self.weight.t() + self.weight.sum()


class Attention(nn.Module):
    """Attention between two sequences or within one; the output includes the attention weights."""

    def __init__(self, same, need_weights=True, key_padding=False, mask=None, inputs=1, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, dtype=PLAIN, **options)
        self.same, self.options, self.inputs = same, {"need_weights": need_weights}, inputs
        if key_padding:
            padding = torch.zeros(3, 5, dtype=torch.bool)
            padding[0, 3:] = padding[2, 4:] = True
            self.options["key_padding_mask"] = padding
        if mask is not None:
            self.options |= {"attn_mask": nn.Transformer.generate_square_subsequent_mask(5, dtype=PLAIN)}
            self.options |= {"is_causal": mask == "causal"}

    def forward(self, x, other):
        inputs = {"all": (x, x, x), "key": (x, other, other), "query": (x, x, other), "none": (x, other, -other)}
        output, shares = self.attention(*inputs[self.same], **self.options)
        return output if shares is None else torch.cat([output.flatten(), shares.flatten()])


def normal(*shape, seed=0, dtype=PLAIN):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def convolution(kind, *options, bias=True, size=(8, 9), convolution=WHOLE, **named):
    module = kind(*options, bias=bias, dtype=PLAIN, **named)
    return Case(module, "weight", (normal(3, options[0], *size, seed=1),), convolution)


def attention(name, same="all", sequences=None, **options):
    first = options.get("batch_first", True)
    module = Attention(same, **{"batch_first": first, **options})
    sequences = sequences or (normal(3, 5, 6, seed=1), normal(3, 5, 6, seed=2))
    return Case(module, f"attention.{name}", tuple(x if first or x.ndim == 2 else x.transpose(0, 1) for x in sequences))


def cases():
    """Return every kind of layer by name, with weights that do not depend on earlier draws."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return _cases()


def _cases():
    x = normal(3, 5, seed=1)
    indices = torch.tensor([[0, 2, 8, 8], [1, 7, 2, 0]])
    two = nn.Conv2d
    from_the_end = nn.Embedding(9, 4, dtype=PLAIN)
    from_the_end.padding_idx = -2  # nn.Embedding(9, 4, padding_idx=-2) would count it from the beginning
    found = {
        "linear": Case(nn.Linear(5, 7, dtype=PLAIN), "weight", (x,)),
        "linear without bias": Case(nn.Linear(7, 5, bias=False, dtype=PLAIN), "weight", (normal(7, seed=1),)),
        "linear of sequences": Case(nn.Linear(5, 7, dtype=PLAIN), "weight", (normal(2, 9, 5, seed=1),)),
        "x @ W": Case(InputsFirst("@"), "weight", (normal(2, 3, 5, seed=1),)),
        "mm": Case(InputsFirst("mm"), "weight", (x,)),
        "addmm": Case(InputsFirst("addmm"), "weight", (x,)),
        "W @ x": Case(WeightFirst(), "weight", (normal(2, 7, 3, seed=1),)),
        "W @ vector": Case(WeightFirst(), "weight", (normal(7, seed=1),)),
        "embedding": Case(nn.Embedding(9, 4, dtype=PLAIN), "weight", (indices,)),
        "embedding with padding": Case(nn.Embedding(9, 4, padding_idx=-1, dtype=PLAIN), "weight", (indices,)),
        "embedding with padding from the end": Case(from_the_end, "weight", (indices,)),
        "tied": Case(Tied(), "embedding.weight", (indices,)),
        "odd": Case(Odd(), "weight", (normal(3, 7, seed=1),)),
        "conv1d": convolution(nn.Conv1d, 4, 5, 3, 2, 1, size=(9,)),
        "conv3d": convolution(nn.Conv3d, 2, 5, (3, 1, 2), size=(5, 4, 6)),
        "conv of one image": Case(two(4, 5, 3, dtype=PLAIN), "weight", (normal(4, 8, 9, seed=1),)),
        "separate projections": Case(
            nn.MultiheadAttention(6, 2, kdim=5, vdim=7, dtype=PLAIN),
            "k_proj_weight",
            (normal(4, 3, 6, seed=1), normal(5, 3, 5, seed=2), normal(5, 3, 7, seed=3)),
        ),
        "separate, output": Case(
            nn.MultiheadAttention(6, 2, kdim=5, vdim=7, dtype=PLAIN),
            "out_proj.weight",
            (normal(4, 3, 6, seed=1), normal(5, 3, 5, seed=2), normal(5, 3, 7, seed=3)),
        ),
    }
    for how in CONVOLUTIONS:
        for name, options, named in [
            ("", (4, 5, 3), {}),
            (" without bias", (4, 5, 3), {"bias": False}),
            (" 1 x 1", (4, 5, 1), {"stride": 2}),
            (" stride, padding, dilation", (4, 5, (3, 2)), {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1)}),
            (" same", (4, 5, (2, 5)), {"padding": "same", "dilation": (1, 2)}),
            (" valid", (4, 5, (5, 2)), {"padding": "valid"}),
            (" reflected", (4, 5, 3), {"padding": 1, "padding_mode": "reflect"}),
            (" circular", (4, 5, (3, 5)), {"padding": (1, 2), "padding_mode": "circular", "stride": 2}),
            (" groups", (6, 9, (2, 3)), {"groups": 3, "stride": (1, 2), "padding": 1}),
            (" depthwise", (6, 6, 3), {"groups": 6, "bias": False}),
        ]:
            found[f"{how}{name}"] = convolution(two, *options, convolution=how, **named)
    for name in ("in_proj_weight", "out_proj.weight"):
        for options in [
            {},
            {"same": "key"},
            {"same": "query"},
            {"same": "none"},
            {"need_weights": False},
            {"bias": False},
            {"batch_first": False, "same": "key"},
            {"add_bias_kv": True, "add_zero_attn": True},
            {"key_padding": True},
            {"mask": "additive", "key_padding": True, "same": "key"},
            {"mask": "causal", "need_weights": False},
            {"sequences": (normal(5, 6, seed=1), normal(5, 6, seed=2)), "same": "key"},
        ]:
            described = ", ".join(f"{key} {value}" for key, value in options.items() if key != "sequences") or "one"
            found[f"attention {name} {described}{' unbatched' * ('sequences' in options)}"] = attention(name, **options)
    return found


def values(case, rank=2):
    """Return factors for the weight of a case."""
    (m, n), W = case.matrix, case.weight
    rank = min(rank, m, n)
    pair = normal(m, rank, seed=4), normal(rank, n, seed=5)
    added = Added(W, 0.3, *pair)
    factored = Factored(normal(m, rank, seed=6), normal(rank, rank, seed=7), normal(n, rank, seed=8), tuple(W.shape))
    return {
        "added": added,
        "twice": Added(added, -0.7, normal(m, 1, seed=9), normal(1, n, seed=10)),
        "factored": factored,
        "unequal": Factored(normal(m, rank, seed=6), normal(rank, 1, seed=7), normal(n, 1, seed=8), tuple(W.shape)),
        "added to factored": Added(factored, 2.0, *pair),
    }
