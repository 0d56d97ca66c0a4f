"""Section 4.1: the low-rank update and its average (eq. (7)), and what the paper says after it."""

from __future__ import annotations

import torch

from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Form, Intended, Reading
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE as ACCUMULATED
from paper_checks.fedloru.convergence.measurements.followed_rounds import Followings, follow_all
from paper_checks.fedloru.convergence.measurements.local_runs import (
    ROUNDS,
    Averaged,
    LocalRun,
    draw_averages,
    gradients,
    run_rounds,
)
from paper_checks.methods.relations import Relations, relations, same


@relations(
    "fedloru-v2/eq-7",
    where="Section 4.1, eq. (7)",
    says=r"""$A_{t,i+1}^{(k)} = A_{t,i}^{(k)} - \eta\nabla_Af^{(k)}(W_t + \alpha A_{t,i}^{(k)}B_{t,i}^{(k)};
    \xi_{t,i}^{(k)})$, $B_{t,i+1}^{(k)} = B_{t,i}^{(k)} - \eta\nabla_Bf^{(k)}(W_t + \alpha A_{t,i}^{(k)}B_{t,i}^{(k)};
    \xi_{t,i}^{(k)})$, $i = 0, \ldots, E-1$, where $\nabla f^{(k)}(W; \xi^{(k)})$ is a stochastic gradient on a randomly
    sampled subset $\xi^{(k)}$ of client k's data.""",
    measure=run_rounds,
    mutants=[{"alpha_power": 0}, {"alpha_power": 2}, {"together": False}, {"steps": -1}, {"sign": -1.0}],
    kind="algorithm",
    expect=("holds", "search"),
)
def eq_7(
    runs: list[LocalRun], alpha_power: int = 1, together: bool = True, steps: int = 0, sign: float = 1.0
) -> Relations:
    """Every client's upload is the result of its local steps, and the two ways to write the gradients agree."""
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


@relations(
    "fedloru-v2/eq-agg",
    where="Section 4.1, after eq. (7), and Algorithm 1",
    says=r"""The server aggregates by averaging: $A_t = \sum_{k\in K_M}p^{(k)}A_t^{(k)}$, $B_t = \sum_{k\in
    K_M}p^{(k)}B_t^{(k)}$, where $K_M$ is the set of participating clients and $p^{(k)}$ the weight of client k in $f =
    \sum_{k=1}^Kp^{(k)}f^{(k)}$.""",
    measure=draw_averages,
    readings=(
        LITERAL,
        Reading(
            "weights of sum 1",
            r"The server averages with the weights $w_k = p^{(k)}/\sum_{j\in K_M}p^{(j)}$, of sum 1 over the cohort: "
            "clients that agree do not change, and the product of the averages is the average of the products, "
            r"$\sum_{k\in K_M}w_kA^{(k)}B^{(k)}$, less $\sum_{k\in K_M}w_k(A^{(k)}-A_t)(B^{(k)}-B_t)$.",
            {"normalised": True},
            "The paper says that the server averages, and Appendix B sums over all K clients.",
            ({"spread": 0.0}, {"scale": 1.001}),
        ),
    ),
    because=r"If $\sum_{k=1}^Kp^{(k)} = 1$, which the paper does not print, the weights of a subset of the clients sum "
    "to less than 1.",
    expect=("holds", "proof"),
    intended=Intended(
        "weights of sum 1",
        "“aggregates them by averaging” (Sec. 4.1): weights of a cohort sum to 1, the usual convention",
    ),
    print="unstated",
)
def eq_agg(runs: list[Averaged], normalised: bool = False, spread: float = 1.0, scale: float = 1.0) -> Relations:
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


@relations(
    "fedloru-v2/eq-WT",
    where="Section 4.1, text after eq. (7)",
    says=r"""When low-rank updates are accumulated every $\tau$ rounds from $W_0$, the final global model at round T is
    $W_T = W_0 + \sum_{t=1,\ t \bmod \tau = 0}^TA_tB_t$.""",
    measure=follow_all,
    control=Form("With $\\alpha$, in runs with one accumulation.", {"power": 1, "single": True}),
    correction=Form(
        r"""$W_T = W_0 + \alpha\sum_{t\le T,\ \tau|t}A_tB_t$ is what every client holds as W after round T, with
        any restart. $\alpha A_TB_T$ is still to be added, unless the factors restart at $AB = 0$ and $\tau$ divides
        T.""",
        {"power": 1},
        ({"power": 0}, {"power": 2}, {"over": "all"}, {"scale": 1.001}),
    ),
    uses=("fedloru-v2/alg-1",),
    importance="detail",
    because=r"The clients add $\alpha A_tB_t$, so the sum lacks the factor $\alpha$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "Same paragraph: “W_t ← W_t + α A_t B_t”, and Algorithm 1 returns “W_0 + α Σ A_t B_t”"
    ),
    print="misprint",
)
def eq_WT(
    followings: Followings, power: int = 0, over: str = "tau", scale: float = 1.0, single: bool = False
) -> Relations:
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
