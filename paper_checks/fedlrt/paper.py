"""FeDLRT as a paper of the ledger."""

from __future__ import annotations

from paper_checks.fedlrt.findings import FINDINGS
from paper_checks.fedlrt.pages import ANALYSIS, THEMES
from paper_checks.paper import Paper

PAPER = Paper(
    "fedlrt",
    "Federated Dynamical Low-Rank Training with Global Loss Convergence Guarantees",
    "paper_checks.fedlrt",
    THEMES,
    (ANALYSIS,),
    findings=FINDINGS,
    together=(("sec_4_1", "fig_4"),),
    called="FeDLRT",
    main="Clients train a small matrix of coefficients in bases that all share, and the server adapts the rank; each "
    "round is said to lower the global loss up to the cost of truncation. Before truncation it does, with better "
    "constants, but truncation costs more than stated, and the cheaper correction needs a stronger assumption.",
    cited="Steffen Schotthöfer and M. Paul Laiu, arXiv 2406.17887, preprint of 27 June 2024",
    link="https://arxiv.org/abs/2406.17887v1",
    rewritten="make docs",
)
"""FeDLRT (``fedlrt``)."""
