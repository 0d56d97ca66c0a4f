"""Algorithm 1 with its auxiliary functions (Algorithm 2): FeDLRT, executed and compared with its text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.low_rank import augment
from algorithms.tree import Tree
from paper_checks.claim import Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.federations import SCOPE
from paper_checks.fedlrt.measurements.watched_rounds import ROOM, ROUNDS, STEPS, Watching, promised_of_all, watch_all
from paper_checks.methods.relations import Relation, Relations, orthonormal, relations, same


@relations(
    "fedlrt/alg-1",
    where="Algorithm 1 with Section 4.1 (the rule of Section 3.1 for the rank is judged in fedlrt/claim-trunc)",
    says=r"""From orthonormal $U^1$, $V^1$, full-rank $S^1$, a flag var_cor and the threshold $\tau$, each of T rounds:
    broadcast $U^t, V^t, S^t$; aggregate the clients' $\nabla_U\mathcal{L}_c$, $\nabla_V\mathcal{L}_c$; augment both
    bases on the server and broadcast $\bar U$, $\bar V$; clients assemble $\tilde U = [U^t|\bar U]$, $\tilde V$ and
    $\tilde S^{s=0} = \begin{bmatrix}S^t & 0\\0 & 0\end{bmatrix}$; with var_cor, aggregate $G_{\tilde S,c} =
    \nabla_{\tilde S}\mathcal{L}_c$, broadcast $G_{\tilde S}$ and update with $G_{\tilde S} - G_{\tilde S,c}$, else
    update without; aggregate $\tilde S_c^{s_*}$ to $\tilde S^*$; take its SVD with threshold $\vartheta$; $U^{t+1} =
    \tilde UP_{r_1}$, $V^{t+1} = \tilde VQ_{r_1}$, $S^{t+1} = \Sigma_{r_1}$.""",
    measure=watch_all,
    readings=(
        Reading(
            "tail from the first value that is cut",
            r"The same with $\vartheta = \tau\|\tilde S^*\|$, and the smallest rank for which the norm of the removed "
            r"singular values is below $\vartheta$.",
            why=r"The box takes $\tau$ and truncates by $\vartheta$; Section 4.1 relates the two. Neither says which "
            "values are removed. The rule of Section 3.1 includes a value that is kept, and then S need not have full "
            "rank.",
        ),
    ),
    mutants=[{"rate": 1.01}, {"trips": 1}, {"mean": 1.01}, {"corrected": "simplified"}],
    hypotheses=(ROOM,),
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "tail from the first value that is cut",
        r"Line 17: “svd($\widetilde S^*$) with threshold $\vartheta$”, and Section 4.1 “$\vartheta "
        r"= \tau\|\widetilde S^*\|$”.",
    ),
)
def alg_1(
    watching: Watching,
    rate: float = 1.0,
    trips: int = 0,
    mean: float = 1.0,
    corrected: str = "full",
    beyond: bool = False,
) -> Relations:
    r"""Every round keeps the promises of the text, without correction and with the full one.

    The box names its threshold $\tau$ and $\vartheta$: $\vartheta = \tau\|\tilde S^*\|$ is taken, as in Section 4, and
    the tail from $\sigma_{r_1+1}$ on (see fedlrt/claim-trunc).
    """
    for kind, count in (("none", 2), (corrected, 3)):
        for one in watching.of(kind, beyond):
            yield from promised_of_all(one, mean)
            yield Relation("number of communication rounds", one.trips + trips, count)
    for one in watching.of("one step", beyond):
        step = rate * 0.5 / (12.0 * one.case.smoothness)
        stepped = one.start - step * torch.stack(one.slopes).mean(dim=0)
        yield from [same("the first corrected step is the mean gradient's", S_c, stepped) for S_c in one.coefficients]
    return (
        f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S; threshold tau times the norm, which only "
        "Section 4 says, tail from the first value that is cut; rounds whose rank is above n/2 have no wide bases of "
        "2r columns and are left out"
    )


@dataclass(frozen=True)
class Augmented:
    """A basis, a direction, what the box's QR factorisation gives, and what the toolkit returns."""

    B: Tensor
    G: Tensor
    raw: Tensor
    Bbar: Tensor


@dataclass(frozen=True)
class Auxiliary:
    """Augmentations, and watched rounds for aggregation and coefficient updates."""

    augmented: tuple[Augmented, ...]
    watching: Watching


def measure_auxiliary(context: Context) -> Auxiliary:
    """Draw bases with directions of full rank, and follow the rounds of all variants."""
    rng = context.rng("bases")
    found = []
    for m, r in (*((2, 1), (4, 2), (7, 3), (40, 4)) * context.size(2, 10), (3, 2)):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], r))
        B = torch.linalg.qr(torch.from_numpy(rng.standard_normal((m, r))))[0] * signs
        G = torch.from_numpy(rng.standard_normal((m, r)))
        raw = torch.linalg.qr(torch.cat([B, G], dim=1))[0]
        found.append(Augmented(B, G, raw, augment(Tree(W=B), Tree(W=G))["W"]))
    return Auxiliary(tuple(found), watch_all(context))


@relations(
    "fedlrt/alg-2",
    where="Algorithm 2 (auxiliary functions)",
    says=r"""broadcast: the server sends all $M_i$ to all clients. aggregate: clients send $M_{c,i}$, and $M_i
    \leftarrow \frac1C\sum_{c=1}^CM_c$ for all i. coefficient_update_var_cor: $\tilde S_c^{s+1} \leftarrow \tilde S_c^s
    - \lambda(\nabla_{\tilde S}\mathcal{L}_c(\tilde U_c\tilde S_c^s\tilde V_c^\top) + V_c)$ for $s = 0, \ldots, s_*-1$;
    coefficient_update: the same without $V_c$. basis_augmentation: $[B|\bar B] \leftarrow \mathrm{qr}([B|G_B])$ on the
    server, return $\bar B$.""",
    measure=measure_auxiliary,
    mutants=[{"assembled": False}, {"share": 1.01}, {"added": 0.99}],
    hypotheses=(ROOM,),
    readings=(
        Reading(
            "the matrices that were sent",
            r"The same with $M_i \leftarrow \frac1C\sum_{c=1}^CM_{c,i}$ in aggregate.",
            why="The paper does not define $M_c$. The clients send $M_{c,i}$, which is the name in line 3.",
        ),
    ),
    vary=("share",),
    kind="algorithm",
    because=r"The mean in “aggregate” is over $M_c$, which the paper does not define. The second index i of $M_{c,i}$ "
    "is missing.",
    expect=("holds", "search"),
    intended=Intended(
        "the matrices that were sent",
        "Line 4: “Send $M_{c,i}$ from client to server”: these are averaged, with the bases that all clients share.",
    ),
    print="misprint",
)
def alg_2(
    found: Auxiliary, assembled: bool = True, share: float = 1.0, added: float = 1.0, beyond: bool = False
) -> Relations:
    """Bases as assembled by the clients, and coefficient updates step by step.

    The orthogonal factor of a library begins with columns of B up to their sign; only its second half is used.
    """
    for basis in found.augmented:
        m, r = basis.B.shape
        if 2 * r > m and not beyond:
            continue
        whole = torch.cat([basis.B, basis.Bbar], dim=1) if assembled else basis.raw
        yield orthonormal("[B|Bbar] is orthonormal", whole)
        yield Relation("wide bases of 2r columns", whole.shape[1], 2 * r)
        yield same("its first columns are B", whole[:, :r], basis.B)
        yield same("it spans G", whole @ (whole.mT @ basis.G), basis.G)
    for kind in ("none", "full", "simplified"):
        for one in found.watching.of(kind, beyond, ROUNDS):
            rate = 0.5 / (12.0 * one.case.smoothness * STEPS)
            bases = Tree(W=one.U), Tree(W=one.V)
            for client, correction, sent in zip(one.case.clients, one.corrections, one.coefficients, strict=True):
                S, projected = one.start, client.projected(*bases)
                for _ in range(STEPS):
                    S = S - rate * (projected.gradient({"W": S})["W"] + added * correction)
                yield same("a client's coefficients are those of the recursion", S, sent)
            total = share * torch.stack(one.corrections).mean(dim=0)
            yield same("the corrections cancel in the mean", total, torch.zeros_like(total))
            mean = share * torch.stack(one.coefficients).mean(dim=0)
            yield same("the aggregate is the mean", one.U @ mean @ one.V.mT, one.model)
    return f"{SCOPE}; bases of 2 to 40 rows with directions of full rank"
