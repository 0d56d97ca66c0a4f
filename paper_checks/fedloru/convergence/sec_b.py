"""Appendix B, before its lemmas: local and global updates (eqs. (59) to (62)) and the restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from paper_checks.claim import LITERAL, Dropped, Form, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE as ACCUMULATED
from paper_checks.fedloru.convergence.measurements.followed_rounds import Followings, follow_all
from paper_checks.fedloru.convergence.measurements.local_runs import ROUNDS, LocalRun, gradients, run_rounds
from paper_checks.methods.relations import Relations, relations, same


@dataclass(frozen=True)
class Mean:
    """Mean steps of the clients of one round: from index 0 and from index 1."""

    run: LocalRun
    steps: Mapping[tuple[int, int], tuple[Tensor, Tensor, Tensor, Tensor]]


FIRST_ORDER = "the first order of the step"


def _mean_steps(run: LocalRun, client: int, begins: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return means of E gradients in A and B along a client's steps, from one index on: as drawn, and without noise."""
    setting, A, B = run.setting, run.setting.A, run.setting.B
    rows = []
    for i in range(setting.steps + begins):
        drawn = gradients(run, client, A, B, min(i, setting.steps - 1))
        if i >= begins:
            rows.append((*drawn, *gradients(run, client, A, B, None)))
        if i < setting.steps:
            A, B = A - setting.rate * drawn[0], B - setting.rate * drawn[1]
    return tuple(torch.stack(column).mean(dim=0) for column in zip(*rows, strict=True))  # type: ignore[return-value]


def measure_means(context: Context) -> list[Mean]:
    """Measure the mean steps of all clients in every round, in the cohort or not."""
    found = []
    for run in run_rounds(context):
        clients = run.setting.everyone if not run.script else run.cohort
        found.append(Mean(run, {(k, begins): _mean_steps(run, k, begins) for k in clients for begins in (0, 1)}))
    return found


@relations(
    "fedloru-v2/eq-59-60",
    where="Appendix B, eqs. (59) and (60), with eq. (7)",
    says=r"""Client k performs E gradient steps on its factors, with independent mini-batches $\xi_{t,i}^{(k)}$; the
    averages of the updates that it has accumulated are $\tilde\Delta_{A,t}^{(k)} =
    \frac1E\sum_{i=1}^E\nabla_Af_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)};\xi_{t,i}^{(k)})$, $\tilde\Delta_{B,t}^{(k)} =
    \frac1E\sum_{i=1}^E\nabla_Bf_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)};\xi_{t,i}^{(k)})$ (59), and without noise
    $\Delta_{A,t}^{(k)} = \frac1E\sum_{i=1}^E\nabla_Af_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)})$, $\Delta_{B,t}^{(k)} =
    \frac1E\sum_{i=1}^E\nabla_Bf_t^{(k)}(A_{t,i}^{(k)}B_{t,i}^{(k)})$ (60).""",
    measure=measure_means,
    control=Form("The sum from 1 to E for losses of constant gradient, in the first order of the step.", {"far": True}),
    correction=Form(
        r"""$\tilde\Delta_A = \frac1E\sum_{i=0}^{E-1}\nabla_Af_t(A_{t,i}B_{t,i};\xi_{t,i})$, $\Delta_A$ over the same i
        without noise, and the same for B: then $A_{t,E} - A_{t,0} = -\eta E\tilde\Delta_A$ for every client.""",
        {"begins": 0},
        ({"begins": 1}, {"scale": 1.001}),
    ),
    uses=("fedloru-v2/eq-7",),
    importance="detail",
    because=r"The E local steps are at $i = 0, \ldots, E-1$, not $1, \ldots, E$, so the averages omit the first step.",
    expect=("holds", "proof"),
    intended=Intended("as corrected", "(7) has “i = 0, …, E-1”; the sums of (59), (60) run over i = 1, …, E"),
    print="misprint",
)
def eq_59_60(means: list[Mean], begins: int = 1, scale: float = 1.0, far: bool = False) -> Relations:
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


@relations(
    "fedloru-v2/eq-61-62",
    where="Appendix B, eqs. (61) and (62), with the aggregation before them",
    says=r"""After all clients complete local training, the server aggregates $A_{t+1} =
    \sum_{k=1}^Kp^{(k)}A_{t,E}^{(k)}$, $B_{t+1} = \sum_{k=1}^Kp^{(k)}B_{t,E}^{(k)}$, and $A_{t+1} - A_t = -\eta
    E\sum_{k=1}^Kp^{(k)}\tilde\Delta_{A,t}^{(k)}$ (61), $B_{t+1} - B_t = -\eta
    E\sum_{k=1}^Kp^{(k)}\tilde\Delta_{B,t}^{(k)}$ (62) with $\tilde\Delta$ of (59).""",
    measure=measure_means,
    control=Form("The sum from 1 to E for losses of constant gradient, in the first order of the step.", {"far": True}),
    readings=(
        LITERAL,
        Reading(
            "averages of the local steps",
            r"(61) and (62) with $\tilde\Delta$ averaged over the gradients of the local steps, $i = 0, \ldots, E-1$, "
            "and weights that sum to 1 over the clients.",
            {"begins": 0},
            r"The paper introduces them with $\tilde\Delta$ as the average of the updates that a client has "
            "accumulated, and says that the server averages.",
            ({"scale": 1.001}, {"over": "all"}),
        ),
    ),
    correction=Form(
        r"""The same with $\tilde\Delta$ over $i = 0, \ldots, E-1$ and weights that sum to 1 over the clients. (If only
        a cohort trains, with the sums over it and weights that sum to 1 over it.)""",
        {"begins": 0, "over": "cohort"},
        ({"begins": 1}, {"over": "all"}, {"scale": 1.001}, {"normalised": False}),
    ),
    uses=("fedloru-v2/eq-59-60", "fedloru-v2/eq-agg"),
    importance="detail",
    because=r"The sums of (59) run over $i = 1, \ldots, E$, while the steps are taken at $i = 0, \ldots, E-1$.",
    expect=("holds", "proof"),
    intended=Intended(
        "averages of the local steps",
        "“as sum of the averaged accumulated low-rank updates”: the steps of (7), i = 0, …, E-1",
    ),
    print="misprint",
)
def eq_61_62(
    means: list[Mean],
    begins: int = 1,
    over: str = "printed",
    scale: float = 1.0,
    normalised: bool = True,
    far: bool = False,
) -> Relations:
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


@relations(
    "fedloru-v2/claim-reinit",
    where="Appendix B, before Section B.1",
    says=r"""For $\alpha = 1$: whenever $t \bmod \tau = 0$, $W_{t+1} = W_t + A_{t+1}B_{t+1}$, and then the factors are
    reinitialised so that $\bar A_{t+1}\bar B_{t+1} = 0$; then $f(W_t + A_{t+1}B_{t+1}) = f(W_{t+1} + \bar A_{t+1}\bar
    B_{t+1})$, and the re-initialisation does not affect the loss.""",
    measure=follow_all,
    mutants=[{"accumulated": 0.999}],
    hypotheses=(Dropped(r"$\bar A_{t+1}\bar B_{t+1} = 0$", {"restarts": ("momentum",)}),),
    uses=("fedloru-v2/alg-1",),
    expect=("holds", "kernel"),
)
def claim_reinit(
    followings: Followings, restarts: tuple[str, ...] = ("random", "keep A"), accumulated: float = 1.0
) -> Relations:
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
