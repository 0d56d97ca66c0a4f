"""RoLoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Paper
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
    main="At any time, all clients train the same factor of LoRA, first one, then the other, so the averages are "
    "exact. On a linear model, the stated rate of convergence holds for step sizes up to half of the stated maximum, "
    "but fails at the maximum.",
    facts=(
        Headline(
            "RoLoRA converges at the stated rate for step sizes up to $1/(2L_{max}^2)$, half of the stated maximum. At "
            "the maximum the angle shrinks more slowly than stated; with unlimited samples it eventually shrinks only "
            r"like $1/\sqrt t$.",
            ("rolora/thm-5.4", "rolora/lem-5.3", "rolora/txt-exponential"),
        ),
        Headline(
            "FFA-LoRA's loss has a floor, as stated, because its factor A stays frozen. RoLoRA goes below it with "
            "more iterations.",
            ("rolora/s5-saturate", "rolora/prop-5.5", "rolora/s5-rolora-loss"),
        ),
        Headline(
            "Table 1 overstates RoLoRA's lead: four averages, all of other methods, are too low. The ranking of the "
            "methods does not change.",
            ("rolora/table-1",),
        ),
    ),
    authors=("Shuangyi Chen", "Yuanxin Guo", "Yue Ju", "Harik Dalal", "Zhongwen Zhu", "Ashish Khisti"),
    year=2025,
    cited="Shuangyi Chen, Yuanxin Guo, Yue Ju, Harik Dalal, Zhongwen Zhu and Ashish Khisti, arXiv 2502.01755; the "
    "statements are those of its anonymous conference submission",
    link="https://arxiv.org/abs/2502.01755",
    rewritten="make docs",
)
"""RoLoRA (``rolora``)."""
