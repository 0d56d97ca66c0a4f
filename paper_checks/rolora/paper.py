"""RoLoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Paper
from paper_checks.rolora.pages import ANALYSIS, ANALYSIS_THEMES, NUMBER_THEMES, NUMBERS

PAPER = Paper(
    "rolora",
    "Robust Federated Finetuning of LLMs via Alternating Optimization of LoRA",
    "paper_checks.rolora",
    (*ANALYSIS_THEMES, *NUMBER_THEMES),
    (ANALYSIS, NUMBERS),
    called="RoLoRA",
    main="Clients train the two factors of LoRA in turn, so that averages are exact; on a linear model this is said to "
    "converge exponentially. It does for steps up to half of the largest one allowed, and does not at that one; the "
    "order of the methods in the tables of accuracies follows from their rows.",
    cited="anonymous conference submission",
    rewritten="make docs",
)
"""RoLoRA (``rolora``)."""
