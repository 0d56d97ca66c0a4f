r"""Linear regression in a matrix: the federated model of RoLoRA's analysis, and its generalisation to rank r.

Client i has $m_i$ samples $X_i$ with rows normal in d dimensions and targets $X_iW_i^*$, $W_i^* = A^*B_i^*$ of rank r,
and the loss $\frac1{m_i}\|X_iW_i^* - X_iW\|_F^2$; in expectation, the population loss $\|W_i^* - W\|_F^2$. With $G_i =
X_i^TX_i/m_i$ both are $\mathrm{tr}\,(W - W_i^*)^TG_i(W - W_i^*)$: the Gram matrix is all of the data that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor

from toymodels.problem import Problem, ProblemError


@dataclass(frozen=True, eq=False)
class Regressor:
    """One client.

    Attributes:
        G: Gram matrix over samples, ``(d, d)``; the identity for the population loss.
        target: W*, ``(d, k)``.
        samples: Number of samples.
    """

    G: Tensor
    target: Tensor
    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss; there are no batches."""
        off = w["W"] - self.target
        return (off * (self.G @ off)).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Its gradient, in the type of the weights."""
        return type(w)({"W": 2.0 * self.G @ (w["W"] - self.target)})

    def best_b(self, a: Any) -> Any:
        """The B ``(r, k)`` that minimises the loss of AB at a given A ``(d, r)`` of full rank."""
        A = a["W"]
        weighted = A.mT @ self.G
        return type(a)({"W": torch.linalg.solve(weighted @ A, weighted @ self.target)})

    def tensors(self) -> Mapping[str, Tensor]:
        """Its data, for clients to be stacked."""
        return {"G": self.G, "target": self.target}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Regressor:
        """The same with other data."""
        return Regressor(tensors["G"], tensors["target"], self.samples)


def regression(
    d: int,
    k: int,
    clients: int,
    rng: np.random.Generator,
    *,
    samples: int | Sequence[int] | None = None,
    rank: int = 1,
    heterogeneity: float = 0.0,
    sine: float | None = None,
) -> Problem:
    r"""A federation of regressors that share the columns of $A^*$, up to their own $B_i^*$.

    Args:
        d: Input dimension.
        k: Output dimension.
        clients: Number of clients.
        rng: Source of truth, data and start.
        samples: Of each client, or of all alike; default: the population loss.
        rank: r.
        heterogeneity: Size of the clients' own part of $B_i^*$, relative to the common one.
        sine: Sine of the largest angle between the start's column space and that of $A^*$; default: a random start.

    Returns:
        The problem, with the start $A^0B^0$ of rank r, `angle` (that sine) among the measures, and `gamma_squared`,
        the mean square distance of the clients' $B_i^*$ from their mean.

    Raises:
        ProblemError: Sizes that do not fit.
    """
    sizes = [samples] * clients if samples is None or isinstance(samples, int) else list(samples)
    if min(d, k, clients, rank) < 1 or rank > min(d, k) or len(sizes) != clients or heterogeneity < 0.0:
        raise ProblemError(
            f"expected positive sizes, a rank of at most {min(d, k)} and samples of {clients} clients, got d={d}, "
            f"k={k}, rank={rank}, samples={samples}"
        )
    if any(size is not None and size < 1 for size in sizes):
        raise ProblemError(f"every client needs at least one sample, got {sizes}")
    if sine is not None and (not 0.0 <= sine <= 1.0 or d < 2 * rank):
        raise ProblemError(f"a sine lies in [0, 1] and needs d >= {2 * rank}, got {sine} and d = {d}")
    basis = np.linalg.qr(rng.standard_normal((d, min(d, 2 * rank))))[0]
    truth, beside = basis[:, :rank], basis[:, rank:]
    common = rng.standard_normal((rank, k))
    made, own = [], []
    for size in sizes:
        own.append(common + heterogeneity * rng.standard_normal((rank, k)))
        X = None if size is None else rng.standard_normal((size, d))
        G = np.eye(d) if X is None else X.T @ X / len(X)
        made.append(Regressor(torch.from_numpy(G), torch.from_numpy(truth @ own[-1]), float(size or 1)))
    weights = [client.samples / sum(c.samples for c in made) for client in made]
    if sine is None:
        first = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    else:
        first = np.sqrt(1.0 - sine**2) * truth + sine * beside
    start = torch.from_numpy(first @ (1e-3 * rng.standard_normal((rank, k))))
    whole = torch.stack([w * c.G for w, c in zip(weights, made, strict=True)]).sum(dim=0)
    pull = torch.stack([w * c.G @ c.target for w, c in zip(weights, made, strict=True)]).sum(dim=0)
    spectrum = torch.linalg.eigvalsh(whole)
    unique = float(spectrum[0]) > 1e-10 * float(spectrum[-1])
    minimiser = torch.linalg.solve(whole, pull) if unique else None
    mean = np.average(own, axis=0, weights=weights)
    gamma = float(np.average([((one - mean) ** 2).sum() for one in own], weights=weights))

    def angle(w: Mapping[str, Tensor]) -> float:
        U, sigma, _ = torch.linalg.svd(w["W"], full_matrices=False)
        if not float(sigma[rank - 1]) > 1e-12 * float(sigma[0]):
            return 1.0
        off = U[:, :rank] - torch.from_numpy(truth @ (truth.T @ U[:, :rank].numpy()))
        return float(torch.linalg.matrix_norm(off, 2))

    problem = Problem(
        "linear regression",
        tuple(made),
        {"W": start},
        weights,
        2.0 * max(float(torch.linalg.eigvalsh(client.G)[-1]) for client in made),
        None if minimiser is None else {"W": minimiser},
        None,
        {"truth": torch.from_numpy(truth), "gamma_squared": gamma, "first": torch.from_numpy(first)},
        {"angle": angle},
    )
    if minimiser is None:
        return problem
    least = problem.loss({"W": minimiser})
    return Problem(**{**problem.__dict__, "least": least if least < inf else None})
