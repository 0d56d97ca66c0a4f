"""Abstracts of papers on federated LoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Page, Paper

RESULTS = ("aggregation", "costs")
"""Files with the claims."""

PAPER = Paper(
    "federated-lora",
    "Abstracts of FLoRA, FFA-LoRA, Fed-SB and FRLoRA",
    __package__,
    RESULTS,
    (
        Page(
            "federated-lora-findings",
            "What we found in abstracts on federated LoRA",
            "The abstracts of FLoRA (Wang et al., NeurIPS 2024, arXiv 2409.05976), FFA-LoRA (Sun et al., ICLR 2024, "
            "arXiv 2403.12313), Fed-SB (Singhal et al., 2025, arXiv 2502.15436) and FRLoRA (Yan et al., ICLR 2025). "
            "The papers themselves were not read.",
            RESULTS,
            (
                Headline(
                    "Stacks of factors, averages of B with a fixed A, and averages of the matrix R between fixed "
                    "factors are exact. Averages of both factors are not.",
                    (
                        "federated-lora/flora-stack",
                        "federated-lora/ffa-exact",
                        "federated-lora/sb-exact",
                        "federated-lora/flora-noise",
                    ),
                ),
                Headline(
                    "FRLoRA's change after T rounds has a rank of at most (T + 1)r, which independent factors reach.",
                    ("federated-lora/frlora-rank", "federated-lora/frlora-higher"),
                ),
                Headline(
                    "FFA-LoRA halves what LoRA sends where outputs and inputs are as many in total; in a single layer "
                    "it is m of m + n.",
                    ("federated-lora/ffa-half",),
                ),
            ),
        ),
    ),
    called="abstracts on federated LoRA",
    cited="Wang et al., 2024; Sun et al., 2024; Singhal et al., 2025; Yan et al., 2025; the abstracts only",
    link="https://arxiv.org/abs/2409.05976",
)
"""Abstracts on federated LoRA (``federated-lora``)."""
