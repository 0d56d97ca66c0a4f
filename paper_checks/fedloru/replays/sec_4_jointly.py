"""Sections 4.1 and 4.2 with Appendix B: whether their statements hold together.

Setting: `shared.bounded_gradients`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.sec_4_1 import eq_agg as mean_of_products
from paper_checks.fedloru.replays.sec_4_1 import eq_WT
from paper_checks.fedloru.replays.sec_b import claim_reinit
from paper_checks.fedloru.replays.shared.averages import product_of_averages
from paper_checks.fedloru.replays.shared.one_weight_listing import listing
from paper_checks.fedloru.replays.thm_4_2 import thm_4_2_rate
from paper_checks.replay import Violation, proof, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/sec-4-jointly")
def sec_4_jointly_as_printed(values: Values) -> Violation:
    """Follow the listing: the accumulated product counts twice from then on."""
    return listing(values)


@replay("fedloru-v2/sec-4-jointly@with-sums-over-all-clients")
def sec_4_jointly_over_all(values: Values) -> Violation:
    """Follow the listing: one client is all clients."""
    return listing(values)


@proof("fedloru-v2/sec-4-jointly@with-both")
def sec_4_jointly(
    scale: Fraction = Fraction(1),
    accumulated: Fraction = Fraction(1),
    power: Fraction = Fraction(1, 2),
    sizes: tuple[int, ...] = (1, 2, 5),
) -> str:
    r"""The four statements, each proved under hypotheses that hold together.

    Restarts at $AB = 0$ leave the model (claim-reinit), sums over all clients have weights of sum 1 (eq-agg), W is the
    start and all products (eq-WT with $\alpha = 1$), with nothing left over where $\tau$ divides T, and the
    corrected theorem, whose hypotheses these are, gives the rate.
    """
    claim_reinit.evaluate(accumulated=accumulated)
    mean_of_products.evaluate(scale=scale, clients=sizes)
    eq_WT.evaluate(scale=scale, cycles=sizes, rounds=sizes)
    thm_4_2_rate.evaluate(power=power)
    return "restart, averages, final model and rate, each by its own proof"


@replay("fedloru-v2/sec-4-jointly@with-restarts")
def sec_4_jointly_with_restarts(values: Values) -> Violation:
    """Compare the product of averages with the product that all sent, in the round before any restart."""
    return product_of_averages(values)
