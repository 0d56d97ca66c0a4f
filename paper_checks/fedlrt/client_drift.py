"""Section 2: where many rounds of FedAvg and FedLin lead, client drift and its correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
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

BENT: Mapping[str, Any] = {"slope": "1", "rate": "1/2", "steps": 2}
"""Two clients with bent losses of opposite slopes, from the minimiser 0 of their mean."""

RUNAWAY = {"start": "1", "rate": "1/4", "rounds": "4"}
"""One client on the hill, one local step a round."""


@dataclass(frozen=True)
class Limit:
    """Where many rounds of a constant learning rate lead, what is left of the global gradient, and trips per round."""

    end: Tensor
    slope: Tensor
    minimiser: Tensor | None
    trips: int


@dataclass(frozen=True)
class Limits:
    """Limits by method, and two runs by hand.

    Attributes:
        of: Limits by method.
        hill: How far from the only stationary point of a hill a run of FedLin starts and ends.
        left: How far a round of (4) as printed goes from the minimiser of a convex loss.
    """

    of: Mapping[str, list[Limit]]
    hill: tuple[float, float]
    left: float


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
class Hill:
    """The loss 1/(1 + w^2) of one number, smooth with L = 2 and bounded below, whose one stationary point is 0."""

    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        return (1.0 / (1.0 + w["W"] ** 2)).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient."""
        return type(w)({"W": -2.0 * w["W"] / (1.0 + w["W"] ** 2) ** 2})


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


def printed_fedlin(clients: Sequence[Any], W: Tensor, rate: float, steps: int, rounds: int = 1) -> Tensor:
    r"""Return rounds of (4) as printed, where clients descend by $\nabla\mathcal{L}$ of the global loss less $V_c$."""
    for _ in range(rounds):
        ends, mean = [], mean_gradient(clients, W)
        for client in clients:
            own, V = W, client.gradient({"W": W})["W"] - mean
            for _ in range(steps):
                own = own - rate * (mean_gradient(clients, own) - V)
            ends.append(own)
        W = torch.stack(ends).mean(dim=0)
    return W


def measure_limits(context: Context) -> Limits:
    """Run FedAvg and FedLin on convex quadratics with different curvatures and on losses that are not convex.

    FedLin also with steps that are too long, on a hill, and by (4) as printed.
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
    found: dict[str, list[Limit]] = {"FedAvg": [], "FedLin": [], "long steps": [], "(4)": []}
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
        end = printed_fedlin(clients, start, 0.5 / (5 * smoothness), 5, many)
        found["(4)"].append(Limit(end, mean_gradient(clients, end), least, len(fed.trips)))
    place, rate = float(Fraction(RUNAWAY["start"])), float(Fraction(RUNAWAY["rate"]))
    fed, w = Watched((Hill(),)), Tree(W=torch.full((1, 1), place, dtype=torch.float64))
    w = final(go_on(FedLin(Descent(1, rate)).round, fed, w, int(RUNAWAY["rounds"])), w)
    slope, rate, steps = float(BENT["slope"]), float(Fraction(BENT["rate"])), int(BENT["steps"])
    left = printed_fedlin((Bend(slope), Bend(-slope)), torch.zeros(1, 1, dtype=torch.float64), rate, steps)
    return Limits(found, (place, abs(float(w["W"]))), abs(float(left)))


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
            why=r"(4) modifies the client's iteration on its local loss, and line 9 of Algorithm 4 has $\mathcal{L}_c$ "
            "(fedlrt/eq-4, fedlrt/alg-4). Where a loss is not convex, convergence to a stationary point is usually "
            "said of the gradients. That rates are small enough goes without saying, and the minimiser of (1) is "
            "spoken of as the only one.",
        ),
        Reading(
            "by its weights",
            r"The same, and where $\mathcal{L}$ is not convex the weights too converge to a stationary point.",
            {"weights": True},
            "Literally it is the method, hence its weights, that converges to a point.",
        ),
        Reading(
            "(4) as printed",
            r"The first reading for $w_c^{s+1} = w_c^s - \lambda(\nabla\mathcal{L}(w_c^s) - V_c)$, with the gradient "
            "of the global loss.",
            {"method": "(4)"},
            "So (4) is printed, on which the sentence follows.",
        ),
    ),
    hypotheses=(Dropped(r"learning rates small enough, $\lambda \le 1/(Ls_*)$", {"method": "long steps"}),),
    uses=("fedlrt/eq-4",),
    because="On the loss $1/(1 + w^2)$ gradients tend to 0 but weights run away; (4) as printed leaves the minimiser "
    "of a convex loss.",
    expect=("holds", "proof"),
    intended=Intended(
        "by its gradients",
        "“leads to global convergence ... with constant learning rates [27]”: small enough ones, "
        "and gradients that tend to 0 if not convex, as usual.",
    ),
    print="unstated",
)
def claim_fedlin(
    measured: Limits, method: str = "FedLin", shift: float = 0.0, more: int = 1, weights: bool = False
) -> Evidence:
    """The limits of a method, moved by ``shift``, against the minimisers, and its trips against FedAvg's."""
    limits, promises = measured.of, list[Relation]()
    if method == "(4)":
        promises.append(Relation("a round from the minimiser ends there", measured.left, 0.0, 1e-12, case=BENT))
    if weights:
        promises.append(
            Relation(
                "weights on the hill come no farther from its stationary point",
                measured.hill[1],
                measured.hill[0],
                at_most=True,
                case=RUNAWAY,
            )
        )
    for one, plain in zip(limits[method], limits["FedAvg"], strict=True):
        if one.minimiser is not None:
            promises.append(same("the minimiser of (1)", one.end, one.minimiser + shift, relative=1e-6))
        promises.append(same("a stationary point", one.slope, torch.full_like(one.slope, shift), relative=1e-6))
        trips = limits["FedLin"][0].trips
        promises.append(Relation("communication rounds", trips, plain.trips + more))
    return judge_relations(
        promises,
        "three convex quadratic federations with different curvatures and minimisers, a convex one that is not "
        "quadratic and one that is not convex, 5 local steps at half of 1/(5 L)",
    )


@dataclass(frozen=True)
class Drift:
    """FedAvg's limit on parabolas, as distances from the global minimiser.

    Attributes:
        case: Curvatures, minimisers and rate, for more than two clients.
        steps: Local steps.
        spread: Distance of the first local minimiser from the second.
        distance: Distance of the limit from the global minimiser.
        local: Distance of the mean of the local minimisers from the global one.
    """

    case: Mapping[str, Any] | None
    steps: int
    spread: float
    distance: float
    local: float


THREE = {"curvatures": [1, 2, 4], "centres": [2, -3, 1], "rate": "0.2"}
"""The mean of the local minimisers is the global one, 0."""


def measure_drift(context: Context) -> list[Drift]:
    """Return limits for growing numbers of steps, at several distances of the minimisers."""
    found = []
    two = [([1.0, 2.0], [spread, 0.0], 0.25, None) for spread in (0.0, 1.0, 2.0, 4.0)]
    for curvatures, centres, rate, case in (*two, ([1.0, 2.0, 4.0], [2.0, -3.0, 1.0], 0.2, THREE)):
        clients = tuple(centred([[h]], [[c]]) for h, c in zip(curvatures, centres, strict=True))
        least = sum(h * c for h, c in zip(curvatures, centres, strict=True)) / sum(curvatures)
        local = abs(sum(centres) / len(centres) - least)
        for steps in (1, 4, 8) if case else (1, 2, 5, 20, 100):
            fed, w = Watched(clients), Tree(W=torch.zeros(1, 1, dtype=torch.float64))
            w = final(go_on(FedAvg(Descent(steps, rate)).round, fed, w, 1 + 120 // steps), w)
            found.append(Drift(case, steps, abs(centres[0] - centres[1]), abs(float(w["W"]) - least), local))
    return found


@claim(
    "fedlrt/claim-drift",
    where="Section 2, client-drift effect",
    says=r"""FedAvg's local updates converge to local minima and jeopardise the global training, as the mean of the
    local minimisers may be far from the global one. These effects are particularly pronounced for a large number of
    local iterations $s_*$, or large discrepancies between the $\mathcal{L}_c$, as illustrated by Figure 1.""",
    measure=measure_drift,
    readings=(
        Reading(
            "for all clients",
            "For all clients the limit of FedAvg, each client on its own loss, is the farther from the global "
            "minimiser the more local iterations there are, and the farther apart the local minimisers are.",
            why="It excepts no losses.",
        ),
        Reading(
            "what can happen",
            "For two parabolas of different curvature and different minimisers, each client on its own, and short "
            "steps, the limit of FedAvg is the global minimiser for one local step, farther from it with each further "
            "one, tends to the mean of the local minimisers, and its distance is in proportion to theirs.",
            {"three": False},
            "It says that the mean may be far away, and refers to an illustration.",
            ({"limit": 1.01}, {"order": -1}, {"power": 0}),
        ),
    ),
    uses=("fedlrt/eq-2",),
    because="With three clients the mean of the local minimisers can be the global one: then many local steps bring "
    "FedAvg back to it.",
    expect=("holds", "proof"),
    intended=Intended(
        "what can happen",
        "“the average of the local minimizers may be far away from the global minimizer”: what "
        "can happen, “as illustrated by Figure 1”.",
    ),
    family="two clients with parabolas of one variable",
)
def claim_drift(runs: list[Drift], limit: float = 1.0, order: int = 1, power: int = 1, three: bool = True) -> Evidence:
    """Distances grow with steps and spread and end at the mean of the minimisers, for two clients or also for three."""
    promises = []
    runs = [one for one in runs if three or one.case is None]
    at_one = {one.steps: one.distance for one in runs if one.spread == 1.0}
    for one in runs:
        if one.spread > 0.0 and one.case is None:
            grown = at_one[one.steps] * one.spread**power
            promises.append(Relation("the distance grows with the spread", one.distance, grown, 1e-9))
        if one.steps == 1:
            promises.append(Relation("one step has no drift", one.distance, 0.0, 1e-9))
        if one.steps == 100 and one.case is None:
            promises.append(
                Relation("many steps: the mean of the local minimisers", one.distance, limit * one.local, 1e-9)
            )
    for before, after in pairwise(runs):
        if before.spread == after.spread > 0.0:
            case = before.case and {**before.case, "fewer": before.steps, "steps": after.steps}
            promises.append(
                Relation(
                    "the distance grows with the steps",
                    order * before.distance,
                    order * after.distance,
                    1e-12,
                    at_most=True,
                    case=case,
                )
            )
    beside = "; three with parabolas of curvature 1, 2 and 4" if three else ""
    return judge_relations(
        promises,
        "two clients with parabolas of curvature 1 and 2, their minimisers 0 to 4 apart, "
        f"1 to 100 local steps{beside}; with equal curvatures there is no drift",
    )
