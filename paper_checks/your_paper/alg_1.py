"""Algorithm 1 (Section 4): what its text promises, on runs of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.methods.relations import Relations, relations, same
from toymodels.quadratic import centred


@dataclass(frozen=True)
class Round:
    """One round: weights before and after, the clients' gradients before, the step, and the messages to the server."""

    before: Tensor
    after: Tensor
    gradients: Tensor
    step: float
    uploads: int


def run_rounds(context: Context) -> list[Round]:
    """Return one round of clients with quadratic losses, for several numbers of clients and steps."""
    rng, found = torch.Generator().manual_seed(context.integer_seed("clients")), []
    for count, step in ((1, 0.5), (2, 0.1), (5, 0.01)):
        roots = torch.randn(count, 6, 6, generator=rng, dtype=torch.float64)
        centres = torch.randn(count, 3, 2, generator=rng, dtype=torch.float64)
        clients = [centred(root @ root.T, centre) for root, centre in zip(roots, centres, strict=True)]
        before = Tree(W=torch.zeros(3, 2, dtype=torch.float64))
        fed = Federation(clients)
        after = one_round(FedAvg(Descent(1, step)).round, fed, before)
        gradients = torch.stack([client.gradient(before)["W"] for client in clients])
        found.append(Round(before["W"], after["W"], gradients, step, count))
    return found


@relations(
    "your-paper/alg-1",
    where="Section 4, Algorithm 1",
    says=r"Each of $K$ clients takes one step of size $\eta$ from $w$ and sends its weights; the server averages them: "
    r"$w^+ = w - \frac{\eta}{K}\sum_{k=1}^K\nabla f_k(w)$.",
    measure=run_rounds,
    mutants=[{"factor": 1.01}, {"mean": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_1(rounds: list[Round], factor: float = 1.0, mean: bool = True) -> Relations:
    """The weights after every round."""
    for one in rounds:
        step = one.gradients.mean(dim=0) if mean else one.gradients.sum(dim=0)
        yield same("a step of gradient descent on the mean loss", one.before - factor * one.step * step, one.after)
    return "quadratic losses of 3 x 2 weights; 1, 2 and 5 clients"
