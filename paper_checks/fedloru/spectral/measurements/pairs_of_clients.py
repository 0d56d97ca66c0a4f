"""Eigenvectors of pairs of clients."""

from __future__ import annotations

from paper_checks.context import Context
from rmt.alignment import TwoClients, draw_two_clients
from rmt.closed_laws import Semicircle
from rmt.spiked import SpikedModel

NOISE = 0.5  # sigma s of both clients

CLIENTS = SpikedModel((1.5, 1.0, -0.75), Semicircle(2.0), NOISE / 2.0)

OUTLIERS, KEPT = 3, 5  # eigenvectors u_1..u_3, and the first two of the bulk


def draw_pairs_of_clients(context: Context) -> list[TwoClients]:
    """Draw independent pairs of clients at R = 20,000."""
    rng = context.rng("clients")
    return [draw_two_clients(CLIENTS, 20_000, rng, KEPT) for _ in range(context.size(32, 120))]
