"""Assumption A.5: the slopes along the bulk."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.pairs_of_clients import KEPT, OUTLIERS, draw_pairs_of_clients
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.alignment import ClientGradients

GRADIENTS = ClientGradients((1.0, 0.5, 2.0), elsewhere=0.3, noise_square=1.0)


def measure_bulk_slopes(context: Context) -> dict[str, Ladder]:
    """Measure directional derivatives along both clients' leading bulk eigenvectors, oriented towards the spikes."""
    rng, found = context.rng("errors"), []
    clients = draw_pairs_of_clients(context)
    for pair in clients:
        found.append(pair.oriented().slopes(GRADIENTS, rng, 40_000).mean(axis=1)[:, OUTLIERS:])
    slopes = np.array(found)
    return {
        f"slope along w_{i + 1} of client {k + 1}": Ladder(((clients[0].R, slopes[:, k, i]),), "errors are independent")
        for k in range(2)
        for i in range(KEPT - OUTLIERS)
    }


@claim(
    "fedloru-v2/assump-A.5",
    where="Appendix A.5, Assumption A.5; eqs. (57) and (58), which use it, are fedloru-v2/eq-57-58",
    says=r"""The $w_i^{(k)}$ are random unit-norm orthonormal vectors with $w_i^{(k)} \perp U_N^{(k)}$, and the limits
    of $E[\partial_{w_i^{(k)}} f_N^{(k)}]$ have the same value for all i and k.""",
    measure=measure_bulk_slopes,
    readings=(
        Reading(
            "by itself",
            r"There are clients that meet the assumption: in the model of Section 3.1 with gradients that have a part "
            r"in common, and independent own errors of mean 0, the common value $\beta$ of the limits is 0 for $w_i$ "
            "whose signs do not look at the gradient.",
            why="An assumption asks for a case that meets it.",
        ),
    ),
    mutants=[{"by_index": 0.2}, {"by_client": 0.2}, {"beta": 0.2}],
    uses=("fedloru-v2/assump-bulk",),
    kind="assumption",
    because=r"(58) is positive only if the limit $\beta$ is not 0, which the paper does not say. In Section 3.1's "
    "model it is 0.",
    expect=("holds", "proof"),
    intended=Intended(
        "by itself",
        "“We formalize the assumption”: a hypothesis; what is drawn from it is (57), (58), which "
        "are “strictly positive” only for β ≠ 0",
    ),
    print="unstated",
)
def assump_A_5(along: dict[str, Ladder], beta: float = 0.0, by_index: float = 0.0, by_client: float = 0.0) -> Evidence:
    """The value that the model itself gives, no slope along the bulk on average."""

    def predict(beta: float, by_index: float, by_client: float) -> Predictions:
        return {name: beta + by_index * ("w_2" in name) + by_client * ("client 2" in name) for name in along}

    return judge_limit(
        along,
        predict(beta, by_index, by_client),
        resolution=0.05,
        scope="gradients with a common part and own errors of mean square 1 in every direction; eigenvectors that are "
        "not oriented by the gradient itself, so the common value is 0 (a strict sign in (58) requires another)",
    )
