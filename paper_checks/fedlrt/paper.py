"""FeDLRT as a paper of the ledger: its themes in the order of the paper."""

from __future__ import annotations

from paper_checks.paper import Paper

PAPER = Paper(
    "fedlrt",
    "Federated Dynamical Low-Rank Training with Global Loss Convergence Guarantees",
    "paper_checks.fedlrt",
    (
        *("federated_methods", "bases", "coefficients", "boxes", "aggregation", "full_rank_distance"),
        *("truncated_rounds", "costs", "table_of_costs", "least_squares", "different_targets"),
        *("baseline_boxes", "splitting", "splitting_steps", "worst_cases", "descent_steps"),
    ),
)
"""FeDLRT (``fedlrt``)."""
