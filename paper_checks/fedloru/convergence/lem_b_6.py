"""Lemma B.6 and its proof."""

from __future__ import annotations

import torch

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded, Setting, Trace, follow
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    WITH_COHORTS,
    Traces,
    at_most,
    equal,
    follow_settings,
    judge_bounds,
)
from paper_checks.methods.relations import Relation


@claim(
    "fedloru-v2/lem-B.6",
    where="Appendix B.1, Lemma B.6 (the lines of its proof: fedloru-v2/lem-B.6-mid)",
    says=r"""For any t: $\mathbb{E}\|\nabla_Bf_t(A_{t+1}B_t) - \nabla_Bf_t(A_tB_t)\|^2 \le 2(L^2C_A^2C_B^2 +
    G^2)\mathbb{E}\|A_{t+1} - A_t\|^2$.""",
    measure=follow_settings,
    mutants=[{"constant": 0.99}, {"gradient": 0}, {"curvature_power": 0}],
    uses=("fedloru-v2/assump-4.1",),
    expect=("holds", "proof"),
)
def lem_B_6(traces: tuple[Trace, ...], constant: float = 2.0, gradient: int = 1, curvature_power: int = 2) -> Evidence:
    """Every round of every run, and the one-weight case that meets the bound, over a range of its numbers."""
    lines = []
    for trace in traces:
        bound = constant * (trace.L**curvature_power * (trace.C_A * trace.C_B) ** 2 + gradient * trace.G**2)
        lines += [at_most("Lemma B.6", one["cross"], bound * one["dA"], trace) for one in trace.rounds]
    for L, G, step in ((1.0, 1.0, 1e-4), (100.0, 1.0, 1e-4), (0.01, 0.1, 1e-3)):
        # One weight with gradient G and curvature L between A and A + step; AB = G/L makes the two terms equal.
        A, B = 1.0, G / L
        change = (A + step) * (G + L * step * B) - A * G
        largest = G * (1.0 + step)  # the gradient ends a little above G
        bound = constant * (L**curvature_power * ((A + step) * B) ** 2 + gradient * largest**2)
        lines.append(Relation("Lemma B.6", change**2, bound * step**2, at_most=True))
    return judge_bounds(
        lines,
        f"{WITH_COHORTS}, weights of sum at most 1 (see eq-agg); and one weight with both terms of the bound equal",
    )


def follow_with_corners(context: Context) -> Traces:
    """Follow the runs of all claims, and before them two steps from given numbers.

    The first, of two rows and two columns far out, can be followed by hand; in the second, of one weight, the sample
    that moves A makes it larger.
    """
    numbers = {"W": "5 5 5 -5", "A": "1 1", "B": "1 0"}
    W, A, B = (torch.tensor([float(text) for text in numbers[name].split()], dtype=torch.float64) for name in numbers)
    far = Bounded(torch.zeros(1, 2, 2, dtype=torch.float64), 1.0, 1.0)
    case = {**numbers, "L": 1, "zone": 1, "rate": "1/10", "samples": "1 3"}
    corners = Setting("corners", (far,), W.reshape(2, 2), A.reshape(2, 1), B.reshape(1, 2), 0.1, case=case)
    one = torch.ones(1, 1, dtype=torch.float64)
    samples = Bounded(torch.stack([one, 3.0 * one]), 1.0, 1.0)
    outward = Setting("samples that move A outward", (samples,), 0.0 * one, one, one, 0.1, noisy=True, share=1.0)
    return follow(corners), follow(outward), *follow_settings(context)


@claim(
    "fedloru-v2/lem-B.6-mid",
    where="Appendix B.1, proof of Lemma B.6, its displays before the last one",
    says=r"""With $D = \nabla_Wf_t(A_{t+1}B_t) - \nabla_Wf_t(A_tB_t)$ and $u = A_{t+1} - A_t$ (our abbreviations):
    $\mathbb{E}\|\nabla_Bf_t(A_{t+1}B_t) - \nabla_Bf_t(A_tB_t)\|^2 = \mathbb{E}\|A_{t+1}^T\nabla_Wf_t(A_{t+1}B_t) -
    A_t^T\nabla_Wf_t(A_tB_t)\|^2 = \mathbb{E}\|A_{t+1}^TD + u^T\nabla_Wf_t(A_tB_t)\|^2 \le
    2\mathbb{E}\|A_{t+1}^TD\|^2 + 2\mathbb{E}\|u^T\nabla_Wf_t(A_tB_t)\|^2$; $\mathbb{E}\|A_{t+1}^TD\|^2 \le
    \mathbb{E}\|A_{t+1}\|^2\,\mathbb{E}\|D\|^2 \le L^2C_A^2\,\mathbb{E}\|A_{t+1}B_t - A_tB_t\|^2 \le
    L^2C_A^2C_B^2\,\mathbb{E}\|u\|^2$; $\mathbb{E}\|u^T\nabla_Wf_t(A_tB_t)\|^2 =
    \mathbb{E}[\|u\|^2\|\nabla_Wf_t(A_tB_t)\|^2] \le G^2\,\mathbb{E}\|u\|^2$.""",
    measure=follow_with_corners,
    control=Form(
        r"The first and the last of the three displays, with $\le$ instead of the last "
        r"equality.",
        {"kept": (1, 3)},
    ),
    correction=Form(
        r"""$\mathbb{E}\|A_{t+1}^TD\|^2 \le \mathbb{E}[\|A_{t+1}\|^2\|D\|^2] \le C_A^2\,\mathbb{E}\|D\|^2$, since the
        norm of $A_{t+1}$ is bounded in every run, and $\mathbb{E}\|u^T\nabla_W\|^2 \le
        \mathbb{E}[\|u\|^2\|\nabla_W\|^2]$; all other members are as printed, so the lemma is not affected.""",
        {"product": "inside", "exactly": False},
        ({"product": "outside"}, {"exactly": True}, {"constant": 1.9}),
    ),
    importance="detail",
    uses=("fedloru-v2/assump-4.1",),
    because="Norms are submultiplicative, not multiplicative, and a mean of products can exceed the product of the "
    "means.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“low-rank matrices are uniformly bounded”, before the display: C_A² comes out of the joint mean; for the norm "
        "of a product only ≤ is true",
    ),
    print="misprint",
)
def lem_B_6_mid(
    traces: Traces,
    constant: float = 2.0,
    product: str = "outside",
    exactly: bool = True,
    kept: tuple[int, ...] = (1, 2, 3),
) -> Evidence:
    """Every member of the three displays; ``product``: of the means (outside) or in the mean (inside)."""
    lines = []
    for trace in traces:
        L, C_A, C_B = trace.L, trace.C_A, trace.C_B
        for one in trace.rounds:
            both = one["grown"] * one["bent"] if product == "outside" else one["grown_bent"]
            shown = {
                1: [at_most("first display", one["cross"], constant * (one["turned"] + one["crossed"]), trace)],
                2: [
                    at_most("second display, first step", one["turned"], both, trace),
                    at_most("second display, second step", both, (L * C_A) ** 2 * one["product"], trace),
                    at_most(
                        "second display, last step",
                        (L * C_A) ** 2 * one["product"],
                        (L * C_A * C_B) ** 2 * one["dA"],
                        trace,
                    ),
                ],
                3: [at_most("third display, last step", one["apart"], trace.G**2 * one["dA"], trace)],
            }
            for display in kept:
                lines += shown[display]
            first = equal if exactly and kept == (1, 2, 3) else at_most
            lines.append(first("third display, first step", one["crossed"], one["apart"], trace))
    return judge_bounds(lines, WITH_COHORTS)
