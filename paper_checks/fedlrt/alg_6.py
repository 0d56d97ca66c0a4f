"""Algorithm 6: the naive low-rank scheme, executed and compared with its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.low_rank import Truncation, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Form, Intended
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.federations import SCOPE, Case, draw_cases
from paper_checks.methods.relations import Relation, Relations, relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import centred


@dataclass(frozen=True)
class Naive:
    """One round of Algorithm 6: the mean of the clients' models, and the server's model as printed and rebuilt."""

    clients: int
    mean: Tensor
    printed: Tensor
    rebuilt: Tensor
    by_hand: Mapping[str, Any] | None


def measure_naive(context: Context) -> list[Naive]:
    """Run two clients by hand whose gradients leave the bases in different directions; then random ones."""
    W = torch.zeros(3, 3, dtype=torch.float64)
    W[0, 0] = 1.0
    targets = []
    for axis in (1, 2):
        target = W.clone()
        target[0, axis] = target[axis, 0] = 1.0
        targets.append(target)
    hand = {"targets": [target.to(torch.int64).tolist() for target in targets], "rate": 0.5}
    by_hand = tuple(centred(torch.eye(9, dtype=torch.float64), target) for target in targets)
    cases: list[Any] = [(Case(by_hand, factorise(Tree(W=W), 1), 1.0), 0.5, 1, hand)]
    cases += [(case, 0.3 / case.smoothness, 2, None) for case in draw_cases(context)]
    found = []
    for case, rate, steps, numbers in cases:
        ends: list[Tensor] = []
        uploads: tuple[Any, ...] = ()
        for as_printed in (True, False):
            fed = Watched(case.clients)
            algorithm = NaiveFeDLRT(Descent(steps, rate), case.rank, Truncation(0.0), as_printed)
            ends.append(product(one_round(algorithm.round, fed, case.factors))["W"])
            uploads = fed.trips[-1].uploads
        mean = torch.stack([product(upload)["W"] for upload in uploads]).mean(dim=0)
        found.append(Naive(len(case.clients), mean, ends[0], ends[1], numbers))
    return found


@relations(
    "fedlrt/alg-6",
    where="Algorithm 6 (naive FeDLRT) with Section 3",
    says=r"""In each of T rounds: broadcast $U^t, V^t, S^t$; for $s = 0, \ldots, s_*-1$ the client augments $U_c^s$,
    $V_c^s$ by its own basis gradients with QR decompositions, $\tilde S_c = \tilde U_c^\top
    U_c^sS_c^sV_c^{s,\top}\tilde V_c$ and $\tilde S_c^* \leftarrow \tilde S_c - \lambda\nabla_{\tilde
    S}\mathcal{L}_c(\tilde U_c\tilde S_c\tilde V_c^\top)$; the server aggregates the $\tilde S_c^*$ to $\tilde S^*$,
    takes its SVD with threshold $\vartheta$, and $U^{t+1} \leftarrow \tilde UP_{r_1}$, $V^{t+1} \leftarrow \tilde
    VQ_{r_1}$, $S^{t+1} \leftarrow \Sigma_{r_1}$.""",
    measure=measure_naive,
    control=Form("With one client the model is the client's.", {"alone": True}),
    correction=Form(
        r"""Section 3 has the mean $W^*$ of the clients' models here. To rebuild it or its factors, the server needs
        every client's model, in full or as bases and coefficients (see fedlrt/claim-alg6): the bases of the clients can
        differ, and then the mean of their coefficients belongs to none of them. Also, lines 4 to 10 never assign
        $U_c^{s+1}$, $S_c^{s+1}$, $V_c^{s+1}$. In the check $U_c^{s+1}S_c^{s+1}V_c^{s+1,\top}$ is $\tilde U_c\tilde
        S_c^*\tilde V_c^\top$ cut to its largest r singular values, and the last step is sent uncut. The paper does not
        define the bases $\tilde U$, $\tilde V$ of line 13; the check of the printed form takes the first client's.""",
        {"as_printed": False},
        ({"as_printed": True}, {"scale": 1.001}),
    ),
    kind="algorithm",
    because=r"If the clients' bases differ, the mean of the coefficients belongs to none of them. $\tilde U$ and "
    r"$\tilde V$ are not defined.",
    expect=("holds", "search"),
    intended=Intended(
        "as corrected",
        r"Section 3 has the mean “$W^* = \frac1C\sum_{c=1}^CU_cS_cV_c^\top$” and refers to Algorithm "
        r"6, whose line 11 averages $\widetilde S_c^*$ alone.",
    ),
    print="inconsistent",
)
def alg_6(runs: list[Naive], as_printed: bool = True, scale: float = 1.0, alone: bool = False) -> Relations:
    """The server's model is the mean of the clients' models."""
    for one in runs:
        if one.clients == 1 or not alone:
            server = scale * (one.printed if as_printed else one.rebuilt)
            yield same("the server's model is the mean of the clients'", server, one.mean, one.by_hand)
    return f"two clients by hand; {SCOPE}; one and two local steps, no truncation"


@dataclass(frozen=True)
class Mean:
    """Low-rank models of clients in bases of their own, and the rank of their mean.

    Attributes:
        size: Side of the square weights.
        rank: Rank of every model.
        clients: Number of clients.
        found: Rank of the mean.
        gap: Largest difference of its singular values from those of the stacked factors' core.
        core: Size of that core.
        by_hand: The models in plain numbers, if they are small.
    """

    size: int
    rank: int
    clients: int
    found: int
    gap: float
    core: int
    by_hand: Mapping[str, Any] | None = None


def measure_means(context: Context) -> list[Mean]:
    """Average two models by hand, then random ones, with fewer and with more columns together than there are rows."""
    rng = context.rng("models")
    units = np.eye(4)
    hand = [(units[:, [c]], np.eye(1), units[:, [c]]) for c in range(2)]
    groups: list[tuple[list[tuple[Any, Any, Any]], Mapping[str, Any] | None]] = [
        (hand, {"size": 4, "U": [[1, 0, 0, 0], [0, 1, 0, 0]], "V": [[1, 0, 0, 0], [0, 1, 0, 0]], "S": [1, 1]})
    ]
    for size, r, clients in ((12, 2, 3), (20, 1, 8), (6, 2, 2), (6, 2, 4), (5, 1, 1)) * context.size(1, 5):
        made = [tuple(np.linalg.qr(rng.standard_normal((size, r)))[0] for _ in range(2)) for _ in range(clients)]
        groups.append(([(U, rng.standard_normal((r, r)), V) for U, V in made], None))
    found = []
    for models, numbers in groups:
        size, r = models[0][0].shape
        mean = sum(U @ S @ V.T for U, S, V in models) / len(models)
        left, right = (np.linalg.qr(np.concatenate([model[i] for model in models], axis=1))[1] for i in (0, 2))
        blocks = np.zeros((len(models) * r,) * 2)
        for c, (_, S, _) in enumerate(models):
            blocks[c * r : (c + 1) * r, c * r : (c + 1) * r] = S / len(models)
        core = left @ blocks @ right.T
        sigma, small = (np.linalg.svd(matrix, compute_uv=False) for matrix in (mean, core))
        gap = float(np.abs(np.pad(small, (0, size - len(small))) - sigma).max())
        found.append(Mean(size, r, len(models), int((sigma > 1e-10).sum()), gap, len(small), numbers))
    return found


@relations(
    "fedlrt/claim-alg6",
    where="Section 3, other federated low-rank schemes, with Algorithm 6",
    says=r"""Existing low-rank schemes effectively give each client a representation of its own, incompatible with the
    others'. While the factors can still be communicated efficiently, averaging on the server requires the full matrix
    $W^* = \frac1C\sum_{c=1}^CU_cS_cV_c^\top$ to be rebuilt, as the local manifolds possibly diverge; so the local rank
    information is lost and needs to be recovered by a costly full $n \times n$ SVD. As the mean of low-rank matrices is
    not necessarily of low rank, these schemes may lose crucial information if the clients' solutions drift too far
    apart.""",
    measure=measure_means,
    control=Form(
        "The mean of models of rank r in different bases can have a rank beyond r, as in the models judged.",
        {"keep": ("beyond",)},
    ),
    correction=Form(
        r"""The mean has rank at most $\min(n, Cr)$, which is attained. If $Cr < n$, neither $W^*$ nor an $n \times n$
        SVD is needed: QR decompositions of $[U_1|\ldots|U_C]$ and $[V_1|\ldots|V_C]$ and an SVD of size $Cr$ give its
        factors.""",
        {"needed": "stacked"},
        ({"needed": "whole"}, {"needed": "one client's"}, {"spread": 1e-3}),
    ),
    uses=("fedlrt/alg-6",),
    because="If Cr < n, QR decompositions of the stacked factors and an SVD of size Cr give the SVD of the mean "
    "without a full matrix.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“averaging on the server requires a reconstruction of the full weigh matrix”; “costly "
        r"recovered by a full $n \times n$ SVD”.",
    ),
)
def claim_alg6(
    means: list[Mean],
    needed: str = "whole",
    spread: float = 0.0,
    keep: tuple[str, ...] = ("needed", "attained", "beyond"),
) -> Relations:
    """Size of the matrix whose singular values are those of the mean; none smaller than its rank can be."""
    for one in means:
        together = min(one.size, one.clients * one.rank)
        size = {"whole": one.size, "stacked": together, "one client's": one.rank}[needed]
        if "needed" in keep:
            yield Relation("the size of the SVD that is needed", one.core, size, case=one.by_hand)
            yield Relation("it has the singular values of the mean", one.gap + spread, 0.0, 1e-10)
        if "attained" in keep:
            yield Relation("the rank of the mean", one.found, together)
        if "beyond" in keep and one.clients > 1:
            yield Relation("the mean has a rank beyond r", one.rank + 1, one.found, at_most=True)
    return (
        "two models by hand; 1 to 8 clients with random models of rank 1 and 2 and sizes 5 to 20, Cr below and above n"
    )
