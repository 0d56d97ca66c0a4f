"""Sections 3 to 5 and Appendix A.5: the algorithms and baselines as boxes, executed and compared with their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fedlora import FedLoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.rolora import RoLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, judge_promises, same
from paper_checks.recorded_federation import Seen, Watched
from toymodels.quadratic import Quadratic, random_quadratics
from toymodels.regression import Regressor

LOCAL = Descent(3, 0.02)
SCOPE = (
    "quadratic losses of 1 to 4 clients, square, tall and wide weights, ranks 1 to the smaller side; how clients train "
    "is not printed beyond gradient descent in Algorithm 1: here by 3 steps of it"
)


@dataclass(frozen=True)
class Round:
    """One round of an algorithm in A and B.

    Attributes:
        clients: Losses.
        base: Frozen weights.
        before: Factors at the start.
        after: Factors at the end.
        trips: Trips of the round, with what travelled.
        up: Numbers a client sent on each trip.
        alpha: Scale of the product.
    """

    clients: tuple[Quadratic, ...]
    base: Tensor
    before: AB
    after: AB
    trips: tuple[Seen, ...]
    up: tuple[float, ...]
    alpha: float


Algorithm = Callable[[Adapter], Any]


def rounds_of(context: Context, algorithm: Algorithm, rounds: int = 3) -> list[Round]:
    """Some rounds on every kind of federation, from factors that are both not zero."""
    rng = context.rng("federations")
    found = []
    for number, (shape, rank) in enumerate([((4, 4), 1), ((5, 3), 2), ((3, 6), 3), ((1, 2), 1)] * context.size(1, 4)):
        made = random_quadratics(shape, 1 + (number + 1) % 4, rng)
        adapter = Adapter(rank, float(rng.choice([0.5, 2.0])))
        chosen, fed = algorithm(adapter), Watched(tuple(made.clients))
        A, B = (torch.from_numpy(0.5 * rng.standard_normal(size)) for size in ((shape[0], rank), (rank, shape[1])))
        factors, base = AB(Tree(W=A), Tree(W=B)), Tree(made.start)
        chosen.start(fed, base)
        fed.agree(A=factors.A, B=factors.B)
        state = LoRAState(base, factors)
        for turn in range(1, rounds + 1):
            before, state = state, one_round(chosen.round, fed, state)
            up = tuple(
                entry.entries / len(fed.clients)
                for entry in fed.ledger.entries
                if entry.round == turn and entry.direction == "up"
            )
            found.append(
                Round(
                    tuple(made.clients), base["W"], before.factors, state.factors, tuple(fed.trips), up, adapter.scale
                )
            )
    return found


def descended(one: Round, client: Quadratic, A: Tensor, B: Tensor, train: str, rate: float) -> tuple[Tensor, Tensor]:
    """Local steps in A, B or both, written out."""
    for _ in range(LOCAL.steps):
        slope = one.alpha * client.gradient({"W": one.base + one.alpha * A @ B})["W"]
        step_A, step_B = slope @ B.mT, A.mT @ slope
        A = A - rate * LOCAL.rate() * step_A if "A" in train else A
        B = B - rate * LOCAL.rate() * step_B if "B" in train else B
    return A, B


@claim(
    "rolora/alg-1",
    where="Algorithm 1 (the sentence before it has odd rounds for A and even ones for B; (3), (4) and the box have it "
    "the other way round)",
    says="Input: number of iterations T, number of clients N. For t = 1 to T: every client fixes $A^t$, sets "
    "$B_i^{t+1}$ = GD-update($A^t$, $B^t$) and sends it; the "
    r"server broadcasts $B^{t+1} = \frac1N\sum_iB_i^{t+1}$; every client fixes $B^{t+1}$, sets $A_i^{t+1}$ = "
    r"GD-update($A^t$, $B^{t+1}$) and sends it; the server broadcasts $A^{t+1} = \frac1N\sum_iA_i^{t+1}$.",
    measure=lambda context: rounds_of(context, lambda adapter: RoLoRA(LOCAL, adapter)),
    mutants=[{"rate": 1.01}, {"refreshed": False}, {"factors": 2}],
    readings=(
        Reading(
            "from a start",
            "The same from given $A^1$, $B^1$, the same at all clients, GD-update being steps of gradient descent on "
            "the client's loss in the factor that is not fixed, as many and as long as one likes.",
            why="Line 4 needs $A^1$ and $B^1$ at the first iteration, and the box names none; it leaves open what "
            "GD-update is beyond its name.",
        ),
    ),
    kind="algorithm",
    importance="result",
    expect=("holds", "search"),
)
def alg_1(rounds: list[Round], rate: float = 1.0, refreshed: bool = True, factors: int = 1) -> Evidence:
    """Both halves of every iteration follow the recursion; the mean of the products is the product of the means."""
    promises = []
    for one in rounds:
        (A, B), (A_after, B_after) = (one.before.A["W"], one.before.B["W"]), (one.after.A["W"], one.after.B["W"])
        held = B_after if refreshed else B
        sent_B, sent_A = ([upload.factor["W"] for upload in trip.uploads] for trip in one.trips)
        for client, B_i, A_i in zip(one.clients, sent_B, sent_A, strict=True):
            promises.append(same("B is trained with A frozen", B_i, descended(one, client, A, B, "B", rate)[1]))
            promises.append(same("A is trained with the new B", A_i, descended(one, client, A, held, "A", rate)[0]))
        mean_odd = torch.stack([A @ B_i for B_i in sent_B]).mean(dim=0)
        mean_even = torch.stack([A_i @ B_after for A_i in sent_A]).mean(dim=0)
        promises.append(same("the mean of the odd round's updates is the server's", mean_odd, A @ B_after))
        promises.append(same("the mean of the even round's updates is the server's", mean_even, A_after @ B_after))
        promises.append(Promise("numbers sent in the odd round", one.up[0], factors * B.numel()))
        promises.append(Promise("numbers sent in the even round", one.up[1], factors * A.numel()))
    return judge_promises(promises, f"{SCOPE}; three iterations")


@claim(
    "rolora/alg-lora",
    where="Sections 3.2 and 6 (FedAVG of LoRA); that the aggregation is inaccurate is rolora/eq-1",
    says="The clients train both factors locally. In iteration t the server receives $A_i^t$ and $B_i^t$ of every "
    r"client and aggregates by $A^t = \mathrm{Avg}(A_i^t)$ and $B^t = \mathrm{Avg}(B_i^t)$.",
    measure=lambda context: rounds_of(context, lambda adapter: FedLoRA(LOCAL, adapter)),
    mutants=[{"rate": 1.01}, {"cross": 0.0}, {"cross": -1.0}, {"factors": 1}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_lora(rounds: list[Round], rate: float = 1.0, cross: float = 1.0, factors: int = 2) -> Evidence:
    """Every round follows the recursion; what the means miss is the covariance of the clients' factors."""
    promises, apart = [], 0
    for one in rounds:
        sent = [(upload.A["W"], upload.B["W"]) for upload in one.trips[0].uploads]
        for client, (A_i, B_i) in zip(one.clients, sent, strict=True):
            A, B = descended(one, client, one.before.A["W"], one.before.B["W"], "AB", rate)
            promises += [same("both factors are trained together", A_i, A), same("both are", B_i, B)]
        mean_A, mean_B = (torch.stack(part).mean(dim=0) for part in zip(*sent, strict=True))
        promises += [same("A is the mean", one.after.A["W"], mean_A), same("B is the mean", one.after.B["W"], mean_B)]
        whole = torch.stack([A_i @ B_i for A_i, B_i in sent]).mean(dim=0)
        missed = torch.stack([(A_i - mean_A) @ (B_i - mean_B) for A_i, B_i in sent]).mean(dim=0)
        name = "the mean of the products is that of the means plus the covariance of the factors"
        promises.append(same(name, mean_A @ mean_B + cross * missed, whole))
        if len(sent) == 1:
            promises.append(same("with one client it is the same matrix", mean_A @ mean_B, whole))
        else:
            apart += 1
            distance = float(torch.linalg.matrix_norm(whole - mean_A @ mean_B))
            promises.append(Promise("it is another matrix", 1e-8, distance, at_most=True))
        r = mean_A.shape[1]
        promises.append(Promise("numbers sent", one.up[0], factors * r * sum(whole.shape) / 2))
    scope = (
        f"{SCOPE}; three rounds, {apart} of several clients with different losses, from A and B other than 0; the "
        "covariance is 0, and the aggregation accurate, for one client, for clients that are alike, and after one "
        "gradient step from B = 0, which leaves A as it is"
    )
    return judge_promises(promises, scope)


@claim(
    "rolora/alg-ffa",
    where="Sections 3.2 and 6 (FFA-LoRA) and Section 5.1 (its linear version)",
    says=r"Clients train B and keep A frozen; in iteration t the server aggregates by $B^t = \mathrm{Avg}(B_i^t)$, so "
    r"that $\Delta W$ is computed precisely. In the linear model a of all clients is fixed to a random unit vector "
    r"$a^0$, every $b_i$ "
    "minimises $l_i$, and they are aggregated.",
    measure=lambda context: (
        rounds_of(context, lambda adapter: FFALoRA(LOCAL, adapter)),
        exact_iterations(context, population=False, frozen=True),
    ),
    mutants=[{"rate": 1.01}, {"weight": 1.01}],
    readings=(
        Reading(
            "A alike at all clients",
            "Clients train B and keep A frozen, the same A at all of them; in iteration t the server aggregates by "
            r"$B^t = \mathrm{Avg}(B_i^t)$, so that $\Delta W$ is computed precisely. In the linear model a of all "
            "clients is fixed to a random unit vector $a^0$, every $b_i$ minimises $l_i$, and they are aggregated.",
            why="Section 1 has FFA-LoRA freeze the matrices across all clients, and Section 5.1 one a; where every "
            "client freezes an A of its own, no A of the server gives the mean of the products.",
        ),
    ),
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_ffa(found: tuple[list[Round], list[Iteration]], rate: float = 1.0, weight: float = 1.0) -> Evidence:
    """The factor A stays and B follows the recursion; a second round of exact minimisation changes nothing."""
    promises = []
    for one in found[0]:
        A, sent = one.before.A["W"], [upload.factor["W"] for upload in one.trips[0].uploads]
        promises.append(same("A stays", one.after.A["W"], A))
        for client, B_i in zip(one.clients, sent, strict=True):
            promises.append(same("B is trained", B_i, descended(one, client, A, one.before.B["W"], "B", rate)[1]))
        mean = torch.stack([A @ B_i for B_i in sent]).mean(dim=0)
        promises.append(same("the mean of the updates is the server's", weight * mean, A @ one.after.B["W"]))
    for turn in found[1]:
        promises.append(same("a stays in the linear model", turn.a_after, turn.a))
        promises.append(same("b is the mean of the minimisers", turn.b_after, weight * turn.mean_of_minimisers()))
    return judge_promises(promises, f"{SCOPE}; three rounds; regressions of 1 to 4 clients, two rounds each")


@dataclass(frozen=True)
class FlexRun:
    """Rounds of FlexLoRA, its model under every split after one and after two rounds."""

    rounds: list[Round]
    models: tuple[Mapping[str, tuple[Tensor, Tensor]], ...]


def run_flexlora(context: Context) -> FlexRun:
    """All three splits of the singular values, from the same draws."""
    runs = {
        split: rounds_of(context, lambda adapter, split=split: FlexLoRA(LOCAL, adapter, split), 2)  # type: ignore[misc]
        for split in ("balanced", "left", "right")
    }
    models = []
    for first in range(0, len(runs["balanced"]), 2):
        pairs = {
            split: tuple(one.after.A["W"] @ one.after.B["W"] for one in found[first : first + 2])
            for split, found in runs.items()
        }
        models.append(pairs)
    return FlexRun(runs["balanced"], tuple(models))  # type: ignore[arg-type]


@claim(
    "rolora/alg-flexlora",
    where="Sections 3.2 and 6 (FlexLoRA)",
    says=r"The product of every client's matrices gives $\Delta W_i$ accurately; the B and A of the next iteration "
    r"come from a truncated SVD of the average of the $\Delta W_i$.",
    measure=run_flexlora,
    mutants=[{"rate": 1.01}, {"cut": 1}, {"scale": 1.001}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_flexlora(found: FlexRun, rate: float = 1.0, cut: int = 0, scale: float = 1.0) -> Evidence:
    """The server's product is the best of its rank for the mean, found by eigenvectors of a Gram matrix as well."""
    promises, apart = [], 0.0
    for one in found.rounds:
        trained = [descended(one, client, one.before.A["W"], one.before.B["W"], "AB", rate) for client in one.clients]
        mean = scale * torch.stack([A @ B for A, B in trained]).mean(dim=0)
        r = one.before.A["W"].shape[1]
        lead = torch.linalg.eigh(mean @ mean.mT)[1][:, mean.shape[0] - r + cut :]
        product = one.after.A["W"] @ one.after.B["W"]
        promises.append(
            same("the server's product is the best of rank r", product, lead @ lead.mT @ mean, relative=1e-7)
        )
        promises.append(Promise("numbers sent", one.up[0], r * sum(mean.shape)))
    for models in found.models:
        for split in ("left", "right"):
            promises.append(
                same("the split does not change this round's model", models[split][0], models["balanced"][0])
            )
            apart = max(apart, float((models[split][1] - models["balanced"][1]).abs().max()))
    return judge_promises(
        promises,
        f"{SCOPE}; two rounds, singular values split in halves, to A or to B: the models of the second round differ by "
        f"up to {apart:.2g} with the split, which the paper leaves open",
    )


@dataclass(frozen=True)
class Iteration:
    """One iteration of Algorithm 2 on regression data.

    Attributes:
        X: Samples of every client; none for the population loss.
        truth: $a^*$, ``(d, 1)``.
        own_b: $b_i^*$ of every client, ``(1, d)``.
        a: Before.
        a_after: After.
        b_after: The mean of the minimisers.
        eta: Step.
    """

    X: tuple[Tensor, ...]
    truth: Tensor
    own_b: tuple[Tensor, ...]
    a: Tensor
    a_after: Tensor
    b_after: Tensor
    eta: float

    def mean_of_minimisers(self) -> Tensor:
        """By least squares on the samples, or in closed form for the population loss."""
        if not self.X:
            return torch.stack([float((self.truth * self.a).sum()) * b for b in self.own_b]).mean(dim=0)
        pairs = zip(self.X, self.own_b, strict=True)
        found = [torch.linalg.lstsq(X @ self.a, X @ self.truth @ b).solution for X, b in pairs]
        return torch.stack(found).mean(dim=0)


def exact_iterations(context: Context, population: bool, frozen: bool = False) -> list[Iteration]:
    """Two iterations on every kind of regression, clients alike and not."""
    rng = context.rng("regressions")
    found = []
    for number, (d, m) in enumerate([(2, 3), (3, 4), (5, 2), (8, 40)] * context.size(1, 5)):
        N = 1 + number % 4
        truth = torch.linalg.qr(torch.from_numpy(rng.standard_normal((d, 1))))[0]
        spread = float(number % 2) if not population else 1.0
        common = rng.standard_normal((1, d))
        own_b = tuple(torch.from_numpy(common + spread * rng.standard_normal((1, d))) for _ in range(N))
        X = () if population else tuple(torch.from_numpy(rng.standard_normal((m, d))) for _ in range(N))
        eye = torch.eye(d, dtype=torch.float64)
        grams = [eye] * N if population else [x.mT @ x / m for x in X]
        clients = tuple(Regressor(G, truth @ b) for G, b in zip(grams, own_b, strict=True))
        eta = float(rng.uniform(0.05, 0.5)) / max(float((b**2).sum()) for b in own_b)
        algorithm = ExactRoLoRA(eta, rounds_of_b_only=frozen)
        fed = Watched(clients)
        state = algorithm.start(fed, Tree(W=torch.from_numpy(rng.standard_normal((d, d)))))
        for _ in (1, 2):
            before, state = state, one_round(algorithm.round, fed, state)
            found.append(Iteration(X, truth, own_b, before.A["W"], state.A["W"], state.B["W"], eta))
    return found


def judge_iterations(found: list[Iteration], factor: float, unit: bool, mean_b: bool) -> list[Promise]:
    """The promises of both versions of Algorithm 2."""
    promises = []
    for one in found:
        b = one.mean_of_minimisers()
        promises.append(same("b is the mean of the clients' minimisers", one.b_after, b))
        slopes = []
        for number, own in enumerate(one.own_b):
            used = b if mean_b else own
            residual = one.a @ used - one.truth @ own
            if one.X:
                X = one.X[number]
                residual = X.mT @ (X @ residual) / len(X)
            slopes.append(factor * residual @ used.mT)
        stepped = one.a - one.eta * torch.stack(slopes).mean(dim=0)
        stepped = stepped / torch.linalg.vector_norm(stepped) if unit else stepped
        promises.append(same("a is the normalised gradient step at the mean b", one.a_after, stepped))
        promises.append(Promise("a is a unit vector", float((one.a_after**2).sum()), 1.0, 1e-12))
    return promises


@claim(
    "rolora/alg-2",
    where="Algorithm 2 with Section 5.1 and eq. (14)",
    says=r"Input: step size $\eta$, number of iterations T, number of clients N. For t = 1 to T: $a \leftarrow "
    r"a^{t-1}$, $b \leftarrow b^{t-1}$; $\tilde b_i \leftarrow \mathrm{argmin}_bl_i(a, b)$ for every i; $\bar b = "
    r"\frac1N\sum_i\tilde b_i$; $\nabla_al_i(a, \bar b)$ for every i; $\hat a^+ \leftarrow a - \frac\eta "
    r"N\sum_i\nabla_al_i(a, \bar b)$, $\hat a \leftarrow \hat a^+/\|\hat a^+\|$; $a^t \leftarrow \hat a$, $b^t "
    r"\leftarrow \bar b$.",
    measure=lambda context: exact_iterations(context, population=False),
    mutants=[{"factor": 1.0}, {"unit": False}, {"mean_b": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_2(found: list[Iteration], factor: float = 2.0, unit: bool = True, mean_b: bool = True) -> Evidence:
    """Iterations of the toolkit, which knows Gram matrices only, agree with those on the samples themselves."""
    promises = judge_iterations(found, factor, unit, mean_b)
    return judge_promises(promises, "d from 2 to 8, m from 2 to 40, 1 to 4 clients, alike and not; two iterations")


@claim(
    "rolora/alg-2h",
    where="Algorithm 2 in Appendix A.5 (different clients, population loss)",
    says=r"Algorithm 2 with the local population loss $l_i(a, b) = \|a^*b_i^{*\top} - ab^\top\|^2$: lines 5 and 9 use "
    "this loss; there are no samples.",
    measure=lambda context: exact_iterations(context, population=True),
    mutants=[{"factor": 1.0}, {"unit": False}, {"mean_b": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_2h(found: list[Iteration], factor: float = 2.0, unit: bool = True, mean_b: bool = True) -> Evidence:
    """Iterations under the population loss follow the closed form."""
    promises = judge_iterations(found, factor, unit, mean_b)
    return judge_promises(promises, "d from 2 to 8, 1 to 4 clients with minimisers of their own; two iterations")
