"""Algorithm 5: FeDLRT with simplified correction, executed and compared with its text."""

from __future__ import annotations

import torch

from paper_checks.claim import Intended, Reading
from paper_checks.fedlrt.measurements.federations import SCOPE
from paper_checks.fedlrt.measurements.watched_rounds import ROOM, ROUNDS, STEPS, Watching, promised_of_all, watch_all
from paper_checks.methods.relations import Relation, Relations, relations, same


@relations(
    "fedlrt/alg-5",
    where=r"Algorithm 5 (simplified variance correction) with eq. (9), with $\tilde G_{\tilde S,c}$ instead of $\check "
    r"G_{\tilde S,c}$ in line 11 and $\check G_S$ instead of $G_S$ in line 12 in our copy of the paper",
    says=r"""As Algorithm 1, but clients send $G_{S,c} = \nabla_S\mathcal{L}_c(U^tS^tV^{t,\top})$ together with the
    basis gradients, the server sends $G_S$ together with $\bar U$, $\bar V$, and client c updates with $\check
    G_{\tilde S} - \check G_{\tilde S,c}$, where $\check G_{\tilde S} = \begin{bmatrix}G_S & 0\\0 & 0\end{bmatrix}$ and
    $\check G_{\tilde S,c} = \begin{bmatrix}G_{S,c} & 0\\0 & 0\end{bmatrix}$.""",
    measure=watch_all,
    readings=(
        Reading(
            "tail from the first value that is cut",
            r"The same with the threshold of fedlrt/alg-1: $\vartheta = \tau\|\tilde S^*\|$, and the smallest rank for "
            r"which the norm of the removed singular values is below $\vartheta$.",
            why=r"The box takes $\tau$ and truncates by a $\vartheta$ that it does not define.",
        ),
    ),
    mutants=[{"block": 1.01}, {"outside": 1.0}, {"trips": 1}],
    hypotheses=(ROOM,),
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "tail from the first value that is cut",
        r"Line 15: “svd($\widetilde S^*$) with threshold $\vartheta$”, as in Algorithm 1.",
    ),
)
def alg_5(
    watching: Watching, block: float = 1.0, outside: float = 0.0, trips: int = 0, beyond: bool = False
) -> Relations:
    """The correction that follows from what is sent agrees with the full one in the same bases."""
    for one in watching.of("simplified", beyond):
        r = one.before.S["W"].shape[0]
        mean = torch.stack(one.slopes).mean(dim=0)
        yield from promised_of_all(one)
        for slope, correction in zip(one.slopes, one.corrections, strict=True):
            full = mean - slope
            expected = outside * full
            expected[:r, :r] = block * full[:r, :r]
            yield same("the correction is the block of the full one", correction, expected)
        yield Relation("number of communication rounds", one.trips + trips, 2)
    return f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S"
