"""Products of factors instead of a layer's weight, through which torch's functions compute.

A product implements `__torch_function__`: linear maps, convolutions, embeddings and multi-head attention apply one
factor after the other and never form the product. All other functions, and Python's operators, get the product as a
tensor, so any module computes the correct result.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils import _pytree as pytree

from algorithms.federation import FederationError
from algorithms.kernels import from_matrix, reads_along

Chain = tuple[Tensor, ...]
"""Matrices to multiply in this order, or a single tensor of the layer's shape."""

Terms = Sequence[tuple[float, Chain]]
"""A sum of chains with coefficients; the first coefficient is 1."""


class Product:
    """A weight that is a sum of products of matrices."""

    @property
    def terms(self) -> Terms:
        """Coefficients and matrices."""
        raise NotImplementedError

    @property
    def shape(self) -> torch.Size:
        """Shape of the layer's weight."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of dimensions of the layer's weight."""
        return len(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the factors."""
        return self.terms[0][1][0].dtype

    @property
    def device(self) -> torch.device:
        """Device of the factors."""
        return self.terms[0][1][0].device

    @property
    def requires_grad(self) -> bool:
        """Whether any factor requires a gradient."""
        return any(matrix.requires_grad for _, chain in self.terms for matrix in chain)

    def dense(self) -> Tensor:
        """Return the weight as a tensor of the layer's shape."""
        return _sum(
            (scale, chain[0] if len(chain) == 1 else from_matrix(functools.reduce(torch.matmul, chain), self.shape))
            for scale, chain in self.terms
        )

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of a tensor from the dense product."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("_"):
            raise _in_place(name)
        return getattr(self.dense(), name)

    def __matmul__(self, other: Any) -> Any:
        return torch.matmul(self, other)  # type: ignore[arg-type]

    def __setitem__(self, *_: Any) -> None:
        raise _in_place("an assignment to a part of it")

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the result of a torch function with products among its arguments."""
        path, named = _PATHS.get(function), kwargs or {}
        result = NotImplemented if path is None else path(*args, **named)
        if result is not NotImplemented:
            return result
        name = getattr(function, "__name__", "")
        changes = bool(args) and isinstance(args[0], Product) and (re.search("[^_]_$", name) or named.get("inplace"))
        if changes or isinstance(named.get("out"), Product):
            raise _in_place(name)
        args, named = pytree.tree_map(
            lambda entry: entry.dense() if isinstance(entry, Product) else entry,
            (args, dict(named)),
            is_leaf=lambda entry: isinstance(entry, Product),
        )
        return function(*args, **named)


def _in_place(name: str) -> FederationError:
    return FederationError(
        f"{name} would change a factorised weight in place, and the change would be lost; make a new tensor, or "
        "leave this layer out of `layers`"
    )


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Product, *others: Any) -> Any:
        return getattr(self.dense(), name)(
            *(other.dense() if isinstance(other, Product) else other for other in others)
        )

    return operate


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow rmatmul neg pos abs "
    "eq ne lt le gt ge getitem len iter reversed contains bool int float index array"
)
for _name in re.findall(r"\w+", _OPERATORS):
    setattr(Product, f"__{_name}__", _operator(f"__{_name}__"))  # Python only looks operators up on the class


def _sum(parts: Iterable[tuple[float, Tensor]]) -> Tensor:
    remaining = iter(parts)
    total = next(remaining)[1]
    for scale, part in remaining:
        total = torch.add(total, part, alpha=scale)
    return total


def _linear(x: Any, weight: Any, bias: Tensor | None = None) -> Any:
    return _apply(x, weight.terms, bias) if isinstance(weight, Product) and isinstance(x, Tensor) else NotImplemented


def _apply(x: Tensor, terms: Terms, bias: Tensor | None = None) -> Tensor:
    """Return x times the transposed weight, plus the bias."""
    return _sum(
        (scale, _apply_chain(x, chain, None if number else bias)) for number, (scale, chain) in enumerate(terms)
    )


def _apply_chain(x: Tensor, chain: Chain, bias: Tensor | None) -> Tensor:
    if len(chain) == 3 and x.shape[:-1].numel() > len(chain[0]):
        chain = chain[0] @ chain[1], chain[2]  # less work than applying the middle factor to every position
    for matrix in reversed(chain[1:]):
        x = functional.linear(x, matrix)
    return functional.linear(x, chain[0], bias)


def _matmul(left: Any, right: Any) -> Any:
    """Return a tensor times a product, or a product times a tensor, of two dimensions."""
    if isinstance(left, Tensor) and isinstance(right, Product) and right.ndim == 2:
        return _apply(left, [(scale, tuple(matrix.mT for matrix in chain[::-1])) for scale, chain in right.terms])
    if isinstance(left, Product) and isinstance(right, Tensor) and left.ndim == 2 and right.ndim >= 2:
        return _apply(right.mT, left.terms).mT
    return NotImplemented


def _addmm(bias: Any, left: Any, right: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    product = _matmul(left, right) if isinstance(bias, Tensor) else NotImplemented
    return product if product is NotImplemented else torch.add(beta * bias, product, alpha=alpha)


def _embedding(
    indices: Tensor,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return rows of the weight; rows of the padding index are constants, as for a tensor."""
    if not isinstance(weight, Product) or max_norm is not None or scale_grad_by_freq:
        return NotImplemented
    rows = _sum(
        (scale, functools.reduce(torch.matmul, chain[1:], functional.embedding(indices, chain[0])))
        for scale, chain in weight.terms
    )
    if padding_idx is None:
        return rows
    return torch.where((indices == padding_idx % weight.shape[0])[..., None], rows.detach(), rows)


def _convolution(function: Callable[..., Tensor]) -> Callable[..., Any]:
    def convolve(
        x: Any,
        weight: Any,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if not isinstance(weight, Product) or not isinstance(x, Tensor):
            return NotImplemented
        parts = []
        for number, (scale, chain) in enumerate(weight.terms):
            options = None if number else bias, stride, padding, dilation, groups
            if len(chain) == 1:
                parts.append((scale, function(x, *chain, *options)))
                continue
            # Positions outnumber channels, so it is cheapest to multiply all factors but the last first.
            left, right = functools.reduce(torch.matmul, chain[:-1]), chain[-1]
            both = _convolve_along if reads_along((len(left), right.shape[1]), weight.shape) else _convolve_full
            parts.append((scale, both(function, x, left, right, weight.shape, *options)))
        return _sum(parts)

    return convolve


def _convolve_full(
    function: Callable[..., Tensor],
    x: Tensor,
    left: Tensor,
    right: Tensor,
    shape: torch.Size,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Convolve to r channels with the full kernel in each group, then by 1 x 1."""
    ones = (1,) * (len(shape) - 2)
    kernel = right.reshape(-1, *shape[1:]).repeat(groups, 1, *ones)
    inner = function(x, kernel, None, stride, padding, dilation, groups)
    return function(inner, left.reshape(*left.shape, *ones), bias, 1, 0, 1, groups)


def _convolve_along(
    function: Callable[..., Tensor],
    x: Tensor,
    left: Tensor,
    right: Tensor,
    shape: torch.Size,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Convolve to r channels along the width in each group, then along the height."""
    (out, channels, height, width), r = shape, len(right)
    (down, across), (high, wide) = _pair(stride), _pair(dilation)
    above, beside = (padding, padding) if isinstance(padding, str) else ((_pair(padding)[0], 0), (0, _pair(padding)[1]))
    kernel = right.reshape(r, channels, 1, width).repeat(groups, 1, 1, 1)
    inner = function(x, kernel, None, (1, across), beside, (1, wide), groups)
    columns = left.reshape(out, height, r).transpose(1, 2)[..., None]
    return function(inner, columns, bias, (down, 1), above, (high, 1), groups)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


class _Done:
    """Replaces a projection's weight if the input has been projected already: applying it returns the input."""

    def __init__(self, features: int) -> None:
        self.shape = (features, features)

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Tensor:
        assert function is functional.linear
        return args[0]


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    features: int,
    heads: int,
    in_proj_weight: Any,
    in_proj_bias: Tensor | None,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Tensor | None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    **options: Any,
) -> Any:
    """Compute attention with projections through their factors; torch's part ends with the last factors."""
    bias_k, bias_v = (part.dense() if isinstance(part, Product) else part for part in (bias_k, bias_v))
    if use_separate_proj_weight:
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        inputs = [functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    else:
        inputs = _project_packed((query, key, value), in_proj_weight, in_proj_bias)
    terms, done = _terms(out_proj_weight), _Done(features)
    attend: Callable[..., tuple[Tensor, Tensor | None]] = functional.multi_head_attention_forward
    attended, shares = attend(
        *inputs,
        features,
        heads,
        None,
        None,
        bias_k,
        bias_v,
        add_zero_attn,
        dropout_p,
        torch.cat([chain[-1] for _, chain in terms]),
        None,
        use_separate_proj_weight=True,
        q_proj_weight=done,
        k_proj_weight=done,
        v_proj_weight=done,
        **options,
    )
    parts = attended.split([len(chain[-1]) for _, chain in terms], dim=-1)
    output = _sum(
        (scale, part if len(chain) == 1 else _apply_chain(part, chain[:-1], None))
        for (scale, chain), part in zip(terms, parts, strict=True)
    )
    return output if out_proj_bias is None else output + out_proj_bias, shares


def _project_packed(inputs: Sequence[Tensor], weight: Any, bias: Tensor | None) -> list[Tensor]:
    """Return query, key and value projected by thirds of one weight; equal neighbours are projected together."""
    terms, size = _terms(weight), weight.shape[0] // 3
    projected: list[Tensor] = []
    while len(projected) < 3:
        at = len(projected)
        count = next((n for n in range(1, 3 - at) if inputs[at + n] is not inputs[at]), 3 - at)
        rows = slice(at * size, (at + count) * size)
        part = [(scale, (chain[0][rows], *chain[1:])) for scale, chain in terms]
        both = _apply(inputs[at], part, None if bias is None else bias[rows])
        projected += (third.contiguous() for third in both.chunk(count, dim=-1))
    return projected


def _terms(weight: Any) -> Terms:
    return weight.terms if isinstance(weight, Product) else ((1.0, (weight,)),)


_PATHS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    functional.linear: _linear,
    functional.embedding: _embedding,
    functional.multi_head_attention_forward: _attention,
    torch.matmul: _matmul,
    torch.mm: _matmul,
    Tensor.matmul: _matmul,
    Tensor.mm: _matmul,
    torch.addmm: _addmm,
    **{function: _convolution(function) for function in (torch.conv1d, torch.conv2d, torch.conv3d)},
}
