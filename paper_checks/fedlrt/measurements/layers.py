"""Layers whose rounds are counted, for Section 3, Figure 2 and Section 3.3."""

from __future__ import annotations

from paper_checks.context import Context
from paper_checks.fedlrt.measurements.counting import METHODS, Counted, Sizes, count_round

LAYERS = (Sizes(16, 2, 2, 3), Sizes(16, 1, 1, 1), Sizes(24, 3, 1, 5, rows=17), Sizes(18, 4, 2, 3, rows=40))

LAYERS_SCOPE = "rounds on layers of 16 x 16, 17 x 24 and 40 x 18 at ranks 1 to 4, one and two local steps"


def run_layers(context: Context) -> dict[str, list[Counted]]:
    """Run a round of every method on every layer."""
    seed = context.integer_seed()
    return {method: [count_round(method, sizes, seed) for sizes in LAYERS] for method in (*METHODS, "naive")}
