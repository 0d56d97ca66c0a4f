"""Settings of problems: dataclasses whose fields are options and which build the federated problem."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from runs.settings import RunError, at_least
from toymodels.legendre import heterogeneous, homogeneous, homogeneous_on_demand
from toymodels.problem import Problem, ProblemError
from toymodels.quadratic import quadratics_on_demand, random_quadratics
from toymodels.regression import regression, regression_on_demand
from toymodels.ridges import ridge_problem, ridges_on_demand


class ProblemSettings(Protocol):
    """Settings that build a problem.

    Attributes:
        clients: Number of clients.
    """

    @property
    def clients(self) -> int:
        """Number of clients."""
        ...

    @classmethod
    def suggest(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Suggest defaults for the options of algorithms, from the given options."""
        ...

    def build(self, seed: int, device: str = "cpu", root: str | None = None) -> Any:
        """Build the problem.

        Args:
            seed: Seed of everything random in it.
            device: Torch device.
            root: Where data sets lie.
        """
        ...


@dataclass(frozen=True)
class Toy:
    """A problem in one matrix, with a known solution.

    Attributes:
        clients: Number of clients. Above 50,000 clients or 4 GB, clients are drawn on demand and only the first ones
            are evaluated.
        rows: Number of rows of the weights.
        columns: Number of columns of the weights.

    Raises:
        RunError: A value out of its range.
    """

    clients: int = 4
    rows: int = 10
    columns: int = 8

    def __post_init__(self) -> None:
        whole = {name: value for name, value in vars(self).items() if type(value) is int}
        at_least(1, **whole)
        least = getattr(self, "heterogeneity", 0.0)
        if not least >= 0.0:
            raise RunError(f"heterogeneity must be at least 0, got {least}")

    @classmethod
    def suggest(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Suggest local steps with which every toy problem moves within some rounds, unless epochs are given."""
        steps = {} if given.get("epochs") is not None else {"steps": 10}
        return {**steps, "learning_rate": 0.05, "truncation": 0.01}

    def build(self, seed: int, device: str = "cpu", root: str | None = None) -> Problem:
        """Build the problem, in double precision on the CPU.

        Raises:
            RunError: Another device, or more numbers than the machine's memory holds.
            ProblemError: Settings that do not go together.
        """
        if device != "cpu":
            raise RunError(f"toy problems are computed on the cpu, not on {device}; leave --device out")
        held = self.entries // self.clients if self.on_demand else self.entries
        needed, memory = 8 * held, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > memory:
            raise RunError(
                f"a problem of this size takes {needed / 1e9:,.0f} GB, {memory / 1e9:,.0f} GB are here; {_SMALLER}"
            )
        try:
            return self._on_demand(seed) if self.on_demand else self._build(np.random.default_rng(seed))
        except (MemoryError, OverflowError) as error:
            raise RunError(f"a problem of this size does not fit in memory; {_SMALLER}") from error

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * (self.rows * self.columns) ** 2

    @property
    def on_demand(self) -> bool:
        """Whether clients are drawn on demand, because all of them would take too much memory.

        The bounds are the same on every machine, since the numbers of a run depend on how its clients are drawn.
        """
        many = self.clients > MANY or 8 * self.entries > ROOM
        return many and self.clients > 1 and type(self)._on_demand is not Toy._on_demand

    def _build(self, rng: np.random.Generator) -> Problem:
        raise NotImplementedError

    def _on_demand(self, seed: int) -> Problem:
        raise NotImplementedError


MANY, ROOM = 50_000, 4e9
"""Clients, and bytes of all of them, beyond which clients are drawn on demand."""
_SMALLER = "lower rows, columns, samples or clients"


@dataclass(frozen=True)
class Quadratics(Toy):
    """Quadratics of random curvature, each client with its own minimiser.

    Attributes:
        heterogeneity: How strongly the clients' problems differ; 0 means not at all.
        least_curvature: Least of all curvatures; the largest is 1.
    """

    heterogeneity: float = 0.5
    least_curvature: float = 0.1

    def _build(self, rng: np.random.Generator) -> Problem:
        self._require_curvature()
        return random_quadratics(
            (self.rows, self.columns),
            self.clients,
            rng,
            curvatures=(self.least_curvature, 1.0),
            heterogeneity=self.heterogeneity,
            scale=0.1,
        )

    def _on_demand(self, seed: int) -> Problem:
        self._require_curvature()
        return quadratics_on_demand(
            (self.rows, self.columns),
            self.clients,
            seed,
            curvatures=(self.least_curvature, 1.0),
            heterogeneity=self.heterogeneity,
            scale=0.1,
        )

    def _require_curvature(self) -> None:
        if self.least_curvature > 1.0:
            raise ProblemError(f"least_curvature must be at most 1, got {self.least_curvature}")


@dataclass(frozen=True)
class Legendre(Toy):
    """Least squares in Legendre polynomials with one target of low rank for all clients.

    Attributes:
        samples: Number of samples of each client.
        target_rank: Rank of the target.
    """

    samples: int = 50
    target_rank: int = 2

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * (self.samples + self.rows * self.columns) * self.rows * self.columns

    def _build(self, rng: np.random.Generator) -> Problem:
        shape, rank = (self.rows, self.columns), min(self.target_rank, self.rows, self.columns)
        return homogeneous(
            self.clients, rng, shape=shape, rank=rank, samples=self.samples * self.clients, basis="uniform"
        )

    def _on_demand(self, seed: int) -> Problem:
        shape, rank = (self.rows, self.columns), min(self.target_rank, self.rows, self.columns)
        return homogeneous_on_demand(self.clients, seed, shape=shape, rank=rank, samples=self.samples, basis="uniform")


@dataclass(frozen=True)
class HeterogeneousLegendre(Toy):
    """Least squares in Legendre polynomials with a target of rank 1 for each client.

    Attributes:
        clients: Number of clients, all of them in memory.
        samples: Number of points for each client. Every client has the points of all, so it has as many times the
            number of clients.
    """

    samples: int = 50

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * (self.samples + self.rows * self.columns) * self.rows * self.columns

    def _build(self, rng: np.random.Generator) -> Problem:
        shape = (self.rows, self.columns)
        return heterogeneous(self.clients, rng, shape=shape, samples=self.samples * self.clients, basis="uniform")


@dataclass(frozen=True)
class Regression(Toy):
    """Linear regression on a matrix of rank 1, from samples.

    Attributes:
        heterogeneity: How strongly the clients' problems differ; 0 means not at all.
        samples: Number of samples of each client.
    """

    heterogeneity: float = 0.5
    samples: int = 50

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * (self.rows + self.columns) * self.rows + self.samples * self.rows

    def _build(self, rng: np.random.Generator) -> Problem:
        return regression(
            self.rows, self.columns, self.clients, rng, samples=self.samples, heterogeneity=self.heterogeneity
        )

    def _on_demand(self, seed: int) -> Problem:
        return regression_on_demand(
            self.rows, self.columns, self.clients, seed, samples=self.samples, heterogeneity=self.heterogeneity
        )


@dataclass(frozen=True)
class PopulationRegression(Toy):
    """Linear regression on a matrix of rank 1, by the population's loss.

    Attributes:
        heterogeneity: How strongly the clients' problems differ; 0 means not at all.
    """

    heterogeneity: float = 0.5

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * (self.rows + self.columns) * self.rows

    def _build(self, rng: np.random.Generator) -> Problem:
        return regression(self.rows, self.columns, self.clients, rng, samples=None, heterogeneity=self.heterogeneity)

    def _on_demand(self, seed: int) -> Problem:
        return regression_on_demand(
            self.rows, self.columns, self.clients, seed, samples=None, heterogeneity=self.heterogeneity
        )


@dataclass(frozen=True)
class Ridges(Toy):
    """Smooth ridge functions, convex or not by their profile.

    Attributes:
        heterogeneity: How strongly the clients' problems differ; 0 means not at all.
        samples: Number of samples of each client.
        profile: Profile of the ridges.
    """

    heterogeneity: float = 0.5
    samples: int = 50
    profile: str = "pseudo-huber"

    @property
    def entries(self) -> int:
        """Least number of entries that the problem holds."""
        return self.clients * self.samples * self.rows * self.columns

    def _build(self, rng: np.random.Generator) -> Problem:
        return ridge_problem(
            (self.rows, self.columns),
            self.clients,
            rng,
            profile=self.profile,
            samples=self.samples,
            heterogeneity=self.heterogeneity,
        )

    def _on_demand(self, seed: int) -> Problem:
        return ridges_on_demand(
            (self.rows, self.columns),
            self.clients,
            seed,
            profile=self.profile,
            samples=self.samples,
            heterogeneity=self.heterogeneity,
        )
