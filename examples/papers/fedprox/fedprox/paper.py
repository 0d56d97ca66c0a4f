"""FedProx as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Finding, Headline, Page, Paper

RESULTS = ("method", "decrease")
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "fedprox",
    "Federated Optimization in Heterogeneous Networks",
    __package__,
    RESULTS,
    (
        Page(
            "fedprox-findings",
            "What we found in the statements of FedProx",
            "Sections 3 and 4 and Appendix A of Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith (MLSys 2020, arXiv "
            "1812.06127), without Theorem 4 itself, of which steps are judged, and without its corollaries on rates.",
            RESULTS,
            (
                Headline("FedAvg is FedProx without the proximal term.", ("fedprox/fedavg",)),
                Headline(
                    "The steps of the proof of Theorem 4 that are judged hold: the distance of an inexact solution, "
                    "and the bound for the sampled clients.",
                    ("fedprox/eq-6", "fedprox/eq-14"),
                ),
            ),
        ),
    ),
    findings=(
        Finding(
            "root-of-two",
            r"Corollary 7 and Remark 5 do without the factor $\sqrt2$ that Theorem 4 has.",
            "weakens a result",
            ("fedprox/cor-7", "fedprox/remark-5"),
            r"For $\gamma = 0$ and $B = 0.8\sqrt K$ no $\mu$ makes $\rho$ positive. At $B = 0.5\sqrt K$ and "
            r"$\mu = 6LB^2$, $\rho$ is about $1/(29LB^2)$.",
            "The factor 2 in (13) is not needed, because a variance is at most the second moment. Without it "
            "Corollary 7 would hold as printed.",
        ),
    ),
    called="FedProx",
    cited="Tian Li, Anit Kumar Sahu, Manzil Zaheer, Maziar Sanjabi, Ameet Talwalkar and Virginia Smith, MLSys 2020",
    link="https://arxiv.org/abs/1812.06127",
)
"""FedProx (``fedprox``)."""
