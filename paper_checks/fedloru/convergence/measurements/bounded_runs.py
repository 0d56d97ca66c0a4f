r"""Runs of FedLoRU on losses that meet Assumption 4.1, with every expectation of Appendix B taken exactly.

The losses are sums over the entries of $W - C$ of a function with curvature at most L and slope at most Lz, so
(A.1), (A.2) and $f^\star$ are known. Batches of one sample and cohorts are enumerated, not drawn: all outcomes of a
round are equally likely, and a mean over them is an expectation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Client, Cohort, Federation, FederationState
from algorithms.fedloru import FedLoRU, FedLoRUState, Restart
from algorithms.rounds import one_round
from algorithms.tree import Tree


@dataclass(frozen=True, eq=False)
class Bounded:
    r"""A client's loss $\frac1s\sum_c\sum_{ij}h(W_{ij} - c_{ij})$ with $|h''| \le L$ and $|h'| \le Lz$, $\min h = 0$.

    Attributes:
        centres: One matrix for each sample, ``(s, m, n)``.
        curvature: L.
        zone: z.
        kind: `huber`: quadratic within z, linear beyond; `cosine`: $Lz^2(1 - \cos(x/z))$, not convex.
    """

    centres: Tensor
    curvature: float
    zone: float
    kind: str = "huber"

    @property
    def samples(self) -> float:
        """Return the number of samples."""
        return float(len(self.centres))

    @property
    def steepest(self) -> float:
        """Return a bound on the norm of every sample's gradient, attained far out (huber)."""
        return self.curvature * self.zone * float(self.centres[0].numel()) ** 0.5

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss, of a batch if one is named."""
        x = w["W"] - (self.centres if batch is None else self.centres[batch])
        L, z = self.curvature, self.zone
        if self.kind == "cosine":
            values = L * z**2 * (1.0 - torch.cos(x / z))
        else:
            values = torch.where(x.abs() <= z, 0.5 * L * x**2, L * z * (x.abs() - 0.5 * z))
        return values.sum() / len(x)

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient, in the type of the weights."""
        x = w["W"] - (self.centres if batch is None else self.centres[batch])
        return type(w)({"W": self._slopes(x).mean(dim=0)})

    def every_gradient(self, W: Tensor) -> Tensor:
        """Return the gradient of every sample, ``(s, m, n)``."""
        return self._slopes(W - self.centres)

    def _slopes(self, x: Tensor) -> Tensor:
        if self.kind == "cosine":
            return self.curvature * self.zone * torch.sin(x / self.zone)
        return self.curvature * x.clamp(-self.zone, self.zone)


@dataclass(frozen=True)
class Scripted(Descent):
    """Local steps on named samples.

    Attributes:
        script: The sample of each step, by the identity of the client; empty for full batches.
    """

    script: Mapping[int, Tensor] = field(default_factory=dict)

    def draw(self, client: Client, rng: np.random.Generator) -> Tensor | None:
        """Return the samples on the script."""
        return self.script.get(id(client))


@dataclass(frozen=True, eq=False)
class Setting:
    r"""A federation, a start and the settings of FedLoRU.

    Attributes:
        name: Kind of the run.
        clients: Losses, of equal weight and with one L and z.
        W: Start of the weights, ``(m, n)``.
        A: Start of A, ``(m, r)``.
        B: Start of B, ``(r, n)``.
        rate: $\eta$.
        steps: E.
        rounds: T.
        tau: Accumulation cycle.
        alpha: Scale of the product.
        noisy: Steps on single samples instead of all.
        size: Clients in a cohort; all of them by default.
        restart: Start of the factors after an accumulation.
        share: $\sigma^2$ in units of $G^2$; it is positive, as assumed, even without noise.
        case: The run in plain numbers, if it can be followed by hand.
    """

    name: str
    clients: tuple[Bounded, ...]
    W: Tensor
    A: Tensor
    B: Tensor
    rate: float
    steps: int = 1
    rounds: int = 1
    tau: int = 1_000_000
    alpha: float = 1.0
    noisy: bool = False
    size: int | None = None
    restart: Restart = "random"
    share: float = 0.01
    case: Mapping[str, Any] | None = None

    @property
    def adapter(self) -> Adapter:
        """Return the rank and scale."""
        return Adapter(self.A.shape[1], self.alpha)

    @property
    def everyone(self) -> Cohort:
        """Return all clients."""
        return tuple(range(len(self.clients)))

    def outcomes(self) -> list[tuple[Cohort, dict[int, Tensor]]]:
        """Return cohort and samples of all equally likely outcomes of one round."""
        found: list[tuple[Cohort, dict[int, Tensor]]] = []
        for cohort in combinations(self.everyone, self.size or len(self.clients)):
            chosen = [self.clients[k] for k in cohort]
            if not self.noisy:
                found.append((cohort, {}))
                continue
            scripts = [list(product(range(int(client.samples)), repeat=self.steps)) for client in chosen]
            for script in product(*scripts):
                found.append((cohort, {id(c): torch.tensor(s)[:, None] for c, s in zip(chosen, script, strict=True)}))
        return found

    def loss(self, W: Tensor) -> float:
        """Return the global loss."""
        return sum(float(client.loss({"W": W})) for client in self.clients) / len(self.clients)

    def slope(self, W: Tensor) -> Tensor:
        """Return the gradient."""
        return torch.stack([client.gradient(Tree(W=W))["W"] for client in self.clients]).mean(dim=0)

    def least(self) -> float:
        r"""Return $f^\star$: a sum of cosines of one frequency is a cosine; else convex by entry, by bisection."""
        L, z = self.clients[0].curvature, self.clients[0].zone
        if self.clients[0].kind == "cosine":
            mean = torch.stack([torch.exp(1j * c.centres / z).mean(dim=0) for c in self.clients]).mean(dim=0)
            return float((L * z**2 * (1.0 - mean.abs())).sum())
        every = torch.cat([client.centres for client in self.clients])
        low, high = every.amin(dim=0), every.amax(dim=0)
        for _ in range(60):
            middle = (low + high) / 2.0
            rises = self.slope(middle) > 0
            low, high = torch.where(rises, low, middle), torch.where(rises, middle, high)
        return self.loss(low)


@dataclass
class Means:
    """Sums over equally likely outcomes, by name."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, **values: float) -> None:
        """Add one outcome."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        """Return the expectations."""
        return {name: total / self.counts[name] for name, total in self.sums.items()}


@dataclass(frozen=True)
class Trace:
    r"""Results of a run: expectations round by round, and the constants of Assumption 4.1 for it.

    Attributes:
        setting: The run.
        rounds: Expectations of each round by name; see `_round`.
        C_A: The largest norm of a local A, over all outcomes, clients and steps.
        C_B: The same of B.
        above: The loss at the start above its least value.
        visited: Some of the weights at which gradients were taken.
    """

    setting: Setting
    rounds: tuple[Mapping[str, float], ...]
    C_A: float
    C_B: float
    above: float
    visited: tuple[Tensor, ...]

    @property
    def L(self) -> float:
        r"""Return the curvature in AB: $\alpha^2$ times that in W."""
        return self.setting.alpha**2 * self.setting.clients[0].curvature

    @property
    def G(self) -> float:
        r"""Bound on the gradient in AB: $|\alpha|$ times that in W."""
        return abs(self.setting.alpha) * self.setting.clients[0].steepest

    @property
    def sigma2(self) -> float:
        r"""Return $\sigma^2$."""
        return self.setting.share * self.G**2


def _square(matrix: Tensor) -> float:
    return float((matrix**2).sum())


def _inner(one: Tensor, other: Tensor) -> float:
    return float((one * other).sum())


def _agree(factors: AB, A: Tensor, B: Tensor) -> None:
    for ours, theirs in ((A, factors.A["W"]), (B, factors.B["W"])):
        if not torch.allclose(ours, theirs, rtol=1e-8, atol=1e-10):
            raise ValueError("the algorithm's factors are not those of eq. (7)")


def _round(
    setting: Setting, nodes: Sequence[FedLoRUState], t: int, bounds: list[float], visited: list[Tensor]
) -> tuple[dict[str, float], list[FedLoRUState]]:
    """Follow one round from equally likely states: return expectations, and the states that it leads to.

    The local steps are taken a second time by eq. (7) as printed; the factors that the algorithm arrives at must agree.

    Raises:
        ValueError: they do not.
    """
    found, following, a = Means(), [], setting.alpha
    for node in nodes:
        W, A, B = node.base["W"], node.factors.A["W"], node.factors.B["W"]
        here = W + a * A @ B
        slope = a * setting.slope(here)
        in_A, in_B = slope @ B.mT, A.mT @ slope
        found.add(loss=setting.loss(here), in_A=_square(in_A), in_B=_square(in_B), in_W=_square(slope))
        if len(visited) < 12:
            visited.append(here)
        for cohort, script in setting.outcomes():
            fed = Federation(setting.clients, state=FederationState(t - 1, shared={"base": node.base}))
            algorithm = FedLoRU(
                Scripted(setting.steps, setting.rate, script=script), setting.adapter, setting.tau, setting.restart
            )
            after = one_round(algorithm.round, fed, node, cohort)
            following.append(after)
            mean_A, mean_B = torch.zeros_like(A), torch.zeros_like(B)
            drift_A, drift_B, later_A, later_B = -in_A, -in_B, -in_A, -in_B
            jensen = split = 0.0
            for k in cohort:
                client, share = setting.clients[k], 1.0 / len(cohort)
                Ai, Bi, squares = A, B, [0.0, 0.0]
                first = client.gradient(Tree(W=here))["W"]
                for i in range(setting.steps):
                    at = Tree(W=W + a * Ai @ Bi)
                    exact = client.gradient(at)["W"]
                    drawn = client.gradient(at, script[id(client)][i])["W"] if script else exact
                    drift_A = drift_A + share * a * exact @ Bi.mT / setting.steps
                    drift_B = drift_B + share * a * Ai.mT @ exact / setting.steps
                    squares[0] += _square(a * drawn) * _square(Bi)
                    squares[1] += _square(a * drawn) * _square(Ai)
                    Ai, Bi = Ai - setting.rate * a * drawn @ Bi.mT, Bi - setting.rate * a * Ai.mT @ drawn
                    reached = client.gradient(Tree(W=W + a * Ai @ Bi))["W"]
                    later_A = later_A + share * a * reached @ Bi.mT / setting.steps
                    later_B = later_B + share * a * Ai.mT @ reached / setting.steps
                    found.add(
                        **{
                            f"A {k} {i + 1}": _square(Ai - A),
                            f"B {k} {i + 1}": _square(Bi - B),
                            f"W {k} {i + 1}": _square(a * (reached - first)),
                            f"AB {k} {i + 1}": _square(Ai @ Bi - A @ B),
                            f"products {k} {i + 1}": _square(Ai - A) * _square(B)
                            + (_square(A) + _square(Ai - A)) * _square(Bi - B),
                        }
                    )
                    jensen += share / setting.steps * _square(a * reached @ Bi.mT - a * first @ B.mT)
                    parts = _square(a * (reached - first)) * _square(Bi) + _square(a * first) * _square(Bi - B)
                    split += 2.0 * share / setting.steps * parts
                    bounds[0], bounds[1] = max(bounds[0], _square(Ai) ** 0.5), max(bounds[1], _square(Bi) ** 0.5)
                found.add(**{f"steps A {k}": squares[0], f"steps B {k}": squares[1]})
                mean_A, mean_B = mean_A + share * Ai, mean_B + share * Bi
            if t % setting.tau:
                _agree(after.factors, mean_A, mean_B)
            half, whole = W + a * mean_A @ B, W + a * mean_A @ mean_B
            bent = a * setting.slope(half) - slope
            at_half = mean_A.mT @ (a * setting.slope(half))
            cross = at_half - in_B
            found.add(
                turned=_square(mean_A.mT @ bent),
                grown=_square(mean_A),
                bent=_square(bent),
                grown_bent=_square(mean_A) * _square(bent),
                product=_square(mean_A @ B - A @ B),
                crossed=_square((mean_A - A).mT @ slope),
                apart=_square(mean_A - A) * _square(slope),
                jensen=jensen,
                split=split,
                next=setting.loss(whole),
                half=setting.loss(half),
                cross=_square(cross),
                dA=_square(mean_A - A),
                dB=_square(mean_B - B),
                along_A=_inner(in_A, mean_A - A),
                along_B=_inner(in_B, mean_B - B),
                along_half=_inner(at_half, mean_B - B),
                along_cross=_inner(cross, mean_B - B),
                with_drift_A=_inner(in_A, drift_A + in_A),
                with_drift_B=_inner(in_B, drift_B + in_B),
                with_later_A=_inner(in_A, later_A + in_A),
                with_later_B=_inner(in_B, later_B + in_B),
                drift_A=_square(drift_A),
                drift_B=_square(drift_B),
                later_A=_square(later_A),
                later_B=_square(later_B),
            )
    return found.means(), following


def follow(setting: Setting) -> Trace:
    """Run FedLoRU along all outcomes."""
    factors = AB(Tree(W=setting.A), Tree(W=setting.B))
    nodes = [FedLoRUState(Tree(W=setting.W), factors, 0)]
    visited: list[Tensor] = []
    bounds, rounds = [_square(setting.A) ** 0.5, _square(setting.B) ** 0.5], []
    for t in range(1, setting.rounds + 1):
        means, nodes = _round(setting, nodes, t, bounds, visited)
        rounds.append(means)
        for node in nodes:  # factors that start again are bounded as well
            bounds[0] = max(bounds[0], _square(node.factors.A["W"]) ** 0.5)
    above = rounds[0]["loss"] - setting.least()
    return Trace(setting, tuple(rounds), bounds[0], bounds[1], above, tuple(visited))


def scalar_setting(name: str, case: Mapping[str, Any], replayed: bool = False) -> Setting:
    """Return a setting of one weight and one client from plain numbers: L, zone, W, A, B, rate, steps, rounds, share.

    Args:
        name: what kind of run it is.
        case: the numbers.
        replayed: whether the run is short enough to be followed by hand.
    """
    number = {key: float(Fraction(str(value))) for key, value in case.items()}
    W, A, B = (torch.tensor([[number[key]]], dtype=torch.float64) for key in ("W", "A", "B"))
    client = Bounded(torch.zeros(1, 1, 1, dtype=torch.float64), number["L"], number["zone"])
    return Setting(
        name,
        (client,),
        W,
        A,
        B,
        number["rate"],
        int(case["steps"]),
        int(case["rounds"]),
        share=number["share"],
        case=case if replayed else None,
    )
