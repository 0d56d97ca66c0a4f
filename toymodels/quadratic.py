r"""Quadratic losses of a matrix with prescribed spectra: $\frac12\langle W, HW\rangle - \langle B, W\rangle + c$.

Every least squares problem in a matrix has this form, where H is the Gram matrix of its features. If H is indefinite,
there are stationary points that are not minima.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rmt.checks import abbreviate, require_numbers
from toymodels.on_demand import ClientsOnDemand, sampled_problem
from toymodels.problem import Problem, ProblemError, finite, integer, matrix_shape, real_tensor, seed_number

LEAST_CURVATURE = 1e-290
"""Largest curvatures below this have entries, or products with rounding, that are not normal doubles."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""A client with loss $\frac12\langle W, HW\rangle - \langle B, W\rangle + c$.

    Attributes:
        H: Symmetric, ``(m, n, m, n)``, as an operator on matrices ``(m, n)``.
        B: ``(m, n)``.
        c: Scalar.
        samples: Number of samples.
    """

    H: Tensor
    B: Tensor
    c: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        W = w["W"]
        return 0.5 * (W * self._times(W)).sum() - (self.B * W).sum() + self.c

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient $HW - B$, in the type of the weights."""
        return type(w)({"W": self._times(w["W"]) - self.B})

    def projected(self, U: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Quadratic:
        r"""Return the loss as a function of the coefficients S of $W = U S V^T$, again a quadratic."""
        u, v = U["W"], V["W"]
        both = (u[:, None, :, None] * v[None, :, None, :]).reshape(self.B.numel(), -1)  # u (x) v
        H = both.mT @ self.matrix @ both
        shape = (u.shape[1], v.shape[1])
        return replace(self, H=H.reshape(*shape, *shape), B=u.mT @ self.B @ v)

    def tensors(self) -> Mapping[str, Tensor]:
        """Return its tensors, by which clients are stacked."""
        return {"H": self.H, "B": self.B, "c": self.c}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Quadratic:
        """Return the client with other tensors."""
        return Quadratic(tensors["H"], tensors["B"], tensors["c"], self.samples)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights, ``(m, n)``."""
        return tuple(self.B.shape)

    @property
    def matrix(self) -> Tensor:
        """H as a matrix on vectors, ``(mn, mn)``."""
        size = self.B.numel()
        return self.H.reshape(size, size)

    def _times(self, W: Tensor) -> Tensor:
        return (self.H.flatten(0, 1).flatten(1, 2) @ W.flatten()).reshape(W.shape)


def mean_of(clients: Sequence[Quadratic], shares: Sequence[float]) -> Quadratic:
    """Return the weighted mean of quadratic losses."""
    pairs = list(zip(shares, clients, strict=True))
    return Quadratic(
        torch.stack([w * q.H for w, q in pairs]).sum(dim=0),
        torch.stack([w * q.B for w, q in pairs]).sum(dim=0),
        torch.stack([w * q.c for w, q in pairs]).sum(),
        sum(q.samples for q in clients),
    )


def quadratic_problem(
    name: str,
    clients: Sequence[Quadratic],
    start: ArrayLike | Tensor,
    shares: Sequence[float] | None = None,
    **facts: Any,
) -> Problem:
    """Return a problem of copies of quadratic clients, with its minimiser if the mean is positive definite.

    Args:
        name: Name of the problem.
        clients: The clients.
        start: Initial matrix, in the clients' shape; it is copied in their type.
        shares: Weights of the clients in averages, of any sum; default: their numbers of samples.
        facts: Facts of the problem.

    Raises:
        ProblemError: No clients are given, a client's loss is not finite, shapes or types differ, or the shares are
            invalid.
    """
    clients = tuple(clients)
    _check_clients(clients)
    if shares is not None:
        try:
            shares = require_numbers("shares", shares)
        except ValueError as error:
            raise ProblemError(str(error)) from None
    own = {id(client): client.with_tensors({k: v.clone() for k, v in client.tensors().items()}) for client in clients}
    return problem_of_own(
        name,
        [own[id(client)] for client in clients],
        real_tensor("start", start, clients[0].B.dtype, clients[0].B.device).clone(),
        shares,
        **facts,
    )


def problem_of_own(
    name: str, clients: Sequence[Quadratic], start: Tensor, shares: Sequence[float] | None = None, **facts: Any
) -> Problem:
    """Return `quadratic_problem` of clients and a start that nobody else uses, without copying them."""
    _check_clients(clients)
    shares = [client.samples for client in clients] if shares is None else shares
    if not all(0.0 <= share < inf for share in shares):
        raise ProblemError(f"shares must be finite and at least 0, got {list(shares)}")
    if len(shares) != len(clients):
        raise ProblemError(f"expected {len(clients)} shares, got {len(shares)}")
    if not sum(shares) > 0.0:
        raise ProblemError(f"shares must not all be 0, got {list(shares)}")
    parts = _of_sum_1(shares)
    whole = mean_of(clients, parts)
    spectrum = torch.linalg.eigvalsh(whole.matrix)
    _check_curvature(max(abs(float(spectrum[0])), abs(float(spectrum[-1]))))
    smoothness = max(float(torch.linalg.eigvalsh(q.matrix).abs().max()) for q in clients)
    minimiser = least = None
    if float(spectrum[0]) > 1e-10 * float(spectrum[-1].abs()):
        W = torch.linalg.solve(whole.matrix, whole.B.reshape(-1)).reshape(whole.B.shape)
        minimiser, least = {"W": W}, float(whole.loss({"W": W}))
    known = {"curvature": (float(spectrum[0]), float(spectrum[-1])), **facts}
    measures = {}
    if minimiser is not None:
        measures["distance"] = lambda w: float(torch.linalg.vector_norm(w["W"] - minimiser["W"]))
    return Problem(name, tuple(clients), {"W": start}, parts, smoothness, minimiser, least, known, measures)


def _check_clients(clients: Sequence[Quadratic]) -> None:
    """Check that quadratic losses have a mean.

    Raises:
        ProblemError: There is none, one is not finite, or their shapes or types differ.
    """
    if not clients:
        raise ProblemError("a problem needs at least one client, got none")
    for number, client in enumerate(clients):
        if not isinstance(client, Quadratic):
            raise ProblemError(f"clients must be Quadratic, client {number} is a {type(client).__name__}")
        shape, parts = client.weight_shape, client.tensors().values()
        if len(shape) != 2 or client.H.shape != shape + shape or client.c.ndim:
            raise ProblemError(
                f"a client has H (m, n, m, n), B (m, n) and a scalar c, client {number} has "
                f"{', '.join(str(tuple(part.shape)) for part in parts)}"
            )
        if not all(torch.isfinite(part).all() for part in parts):
            raise ProblemError(f"H, B and c must be finite, those of client {number} are not: lower heterogeneity")
        if shape != clients[0].weight_shape:
            raise ProblemError(
                f"clients must have one shape, got {clients[0].weight_shape} for client 0 and {shape} for client "
                f"{number}"
            )
        types = {part.dtype for part in (*clients[0].tensors().values(), *parts)}
        if len(types) > 1 or not client.B.is_floating_point():
            raise ProblemError(
                f"H, B and c of all clients must have one type of real floats, got {', '.join(sorted(map(str, types)))}"
            )


def _of_sum_1(shares: Sequence[float]) -> list[float]:
    """Return shares over their sum, which may exceed double precision."""
    total = sum(shares)
    unit = 1.0 if total < inf else float(max(shares))
    scaled = [float(share) / unit for share in shares]
    return [share / sum(scaled) for share in scaled]


def _check_curvature(largest: float) -> None:
    """Check that curvatures keep their digits.

    Raises:
        ProblemError: The largest modulus is not 0, but so small that products with it are not.
    """
    if 0.0 < largest < LEAST_CURVATURE:
        raise ProblemError(
            f"the largest curvature, {largest:.3g}, is below {LEAST_CURVATURE:g}, where double precision loses digits; "
            "rescale the loss"
        )


def random_quadratics(
    shape: tuple[int, int],
    clients: int,
    rng: np.random.Generator,
    *,
    curvatures: tuple[float, float] = (0.1, 1.0),
    heterogeneity: float = 1.0,
    target_rank: int | None = None,
    scale: float = 1.0,
) -> Problem:
    """Draw quadratic clients with given extreme curvatures, random orthogonal bases and different minimisers.

    Args:
        shape: ``(m, n)`` of the weights.
        clients: Number of clients.
        rng: Source of bases, targets and initial weights.
        curvatures: Smallest and largest eigenvalue of every client, attained; the smallest may be negative. A matrix of
            one entry has the smallest alone.
        heterogeneity: Size of the clients' own targets relative to the common one; with 0, all clients also have the
            same curvature.
        target_rank: Rank of the common target, of each client's own and of the start; default: full. A client's
            minimiser is the sum of two targets, so its rank is up to twice this one unless heterogeneity is 0.
        scale: Size of the initial weights relative to a target.

    Raises:
        ProblemError: A number is out of its range.
    """
    shape, clients, scale = matrix_shape(shape), integer("clients", clients), finite("scale", scale)
    law = _law(shape, clients, curvatures, heterogeneity, target_rank)
    common, same = law.target(rng, 1.0), law.curvature(rng)
    built = [law(rng, common, same) for _ in range(clients)]
    return problem_of_own("random quadratics", built, law.target(rng, scale))


def quadratics_on_demand(
    shape: tuple[int, int],
    clients: int,
    seed: int,
    *,
    curvatures: tuple[float, float] = (0.1, 1.0),
    heterogeneity: float = 1.0,
    scale: float = 1.0,
) -> Problem:
    """Return the problem of `random_quadratics` for any number of clients, each drawn from (seed, number) on access.

    The minimiser is not known, and the loss is averaged over the first clients, see `toymodels.on_demand`.

    Raises:
        ProblemError: A number is out of its range.
    """
    shape, clients, scale = matrix_shape(shape), integer("clients", clients), finite("scale", scale)
    law = _law(shape, clients, curvatures, heterogeneity)
    seed = seed_number(seed)
    rng = np.random.default_rng(seed)
    common, same = law.target(rng, 1.0), law.curvature(rng)
    drawn = ClientsOnDemand(partial(law, common=common, same=same), clients, seed)
    start, largest = law.target(rng, scale), max(map(abs, law.extremes))
    return sampled_problem("random quadratics", drawn, start, largest, (shape[0] * shape[1]) ** 2)


def _law(
    shape: tuple[int, int], clients: int, curvatures: Any, heterogeneity: float, target_rank: int | None = None
) -> _QuadraticLaw:
    """Return the law of a client.

    Raises:
        ProblemError: A number is out of its range.
    """
    low, high = _pair(curvatures)
    heterogeneity = finite("heterogeneity", heterogeneity)
    rank = min(shape) if target_rank is None else integer("target_rank", target_rank)
    if min(*shape, clients) < 1 or not low <= high or not 1 <= rank <= min(shape) or heterogeneity < 0.0:
        raise ProblemError(
            f"expected positive sizes, curvatures in order, a rank of 1 to {min(shape)} and heterogeneity >= 0, got "
            f"{shape}, {clients}, {curvatures}, {rank} and {heterogeneity}"
        )
    law = _QuadraticLaw(*shape, low, high, heterogeneity, rank)
    _check_curvature(max(map(abs, law.extremes)))
    return law


def _pair(curvatures: Any) -> tuple[float, float]:
    try:
        low, high = require_numbers("curvatures", curvatures)
    except ValueError:
        raise ProblemError(f"curvatures must be two numbers, (low, high), got {abbreviate(curvatures)}") from None
    return finite("the low curvature", low), finite("the high curvature", high)


@dataclass(frozen=True)
class _QuadraticLaw:
    """The law of one client of `random_quadratics`."""

    m: int
    n: int
    low: float
    high: float
    heterogeneity: float
    rank: int

    def __call__(self, rng: np.random.Generator, common: Tensor, same: Tensor) -> Quadratic:
        centre = common + self.target(rng, self.heterogeneity) if self.heterogeneity else common
        return centred(self.curvature(rng) if self.heterogeneity else same, centre)

    @property
    def extremes(self) -> tuple[float, ...]:
        """The eigenvalues that every client has."""
        return (self.low, self.high)[: self.m * self.n]

    def curvature(self, rng: np.random.Generator) -> Tensor:
        m, n, low, high = self.m, self.n, self.low, self.high
        basis = np.linalg.qr(rng.standard_normal((m * n, m * n)))[0]
        values = np.concatenate([self.extremes, rng.uniform(low, high, max(m * n - 2, 0))])
        return torch.from_numpy(basis * values @ basis.T).reshape(m, n, m, n)

    def target(self, rng: np.random.Generator, size: float) -> Tensor:
        factors = rng.standard_normal((self.m, self.rank)) @ rng.standard_normal((self.rank, self.n))
        return torch.from_numpy(size * factors / np.sqrt(self.rank))


def centred(H: ArrayLike | Tensor, centre: ArrayLike | Tensor, samples: float = 1.0) -> Quadratic:
    r"""Return the client with loss $\frac12\langle W - C, H(W - C)\rangle$.

    Args:
        H: ``(m, n, m, n)``, or ``(mn, mn)``; its symmetric part is used.
        centre: C, ``(m, n)``.
        samples: Number of samples.

    Raises:
        ProblemError: The shapes do not match, an entry is masked or complex, or the number of samples is not positive
            and finite.
    """
    if not finite("samples", samples) > 0.0:
        raise ProblemError(f"samples must be positive, got {samples}")
    C, matrix = real_tensor("centre", centre, torch.float64), real_tensor("H", H, torch.float64)
    if C.ndim != 2 or matrix.numel() != C.numel() ** 2:
        raise ProblemError(f"H of shape {tuple(matrix.shape)} does not act on matrices of shape {tuple(C.shape)}")
    matrix = matrix.reshape(C.numel(), C.numel())
    matrix = (matrix + matrix.T) / 2.0
    B = matrix @ C.reshape(-1)
    constant = 0.5 * (C.reshape(-1) * B).sum()
    return Quadratic(matrix.reshape(*C.shape, *C.shape), B.reshape(C.shape), constant, samples)
