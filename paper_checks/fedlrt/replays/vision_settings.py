"""Replays of the claims in ``vision_settings``."""

from __future__ import annotations

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def undivided(values: Values) -> Violation:
    """Batches of a round that are left when every client has made as many whole iterations as it can."""
    clients, batches = int(values["clients"]), int(values["batches"])
    assumes = assuming(
        Hypothesis("clients", clients, ">=", 1), Hypothesis("most clients", clients, "<=", 32),
        Hypothesis("batches of a round, by one client", batches, "=", 240),
    )  # fmt: skip
    return Violation(batches % clients, 0, assumes=assumes, reads="batches left over, of those that 240/C asks for")


exp_resnet18 = replay("fedlrt/exp-resnet18")(undivided)
exp_resnet18_every = replay("fedlrt/exp-resnet18@every-number-up-to-16")(undivided)
exp_other_vision = replay("fedlrt/exp-other-vision")(undivided)
exp_other_vision_every = replay("fedlrt/exp-other-vision@every-number-up-to-16")(undivided)
