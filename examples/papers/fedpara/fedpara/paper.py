"""FedPara as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Finding, Headline, Page, Paper

RESULTS = ("ranks", "sizes", "gradients")
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "fedpara",
    "FedPara: Low-Rank Hadamard Product for Communication-Efficient Federated Learning",
    __package__,
    RESULTS,
    (
        Page(
            "fedpara-findings",
            "What we found in the statements of FedPara",
            "Section 2 and Appendices A and B of Hyeon-Woo, Ye-Bin and Oh (ICLR 2022, arXiv 2108.06098).",
            RESULTS,
            (
                Headline(
                    "The Hadamard product of matrices of ranks r and s has a rank of at most rs, which factors of "
                    "zeros and ones reach, and equal inner ranks are the cheapest.",
                    ("fedpara/prop-1", "fedpara/cor-1", "fedpara/prop-2"),
                ),
                Headline("pFedPara sends half as many numbers as FedPara with the same ranks.", ("fedpara/pfedpara",)),
            ),
        ),
    ),
    findings=(
        Finding(
            "ranks-of-unfoldings",
            "The two unfoldings of a kernel of Proposition 3 have different ranks in general.",
            "weakens a result",
            ("fedpara/prop-3",),
            "A kernel of 2 x 4 x 4 x 1 with R = 2 has unfoldings of ranks 1 and 4.",
            "Read that each of both ranks is at most $R^2$, which is what the proof shows and the method uses.",
        ),
        Finding(
            "times-fewer",
            "Proposition 3 saves a factor of 3.9 in the example, and the text has 3.8.",
            "changes nothing",
            ("fedpara/fewer",),
            "Table 1's formulas give 81,920 and 20,992 parameters.",
            "Read 3.9.",
        ),
        Finding(
            "jacobians",
            "Eq. (6) lacks transposes, and eq. (8) has an index 2 that must be 1.",
            "changes nothing",
            ("fedpara/eq-6", "fedpara/eq-8"),
            r"$J_{W_1}Y_1^\top$ has shapes that do not fit for $W_1 = X_1Y_1^\top$.",
            r"Read $J_{X_1} = J_{W_1}Y_1$ and $J_{Y_1} = J_{W_1}^\top X_1$, and $(J_{X_1}J_{Y_1}^\top) \odot "
            r"(X_2Y_2^\top)$.",
        ),
    ),
    called="FedPara",
    cited="Nam Hyeon-Woo, Moon Ye-Bin and Tae-Hyun Oh, ICLR 2022",
    link="https://arxiv.org/abs/2108.06098",
)
"""FedPara (``fedpara``)."""
