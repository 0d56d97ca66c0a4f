"""Section 2: the problem, FedAvg and FedLin (eqs. 1 to 4), client drift and its correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.low_rank import product
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Dropped, Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.baseline_boxes import two_parabolas
from paper_checks.fedlrt.federations import SCOPE, draw_cases
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.promises import Promise, judge_promises, same
from paper_checks.watched import Watched
from toymodels.quadratic import Quadratic, centred, mean_of

STEPS = 3
SPLITS = ((1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (4, 1))  # clients and samples of each


def measure_pooling(context: Context) -> Sequence[Point]:
    """Exact points for the loss of every sample."""
    most = max(clients * samples + 1 for clients, samples in SPLITS)
    return generic_points(context, [sympy.Symbol(f"l_{i}") for i in range(most)], 2)


@claim(
    "fedlrt/eq-1",
    where="Section 2, eq. (1)",
    says=r"The problem is $\min_wL(w) := \frac1C\sum_{c=1}^CL_c(w)$, with L the loss of the global data X and "
    r"$L_c$ that of client c's $X_c$. With $X = \bigcup_{c=1}^CX_c$ and all $X_c$ of one size, L is the mean "
    "of the $L_c$ with uniform weights.",
    measure=measure_pooling,
    mutants=[{"weight": 1.01}],
    hypotheses=(
        Dropped("all $X_c$ of one size", {"more": 1}),
        Dropped("$X_c$ disjoint, or points of X counted once for each client that has them", {"shared": True}),
    ),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_1(points: Sequence[Point], more: int = 0, shared: bool = False, weight: float = 1.0) -> Evidence:
    """The mean over all samples against the mean of the clients' means, for any losses of samples that none share.

    With ``shared`` the first client's first sample is the first one of every other client too, and counts once in X.
    """
    lines = []
    for clients, samples in SPLITS:
        losses = sympy.symbols(f"l_0:{clients * samples + more}")
        first, held = losses[0], set[sympy.Symbol]()
        means = []
        for size in [samples] * (clients - 1) + [samples + more]:
            own, losses = (first, *losses[1:size]) if shared else losses[:size], losses[size:]
            held.update(own)
            means.append(sum(own) / size)
        left = sum(held) / len(held)
        lines.append(Equation(f"C = {clients}, {samples} each", left, rational(weight) * sum(means) / clients))
    return judge_identity(lines, points, "1 to 4 clients with 1 to 3 samples each, whose losses are symbols, none of "
                          "them at two clients")  # fmt: skip


@dataclass(frozen=True)
class Local:
    """One round of a full-rank method.

    Attributes:
        clients: Of equal weight.
        start: Weights of the server.
        rate: Of a local step.
        steps: Number of local steps.
        ends: What each client sends.
        after: Weights after the round.
        trips: Trips of the round.
        stationary: Whether the start is a stationary point of the global loss.
        by_hand: The case in plain numbers, if it is small.
    """

    clients: tuple[Quadratic, ...]
    start: Tensor
    rate: float
    steps: int
    ends: tuple[Tensor, ...]
    after: Tensor
    trips: int
    stationary: bool
    by_hand: Mapping[str, Any] | None = None

    @property
    def whole(self) -> Quadratic:
        """The global loss."""
        return mean_of(self.clients, [1.0 / len(self.clients)] * len(self.clients))


def run_local(method: type[FedAvg] | type[FedLin], context: Context) -> list[Local]:
    """Two parabolas from the minimiser of their mean; then matrices, from a start and from a stationary point."""
    parabolas, numbers = two_parabolas(0.25)
    starts: list[Any] = [(parabolas, torch.zeros(1, 1, dtype=torch.float64), 0.25, 2, True)]
    for case in draw_cases(context):
        whole = mean_of(case.clients, [1.0 / len(case.clients)] * len(case.clients))
        stationary = torch.linalg.solve(whole.matrix, whole.B.reshape(-1)).reshape(case.shape)
        for start, still in ((product(case.factors)["W"], False), (stationary, True)):
            starts.append((case.clients, start, 0.3 / case.smoothness, STEPS, still))
    found = list[Local]()
    for clients, start, rate, steps, still in starts:
        fed = Watched(clients)
        after = one_round(method(Descent(steps, rate)).round, fed, Tree(W=start))["W"]
        ends = tuple(upload["W"] for upload in fed.trips[-1].uploads)
        hand = None if found else numbers
        found.append(Local(clients, start, rate, steps, ends, after, len(fed.trips), still, hand))
    return found


def measure_fedavg(context: Context) -> list[Local]:
    """Rounds of FedAvg."""
    return run_local(FedAvg, context)


def measure_fedlin(context: Context) -> list[Local]:
    """Rounds of FedLin."""
    return run_local(FedLin, context)


@claim(
    "fedlrt/eq-2",
    where="Section 2, eq. (2), with Algorithm 3, line 5",
    says="Each client optimises its local loss $L_c$ for $s_*$ local iterations of gradient descent, $w_c^{s+1} = "
    r"w_c^s - \lambda\nabla_wL(w_c^s)$ with learning rate $\lambda$ for $s = 0, \ldots, s_*-1$, from the last "
    "global weight, $w_c^0 = w^t$.",
    measure=measure_fedavg,
    readings=(
        LITERAL,
        Reading(
            "local loss",
            r"Each client optimises its local loss by $w_c^{s+1} = w_c^s - \lambda\nabla_wL_c(w_c^s)$, $s = 0, \ldots, "
            "s_*-1$, from $w_c^0 = w^t$.",
            {"own": True},
            "The sentence before (2) names the local loss, and line 5 of Algorithm 3 has $L_c$.",
            ({"rate": 1.01}, {"more": 1}),
        ),
    ),
    importance="detail",
    because="The formula has the gradient of L; the sentence before it and Algorithm 3 have that of $L_c$.",
    expect=("depends on the reading", "proof"),
)
def eq_2(runs: list[Local], own: bool = False, rate: float = 1.0, more: int = 0) -> Evidence:
    """The recursion, with the client's own or the global gradient, against what clients of FedAvg send."""
    promises = []
    for one in runs:
        for client, end in zip(one.clients, one.ends, strict=True):
            W = one.start
            for _ in range(one.steps + more):
                W = W - rate * one.rate * (client if own else one.whole).gradient({"W": W})["W"]
            promises.append(same("(2) is the local step of Algorithm 3", W, end, one.by_hand))
    return judge_promises(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


@claim(
    "fedlrt/eq-3",
    where="Section 2, eq. (3)",
    says=r"After the local iterations the server aggregates, $w^{t+1} = \frac1C\sum_{c=1}^Cw_c^{s_*}$.",
    measure=measure_fedavg,
    mutants=[{"share": 1.01}, {"count": 1}],
    kind="definition",
    expect=("holds", "search"),
)
def eq_3(runs: list[Local], share: float = 1.0, count: int = 0) -> Evidence:
    """The weights after a round against the mean of what clients send; ``count`` leaves clients out."""
    promises = []
    for one in runs:
        kept = one.ends[count:] or one.ends
        promises.append(same("the mean of the clients' weights", share * torch.stack(kept).mean(dim=0), one.after))
    return judge_promises(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


@claim(
    "fedlrt/eq-4",
    where="Section 2, eq. (4)",
    says=r"FedLin: with the correction $V_c = \nabla_wL_c(w^t) - \frac1C\sum_{c=1}^C\nabla_wL_c(w^t)$ the client's "
    r"iteration is $w_c^{s+1} = w_c^s - \lambda(\nabla_wL(w_c^s) - V_c)$, $s = 0, \ldots, s_*-1$.",
    measure=measure_fedlin,
    readings=(
        LITERAL,
        Reading(
            "local loss",
            r"With the same $V_c$, $w_c^{s+1} = w_c^s - \lambda(\nabla_wL_c(w_c^s) - V_c)$, $s = 0, \ldots, s_*-1$.",
            {"own": True},
            "(4) modifies the client's iteration on its local loss, and line 9 of Algorithm 4 has $L_c$.",
            ({"sign": -1.0}, {"sign": 0.0}, {"rate": 1.01}),
        ),
    ),
    uses=("fedlrt/eq-2",),
    importance="detail",
    because="The formula has the gradient of L; Algorithm 4 and the text around it have that of $L_c$.",
    expect=("depends on the reading", "proof"),
)
def eq_4(runs: list[Local], own: bool = False, sign: float = 1.0, rate: float = 1.0) -> Evidence:
    """Every client's recursion against what clients of FedLin send, its first step, and where it stays."""
    promises = []
    for one in runs:
        slopes = [client.gradient({"W": one.start})["W"] for client in one.clients]
        mean = torch.stack(slopes).mean(dim=0)
        for client, slope, end in zip(one.clients, slopes, one.ends, strict=True):
            W, along = one.start, []
            for _ in range(one.steps):
                along.append((client if own else one.whole).gradient({"W": W})["W"] - sign * (slope - mean))
                W = W - rate * one.rate * along[-1]
            if one.stationary:
                promises.append(same("a client stays at a stationary point", W, one.start, one.by_hand))
            promises.append(same("(4) is the local step of FedLin", W, end))
            promises.append(same("the first step is along the global gradient", along[0], mean))
    return judge_promises(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


@dataclass(frozen=True)
class Bump:
    """The loss height * log(1 + (w - place)^2) of one number: smooth and bounded below, not convex."""

    height: float
    place: float
    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss."""
        return self.height * torch.log1p((w["W"] - self.place) ** 2).sum()

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Its gradient."""
        off = w["W"] - self.place
        return type(w)({"W": self.height * 2.0 * off / (1.0 + off**2)})


@dataclass(frozen=True)
class Limit:
    """Where many rounds of a constant learning rate lead, what is left of the global gradient, and trips per round."""

    end: Tensor
    slope: Tensor
    minimiser: Tensor | None
    trips: int


def measure_limits(context: Context) -> dict[str, list[Limit]]:
    """FedAvg and FedLin on convex quadratics with different curvatures and on losses that are not convex.

    FedLin also with steps that are too long.
    """
    rng = context.rng("convex")
    problems: list[tuple[tuple[Any, ...], Tensor, float]] = [
        (two_parabolas()[0], torch.full((1, 1), 3.0, dtype=torch.float64), 2.0),
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
        for name, method, share, rounds in (("FedAvg", FedAvg, 0.5, many), ("FedLin", FedLin, 0.5, many),
                                            ("long steps", FedLin, 12.0, 20)):  # fmt: skip
            fed, w = Watched(clients), Tree(W=start)
            w = final(go_on(method(Descent(5, share / (5 * smoothness))).round, fed, w, rounds), w)
            slope = torch.stack([client.gradient(w)["W"] for client in clients]).mean(dim=0)
            least = None
            if all(isinstance(client, Quadratic) for client in clients):
                whole = mean_of(clients, [1.0 / len(clients)] * len(clients))
                least = torch.linalg.solve(whole.matrix, whole.B.reshape(-1)).reshape(start.shape)
            found[name].append(Limit(w["W"], slope, least, len(fed.trips)))
    return found


@claim(
    "fedlrt/claim-fedlin",
    where="Section 2, after eq. (4)",
    says="With constant learning rates the correction leads to global convergence to the minimiser of (1) for "
    "convex L, and else to convergence to a stationary point, at the cost of one more communication round.",
    measure=measure_limits,
    mutants=[{"method": "FedAvg"}, {"shift": 1e-3}, {"more": 0}],
    hypotheses=(Dropped(r"learning rates small enough, $\lambda \le 1/(Ls_*)$", {"method": "long steps"}),),
    uses=("fedlrt/eq-4",),
    expect=("holds", "proof"),
)
def claim_fedlin(limits: dict[str, list[Limit]], method: str = "FedLin", shift: float = 0.0, more: int = 1) -> Evidence:
    """The limits of a method, moved by ``shift``, against the minimisers, and its trips against FedAvg's."""
    promises = []
    for one, plain in zip(limits[method], limits["FedAvg"], strict=True):
        if one.minimiser is not None:
            promises.append(same("the minimiser of (1)", one.end, one.minimiser + shift, relative=1e-6))
        promises.append(same("a stationary point", one.slope, torch.full_like(one.slope, shift), relative=1e-6))
        trips = limits["FedLin"][0].trips
        promises.append(Promise("communication rounds", trips, plain.trips + more))
    return judge_promises(promises, "three convex quadratic federations with different curvatures and minimisers and "
                          "one that is not convex, 5 local steps at half of 1/(5 L)")  # fmt: skip


@dataclass(frozen=True)
class Drift:
    """FedAvg's limit on parabolas, as distances from the global minimiser.

    Attributes:
        case: Curvatures, minimisers and rate, for more than two clients.
        steps: Local steps.
        spread: Distance of the first local minimiser from the second.
        distance: Of the limit from the global minimiser.
        local: Of the mean of the local minimisers from the global one.
    """

    case: Mapping[str, Any] | None
    steps: int
    spread: float
    distance: float
    local: float


THREE = {"curvatures": [1, 2, 4], "centres": [2, -3, 1], "rate": "0.2"}
"""The mean of the local minimisers is the global one, 0."""


def measure_drift(context: Context) -> list[Drift]:
    """Limits for growing numbers of steps, at several distances of the minimisers."""
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
    says="FedAvg's local updates converge to local minima and spoil the global training, as the mean of the local "
    "minimisers may be far from the global one. These effects are particularly pronounced for a large number of "
    "local iterations $s_*$, or large discrepancies between the $L_c$, as illustrated by Figure 1.",
    measure=measure_drift,
    readings=(
        Reading(
            "for all clients",
            "For all clients the limit of FedAvg is the farther from the global minimiser the more local iterations "
            "there are, and the farther apart the local minimisers are.",
            why="It excepts no losses.",
        ),
        Reading(
            "what can happen",
            "For two parabolas of different curvature and short steps the limit of FedAvg is the global minimiser for "
            "one local step, farther from it with each further one, tends to the mean of the local minimisers, and its "
            "distance is in proportion to theirs.",
            {"three": False},
            "It says that the mean may be far away, and refers to an illustration.",
            ({"limit": 1.01}, {"order": -1}, {"power": 0}),
        ),
    ),
    uses=("fedlrt/eq-2",),
    because="With three clients the mean of the local minimisers can be the global one: then many local steps bring "
    "FedAvg back to it.",
    expect=("depends on the reading", "proof"),
)
def claim_drift(runs: list[Drift], limit: float = 1.0, order: int = 1, power: int = 1,
                three: bool = True) -> Evidence:  # fmt: skip
    """Distances grow with steps and spread and end at the mean of the minimisers, for two clients or also for three."""
    promises = []
    runs = [one for one in runs if three or one.case is None]
    at_one = {one.steps: one.distance for one in runs if one.spread == 1.0}
    for one in runs:
        if one.spread > 0.0 and one.case is None:
            grown = at_one[one.steps] * one.spread**power
            promises.append(Promise("the distance grows with the spread", one.distance, grown, 1e-9))
        if one.steps == 1:
            promises.append(Promise("one step has no drift", one.distance, 0.0, 1e-9))
        if one.steps == 100 and one.case is None:
            promises.append(Promise("many steps: the mean of the local minimisers", one.distance, limit * one.local,
                                    1e-9))  # fmt: skip
    for before, after in pairwise(runs):
        if before.spread == after.spread > 0.0:
            case = before.case and {**before.case, "fewer": before.steps, "steps": after.steps}
            promises.append(Promise("the distance grows with the steps", order * before.distance,
                                    order * after.distance, 1e-12, at_most=True, case=case))  # fmt: skip
    beside = "; three with parabolas of curvature 1, 2 and 4" if three else ""
    return judge_promises(promises, "two clients with parabolas of curvature 1 and 2, their minimisers 0 to 4 apart, "
                          f"1 to 100 local steps{beside}; with equal curvatures there is no drift")  # fmt: skip
