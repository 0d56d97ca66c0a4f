"""SCAFFOLD as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Finding, Headline, Page, Paper

RESULTS = ("dissimilarity", "lower_bound", "method", "rates", "tables")
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "scaffold",
    "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning",
    __package__,
    RESULTS,
    (
        Page(
            "scaffold-findings",
            "What we found in the statements of SCAFFOLD",
            "Sections 2 to 7 of Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (ICML 2020, arXiv 1910.06378), "
            "without the appendix.",
            RESULTS,
            (
                Headline(
                    "The control variates do what the text says: the server's is the mean of the clients', Option II "
                    "is the mean of the local gradients, and the method reduces to FedAvg and to SAGA where stated.",
                    ("scaffold/eq-5", "scaffold/eq-4", "scaffold/sec-4-fedavg", "scaffold/sec-5-saga"),
                ),
                Headline(
                    r"The lower bound $\Omega(G^2/(\mu R^2))$ of FedAvg holds for the global step 1. With a free "
                    "global step, which Section 3 allows, a small local step makes the error as small as one wants.",
                    ("scaffold/thm-2",),
                ),
                Headline(
                    r"$K = \beta/\delta$ local steps are not the minimiser of the bound of Theorem IV, which decreases "
                    "in K, but no other number saves more than half of the rounds.",
                    ("scaffold/sec-6-steps",),
                ),
            ),
        ),
    ),
    findings=(
        Finding(
            "ideal-update",
            "The ideal update that the method imitates is printed without its step, and with the wrong sign.",
            "changes nothing",
            ("scaffold/eq-6",),
            r"With gradients 1 and 3, $y = 0$ and $\eta_l = 1/2$ the method moves to $-1$, and eq. (6) to $+2$.",
            r"Read eq. (6) as $y_i \leftarrow y_i - \frac{\eta_l}{N}\sum_j g_j(y_i)$.",
        ),
    ),
    called="SCAFFOLD",
    cited="Sai Praneeth Karimireddy, Satyen Kale, Mehryar Mohri, Sashank J. Reddi, Sebastian U. Stich and Ananda "
    "Theertha Suresh, ICML 2020; the main text as printed in the proceedings",
    link="https://arxiv.org/abs/1910.06378",
)
"""SCAFFOLD (``scaffold``)."""
