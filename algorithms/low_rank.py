r"""Matrices as $U S V^T$: products, bases augmented by a gradient, truncation.

The arithmetic of a round also acts on batches of matrices along leading dimensions; only ranks are chosen for a single
matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import NAME_LAYERS, factorised_names, fit_rank
from algorithms.descent import Wrapped, gradient, takes_values
from algorithms.federation import Client, FederationError, require_whole
from algorithms.kernels import CONVOLUTIONS, Convolution, as_matrix
from algorithms.tree import Tree
from algorithms.weights import Factored

Completion = Literal["orthogonal", "none"]
COMPLETIONS: tuple[Completion, ...] = ("orthogonal", "none")
Rule = Literal["after", "printed"]
TRUNCATIONS: tuple[Rule, ...] = ("after", "printed")


class USV(NamedTuple):
    r"""$U S V^T$ for every layer.

    Attributes:
        U: ``(m, r)``, orthonormal columns, for a weight read as a matrix ``(m, n)``.
        S: ``(r, r)``; also the weights that are not factorised, which are sent and trained with the coefficients.
        V: ``(n, r)``, orthonormal columns.
    """

    U: Tree
    S: Tree
    V: Tree


def product(factors: USV) -> Tree:
    r"""Return the matrices $U S V^T$, and the weights that are not factorised."""
    U, S, V = factors
    if len(S) == len(U):
        return U @ S @ V.T
    return Tree({**(U @ S.only(U) @ V.T), **S.but(U)})


def values(factors: USV) -> Tree:
    r"""Return $U S V^T$ as factors through which layers of any shape compute, and the other weights."""
    U, S, V = factors
    layers: dict[str, Any] = {name: Factored(U[name], S[name], V[name]) for name in U}
    return Tree({**layers, **S.but(U)})


def weights_for(client: Client, factors: USV) -> Tree:
    """Return the weights in the form that a client accepts: factors or matrices."""
    return values(factors) if takes_values(client) else product(factors)


def factorise(
    w: Tree, rank: int, layers: str | None = None, convolution: Convolution = CONVOLUTIONS[0], cap: bool = False
) -> USV:
    """Return the best approximation of given rank of every matrix, from its singular value decomposition.

    Args:
        w: Weights.
        rank: Rank of every matrix.
        layers: Patterns for the names of the layers that are factorised; default: all weights.
        convolution: How to reshape a convolution kernel into a matrix; see `algorithms.kernels`.
        cap: Lower the rank to the smaller side of a matrix if necessary.

    Raises:
        FederationError: The rank does not fit, or an entry is not a matrix.
    """
    parts: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
    names = factorised_names(w, layers)
    for name in names if layers is None else ():
        if w[name].ndim != 2:
            raise FederationError(f"{name} has shape {tuple(w[name].shape)}; {NAME_LAYERS}")
    for name in names:
        r = fit_rank(name, w[name], rank, convolution, cap)[2]
        left, sigma, right = singular_triples(as_matrix(w[name], convolution), r)
        parts[name] = (left, torch.diag(sigma), right)
    U, S, V = (Tree({name: part[i] for name, part in parts.items()}) for i in range(3))
    return USV(U, Tree({**S, **w.but(parts)}), V)


def singular_triples(W: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return U, sigma and V of the best approximation $U\,\mathrm{diag}(\sigma)V^T$ of given rank of a matrix.

    A singular value that is 0 up to rounding is set to 0. It leaves its vectors to rounding errors, which later steps
    would carry into the weights. Fixed random directions, made orthogonal to the other vectors, replace them.

    Args:
        W: A matrix ``(m, n)``.
        rank: Number of singular values; there are at most as many as the smaller side.

    Returns:
        U ``(m, r)``, sigma ``(r,)`` and V ``(n, r)``, with r the rank or the smaller side.
    """
    U, sigma, Vh = torch.linalg.svd(W, full_matrices=False)
    U, sigma, V = U[:, :rank], sigma[:rank], Vh[:rank].mT
    floor = 10.0 * max(W.shape) ** 0.5 * torch.finfo(W.dtype).eps  # errors are a tenth of the root, in units of eps
    known = int((sigma > floor * sigma[:1]).sum())
    if known == len(sigma):
        return U, sigma, V
    U, V = (
        torch.cat(
            [u, torch.linalg.qr(torch.cat([u, _fixed_columns(u, len(sigma) - known)], dim=-1))[0][:, known:]], dim=-1
        )
        for u in (U[:, :known], V[:, :known])
    )
    return U, torch.cat([sigma[:known], torch.zeros_like(sigma[known:])]), V


def augment(U: Tree, G: Tree, completion: Completion = "orthogonal") -> Tree:
    r"""Return orthonormal columns $\bar U$ such that $[U|\bar U]$ is orthonormal and spans $[U|G]$; FeDLRT, eq. (6).

    If G has too little rank outside the span of U, or if 2r exceeds the number of rows, G determines fewer than r
    directions.

    Args:
        U: Orthonormal columns, ``(m, r)``.
        G: Directions, ``(m, r)``.
        completion: `orthogonal`: the columns of the orthogonal factor, as many as fit, completed by fixed directions
            where G determines too few; `none`: only directions that G determines, possibly none.
    """
    return U.map(lambda u, g: _augment(u, g, completion), G)


def _augment(u: Tensor, g: Tensor, completion: Completion) -> Tensor:
    if completion == "orthogonal":
        return _complete(u, g)
    rest = g
    for _ in range(2):
        rest = rest - u @ (u.T @ rest)
    basis, sigma, _ = torch.linalg.svd(rest, full_matrices=False)
    room = u.shape[0] - u.shape[1]
    floor = _floor(g) * float(torch.linalg.vector_norm(g))
    return basis[:, : min(int((sigma > floor).sum()), room)]


def _complete(u: Tensor, g: Tensor) -> Tensor:
    """Return columns that complete u to an orthonormal set, accurate to rounding for any g.

    A column of g that depends on the columns before it would leave its direction to rounding errors, which optimisers
    that adapt to single coefficients, such as Adam, would carry into the weights. Fixed random columns replace it.
    """
    r = u.shape[-1]
    Q, R = torch.linalg.qr(torch.cat([u, g], dim=-1))
    beside_u = R.diagonal(dim1=-2, dim2=-1)[..., r:].abs()
    norm, mapped = torch.linalg.matrix_norm(R[..., r:]), torch._C._are_functorch_transforms_active()
    single = not (norm.ndim or mapped)  # only the norm of a single matrix can be read as a number
    dependent = beside_u <= _floor(g) * (float(norm) if single else norm[..., None])
    if mapped or bool(dependent.any()):
        count = dependent.shape[-1]
        g = torch.where(dependent[..., None, :], _fixed_columns(u, count), g[..., :count])
        Q = torch.linalg.qr(torch.cat([u, g], dim=-1))[0]
    return Q[..., r:]


def _fixed_columns(like: Tensor, count: int) -> Tensor:
    """Return random columns that are always the same, with the rows, the type and the device of a tensor."""
    columns = np.random.default_rng(0).standard_normal((like.shape[-2], count))
    return torch.from_numpy(columns).to(like.device, like.dtype)


def _floor(g: Tensor) -> float:
    """Return the fraction of g's norm below which a direction outside the other columns is not determined."""
    return 10.0 * max(g.shape[-2:]) * torch.finfo(g.dtype).eps


def append_columns(U: Tree, Ubar: Tree) -> Tree:
    r"""Return $[U|\bar U]$."""
    return U.map(lambda u, bar: torch.cat([u, bar], dim=-1), Ubar)


def pad(S: Tree, like_rows: Tree, like_columns: Tree) -> Tree:
    """Return S padded with zeros at the right and at the bottom to the sizes of augmented bases.

    Weights without bases are not changed.
    """

    def enlarge(name: str, s: Tensor) -> Tensor:
        if name not in like_rows:
            return s
        right, below = like_columns[name].shape[-1] - s.shape[-1], like_rows[name].shape[-1] - s.shape[-2]
        return torch.nn.functional.pad(s, (0, right, 0, below))

    return Tree({name: enlarge(name, s) for name, s in S.items()})


@dataclass(frozen=True)
class Truncation:
    r"""The rule for the number of singular values to keep.

    It keeps the smallest rank r whose tail $(\sigma_{r+1}, \ldots)$ has norm at most $\theta = \tau\|S\|_F$. The
    condition printed in FeDLRT starts the tail at $\sigma_r$ and so keeps one more.

    Attributes:
        tau: Threshold for the discarded tail, relative to all values; 0 keeps all values that are nonzero up to
            rounding.
        rule: Where the discarded tail starts: `after` the kept values, or as `printed`, which keeps one value more.
        least: Smallest rank to keep; with 0, it is an error if the threshold leaves rank 0.
        most: Largest rank to keep.

    Raises:
        FederationError: A value is out of its range.
    """

    tau: float = 0.1
    rule: Rule = "after"
    least: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        if not self.tau >= 0.0 or self.rule not in TRUNCATIONS:
            raise FederationError(f"expected tau >= 0 and a rule of {TRUNCATIONS}, got {self}")
        require_whole(0, least=self.least)
        if self.most is not None:
            require_whole(max(self.least, 1), most=self.most)

    def rank(self, sigma: Tensor) -> int:
        """Return the rank to keep, given singular values in decreasing order.

        Raises:
            FederationError: The rank would be 0.
        """
        squares = torch.flip(torch.cumsum(torch.flip(sigma**2, [0]), 0), [0]).sqrt()  # norms of the tails from each on
        theta = self.tau * float(squares[0])
        floor = len(sigma) * torch.finfo(sigma.dtype).eps * float(squares[0])
        kept = int((squares > max(theta, floor)).sum())
        if self.rule == "printed" and self.tau > 0.0:
            kept = min(kept + 1, len(sigma))
        kept = min(max(kept, self.least), len(sigma) if self.most is None else self.most)
        if kept < 1:
            raise FederationError(f"tau = {self.tau:g} leaves rank 0; lower it, or set a smallest rank")
        return kept


def truncate(U: Tree, S: Tree, V: Tree, truncation: Truncation) -> USV:
    """Return the factors with S diagonalised and small singular values removed; other weights are not changed."""
    parts = {}
    for name in U:
        P, sigma, Qh = torch.linalg.svd(S[name], full_matrices=False)
        try:
            r = truncation.rank(sigma)
        except FederationError as error:
            raise FederationError(f"layer {name}: {error}") from error
        parts[name] = (U[name] @ P[..., :r], torch.diag_embed(sigma[..., :r]), V[name] @ Qh[..., :r, :].mT)
    cut = USV(*(Tree({name: part[i] for name, part in parts.items()}) for i in range(3)))
    return cut if len(S) == len(U) else cut._replace(S=Tree({**cut.S, **S.but(U)}))


@dataclass(frozen=True)
class Projected(Wrapped):
    """A client in coefficient space: its loss as a function of the coefficients S and the weights without bases."""

    U: Tree
    V: Tree

    def loss(self, w: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """Return the loss at coefficients."""
        loss: Tensor = self.client.loss(self._weights(w), batch)
        return loss

    def loss_and_statistics(self, w: Mapping[str, Tensor], batch: Any = None) -> Any:
        """Return the loss at coefficients, and the new statistics."""
        return self.client.loss_and_statistics(self._weights(w), batch)

    def _weights(self, w: Mapping[str, Tensor]) -> Tree:
        return weights_for(self.client, USV(self.U, Tree(w), self.V))


def factor_gradient(client: Client, factors: USV) -> USV:
    """Return the gradient of a client's loss in U, S and V.

    If the client has a loss of the factors, ``factored(U, S, V)``, their product is never formed.
    """
    own = getattr(client, "factored", None)
    if own is None:
        return gradient(client, factors, lambda at: weights_for(client, at))
    return torch.func.grad(lambda at: own(*at))(factors)


def project(client: Client, U: Tree, V: Tree) -> Any:
    """Return the client in coefficient space, by its own method ``projected(U, V)`` if it has one."""
    own = getattr(client, "projected", None)
    return own(U, V) if own is not None else Projected(client, U, V)
