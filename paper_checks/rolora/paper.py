"""RoLoRA as a paper of the ledger: its themes in the order of the paper."""

from __future__ import annotations

from paper_checks.paper import Paper

PAPER = Paper(
    "rolora",
    "Robust Federated Finetuning of LLMs via Alternating Optimization of LoRA",
    "paper_checks.rolora",
    (
        "boxes", "alternating", "model", "convergence", "running_text", "communication", "results", "language_models",
        "auxiliary", "minimiser", "minimiser_steps", "gradient", "gradient_steps", "contraction", "contraction_steps",
    ),
)  # fmt: skip
