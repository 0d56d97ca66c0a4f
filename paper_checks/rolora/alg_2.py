"""Algorithm 2 and its form for different clients (Appendix A.5), executed and compared with their text."""

from __future__ import annotations

import torch

from paper_checks.claim import Evidence, Intended, claim
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.rolora.measurements.watched_rounds import Iteration, exact_iterations


def judge_iterations(found: list[Iteration], factor: float, unit: bool, mean_b: bool) -> list[Relation]:
    """Return the promises of both versions of Algorithm 2."""
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
        promises.append(Relation("a is a unit vector", float((one.a_after**2).sum()), 1.0, 1e-12))
    return promises


@claim(
    "rolora/alg-2",
    where="Algorithm 2 with Section 5.1 and eq. (14)",
    says=r"""Input: step size $\eta$, number of iterations T, number of clients N. For t = 1 to T: $a \leftarrow
    a^{t-1}$, $b \leftarrow b^{t-1}$; $\tilde b_i \leftarrow \mathrm{argmin}_bl_i(a, b)$ for every i; $\bar b =
    \frac1N\sum_i\tilde b_i$; $\nabla_al_i(a, \bar b)$ for every i; $\hat a^+ \leftarrow a - \frac\eta
    N\sum_i\nabla_al_i(a, \bar b)$, $\hat a \leftarrow \hat a^+/\|\hat a^+\|$; $a^t \leftarrow \hat a$, $b^t \leftarrow
    \bar b$.""",
    measure=lambda context: exact_iterations(context, population=False),
    mutants=[{"factor": 1.0}, {"unit": False}, {"mean_b": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_2(found: list[Iteration], factor: float = 2.0, unit: bool = True, mean_b: bool = True) -> Evidence:
    """The toolkit's iterations, which use Gram matrices only, agree with iterations on the samples themselves."""
    promises = judge_iterations(found, factor, unit, mean_b)
    return judge_relations(promises, "d from 2 to 8, m from 2 to 40, 1 to 4 clients, alike and not; two iterations")


@claim(
    "rolora/alg-2h",
    where="Algorithm 2 in Appendix A.5 (different clients, population loss)",
    says=r"""Algorithm 2 with the local population loss $l_i(a, b) = \|a^*b_i^{*\top} - ab^\top\|^2$: lines 5 and 9 use
    this loss; there are no samples.""",
    measure=lambda context: exact_iterations(context, population=True),
    mutants=[{"factor": 1.0}, {"unit": False}, {"mean_b": False}],
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“We consider the local population loss” (after (246)) and “the training procedure described in Algorithm 2” "
        "(before Assumption A.12)",
    ),
)
def alg_2h(found: list[Iteration], factor: float = 2.0, unit: bool = True, mean_b: bool = True) -> Evidence:
    """Iterations under the population loss follow the closed form."""
    promises = judge_iterations(found, factor, unit, mean_b)
    return judge_relations(promises, "d from 2 to 8, 1 to 4 clients with minimisers of their own; two iterations")
