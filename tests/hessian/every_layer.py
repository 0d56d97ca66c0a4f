"""Every layer of `torch.nn` that has parameters, in a small network, with its dense Hessian and Gauss-Newton matrix.

The layers are found by looking through `torch.nn`: one that is neither here nor excused fails a test. Each network has
no parameters but its layer's, so that the layer's derivatives are most of what is compared.
"""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

SAMPLES, OUTPUTS, WORDS = 4, 2, 5


@dataclass(frozen=True)
class Layer:
    """How a layer is made and called.

    Attributes:
        make: The layer.
        shape: Shape of one sample.
        call: One of the names in `CALLS`.
        words: Samples are numbers of words.
    """

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    call: str = "plain"
    words: bool = False


CALLS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "plain": lambda layer, x: layer(x),
    "first": lambda layer, x: layer(x)[0],
    "attention": lambda layer, x: layer(x, x, x, need_weights=False)[0],
    "halves": lambda layer, x: layer(*x.chunk(2, dim=1)),
    "twice": lambda layer, x: layer(x, torch.sin(x)),
    "log_prob": lambda layer, x: layer.log_prob(x),
    "loss": lambda layer, x: torch.stack([layer(x, torch.full((len(x),), k)) for k in range(OUTPUTS)], dim=1),
}


def _eval(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Return a maker of the layer in evaluation mode, with statistics as after training."""

    def made() -> nn.Module:
        layer = make().eval()
        for name, buffer in layer.named_buffers():
            if name in ("running_mean", "running_var") and not isinstance(buffer, nn.UninitializedBuffer):
                buffer.uniform_(0.5, 1.5)
        return layer

    return made


def _encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(2, 1, 2, dropout=0.0, batch_first=True)


def _decoder() -> nn.Module:
    return nn.TransformerDecoderLayer(2, 1, 2, dropout=0.0, batch_first=True)


_INSTANCE = {"affine": True}
_SMALL = {"d_model": 2, "nhead": 1, "num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 2}
CASES: dict[str, Layer] = {
    "AdaptiveLogSoftmaxWithLoss": Layer(lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2], 2.0), (4,), "log_prob"),
    "BatchNorm1d": Layer(_eval(lambda: nn.BatchNorm1d(3)), (3,)),
    "BatchNorm2d": Layer(_eval(lambda: nn.BatchNorm2d(3)), (3, 2, 2)),
    "BatchNorm3d": Layer(_eval(lambda: nn.BatchNorm3d(3)), (3, 1, 2, 2)),
    "Bilinear": Layer(lambda: nn.Bilinear(2, 2, 3), (4,), "halves"),
    "Conv1d": Layer(lambda: nn.Conv1d(2, 3, 2), (2, 4)),
    "Conv2d": Layer(lambda: nn.Conv2d(1, 3, 2), (1, 3, 4)),
    "Conv3d": Layer(lambda: nn.Conv3d(1, 2, 2), (1, 2, 3, 2)),
    "ConvTranspose1d": Layer(lambda: nn.ConvTranspose1d(2, 3, 2), (2, 3)),
    "ConvTranspose2d": Layer(lambda: nn.ConvTranspose2d(1, 3, 2), (1, 2, 3)),
    "ConvTranspose3d": Layer(lambda: nn.ConvTranspose3d(1, 2, 2), (1, 2, 1, 2)),
    "Embedding": Layer(lambda: nn.Embedding(WORDS, 2), (3,), words=True),
    "GRU": Layer(lambda: nn.GRU(2, 2, batch_first=True), (3, 2), "first"),
    "GRUCell": Layer(lambda: nn.GRUCell(2, 2), (2,)),
    "GroupNorm": Layer(lambda: nn.GroupNorm(1, 4), (4, 2, 2)),  # as many channels as places
    "InstanceNorm1d": Layer(lambda: nn.InstanceNorm1d(2, **_INSTANCE), (2, 3)),
    "InstanceNorm2d": Layer(lambda: nn.InstanceNorm2d(2, **_INSTANCE), (2, 2, 3)),
    "InstanceNorm3d": Layer(lambda: nn.InstanceNorm3d(2, **_INSTANCE), (2, 1, 2, 3)),
    "LSTM": Layer(lambda: nn.LSTM(2, 2, batch_first=True), (3, 2), "first"),
    "LSTMCell": Layer(lambda: nn.LSTMCell(2, 2), (2,), "first"),
    "LayerNorm": Layer(lambda: nn.LayerNorm(4), (4,)),
    "LazyBatchNorm1d": Layer(_eval(nn.LazyBatchNorm1d), (3,)),
    "LazyBatchNorm2d": Layer(_eval(nn.LazyBatchNorm2d), (3, 2, 2)),
    "LazyBatchNorm3d": Layer(_eval(nn.LazyBatchNorm3d), (3, 1, 2, 2)),
    "LazyConv1d": Layer(lambda: nn.LazyConv1d(3, 2), (2, 4)),
    "LazyConv2d": Layer(lambda: nn.LazyConv2d(3, 2), (1, 3, 4)),
    "LazyConv3d": Layer(lambda: nn.LazyConv3d(2, 2), (1, 2, 3, 2)),
    "LazyConvTranspose1d": Layer(lambda: nn.LazyConvTranspose1d(3, 2), (2, 3)),
    "LazyConvTranspose2d": Layer(lambda: nn.LazyConvTranspose2d(3, 2), (1, 2, 3)),
    "LazyConvTranspose3d": Layer(lambda: nn.LazyConvTranspose3d(2, 2), (1, 2, 1, 2)),
    "LazyInstanceNorm1d": Layer(lambda: nn.LazyInstanceNorm1d(**_INSTANCE), (2, 3)),
    "LazyInstanceNorm2d": Layer(lambda: nn.LazyInstanceNorm2d(**_INSTANCE), (2, 2, 3)),
    "LazyInstanceNorm3d": Layer(lambda: nn.LazyInstanceNorm3d(**_INSTANCE), (2, 1, 2, 3)),
    "LazyLinear": Layer(lambda: nn.LazyLinear(3), (4,)),
    "Linear": Layer(lambda: nn.Linear(4, 3), (4,)),
    "LinearCrossEntropyLoss": Layer(lambda: nn.LinearCrossEntropyLoss(3, OUTPUTS, reduction="none"), (3,), "loss"),
    "MultiheadAttention": Layer(lambda: nn.MultiheadAttention(2, 1, batch_first=True), (3, 2), "attention"),
    "PReLU": Layer(lambda: nn.PReLU(3), (3, 2)),
    "RMSNorm": Layer(lambda: nn.RMSNorm(4), (4,)),
    "RNN": Layer(lambda: nn.RNN(2, 2, batch_first=True), (3, 2), "first"),
    "RNNCell": Layer(lambda: nn.RNNCell(2, 2), (2,)),
    "SyncBatchNorm": Layer(_eval(lambda: nn.SyncBatchNorm(3)), (3, 2)),
    "Transformer": Layer(lambda: nn.Transformer(**_SMALL, dropout=0.0, batch_first=True).eval(), (2, 2), "twice"),
    "TransformerDecoder": Layer(lambda: nn.TransformerDecoder(_decoder(), 1).eval(), (2, 2), "twice"),
    "TransformerDecoderLayer": Layer(lambda: _decoder().eval(), (2, 2), "twice"),
    "TransformerEncoder": Layer(lambda: nn.TransformerEncoder(_encoder(), 1).eval(), (2, 2)),
    "TransformerEncoderLayer": Layer(lambda: _encoder().eval(), (2, 2)),
}
EXCUSED = {
    "EmbeddingBag": "torch has no second derivative of it",
    "ParameterDict": "holds parameters and has no forward pass",
    "ParameterList": "holds parameters and has no forward pass",
    "RNNBase": "the base of RNN, LSTM and GRU, which are here",
    "RNNCellBase": "the base of RNNCell, LSTMCell and GRUCell, which are here",
}


def layers_with_parameters() -> set[str]:
    """Return the names of all modules of `torch.nn` that may have parameters: those that make some, and unknown ones.

    A maker of parameters is seen in its source: some layers make them only where that is asked for.
    """
    found = set()
    for name, kind in vars(nn).items():
        if isinstance(kind, type) and issubclass(kind, nn.Module) and kind is not nn.Module:
            sources = [_source_of(one) for one in kind.__mro__ if one not in (nn.Module, object)]
            makes = any("Parameter(" in source or "register_parameter(" in source for source in sources)
            if makes or not _made_without_parameters(kind):
                found.add(name)
    return found


_source_of = functools.cache(inspect.getsource)  # many layers have the same bases, and a search takes long


def _made_without_parameters(kind: type[nn.Module]) -> bool:
    for arguments in ((), (2,), (2, 2), (1, (2, 1))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return not [*kind(*arguments).parameters()]
        except (TypeError, ValueError):
            continue
    return False


class Inside(nn.Module):
    """A layer, a bend, and a fixed map to the outputs."""

    def __init__(self, layer: nn.Module, call: str) -> None:
        super().__init__()
        self.layer, self.call = layer, call
        self.register_buffer("out", torch.ones(1, OUTPUTS))

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(CALLS[self.call](self.layer, x)).flatten(1)
        if len(self.out) != hidden.shape[1]:
            generator = torch.Generator().manual_seed(2)
            self.out = torch.randn(hidden.shape[1], OUTPUTS, generator=generator, dtype=torch.float64)
        return hidden @ self.out


@dataclass(frozen=True)
class LayerProblem:
    """A network of one layer and its data, in double precision; squared errors are its loss.

    Attributes:
        model: The network.
        x: Its samples.
        y: Their targets.
        hessian: The Hessian of the mean loss.
        first: The Hessian of the first sample's loss.
        gauss_newton: The Gauss-Newton matrix.
    """

    model: nn.Module
    x: Tensor
    y: Tensor
    hessian: Tensor
    first: Tensor
    gauss_newton: Tensor

    def uneven(self) -> list[tuple[Tensor, Tensor]]:
        """Return a batch of one sample and one of the others."""
        return [(self.x[:1], self.y[:1]), (self.x[1:], self.y[1:])]


@functools.cache
def layer_problem(name: str) -> LayerProblem:
    """Return the problem of a layer, with matrices that share nothing with `hessian`."""
    case = CASES[name]
    generator = torch.Generator().manual_seed(1)
    shape = (SAMPLES, *case.shape)
    x = torch.randint(WORDS, shape, generator=generator) if case.words else torch.randn(shape, generator=generator)
    x = x if case.words else x.double()
    y = torch.randn(SAMPLES, OUTPUTS, generator=generator).double()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Inside(case.make().double(), case.call)
        with torch.no_grad():
            model(x)  # what is lazy is made now
            for p in model.parameters():
                p.add_(0.3 * torch.randn_like(p))  # away from zero biases and unit weights
    plain = copy.deepcopy(model)
    named = {key: p.detach() for key, p in plain.named_parameters()}
    sizes = [p.numel() for p in named.values()]

    def output(flat: Tensor, samples: int = SAMPLES) -> Tensor:
        pieces = zip(named.items(), flat.split(sizes), strict=True)
        return functional_call(plain, {key: piece.view_as(p) for (key, p), piece in pieces}, (x[:samples],))

    own = torch.cat([p.reshape(-1) for p in named.values()])
    differentiate = torch.autograd.functional
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            hessian, first = (
                differentiate.hessian(lambda flat, n=n: nn.functional.mse_loss(output(flat, n), y[:n]), own)
                for n in (SAMPLES, 1)
            )
            slopes = differentiate.jacobian(output, own).reshape(y.numel(), -1)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return LayerProblem(model, x, y, hessian, first, 2.0 / y.numel() * slopes.T @ slopes)
