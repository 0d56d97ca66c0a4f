"""Sections 3 and 4.1: what the method reduces to, its subproblem, and the dissimilarity of clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedprox import FedProx
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, Axis, Cases, Searched, Stated
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.relations import Relations, relations, same
from toymodels.quadratic import Quadratic, centred


@dataclass(frozen=True)
class Clients:
    """Quadratic clients, a start, local steps and step."""

    losses: tuple[Quadratic, ...]
    start: Tensor
    K: int
    step: float

    def run(self, method: FedAvg | FedProx, rounds: int = 3) -> Iterator[Tensor]:
        """Yield the weights after every round."""
        fed, w = Federation(list(self.losses)), Tree(W=self.start)
        for _ in range(rounds):
            w = one_round(method.round, fed, w)
            yield w["W"]


def draw_clients(context: Context) -> list[Clients]:
    """Draw problems of 1, 2 and 5 clients with different Hessians and minimisers."""
    rng, found = torch.Generator().manual_seed(context.integer_seed("clients")), []
    for count, K, step in ((1, 3, 0.1), (2, 2, 0.1), (5, 4, 0.02)):
        roots = torch.randn(count, 6, 6, generator=rng, dtype=torch.float64) / 2
        centres = torch.randn(count, 3, 2, generator=rng, dtype=torch.float64)
        losses = tuple(centred(root @ root.T, centre) for root, centre in zip(roots, centres, strict=True))
        found.append(Clients(losses, torch.ones(3, 2, dtype=torch.float64), K, step))
    return found


@relations(
    "fedprox/fedavg",
    where="Section 3.2, last paragraph",
    says=r"FedAvg is FedProx with $\mu = 0$, SGD as local solver, and the same local work everywhere.",
    measure=draw_clients,
    mutants=[{"tenths": 1}, {"more": 1}],
    importance="result",
    expect=("holds", "search"),
)
def fedavg(problems: list[Clients], tenths: int = 0, more: int = 0) -> Relations:
    """Three rounds of the toolkit's FedProx and FedAvg."""
    for one in problems:
        proximal, plain = FedProx(Descent(one.K + more, one.step), tenths / 10), FedAvg(Descent(one.K, one.step))
        for ours, theirs in zip(one.run(proximal), one.run(plain), strict=True):
            yield same("the same weights", ours, theirs)
    return "quadratic losses of 3 x 2 weights; 1, 2 and 5 clients, 2 to 4 local steps, 3 rounds"


H, MU, X, START, SLOPE = sympy.symbols("h mu w w_t g")


@identities(
    "fedprox/convex",
    where="Section 3.2, after Algorithm 2, and Theorem 4 with its $\\bar\\mu = \\mu - L_-$",
    says=r"""The Hessian of $h_k(w) = F_k(w) + \frac\mu2\|w - w^t\|^2$ is $\nabla^2F_k + \mu I$. So $h_k$ is convex if
    $\mu$ is chosen accordingly, and $\mu$-strongly convex if $F_k$ is convex.""",
    measure=lambda context: generic_points(context, (H, MU, X, START, SLOPE), 3),
    mutants=[{"factor": 2}],
    importance="step",
    expect=("holds", "proof"),
    family="along an eigenvector of the Hessian of a quadratic function",
)
def convex(points: list[Point], factor: int = 1) -> Equations:
    """The second derivative along an eigenvector with eigenvalue h: at least $\\mu$ for $h \\ge 0$."""
    subproblem = H * X**2 / 2 + SLOPE * X + MU * (X - START) ** 2 / 2
    yield Equation("the curvature", sympy.diff(subproblem, X, 2), H + factor * MU)
    return points, "any eigenvalue, weight of the proximal term and start"


ANY = Stated(0.0, float("inf"))
NAMES = ("g1", "g2", "g3")
SHARES = ("n1", "n2", "n3")


def moments(cases: Cases) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean square of the clients' gradients, and the square of their mean."""
    gradients = np.stack([cases[name] for name in NAMES])
    shares = np.stack([cases[name] for name in SHARES])
    shares = shares / shares.sum(axis=0)
    return (shares * gradients**2).sum(axis=0), (shares * gradients).sum(axis=0) ** 2


def search_gradients(context: Context) -> Searched:
    """Return gradients of three clients along a direction, and their shares, searched towards equal gradients."""
    axes = [Axis(name, 1e-2, 1e2, of=ANY, signed=True) for name in NAMES]
    axes += [Axis(name, 1e-2, 1e2, of=POSITIVE) for name in SHARES]

    def gap(cases: Cases) -> np.ndarray:
        square, mean = moments(cases)
        return (square - mean) / square

    return collect_cases(
        context, axes, lambda cases: moments(cases)[1] > 0, gap, examples=context.size(100, 1000), restarts=1
    )


@claim(
    "fedprox/dissimilarity",
    where="Section 4.1, after Definition 3",
    says=r"""$B(w) = \sqrt{E_k\|\nabla F_k(w)\|^2/\|\nabla f(w)\|^2} \ge 1$, and $B(w) = 1$ if all local functions are
    the same.""",
    measure=search_gradients,
    mutants=[{"factor": 1.05}],
    importance="step",
    expect=("holds", "proof"),
)
def dissimilarity(cases: Searched, factor: float = 1.0) -> Evidence:
    """The square of the mean against the mean square, of three clients; the proof is for any number."""
    square, mean = moments(cases)
    return judge_inequality(
        factor * mean,
        square,
        4e-15 * square,
        scope="three clients, along one direction",
        case=cases,
        printed="the square of the mean gradient <= the mean of the squares",
        quotient=True,
        domain=cases.domain,
    )


VARIANCES = (
    Axis("sigma", 1e-3, 1e3, of=Stated(0.0, float("inf"), "[)")),
    Axis("epsilon", 1e-3, 1e3, of=POSITIVE),
    Axis("gradient", 1.0, 1e6, of=Stated(1.0, float("inf"), "[)"), words="‖∇f‖²/ε"),
)


def search_variances(context: Context) -> Searched:
    """Return variances, accuracies and gradients, searched towards the smallest gradient that is allowed."""
    return collect_cases(
        context,
        VARIANCES,
        lambda cases: np.isfinite(cases["gradient"]),
        lambda cases: cases["gradient"],
        examples=context.size(100, 1000),
        restarts=1,
    )


@claim(
    "fedprox/cor-10",
    where="Appendix A.2, Corollary 10",
    says=r"""If $E_k\|\nabla F_k(w) - \nabla f(w)\|^2 \le \sigma^2$, then $B(w) \le \sqrt{1 + \sigma^2/\epsilon}$
    wherever $\|\nabla f(w)\|^2 > \epsilon$.""",
    measure=search_variances,
    mutants=[{"K": 0.9}],
    importance="step",
    expect=("holds", "proof"),
)
def cor_10(cases: Searched, K: float = 1.0) -> Evidence:
    """The squares of both sides at the largest variance."""
    left = 1.0 + cases["sigma"] ** 2 / (cases["gradient"] * cases["epsilon"])
    right = 1.0 + K * cases["sigma"] ** 2 / cases["epsilon"]
    return judge_inequality(
        left,
        right,
        1e-14 * right,
        scope="the largest variance that is allowed",
        case=cases,
        printed="B(w)^2 <= 1 + sigma^2 / epsilon",
        domain=cases.domain,
    )
