"""FeDLRT as a paper of the ledger: its themes in the order of the paper."""

from __future__ import annotations

from paper_checks.paper import Paper

PAPER = Paper(
    "fedlrt",
    "Federated Dynamical Low-Rank Training with Global Loss Convergence Guarantees",
    "paper_checks.fedlrt",
    (
        "boxes",
        "baseline_boxes",
        "worst_cases",
        "truncation_steps",
        "descent_steps",
        "truncated_rounds",
        "convergence",
        "simplified",
        "simplified_steps",
    ),
)
"""FeDLRT (``fedlrt``)."""
