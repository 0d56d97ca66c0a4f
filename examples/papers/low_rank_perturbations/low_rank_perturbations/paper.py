"""The paper of Benaych-Georges and Nadakuditi as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Page, Paper

RESULTS = ("introduction", "thresholds", "limits")
"""Files with the claims."""

PAPER = Paper(
    "low-rank-perturbations",
    "The eigenvalues and eigenvectors of finite, low rank perturbations of large random matrices",
    __package__,
    RESULTS,
    (
        Page(
            "low-rank-perturbations-findings",
            "What we found in the abstract and introduction on low-rank perturbations",
            "Benaych-Georges and Nadakuditi (Advances in Mathematics 227, 2011, arXiv 0910.2120v3). We read the "
            "abstract, the first paragraphs of the introduction, and the abstract of version 1. The theorems, their "
            "numbers and their proofs were not read: formulas of limits are the ones that follow from the transforms "
            "that the abstract names.",
            RESULTS,
            (
                Headline(
                    "An extreme eigenvalue of a sum leaves the law of X exactly above the threshold, also for laws "
                    "beyond Wigner and Wishart, and the projection of its eigenvector changes there.",
                    ("low-rank-perturbations/sums", "low-rank-perturbations/eigenvectors"),
                ),
                Headline(
                    "Products with I + P and rectangular matrices do the same, each with a transform of its own.",
                    (
                        "low-rank-perturbations/products",
                        "low-rank-perturbations/product-eigenvectors",
                        "low-rank-perturbations/singular-values",
                    ),
                ),
                Headline(
                    r"Square root decay at the edge keeps the threshold above 0. It is finite for every law, so that "
                    r"the finite quantity of the abstract is the transform $G(b^+)$.",
                    ("low-rank-perturbations/decay",),
                ),
                Headline(
                    r"The two ends of a law have different thresholds: $c + \sqrt c$ and $c - \sqrt c$ for Wishart "
                    "matrices.",
                    ("low-rank-perturbations/critical",),
                ),
            ),
        ),
    ),
    called="low-rank perturbations",
    cited="Florent Benaych-Georges and Raj Rao Nadakuditi, 2011; abstract and introduction only",
    link="https://arxiv.org/abs/0910.2120",
)
