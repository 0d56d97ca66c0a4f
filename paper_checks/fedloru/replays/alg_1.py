"""Algorithm 1 in its three versions: FedLoRU, executed and compared with its text."""

from __future__ import annotations

from paper_checks.fedloru.replays.shared.one_weight_listing import listing
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/alg-1")
def alg_1(values: Values) -> Violation:
    """Follow the listing."""
    return listing(values)


@replay("fedloru-iclr/alg-1")
def alg_1_iclr(values: Values) -> Violation:
    """Follow the listing, as in the newest version."""
    return listing(values)


@replay("fedloru-v1/alg-1")
def alg_1_v1(values: Values) -> Violation:
    """Follow the listing, as in the newest version."""
    return listing(values)
