"""Figure 4: FeDLRT's rounds against FedLin's in the homogeneous test."""

from __future__ import annotations

from paper_checks.fedlrt.replays.shared.legendre_runs import rank_below
from paper_checks.replay import replay

fig_4 = replay("fedlrt/fig-4")(rank_below)
