"""Algorithm 1: RoLoRA, executed and compared with its text."""

from __future__ import annotations

import torch

from algorithms.rolora import RoLoRA
from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.rolora.measurements.watched_rounds import LOCAL, SCOPE, Round, descend, rounds_of


@claim(
    "rolora/alg-1",
    where="Algorithm 1 (the sentence before (3) has odd rounds for A and even ones for B; (3), (4) and the box have it "
    "the other way round: rolora/txt-odd-even)",
    says=r"""Input: number of iterations T, number of clients N. For t = 1 to T: every client fixes $A^t$, sets
    $B_i^{t+1}$ = GD-update($A^t$, $B^t$) and sends it; the server broadcasts $B^{t+1} = \frac1N\sum_iB_i^{t+1}$; every
    client fixes $B^{t+1}$, sets $A_i^{t+1}$ = GD-update($A^t$, $B^{t+1}$) and sends it; the server broadcasts $A^{t+1}
    = \frac1N\sum_iA_i^{t+1}$.""",
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
    intended=Intended(
        "from a start",
        "the box line by line; A and B start from “the typical initialization” (5.2), “identical across all clients” "
        "(after (4)), and “GD-update” is gradient descent",
    ),
)
def alg_1(rounds: list[Round], rate: float = 1.0, refreshed: bool = True, factors: int = 1) -> Evidence:
    """Both halves of every iteration follow the recursion; the mean of the products is the product of the means."""
    promises = []
    for one in rounds:
        (A, B), (A_after, B_after) = (one.before.A["W"], one.before.B["W"]), (one.after.A["W"], one.after.B["W"])
        held = B_after if refreshed else B
        sent_B, sent_A = ([upload.factor["W"] for upload in trip.uploads] for trip in one.trips)
        for client, B_i, A_i in zip(one.clients, sent_B, sent_A, strict=True):
            promises.append(same("B is trained with A frozen", B_i, descend(one, client, A, B, "B", rate)[1]))
            promises.append(same("A is trained with the new B", A_i, descend(one, client, A, held, "A", rate)[0]))
        mean_odd = torch.stack([A @ B_i for B_i in sent_B]).mean(dim=0)
        mean_even = torch.stack([A_i @ B_after for A_i in sent_A]).mean(dim=0)
        promises.append(same("the mean of the odd round's updates is the server's", mean_odd, A @ B_after))
        promises.append(same("the mean of the even round's updates is the server's", mean_even, A_after @ B_after))
        promises.append(Relation("numbers sent in the odd round", one.up[0], factors * B.numel()))
        promises.append(Relation("numbers sent in the even round", one.up[1], factors * A.numel()))
    return judge_relations(promises, f"{SCOPE}; three iterations")
