r"""Matrices as $U S V^T$: products, bases with room for a gradient, truncation.

A round's arithmetic also acts on many matrices at once, along leading dimensions; only decisions on ranks are for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import NAME_LAYERS, factorised_names, fit_rank
from algorithms.descent import gradient, statistics_of, takes_values
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
        U: ``(m, r)``, orthonormal columns, of a weight that is read as a matrix ``(m, n)``.
        S: ``(r, r)``; and the weights that are not factorised, which travel and descend with the coefficients.
        V: ``(n, r)``, orthonormal columns.
    """

    U: Tree
    S: Tree
    V: Tree


def product(factors: USV) -> Tree:
    r"""$U S V^T$ as matrices, and the weights that are not factorised."""
    U, S, V = factors
    if len(S) == len(U):
        return U @ S @ V.T
    return Tree({**(U @ S.only(U) @ V.T), **S.but(U)})


def values(factors: USV) -> Tree:
    r"""$U S V^T$ as values that layers compute through, of any shape, and the weights that are not factorised."""
    U, S, V = factors
    layers: dict[str, Any] = {name: Factored(U[name], S[name], V[name]) for name in U}
    return Tree({**layers, **S.but(U)})


def weights_for(client: Client, factors: USV) -> Tree:
    """The weights as a client takes them: values, or matrices."""
    return values(factors) if takes_values(client) else product(factors)


def factorise(
    w: Tree, rank: int, layers: str | None = None, convolution: Convolution = CONVOLUTIONS[0], cap: bool = False
) -> USV:
    """The best approximation of given rank of every matrix.

    Args:
        w: Weights.
        rank: Rank of every matrix.
        layers: Patterns for the names of the layers that are factorised; default: all weights.
        convolution: How a kernel is read as a matrix, see `algorithms.kernels`.
        cap: Lower the rank to the smaller side of a matrix where it is above that.

    Raises:
        FederationError: A rank that does not fit, or an entry that is no matrix.
    """
    parts: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
    for name in factorised_names(w, layers):
        if layers is None and w[name].ndim != 2:
            raise FederationError(f"{name} has shape {tuple(w[name].shape)}; {NAME_LAYERS}")
        r = fit_rank(name, w[name], rank, convolution, cap)[2]
        U, sigma, Vh = torch.linalg.svd(as_matrix(w[name], convolution), full_matrices=False)
        parts[name] = (U[:, :r], torch.diag(sigma[:r]), Vh[:r].T)
    U, S, V = (Tree({name: part[i] for name, part in parts.items()}) for i in range(3))
    return USV(U, Tree({**S, **w.but(parts)}), V)


def augment(U: Tree, G: Tree, completion: Completion = "orthogonal") -> Tree:
    r"""$\bar U$: orthonormal columns beside those of U so that $[U|\bar U]$ spans $[U|G]$; FeDLRT, eq. (6).

    Where G has too little rank beside U, or 2r exceeds the number of rows, fewer directions are determined.

    Args:
        U: Orthonormal columns, ``(m, r)``.
        G: Directions, ``(m, r)``.
        completion: `orthogonal`: the columns of the orthogonal factor, as many as fit, where G determines too
            few completed by directions that do not depend on rounding; `none`: determined directions only, possibly no
            column.
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
    """Orthonormal columns beside those of u, to rounding however dependent the columns are.

    Columns of g that depend on those before them leave a direction to rounding errors, and what adapts to single
    coefficients, such as Adam, would carry these into the weights. Fixed random columns take their place.
    """
    r = u.shape[-1]
    Q, R = torch.linalg.qr(torch.cat([u, g], dim=-1))
    beside_u = R.diagonal(dim1=-2, dim2=-1)[..., r:].abs()
    norm, mapped = torch.linalg.matrix_norm(R[..., r:]), torch._C._are_functorch_transforms_active()
    single = not (norm.ndim or mapped)  # whose norm is read as a number, as truncation reads its ranks
    dependent = beside_u <= _floor(g) * (float(norm) if single else norm[..., None])
    if mapped or bool(dependent.any()):
        shape = u.shape[-2], dependent.shape[-1]
        fixed = torch.from_numpy(np.random.default_rng(0).standard_normal(shape)).to(u.device, u.dtype)
        g = torch.where(dependent[..., None, :], fixed, g[..., : dependent.shape[-1]])
        Q = torch.linalg.qr(torch.cat([u, g], dim=-1))[0]
    return Q[..., r:]


def _floor(g: Tensor) -> float:
    """Below which share of g's norm nothing is determined beside other columns."""
    return 10.0 * max(g.shape[-2:]) * torch.finfo(g.dtype).eps


def append_columns(U: Tree, Ubar: Tree) -> Tree:
    r"""$[U|\bar U]$."""
    return U.map(lambda u, bar: torch.cat([u, bar], dim=-1), Ubar)


def pad(S: Tree, like_rows: Tree, like_columns: Tree) -> Tree:
    """S in the upper left corner of zeros, as large as the augmented bases have columns; what has no bases stays."""

    def enlarge(name: str, s: Tensor) -> Tensor:
        if name not in like_rows:
            return s
        right, below = like_columns[name].shape[-1] - s.shape[-1], like_rows[name].shape[-1] - s.shape[-2]
        return torch.nn.functional.pad(s, (0, right, 0, below))

    return Tree({name: enlarge(name, s) for name, s in S.items()})


@dataclass(frozen=True)
class Truncation:
    r"""Number of singular values that stay.

    The smallest rank whose tail $(\sigma_{r+1}, \ldots)$ has norm at most the threshold $\theta = \tau\|S\|_F$. The
    condition as printed in FeDLRT takes the tail from $\sigma_r$ on, and so keeps one more.

    Attributes:
        tau: Relative threshold; 0 keeps all that are not zero to rounding.
        rule: `after` or `printed`.
        least: Smallest number of values that stay; 0: a threshold that leaves none is an error.
        most: Largest number of values that stay.

    Raises:
        FederationError: A value out of its range.
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
        """The rank that stays of singular values in decreasing order.

        Raises:
            FederationError: None is left.
        """
        squares = torch.flip(torch.cumsum(torch.flip(sigma**2, [0]), 0), [0]).sqrt()  # norms of the tails from each on
        theta = self.tau * float(squares[0])
        floor = len(sigma) * torch.finfo(sigma.dtype).eps * float(squares[0])
        kept = int((squares > max(theta, floor)).sum())
        if self.rule == "printed" and self.tau > 0.0:
            kept = min(kept + 1, len(sigma))
        kept = min(max(kept, self.least), len(sigma) if self.most is None else self.most)
        if kept < 1:
            raise FederationError(f"tau = {self.tau:g} leaves rank 0; lower it, or name a least rank")
        return kept


def truncate(U: Tree, S: Tree, V: Tree, truncation: Truncation) -> USV:
    """The factors with S made diagonal and small singular values left out; what has no bases stays."""
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
class Projected:
    """A client seen through bases: its loss as a function of the coefficients S, and of the weights without bases."""

    client: Any
    U: Tree
    V: Tree

    @property
    def samples(self) -> float:
        """Size of the client's data."""
        return float(self.client.samples)

    @property
    def statistics(self) -> frozenset[str]:
        """Names of weights that are observed and not trained."""
        return statistics_of(self.client)

    @property
    def passes(self) -> Callable[[bool], Sequence[tuple[float, Any]]] | None:
        """All samples in parts, where the client has such."""
        return getattr(self.client, "passes", None)

    @property
    def parts(self) -> Callable[[Any], Sequence[tuple[float, Any]]] | None:
        """A batch in parts, where the client has such."""
        return getattr(self.client, "parts", None)

    def loss(self, w: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """The loss at coefficients."""
        loss: Tensor = self.client.loss(self._weights(w), batch)
        return loss

    def loss_and_statistics(self, w: Mapping[str, Tensor], batch: Any = None) -> Any:
        """The loss at coefficients, and what statistics become."""
        return self.client.loss_and_statistics(self._weights(w), batch)

    def _weights(self, w: Mapping[str, Tensor]) -> Tree:
        return weights_for(self.client, USV(self.U, Tree(w), self.V))


def factor_gradient(client: Client, factors: USV) -> USV:
    """The gradient of a client's loss in U, S and V.

    A client that has a loss of the factors, ``factored(U, S, V)``, never forms their product.
    """
    own = getattr(client, "factored", None)
    if own is None:
        return gradient(client, factors, lambda at: weights_for(client, at))
    return torch.func.grad(lambda at: own(*at))(factors)


def project(client: Client, U: Tree, V: Tree) -> Any:
    """The client in coefficient space, by its own reduction where it has one."""
    own = getattr(client, "projected", None)
    return own(U, V) if own is not None else Projected(client, U, V)
