"""The paper of rsLoRA as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Page, Paper

RESULTS = ("one_step",)
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "rslora",
    "A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA",
    __package__,
    RESULTS,
    (
        Page(
            "rslora-findings",
            "What we found in the theorem of rsLoRA",
            "Definition 3.1 and Theorem 3.2 of Kalajdzievski (2023, arXiv 2312.03732), read as public notes quote "
            "them, for one step of gradient descent in one linear layer.",
            RESULTS,
            (
                Headline(
                    r"After a step the adapter's output is of the order $\gamma_r^2r$ in expectation, so "
                    r"$\gamma_r = \alpha/\sqrt r$ keeps it, and $\alpha/r$ lets it vanish as 1/r.",
                    ("rslora/thm-3-2-forward", "rslora/thm-3-2-backward"),
                ),
            ),
        ),
    ),
    called="rsLoRA",
    cited="Damjan Kalajdzievski, 2023; the definition and the theorem, as public notes quote them",
    link="https://arxiv.org/abs/2312.03732",
)
"""The paper of rsLoRA (``rslora``)."""
