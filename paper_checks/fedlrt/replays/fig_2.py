"""Figure 2: the messages and the work of a round, seen in every operation."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.shared.boxes import exchanges, m, n, r
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedlrt/fig-2@with-the-text")
def fig_2(sides: Fraction = Fraction(2)) -> str:
    r"""Without correction a round has four messages: the two of the server and what clients answer.

    Algorithm 1 sends U, V, S in line 2, clients the gradients in U and V (line 4), the server $\bar U$, $\bar V$ (line
    6) and clients $\tilde S_c^{s_*}$, 2r by 2r (line 16).
    """
    side = sides * r
    panels = [
        {"U": (m, r), "V": (n, r), "S": (r, r)},
        {"G_U": (m, r), "G_V": (n, r)},
        {"Ubar": (m, r), "Vbar": (n, r)},
        {"St_c": (side, side)},
    ]
    messages = [message for exchange in exchanges("none") for message in (exchange.sent, exchange.back)]
    require(messages == panels, "other messages")
    return "a round has four messages, and we compare their matrices and shapes"


@replay("fedlrt/fig-2")
def fig_2_as_printed(values: Values) -> Violation:
    """Line 2 of Algorithm 1 sends U, V and S, the caption's panel 1 the two bases."""
    m, n, r = (int(values[name]) for name in "mnr")
    bases, small = m * r + n * r, r * r
    return Violation(
        bases + small,
        bases,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", m), Hypothesis("2r", 2 * r, "<=", n)],
        reads="we compare the number of entries of U, V and S, which the server sends to a client in line 2 of "
        "Algorithm 1, with the number of entries of U and V",
    )
