"""Sections 3.2, 5.1 and 6: LoRA, FFA-LoRA and FlexLoRA, executed and compared with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.fedlora import FedLoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.rolora.measurements.watched_rounds import (
    LOCAL,
    SCOPE,
    Iteration,
    Round,
    descend,
    exact_iterations,
    rounds_of,
)


@claim(
    "rolora/alg-lora",
    where="Sections 3.2 and 6 (FedAVG of LoRA); that the aggregation is inaccurate is rolora/eq-1",
    says=r"""The clients train both factors locally. In iteration t the server receives $A_i^t$ and $B_i^t$ of every
    client and aggregates by $A^t = \mathrm{Avg}(A_i^t)$ and $B^t = \mathrm{Avg}(B_i^t)$.""",
    measure=lambda context: rounds_of(context, lambda adapter: FedLoRA(LOCAL, adapter)),
    mutants=[{"rate": 1.01}, {"cross": 0.0}, {"cross": -1.0}, {"factors": 1}],
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“LoRA adapter and its finetuning algorithm are directly applied to local finetuning”, “the server receives "
        "$A_i^t$ and $B_i^t$ from client i” (6)",
    ),
)
def alg_lora(rounds: list[Round], rate: float = 1.0, cross: float = 1.0, factors: int = 2) -> Evidence:
    """Every round follows the recursion; what the means miss is the covariance of the clients' factors."""
    promises, apart = [], 0
    for one in rounds:
        sent = [(upload.A["W"], upload.B["W"]) for upload in one.trips[0].uploads]
        for client, (A_i, B_i) in zip(one.clients, sent, strict=True):
            A, B = descend(one, client, one.before.A["W"], one.before.B["W"], "AB", rate)
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
            promises.append(Relation("it is another matrix", 1e-8, distance, at_most=True))
        r = mean_A.shape[1]
        promises.append(Relation("numbers sent", one.up[0], factors * r * sum(whole.shape) / 2))
    scope = (
        f"{SCOPE}; three rounds, {apart} of several clients with different losses, from A and B other than 0; the "
        "covariance is 0, and the aggregation accurate, for one client, for clients that are alike, and after one "
        "gradient step from B = 0, which leaves A as it is"
    )
    return judge_relations(promises, scope)


@claim(
    "rolora/alg-ffa",
    where="Sections 3.2 and 6 (FFA-LoRA) and Section 5.1 (its linear version)",
    says=r"""Clients train B and keep A frozen; in iteration t the server aggregates by $B^t = \mathrm{Avg}(B_i^t)$, so
    $\Delta W$ is computed precisely. In the linear model a of all clients is fixed to a random unit vector $a^0$, every
    $b_i$ minimises $l_i$, and they are aggregated.""",
    measure=lambda context: (
        rounds_of(context, lambda adapter: FFALoRA(LOCAL, adapter)),
        exact_iterations(context, population=False, frozen=True),
    ),
    mutants=[{"rate": 1.01}, {"weight": 1.01}],
    readings=(
        Reading(
            "A alike at all clients",
            "Clients train B and keep A frozen, the same A at all of them; in iteration t the server aggregates by "
            r"$B^t = \mathrm{Avg}(B_i^t)$, so $\Delta W$ is computed precisely. In the linear model a of all clients "
            "is fixed to a random unit vector $a^0$, every $b_i$ minimises $l_i$, and they are aggregated.",
            why="Section 1 has FFA-LoRA freeze the matrices across all clients, and Section 5.1 one a; where every "
            "client freezes an A of its own, no A of the server gives the mean of the products.",
        ),
    ),
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "A alike at all clients", "“freezing the down-projection matrices across all clients” (1): one A for all"
    ),
)
def alg_ffa(found: tuple[list[Round], list[Iteration]], rate: float = 1.0, weight: float = 1.0) -> Evidence:
    """A does not change and B follows the recursion; a second round of exact minimisation changes nothing."""
    promises = []
    for one in found[0]:
        A, sent = one.before.A["W"], [upload.factor["W"] for upload in one.trips[0].uploads]
        promises.append(same("A stays", one.after.A["W"], A))
        for client, B_i in zip(one.clients, sent, strict=True):
            promises.append(same("B is trained", B_i, descend(one, client, A, one.before.B["W"], "B", rate)[1]))
        mean = torch.stack([A @ B_i for B_i in sent]).mean(dim=0)
        promises.append(same("the mean of the updates is the server's", weight * mean, A @ one.after.B["W"]))
    for turn in found[1]:
        promises.append(same("a stays in the linear model", turn.a_after, turn.a))
        promises.append(same("b is the mean of the minimisers", turn.b_after, weight * turn.mean_of_minimisers()))
    return judge_relations(promises, f"{SCOPE}; three rounds; regressions of 1 to 4 clients, two rounds each")


@dataclass(frozen=True)
class FlexRun:
    """Rounds of FlexLoRA, its model under every split after one and after two rounds."""

    rounds: list[Round]
    models: tuple[Mapping[str, tuple[Tensor, Tensor]], ...]


def run_flexlora(context: Context) -> FlexRun:
    """Run all three splits of the singular values, from the same draws."""
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
    where="Sections 3.2 and 6 (FlexLoRA); whether Wang et al. (2024) do the same, as Section 3.2 says, is not judged",
    says=r"""The product of every client's matrices gives $\Delta W_i$ accurately; the B and A of the next iteration
    come from a truncated SVD of the average of the $\Delta W_i$.""",
    measure=run_flexlora,
    mutants=[{"rate": 1.01}, {"cut": 1}, {"scale": 1.001}],
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        r"“performing truncated SVD on the averaged set of $\Delta W_i$” (3.2); “aggregating the matrix products of "
        "LoRA components” (6)",
    ),
)
def alg_flexlora(found: FlexRun, rate: float = 1.0, cut: int = 0, scale: float = 1.0) -> Evidence:
    """The server's product is the best of its rank for the mean, found by eigenvectors of a Gram matrix as well."""
    promises, apart = [], 0.0
    for one in found.rounds:
        trained = [descend(one, client, one.before.A["W"], one.before.B["W"], "AB", rate) for client in one.clients]
        mean = scale * torch.stack([A @ B for A, B in trained]).mean(dim=0)
        r = one.before.A["W"].shape[1]
        lead = torch.linalg.eigh(mean @ mean.mT)[1][:, mean.shape[0] - r + cut :]
        product = one.after.A["W"] @ one.after.B["W"]
        promises.append(
            same("the server's product is the best of rank r", product, lead @ lead.mT @ mean, relative=1e-7)
        )
        promises.append(Relation("numbers sent", one.up[0], r * sum(mean.shape)))
    for models in found.models:
        for split in ("left", "right"):
            promises.append(
                same("the split does not change this round's model", models[split][0], models["balanced"][0])
            )
            apart = max(apart, float((models[split][1] - models["balanced"][1]).abs().max()))
    return judge_relations(
        promises,
        f"{SCOPE}; two rounds, singular values split in halves, to A or to B: the models of the second round differ by "
        f"up to {apart:.2g} with the split, which the paper leaves open",
    )
