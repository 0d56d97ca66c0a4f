"""Section 2: the federated problem, FedAvg and FedLin (eqs. (1) to (4))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.low_rank import product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Dropped, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.descents import two_parabolas
from paper_checks.fedlrt.measurements.federations import SCOPE, draw_cases
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.relations import judge_relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import Quadratic, mean_of

SPLITS = ((1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (4, 1))  # clients and samples of each


def measure_pooling(context: Context) -> Sequence[Point]:
    """Return exact points for every sample's loss: one at which only the first is lost, others without relations."""
    most = max(clients * samples + 1 for clients, samples in SPLITS)
    symbols = [sympy.Symbol(f"l_{i}") for i in range(most)]
    first = {symbol: sympy.Integer(number == 0) for number, symbol in enumerate(symbols)}
    return [first, *generic_points(context, symbols, 2)]


@claim(
    "fedlrt/eq-1",
    where="Section 2, eq. (1)",
    says=r"""The problem is $\min_w\mathcal{L}(w) := \frac1C\sum_{c=1}^C\mathcal{L}_c(w)$, with $\mathcal{L}$ the loss
    of the global data X and $\mathcal{L}_c$ that of client c's $X_c$. With $X = \bigcup_{c=1}^CX_c$ and all $X_c$ of
    one size, $\mathcal{L}$ is the mean of the $\mathcal{L}_c$ with uniform weights.""",
    measure=measure_pooling,
    readings=(
        Reading(
            "any sets of one size",
            r"With $X = \bigcup_{c=1}^CX_c$, all $X_c$ of one size, and each loss the mean over its samples, "
            r"$\mathcal{L}$ is the mean of the $\mathcal{L}_c$ with uniform weights.",
            why="The text requires a union and equal sizes, and nothing else. Losses are means over samples in "
            "Section 4.1.",
        ),
        Reading(
            "no sample at two clients",
            r"The same with $X_1, \ldots, X_C$ disjoint, or with each sample of X counted as often as clients have it.",
            {"shared": False},
            "The section is about data that are distributed over the clients. A sample that several clients have "
            r"counts once in the union, but several times in the mean of the $\mathcal{L}_c$.",
            ({"weight": 1.01},),
        ),
    ),
    hypotheses=(Dropped("all $X_c$ of one size", {"more": 1}),),
    kind="definition",
    because="A sample that two clients share counts once in the union but twice in the losses, so the "
    "sides are 1/3 and 1/2.",
    expect=("holds", "proof"),
    intended=Intended(
        "no sample at two clients",
        r"“each $X_c$ is of the same size. Therefore, $\mathcal{L}$ is an average of "
        r"$\mathcal{L}_c$”: clients hold parts of X, as usual.",
    ),
    print="unstated",
)
def eq_1(points: Sequence[Point], more: int = 0, shared: bool = True, weight: float = 1.0) -> Evidence:
    """The mean over all samples against the mean of the clients' means, for any losses of the samples.

    With ``shared`` the first client's first sample is the first one of every other client too, and counts once in X.
    """
    lines = []
    for clients, samples in SPLITS:
        losses = sympy.symbols(f"l_0:{clients * samples + more}")
        first, held = losses[0], set[sympy.Symbol]()
        means: list[sympy.Expr] = []
        for size in [samples] * (clients - 1) + [samples + more]:
            kept = int(shared and bool(means))  # the first sample is there already
            own, losses = (*(first,) * kept, *losses[: size - kept]), losses[size - kept :]
            held.update(own)
            means.append(sum(own) / size)
        left = sum(held) / len(held)
        lines.append(Equation(f"C = {clients}, {samples} each", left, rational(weight) * sum(means) / clients))
    where = "the first at every client" if shared else "none of them at two clients"
    return judge_identity(lines, points, f"1 to 4 clients with 1 to 3 samples each, whose losses are symbols, {where}")


STEPS = 3


@dataclass(frozen=True)
class Local:
    """One round of a full-rank method.

    Attributes:
        clients: Clients of equal weight.
        start: Weights of the server.
        rate: Learning rate of a local step.
        steps: Number of local steps.
        ends: Weights that each client sends.
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
        """Return the global loss."""
        return mean_of(self.clients, [1.0 / len(self.clients)] * len(self.clients))


def run_local(method: type[FedAvg] | type[FedLin], context: Context) -> list[Local]:
    """Run two parabolas from the minimiser of their mean; then matrices, from a start and from a stationary point."""
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
    """Run rounds of FedAvg."""
    return run_local(FedAvg, context)


@claim(
    "fedlrt/eq-2",
    where="Section 2, eq. (2), with Algorithm 3, line 5",
    says=r"""Each client optimises its local loss $\mathcal{L}_c$ for $s_*$ local iterations of gradient descent,
    $w_c^{s+1} = w_c^s - \lambda\nabla_w\mathcal{L}(w_c^s)$ with learning rate $\lambda$ for $s = 0, \ldots, s_*-1$,
    from the last global weight, $w_c^0 = w^t$.""",
    measure=measure_fedavg,
    readings=(
        LITERAL,
        Reading(
            "local loss",
            r"Each client optimises its local loss by $w_c^{s+1} = w_c^s - \lambda\nabla_w\mathcal{L}_c(w_c^s)$, $s = "
            r"0, \ldots, s_*-1$, from $w_c^0 = w^t$.",
            {"own": True},
            r"The sentence before (2) names the local loss, and line 5 of Algorithm 3 has $\mathcal{L}_c$.",
            ({"rate": 1.01}, {"more": 1}),
        ),
    ),
    importance="detail",
    because=r"The formula has the gradient of $\mathcal{L}$, but the sentence before it and Algorithm 3 have the "
    r"gradient of $\mathcal{L}_c$.",
    expect=("holds", "proof"),
    intended=Intended(
        "local loss",
        r"“each client optimizes its local loss function $\mathcal{L}_c$”: the gradient lacks its "
        "c; Algorithm 3 has it.",
    ),
    print="misprint",
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
    return judge_relations(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


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
    """The weights after a round are the mean of what the clients send; ``count`` leaves clients out."""
    promises = []
    for one in runs:
        kept = one.ends[count:] or one.ends
        promises.append(same("the mean of the clients' weights", share * torch.stack(kept).mean(dim=0), one.after))
    return judge_relations(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


def measure_fedlin(context: Context) -> list[Local]:
    """Run rounds of FedLin."""
    return run_local(FedLin, context)


@claim(
    "fedlrt/eq-4",
    where="Section 2, eq. (4)",
    says=r"""FedLin: with the correction $V_c = \nabla_w\mathcal{L}_c(w^t) -
    \frac1C\sum_{c=1}^C\nabla_w\mathcal{L}_c(w^t)$ the client's iteration is $w_c^{s+1} = w_c^s -
    \lambda(\nabla_w\mathcal{L}(w_c^s) - V_c)$, $s = 0, \ldots, s_*-1$.""",
    measure=measure_fedlin,
    readings=(
        LITERAL,
        Reading(
            "local loss",
            r"With the same $V_c$, $w_c^{s+1} = w_c^s - \lambda(\nabla_w\mathcal{L}_c(w_c^s) - V_c)$, $s = 0, \ldots, "
            r"s_*-1$.",
            {"own": True},
            r"(4) modifies the client's iteration on its local loss, and line 9 of Algorithm 4 has $\mathcal{L}_c$.",
            ({"sign": -1.0}, {"sign": 0.0}, {"rate": 1.01}),
        ),
    ),
    uses=("fedlrt/eq-2",),
    importance="detail",
    because=r"The formula has the gradient of $\mathcal{L}$, but Algorithm 4 and the text around it have the gradient "
    r"of $\mathcal{L}_c$.",
    expect=("holds", "proof"),
    intended=Intended(
        "local loss",
        "“modifies the client update iteration” of the local loss; Algorithm 4 has "
        r"$\nabla_W\mathcal{L}_c$.",
    ),
    print="misprint",
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
    return judge_relations(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")
