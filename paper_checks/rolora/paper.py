"""RoLoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Paper
from paper_checks.rolora.findings import FINDINGS
from paper_checks.rolora.pages import ANALYSIS, ANALYSIS_THEMES, NUMBER_THEMES, NUMBERS

PAPER = Paper(
    "rolora",
    "Robust Federated Finetuning of LLMs via Alternating Optimization of LoRA",
    "paper_checks.rolora",
    (*ANALYSIS_THEMES, *NUMBER_THEMES),
    (ANALYSIS, NUMBERS),
    findings=FINDINGS,
    called="RoLoRA",
    main="Clients train the two factors of LoRA in turn, so that averages are exact. On a linear model the stated rate "
    "of convergence holds for steps up to half of the largest one allowed, and fails at the largest.",
    cited="Shuangyi Chen, Yuanxin Guo, Yue Ju, Harik Dalal, Zhongwen Zhu and Ashish Khisti, arXiv 2502.01755; the "
    "statements are those of its anonymous conference submission",
    link="https://arxiv.org/abs/2502.01755",
    rewritten="make docs",
)
"""RoLoRA (``rolora``)."""
