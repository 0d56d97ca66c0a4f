r"""Least squares with product features $p(x)^T W q(y)$, reduced to its Gram matrix, for many weights at once.

The Gram matrix of the features $p(x)q(y)^T$, $H_{ab,cd} = \overline{p_ap_c\,q_bq_d}$, is symmetric in (a, c) and in
(b, d) separately. It is stored on the pairs $a \le c$, $b \le d$, about a quarter of its entries for large shapes. This
makes its projection onto bases cheap: it is $P M Q$ with the pair products of the bases. `Quadratic` is the simple
version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from toymodels.problem import ProblemError
from toymodels.quadratic import Quadratic

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProductGram:
    r"""A client with loss $\frac12\langle W, HW\rangle - \langle B, W\rangle + c$, H a Gram matrix of product features.

    Attributes:
        pairs: H on pairs, ``(m (m + 1) / 2, n (n + 1) / 2)``.
        H: The full matrix, ``(mn, mn)``.
        B: ``(..., m, n)``; leading dimensions enumerate problems of the same features.
        c: ``(...)``.
        samples: Number of samples.
    """

    pairs: Tensor
    H: Tensor
    B: Tensor
    c: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights, ``(..., m, n)``."""
        return tuple(self.B.shape)

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the losses, ``(...)``."""
        W = w["W"]
        return (0.5 * (W * self._times(W)) - self.B * W).sum(dim=(-2, -1)) + self.c

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradients $HW - B$, in the type of the weights."""
        return type(w)({"W": self._times(w["W"]) - self.B})

    def projected(self, U: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Coefficients:
        r"""Return the losses as functions of the coefficients S of $W = U S V^T$, for each pair of bases."""
        u, v = U["W"], V["W"]
        P, Q = pair_products(u), pair_products(v)
        # One product for all bases; the second product is smaller.
        half = (P.flatten(0, -2) @ self.pairs).unflatten(0, P.shape[:-1])
        H = half @ Q.mT
        return Coefficients(unpack_pairs(H, u.shape[-1], v.shape[-1]), u.mT @ self.B @ v, self.c, self.samples)

    def tensors(self) -> Mapping[str, Tensor]:
        """Return its tensors, by which clients are stacked."""
        return {"pairs": self.pairs, "H": self.H, "B": self.B, "c": self.c}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> ProductGram:
        """Return the client with other tensors."""
        return ProductGram(tensors["pairs"], tensors["H"], tensors["B"], tensors["c"], self.samples)

    def with_targets(self, targets: Tensor) -> ProductGram:
        """Return the client whose values are exact for targets ``(..., m, n)``, so its loss is zero there."""
        B = self._times(targets)
        return replace(self, B=B, c=0.5 * (targets * B).sum(dim=(-2, -1)))

    def select(self, numbers: Sequence[int]) -> ProductGram:
        """Return the client with some of its problems."""
        return replace(self, B=self.B[list(numbers)], c=self.c[list(numbers)])

    def as_quadratic(self) -> Quadratic:
        """Return the `Quadratic` of a single problem, which may have been selected.

        Raises:
            ProblemError: There are several problems, or none.
        """
        if self.c.numel() != 1:
            raise ProblemError(f"a Quadratic has one problem, got {self.c.numel()}; select one, as by select([0])")
        shape = self.B.shape[-2:]
        return Quadratic(self.H.reshape(*shape, *shape), self.B.reshape(shape), self.c.reshape(()), self.samples)

    def _times(self, W: Tensor) -> Tensor:
        return (W.flatten(-2) @ self.H).reshape(W.shape)


@dataclass(frozen=True, eq=False)
class Coefficients:
    r"""Quadratic losses of coefficients, $\frac12\langle S, HS\rangle - \langle B, S\rangle + c$.

    Attributes:
        H: ``(..., kl, kl)``.
        B: ``(..., k, l)``.
        c: ``(...)``.
        samples: Number of samples.
    """

    H: Tensor
    B: Tensor
    c: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the losses, ``(...)``."""
        W = w["W"]
        return (0.5 * (W * self._times(W)) - self.B * W).sum(dim=(-2, -1)) + self.c

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradients $HS - B$, in the type of the coefficients."""
        return type(w)({"W": self._times(w["W"]) - self.B})

    def _times(self, W: Tensor) -> Tensor:
        return (self.H @ W.flatten(-2).unsqueeze(-1)).squeeze(-1).unflatten(-1, W.shape[-2:])


def product_gram(p: Array, q: Array, values: Array) -> ProductGram:
    """Return the client of some data.

    Args:
        p: Features of the first coordinate, ``(samples, m)``.
        q: Features of the second coordinate, ``(samples, n)``.
        values: Targets, ``(samples,)``.
    """
    count, m, n = len(values), p.shape[1], q.shape[1]
    (a, c), (b, d) = _upper(m), _upper(n)
    pairs = torch.from_numpy((p[:, a] * p[:, c]).T @ (q[:, b] * q[:, d]) / count)
    B = torch.from_numpy(p.T @ (values[:, None] * q) / count)
    constant = torch.tensor(0.5 * float(values @ values) / count, dtype=torch.float64)
    return ProductGram(pairs, unpack_pairs(pairs, m, n), B, constant, float(count))


def pair_products(u: Tensor) -> Tensor:
    r"""Return the matrix from pairs of coordinates to pairs of basis vectors, ``(..., k (k + 1) / 2, m (m + 1) / 2)``.

    Entry ((i, j), (a, c)) is $u_{ai}u_{cj} + u_{ci}u_{aj}$, or half of this if a = c.
    """
    a, c = (torch.from_numpy(index) for index in _upper(u.shape[-2]))
    i, j = (torch.from_numpy(index) for index in _upper(u.shape[-1]))
    rows = u.mT
    first, second = rows[..., i, :], rows[..., j, :]
    both = first[..., a] * second[..., c] + first[..., c] * second[..., a]
    return both * torch.where(a == c, 0.5, 1.0).to(u.dtype)


def unpack_pairs(pairs: Tensor, m: int, n: int) -> Tensor:
    """Return the full matrix ``(..., mn, mn)`` of a matrix on pairs."""
    rows, columns = torch.from_numpy(_place(m)), torch.from_numpy(_place(n))
    flat = rows[:, None, :, None] * (n * (n + 1) // 2) + columns[None, :, None, :]
    return pairs.flatten(-2)[..., flat.reshape(m * n, m * n)]


@cache
def _upper(m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, columns = np.triu_indices(m)
    return rows.astype(np.int64), columns.astype(np.int64)


@cache
def _place(m: int) -> NDArray[np.int64]:
    place = np.empty((m, m), dtype=np.int64)
    rows, columns = _upper(m)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return place
