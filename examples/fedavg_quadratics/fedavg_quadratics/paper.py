"""FedAvg on quadratic losses as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Page, Paper

PAPER = Paper(
    "fedavg-quadratics",
    "On the Convergence of FedAvg on Non-IID Data",
    __package__,
    ("fixed_points",),
    (
        Page(
            "fedavg-quadratics",
            "What we found in the statements on FedAvg with a constant step",
            "The abstract and Theorem 4 of Li, Huang, Yang, Wang and Zhang (ICLR 2020), and the fixed points of Pathak "
            "and Wainwright (NeurIPS 2020) that show them, for losses $f_k(w) = a_k(w - c_k)^2/2$.",
            ("fixed_points",),
            (
                Headline(
                    r"With $E > 1$ local steps of constant size $\eta$ FedAvg ends $\Omega((E - 1)\eta)$ away from the "
                    r"minimiser if $\eta$ is small enough for E; with $\eta$ fixed the distance is bounded in E.",
                    ("fedavg-quadratics/thm-4",),
                ),
                Headline(
                    "Some problems have such a distance and not all: with clients of one curvature, for any "
                    "minimisers, FedAvg ends at the minimiser.",
                    ("fedavg-quadratics/abstract",),
                ),
            ),
        ),
    ),
    called="FedAvg on quadratics",
    cited="Xiang Li, Kaixuan Huang, Wenhao Yang, Shusen Wang and Zhihua Zhang, ICLR 2020; with fixed points of Reese "
    "Pathak and Martin J. Wainwright, NeurIPS 2020",
    link="https://arxiv.org/abs/1907.02189",
)
"""FedAvg on quadratics (``fedavg-quadratics``)."""
