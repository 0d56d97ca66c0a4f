r"""Smooth non-quadratic losses: means of $\varphi(\langle D_i, W\rangle - y_i)$ over samples, with $\|D_i\|_F = 1$.

The profile $\varphi$ is scalar, so bounds on smoothness, gradient and variance are known: every sample's gradient
has norm at most $\sup|\varphi'|$, and the gradient of the loss has the Lipschitz constant $\sup|\varphi''|$ times the
largest eigenvalue of the mean of $D_iD_i^\top$ (as vectors). Non-convex profiles have negative curvature; `Pieces` has
any piecewise constant curvature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, inf
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rmt.checks import abbreviate, require_numbers
from toymodels.on_demand import ClientsOnDemand, sampled_problem
from toymodels.problem import (
    Problem,
    ProblemError,
    finite,
    integer,
    matrix_shape,
    not_negative,
    sample_sizes,
    seed_number,
)


class Profile(Protocol):
    """A scalar function with bounds on its derivatives."""

    @property
    def slope_bound(self) -> float:
        r"""$\sup|\varphi'|$, possibly infinite."""
        ...

    @property
    def curvatures(self) -> tuple[float, float]:
        r"""Infimum and supremum of $\varphi''$."""
        ...

    def value(self, x: Tensor) -> Tensor:
        """Return the function at every entry; differentiable."""
        ...

    def slope(self, x: Tensor) -> Tensor:
        """Return the derivative at every entry."""
        ...


@dataclass(frozen=True)
class PseudoHuber:
    r"""The profile $\sqrt{1 + x^2} - 1$: convex, with curvature at most 1 and slope below 1."""

    slope_bound: float = 1.0
    curvatures: tuple[float, float] = (0.0, 1.0)

    def value(self, x: Tensor) -> Tensor:
        """Return the function at every entry."""
        return torch.sqrt(1.0 + x**2) - 1.0

    def slope(self, x: Tensor) -> Tensor:
        """Return the derivative at every entry."""
        return x / torch.sqrt(1.0 + x**2)


@dataclass(frozen=True)
class Welsch:
    r"""The profile $1 - e^{-x^2/2}$: bounded, non-convex, curvature in $[-2e^{-3/2}, 1]$, slope up to $e^{-1/2}$."""

    slope_bound: float = exp(-0.5)
    curvatures: tuple[float, float] = (-2.0 * exp(-1.5), 1.0)

    def value(self, x: Tensor) -> Tensor:
        """Return the function at every entry."""
        return 1.0 - torch.exp(-(x**2) / 2.0)

    def slope(self, x: Tensor) -> Tensor:
        """Return the derivative at every entry."""
        return x * torch.exp(-(x**2) / 2.0)


@dataclass(frozen=True)
class Cosine:
    r"""The profile $1 - \cos x$: non-convex, curvature in [-1, 1], slope up to 1, all kinds of stationary points."""

    slope_bound: float = 1.0
    curvatures: tuple[float, float] = (-1.0, 1.0)

    def value(self, x: Tensor) -> Tensor:
        """Return the function at every entry."""
        return 1.0 - torch.cos(x)

    def slope(self, x: Tensor) -> Tensor:
        """Return the derivative at every entry."""
        return torch.sin(x)


@dataclass(frozen=True)
class Pieces:
    r"""A profile with piecewise constant curvature, $h_0$ left of the first knot and $h_k$ from knot k on.

    Its value at 0 is 0.

    Attributes:
        knots: Knots in increasing order.
        heights: Curvatures, one more than knots.
        slope_at_zero: $\varphi'(0)$.

    Raises:
        ProblemError: A number is not finite, the knots do not increase, or there is not one more height than knots.
    """

    knots: tuple[float, ...]
    heights: tuple[float, ...]
    slope_at_zero: float = 0.0

    def __post_init__(self) -> None:
        for name in ("knots", "heights"):
            try:
                object.__setattr__(self, name, require_numbers(name, getattr(self, name)))
            except ValueError as error:
                raise ProblemError(str(error)) from None
            for value in getattr(self, name):
                finite(f"one of the {name}", value)
        object.__setattr__(self, "slope_at_zero", finite("slope_at_zero", self.slope_at_zero))
        if len(self.heights) != len(self.knots) + 1 or any(np.diff(self.knots) <= 0.0):
            raise ProblemError("knots must increase, with one more height than knots")

    @property
    def curvatures(self) -> tuple[float, float]:
        """The smallest and the largest height."""
        return min(self.heights), max(self.heights)

    @property
    def slope_bound(self) -> float:
        """The largest absolute slope, finite only if the outer curvatures are 0."""
        if self.heights[0] or self.heights[-1]:
            return inf
        ends = torch.tensor([*self.knots, 0.0], dtype=torch.float64)
        return float(self.slope(ends).abs().max())

    def value(self, x: Tensor) -> Tensor:
        """Return the function at every entry: the curvature integrated twice from 0."""
        return self.slope_at_zero * x + sum(
            (jump * self._twice(x, knot) for knot, jump in self._jumps()), 0.5 * self.heights[0] * x**2
        )

    def slope(self, x: Tensor) -> Tensor:
        """Return the derivative at every entry: the curvature integrated from 0."""
        start = self.slope_at_zero + self.heights[0] * x
        return sum((jump * (torch.relu(x - knot) - max(-knot, 0.0)) for knot, jump in self._jumps()), start)

    def _jumps(self) -> list[tuple[float, float]]:
        return list(zip(self.knots, np.diff(self.heights).tolist(), strict=True))

    @staticmethod
    def _twice(x: Tensor, knot: float) -> Tensor:
        below = max(-knot, 0.0)
        return 0.5 * torch.relu(x - knot) ** 2 - 0.5 * below**2 - below * x


PARTS = ("value", "slope", "slope_bound", "curvatures")
"""Parts of a profile, by name."""
PROFILES: Mapping[str, Profile] = {"pseudo-huber": PseudoHuber(), "welsch": Welsch(), "cosine": Cosine()}


@dataclass(frozen=True, eq=False)
class Ridges:
    r"""A client whose loss is the mean of $\varphi(\langle D_i, W\rangle - y_i)$ over its samples.

    Attributes:
        D: Directions of norm 1, ``(samples, m, n)``.
        y: Offsets, ``(samples,)``.
        profile: $\varphi$.
    """

    D: Tensor
    y: Tensor
    profile: Profile

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights, ``(m, n)``."""
        return tuple(self.D.shape[1:])

    @property
    def samples(self) -> float:
        """Number of samples."""
        return float(len(self.y))

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss over a batch of samples; default: over all samples."""
        D, y = self._chosen(batch)
        return self.profile.value(self._along(D, w["W"]) - y).mean()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        r"""Return the gradient, the mean of $\varphi'(\langle D_i, W\rangle - y_i)D_i$, in the type of the weights."""
        D, y = self._chosen(batch)
        slopes = self.profile.slope(self._along(D, w["W"]) - y) / y.shape[0]
        return type(w)({"W": (slopes[:, None, None] * D).sum(dim=0)})

    def tensors(self) -> Mapping[str, Tensor]:
        """Return its tensors, by which clients are stacked."""
        return {"D": self.D, "y": self.y}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Ridges:
        """Return the client with other tensors."""
        return replace(self, D=tensors["D"], y=tensors["y"])

    @property
    def smoothness(self) -> float:
        """A Lipschitz constant of the gradient, attained if all samples have the extreme curvature."""
        columns = self.D.flatten(1)
        return max(map(abs, self.profile.curvatures)) * float(torch.linalg.matrix_norm(columns, 2) ** 2) / len(columns)

    def _chosen(self, batch: Tensor | None) -> tuple[Tensor, Tensor]:
        return (self.D, self.y) if batch is None else (self.D[batch], self.y[batch])

    @staticmethod
    def _along(D: Tensor, W: Tensor) -> Tensor:
        return (D * W).sum(dim=(-2, -1))


def ridge_problem(
    shape: tuple[int, int],
    clients: int,
    rng: np.random.Generator,
    *,
    profile: Profile | str = "welsch",
    samples: int | Sequence[int] = 20,
    heterogeneity: float = 0.5,
) -> Problem:
    r"""Draw clients with ridges in random directions, with offsets from a common matrix plus one of each client.

    Args:
        shape: ``(m, n)`` of the weights.
        clients: Number of clients.
        rng: Source of directions, offsets and initial weights.
        profile: The name of one of `PROFILES`, or any profile.
        samples: Number of samples, for all clients or for each.
        heterogeneity: Size of the clients' own matrices relative to the common one.

    Returns:
        The problem. Its facts are the bound G on the norm of every sample's gradient (`gradient_bound`), a bound on the
        variance of a sample's gradient about its client's, $G^2$ (`variance_bound`), and the profile's `curvatures`.

    Raises:
        ProblemError: A number is out of its range, or the profile is unknown.
    """
    shape, clients = matrix_shape(shape), integer("clients", clients)
    heterogeneity = not_negative("heterogeneity", heterogeneity)
    sizes = sample_sizes(samples, clients)
    _check_sizes(shape, clients, sizes)
    profile = _named(profile)
    common = rng.standard_normal(shape)
    built = [_draw_client(rng, common, size, heterogeneity, profile) for size in sizes]
    G = profile.slope_bound
    return Problem(
        "ridges",
        tuple(built),
        {"W": torch.from_numpy(common + rng.standard_normal(shape))},
        [size / sum(sizes) for size in sizes],
        max(client.smoothness for client in built),
        facts={"gradient_bound": G, "variance_bound": G**2, "curvatures": profile.curvatures},
    )


def ridges_on_demand(
    shape: tuple[int, int], clients: int, seed: int, *, profile: str, samples: int, heterogeneity: float
) -> Problem:
    """Return the problem of `ridge_problem` for any number of clients, each drawn from (seed, number) on access.

    The loss is averaged over the first clients, see `toymodels.on_demand`.

    Raises:
        ProblemError: A number is out of its range, or the profile is unknown.
    """
    shape, clients, samples = matrix_shape(shape), integer("clients", clients), integer("samples", samples)
    heterogeneity = not_negative("heterogeneity", heterogeneity)
    _check_sizes(shape, clients, [samples])
    seed = seed_number(seed)
    rng, known = np.random.default_rng(seed), _named(profile)
    common = rng.standard_normal(shape)
    make = partial(_draw_client, common=common, size=samples, heterogeneity=heterogeneity, profile=known)
    drawn = ClientsOnDemand(make, clients, seed, float(samples))
    start = torch.from_numpy(common + rng.standard_normal(shape))
    largest = max(map(abs, known.curvatures))
    return sampled_problem("ridges", drawn, start, largest, samples * (shape[0] * shape[1] + 1))


def _check_sizes(shape: tuple[int, int], clients: int, sizes: Sequence[int]) -> None:
    """Check shape, number of clients and numbers of samples.

    Raises:
        ProblemError: One is not positive.
    """
    if min(*shape, clients, *sizes) < 1:
        raise ProblemError(f"expected positive sizes, got {shape}, {clients}, {abbreviate(sizes)}")


def _named(profile: Profile | str) -> Profile:
    """Return a profile, given as such or by its name.

    Raises:
        ProblemError: The name is unknown, or it is not a profile.
    """
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise ProblemError(f"unknown profile {profile!r}; known: {', '.join(PROFILES)}")
        return PROFILES[profile]
    if isinstance(profile, type) or not all(hasattr(profile, name) for name in PARTS):
        raise ProblemError(
            f"profile must be one of {', '.join(PROFILES)}, or have {', '.join(PARTS)}, got {abbreviate(profile)}"
        )
    return profile


def _draw_client(
    rng: np.random.Generator, common: np.ndarray, size: int, heterogeneity: float, profile: Profile
) -> Ridges:
    """Draw a client of `ridge_problem`."""
    D = rng.standard_normal((size, *common.shape))
    D /= np.linalg.norm(D, axis=(1, 2), keepdims=True)
    target = common + heterogeneity * rng.standard_normal(common.shape)
    return Ridges(torch.from_numpy(D), torch.from_numpy((D * target).sum(axis=(1, 2))), profile)
