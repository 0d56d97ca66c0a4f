r"""Linear regression in a matrix: the federated model of RoLoRA's analysis, generalised to rank r.

Client i has $m_i$ samples $X_i$ with normal rows in d dimensions, targets $X_iW_i^*$ with $W_i^* = A^*B_i^*$ of rank r,
and the loss $\frac1{m_i}\|X_iW_i^* - X_iW\|_F^2$. Its expectation is the population loss $\|W_i^* - W\|_F^2$. With
$G_i = X_i^TX_i/m_i$, or the identity for the population loss, both are $\mathrm{tr}\,(W - W_i^*)^TG_i(W - W_i^*)$, so
the Gram matrix suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rmt.checks import abbreviate, require_order
from toymodels.on_demand import ClientsOnDemand, SampledProblem, sampled_problem
from toymodels.problem import Problem, ProblemError, finite, flag, integer, not_negative, sample_sizes, seed_number

ROUNDING = 64.0
"""Rounding of each term in a sum, in units of the accuracy, below which an eigenvalue counts as 0.

In 30,000 draws of fewer samples than columns, with d from 2 to 1000, no eigenvalue was above 1.25 of these units.
"""


@dataclass(frozen=True, eq=False)
class Regressor:
    r"""A client with loss $\mathrm{tr}\,(W - W^*)^TG(W - W^*)$.

    Attributes:
        G: Gram matrix over samples, ``(d, d)``; the identity for the population loss.
        target: W*, ``(d, k)``.
        samples: Number of samples.
    """

    G: Tensor
    target: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        off = w["W"] - self.target
        return (off * (self.G @ off)).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient $2G(W - W^*)$, in the type of the weights."""
        return type(w)({"W": 2.0 * self.G @ (w["W"] - self.target)})

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights, ``(d, k)``."""
        return tuple(self.target.shape)

    def best_b(self, a: Any) -> Any:
        """Return the B ``(r, k)`` that minimises the loss of AB at a given A ``(d, r)``; pass alpha A for alpha AB.

        Raises:
            ProblemError: B is not unique to rounding, because A is rank-deficient or has more columns than there are
                samples.
        """
        A = a["W"]
        weighted = A.mT @ self.G
        curvature = weighted @ A
        sizes = (self.G.diagonal(dim1=-2, dim2=-1)[..., None] * A**2).sum(dim=-2)
        definite = _is_definite(curvature, sizes, self.G.shape[-1])
        # Under vmap the clients are stacked, and none of them can raise: its B is not a number.
        if not torch._C._are_functorch_transforms_active() and not bool(definite.all()):
            raise ProblemError(
                f"the loss has no single minimiser in B at this A of {A.shape[-1]} columns; "
                "give every client at least as many samples, and A full rank"
            )
        there = definite[..., None, None]
        B = torch.linalg.solve(
            torch.where(there, curvature, torch.eye(A.shape[-1]).to(curvature)), weighted @ self.target
        )
        return type(a)({"W": torch.where(there, B, torch.nan)})

    def tensors(self) -> Mapping[str, Tensor]:
        """Return its tensors, by which clients are stacked."""
        return {"G": self.G, "target": self.target}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Regressor:
        """Return the client with other tensors."""
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
    constants: bool = True,
) -> Problem:
    r"""Draw a federation of regressors that share $A^*$ and have their own $B_i^*$.

    Args:
        d: Input dimension.
        k: Output dimension.
        clients: Number of clients.
        rng: Source of truth, data and initial weights.
        samples: Number of samples, for all clients or for each; default: the population loss.
        rank: Rank r of the truth.
        heterogeneity: Size of the clients' own part of $B_i^*$, relative to the common one.
        sine: Sine of the largest angle between the column spaces of $A^0$ and $A^*$; default: $A^0$ is random.
        constants: Compute the smallest L and the minimiser, which takes eigenvalues of every Gram matrix; else L is an
            upper bound, twice the largest Frobenius norm.

    Returns:
        The problem, with initial weights $A^0B^0$ of rank r and the sine (`angle`) among the measures. Its facts are
        $A^*$ (`truth`), $A^0$ (`first`), the numbers of samples (`sizes`), all $B_i^*$ (`own_B`), their weighted mean
        (`mean_B`), and their mean square distance from it (`gamma_squared`, RoLoRA's Definition A.13).

    Raises:
        ProblemError: A size is out of its range.
    """
    d, k, clients, rank = (integer(name, n) for name, n in (("d", d), ("k", k), ("clients", clients), ("rank", rank)))
    heterogeneity, constants = not_negative("heterogeneity", heterogeneity), flag("constants", constants)
    sizes = [None] * clients if samples is None else sample_sizes(samples, clients)
    _check_sizes(d, k, clients, rank, sizes)
    if sine is not None and (not 0.0 <= finite("sine", sine) <= 1.0 or d < 2 * rank):
        raise ProblemError(f"a sine lies in [0, 1] and needs d >= {2 * rank}, got {sine} and d = {d}")
    basis = np.linalg.qr(rng.standard_normal((d, min(d, 2 * rank))))[0]
    truth, beside = basis[:, :rank], basis[:, rank:]
    common = rng.standard_normal((rank, k))
    built, own = [], []
    for size in sizes:
        own.append(common + heterogeneity * rng.standard_normal((rank, k)))
        target = torch.from_numpy(truth @ own[-1])
        built.append(Regressor(_gram(d, size, rng), target, float(size or 1)))
    if sine is None:
        first = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    else:
        first = np.sqrt(1.0 - sine**2) * truth + sine * beside
    start = torch.from_numpy(first @ (1e-3 * rng.standard_normal((rank, k))))
    share = [client.samples / sum(c.samples for c in built) for client in built]
    mean = np.average(own, axis=0, weights=share)
    facts = {
        "truth": torch.from_numpy(truth),
        "first": torch.from_numpy(first),
        "sizes": tuple(sizes),
        "own_B": torch.from_numpy(np.stack(own)),
        "mean_B": torch.from_numpy(mean),
        "gamma_squared": float(np.average([((one - mean) ** 2).sum() for one in own], weights=share)),
    }
    problem = Problem(
        "linear regression", tuple(built), {"W": start}, share, 0.0, facts=facts, measures={"angle": _angle_to(truth)}
    )
    return _known(problem, built, constants)


def regression_on_demand(
    d: int, k: int, clients: int, seed: int, *, samples: int | None, heterogeneity: float
) -> Problem:
    """Return the problem of `regression` of rank 1 for any number of clients, each drawn from (seed, number) on access.

    The minimiser is not known, and the loss is averaged over the first clients, see `toymodels.on_demand`.

    Raises:
        ProblemError: A size is out of its range.
    """
    d, k, clients = (integer(name, n) for name, n in (("d", d), ("k", k), ("clients", clients)))
    heterogeneity = not_negative("heterogeneity", heterogeneity)
    size = None if samples is None else integer("samples", samples)
    _check_sizes(d, k, clients, 1, [size])
    seed = seed_number(seed)
    rng = np.random.default_rng(seed)
    truth, first = (np.linalg.qr(rng.standard_normal((d, 1)))[0] for _ in range(2))
    make = partial(
        _draw_client, truth=truth, common=rng.standard_normal((1, k)), size=size, heterogeneity=heterogeneity
    )
    drawn = ClientsOnDemand(make, clients, seed, float(size or 1))
    start = torch.from_numpy(first @ (1e-3 * rng.standard_normal((1, k))))
    facts = {"truth": torch.from_numpy(truth), "first": torch.from_numpy(first)}
    largest = 2.0 if size is None else inf
    measures = {"angle": _angle_to(truth)}
    return sampled_problem("linear regression", drawn, start, largest, d * (d + k), facts=facts, measures=measures)


def _check_sizes(d: int, k: int, clients: int, rank: int, sizes: Sequence[int | None]) -> None:
    """Check the sizes of a federation.

    Raises:
        ProblemError: One is out of its range.
    """
    if min(d, k, clients, rank) < 1 or rank > min(d, k):
        raise ProblemError(
            f"expected positive sizes and a rank of at most {min(d, k)}, got d={d}, k={k}, clients={clients}, "
            f"rank={rank}"
        )
    if any(size is not None and size < 1 for size in sizes):
        raise ProblemError(f"every client needs at least one sample, got {abbreviate(sizes)}")


def _draw_client(
    rng: np.random.Generator, truth: np.ndarray, common: np.ndarray, size: int | None, heterogeneity: float
) -> Regressor:
    """Draw a client of `regression_on_demand`."""
    own = common + heterogeneity * rng.standard_normal(common.shape)
    return Regressor(_gram(len(truth), size, rng), torch.from_numpy(truth @ own), float(size or 1))


def with_fresh_data(problem: Problem, rng: np.random.Generator, *, constants: bool = True) -> Problem:
    """Return the problem with new samples, as many for each client as before; population losses are not changed.

    Raises:
        ProblemError: The clients are drawn on demand, or are not regressors with known numbers of samples.
    """
    constants = flag("constants", constants)
    if isinstance(problem, SampledProblem):
        raise ProblemError(
            "clients on demand are drawn with their data from (seed, number), so they cannot get new samples; "
            "use regression, which holds its clients"
        )
    if "sizes" not in problem.facts:
        raise ProblemError(
            f"the problem {problem.name!r} has no fact `sizes`; new samples need a problem of regression"
        )
    sizes, own = problem.facts["sizes"], list(_regressors(problem))
    if len(sizes) != len(own):
        raise ProblemError(
            f"the problem {problem.name!r} has {len(own)} clients, but {len(sizes)} numbers of samples in its fact "
            "`sizes`; give both the same length"
        )
    clients = [replace(c, G=_gram(len(c.G), size, rng)) for c, size in zip(own, sizes, strict=True)]
    return _known(problem, clients, constants)


def in_expectation(problem: Problem, *, constants: bool = True) -> Problem:
    """Return the problem with the population loss of every client.

    All clients on demand are drawn and held, and the loss is over all of them.

    Raises:
        ProblemError: The clients are not regressors.
    """
    constants = flag("constants", constants)
    clients = [replace(client, G=_gram(len(client.G), None)) for client in _regressors(problem)]
    facts = {**problem.facts, "sizes": (None,) * len(clients)}
    return _known(replace(problem, facts=facts), clients, constants)


def best_of_rank(problem: Problem, rank: int) -> Tensor:
    r"""Return the minimiser of the global loss over matrices of rank at most r (reduced-rank regression), ``(d, k)``.

    With the Cholesky factor of the mean Gram matrix, $\bar G = LL^T$, the loss exceeds its minimum, at $W_0$, by
    $\|L^T(W - W_0)\|_F^2$.

    Raises:
        ProblemError: The rank is not a whole number of at least 0, the clients are not regressors, or the minimiser
            over all matrices is not unique, or not known: of clients on demand, or made with ``constants=False``.
    """
    try:
        rank = require_order("the rank", rank)
    except ValueError:
        raise ProblemError(f"the rank must be a whole number of at least 0, got {abbreviate(rank)}") from None
    next(_regressors(problem))
    if isinstance(problem, SampledProblem):
        raise ProblemError(
            "the minimiser is not known for clients on demand; use regression, or in_expectation for population losses"
        )
    gram = _mean_gram(list(_regressors(problem)), problem.shares)
    if problem.minimiser is None:
        raise ProblemError(
            "the problem was made with constants=False, so the minimiser is not known; make it with constants=True"
            if _has_one_minimiser(gram)
            else "the clients have fewer samples than d in total, so the minimiser is not unique; give more samples"
        )
    L = torch.linalg.cholesky(gram)
    U, sigma, Vh = torch.linalg.svd(L.mT @ problem.minimiser["W"], full_matrices=False)
    return torch.linalg.solve_triangular(L.mT, U[:, :rank] * sigma[:rank] @ Vh[:rank], upper=True)


def _regressors(problem: Problem) -> Iterator[Regressor]:
    """Yield the clients of a problem, those on demand one by one.

    Raises:
        ProblemError: One is not a regressor.
    """
    for number, client in enumerate(problem.clients):
        if not isinstance(client, Regressor):
            raise ProblemError(
                f"this needs a problem of regression, but client {number} of the problem {problem.name!r} is a "
                f"{type(client).__name__}"
            )
        yield client


def _gram(d: int, samples: int | None, rng: np.random.Generator | None = None) -> Tensor:
    if samples is None or rng is None:
        return torch.eye(d, dtype=torch.float64)
    X = rng.standard_normal((samples, d))
    return torch.from_numpy(X.T @ X / samples)


def _mean_gram(clients: Sequence[Regressor], shares: Sequence[float]) -> Tensor:
    return torch.stack([w * c.G for w, c in zip(shares, clients, strict=True)]).sum(dim=0)


def _has_one_minimiser(gram: Tensor) -> bool:
    """Return whether the mean Gram matrix is positive definite beyond rounding."""
    spectrum = torch.linalg.eigvalsh(gram)
    return float(spectrum[0]) > 1e-10 * float(spectrum[-1])


def _is_definite(matrix: Tensor, sizes: Tensor, terms: int) -> Tensor:
    """Return whether positive semidefinite matrices are definite beyond rounding, in any unit of each coordinate.

    A diagonal entry cannot serve as its own unit: its terms may cancel, and it then consists of their rounding.

    Args:
        matrix: ``(..., r, r)``; one that is not finite counts as definite, because divergence is reported elsewhere.
        sizes: Size of a diagonal entry whose terms do not cancel, ``(..., r)``.
        terms: Number of terms in the sums that made its entries.
    """
    finite = torch.isfinite(matrix).flatten(-2).all(dim=-1)
    root = torch.where(sizes > 0.0, sizes, 1.0).sqrt()
    scaled = matrix / root[..., :, None] / root[..., None, :]
    scaled = torch.where(finite[..., None, None], scaled, torch.eye(matrix.shape[-1]).to(matrix))
    least = torch.linalg.eigvalsh(scaled)[..., 0]
    return ~finite | ((sizes > 0.0).all(dim=-1) & (least > ROUNDING * terms * torch.finfo(matrix.dtype).eps))


def _known(problem: Problem, clients: Sequence[Regressor], constants: bool) -> Problem:
    """Return the problem with these clients and L, and with minimiser and minimum if the minimiser is unique."""
    given = {field.name: getattr(problem, field.name) for field in fields(Problem)}
    given.update(clients=tuple(clients), minimiser=None, least=None)
    if not constants:
        bound = 2.0 * max(float(torch.linalg.matrix_norm(client.G)) for client in clients)
        return Problem(**{**given, "smoothness": bound})
    smoothness = 2.0 * max(float(torch.linalg.eigvalsh(client.G)[-1]) for client in clients)
    known = Problem(**{**given, "smoothness": smoothness})
    gram = _mean_gram(clients, problem.shares)
    if not _has_one_minimiser(gram):
        return known
    pull = torch.stack([w * c.G @ c.target for w, c in zip(problem.shares, clients, strict=True)]).sum(dim=0)
    minimiser = {"W": torch.linalg.solve(gram, pull)}
    return replace(known, minimiser=minimiser, least=known.loss(minimiser))


def _angle_to(truth: np.ndarray) -> Callable[[Mapping[str, Tensor]], float]:
    """Return the function that measures the largest angle of a matrix's first left singular vectors and the truth.

    It returns the sine of the angle, or 1 for a matrix of smaller rank than the truth.
    """
    basis = torch.from_numpy(truth)
    rank = truth.shape[1]

    def angle(w: Mapping[str, Tensor]) -> float:
        U, sigma, _ = torch.linalg.svd(w["W"].to(basis), full_matrices=False)
        if not float(sigma[rank - 1]) > 1e-12 * float(sigma[0]):
            return 1.0
        off = U[:, :rank] - basis @ (basis.mT @ U[:, :rank])
        return min(float(torch.linalg.matrix_norm(off, 2)), 1.0)

    return angle
