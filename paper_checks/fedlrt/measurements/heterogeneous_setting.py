"""The setting of the heterogeneous test of Section 4.1, in the normalisations that the text leaves open."""

from __future__ import annotations

from paper_checks.context import Context
from paper_checks.fedlrt.measurements.legendre_runs import Choice

START = Choice(clients=4, split="all", correction="full", rank=5, scale=1.0, tau=0.01)


def stream_of_own_targets(context: Context) -> int:
    """Return one seed for the claims on one problem, so it is run once."""
    return Context("fedlrt/exp-heterogeneous", context.seed).integer_seed()
