"""The example as a paper of the ledger."""

from __future__ import annotations

from paper_checks.paper import Headline, Page, Paper

RESULTS = ("lem_1", "lem_2", "eq_1", "lem_3", "lem_4", "thm_1", "alg_1", "eq_2", "table_1", "fig_1")
"""Files with the claims, in the order of the paper."""

PAPER = Paper(
    "your-paper",
    "Ten Statements about Sums of Updates",
    __package__,
    RESULTS,
    (
        Page(
            "your-paper-findings",
            "What we found in the example",
            "An example, in its order.",
            RESULTS,
            (
                Headline(
                    r"The square of a sum is at most twice the sum of the squares; without the factor 2 it is not.",
                    ("your-paper/lem-2",),
                ),
            ),
        ),
    ),
    called="Example",
    cited="A. Author, draft",
)
"""The example (``your-paper``)."""
