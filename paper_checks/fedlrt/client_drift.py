"""Section 2: where many rounds of FedAvg and FedLin lead, client drift and its correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from paper_checks.claim import Dropped, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.descents import two_parabolas
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import Quadratic, centred, mean_of


@dataclass(frozen=True)
class Limit:
    """Where many rounds of a constant learning rate lead, what is left of the global gradient, and trips per round."""

    end: Tensor
    slope: Tensor
    minimiser: Tensor | None
    trips: int


@dataclass(frozen=True)
class Bump:
    """The loss height * log(1 + (w - place)^2) of one number: smooth and bounded below, not convex."""

    height: float
    place: float
    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        return self.height * torch.log1p((w["W"] - self.place) ** 2).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient."""
        off = w["W"] - self.place
        return type(w)({"W": self.height * 2.0 * off / (1.0 + off**2)})


@dataclass(frozen=True)
class Bend:
    """The loss w^2/2 for w > 0 and w^2/4 for w < 0, plus slope * w: smooth with L = 1, convex, not quadratic."""

    slope: float
    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        W = w["W"]
        return (torch.where(W > 0, W**2 / 2.0, W**2 / 4.0) + self.slope * W).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient."""
        return type(w)({"W": torch.where(w["W"] > 0, w["W"], w["W"] / 2.0) + self.slope})


def mean_gradient(clients: Sequence[Any], W: Tensor) -> Tensor:
    """Return the gradient of the global loss, clients of equal weight."""
    return torch.stack([client.gradient({"W": W})["W"] for client in clients]).mean(dim=0)


def measure_limits(context: Context) -> dict[str, list[Limit]]:
    """Run FedAvg and FedLin on convex quadratics with different curvatures and on losses that are not convex.

    FedLin also with steps that are too long.
    """
    rng = context.rng("convex")
    problems: list[tuple[tuple[Any, ...], Tensor, float]] = [
        (two_parabolas()[0], torch.full((1, 1), 3.0, dtype=torch.float64), 2.0),
        ((Bend(1.0), Bend(-1.0)), torch.full((1, 1), 0.5, dtype=torch.float64), 1.0),
        ((Bump(1.0, -2.0), Bump(0.6, 1.5)), torch.full((1, 1), 0.4, dtype=torch.float64), 2.0),
    ]
    for shape, count in (((2, 3), 3), ((2, 2), 2)):
        made = []
        for _ in range(count):
            turn = torch.linalg.qr(torch.from_numpy(rng.standard_normal((shape[0] * shape[1],) * 2)))[0]
            H = turn * torch.linspace(0.3, 1.0, turn.shape[0], dtype=torch.float64) @ turn.mT
            made.append(centred(H, torch.from_numpy(rng.standard_normal(shape))))
        problems.append((tuple(made), torch.zeros(shape, dtype=torch.float64), 1.0))
    found: dict[str, list[Limit]] = {"FedAvg": [], "FedLin": [], "long steps": []}
    many = context.size(120, 600)
    for clients, start, smoothness in problems:
        for name, method, share, rounds in (
            ("FedAvg", FedAvg, 0.5, many),
            ("FedLin", FedLin, 0.5, many),
            ("long steps", FedLin, 12.0, 20),
        ):
            fed, w = Watched(clients), Tree(W=start)
            w = final(go_on(method(Descent(5, share / (5 * smoothness))).round, fed, w, rounds), w)
            least = torch.zeros_like(start) if isinstance(clients[0], Bend) else None
            if all(isinstance(client, Quadratic) for client in clients):
                whole = mean_of(clients, [1.0 / len(clients)] * len(clients))
                least = torch.linalg.solve(whole.matrix, whole.B.reshape(-1)).reshape(start.shape)
            found[name].append(Limit(w["W"], mean_gradient(clients, w["W"]), least, len(fed.trips)))
    return found


LONG_STEPS = {**two_parabolas()[1], "rate": "6/5", "steps": 5}
"""The two parabolas with the rate of the long steps, twelve times 1/(L s) with L = 2 and s = 5."""


@claim(
    "fedlrt/claim-fedlin",
    where="Section 2, after eq. (4)",
    says="""With constant learning rates the correction leads to global convergence to the minimiser of (1) for convex
    L, and else to convergence to a stationary point, at the cost of one more communication round.""",
    measure=measure_limits,
    mutants=[{"method": "FedAvg"}, {"shift": 1e-3}, {"more": 0}],
    readings=(
        Reading(
            "by its gradients",
            r"For FedLin with each client's own gradient, $w_c^{s+1} = w_c^s - \lambda(\nabla\mathcal{L}_c(w_c^s) - "
            r"V_c)$, L-smooth clients, $0 < \lambda \le 1/(Ls_*)$ and $\mathcal{L}$ bounded below the gradients of "
            r"$\mathcal{L}$ at the weights tend to 0, and every limit point of the weights is a stationary point. If "
            r"$\mathcal{L}$ is convex and has one minimiser, the weights converge to it. A round has one more "
            "communication round than FedAvg's.",
            why="(4) modifies the client's iteration on its local loss, and line 9 of Algorithm 4 has "
            r"$\mathcal{L}_c$ (fedlrt/eq-4, fedlrt/alg-4). If a loss is not convex, convergence to a stationary point "
            "usually means that the gradients tend to 0. The paper takes for granted that the rates are small enough, "
            "and it writes of the minimiser of (1) as if it were unique.",
        ),
        Reading(
            "any constant learning rate",
            r"The same for every constant learning rate $\lambda > 0$.",
            {"method": "long steps"},
            "The paper says “constant learning rates” and gives no limit.",
        ),
    ),
    hypotheses=(Dropped(r"learning rates small enough, $\lambda \le 1/(Ls_*)$", {"method": "long steps"}),),
    uses=("fedlrt/eq-4",),
    because="The paper does not say that rates must be small, or that gradients tend to 0 but weights need not "
    "converge if the loss is not convex.",
    expect=("holds", "proof"),
    intended=Intended(
        "by its gradients",
        "“leads to global convergence ... with constant learning rates [27]”: this means small enough rates and, if "
        "the loss is not convex, gradients that tend to 0, as usual.",
    ),
    print="unstated",
)
def claim_fedlin(
    limits: Mapping[str, list[Limit]], method: str = "FedLin", shift: float = 0.0, more: int = 1
) -> Evidence:
    """The limits of a method, moved by ``shift``, against the minimisers, and its trips against FedAvg's."""
    promises = list[Relation]()
    for one, plain in zip(limits[method], limits["FedAvg"], strict=True):
        if one.minimiser is not None:
            case = LONG_STEPS if method == "long steps" and one is limits[method][0] else None
            promises.append(same("the minimiser of (1)", one.end, one.minimiser + shift, case, relative=1e-6))
        promises.append(same("a stationary point", one.slope, torch.full_like(one.slope, shift), relative=1e-6))
        trips = limits["FedLin"][0].trips
        promises.append(Relation("communication rounds", trips, plain.trips + more))
    return judge_relations(
        promises,
        "three convex quadratic federations with different curvatures and minimisers, a convex one that is not "
        "quadratic and one that is not convex, 5 local steps at half of 1/(5 L). Weights need not converge where the "
        "loss is not convex: on 1/(1 + w^2) gradients tend to 0 and weights grow. With the gradient of the global "
        "loss, a slip of (4) as printed, a round can leave the minimiser of a convex loss (fedlrt/eq-4)",
    )


@dataclass(frozen=True)
class Drift:
    """FedAvg's limit on parabolas, as distances from the global minimiser.

    Attributes:
        steps: Local steps.
        spread: Distance of the first local minimiser from the second.
        distance: Distance of the limit from the global minimiser.
        local: Distance of the mean of the local minimisers from the global one.
    """

    steps: int
    spread: float
    distance: float
    local: float


def measure_drift(context: Context) -> list[Drift]:
    """Return limits for growing numbers of steps, at several distances of the minimisers."""
    found = []
    curvatures, rate = [1.0, 2.0], 0.25
    for spread in (0.0, 1.0, 2.0, 4.0):
        centres = [spread, 0.0]
        clients = tuple(centred([[h]], [[c]]) for h, c in zip(curvatures, centres, strict=True))
        least = sum(h * c for h, c in zip(curvatures, centres, strict=True)) / sum(curvatures)
        local = abs(sum(centres) / len(centres) - least)
        for steps in (1, 2, 5, 20, 100):
            fed, w = Watched(clients), Tree(W=torch.zeros(1, 1, dtype=torch.float64))
            w = final(go_on(FedAvg(Descent(steps, rate)).round, fed, w, 1 + 120 // steps), w)
            found.append(Drift(steps, spread, abs(float(w["W"]) - least), local))
    return found


@claim(
    "fedlrt/claim-drift",
    where="Section 2, client-drift effect (the illustration: fedlrt/fig-1, where the test as described shows no drift)",
    says=r"""FedAvg's local updates converge to local minima and jeopardise the global training, as the mean of the
    local minimisers may be far from the global one. These effects are particularly pronounced for a large number of
    local iterations $s_*$, or large discrepancies between the $\mathcal{L}_c$, as illustrated by Figure 1.""",
    measure=measure_drift,
    mutants=[{"limit": 1.01}, {"order": -1}, {"power": 0}],
    readings=(
        Reading(
            "what can happen",
            "Two clients have parabolas of different curvature and different minimisers, and the steps are short. For "
            "one local step the limit of FedAvg is the global minimiser. With each further step it is farther from it "
            "and tends to the mean of the local minimisers. Its distance is proportional to the distance of the local "
            "minimisers.",
            why="The paper says that the mean may be far away, and refers to an illustration.",
        ),
    ),
    uses=("fedlrt/eq-2",),
    expect=("holds", "proof"),
    intended=Intended(
        "what can happen",
        "“the average of the local minimizers may be far away from the global minimizer”: what "
        "can happen, “as illustrated by Figure 1”.",
    ),
    family="two clients with parabolas of one variable",
)
def claim_drift(runs: list[Drift], limit: float = 1.0, order: int = 1, power: int = 1) -> Evidence:
    """Distances grow with steps and spread, and end at the mean of the minimisers, for two clients."""
    promises = []
    at_one = {one.steps: one.distance for one in runs if one.spread == 1.0}
    for one in runs:
        if one.spread > 0.0:
            grown = at_one[one.steps] * one.spread**power
            promises.append(Relation("the distance grows with the spread", one.distance, grown, 1e-9))
        if one.steps == 1:
            promises.append(Relation("one step has no drift", one.distance, 0.0, 1e-9))
        if one.steps == 100:
            promises.append(
                Relation("many steps: the mean of the local minimisers", one.distance, limit * one.local, 1e-9)
            )
    for before, after in pairwise(runs):
        if before.spread == after.spread > 0.0:
            promises.append(
                Relation(
                    "the distance grows with the steps",
                    order * before.distance,
                    order * after.distance,
                    1e-12,
                    at_most=True,
                )
            )
    return judge_relations(
        promises,
        "two clients with parabolas of curvature 1 and 2, their minimisers 0 to 4 apart, "
        "1 to 100 local steps. Other losses can do otherwise: with equal curvatures there is no drift, and with three "
        "parabolas whose minimisers have the global one as their mean many steps bring FedAvg back to it",
    )
