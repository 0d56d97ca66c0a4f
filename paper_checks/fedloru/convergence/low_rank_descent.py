"""Section 4.1 and the beginning of Appendix B: local steps, averages, accumulation and restart as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.federation import Cohort
from algorithms.fedloru import FedLoRU
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Dropped, Form, Reading
from paper_checks.context import Context
from paper_checks.fedloru.convergence.accumulation import SCOPE as ACCUMULATED
from paper_checks.fedloru.convergence.accumulation import Followings, follow_all
from paper_checks.fedloru.convergence.bounded_runs import Scripted, Setting, scalar_setting
from paper_checks.fedloru.convergence.bounded_settings import draw_settings
from paper_checks.methods.promises import Promises, promises, same
from paper_checks.recorded_federation import Watched

ONE_STEP = {"L": 1, "zone": 10, "W": 0, "A": 1, "B": 1, "rate": "0.5", "steps": 1, "rounds": 1, "share": 1}
"""One weight, loss w^2/2, one local step that halves both factors."""


@dataclass(frozen=True)
class LocalRun:
    """One round: what each client of the cohort sent, and what the server made of it.

    Attributes:
        setting: The run.
        cohort: The clients that took part.
        script: Samples of each step by the identity of the client; empty for all.
        uploads: Factors that the clients sent, in the order of the cohort.
        mean: Mean at the server.
    """

    setting: Setting
    cohort: Cohort
    script: Mapping[int, Tensor]
    uploads: tuple[AB, ...]
    mean: AB


def run_rounds(context: Context) -> list[LocalRun]:
    """First rounds by the toolkit's FedLoRU, on all outcomes of noise and cohort (at most two of each run)."""
    hand = scalar_setting("by hand", ONE_STEP, replayed=True)
    drawn = [s for s in draw_settings(context.rng("settings"), context.size(1, 4)) if s.name != "back and forth"]
    settings = [hand, *(replace(s, alpha=a, rate=s.rate / a**2, case=None) for s in drawn for a in (1.0, 0.5, 3.0))]
    found = []
    for setting in settings:
        for cohort, script in setting.outcomes()[:2]:
            fed = Watched(setting.clients)
            algorithm = FedLoRU(Scripted(setting.steps, setting.rate, script=script), setting.adapter, 1000)
            state = algorithm.start(fed, Tree(W=setting.W))
            state = state._replace(factors=AB(Tree(W=setting.A), Tree(W=setting.B)))
            after = one_round(algorithm.round, fed, state, cohort)
            found.append(LocalRun(setting, cohort, script, fed.trips[-1].uploads, after.factors))
    return found


def gradients(run: LocalRun, client: int, A: Tensor, B: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
    """The gradients of f(W + alpha AB) in A and B by differentiating the loss; of a step's sample, or exact."""
    A, B = A.clone().requires_grad_(), B.clone().requires_grad_()
    one, setting = run.setting.clients[client], run.setting
    batch = run.script[id(one)][step] if run.script and step is not None else None
    one.loss({"W": setting.W + setting.alpha * A @ B}, batch).backward()
    assert A.grad is not None
    assert B.grad is not None
    return A.grad, B.grad


ROUNDS = (
    "rounds by hand and of all shapes, with 1 to 3 clients, 1 to 4 local steps, noise, cohorts, alpha 1/2, 1 and 3; "
    "gradients by differentiating the loss"
)


@promises(
    "fedloru-v2/eq-7",
    where="Section 4.1, eq. (7)",
    says=r"$A_{t,i+1}^{(k)} = A_{t,i}^{(k)} - \eta\nabla_Af^{(k)}(W_t + \alpha A_{t,i}^{(k)}B_{t,i}^{(k)}; "
    r"\xi_{t,i}^{(k)})$, $B_{t,i+1}^{(k)} = B_{t,i}^{(k)} - \eta\nabla_Bf^{(k)}(W_t + \alpha "
    r"A_{t,i}^{(k)}B_{t,i}^{(k)}; \xi_{t,i}^{(k)})$, $i = 0, \ldots, E-1$, where $\nabla f^{(k)}(W; \xi^{(k)})$ is a "
    r"stochastic gradient on a randomly sampled subset $\xi^{(k)}$ of client k's data.",
    measure=run_rounds,
    mutants=[{"alpha_power": 0}, {"alpha_power": 2}, {"together": False}, {"steps": -1}, {"sign": -1.0}],
    kind="algorithm",
    expect=("holds", "search"),
)
def eq_7(
    runs: list[LocalRun], alpha_power: int = 1, together: bool = True, steps: int = 0, sign: float = 1.0
) -> Promises:
    """Every client's upload against its local steps; and the two ways to write the gradients."""
    for run in runs:
        setting, a = run.setting, run.setting.alpha
        for sent, k in zip(run.uploads, run.cohort, strict=True):
            client, A, B = setting.clients[k], setting.A, setting.B
            for i in range(setting.steps + steps):
                batch = run.script[id(client)][i] if run.script else None
                slope = a**alpha_power * client.gradient(Tree(W=setting.W + a * A @ B), batch)["W"]
                told = gradients(run, k, A, B, i)
                yield same("the gradient in A is alpha times that in W times B^T", slope @ B.mT, told[0])
                yield same("the gradient in B is alpha times A^T times that in W", A.mT @ slope, told[1])
                new = A - sign * setting.rate * slope @ B.mT
                B = B - sign * setting.rate * (A if together else new).mT @ slope
                A = new
            yield same("the client sends its last A", A, sent.A["W"])
            yield same("the client sends its last B", B, sent.B["W"])
    return ROUNDS


@dataclass(frozen=True)
class Averaged:
    """Factors of a cohort, the shares of all clients, and the server's average.

    Attributes:
        shares: p of every client, of sum 1.
        cohort: The clients that took part.
        uploads: Factors that the clients sent.
        mean: The toolkit's average.
        case: Case in plain numbers.
    """

    shares: tuple[float, ...]
    cohort: Cohort
    uploads: tuple[AB, ...]
    mean: AB
    case: Mapping[str, Any] | None = None


def draw_averages(context: Context) -> list[Averaged]:
    """One of two clients by hand, then cohorts of 1 to all of 1 to 5 clients of different shares."""
    rng = context.rng("averages")
    one = AB(Tree(W=torch.ones(1, 1, dtype=torch.float64)), Tree(W=torch.ones(1, 1, dtype=torch.float64)))
    case = {"shares": "1/2 1/2", "cohort": "1", "A": "1", "B": "1"}
    found = [Averaged((0.5, 0.5), (1,), (one,), one, case)]
    for number in range(context.size(30, 300)):
        K = 1 + number % 5
        shares = rng.dirichlet([2.0] * K)
        size = K if number % 2 else int(rng.integers(1, K + 1))
        cohort = tuple(sorted(int(k) for k in rng.choice(K, size, replace=False)))
        m, n, r = (int(k) for k in rng.integers(1, 5, 3))
        uploads = tuple(
            AB(
                Tree(W=torch.from_numpy(rng.standard_normal((m, r)))),
                Tree(W=torch.from_numpy(rng.standard_normal((r, n)))),
            )
            for _ in cohort
        )
        fed = Watched(tuple(scalar_setting("", ONE_STEP).clients) * K, shares=[float(p) for p in shares])
        found.append(Averaged(tuple(float(p) for p in shares), cohort, uploads, fed.average(uploads, of=cohort)))
    return found


@promises(
    "fedloru-v2/eq-agg",
    where="Section 4.1, after eq. (7), and Algorithm 1",
    says=r"The server aggregates by averaging: $A_t = \sum_{k\in K_M}p^{(k)}A_t^{(k)}$, $B_t = \sum_{k\in "
    "K_M}p^{(k)}B_t^{(k)}$, where $K_M$ is the set of participating clients and $p^{(k)}$ the weight of client k in "
    r"$f = \sum_{k=1}^Kp^{(k)}f^{(k)}$.",
    measure=draw_averages,
    readings=(
        LITERAL,
        Reading(
            "weights of sum 1",
            r"The server averages with the weights $w_k = p^{(k)}/\sum_{j\in K_M}p^{(j)}$, of sum 1 over the cohort: "
            "clients that agree are left as they are, and the product of the averages is the average of the products, "
            r"$\sum_{k\in K_M}w_kA^{(k)}B^{(k)}$, less $\sum_{k\in K_M}w_k(A^{(k)}-A_t)(B^{(k)}-B_t)$.",
            {"normalised": True},
            "The server is said to average, and Appendix B sums over all K clients.",
            ({"spread": 0.0}, {"scale": 1.001}),
        ),
    ),
    because=r"If $\sum_{k=1}^Kp^{(k)} = 1$, which is not printed, the weights of a part of the clients sum to less "
    r"than 1: no averages.",
    expect=("depends on the reading", "proof"),
)
def eq_agg(runs: list[Averaged], normalised: bool = False, spread: float = 1.0, scale: float = 1.0) -> Promises:
    """As printed the weights of some clients sum to less than 1; ``spread`` weighs the covariance of the factors."""
    for run in runs:
        total = sum(run.shares[k] for k in run.cohort) if normalised else 1.0
        weights = [scale * run.shares[k] / total for k in run.cohort]
        first = run.uploads[0]
        agreed = sum(weights) * first.A["W"], sum(weights) * first.B["W"]
        yield same(
            "clients that agree are left as they are", agreed[0] @ agreed[1], first.A["W"] @ first.B["W"], run.case
        )
        pairs = [(factors.A["W"], factors.B["W"]) for factors in run.uploads]
        A = torch.stack([w * A for w, (A, _) in zip(weights, pairs, strict=True)]).sum(dim=0)
        B = torch.stack([w * B for w, (_, B) in zip(weights, pairs, strict=True)]).sum(dim=0)
        yield same("the sum is the mean over the cohort", A, run.mean.A["W"])
        rest = [w * (a @ b - spread * (a - A) @ (b - B)) for w, (a, b) in zip(weights, pairs, strict=True)]
        if normalised:
            yield same("product of means, mean of products", A @ B, torch.stack(rest).sum(dim=0))
    return f"{len(runs)} averages over cohorts of 1 to all of 1 to 5 clients, factors of 1 to 4 rows, columns and ranks"


@promises(
    "fedloru-v2/eq-WT",
    where="Section 4.1, text after eq. (7)",
    says=r"When low-rank updates are accumulated every $\tau$ rounds from $W_0$, the final global model at round T "
    r"is $W_T = W_0 + \sum_{t=1,\ t \bmod \tau = 0}^TA_tB_t$.",
    measure=follow_all,
    control=Form("With $\\alpha$, in runs with one accumulation.", {"power": 1, "single": True}),
    correction=Form(
        r"$W_T = W_0 + \alpha\sum_{t\le T,\ \tau|t}A_tB_t$ is what every client holds as W after round T, whatever the "
        r"restart. $\alpha A_TB_T$ is still beside it, unless the factors restart with $AB = 0$ and $\tau$ divides T.",
        {"power": 1},
        ({"power": 0}, {"power": 2}, {"over": "all"}, {"scale": 1.001}),
    ),
    uses=("fedloru-v2/alg-1",),
    importance="detail",
    because=r"The clients add $\alpha A_tB_t$, so that the sum lacks the factor $\alpha$.",
    expect=("corrected", "proof"),
)
def eq_WT(
    followings: Followings, power: int = 0, over: str = "tau", scale: float = 1.0, single: bool = False
) -> Promises:
    """The formula against W as the clients hold it, under every restart."""
    for restart, found in followings.items():
        for followed in found:
            run = followed.run
            ends = [t for t in range(1, run.rounds + 1) if over == "all" or followed.is_accumulated(t)]
            if single and len(ends) != 1:
                continue
            kept = (followed.rounds[t - 1].aggregated for t in ends)
            products = [factors.A["W"] @ factors.B["W"] for factors in kept]
            told = run.W + scale * run.alpha**power * sum(products, start=torch.zeros_like(run.W))
            case = None if run.case is None else {**run.case, "restart": restart}
            yield same("the formula is what the clients hold", told, followed.copy["W"], case)
    return ACCUMULATED


def _mean_steps(run: LocalRun, client: int, begins: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Means of E gradients in A and B along a client's steps, from one index on: as drawn, then without noise."""
    setting, A, B = run.setting, run.setting.A, run.setting.B
    rows = []
    for i in range(setting.steps + begins):
        drawn = gradients(run, client, A, B, min(i, setting.steps - 1))
        if i >= begins:
            rows.append((*drawn, *gradients(run, client, A, B, None)))
        if i < setting.steps:
            A, B = A - setting.rate * drawn[0], B - setting.rate * drawn[1]
    return tuple(torch.stack(column).mean(dim=0) for column in zip(*rows, strict=True))  # type: ignore[return-value]


@dataclass(frozen=True)
class Mean:
    """Mean steps of the clients of one round: from index 0 and from index 1."""

    run: LocalRun
    steps: Mapping[tuple[int, int], tuple[Tensor, Tensor, Tensor, Tensor]]


FIRST_ORDER = "the first order of the step"


def measure_means(context: Context) -> list[Mean]:
    """All clients of every round, in the cohort or not."""
    found = []
    for run in run_rounds(context):
        clients = run.setting.everyone if not run.script else run.cohort
        found.append(Mean(run, {(k, begins): _mean_steps(run, k, begins) for k in clients for begins in (0, 1)}))
    return found


@promises(
    "fedloru-v2/eq-59-60",
    where="Appendix B, eqs. (59) and (60), with eq. (7)",
    says=r"Client k performs E gradient steps on its factors, with independent mini-batches $\xi_{t,i}^{(k)}$; the "
    r"averages of the updates that it has accumulated are "
    r"$\tilde\Delta_{A,t}^{(k)} = "
    r"\frac1E\sum_{i=1}^E\nabla_Af_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)};\xi_{t,i}^{(k)})$, $\tilde\Delta_{B,t}^{(k)} = "
    r"\frac1E\sum_{i=1}^E\nabla_Bf_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)};\xi_{t,i}^{(k)})$ (59), and without noise "
    r"$\Delta_{A,t}^{(k)} = \frac1E\sum_{i=1}^E\nabla_Af_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)})$, $\Delta_{B,t}^{(k)} = "
    r"\frac1E\sum_{i=1}^E\nabla_Bf_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)})$ (60).",
    measure=measure_means,
    control=Form("The sum from 1 to E for losses of constant gradient, in the first order of the step.", {"far": True}),
    correction=Form(
        r"$\tilde\Delta_A = \frac1E\sum_{i=0}^{E-1}\nabla_Af_t(A_{t,i}B_{t,i};\xi_{t,i})$, $\Delta_A$ over the same i "
        r"without noise, and the same for B: then $A_{t,E} - A_{t,0} = -\eta E\tilde\Delta_A$ for every client.",
        {"begins": 0},
        ({"begins": 1}, {"scale": 1.001}),
    ),
    uses=("fedloru-v2/eq-7",),
    importance="detail",
    because=r"The E local steps are taken at $i = 0, \ldots, E-1$, not $1, \ldots, E$: the averages leave out the "
    "first.",
    expect=("corrected", "proof"),
)
def eq_59_60(means: list[Mean], begins: int = 1, scale: float = 1.0, far: bool = False) -> Promises:
    """Each client's whole move over eta E against its mean gradient; without noise the two means are one."""
    for mean in means:
        run, setting = mean.run, mean.run.setting
        if far and not setting.name.startswith("far out"):
            continue
        near, first = (1e-2, FIRST_ORDER) if far else (1e-9, "")
        for sent, k in zip(run.uploads, run.cohort, strict=True):
            told = mean.steps[k, begins]
            for name, moved, at in (("A", setting.A - sent.A["W"], 0), ("B", setting.B - sent.B["W"], 1)):
                step = moved / (setting.rate * setting.steps)
                yield same(f"mean step of {name}", scale * told[at], step, setting.case, near, first)
                if not run.script:
                    yield same(f"mean step of {name} without noise", told[at], told[at + 2])
    return ROUNDS


@promises(
    "fedloru-v2/eq-61-62",
    where="Appendix B, eqs. (61) and (62), with the aggregation before them",
    says=r"After all clients complete local training, the server aggregates $A_{t+1} = \sum_{k=1}^K"
    r"p^{(k)}A_{t,E}^{(k)}$, $B_{t+1} = \sum_{k=1}^Kp^{(k)}B_{t,E}^{(k)}$, and $A_{t+1} - A_t = -\eta "
    r"E\sum_{k=1}^Kp^{(k)}"
    r"\tilde\Delta_{A,t}^{(k)}$ (61), $B_{t+1} - B_t = -\eta E\sum_{k=1}^Kp^{(k)}\tilde\Delta_{B,t}^{(k)}$ (62) with "
    r"$\tilde\Delta$ of (59).",
    measure=measure_means,
    control=Form("The sum from 1 to E for losses of constant gradient, in the first order of the step.", {"far": True}),
    readings=(
        LITERAL,
        Reading(
            "averages of the local steps",
            r"(61) and (62) with $\tilde\Delta$ averaged over the gradients of the local steps, $i = 0, \ldots, E-1$, "
            "and weights that sum to 1 over the clients.",
            {"begins": 0},
            r"They are introduced with $\tilde\Delta$ as the average of the updates that a client has accumulated, and "
            "the server is said to average.",
            ({"scale": 1.001}, {"over": "all"}),
        ),
    ),
    correction=Form(
        r"The same with $\tilde\Delta$ over $i = 0, \ldots, E-1$ and weights that sum to 1 over the clients. (If only "
        "a cohort trains, with the sums over it and weights that sum to 1 over it.)",
        {"begins": 0, "over": "cohort"},
        ({"begins": 1}, {"over": "all"}, {"scale": 1.001}, {"normalised": False}),
    ),
    uses=("fedloru-v2/eq-59-60", "fedloru-v2/eq-agg"),
    importance="detail",
    because=r"The sums of (59) run over $i = 1, \ldots, E$, while the steps are taken at $i = 0, \ldots, E-1$.",
    expect=("depends on the reading", "proof"),
)
def eq_61_62(
    means: list[Mean],
    begins: int = 1,
    over: str = "printed",
    scale: float = 1.0,
    normalised: bool = True,
    far: bool = False,
) -> Promises:
    """The server's change of each factor; as printed, in rounds with all clients."""
    for mean in means:
        run, setting = mean.run, mean.run.setting
        K, partial = len(setting.clients), len(run.cohort) < len(setting.clients)
        if (over == "printed" and partial) or (far and not setting.name.startswith("far out")):
            continue
        if over == "all" and run.script and partial:
            continue  # the clients outside the cohort have no samples
        chosen = setting.everyone if over == "all" else run.cohort
        share = scale / (len(chosen) if normalised else K)
        after = run.mean.A["W"], run.mean.B["W"]
        for name, at, before in (("A", 0, setting.A), ("B", 1, setting.B)):
            told = torch.stack([share * mean.steps[k, begins][at] for k in chosen]).sum(dim=0)
            told = -setting.rate * setting.steps * told
            near, first = (1e-2, FIRST_ORDER) if far else (1e-9, "")
            yield same(f"change of {name}", told, after[at] - before, setting.case, near, first)
    return f"the rounds with all clients of: {ROUNDS}" if over == "printed" else ROUNDS


@promises(
    "fedloru-v2/claim-reinit",
    where="Appendix B, before Section B.1",
    says=r"For $\alpha = 1$: whenever $t \bmod \tau = 0$, $W_{t+1} = W_t + A_{t+1}B_{t+1}$, and then the factors are "
    r"reinitialised so that $\bar A_{t+1}\bar B_{t+1} = 0$; then $f(W_t + A_{t+1}B_{t+1}) = f(W_{t+1} + \bar "
    r"A_{t+1}\bar B_{t+1})$, and the re-initialisation does not affect the loss.",
    measure=follow_all,
    mutants=[{"accumulated": 0.999}],
    hypotheses=(Dropped(r"$\bar A_{t+1}\bar B_{t+1} = 0$", {"restarts": ("momentum",)}),),
    uses=("fedloru-v2/alg-1",),
    expect=("holds", "proof"),
)
def claim_reinit(
    followings: Followings, restarts: tuple[str, ...] = ("random", "keep A"), accumulated: float = 1.0
) -> Promises:
    """Every client's loss before and after every accumulation."""
    for restart in restarts:
        for followed in followings[restart]:
            for t in (t for t in range(1, followed.run.rounds + 1) if followed.is_accumulated(t)):
                before, after = followed.model(t), followed.rounds[t - 1].starts_from
                base = followed.rounds[t - 1].base
                after = base + accumulated * (after - base)
                for client in followed.run.clients:
                    yield same("the loss is what it was", client.loss(after), client.loss(before))
    return f"{ACCUMULATED}; where alpha is not 1, with alpha A B for A B"
