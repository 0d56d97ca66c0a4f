"""FeDLRT as a paper of the ledger."""

from __future__ import annotations

from paper_checks.fedlrt.findings import FINDINGS
from paper_checks.fedlrt.pages import ANALYSIS, THEMES
from paper_checks.paper import Headline, Paper

PAPER = Paper(
    "fedlrt",
    "Federated Dynamical Low-Rank Training with Global Loss Convergence Guarantees",
    "paper_checks.fedlrt",
    THEMES,
    (ANALYSIS,),
    findings=FINDINGS,
    together=(("sec_4_1", "fig_4"),),
    called="FeDLRT",
    main="Clients train a small matrix of coefficients in shared bases, and the server adapts the rank. The paper "
    "claims that each round lowers the global loss, apart from the cost of truncation. Before truncation this is true, "
    "even with better constants. But truncation costs more than stated, and the simplified correction needs a stronger "
    "assumption.",
    facts=(
        Headline(
            "Before truncation, a round with the full correction lowers the loss by at least the stated amount. "
            r"Truncation can cost more than $L\vartheta$: the right bound is $\vartheta\|\nabla\mathcal{L}\| + \frac "
            r"L2\vartheta^2$.",
            ("fedlrt/thm-8", "fedlrt/thm-2"),
        ),
        Headline(
            "Theorem 3 controls only the gradient within the low-rank bases, so a run can stop well away from every "
            "stationary point.",
            ("fedlrt/claim-thm3-text", "fedlrt/thm-3"),
        ),
        Headline(
            "The simplified correction lowers the loss only under an assumption that is stronger than Assumption 1.",
            ("fedlrt/thm-4", "fedlrt/assumption-1"),
        ),
    ),
    authors=("Steffen Schotthöfer", "M. Paul Laiu"),
    year=2024,
    cited="Steffen Schotthöfer and M. Paul Laiu, arXiv 2406.17887, preprint of 27 June 2024",
    link="https://arxiv.org/abs/2406.17887v1",
    rewritten="make docs",
)
"""FeDLRT (``fedlrt``)."""
