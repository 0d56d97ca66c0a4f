"""FedEx-LoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Finding, Headline, Page, Paper

RESULTS = ("aggregation", "tables")
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "fedex-lora",
    "FedEx-LoRA: Exact Aggregation for Federated and Efficient Fine-Tuning of Large Language Models",
    __package__,
    RESULTS,
    (
        Page(
            "fedex-lora-findings",
            "What we found in the statements of FedEx-LoRA",
            "Sections 2 to 5 of Singhal, Ponkshe and Vepakomma (ACL 2025, arXiv 2410.09432), without the appendix.",
            RESULTS,
            (
                Headline(
                    "With the residual in the frozen weights the aggregation is exact, with the same scale for both.",
                    ("fedex-lora/eq-9",),
                ),
                Headline(
                    "The residual of k clients has a rank of at most kr as stated, and indeed of at most (k - 1)r: it "
                    "can be sent in fewer numbers.",
                    ("fedex-lora/sec-3-rank", "fedex-lora/sec-3-download"),
                ),
            ),
        ),
    ),
    findings=(
        Finding(
            "average-of-fedit",
            "In Table 1 the average of FedIT is not the rounded mean of its eight accuracies.",
            "changes nothing",
            ("fedex-lora/table-1",),
            "The mean of the printed accuracies is 83.58375, and each of them is off by at most 0.005: 83.57 is "
            "not its rounding.",
            "Read 83.58. The other averages agree, and all four do if they were cut off instead of rounded.",
        ),
        Finding(
            "indices-of-eq-7",
            "Eq. (7) has the indices of the round before.",
            "changes nothing",
            ("fedex-lora/eq-7",),
            "Of two clients with products 1 and 3 the first one has $W_0 + 1$ by eq. (7), and $W_0 + 2$ by eq. (9).",
            r"Read $W_0^{j+1} + B_i^{j+1}A_i^{j+1}$, from which eq. (8) follows.",
        ),
    ),
    called="FedEx-LoRA",
    cited="Raghav Singhal, Kaustubh Ponkshe and Praneeth Vepakomma, ACL 2025; the text without the appendix",
    link="https://arxiv.org/abs/2410.09432",
)
"""FedEx-LoRA (``fedex-lora``)."""
