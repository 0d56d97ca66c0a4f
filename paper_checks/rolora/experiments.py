"""Section 5.2: what Figure 2 shows of a two-layer network on MNIST, beside runs at laptop scale."""

from __future__ import annotations

import pandas as pd

from figures.experiment import finals
from figures.rolora_fig2 import LEARNING, statements
from paper_checks.methods.experiments import Comparisons, experiment


def by_start(table: pd.DataFrame) -> Comparisons:
    """The differences that the text speaks of, for each start that learns."""
    starts = set(finals(table).start)
    return [
        (f"{start}: {stated}", effect)
        for start in LEARNING if start in starts for stated, effect in statements(table, start).items()
    ]  # fmt: skip


FIG_2 = experiment(
    __name__, "rolora/fig-2", "rolora/fig-2", "Section 5.2, Figure 2",
    "Two layers on MNIST, 5 clients with two labels each and 10 with one: FFA-LoRA plateaus around 55 % in both, "
    "LoRA's accuracy falls from 5 clients to 10, and RoLoRA is more robust.",
    "loss, optimiser, learning rates, the scale of the normal A, the law of the fixed layer, and the numbers of rounds "
    "and runs are not printed, and from the printed start nothing moves where ReLU's derivative at 0 is taken as 0 "
    "(exp-5.2); runs at laptop scale, with the full MNIST, the printed sizes and starts that learn, decide nothing "
    "about runs with other choices",
    by_start, importance="result",
)  # fmt: skip
